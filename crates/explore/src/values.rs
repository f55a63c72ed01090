//! What the sources of an instruction are worth: registers, addresses, and what a thread knows of itself.

use standstill_kernel_ir::{Operand, Space, Special, Symbol};

use crate::interpret::Machine;
use crate::launch::Launch;
use crate::layout::{LOCAL, PARAMETERS, SHARED, Window, window};
use crate::thread::code;

impl Machine<'_, '_> {
    /// The value of a source.
    pub(crate) fn operand(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Register(register) => self.register(register),
            Operand::Negated(register) => u64::from(self.register(register) & 1 == 0),
            Operand::Immediate(value) => value,
            Operand::Symbol { symbol, offset } => self.symbol(symbol).wrapping_add_signed(offset.into()),
            Operand::Address { base, offset } => self.register(base).wrapping_add_signed(offset.into()),
            Operand::Parameter { index, offset } => {
                PARAMETERS + self.parameter(index).wrapping_add_signed(offset.into())
            }
            Operand::Special(special) => self.special(special),
            Operand::Absent => 0,
        }
    }

    fn symbol(&self, symbol: Symbol) -> u64 {
        let function = self.top().map(|top| top.function);
        let owner = if matches!(symbol, Symbol::Local(_)) { function } else { None };
        if let Some(&offset) = self.context.shared.offsets.get(&(owner, symbol)) {
            return SHARED + offset;
        }
        match symbol {
            Symbol::Module(index) => self.context.launch.variables.get(index as usize).copied().unwrap_or(0),
            // Local variables of all frames lie one behind the other.
            Symbol::Local(index) => {
                let frames = self.running.frames.iter();
                let depth = frames.map(|frame| self.frame_bytes(frame.function, u32::MAX)).sum::<u64>();
                let own = function.map_or(0, |function| self.frame_bytes(function, u32::MAX));
                let within = function.map_or(0, |function| self.frame_bytes(function, index));
                LOCAL + depth - own + within
            }
            Symbol::Function(_) => 0,
        }
    }

    /// Bytes of the local variables of a function before one of them.
    fn frame_bytes(&self, function: u32, before: u32) -> u64 {
        let Some(code) = code(self.context.codes, function) else { return 0 };
        let local = code.function.variables.iter().zip(0u32..);
        let bytes = local.filter(|(variable, index)| variable.space == Space::Local && *index < before);
        bytes.fold(0u64, |end, (variable, _)| end.next_multiple_of(16) + variable.bytes).next_multiple_of(16)
    }

    /// Where a parameter lies in parameter space.
    fn parameter(&self, index: u32) -> u64 {
        let offsets = self.code().map(|code| code.function.parameter_offsets()).unwrap_or_default();
        offsets.get(index as usize).copied().unwrap_or(0).into()
    }

    fn special(&self, special: Special) -> u64 {
        let launch = self.context.launch;
        let threads = launch.block_threads().max(1);
        let thread = self.running.thread.unwrap_or(0);
        let (block, inside) = (thread / threads, thread % threads);
        let (block_index, thread_index) =
            (Launch::index_in(launch.grid, block), Launch::index_in(launch.block, inside));
        let axis = |shape: [u32; 3], axis: u8| u64::from(shape.get(usize::from(axis)).copied().unwrap_or(0));
        let lane = inside % 32;
        let lower = (1u64 << lane) - 1;
        let own = 1u64 << lane;
        let all = u64::from(u32::MAX);
        match special {
            Special::Tid(of) => axis(thread_index, of),
            Special::Ntid(of) => axis(launch.block, of),
            Special::Ctaid(of) => axis(block_index, of),
            Special::Nctaid(of) => axis(launch.grid, of),
            Special::ClusterId(of) => {
                axis(Launch::index_in(launch.clusters(), launch.cluster_of(block).0), of)
            }
            Special::NclusterId(of) => axis(launch.clusters(), of),
            Special::ClusterCtaid(of) => {
                axis(Launch::index_in(launch.cluster, launch.cluster_of(block).1), of)
            }
            Special::ClusterCtarank => launch.cluster_of(block).1.into(),
            Special::ClusterNctaid(of) => axis(launch.cluster, of).max(1),
            Special::ClusterNctarank => u64::from(launch.cluster.iter().product::<u32>().max(1)),
            Special::IsExplicitCluster => u64::from(launch.cluster != [1; 3]),
            Special::LaneId => lane.into(),
            Special::WarpId => (inside / 32).into(),
            Special::NwarpId => threads.div_ceil(32).into(),
            Special::WarpSize => 32,
            Special::SmId => block.into(),
            Special::NsmId => launch.blocks().into(),
            Special::LaneMaskEq => own,
            Special::LaneMaskLt => lower,
            Special::LaneMaskLe => lower | own,
            Special::LaneMaskGe => all & !lower,
            Special::LaneMaskGt => all & !(lower | own),
            Special::DynamicSharedSize => launch.dynamic_shared.into(),
            Special::TotalSharedSize | Special::AggregateSharedSize => self.context.shared.bytes,
            Special::GridId
            | Special::Clock
            | Special::Clock64
            | Special::GlobalTimer
            | Special::CurrentGraphExec
            | Special::Environment(_)
            | Special::Other => 0,
        }
    }
}

/// Whether a source is a clock.
pub(crate) fn is_clock(operand: Operand) -> bool {
    matches!(operand, Operand::Special(Special::Clock | Special::Clock64 | Special::GlobalTimer))
}

/// Whether an address lies in the space with this number.
pub(crate) fn is_in_space(address: Option<u64>, space: Option<u64>) -> bool {
    let space_of = match address.map(window) {
        Some(Window::Shared { .. }) => Space::Shared,
        Some(Window::Local(_)) => Space::Local,
        Some(Window::Parameters(_)) => Space::Param,
        _ => Space::Global,
    };
    let shared = space_of == Space::Shared && space == Some(Space::SharedCluster as u64);
    space == Some(space_of as u64) || shared
}

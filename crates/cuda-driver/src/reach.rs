//! What a launch touches that was made on a card, worked out afterwards: it is run on the software device.
//!
//! That is right where nothing that memory holds decides which bytes are touched: no value from memory flows into an
//! address or a branch. Of all other kernels nothing is said.

use std::ops::Range;
use std::sync::Arc;

use standstill_device_sim::{Device, DeviceSink, LaunchRequest, Progress, Touched};
use standstill_kernel_ir::{Function, Guard, Op, Operand, Register, Space, Terminator};
use standstill_trace::{Access, LaunchShape, Mode};

use crate::card::{Card, DEFAULT_MODEL};
use crate::image::{Image, Kernel};
use crate::software::Code;

/// Threads of a launch that is run at most.
const THREADS: u64 = 1 << 22;
/// Instructions of warps between two looks, and looks at most.
const BUDGET: u64 = 1_000_000;
const LOOKS: usize = 64;
/// Bytes of the program's memory that are stood in for at most.
const MEMORY: u64 = 1 << 33;
/// Bytes of a pointer.
const POINTER: usize = 8;

/// The bytes that a launch touches; `None` where the kernel's code does not tell, or it takes too long. `memory` gives
/// the allocation around an address.
#[must_use]
pub fn reach(
    image: &'static Image,
    kernel: &str,
    shape: &LaunchShape,
    memory: &dyn Fn(u64) -> Option<Range<u64>>,
) -> Option<Vec<Access>> {
    let kernel = image.kernel(kernel)?;
    let function = image.program().function(kernel.function)?;
    let threads = |sides: [u32; 3]| sides.into_iter().map(u64::from).product::<u64>();
    if threads(shape.grid).saturating_mul(threads(shape.block)) > THREADS || !is_decided(&function) {
        return None;
    }
    run(image, &kernel, shape, memory)
}

/// An allocation of the program and the memory that stands for it.
struct StandIn {
    real: Range<u64>,
    here: u64,
}

fn run(
    image: &'static Image,
    kernel: &Kernel,
    shape: &LaunchShape,
    memory: &dyn Fn(u64) -> Option<Range<u64>>,
) -> Option<Vec<Access>> {
    let card = Card::find(DEFAULT_MODEL)?;
    let device = Device::new(card.device, card.memory);
    let module = device.load_placed(Arc::new(Code(image)), &image.first_values(), &[]).ok()?;
    let mut parameters = shape.arguments.clone();
    parameters.resize(kernel.parameter_bytes, 0);
    let mut stand_ins: Vec<StandIn> = Vec::new();
    for slot in &kernel.parameters {
        // A pointer, or a structure with pointers in it.
        for place in (slot.offset..slot.offset + slot.bytes).step_by(POINTER) {
            let Some(word) = parameters.get_mut(place..).and_then(|rest| rest.first_chunk_mut()) else {
                break;
            };
            let address = u64::from_le_bytes(*word);
            let Some(real) = memory(address).filter(|_| slot.offset + slot.bytes >= place + POINTER) else {
                continue;
            };
            let here = match stand_ins.iter().find(|known| known.real == real) {
                Some(known) => known.here,
                None => {
                    let bytes = real.end - real.start;
                    let all: u64 = stand_ins.iter().map(|known| known.real.end - known.real.start).sum();
                    let here = (all + bytes <= MEMORY).then(|| device.memory().allocate(bytes).ok())??;
                    stand_ins.push(StandIn { real: real.clone(), here });
                    here
                }
            };
            *word = (here + (address - real.start)).to_le_bytes();
        }
    }
    let request = LaunchRequest {
        grid: shape.grid,
        block: shape.block,
        cluster: (shape.cluster != [1; 3]).then_some(shape.cluster),
        dynamic_shared: shape.dynamic_shared,
        parameters,
        cooperative: shape.cooperative,
        registers: Some(kernel.registers),
        sink: Some(Box::new(Silence)),
        reach: true,
        ..LaunchRequest::new(kernel.function, 1, 1)
    };
    let mut grid = device.launch(&module, request).ok()?;
    for _ in 0..LOOKS {
        match grid.run(BUDGET) {
            Progress::Running => {}
            Progress::Finished => return Some(translated(grid.reach()?, &stand_ins)),
            Progress::Parked | Progress::Fault(_) => return None,
        }
    }
    None
}

/// Where the program has its memory. Variables of the module have no address that is known here.
fn translated(touched: Vec<(Touched, Range<u64>)>, stand_ins: &[StandIn]) -> Vec<Access> {
    let access = |(how, range): (Touched, Range<u64>)| {
        let held = |stand_in: &&StandIn| {
            let bytes = stand_in.real.end - stand_in.real.start;
            (stand_in.here..stand_in.here + bytes).contains(&range.start)
        };
        let stand_in = stand_ins.iter().find(held)?;
        let mode = match how {
            Touched::Read => Mode::Read,
            Touched::Written => Mode::Write,
            Touched::Updated => Mode::Update,
            Touched::Signalled => Mode::Signal,
        };
        let address = stand_in.real.start + (range.start - stand_in.here);
        Some(Access::bytes(mode, address, range.end - range.start))
    };
    touched.into_iter().filter_map(access).collect()
}

/// What kernels print was printed on the card.
struct Silence;

impl DeviceSink for Silence {
    fn print(&mut self, _: &[u8]) {}
}

/// Registers whose values rest on what memory holds.
struct FromMemory(Vec<bool>);

impl FromMemory {
    fn has(&self, register: Register) -> bool {
        self.0.get(register.0 as usize).copied().unwrap_or(true)
    }

    fn guards(&self, guard: Option<Guard>) -> bool {
        guard.is_some_and(|guard| self.has(guard.register()))
    }

    fn any(&self, operands: &[Operand]) -> bool {
        operands.iter().any(|operand| operand.register().is_some_and(|register| self.has(register)))
    }

    /// Marks registers; gives whether one was new.
    fn mark(&mut self, operands: &[Operand]) -> bool {
        let mut new = false;
        for register in operands.iter().filter_map(|operand| operand.register()) {
            if let Some(place) = self.0.get_mut(register.0 as usize) {
                new |= !std::mem::replace(place, true);
            }
        }
        new
    }

    fn of(function: &Function) -> FromMemory {
        let mut found = FromMemory(vec![false; function.registers.len()]);
        loop {
            let mut new = false;
            for instruction in &function.instructions {
                let sources = function.sources(instruction.operands);
                let loads = match instruction.op {
                    Op::Load(access) => access.space != Space::Param,
                    Op::Atomic { .. } | Op::Matrix(_) | Op::Mbarrier { .. } | Op::Opaque(_) => true,
                    _ => false,
                };
                if loads || found.any(sources) || found.guards(instruction.guard) {
                    new |= found.mark(function.destinations(instruction.operands));
                }
            }
            if !new {
                return found;
            }
        }
    }
}

/// Whether the arguments and the shape alone decide which bytes are touched.
fn is_decided(function: &Function) -> bool {
    let memory = FromMemory::of(function);
    let is_outside = |space| matches!(space, Space::Global | Space::Generic);
    let decided = |instruction: &standstill_kernel_ir::Instruction| {
        let sources = function.sources(instruction.operands);
        let address = sources.get(..1).unwrap_or_default();
        match instruction.op {
            Op::Load(access) | Op::Store(access) | Op::Atomic { access, .. } => {
                !is_outside(access.space) || !(memory.any(address) || memory.guards(instruction.guard))
            }
            Op::AsyncCopy { .. } | Op::BulkCopy { .. } => {
                !(memory.any(sources) || memory.guards(instruction.guard))
            }
            Op::Call(_) | Op::Opaque(_) => false,
            _ => true,
        }
    };
    let branches = function.blocks.iter().all(|block| match block.terminator {
        Terminator::Branch { guard, .. } => !memory.guards(Some(guard)),
        Terminator::Switch { index, .. } => !memory.any(&[index]),
        _ => true,
    });
    branches && function.instructions.iter().all(decided)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const BUFFER: u64 = 0x7f00_0000_0000;

    fn check(body: &str, expected: Option<&[(Mode, u64, u64)]>) {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry k(.param .u64 p, .param .u32 n) {{\n\
             .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<9>;\n\
             ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n\
             mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2;\n{body}\nret; }}\n"
        );
        let image = Image::from_text(text, 0, HashMap::new());
        let arguments = [(BUFFER + 64).to_le_bytes(), 20_u64.to_le_bytes()].concat();
        let shape = LaunchShape {
            kernel: 1,
            grid: [1; 3],
            block: [32, 1, 1],
            cluster: [1; 3],
            dynamic_shared: 0,
            cooperative: false,
            arguments: arguments[..12].to_vec(),
        };
        let memory = |address: u64| {
            let range = BUFFER..BUFFER + 4096;
            range.contains(&address).then_some(range)
        };
        let found = reach(image, "k", &shape, &memory);
        let expected: Option<Vec<Access>> = expected.map(|all| {
            all.iter().map(|(mode, offset, bytes)| Access::bytes(*mode, BUFFER + offset, *bytes)).collect()
        });
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn what_the_arguments_decide_is_exact() {
        check("st.global.u32 [%rd3], %r2;", Some(&[(Mode::Write, 64, 128)]));
        // A guard by an argument.
        let guarded = "setp.ge.u32 %p1, %r2, %r1; @%p1 bra DONE; st.global.u32 [%rd3], %r2; DONE:";
        check(guarded, Some(&[(Mode::Write, 64, 80)]));
        let sum = "ld.global.u32 %r3, [%rd3]; add.u32 %r3, %r3, 1; st.global.u32 [%rd3+1024], %r3;";
        check(sum, Some(&[(Mode::Read, 64, 128), (Mode::Write, 1088, 128)]));
        check("red.global.add.u32 [%rd1], 1;", Some(&[(Mode::Update, 64, 4)]));
    }

    #[test]
    fn what_memory_decides_is_not_known() {
        let branch = "ld.global.u32 %r3, [%rd3]; setp.eq.u32 %p1, %r3, 0; @%p1 bra DONE; \
                      st.global.u32 [%rd3], %r2; DONE:";
        check(branch, None);
        check("ld.global.u64 %rd4, [%rd3]; st.global.u32 [%rd4], %r2;", None);
        check("ld.global.u32 %r3, [%rd3]; setp.eq.u32 %p1, %r3, 0; @%p1 st.global.u32 [%rd3], %r2;", None);
        // It writes beyond the end.
        check("st.global.u32 [%rd3+8192], %r2;", None);
    }
}

//! Uniformity: which threads must agree on a value, and under whose condition a block runs.
//!
//! The lattice is grid ⊃ cluster ⊃ block ⊃ warp ⊃ thread, after «An abstract interpretation for SPMD
//! divergence on reducible control flow graphs» (Rosemann, Moll, Hack, POPL 2021), widened by scopes.
//! Everything starts as uniform as can be and sinks until nothing changes.

mod memory;
mod selectors;

use memory::Memory;
use rustc_hash::FxHashMap;
use selectors::Selectors;
use standstill_kernel_ir::{
    Access, BlockId, Function, Instruction, InstructionId, Op, Operand, Operation, Order, ShuffleMode, Space,
    Special, Terminator, ValueDef, ValueId, VoteMode,
};

use crate::body::{Base, Body};
use crate::inline::Helpers;
use crate::launch::Launch;

/// The widest set of threads that are known to agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Agreement {
    /// Each thread may have its own value.
    Thread,
    /// The threads of a warp agree.
    Warp,
    /// The threads of a block agree.
    Block,
    /// The threads of a cluster agree.
    Cluster,
    /// All threads of the launch agree.
    Grid,
}

/// Values that evaluation showed to be more uniform than their operands tell.
pub(crate) type Proved = FxHashMap<ValueId, Agreement>;

/// What is known of a kernel's values and blocks.
pub(crate) struct Uniformity {
    state: State,
    memory: Memory,
    /// What chooses between the ways into each block.
    selectors: Selectors,
}

/// Who agrees on what.
struct State {
    /// For each value of the SSA view.
    values: Vec<Agreement>,
    /// For each block: who agrees on whether it runs.
    control: Vec<Agreement>,
    /// For each loop: who agrees on when it is left.
    exits: Vec<Agreement>,
    /// For each block: who agrees on its terminator's condition.
    branches: Vec<Agreement>,
    /// Whether some loop is left by threads at different times.
    diverging_exits: bool,
}

impl Uniformity {
    /// Analyses a kernel. `proved` gives values that were shown by other means to be more uniform than their
    /// operands tell.
    pub(crate) fn of(body: &Body, helpers: &Helpers, launch: &Launch, proved: &Proved) -> Uniformity {
        Self::find(body, helpers, launch, proved, Memory::of(body), Selectors::of(body))
    }

    /// The same again, with more proved.
    pub(crate) fn again(
        self,
        body: &Body,
        helpers: &Helpers,
        launch: &Launch,
        proved: &Proved,
    ) -> Uniformity {
        Self::find(body, helpers, launch, proved, self.memory, self.selectors)
    }

    fn find(
        body: &Body,
        helpers: &Helpers,
        launch: &Launch,
        proved: &Proved,
        memory: Memory,
        selectors: Selectors,
    ) -> Uniformity {
        let count = body.function.blocks.len();
        let mut state = State {
            values: vec![Agreement::Grid; body.ssa.values().len()],
            control: vec![Agreement::Grid; count],
            exits: vec![Agreement::Grid; body.loops.len()],
            branches: vec![Agreement::Grid; count],
            diverging_exits: false,
        };
        let analysis =
            Analysis { body, helpers, launch, proved, single_warp: launch.is_one_warp(), memory, selectors };
        while analysis.pass(&mut state) {}
        Uniformity { state, memory: analysis.memory, selectors: analysis.selectors }
    }

    /// The branches that choose between the different values that come together in a phi, and that threads
    /// of a block take differently.
    pub(crate) fn choosing(&self, body: &Body, phi: ValueId) -> Vec<BlockId> {
        let Some(block) = body.ssa.block(phi, &body.flow) else { return Vec::new() };
        let (ways, incoming) = (body.flow.predecessors(block), body.ssa.incoming(phi));
        let selectors = self.selectors.of_block(block).iter();
        let choosing = selectors
            .filter(|s| self.branch(s.branch) < Agreement::Block && s.chooses(ways, incoming))
            .map(|s| s.branch);
        choosing.collect()
    }

    /// Who agrees on whether a block runs.
    pub(crate) fn control(&self, block: BlockId) -> Agreement {
        self.state.control(block)
    }

    /// Who agrees on the condition at the end of a block.
    pub(crate) fn branch(&self, block: BlockId) -> Agreement {
        self.state.branch(block)
    }

    /// Who agrees on a value.
    pub(crate) fn value(&self, value: ValueId) -> Agreement {
        self.state.value(value)
    }
}

impl State {
    fn control(&self, block: BlockId) -> Agreement {
        self.control.get(block.0 as usize).copied().unwrap_or(Agreement::Thread)
    }

    fn branch(&self, block: BlockId) -> Agreement {
        self.branches.get(block.0 as usize).copied().unwrap_or(Agreement::Thread)
    }

    fn value(&self, value: ValueId) -> Agreement {
        self.values.get(value.0 as usize).copied().unwrap_or(Agreement::Thread)
    }
}

struct Analysis<'a> {
    body: &'a Body,
    helpers: &'a Helpers,
    launch: &'a Launch,
    proved: &'a Proved,
    /// The block is a single warp, so what a warp agrees on the block does.
    single_warp: bool,
    memory: Memory,
    selectors: Selectors,
}

impl Analysis<'_> {
    /// One sweep in reverse post-order; whether anything sank.
    fn pass(&self, state: &mut State) -> bool {
        let mut changed = false;
        for &block in self.body.flow.reverse_postorder() {
            changed |= self.sink_control(state, block);
            for &value in self.body.ssa.phis(block) {
                if state.value(value) == Agreement::Thread {
                    continue;
                }
                let agreement = self.phi(state, block, value);
                changed |= sink(&mut state.values, value.0 as usize, agreement);
            }
            let Some(range) = self.body.function.blocks.get(block.0 as usize) else { continue };
            for index in range.first..range.end {
                let Some(instruction) = self.body.function.instructions.get(index as usize) else { continue };
                changed |= self.instruction(state, block, InstructionId(index), instruction);
            }
            changed |= self.terminator(state, block);
        }
        changed
    }

    fn sink_control(&self, state: &mut State, block: BlockId) -> bool {
        let mut agreement = Agreement::Grid;
        for &branch in self.body.control_dependence.branches(block) {
            agreement = agreement.min(state.branch(branch)).min(state.control(branch));
        }
        sink(&mut state.control, block.0 as usize, agreement)
    }

    fn phi(&self, state: &State, block: BlockId, value: ValueId) -> Agreement {
        let incoming = self.body.ssa.incoming(value);
        let mut agreement = Agreement::Grid;
        for &(from, from_value) in incoming {
            agreement = agreement.min(self.use_of(state, from, from_value));
        }
        let mut sources = incoming.iter().map(|&(_, v)| v).filter(|&v| v != value);
        let first = sources.next();
        if sources.all(|v| Some(v) == first) {
            return agreement;
        }
        // The ways in differ, so the value differs between threads that come by different ways.
        for selector in self.selectors.of_block(block) {
            let of_branch = state.branch(selector.branch);
            if of_branch < agreement && selector.chooses(self.body.flow.predecessors(block), incoming) {
                agreement = of_branch;
            }
        }
        agreement
    }

    /// Who agrees on what an operand reads in `block`.
    fn operand(&self, state: &State, block: BlockId, position: u32, operand: Operand) -> Agreement {
        match operand {
            Operand::Register(_) | Operand::Negated(_) | Operand::Address { .. } => {
                self.body.ssa.at(position).map_or(Agreement::Grid, |value| self.use_of(state, block, value))
            }
            Operand::Special(special) => self.special(special),
            _ => Agreement::Grid,
        }
    }

    /// Who agrees on a value as `block` reads it: behind a loop that threads leave at different times,
    /// each has the value of its own last round.
    fn use_of(&self, state: &State, block: BlockId, value: ValueId) -> Agreement {
        let mut agreement = state.value(value);
        if agreement == Agreement::Thread || !state.diverging_exits {
            return agreement;
        }
        let defined_in = self.body.ssa.block(value, &self.body.flow);
        let mut around = defined_in.and_then(|defined_in| self.body.loops.innermost(defined_in));
        while let Some(id) = around {
            if self.body.loops.contains(id, block) {
                break;
            }
            agreement = agreement.min(state.exits.get(id.0 as usize).copied().unwrap_or(Agreement::Thread));
            around = self.body.loops.get(id).and_then(|l| l.parent);
        }
        agreement
    }

    fn special(&self, special: Special) -> Agreement {
        let one = |extents: Option<[u32; 3]>, axis: u8| {
            extents.and_then(|e| e.get(usize::from(axis)).copied()) == Some(1)
        };
        match special {
            Special::Tid(axis) if one(self.launch.block, axis) => Agreement::Grid,
            Special::Tid(axis) => {
                let below = self.launch.block.map(|b| b.iter().take(usize::from(axis)).product::<u32>());
                match below {
                    Some(below) if axis > 0 && below.is_multiple_of(32) => Agreement::Warp,
                    _ => Agreement::Thread,
                }
            }
            Special::Ctaid(axis) if one(self.launch.grid, axis) => Agreement::Grid,
            Special::Ctaid(_) | Special::ClusterCtaid(_) | Special::ClusterCtarank => Agreement::Block,
            Special::ClusterId(_) => Agreement::Cluster,
            Special::Ntid(_)
            | Special::Nctaid(_)
            | Special::NclusterId(_)
            | Special::ClusterNctaid(_)
            | Special::ClusterNctarank
            | Special::IsExplicitCluster
            | Special::WarpSize
            | Special::GridId
            | Special::NsmId
            | Special::DynamicSharedSize
            | Special::TotalSharedSize
            | Special::AggregateSharedSize
            | Special::CurrentGraphExec
            | Special::Environment(_) => Agreement::Grid,
            Special::LaneId
            | Special::WarpId
            | Special::NwarpId
            | Special::SmId
            | Special::LaneMaskEq
            | Special::LaneMaskLe
            | Special::LaneMaskLt
            | Special::LaneMaskGe
            | Special::LaneMaskGt
            | Special::Clock
            | Special::Clock64
            | Special::GlobalTimer
            | Special::Other => Agreement::Thread,
        }
    }

    fn instruction(
        &self,
        state: &mut State,
        block: BlockId,
        id: InstructionId,
        instruction: &Instruction,
    ) -> bool {
        // What has sunk to the bottom stays there.
        let mut results = (0..usize::from(instruction.operands.destinations))
            .filter_map(|index| self.body.destination_value(instruction, index));
        if results.all(|value| state.value(value) == Agreement::Thread) {
            return false;
        }
        let function = &self.body.function;
        let first_source = instruction.operands.start + u32::from(instruction.operands.destinations);
        let source = |index: usize| {
            let operand =
                function.sources(instruction.operands).get(index).copied().unwrap_or(Operand::Absent);
            self.operand(state, block, first_source + index as u32, operand)
        };
        let all =
            || (0..usize::from(instruction.operands.sources)).map(source).min().unwrap_or(Agreement::Grid);
        let (mut first, mut second) = match instruction.op {
            Op::Arithmetic(arithmetic) => {
                let agreement = self.cluster_part(instruction, arithmetic.operation).unwrap_or_else(all);
                (agreement, agreement)
            }
            Op::Load(access) => {
                let agreement = self.load(state, id, access, source(0));
                (agreement, agreement)
            }
            Op::Shuffle(mode) => {
                let common = source(0) >= Agreement::Warp;
                let broadcast = mode == ShuffleMode::Idx && source(1) >= Agreement::Warp;
                match (common, broadcast) {
                    (true, _) => (source(0), Agreement::Thread),
                    (false, true) => (Agreement::Warp, Agreement::Warp),
                    (false, false) => (Agreement::Thread, Agreement::Thread),
                }
            }
            Op::Vote(VoteMode::Ballot) => (Agreement::Warp, Agreement::Warp),
            Op::Vote(_) => (source(0).max(Agreement::Warp), Agreement::Warp),
            Op::Match { all: true } | Op::WarpReduce { .. } => (Agreement::Warp, Agreement::Warp),
            Op::Elect => (Agreement::Warp, Agreement::Thread),
            Op::Barrier { .. } => (Agreement::Block, Agreement::Block),
            Op::Call(call) => {
                let agreement = self.call(call, all());
                (agreement, agreement)
            }
            _ => (Agreement::Thread, Agreement::Thread),
        };
        if let Some(guard) = self.body.ssa.guard(id) {
            let guard = self.use_of(state, block, guard);
            first = first.min(guard);
            second = second.min(guard);
        }
        let mut changed = false;
        for index in 0..usize::from(instruction.operands.destinations) {
            let Some(value) = self.body.destination_value(instruction, index) else { continue };
            let mut agreement = if index == 0 { first } else { second };
            if agreement == Agreement::Warp && self.single_warp {
                agreement = Agreement::Block;
            }
            if let Some(proved) = self.proved.get(&value) {
                agreement = agreement.max(*proved);
            }
            if let Some(ValueDef::Instruction { previous: Some(previous), .. }) =
                self.body.ssa.definition(value)
            {
                agreement = agreement.min(self.use_of(state, block, previous));
            }
            changed |= sink(&mut state.values, value.0 as usize, agreement);
        }
        changed
    }

    /// A block index without its place in the cluster (`blockIdx.x / 2` in clusters of two) is the same for
    /// all blocks of a cluster.
    fn cluster_part(&self, instruction: &Instruction, operation: Operation) -> Option<Agreement> {
        let [across, 1, 1] = self.launch.cluster? else { return None };
        let constant = self.body.constant(instruction, 1)?;
        let covers = match operation {
            Operation::Shr => constant < 32 && (1u64 << constant).is_multiple_of(u64::from(across)),
            Operation::Div => constant != 0 && constant.is_multiple_of(u64::from(across)),
            Operation::And => {
                (constant as u32).trailing_zeros() < 32 && {
                    (1u64 << (constant as u32).trailing_zeros()).is_multiple_of(u64::from(across))
                }
            }
            _ => return None,
        };
        let of = |operand: Operand| operand == Operand::Special(Special::Ctaid(0));
        let first = self.body.source(instruction, 0);
        let block_index = of(first)
            || self
                .body
                .source_value(instruction, 0)
                .and_then(|value| self.body.definition(value))
                .is_some_and(|(_, read)| {
                    matches!(read.op, Op::Arithmetic(a) if a.operation == Operation::Mov)
                        && of(self.body.source(read, 0))
                });
        (covers && block_index).then_some(Agreement::Cluster)
    }

    fn load(&self, state: &State, id: InstructionId, access: Access, address: Agreement) -> Agreement {
        match access.space {
            Space::Param | Space::Const => return address,
            Space::Local => return self.local_slot(state, id).min(address),
            _ => {}
        }
        if access.order != Order::Weak || (!access.non_coherent && self.memory.contends(self.body, id)) {
            return Agreement::Thread;
        }
        if crate::inline::is_shared(access.space) { address.min(Agreement::Block) } else { address }
    }

    /// Who agrees on a slot of the thread's own stack: those who agree on all that is stored to it.
    fn local_slot(&self, state: &State, load: InstructionId) -> Agreement {
        let slot = self.body.base(load);
        if slot == Base::Unknown {
            return Agreement::Thread;
        }
        let mut agreement = Agreement::Grid;
        for &store in &self.body.local_stores {
            let Some(instruction) = self.body.function.instructions.get(store.0 as usize) else { continue };
            let base = self.body.base(store);
            if base != slot && base != Base::Unknown {
                continue;
            }
            let block = self.body.block_of(store);
            let start = instruction.operands.start + u32::from(instruction.operands.destinations);
            for (index, &operand) in self.body.function.sources(instruction.operands).iter().enumerate() {
                agreement = agreement.min(self.operand(state, block, start + index as u32, operand));
            }
            agreement = agreement.min(state.control(block));
        }
        agreement
    }

    fn call(&self, call: standstill_kernel_ir::CallId, arguments: Agreement) -> Agreement {
        use standstill_kernel_ir::Callee;
        match self.body.function.calls.get(call.0 as usize).map(|call| &call.callee) {
            Some(Callee::Direct(id)) => match self.helpers.function(*id) {
                Some(helper) => arguments.min(own_agreement(helper, self)),
                None => Agreement::Thread,
            },
            _ => Agreement::Thread,
        }
    }

    fn condition(&self, state: &State, block: BlockId) -> Agreement {
        self.body.ssa.terminator(block).map_or(Agreement::Grid, |value| self.use_of(state, block, value))
    }

    fn terminator(&self, state: &mut State, block: BlockId) -> bool {
        let Some(ends) = self.body.function.blocks.get(block.0 as usize) else { return false };
        let agreement = match ends.terminator {
            Terminator::Branch { .. } => self.condition(state, block),
            Terminator::Switch { index, .. } => match index {
                Operand::Special(special) => self.special(special),
                Operand::Register(_) => self.condition(state, block),
                _ => Agreement::Grid,
            },
            _ => return false,
        };
        let mut changed = sink(&mut state.branches, block.0 as usize, agreement);
        if agreement == Agreement::Grid {
            return changed;
        }
        let mut around = self.body.loops.innermost(block);
        while let Some(id) = around {
            let mut leaves = false;
            self.body.function.successors(block, |to| leaves |= !self.body.loops.contains(id, to));
            if leaves {
                changed |= sink(&mut state.exits, id.0 as usize, agreement);
                state.diverging_exits = true;
            }
            around = self.body.loops.get(id).and_then(|l| l.parent);
        }
        changed
    }
}

/// Who agrees on what a helper computes beside its arguments: those who agree on all it reads of its thread.
fn own_agreement(helper: &Function, analysis: &Analysis<'_>) -> Agreement {
    let mut agreement = Agreement::Grid;
    for instruction in &helper.instructions {
        match instruction.op {
            Op::Arithmetic(_) | Op::Store(_) | Op::Hint => {}
            Op::Load(access) if access.space == Space::Param => {}
            _ => return Agreement::Thread,
        }
        for operand in helper.sources(instruction.operands) {
            if let Operand::Special(special) = operand {
                agreement = agreement.min(analysis.special(*special));
            }
        }
    }
    agreement
}

fn sink(slots: &mut [Agreement], index: usize, to: Agreement) -> bool {
    match slots.get_mut(index) {
        Some(slot) if *slot > to => {
            *slot = to;
            true
        }
        _ => false,
    }
}

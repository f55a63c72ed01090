//! What a rehearsal has to execute: the part of a kernel that decides who arrives where.

use fixedbitset::FixedBitSet;
use standstill_kernel_ir::{
    BlockId, Instruction, InstructionId, Op, Operand, Order, Register, Space, Terminator,
};

use crate::body::{Base, Body};

/// The part of a kernel that matters to its waiting.
pub(crate) struct Plan {
    /// Instructions to execute.
    pub(crate) instructions: FixedBitSet,
    /// Blocks whose branch must be taken by its condition. At the others control may go straight to where
    /// all ways meet again.
    pub(crate) branches: FixedBitSet,
    /// For each register, its slot in a thread's state, or [`Plan::NO_SLOT`].
    slots: Vec<u32>,
    /// Number of slots of a thread.
    pub(crate) slot_count: usize,
    /// Whether operations of a warp are waited for.
    pub(crate) warp_operations: bool,
    /// What flags, locks and counters are based on: places that are only ever set to constants, or counted.
    flags: Vec<Base>,
}

impl Plan {
    const NO_SLOT: u32 = u32::MAX;

    /// Finds what matters. Without `warp_operations` those are taken to be right.
    pub(crate) fn of(body: &Body, warp_operations: bool) -> Plan {
        let function = &body.function;
        let mut plan = Plan {
            instructions: FixedBitSet::with_capacity(function.instructions.len()),
            branches: FixedBitSet::with_capacity(function.blocks.len()),
            slots: vec![Self::NO_SLOT; function.registers.len()],
            slot_count: 0,
            warp_operations,
            flags: flags(body),
        };
        let mut search = Search {
            body,
            work: Vec::new(),
            blocks: FixedBitSet::with_capacity(function.blocks.len()),
            definitions: definitions(body),
            bases: Vec::new(),
        };
        for (id, instruction) in body.instructions() {
            if waits(&instruction.op, warp_operations) || polls(body, id, instruction) {
                search.include(&mut plan, id);
            }
        }
        loop {
            while let Some(register) = search.work.pop() {
                search.define(&mut plan, register);
            }
            if !search.stores(&mut plan) {
                break;
            }
        }
        plan
    }

    /// Whether what lies at a base is a flag, a lock or a counter, which starts at zero before a launch.
    pub(crate) fn starts_at_zero(&self, base: Base) -> bool {
        base == Base::Workspace || self.flags.contains(&base)
    }

    /// The slot of a register in a thread's state.
    pub(crate) fn slot(&self, register: Register) -> Option<usize> {
        let slot = self.slots.get(register.0 as usize).copied().unwrap_or(Self::NO_SLOT);
        (slot != Self::NO_SLOT).then_some(slot as usize)
    }
}

/// Whether an operation is one that threads wait at or that lets others go on.
fn waits(op: &Op, warp_operations: bool) -> bool {
    match op {
        Op::Barrier { .. }
        | Op::ClusterBarrier { .. }
        | Op::Mbarrier { .. }
        | Op::AsyncMbarrierArrive { .. } => true,
        Op::BulkCopy { completion, .. } => {
            matches!(completion, standstill_kernel_ir::BulkCompletion::Mbarrier)
        }
        Op::Matrix(kind) => matches!(kind, standstill_kernel_ir::MatrixKind::TensorCommit),
        Op::WarpSync
        | Op::Shuffle(_)
        | Op::Vote(_)
        | Op::Match { .. }
        | Op::WarpReduce { .. }
        | Op::Elect => warp_operations,
        _ => false,
    }
}

/// Whether a read stands in a loop and may be what the loop waits for.
fn polls(body: &Body, id: InstructionId, instruction: &Instruction) -> bool {
    let strong = match instruction.op {
        Op::Load(access) => access.order != Order::Weak && access.space != Space::Local,
        Op::Atomic { .. } => true,
        _ => return false,
    };
    strong && body.loops.innermost(body.block_of(id)).is_some()
}

/// The bases at which nothing but constants are stored, exchanged or added.
fn flags(body: &Body) -> Vec<Base> {
    let mut flags: Vec<Base> = Vec::new();
    let mut others: Vec<Base> = Vec::new();
    for (id, instruction) in body.instructions() {
        let constant = |index: usize| body.constant(instruction, index).is_some();
        let (writes, constants) = match instruction.op {
            Op::Store(_) => (true, (1..usize::from(instruction.operands.sources)).all(constant)),
            Op::Atomic { .. } => (true, (1..usize::from(instruction.operands.sources)).all(constant)),
            Op::Load(access) => (access.order != Order::Weak, true),
            _ => continue,
        };
        if !writes {
            continue;
        }
        let base = body.base(id);
        let list = if constants { &mut flags } else { &mut others };
        if !list.contains(&base) {
            list.push(base);
        }
    }
    flags.retain(|base| *base != Base::Unknown && !others.contains(base));
    flags
}

/// The instructions that define each register.
fn definitions(body: &Body) -> standstill_kernel_ir::Lists<u32> {
    let mut pairs = Vec::new();
    for (id, instruction) in body.instructions() {
        for destination in body.function.destinations(instruction.operands) {
            if let Operand::Register(register) = destination {
                pairs.push((register.0, id.0));
            }
        }
    }
    standstill_kernel_ir::Lists::from_pairs(body.function.registers.len(), &pairs)
}

struct Search<'a> {
    body: &'a Body,
    /// Registers whose definitions are still to be included.
    work: Vec<Register>,
    /// Blocks whose conditions are included.
    blocks: FixedBitSet,
    definitions: standstill_kernel_ir::Lists<u32>,
    /// What the included reads read from.
    bases: Vec<(bool, Base)>,
}

impl Search<'_> {
    fn include(&mut self, plan: &mut Plan, id: InstructionId) {
        if plan.instructions.put(id.0 as usize) {
            return;
        }
        let Some(instruction) = self.body.instruction(id) else { return };
        for operand in self.body.function.sources(instruction.operands) {
            if let Some(register) = operand.register() {
                self.want(plan, register);
            }
        }
        for operand in self.body.function.destinations(instruction.operands) {
            if let Some(register) = operand.register() {
                self.want(plan, register);
            }
        }
        if let Some(guard) = instruction.guard {
            self.want(plan, guard.register());
        }
        if let Op::Load(access) | Op::Atomic { access, .. } = instruction.op
            && !matches!(access.space, Space::Param | Space::Const)
        {
            let read = (crate::inline::is_shared(access.space), self.body.base(id));
            if !self.bases.contains(&read) {
                self.bases.push(read);
            }
        }
        self.conditions(plan, self.body.block_of(id));
    }

    fn want(&mut self, plan: &mut Plan, register: Register) {
        if let Some(slot) = plan.slots.get_mut(register.0 as usize)
            && *slot == Plan::NO_SLOT
        {
            *slot = plan.slot_count as u32;
            plan.slot_count += 1;
            self.work.push(register);
        }
    }

    fn define(&mut self, plan: &mut Plan, register: Register) {
        let definitions: Vec<u32> = self.definitions.get(register.0).to_vec();
        for id in definitions {
            self.include(plan, InstructionId(id));
        }
    }

    /// Includes the branches that decide whether a block runs.
    fn conditions(&mut self, plan: &mut Plan, block: BlockId) {
        let mut stack = vec![block];
        while let Some(block) = stack.pop() {
            if self.blocks.put(block.0 as usize) {
                continue;
            }
            for &branch in self.body.control_dependence.branches(block) {
                if plan.branches.put(branch.0 as usize) {
                    continue;
                }
                let terminator = self.body.function.blocks.get(branch.0 as usize).map(|b| b.terminator);
                match terminator {
                    Some(Terminator::Branch { guard, .. }) => self.want(plan, guard.register()),
                    Some(Terminator::Switch { index: Operand::Register(register), .. }) => {
                        self.want(plan, register)
                    }
                    _ => {}
                }
                stack.push(branch);
            }
        }
    }

    /// Includes the writes that an included read may see; whether there were new ones.
    fn stores(&mut self, plan: &mut Plan) -> bool {
        let mut found = false;
        let body = self.body;
        for (id, instruction) in body.instructions() {
            let (Op::Store(access) | Op::Atomic { access, .. }) = instruction.op else { continue };
            if plan.instructions.contains(id.0 as usize)
                || matches!(access.space, Space::Param | Space::Const)
            {
                continue;
            }
            let written = (crate::inline::is_shared(access.space), body.base(id));
            if self.bases.iter().any(|read| may_be_same(*read, written)) {
                self.include(plan, id);
                found = true;
            }
        }
        found
    }
}

fn may_be_same(a: (bool, Base), b: (bool, Base)) -> bool {
    a.1 == b.1 || a.1 == Base::Unknown || b.1 == Base::Unknown
}

//! Inlining: a kernel with the helpers that synchronise copied into it, so that every rule sees one
//! control flow graph and a barrier in a helper stands under the condition of its call. Small helpers that
//! access memory are copied, too: a payload may be stored in one.

mod prune;

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{
    Arithmetic, ArithmeticFlags, Block, BlockId, BooleanOperation, CallId, CallSite, Callee, Comparison,
    Function, FunctionId, FunctionKind, Instruction, Location, LocationId, Op, OpaqueId, Operand,
    OperandRange, Operation, Order, Piece, Program, Register, Space, Symbol, Terminator, Type,
};

pub(crate) use prune::{without, without_aborts};

/// Deepest chain of calls that is copied.
const MAXIMUM_DEPTH: u32 = 24;

/// Most instructions a kernel may have after inlining.
const MAXIMUM_INSTRUCTIONS: usize = 400_000;

/// Most instructions of a helper that is copied only for its accesses to memory, and of a kernel with such.
const MAXIMUM_ACCESSING: usize = 400;
const MAXIMUM_WITH_ACCESSING: usize = 20_000;

/// A kernel with its synchronising helpers inlined.
pub(crate) struct Inlined {
    /// The merged function.
    pub(crate) function: Function,
    /// Calls that could not be looked into although they may synchronise.
    pub(crate) unresolved: Vec<Unresolved>,
}

/// A call that was left as it is although its callee may synchronise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unresolved {
    /// Where the call stands.
    pub(crate) location: LocationId,
    /// Why it was left.
    pub(crate) reason: &'static str,
}

/// The helpers of a program, lowered once, with what matters of each.
pub(crate) struct Helpers {
    functions: FxHashMap<u32, Helper>,
    /// Where each variable of the module lies.
    pub(crate) variable_spaces: std::sync::Arc<[Space]>,
}

struct Helper {
    function: Function,
    /// It or something it calls synchronises, or reads memory in a way that others may be waited for.
    synchronises: bool,
    /// It accesses memory that other threads can see, and is small.
    accesses: bool,
}

impl Helpers {
    /// Lowers every device function that is defined.
    pub(crate) fn of(program: &dyn Program) -> Helpers {
        let mut functions = FxHashMap::default();
        for (index, header) in program.module().functions.iter().enumerate() {
            if header.kind == FunctionKind::Device && header.defined {
                let id = index as u32;
                if let Some(function) = program.function(FunctionId(id)) {
                    let synchronises = function.instructions.iter().any(|i| synchronises(&i.op))
                        || function.blocks.iter().any(|b| matches!(b.terminator, Terminator::Exit));
                    let accesses = function.instructions.len() <= MAXIMUM_ACCESSING
                        && function.instructions.iter().any(|i| accesses(&i.op));
                    functions.insert(id, Helper { function, synchronises, accesses });
                }
            }
        }
        let variable_spaces = program.module().variables.iter().map(|variable| variable.space).collect();
        let mut helpers = Helpers { functions, variable_spaces };
        helpers.spread();
        helpers
    }

    /// A caller of a helper that synchronises does so too.
    fn spread(&mut self) {
        loop {
            let found: Vec<u32> = self
                .functions
                .iter()
                .filter(|(_, helper)| !helper.synchronises)
                .filter(|(_, helper)| {
                    helper.function.calls.iter().any(|call| match &call.callee {
                        Callee::Direct(id) => self.functions.get(&id.0).is_some_and(|h| h.synchronises),
                        Callee::Indirect(_) => true,
                        Callee::Unknown(_) => false,
                    })
                })
                .map(|(id, _)| *id)
                .collect();
            if found.is_empty() {
                return;
            }
            for id in found {
                if let Some(helper) = self.functions.get_mut(&id) {
                    helper.synchronises = true;
                }
            }
        }
    }

    /// A helper that is worth copying.
    fn wanted(&self, id: FunctionId) -> Option<&Helper> {
        self.functions.get(&id.0).filter(|helper| helper.synchronises || helper.accesses)
    }

    /// The body of a helper.
    pub(crate) fn function(&self, id: FunctionId) -> Option<&Function> {
        self.functions.get(&id.0).map(|helper| &helper.function)
    }
}

/// Whether an operation waits, orders, or is something that others may wait for.
fn synchronises(op: &Op) -> bool {
    match op {
        Op::Load(access) | Op::Store(access) => access.order != Order::Weak,
        Op::Arithmetic(_)
        | Op::Hint
        | Op::Opaque(_)
        | Op::Call(_)
        | Op::LifeMark { .. }
        | Op::OperationMark(_)
        | Op::SetMaximumRegisters => false,
        _ => true,
    }
}

/// Whether an operation is a plain access to memory that other threads can see.
fn accesses(op: &Op) -> bool {
    match op {
        Op::Load(access) | Op::Store(access) => {
            matches!(access.space, Space::Generic | Space::Global | Space::Shared | Space::SharedCluster)
        }
        _ => false,
    }
}

/// Copies the helpers that synchronise, and small ones that access memory, into `kernel`.
pub(crate) fn inline(program: &dyn Program, helpers: &Helpers, kernel: Function) -> Inlined {
    let calls_something = kernel.calls.iter().any(|call| match &call.callee {
        Callee::Direct(id) => {
            helpers.wanted(*id).is_some()
                || program.module().functions.get(id.0 as usize).is_some_and(|header| header.no_return)
        }
        Callee::Indirect(_) => true,
        Callee::Unknown(_) => false,
    });
    if !calls_something {
        return Inlined { function: kernel, unresolved: Vec::new() };
    }
    let out = Function {
        id: kernel.id,
        blocks: Vec::new(),
        instructions: Vec::new(),
        operands: Vec::new(),
        registers: Vec::new(),
        parameters: kernel.parameters.clone(),
        parameter_pieces: Vec::new(),
        result_pieces: Vec::new(),
        variables: Vec::new(),
        calls: Vec::new(),
        switch_targets: Vec::new(),
        locations: vec![Location::default()],
        opaque: Vec::new(),
    };
    let mut inliner = Inliner { program, helpers, out, unresolved: Vec::new(), stack: Vec::new() };
    inliner.frame(&kernel, LocationId::default(), 0);
    Inlined { function: inliner.out, unresolved: inliner.unresolved }
}

struct Inliner<'a> {
    program: &'a dyn Program,
    helpers: &'a Helpers,
    out: Function,
    unresolved: Vec<Unresolved>,
    /// The functions being copied, outermost first.
    stack: Vec<FunctionId>,
}

/// Where the parts of a function lie in the merged one.
#[derive(Clone, Copy)]
struct Bases {
    register: u32,
    variable: u32,
    call: u32,
    opaque: u32,
    location: u32,
}

impl Inliner<'_> {
    /// Copies one function; gives the merged blocks that return to its caller and the base of its registers.
    fn frame(&mut self, function: &Function, inlined_at: LocationId, depth: u32) -> (Vec<u32>, u32) {
        self.stack.push(function.id);
        let bases = self.tables(function, inlined_at);
        let mut block_of: Vec<u32> = Vec::with_capacity(function.blocks.len());
        let mut own_blocks: Vec<u32> = Vec::new();
        for (index, block) in function.blocks.iter().enumerate() {
            let mut first = self.out.instructions.len() as u32;
            block_of.push(self.out.blocks.len() as u32);
            let mut aborts = false;
            for instruction in function.instructions_of(BlockId(index as u32)) {
                let copy = self.copy(function, instruction, bases);
                if let Op::Call(call) = instruction.op {
                    if self.never_returns(function, call) {
                        aborts = true;
                        break;
                    }
                    if let Some(callee) = self.callee(function, call, copy.location, depth) {
                        first = self.splice(function, call, callee, bases, copy, first, depth);
                        continue;
                    }
                }
                self.out.instructions.push(copy);
            }
            own_blocks.push(self.out.blocks.len() as u32);
            let terminator = if aborts { Terminator::Trap } else { block.terminator };
            let location = LocationId(block.location.0 + bases.location);
            let end = self.out.instructions.len() as u32;
            self.out.blocks.push(Block { first, end, terminator, location, offset: block.offset });
        }
        let returns = self.connect(function, &block_of, &own_blocks, bases);
        self.stack.pop();
        (returns, bases.register)
    }

    /// Appends a function's tables.
    fn tables(&mut self, function: &Function, inlined_at: LocationId) -> Bases {
        let out = &mut self.out;
        let bases = Bases {
            register: out.registers.len() as u32,
            variable: out.variables.len() as u32,
            call: out.calls.len() as u32,
            opaque: out.opaque.len() as u32,
            location: out.locations.len() as u32,
        };
        out.registers.extend_from_slice(&function.registers);
        out.variables.extend_from_slice(&function.variables);
        out.opaque.extend_from_slice(&function.opaque);
        let piece = |p: &Piece| Piece { register: Register(p.register.0 + bases.register), ..*p };
        out.calls.extend(function.calls.iter().map(|call| CallSite {
            callee: call.callee.clone(),
            arguments: call.arguments.iter().map(piece).collect(),
            results: call.results.iter().map(piece).collect(),
        }));
        out.locations.extend(function.locations.iter().map(|location| Location {
            inlined_at: match location.inlined_at.0 {
                0 => inlined_at,
                outer => LocationId(outer + bases.location),
            },
            ..*location
        }));
        bases
    }

    fn copy(&mut self, function: &Function, instruction: &Instruction, bases: Bases) -> Instruction {
        let start = self.out.operands.len() as u32;
        let moved = |operand: &Operand| move_operand(*operand, bases);
        self.out.operands.extend(function.destinations(instruction.operands).iter().map(moved));
        self.out.operands.extend(function.sources(instruction.operands).iter().map(moved));
        Instruction {
            op: match instruction.op {
                Op::Call(call) => Op::Call(CallId(call.0 + bases.call)),
                Op::Opaque(opaque) => Op::Opaque(OpaqueId(opaque.0 + bases.opaque)),
                op => op,
            },
            guard: instruction.guard.map(|guard| {
                standstill_kernel_ir::Guard::new(
                    Register(guard.register().0 + bases.register),
                    guard.negated(),
                )
            }),
            operands: OperandRange { start, ..instruction.operands },
            location: LocationId(instruction.location.0 + bases.location),
            offset: instruction.offset,
        }
    }

    fn never_returns(&self, function: &Function, call: CallId) -> bool {
        match function.calls.get(call.0 as usize).map(|call| &call.callee) {
            Some(Callee::Direct(id)) => {
                self.program.module().functions.get(id.0 as usize).is_some_and(|header| header.no_return)
            }
            _ => false,
        }
    }

    /// The helper to copy in place of a call, if it is one that must be looked into and can be.
    fn callee(
        &mut self,
        function: &Function,
        call: CallId,
        location: LocationId,
        depth: u32,
    ) -> Option<(FunctionId, &'static str)> {
        let helpers = self.helpers;
        let reason = match function.calls.get(call.0 as usize).map(|call| &call.callee)? {
            Callee::Direct(id) => {
                let helper = helpers.wanted(*id)?;
                let limit = if helper.synchronises { MAXIMUM_INSTRUCTIONS } else { MAXIMUM_WITH_ACCESSING };
                let reason = if self.stack.contains(id) {
                    "recursion"
                } else if depth >= MAXIMUM_DEPTH
                    || self.out.instructions.len() + helper.function.instructions.len() > limit
                {
                    "the call tree is too large"
                } else {
                    return Some((*id, ""));
                };
                if !helper.synchronises {
                    return None;
                }
                reason
            }
            Callee::Indirect(_) => "an indirect call",
            Callee::Unknown(_) => return None,
        };
        self.unresolved.push(Unresolved { location, reason });
        None
    }

    /// Copies a callee in place of a call; gives the first instruction of the block that goes on behind it.
    #[allow(clippy::too_many_arguments, reason = "the state of the copy loop, handed on once")]
    fn splice(
        &mut self,
        function: &Function,
        call: CallId,
        callee: (FunctionId, &'static str),
        bases: Bases,
        at: Instruction,
        first: u32,
        depth: u32,
    ) -> u32 {
        let helpers = self.helpers;
        let (Some(body), Some(site)) = (helpers.function(callee.0), function.calls.get(call.0 as usize))
        else {
            return first;
        };
        let callee_base = self.out.registers.len() as u32;
        for piece in &body.parameter_pieces {
            let passed = site
                .arguments
                .iter()
                .find(|argument| (argument.index, argument.offset) == (piece.index, piece.offset));
            if let Some(passed) = passed {
                let ty = body.registers.get(piece.register.0 as usize).map_or(Type::None, |info| info.ty);
                self.assign(
                    Register(piece.register.0 + callee_base),
                    Register(passed.register.0 + bases.register),
                    ty,
                    at,
                );
            }
        }
        let end = self.out.instructions.len() as u32;
        let entry = BlockId(self.out.blocks.len() as u32 + 1);
        self.out.blocks.push(Block {
            first,
            end,
            terminator: Terminator::Jump(entry),
            location: at.location,
            offset: at.offset,
        });
        let (returns, register_base) = self.frame(body, at.location, depth + 1);
        let continuation = BlockId(self.out.blocks.len() as u32);
        for block in returns {
            if let Some(block) = self.out.blocks.get_mut(block as usize) {
                block.terminator = Terminator::Jump(continuation);
            }
        }
        let first = self.out.instructions.len() as u32;
        for piece in &site.results {
            let given = body
                .result_pieces
                .iter()
                .find(|result| (result.index, result.offset) == (piece.index, piece.offset));
            if let Some(given) = given {
                let ty = body.registers.get(given.register.0 as usize).map_or(Type::None, |info| info.ty);
                let destination = Register(piece.register.0 + bases.register);
                self.assign(destination, Register(given.register.0 + register_base), ty, at);
            }
        }
        first
    }

    fn assign(&mut self, destination: Register, source: Register, ty: Type, at: Instruction) {
        let start = self.out.operands.len() as u32;
        self.out.operands.push(Operand::Register(destination));
        self.out.operands.push(Operand::Register(source));
        self.out.instructions.push(Instruction {
            op: Op::Arithmetic(Arithmetic {
                operation: Operation::Mov,
                ty,
                from: ty,
                comparison: Comparison::None,
                combine: BooleanOperation::None,
                flags: ArithmeticFlags::default(),
            }),
            guard: None,
            operands: OperandRange { start, destinations: 1, sources: 1 },
            location: at.location,
            offset: at.offset,
        });
    }

    /// Gives the terminators of a frame their merged targets; answers which blocks return.
    fn connect(&mut self, function: &Function, block_of: &[u32], own: &[u32], bases: Bases) -> Vec<u32> {
        let target = |id: BlockId| BlockId(block_of.get(id.0 as usize).copied().unwrap_or(0));
        let mut returns = Vec::new();
        let in_kernel = self.stack.len() == 1;
        for &index in own {
            let switch_base = self.out.switch_targets.len() as u32;
            let Some(block) = self.out.blocks.get_mut(index as usize) else { continue };
            block.terminator = match block.terminator {
                Terminator::Jump(to) => Terminator::Jump(target(to)),
                Terminator::Branch { guard, taken, otherwise } => Terminator::Branch {
                    guard: standstill_kernel_ir::Guard::new(
                        Register(guard.register().0 + bases.register),
                        guard.negated(),
                    ),
                    taken: target(taken),
                    otherwise: target(otherwise),
                },
                Terminator::Switch { index, first, count } => {
                    let targets = function.switch_targets.get(first as usize..(first + count) as usize);
                    self.out.switch_targets.extend(targets.unwrap_or(&[]).iter().map(|&to| target(to)));
                    Terminator::Switch { index: move_operand(index, bases), first: switch_base, count }
                }
                Terminator::Return => {
                    if !in_kernel {
                        returns.push(index);
                    }
                    Terminator::Return
                }
                other => other,
            };
        }
        returns
    }
}

fn move_operand(operand: Operand, bases: Bases) -> Operand {
    let register = |register: Register| Register(register.0 + bases.register);
    match operand {
        Operand::Register(r) => Operand::Register(register(r)),
        Operand::Negated(r) => Operand::Negated(register(r)),
        Operand::Address { base, offset } => Operand::Address { base: register(base), offset },
        Operand::Symbol { symbol: Symbol::Local(index), offset } => {
            Operand::Symbol { symbol: Symbol::Local(index + bases.variable), offset }
        }
        other => other,
    }
}

/// Whether a variable lies in memory that all threads of the block share.
pub(crate) fn is_shared(space: Space) -> bool {
    matches!(space, Space::Shared | Space::SharedCluster)
}

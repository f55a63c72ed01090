//! Single instructions.

use std::fmt::Write as _;

use standstill_kernel_ir::{
    Access, AtomicOperation, BarrierKind, BarrierReduction, FenceKind, Instruction, Op, Operand, Operation,
    OperationMark, Order, ShuffleMode, Space, Type, VoteMode,
};

use super::arithmetic;
use super::body::Writer;
use super::words::{atomic_word, bits_name, order_words, scope_word, space_word, special_name, type_name};

impl Writer<'_> {
    /// Writes an instruction; `None` where that cannot be done.
    pub(super) fn instruction(&mut self, instruction: &Instruction) -> Option<()> {
        let function = self.function;
        let (into, from) =
            (function.destinations(instruction.operands), function.sources(instruction.operands));
        let source = |index: usize| from.get(index).copied().unwrap_or(Operand::Absent);
        let given = |index: usize| Some(source(index)).filter(|operand| *operand != Operand::Absent);
        let result = into.first().copied().unwrap_or(Operand::Absent);
        let line = match instruction.op {
            Op::Arithmetic(_) => self.arithmetic(instruction, into, from)?,
            Op::Load(access) => {
                let list = self.list(into, access.ty)?;
                format!("{} {list}, {}", access_opcode("ld", access)?, self.address(source(0))?)
            }
            Op::Store(access) => {
                let list = self.list(from.get(1..)?, access.ty)?;
                format!("{} {}, {list}", access_opcode("st", access)?, self.address(source(0))?)
            }
            Op::Atomic { access, operation } => self.atomic(access, operation, result, from)?,
            Op::Barrier { kind, aligned, reduction } => {
                let name = if aligned { "bar" } else { "barrier" };
                let id = self.value(source(0), Type::U32)?;
                let count = match given(1) {
                    Some(count) => format!(", {}", self.value(count, Type::U32)?),
                    None => String::new(),
                };
                match (kind, reduction) {
                    (BarrierKind::Sync, None) => format!("{name}.sync {id}{count}"),
                    (BarrierKind::Arrive, _) => format!("{name}.arrive {id}{count}"),
                    (BarrierKind::Sync, Some(reduction)) => {
                        let words = match reduction {
                            BarrierReduction::Count => "popc.u32",
                            BarrierReduction::And => "and.pred",
                            BarrierReduction::Or => "or.pred",
                        };
                        let into = self.value(result, Type::U32)?;
                        let predicate = self.value(source(2), Type::Pred)?;
                        format!("{name}.red.{words} {into}, {id}{count}, {predicate}")
                    }
                }
            }
            Op::WarpSync => format!("bar.warp.sync {}", self.value(source(0), Type::B32)?),
            Op::Shuffle(mode) => {
                let mode = match mode {
                    ShuffleMode::Up => "up",
                    ShuffleMode::Down => "down",
                    ShuffleMode::Bfly => "bfly",
                    ShuffleMode::Idx => "idx",
                };
                let results = self.pair(into)?;
                let mut words = Vec::new();
                for index in 0..3 {
                    words.push(self.value(source(index), Type::B32)?);
                }
                words.push(self.value(given(3)?, Type::B32)?);
                format!("shfl.sync.{mode}.b32 {results}, {}", words.join(", "))
            }
            Op::Vote(mode) => {
                let mode = match mode {
                    VoteMode::All => "all.pred",
                    VoteMode::Any => "any.pred",
                    VoteMode::Uni => "uni.pred",
                    VoteMode::Ballot => "ballot.b32",
                };
                let (into, predicate) = (self.value(result, Type::B32)?, self.value(source(0), Type::Pred)?);
                format!("vote.sync.{mode} {into}, {predicate}, {}", self.value(given(1)?, Type::B32)?)
            }
            Op::Match { all } => {
                let (mode, results) = match all {
                    true => ("all", self.pair(into)?),
                    false => ("any", self.value(result, Type::B32)?),
                };
                let bits = self.bits_of(source(0)).unwrap_or("b32");
                let value = self.value(source(0), Type::B32)?;
                format!("match.{mode}.sync.{bits} {results}, {value}, {}", self.value(given(1)?, Type::B32)?)
            }
            Op::WarpReduce { operation, ty } => {
                let (into, value) = (self.value(result, ty)?, self.value(source(0), ty)?);
                let mask = self.value(source(1), Type::B32)?;
                format!("redux.sync.{}.{} {into}, {value}, {mask}", atomic_word(operation), type_name(ty)?)
            }
            Op::ActiveMask => format!("activemask.b32 {}", self.value(result, Type::B32)?),
            Op::Elect => format!("elect.sync {}, {}", self.pair(into)?, self.value(source(0), Type::B32)?),
            Op::Fence { kind: FenceKind::Thread, order, scope } => {
                let order = match order {
                    Order::SequentiallyConsistent => "sc",
                    Order::AcquireRelease => "acq_rel",
                    _ => return None,
                };
                format!("fence.{order}{}", scope_word(scope))
            }
            Op::Nanosleep => format!("nanosleep.u32 {}", self.value(source(0), Type::U32)?),
            Op::LifeMark { freed } => {
                // A comment: it costs nothing on a card.
                let name = if freed { "freed" } else { "allocated" };
                let (address, bytes) = (self.value(source(0), Type::U64)?, self.value(source(1), Type::U32)?);
                let _ = writeln!(self.text, "\t// standstill.{name} {address}, {bytes};");
                return Some(());
            }
            Op::OperationMark(mark) => {
                let name = mark.register();
                let values: Option<Vec<String>> =
                    from.iter().map(|&operand| self.value(operand, Type::U64)).collect();
                let values = values?.join(", ");
                let opcode = if mark == OperationMark::Ends { "mov.b64" } else { "mad.lo.u64" };
                let _ = writeln!(self.text, "\t{{ .reg .b64 {name}; {opcode} {name}, {values}; }}");
                return Some(());
            }
            Op::Hint => return Some(()),
            Op::Call(id) => {
                let site = function.calls.get(id.0 as usize)?;
                return self.call(instruction, site);
            }
            _ => return None,
        };
        let guard = match instruction.guard {
            Some(guard) => format!("@{}%v{} ", if guard.negated() { "!" } else { "" }, guard.register().0),
            None => String::new(),
        };
        let _ = writeln!(self.text, "\t{guard}{line};");
        Some(())
    }

    fn arithmetic(
        &mut self,
        instruction: &Instruction,
        into: &[Operand],
        from: &[Operand],
    ) -> Option<String> {
        let Op::Arithmetic(what) = &instruction.op else { return None };
        let opcode = match what.operation {
            // Its space and direction stand in the text alone.
            Operation::Cvta => {
                let text = self.program.excerpt(instruction.offset)?;
                text.split_whitespace().find(|word| word.starts_with("cvta."))?.to_owned()
            }
            Operation::Isspacep => {
                let Operand::Immediate(number) = *from.get(1)? else { return None };
                format!("isspacep{}", space_word(space_of_number(number)?)?)
            }
            _ => arithmetic::opcode(what)?,
        };
        let from = if what.operation == Operation::Isspacep { from.get(..1)? } else { from };
        // Carries are no registers of PTX.
        let carries = |flag: bool, operands: usize| operands - usize::from(flag && operands > 0);
        let carry_out = what.flags.has(standstill_kernel_ir::ArithmeticFlags::CARRY_OUT);
        let carry_in =
            matches!(what.operation, Operation::AddCarry | Operation::SubCarry | Operation::MadCarry);
        let into = into.get(..carries(carry_out, into.len()))?;
        let from = from.get(..carries(carry_in, from.len()))?;
        if what.operation == Operation::Mov {
            if let ([_], [Operand::Special(special)]) = (into, from) {
                let (name, bits) = special_name(*special)?;
                let ty = if bits == 1 { "pred".to_owned() } else { format!("u{bits}") };
                return Some(format!("mov.{ty} {}, {name}", self.list(into, what.ty)?));
            }
            if let ([_], [Operand::Symbol { .. }]) = (into, from) {
                let name = self.address(*from.first()?)?;
                let name = name.trim_matches(|c| c == '[' || c == ']');
                return Some(format!("{opcode} {}, {name}", self.list(into, what.ty)?));
            }
            return Some(format!("{opcode} {}, {}", self.list(into, what.ty)?, self.list(from, what.ty)?));
        }
        let into = match what.operation {
            Operation::Setp => self.pair(into)?,
            _ => self.list(into, what.ty)?,
        };
        let mut sources = Vec::new();
        for (&operand, index) in from.iter().zip(0..) {
            sources.push(self.value(operand, source_type(what, index))?);
        }
        Some(format!("{opcode} {into}, {}", sources.join(", ")))
    }

    fn atomic(
        &mut self,
        access: Access,
        operation: AtomicOperation,
        result: Operand,
        from: &[Operand],
    ) -> Option<String> {
        if access.elements != 1 {
            return None;
        }
        let plain = matches!(operation, AtomicOperation::Exchange | AtomicOperation::CompareExchange);
        let bitwise =
            plain || matches!(operation, AtomicOperation::And | AtomicOperation::Or | AtomicOperation::Xor);
        let ty = if bitwise { bits_name(access.ty.bits())? } else { type_name(access.ty)? };
        let half = matches!(access.ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2);
        let flush = if half && operation == AtomicOperation::Add { ".noftz" } else { "" };
        let name = if result == Operand::Absent && !plain { "red" } else { "atom" };
        // What is stronger than both sides of an atomic is a fence before it.
        let order = match access.order {
            Order::SequentiallyConsistent => {
                let _ = writeln!(self.text, "\tfence.sc{};", scope_word(access.scope));
                format!(".acq_rel{}", scope_word(access.scope))
            }
            Order::Volatile | Order::Mmio => return None,
            order => order_words(order, access.scope)?,
        };
        let order = match (name, access.order) {
            // A `red` gives nothing that could be acquired.
            ("red", Order::Acquire) => format!(".relaxed{}", scope_word(access.scope)),
            ("red", Order::AcquireRelease | Order::SequentiallyConsistent) => {
                format!(".release{}", scope_word(access.scope))
            }
            _ => order,
        };
        let space = space_word(access.space)?;
        let operation = atomic_word(operation);
        let address = self.address(*from.first()?)?;
        let mut operands = Vec::new();
        if name == "atom" {
            operands.push(self.value(result, access.ty)?);
        }
        operands.push(address);
        for &operand in from.get(1..)? {
            operands.push(self.value(operand, access.ty)?);
        }
        Some(format!("{name}{order}{space}.{operation}{flush}.{ty} {}", operands.join(", ")))
    }

    /// One operand, or several as a vector.
    fn list(&mut self, operands: &[Operand], ty: Type) -> Option<String> {
        let mut words = Vec::new();
        for &operand in operands {
            words.push(self.value(operand, ty)?);
        }
        match words.as_slice() {
            [] => None,
            [only] => Some(only.clone()),
            _ => Some(format!("{{{}}}", words.join(", "))),
        }
    }

    /// A result and, where there is one, the predicate beside it.
    fn pair(&mut self, into: &[Operand]) -> Option<String> {
        match *into {
            [first] | [first, Operand::Absent] => self.value(first, Type::B32),
            [first, second] => {
                Some(format!("{}|{}", self.value(first, Type::B32)?, self.value(second, Type::Pred)?))
            }
            _ => None,
        }
    }

    /// The width of a register, as a type of bits.
    fn bits_of(&self, operand: Operand) -> Option<&'static str> {
        let register = operand.register()?;
        bits_name(self.function.registers.get(register.0 as usize)?.ty.bits())
    }
}

/// The space that a question asks about.
fn space_of_number(number: u64) -> Option<Space> {
    let spaces =
        [Space::Global, Space::Shared, Space::SharedCluster, Space::Local, Space::Param, Space::Const];
    spaces.into_iter().find(|&space| space as u64 == number)
}

/// The type of a source of a pure function.
fn source_type(what: &standstill_kernel_ir::Arithmetic, index: usize) -> Type {
    let shift = matches!(what.operation, Operation::Shl | Operation::Shr | Operation::Bfe) && index > 0;
    let field = what.operation == Operation::Bfi && index > 1;
    let combined = matches!(what.operation, Operation::Setp | Operation::Set) && index == 2;
    let wide_sum = what.operation == Operation::Mad
        && index == 2
        && what.flags.has(standstill_kernel_ir::ArithmeticFlags::WIDE);
    match what.operation {
        _ if combined => Type::Pred,
        _ if shift || field => Type::U32,
        Operation::Selp | Operation::Slct if index == 2 => {
            if what.operation == Operation::Selp {
                Type::Pred
            } else {
                what.from
            }
        }
        Operation::Cvt | Operation::Set | Operation::Setp => what.from,
        _ if wide_sum => Type::U64,
        _ => what.ty,
    }
}

/// `ld` or `st` with its modifiers.
fn access_opcode(name: &str, access: Access) -> Option<String> {
    let vector = match access.elements {
        1 => "",
        2 => ".v2",
        4 => ".v4",
        8 => ".v8",
        _ => return None,
    };
    let read_only = if access.non_coherent { ".nc" } else { "" };
    let order = order_words(access.order, access.scope)?;
    Some(format!("{name}{order}{}{read_only}{vector}.{}", space_word(access.space)?, type_name(access.ty)?))
}

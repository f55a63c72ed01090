//! What every front end writes a kernel with: instructions, registers, variables and blocks.

use naga::Scalar;
use standstill_kernel_ir::build::FunctionBuilder;
use standstill_kernel_ir::{
    Arithmetic, ArithmeticFlags as Flags, BlockId, BooleanOperation, Comparison, Guard, LocalVariable, Op,
    Opaque, OpaqueId, Operand, Operation, Register, Space, Symbol, Terminator, Type,
};

use crate::operation::{arithmetic, compare, flagged};
use crate::types::register_type;

/// Most instructions of one kernel, with all that is copied into it.
const MOST_INSTRUCTIONS: usize = 2_000_000;

/// Where something lies.
#[derive(Debug, Clone)]
pub(crate) enum Pointer {
    /// In registers: a variable of the function, of which every part is named.
    Registers(Vec<Register>),
    /// In memory.
    Memory {
        space: Space,
        /// A register with an address, or a variable.
        base: Operand,
        /// Bytes from there.
        offset: i64,
        /// The buffer, by its position among the parameters.
        buffer: Option<usize>,
    },
}

/// A kernel's body under way.
pub(crate) struct Emitter {
    pub(crate) out: FunctionBuilder,
    /// The block that is written.
    pub(crate) at: BlockId,
    /// Control comes to the block.
    pub(crate) open: bool,
    /// Values are as little known as to the WGSL specification's own analysis.
    pub(crate) by_specification: bool,
    instructions: usize,
}

impl Emitter {
    pub(crate) fn new() -> Emitter {
        let mut out = FunctionBuilder::new();
        let at = out.block();
        Emitter { out, at, open: true, by_specification: false, instructions: 0 }
    }

    /// Whether more has been written than anybody writes by hand.
    pub(crate) fn is_too_large(&self) -> bool {
        self.instructions > MOST_INSTRUCTIONS
    }

    pub(crate) fn push(&mut self, op: Op, into: &[Register], from: &[Operand]) {
        if self.open {
            self.instructions += 1;
            self.out.push(self.at, op, into, from);
        }
    }

    /// An operation whose results may be thrown away.
    pub(crate) fn push_to(&mut self, op: Op, into: &[Operand], from: &[Operand]) {
        if self.open {
            self.instructions += 1;
            self.out.push_guarded(self.at, None, op, into, from);
        }
    }

    /// An operation with one result.
    pub(crate) fn result(&mut self, op: Op, ty: Type, from: &[Operand]) -> Operand {
        let into = self.out.register(ty);
        self.push(op, &[into], from);
        into.into()
    }

    /// An operation whose results are not known.
    pub(crate) fn unknown(&mut self, name: &str, types: &[Type], from: &[Operand]) -> Vec<Operand> {
        let into: Vec<Register> = types.iter().map(|&ty| self.out.register(ty)).collect();
        let table = &mut self.out.tables().opaque;
        let id = table.iter().position(|known| known.mnemonic == name).unwrap_or_else(|| {
            table.push(Opaque { mnemonic: name.to_owned() });
            table.len() - 1
        });
        self.push(Op::Opaque(OpaqueId(id as u32)), &into, from);
        into.into_iter().map(Operand::from).collect()
    }

    /// A variable of the kernel in memory.
    pub(crate) fn variable(&mut self, name: &str, space: Space, bytes: u64) -> Pointer {
        let variables = &mut self.out.tables().variables;
        variables.push(LocalVariable {
            name: name.to_owned(),
            space,
            ty: Type::B8,
            bytes: bytes.max(1),
            align: 16,
        });
        let symbol = Symbol::Local(variables.len() as u32 - 1);
        Pointer::Memory { space, base: Operand::Symbol { symbol, offset: 0 }, offset: 0, buffer: None }
    }

    /// Ends the block being built.
    pub(crate) fn end(&mut self, terminator: Terminator) {
        if self.open {
            self.out.terminate(self.at, terminator);
        }
        self.open = false;
    }

    /// Goes on in a block.
    pub(crate) fn begin(&mut self, block: BlockId) {
        self.at = block;
        self.open = true;
    }

    /// A condition as a guard.
    pub(crate) fn guard(&mut self, condition: Operand) -> Guard {
        let register = match condition {
            Operand::Register(register) => register,
            other => {
                let register = self.out.register(Type::Pred);
                self.push(flagged(Operation::Mov, Type::Pred, 0), &[register], &[other]);
                register
            }
        };
        Guard::new(register, false)
    }

    /// Copies values to registers, all read before any is written.
    pub(crate) fn hand_over(&mut self, into: &[Register], values: &[Operand]) {
        for (&register, &value) in into.iter().zip(values) {
            let ty = self.out.tables().registers.get(register.0 as usize).map_or(Type::U32, |info| info.ty);
            self.push(flagged(Operation::Mov, ty, 0), &[register], &[value]);
        }
    }

    /// A copy, so that what is stored later does not change the value.
    pub(crate) fn copy(&mut self, ty: Type, value: Operand) -> Operand {
        self.result(flagged(Operation::Mov, ty, 0), ty, &[value])
    }

    /// One of two scalars.
    pub(crate) fn select(&mut self, kind: Scalar, condition: Operand, yes: Operand, no: Operand) -> Operand {
        let ty = register_type(kind);
        if ty != Type::Pred {
            return self.result(arithmetic(Operation::Selp, ty), ty, &[yes, no, condition]);
        }
        let and = arithmetic(Operation::And, Type::Pred);
        let not = self.result(arithmetic(Operation::Not, Type::Pred), Type::Pred, &[condition]);
        let first = self.result(and, Type::Pred, &[yes, condition]);
        let second = self.result(and, Type::Pred, &[no, not]);
        self.result(arithmetic(Operation::Or, Type::Pred), Type::Pred, &[first, second])
    }

    /// A scalar as another kind of number (WGSL, «Value Constructor Built-in Functions»).
    pub(crate) fn convert(&mut self, from: Scalar, to: Scalar, value: Operand) -> Operand {
        let (source, target) = (register_type(from), register_type(to));
        if source == target {
            return value;
        }
        match (source, target) {
            (Type::Pred, _) => {
                let one = match target {
                    Type::F32 => u64::from(1f32.to_bits()),
                    Type::F64 => 1f64.to_bits(),
                    Type::F16 => 0x3c00,
                    _ => 1,
                };
                let (yes, no) = (Operand::Immediate(one), Operand::Immediate(0));
                self.result(arithmetic(Operation::Selp, target), target, &[yes, no, value])
            }
            (_, Type::Pred) => {
                let unequal = if source.is_float() { Comparison::Neu } else { Comparison::Ne };
                self.result(compare(unequal, source), Type::Pred, &[value, Operand::Immediate(0)])
            }
            _ => {
                let flags = match (source.is_float(), target.is_float()) {
                    (true, false) => Flags::ZERO_INTEGER,
                    (false, true) => Flags::NEAREST,
                    (true, true) if source.bits() > target.bits() => Flags::NEAREST,
                    _ => 0,
                };
                let what = Arithmetic {
                    operation: Operation::Cvt,
                    ty: target,
                    from: source,
                    comparison: Comparison::None,
                    combine: BooleanOperation::None,
                    flags: Flags(flags),
                };
                self.result(Op::Arithmetic(what), target, &[value])
            }
        }
    }
}

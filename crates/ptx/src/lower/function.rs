//! One function: declarations, statements, operations.

use std::slice::Iter;

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{
    Arithmetic, ArithmeticFlags, BooleanOperation, Comparison, Function, FunctionId, Guard, Instruction,
    LocalVariable, LocationId, Op, Opaque, OpaqueId, Operand as IrOperand, OperandRange, Operation,
    Parameter, Register, RegisterInfo, Space, Type,
};

use crate::lower::calls::PendingCall;
use crate::lower::labels::{self, LabelId, Labels};
use crate::lower::locations::Locations;
use crate::lower::names::{Binding, Names, Parcel, Pieces};
use crate::lower::opcode::{Action, Form, Meaning};
use crate::lower::{Lowering, space, ty, words};
use crate::span::offset;
use crate::syntax::function::FunctionSyntax;
use crate::syntax::operand::Operands;
use crate::syntax::statement::{Statement, StatementKind};
use crate::syntax::variable::{RegisterDeclaration, Variable, VariableSpace};

pub(super) struct Body<'l, 'm, 'a> {
    pub(super) lowering: &'l Lowering<'m, 'a>,
    pub(super) out: Function,
    pub(super) labels: Labels,
    /// The block that each label begins, by label.
    pub(super) label_blocks: Vec<Option<u32>>,
    pub(super) names: Names<'a>,
    pub(super) pieces: Pieces,
    pub(super) pending: Vec<PendingCall>,
    locations: Locations,
    pub(super) location: LocationId,
    /// First instruction of the block being built.
    pub(super) block_first: u32,
    /// Whether control can come to the place being built.
    pub(super) open: bool,
    opaque: FxHashMap<u32, OpaqueId>,
    carry: Option<Register>,
    undeclared_guard: Option<Guard>,
    /// Variables made for parcels whose address is taken, by parcel.
    pub(super) taken: FxHashMap<Parcel, u32>,
    results: Vec<Parcel>,
    parameters: Vec<Parcel>,
    /// Vector registers in order: the first, the one after the last, and their number of elements.
    pub(super) vectors: Vec<(u32, u32, u8)>,
    /// Registers for the elements of vectors after the first.
    pub(super) elements: FxHashMap<(u32, u8), Register>,
    /// Bytes and half words taken out for the next instruction, last first.
    pub(super) parts: Vec<Register>,
    /// What may still be listed more than once.
    pub(super) allowance: u32,
}

/// Targets and pieces that a function may list more than once.
const ALLOWANCE: u32 = 1 << 22;

/// Lowers the body of a function.
pub(super) fn lower(lowering: &Lowering<'_, '_>, id: FunctionId, syntax: &FunctionSyntax) -> Function {
    let statements = lowering.module.body(syntax);
    let labels = labels::find(lowering, syntax);
    let out = Function {
        id,
        blocks: Vec::new(),
        instructions: Vec::with_capacity(statements.len()),
        operands: Vec::with_capacity(statements.len() * 3),
        registers: Vec::new(),
        parameters: Vec::new(),
        parameter_pieces: Vec::new(),
        result_pieces: Vec::new(),
        variables: Vec::new(),
        calls: Vec::new(),
        switch_targets: Vec::new(),
        locations: Vec::new(),
        opaque: Vec::new(),
    };
    let mut body = Body {
        lowering,
        out,
        label_blocks: vec![None; labels.count()],
        labels,
        names: Names::default(),
        pieces: Pieces::default(),
        pending: Vec::new(),
        locations: Locations::new(),
        location: LocationId(0),
        block_first: 0,
        open: true,
        opaque: FxHashMap::default(),
        carry: None,
        undeclared_guard: None,
        taken: FxHashMap::default(),
        results: Vec::new(),
        parameters: Vec::new(),
        vectors: Vec::new(),
        elements: FxHashMap::default(),
        parts: Vec::new(),
        allowance: ALLOWANCE,
    };
    body.declarations(syntax);
    body.statements(statements);
    body.finish(syntax.span.end.saturating_sub(1))
}

impl<'m, 'a> Body<'_, 'm, 'a> {
    fn declarations(&mut self, syntax: &FunctionSyntax) {
        let module = self.lowering.module;
        self.out.registers = vec![RegisterInfo { ty: Type::None }; syntax.register_count as usize];
        for declaration in module.registers(syntax) {
            let ty = words::type_of(module.str(declaration.ty)).unwrap_or(Type::None);
            let first = declaration.first as usize;
            let range = first..first.saturating_add(declaration.count as usize);
            if declaration.vector > 1 {
                let end = declaration.first.saturating_add(declaration.count);
                self.vectors.push((declaration.first, end, declaration.vector));
            }
            if let Some(registers) = self.out.registers.get_mut(range) {
                registers.fill(RegisterInfo { ty });
            }
        }
        // Parameters and results that are registers were declared first, in this order.
        let mut declared = module.registers(syntax).iter();
        for result in module.results(syntax) {
            let parcel = self.parcel(&mut declared, result);
            self.results.push(parcel);
            self.names.bind(module.str(result.name), Binding::Parcel(parcel));
        }
        for (parameter, index) in module.parameters(syntax).iter().zip(0u32..) {
            self.out.parameters.push(self.parameter(parameter));
            let name = module.str(parameter.name);
            if syntax.entry {
                self.names.bind(name, Binding::Parameter(index));
            } else {
                let parcel = self.parcel(&mut declared, parameter);
                self.parameters.push(parcel);
                self.names.bind(name, Binding::Parcel(parcel));
            }
        }
    }

    fn parameter(&self, variable: &Variable) -> Parameter {
        let module = self.lowering.module;
        let bytes = variable.size(module.text).unwrap_or(0);
        Parameter {
            ty: ty(module, variable),
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            align: variable.align,
            pointer: variable.pointer.is_some(),
        }
    }

    /// The parcel of a device function's parameter or result. One that is declared as a register is that
    /// register.
    fn parcel(&mut self, declared: &mut Iter<'_, RegisterDeclaration>, variable: &Variable) -> Parcel {
        let parcel = self.pieces.new_parcel();
        if variable.space == VariableSpace::Register
            && !variable.name.is_empty()
            && let Some(declaration) = declared.next()
        {
            self.pieces.register(parcel, 0, || Register(declaration.first));
        }
        parcel
    }

    fn statements(&mut self, statements: &'m [Statement]) {
        let module = self.lowering.module;
        let mut labels = 0;
        for statement in statements {
            match statement.kind {
                StatementKind::Instruction { slots, opcode, guard, first } => {
                    let Some(&meaning) = self.lowering.meanings.get(opcode.0 as usize) else { continue };
                    let operands = module.operands(first, u32::from(slots));
                    let guard = guard
                        .get()
                        .map(|(register, negated)| Guard::new(Register(register.0), negated))
                        .or(self.undeclared_guard.take());
                    self.open = true;
                    match meaning.action {
                        Action::Op(op) if !(meaning.splits && guard.is_some()) => {
                            self.operation(op, &meaning, guard, operands, statement.offset);
                        }
                        Action::Opaque => {
                            let op = self.opaque(opcode.0);
                            self.operation(op, &meaning, guard, operands, statement.offset);
                        }
                        _ => self.control(&meaning, guard, operands, statement.offset),
                    }
                }
                StatementKind::Loc { column, file, line, inlined } => {
                    let inlined = inlined.get().and_then(|index| module.inlined.get(index)).copied();
                    self.location = self.locations.add(file, line, column, inlined);
                }
                StatementKind::Label(_) => {
                    self.label(LabelId(labels), statement.offset);
                    labels += 1;
                }
                StatementKind::Open => self.names.open(),
                StatementKind::Close => self.names.close(),
                StatementKind::Variable(index) => self.variable(index),
                StatementKind::LifeMark { freed, slots, first } => {
                    self.open = true;
                    let operands = module.operands(first, u32::from(slots));
                    let op = Op::LifeMark { freed };
                    self.operation(op, &Meaning::op(op, Form::Reads), None, operands, statement.offset);
                }
                StatementKind::OperationMark { mark, slots, first } => {
                    self.open = true;
                    let operands = module.operands(first, u32::from(slots));
                    let op = Op::OperationMark(mark);
                    self.operation(op, &Meaning::op(op, Form::Reads), None, operands, statement.offset);
                }
                StatementKind::UndeclaredGuard { negated, name } => {
                    let register = self.undeclared(module.str(name), Type::Pred);
                    self.undeclared_guard = Some(Guard::new(register, negated));
                }
                StatementKind::Targets { .. } | StatementKind::Prototype(_) | StatementKind::Pragma(_) => {}
            }
        }
    }

    fn variable(&mut self, index: u32) {
        let module = self.lowering.module;
        let Some(variable) = module.variables.get(index as usize) else { return };
        let name = module.str(variable.name);
        let binding = match variable.space {
            VariableSpace::Param => Binding::Parcel(self.pieces.new_parcel()),
            _ => Binding::Local(self.local(LocalVariable {
                name: name.to_owned(),
                space: space(variable.space),
                ty: ty(module, variable),
                bytes: variable.size(module.text).unwrap_or(0),
                align: variable.align,
            })),
        };
        self.names.bind(name, binding);
    }

    pub(super) fn local(&mut self, variable: LocalVariable) -> u32 {
        self.out.variables.push(variable);
        offset(self.out.variables.len() - 1)
    }

    /// A register of the lowering's own.
    pub(super) fn new_register(&mut self, ty: Type) -> Register {
        self.out.registers.push(RegisterInfo { ty });
        Register(offset(self.out.registers.len() - 1))
    }

    /// The register that stands for a name that nothing declares.
    pub(super) fn undeclared(&mut self, name: &'a str, ty: Type) -> Register {
        if let Some(Binding::Register(register)) = self.names.get(name) {
            return register;
        }
        let register = self.new_register(ty);
        self.names.bind(name, Binding::Register(register));
        register
    }

    pub(super) fn opaque(&mut self, opcode: u32) -> Op {
        let table = &mut self.out.opaque;
        let module = self.lowering.module;
        let id = *self.opaque.entry(opcode).or_insert_with(|| {
            let text = module.opcode(crate::syntax::opcode::OpcodeId(opcode)).text();
            table.push(Opaque { mnemonic: text.to_owned() });
            OpaqueId(offset(table.len() - 1))
        });
        Op::Opaque(id)
    }

    /// Adds an instruction whose operands are those from `start` to the pool's end, the first
    /// `destinations` of them written.
    #[inline]
    pub(super) fn push(
        &mut self,
        op: Op,
        guard: Option<Guard>,
        start: usize,
        destinations: usize,
        place: u32,
    ) {
        let sources = self.out.operands.len().saturating_sub(start + destinations);
        self.out.instructions.push(Instruction {
            op,
            guard,
            operands: OperandRange {
                start: offset(start),
                destinations: destinations.min(usize::from(u16::MAX)) as u16,
                sources: sources.min(usize::from(u16::MAX)) as u16,
            },
            location: self.location,
            offset: place,
        });
    }

    /// An operation with its operands.
    #[inline]
    pub(super) fn operation(
        &mut self,
        op: Op,
        meaning: &Meaning,
        guard: Option<Guard>,
        operands: Operands<'m>,
        place: u32,
    ) {
        let mut op = op;
        if meaning.takes_parts
            && let Op::Arithmetic(arithmetic) = &mut op
            && !self.take_parts(arithmetic, operands, guard, place)
        {
            arithmetic.flags.0 |= ArithmeticFlags::OTHER;
        }
        let start = self.out.operands.len();
        let mut rest = operands;
        match op {
            Op::Load(access)
                if access.space == Space::Param && self.load_pieces(access, guard, operands, place) =>
            {
                return;
            }
            Op::Store(access)
                if access.space == Space::Param && self.store_pieces(access, guard, operands, place) =>
            {
                return;
            }
            _ => {}
        }
        match meaning.form {
            Form::First => {
                if let Some(first) = rest.next() {
                    self.operand(first, meaning.ty);
                }
            }
            Form::FirstIfRegister => {
                let mut ahead = rest;
                if let Some(first) = ahead.next()
                    && writable(first)
                {
                    self.operand(first, meaning.ty);
                    rest = ahead;
                }
            }
            Form::ReadsWithoutResult => self.out.operands.push(IrOperand::Absent),
            Form::Reads | Form::AsyncCopy => {}
            Form::Barrier => return self.barrier(op, guard, operands, place),
        }
        if meaning.carry_out {
            let carry = self.carry();
            self.out.operands.push(IrOperand::Register(carry));
        }
        let destinations = self.out.operands.len() - start;
        for operand in rest {
            self.operand(operand, meaning.ty);
        }
        if meaning.cache_policy && self.out.operands.len() > start + destinations + 1 {
            self.out.operands.pop();
        }
        if meaning.carry_in {
            let carry = self.carry();
            self.out.operands.push(IrOperand::Register(carry));
        }
        if let Some(constant) = meaning.constant {
            self.out.operands.push(IrOperand::Immediate(constant));
        }
        while self.out.operands.len() < start + destinations + usize::from(meaning.least_sources) {
            self.out.operands.push(IrOperand::Absent);
        }
        if let Op::AsyncCopy { bytes } = &mut op
            && let Some(&IrOperand::Immediate(count)) = self.out.operands.get(start + 2)
        {
            *bytes = u8::try_from(count).unwrap_or(u8::MAX);
        }
        self.push(op, guard, start, destinations, place);
    }

    /// `bar` and `barrier`: the count is made absent where it is not given.
    fn barrier(&mut self, op: Op, guard: Option<Guard>, operands: Operands<'m>, place: u32) {
        let start = self.out.operands.len();
        let reduces = matches!(op, Op::Barrier { reduction: Some(_), .. });
        let given = operands.into_iter().count();
        // With a result and a predicate: 3 or 4 operands, else 1 or 2.
        let counted = if reduces { given > 3 } else { given > 1 };
        let mut destinations = 0;
        for (operand, at) in operands.zip(0usize..) {
            if reduces && at == 2 && !counted {
                self.out.operands.push(IrOperand::Absent);
            }
            self.operand(operand, Type::None);
            if reduces && at == 0 {
                destinations = self.out.operands.len() - start;
            }
        }
        if !reduces && !counted {
            self.out.operands.push(IrOperand::Absent);
        }
        self.push(op, guard, start, destinations, place);
    }

    fn carry(&mut self) -> Register {
        match self.carry {
            Some(register) => register,
            None => {
                let register = self.new_register(Type::Pred);
                self.carry = Some(register);
                register
            }
        }
    }

    /// A copy between registers, of a piece's type; narrower pieces are widened as loads do.
    pub(super) fn copy(
        &mut self,
        to: IrOperand,
        from: IrOperand,
        ty: Type,
        guard: Option<Guard>,
        place: u32,
    ) {
        let start = self.out.operands.len();
        self.out.operands.extend([to, from]);
        let wide = to.register().and_then(|register| self.out.registers.get(register.0 as usize));
        let wide = wide.map_or(ty, |info| info.ty);
        let (operation, ty, from) = match ty.bits() < wide.bits() && !ty.is_float() {
            true => (Operation::Cvt, wide, unsigned(ty)),
            false => (Operation::Mov, ty, ty),
        };
        let arithmetic = Arithmetic {
            operation,
            ty,
            from,
            comparison: Comparison::None,
            combine: BooleanOperation::None,
            flags: ArithmeticFlags(0),
        };
        self.push(Op::Arithmetic(arithmetic), guard, start, 1, place);
    }

    fn finish(mut self, end: u32) -> Function {
        self.close_body(end);
        self.finish_calls();
        let (parameters, results) = (std::mem::take(&mut self.parameters), std::mem::take(&mut self.results));
        for (parcel, index) in parameters.into_iter().zip(0u32..) {
            self.out.parameter_pieces.extend(self.pieces.of(parcel, index));
        }
        for (parcel, index) in results.into_iter().zip(0u32..) {
            self.out.result_pieces.extend(self.pieces.of(parcel, index));
        }
        self.out.locations = self.locations.finish();
        self.out
    }
}

/// Whether an operand may be a destination by its form.
fn writable(operand: crate::syntax::operand::OperandRef<'_>) -> bool {
    use crate::syntax::operand::{GroupKind, Operand};
    matches!(
        operand.operand,
        Operand::Register(_)
            | Operand::RegisterPart(..)
            | Operand::Sink
            | Operand::Group(GroupKind::Vector | GroupKind::Pair, _)
    )
}

/// The type with which untyped bits are widened.
fn unsigned(ty: Type) -> Type {
    match ty {
        Type::B8 => Type::U8,
        Type::B16 => Type::U16,
        Type::B32 => Type::U32,
        other => other,
    }
}

//! Calls, and the pieces that parameters and results consist of.

use smallvec::SmallVec;
use standstill_kernel_ir::{
    Access, CallId, CallSite, Callee, FunctionId, Guard, Op, Operand as IrOperand, OperandRange, Piece,
    Register, Symbol, Type,
};

use crate::lower::function::Body;
use crate::lower::labels::Targets;
use crate::lower::names::{Binding, Parcel};
use crate::span::offset;
use crate::syntax::operand::{GroupKind, Operand, OperandRef, Operands};

/// Something passed or returned: a register, or a parcel whose pieces are known at the body's end.
#[derive(Clone, Copy)]
enum Passed {
    Register(Register),
    Parcel(Parcel),
}

/// A call whose operands are filled in at the body's end, when the pieces of its results are known.
pub(super) struct PendingCall {
    instruction: usize,
    call: usize,
    results: SmallVec<[Passed; 2]>,
    arguments: SmallVec<[Passed; 6]>,
    target: Option<IrOperand>,
}

impl<'m, 'a> Body<'_, 'm, 'a> {
    /// `call (results), callee, (arguments), targets`. Returns whether the callee never returns.
    pub(super) fn call(&mut self, operands: Operands<'m>, list: Targets, place: u32) -> bool {
        let mut results = SmallVec::new();
        let mut arguments = SmallVec::new();
        let mut callee: Option<OperandRef<'m>> = None;
        for operand in operands {
            match (operand.group(), callee) {
                (Some(GroupKind::List), None) => {
                    results = operand.members().map(|result| self.passed(result, place)).collect();
                }
                (Some(GroupKind::List), Some(_)) => {
                    arguments = operand.members().map(|argument| self.passed(argument, place)).collect();
                }
                (_, None) => callee = Some(operand),
                // A list of targets or a prototype, which has been looked up.
                (_, Some(_)) => {}
            }
        }
        let (callee, target) = self.callee(callee, list);
        let never_returns = self.never_returns(&callee);
        let call = self.out.calls.len();
        self.out.calls.push(CallSite { callee, arguments: Vec::new(), results: Vec::new() });
        let instruction = self.out.instructions.len();
        let start = self.out.operands.len();
        self.push(Op::Call(CallId(offset(call))), None, start, 0, place);
        self.pending.push(PendingCall { instruction, call, results, arguments, target });
        never_returns
    }

    fn passed(&mut self, operand: OperandRef<'m>, place: u32) -> Passed {
        match operand.operand {
            Operand::Register(register) => Passed::Register(Register(register.0)),
            Operand::Name(name) => {
                let name = self.lowering.module.str(name);
                match self.names.get(name) {
                    Some(Binding::Parcel(parcel)) => Passed::Parcel(parcel),
                    _ => self.passed_value(operand, place),
                }
            }
            Operand::Sink => Passed::Register(self.new_register(Type::None)),
            _ => self.passed_value(operand, place),
        }
    }

    /// A literal or address that is passed goes through a register of its own.
    fn passed_value(&mut self, operand: OperandRef<'m>, place: u32) -> Passed {
        let start = self.out.operands.len();
        self.operand(operand, Type::None);
        let value = self.out.operands.get(start).copied().unwrap_or(IrOperand::Absent);
        self.out.operands.truncate(start);
        let register = self.new_register(Type::B64);
        self.copy(IrOperand::Register(register), value, Type::B64, None, place);
        Passed::Register(register)
    }

    fn callee(&mut self, callee: Option<OperandRef<'m>>, list: Targets) -> (Callee, Option<IrOperand>) {
        let lowering = self.lowering;
        match callee.map(|callee| callee.operand) {
            Some(Operand::Name(name)) => {
                let name = lowering.module.str(name);
                let callee = match lowering.names.get(name) {
                    Some(&Symbol::Function(id)) => Callee::Direct(FunctionId(id)),
                    _ => Callee::Unknown(name.to_owned()),
                };
                (callee, None)
            }
            Some(Operand::Register(register)) => {
                let targets = self.call_targets(list);
                (Callee::Indirect(targets), Some(IrOperand::Register(Register(register.0))))
            }
            _ => (Callee::Indirect(Vec::new()), None),
        }
    }

    /// The functions of a `.calltargets` list; none where there is none, or where lists and calls together
    /// are longer than any compiler writes.
    fn call_targets(&mut self, list: Targets) -> Vec<FunctionId> {
        if !self.spend(list.count) {
            return Vec::new();
        }
        let lowering = self.lowering;
        let operands = lowering.module.operands(list.first, list.count);
        operands
            .filter_map(|operand| match operand.operand {
                Operand::Name(name) => match lowering.names.get(lowering.module.str(name)) {
                    Some(&Symbol::Function(id)) => Some(FunctionId(id)),
                    _ => None,
                },
                _ => None,
            })
            .collect()
    }

    /// `ld.param` from something held in registers: copies, one for each element. Returns false where the
    /// address is something else.
    pub(super) fn load_pieces(
        &mut self,
        access: Access,
        guard: Option<Guard>,
        operands: Operands<'m>,
        place: u32,
    ) -> bool {
        let mut operands = operands;
        let (Some(destination), Some(address)) = (operands.next(), operands.next()) else { return false };
        let Some((parcel, first)) = self.piece_address(address) else { return false };
        self.each_element(destination, |body, element, index| {
            let piece = body.piece(parcel, first, index, access.ty);
            body.copy(element, IrOperand::Register(piece), access.ty, guard, place);
        });
        true
    }

    /// `st.param` to something held in registers.
    pub(super) fn store_pieces(
        &mut self,
        access: Access,
        guard: Option<Guard>,
        operands: Operands<'m>,
        place: u32,
    ) -> bool {
        let mut operands = operands;
        let (Some(address), Some(value)) = (operands.next(), operands.next()) else { return false };
        let Some((parcel, first)) = self.piece_address(address) else { return false };
        self.each_element(value, |body, element, index| {
            let piece = body.piece(parcel, first, index, access.ty);
            body.copy(IrOperand::Register(piece), element, access.ty, guard, place);
        });
        true
    }

    /// Calls `act` for each element of a vector, or for a scalar once.
    fn each_element(&mut self, operand: OperandRef<'m>, mut act: impl FnMut(&mut Self, IrOperand, u32)) {
        let start = self.out.operands.len();
        self.operand(operand, Type::None);
        let elements: SmallVec<[IrOperand; 8]> =
            self.out.operands.get(start..).unwrap_or(&[]).iter().copied().collect();
        self.out.operands.truncate(start);
        for (element, index) in elements.into_iter().zip(0u32..) {
            if element != IrOperand::Absent {
                act(self, element, index);
            }
        }
    }

    /// The register of an element of an access whose first byte is at `first`.
    fn piece(&mut self, parcel: Parcel, first: i32, index: u32, ty: Type) -> Register {
        let at = (first as u32).wrapping_add(index.wrapping_mul(ty.bytes()));
        let registers = &mut self.out.registers;
        self.pieces.register(parcel, at, || {
            registers.push(standstill_kernel_ir::RegisterInfo { ty });
            Register(offset(registers.len() - 1))
        })
    }

    /// The parcel and offset that an address names.
    fn piece_address(&self, address: OperandRef<'m>) -> Option<(Parcel, i32)> {
        let (name, offset) = match address.operand {
            Operand::AddressName(name) => (name, 0),
            Operand::Group(GroupKind::Address, _) => {
                let mut members = address.members();
                let (only, None) = (members.next()?, members.next()) else { return None };
                let mut members = only.members();
                match (only.group(), members.next()?.operand, members.next()?.operand) {
                    (Some(GroupKind::Sum), Operand::Name(name), Operand::Integer(offset)) => {
                        (name, i32::try_from(offset.get() as i64).ok()?)
                    }
                    _ => return None,
                }
            }
            _ => return None,
        };
        match self.names.get(self.lowering.module.str(name)) {
            Some(Binding::Parcel(parcel)) => Some((parcel, offset)),
            _ => None,
        }
    }

    /// Fills in the operands of all calls.
    pub(super) fn finish_calls(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            let start = self.out.operands.len();
            let results = self.passed_pieces(&pending.results);
            let arguments = self.passed_pieces(&pending.arguments);
            let operands = results.iter().chain(&arguments).map(|piece| IrOperand::Register(piece.register));
            self.out.operands.extend(operands);
            self.out.operands.extend(pending.target);
            let sources = arguments.len() + usize::from(pending.target.is_some());
            if let Some(instruction) = self.out.instructions.get_mut(pending.instruction) {
                instruction.operands = OperandRange {
                    start: offset(start),
                    destinations: u16::try_from(results.len()).unwrap_or(u16::MAX),
                    sources: u16::try_from(sources).unwrap_or(u16::MAX),
                };
            }
            if let Some(call) = self.out.calls.get_mut(pending.call) {
                (call.arguments, call.results) = (arguments, results);
            }
        }
    }

    fn passed_pieces(&mut self, passed: &[Passed]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (passed, index) in passed.iter().zip(0u32..) {
            match *passed {
                Passed::Register(register) => pieces.push(Piece { index, offset: 0, register }),
                Passed::Parcel(parcel) => {
                    if self.spend(offset(self.pieces.of(parcel, index).count())) {
                        pieces.extend(self.pieces.of(parcel, index));
                    }
                }
            }
        }
        // More operands than an instruction can have are no call that a compiler writes.
        pieces.truncate(usize::from(u16::MAX / 2));
        pieces
    }
}

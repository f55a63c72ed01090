//! One instruction of kernel IR: one or a few operations of the interpreter.

use standstill_kernel_ir::{
    Access, Arithmetic, BarrierKind, Callee, Instruction, MatrixKind, Op, Operand, OperandRange, Operation,
    Space, Type,
};

use super::code::{Builtin, Call, General, Handler, Kind, Micro, Place, Plane, Slot, Target, Whole};
use super::independent::results_unread;
use super::{Decoder, planes, rows};
use crate::exec::memory::{self, NARROW_ADDRESS, WIDE_ADDRESS};
use crate::exec::{atomic, barrier, collective, copy, general, matrix, mbarrier, special, wide};
use crate::launch::LaunchError;

impl Decoder<'_> {
    pub(super) fn instruction(&mut self, instruction: &Instruction) -> Result<(), LaunchError> {
        let (function, operands) = (self.function, instruction.operands);
        let run: Handler = match instruction.op {
            Op::Arithmetic(arithmetic) => {
                // What a texture gives is nowhere near what was put in; such a launch is refused.
                if arithmetic.ty == Type::None
                    && let Some(text) = self.surroundings.module.program().excerpt(instruction.offset)
                    && let Some(name) = textures(&text)
                {
                    return Err(self.refuse(instruction, name));
                }
                self.arithmetic(&arithmetic, operands);
                return Ok(());
            }
            Op::Load(access) => return self.load(&access, instruction),
            Op::Store(access) => return self.store(&access, instruction),
            Op::Call(id) => {
                self.call(id, operands);
                return Ok(());
            }
            Op::Atomic { .. } => atomic::atomic,
            Op::Barrier { .. } | Op::ClusterBarrier { .. } | Op::GridDependency { wait: true } => {
                barrier::wait
            }
            Op::WarpSync => collective::sync,
            Op::Shuffle(_) => collective::shuffle,
            Op::Vote(_) => collective::vote,
            Op::Match { .. } => collective::matches,
            Op::WarpReduce { .. } => collective::reduce,
            Op::ActiveMask => collective::active_mask,
            Op::Elect => collective::elect,
            Op::Mbarrier { .. } => mbarrier::operate,
            Op::AsyncCopy { .. } => copy::small,
            Op::AsyncMbarrierArrive { .. } => copy::arrive,
            Op::BulkCopy { .. } => copy::bulk,
            Op::AsyncStore { .. } => copy::store,
            Op::Nanosleep => special::sleep,
            Op::Matrix(kind) => match kind {
                MatrixKind::TensorCommit => copy::tensor_commit,
                _ => matrix::operate,
            },
            // Copies are done when they are issued, and memory is sequentially consistent.
            Op::AsyncCommit | Op::AsyncWait | Op::Fence { .. } | Op::LifeMark { .. } => {
                crate::exec::core::nothing
            }
            Op::BulkCommit
            | Op::BulkWait { .. }
            | Op::GridDependency { wait: false }
            | Op::SetMaximumRegisters
            | Op::OperationMark(_)
            | Op::Hint => return Ok(()),
            Op::Opaque(id) => {
                let opaque = self.function.opaque.get(id.0 as usize);
                let name = opaque.map(|opaque| opaque.mnemonic.clone()).unwrap_or_default();
                return Err(self.refuse(instruction, name));
            }
        };
        let whole = self.whole(instruction.op, operands);
        self.code.operations.push(whole);
        let x = self.code.operations.len() as u32 - 1;
        let mut micro = Micro { run, x, ..self.blank(Kind::Run) };
        if let Op::Atomic { .. } = instruction.op
            && results_unread(function, instruction)
        {
            micro.d = atomic::UNREAD;
        }
        if let Op::Barrier { kind: BarrierKind::Sync, reduction: None, .. } = instruction.op
            && let [Operand::Immediate(id)] | [Operand::Immediate(id), Operand::Absent, ..] =
                function.sources(operands)
            && function.destinations(operands).is_empty()
            && function.sources(operands).iter().skip(1).all(|operand| *operand == Operand::Absent)
        {
            micro.d = Slot((*id).try_into().unwrap_or(u32::MAX));
        }
        self.push(micro);
        Ok(())
    }

    /// An error that names an instruction and its line.
    fn refuse(&self, instruction: &Instruction, name: String) -> LaunchError {
        let files = &self.surroundings.module.program().module().files;
        let location = self.function.location(instruction.location);
        let (chain, own) = crate::place::chain(self.function, files, location);
        let place = chain.get(own).copied().unwrap_or(location);
        let file = files.get(place.file.0 as usize).cloned().unwrap_or_default();
        LaunchError::NotSupported { instruction: name, file, line: place.line }
    }

    /// All operands of an operation.
    fn whole(&mut self, op: Op, operands: OperandRange) -> Whole {
        let function = self.function;
        let destinations =
            function.destinations(operands).iter().map(|&operand| self.destination(operand)).collect();
        let sources = function.sources(operands).iter().enumerate();
        let sources =
            sources.map(|(index, &operand)| self.source(operand, source_plane(op, index))).collect();
        Whole { op, destinations, sources }
    }

    fn arithmetic(&mut self, arithmetic: &Arithmetic, operands: OperandRange) {
        let function = self.function;
        let (destinations, sources) = (function.destinations(operands), function.sources(operands));
        // A special register goes straight to where it is moved.
        if let (Operation::Mov, &[to], &[Operand::Special(register)]) =
            (arithmetic.operation, destinations, sources)
        {
            let to = self.destination(to);
            if to.is_some() && to.plane != Plane::Predicate {
                self.special(register, to);
            }
            return;
        }
        let count = sources.len();
        let sources: Vec<Place> = sources
            .iter()
            .enumerate()
            .map(|(index, &operand)| self.source(operand, planes::of_source(arithmetic, index, count)))
            .collect();
        let destinations: Vec<Place> =
            destinations.iter().map(|&operand| self.destination(operand)).collect();
        let planes: Vec<Plane> = sources.iter().map(|source| source.plane).collect();
        let present = destinations.iter().filter(|place| place.is_some()).count();
        if present == 0 {
            return;
        }
        let handler = match destinations.first() {
            Some(to) if to.is_some() && full_width(arithmetic, *to) => {
                wide::select(arithmetic, to.plane, &planes, destinations.len())
            }
            _ => None,
        };
        let slot = |index: usize| sources.get(index).map_or(Slot::NONE, |place| place.slot);
        let d = destinations.first().map_or(Slot::NONE, |place| place.slot);
        let (a, b, c) = (slot(0), slot(1), slot(2));
        // The general form stands behind the fast ones of double precision, so it is always there.
        self.code.general.push(General { arithmetic: *arithmetic, destinations, sources });
        let x = self.code.general.len() as u32 - 1;
        let run = handler.unwrap_or(general::arithmetic);
        let micro = Micro { run, d, a, b, c, x, ..self.blank(Kind::Run) };
        self.push(micro);
    }

    fn load(&mut self, access: &Access, instruction: &Instruction) -> Result<(), LaunchError> {
        let function = self.function;
        let destinations = function.destinations(instruction.operands);
        let Some(&address) = function.sources(instruction.operands).first() else { return Ok(()) };
        let Some(bytes) = memory::element_bytes(access.ty) else {
            return Err(self.refuse(instruction, format!("a load of {:?}", access.ty)));
        };
        if let (Space::Param, Operand::Parameter { index, offset }) = (access.space, address) {
            let first = self.parameter(index, offset);
            for (&to, element) in destinations.iter().zip(0u32..) {
                let to = self.destination(to);
                if to.is_some() {
                    let b = if to.plane == Plane::Wide { WIDE_ADDRESS } else { NARROW_ADDRESS };
                    let sign = if access.ty.is_signed() { 1 << 31 } else { 0 };
                    let x = first.wrapping_add(element * bytes);
                    let micro = Micro {
                        run: memory::parameter,
                        d: to.slot,
                        b,
                        c: Slot(bytes | sign),
                        x,
                        ..self.blank(Kind::Run)
                    };
                    self.push(micro);
                }
            }
            return Ok(());
        }
        let (mut a, b, offset) = self.address(address);
        // A vector must not overwrite its own address half way.
        let base = address.register().map(|register| register.0);
        let overwrites = destinations.len() > 1
            && destinations.iter().any(|to| rows::written(to) == base && base.is_some());
        if overwrites {
            let plane = if b == WIDE_ADDRESS { Plane::Wide } else { Plane::Narrow };
            let copy = self.scratch(plane);
            let zero = self.constant(0, plane);
            let run = if plane == Plane::Wide { special::add_wide } else { special::add_narrow };
            let micro = Micro { run, d: copy.slot, a, b: zero.slot, ..self.blank(Kind::Run) };
            self.push(micro);
            a = copy.slot;
        }
        let whole = bytes * destinations.len() as u32;
        for (&to, element) in destinations.iter().zip(0u32..) {
            let mut to = self.destination(to);
            if !to.is_some() {
                // The access happens all the same.
                to = self.scratch(Plane::of(access.ty));
            }
            let Some(run) = memory::loader(access, to) else {
                return Err(self.refuse(instruction, format!("a load from {:?} memory", access.space)));
            };
            let align = if element == 0 { whole } else { bytes };
            let x = offset.wrapping_add(element * bytes);
            let micro = Micro { run, d: to.slot, a, b, c: Slot(align), x, ..self.blank(Kind::Run) };
            self.push(micro);
        }
        Ok(())
    }

    fn store(&mut self, access: &Access, instruction: &Instruction) -> Result<(), LaunchError> {
        let function = self.function;
        let Some((&address, values)) = function.sources(instruction.operands).split_first() else {
            return Ok(());
        };
        let Some(bytes) = memory::element_bytes(access.ty) else {
            return Err(self.refuse(instruction, format!("a store of {:?}", access.ty)));
        };
        let (a, b, offset) = self.address(address);
        let whole = bytes * values.len() as u32;
        for (&value, element) in values.iter().zip(0u32..) {
            let from = self.source(value, Plane::of(access.ty));
            let Some(run) = memory::storer(access, from) else {
                return Err(self.refuse(instruction, format!("a store to {:?} memory", access.space)));
            };
            let align = if element == 0 { whole } else { bytes };
            let x = offset.wrapping_add(element * bytes);
            let micro = Micro { run, d: from.slot, a, b, c: Slot(align), x, ..self.blank(Kind::Run) };
            self.push(micro);
        }
        Ok(())
    }

    fn call(&mut self, id: standstill_kernel_ir::CallId, operands: OperandRange) {
        let function = self.function;
        let Some(site) = function.calls.get(id.0 as usize) else { return };
        let functions = &self.surroundings.module.program().module().functions;
        let by_name = |name: &str| match builtin(name) {
            Some(builtin) => Target::Builtin(builtin),
            None => Target::Missing(name.to_owned()),
        };
        let target = match &site.callee {
            Callee::Direct(callee) => match functions.get(callee.0 as usize) {
                Some(header) if header.defined => Target::Function(*callee),
                Some(header) => by_name(&header.name),
                None => Target::Missing(String::new()),
            },
            Callee::Indirect(_) => {
                let address = function.sources(operands).last().copied().unwrap_or(Operand::Absent);
                Target::Address(self.source(address, Plane::Wide))
            }
            Callee::Unknown(name) => by_name(name),
        };
        let place = |piece: &standstill_kernel_ir::Piece| {
            let place = self.code.rows.get(piece.register.0 as usize).copied().unwrap_or(Place::NONE);
            (piece.index, piece.offset, place)
        };
        let arguments = site.arguments.iter().map(place).collect();
        let results = site.results.iter().map(place).collect();
        self.code.calls.push(Call { target, arguments, results });
        let x = self.code.calls.len() as u32 - 1;
        let micro = Micro { x, ..self.blank(Kind::Call) };
        self.push(micro);
    }
}

/// Whether a result fills its register: fast forms write whole rows.
fn full_width(arithmetic: &Arithmetic, to: Place) -> bool {
    to.plane == Plane::Predicate || matches!(to.ty.bits(), 32 | 64) || arithmetic.ty == Type::Pred
}

/// The width of a constant source of an operation that is not arithmetic.
fn source_plane(op: Op, index: usize) -> Plane {
    match op {
        Op::Atomic { access, .. } | Op::AsyncStore { access, .. } if index > 0 => Plane::of(access.ty),
        Op::Atomic { .. }
        | Op::AsyncStore { .. }
        | Op::Mbarrier { .. }
        | Op::AsyncCopy { .. }
        | Op::AsyncMbarrierArrive { .. }
        | Op::LifeMark { .. }
        | Op::BulkCopy { .. } => Plane::Wide,
        Op::Barrier { .. } if index == 2 => Plane::Predicate,
        Op::Vote(_) if index == 0 => Plane::Predicate,
        Op::Match { .. } if index == 0 => Plane::Narrow,
        Op::Matrix(_) => Plane::Wide,
        _ => Plane::Narrow,
    }
}

/// The opcode, when it reads a texture or a surface; a guard before it is skipped.
fn textures(text: &str) -> Option<String> {
    let opcode = text.split_whitespace().find(|word| !word.starts_with('@'))?;
    let mnemonic = opcode.split('.').next()?;
    matches!(mnemonic, "tex" | "tld4" | "suld" | "txq" | "suq").then(|| opcode.to_owned())
}

/// The device's own functions by name.
fn builtin(name: &str) -> Option<Builtin> {
    Some(match name {
        "vprintf" => Builtin::Printf,
        "malloc" => Builtin::Malloc,
        "free" => Builtin::Free,
        "__assertfail" => Builtin::AssertFail,
        _ => return None,
    })
}

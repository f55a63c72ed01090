//! Decoding: kernel IR to the operations that the interpreter runs.

pub(crate) mod code;
mod emit;
mod independent;
mod kernel;
mod operands;
mod order;
mod planes;
mod rows;

pub(crate) use kernel::kernel;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{
    BlockId, ControlFlow, Function, Guard, InstructionId, Loops, Op, Operand, Piece, Symbol, Terminator, Type,
};

use crate::exec::core::nothing;
use crate::launch::LaunchError;
use code::{Aligned, Code, Frame, Kind, LANES, Micro, Origin, Place, Plane, Slot};

/// What a function needs to know of the kernel that it belongs to.
pub(crate) struct Surroundings<'a> {
    pub(crate) module: &'a crate::module::Module,
    /// Addresses of shared variables: of the module, and of each function.
    pub(crate) shared: &'a FxHashMap<(Option<u32>, Symbol), u64>,
    /// Offsets of the kernel's parameters.
    pub(crate) parameters: &'a [crate::launch::ParameterInfo],
}

/// Decodes a function.
pub(crate) fn decode(function: Arc<Function>, surroundings: &Surroundings<'_>) -> Result<Code, LaunchError> {
    let flow = ControlFlow::build(&function);
    let loops = Loops::build(&flow);
    let order = order::layout(&function, &flow, &loops);
    let (rows, frame) = rows::allocate(&function, &order);
    let mut decoder = Decoder::new(&function, surroundings, rows, frame);
    for &block in &order {
        decoder.block(&flow, block)?;
    }
    decoder.resolve();
    Ok(decoder.finish())
}

/// Code in the making.
struct Decoder<'a> {
    function: &'a Function,
    surroundings: &'a Surroundings<'a>,
    code: Code,
    /// The first operation of each block that has been placed.
    starts: Vec<u32>,
    narrow_constants: FxHashMap<u32, u32>,
    wide_constants: FxHashMap<u64, u32>,
    /// Offset of each local variable in the frame.
    locals: Vec<u32>,
    origin: Origin,
    guard: Slot,
    /// Whether the instruction at hand matters for the order of accesses.
    orders: bool,
    /// Rows of registers; what comes after is scratch.
    registers: Frame,
    /// Scratch rows that the instruction at hand has taken.
    taken: Frame,
}

impl<'a> Decoder<'a> {
    fn new(
        function: &'a Arc<Function>,
        surroundings: &'a Surroundings<'a>,
        rows: Vec<Place>,
        frame: Frame,
    ) -> Decoder<'a> {
        let mut local_bytes = 0u32;
        let locals = function.variables.iter().map(|variable| {
            if variable.space != standstill_kernel_ir::Space::Local {
                return 0;
            }
            let align = variable.align.max(variable.ty.bytes()).max(1);
            let start = local_bytes.checked_next_multiple_of(align).unwrap_or(local_bytes);
            local_bytes = start.saturating_add(u32::try_from(variable.bytes).unwrap_or(u32::MAX));
            start
        });
        let locals = locals.collect();
        let pieces = |pieces: &[Piece]| {
            let place = |piece: &Piece| rows.get(piece.register.0 as usize).copied().unwrap_or(Place::NONE);
            pieces.iter().map(|piece| (piece.index, piece.offset, place(piece))).collect()
        };
        let code = Code {
            function: Arc::clone(function),
            ops: Vec::new(),
            origins: Vec::new(),
            starts: Vec::new(),
            constants32: Vec::new(),
            constants64: Vec::new(),
            general: Vec::new(),
            calls: Vec::new(),
            switches: Vec::new(),
            specials: Vec::new(),
            operations: Vec::new(),
            frame,
            local_bytes: local_bytes.checked_next_multiple_of(16).unwrap_or(u32::MAX),
            local_used: local_bytes,
            parameters: pieces(&function.parameter_pieces),
            results: pieces(&function.result_pieces),
            rows,
            slices: Default::default(),
        };
        Decoder {
            function,
            surroundings,
            code,
            starts: vec![u32::MAX; function.blocks.len()],
            narrow_constants: FxHashMap::default(),
            wide_constants: FxHashMap::default(),
            locals,
            origin: Origin::Terminator(BlockId(0)),
            guard: Slot::NONE,
            orders: false,
            registers: frame,
            taken: Frame::default(),
        }
    }

    /// Adds an operation and gives it back to be filled in.
    fn push(&mut self, micro: Micro) {
        self.code.ops.push(micro);
        self.code.origins.push(self.origin);
    }

    /// An operation that does nothing yet.
    fn blank(&self, kind: Kind) -> Micro {
        Micro {
            run: nothing,
            kind,
            steers: kind != Kind::Run,
            orders: self.orders,
            guard: self.guard,
            d: Slot::NONE,
            a: Slot::NONE,
            b: Slot::NONE,
            c: Slot::NONE,
            x: 0,
        }
    }

    fn block(&mut self, flow: &ControlFlow, block: BlockId) -> Result<(), LaunchError> {
        let function = self.function;
        let Some(body) = function.blocks.get(block.0 as usize) else { return Ok(()) };
        self.origin = Origin::Terminator(block);
        self.guard = Slot::NONE;
        let start = self.code.ops.len() as u32;
        if let Some(slot) = self.starts.get_mut(block.0 as usize) {
            *slot = start;
        }
        if flow.predecessors(block).len() > 1 {
            self.push(self.blank(Kind::Join));
        }
        for (instruction, id) in function.instructions_of(block).iter().zip(body.first..) {
            self.origin = Origin::Instruction(InstructionId(id));
            self.guard = instruction.guard.map_or(Slot::NONE, |guard| self.guard_slot(guard));
            self.taken = Frame::default();
            self.orders = orders(instruction.op);
            self.instruction(instruction)?;
        }
        self.orders = false;
        self.guard = Slot::NONE;
        self.taken = Frame::default();
        self.origin = Origin::Terminator(block);
        // Operations of the block, for the budget.
        let length = self.code.ops.len() as u32 - start + 1;
        self.terminator(body.terminator, length);
        Ok(())
    }

    fn terminator(&mut self, terminator: Terminator, length: u32) {
        match terminator {
            Terminator::Jump(to) => {
                let micro = Micro { a: Slot(to.0), c: Slot(length), ..self.blank(Kind::Jump) };
                self.push(micro);
            }
            Terminator::Branch { guard, taken, otherwise } => {
                let guard = self.guard_slot(guard);
                let micro = Micro {
                    guard,
                    a: Slot(taken.0),
                    b: Slot(otherwise.0),
                    c: Slot(length),
                    ..self.blank(Kind::Branch)
                };
                self.push(micro);
            }
            Terminator::Switch { index, first, count } => {
                let index = self.source(index, Plane::Narrow);
                let end = first as usize + count as usize;
                let targets = self.function.switch_targets.get(first as usize..end).unwrap_or(&[]);
                self.code.switches.push(targets.iter().map(|target| target.0).collect());
                let x = self.code.switches.len() as u32 - 1;
                let micro = Micro { a: index.slot, c: Slot(length), x, ..self.blank(Kind::Switch) };
                self.push(micro);
            }
            Terminator::Return => self.push(Micro { c: Slot(length), ..self.blank(Kind::Return) }),
            Terminator::Exit => self.push(Micro { c: Slot(length), ..self.blank(Kind::Exit) }),
            Terminator::Trap => self.push(Micro { c: Slot(length), ..self.blank(Kind::Trap) }),
        }
    }

    /// Puts positions in the place of block numbers.
    fn resolve(&mut self) {
        let position = |block: u32| self.starts.get(block as usize).copied().unwrap_or(0);
        for op in &mut self.code.ops {
            match op.kind {
                Kind::Jump => op.a = Slot(position(op.a.0)),
                Kind::Branch => (op.a, op.b) = (Slot(position(op.a.0)), Slot(position(op.b.0))),
                _ => {}
            }
        }
        for target in self.code.switches.iter_mut().flatten() {
            *target = position(*target);
        }
    }

    fn finish(mut self) -> Code {
        // Control never comes past the end, but a position there must be one of the code.
        self.origin = Origin::Terminator(BlockId(0));
        self.guard = Slot::NONE;
        self.push(self.blank(Kind::Trap));
        self.code.starts = self.starts;
        self.code
    }

    fn guard_slot(&self, guard: Guard) -> Slot {
        let place = self.code.rows.get(guard.register().0 as usize).copied().unwrap_or(Place::NONE);
        match place.plane {
            Plane::Predicate if place.is_some() => {
                Slot(place.slot.0 | if guard.negated() { Slot::NEGATED } else { 0 })
            }
            _ => Slot(Slot::CONSTANT),
        }
    }

    /// The row of a destination.
    fn destination(&self, operand: Operand) -> Place {
        match operand {
            Operand::Register(register) => {
                self.code.rows.get(register.0 as usize).copied().unwrap_or(Place::NONE)
            }
            _ => Place::NONE,
        }
    }

    /// A row that no register has.
    fn scratch(&mut self, plane: Plane) -> Place {
        let (first, taken, whole, ty) = match plane {
            Plane::Narrow => {
                (self.registers.narrow, &mut self.taken.narrow, &mut self.code.frame.narrow, Type::B32)
            }
            Plane::Wide => (self.registers.wide, &mut self.taken.wide, &mut self.code.frame.wide, Type::B64),
            Plane::Predicate => (
                self.registers.predicates,
                &mut self.taken.predicates,
                &mut self.code.frame.predicates,
                Type::Pred,
            ),
        };
        let row = first + *taken;
        *taken += 1;
        *whole = (*whole).max(row + 1);
        Place { plane, slot: Slot(row as u32), ty }
    }

    /// A row with the same value in all lanes.
    fn constant(&mut self, value: u64, plane: Plane) -> Place {
        match plane {
            Plane::Narrow => {
                let rows = &mut self.code.constants32;
                let row = *self.narrow_constants.entry(value as u32).or_insert_with(|| {
                    rows.push(Aligned([value as u32; LANES]));
                    rows.len() as u32 - 1
                });
                Place { plane, slot: Slot(row | Slot::CONSTANT), ty: Type::B32 }
            }
            Plane::Wide => {
                let rows = &mut self.code.constants64;
                let row = *self.wide_constants.entry(value).or_insert_with(|| {
                    rows.push(Aligned([value; LANES]));
                    rows.len() as u32 - 1
                });
                Place { plane, slot: Slot(row | Slot::CONSTANT), ty: Type::B64 }
            }
            Plane::Predicate => {
                let row = u32::from(value & 1 != 0);
                Place { plane, slot: Slot(row | Slot::CONSTANT), ty: Type::Pred }
            }
        }
    }
}

/// Whether an instruction accesses memory or orders accesses.
fn orders(op: Op) -> bool {
    !matches!(op, Op::Arithmetic(_) | Op::Hint | Op::Shuffle(_) | Op::Vote(_) | Op::Call(_))
}

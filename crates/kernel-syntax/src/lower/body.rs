//! The state of lowering one kernel: blocks, variables, places, helpers that are copied in.

use rustc_hash::FxHashMap;
use standstill_kernel_ir::build::FunctionBuilder;
use standstill_kernel_ir::{
    Access, BlockId, FileId, Function, FunctionId, Guard, Location as IrLocation, LocationId, Op, Operand,
    Order, Parameter, Register, Scope, Space, Symbol, Terminator, Type,
};

use super::Stop;
use crate::check::Checked;
use crate::extent::{Extent, Place};
use crate::problem::Problem;
use crate::tree::{Block, Body, LocalId, LoopId, Statement};
use crate::types::{Scalar, Ty};

/// Deepest chain of helpers.
const MAXIMUM_DEPTH: usize = 32;
/// Most instructions of a kernel with its helpers.
const MAXIMUM_INSTRUCTIONS: usize = 200_000;

/// What a variable is in kernel IR.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Binding {
    #[default]
    None,
    /// A value that does not change.
    Value(Operand),
    Register(Register),
    /// An array.
    Array(Symbol, Space),
    Slice {
        pointer: Register,
        length: Operand,
        space: Space,
    },
    /// A reference to memory.
    Address(Register, Space),
    /// A helper that is called through a parameter.
    Helper(usize),
    /// The result of a `compare_exchange`.
    Exchange {
        done: Register,
        held: Register,
    },
}

/// Where `break` and `continue` of a loop go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Targets {
    pub(super) leave: BlockId,
    pub(super) next: BlockId,
    pub(super) value: Option<Register>,
}

/// A function that is being lowered: the kernel, or a helper inside it.
pub(super) struct Frame<'a> {
    pub(super) function: usize,
    pub(super) body: &'a Body,
    pub(super) bindings: Vec<Binding>,
    pub(super) loops: FxHashMap<LoopId, Targets>,
    /// Where `return` goes; in the kernel itself the thread ends.
    pub(super) exit: Option<BlockId>,
    pub(super) result: Option<Register>,
}

pub(super) struct Lowering<'a> {
    pub(super) checked: &'a Checked,
    pub(super) builder: FunctionBuilder,
    /// The block that is being written.
    pub(super) block: BlockId,
    pub(super) frames: Vec<Frame<'a>>,
    inlined_at: LocationId,
    first_line: u32,
    /// The numbers of the files of what came from elsewhere.
    files: &'a [u32],
    here: Option<(Place, LocationId)>,
    instructions: usize,
    /// The position of the extent of the space in x.
    first_extent: u32,
    made: Made,
}

/// What lowering a kernel gives.
pub(super) struct Made {
    pub(super) function: Function,
    pub(super) names: Vec<String>,
    pub(super) extents: Vec<(Place, Extent)>,
    pub(super) early_returns: Vec<Place>,
    pub(super) loops: Vec<Place>,
    pub(super) stops: Vec<(Place, Stop)>,
    pub(super) problems: Vec<Problem>,
}

/// Lowers one kernel.
pub(super) fn kernel(
    checked: &Checked,
    index: usize,
    id: FunctionId,
    first_line: u32,
    files: &[u32],
) -> Made {
    let mut builder = FunctionBuilder::new();
    let entry = builder.block();
    let empty = FunctionBuilder::new().finish();
    let made = Made {
        function: empty,
        names: Vec::new(),
        extents: Vec::new(),
        early_returns: Vec::new(),
        loops: Vec::new(),
        stops: Vec::new(),
        problems: Vec::new(),
    };
    let mut lowering = Lowering {
        checked,
        builder,
        block: entry,
        frames: Vec::new(),
        inlined_at: LocationId(0),
        first_line,
        files,
        here: None,
        instructions: 0,
        first_extent: 0,
        made,
    };
    lowering.kernel(index);
    let mut made = lowering.made;
    made.function = lowering.builder.finish();
    made.function.id = id;
    made
}

impl<'a> Lowering<'a> {
    fn kernel(&mut self, index: usize) {
        let (Some(signature), Some(body)) =
            (self.checked.signatures.get(index), self.checked.bodies.get(index))
        else {
            return;
        };
        let real = || signature.parameters.iter().filter(|p| p.ty != Ty::Space);
        let count = real().count() as u32;
        for parameter in real() {
            let (ty, pointer) = match &parameter.ty {
                Ty::Scalar(scalar) => (scalar.memory(), false),
                _ => (Type::U64, true),
            };
            self.parameter(parameter.name.clone(), ty, pointer);
        }
        let slices = || real().filter(|p| matches!(p.ty, Ty::Slice(..)));
        for slice in slices() {
            self.parameter(format!("{}.len()", slice.name), Type::U64, false);
        }
        self.first_extent = count + slices().count() as u32;
        for axis in ["x", "y", "z"] {
            self.parameter(format!("space.size_{axis}"), Type::U32, false);
        }
        let mut bindings = vec![Binding::None; body.locals.len()];
        let (mut position, mut length) = (0, count);
        for (parameter, local) in signature.parameters.iter().zip(&body.parameters) {
            let binding = match &parameter.ty {
                Ty::Space => continue,
                Ty::Scalar(scalar) => {
                    let value = self.load_parameter(position, scalar.memory(), scalar.register());
                    let value = if *scalar == Scalar::Bool { self.truth(value.into()) } else { value };
                    if parameter.mutable { Binding::Register(value) } else { Binding::Value(value.into()) }
                }
                _ => {
                    let pointer = self.load_parameter(position, Type::U64, Type::U64);
                    let elements = self.load_parameter(length, Type::U64, Type::U64);
                    length += 1;
                    Binding::Slice { pointer, length: elements.into(), space: Space::Global }
                }
            };
            position += 1;
            if let Some(place) = bindings.get_mut(local.0 as usize) {
                *place = binding;
            }
        }
        self.frames.push(Frame {
            function: index,
            body,
            bindings,
            loops: FxHashMap::default(),
            exit: None,
            result: None,
        });
        self.statements(&body.block);
        self.at(body.end);
        self.builder.terminate(self.block, Terminator::Return);
    }

    fn parameter(&mut self, name: String, ty: Type, pointer: bool) {
        let bytes = ty.bytes();
        self.builder.tables().parameters.push(Parameter { ty, bytes, align: bytes, pointer });
        self.made.names.push(name);
    }

    fn load_parameter(&mut self, index: u32, memory: Type, register: Type) -> Register {
        let register = if register == Type::Pred { Type::U32 } else { register };
        let to = self.builder.register(register);
        let access = Access {
            space: Space::Param,
            ty: memory,
            elements: 1,
            order: Order::Weak,
            scope: Scope::Cta,
            non_coherent: false,
        };
        self.push(Op::Load(access), &[to], &[Operand::Parameter { index, offset: 0 }]);
        to
    }

    /// The extent of the space in one direction.
    pub(super) fn extent_parameter(&mut self, axis: u8) -> Register {
        self.load_parameter(self.first_extent + u32::from(axis), Type::U32, Type::U32)
    }

    pub(super) fn push(&mut self, op: Op, destinations: &[Register], sources: &[Operand]) {
        self.instructions += 1;
        if self.instructions <= MAXIMUM_INSTRUCTIONS {
            self.builder.push(self.block, op, destinations, sources);
        }
    }

    /// What follows stands at this piece of source.
    pub(super) fn at(&mut self, extent: Extent) -> Place {
        let (file, first_line) = self.source();
        let mut place = extent.place();
        place.file = file;
        place.line = place.line.saturating_add(first_line).saturating_sub(1);
        place.end_line = place.end_line.saturating_add(first_line).saturating_sub(1);
        if self.here != Some((place, self.inlined_at)) {
            self.builder.at(IrLocation {
                file: FileId(file),
                line: place.line,
                column: place.column,
                inlined_at: self.inlined_at,
            });
            self.here = Some((place, self.inlined_at));
        }
        place
    }

    /// The file that the function stands in, and what its line 1 is there.
    fn source(&self) -> (u32, u32) {
        let function = self.frames.last().map_or(0, |frame| frame.function);
        let elsewhere = self.checked.elsewhere.iter().zip(self.files).rev();
        let from = elsewhere.into_iter().find(|(source, _)| source.first <= function);
        from.map_or((1, self.first_line), |(source, file)| (*file, source.first_line))
    }

    /// [`Lowering::at`] for what findings can point at.
    pub(super) fn mark(&mut self, extent: Extent) -> Place {
        let place = self.at(extent);
        self.made.extents.push((place, extent));
        place
    }

    pub(super) fn new_block(&mut self) -> BlockId {
        self.builder.block()
    }

    /// Ends the block and goes on with another.
    pub(super) fn continue_in(&mut self, terminator: Terminator, next: BlockId) {
        self.builder.terminate(self.block, terminator);
        self.block = next;
    }

    pub(super) fn jump(&mut self, to: BlockId, next: BlockId) {
        self.continue_in(Terminator::Jump(to), next);
    }

    pub(super) fn branch(&mut self, condition: Register, taken: BlockId, otherwise: BlockId) {
        let guard = Guard::new(condition, false);
        self.builder.terminate(self.block, Terminator::Branch { guard, taken, otherwise });
    }

    /// Ends the launch where a condition holds.
    pub(super) fn stop_if(&mut self, condition: Register, extent: Extent, why: Stop) {
        let place = self.at(extent);
        self.made.stops.push((place, why));
        let (stop, go_on) = (self.new_block(), self.new_block());
        self.branch(condition, stop, go_on);
        self.builder.terminate(stop, Terminator::Trap);
        self.block = go_on;
    }

    pub(super) fn stop(&mut self, extent: Extent, why: Stop) {
        let place = self.at(extent);
        self.made.stops.push((place, why));
        let next = self.new_block();
        self.continue_in(Terminator::Trap, next);
    }

    pub(super) fn early_return(&mut self, condition: Place) {
        self.made.early_returns.push(condition);
    }

    /// What decides how often a loop runs stands here.
    pub(super) fn loop_condition(&mut self, extent: Extent) {
        let place = self.at(extent);
        self.made.loops.push(place);
    }

    /// Whether the kernel itself is being lowered, not a helper in it.
    pub(super) fn is_kernel(&self) -> bool {
        self.frames.len() == 1
    }

    pub(super) fn problem(&mut self, extent: Extent, message: &str) {
        self.made.problems.push(Problem::new(extent, message));
    }

    pub(super) fn binding(&self, id: LocalId) -> Binding {
        let frame = self.frames.last();
        frame.and_then(|frame| frame.bindings.get(id.0 as usize)).copied().unwrap_or_default()
    }

    pub(super) fn bind(&mut self, id: LocalId, binding: Binding) {
        if let Some(frame) = self.frames.last_mut()
            && let Some(place) = frame.bindings.get_mut(id.0 as usize)
        {
            *place = binding;
        }
    }

    /// The type of a variable.
    pub(super) fn local_type(&self, id: LocalId) -> Ty {
        let frame = self.frames.last();
        frame
            .and_then(|frame| frame.body.locals.get(id.0 as usize))
            .map_or(Ty::Wrong, |local| local.ty.clone())
    }

    pub(super) fn local_name(&self, id: LocalId) -> String {
        let frame = self.frames.last();
        frame
            .and_then(|f| f.body.locals.get(id.0 as usize))
            .map_or_else(String::new, |local| local.name.clone())
    }

    pub(super) fn is_mutable(&self, id: LocalId) -> bool {
        let frame = self.frames.last();
        frame.and_then(|f| f.body.locals.get(id.0 as usize)).is_some_and(|local| local.mutable)
    }

    /// Lowers a block; gives its value.
    pub(super) fn statements(&mut self, block: &Block) -> Operand {
        for statement in &block.statements {
            match statement {
                Statement::Expression(expression) => drop(self.expression(expression)),
                Statement::Let(id, value) => self.let_value(*id, value),
                Statement::LetArray(id, value, extent) => self.let_array(*id, value.as_ref(), *extent),
            }
        }
        block.value.as_ref().map_or(Operand::Absent, |value| self.expression(value))
    }

    /// Copies a helper in; gives its result.
    pub(super) fn call(&mut self, index: usize, bindings: Vec<Binding>, extent: Extent) -> Operand {
        let Some(body) = self.checked.bodies.get(index) else { return Operand::Absent };
        if self.frames.iter().any(|frame| frame.function == index) {
            self.problem(extent, "a kernel's helpers cannot call themselves; write a loop");
            return Operand::Absent;
        }
        if self.frames.len() > MAXIMUM_DEPTH || self.instructions > MAXIMUM_INSTRUCTIONS {
            self.problem(extent, "the kernel with its helpers is too large; let helpers call fewer others");
            return Operand::Absent;
        }
        self.mark(extent);
        let outer = self.inlined_at;
        // The place that was just set is the last of the map.
        let call_site = LocationId(self.builder.tables().locations.len() as u32 - 1);
        let exit = self.new_block();
        let result = body.result.map(|scalar| self.builder.register(scalar.register()));
        let mut all = vec![Binding::None; body.locals.len()];
        for (local, binding) in body.parameters.iter().zip(bindings) {
            if let Some(place) = all.get_mut(local.0 as usize) {
                *place = binding;
            }
        }
        self.inlined_at = call_site;
        self.frames.push(Frame {
            function: index,
            body,
            bindings: all,
            loops: FxHashMap::default(),
            exit: Some(exit),
            result,
        });
        let value = self.statements(&body.block);
        if let (Some(result), true) = (result, value != Operand::Absent) {
            let ty = body.result.map_or(Type::U32, Scalar::register);
            self.copy(result, ty, value);
        }
        self.at(body.end);
        self.jump(exit, exit);
        self.frames.pop();
        self.inlined_at = outer;
        self.at(extent);
        result.map_or(Operand::Absent, Operand::Register)
    }
}

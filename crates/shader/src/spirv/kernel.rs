//! A kernel under way: an entry point with all that it calls, block by block.

use rspirv::spirv::Op;
use rustc_hash::FxHashMap;
use standstill_kernel_ir::{
    BlockId, FileId, Location, LocationId, Op as IrOp, Operand, Register, Space, Terminator, Type,
};

use super::layout::Layout;
use super::module::Module;
use super::types::{Kind, Shape};
use super::words::Instruction;
use crate::emit::{Emitter, Pointer};
use crate::frame::plain_access;
use crate::types::{Slot, register_type};

/// Most levels of calls.
const MOST_CALLS: usize = 128;
/// Most instructions that are copied in, and most scalars that values of one function hold together.
const MOST_STEPS: usize = 2_000_000;
const MOST_KEPT: usize = 8_000_000;

/// Why an entry point cannot be lowered.
pub(crate) type Fault = String;

/// What stands for an id.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Scalars(Vec<Operand>),
    Place(Place),
    /// A built-in value, or one component of it: also the variable that holds it.
    BuiltIn {
        code: u32,
        component: Option<u32>,
    },
    /// A structure of such, by its type.
    BuiltIns(u32),
    /// An image, a sampler or something else that has no value here.
    Handle,
}

/// Where something lies, and what.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) pointer: Pointer,
    pub(crate) ty: u32,
    pub(crate) shape: Shape,
    /// What others write is seen.
    pub(crate) is_shared: bool,
}

/// A phi instruction: where its value is kept.
pub(crate) struct Phi {
    pub(crate) registers: Vec<Register>,
    /// Value and block that it comes from.
    pub(crate) sources: Vec<(u32, u32)>,
}

/// A function that is copied in.
pub(crate) struct Frame {
    pub(crate) id: u32,
    pub(crate) values: FxHashMap<u32, Value>,
    blocks: FxHashMap<u32, BlockId>,
    pub(crate) phis: FxHashMap<u32, Vec<Phi>>,
    /// Where a return leads, and the registers that take its value; none for the entry point.
    pub(crate) back: Option<(BlockId, Vec<Register>)>,
    called_at: LocationId,
    pub(crate) label: u32,
    kept: usize,
    barriers: (u32, u32),
    /// What stands alone in a block with this label: a return, or a jump.
    pub(crate) short: FxHashMap<u32, Short>,
    pub(crate) loop_ends: Vec<u32>,
}

/// A block that does nothing but leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Short {
    Return,
    Jump(u32),
}

/// A kernel under way.
pub(crate) struct Kernel<'m> {
    pub(crate) module: &'m Module<'m>,
    pub(crate) layout: &'m Layout,
    pub(crate) emit: Emitter,
    pub(crate) globals: FxHashMap<u32, Value>,
    /// Files by the ids of their names.
    pub(crate) files: &'m FxHashMap<u32, FileId>,
    pub(crate) early_returns: Vec<(u32, u32)>,
    pub(crate) loops: Vec<(u32, u32)>,
    /// What stands at places without a line: the instruction's number, and words.
    pub(crate) places: Vec<(u32, String)>,
    line: Option<(FileId, u32, u32)>,
    pub(crate) here: Location,
    pub(crate) steps: usize,
    calls: Vec<u32>,
}

impl<'m> Kernel<'m> {
    pub(crate) fn new(
        module: &'m Module<'m>,
        layout: &'m Layout,
        files: &'m FxHashMap<u32, FileId>,
    ) -> Kernel<'m> {
        Kernel {
            module,
            layout,
            emit: Emitter::new(),
            globals: FxHashMap::default(),
            files,
            early_returns: Vec::new(),
            loops: Vec::new(),
            places: Vec::new(),
            line: None,
            here: Location::default(),
            steps: 0,
            calls: Vec::new(),
        }
    }

    /// Lowers a whole entry point.
    pub(crate) fn entry_point(&mut self, function: u32) -> Result<(), Fault> {
        let mut frame = Frame::new(0, None, LocationId(0));
        self.place_variables(&mut frame)?;
        for &index in &self.module.operations {
            if let Some(instruction) = self.module.words.get(index) {
                self.specialised(&mut frame, instruction)?;
            }
        }
        self.globals.extend(frame.values.drain());
        let parameters = self.module.functions.get(&function).map_or(&[][..], |known| &known.parameters);
        let arguments = self.kernel_arguments(parameters);
        self.function(function, arguments, None, LocationId(0))?;
        self.emit.end(Terminator::Return);
        Ok(())
    }

    /// Copies a function in.
    fn function(
        &mut self,
        id: u32,
        arguments: Vec<Value>,
        back: Option<(BlockId, Vec<Register>)>,
        called_at: LocationId,
    ) -> Result<(), Fault> {
        let name = || self.module.name(id);
        if self.calls.len() >= MOST_CALLS || self.calls.contains(&id) {
            return Err(format!("functions call `{}` from itself, or too deeply", name()));
        }
        let module = self.module;
        let Some(function) = module.functions.get(&id).filter(|function| !function.body.is_empty()) else {
            return Err(format!("there is no body of function `{}`", name()));
        };
        self.calls.push(id);
        let mut frame = Frame::new(id, back, called_at);
        frame.values.extend(function.parameters.iter().copied().zip(arguments));
        let before = self.line.take();
        self.prepare(&mut frame, function.body.clone())?;
        let mut is_first = true;
        let mut merge = None;
        for instruction in module.words.range(function.body.clone()) {
            self.steps += 1;
            if self.steps > MOST_STEPS || frame.kept > MOST_KEPT || self.emit.is_too_large() {
                return Err("the entry point and all that it calls are too large".to_owned());
            }
            match instruction.op {
                Some(Op::Label) => {
                    let label = instruction.result().unwrap_or(0);
                    let block = frame.block(label)?;
                    let entered = if is_first { Terminator::Jump(block) } else { Terminator::Trap };
                    self.emit.end(entered);
                    self.emit.begin(block);
                    frame.label = label;
                    is_first = false;
                }
                Some(Op::SelectionMerge | Op::LoopMerge) => merge = instruction.operand(0),
                Some(
                    Op::Branch
                    | Op::BranchConditional
                    | Op::Switch
                    | Op::Return
                    | Op::ReturnValue
                    | Op::Kill
                    | Op::TerminateInvocation
                    | Op::Unreachable,
                ) => {
                    self.locate(&frame, instruction);
                    self.terminator(&mut frame, instruction, merge.take())?;
                }
                Some(Op::Line) => {
                    let file = instruction.operand(0).unwrap_or(0);
                    let (line, column) = (instruction.operand(1), instruction.operand(2));
                    self.set_line(file, line.unwrap_or(0), column.unwrap_or(0));
                }
                Some(Op::FunctionCall) => {
                    let called_at = self.locate(&frame, instruction);
                    self.call(&mut frame, instruction, called_at)?;
                }
                _ => {
                    self.locate(&frame, instruction);
                    self.instruction(&mut frame, instruction).map_err(|fault| {
                        match self.module.has_lines {
                            true if self.here.line > 0 => format!("{fault} (line {})", self.here.line),
                            _ => format!("{fault} (instruction {})", instruction.number),
                        }
                    })?;
                }
            }
        }
        self.emit.end(Terminator::Trap);
        self.calls.pop();
        self.line = before;
        Ok(())
    }

    /// Blocks, values of phi instructions, and what blocks do alone.
    fn prepare(&mut self, frame: &mut Frame, body: std::ops::Range<usize>) -> Result<(), Fault> {
        let (mut label, mut length) = (0, 0);
        for instruction in self.module.words.range(body) {
            length += 1;
            match instruction.op {
                Some(Op::Label) => {
                    label = instruction.result().unwrap_or(0);
                    length = 0;
                    let block = self.emit.out.block();
                    frame.blocks.insert(label, block);
                }
                Some(Op::Line | Op::NoLine) => length -= 1,
                Some(Op::Return | Op::ReturnValue | Op::Kill | Op::TerminateInvocation) if length == 1 => {
                    frame.short.insert(label, Short::Return);
                }
                Some(Op::Branch) if length == 1 => {
                    frame.short.extend(instruction.operand(0).map(|to| (label, Short::Jump(to))));
                }
                Some(Op::ControlBarrier) => frame.barriers.1 += 1,
                Some(Op::LoopMerge) => frame.loop_ends.extend(instruction.operand(0)),
                Some(Op::ExtInst) => length -= usize::from(self.is_debug(instruction)),
                Some(Op::Phi) => self.phi(frame, label, instruction)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn phi(&mut self, frame: &mut Frame, label: u32, instruction: Instruction<'_>) -> Result<(), Fault> {
        let (Some(id), Some(ty)) = (instruction.result(), instruction.ty()) else { return Ok(()) };
        let pairs = instruction.operands().chunks_exact(2);
        let sources: Vec<(u32, u32)> =
            pairs.filter_map(|pair| Some((*pair.first()?, *pair.get(1)?))).collect();
        let (value, registers) = self.held(ty);
        frame.keep(id, value);
        frame.phis.entry(label).or_default().push(Phi { registers, sources });
        Ok(())
    }

    /// Registers for a value of a type, and the value that they hold.
    fn held(&mut self, ty: u32) -> (Value, Vec<Register>) {
        if let Kind::Pointer { class, to } = *self.module.kind(ty)
            && let Some(space) = super::layout::space(class)
        {
            let register = self.emit.out.register(Type::U64);
            let pointer = Pointer::Memory { space, base: register.into(), offset: 0, buffer: None };
            let place = Place { pointer, ty: to, shape: Shape::default(), is_shared: false };
            return (Value::Place(place), vec![register]);
        }
        let Some(slots) = self.module.slots(ty, Shape::default()) else { return (Value::Handle, Vec::new()) };
        let one = |slot: &Slot| self.emit.out.register(register_type(slot.scalar));
        let registers: Vec<Register> = slots.iter().map(one).collect();
        (Value::Scalars(registers.iter().map(|&register| register.into()).collect()), registers)
    }

    /// The debugging information's line.
    pub(crate) fn set_line(&mut self, file: u32, line: u32, column: u32) {
        let file = self.module.files.get(&file).copied().unwrap_or(file);
        if let Some(&file) = self.files.get(&file).filter(|_| line > 0) {
            self.line = Some((file, line, column));
        }
    }

    /// What follows stands at an instruction: at its line, or else at its number.
    pub(crate) fn locate(&mut self, frame: &Frame, instruction: Instruction<'_>) -> LocationId {
        let (file, line, column) = self.line.unwrap_or((FileId(1), instruction.number, 0));
        let location = Location { file, line, column, inlined_at: frame.called_at };
        if self.here != location {
            self.here = location;
            self.emit.out.at(location);
        }
        LocationId(self.emit.out.tables().locations.len() as u32 - 1)
    }

    /// Names what stands at a place that has no line.
    pub(crate) fn name_place(&mut self, instruction: Instruction<'_>, words: String) {
        if self.line.is_none() {
            self.places.push((instruction.number, words));
        }
    }

    /// What stands for an id.
    pub(crate) fn value(&mut self, frame: &Frame, id: u32) -> Result<Value, Fault> {
        if let Some(value) = frame.values.get(&id).or_else(|| self.globals.get(&id)) {
            return Ok(value.clone());
        }
        if let Some(bits) = self.module.constants.get(&id) {
            return Ok(Value::Scalars(bits.iter().map(|&bits| Operand::Immediate(bits)).collect()));
        }
        Err(format!("{} is not known here", self.module.name(id)))
    }

    /// The scalars of a value; none of what has none.
    pub(crate) fn scalars(&mut self, frame: &Frame, id: u32) -> Result<Vec<Operand>, Fault> {
        Ok(match self.value(frame, id)? {
            Value::Scalars(scalars) => scalars,
            Value::BuiltIn { code, component } => self.built_in(code, component, self.module.type_of(id)),
            Value::Place(place) => vec![self.address_of(&place)?],
            Value::BuiltIns(_) | Value::Handle => Vec::new(),
        })
    }

    /// The only scalar of a value.
    pub(crate) fn scalar(&mut self, frame: &Frame, id: u32) -> Result<Operand, Fault> {
        let first = self.scalars(frame, id)?.first().copied();
        first.ok_or_else(|| format!("{} has no value that is known here", self.module.name(id)))
    }

    fn call(
        &mut self,
        frame: &mut Frame,
        instruction: Instruction<'_>,
        called_at: LocationId,
    ) -> Result<(), Fault> {
        let [callee, arguments @ ..] = instruction.operands() else {
            return Err("a call of nothing".to_owned());
        };
        let mut passed = Vec::with_capacity(arguments.len());
        for &argument in arguments {
            passed.push(self.value(frame, argument)?);
        }
        let ty = instruction.ty().unwrap_or(0);
        let (value, into) = self.held(ty);
        let exit = self.emit.out.block();
        // What a compiler put around the user's function stands at no line of it.
        let called_at = match self.line {
            None if self.module.has_lines => LocationId(0),
            _ => called_at,
        };
        self.function(*callee, passed, Some((exit, into)), called_at)?;
        self.emit.begin(exit);
        self.locate(frame, instruction);
        frame.keep(instruction.result().unwrap_or(0), value);
        Ok(())
    }

    /// A parameter of the kernel.
    pub(crate) fn parameter(&mut self, index: u32, ty: Type) -> Operand {
        let load = IrOp::Load(plain_access(Space::Param, ty));
        self.emit.result(load, ty, &[Operand::Parameter { index, offset: 0 }])
    }

    /// Which barrier of its function an instruction is, in words.
    pub(crate) fn name_barrier(&mut self, frame: &mut Frame, instruction: Instruction<'_>) {
        frame.barriers.0 += 1;
        let (number, all) = frame.barriers;
        let name = self.module.name(frame.id);
        let words = match all {
            1 => format!("the only barrier of function `{name}`"),
            _ => format!("barrier {number} of {all} of function `{name}`"),
        };
        self.name_place(instruction, words);
    }
}

impl Frame {
    fn new(id: u32, back: Option<(BlockId, Vec<Register>)>, called_at: LocationId) -> Frame {
        Frame {
            id,
            values: FxHashMap::default(),
            blocks: FxHashMap::default(),
            phis: FxHashMap::default(),
            back,
            called_at,
            label: 0,
            kept: 0,
            barriers: (0, 0),
            short: FxHashMap::default(),
            loop_ends: Vec::new(),
        }
    }

    pub(crate) fn block(&self, label: u32) -> Result<BlockId, Fault> {
        self.blocks.get(&label).copied().ok_or_else(|| format!("there is no block %{label}"))
    }

    /// Gives an id its value.
    pub(crate) fn keep(&mut self, id: u32, value: Value) {
        self.kept += match &value {
            Value::Scalars(scalars) => scalars.len(),
            _ => 1,
        };
        self.values.insert(id, value);
    }
}

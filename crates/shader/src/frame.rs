//! A kernel under way: blocks, registers, and the frames of functions that are copied into it.

use std::ops::{Deref, DerefMut};

use naga::front::Typifier;
use naga::proc::ResolveContext;
use naga::{
    AddressSpace, BuiltIn, EntryPoint, Expression, Function as NagaFunction, GlobalVariable, Handle,
    LocalVariable, Span, TypeInner,
};
use rustc_hash::FxHashMap;
use standstill_kernel_ir::{
    BlockId, FileId, Function, Location, LocationId, Op, Operand, Register, Space, Terminator, Type,
};

use crate::emit::{Emitter, Pointer};
use crate::program::Layout;
use crate::source::Lines;
use crate::types::{Types, register_type};

/// What cannot be lowered, and where.
pub(crate) type Fault = (String, Span);

/// A value while it is worked with.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// Its scalars.
    Scalars(Vec<Operand>),
    /// Where something lies.
    Pointer(Pointer),
    /// What the entry point is given, read where it is used.
    BuiltIn(BuiltIn),
    /// A structure of such.
    Inputs(Vec<Option<BuiltIn>>),
    /// A texture, sampler or something else that has no value here.
    Handle,
}

/// A loop that is under way: where `continue` and `break` lead.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around {
    pub(crate) continuing: Option<BlockId>,
    pub(crate) exit: BlockId,
}

/// A function that is being copied in.
pub(crate) struct Frame<'a> {
    pub(crate) function: &'a NagaFunction,
    pub(crate) types: Typifier,
    pub(crate) values: FxHashMap<Handle<Expression>, Value>,
    pub(crate) arguments: Vec<Value>,
    pub(crate) locals: FxHashMap<Handle<LocalVariable>, Pointer>,
    /// Where a return leads, and the registers that take its value; none for the entry point.
    pub(crate) back: Option<(BlockId, Vec<Register>)>,
    pub(crate) around: Vec<Around>,
    /// The call that it is copied to.
    pub(crate) called_at: LocationId,
}

/// A kernel under way.
pub(crate) struct Builder<'a> {
    pub(crate) module: &'a naga::Module,
    pub(crate) types: Types<'a>,
    pub(crate) layout: &'a Layout,
    lines: &'a Lines,
    emit: Emitter,
    /// Private and workgroup variables.
    pub(crate) globals: FxHashMap<Handle<GlobalVariable>, Pointer>,
    /// Buffers' addresses, by position.
    pub(crate) addresses: Vec<Register>,
    /// Conditions behind which a function returns, and those that end loops.
    pub(crate) early_returns: Vec<(u32, u32)>,
    pub(crate) loops: Vec<(u32, u32)>,
    place: (Span, LocationId),
}

impl Deref for Builder<'_> {
    type Target = Emitter;

    fn deref(&self) -> &Emitter {
        &self.emit
    }
}

impl DerefMut for Builder<'_> {
    fn deref_mut(&mut self) -> &mut Emitter {
        &mut self.emit
    }
}

impl<'a> Builder<'a> {
    pub(crate) fn new(module: &'a naga::Module, layout: &'a Layout, lines: &'a Lines) -> Builder<'a> {
        Builder {
            module,
            types: Types { module },
            layout,
            lines,
            emit: Emitter::new(),
            globals: FxHashMap::default(),
            addresses: Vec::new(),
            early_returns: Vec::new(),
            loops: Vec::new(),
            place: (Span::UNDEFINED, LocationId(0)),
        }
    }

    pub(crate) fn finish(self) -> Function {
        self.emit.out.finish()
    }

    /// Lowers a whole entry point.
    pub(crate) fn entry_point(&mut self, entry: &'a EntryPoint) -> Result<(), Fault> {
        for (index, _) in self.layout.buffers.iter().enumerate() {
            let address = self.out.register(Type::U64);
            let load = Op::Load(plain_access(Space::Param, Type::U64));
            let parameter = Operand::Parameter { index: index as u32, offset: 0 };
            self.push(load, &[address], &[parameter]);
            self.addresses.push(address);
        }
        self.place_globals()?;
        let arguments = entry
            .function
            .arguments
            .iter()
            .map(|argument| match (&argument.binding, self.types.inner(argument.ty)) {
                (Some(naga::Binding::BuiltIn(builtin)), _) => Value::BuiltIn(*builtin),
                (None, TypeInner::Struct { members, .. }) => {
                    let builtin = |member: &naga::StructMember| match member.binding {
                        Some(naga::Binding::BuiltIn(builtin)) => Some(builtin),
                        _ => None,
                    };
                    Value::Inputs(members.iter().map(builtin).collect())
                }
                _ => Value::Handle,
            })
            .collect();
        self.function(&entry.function, arguments, None, LocationId(0))?;
        self.end(Terminator::Return);
        Ok(())
    }

    /// Copies a function in.
    pub(crate) fn function(
        &mut self,
        function: &'a NagaFunction,
        arguments: Vec<Value>,
        back: Option<(BlockId, Vec<Register>)>,
        called_at: LocationId,
    ) -> Result<(), Fault> {
        let mut types = Typifier::new();
        let context =
            ResolveContext::with_locals(self.module, &function.local_variables, &function.arguments);
        for (handle, _) in function.expressions.iter() {
            types
                .grow(handle, &function.expressions, &context)
                .map_err(|error| (error.to_string(), function.expressions.get_span(handle)))?;
        }
        let mut frame = Frame {
            function,
            types,
            values: FxHashMap::default(),
            arguments,
            locals: FxHashMap::default(),
            back,
            around: Vec::new(),
            called_at,
        };
        self.place_locals(&mut frame)?;
        self.block(&mut frame, &function.body)
    }

    /// What follows stands at a span.
    pub(crate) fn locate(&mut self, frame: &Frame<'_>, span: Span) -> LocationId {
        let Some(range) = span.to_range() else { return self.place.1 };
        if self.place.0 == span {
            return self.place.1;
        }
        let (line, column) = self.lines.place(range.start as u32);
        let inlined_at = frame.called_at;
        self.out.at(Location { file: FileId(1), line, column, inlined_at });
        let id = LocationId(self.out.tables().locations.len() as u32 - 1);
        self.place = (span, id);
        id
    }

    /// Line and column of a span.
    pub(crate) fn place_of(&self, span: Span) -> Option<(u32, u32)> {
        span.to_range().map(|range| self.lines.place(range.start as u32))
    }

    /// The next instruction needs its place again.
    pub(crate) fn forget_place(&mut self) {
        self.place = (Span::UNDEFINED, self.place.1);
    }

    /// Whether more has been copied in than anybody writes.
    pub(crate) fn check_size(&self, span: Span) -> Result<(), Fault> {
        if self.is_too_large() {
            return Err(("the entry point and all that it calls are too large".to_owned(), span));
        }
        Ok(())
    }

    /// Registers for the scalars of a type.
    pub(crate) fn registers(&mut self, inner: &TypeInner) -> Option<Vec<Register>> {
        let slots = self.types.slots(inner)?;
        Some(slots.into_iter().map(|slot| self.out.register(register_type(slot.scalar))).collect())
    }

    /// Private and workgroup variables.
    fn place_globals(&mut self) -> Result<(), Fault> {
        let indexed = indexed_globals(self.module);
        for (handle, variable) in self.module.global_variables.iter() {
            let name = variable.name.clone().unwrap_or_else(|| "variable".to_owned());
            let inner = self.types.inner(variable.ty);
            let bytes = self.types.bytes(inner);
            let pointer = match variable.space {
                AddressSpace::WorkGroup => self.variable(&name, Space::Shared, bytes),
                AddressSpace::Private => {
                    let in_memory = indexed.contains(&handle) && !matches!(inner, TypeInner::Scalar(_));
                    let registers =
                        if in_memory || self.by_specification { None } else { self.registers(inner) };
                    let pointer = match registers {
                        Some(registers) => Pointer::Registers(registers),
                        None => self.variable(&name, Space::Local, bytes),
                    };
                    let first = match variable.init {
                        Some(init) => self.constant(init),
                        None => self.zeros(inner),
                    };
                    if let Some(first) = first {
                        self.store(&pointer, inner, &first, None);
                    }
                    pointer
                }
                _ => continue,
            };
            self.globals.insert(handle, pointer);
        }
        Ok(())
    }

    /// Variables of a function: in registers, as long as no index into them is worked out while it runs.
    fn place_locals(&mut self, frame: &mut Frame<'a>) -> Result<(), Fault> {
        let indexed = indexed_locals(frame.function);
        for (handle, variable) in frame.function.local_variables.iter() {
            let inner = self.types.inner(variable.ty);
            // There is no index into a scalar.
            let in_memory = indexed.contains(&handle) && !matches!(inner, TypeInner::Scalar(_));
            let registers = if in_memory { None } else { self.registers(inner) };
            let pointer = match registers {
                Some(registers) => Pointer::Registers(registers),
                None => {
                    let name = variable.name.clone().unwrap_or_else(|| "local".to_owned());
                    let bytes = self.types.bytes(inner);
                    self.variable(&name, Space::Local, bytes)
                }
            };
            frame.locals.insert(handle, pointer.clone());
            let span = frame.function.local_variables.get_span(handle);
            self.locate(frame, span);
            let first = match variable.init {
                Some(init) => Some(self.scalars(frame, init)?),
                None => self.zeros(inner),
            };
            if let Some(first) = first {
                self.store(&pointer, inner, &first, None);
            }
        }
        Ok(())
    }
}

/// A plain access of one element.
pub(crate) fn plain_access(space: Space, ty: Type) -> standstill_kernel_ir::Access {
    standstill_kernel_ir::Access {
        space,
        ty,
        elements: 1,
        order: standstill_kernel_ir::Order::Weak,
        scope: standstill_kernel_ir::Scope::Cta,
        non_coherent: false,
    }
}

/// What a chain of accesses begins at.
fn root(function: &NagaFunction, mut expression: Handle<Expression>) -> Handle<Expression> {
    loop {
        match function.expressions[expression] {
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => expression = base,
            _ => return expression,
        }
    }
}

/// The variables of a function into which an index is worked out while it runs, or that are handed on whole.
fn indexed_locals(function: &NagaFunction) -> Vec<Handle<LocalVariable>> {
    roots_indexed(function)
        .into_iter()
        .filter_map(|root| match function.expressions[root] {
            Expression::LocalVariable(local) => Some(local),
            _ => None,
        })
        .collect()
}

fn indexed_globals(module: &naga::Module) -> Vec<Handle<GlobalVariable>> {
    let functions = module.functions.iter().map(|(_, function)| function);
    let all = functions.chain(module.entry_points.iter().map(|entry| &entry.function));
    all.flat_map(|function| {
        roots_indexed(function).into_iter().filter_map(|root| match function.expressions[root] {
            Expression::GlobalVariable(global) => Some(global),
            _ => None,
        })
    })
    .collect()
}

fn roots_indexed(function: &NagaFunction) -> Vec<Handle<Expression>> {
    let mut found: Vec<_> = function
        .expressions
        .iter()
        .filter_map(|(_, expression)| match expression {
            Expression::Access { base, .. } => Some(root(function, *base)),
            _ => None,
        })
        .collect();
    handed_on(&function.body, &mut |argument| found.push(root(function, argument)));
    found
}

/// Calls `visit` for every argument of a call.
fn handed_on(block: &naga::Block, visit: &mut impl FnMut(Handle<Expression>)) {
    for statement in block.iter() {
        match statement {
            naga::Statement::Block(inner) => handed_on(inner, visit),
            naga::Statement::If { accept, reject, .. } => {
                handed_on(accept, visit);
                handed_on(reject, visit);
            }
            naga::Statement::Switch { cases, .. } => {
                cases.iter().for_each(|case| handed_on(&case.body, visit));
            }
            naga::Statement::Loop { body, continuing, .. } => {
                handed_on(body, visit);
                handed_on(continuing, visit);
            }
            naga::Statement::Call { arguments, .. } => arguments.iter().copied().for_each(&mut *visit),
            _ => {}
        }
    }
}

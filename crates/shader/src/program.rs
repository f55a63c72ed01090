//! From a text to a program: entry points, buffers and their parameters.

use naga::{AddressSpace, ArraySize, GlobalVariable, Handle, Override, ShaderStage, TypeInner};
use rustc_hash::FxHashMap;
use standstill_kernel_ir::{
    Function, FunctionHeader, FunctionId, FunctionKind, LaunchBounds, Module, Parameter as IrParameter,
    Program, Type,
};

use crate::frame::Builder;
use crate::source::Lines;
use crate::types::{Types, register_type};

/// Why a shader cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ShaderError {
    /// What is wrong.
    pub message: String,
    /// Line, from 1; 0 when unknown.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
}

/// Compute shaders as kernel IR.
#[derive(Debug, Clone)]
pub struct Shader {
    pub(crate) module: Module,
    pub(crate) functions: Vec<Function>,
    pub(crate) parameters: Vec<Vec<Parameter>>,
    pub(crate) early_returns: Vec<(u32, u32)>,
    pub(crate) loops: Vec<(u32, u32)>,
    /// What stands at an instruction without a line, by its number.
    pub(crate) places: FxHashMap<u32, String>,
    /// Source texts that came with it, each with the name of its file.
    pub(crate) sources: Vec<(String, String)>,
    pub(crate) problems: Vec<ShaderError>,
    pub(crate) is_spirv: bool,
}

/// What a parameter of a kernel stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// The variable's or constant's name.
    pub name: String,
    /// What it is.
    pub kind: ParameterKind,
}

/// What a parameter of a kernel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// The address of a buffer.
    Buffer {
        /// `@group`.
        group: u32,
        /// `@binding`.
        binding: u32,
        /// Bytes that it has at least.
        bytes: u64,
    },
    /// The length in bytes of the buffer that is this parameter.
    Length {
        /// Position of the buffer.
        of: u32,
    },
    /// A constant that the pipeline may override.
    Override,
}

impl Shader {
    pub(crate) fn new(file: &str) -> Shader {
        Shader {
            module: Module {
                // Index 0 stays unused.
                files: vec![String::new(), file.to_owned()],
                target: "sm_80".to_owned(),
                address_bits: 64,
                ..Module::default()
            },
            functions: Vec::new(),
            parameters: Vec::new(),
            early_returns: Vec::new(),
            loops: Vec::new(),
            places: FxHashMap::default(),
            sources: Vec::new(),
            problems: Vec::new(),
            is_spirv: false,
        }
    }

    /// Whether it is a SPIR-V module, for which no specification's uniformity analysis decides.
    pub fn is_spirv(&self) -> bool {
        self.is_spirv
    }

    /// Entry points that are left out, and why.
    pub fn problems(&self) -> &[ShaderError] {
        &self.problems
    }

    /// What stands at a place of a module without debugging information, such as the barrier's number in its function.
    pub fn place(&self, line: u32) -> Option<&str> {
        self.places.get(&line).map(String::as_str)
    }

    /// Source texts that the module holds, each with the name of its file.
    pub fn sources(&self) -> &[(String, String)] {
        &self.sources
    }

    /// What the parameters of a kernel stand for, in their order.
    pub fn parameters(&self, kernel: FunctionId) -> &[Parameter] {
        self.parameters.get(kernel.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// Whether invocations return behind the condition that begins at a line and column.
    pub fn returns_early(&self, line: u32, column: u32) -> bool {
        self.early_returns.contains(&(line, column))
    }

    /// Whether what begins at a line and column decides how often a loop runs.
    pub fn loops_at(&self, line: u32, column: u32) -> bool {
        self.loops.contains(&(line, column))
    }
}

impl Program for Shader {
    fn module(&self) -> &Module {
        &self.module
    }

    fn function(&self, id: FunctionId) -> Option<Function> {
        self.functions.get(id.0 as usize).cloned()
    }
}

/// Where the parameters of a kernel are.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub(crate) buffers: Vec<Handle<GlobalVariable>>,
    /// Buffers that end in a runtime-sized array, by their position.
    pub(crate) lengths: Vec<usize>,
    pub(crate) overrides: Vec<Handle<Override>>,
}

impl Layout {
    fn of(module: &naga::Module) -> Layout {
        let types = Types { module };
        let mut buffers: Vec<(u32, u32, Handle<GlobalVariable>)> = Vec::new();
        for (handle, variable) in module.global_variables.iter() {
            let is_buffer = matches!(
                variable.space,
                AddressSpace::Uniform | AddressSpace::Storage { .. } | AddressSpace::Immediate
            );
            if is_buffer {
                let binding = variable.binding.map_or((u32::MAX, u32::MAX), |b| (b.group, b.binding));
                buffers.push((binding.0, binding.1, handle));
            }
        }
        buffers.sort_by_key(|&(group, binding, _)| (group, binding));
        let buffers: Vec<_> = buffers.into_iter().map(|(_, _, handle)| handle).collect();
        let ends_open = |handle: &Handle<GlobalVariable>| {
            runtime_array(types, types.inner(module.global_variables[*handle].ty)).is_some()
        };
        let lengths = buffers.iter().enumerate().filter(|(_, h)| ends_open(h)).map(|(at, _)| at).collect();
        Layout { buffers, lengths, overrides: module.overrides.iter().map(|(handle, _)| handle).collect() }
    }

    /// The parameter that holds the length of a buffer.
    pub(crate) fn length_of(&self, buffer: usize) -> Option<u32> {
        let at = self.lengths.iter().position(|&known| known == buffer)?;
        Some((self.buffers.len() + at) as u32)
    }

    /// The parameter that holds a pipeline constant.
    pub(crate) fn override_at(&self, handle: Handle<Override>) -> Option<u32> {
        let at = self.overrides.iter().position(|&known| known == handle)?;
        Some((self.buffers.len() + self.lengths.len() + at) as u32)
    }

    fn parameters(&self, module: &naga::Module) -> Vec<(Parameter, IrParameter)> {
        let types = Types { module };
        let name = |name: &Option<String>, what: &str, at: usize| {
            name.clone().unwrap_or_else(|| format!("{what}{at}"))
        };
        let pointer = IrParameter { ty: Type::U64, bytes: 8, align: 8, pointer: true };
        let number = |ty: Type| IrParameter { ty, bytes: ty.bytes(), align: ty.bytes(), pointer: false };
        let mut list = Vec::new();
        for (at, handle) in self.buffers.iter().enumerate() {
            let variable = &module.global_variables[*handle];
            let (group, binding) = variable.binding.map_or((0, 0), |b| (b.group, b.binding));
            let bytes = types.bytes(types.inner(variable.ty));
            let kind = ParameterKind::Buffer { group, binding, bytes };
            list.push((Parameter { name: name(&variable.name, "buffer", at), kind }, pointer.clone()));
        }
        for &of in &self.lengths {
            let named = list.get(of).map_or(String::new(), |(parameter, _)| parameter.name.clone());
            let kind = ParameterKind::Length { of: of as u32 };
            list.push((Parameter { name: format!("bytes of {named}"), kind }, number(Type::U32)));
        }
        for (at, handle) in self.overrides.iter().enumerate() {
            let known = &module.overrides[*handle];
            let ty = match *types.inner(known.ty) {
                TypeInner::Scalar(scalar) => register_type(scalar),
                _ => Type::U32,
            };
            let ty = if ty == Type::Pred { Type::U32 } else { ty };
            let kind = ParameterKind::Override;
            list.push((Parameter { name: name(&known.name, "override", at), kind }, number(ty)));
        }
        list
    }
}

/// The element's distance of the runtime-sized array that a type is or ends in, with the bytes before it.
pub(crate) fn runtime_array(types: Types<'_>, inner: &TypeInner) -> Option<(u32, u32)> {
    match inner {
        TypeInner::Array { size: ArraySize::Dynamic, stride, .. } => Some((0, *stride)),
        TypeInner::Struct { members, .. } => {
            let last = members.last()?;
            let (before, stride) = runtime_array(types, types.inner(last.ty))?;
            Some((last.offset + before, stride))
        }
        _ => None,
    }
}

/// Reads WGSL. `file` is what findings call the text.
///
/// # Errors
/// What is no WGSL, with its place, and what is too large.
pub fn wgsl(text: &str, file: &str) -> Result<Shader, ShaderError> {
    read(text, file, false)
}

/// Reads WGSL so that analyses know no more of values than the specification's uniformity analysis does: what is read from
/// variables that can be written in the address spaces private, workgroup and storage may be anything, and so may the indices of
/// an invocation (WGSL, «Uniformity»).
///
/// # Errors
/// As [`wgsl`].
pub fn wgsl_by_specification(text: &str, file: &str) -> Result<Shader, ShaderError> {
    read(text, file, true)
}

fn read(text: &str, file: &str, by_specification: bool) -> Result<Shader, ShaderError> {
    // The parser is a library's; a fault of it must not end the whole command.
    let parsed = std::panic::catch_unwind(|| naga::front::wgsl::parse_str(text));
    let lines = Lines::new(text);
    let module = match parsed {
        Ok(Ok(module)) => module,
        Ok(Err(error)) => {
            let start = error.labels().next().and_then(|(span, _)| span.to_range()).map(|range| range.start);
            let (line, column) = start.map_or((0, 0), |start| lines.place(start as u32));
            return Err(ShaderError { message: error.message().to_owned(), line, column });
        }
        Err(_) => {
            let message = "the WGSL parser failed on this text".to_owned();
            return Err(ShaderError { message, line: 0, column: 0 });
        }
    };
    lower(&module, &lines, file, by_specification)
}

fn lower(
    module: &naga::Module,
    lines: &Lines,
    file: &str,
    by_specification: bool,
) -> Result<Shader, ShaderError> {
    let layout = Layout::of(module);
    let mut shader = Shader::new(file);
    for entry in module.entry_points.iter().filter(|entry| entry.stage == ShaderStage::Compute) {
        if entry.workgroup_size_overrides.is_none() && entry.workgroup_size.contains(&0) {
            let message = format!("the workgroup of `{}` has no invocations", entry.name);
            return Err(ShaderError { message, line: 0, column: 0 });
        }
        let id = FunctionId(shader.functions.len() as u32);
        let mut builder = Builder::new(module, &layout, lines);
        builder.by_specification = by_specification;
        builder.entry_point(entry).map_err(|(message, span)| {
            let (line, column) = span.to_range().map_or((0, 0), |range| lines.place(range.start as u32));
            ShaderError { message, line, column }
        })?;
        let parameters = layout.parameters(module);
        shader.early_returns.append(&mut builder.early_returns);
        shader.loops.append(&mut builder.loops);
        let mut function = builder.finish();
        function.id = id;
        function.parameters = parameters.iter().map(|(_, parameter)| parameter.clone()).collect();
        let block = if entry.workgroup_size_overrides.is_some() { None } else { Some(entry.workgroup_size) };
        shader.module.functions.push(FunctionHeader {
            name: entry.name.clone(),
            kind: FunctionKind::Kernel,
            defined: true,
            bounds: LaunchBounds { required_block: block, ..LaunchBounds::default() },
            offset: 0,
            no_return: false,
        });
        shader.functions.push(function);
        shader.parameters.push(parameters.into_iter().map(|(parameter, _)| parameter).collect());
    }
    Ok(shader)
}

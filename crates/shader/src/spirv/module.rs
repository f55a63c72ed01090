//! What a module declares: names, decorations, types, constants, variables, entry points, and where its functions stand.

use std::ops::Range;

use naga::BuiltIn;
use rspirv::spirv::{BuiltIn as SpirvBuiltIn, Decoration, ExecutionMode, ExecutionModel, Op, StorageClass};
use rustc_hash::{FxHashMap, FxHashSet};

use super::types::{Kind, Types, declared};
use super::words::{Instruction, Words, string};

/// Decorations of an id.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Decorations {
    pub(crate) set: Option<u32>,
    pub(crate) binding: Option<u32>,
    pub(crate) built_in: Option<u32>,
    pub(crate) specialisation: Option<u32>,
    array_stride: Option<u32>,
    /// What others write is seen: `Coherent` or `Volatile`.
    pub(crate) is_shared: bool,
}

/// Decorations of a structure's member.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Member {
    pub(crate) offset: Option<u32>,
    pub(crate) matrix_stride: u32,
    pub(crate) row_major: bool,
    pub(crate) built_in: Option<u32>,
    pub(crate) is_shared: bool,
}

/// A variable of module scope.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variable {
    pub(crate) id: u32,
    pub(crate) class: StorageClass,
    /// What it holds.
    pub(crate) ty: u32,
    pub(crate) first: Option<u32>,
}

/// A set of further instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    Glsl,
    DebugInfo,
    /// Says nothing about what is computed.
    NonSemantic,
    Other,
}

/// An entry point.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) function: u32,
    pub(crate) name: String,
    /// Invocations of its workgroup.
    pub(crate) size: Option<[u32; 3]>,
}

/// A function: its parameters, and the instructions between them and its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Function {
    pub(crate) parameters: Vec<u32>,
    pub(crate) body: Range<usize>,
}

/// A module.
#[derive(Debug)]
pub(crate) struct Module<'w> {
    pub(crate) words: &'w Words,
    pub(crate) names: FxHashMap<u32, String>,
    pub(crate) strings: FxHashMap<u32, String>,
    decorations: FxHashMap<u32, Decorations>,
    members: FxHashMap<(u32, u32), Member>,
    pub(crate) types: Types,
    /// Types that are parts of others before they are declared.
    later: FxHashSet<u32>,
    /// The type of everything that has one.
    type_of: FxHashMap<u32, u32>,
    /// The bits of constants' scalars.
    pub(crate) constants: FxHashMap<u32, Vec<u64>>,
    /// Operations on constants that are worked out when a kernel begins, by their position.
    pub(crate) operations: Vec<usize>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) sets: FxHashMap<u32, Set>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) functions: FxHashMap<u32, Function>,
    /// Files of the debugging information, by the id that lines name.
    pub(crate) files: FxHashMap<u32, u32>,
    /// Source texts that the module holds, by the string that names their file.
    pub(crate) sources: Vec<(u32, String)>,
    pub(crate) has_lines: bool,
    /// Variables and parameters into which an index is worked out, or whose address is a value.
    pub(crate) in_memory: FxHashSet<u32>,
}

impl<'w> Module<'w> {
    pub(crate) fn new(words: &'w Words) -> Module<'w> {
        let mut module = Module {
            words,
            names: FxHashMap::default(),
            strings: FxHashMap::default(),
            decorations: FxHashMap::default(),
            members: FxHashMap::default(),
            types: Types::default(),
            later: FxHashSet::default(),
            type_of: FxHashMap::default(),
            constants: FxHashMap::default(),
            operations: Vec::new(),
            variables: Vec::new(),
            sets: FxHashMap::default(),
            entries: Vec::new(),
            functions: FxHashMap::default(),
            files: FxHashMap::default(),
            sources: Vec::new(),
            has_lines: false,
            in_memory: FxHashSet::default(),
        };
        module.read();
        module.find_in_memory();
        module
    }

    fn read(&mut self) {
        let words = self.words;
        let mut function: Option<(u32, Function)> = None;
        let mut sizes: Vec<(u32, [u32; 3])> = Vec::new();
        for (index, instruction) in words.range(0..words.len()).enumerate() {
            if let (Some(id), Some(ty)) = (instruction.result(), instruction.ty()) {
                self.type_of.insert(id, ty);
            }
            match (instruction.op, &mut function) {
                (Some(Op::Function), _) => {
                    let id = instruction.result().unwrap_or(0);
                    let body = index + 1..index + 1;
                    function = Some((id, Function { parameters: Vec::new(), body }));
                }
                (Some(Op::FunctionParameter), Some((_, known))) => {
                    known.parameters.extend(instruction.result());
                    known.body.start = index + 1;
                }
                (Some(Op::FunctionEnd), _) => {
                    if let Some((id, mut known)) = function.take() {
                        known.body.end = index;
                        self.functions.insert(id, known);
                    }
                }
                (Some(Op::Line), _) => self.has_lines = true,
                (Some(Op::ExtInst), Some(_)) => {
                    let set = instruction.operand(0).and_then(|set| self.sets.get(&set));
                    if set == Some(&Set::DebugInfo) && instruction.operand(1) == Some(DEBUG_LINE) {
                        self.has_lines = true;
                    }
                }
                (_, Some(_)) => {}
                (_, None) => self.declaration(index, instruction, &mut sizes),
            }
        }
        self.set_sizes(&sizes);
    }

    /// What stands before the functions.
    fn declaration(&mut self, index: usize, instruction: Instruction<'w>, sizes: &mut Vec<(u32, [u32; 3])>) {
        let Some(op) = instruction.op else { return };
        let word = |index: usize| instruction.operand(index).unwrap_or(0);
        match op {
            Op::Name => {
                let name = string(instruction.operands().get(1..).unwrap_or_default()).0;
                self.names.insert(word(0), name);
            }
            Op::String => {
                let text = string(instruction.operands()).0;
                self.strings.extend(instruction.result().map(|id| (id, text)));
            }
            Op::Source => {
                if let Some(text) = instruction.operands().get(3..).filter(|text| !text.is_empty()) {
                    self.sources.push((word(2), string(text).0));
                }
            }
            Op::SourceContinued => {
                if let Some((_, text)) = self.sources.last_mut() {
                    text.push_str(&string(instruction.operands()).0);
                }
            }
            Op::ExtInstImport => {
                let name = string(instruction.operands()).0;
                let set = match name.as_str() {
                    "GLSL.std.450" => Set::Glsl,
                    "NonSemantic.Shader.DebugInfo.100" => Set::DebugInfo,
                    "OpenCL.DebugInfo.100" => Set::NonSemantic,
                    _ if name.starts_with("NonSemantic.") => Set::NonSemantic,
                    _ => Set::Other,
                };
                self.sets.extend(instruction.result().map(|id| (id, set)));
            }
            Op::ExtInst => self.debug_declaration(instruction),
            Op::EntryPoint => {
                let computes = [ExecutionModel::GLCompute as u32, ExecutionModel::Kernel as u32];
                if computes.contains(&word(0)) {
                    let name = string(instruction.operands().get(2..).unwrap_or_default()).0;
                    self.entries.push(Entry { function: word(1), name, size: None });
                }
            }
            Op::ExecutionMode | Op::ExecutionModeId => {
                let size = [word(2), word(3), word(4)];
                match word(1) {
                    mode if mode == ExecutionMode::LocalSize as u32 => sizes.push((word(0), size)),
                    // Constants that stand further below.
                    mode if mode == ExecutionMode::LocalSizeId as u32 => {
                        sizes.push((word(0) | IS_ID, size));
                    }
                    _ => {}
                }
            }
            Op::Decorate => {
                let known = self.decorations.entry(word(0)).or_default();
                match Decoration::from_u32(word(1)) {
                    Some(Decoration::DescriptorSet) => known.set = Some(word(2)),
                    Some(Decoration::Binding) => known.binding = Some(word(2)),
                    Some(Decoration::BuiltIn) => known.built_in = Some(word(2)),
                    Some(Decoration::SpecId) => known.specialisation = Some(word(2)),
                    Some(Decoration::ArrayStride) => known.array_stride = Some(word(2)),
                    Some(Decoration::Coherent | Decoration::Volatile) => known.is_shared = true,
                    _ => {}
                }
            }
            Op::MemberDecorate => {
                let known = self.members.entry((word(0), word(1))).or_default();
                match Decoration::from_u32(word(2)) {
                    Some(Decoration::Offset) => known.offset = Some(word(3)),
                    Some(Decoration::MatrixStride) => known.matrix_stride = word(3),
                    Some(Decoration::RowMajor) => known.row_major = true,
                    Some(Decoration::BuiltIn) => known.built_in = Some(word(3)),
                    Some(Decoration::Coherent | Decoration::Volatile) => known.is_shared = true,
                    _ => {}
                }
            }
            Op::Variable => {
                let (Some(id), Some(ty)) = (instruction.result(), instruction.ty()) else { return };
                if let Kind::Pointer { class, to } = *self.kind(ty) {
                    let first = instruction.operand(1);
                    self.variables.push(Variable { id, class, ty: to, first });
                }
            }
            // Only types have a result and no type of it.
            _ if instruction.ty().is_none() => {
                let mut later = std::mem::take(&mut self.later);
                if let (Some(id), Some(ty)) = (instruction.result(), declared(instruction, self, &mut later))
                {
                    self.types.entry(id).or_insert(ty);
                }
                self.later = later;
            }
            _ => {
                let Some(id) = instruction.result() else { return };
                match self.constant(instruction) {
                    Some(bits) => {
                        self.constants.insert(id, bits);
                    }
                    None if op == Op::SpecConstantOp => self.operations.push(index),
                    None => {}
                }
            }
        }
    }

    /// Source files of NonSemantic.Shader.DebugInfo.100.
    fn debug_declaration(&mut self, instruction: Instruction<'w>) {
        let operand = |index: usize| instruction.operand(index);
        let set = operand(0).and_then(|set| self.sets.get(&set));
        let (Some(Set::DebugInfo), Some(DEBUG_SOURCE), Some(id)) = (set, operand(1), instruction.result())
        else {
            return;
        };
        let Some(file) = operand(2) else { return };
        self.files.insert(id, file);
        if let Some(text) = operand(3).and_then(|text| self.strings.get(&text)) {
            self.sources.push((file, text.clone()));
        }
    }

    /// Workgroup sizes: of the entry point, or for all by a decorated constant.
    fn set_sizes(&mut self, sizes: &[(u32, [u32; 3])]) {
        let size = self.decorations.iter().find_map(|(id, decorations)| {
            let is_size = decorations.built_in == Some(SpirvBuiltIn::WorkgroupSize as u32);
            let &[x, y, z] = self.constants.get(id).filter(|_| is_size)?.as_slice() else { return None };
            Some([x as u32, y as u32, z as u32])
        });
        let mut entries = std::mem::take(&mut self.entries);
        for entry in &mut entries {
            let own = |&&(function, _): &&(u32, [u32; 3])| function & !IS_ID == entry.function;
            let own = sizes.iter().find(own).map(|&(function, size)| match function & IS_ID {
                0 => size,
                _ => size.map(|id| self.integer(id).unwrap_or(1) as u32),
            });
            entry.size = size.or(own);
        }
        self.entries = entries;
    }

    /// Variables and parameters whose address must be one: an index into them is worked out, or their address is a value.
    fn find_in_memory(&mut self) {
        let words = self.words;
        let mut bases: FxHashMap<u32, u32> = FxHashMap::default();
        let mut handed: Vec<(u32, u32)> = Vec::new();
        let mut found: Vec<u32> = Vec::new();
        for function in self.functions.values() {
            for instruction in words.range(function.body.clone()) {
                let operands = instruction.operands();
                match instruction.op {
                    Some(Op::AccessChain | Op::InBoundsAccessChain) => {
                        if let (Some(id), Some((&base, indices))) =
                            (instruction.result(), operands.split_first())
                        {
                            bases.insert(id, base);
                            if indices.iter().any(|index| !self.constants.contains_key(index)) {
                                found.push(base);
                            }
                        }
                    }
                    Some(Op::CopyObject) => {
                        bases.extend(instruction.result().into_iter().zip(operands.first().copied()))
                    }
                    Some(
                        Op::PtrAccessChain | Op::InBoundsPtrAccessChain | Op::Select | Op::Phi | Op::Bitcast,
                    ) => {
                        found.extend_from_slice(operands);
                    }
                    Some(Op::Store) => found.extend(operands.get(1)),
                    Some(Op::FunctionCall) => {
                        let callee = operands.first().and_then(|callee| self.functions.get(callee));
                        let parameters = callee.map_or(&[][..], |callee| &callee.parameters);
                        handed.extend(parameters.iter().copied().zip(operands.iter().skip(1).copied()));
                    }
                    _ => {}
                }
            }
        }
        let root = |mut id: u32| {
            for _ in 0..MOST_CHAINS {
                match bases.get(&id) {
                    Some(&base) => id = base,
                    None => break,
                }
            }
            id
        };
        self.in_memory = found.into_iter().map(&root).collect();
        // Callees may stand before or behind their callers.
        for _ in 0..MOST_CHAINS {
            let before = self.in_memory.len();
            for &(parameter, argument) in &handed {
                if self.in_memory.contains(&parameter) {
                    self.in_memory.insert(root(argument));
                }
            }
            if self.in_memory.len() == before {
                break;
            }
        }
    }

    /// The type of an id.
    pub(crate) fn type_of(&self, id: u32) -> u32 {
        self.type_of.get(&id).copied().unwrap_or(0)
    }

    pub(crate) fn decorations(&self, id: u32) -> Decorations {
        self.decorations.get(&id).copied().unwrap_or_default()
    }

    pub(crate) fn member(&self, ty: u32, index: u32) -> Member {
        self.members.get(&(ty, index)).copied().unwrap_or_default()
    }

    pub(crate) fn array_stride(&self, ty: u32) -> Option<u32> {
        self.decorations.get(&ty)?.array_stride
    }

    /// The value of an integer constant.
    pub(crate) fn integer(&self, id: u32) -> Option<u64> {
        match self.constants.get(&id)?.as_slice() {
            &[bits] => Some(bits),
            _ => None,
        }
    }

    /// What an id is called.
    pub(crate) fn name(&self, id: u32) -> String {
        match self.names.get(&id) {
            // glslang adds the parameters' types.
            Some(name) if !name.is_empty() => name.split('(').next().unwrap_or(name).to_owned(),
            _ => format!("%{id}"),
        }
    }
}

/// Most access chains upon each other, and most levels of calls.
const MOST_CHAINS: usize = 128;

/// Marks the sizes of an entry point that are ids of constants.
const IS_ID: u32 = 1 << 31;

/// NonSemantic.Shader.DebugInfo.100.
const DEBUG_SOURCE: u32 = 35;
pub(crate) const DEBUG_LINE: u32 = 103;

/// A built-in value that both languages have.
pub(crate) fn built_in(code: u32) -> Option<BuiltIn> {
    Some(match SpirvBuiltIn::from_u32(code)? {
        SpirvBuiltIn::NumWorkgroups => BuiltIn::NumWorkGroups,
        SpirvBuiltIn::WorkgroupSize | SpirvBuiltIn::EnqueuedWorkgroupSize => BuiltIn::WorkGroupSize,
        SpirvBuiltIn::WorkgroupId => BuiltIn::WorkGroupId,
        SpirvBuiltIn::LocalInvocationId => BuiltIn::LocalInvocationId,
        SpirvBuiltIn::GlobalInvocationId => BuiltIn::GlobalInvocationId,
        SpirvBuiltIn::LocalInvocationIndex => BuiltIn::LocalInvocationIndex,
        SpirvBuiltIn::SubgroupSize | SpirvBuiltIn::SubgroupMaxSize => BuiltIn::SubgroupSize,
        SpirvBuiltIn::NumSubgroups => BuiltIn::NumSubgroups,
        SpirvBuiltIn::SubgroupId => BuiltIn::SubgroupId,
        SpirvBuiltIn::SubgroupLocalInvocationId => BuiltIn::SubgroupInvocationId,
        _ => return None,
    })
}

//! Lowering to kernel IR, one function at a time.
//!
//! Parameters and results of device functions, and the `.param` variables of call sequences, become
//! registers: one for each scalar piece that is stored or loaded. Guards on barriers and other operations
//! of a warp, a block or a cluster, on calls and on exits become control flow.

mod arithmetic;
mod asynchronous;
mod calls;
mod control;
mod function;
mod labels;
mod locations;
mod matrix;
mod memory;
mod names;
mod opcode;
mod operands;
mod parts;
mod synchronisation;
mod words;

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{
    Function, FunctionHeader, FunctionId, FunctionKind, LaunchBounds, Module as IrModule, Program, Space,
    Symbol, Type, Variable as IrVariable,
};

use crate::error::SyntaxError;
use crate::span::offset;
use crate::syntax::Module;
use crate::syntax::function::{FunctionSyntax, Limits};
use crate::syntax::variable::{Variable, VariableSpace};
use opcode::{Action, Meaning};

/// File indices beyond this are not kept: compilers number files from 1.
const MAX_FILES: u32 = 1 << 16;

/// A module ready to be lowered: what its functions share, and their bodies on demand.
#[derive(Debug)]
pub struct Lowering<'m, 'a> {
    module: &'m Module<'a>,
    ir: IrModule,
    /// Meaning of each opcode, by its id.
    meanings: Vec<Meaning>,
    /// Whether each opcode names labels.
    jumps: Vec<bool>,
    /// Variables and functions by name.
    names: FxHashMap<&'a str, Symbol>,
    /// For each function of the IR its definition in the syntax.
    bodies: Vec<Option<u32>>,
}

impl<'m, 'a> Lowering<'m, 'a> {
    /// Works out what the functions of a module share.
    pub fn new(module: &'m Module<'a>) -> Self {
        let meanings: Vec<Meaning> = (0..offset(module.opcodes.len()))
            .map(|id| opcode::meaning(module.opcode(crate::syntax::opcode::OpcodeId(id))))
            .collect();
        let jumps = meanings
            .iter()
            .map(|meaning| matches!(meaning.action, Action::Branch | Action::Switch | Action::Call))
            .collect();
        let ir = IrModule {
            files: files(module),
            target: module.str(module.target).split([',', ' ']).next().unwrap_or("").to_owned(),
            address_bits: module.address_size.unwrap_or(64),
            ..IrModule::default()
        };
        let mut lowering =
            Self { module, ir, meanings, jumps, names: FxHashMap::default(), bodies: Vec::new() };
        lowering.variables();
        lowering.functions();
        lowering
    }

    /// The syntax that was lowered.
    pub fn syntax(&self) -> &'m Module<'a> {
        self.module
    }

    /// The syntax of a function's definition.
    pub fn function_syntax(&self, id: FunctionId) -> Option<&'m FunctionSyntax> {
        let body = (*self.bodies.get(id.0 as usize)?)?;
        self.module.functions.get(body as usize)
    }

    /// Opcodes that are not understood, with how often they stand in the module's bodies.
    pub fn opaque_counts(&self) -> Vec<(&'a str, u64)> {
        let mut counts = vec![0u64; self.meanings.len()];
        for statement in &self.module.statements {
            if let crate::syntax::statement::StatementKind::Instruction { opcode, .. } = statement.kind
                && let Some(count) = counts.get_mut(opcode.0 as usize)
            {
                *count += 1;
            }
        }
        let opaque = self.meanings.iter().zip(counts).zip(0u32..);
        let mut listed: Vec<_> = opaque
            .filter(|((meaning, count), _)| meaning.action == Action::Opaque && *count > 0)
            .map(|((_, count), id)| (self.module.opcode(crate::syntax::opcode::OpcodeId(id)).text(), count))
            .collect();
        listed.sort_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(right.0)));
        listed
    }

    /// The branches to labels that their functions do not declare, in the order of the text; at most
    /// [`ERRORS_KEPT`](crate::error::ERRORS_KEPT). A function with a syntax error in it is left out: its labels may
    /// stand in what was not read.
    pub fn undefined_labels(&self) -> Vec<SyntaxError> {
        labels::undefined(self)
    }

    fn variables(&mut self) {
        for &index in &self.module.globals {
            let Some(variable) = self.module.variables.get(index as usize) else { continue };
            let name = self.module.str(variable.name);
            let symbol = Symbol::Module(offset(self.ir.variables.len()));
            // A declaration and its definition are one variable.
            if self.names.contains_key(name) {
                continue;
            }
            self.names.insert(name, symbol);
            self.ir.variables.push(IrVariable {
                name: name.to_owned(),
                space: space(variable.space),
                ty: ty(self.module, variable),
                bytes: variable.size(self.module.text).unwrap_or(0),
                align: variable.align,
            });
        }
    }

    fn functions(&mut self) {
        for (function, index) in self.module.functions.iter().zip(0u32..) {
            let name = self.module.str(function.name);
            let body = function.defined.then_some(index);
            if let Some(&Symbol::Function(id)) = self.names.get(name)
                && let (Some(known), Some(header)) =
                    (self.bodies.get_mut(id as usize), self.ir.functions.get_mut(id as usize))
            {
                header.no_return |= function.limits.no_return;
                if known.is_none() && body.is_some() {
                    let no_return = header.no_return;
                    *header = FunctionHeader { no_return, ..header_of(name, function) };
                    *known = body;
                }
                continue;
            }
            let id = Symbol::Function(offset(self.ir.functions.len()));
            self.names.entry(name).or_insert(id);
            self.ir.functions.push(header_of(name, function));
            self.bodies.push(body);
        }
        for alias in &self.module.aliases {
            let (name, target) = (self.module.str(alias.name), self.module.str(alias.target));
            if let Some(&symbol) = self.names.get(target) {
                self.names.insert(name, symbol);
            }
        }
    }
}

impl Program for Lowering<'_, '_> {
    fn module(&self) -> &IrModule {
        &self.ir
    }

    fn function(&self, id: FunctionId) -> Option<Function> {
        Some(function::lower(self, id, self.function_syntax(id)?))
    }

    fn excerpt(&self, offset: u32) -> Option<String> {
        let rest = self.module.text.get(offset as usize..)?;
        let end = rest.find([';', '\n', '}']).unwrap_or(rest.len());
        rest.get(..end).map(|text| text.trim().to_owned())
    }
}

fn header_of(name: &str, function: &FunctionSyntax) -> FunctionHeader {
    FunctionHeader {
        name: name.to_owned(),
        kind: if function.entry { FunctionKind::Kernel } else { FunctionKind::Device },
        defined: function.defined,
        bounds: bounds(&function.limits),
        offset: function.span.start,
        no_return: function.limits.no_return,
    }
}

fn bounds(limits: &Limits) -> LaunchBounds {
    LaunchBounds {
        required_block: limits.required_threads,
        maximum_block: limits.max_threads,
        minimum_blocks_per_multiprocessor: limits.min_blocks,
        maximum_registers: limits.max_registers,
        explicit_cluster: limits.explicit_cluster,
        required_cluster: limits.required_cluster,
        maximum_cluster_rank: limits.max_cluster,
    }
}

/// The paths of `.file` directives, each at its index.
fn files(module: &Module<'_>) -> Vec<String> {
    let mut files = Vec::new();
    for file in module.files.iter().filter(|file| file.index < MAX_FILES) {
        let index = file.index as usize;
        if files.len() <= index {
            files.resize(index + 1, String::new());
        }
        if let Some(path) = files.get_mut(index) {
            *path = unescaped(module.str(file.path));
        }
    }
    files
}

/// A string of an assembler directive as its author meant it: `\\` is a backslash, and a byte beyond ASCII is
/// written as three octal digits.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let octal = behind.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let octal = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match (first, octal, behind.first()) {
            (b'\\', Some(byte), _) => {
                bytes.push(byte);
                rest = behind.get(3..).unwrap_or_default();
            }
            (b'\\', None, Some(&escaped @ (b'\\' | b'"'))) => {
                bytes.push(escaped);
                rest = behind.get(1..).unwrap_or_default();
            }
            _ => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn space(space: VariableSpace) -> Space {
    match space {
        VariableSpace::Global | VariableSpace::Texture => Space::Global,
        VariableSpace::Const => Space::Const,
        VariableSpace::Shared => Space::Shared,
        VariableSpace::Local | VariableSpace::Register => Space::Local,
        VariableSpace::Param => Space::Param,
    }
}

fn ty(module: &Module<'_>, variable: &Variable) -> Type {
    words::type_of(module.str(variable.ty)).unwrap_or(Type::None)
}

//! What the parser leaves: flat pools with byte spans into the text.

pub mod function;
pub mod opcode;
pub mod operand;
pub mod statement;
pub mod variable;

use std::ops::Range;

use crate::error::Errors;
use crate::span::{LineIndex, Position, Span};
use function::FunctionSyntax;
use opcode::{Opcode, OpcodeId, OpcodeTable};
use operand::{Operand, Operands};
use statement::{Inlined, Statement};
use variable::{RegisterDeclaration, Variable};

/// A `.file` directive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FileDirective {
    /// The index that `.loc` uses.
    pub index: u32,
    /// The path without its quotes.
    pub path: Span,
}

/// A `.section` kept as it is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Section {
    /// The name with its dot, such as `.debug_str`.
    pub name: Span,
    /// The text between the braces.
    pub content: Span,
}

/// `.alias new, old;`
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Alias {
    /// The new name.
    pub name: Span,
    /// The function it stands for.
    pub target: Span,
}

/// A parsed module. Parsing never fails: what could not be read is in [`errors`](Self::errors), the rest is
/// here.
#[derive(Debug)]
pub struct Module<'a> {
    /// The text parsed.
    pub text: &'a str,
    /// `.version`, as written.
    pub version: Span,
    /// `.target` with all its options, as written.
    pub target: Span,
    /// `.address_size` in bits, if given.
    pub address_size: Option<u32>,
    /// `.file` directives.
    pub files: Vec<FileDirective>,
    /// Sections.
    pub sections: Vec<Section>,
    /// Aliases.
    pub aliases: Vec<Alias>,
    /// Module-scope pragmas, with their quotes.
    pub pragmas: Vec<Span>,
    /// Functions in the order of the text; a declaration and its definition are two entries.
    pub functions: Vec<FunctionSyntax>,
    /// Variables of the module scope, as indices into `variables`.
    pub globals: Vec<u32>,
    /// Every variable and parameter.
    pub variables: Vec<Variable>,
    /// Every register declaration.
    pub registers: Vec<RegisterDeclaration>,
    /// Statements of all bodies.
    pub statements: Vec<Statement>,
    /// The statements that labels are found by, in the order of the text: labels, where inner blocks open and
    /// close, and what may name labels (opcodes that begin like `bra`, `brx` and `call`).
    pub landmarks: Vec<u32>,
    /// Operand slots of all statements.
    pub operands: Vec<Operand>,
    /// Inlined-at parts of `.loc` directives.
    pub inlined: Vec<Inlined>,
    /// Distinct opcodes.
    pub opcodes: OpcodeTable,
    /// `// standstill: …` comments: what follows the colon.
    pub comments: Vec<Span>,
    /// What could not be read.
    pub errors: Errors,
    /// Lines, built when first asked for.
    pub lines: LineIndex,
}

impl<'a> Module<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            version: Span::default(),
            target: Span::default(),
            address_size: None,
            files: Vec::new(),
            sections: Vec::new(),
            aliases: Vec::new(),
            pragmas: Vec::new(),
            functions: Vec::new(),
            globals: Vec::new(),
            variables: Vec::new(),
            registers: Vec::new(),
            statements: Vec::new(),
            landmarks: Vec::new(),
            operands: Vec::new(),
            inlined: Vec::new(),
            opcodes: OpcodeTable::default(),
            comments: Vec::new(),
            errors: Errors::default(),
            lines: LineIndex::default(),
        }
    }

    /// The text of a span.
    pub fn str(&self, span: Span) -> &'a str {
        span.of(self.text)
    }

    /// The line and column of a byte.
    pub fn position(&self, byte: u32) -> Position {
        self.lines.position(self.text, byte)
    }

    /// The statements of a function.
    pub fn body(&self, function: &FunctionSyntax) -> &[Statement] {
        slice(&self.statements, &function.statements)
    }

    /// The landmarks among the statements of a function: each by its position in the body.
    pub fn body_landmarks(&self, function: &FunctionSyntax) -> impl Iterator<Item = (u32, &Statement)> {
        let place = |statement: u32| self.landmarks.partition_point(|&mark| mark < statement);
        let range = place(function.statements.start)..place(function.statements.end);
        let first = function.statements.start;
        let marks = self.landmarks.get(range).unwrap_or(&[]).iter();
        marks.filter_map(move |&mark| Some((mark - first, self.statements.get(mark as usize)?)))
    }

    /// The parameters of a function.
    pub fn parameters(&self, function: &FunctionSyntax) -> &[Variable] {
        slice(&self.variables, &function.parameters)
    }

    /// The results of a function.
    pub fn results(&self, function: &FunctionSyntax) -> &[Variable] {
        slice(&self.variables, &function.results)
    }

    /// The register declarations of a function.
    pub fn registers(&self, function: &FunctionSyntax) -> &[RegisterDeclaration] {
        slice(&self.registers, &function.registers)
    }

    /// The operands that fill `slots` slots from `first` on.
    pub fn operands(&self, first: u32, slots: u32) -> Operands<'_> {
        Operands::new(slice(&self.operands, &(first..first.saturating_add(slots))))
    }

    /// An opcode.
    pub fn opcode(&self, id: OpcodeId) -> Opcode<'a> {
        Opcode::new(self.opcodes.span(id).map_or("", |span| self.str(span)))
    }

    /// Bytes of memory that this syntax takes beside the text, for the memory bound.
    pub fn memory(&self) -> usize {
        self.statements.len() * size_of::<Statement>()
            + self.operands.len() * size_of::<Operand>()
            + self.variables.len() * size_of::<Variable>()
            + self.registers.len() * size_of::<RegisterDeclaration>()
            + self.inlined.len() * size_of::<Inlined>()
            + self.functions.len() * size_of::<FunctionSyntax>()
    }
}

fn slice<'s, T>(all: &'s [T], range: &Range<u32>) -> &'s [T] {
    all.get(range.start as usize..range.end as usize).unwrap_or(&[])
}

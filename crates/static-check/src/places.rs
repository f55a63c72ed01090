//! From instructions to the user's source lines.

use standstill_findings::{Span, is_toolchain_file};
use standstill_kernel_ir::{
    AtomicOperation, BlockId, Instruction, InstructionId, LocationId, Module, Op, Operand, Special, Symbol,
};

use crate::Options;
use crate::body::{Base, Body};

/// Turns places of a kernel into spans and words.
pub(crate) struct Places<'a> {
    /// The kernel's name as in the input.
    pub(crate) kernel: &'a str,
    pub(crate) module: &'a Module,
    pub(crate) body: &'a Body,
    pub(crate) options: &'a Options<'a>,
}

/// How many lines between two neighbours are looked at for an operation's name.
const MAXIMUM_DISTANCE: u32 = 64;

/// How many lines behind the last neighbour are looked at where there is none behind.
const LINES_BEHIND: u32 = 4;

/// A line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Frame {
    file: u32,
    line: u32,
    column: u32,
}

impl Places<'_> {
    /// The frames of a place, innermost first; lines that the compiler gave as 0 are left out.
    fn frames(&self, location: LocationId) -> Vec<Frame> {
        let mut frames = Vec::new();
        let mut id = location;
        while id.0 != 0 && frames.len() < 64 {
            let location = self.body.location(id);
            if location.line != 0 {
                frames.push(Frame { file: location.file.0, line: location.line, column: location.column });
            }
            id = location.inlined_at;
        }
        frames
    }

    fn file_name(&self, file: u32) -> &str {
        self.module.files.get(file as usize).map_or("", String::as_str)
    }

    /// Which frame is the user's own: the innermost one of the file that was given, else the innermost one
    /// outside the toolchain's headers.
    fn own_frame(&self, frames: &[Frame]) -> Option<usize> {
        let is_main =
            |frame: &Frame| self.options.main_source.is_some_and(|main| self.file_name(frame.file) == main);
        let is_own = |frame: &Frame| {
            let name = self.file_name(frame.file);
            !name.is_empty() && !is_toolchain_file(name)
        };
        frames.iter().position(is_main).or_else(|| frames.iter().position(is_own))
    }

    /// The user's frame, else the outermost.
    fn users_frame(&self, frames: &[Frame]) -> usize {
        self.own_frame(frames).unwrap_or(frames.len().saturating_sub(1))
    }

    /// The user's line of an instruction for which the line table names a toolchain's header alone: clang does
    /// not say where that was inlined. It is a line between those of the neighbours in its block, the one with
    /// the operation's name on it where the source can be read.
    fn own_frame_near(&self, id: InstructionId) -> Option<Frame> {
        let block = self.body.function.blocks.get(self.body.block_of(id).0 as usize)?;
        let own = |index: u32| {
            let instruction = self.body.instruction(InstructionId(index)).filter(|_| index < block.end);
            let frames = self.frames(instruction.map_or(block.location, |i| i.location));
            frames.get(self.own_frame(&frames)?).copied()
        };
        let behind = (id.0 + 1..=block.end).find_map(own);
        let before = (block.first..id.0).rev().find_map(own);
        // Where the block has no line of the user's, those around it in the text have.
        let any = |index: u32| {
            let frames = self.frames(self.body.instruction(InstructionId(index))?.location);
            frames.get(self.own_frame(&frames)?).copied()
        };
        let before = before.or_else(|| {
            let first = block.first.saturating_sub(MAXIMUM_DISTANCE);
            (first..block.first).rev().find_map(any)
        });
        let after = || (block.end..block.end.saturating_add(MAXIMUM_DISTANCE)).find_map(any);
        let behind = behind.or_else(after).filter(|behind| {
            before.is_none_or(|before| before.file == behind.file && before.line <= behind.line)
        });
        let nearest = behind.or(before)?;
        let from = before.filter(|before| before.file == nearest.file).unwrap_or(nearest);
        let (first, last) = (from.line.min(nearest.line), from.line.max(nearest.line));
        let last = match behind {
            Some(_) => last.min(first.saturating_add(MAXIMUM_DISTANCE)),
            None => last.saturating_add(LINES_BEHIND),
        };
        let instruction = self.body.instruction(id)?;
        for word in self.written_as(instruction) {
            let has_word = |line: &u32| {
                (self.options.source_line)(self.file_name(nearest.file), *line)
                    .is_some_and(|text| text.split("//").next().unwrap_or("").contains(word))
            };
            if let Some(line) = (first..=last).find(has_word) {
                return Some(Frame { line, column: 0, ..nearest });
            }
        }
        Some(nearest)
    }

    /// What stands in CUDA C++ for an operation, the most telling first.
    fn written_as(&self, instruction: &Instruction) -> &'static [&'static str] {
        match instruction.op {
            Op::Atomic { operation: AtomicOperation::CompareExchange, .. } => {
                &["CAS", "compare_exchange", "atomic"]
            }
            Op::Atomic { operation: AtomicOperation::Exchange, .. } => &["Exch", "exchange", "atomic"],
            Op::Atomic { operation: AtomicOperation::Add, .. } => &["Add", "fetch_add", "atomic"],
            Op::Atomic { .. } => &["atomic", "fetch_"],
            Op::Barrier { .. } => &["__syncthreads", "sync"],
            Op::WarpSync => &["__syncwarp", "sync"],
            Op::Shuffle(_) => &["__shfl"],
            Op::Vote(_) => &["__any", "__all", "__ballot", "__uni"],
            Op::Fence { .. } => &["fence"],
            _ => match self.body.source(instruction, 0) {
                Operand::Special(Special::Tid(_)) => &["threadIdx"],
                Operand::Special(Special::Ctaid(_)) => &["blockIdx"],
                _ => &[],
            },
        }
    }

    /// A span; falls back to the line of the input when there is no line table.
    fn span_at(&self, location: LocationId, offset: u32, label: String, primary: bool) -> Span {
        let frames = self.frames(location);
        let Some(&frame) = frames.get(self.users_frame(&frames)) else {
            let (line, column) = (self.options.position)(offset);
            return Span { primary, ..Span::cause(self.options.input, line, column, label) };
        };
        let outer = frames.iter().skip(self.users_frame(&frames) + 1);
        let inlined_at = outer.map(|f| format!("{}:{}", self.file_name(f.file), f.line)).collect();
        let file = self.file_name(frame.file);
        Span { primary, inlined_at, ..Span::cause(file, frame.line, frame.column, label) }
    }

    /// The place of an instruction; where the compiler gave none, that of the nearest one before it.
    fn located(&self, id: InstructionId) -> (LocationId, u32) {
        let offset = self.body.instruction(id).map_or(0, |i| i.offset);
        let first = self.body.function.blocks.get(self.body.block_of(id).0 as usize).map_or(0, |b| b.first);
        for index in (first..=id.0).rev() {
            if let Some(instruction) = self.body.instruction(InstructionId(index))
                && !self.frames(instruction.location).is_empty()
            {
                return (instruction.location, offset);
            }
        }
        let block = self.body.function.blocks.get(self.body.block_of(id).0 as usize);
        (block.map_or(LocationId(0), |b| b.location), offset)
    }

    /// The place of the branch at the end of a block.
    fn branch_located(&self, block: BlockId) -> (LocationId, u32) {
        let Some(ends) = self.body.function.blocks.get(block.0 as usize) else { return (LocationId(0), 0) };
        if !self.frames(ends.location).is_empty() || ends.end == ends.first {
            return (ends.location, ends.offset);
        }
        (self.located(InstructionId(ends.end - 1)).0, ends.offset)
    }

    /// The span of an instruction.
    fn span_of(&self, id: InstructionId, label: String, primary: bool) -> Span {
        let (location, offset) = self.located(id);
        let frames = self.frames(location);
        if frames.len() == 1
            && self.own_frame(&frames).is_none()
            && let Some(frame) = self.own_frame_near(id)
        {
            let file = self.file_name(frame.file);
            return Span { primary, ..Span::cause(file, frame.line, frame.column, label) };
        }
        let span = self.span_at(location, offset, label, primary);
        Span { column: self.own_column(id, &span).unwrap_or(span.column), ..span }
    }

    /// Where on its line an operation is written. Line tables give the statement, which may hold several: the name
    /// tells where it stands on the line only once.
    fn own_column(&self, id: InstructionId, span: &Span) -> Option<u32> {
        let words: &[&str] = match self.body.instruction(id)?.op {
            Op::Barrier { .. } => &["__syncthreads"],
            Op::WarpSync => &["__syncwarp"],
            Op::Shuffle(_) => &["__shfl_"],
            Op::Vote(_) => &["__any_sync", "__all_sync", "__ballot_sync"],
            Op::Atomic { operation: AtomicOperation::CompareExchange, .. } => &["atomicCAS"],
            Op::Atomic { operation: AtomicOperation::Exchange, .. } => &["atomicExch"],
            _ => return None,
        };
        let line = (self.options.source_line)(&span.file, span.line)?;
        let code = line.split("//").next()?;
        let mut places = words.iter().flat_map(|word| code.match_indices(word)).map(|(at, _)| at);
        let (Some(at), None) = (places.next(), places.next()) else { return None };
        u32::try_from(at + 1).ok().filter(|&column| column >= span.column)
    }

    /// The span that a finding points at.
    pub(crate) fn primary(&self, id: InstructionId, label: impl Into<String>) -> Span {
        self.span_of(id, label.into(), true)
    }

    /// A place of the source map as the span that a finding points at.
    pub(crate) fn primary_location(&self, location: LocationId, label: impl Into<String>) -> Span {
        self.span_at(location, 0, label.into(), true)
    }

    /// A further span.
    pub(crate) fn cause(&self, id: InstructionId, label: impl Into<String>) -> Span {
        self.span_of(id, label.into(), false)
    }

    /// The branch at the end of a block as a further span.
    pub(crate) fn branch(&self, block: BlockId, label: impl Into<String>) -> Span {
        let (location, offset) = self.branch_located(block);
        self.span_at(location, offset, label.into(), false)
    }

    /// The branch at the end of a block as the span that a finding points at.
    pub(crate) fn primary_branch(&self, block: BlockId, label: impl Into<String>) -> Span {
        Span { primary: true, ..self.branch(block, label) }
    }

    /// The user's line of an instruction, for sentences.
    pub(crate) fn line(&self, id: InstructionId) -> u32 {
        self.cause(id, "").line
    }

    /// The name of a variable as the user wrote it: the last part of a mangled local name.
    pub(crate) fn symbol_name(&self, symbol: Symbol) -> String {
        let name = match symbol {
            Symbol::Module(index) => self.module.variables.get(index as usize).map(|v| v.name.as_str()),
            Symbol::Local(index) => self.body.function.variables.get(index as usize).map(|v| v.name.as_str()),
            Symbol::Function(index) => self.module.functions.get(index as usize).map(|f| f.name.as_str()),
        };
        short_name(name.unwrap_or("a variable"))
    }

    /// A parameter in the reader's words: its name where the source gives one, else its position.
    pub(crate) fn parameter_name(&self, index: u32) -> String {
        match (self.options.parameter_name)(self.kernel, index) {
            Some(name) => format!("`{name}`"),
            None => format!("parameter {index}"),
        }
    }

    /// What an address is made of, in the reader's words.
    pub(crate) fn base_name(&self, base: Base) -> String {
        match base {
            Base::Symbol(symbol) => format!("`{}`", self.symbol_name(symbol)),
            Base::Parameter(index, offset) => {
                let name = (self.options.parameter_name)(self.kernel, index);
                let whole = offset == 0
                    && self.body.function.parameters.get(index as usize).is_some_and(|p| p.bytes <= 8);
                match name {
                    Some(name) if whole => format!("`{name}`"),
                    Some(name) => format!("the memory behind a pointer in `{name}`"),
                    None => format!("the memory behind parameter {index}"),
                }
            }
            Base::Workspace => "the grid's workspace".into(),
            Base::Unknown => "a location".into(),
        }
    }

    /// What a special register is called in CUDA C++.
    pub(crate) fn special_name(special: Special) -> &'static str {
        match special {
            Special::Tid(0) => "threadIdx.x",
            Special::Tid(1) => "threadIdx.y",
            Special::Tid(_) => "threadIdx.z",
            Special::Ctaid(0) => "blockIdx.x",
            Special::Ctaid(1) => "blockIdx.y",
            Special::Ctaid(_) => "blockIdx.z",
            Special::LaneId => "the lane index",
            Special::WarpId => "the warp index",
            Special::Clock | Special::Clock64 | Special::GlobalTimer => "a clock",
            Special::SmId => "the multiprocessor's number",
            _ => "a special register",
        }
    }
}

/// The last component of an Itanium-mangled local name (`_ZZ4scanPKiE4tile` is `tile`); other names as they are.
pub(crate) fn short_name(name: &str) -> String {
    if let Some(mangled) =
        name.strip_prefix("_ZZ").or_else(|| name.strip_prefix("_ZN")).or_else(|| name.strip_prefix("_Z"))
    {
        let bytes = mangled.as_bytes();
        for start in (0..bytes.len()).rev() {
            if !bytes.get(start).is_some_and(u8::is_ascii_digit) {
                continue;
            }
            let mut first = start;
            while first > 0 && bytes.get(first - 1).is_some_and(u8::is_ascii_digit) {
                first -= 1;
            }
            let Some(length) = mangled.get(first..=start).and_then(|digits| digits.parse::<usize>().ok())
            else {
                continue;
            };
            if let Some(part) = mangled.get(start + 1..start + 1 + length)
                && length > 0
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                && !part.as_bytes().first().is_some_and(u8::is_ascii_digit)
            {
                return part.to_string();
            }
        }
    }
    name.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_names_lose_their_mangling() {
        let cases = [
            ("_ZZ7handoffPKiPiE5ready", "ready"),
            ("_ZZ4scanPKiPiPjPVjPViS6_E4tile", "tile"),
            ("_ZN6kernel4flagE", "flag"),
            ("flag", "flag"),
            ("_ZZ1kvE1s_0", "s"),
        ];
        for (name, expected) in cases {
            assert_eq!(short_name(name), expected, "{name}");
        }
    }
}

//! Line tables: which source line an instruction comes from, and through which inlined calls.
//!
//! The tables are DWARF (versions 2 to 4, section 6.2) with two opcodes of NVIDIA's: 0x90 says that the next
//! rows were inlined, and names the row of the call by its number in the sequence. NVIDIA documents them in
//! its debugger's sources only; the numbers were checked against what `nvdisasm -gi` prints.

use crate::bytes::{u16_at, u32_at, u64_at};
use crate::code::{Place, SourceLine};

/// One row: from this address on, until the next row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Row {
    pub(crate) address: u64,
    /// Position in the table's list of files.
    pub(crate) file: u32,
    /// From 1.
    pub(crate) line: u32,
    /// The row of the call that this was inlined from, as its position in all rows, from 1; 0 for none.
    pub(crate) context: u32,
    /// The code ends here.
    pub(crate) end: bool,
}

/// All line tables of a section.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineTable {
    files: Vec<String>,
    /// In the order of the section: contexts count in it.
    rows: Vec<Row>,
    /// Positions in `rows`, by address.
    by_address: Vec<u32>,
}

/// More rows than any kernel needs are not read.
const MOST_ROWS: usize = 8 << 20;

impl LineTable {
    /// Reads all tables of a section; what cannot be read ends it, with the reason.
    pub(crate) fn read(section: &[u8], _strings: &[u8]) -> (LineTable, Option<String>) {
        let mut table = LineTable::default();
        let mut rest = section;
        let mut problem = None;
        while !rest.is_empty() && problem.is_none() {
            let start = section.len() - rest.len();
            match unit(rest) {
                Some((header, body, after)) => {
                    rest = after;
                    if !(2..=4).contains(&header.version) {
                        let version = header.version;
                        problem = Some(format!("a line table of DWARF version {version} at byte {start:#x}"));
                    } else if table.unit(&header, body).is_none() {
                        problem = Some(format!("a line table is damaged at byte {start:#x}"));
                    }
                }
                None => problem = Some(format!("a line table is cut short at byte {start:#x}")),
            }
        }
        table.by_address = (0..table.rows.len() as u32).collect();
        let rows = &table.rows;
        // At the same address the last row counts: the ones before are the calls around it.
        table.by_address.sort_by_key(|at| rows.get(*at as usize).map_or(0, |row| row.address));
        (table, problem)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter()
    }

    /// The row that covers an address.
    pub(crate) fn row(&self, pc: u64) -> Option<&Row> {
        let row = |at: &u32| self.rows.get(*at as usize);
        let after = self.by_address.partition_point(|at| row(at).is_some_and(|row| row.address <= pc));
        self.by_address.get(after.checked_sub(1)?).and_then(row).filter(|row| !row.end && row.line != 0)
    }

    /// The source place of an address.
    pub(crate) fn place(&self, pc: u64) -> Option<Place> {
        /// Calls inlined into each other.
        const DEEPEST: usize = 64;
        let row = self.row(pc)?;
        let mut place = Place { line: self.line(row)?, inlined_at: Vec::new() };
        let mut context = row.context;
        while context != 0 && place.inlined_at.len() < DEEPEST {
            let Some(call) = self.rows.get(context as usize - 1) else { break };
            place.inlined_at.extend(self.line(call));
            // A call stands before what was inlined from it.
            context = if call.context < context { call.context } else { 0 };
        }
        Some(place)
    }

    fn line(&self, row: &Row) -> Option<SourceLine> {
        let file = self.files.get((row.file as usize).checked_sub(1)?)?;
        Some(SourceLine { file: file.clone(), line: row.line })
    }

    fn unit(&mut self, header: &Header, body: &[u8]) -> Option<()> {
        let first_file = self.files.len() as u32;
        let first_row = self.rows.len() as u32;
        let mut reader = Reader { rest: header.tables.as_slice() };
        let mut directories: Vec<String> = Vec::new();
        loop {
            match reader.text()?.as_str() {
                "" => break,
                directory => directories.push(directory.to_owned()),
            }
        }
        loop {
            let name = reader.text()?;
            if name.is_empty() {
                break;
            }
            let directory = reader.unsigned()?;
            reader.unsigned()?;
            reader.unsigned()?;
            self.files.push(path(&directories, directory, &name));
        }
        Machine { header, first_file, first_row, state: START, table: self }.run(body)
    }
}

fn path(directories: &[String], directory: u64, name: &str) -> String {
    let directory = usize::try_from(directory).ok().and_then(|at| directories.get(at.checked_sub(1)?));
    match directory {
        Some(directory) if !name.starts_with('/') => format!("{directory}/{name}"),
        _ => name.to_owned(),
    }
}

struct Header {
    version: u16,
    minimum_length: u8,
    line_base: i8,
    line_range: u8,
    opcode_base: u8,
    /// How many operands each standard opcode has.
    operands: Vec<u8>,
    /// Directories and files.
    tables: Vec<u8>,
}

/// Splits a unit into its header and its program; gives what follows too.
fn unit(bytes: &[u8]) -> Option<(Header, &[u8], &[u8])> {
    let length = u32_at(bytes, 0)? as usize;
    let unit = bytes.get(4..4usize.checked_add(length)?)?;
    let after = bytes.get(4 + length..)?;
    let version = u16_at(unit, 0)?;
    let header_length = u32_at(unit, 2)? as usize;
    let program = 6usize.checked_add(header_length)?;
    let header = unit.get(6..program)?;
    // Version 4 has one more byte: operations for each instruction word.
    let fixed = if version >= 4 { 1 } else { 0 };
    let byte = |at: usize| header.get(at).copied();
    let opcode_base = byte(4 + fixed)?;
    let tables = 5 + fixed + usize::from(opcode_base).saturating_sub(1);
    let header = Header {
        version,
        minimum_length: byte(0)?,
        line_base: byte(2 + fixed)? as i8,
        line_range: byte(3 + fixed)?,
        opcode_base,
        operands: header.get(5 + fixed..tables)?.to_vec(),
        tables: header.get(tables..)?.to_vec(),
    };
    Some((header, unit.get(program..)?, after))
}

const START: Row = Row { address: 0, file: 1, line: 1, context: 0, end: false };

/// Runs a line program.
struct Machine<'a> {
    header: &'a Header,
    first_file: u32,
    first_row: u32,
    state: Row,
    table: &'a mut LineTable,
}

impl Machine<'_> {
    fn run(&mut self, program: &[u8]) -> Option<()> {
        let mut reader = Reader { rest: program };
        while !reader.rest.is_empty() {
            let opcode = reader.byte()?;
            if opcode >= self.header.opcode_base {
                self.special(opcode - self.header.opcode_base)?;
                continue;
            }
            match opcode {
                0 => self.extended(&mut reader)?,
                1 => self.emit(false)?,
                2 => self.advance(reader.unsigned()?),
                3 => self.state.line = self.state.line.wrapping_add(reader.signed()? as u32),
                4 => self.state.file = u32::try_from(reader.unsigned()?).ok()?,
                8 => {
                    let steps = (255 - self.header.opcode_base).checked_div(self.header.line_range)?;
                    self.advance(u64::from(steps));
                }
                9 => {
                    let step = u16_at(reader.rest, 0)?;
                    reader.skip(2)?;
                    self.state.address = self.state.address.wrapping_add(u64::from(step));
                }
                other => {
                    for _ in 0..*self.header.operands.get(usize::from(other).checked_sub(1)?)? {
                        reader.unsigned()?;
                    }
                }
            }
        }
        Some(())
    }

    fn advance(&mut self, steps: u64) {
        let bytes = steps.wrapping_mul(u64::from(self.header.minimum_length));
        self.state.address = self.state.address.wrapping_add(bytes);
    }

    fn special(&mut self, opcode: u8) -> Option<()> {
        self.advance(u64::from(opcode.checked_div(self.header.line_range)?));
        let step = i32::from(self.header.line_base) + i32::from(opcode % self.header.line_range);
        self.state.line = self.state.line.wrapping_add_signed(step);
        self.emit(false)
    }

    fn extended(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let length = usize::try_from(reader.unsigned()?).ok()?;
        let body = reader.rest.get(..length)?;
        reader.skip(length)?;
        let Some((opcode, operands)) = body.split_first() else { return Some(()) };
        match opcode {
            1 => {
                self.emit(true)?;
                self.state = START;
                // Contexts count the rows of their own sequence: one for each kernel of a module.
                self.first_row = self.table.rows.len() as u32;
            }
            2 => self.state.address = u64_at(operands, 0)?,
            // The row of the call, and the name of what was inlined.
            0x90 => {
                let mut reader = Reader { rest: operands };
                self.state.context = u32::try_from(reader.unsigned()?).ok()?;
            }
            _ => {}
        }
        Some(())
    }

    fn emit(&mut self, end: bool) -> Option<()> {
        if self.table.rows.len() >= MOST_ROWS {
            return None;
        }
        let context = match self.state.context {
            0 => 0,
            context => context.checked_add(self.first_row)?,
        };
        let file = self.state.file.checked_add(self.first_file)?;
        self.table.rows.push(Row { file, context, end, ..self.state });
        Some(())
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.rest = self.rest.get(bytes..)?;
        Some(())
    }

    /// LEB128.
    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let mut value = 0i64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= i64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                let unused = 64 - (shift + 7).min(64);
                return Some(value << unused >> unused);
            }
        }
        None
    }

    fn text(&mut self) -> Option<String> {
        let end = self.rest.iter().position(|byte| *byte == 0)?;
        let text = String::from_utf8_lossy(self.rest.get(..end)?).into_owned();
        self.skip(end + 1)?;
        Some(text)
    }
}

//! What ends a grid before its time.

use std::fmt;

/// A place in the program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Place {
    /// The function's name (mangled).
    pub function: String,
    /// Source file; empty when unknown.
    pub file: String,
    /// Source line from 1; 0 when unknown.
    pub line: u32,
    /// Source column from 1; 0 when unknown.
    pub column: u32,
    /// The calls through which inlined code came here, innermost first, as `file:line`.
    pub inlined_at: Vec<String>,
    /// Byte offset of the instruction in the program's text.
    pub offset: u32,
}

/// An error of the kernel: it ends the grid and, in CUDA's terms, the context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// Where.
    pub place: Place,
    /// The kernel's name (mangled).
    pub kernel: String,
    /// Block in x, y, z.
    pub block: [u32; 3],
    /// Thread in x, y, z.
    pub thread: [u32; 3],
}

/// The memory that an address belongs to, or lies beside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    /// First address.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// The mark that the allocation was given.
    pub mark: u64,
    /// What the kernel calls it; empty when it has no name for it.
    pub name: String,
}

impl Beside {
    /// Bytes between it and an address; 0 inside.
    #[must_use]
    pub fn distance(&self, address: u64) -> u64 {
        let end = self.address.saturating_add(self.bytes);
        self.address.saturating_sub(address).max(address.saturating_sub(end))
    }

    /// Where an address lies, seen from here: `4 bytes behind the end of \`tile\` (64 bytes at 0x100)`.
    fn place_of(&self, address: u64) -> String {
        let Beside { address: start, bytes, name, .. } = self;
        let what = match name.as_str() {
            "" => "an allocation".to_owned(),
            name => format!("`{name}`"),
        };
        let whole = format!("{what} ({bytes} bytes at {start:#x})");
        let end = start.saturating_add(*bytes);
        match (start.checked_sub(address), address.checked_sub(end)) {
            (Some(before @ 1..), _) => format!("{before} bytes before {whole}"),
            (_, Some(0)) => format!("right behind the end of {whole}"),
            (_, Some(behind)) => format!("{behind} bytes behind the end of {whole}"),
            _ => format!("across the end of {whole}"),
        }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// An access outside of every allocation, or of the block's shared memory.
    #[error("out-of-bounds {} of {bytes} bytes at {address:#x} in {space} memory{}", verb(.write), beyond(*.address, .nearest))]
    OutOfBounds {
        /// The address.
        address: u64,
        /// Size of the access.
        bytes: u32,
        /// A store or an atomic.
        write: bool,
        /// `global`, `shared`, `local`, `parameter`.
        space: &'static str,
        /// The allocation that it begins in, or lies beside.
        nearest: Option<Beside>,
    },
    /// An address that is no multiple of the access's size.
    #[error("misaligned {} of {bytes} bytes at {address:#x} in {space} memory", verb(.write))]
    Misaligned {
        /// The address.
        address: u64,
        /// Size of the access.
        bytes: u32,
        /// A store or an atomic.
        write: bool,
        /// `global`, `shared`, `local`, `parameter`.
        space: &'static str,
    },
    /// `trap`.
    #[error("trap")]
    Trap,
    /// A failed `assert`.
    #[error("{file}:{line}: {function}: assertion `{message}` failed")]
    Assertion {
        /// The condition's text.
        message: String,
        /// Source file.
        file: String,
        /// Source line.
        line: u32,
        /// Function.
        function: String,
    },
    /// An operation of a warp or block whose conditions are not met.
    #[error("illegal instruction: {0}")]
    IllegalInstruction(String),
    /// A call of something that is no function, or has no body.
    #[error("call of {0}, which has no body")]
    InvalidCall(String),
    /// Calls nested too deep.
    #[error("call stack overflow")]
    StackOverflow,
    /// An instruction that cannot be executed.
    #[error("{0} cannot be executed on the software GPU")]
    NotSupported(String),
}

fn verb(write: &bool) -> &'static str {
    if *write { "write" } else { "read" }
}

/// Further away than this, an allocation has nothing to do with an address.
const FAR: u64 = 1 << 30;

fn beyond(address: u64, nearest: &Option<Beside>) -> String {
    match nearest {
        Some(beside) if beside.distance(address) < FAR => format!(", {}", beside.place_of(address)),
        _ => String::new(),
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        write!(f, "{} by thread ({tx},{ty},{tz}) of block ({bx},{by},{bz})", self.kind)?;
        if self.place.line > 0 {
            write!(f, " at {}:{}", self.place.file, self.place.line)?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

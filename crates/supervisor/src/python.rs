//! Python lines of a thread, from the interpreter's own structures in the memory of the stopped program. Where these
//! are not known, its frames show as frames of the interpreter.

mod pytest;

use std::fs::File;
use std::os::unix::fs::FileExt;

use object::{Object, ObjectSymbol, ReadRef};
pub use standstill_python_frames::PythonFrame;
use standstill_python_frames::{Layout, Memory, Symbols, Thread, frames, threads};

use crate::process::{Mapping, mappings};
use crate::stacks::{ElfReader, ThreadStack, images_of};

/// Adds the Python frames of a process to its threads, and gives the test that it runs, where it runs one.
pub(crate) fn add_frames(pid: i32, stacks: &mut [ThreadStack]) -> Option<String> {
    let is_python = |mapping: &&Mapping| {
        let file = mapping.path.rsplit('/').next().unwrap_or_default();
        file.starts_with("python") || file.starts_with("libpython")
    };
    let mappings = mappings(pid);
    let candidates: Vec<Mapping> = mappings.iter().filter(is_python).cloned().collect();
    let memory = ProgramMemory(File::open(format!("/proc/{pid}/mem")).ok()?);
    for image in images_of(pid, &candidates) {
        let Some(symbols) = image.with_elf(FindRuntime) else { continue };
        let symbols = Symbols {
            runtime: symbols.runtime.wrapping_add(image.bias),
            version: symbols.version.map(|version| version.wrapping_add(image.bias)),
        };
        // The executable may hold a copy of the library's variable; only one of them is in use.
        if add(pid, &memory, &symbols, stacks).is_some() {
            break;
        }
    }
    let named = (!candidates.is_empty()).then(|| pytest::current_test(pid, &memory, &mappings)).flatten();
    named.or_else(|| stacks.iter().find_map(|stack| test_of(&stack.python)))
}

/// The outermost function of a stack that is a test by its name: `FILE::FUNCTION`.
fn test_of(frames: &[PythonFrame]) -> Option<String> {
    let is_test = |frame: &&PythonFrame| {
        let name = frame.function.rsplit('.').next().unwrap_or_default();
        // The test runner's own functions are called so too.
        let runner = ["/_pytest/", "/unittest/", "/pluggy/"].iter().any(|folder| frame.file.contains(folder));
        name.starts_with("test") && !runner
    };
    let test = frames.iter().rev().find(is_test)?;
    Some(format!("{}::{}", test.file, test.function.replace('.', "::")))
}

fn add(pid: i32, memory: &ProgramMemory, symbols: &Symbols, stacks: &mut [ThreadStack]) -> Option<()> {
    let layout = Layout::of(memory, symbols)?;
    let mut found = None;
    for Thread { state, native } in threads(memory, &layout, symbols) {
        if let Some(stack) = stacks.iter_mut().find(|stack| is_thread(pid, stack.tid, native)) {
            stack.python = frames(memory, &layout, state);
            found = Some(());
        }
    }
    found
}

/// Whether `native` is the thread's number, as the process itself sees it.
fn is_thread(pid: i32, tid: i32, native: u64) -> bool {
    if u64::try_from(tid) == Ok(native) {
        return true;
    }
    let status = crate::process::read_text(&format!("/proc/{pid}/task/{tid}/status")).unwrap_or_default();
    let inside = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    inside.and_then(|numbers| numbers.split_ascii_whitespace().last()?.parse().ok()) == Some(native)
}

/// The memory of a process.
struct ProgramMemory(File);

impl Memory for ProgramMemory {
    fn read(&self, address: u64, bytes: &mut [u8]) -> Option<()> {
        self.0.read_exact_at(bytes, address).ok()
    }
}

struct FindRuntime;

impl ElfReader<Symbols> for FindRuntime {
    fn read<'data, R: ReadRef<'data>>(
        self,
        elf: &object::read::elf::ElfFile64<'data, object::Endianness, R>,
    ) -> Option<Symbols> {
        let find = |wanted: &str| {
            let mut symbols = elf.dynamic_symbols().chain(elf.symbols());
            symbols
                .find(|symbol| symbol.is_definition() && symbol.name() == Ok(wanted))
                .map(|symbol| symbol.address())
        };
        Some(Symbols { runtime: find("_PyRuntime")?, version: find("Py_Version") })
    }
}

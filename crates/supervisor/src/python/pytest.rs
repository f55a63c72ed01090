//! The test that pytest runs: it puts the name, with parameters, into the environment (pytest documentation,
//! `PYTEST_CURRENT_TEST`), where the C library keeps it.

use object::{Object, ObjectSymbol, ReadRef};
use standstill_python_frames::Memory;

use super::ProgramMemory;
use crate::process::Mapping;
use crate::stacks::{ElfReader, Image, images_of};

/// Variables that are looked at, and bytes of one, at most.
const MOST: u64 = 4096;

/// `FILE::CLASS::TEST[PARAMETERS]` of a process; `None` when it runs no test.
pub(super) fn current_test(pid: i32, memory: &ProgramMemory, mappings: &[Mapping]) -> Option<String> {
    const NAME: &str = "PYTEST_CURRENT_TEST=";
    // A program at a fixed place holds a copy of the library's variable, and that is the one in use then.
    let may_hold = |mapping: &&Mapping| {
        let file = mapping.path.rsplit('/').next().unwrap_or_default();
        ["python", "libc.so", "libc-", "ld-musl"].iter().any(|start| file.starts_with(start))
    };
    let mut candidates: Vec<Mapping> = mappings.iter().filter(may_hold).cloned().collect();
    candidates.sort_by_key(|mapping| !mapping.path.contains("/python"));
    let find = |image: &Image| Some(image.with_elf(FindEnvironment)?.wrapping_add(image.bias));
    let list = memory.word(images_of(pid, &candidates).iter().find_map(find)?)?;
    for index in 0..MOST {
        let entry = memory.word(list.wrapping_add(8 * index)).filter(|entry| *entry != 0)?;
        let Some(start) = text(memory, entry, NAME.len()) else { continue };
        if start == NAME {
            let whole = text(memory, entry, MOST as usize)?;
            let test = whole.get(NAME.len()..)?;
            // The phase follows: `(call)`, `(setup)`, `(teardown)`.
            let test = test.rsplit_once(" (").map_or(test, |(test, _)| test);
            return (!test.is_empty()).then(|| test.to_owned());
        }
    }
    None
}

/// The text at an address, to its end or to `most` bytes.
fn text(memory: &ProgramMemory, address: u64, most: usize) -> Option<String> {
    const STEP: usize = 64;
    let mut bytes: Vec<u8> = Vec::new();
    while bytes.len() < most {
        let mut step = vec![0; STEP.min(most - bytes.len())];
        let at = address.wrapping_add(bytes.len() as u64);
        if memory.read(at, &mut step).is_none() {
            // The end of what is mapped may come before the end of a step.
            step = vec![memory.byte(at)?];
        }
        let end = step.iter().position(|byte| *byte == 0);
        bytes.extend_from_slice(step.get(..end.unwrap_or(step.len()))?);
        if end.is_some() {
            break;
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

struct FindEnvironment;

impl ElfReader<u64> for FindEnvironment {
    fn read<'data, R: ReadRef<'data>>(
        self,
        elf: &object::read::elf::ElfFile64<'data, object::Endianness, R>,
    ) -> Option<u64> {
        let is_it = |name: &str| matches!(name, "environ" | "__environ");
        let mut symbols = elf.dynamic_symbols();
        symbols
            .find(|symbol| symbol.is_definition() && symbol.name().is_ok_and(is_it))
            .map(|symbol| symbol.address())
    }
}

//! Finding the uses of a function in machine code (x86-64), with the little of its encoding that this needs: calls and
//! jumps with a distance, through a slot of the linker's table, and loads of addresses (Intel 64 and IA-32
//! Architectures Software Developer's Manual, volume 2).

use std::collections::{HashMap, HashSet};

use object::read::elf::ElfFile64;
use object::{
    Architecture, Endianness, Object, ObjectSection, ObjectSymbol, ReadRef, RelocationTarget, SectionKind,
    SymbolKind,
};

use super::stubs::{Names, is_runtime_symbol, launches};
use crate::stacks::{ElfReader, readable};

type Elf<'data, R> = ElfFile64<'data, Endianness, R>;

/// Code that is searched in one file, at most: a larger library would hold the explanation up.
const MOST_CODE: u64 = 128 << 20;

/// Tells whether a file has one of these sections.
pub(super) struct HasSection<'a>(pub(super) &'a [&'a str]);

impl ElfReader<()> for HasSection<'_> {
    fn read<'data, R: ReadRef<'data>>(self, elf: &Elf<'data, R>) -> Option<()> {
        self.0.iter().any(|name| elf.section_by_name(name).is_some()).then_some(())
    }
}

/// Finds where a kernel is launched: addresses of call instructions.
pub(super) struct FindSites<'a> {
    pub(super) kernel: &'a str,
}

impl ElfReader<Vec<u64>> for FindSites<'_> {
    fn read<'data, R: ReadRef<'data>>(self, elf: &Elf<'data, R>) -> Option<Vec<u64>> {
        if elf.architecture() != Architecture::X86_64 || self.kernel.is_empty() {
            return None;
        }
        let sections: Vec<_> = elf.sections().filter(|section| section.kind() == SectionKind::Text).collect();
        if sections.iter().map(|section| section.size()).sum::<u64>() > MOST_CODE {
            return None;
        }
        let names = Names::of(self.kernel);
        let mut functions = Functions::default();
        let is_stub = |name: &str| names.hold(name);
        functions.stubs = addresses(elf, is_stub).map(|(address, _)| address).collect();
        if functions.stubs.is_empty() {
            let is_stub = |name: &str| names.hold_as_clang(name);
            functions.stubs = addresses(elf, is_stub).map(|(address, _)| address).collect();
        }
        if functions.stubs.is_empty() {
            return None;
        }
        for (address, name) in addresses(elf, is_runtime_symbol) {
            functions.runtime.insert(address, launches(&readable(name)));
        }
        functions.add_imports(elf, &names);
        let mut sites = Vec::new();
        for section in sections {
            // The linker's own jumps are no calls of the program's.
            if section.name().is_ok_and(|name| name.starts_with(".plt")) {
                continue;
            }
            if let Ok(code) = section.data() {
                functions.sites(code, section.address(), &mut sites);
            }
        }
        sites.sort_unstable();
        sites.dedup();
        Some(sites)
    }
}

/// The functions of a file whose names are `wanted`.
fn addresses<'a, 'data, R: ReadRef<'data>>(
    elf: &'a Elf<'data, R>,
    wanted: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = (u64, &'data str)> + 'a {
    elf.symbols().chain(elf.dynamic_symbols()).filter_map(move |symbol| {
        let name = symbol.name().ok()?;
        let is_function = symbol.kind() == SymbolKind::Text && symbol.is_definition();
        (is_function && wanted(name)).then_some((symbol.address(), name))
    })
}

/// The functions that matter, by address; for those of other files, where the linker jumps to them.
#[derive(Debug, Default)]
struct Functions {
    /// The host functions of the kernel.
    stubs: HashSet<u64>,
    /// Words of memory that hold the address of one.
    stub_slots: HashSet<u64>,
    /// The CUDA runtime's, and whether they launch.
    runtime: HashMap<u64, bool>,
    runtime_slots: HashMap<u64, bool>,
}

impl Functions {
    /// Adds what is reached through the linker's tables.
    fn add_imports<'data, R: ReadRef<'data>>(&mut self, elf: &Elf<'data, R>, names: &Names) {
        for (slot, relocation) in elf.dynamic_relocations().into_iter().flatten() {
            let RelocationTarget::Symbol(index) = relocation.target() else { continue };
            let Some(table) = elf.dynamic_symbol_table() else { continue };
            let symbol = object::ObjectSymbolTable::symbol_by_index(&table, index);
            let Some(name) = symbol.ok().and_then(|symbol| symbol.name().ok()) else { continue };
            if names.hold(name) {
                self.stub_slots.insert(slot);
            } else if is_runtime_symbol(name) {
                self.runtime_slots.insert(slot, launches(&readable(name)));
            }
        }
        for section in elf.sections() {
            if !section.name().is_ok_and(|name| name.starts_with(".plt")) {
                continue;
            }
            let Ok(code) = section.data() else { continue };
            for (at, _) in code.windows(6).enumerate().filter(|(_, w)| w.starts_with(&[0xff, 0x25])) {
                let address = section.address() + at as u64;
                let Some(slot) = relative(code, at + 2, address + 6) else { continue };
                // `endbr64` and a prefix may stand before the jump.
                let before = |bytes: &[u8]| code.get(..at).is_some_and(|code| code.ends_with(bytes));
                let back = [&[0xf3, 0x0f, 0x1e, 0xfa, 0xf2][..], &[0xf3, 0x0f, 0x1e, 0xfa], &[0xf2]]
                    .into_iter()
                    .find(|bytes| before(bytes))
                    .map_or(0, |bytes| bytes.len() as u64);
                if self.stub_slots.contains(&slot) {
                    self.stubs.insert(address - back);
                }
                if let Some(launches) = self.runtime_slots.get(&slot) {
                    self.runtime.insert(address - back, *launches);
                }
            }
        }
    }

    /// Adds the launches in `code`, which stands at `base`.
    fn sites(&self, code: &[u8], base: u64, sites: &mut Vec<u64>) {
        for at in 0..code.len() {
            match used(code, at, base) {
                Some(Use::Call(Place::At(target))) if self.stubs.contains(&target) => {
                    sites.push(base + at as u64);
                }
                Some(Use::Call(Place::In(slot))) if self.stub_slots.contains(&slot) => {
                    sites.push(base + at as u64);
                }
                Some(Use::Address { of: Place::At(target), stays, size }) if self.stubs.contains(&target) => {
                    sites.extend(self.given_to(code, at + size, base, stays));
                }
                Some(Use::Address { of: Place::In(slot), stays, size })
                    if self.stub_slots.contains(&slot) =>
                {
                    sites.extend(self.given_to(code, at + size, base, stays));
                }
                _ => {}
            }
        }
    }

    /// The call to which an address loaded just before `from` is given, where that launches. In a register that calls
    /// do not change (`stays`) it may be given to a later one as well.
    fn given_to(&self, code: &[u8], from: usize, base: u64, stays: bool) -> Option<u64> {
        /// Bytes that are searched: a function of a usual size.
        const NEAR: usize = 2048;
        for at in from..code.len().min(from + NEAR) {
            let launches = match used(code, at, base) {
                Some(Use::Call(Place::At(target))) => self.runtime.get(&target),
                Some(Use::Call(Place::In(slot))) => self.runtime_slots.get(&slot),
                _ => None,
            };
            match launches {
                Some(true) => return Some(base + at as u64),
                Some(false) if !stays => return None,
                _ => {}
            }
        }
        None
    }
}

/// Where a function is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// By its address.
    At(u64),
    /// By a word of memory that holds its address.
    In(u64),
}

/// What an instruction does with a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Calls it, or jumps to it as the last thing that its caller does.
    Call(Place),
    /// Takes its address, into a register that calls do not change (`stays`) or do.
    Address { of: Place, stays: bool, size: usize },
}

/// What the instruction at `at` does, if one begins there. Bytes inside another instruction may look like one; that
/// such an accident also names a function that is looked for hardly happens.
fn used(code: &[u8], at: usize, base: u64) -> Option<Use> {
    let address = base.wrapping_add(at as u64);
    let next = |size: u64| address.wrapping_add(size);
    match code.get(at..)? {
        [0xe8 | 0xe9, ..] => Some(Use::Call(Place::At(relative(code, at + 1, next(5))?))),
        [0x0f, 0x80..=0x8f, ..] => Some(Use::Call(Place::At(relative(code, at + 2, next(6))?))),
        [0xff, 0x15 | 0x25, ..] => Some(Use::Call(Place::In(relative(code, at + 2, next(6))?))),
        // lea and mov with 64 bits and a distance from here.
        [prefix @ (0x48 | 0x4c), operation @ (0x8d | 0x8b), operands, ..] if operands & 0xc7 == 5 => {
            let place = relative(code, at + 3, next(7))?;
            let of = if *operation == 0x8d { Place::At(place) } else { Place::In(place) };
            let register = operands >> 3 & 7 | (prefix & 4) << 1;
            // rbx, rbp, r12 to r15 (System V Application Binary Interface, AMD64, 3.2.1).
            Some(Use::Address { of, stays: matches!(register, 3 | 5 | 12..=15), size: 7 })
        }
        // mov with a 32-bit address: programs at a fixed place.
        [0xb8..=0xbf, value @ ..] => {
            let value = u32::from_le_bytes(*value.first_chunk()?);
            let stays = matches!(code.get(at), Some(0xbb | 0xbd));
            Some(Use::Address { of: Place::At(u64::from(value)), stays, size: 5 })
        }
        _ => None,
    }
}

/// The address that lies as far from `next` as the four bytes at `at` say.
fn relative(code: &[u8], at: usize, next: u64) -> Option<u64> {
    let distance = i32::from_le_bytes(*code.get(at..)?.first_chunk()?);
    Some(next.wrapping_add_signed(i64::from(distance)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_that_name_functions() {
        let check =
            |code: &[u8], expected: Option<Use>| assert_eq!(used(code, 0, 0x1000), expected, "{code:x?}");
        let address = |of, stays, size| Some(Use::Address { of, stays, size });
        check(&[0xe8, 0xfb, 0x0f, 0, 0], Some(Use::Call(Place::At(0x2000))));
        check(&[0xe9, 0xfb, 0xff, 0xff, 0xff], Some(Use::Call(Place::At(0x1000))));
        check(&[0x0f, 0x84, 0, 0, 0, 0], Some(Use::Call(Place::At(0x1006))));
        check(&[0xff, 0x15, 0, 1, 0, 0], Some(Use::Call(Place::In(0x1106))));
        check(&[0x48, 0x8d, 0x3d, 0, 0, 0, 0], address(Place::At(0x1007), false, 7));
        check(&[0x4c, 0x8d, 0x2d, 0, 0, 0, 0], address(Place::At(0x1007), true, 7));
        check(&[0x48, 0x8b, 0x35, 0x10, 0, 0, 0], address(Place::In(0x1017), false, 7));
        check(&[0xbf, 0x10, 0x20, 0x40, 0], address(Place::At(0x40_2010), false, 5));
        check(&[0xe8, 0, 0], None);
        check(&[0x90, 0x90, 0x90], None);
        check(&[], None);
    }
}

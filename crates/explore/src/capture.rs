//! A launch with the memory that a program had when it made it.

use standstill_kernel_ir::Function;

use crate::launch::{Launch, Region};

/// Pointers inside each other that a name is read for.
const DEPTH: u32 = 16;

/// What a launch found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The kernel's parameters as they lie in parameter space.
    pub parameters: Vec<u8>,
    /// The address of each variable of the module, in its order; 0 for those that have none of their own.
    pub variables: Vec<u64>,
    /// Memory by its addresses, that of the variables too.
    pub memory: Vec<(u64, Vec<u8>)>,
}

impl Launch {
    /// Puts what a program had in the place of this launch's parameters and memory. Addresses stay as they were, so pointers in
    /// memory point where they did. Memory that is no variable has no name yet: see [`Launch::name_buffers`].
    pub fn set_found(&mut self, found: Found) {
        let Found { parameters, variables, mut memory } = found;
        self.parameters = parameters;
        // Where they lie before anything is moved: what was moved may lie where another one lay.
        let places: Vec<Option<usize>> = self
            .variables
            .iter()
            .map(|&own| self.memory.iter().position(|region| region.address == own && own != 0))
            .collect();
        for ((own, theirs), place) in self.variables.iter_mut().zip(variables).zip(places) {
            let held = memory.iter().position(|&(address, _)| address == theirs && theirs != 0);
            let region = place.and_then(|at| self.memory.get_mut(at));
            if let (Some(held), Some(region)) = (held, region) {
                let (address, mut bytes) = memory.swap_remove(held);
                bytes.resize(region.bytes.len(), 0);
                (region.address, region.bytes, *own) = (address, bytes, address);
            }
        }
        memory.sort_unstable();
        self.memory.extend(memory.into_iter().map(|(address, bytes)| Region {
            address,
            element: if bytes.len().is_multiple_of(4) { 4 } else { 1 },
            bytes,
            name: String::new(),
        }));
    }

    /// Names memory that has no name by the first parameter that points into it, `p0`, with elements as the parameter's type
    /// says where the kernel's name tells it; a further pointer of a structure by its offset in bytes, `p0_16`. What no parameter
    /// points into becomes `m0`, `m1`, … by address.
    pub fn name_buffers(&mut self, function: &Function, kernel: &str) {
        let sizes = pointee_sizes(kernel);
        for ((parameter, start), position) in
            function.parameters.iter().zip(function.parameter_offsets()).zip(0usize..)
        {
            let bytes = self.parameters.get(start as usize..(start + parameter.bytes) as usize);
            let words = bytes.unwrap_or_default().chunks_exact(8);
            let words: Vec<u64> =
                words.filter_map(|word| word.try_into().ok()).map(u64::from_le_bytes).collect();
            let mut name = format!("p{position}");
            for (word, at) in words.into_iter().zip((0..).step_by(8)) {
                let holds = |region: &&mut Region| {
                    region.name.is_empty()
                        && (region.address..region.address + region.bytes.len() as u64).contains(&word)
                };
                let Some(region) = self.memory.iter_mut().find(holds) else { continue };
                region.name = std::mem::take(&mut name);
                if region.name.is_empty() {
                    region.name = format!("p{position}_{at}");
                }
                let element = sizes.get(position).copied().flatten();
                if let Some(element) =
                    element.filter(|&size| region.bytes.len().is_multiple_of(size as usize))
                {
                    region.element = element;
                }
            }
        }
        for (region, number) in self.memory.iter_mut().filter(|region| region.name.is_empty()).zip(0..) {
            region.name = format!("m{number}");
        }
    }
}

/// For each parameter of a function with this mangled name, the size of what it points at, in bytes, as far as the name tells
/// it: pointers to the types of the language, perhaps qualified (Itanium C++ ABI, «Mangling»). Other types end the list
/// where a later one cannot be told apart.
fn pointee_sizes(mangled: &str) -> Vec<Option<u32>> {
    let Some(mut rest) = parameters(mangled) else { return Vec::new() };
    // Types that the name can refer to again, as the size of what they point at.
    let mut known: Vec<Option<Type>> = Vec::new();
    let mut sizes = Vec::new();
    while !rest.is_empty() {
        let Some((ty, after)) = read_type(rest, &mut known, DEPTH) else { break };
        sizes.push(match ty {
            Type::Pointer(size) => size,
            Type::Other(_) => None,
        });
        rest = after;
    }
    sizes
}

/// As much of a type as matters: its size in bytes, or the size of what it points at.
#[derive(Debug, Clone, Copy)]
enum Type {
    Pointer(Option<u32>),
    Other(Option<u32>),
}

/// What stands behind the function's own name, where that is simple.
fn parameters(mangled: &str) -> Option<&str> {
    let rest = mangled.strip_prefix("_Z")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let length: usize = rest.get(..digits)?.parse().ok()?;
    rest.get(digits.checked_add(length)?..)
}

fn read_type<'a>(text: &'a str, known: &mut Vec<Option<Type>>, depth: u32) -> Option<(Type, &'a str)> {
    let deeper = depth.checked_sub(1)?;
    let rest = |from: usize| text.get(from..);
    match text.bytes().next()? {
        b'P' => {
            let (inner, after) = read_type(rest(1)?, known, deeper)?;
            let ty = Type::Pointer(match inner {
                Type::Other(size) => size,
                Type::Pointer(_) => Some(8),
            });
            known.push(Some(ty));
            Some((ty, after))
        }
        // Qualifiers change no size; a qualified type counts as one.
        b'V' | b'K' | b'r' => {
            let qualifiers = text.bytes().take_while(|letter| b"rVK".contains(letter)).count();
            let (inner, after) = read_type(rest(qualifiers)?, known, deeper)?;
            known.push(Some(inner));
            Some((inner, after))
        }
        b'S' => {
            let (number, after) = text.get(1..)?.split_once('_')?;
            let index = match number {
                "" => 0,
                digits => usize::from_str_radix(digits, 36).ok()?.checked_add(1)?,
            };
            Some(((*known.get(index)?)?, after))
        }
        b'0'..=b'9' => {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            let length: usize = text.get(..digits)?.parse().ok()?;
            let after = rest(digits.checked_add(length)?)?;
            // Template arguments are not followed.
            if after.starts_with('I') {
                return None;
            }
            known.push(Some(Type::Other(None)));
            Some((Type::Other(None), after))
        }
        letter => {
            let size = match letter {
                b'b' | b'c' | b'a' | b'h' => 1,
                b's' | b't' => 2,
                b'i' | b'j' | b'f' => 4,
                b'l' | b'm' | b'x' | b'y' | b'd' => 8,
                b'v' => return Some((Type::Other(None), rest(1)?)),
                _ => return None,
            };
            Some((Type::Other(Some(size)), rest(1)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Argument;
    use standstill_kernel_ir::Program;

    #[test]
    fn what_a_program_had_takes_the_place_of_zeros() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n.global .align 4 .u32 total = 7;\n\
            .visible .entry _Z1kPdi(.param .u64 d, .param .align 8 .b8 s[24]) { ret; }\n";
        let module = standstill_ptx::parse(text);
        let lowering = standstill_ptx::Lowering::new(&module);
        let mut launch = Launch::new(&lowering, "k").unwrap();
        let mut parameters = vec![0; 32];
        for (at, pointer) in [(0, 0x1008u64), (8, 0x2000), (24, 0x3000)] {
            parameters[at..at + 8].copy_from_slice(&pointer.to_le_bytes());
        }
        launch.set_found(Found {
            parameters,
            variables: vec![0x500],
            memory: vec![
                (0x4000, vec![1; 3]),
                (0x3000, vec![2; 4]),
                (0x2000, vec![3; 8]),
                (0x1000, vec![4; 16]),
                (0x500, vec![9, 0, 0, 0]),
            ],
        });
        let function = lowering.function(launch.kernel).unwrap();
        launch.name_buffers(&function, "_Z1kPdi");
        let known =
            |region: &Region| (region.name.clone(), region.address, region.bytes.len(), region.element);
        let regions: Vec<_> = launch.memory.iter().map(known).collect();
        let expected = [
            ("total", 0x500, 4, 4),
            ("p0", 0x1000, 16, 8),
            ("p1", 0x2000, 8, 4),
            ("p1_16", 0x3000, 4, 4),
            ("m0", 0x4000, 3, 1),
        ];
        assert_eq!(
            regions,
            expected.map(|(name, address, bytes, element)| (name.to_owned(), address, bytes, element))
        );
        assert_eq!(launch.variables, [0x500]);
        // Another argument for one parameter leaves the others.
        let buffer = Argument::Buffer { bytes: vec![5; 8], element: 8 };
        launch.set_argument(&function, 0, &buffer).unwrap();
        assert_eq!(launch.parameters[8..16], 0x2000u64.to_le_bytes());
        assert!(launch.memory.last().unwrap().address > 0x4000);
        assert!(launch.set_argument(&function, 2, &buffer).is_err());
    }

    #[test]
    fn names_tell_the_elements_of_parameters() {
        let check = |mangled: &str, expected: &[Option<u32>]| {
            assert_eq!(pointee_sizes(mangled), expected, "{mangled}");
        };
        check("_Z7productPKjPj", &[Some(4), Some(4)]);
        check("_Z3addPdS_iPKdS1_", &[Some(8), Some(8), None, Some(8), Some(8)]);
        check("_Z4peekPV4ListPjj", &[None, Some(4), None]);
        check("_Z5churnP4Pooli", &[None, None]);
        check("_Z1kPPiPhPvPVy", &[Some(8), Some(1), None, Some(8)]);
        check("_Z1kP3VecIiEPd", &[]);
        check("_Z1kIiEvPT_", &[]);
        check("plain", &[]);
        check("_Z99short", &[]);
        check("_Z1kS9_", &[]);
        check("_Z1kPé", &[]);
        check(&format!("_Z1k{}i", "P".repeat(100_000)), &[]);
    }
}

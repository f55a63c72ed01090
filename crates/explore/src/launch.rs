//! The launch that is explored: a kernel with its shape, its parameters and the memory that it finds.

use standstill_kernel_ir::{Function, FunctionId, FunctionKind, Program, Space, Symbol, VariableImage};

use crate::layout;

/// A piece of global or constant memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Its first address.
    pub address: u64,
    /// What it holds when the kernel starts.
    pub bytes: Vec<u8>,
    /// What a reader calls it: a variable's name, or `p0` for the buffer that parameter 0 points at.
    pub name: String,
    /// Bytes of one element, for naming places in it.
    pub element: u32,
}

/// What is passed for a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// A value, in the low bytes.
    Value(u64),
    /// The bytes of a parameter of any size.
    Bytes(Vec<u8>),
    /// The address of a buffer of its own.
    Buffer {
        /// What the buffer holds.
        bytes: Vec<u8>,
        /// Bytes of one element.
        element: u32,
    },
}

/// Why a launch cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// No kernel has that name.
    #[error("there is no kernel `{name}`; there are {}", if there.is_empty() { "none".to_owned() } else { there.join(", ") })]
    NoKernel {
        /// The name asked for.
        name: String,
        /// The kernels that there are.
        there: Vec<String>,
    },
    /// An extent is zero, or there are more threads than can be explored.
    #[error("{threads} threads cannot be explored: at least one and at most {most}")]
    Threads {
        /// Threads of the launch.
        threads: u64,
        /// The most that there may be.
        most: u64,
    },
    /// A parameter has no argument, or the other way round.
    #[error("the kernel has {expected} parameters, and {given} arguments were given")]
    Arguments {
        /// Number of parameters.
        expected: usize,
        /// Number of arguments.
        given: usize,
    },
}

/// The most threads of a launch: beyond that no state space can be searched.
pub const MOST_THREADS: u64 = 1024;

/// A launch.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The kernel.
    pub kernel: FunctionId,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Blocks of a cluster in x, y and z.
    pub cluster: [u32; 3],
    /// The kernel's parameters as they lie in parameter space.
    pub parameters: Vec<u8>,
    /// Global and constant memory.
    pub memory: Vec<Region>,
    /// The address of each variable of the module; 0 for those in shared memory.
    pub variables: Vec<u64>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
}

impl Launch {
    /// A launch of the kernel with this name, mangled or the last part of it alone, with one thread and no arguments. Variables of
    /// the module hold zeros; see [`Launch::set_first_values`].
    pub fn new(program: &dyn Program, kernel: &str) -> Result<Launch, LaunchError> {
        let module = program.module();
        let kernels = || {
            module
                .functions
                .iter()
                .zip(0u32..)
                .filter(|(function, _)| function.kind == FunctionKind::Kernel && function.defined)
        };
        let by_name = |name: &str| name == kernel || plain_name(name) == kernel;
        let (_, id) =
            kernels().find(|(function, _)| by_name(&function.name)).ok_or_else(|| LaunchError::NoKernel {
                name: kernel.to_owned(),
                there: kernels().map(|(function, _)| function.name.clone()).collect(),
            })?;
        let mut launch = Launch {
            kernel: FunctionId(id),
            grid: [1; 3],
            block: [1; 3],
            cluster: [1; 3],
            parameters: Vec::new(),
            memory: Vec::new(),
            variables: Vec::new(),
            dynamic_shared: 0,
        };
        for variable in &module.variables {
            let placed = matches!(variable.space, Space::Global | Space::Const) && variable.bytes > 0;
            let bytes = usize::try_from(variable.bytes).unwrap_or(0);
            // Compilers write arrays as bytes, with the alignment of their elements.
            let element = variable.ty.bytes().max(variable.align.min(8));
            let plain = plain_name(&variable.name);
            let alike = module.variables.iter().filter(|other| plain_name(&other.name) == plain).count();
            let name = if alike == 1 { plain } else { &variable.name };
            let address = if placed { launch.place(name, vec![0; bytes], element) } else { 0 };
            launch.variables.push(address);
        }
        Ok(launch)
    }

    /// Lays memory out behind what there is.
    fn place(&mut self, name: &str, bytes: Vec<u8>, element: u32) -> u64 {
        let end = self.memory.iter().map(|region| region.address + region.bytes.len() as u64).max();
        // A gap between regions, so that an index past the end meets nobody's memory.
        let address = end.map_or(layout::GLOBAL, |end| (end + 256).next_multiple_of(256));
        self.memory.push(Region { address, bytes, name: name.to_owned(), element: element.max(1) });
        address
    }

    /// Gives variables of the module their first values, with the addresses that stand in them.
    pub fn set_first_values(&mut self, images: &[VariableImage]) {
        for image in images {
            let mut bytes = image.bytes.clone();
            for pointer in &image.pointers {
                let Symbol::Module(target) = pointer.symbol else { continue };
                let value = self.address(target).wrapping_add_signed(pointer.addend).to_le_bytes();
                let length = usize::from(pointer.bytes);
                let place = bytes.get_mut(pointer.offset as usize..pointer.offset as usize + length);
                if let (Some(place), Some(value)) = (place, value.get(..length)) {
                    place.copy_from_slice(value);
                }
            }
            let address = self.address(image.variable);
            let region = self.memory.iter_mut().find(|region| region.address == address && address != 0);
            region
                .into_iter()
                .flat_map(|region| region.bytes.iter_mut().zip(&bytes))
                .for_each(|(to, from)| *to = *from);
        }
    }

    /// The address of a variable of the module; 0 where it has none of its own.
    fn address(&self, variable: u32) -> u64 {
        self.variables.get(variable as usize).copied().unwrap_or(0)
    }

    /// Passes the arguments, one for each parameter.
    pub fn set_arguments(&mut self, function: &Function, arguments: &[Argument]) -> Result<(), LaunchError> {
        if arguments.len() != function.parameters.len() {
            return Err(LaunchError::Arguments {
                expected: function.parameters.len(),
                given: arguments.len(),
            });
        }
        self.parameters.clear();
        let offsets = function.parameter_offsets();
        for (((parameter, argument), start), index) in
            function.parameters.iter().zip(arguments).zip(offsets).zip(0usize..)
        {
            let bytes = self.argument_bytes(index, parameter.bytes, argument);
            self.parameters.resize(start as usize, 0);
            self.parameters.extend(bytes);
        }
        Ok(())
    }

    /// Passes another argument for one parameter.
    pub fn set_argument(
        &mut self,
        function: &Function,
        position: usize,
        argument: &Argument,
    ) -> Result<(), LaunchError> {
        let count = function.parameters.len();
        let wrong = LaunchError::Arguments { expected: count, given: position.saturating_add(1) };
        let start = function.parameter_offsets().get(position).copied();
        let (Some(parameter), Some(start)) = (function.parameters.get(position), start) else {
            return Err(wrong);
        };
        let bytes = self.argument_bytes(position, parameter.bytes, argument);
        let (start, end) = (start as usize, start as usize + bytes.len());
        self.parameters.resize(self.parameters.len().max(end), 0);
        self.parameters.get_mut(start..end).ok_or(wrong)?.copy_from_slice(&bytes);
        Ok(())
    }

    /// What is passed for a parameter of this size; a buffer finds its place.
    fn argument_bytes(&mut self, position: usize, length: u32, argument: &Argument) -> Vec<u8> {
        let mut bytes = match argument {
            Argument::Value(value) => value.to_le_bytes().to_vec(),
            Argument::Bytes(bytes) => bytes.clone(),
            Argument::Buffer { bytes, element } => {
                self.place(&format!("p{position}"), bytes.clone(), *element).to_le_bytes().to_vec()
            }
        };
        bytes.resize(length as usize, 0);
        bytes
    }

    /// Threads of a block.
    pub fn block_threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u32 {
        self.grid.iter().product()
    }

    /// The cluster of a block, by its linear index, and the block's rank in it.
    pub(crate) fn cluster_of(&self, block: u32) -> (u32, u32) {
        let [x, y, z] = Launch::index_in(self.grid, block);
        let [width, height, depth] = self.cluster.map(|extent| extent.max(1));
        let [across, down, _] = self.clusters();
        let cluster = (z / depth * down + y / height) * across + x / width;
        let rank = (z % depth * height + y % height) * width + x % width;
        (cluster, rank)
    }

    /// Clusters of the grid in x, y and z.
    pub(crate) fn clusters(&self) -> [u32; 3] {
        std::array::from_fn(|axis| {
            let blocks = self.grid.get(axis).copied().unwrap_or(1);
            blocks.div_ceil(self.cluster.get(axis).copied().unwrap_or(1).max(1))
        })
    }

    /// Number of threads, checked.
    pub(crate) fn threads(&self) -> Result<u32, LaunchError> {
        let extents = self.grid.iter().chain(&self.block).map(|&extent| u64::from(extent));
        let threads = extents.fold(1u64, u64::saturating_mul);
        match u32::try_from(threads) {
            Ok(count) if (1..=MOST_THREADS).contains(&threads) => Ok(count),
            _ => Err(LaunchError::Threads { threads, most: MOST_THREADS }),
        }
    }

    /// The place of a linear index in a shape.
    pub(crate) fn index_in(shape: [u32; 3], linear: u32) -> [u32; 3] {
        let [x, y, _] = shape.map(|extent| extent.max(1));
        [linear % x, linear / x % y, linear / x / y]
    }
}

/// The last name in a mangled one: `part` of `_ZZ3sumvE4part`, `sum` of `_Z3sumPi`; what is not mangled as it is.
pub(crate) fn plain_name(mangled: &str) -> &str {
    let Some(mut rest) = mangled.strip_prefix("_Z") else { return mangled };
    let mut last = mangled;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length: usize = rest.get(..digits).and_then(|digits| digits.parse().ok()).unwrap_or(0);
        match rest.get(digits..digits.saturating_add(length)).filter(|name| !name.is_empty()) {
            Some(name) => {
                last = name;
                rest = rest.get(digits + length..).unwrap_or("");
            }
            None => rest = rest.get(rest.chars().next().map_or(1, char::len_utf8)..).unwrap_or(""),
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::plain_name;

    #[test]
    fn the_last_name_counts() {
        for (mangled, plain) in [
            ("acc", "acc"),
            ("_ZL3acc", "acc"),
            ("_ZZ3sumvE4part", "part"),
            ("_ZN2ns3accE", "acc"),
            ("_Z3sumPi", "sum"),
            ("_Z99short", "_Z99short"),
            ("_Zé3acc", "acc"),
        ] {
            assert_eq!(plain_name(mangled), plain, "{mangled}");
        }
    }
}

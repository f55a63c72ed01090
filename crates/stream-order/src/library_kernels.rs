//! Kernels of libraries whose parameters are known by their names: what their arguments say for sure.

use standstill_trace::{LaunchShape, Mode, Parameter, TensorLists};

use crate::arguments::{POINTER, word};

/// No element of a tensor is larger (complex numbers of double precision).
const ELEMENT: u64 = 16;

/// A kind of kernel. (PyTorch, `aten/src/ATen/native/cuda`: `CUDALoops.cuh` and `MultiTensorApply.cuh`.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Library {
    /// `vectorized_elementwise_kernel(int n, F f, array<char*, K> data)`: the first pointer is to the results, the
    /// others to what they are made from, `n` elements each.
    Elementwise,
    /// `unrolled_elementwise_kernel(int n, F f, array<char*, K> data, …)`: the same, where elements may lie apart.
    Unrolled,
    /// `distribution_elementwise_grid_stride_kernel(long n, PhiloxCudaState, F numbers, G store)`: `store` begins with the
    /// pointer to where `n` random numbers go, and with the bytes from one to the next.
    Distribution,
    /// `multi_tensor_apply_kernel(TensorListMetadata<D> lists, …)`: D lists of as many tensors as blocks name.
    Lists(TensorLists),
}

/// Memory that a kernel touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) address: u64,
    pub(crate) mode: Mode,
    /// Bytes that are touched for sure, and at most.
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl Library {
    /// What a kernel is by its mangled name.
    pub(crate) fn of(name: &str, parameters: &[Parameter]) -> Option<Library> {
        let has_array = |index: usize| {
            parameters.get(index).is_some_and(|it| it.bytes >= POINTER && it.bytes % POINTER == 0)
        };
        if name.contains("2at6native29vectorized_elementwise_kernel") && has_array(2) {
            return Some(Library::Elementwise);
        }
        if name.contains("2at6native27unrolled_elementwise_kernel") && has_array(2) {
            return Some(Library::Unrolled);
        }
        if name.contains("43distribution_elementwise_grid_stride_kernel") && has_array(3) {
            return Some(Library::Distribution);
        }
        TensorLists::of(name).map(Library::Lists)
    }

    /// What a launch touches.
    pub(crate) fn pieces(self, shape: &LaunchShape, parameters: &[Parameter]) -> Vec<Piece> {
        match self {
            Library::Elementwise => elementwise(shape, parameters, true),
            Library::Unrolled => elementwise(shape, parameters, false),
            Library::Distribution => distribution(shape, parameters).into_iter().collect(),
            Library::Lists(of) => lists(shape, of).unwrap_or_default(),
        }
    }
}

fn elementwise(shape: &LaunchShape, parameters: &[Parameter], dense: bool) -> Vec<Piece> {
    let [count, _, data, ..] = parameters else { return Vec::new() };
    let Some(elements) = number(&shape.arguments, count.offset).filter(|elements| *elements > 0) else {
        return Vec::new();
    };
    let elements = u64::from(elements);
    let (least, most) = if dense { (elements, elements * ELEMENT) } else { (1, u64::MAX) };
    let words = (0..data.bytes / POINTER).map(|index| data.offset + index * POINTER);
    let words = words.filter_map(|place| word(&shape.arguments, place));
    let modes = std::iter::once(Mode::Write).chain(std::iter::repeat(Mode::Read));
    words.zip(modes).map(|(address, mode)| Piece { address, mode, least, most }).collect()
}

/// Elements may lie apart: only the first byte is sure.
fn distribution(shape: &LaunchShape, parameters: &[Parameter]) -> Option<Piece> {
    let [count, _, _, store, ..] = parameters else { return None };
    let elements = number(&shape.arguments, count.offset).filter(|elements| *elements > 0)?;
    let address = word(&shape.arguments, store.offset)?;
    let stride = number(&shape.arguments, store.offset + POINTER)?;
    let most = (u64::from(elements) - 1) * u64::from(stride) + ELEMENT;
    Some(Piece { address, mode: Mode::Write, least: 1, most })
}

/// The pointers of each list, with the tensors' sizes.
fn lists(shape: &LaunchShape, of: TensorLists) -> Option<Vec<Piece>> {
    let tensors = of.tensors(&shape.arguments, shape.grid.first().copied()?)?;
    let words = of.set(&shape.arguments, tensors).map(|words| words.as_chunks::<8>().0);
    let mut words: Vec<&[[u8; 8]]> = words.collect();
    let sizes = words.pop()?;
    let mut pieces = Vec::new();
    for list in words {
        for (address, elements) in list.iter().zip(sizes) {
            let most = u64::from_le_bytes(*elements).saturating_mul(ELEMENT);
            pieces.push(Piece {
                address: u64::from_le_bytes(*address),
                mode: Mode::May,
                least: most.min(1),
                most,
            });
        }
    }
    Some(pieces)
}

fn number(arguments: &[u8], place: u32) -> Option<u32> {
    let bytes = arguments.get(place as usize..)?.first_chunk()?;
    u32::try_from(i32::from_le_bytes(*bytes)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MULTIPLY: &str = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13AUnaryFunctorIfffNS0_15\
                            binary_internal10MulFunctorIfEEEESt5arrayIPcLm2EEEEviT0_T1_";
    const ADD_LISTS: &str = "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_18TensorListMetadataILi2EEENS1_24\
                             BinaryOpListAlphaFunctorIfLi2ELi2ELi0EEEJSt4plusIfEfEEEvT_T0_DpT1_";

    fn shape(grid: u32, arguments: Vec<u8>) -> LaunchShape {
        let [block, cluster] = [[128, 1, 1], [1; 3]];
        let grid = [grid, 1, 1];
        LaunchShape { kernel: 1, grid, block, cluster, dynamic_shared: 0, cooperative: false, arguments }
    }

    #[test]
    fn elementwise_kernels_write_the_first_of_their_tensors() {
        let parameters = [(0, 4), (4, 8), (16, 16)].map(|(offset, bytes)| Parameter { offset, bytes });
        let library = Library::of(MULTIPLY, &parameters).unwrap();
        let mut arguments = vec![0; 32];
        arguments[..4].copy_from_slice(&1000_u32.to_le_bytes());
        arguments[16..24].copy_from_slice(&0x1000_u64.to_le_bytes());
        arguments[24..].copy_from_slice(&0x2000_u64.to_le_bytes());
        let piece = |address, mode| Piece { address, mode, least: 1000, most: 16_000 };
        let expected = [piece(0x1000, Mode::Write), piece(0x2000, Mode::Read)];
        assert_eq!(library.pieces(&shape(8, arguments), &parameters), expected);
        assert_eq!(library.pieces(&shape(8, vec![0; 3]), &parameters), []);
        assert_eq!(Library::of(MULTIPLY, &parameters[..2]), None);
    }

    #[test]
    fn random_numbers_go_where_the_last_parameter_points() {
        let name = "_ZN2at6native54_GLOBAL__N__d8ceb000_21_DistributionNormal_cu_0c5b6e8543distribution_elementwise_grid\
                    _stride_kernelIfLi4EZNS0_9templates4cuda20normal_and_transformE";
        let parameters =
            [(0, 8), (8, 32), (40, 1), (48, 24)].map(|(offset, bytes)| Parameter { offset, bytes });
        let library = Library::of(name, &parameters).unwrap();
        let mut arguments = vec![0; 72];
        arguments[0] = 5;
        arguments[48..56].copy_from_slice(&0x1000_u64.to_le_bytes());
        arguments[56] = 4;
        let expected = Piece { address: 0x1000, mode: Mode::Write, least: 1, most: 32 };
        assert_eq!(library.pieces(&shape(8, arguments.clone()), &parameters), [expected]);
        arguments[0] = 0;
        assert_eq!(library.pieces(&shape(8, arguments), &parameters), []);
        assert_eq!(Library::of(name, &parameters[..3]), None);
    }

    #[test]
    fn lists_have_as_many_tensors_as_their_blocks_name() {
        let library = Library::of(ADD_LISTS, &[]).unwrap();
        assert_eq!(library, Library::Lists(TensorLists::with_depth(2).unwrap()));
        let mut arguments = vec![0xee; 3152];
        let mut put = |place: usize, value: u64| {
            arguments[place..place + 8].copy_from_slice(&value.to_le_bytes());
        };
        [(0, 0x1000), (8, 0x2000), (512, 0x3000), (520, 0x4000), (1024, 10), (1032, 20)]
            .into_iter()
            .for_each(|(place, value)| put(place, value));
        arguments[1536..1540].copy_from_slice(&[0, 1, 1, 200]);
        let piece = |address, most| Piece { address, mode: Mode::May, least: 1, most };
        let expected = [piece(0x1000, 160), piece(0x2000, 320), piece(0x3000, 160), piece(0x4000, 320)];
        assert_eq!(library.pieces(&shape(3, arguments), &[]), expected);
    }
}

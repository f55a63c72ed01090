//! Arguments of kernels that go over lists of tensors (PyTorch, `aten/src/ATen/native/cuda/MultiTensorApply.cuh`).
//!
//! Their first parameter is a structure with room for many tensors, of which each launch sets as many as it needs: pointers by
//! list and tensor, the tensors' sizes in elements, then which tensor each block works on. The rest holds whatever stood
//! there before.

/// Tensors that there is room for, by the number of lists from 1, and blocks.
const TENSORS: [usize; 5] = [110, 64, 48, 36, 30];
const BLOCKS: usize = 320;
const WORD: usize = 8;

/// The first parameter of such a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorLists {
    /// How many lists it has: 1 to 5.
    depth: u8,
}

impl TensorLists {
    /// What a kernel has by its mangled name.
    #[must_use]
    pub fn of(name: &str) -> Option<TensorLists> {
        let (_, lists) = name.split_once("25multi_tensor_apply_kernelI")?;
        // The first template argument is the type of the first parameter.
        let (before, depth) = lists.split_once("18TensorListMetadataILi")?;
        let depth = depth.chars().next()?.to_digit(10)?;
        let known = before.len() < 8 && (1..=TENSORS.len() as u32).contains(&depth);
        known.then_some(TensorLists { depth: depth as u8 })
    }

    /// The number of lists, from 1; 0 for a kernel that has none.
    #[must_use]
    pub fn depth(lists: Option<TensorLists>) -> u8 {
        lists.map_or(0, |lists| lists.depth)
    }

    /// The lists of a kernel that has so many.
    #[must_use]
    pub fn with_depth(depth: u8) -> Option<TensorLists> {
        (1..=TENSORS.len()).contains(&usize::from(depth)).then_some(TensorLists { depth })
    }

    fn room(self) -> usize {
        TENSORS.get(usize::from(self.depth).wrapping_sub(1)).copied().unwrap_or(0)
    }

    /// The number of tensors of each list that a launch with so many blocks has set; `None` where there is no room for
    /// what it says.
    #[must_use]
    pub fn tensors(self, parameter: &[u8], blocks: u32) -> Option<usize> {
        let of_block = (usize::from(self.depth) + 1) * self.room() * WORD;
        let named = parameter.get(of_block..)?.get(..BLOCKS.min(blocks as usize))?;
        Some((usize::from(*named.iter().max()?) + 1).min(self.room()))
    }

    /// The pointers of a list, or, behind the last one, the sizes: bytes of the first so many tensors.
    #[must_use]
    pub fn words(self, parameter: &[u8], list: u8, tensors: usize) -> Option<&[u8]> {
        parameter.get(usize::from(list) * self.room() * WORD..)?.get(..tensors * WORD)
    }

    /// All that a launch has set of it, piece by piece: pointers, then sizes.
    pub fn set<'a>(self, parameter: &'a [u8], tensors: usize) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        (0..=self.depth).map_while(move |list| self.words(parameter, list, tensors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_in_the_name_and_their_tensors_in_the_blocks() {
        let name =
            "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_18TensorListMetadataILi2EEENS1_24B";
        let lists = TensorLists::of(name).unwrap();
        assert_eq!(TensorLists::depth(Some(lists)), 2);
        assert_eq!(TensorLists::of("_Z4plusPf"), None);
        assert_eq!((TensorLists::with_depth(0), TensorLists::with_depth(6)), (None, None));
        let mut parameter = vec![9; 3144];
        // Two blocks for the first tensor, one for the second.
        parameter[3 * 64 * 8..][..3].copy_from_slice(&[0, 0, 1]);
        assert_eq!(lists.tensors(&parameter, 3), Some(2));
        assert_eq!(lists.tensors(&parameter, 4), Some(10));
        assert_eq!(lists.tensors(&parameter[..1500], 3), None);
        assert_eq!(lists.set(&parameter, 2).map(<[u8]>::len).collect::<Vec<_>>(), [16, 16, 16]);
        assert_eq!(lists.set(&parameter[..600], 2).count(), 2);
    }
}

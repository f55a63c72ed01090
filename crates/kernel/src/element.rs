//! What buffers hold.

/// A value that buffers hold and kernels compute with: numbers, `bool`, and arrays of them.
pub trait Element: Copy + sealed::Sealed {
    /// Its size in memory, in bytes.
    const BYTES: usize;

    /// Appends its bytes.
    fn write(&self, bytes: &mut Vec<u8>);

    /// The value of so many bytes.
    fn read(bytes: &[u8]) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($ty:ty),*) => { $(
        impl sealed::Sealed for $ty {}
        impl Element for $ty {
            const BYTES: usize = size_of::<$ty>();

            fn write(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> $ty {
                bytes.first_chunk().map_or(<$ty>::default(), |bytes| <$ty>::from_le_bytes(*bytes))
            }
        }
    )* };
}

numbers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f32, f64);

impl sealed::Sealed for bool {}

impl Element for bool {
    const BYTES: usize = 1;

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(*self));
    }

    fn read(bytes: &[u8]) -> bool {
        bytes.first().is_some_and(|byte| *byte != 0)
    }
}

impl<T: Element, const N: usize> sealed::Sealed for [T; N] {}

impl<T: Element, const N: usize> Element for [T; N] {
    const BYTES: usize = N * T::BYTES;

    fn write(&self, bytes: &mut Vec<u8>) {
        self.iter().for_each(|element| element.write(bytes));
    }

    fn read(bytes: &[u8]) -> [T; N] {
        std::array::from_fn(|index| T::read(bytes.get(index * T::BYTES..).unwrap_or_default()))
    }
}

//! Which element of a matrix lies where in the registers of a warp.
//!
//! All shapes are made of blocks of eight rows (or columns) by four lanes: lane `4 g + t` holds, of each
//! block, some consecutive elements of row `g`, from position `t` on. `mma.sync` documents this;
//! `wmma` leaves it open, and the same rule gives what the card (sm_90) does.

use crate::{Fragment, Type};

/// One matrix of a product, with its size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tile {
    pub(super) fragment: Fragment,
    pub(super) rows: u32,
    pub(super) columns: u32,
    /// Bits of an element.
    pub(super) bits: u32,
    /// Elements in a register.
    pub(super) parts: u32,
    /// Registers of each lane.
    pub(super) registers: u32,
    /// Registers that hold different elements; the others repeat them.
    distinct: u32,
    /// 8×32 results are kept transposed.
    transposed: bool,
}

impl Tile {
    /// A matrix of an m×n×k product; `None` for shapes that do not exist.
    pub(super) fn new(fragment: Fragment, (m, n, k): (u32, u32, u32), ty: Type, wmma: bool) -> Option<Tile> {
        let bits = ty.bits();
        if bits == 0 || bits > 64 || m == 0 || n == 0 || k == 0 {
            return None;
        }
        let parts = (32 / bits).max(1);
        let (rows, columns) = match fragment {
            Fragment::A => (m, k),
            Fragment::B => (k, n),
            Fragment::C => (m, n),
            Fragment::Rows | Fragment::Unknown => return None,
        };
        let distinct = rows * columns / 32 / parts;
        if distinct * 32 * parts != rows * columns || rows * columns > 8192 {
            return None;
        }
        // Factors of half precision take eight registers whatever the shape.
        let repeats = wmma && ty == Type::F16 && fragment != Fragment::C;
        let registers = if repeats { 8 } else { distinct };
        let transposed = fragment == Fragment::C && (m, n) == (8, 32);
        Some(Tile { fragment, rows, columns, bits, parts, registers, distinct, transposed })
    }

    /// Row and column of an element: `part` of a lane's register.
    #[inline]
    pub(super) fn place(&self, register: u32, part: u32, lane: u32) -> (u32, u32) {
        let (group, thread) = (lane / 4, lane % 4);
        let register = register % self.distinct.max(1);
        let along = thread * self.parts + part;
        let depth = 4 * self.parts;
        match self.fragment {
            Fragment::A => {
                let blocks = (self.rows / 8).max(1);
                (group + 8 * (register % blocks), along + depth * (register / blocks))
            }
            Fragment::B => {
                let blocks = (self.rows / depth).max(1);
                (along + depth * (register % blocks), group + 8 * (register / blocks))
            }
            _ => {
                let element = register * self.parts + part;
                let (block, pair) = (element / 2, 2 * thread + element % 2);
                if self.transposed {
                    return (pair, group + 8 * block);
                }
                let blocks = (self.rows / 8).max(1);
                (group + 8 * (block % blocks), pair + 8 * (block / blocks))
            }
        }
    }

    /// Position of an element in a matrix kept row by row.
    #[inline]
    pub(super) fn index(&self, (row, column): (u32, u32)) -> usize {
        (row * self.columns + column) as usize
    }

    /// The elements, row by row.
    pub(super) fn gather(&self, registers: &[[u64; super::LANES]]) -> Vec<u64> {
        let mut elements = vec![0; (self.rows * self.columns) as usize];
        let mask = u64::MAX >> (64 - self.bits);
        for (values, register) in registers.iter().zip(0..self.distinct) {
            for (&value, lane) in values.iter().zip(0u32..) {
                for part in 0..self.parts {
                    if let Some(element) = elements.get_mut(self.index(self.place(register, part, lane))) {
                        *element = value >> (self.bits * part) & mask;
                    }
                }
            }
        }
        elements
    }

    /// Puts elements into registers.
    pub(super) fn scatter(&self, elements: &[u64], registers: &mut [[u64; super::LANES]]) {
        for (values, register) in registers.iter_mut().zip(0..self.registers) {
            for (value, lane) in values.iter_mut().zip(0u32..) {
                *value = (0..self.parts).fold(0, |value, part| {
                    let element = elements.get(self.index(self.place(register, part, lane)));
                    value | element.copied().unwrap_or(0) << (self.bits * part)
                });
            }
        }
    }
}

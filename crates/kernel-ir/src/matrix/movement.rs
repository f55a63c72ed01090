//! What moves between memory and the registers of a warp: `ldmatrix`, `stmatrix`, `movmatrix`,
//! `wmma.load` and `wmma.store`.

use super::layout::Tile;
use super::{Fragment, LANES, MatrixFragment};

/// Some consecutive bytes of memory that are part of one lane's register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Which register of the instruction's list.
    pub register: usize,
    /// Whose register.
    pub lane: usize,
    /// The lane whose address operand counts.
    pub address_lane: usize,
    /// Bytes after that address.
    pub offset: u64,
    /// How many bytes, 1 to 8.
    pub bytes: u32,
    /// Bits below the piece in the register.
    pub shift: u32,
}

impl MatrixFragment {
    /// Registers of each lane; `None` for a form that is not modelled.
    pub fn registers(&self) -> Option<usize> {
        match self.fragment {
            Fragment::Rows => matches!(self.k, 1 | 2 | 4).then_some(self.k.into()),
            _ => Some(self.tile()?.registers as usize),
        }
    }

    fn tile(&self) -> Option<Tile> {
        Tile::new(self.fragment, (self.m.into(), self.n.into(), self.k.into()), self.ty, true)
    }
}

/// Calls `each` with every piece that a load or store moves. `stride` is the distance of rows (or of
/// columns, for a matrix that is kept by columns) in elements; `None` stands for rows that lie
/// without gaps. Nothing is called, and `None` returned, for a form that is not modelled.
///
/// A repeated element of a load comes once for each register that holds it.
pub fn pieces(fragment: &MatrixFragment, stride: Option<u64>, mut each: impl FnMut(Piece)) -> Option<()> {
    if fragment.fragment == Fragment::Rows {
        for register in 0..fragment.registers()? {
            for lane in 0..LANES {
                rows(register, lane, fragment.column, &mut each);
            }
        }
        return Some(());
    }
    let tile = fragment.tile()?;
    let natural = if fragment.column { tile.rows } else { tile.columns };
    let stride = stride.unwrap_or(natural.into());
    let bits = u64::from(tile.bits);
    for register in 0..tile.registers {
        for lane in 0..LANES as u32 {
            let mut run: Option<(u64, u32, u32)> = None;
            let mut give = |(start, length, shift): (u64, u32, u32)| {
                each(Piece {
                    register: register as usize,
                    lane: lane as usize,
                    address_lane: lane as usize,
                    offset: start / 8,
                    bytes: length.div_ceil(8),
                    shift,
                });
            };
            for part in 0..tile.parts {
                let (row, column) = tile.place(register, part, lane);
                let (line, at) = if fragment.column { (column, row) } else { (row, column) };
                let start = u64::from(line).wrapping_mul(stride).wrapping_add(at.into()).wrapping_mul(bits);
                run = match run {
                    Some((first, length, shift)) if first.wrapping_add(length.into()) == start => {
                        Some((first, length + tile.bits, shift))
                    }
                    other => {
                        if let Some(done) = other {
                            give(done);
                        }
                        Some((start, tile.bits, tile.bits * part))
                    }
                };
            }
            if let Some(done) = run {
                give(done);
            }
        }
    }
    Some(())
}

/// The pieces of one register of 8×8 matrices of 16-bit elements. Lane `8 i + r` gives the address of
/// row `r` of matrix `i`.
fn rows(register: usize, lane: usize, transposed: bool, each: &mut impl FnMut(Piece)) {
    let (group, thread) = (lane / 4, lane % 4);
    if !transposed {
        let address_lane = 8 * register + group;
        each(Piece { register, lane, address_lane, offset: 4 * thread as u64, bytes: 4, shift: 0 });
        return;
    }
    for part in 0..2 {
        let address_lane = 8 * register + 2 * thread + part;
        let shift = 16 * part as u32;
        each(Piece { register, lane, address_lane, offset: 2 * group as u64, bytes: 2, shift });
    }
}

/// `movmatrix.trans`: an 8×8 matrix of 16-bit elements, transposed across the warp.
pub fn transpose(source: &[u64; LANES]) -> [u64; LANES] {
    let element = |row: usize, column: usize| {
        let value = source.get(4 * row + column / 2).copied().unwrap_or(0);
        value >> (16 * (column % 2)) & 0xffff
    };
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        element(column, row) | element(column + 1, row) << 16
    })
}

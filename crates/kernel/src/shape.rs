//! How many cells a launch has, and how they form tiles.

/// The space of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grid {
    /// So many cells in x, y and z. The last tiles may have cells beyond, for which `in_bounds_x()` is false.
    Cells([u32; 3]),
    /// So many tiles in x, y and z, all of whose cells are in bounds.
    Tiles([u32; 3]),
}

/// The cells of a tile in x, y and z.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile(pub [u32; 3]);

/// One, two or three extents.
pub trait Extents {
    /// All three; those not given are 1.
    fn three(self) -> [u32; 3];
}

impl Extents for u32 {
    fn three(self) -> [u32; 3] {
        [self, 1, 1]
    }
}

impl Extents for [u32; 2] {
    fn three(self) -> [u32; 3] {
        let [x, y] = self;
        [x, y, 1]
    }
}

impl Extents for [u32; 3] {
    fn three(self) -> [u32; 3] {
        self
    }
}

/// A space of so many cells: `cells(1000)`, `cells([640, 480])`.
pub fn cells(extents: impl Extents) -> Grid {
    Grid::Cells(extents.three())
}

/// A space of so many whole tiles: `tiles(4)`, `tiles([8, 8])`.
pub fn tiles(extents: impl Extents) -> Grid {
    Grid::Tiles(extents.three())
}

impl<E: Extents> From<E> for Tile {
    fn from(extents: E) -> Tile {
        Tile(extents.three())
    }
}

impl Grid {
    /// Tiles in x, y and z, and cells in x, y and z; `None` when they are too many to count.
    pub(crate) fn shape(self, tile: Tile) -> Option<([u32; 3], [u32; 3])> {
        let mut shape = ([0; 3], [0; 3]);
        let (Grid::Cells(extents) | Grid::Tiles(extents)) = self;
        for (axis, (extent, size)) in extents.into_iter().zip(tile.0).enumerate() {
            let (tiles, cells) = match self {
                Grid::Cells(_) => (extent.div_ceil(size.max(1)), extent),
                Grid::Tiles(_) => (extent, extent.checked_mul(size)?),
            };
            *shape.0.get_mut(axis)? = tiles;
            *shape.1.get_mut(axis)? = cells;
        }
        Some(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_all_cells() {
        assert_eq!(cells(1000).shape(Tile::from(256)), Some(([4, 1, 1], [1000, 1, 1])));
        assert_eq!(tiles(4).shape(Tile::from(256)), Some(([4, 1, 1], [1024, 1, 1])));
        assert_eq!(cells([33, 8]).shape(Tile::from([16, 8])), Some(([3, 1, 1], [33, 8, 1])));
        assert_eq!(tiles(u32::MAX).shape(Tile::from(256)), None);
    }
}

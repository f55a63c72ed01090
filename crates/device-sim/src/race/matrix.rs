//! Matrices that a warp loads and stores together: each lane accesses what its registers take or give.

use standstill_kernel_ir::{MatrixKind, matrix};

use super::Race;
use super::touch::Places;
use crate::decode::code::{LANES, Micro};
use crate::exec::core::Core;

impl Race {
    /// `ldmatrix`, `stmatrix`, `wmma.load`, `wmma.store`.
    pub(super) fn matrix(&mut self, core: &Core<'_>, op: &Micro, position: usize, kind: MatrixKind) {
        let (fragment, write) = match kind {
            MatrixKind::Load(fragment) => (fragment, false),
            MatrixKind::Store(fragment) => (fragment, true),
            _ => return,
        };
        let Some(whole) = core.code.operations.get(op.x as usize) else { return };
        let Some(registers) = fragment.registers() else { return };
        // Lanes that are still to come make the warp do it again.
        if core.active | core.spare != u32::MAX {
            return;
        }
        let stride = whole.source(1 + if write { registers } else { 0 });
        let first = core.active.trailing_zeros() as usize;
        let stride = stride.is_some().then(|| core.read(stride, first) & 0xffff_ffff);
        let mut pieces = Vec::new();
        if matrix::pieces(&fragment, stride, |piece| pieces.push(piece)).is_none() {
            return;
        }
        let site = self.site(core, position, None, write, false);
        let (block, warp) = (core.place.block, core.place.warp);
        for piece in pieces {
            let address = core.read(whole.source(0), piece.address_lane).wrapping_add(piece.offset);
            let Some((memory, address)) = self.memory(block, fragment.space, address) else { continue };
            let bytes = u64::from(piece.bytes);
            if bytes.is_power_of_two() && address.is_multiple_of(bytes) {
                let mut at = [0; LANES];
                if let Some(of_lane) = at.get_mut(piece.lane) {
                    *of_lane = address;
                }
                let places = Places::Apart(&at, 1 << (piece.lane % LANES));
                self.together((block, warp, piece.lane), memory, (site, 0, write), (places, bytes));
            }
        }
    }
}

//! Registers of a warp that does not run.

use super::warp::Warp;
use crate::decode::code::{LANES, Place, Plane};

impl Warp {
    /// One lane's value of a register.
    pub(crate) fn value(&self, frame: u32, place: Place, lane: usize) -> u64 {
        let Some(frame) = self.flow.frames.get(frame as usize) else { return 0 };
        let code = &frame.code.0;
        let row = place.slot.row();
        let lane = lane % LANES;
        match (place.is_some(), place.slot.is_constant(), place.plane) {
            (false, ..) => 0,
            (_, true, Plane::Narrow) => code.constants32.get(row).map_or(0, |row| row.0[lane].into()),
            (_, true, Plane::Wide) => code.constants64.get(row).map_or(0, |row| row.0[lane]),
            (_, true, Plane::Predicate) => (row as u64) ^ u64::from(place.slot.is_negated()),
            (_, false, Plane::Narrow) => {
                self.registers.narrow.get(frame.base.narrow + row).map_or(0, |row| row.0[lane].into())
            }
            (_, false, Plane::Wide) => {
                self.registers.wide.get(frame.base.wide + row).map_or(0, |row| row.0[lane])
            }
            (_, false, Plane::Predicate) => {
                let bits = self.registers.predicates.get(frame.base.predicates + row).copied().unwrap_or(0);
                u64::from((bits >> lane & 1) ^ u32::from(place.slot.is_negated()))
            }
        }
    }

    /// Writes a register of a warp that does not run.
    pub(crate) fn set_value(&mut self, frame: u32, place: Place, lane: usize, value: u64) {
        let Some(base) = self.flow.frames.get(frame as usize).map(|frame| frame.base) else { return };
        if !place.is_some() || place.slot.is_constant() {
            return;
        }
        let row = place.slot.row();
        match place.plane {
            Plane::Narrow => {
                if let Some(row) = self.registers.narrow.get_mut(base.narrow + row) {
                    row.0[lane % LANES] = value as u32;
                }
            }
            Plane::Wide => {
                if let Some(row) = self.registers.wide.get_mut(base.wide + row) {
                    row.0[lane % LANES] = value;
                }
            }
            Plane::Predicate => {
                if let Some(bits) = self.registers.predicates.get_mut(base.predicates + row) {
                    *bits = (*bits & !(1 << lane)) | ((value & 1) as u32) << lane;
                }
            }
        }
    }
}

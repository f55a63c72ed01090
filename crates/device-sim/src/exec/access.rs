//! One lane's access to memory, whatever the space: the careful way, with exact faults.

use std::sync::Arc;

use standstill_kernel_ir::Space;

use super::core::Core;
use crate::address::{self, Window};
use crate::fault::{Beside, FaultKind};
use crate::hang::livelock::ledger::Way;
use crate::hang::names;
use crate::memory::ahead::Pace;
use crate::memory::region::Region;

/// Texts of the program are cut after this many bytes.
const LONGEST_TEXT: usize = 1 << 16;

/// Where an address leads.
pub(crate) enum Target {
    /// Global or shared memory, at an offset.
    Region(Arc<Region>, usize),
    /// The lane's local memory, at an offset.
    Local(u32),
    /// The kernel's parameters, at an offset.
    Parameters(u32),
}

/// What an address means in a space.
pub(crate) fn window_of(space: Space, address: u64) -> Window {
    match space {
        Space::Shared | Space::SharedCluster => address::shared(address as u32),
        Space::Local => Window::Local((address as u32).wrapping_sub(address::LOCAL as u32)),
        Space::Param => Window::Parameters((address as u32).wrapping_sub(address::PARAMETERS as u32)),
        Space::Global | Space::Const => Window::Global,
        Space::Generic | Space::Tensor => address::window(address),
    }
}

impl Core<'_> {
    /// Finds what `bytes` bytes at an address are. `align` is what the address must be a multiple of.
    pub(crate) fn resolve(
        &mut self,
        space: Space,
        address: u64,
        bytes: u32,
        align: u32,
        write: bool,
    ) -> Result<Target, FaultKind> {
        let window = window_of(space, address);
        let (name, found) = match window {
            Window::Global => {
                let allocation = self.grid.allocation(address);
                let inside =
                    allocation.filter(|found| address - found.address + u64::from(bytes) <= found.bytes);
                let target = inside.map(|found| {
                    Target::Region(Arc::clone(&found.region), (address - found.address) as usize)
                });
                ("global", target)
            }
            Window::Shared { rank, offset } => {
                let region = match rank {
                    None => Some(&self.block.shared),
                    Some(rank) => self.block.cluster.get(rank as usize),
                };
                let inside = region.filter(|region| offset as usize + bytes as usize <= region.len());
                ("shared", inside.map(|region| Target::Region(Arc::clone(region), offset as usize)))
            }
            Window::Local(offset) => {
                let inside = offset.checked_add(bytes).is_some_and(|end| end <= self.local_end());
                ("local", inside.then_some(Target::Local(offset)))
            }
            Window::Parameters(offset) => {
                let end = (offset as usize).checked_add(bytes as usize);
                let inside = end.is_some_and(|end| end <= self.grid.parameters.len()) && !write;
                ("parameter", inside.then_some(Target::Parameters(offset)))
            }
        };
        match found {
            Some(_) if !address.is_multiple_of(align.max(1).into()) => {
                Err(FaultKind::Misaligned { address, bytes, write, space: name })
            }
            Some(target) => Ok(target),
            None => Err(FaultKind::OutOfBounds {
                address,
                bytes,
                write,
                space: name,
                nearest: self.nearest(window, address),
            }),
        }
    }

    /// One past the last byte of local memory that the running function and its callers have.
    fn local_end(&self) -> u32 {
        self.local_base.saturating_add(self.code.local_used)
    }

    /// The memory that an address which is none lies beside.
    #[cold]
    fn nearest(&self, window: Window, address: u64) -> Option<Beside> {
        match window {
            Window::Global => self.grid.nearest(address),
            Window::Shared { rank, offset } => {
                let region = match rank {
                    None => Some(&self.block.shared),
                    Some(rank) => self.block.cluster.get(rank as usize),
                };
                let (name, start, bytes) = names::last_shared(self.grid, region?.len() as u64)?;
                let whole = Beside { address: start, bytes, mark: 0, name };
                Some(Beside { address: address - u64::from(offset) + start, ..whole })
            }
            Window::Local(offset) => Some(Beside {
                address: address - u64::from(offset),
                bytes: self.local_end().into(),
                mark: 0,
                name: "local variables".to_owned(),
            }),
            Window::Parameters(_) => None,
        }
    }

    /// Reads up to eight bytes without being noticed; `None` where there is nothing.
    pub(crate) fn peek(&mut self, space: Space, lane: usize, address: u64, bytes: u32) -> Option<u64> {
        let target = self.resolve(space, address, bytes, bytes, false).ok()?;
        Some(self.get(&target, space, lane, address, bytes))
    }

    /// Reads up to eight bytes.
    pub(crate) fn read_memory(
        &mut self,
        space: Space,
        lane: usize,
        address: u64,
        bytes: u32,
    ) -> Result<u64, FaultKind> {
        let target = self.resolve(space, address, bytes, bytes, false)?;
        let value = self.get(&target, space, lane, address, bytes);
        if self.spy.recording {
            self.note_access(&target, lane, (address, bytes), Way::Read, value);
            self.spy.read(&target, lane, address, bytes, value);
        }
        Ok(value)
    }

    /// Writes up to eight bytes.
    pub(crate) fn write_memory(
        &mut self,
        space: Space,
        lane: usize,
        address: u64,
        bytes: u32,
        value: u64,
    ) -> Result<(), FaultKind> {
        let target = self.resolve(space, address, bytes, bytes, true)?;
        if self.spy.recording {
            self.note_access(&target, lane, (address, bytes), Way::Write, value);
            self.spy.effect |= self.get(&target, space, lane, address, bytes) != low(value, bytes);
        }
        match &mut self.grid.pace {
            None => {}
            Some(_) if window_of(space, address) != Window::Global => {}
            Some(Pace::InTurn(written)) => written.add(address, bytes.into()),
            Some(Pace::Ahead(ahead)) => {
                ahead.write(address, bytes, value);
                return Ok(());
            }
        }
        match target {
            Target::Region(region, offset) => {
                region.note_written(offset, bytes as usize);
                match bytes {
                    1 => region.store(offset, value as u8),
                    2 => region.store(offset, value as u16),
                    4 => region.store(offset, value as u32),
                    _ => region.store(offset, value),
                };
            }
            Target::Local(offset) => {
                if let Some(slice) = self.local.slice(lane, offset, bytes as usize) {
                    for (byte, new) in slice.iter_mut().zip(value.to_le_bytes()) {
                        *byte = new;
                    }
                }
            }
            Target::Parameters(_) => {}
        }
        Ok(())
    }

    /// Changes up to eight bytes as one atomic step and gives the old value.
    pub(crate) fn update_memory(
        &mut self,
        space: Space,
        lane: usize,
        address: u64,
        bytes: u32,
        change: impl Fn(u64) -> u64,
    ) -> Result<u64, FaultKind> {
        let target = self.resolve(space, address, bytes, bytes, true)?;
        match &mut self.grid.pace {
            None => {}
            Some(_) if window_of(space, address) != Window::Global => {}
            Some(Pace::InTurn(written)) => written.add(address, bytes.into()),
            Some(Pace::Ahead(ahead)) => {
                ahead.failed = true;
                return Ok(0);
            }
        }
        if self.spy.recording {
            let old = self.get(&target, space, lane, address, bytes);
            let way = if low(change(old), bytes) == old { Way::Read } else { Way::Update };
            self.note_access(&target, lane, (address, bytes), way, change(old));
        }
        let old = match &target {
            Target::Region(region, offset) => {
                let offset = *offset;
                region.note_written(offset, bytes as usize);
                match bytes {
                    1 => region.update(offset, |old: u8| change(old.into()) as u8).map(u64::from),
                    2 => region.update(offset, |old: u16| change(old.into()) as u16).map(u64::from),
                    4 => region.update(offset, |old: u32| change(old.into()) as u32).map(u64::from),
                    _ => region.update(offset, &change),
                }
                .unwrap_or_default()
            }
            Target::Local(offset) => {
                let old = self.get(&target, space, lane, address, bytes);
                let new = change(old).to_le_bytes();
                if let Some(slice) = self.local.slice(lane, *offset, bytes as usize) {
                    for (byte, new) in slice.iter_mut().zip(new) {
                        *byte = new;
                    }
                }
                old
            }
            Target::Parameters(_) => 0,
        };
        if self.spy.recording {
            self.spy.read(&target, lane, address, bytes, old);
            if low(change(old), bytes) != old {
                self.spy.effect = true;
            }
        }
        Ok(old)
    }

    fn get(&mut self, target: &Target, space: Space, lane: usize, address: u64, bytes: u32) -> u64 {
        match target {
            Target::Region(region, offset) => {
                let value = load(region, *offset, bytes).unwrap_or_default();
                match &mut self.grid.pace {
                    Some(Pace::Ahead(ahead)) if window_of(space, address) == Window::Global => {
                        ahead.patch(address, bytes, value)
                    }
                    _ => value,
                }
            }
            Target::Local(offset) => match self.local.slice(lane, *offset, bytes as usize) {
                Some(slice) => little(slice),
                None => 0,
            },
            Target::Parameters(offset) => {
                let start = *offset as usize;
                little(self.grid.parameters.get(start..start + bytes as usize).unwrap_or(&[]))
            }
        }
    }

    /// Reads a text up to its zero byte, or to where memory ends.
    pub(crate) fn read_text(&mut self, lane: usize, address: u64) -> Vec<u8> {
        let mut text = Vec::new();
        while text.len() < LONGEST_TEXT {
            match self.read_memory(Space::Generic, lane, address.wrapping_add(text.len() as u64), 1) {
                Ok(byte) if byte != 0 => text.push(byte as u8),
                _ => break,
            }
        }
        text
    }
}

/// Reads up to eight bytes of a region.
pub(crate) fn load(region: &Region, offset: usize, bytes: u32) -> Option<u64> {
    match bytes {
        1 => region.load::<u8>(offset).map(u64::from),
        2 => region.load::<u16>(offset).map(u64::from),
        4 => region.load::<u32>(offset).map(u64::from),
        _ => region.load::<u64>(offset),
    }
}

/// Bytes, the lowest first, as a number.
fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// The low bytes of a value.
pub(crate) fn low(value: u64, bytes: u32) -> u64 {
    match bytes {
        0..=7 => value & ((1 << (bytes * 8)) - 1),
        _ => value,
    }
}

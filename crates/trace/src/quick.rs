//! The records that programs make most often, without detours: programs wait for them.
//!
//! In the binary form a record whose fields are all numbers is these numbers one after the other, each in pieces of seven
//! bits; the kind of a call is its place in the list of calls.

use crate::access::Access;
use crate::format::LENGTH;
use crate::record::{Call, Operation, Site, Target};
use crate::work::{Copied, Work};

/// Who has called, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The host thread.
    pub thread: u32,
    /// Where the call stands in the program.
    pub site: Site,
}

/// A launch that was put into a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launched {
    /// The operation's number.
    pub operation: Operation,
    /// The stream.
    pub stream: u64,
    /// The launch's number.
    pub launch: u32,
}

/// Bytes that a record may need that is put in its place.
pub const ROOM: usize = 256;
/// Numbers of such a record at most: more would not fit, were each as long as numbers can be.
const NUMBERS: usize = (ROOM - LENGTH) / 10;

/// Places in the lists of calls and of works.
const SUBMIT: u64 = 5;
const RECORD_EVENT: u64 = 9;
const WAIT_EVENT: u64 = 10;
const DESTROY_EVENT: u64 = 11;
const SYNCHRONISE: u64 = 12;
const COPY: u64 = 2;
const FILL: u64 = 3;
const LAUNCH: u64 = 8;

/// Writes what [`Writer::write`](crate::Writer::write) writes for a launch in a stream, but for its length, which stands
/// in the first bytes. Gives where it ends.
#[inline(always)]
pub fn put_launch(record: &mut [u8; ROOM], from: Caller, launched: Launched) -> usize {
    let numbers = [
        from.thread.into(),
        from.site.into(),
        SUBMIT,
        launched.operation,
        launched.stream,
        LAUNCH,
        launched.launch.into(),
    ];
    put(record, &numbers)
}

/// The same for another call, where it is one of those that this knows.
pub fn put_call(record: &mut [u8; ROOM], from: Caller, call: &Call) -> Option<usize> {
    let mut numbers = Numbers { all: [0; NUMBERS], count: 0 };
    numbers.add(&[from.thread.into(), from.site.into()])?;
    match call {
        Call::RecordEvent { operation, stream, event } => {
            numbers.add(&[RECORD_EVENT, *operation, *stream, *event])?;
        }
        Call::WaitEvent { operation, stream, event } => {
            numbers.add(&[WAIT_EVENT, *operation, *stream, *event])?;
        }
        Call::DestroyEvent { event } => numbers.add(&[DESTROY_EVENT, *event])?,
        Call::Synchronise(Target::Stream(stream)) => numbers.add(&[SYNCHRONISE, 1, *stream])?,
        Call::Synchronise(Target::Event(event)) => numbers.add(&[SYNCHRONISE, 2, *event])?,
        Call::Submit { operation, stream, work } => {
            numbers.add(&[SUBMIT, *operation, *stream])?;
            match work {
                Work::Copy { copied, accesses } => numbers.add_copy(*copied, accesses)?,
                Work::Fill { done, accesses } => {
                    numbers.add(&[FILL, u64::from(*done)])?;
                    numbers.add_accesses(accesses)?;
                }
                _ => return None,
            }
        }
        _ => return None,
    }
    Some(put(record, numbers.all.get(..numbers.count)?))
}

/// The same for a copy between two places.
pub fn put_copy(
    record: &mut [u8; ROOM],
    from: Caller,
    (operation, stream): (Operation, u64),
    copied: Copied,
    accesses: &[Access; 2],
) -> Option<usize> {
    let mut numbers = Numbers { all: [0; NUMBERS], count: 0 };
    numbers.add(&[from.thread.into(), from.site.into(), SUBMIT, operation, stream])?;
    numbers.add_copy(copied, accesses)?;
    Some(put(record, numbers.all.get(..numbers.count)?))
}

struct Numbers {
    all: [u64; NUMBERS],
    count: usize,
}

impl Numbers {
    fn add(&mut self, numbers: &[u64]) -> Option<()> {
        let to = self.all.get_mut(self.count..)?.get_mut(..numbers.len())?;
        to.copy_from_slice(numbers);
        self.count += numbers.len();
        Some(())
    }

    fn add_copy(&mut self, copied: Copied, accesses: &[Access]) -> Option<()> {
        let Copied { asynchronous, from, to } = copied;
        self.add(&[COPY, asynchronous.into(), from as u64, to as u64])?;
        self.add_accesses(accesses)
    }

    fn add_accesses(&mut self, accesses: &[Access]) -> Option<()> {
        self.add(&[accesses.len() as u64])?;
        accesses.iter().try_for_each(|access| {
            let Access { address, width, rows, pitch, mode, exact } = *access;
            self.add(&[address, width, rows, pitch, mode as u64, exact.into()])
        })
    }
}

/// Puts numbers in pieces of seven bits, the lowest first; bit 7 says that another follows. Gives where they end.
#[inline(always)]
fn put(record: &mut [u8; ROOM], numbers: &[u64]) -> usize {
    let mut end = LENGTH;
    // One after the other: little code is there soonest.
    for number in std::hint::black_box(numbers) {
        let mut number = *number;
        loop {
            let more = number >= 128;
            if let Some(place) = record.get_mut(end % ROOM) {
                *place = number as u8 & 127 | u8::from(more) << 7;
            }
            end += 1;
            number >>= 7;
            if !more {
                break;
            }
        }
    }
    end
}

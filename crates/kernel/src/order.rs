//! What orders the operations of streams on the software GPU: each knows which operations of every stream are done
//! before it, and a buffer knows who has used it. The host counts as stream 0.

use std::collections::HashMap;
use std::panic::Location;

use standstill_findings::{Finding, Outcome, PlatformRow, Rule, Span};

/// The host, as a stream.
pub(crate) const HOST: u32 = 0;

/// Of each stream, how many operations are done.
pub(crate) type Clock = HashMap<u32, u64>;

/// How an operation uses a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// `&[T]`
    Read,
    /// `&mut [T]`
    Write,
    /// `&[Atomic<T>]`
    Update,
}

/// An operation that has used a buffer.
#[derive(Debug, Clone)]
struct Deed {
    stream: u32,
    number: u64,
    how: Use,
    what: String,
    place: &'static Location<'static>,
}

/// The order of a device's operations.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    clocks: HashMap<u32, Clock>,
    /// Who has used a buffer, by its address, as far as later operations must come behind.
    used: HashMap<u64, Vec<Deed>>,
    streams: u32,
}

fn join(clock: &mut Clock, other: &Clock) {
    for (&stream, &number) in other {
        let known = clock.entry(stream).or_default();
        *known = (*known).max(number);
    }
}

impl Orders {
    /// A new stream.
    pub(crate) fn stream(&mut self) -> u32 {
        self.streams += 1;
        self.streams
    }

    /// What is done when all operations of a stream so far are.
    pub(crate) fn recorded(&self, stream: u32) -> Clock {
        self.clocks.get(&stream).cloned().unwrap_or_default()
    }

    /// Later operations of a stream come behind these.
    pub(crate) fn wait(&mut self, stream: u32, event: &Clock) {
        join(self.clocks.entry(stream).or_default(), event);
    }

    /// The buffer is gone.
    pub(crate) fn forget(&mut self, buffer: u64) {
        self.used.remove(&buffer);
    }

    /// An operation of a stream; a finding when it uses a buffer that another may be using still.
    pub(crate) fn operation(
        &mut self,
        stream: u32,
        what: &str,
        uses: &[(u64, Use)],
        place: &'static Location<'static>,
    ) -> Result<(), Box<Finding>> {
        // What the host knows to be done when it submits is done.
        let host = self.recorded(HOST);
        let clock = self.clocks.entry(stream).or_default();
        join(clock, &host);
        let number = clock.entry(stream).or_default();
        *number += 1;
        let number = *number;
        for &(buffer, how) in uses {
            let others = self.used.entry(buffer).or_default();
            let before = |other: &Deed| clock.get(&other.stream).is_some_and(|&done| done >= other.number);
            let own = Deed { stream, number, how, what: what.to_owned(), place };
            if let Some(other) = others.iter().find(|other| conflict(other.how, how) && !before(other)) {
                return Err(Box::new(unordered(other, &own)));
            }
            // What comes behind this one comes behind those that it stands for.
            let stands_for = |other: &Deed| {
                before(other) && (how == Use::Write || other.stream == stream && other.how == how)
            };
            others.retain(|other| !stands_for(other));
            others.push(own);
        }
        Ok(())
    }
}

fn conflict(one: Use, other: Use) -> bool {
    !matches!((one, other), (Use::Read, Use::Read) | (Use::Update, Use::Update))
}

fn unordered(first: &Deed, second: &Deed) -> Finding {
    let by = |deed: &Deed| match deed.stream {
        HOST => format!("{} by the host", deed.what),
        stream => format!("{} in stream {stream}", deed.what),
    };
    let message = format!("nothing orders {} before {}: both use the same buffer", by(first), by(second));
    let mut finding = Finding::new(Rule::StreamRace, second.what.clone(), message);
    finding.platforms = PlatformRow::everywhere(Outcome::WrongResult);
    let place = |it: &Deed| (it.place.file().to_owned(), it.place.line(), it.place.column());
    let (file, line, column) = place(second);
    finding.spans.push(Span::primary(file, line, column, "this may run at the same time"));
    let (file, line, column) = place(first);
    let mut other = Span::primary(file, line, column, "as this");
    other.primary = false;
    finding.spans.push(other);
    finding.help = match second.stream {
        HOST => "synchronize the stream before".to_owned(),
        _ => "record an event behind the first, and let the second's stream wait for it before".to_owned(),
    };
    finding
}

//! Writing down what the program's host code asks, for the check of its order.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use standstill_host_access::{self as host_access, Noted, Thread};
use standstill_trace::{Access, Call, Frame, Mode, Record, Work as Traced, Writer};

use crate::call_site::CallSite;
use crate::host;
use crate::journal::FOLDER;
use crate::operation::{Copy, Fill, Memory, Place, Work};
use crate::queue::StreamKind;

/// Environment variable: `on` when host operations are to be recorded, into the folder of the journal.
pub const RECORD: &str = "STANDSTILL_RECORD";

/// The end of a trace's name in that folder.
pub const SUFFIX: &str = ".trace";

/// Writes the trace of one process.
pub struct Recorder(Mutex<State>);

struct State {
    writer: Writer<File>,
    sites: HashSet<u64>,
    objects: HashMap<String, u32>,
    threads: HashMap<i32, u32>,
    /// Accesses of the host that were noted and are not written.
    noted: Vec<Noted>,
    /// What the function of the host that runs now has touched.
    touched: Vec<Access>,
    /// A trace that could not be written is not gone on with: it would have a hole.
    broken: bool,
}

impl Recorder {
    /// A recorder, where the environment asks for one and the file can be made.
    #[must_use]
    pub fn from_environment() -> Option<Recorder> {
        let folder = std::env::var_os(FOLDER)?;
        if std::env::var_os(RECORD)? != "on" {
            return None;
        }
        let path = Path::new(&folder).join(format!("{}{SUFFIX}", std::process::id()));
        let file = File::options().create_new(true).append(true).open(path).ok()?;
        let writer = Writer::new(file).ok()?;
        let (sites, objects, threads) = (HashSet::new(), HashMap::new(), HashMap::new());
        let (noted, touched) = (Vec::new(), Vec::new());
        Some(Recorder(Mutex::new(State { writer, sites, objects, threads, noted, touched, broken: false })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a call, behind the accesses of the host that came before it.
    pub fn note(&self, site: CallSite, call: Call) {
        let mut state = self.lock();
        state.add_accesses();
        state.add(host::thread_number(), site, call);
    }

    /// Adds the accesses of the host that came so far.
    pub fn note_accesses(&self) {
        self.lock().add_accesses();
    }

    /// What the functions of the host have touched since this was asked last.
    pub fn take_touched(&self) -> Vec<Access> {
        let mut state = self.lock();
        state.add_accesses();
        std::mem::take(&mut state.touched)
    }
}

impl State {
    fn add_accesses(&mut self) {
        let mut noted = std::mem::take(&mut self.noted);
        host_access::take_noted(&mut noted);
        if noted.len() >= host_access::MOST_NOTED {
            self.write(&Record { thread: 0, site: 0, call: Call::AccessesUnseen });
        }
        for noted in noted.drain(..) {
            let mode = if noted.write { Mode::Write } else { Mode::Read };
            let access = Access::bytes(mode, noted.address as u64, noted.bytes as u64);
            match noted.thread {
                Thread::HostFunction => self.touched.push(access),
                Thread::Program(number) => {
                    self.add(number, CallSite::of(noted.frames().to_vec()), Call::HostAccess(access));
                }
            }
        }
        self.noted = noted;
    }

    fn add(&mut self, number: i32, site: CallSite, call: Call) {
        let next = self.threads.len() as u32;
        let thread = *self.threads.entry(number).or_insert(next);
        if self.sites.insert(site.number()) && site != CallSite::default() {
            self.name(thread, site);
        }
        self.write(&Record { thread, site: site.number() as u32, call });
    }

    fn name(&mut self, thread: u32, site: CallSite) {
        let mut frames = Vec::new();
        for frame in site.frames() {
            let next = self.objects.len() as u32;
            let object = *self.objects.entry(frame.file.clone()).or_insert(next);
            if object == next {
                self.write(&Record { thread, site: 0, call: Call::NameObject { object, path: frame.file } });
            }
            frames.push(Frame { object, address: frame.address });
        }
        let call = Call::NameSite { site: site.number() as u32, frames };
        self.write(&Record { thread, site: 0, call });
    }

    fn write(&mut self, record: &Record) {
        self.broken = self.broken || self.writer.write(record).is_err();
    }
}

/// A kind of stream as a trace has it.
pub(crate) fn kind(kind: StreamKind) -> standstill_trace::StreamKind {
    match kind {
        StreamKind::Legacy => standstill_trace::StreamKind::Legacy,
        StreamKind::Blocking => standstill_trace::StreamKind::Blocking,
        StreamKind::PerThread => standstill_trace::StreamKind::PerThread,
        StreamKind::NonBlocking => standstill_trace::StreamKind::NonBlocking,
    }
}

/// Work as a trace has it.
pub(crate) fn traced(work: &Work) -> Traced {
    match work {
        Work::Order => Traced::Order,
        Work::Record(event) => Traced::Record { event: event.0 },
        Work::Copy(copy) => Traced::Copy { copied: copy.copied, accesses: of_copy(copy) },
        Work::Fill(fill) => Traced::Fill { done: fill.waits, accesses: vec![of_fill(fill)] },
        Work::Launch(launch) => Traced::Kernel { name: launch.kernel.name.clone(), accesses: None },
        Work::Host(_) => Traced::HostFunction { accesses: None },
        Work::Allocate { address, bytes } => Traced::Allocate { address: *address, bytes: *bytes },
        Work::Free { address, .. } => Traced::Free { address: *address },
    }
}

fn of_copy(copy: &Copy) -> Vec<Access> {
    let side = |place: &Place, mode: Mode| -> Vec<Access> {
        // What was taken when the call was made is nobody's any more.
        if matches!(place.memory, Memory::Staged(_)) {
            return Vec::new();
        }
        let slice = |number: u64| Access {
            address: place.address.saturating_add(number.saturating_mul(place.slice)),
            width: copy.width,
            rows: copy.height,
            pitch: place.pitch,
            mode,
            exact: true,
        };
        (0..copy.depth).map(slice).collect()
    };
    let mut accesses = side(&copy.from, Mode::Read);
    accesses.extend(side(&copy.to, Mode::Write));
    accesses
}

fn of_fill(fill: &Fill) -> Access {
    Access {
        address: fill.address,
        width: fill.width,
        rows: fill.height,
        pitch: fill.pitch,
        mode: Mode::Write,
        exact: true,
    }
}

//! The trace of this process: begun at the first call that is recorded, and begun afresh after a fork.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, Once};

use standstill_cuda_driver::CallSite;
use standstill_cuda_driver::journal::FOLDER;
use standstill_cuda_driver::recorder::{RECORD, SUFFIX};
use standstill_python_frames::PythonFrame;
use standstill_trace::{
    Access, Call, Caller, Copied, Frame, Launched, Operation, ROOM, Record, Site, Work, Writer, put_call,
    put_copy, put_launch,
};

use crate::call_chain::Chains;
use crate::graphs::Graphs;
use crate::kernels::Asked;
use crate::kernels::Kernels;
use crate::layout::Handle;
use crate::lock::Lock;
use crate::mapped_file::MappedFile;
use crate::memo::Memo;
use crate::memory::Ranges;
use crate::python::{Called, Chain, Python};
use crate::streams::{Default, Numbers};
use crate::thread::{Thread, here};

/// What a process that is recorded keeps.
#[repr(C)]
pub struct State {
    pub numbers: Numbers,
    pub trace: Trace,
    pub memory: Ranges,
    pub kernels: Kernels,
    pub graphs: Graphs,
}

type Recorder = Lock<Option<State>>;

/// What every call looks at, in one line of a cache.
#[repr(align(64))]
struct AtHand {
    recorder: AtomicPtr<Recorder>,
    /// Captures of graphs that were begun and not ended.
    captures: AtomicUsize,
}

static AT_HAND: AtHand =
    AtHand { recorder: AtomicPtr::new(std::ptr::null_mut()), captures: AtomicUsize::new(0) };

/// Captures of graphs that were begun and not ended.
#[inline(always)]
pub fn captures() -> &'static AtomicUsize {
    &AT_HAND.captures
}

/// Does something with the state, where this process is recorded.
#[inline(always)]
pub fn with(does: impl FnOnce(&mut State)) {
    let mut recorder = AT_HAND.recorder.load(Ordering::Acquire);
    if recorder.is_null() {
        recorder = begin();
    }
    // SAFETY: a recorder is never given back.
    let Some(recorder) = (unsafe { recorder.as_ref() }) else { return };
    recorder.with(does);
}

#[cold]
fn begin() -> *mut Recorder {
    static FORK: Once = Once::new();
    // SAFETY: the handler only forgets the recorder.
    FORK.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(forget));
    });
    static BEGIN: Mutex<()> = Mutex::new(());
    let beginning = BEGIN.try_lock();
    if beginning.is_err() && !AT_HAND.recorder.load(Ordering::Acquire).is_null() {
        return AT_HAND.recorder.load(Ordering::Acquire);
    }
    let made = Box::into_raw(Box::new(Lock::new(State::begin())));
    match AT_HAND.recorder.compare_exchange(std::ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => made,
        // Another thread was first; the file of this one stays without records.
        Err(other) => other,
    }
}

/// The child of a fork shares the parent's file, and perhaps a lock that nobody opens: it leaves both.
extern "C" fn forget() {
    AT_HAND.recorder.store(std::ptr::null_mut(), Ordering::Release);
}

impl State {
    fn begin() -> Option<State> {
        let folder = std::env::var_os(FOLDER)?;
        if std::env::var_os(RECORD)? != "on" {
            return None;
        }
        let file = new_file(Path::new(&folder))?;
        let memo = Memo::new();
        let mut trace = Trace::new(Writer::new(MappedFile::new(file)).ok()?, memo);
        trace.write(&Record { thread: 0, site: 0, call: Call::HostNotSeen });
        Some(State {
            trace,
            numbers: Numbers::default(),
            memory: Ranges::default(),
            kernels: Kernels::default(),
            graphs: Graphs::default(),
        })
    }

    /// Puts an operation into a stream.
    pub fn submit(&mut self, stream: Handle, default: Default, work: Work) {
        let stream = self.numbers.stream(&mut self.trace, stream, default);
        let operation = self.trace.next_operation();
        self.trace.note(Call::Submit { operation, stream, work });
    }
}

impl State {
    /// Puts a copy between two places into a stream.
    pub fn copy(&mut self, stream: Handle, default: Default, copied: Copied, places: &[Access; 2]) {
        let stream = self.numbers.stream(&mut self.trace, stream, default);
        self.trace.copy(stream, copied, places);
    }

    /// Puts a launch into a stream that was made before. If it was not, gives what is known of it.
    ///
    /// # Safety
    /// The driver has taken what is asked for.
    #[inline(always)]
    pub unsafe fn launch_again(
        &mut self,
        thread: &Thread,
        asked: &Asked,
        stream: Handle,
        default: Default,
    ) -> Again {
        let trace = &mut self.trace;
        let Some(described) = trace.memo.described(asked.function.addr()) else { return Again::Unknown };
        // SAFETY: the caller's promise.
        let Some(hash) = (unsafe { described.hash(asked, &self.memory.spans) }) else {
            return Again::Unknown;
        };
        let Some(from) = trace.origin(thread) else { return Again::Unknown };
        let (_, Some((site, launch))) = trace.memo.find(hash, from) else { return Again::New(hash, from) };
        self.trace.stands_at(site);
        let stream = self.numbers.stream(&mut self.trace, stream, default);
        self.trace.launch(Caller { thread: thread.current().0, site }, stream, launch);
        Again::Done
    }

    /// Puts a launch of a kernel into a stream that was met, with its hash and where it stands if they are known.
    ///
    /// # Safety
    /// The driver has taken what is asked for.
    #[cold]
    pub unsafe fn launch(
        &mut self,
        thread: &Thread,
        asked: &Asked,
        stream: Handle,
        default: Default,
        known: Option<(u64, u64)>,
    ) {
        let State { trace, kernels, memory, .. } = self;
        let known = known.or_else(|| {
            kernels.describe(asked.function, &mut trace.memo);
            let described = trace.memo.described(asked.function.addr())?;
            // SAFETY: the caller's promise.
            Some((unsafe { described.hash(asked, &memory.spans) }?, trace.origin(thread)?))
        });
        let hash = known.map(|(hash, _)| hash);
        // SAFETY: the caller's promise.
        let Some(launch) = (unsafe { kernels.launch(trace, asked, hash) }) else { return };
        let site = match known {
            Some((hash, from)) => {
                let site = trace.site_from(thread, from);
                let (slot, _) = trace.memo.find(hash, from);
                trace.memo.keep(slot, site, launch);
                site
            }
            None => trace.site_of(thread),
        };
        let stream = self.numbers.stream(trace, stream, default);
        trace.launch(Caller { thread: thread.current().0, site }, stream, launch);
    }
}

/// What came of a launch that may have been made before.
pub enum Again {
    /// It was, and is written down.
    Done,
    /// It was not: its hash, and what tells where it stands.
    New(u64, u64),
    /// The kernel was not met, or its arguments are given in another way.
    Unknown,
}

/// A file of this process; one that has executed another program has several.
fn new_file(folder: &Path) -> Option<File> {
    let process = std::process::id();
    (0..1000).find_map(|number| {
        let name = match number {
            0 => format!("{process}{SUFFIX}"),
            _ => format!("{process}-{number}{SUFFIX}"),
        };
        File::options().create_new(true).read(true).write(true).open(folder.join(name)).ok()
    })
}

/// A function of the host calls one of CUDA's.
#[cold]
pub fn called_in_host_function(function: &str) {
    // Without what tells the versions of one function apart.
    let plain = function.strip_suffix("_ptsz").or(function.strip_suffix("_ptds")).unwrap_or(function);
    let function = plain.strip_suffix("_v2").unwrap_or(plain).to_owned();
    // The runtime itself asks for functions when it first needs them.
    if function == "cuGetProcAddress" {
        return;
    }
    with(|state| state.trace.note(Call::CalledInHostFunction { function }));
}

/// Sites of Python lines are numbered from here.
const PYTHON: Site = 1 << 20;
/// Those that begin a backward pass, and what threads of the library do for them.
const BACKWARD: Site = 1 << 24;
const FOR_BACKWARD: Site = 1 << 25;

/// The file, and what it has named.
#[repr(C)]
pub struct Trace {
    pub memo: Box<Memo>,
    writer: Writer<MappedFile>,
    operations: Operation,
    /// Where a thread of Python has called last.
    last: Site,
    /// A trace that could not be written is not gone on with: it would have a hole.
    broken: bool,
    python: Python,
    chains: Chains,
    /// Sites of Python lines so far, and those that are named for the library's threads.
    lines: Site,
    named_lines: HashMap<Site, (String, u32)>,
    /// Sites that were named, by number.
    named: Vec<bool>,
    objects: HashMap<String, u32>,
}

impl Trace {
    fn new(writer: Writer<MappedFile>, memo: Box<Memo>) -> Trace {
        let python = Python::find();
        // A library's own frames say little, and its threads have many.
        let most = if python.is_there() { 16 } else { 40 };
        Trace {
            memo,
            writer,
            operations: 0,
            last: 0,
            broken: false,
            python,
            chains: Chains::new(most),
            lines: 0,
            named_lines: HashMap::new(),
            named: Vec::new(),
            objects: HashMap::new(),
        }
    }

    /// The number of the next operation.
    pub fn next_operation(&mut self) -> Operation {
        self.operations += 1;
        self.operations
    }

    /// Adds a call of the calling thread, with where it stands in the program.
    #[inline(never)]
    pub fn note(&mut self, call: Call) {
        let from = self.caller(here());
        match self.writer.into_mut().put(|record: &mut [u8; ROOM]| put_call(record, from, &call)) {
            _ if self.broken => {}
            Ok(true) => {}
            Ok(false) => self.write(&Record { thread: from.thread, site: from.site, call }),
            Err(_) => self.broken = true,
        }
    }

    /// Adds a copy between two places.
    #[inline(never)]
    fn copy(&mut self, stream: u64, copied: Copied, places: &[Access; 2]) {
        let from = self.caller(here());
        let operation = self.next_operation();
        let put = |record: &mut [u8; ROOM]| put_copy(record, from, (operation, stream), copied, places);
        match self.writer.into_mut().put(put) {
            _ if self.broken => {}
            Ok(true) => {}
            Ok(false) => {
                let work = Work::Copy { copied, accesses: places.to_vec() };
                let (Caller { thread, site }, call) = (from, Call::Submit { operation, stream, work });
                self.write(&Record { thread, site, call });
            }
            Err(_) => self.broken = true,
        }
    }

    /// The calling thread, and where it stands in the program.
    fn caller(&mut self, thread: &Thread) -> Caller {
        let site = match self.origin(thread) {
            None => self.site_of(thread),
            Some(from) => self.site_from(thread, from),
        };
        Caller { thread: thread.current().0, site }
    }

    /// The site of a thread that stands where this was given for ([`Trace::origin`]).
    fn site_from(&mut self, thread: &Thread, from: u64) -> Site {
        match self.memo.find(0, from) {
            (_, Some((site, _))) => {
                self.stands_at(site);
                site
            }
            (slot, None) => {
                let site = self.site_of(thread);
                self.memo.keep(slot, site, 0);
                site
            }
        }
    }

    /// Adds a call that another one has made necessary.
    pub fn note_at(&mut self, site: Site, call: Call) {
        self.write(&Record { thread: here().current().0, site, call });
    }

    /// Where the calling thread stands in the program.
    pub fn site(&mut self) -> Site {
        self.site_of(here())
    }

    /// What tells the place where a thread stands from others, the calling one; `None` when that is not known yet.
    #[inline(always)]
    fn origin(&mut self, thread: &Thread) -> Option<u64> {
        let (_, end_of_stack) = thread.current();
        match self.python.hash_of_here(thread)? {
            0 => Some(match self.backward() {
                Some(site) => site.into(),
                None => self.chains.here(end_of_stack).number(),
            }),
            hash => Some(hash),
        }
    }

    /// What a thread that is not in Python does is part of the backward pass that was begun last.
    #[inline(always)]
    fn backward(&self) -> Option<Site> {
        let begun = (BACKWARD..FOR_BACKWARD).contains(&self.last);
        begun.then(|| self.last - BACKWARD + FOR_BACKWARD)
    }

    /// A thread has called from there.
    #[inline(always)]
    fn stands_at(&mut self, site: Site) {
        if (PYTHON..FOR_BACKWARD).contains(&site) {
            self.last = site;
        }
    }

    fn site_of(&mut self, thread: &Thread) -> Site {
        let (number, end_of_stack) = thread.current();
        let site = match self.python.here(thread) {
            Called::From(site) => site,
            Called::New(frame, chain) => self.place(number, frame, &chain),
            Called::Elsewhere => match self.backward() {
                Some(site) => self.place_for_backward(number, site),
                None => self.chain(number, end_of_stack),
            },
        };
        self.stands_at(site);
        site
    }

    fn chain(&mut self, thread: u32, end_of_stack: usize) -> Site {
        let site = self.chains.here(end_of_stack);
        let number = site.number() as usize;
        if !self.named.get(number).copied().unwrap_or_default() {
            self.name(thread, site, number);
        }
        number as Site
    }

    /// Gives a number to a line of Python.
    #[cold]
    fn place(&mut self, thread: u32, frame: PythonFrame, chain: &Chain) -> Site {
        self.lines += 1;
        let site = self.lines + if chain.is_backward { BACKWARD } else { PYTHON };
        self.python.number(chain, site);
        let PythonFrame { file, line, .. } = frame;
        if chain.is_backward {
            self.named_lines.insert(site - BACKWARD + FOR_BACKWARD, (file.clone(), line));
        }
        self.write(&Record { thread, site: 0, call: Call::PlaceSite { site, file, line } });
        site
    }

    /// Says once where a site of the library's threads stands.
    fn place_for_backward(&mut self, thread: u32, site: Site) -> Site {
        if let Some((file, line)) = self.named_lines.remove(&site) {
            self.write(&Record { thread, site: 0, call: Call::PlaceSite { site, file, line } });
            self.write(&Record { thread, site: 0, call: Call::ForBackward { site } });
        }
        site
    }

    #[cold]
    fn name(&mut self, thread: u32, site: CallSite, number: usize) {
        self.named.resize(self.named.len().max(number + 1), false);
        if let Some(named) = self.named.get_mut(number) {
            *named = true;
        }
        let mut frames = Vec::new();
        for frame in site.frames() {
            let next = self.objects.len() as u32;
            let object = *self.objects.entry(frame.file.clone()).or_insert(next);
            if object == next {
                self.write(&Record { thread, site: 0, call: Call::NameObject { object, path: frame.file } });
            }
            frames.push(Frame { object, address: frame.address });
        }
        let call = Call::NameSite { site: number as Site, frames };
        self.write(&Record { thread, site: 0, call });
    }

    /// Adds a launch with its number.
    #[inline(always)]
    fn launch(&mut self, from: Caller, stream: u64, launch: u32) {
        let operation = self.next_operation();
        let launched = Launched { operation, stream, launch };
        if !self.broken {
            let put = |record: &mut [u8; ROOM]| Some(put_launch(record, from, launched));
            self.broken = self.writer.into_mut().put(put).is_err();
        }
    }

    #[cold]
    fn write(&mut self, record: &Record) {
        self.broken = self.broken || self.writer.write(record).is_err();
    }
}

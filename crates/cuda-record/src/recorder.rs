//! The trace of this process: begun at the first call that is recorded, and begun afresh after a fork.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, Once};

use standstill_cuda_driver::CallSite;
use standstill_cuda_driver::journal::FOLDER;
use standstill_cuda_driver::recorder::{RECORD, SUFFIX};
use standstill_python_frames::PythonFrame;
use standstill_trace::{Call, Caller, Frame, Launched, Operation, Record, Site, Work, Writer};

use crate::call_chain::Chains;
use crate::graphs::Graphs;
use crate::kernels::Kernels;
use crate::lock::Lock;
use crate::mapped_file::MappedFile;
use crate::memory::Ranges;
use crate::python::{Called, Chain, Python};
use crate::streams::{Default, Numbers};
use crate::thread::current;

/// What a process that is recorded keeps.
pub struct State {
    pub trace: Trace,
    pub numbers: Numbers,
    pub memory: Ranges,
    pub kernels: Kernels,
    pub graphs: Graphs,
}

type Recorder = Lock<Option<State>>;

static RECORDER: AtomicPtr<Recorder> = AtomicPtr::new(std::ptr::null_mut());

/// Does something with the state, where this process is recorded.
#[inline(always)]
pub fn with(does: impl FnOnce(&mut State)) {
    let mut recorder = RECORDER.load(Ordering::Acquire);
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
    if beginning.is_err() && !RECORDER.load(Ordering::Acquire).is_null() {
        return RECORDER.load(Ordering::Acquire);
    }
    let made = Box::into_raw(Box::new(Lock::new(State::begin())));
    match RECORDER.compare_exchange(std::ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => made,
        // Another thread was first; the file of this one stays without records.
        Err(other) => other,
    }
}

/// The child of a fork shares the parent's file, and perhaps a lock that nobody opens: it leaves both.
extern "C" fn forget() {
    RECORDER.store(std::ptr::null_mut(), Ordering::Release);
}

impl State {
    fn begin() -> Option<State> {
        let folder = std::env::var_os(FOLDER)?;
        if std::env::var_os(RECORD)? != "on" {
            return None;
        }
        let file = new_file(Path::new(&folder))?;
        Some(State {
            trace: Trace::new(Writer::new(MappedFile::new(file)).ok()?),
            numbers: Numbers::default(),
            memory: Ranges::default(),
            kernels: Kernels::default(),
            graphs: Graphs::default(),
        })
    }

    /// Puts an operation into a stream.
    pub fn submit(&mut self, stream: crate::layout::Handle, default: Default, work: Work) {
        let stream = self.numbers.stream(&mut self.trace, stream, default);
        let operation = self.trace.next_operation();
        self.trace.note(Call::Submit { operation, stream, work });
    }
}

impl State {
    /// Puts a launch into a stream: the same as [`State::submit`], made short.
    #[inline(always)]
    pub fn submit_launch(&mut self, stream: crate::layout::Handle, default: Default, launch: u32) {
        let stream = self.numbers.stream(&mut self.trace, stream, default);
        let operation = self.trace.next_operation();
        let (thread, end) = current();
        let site = self.trace.site_of(thread, end);
        self.trace.write_launch(Caller { thread, site }, Launched { operation, stream, launch });
    }
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

/// The file, and what it has named.
pub struct Trace {
    writer: Writer<MappedFile>,
    chains: Chains,
    python: Python,
    /// Sites of Python lines so far.
    lines: Site,
    /// Sites that were named, by number.
    named: Vec<bool>,
    objects: HashMap<String, u32>,
    operations: Operation,
    /// A trace that could not be written is not gone on with: it would have a hole.
    broken: bool,
}

impl Trace {
    fn new(writer: Writer<MappedFile>) -> Trace {
        let python = Python::find();
        // A library's own frames say little, and its threads have many.
        let most = if python.is_there() { 16 } else { 40 };
        Trace {
            writer,
            chains: Chains::new(most),
            python,
            lines: 0,
            named: Vec::new(),
            objects: HashMap::new(),
            operations: 0,
            broken: false,
        }
    }

    /// The number of the next operation.
    pub fn next_operation(&mut self) -> Operation {
        self.operations += 1;
        self.operations
    }

    /// Adds a call of the calling thread, with where it stands in the program.
    pub fn note(&mut self, call: Call) {
        let (thread, end) = current();
        let site = self.site_of(thread, end);
        self.write(&Record { thread, site, call });
    }

    /// Adds a call that another one has made necessary.
    pub fn note_at(&mut self, site: Site, call: Call) {
        self.write(&Record { thread: current().0, site, call });
    }

    /// Where the calling thread stands in the program.
    pub fn site(&mut self) -> Site {
        let (thread, end) = current();
        self.site_of(thread, end)
    }

    #[inline(always)]
    fn site_of(&mut self, thread: u32, end_of_stack: usize) -> Site {
        match self.python.here() {
            Called::Elsewhere => {}
            Called::From(site) => return site,
            Called::New(frame, chain) => return self.place(thread, frame, &chain),
        }
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
        let site = PYTHON + self.lines;
        self.python.number(chain, site);
        let call = Call::PlaceSite { site, file: frame.file, line: frame.line };
        self.write(&Record { thread, site: 0, call });
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

    #[inline(always)]
    fn write_launch(&mut self, from: Caller, launched: Launched) {
        self.broken = self.broken || self.writer.write_launch(from, launched).is_err();
    }

    fn write(&mut self, record: &Record) {
        self.broken = self.broken || self.writer.write(record).is_err();
    }
}

//! The state behind the C interface: one for the process, made at the first call.

use std::collections::{HashMap, HashSet};
use std::ffi::c_int;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use standstill_cuda_driver::capture::Capture;
use standstill_cuda_driver::journal::{
    self, CARD, Journal, ORDER, PTX, RACES, Record, SCHEDULE, SEED, STALE,
};
use standstill_cuda_driver::recorder::RECORD;
use standstill_cuda_driver::{
    Card, DEFAULT_MODEL, Execution, Kept, Machine, Mention, OperationOrder, Order, Software, Status,
};
use standstill_findings::Finding;

use crate::address_space::AddressSpace;
use crate::call::Result;
use crate::graphs::Graphs;
use crate::pools::Pools;
use crate::registration::Registrations;
use crate::streams::Streams;

/// Everything that outlives a call.
#[derive(Default)]
pub struct Runtime {
    machine: OnceLock<&'static Machine>,
    kept: OnceLock<Kept>,
    pub registrations: Table<Registrations>,
    pub addresses: Table<AddressSpace>,
    pub streams: Table<Streams>,
    pub graphs: Table<Graphs>,
    pub pools: Table<Pools>,
    pub limits: Table<HashMap<c_int, usize>>,
    /// Sentences that the user has heard.
    told: Table<HashSet<String>>,
}

/// A table that several threads of the program use.
#[derive(Default)]
pub struct Table<T>(Mutex<T>);

impl<T> Table<T> {
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The process's runtime. It is never taken down: programs call it from `atexit` and destructors.
pub fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(Runtime::default)
}

impl Runtime {
    /// The machine; made at the first call that needs it.
    ///
    /// # Errors
    /// In a child that was made by `fork` after the first call.
    pub fn machine(&self) -> Result<&'static Machine> {
        let machine = *self.machine.get_or_init(start);
        // The device's threads are not in the child.
        if machine.process() == std::process::id() { Ok(machine) } else { Err(Status::InitializationError) }
    }

    /// What the compiler of the program left behind.
    pub fn kept(&self) -> &Kept {
        self.kept.get_or_init(|| {
            std::env::var_os(PTX).map_or_else(Kept::default, |folder| Kept::read(Path::new(&folder)))
        })
    }

    /// The error that has broken the device.
    pub fn broken(&self) -> Option<Status> {
        self.machine.get().and_then(|machine| machine.broken())
    }

    /// A call is about to answer with an error.
    pub fn answers_with_error(&self) {
        if let Some(machine) = self.machine.get() {
            machine.answers_with_error();
        }
    }

    /// Tells the user something that the program's error code cannot say, once.
    pub fn tell(&self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if let Ok(machine) = self.machine()
            && self.told.lock().insert(sentence.clone())
        {
            machine.journal().write(&Record::Trouble(sentence));
        }
    }
}

impl Runtime {
    /// Tells the user of a broken rule, and of the calls that belong to it.
    pub fn report(&self, finding: Finding, mentions: &[Mention]) {
        if let Ok(machine) = self.machine() {
            machine.journal().write(&Record::sited(finding, mentions));
        }
    }
}

fn start() -> &'static Machine {
    let journal = Journal::from_environment();
    let variable = |name| std::env::var(name).ok();
    let model = variable(CARD).unwrap_or_else(|| DEFAULT_MODEL.to_owned());
    let card = Card::find(&model).or_else(|| Card::find(DEFAULT_MODEL));
    let Some(card) = card else {
        // The default model has a row: a test holds the table to it.
        std::process::abort();
    };
    let is_on = |name| variable(name).is_some_and(|value| value == "on");
    let execution = Execution {
        seed: variable(SEED).and_then(|seed| seed.parse().ok()).unwrap_or(0),
        order: variable(SCHEDULE).and_then(|name| Order::find(&name)).unwrap_or_default(),
        operations: variable(ORDER).and_then(|name| OperationOrder::find(&name)).unwrap_or_default(),
        races: is_on(RACES),
        reach: is_on(RECORD),
        stale: is_on(STALE),
        contended: journal::contended(),
        capture: Capture::from_environment(),
    };
    let operations = execution.operations;
    if is_on(RECORD) {
        crate::host_calls::watch();
    }
    let machine = Machine::start(Box::new(Software::new(&card, execution)), card, operations, journal);
    // SAFETY: `at_exit` is a function without arguments that stays loaded: the library is linked to the program.
    unsafe { libc::atexit(at_exit) };
    machine
}

/// Work that is left when the program ends is done, so that what it would have met is seen.
extern "C" fn at_exit() {
    if let Ok(machine) = runtime().machine() {
        machine.finish();
        if machine.broken().is_none() {
            crate::memory_faults::leaks();
        }
    }
}

/// The version of the runtime that the program was built for, by the name that it has this library under. A few
/// functions have other parameters in 12 and 13 under the same name.
pub fn version() -> c_int {
    static VERSION: OnceLock<c_int> = OnceLock::new();
    *VERSION.get_or_init(|| {
        let mut old = false;
        // SAFETY: the callback takes what `dl_iterate_phdr` documents, and the flag outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(look_at_object), std::ptr::from_mut(&mut old).cast()) };
        if old { 12_080 } else { 13_000 }
    })
}

extern "C" fn look_at_object(
    object: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    old: *mut std::ffi::c_void,
) -> c_int {
    // SAFETY: the loader passes a whole description whose name is a string, and `version` passes its flag.
    unsafe {
        if let Some(object) = object.as_ref()
            && crate::registration::text(object.dlpi_name).contains("libcudart.so.12")
            && let Some(old) = old.cast::<bool>().as_mut()
        {
            *old = true;
        }
    }
    0
}

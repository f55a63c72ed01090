//! Carrying out operations: a thread of its own runs what is ready, while the program's threads go on.

mod device;
mod known;
mod submit;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::backend::Backend;
use crate::call_site::CallSite;
use crate::card::Card;
use crate::host;
use crate::journal::{Journal, LaunchRecord, Record};
use crate::operation::{EventId, HostCall, Launch, OperationId, StreamId, Work};
use crate::queue::{Awaited, OperationOrder, Queue, StreamKind};
use crate::recorder::{self, Recorder};
use crate::status::Status;
use known::KnownOrder;

use standstill_trace::{Call, Target};

/// A device with its streams. It lives as long as the process: programs call it while they end.
pub struct Machine {
    backend: Box<dyn Backend>,
    card: Card,
    order: OperationOrder,
    journal: Journal,
    recorder: Option<Recorder>,
    /// What the program can know to be done; kept where its accesses are watched.
    known: Option<Mutex<KnownOrder>>,
    process: u32,
    state: Mutex<State>,
    /// How many threads of the program are about to lock the state.
    entering: AtomicUsize,
    /// The device thread and the thread of host functions wait for work here.
    work: Condvar,
    /// The program's threads wait here.
    done: Condvar,
    /// The device thread gives way here to the program's threads.
    quiet: Condvar,
}

#[derive(Default)]
struct State {
    queue: Queue,
    /// The error after which the device is of no use (CUDA C++ Programming Guide, «Error Checking»).
    broken: Option<Status>,
    /// A call of the program has answered with that error.
    told_broken: bool,
    waiting: HashMap<i32, Awaited>,
    host_calls: VecDeque<(OperationId, HostCall)>,
    host_call_runs: bool,
    /// When each event was last reached.
    times: HashMap<EventId, Instant>,
    launches: u64,
    operations: u64,
    seen: HashSet<LaunchRecord>,
    /// The most recent launch of each executable graph.
    executed: HashMap<u64, OperationId>,
    /// Where doubtful bytes came from that the host has got: file and line.
    doubtful: HashSet<(String, u32)>,
    next_stream: u64,
    next_event: u64,
    /// When a thread of the program last called, or came back from waiting.
    active: Option<Instant>,
    /// Kernels reach memory that other processes may write.
    shared: bool,
    /// The program ends: its other threads end with it.
    ending: bool,
}

impl State {
    fn holds(&self, until: Awaited) -> bool {
        match until {
            Awaited::Done(id) => self.queue.is_done(id),
            Awaited::AllBefore(id) => !self.queue.busy_until(id),
        }
    }

    /// What the program's threads wait for and do not have.
    fn awaited(&self) -> Vec<Awaited> {
        self.waiting.values().copied().filter(|until| !self.holds(*until)).collect()
    }
}

impl Machine {
    /// A machine whose threads run from now on.
    pub fn start(
        backend: Box<dyn Backend>,
        card: Card,
        order: OperationOrder,
        journal: Journal,
    ) -> &'static Machine {
        let process = std::process::id();
        let machine: &'static Machine = Box::leak(Box::new(Machine {
            backend,
            card,
            order,
            journal,
            recorder: Recorder::from_environment(),
            known: standstill_host_access::is_on().then(Mutex::default),
            process,
            state: Mutex::default(),
            entering: AtomicUsize::new(0),
            work: Condvar::new(),
            done: Condvar::new(),
            quiet: Condvar::new(),
        }));
        machine.journal.write(&Record::Started { process, card: card.device.name.to_owned() });
        let thread = |name: &str, run: fn(&Machine)| {
            let name = format!("{}-{name}", host::THREAD_PREFIX);
            // Without threads nothing runs; the program finds out when it waits.
            std::thread::Builder::new().name(name).spawn(move || run(machine)).is_ok()
        };
        let all = thread("dev", Machine::run_device) & thread("fn", Machine::run_host_calls);
        if !all {
            machine.lock().broken = Some(Status::InitializationError);
        }
        machine
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the state for a thread of the program. One that waits for this is not idle: it goes on as soon as the
    /// device thread lets go.
    fn enter(&self) -> MutexGuard<'_, State> {
        self.entering.fetch_add(1, Ordering::SeqCst);
        let state = self.lock();
        self.entering.fetch_sub(1, Ordering::SeqCst);
        state
    }

    /// The device itself: memory and modules.
    #[must_use]
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// The card that it stands for.
    #[must_use]
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// Where findings go.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The number of the process that it was made in; a child made by `fork` has no device threads.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.process
    }

    /// The error that has broken the device.
    #[must_use]
    pub fn broken(&self) -> Option<Status> {
        self.enter().broken
    }

    /// A call of the program is about to answer with an error. If it is the one that has broken the device, the program
    /// knows from then on that nothing runs there any more.
    pub fn answers_with_error(&self) {
        let mut state = self.enter();
        if state.broken.is_some() && !std::mem::replace(&mut state.told_broken, true) {
            self.note(|| Call::Synchronise(Target::Device));
        }
    }

    /// Writes down a call of the program, where that is wanted.
    pub fn note(&self, call: impl FnOnce() -> Call) {
        self.note_at(self.site(), call);
    }

    fn note_at(&self, site: CallSite, call: impl FnOnce() -> Call) {
        if let Some(recorder) = &self.recorder {
            let call = call();
            let target = known::target(&call);
            recorder.note(site, call);
            if let Some(target) = target {
                self.knows(target);
            }
        }
    }

    fn known(&self) -> Option<MutexGuard<'_, KnownOrder>> {
        self.known.as_ref().map(|known| known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A call of the program has waited for this: accesses to memory that it touched are of no interest any more.
    pub fn knows(&self, target: Target) {
        if let Some(mut known) = self.known() {
            let done = known.done(target);
            known::release(done.as_ref());
        }
    }

    /// Writes down what the program's threads have touched.
    fn note_accesses(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.note_accesses();
        }
    }

    /// Where the call that is under way came from, where calls are written down.
    #[must_use]
    pub fn site(&self) -> CallSite {
        self.recorder.as_ref().map(|_| CallSite::here()).unwrap_or_default()
    }

    /// Makes a stream.
    pub fn create_stream(&self, kind: StreamKind) -> StreamId {
        let mut state = self.enter();
        state.next_stream += 1;
        let id = StreamId(state.next_stream);
        state.queue.add_stream(id, kind);
        self.note(|| Call::CreateStream { stream: id.0, kind: recorder::kind(kind) });
        id
    }

    /// What kind of stream it is.
    #[must_use]
    pub fn stream_kind(&self, id: StreamId) -> Option<StreamKind> {
        self.enter().queue.kind(id)
    }

    /// Forgets a stream; its operations run to their end.
    ///
    /// # Errors
    /// When there is no such stream.
    pub fn destroy_stream(&self, id: StreamId) -> Result<(), Status> {
        let mut state = self.enter();
        if !state.queue.has_stream(id) || id == StreamId::LEGACY {
            return Err(Status::InvalidResourceHandle);
        }
        state.queue.remove_stream(id);
        if let Some(mut known) = self.known() {
            known.destroy_stream(id);
        }
        self.note(|| Call::DestroyStream { stream: id.0 });
        Ok(())
    }

    /// Makes an event.
    pub fn create_event(&self) -> EventId {
        let mut state = self.enter();
        state.next_event += 1;
        EventId(state.next_event)
    }

    /// Forgets an event.
    pub fn destroy_event(&self, id: EventId) {
        let mut state = self.enter();
        state.queue.remove_event(id);
        state.times.remove(&id);
        if let Some(mut known) = self.known() {
            known.destroy_event(id);
        }
        self.note(|| Call::DestroyEvent { event: id.0 });
    }

    /// Tells the journal of launches that are new.
    fn note_launch(&self, state: &mut State, launch: &Launch) {
        let kernel = &launch.kernel;
        let value = |slot: &crate::image::ParameterSlot| {
            let bytes = launch.parameters.get(slot.offset..slot.offset + slot.bytes)?;
            let mut wide = [0u8; 8];
            wide.get_mut(..slot.bytes)?.copy_from_slice(bytes);
            let value = u64::from_le_bytes(wide);
            // An address is not a number that a condition would be about.
            (slot.integer && slot.bytes <= 4).then_some(i64::from(value as u32 as i32))
        };
        let parameters = kernel.parameters.iter().enumerate();
        let record = LaunchRecord {
            process: self.process,
            image: kernel.image.number,
            kernel: kernel.name.clone(),
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            parameters: parameters.filter_map(|(at, slot)| Some((at, value(slot)?))).collect(),
            registers: kernel.registers,
        };
        if state.seen.insert(record.clone()) {
            self.journal.write(&Record::Launch(record));
        }
    }

    /// Waits until an operation is done.
    ///
    /// # Errors
    /// The error that has broken the device.
    pub fn wait(&self, id: OperationId) -> Result<(), Status> {
        self.wait_until(Awaited::Done(id))
    }

    /// Submits an operation to a stream and waits until it is done.
    ///
    /// # Errors
    /// As [`Machine::submit`] and [`Machine::wait`].
    pub fn submit_and_wait(&self, stream: StreamId, work: Work) -> Result<(), Status> {
        let done = known::returns_done(&work);
        let operation = self.submit(stream, work)?;
        self.wait(operation)?;
        if done {
            self.knows(Target::Stream(stream.0));
        }
        Ok(())
    }

    /// Waits until everything that was submitted is done.
    ///
    /// # Errors
    /// The error that has broken the device.
    pub fn wait_all(&self) -> Result<(), Status> {
        let newest = self.enter().queue.newest();
        match newest {
            Some(id) => self.wait_until(Awaited::AllBefore(id)),
            None => self.broken().map_or(Ok(()), Err),
        }
    }

    /// Waits until everything that was submitted is done, as a call of the program that is there to wait.
    ///
    /// # Errors
    /// The error that has broken the device.
    pub fn synchronise(&self) -> Result<(), Status> {
        self.wait_all()?;
        self.note(|| Call::Synchronise(Target::Device));
        Ok(())
    }

    /// Waits until everything in a stream is done, which for the legacy default stream includes what it is
    /// ordered behind.
    ///
    /// # Errors
    /// When there is no such stream, or the error that has broken the device.
    pub fn wait_stream(&self, stream: StreamId) -> Result<(), Status> {
        let last = {
            let mut state = self.enter();
            if !state.queue.has_stream(stream) {
                return Err(Status::InvalidResourceHandle);
            }
            if let Some(status) = state.broken {
                return Err(status);
            }
            match state.queue.kind(stream) {
                Some(StreamKind::Legacy) => Some(state.queue.fork(stream)),
                _ => state.queue.last(stream),
            }
        };
        self.work.notify_all();
        last.map_or(Ok(()), |last| self.wait(last))
    }

    fn wait_until(&self, until: Awaited) -> Result<(), Status> {
        let thread = host::thread_number();
        let mut state = self.enter();
        state.waiting.insert(thread, until);
        self.quiet.notify_all();
        let result = loop {
            if let Some(status) = state.broken {
                break Err(status);
            }
            if state.holds(until) {
                break Ok(());
            }
            self.work.notify_all();
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        state.waiting.remove(&thread);
        state.active = Some(Instant::now());
        result
    }

    /// Whether an operation is done.
    #[must_use]
    pub fn is_done(&self, id: OperationId) -> bool {
        self.enter().queue.is_done(id)
    }

    /// Whether everything that was submitted is done.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.enter().queue.is_empty()
    }

    /// Whether everything in a stream is done.
    ///
    /// # Errors
    /// When there is no such stream.
    pub fn is_idle(&self, stream: StreamId) -> Result<bool, Status> {
        let state = self.enter();
        if !state.queue.has_stream(stream) {
            return Err(Status::InvalidResourceHandle);
        }
        Ok(state.queue.last(stream).is_none())
    }

    /// The event's most recent record that is not done.
    #[must_use]
    pub fn pending_record(&self, event: EventId) -> Option<OperationId> {
        let state = self.enter();
        state.queue.last_record(event).filter(|id| !state.queue.is_done(*id))
    }

    /// Whether the event was ever recorded.
    #[must_use]
    pub fn was_recorded(&self, event: EventId) -> bool {
        self.enter().queue.last_record(event).is_some()
    }

    /// When the event was last reached.
    #[must_use]
    pub fn time_of(&self, event: EventId) -> Option<Instant> {
        self.enter().times.get(&event).copied()
    }

    /// Forgets the error that has broken the device, and all work (`cudaDeviceReset`).
    pub fn reset(&self) {
        let mut state = self.enter();
        (state.broken, state.told_broken) = (None, false);
        state.queue.clear();
        self.knows(Target::Device);
    }

    /// From now on other processes may write what kernels wait for.
    pub fn share_with_others(&self) {
        self.enter().shared = true;
    }

    /// Waits for what is left and tells the journal what was done. Called when the process ends.
    pub fn finish(&self) {
        self.enter().ending = true;
        // An error was told when it happened.
        let _ = self.wait_all();
        self.note_accesses();
        let state = self.enter();
        let (launches, operations) = (state.launches, state.operations);
        drop(state);
        self.journal.write(&Record::Ended { launches, operations });
    }
}

thread_local! {
    static IN_HOST_CALL: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Whether the calling thread runs host functions, which must not call CUDA (CUDA C++ Programming Guide,
/// «Host Functions (Callbacks)»).
#[must_use]
pub fn in_host_call() -> bool {
    IN_HOST_CALL.get()
}

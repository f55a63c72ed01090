//! The machine's own threads: one runs what is ready, one calls functions of the host.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use standstill_findings::Finding;
use standstill_trace::Call;

use super::{IN_HOST_CALL, Machine, State};
use crate::backend::{Failure, Run, Step};
use crate::call_site::CallSite;
use crate::host::{self, Others};
use crate::journal::Record;
use crate::operation::{Copy, Memory, OperationId, Work};
use crate::queue::OperationOrder;
use crate::recorder::Recorder;
use crate::status::Status;
use crate::transfer;

/// How long threads that wait for each other must stand before the device's standstill counts as possible.
const STANDING: Duration = Duration::from_secs(2);
/// After this long a parked device is told of.
const TOLD_AFTER: Duration = Duration::from_secs(1);
/// A program that has not called for so long does something else meanwhile.
const QUIET: Duration = Duration::from_millis(1);
/// As [`QUIET`], where nothing is to begin before the program waits for it.
const LONG_QUIET: Duration = Duration::from_millis(50);
/// Between two looks at memory that the host may write while the device is parked.
const SHORTEST_LOOK: Duration = Duration::from_micros(100);
const LONGEST_LOOK: Duration = Duration::from_millis(5);
/// So many rows of a copy are looked at for values that nobody gave.
const MOST_ROWS: usize = 1024;
/// Exit code of a program that the verdict ended.
const ENDED_BY_VERDICT: i32 = 1;

/// How long the device has been parked.
#[derive(Debug, Default)]
struct Parked {
    since: Option<Instant>,
    /// Since when the program's other threads wait for each other.
    standing: Option<Instant>,
    told: bool,
    look: Duration,
}

impl Machine {
    pub(super) fn run_device(&self) {
        standstill_host_access::set_thread(false);
        let mut runs: Vec<(OperationId, Box<dyn Run>)> = Vec::new();
        let mut parked = Parked::default();
        loop {
            self.give_way();
            let went_on = match self.order {
                OperationOrder::Submission => self.begin_ready(&mut runs) | self.advance(&mut runs),
                // What runs is left alone, unless it waits for what has not begun.
                OperationOrder::Adversarial => self.advance(&mut runs) || self.begin_ready(&mut runs),
            };
            if went_on {
                parked = self.unpark(parked);
                continue;
            }
            let state = self.lock();
            if state.queue.ready().next().is_some() {
                continue;
            }
            if runs.is_empty() {
                drop(self.work.wait(state).unwrap_or_else(PoisonError::into_inner));
                continue;
            }
            parked = self.stand(state, &mut runs, parked);
        }
    }

    /// Lets the program go on as long as none of its threads waits and one was active lately. So what runs beside
    /// what does not depend on how fast the program submits it, and runs are repeatable.
    fn give_way(&self) {
        let quiet = match self.order {
            OperationOrder::Submission => QUIET,
            OperationOrder::Adversarial => LONG_QUIET,
        };
        let mut state = self.lock();
        while !state.queue.is_empty() && state.waiting.values().all(|until| state.holds(*until)) {
            let still = state.active.map_or(quiet, |active| active.elapsed());
            let Some(left) = quiet.checked_sub(still).filter(|left| !left.is_zero()) else { return };
            state = self.quiet.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Begins what may begin; tells whether there was anything.
    fn begin_ready(&self, runs: &mut Vec<(OperationId, Box<dyn Run>)>) -> bool {
        let mut any = false;
        loop {
            let (id, work) = {
                let mut state = self.lock();
                let next = match self.order {
                    OperationOrder::Submission => state.queue.ready().next(),
                    OperationOrder::Adversarial if any => None,
                    OperationOrder::Adversarial => state.queue.latest_ready(&state.awaited()),
                };
                let Some(id) = next else { return any };
                let Some(work) = state.queue.begin(id) else { return any };
                (id, work)
            };
            any = true;
            match work {
                Work::Order => self.complete(id),
                Work::Record(event) => {
                    self.lock().times.insert(event, Instant::now());
                    self.complete(id);
                }
                Work::Host(call) => {
                    self.lock().host_calls.push_back((id, call));
                    self.work.notify_all();
                }
                Work::Launch(launch) => match self.backend.start(&launch) {
                    Ok(run) => runs.push((id, run)),
                    Err(failure) => self.fail(*failure, runs),
                },
                other => {
                    if let Work::Copy(copy) = &other {
                        self.tell_doubtful(copy);
                    }
                    match transfer::carry_out(&*self.backend, &other) {
                        Ok(()) => self.complete(id),
                        Err(status) => {
                            let sentence = format!("a {} could not be carried out: {status}", other.word());
                            self.fail(Failure::told(status, sentence), runs);
                        }
                    }
                }
            }
        }
    }

    /// Tells of what a launch did wrong without standing still.
    fn tell_faults(&self, run: &mut dyn Run) {
        for (finding, mentions) in run.faults() {
            self.journal.write(&Record::sited(finding, &mentions));
        }
        let contended = run.contended();
        if !contended.is_empty() {
            self.journal.write(&Record::Contended(contended));
        }
    }

    /// Tells of doubtful bytes that a copy brings to the host; of each origin once.
    fn tell_doubtful(&self, copy: &Copy) {
        if !matches!((&copy.from.memory, &copy.to.memory), (Memory::Device, Memory::Host)) {
            return;
        }
        let rows = (0..copy.depth).flat_map(|slice| (0..copy.height).map(move |row| (slice, row)));
        let found = rows.take(MOST_ROWS).find_map(|(slice, row)| {
            let from = &copy.from;
            let offset = slice.wrapping_mul(from.slice).wrapping_add(row.wrapping_mul(from.pitch));
            self.backend.doubtful(from.address.wrapping_add(offset), copy.width)
        });
        let Some((finding, mentions)) = found else { return };
        let place = finding.primary_span().map(|span| (span.file.clone(), span.line));
        if self.lock().doubtful.insert(place.unwrap_or_default()) {
            self.journal.write(&Record::sited(finding, &mentions));
        }
    }

    /// Advances every launch; tells whether any moved.
    fn advance(&self, runs: &mut Vec<(OperationId, Box<dyn Run>)>) -> bool {
        let mut moved = false;
        let mut index = 0;
        while let Some((id, run)) = runs.get_mut(index) {
            let step = run.advance();
            if matches!(step, Step::Finished | Step::Failed(_)) {
                self.tell_faults(run.as_mut());
                if let Some(accesses) = run.reach() {
                    self.note_at(CallSite::default(), || Call::Reach { operation: id.0, accesses });
                }
            }
            match step {
                Step::Parked => index += 1,
                Step::Running => {
                    moved = true;
                    index += 1;
                }
                Step::Finished => {
                    moved = true;
                    let id = *id;
                    drop(runs.remove(index));
                    self.complete(id);
                }
                Step::Failed(failure) => {
                    self.fail(*failure, runs);
                    return true;
                }
            }
        }
        moved
    }

    fn complete(&self, id: OperationId) {
        self.lock().queue.complete(id);
        self.done.notify_all();
        self.work.notify_all();
    }

    fn fail(&self, failure: Failure, runs: &mut Vec<(OperationId, Box<dyn Run>)>) {
        runs.clear();
        match failure.finding {
            Some(finding) => self.journal.write(&Record::sited(finding, &failure.mentions)),
            None => self.journal.write(&Record::Trouble(failure.sentence)),
        }
        self.break_down(failure.status);
    }

    /// Every launch is parked and nothing is ready: is there anybody who may still help?
    fn stand(
        &self,
        state: MutexGuard<'_, State>,
        runs: &mut Vec<(OperationId, Box<dyn Run>)>,
        mut parked: Parked,
    ) -> Parked {
        let now = Instant::now();
        let since = *parked.since.get_or_insert(now);
        let served = state.waiting.values().any(|until| state.holds(*until));
        let calls = state.host_call_runs || !state.host_calls.is_empty();
        let waiting: HashSet<i32> = state.waiting.keys().copied().collect();
        let others = match served || calls || state.shared {
            true => Others::MayAct,
            false => match host::other_threads(&waiting) {
                // What looked like a wait for another thread is one for the lock that is held here.
                Others::WaitForEachOther if self.entering.load(Ordering::SeqCst) > 0 => Others::MayAct,
                others => others,
            },
        };
        // How it is known that nobody helps, when that is known.
        let outside = match others {
            Others::None => Some(None),
            Others::WaitForEachOther => {
                Some(Some("other threads of the program wait too, and were not followed"))
            }
            Others::MayAct if state.ending && !served => {
                Some(Some("the program was ending, and its other threads with it"))
            }
            Others::MayAct => None,
        };
        match outside {
            Some(None) => {
                self.conclude(state, runs, None);
                return Parked::default();
            }
            Some(reason) if now.duration_since(*parked.standing.get_or_insert(now)) >= STANDING => {
                self.conclude(state, runs, reason);
                return Parked::default();
            }
            Some(_) => {}
            None => parked.standing = None,
        }
        if !parked.told && now.duration_since(since) >= TOLD_AFTER {
            parked.told = true;
            let outside = Some("a thread of the program may still write what is waited for");
            let finding = runs.iter_mut().find_map(|(_, run)| run.standstill(outside));
            if host::somebody_reads() {
                say_that_it_waits();
            }
            self.journal.write(&Record::Parked(finding.map(Box::new)));
        }
        let look = parked.look.max(SHORTEST_LOOK);
        parked.look = (look * 2).min(LONGEST_LOOK);
        drop(self.work.wait_timeout(state, look).unwrap_or_else(PoisonError::into_inner));
        parked
    }

    fn unpark(&self, parked: Parked) -> Parked {
        if parked.told {
            self.journal.write(&Record::Parked(None));
        }
        Parked::default()
    }

    /// Nobody can help: tells why, and ends the process, which could only hang; one that is ending goes on ending.
    fn conclude(
        &self,
        state: MutexGuard<'_, State>,
        runs: &mut Vec<(OperationId, Box<dyn Run>)>,
        outside: Option<&str>,
    ) {
        let (launches, operations, ending) = (state.launches, state.operations, state.ending);
        drop(state);
        runs.iter_mut().for_each(|(_, run)| self.tell_faults(run.as_mut()));
        let findings: Vec<Finding> = runs.iter_mut().filter_map(|(_, run)| run.standstill(outside)).collect();
        if findings.is_empty() {
            let sentence = "the device stands still, and no thread of the program can change that".to_owned();
            self.journal.write(&Record::Trouble(sentence));
        }
        for finding in findings {
            self.journal.write(&Record::Finding(Box::new(finding)));
        }
        if ending {
            runs.clear();
            self.break_down(Status::LaunchTimeout);
            return;
        }
        self.note_accesses();
        self.journal.write(&Record::Ended { launches, operations });
        host::end_process(ENDED_BY_VERDICT)
    }

    /// From now on the device answers with this error.
    fn break_down(&self, status: Status) {
        let mut state = self.lock();
        state.broken = Some(status);
        state.queue.clear();
        state.host_calls.clear();
        drop(state);
        self.done.notify_all();
    }

    pub(super) fn run_host_calls(&self) {
        IN_HOST_CALL.set(true);
        standstill_host_access::set_thread(true);
        loop {
            let mut state = self.lock();
            let Some((id, call)) = state.host_calls.pop_front() else {
                drop(self.work.wait(state).unwrap_or_else(PoisonError::into_inner));
                continue;
            };
            state.host_call_runs = true;
            drop(state);
            if self.known.is_some() {
                standstill_host_access::rearm();
            }
            self.note_at(CallSite::default(), || Call::Begin { operation: id.0 });
            #[allow(unsafe_code, reason = "host functions are called by their address")]
            // SAFETY: the program handed the function over to be called with this argument.
            unsafe {
                host::call(call);
            }
            self.lock().host_call_runs = false;
            let accesses = self.recorder.as_ref().map(Recorder::take_touched).unwrap_or_default();
            self.note_at(CallSite::default(), || Call::Reach { operation: id.0, accesses });
            self.complete(id);
        }
    }
}

/// Says to a person that nothing moves. Only the program can go on from here.
fn say_that_it_waits() {
    use std::io::Write;
    let sentence = "standstill: the GPU stands still and waits for the program; Ctrl-C ends it with a report";
    let _ = writeln!(std::io::stderr(), "{sentence}");
}

//! The watchdog: starting a program, waiting for its end or for a limit, and what happens then.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, set_child_subreaper, waitid};

use crate::dump::{Dump, DumpFolder, DumpProgress, DumpRequest, ThreadTimes, dump_variables, request_dumps};
use crate::end::{Members, Remaining};
use crate::error::StartError;
use crate::guard::Guard;
use crate::launches::Programs;
use crate::process::{Process, uses_cuda};
use crate::stacks::{ProcessStacks, capture};
use crate::system;
use crate::terminal::Terminal;
use crate::tripwire::Tripwires;
use crate::wait::{open_process, poll_until};

use signals::{Signals, Told};

mod signals;

/// The variable that marks all processes of a supervised program.
const MARK: &str = "STANDSTILL_SUPERVISED";
/// Processes whose stacks are taken.
const MOST_PROCESSES: usize = 32;

/// How long a program may take, and how long ending it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From start to end.
    pub time: Option<Duration>,
    /// With host threads that wait for the GPU, in calls of which none returns. Looked at twice in that time.
    pub no_progress: Option<Duration>,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// For children that are left when the program has ended.
    pub leftover_grace: Duration,
    /// From SIGKILL to giving up on processes that no signal reaches.
    pub kill: Duration,
    /// For the stacks of one process.
    pub stacks: Duration,
    /// For a GPU core dump on which the driver does not work, before the first and after each further byte.
    pub dump_silence: Duration,
    /// For the GPU core dumps together.
    pub dump: Duration,
}

impl Default for Limits {
    /// No limit on the program; 2 s of grace, 10 s for what resists, 10 s of silence and 2 minutes for dumps.
    fn default() -> Limits {
        Limits {
            time: None,
            no_progress: None,
            grace: Duration::from_secs(2),
            leftover_grace: Duration::from_millis(500),
            kill: Duration::from_secs(10),
            stacks: Duration::from_secs(2),
            dump_silence: Duration::from_secs(10),
            dump: Duration::from_secs(120),
        }
    }
}

/// What to run, and how.
#[derive(Debug)]
pub struct Plan {
    /// The program with its arguments, environment and streams.
    pub command: Command,
    /// How long it may take.
    pub limits: Limits,
    /// Whether its GPU can be dumped. The variables for that are added to its environment.
    pub dumps: bool,
    /// Dumps without shared memory: smaller, and words there stay unknown.
    pub light_dumps: bool,
    /// Whether this process is there for the program alone: SIGINT, SIGTERM and SIGHUP end it as a limit does, it
    /// gets the terminal when it asks for it, and its orphans become children of this process. The calling thread
    /// must be the only one that takes signals.
    pub owns_process: bool,
}

impl Plan {
    /// A plan without limits, with dumps.
    #[must_use]
    pub fn new(command: Command) -> Plan {
        Plan { command, limits: Limits::default(), dumps: true, light_dumps: false, owns_process: false }
    }
}

/// Why a program was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It took longer than the limit.
    TimeLimit(Duration),
    /// The host waited for the GPU, and no waiting call returned.
    NoProgress {
        /// For how long.
        window: Duration,
        /// How that was judged.
        judged: String,
    },
    /// This process got a signal.
    Interrupted {
        /// Its number.
        signal: i32,
    },
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With an exit code.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
}

impl Ended {
    /// The exit code that a shell gives: 128 + signal for a program that was killed by one.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Ended::Exited(code) => u8::try_from(code & 0xff).unwrap_or(u8::MAX),
            Ended::Signalled(signal) => u8::try_from((128 + signal) & 0xff).unwrap_or(u8::MAX),
        }
    }
}

/// What a program stood on when it was stopped.
#[derive(Debug)]
pub struct Captured {
    /// Why it was stopped.
    pub reason: Reason,
    /// How long it had run.
    pub ran: Duration,
    /// The host stacks of its processes; those that use CUDA come first.
    pub stacks: Vec<ProcessStacks>,
    /// Their files with device code, by which the launches of a kernel are found.
    pub programs: Vec<(i32, Programs)>,
    /// Processes whose stacks were not taken, because there were too many.
    pub skipped: usize,
    /// The GPU core dumps. The files are removed when [`run`] returns.
    pub dumps: Vec<Dump>,
    /// When the limit was reached.
    pub expired: Instant,
}

/// Who is told what happens.
pub trait Observer {
    /// A line for a person who waits.
    fn progress(&mut self, _line: &str) {}

    /// What the program stood on. Its processes have been told to end and may be ending; they are killed after this
    /// returns, or when the grace is over.
    fn captured(&mut self, captured: &Captured);

    /// Something that a person must know although nobody waits for it.
    fn note(&mut self, _line: &str) {}
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Why the program was stopped; `None` when it ended by itself.
    pub stopped: Option<Reason>,
    /// How it ended; `None` when it could not be ended.
    pub ended: Option<Ended>,
    /// From its start to its end.
    pub ran: Duration,
    /// Processes that were still there after the program had ended by itself, and were ended.
    pub left_behind: Vec<Process>,
    /// Processes that could not be ended.
    pub remaining: Vec<Remaining>,
}

/// Runs a program to its end, or to a limit.
///
/// # Errors
/// When it cannot be started. Afterwards there is always an outcome.
pub fn run(plan: Plan, observer: &mut dyn Observer) -> Result<Outcome, StartError> {
    let Plan { mut command, limits, dumps, light_dumps, owns_process } = plan;
    let signals = match owns_process {
        true => Some(Signals::block().map_err(StartError::system("receive signals"))?),
        false => None,
    };
    let folder = match dumps {
        true => Some(DumpFolder::new().map_err(StartError::system("make a temporary folder"))?),
        false => None,
    };
    if let Some(folder) = &folder {
        command.envs(dump_variables(folder, light_dumps));
    }
    let mark = (MARK.to_owned(), unique());
    command.env(&mark.0, &mark.1);
    let mut guard = Guard::start(format!("{}={}", mark.0, mark.1).as_bytes())
        .map_err(StartError::system("start a process"))?;
    if owns_process {
        // Where that is refused, orphans are found by the mark alone.
        let _ = set_child_subreaper(Some(rustix::process::getpid()));
    }
    let program = command.get_program().to_owned();
    let child = system::spawn(&mut command, signals.as_ref().map(Signals::before))
        .map_err(|error| StartError::starting(&program, error))?;
    let leader = i32::try_from(child.id()).unwrap_or(0);
    guard.protect(leader);
    let members = Members { leader, mark, adopts: owns_process.then_some(guard.pid()) };
    let started = Instant::now();
    let handle = open_process(leader).ok_or_else(|| StartError::System {
        what: "watch a process (pidfd_open)",
        error: io::Error::last_os_error(),
    });
    let handle = match handle {
        Ok(handle) => handle,
        Err(error) => {
            members.kill(limits.kill);
            return Err(error);
        }
    };
    let mut watch = Watch {
        limits,
        started,
        members,
        handle,
        signals,
        terminal: if owns_process { Terminal::open() } else { Terminal::none() },
        folder,
        ended: None,
        wires: Tripwires::default(),
        wired: Instant::now(),
    };
    let outcome = watch.see_it_end(observer);
    watch.terminal.take_back();
    watch.reap();
    Ok(outcome)
}

/// A value that no other supervised program has.
fn unique() -> String {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("{}-{}-{count}", std::process::id(), time.as_nanos())
}

/// One supervised program.
struct Watch {
    limits: Limits,
    started: Instant,
    members: Members,
    handle: OwnedFd,
    signals: Option<Signals>,
    terminal: Terminal,
    folder: Option<DumpFolder>,
    ended: Option<Ended>,
    /// The calls in which the host waits for the GPU.
    wires: Tripwires,
    /// Since when none of them has returned.
    wired: Instant,
}

impl Watch {
    fn see_it_end(&mut self, observer: &mut dyn Observer) -> Outcome {
        let Some(reason) = self.wait(observer) else { return self.ended_by_itself() };
        let expired = Instant::now();
        let captured = self.capture(reason.clone(), expired, observer);
        self.members.signal(Signal::TERM);
        // A stopped process takes the signal only when it goes on.
        self.members.signal(Signal::CONT);
        let terminated = Instant::now();
        observer.captured(&captured);
        self.members.wait(self.limits.grace.saturating_sub(terminated.elapsed()));
        let remaining = self.members.kill(self.limits.kill);
        self.collect();
        Outcome {
            stopped: Some(reason),
            ended: self.ended,
            ran: captured.ran,
            left_behind: Vec::new(),
            remaining,
        }
    }

    /// Waits for the program's end (`None`) or for a reason to stop it.
    fn wait(&mut self, observer: &mut dyn Observer) -> Option<Reason> {
        let limit = self.limits.time.and_then(|time| self.started.checked_add(time));
        let window = self.limits.no_progress;
        let mut look = window.and_then(|window| self.started.checked_add(window / 2));
        loop {
            let deadline = [limit, look].into_iter().flatten().min();
            let mut fds = vec![PollFd::new(&self.handle, PollFlags::IN)];
            if let Some(signals) = &self.signals {
                fds.push(PollFd::new(signals, PollFlags::IN));
            }
            let happened = poll_until(&mut fds, deadline);
            if let Some(signal) = self.hear() {
                return Some(Reason::Interrupted { signal });
            }
            if self.has_ended() {
                return None;
            }
            if happened {
                continue;
            }
            let now = Instant::now();
            if let (Some(at), Some(time)) = (limit, self.limits.time)
                && now >= at
            {
                return Some(Reason::TimeLimit(time));
            }
            if let (Some(at), Some(window)) = (look, window)
                && now >= at
            {
                match self.stands_still(window) {
                    Ok(true) => {
                        let judged = format!("none of these calls returned: {}", self.wires.words());
                        return Some(Reason::NoProgress { window, judged });
                    }
                    Ok(false) => look = Instant::now().checked_add(window / 2),
                    Err(error) => {
                        observer.note(&format!(
                            "progress cannot be judged here: perf_event_open: {error} (it needs \
                             kernel.perf_event_paranoid of 2 or less, or CAP_PERFMON; in a container, \
                             `--cap-add PERFMON`)"
                        ));
                        look = None;
                    }
                }
            }
        }
    }

    /// Deals with signals that came; gives one that ends the program.
    fn hear(&mut self) -> Option<i32> {
        let group = Pid::from_raw(self.members.leader)?;
        while let Some(told) = self.signals.as_mut().and_then(Signals::next) {
            match told {
                Told::End(signal) => return Some(signal),
                Told::Child => {
                    self.reap();
                    if signals::waits_for_terminal(self.members.leader) {
                        self.terminal.lend(group);
                    }
                }
                Told::Pause => {
                    let _ = rustix::process::kill_process_group(group, Signal::TSTP);
                    let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
                    let _ = rustix::process::kill_process_group(group, Signal::CONT);
                }
            }
        }
        None
    }

    /// Waits for orphans that ended; the program itself is not touched.
    fn reap(&self) {
        if self.members.adopts.is_some() {
            signals::reap_others(&[Some(self.members.leader), self.members.adopts]);
        }
    }

    fn has_ended(&mut self) -> bool {
        if crate::wait::readable(&self.handle) {
            self.collect();
        }
        self.ended.is_some()
    }

    /// Takes the exit status, where the program has ended.
    fn collect(&mut self) {
        if self.ended.is_some() {
            return;
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        if let Ok(Some(status)) = waitid(WaitId::PidFd(self.handle.as_fd()), options) {
            self.ended = match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Some(Ended::Exited(code)),
                (None, Some(signal)) => Some(Ended::Signalled(signal)),
                (None, None) => None,
            };
        }
    }

    fn ended_by_itself(&mut self) -> Outcome {
        let ran = self.started.elapsed();
        let mut left_behind = Vec::new();
        let mut remaining = Vec::new();
        if !self.members.wait(self.limits.leftover_grace) {
            left_behind = self.members.living();
            self.members.signal(Signal::TERM);
            self.members.signal(Signal::CONT);
            self.members.wait(self.limits.grace);
            remaining = self.members.kill(self.limits.kill);
        }
        Outcome { stopped: None, ended: self.ended, ran, left_behind, remaining }
    }

    fn capture(&self, reason: Reason, expired: Instant, observer: &mut dyn Observer) -> Captured {
        let ran = self.started.elapsed();
        let mut living = self.members.living();
        living.sort_by_key(|process| (!uses_cuda(process.pid), process.pid));
        let skipped = living.len().saturating_sub(MOST_PROCESSES);
        living.truncate(MOST_PROCESSES);
        let before: Vec<(i32, ThreadTimes)> =
            living.iter().map(|process| (process.pid, ThreadTimes::of(process.pid))).collect();
        let stacks = living.iter().map(|process| capture(process.pid, self.limits.stacks)).collect();
        // A process may be gone after its dump.
        let programs = living.iter().map(|process| (process.pid, Programs::of(process.pid))).collect();
        let dumps = self.dump(before, observer);
        Captured { reason, ran, stacks, programs, skipped, dumps, expired }
    }

    /// Dumps every process that has the CUDA driver loaded or a dump pipe.
    fn dump(&self, mut before: Vec<(i32, ThreadTimes)>, observer: &mut dyn Observer) -> Vec<Dump> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let request = |process: Process| {
            let pid = process.pid;
            let known = before.iter().position(|(known, _)| *known == pid).map(|at| before.swap_remove(at).1);
            let before = known.unwrap_or_else(|| ThreadTimes::of(pid));
            DumpRequest { pid, pipe: folder.pipe(pid), core: folder.core(pid), before }
        };
        let wanted = |request: &DumpRequest| request.pipe.exists() || uses_cuda(request.pid);
        let requests: Vec<DumpRequest> =
            self.members.living().into_iter().map(request).filter(wanted).collect();
        if requests.is_empty() {
            return Vec::new();
        }
        observer.progress("the driver writes what the GPU stands on");
        let mut told = Instant::now();
        let mut progress = |progress: DumpProgress| {
            if told.elapsed() > Duration::from_millis(500) {
                told = Instant::now();
                observer.progress(&progress.to_string());
            }
        };
        let interrupt: Option<BorrowedFd<'_>> = self.signals.as_ref().map(Signals::ending);
        request_dumps(&requests, self.limits.dump_silence, self.limits.dump, interrupt, &mut progress)
    }

    /// Whether the host has waited for the GPU through the whole window, in the same calls.
    fn stands_still(&mut self, window: Duration) -> io::Result<bool> {
        if !self.wires.is_empty() && !self.wires.fired() {
            return Ok(self.wired.elapsed() >= window);
        }
        let mut watched = self.members.living();
        if watched.iter().any(|process| uses_cuda(process.pid)) {
            watched.retain(|process| uses_cuda(process.pid));
        }
        watched.truncate(MOST_PROCESSES);
        let stacks: Vec<ProcessStacks> =
            watched.iter().map(|process| capture(process.pid, self.limits.stacks)).collect();
        self.wires = Tripwires::set(&stacks)?;
        self.wired = Instant::now();
        Ok(false)
    }
}

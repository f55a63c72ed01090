//! GPU core dumps on demand. A process whose environment held the variables of [`dump_variables`] when it first
//! called CUDA has a thread of the driver waiting at a named pipe; a write to that pipe makes the driver stop the
//! GPU and write what every warp stands on to a file. (CUDA-GDB documentation, «GPU core dump support».)

mod complete;
mod threads;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use tempfile::TempDir;
use thiserror::Error;

use crate::wait::{open_process, poll_until, readable};

use complete::is_complete;
use threads::Activity;
pub use threads::ThreadTimes;

/// How much is written to a pipe: the driver may hold small writes back.
const TRIGGER_BYTES: usize = 1 << 20;

/// The folder for the pipes and dumps of one supervised program. It is removed when this is dropped.
#[derive(Debug)]
pub struct DumpFolder {
    folder: TempDir,
}

impl DumpFolder {
    /// Makes the folder, in the system's folder for temporary files.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new() -> io::Result<DumpFolder> {
        tempfile::Builder::new().prefix("standstill-").tempdir().map(|folder| DumpFolder { folder })
    }

    /// Where the pipe of a process is.
    #[must_use]
    pub fn pipe(&self, pid: i32) -> PathBuf {
        self.folder.path().join(format!("pipe.{pid}"))
    }

    /// Where the dump of a process will be.
    #[must_use]
    pub fn core(&self, pid: i32) -> PathBuf {
        self.folder.path().join(format!("core.{pid}"))
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// The environment under which processes can be dumped into `folder`. `light` leaves shared memory out. The driver
/// aborts a process after its dump.
#[must_use]
pub fn dump_variables(folder: &DumpFolder, light: bool) -> Vec<(&'static str, OsString)> {
    let mut flags = vec![
        "skip_nonrelocated_elf_images",
        "skip_global_memory",
        "skip_local_memory",
        "skip_constbank_memory",
    ];
    if light {
        flags.push("skip_shared_memory");
    }
    let named = |name: &str| folder.path().join(name).into_os_string();
    vec![
        ("CUDA_ENABLE_USER_TRIGGERED_COREDUMP", "1".into()),
        ("CUDA_COREDUMP_PIPE", named("pipe.%p")),
        ("CUDA_COREDUMP_FILE", named("core.%p")),
        ("CUDA_COREDUMP_GENERATION_FLAGS", flags.join(",").into()),
    ]
}

/// One process to dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DumpRequest {
    /// The process.
    pub pid: i32,
    /// Its pipe.
    pub pipe: PathBuf,
    /// The file that the driver will write.
    pub core: PathBuf,
    /// How much its threads had worked some time before: threads that work all along, as a host thread that polls for
    /// the GPU does, do not write the dump.
    pub before: ThreadTimes,
}

/// How far the dumps are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DumpProgress {
    /// Bytes written so far.
    pub bytes: u64,
    /// How long nothing has been written.
    pub silent: Duration,
    /// Whether the driver works on them all the same.
    pub works: bool,
}

impl fmt::Display for DumpProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GPU core dump: {} MB so far", self.bytes / 1_000_000)?;
        match (self.silent.as_secs(), self.works) {
            (0, _) => Ok(()),
            (silent, true) => write!(f, "; nothing new for {silent} s, but the driver works on it"),
            (silent, false) => write!(f, "; nothing new for {silent} s, and the driver does not work on it"),
        }
    }
}

/// What a request gave.
#[derive(Debug)]
pub struct Dump {
    /// The process.
    pub pid: i32,
    /// The file; it may be there, cut short, when there is an error.
    pub core: PathBuf,
    /// From the trigger to the last byte.
    pub took: Duration,
    /// Bytes written.
    pub bytes: u64,
    /// Why there is no dump, or only a part of one.
    pub error: Option<DumpError>,
}

/// Why there is no GPU core dump.
#[derive(Debug, Error)]
pub enum DumpError {
    /// The driver made no pipe: the process has not called CUDA, or the driver does not know dumps.
    #[error("it has no dump pipe: no CUDA context was made, or the driver is older than r535")]
    NoPipe,
    /// Nobody reads from the pipe, or it cannot be written to.
    #[error("its dump pipe cannot be written to: {0}")]
    Pipe(io::Error),
    /// The driver wrote nothing in time, and did not work on it.
    #[error("the driver wrote no dump within {} s", .0.as_secs())]
    Silent(Duration),
    /// The driver was still at work when the time for all dumps was over.
    #[error("the driver was not done with it after {} s ({bytes} bytes are there)", .limit.as_secs())]
    TooLong {
        /// The time for all dumps.
        limit: Duration,
        /// How much is there.
        bytes: u64,
    },
    /// Somebody did not want to wait.
    #[error("the wait for it was interrupted ({bytes} bytes are there)")]
    Interrupted {
        /// How much is there.
        bytes: u64,
    },
    /// The driver began and stopped writing.
    #[error("the driver stopped writing after {bytes} bytes{why}")]
    CutShort {
        /// How much is there.
        bytes: u64,
        /// ` (the disk is full)` where that is the reason, otherwise empty.
        why: &'static str,
    },
}

enum Step {
    Triggering { pipe: File, written: usize },
    Waiting,
    Done(Option<DumpError>),
}

struct Pending<'a> {
    request: &'a DumpRequest,
    step: Step,
    process: Option<OwnedFd>,
    activity: Activity,
    bytes: u64,
    took: Duration,
}

/// Triggers the dumps of all processes at once and waits for them. It waits on while bytes come or the driver works,
/// but not through `silence` without either, never longer than `limit` in all, and not after `interrupt` becomes
/// readable. `progress` is told how far they are.
pub fn request_dumps(
    requests: &[DumpRequest],
    silence: Duration,
    limit: Duration,
    interrupt: Option<BorrowedFd<'_>>,
    progress: &mut dyn FnMut(DumpProgress),
) -> Vec<Dump> {
    /// The threads are looked at so often within `silence`.
    const LOOKS: u32 = 5;
    let start = Instant::now();
    let watch = Watch::new(requests);
    let mut pending: Vec<Pending<'_>> = requests.iter().map(Pending::new).collect();
    let (mut grew, mut sign, mut look) = (start, start, start + silence / LOOKS);
    let mut total = 0;
    loop {
        for one in &mut pending {
            one.advance(&watch.closed, start);
        }
        let bytes = pending.iter().map(|one| one.bytes).sum();
        let now = Instant::now();
        if bytes != total {
            total = bytes;
            (grew, sign) = (now, now);
            progress(DumpProgress { bytes, silent: Duration::ZERO, works: true });
        }
        if pending.iter().all(Pending::is_done) {
            break;
        }
        if now >= look {
            look = now + silence / LOOKS;
            let works =
                pending.iter_mut().filter(|one| !one.is_done()).fold(false, |any, one| one.works() | any);
            if works {
                sign = now;
            }
            progress(DumpProgress { bytes, silent: now - grew, works });
        }
        let give_up = match interrupt {
            Some(interrupt) if readable(&interrupt) => Some(GiveUp::Interrupted),
            _ if now >= start + limit => Some(GiveUp::TooLong(limit)),
            _ if now >= sign + silence => Some(GiveUp::Silent(silence)),
            _ => None,
        };
        if let Some(reason) = give_up {
            pending.iter_mut().for_each(|one| one.give_up(reason));
            break;
        }
        watch.wait(&pending, look.min(start + limit).min(sign + silence), interrupt);
        watch.read();
    }
    pending.into_iter().map(Pending::finish).collect()
}

/// Why a dump is not waited for any more.
#[derive(Debug, Clone, Copy)]
enum GiveUp {
    Interrupted,
    TooLong(Duration),
    Silent(Duration),
}

impl<'a> Pending<'a> {
    fn new(request: &'a DumpRequest) -> Pending<'a> {
        let step = match open_pipe(&request.pipe) {
            Ok(pipe) => Step::Triggering { pipe, written: 0 },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Step::Done(Some(DumpError::NoPipe)),
            Err(error) => Step::Done(Some(DumpError::Pipe(error))),
        };
        // A file of that name from before is none of this request.
        let _ = fs::remove_file(&request.core);
        Pending {
            request,
            step,
            process: open_process(request.pid),
            activity: Activity::new(request.pid, &request.before),
            bytes: 0,
            took: Duration::ZERO,
        }
    }

    fn is_done(&self) -> bool {
        matches!(self.step, Step::Done(_))
    }

    /// Whether the driver works, since this was last asked.
    fn works(&mut self) -> bool {
        self.activity.works(self.request.pid)
    }

    /// Writes what the pipe takes, and looks at the file.
    fn advance(&mut self, closed: &Closed, start: Instant) {
        if let Step::Triggering { pipe, written } = &mut self.step {
            static ZEROS: [u8; TRIGGER_BYTES] = [0; TRIGGER_BYTES];
            while let Some(rest) = ZEROS.get(*written..).filter(|rest| !rest.is_empty()) {
                match io::Write::write(pipe, rest) {
                    Ok(count) => *written += count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // The reader has what it needs and is gone.
                    Err(_) if *written > 0 => *written = TRIGGER_BYTES,
                    Err(error) => {
                        self.step = Step::Done(Some(DumpError::Pipe(error)));
                        return;
                    }
                }
            }
            if *written >= TRIGGER_BYTES {
                self.step = Step::Waiting;
            }
        }
        if self.is_done() {
            return;
        }
        let ended = self.process.as_ref().is_none_or(readable);
        if let Ok(metadata) = fs::metadata(&self.request.core)
            && metadata.len() != self.bytes
        {
            self.bytes = metadata.len();
            self.took = start.elapsed();
        }
        let closed = ended || closed.holds(&self.request.core);
        if closed && is_complete(&self.request.core) {
            self.step = Step::Done(None);
        } else if ended {
            self.step = Step::Done(Some(self.cut_short()));
        }
    }

    fn cut_short(&self) -> DumpError {
        let full = self.request.core.parent().is_some_and(|folder| {
            rustix::fs::statvfs(folder)
                .is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < 1 << 16)
        });
        let why = if full { " (the disk is full)" } else { "" };
        DumpError::CutShort { bytes: self.bytes, why }
    }

    fn give_up(&mut self, reason: GiveUp) {
        if self.is_done() {
            return;
        }
        let bytes = self.bytes;
        self.step = Step::Done(Some(match reason {
            GiveUp::Interrupted => DumpError::Interrupted { bytes },
            GiveUp::TooLong(limit) => DumpError::TooLong { limit, bytes },
            GiveUp::Silent(_) if bytes > 0 => self.cut_short(),
            GiveUp::Silent(silence) => DumpError::Silent(silence),
        }));
    }

    fn finish(self) -> Dump {
        let error = match self.step {
            Step::Done(error) => error,
            Step::Triggering { .. } | Step::Waiting => None,
        };
        Dump {
            pid: self.request.pid,
            core: self.request.core.clone(),
            took: self.took,
            bytes: self.bytes,
            error,
        }
    }
}

/// Opens a named pipe without waiting for its reader.
fn open_pipe(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new().write(true).custom_flags(nix::libc::O_NONBLOCK).open(path)
}

/// Files that the driver has closed after writing.
#[derive(Debug, Default)]
struct Closed(RefCell<HashSet<PathBuf>>);

impl Closed {
    fn holds(&self, path: &Path) -> bool {
        self.0.borrow().contains(path)
    }
}

/// Looks at the folders of the dumps.
struct Watch {
    notifier: Option<OwnedFd>,
    folders: HashMap<i32, PathBuf>,
    closed: Closed,
}

impl Watch {
    fn new(requests: &[DumpRequest]) -> Watch {
        let notifier = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        let mut folders = HashMap::new();
        let interest =
            WatchFlags::CREATE | WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO;
        for folder in requests.iter().filter_map(|request| request.core.parent()) {
            if let Some(number) =
                notifier.as_ref().and_then(|fd| inotify::add_watch(fd, folder, interest).ok())
            {
                folders.insert(number, folder.to_owned());
            }
        }
        Watch { notifier, folders, closed: Closed::default() }
    }

    /// Waits until something happens, or for the deadline.
    fn wait(&self, pending: &[Pending<'_>], deadline: Instant, interrupt: Option<BorrowedFd<'_>>) {
        let mut fds: Vec<PollFd<'_>> = Vec::new();
        if let Some(interrupt) = &interrupt {
            fds.push(PollFd::new(interrupt, PollFlags::IN));
        }
        for one in pending.iter().filter(|one| !one.is_done()) {
            if let Step::Triggering { pipe, .. } = &one.step {
                fds.push(PollFd::new(pipe, PollFlags::OUT));
            }
            if let Some(process) = &one.process {
                fds.push(PollFd::new(process, PollFlags::IN));
            }
        }
        // Without notifications (none are left to this user) the file is looked at ten times a second.
        let deadline = match &self.notifier {
            Some(notifier) => {
                fds.push(PollFd::new(notifier, PollFlags::IN));
                deadline
            }
            None => deadline.min(Instant::now() + Duration::from_millis(100)),
        };
        poll_until(&mut fds, Some(deadline));
    }

    fn read(&self) {
        let Some(notifier) = &self.notifier else { return };
        let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
        let mut events = inotify::Reader::new(notifier, &mut buffer);
        while let Ok(event) = events.next() {
            if event.events().intersects(ReadFlags::CLOSE_WRITE | ReadFlags::MOVED_TO)
                && let (Some(folder), Some(name)) = (self.folders.get(&event.wd()), event.file_name())
                && let Ok(name) = name.to_str()
            {
                self.closed.0.borrow_mut().insert(folder.join(name));
            }
        }
    }
}

//! GPU core dumps on demand. A process whose environment held the variables of [`dump_variables`] when it first
//! called CUDA has a thread of the driver waiting at a named pipe; a write to that pipe makes the driver stop the
//! GPU and write what every warp stands on to a file. (CUDA-GDB documentation, «GPU core dump support».)

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use tempfile::TempDir;
use thiserror::Error;

use crate::wait::{open_process, poll_until, readable};

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
    /// The driver wrote nothing in time.
    #[error("the driver wrote no dump within {} s", .0.as_secs())]
    Silent(Duration),
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
    bytes: u64,
    took: Duration,
}

/// Triggers the dumps of all processes at once and waits for them: `silence` for a first or a further byte of each,
/// never longer than `limit` in all, and not after `interrupt` becomes readable. `progress` is told the bytes
/// written so far.
pub fn request_dumps(
    requests: &[DumpRequest],
    silence: Duration,
    limit: Duration,
    interrupt: Option<BorrowedFd<'_>>,
    progress: &mut dyn FnMut(u64),
) -> Vec<Dump> {
    let start = Instant::now();
    let watch = Watch::new(requests);
    let mut pending: Vec<Pending<'_>> = requests.iter().map(Pending::new).collect();
    let mut last_change = Instant::now();
    let mut total = 0;
    loop {
        for one in &mut pending {
            one.advance(&watch.closed, start);
        }
        let open = pending.iter().any(|one| !matches!(one.step, Step::Done(_)));
        let bytes = pending.iter().map(|one| one.bytes).sum();
        if bytes != total {
            total = bytes;
            last_change = Instant::now();
            progress(total);
        }
        if !open {
            break;
        }
        let deadline = (last_change + silence).min(start + limit);
        if !watch.wait(&pending, deadline, interrupt) {
            for one in &mut pending {
                one.give_up(silence);
            }
            break;
        }
        watch.read();
    }
    pending.into_iter().map(Pending::finish).collect()
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
        Pending { request, step, process: open_process(request.pid), bytes: 0, took: Duration::ZERO }
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
        if matches!(self.step, Step::Done(_)) {
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

    fn give_up(&mut self, silence: Duration) {
        if matches!(self.step, Step::Done(_)) {
            return;
        }
        let error = if self.bytes > 0 { self.cut_short() } else { DumpError::Silent(silence) };
        self.step = Step::Done(Some(error));
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

    /// Waits until something happens; `false` at the deadline.
    fn wait(&self, pending: &[Pending<'_>], deadline: Instant, interrupt: Option<BorrowedFd<'_>>) -> bool {
        let mut fds: Vec<PollFd<'_>> = Vec::new();
        if let Some(interrupt) = &interrupt {
            if readable(interrupt) {
                return false;
            }
            fds.push(PollFd::new(interrupt, PollFlags::IN));
        }
        for one in pending {
            if matches!(one.step, Step::Done(_)) {
                continue;
            }
            if let Step::Triggering { pipe, .. } = &one.step {
                fds.push(PollFd::new(pipe, PollFlags::OUT));
            }
            if let Some(process) = &one.process {
                fds.push(PollFd::new(process, PollFlags::IN));
            }
        }
        if let Some(notifier) = &self.notifier {
            fds.push(PollFd::new(notifier, PollFlags::IN));
            return poll_until(&mut fds, Some(deadline));
        }
        // Without notifications (none are left to this user) the file is looked at ten times a second.
        let _ = poll_until(&mut fds, Some(deadline.min(Instant::now() + Duration::from_millis(100))));
        Instant::now() < deadline
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

/// Whether `path` is an ELF file whose section table, and every section that it names, lie inside the file.
fn is_complete(path: &Path) -> bool {
    fn checked(path: &Path) -> Option<bool> {
        let file = File::open(path).ok()?;
        let length = file.metadata().ok()?.len();
        let mut header = [0u8; 64];
        file.read_exact_at(&mut header, 0).ok()?;
        if header.get(..5)? != b"\x7fELF\x02" {
            return Some(false);
        }
        let table = u64::from_le_bytes(header.get(40..48)?.try_into().ok()?);
        let size = u64::from(u16::from_le_bytes(header.get(58..60)?.try_into().ok()?));
        let mut count = u64::from(u16::from_le_bytes(header.get(60..62)?.try_into().ok()?));
        if table == 0 || size < 64 {
            return Some(false);
        }
        let mut section = [0u8; 64];
        if count == 0 {
            // The number did not fit; it stands in the first section.
            file.read_exact_at(&mut section, table).ok()?;
            count = u64::from_le_bytes(section.get(32..40)?.try_into().ok()?);
        }
        if table.checked_add(size.checked_mul(count)?)? > length {
            return Some(false);
        }
        const NO_BITS: u32 = 8;
        for index in 0..count {
            file.read_exact_at(&mut section, table + index * size).ok()?;
            let kind = u32::from_le_bytes(section.get(4..8)?.try_into().ok()?);
            let offset = u64::from_le_bytes(section.get(24..32)?.try_into().ok()?);
            let bytes = u64::from_le_bytes(section.get(32..40)?.try_into().ok()?);
            if index > 0 && kind != NO_BITS && offset.checked_add(bytes)? > length {
                return Some(false);
            }
        }
        Some(true)
    }
    checked(path).unwrap_or(false)
}

//! What carries operations out: the seam between the order of operations and a device.

use standstill_findings::Finding;
use standstill_trace::Access;

use crate::call_site::CallSite;
use crate::image::Image;
use crate::operation::Launch;
use crate::status::Status;

/// A device. Memory may be read and written by several threads, also while kernels run.
pub trait Backend: Send + Sync {
    /// Bytes of its memory, and how many of them are free.
    fn capacity(&self) -> (u64, u64);

    /// Allocates memory for a call of the program and gives its address.
    ///
    /// # Errors
    /// When there is not enough.
    fn allocate(&self, bytes: u64, site: CallSite) -> Result<u64, Status>;

    /// Frees what [`Backend::allocate`] gave.
    ///
    /// # Errors
    /// When nothing was allocated there.
    fn free(&self, address: u64, site: CallSite) -> Result<(), Status>;

    /// Lets kernels reach host memory at the address by which the program knows it; `base` may be another mapping of
    /// it.
    ///
    /// # Safety
    /// The bytes from `base` on stay mapped, readable and writable until [`Backend::unmap_host`] has returned and no kernel
    /// runs that was there before.
    ///
    /// # Errors
    /// When part of it is reachable already.
    #[allow(unsafe_code, reason = "the caller vouches for memory of the host program")]
    unsafe fn map_host(
        &self,
        address: u64,
        base: *mut u8,
        bytes: usize,
        site: CallSite,
    ) -> Result<(), Status>;

    /// Ends [`Backend::map_host`].
    ///
    /// # Errors
    /// When nothing was mapped there.
    fn unmap_host(&self, base: u64, site: CallSite) -> Result<(), Status>;

    /// Whether the address is in the device's own memory.
    fn holds(&self, address: u64) -> bool;

    /// Copies device memory out.
    ///
    /// # Errors
    /// When the bytes do not lie in one allocation.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Status>;

    /// Copies bytes into device memory.
    ///
    /// # Errors
    /// When the bytes do not lie in one allocation.
    fn write(&self, address: u64, from: &[u8]) -> Result<(), Status>;

    /// Repeats a pattern over `bytes` bytes.
    ///
    /// # Errors
    /// When the bytes do not lie in one allocation.
    fn fill(&self, address: u64, pattern: &[u8], bytes: u64) -> Result<(), Status>;

    /// What is wrong with bytes of the device that the host is about to see.
    fn doubtful(&self, address: u64, bytes: u64) -> Option<Told> {
        let _ = (address, bytes);
        None
    }

    /// Places an image's variables, if it has not been done: those that are named at these addresses of host
    /// memory that was mapped, the others in the device's own memory.
    ///
    /// # Errors
    /// When that is not possible.
    fn load(&self, image: &'static Image, placed: &[(String, u64)]) -> Result<(), Status>;

    /// Address and size of a variable of an image.
    ///
    /// # Errors
    /// When there is no such variable, or the image cannot be loaded.
    fn variable(&self, image: &'static Image, name: &str) -> Result<(u64, u64), Status>;

    /// Begins a launch, of which nothing runs yet.
    ///
    /// # Errors
    /// When the device cannot run it.
    fn start(&self, launch: &Launch) -> Result<Box<dyn Run>, Box<Failure>>;
}

/// A finding, and the calls of the host that belong to it.
pub type Told = (Finding, Vec<Mention>);

/// A launch that runs.
pub trait Run: Send {
    /// Runs it for a while.
    fn advance(&mut self) -> Step;

    /// Who waits for whom, when it is parked. `outside` says who may still help; then it is only possible that
    /// it stands for good.
    fn standstill(&mut self, outside: Option<&str>) -> Option<Finding>;

    /// What else it did wrong, by the order of its accesses and by what it read.
    fn faults(&mut self) -> Vec<Told> {
        Vec::new()
    }

    /// Where its threads met, when that is asked for: image, function and position.
    fn contended(&mut self) -> Vec<(usize, u32, u32)> {
        Vec::new()
    }

    /// The bytes of global memory that it has touched; `None` when that was not watched.
    fn reach(&self) -> Option<Vec<Access>> {
        None
    }
}

/// How far a launch has come.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// It goes on.
    Running,
    /// Every thread waits, and nothing inside can change that.
    Parked,
    /// It is done.
    Finished,
    /// It did something that ends it.
    Failed(Box<Failure>),
}

/// Why a launch ended before its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// What the program is told.
    pub status: Status,
    /// What the user is told, in a sentence.
    pub sentence: String,
    /// The fault, where it breaks a rule.
    pub finding: Option<Finding>,
    /// Calls of the host that belong to it.
    pub mentions: Vec<Mention>,
}

impl Failure {
    /// One that breaks no rule.
    #[must_use]
    pub fn told(status: Status, sentence: String) -> Failure {
        Failure { status, sentence, finding: None, mentions: Vec::new() }
    }
}

/// A call of the host that a finding shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Mention {
    /// What the reader should see there.
    pub label: String,
    /// Where it came from.
    pub site: CallSite,
    /// Whether the finding points there.
    pub primary: bool,
}

impl Mention {
    /// A call that belongs to a finding.
    #[must_use]
    pub fn new(label: impl Into<String>, site: CallSite) -> Mention {
        Mention { label: label.into(), site, primary: false }
    }

    /// The call that the finding points at.
    #[must_use]
    pub fn primary(label: impl Into<String>, site: CallSite) -> Mention {
        Mention { primary: true, ..Mention::new(label, site) }
    }
}

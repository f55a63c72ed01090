//! The software GPU behind the operations.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use standstill_device_sim::{
    Device, DeviceSink, Grid, LaunchError, LaunchRequest, MemoryError, Module, Progress, Schedule, Touched,
};
use standstill_findings::{Finding, Known};
use standstill_kernel_ir::{Function, FunctionId, Module as IrModule, Program};
use standstill_trace::{Access, Mode};

use crate::backend::{Backend, Failure, Mention, Run, Step, Told};
use crate::call_site::CallSite;
use crate::capture::Capture;
use crate::card::Card;
use crate::fault_report::{Freed, FreedMemory, failure};
use crate::image::Image;
use crate::operation::Launch;
use crate::queue::OperationOrder;
use crate::status::Status;

/// Instructions of warps between two looks at what else is to be done.
const BUDGET: u64 = 200_000;

/// In which order threads run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Warps take turns.
    #[default]
    RoundRobin,
    /// In a random order.
    Random,
    /// By priorities that change at random places.
    Pct,
    /// At random, with delays where threads meet.
    Adversarial,
    /// In turns, to see where threads meet; for runs in an adversarial order.
    Rehearsal,
}

/// All orders by name.
const ORDERS: [(Order, &str); 5] = [
    (Order::RoundRobin, "round-robin"),
    (Order::Random, "random"),
    (Order::Pct, "pct"),
    (Order::Adversarial, "adversarial"),
    (Order::Rehearsal, "rehearsal"),
];

impl Order {
    /// The order with this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Order> {
        ORDERS.iter().find(|(_, known)| *known == name).map(|(order, _)| *order)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        ORDERS.iter().find(|(order, _)| *order == self).map_or("", |(_, name)| name)
    }
}

/// How a software GPU executes.
#[derive(Debug, Clone, Default)]
pub struct Execution {
    /// Where random choices start.
    pub seed: u64,
    /// In which order threads run.
    pub order: Order,
    /// In which order operations are begun; told with what replays a finding.
    pub operations: OperationOrder,
    /// Whether races and faults of memory order are looked for.
    pub races: bool,
    /// Whether each launch tells which bytes it has touched ([`Run::reach`]).
    pub reach: bool,
    /// Whether loads may return values that were overwritten, where the memory consistency model allows it.
    pub stale: bool,
    /// Where threads meet, as a rehearsal of the program has shown: image, function and position.
    pub contended: Vec<(usize, u32, u32)>,
    /// Which launch is written down, with which the process ends.
    pub capture: Option<Capture>,
}

/// A software GPU of a model.
pub struct Software {
    device: Arc<Device>,
    modules: Mutex<HashMap<usize, Result<Arc<Module>, Status>>>,
    execution: Execution,
    launches: Mutex<u64>,
    /// Launches that count for what is to be captured.
    counted: Mutex<u64>,
    freed: Arc<Mutex<Freed>>,
}

impl Software {
    /// A card of this model.
    #[must_use]
    pub fn new(card: &Card, execution: Execution) -> Software {
        Software {
            device: match execution.races {
                true => Device::watched(card.device, card.memory),
                false => Device::new(card.device, card.memory),
            },
            modules: Mutex::default(),
            execution,
            launches: Mutex::new(0),
            counted: Mutex::new(0),
            freed: Arc::default(),
        }
    }

    fn module(&self, image: &'static Image) -> Result<Arc<Module>, Status> {
        self.load_placed(image, &[])
    }

    fn load_placed(&self, image: &'static Image, placed: &[(String, u64)]) -> Result<Arc<Module>, Status> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = modules.get(&image.number) {
            return known.clone();
        }
        let placed: Vec<(u32, u64)> =
            placed.iter().filter_map(|(name, address)| Some((image.variable(name)?, *address))).collect();
        let loaded = self
            .device
            .load_placed(Arc::new(Code(image)), &image.first_values(), &placed)
            .map_err(|_| Status::MemoryAllocation);
        modules.insert(image.number, loaded.clone());
        loaded
    }

    /// Each launch draws from a sequence of its own, which the seed and its number decide.
    fn next_seed(&self) -> u64 {
        let mut launches = self.launches.lock().unwrap_or_else(PoisonError::into_inner);
        *launches += 1;
        self.execution.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(*launches)
    }
}

impl Backend for Software {
    fn capacity(&self) -> (u64, u64) {
        self.device.memory().capacity()
    }

    fn allocate(&self, bytes: u64, site: CallSite) -> Result<u64, Status> {
        self.device.memory().allocate_marked(bytes, site.number()).map_err(status_of_memory)
    }

    fn free(&self, address: u64, site: CallSite) -> Result<(), Status> {
        let gone = self.device.memory().free(address).map_err(status_of_memory)?;
        let allocated = CallSite::from_number(gone.mark);
        let freed = FreedMemory { address: gone.address, bytes: gone.bytes, allocated, freed: site };
        self.freed.lock().unwrap_or_else(PoisonError::into_inner).add(freed);
        Ok(())
    }

    #[allow(unsafe_code, reason = "the caller's promise is handed on")]
    unsafe fn map_host(
        &self,
        address: u64,
        base: *mut u8,
        bytes: usize,
        site: CallSite,
    ) -> Result<(), Status> {
        // SAFETY: the caller promises what `Memory::map_host` asks for; only raw pointers reach the bytes.
        let mapped = unsafe { self.device.memory().map_host(address, base, bytes, site.number()) };
        mapped.map(|_| ()).map_err(status_of_memory)
    }

    fn unmap_host(&self, base: u64, site: CallSite) -> Result<(), Status> {
        self.free(base, site)
    }

    fn holds(&self, address: u64) -> bool {
        self.device.memory().find(address).is_some_and(|allocation| !allocation.host)
    }

    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Status> {
        self.device.memory().read(address, into).map_err(status_of_memory)
    }

    fn write(&self, address: u64, from: &[u8]) -> Result<(), Status> {
        self.device.memory().write(address, from).map_err(status_of_memory)
    }

    fn fill(&self, address: u64, pattern: &[u8], bytes: u64) -> Result<(), Status> {
        self.device.memory().fill(address, pattern, bytes).map_err(status_of_memory)
    }

    fn doubtful(&self, address: u64, bytes: u64) -> Option<Told> {
        let (finding, mark) = self.device.memory().doubtful(address, bytes)?;
        Some(told(finding, mark, &self.replay()))
    }

    fn load(&self, image: &'static Image, placed: &[(String, u64)]) -> Result<(), Status> {
        self.load_placed(image, placed).map(|_| ())
    }

    fn variable(&self, image: &'static Image, name: &str) -> Result<(u64, u64), Status> {
        self.module(image)?.variable(name).ok_or(Status::InvalidSymbol)
    }

    fn start(&self, launch: &Launch) -> Result<Box<dyn Run>, Box<Failure>> {
        let refused = |status, sentence: String| Box::new(Failure::told(status, sentence));
        let module = self.module(launch.kernel.image).map_err(|status| {
            refused(status, format!("the variables of {}'s module do not fit the card", launch.kernel.name))
        })?;
        self.capture(launch, &module).map_err(|why| {
            let sentence = format!("the launch of {} cannot be captured: {why}", launch.kernel.name);
            refused(Status::Unknown, sentence)
        })?;
        let request = LaunchRequest {
            kernel: launch.kernel.function,
            grid: launch.grid,
            block: launch.block,
            cluster: (launch.cluster != [1, 1, 1]).then_some(launch.cluster),
            dynamic_shared: launch.dynamic_shared,
            parameters: launch.parameters.clone(),
            cooperative: launch.cooperative,
            registers: Some(launch.kernel.registers),
            seed: self.next_seed(),
            schedule: self.schedule(launch.kernel.image.number),
            sink: Some(Box::new(Output)),
            strict: false,
            races: self.execution.races,
            stale: self.execution.stale,
            reach: self.execution.reach,
        };
        let grid = self
            .device
            .launch(&module, request)
            .map_err(|error| refused(status_of_launch(&error), format!("{}: {error}", launch.kernel.name)))?;
        Ok(Box::new(Running {
            grid,
            replay: self.replay(),
            rehearsal: (self.execution.order == Order::Rehearsal).then_some(launch.kernel.image.number),
            freed: Arc::clone(&self.freed),
            device: Arc::clone(&self.device),
        }))
    }
}

impl Software {
    /// Writes the launch down where it is the one that is wanted, and ends the process.
    fn capture(&self, launch: &Launch, module: &Module) -> Result<(), String> {
        let Some(capture) = &self.execution.capture else { return Ok(()) };
        if !capture.counts(&launch.kernel.name) {
            return Ok(());
        }
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        *counted += 1;
        if !capture.is_due(*counted) {
            return Ok(());
        }
        let variables = 0..module.program().module().variables.len() as u32;
        let variables = variables.map(|index| module.variable_address(index).unwrap_or(0)).collect();
        capture.write(launch, variables, self.device.memory())?;
        crate::host::end_process(0)
    }

    /// Flags that replay what is seen.
    fn replay(&self) -> String {
        let Execution { seed, order, operations, stale, .. } = &self.execution;
        let mut flags = format!("--seed {seed}");
        if *order != Order::RoundRobin {
            flags += &format!(" --schedule {}", order.name());
        }
        if *operations != OperationOrder::Submission {
            flags += &format!(" --order {}", operations.name());
        }
        if *stale {
            flags += " --stale";
        }
        flags
    }

    /// In which order the threads of a launch run that is of this image.
    fn schedule(&self, image: usize) -> Schedule {
        match self.execution.order {
            Order::RoundRobin | Order::Rehearsal => Schedule::RoundRobin,
            Order::Random => Schedule::Random,
            Order::Pct => Schedule::Pct,
            Order::Adversarial => {
                let places = self.execution.contended.iter().filter(|(of, ..)| *of == image);
                let places: BTreeSet<_> =
                    places.map(|&(_, function, position)| (function, position)).collect();
                Schedule::Adversarial(Arc::new(places))
            }
        }
    }
}

/// A finding with the flags that replay it, and where the memory was allocated that it is about.
fn told(mut finding: Finding, mark: u64, replay: &str) -> Told {
    finding.replay.get_or_insert_with(|| replay.to_owned());
    let site = CallSite::from_number(mark);
    let mention = (mark != 0).then(|| Mention::new("the memory was allocated here", site));
    (finding, mention.into_iter().collect())
}

/// What kernels print goes where the program prints (CUDA C++ Programming Guide, «Formatted Output»).
struct Output;

impl DeviceSink for Output {
    fn print(&mut self, text: &[u8]) {
        crate::host::print(text);
    }
}

/// An image as the program that the device runs.
pub(crate) struct Code(pub(crate) &'static Image);

impl Program for Code {
    fn module(&self) -> &IrModule {
        self.0.program().module()
    }

    fn function(&self, id: FunctionId) -> Option<Function> {
        self.0.program().function(id)
    }

    fn excerpt(&self, offset: u32) -> Option<String> {
        self.0.program().excerpt(offset)
    }
}

struct Running {
    grid: Grid,
    replay: String,
    /// The image's number, when it is to be told where threads meet.
    rehearsal: Option<usize>,
    freed: Arc<Mutex<Freed>>,
    device: Arc<Device>,
}

impl Run for Running {
    fn advance(&mut self) -> Step {
        match self.grid.run(BUDGET) {
            Progress::Running => Step::Running,
            Progress::Parked => Step::Parked,
            Progress::Finished => Step::Finished,
            Progress::Fault(fault) => {
                let freed = self.freed.lock().unwrap_or_else(PoisonError::into_inner);
                Step::Failed(Box::new(failure(&fault, &self.replay, &freed)))
            }
        }
    }

    fn standstill(&mut self, outside: Option<&str>) -> Option<Finding> {
        let mut finding = self.grid.standstill(outside)?.finding;
        if let (Some(reason), Known::Observed) = (self.grid.guessed(), &finding.known) {
            finding.known = Known::Possible { reason };
        }
        finding.replay.get_or_insert_with(|| self.replay.clone());
        Some(finding)
    }

    fn reach(&self) -> Option<Vec<Access>> {
        let access = |(touched, range): (Touched, std::ops::Range<u64>)| {
            let mode = match touched {
                Touched::Read => Mode::Read,
                Touched::Written => Mode::Write,
                Touched::Updated => Mode::Update,
                // It can tell or ask the host something only in memory that the host has.
                Touched::Signalled => {
                    self.device.memory().find(range.start).filter(|allocation| allocation.host)?;
                    Mode::Signal
                }
            };
            Some(Access::bytes(mode, range.start, range.end - range.start))
        };
        Some(self.grid.reach()?.into_iter().filter_map(access).collect())
    }

    fn faults(&mut self) -> Vec<Told> {
        let mut races = self.grid.races();
        if let Some(reason) = self.grid.guessed() {
            for finding in &mut races {
                finding.known = Known::Possible { reason: reason.clone() };
            }
        }
        races.extend(self.grid.livelocks());
        let races = races.into_iter().map(|finding| (finding, 0));
        let all = races.chain(self.grid.doubtful());
        all.map(|(finding, mark)| told(finding, mark, &self.replay)).collect()
    }

    fn contended(&mut self) -> Vec<(usize, u32, u32)> {
        let Some(image) = self.rehearsal else { return Vec::new() };
        self.grid.contended().into_iter().map(|(function, position)| (image, function, position)).collect()
    }
}

fn status_of_memory(error: MemoryError) -> Status {
    match error {
        MemoryError::OutOfMemory { .. } => Status::MemoryAllocation,
        MemoryError::NotAllocated { .. } | MemoryError::NotAStart(_) => Status::InvalidValue,
        MemoryError::Overlaps(_) => Status::HostMemoryAlreadyRegistered,
    }
}

fn status_of_launch(error: &LaunchError) -> Status {
    match error {
        LaunchError::NoSuchKernel(_) => Status::InvalidDeviceFunction,
        LaunchError::InvalidShape { .. } => Status::InvalidConfiguration,
        LaunchError::TooManyResources { .. } => Status::LaunchOutOfResources,
        LaunchError::CooperativeTooLarge { .. } => Status::CooperativeLaunchTooLarge,
        LaunchError::Parameters { .. } => Status::InvalidValue,
        LaunchError::NotSupported { .. } => Status::NotSupported,
        LaunchError::OutOfMemory => Status::MemoryAllocation,
    }
}

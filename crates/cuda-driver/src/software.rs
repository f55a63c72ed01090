//! The software GPU behind the operations.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use standstill_device_sim::{
    Device, DeviceSink, Fault, FaultKind, Grid, LaunchError, LaunchRequest, MemoryError, Module, Progress,
    Schedule,
};
use standstill_findings::{Finding, Known, Outcome, PlatformRow, Rule, Span};
use standstill_kernel_ir::{Function, FunctionId, Module as IrModule, Program};

use crate::backend::{Backend, Failure, Run, Step};
use crate::card::Card;
use crate::image::Image;
use crate::initial;
use crate::operation::Launch;
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
    /// Whether races and faults of memory order are looked for.
    pub races: bool,
    /// Whether loads may return values that were overwritten, where the memory consistency model allows it.
    pub stale: bool,
    /// Where threads meet, as a rehearsal of the program has shown: image, function and position.
    pub contended: Vec<(usize, u32, u32)>,
}

/// A software GPU of a model.
pub struct Software {
    device: Arc<Device>,
    modules: Mutex<HashMap<usize, Result<Arc<Module>, Status>>>,
    execution: Execution,
    launches: Mutex<u64>,
    freed: Arc<Mutex<Freed>>,
}

/// Memory that was freed lately: first addresses and sizes.
#[derive(Debug, Default)]
struct Freed(VecDeque<(u64, u64)>);

/// So many of them are remembered.
const REMEMBERED: usize = 4096;

impl Freed {
    fn add(&mut self, address: u64, bytes: u64) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((address, bytes));
    }

    /// The freed allocation that held the address last.
    fn find(&self, address: u64) -> Option<(u64, u64)> {
        let holds = |(start, bytes): &&(u64, u64)| (*start..start.saturating_add(*bytes)).contains(&address);
        self.0.iter().rev().find(holds).copied()
    }
}

impl Software {
    /// A card of this model.
    #[must_use]
    pub fn new(card: &Card, execution: Execution) -> Software {
        Software {
            device: Device::new(card.device, card.memory),
            modules: Mutex::default(),
            execution,
            launches: Mutex::new(0),
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
        let placed: Vec<(u32, u64)> = placed
            .iter()
            .filter_map(|(name, address)| Some((image.variable_index(name)?, *address)))
            .collect();
        let loaded = self
            .device
            .load_placed(Arc::new(Code(image)), &initial::images(image), &placed)
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

    fn allocate(&self, bytes: u64) -> Result<u64, Status> {
        self.device.memory().allocate(bytes).map_err(status_of_memory)
    }

    fn free(&self, address: u64) -> Result<(), Status> {
        let freed = self.device.memory().free(address).map_err(status_of_memory)?;
        self.freed.lock().unwrap_or_else(PoisonError::into_inner).add(freed.address, freed.bytes);
        Ok(())
    }

    #[allow(unsafe_code, reason = "the caller's promise is handed on")]
    unsafe fn map_host(&self, base: *mut u8, bytes: usize) -> Result<(), Status> {
        // SAFETY: the caller promises what `Memory::map_host` asks for; only raw pointers reach the bytes.
        let mapped = unsafe { self.device.memory().map_host(base, bytes, 0) };
        mapped.map(|_| ()).map_err(status_of_memory)
    }

    fn unmap_host(&self, base: u64) -> Result<(), Status> {
        self.free(base)
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

    fn load(&self, image: &'static Image, placed: &[(String, u64)]) -> Result<(), Status> {
        self.load_placed(image, placed).map(|_| ())
    }

    fn variable(&self, image: &'static Image, name: &str) -> Result<(u64, u64), Status> {
        self.module(image)?.variable(name).ok_or(Status::InvalidSymbol)
    }

    fn start(&self, launch: &Launch) -> Result<Box<dyn Run>, Box<Failure>> {
        let refused = |status, sentence: String| Box::new(Failure { status, sentence, finding: None });
        let module = self.module(launch.kernel.image).map_err(|status| {
            refused(status, format!("the variables of {}'s module do not fit the card", launch.kernel.name))
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
        }))
    }
}

impl Software {
    /// Flags that replay what is seen.
    fn replay(&self) -> String {
        let Execution { seed, order, stale, .. } = &self.execution;
        let mut flags = format!("--seed {seed}");
        if *order != Order::RoundRobin {
            flags += &format!(" --schedule {}", order.name());
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

/// What kernels print goes where the program prints (CUDA C++ Programming Guide, «Formatted Output»).
struct Output;

impl DeviceSink for Output {
    fn print(&mut self, text: &[u8]) {
        crate::host::print(text);
    }
}

/// An image as the program that the device runs.
struct Code(&'static Image);

impl Program for Code {
    fn module(&self) -> &IrModule {
        self.0.program().module()
    }

    fn function(&self, id: FunctionId) -> Option<Function> {
        self.0.program().function(id)
    }
}

struct Running {
    grid: Grid,
    replay: String,
    /// The image's number, when it is to be told where threads meet.
    rehearsal: Option<usize>,
    freed: Arc<Mutex<Freed>>,
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
        finding.replay.get_or_insert_with(|| self.replay.clone());
        Some(finding)
    }

    fn races(&mut self) -> Vec<Finding> {
        let mut findings = self.grid.races();
        for finding in &mut findings {
            finding.replay.get_or_insert_with(|| self.replay.clone());
        }
        findings
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

/// A fault as the program and the user see it.
fn failure(fault: &Fault, replay: &str, freed: &Freed) -> Failure {
    let (status, rule) = match &fault.kind {
        FaultKind::OutOfBounds { address, .. } if freed.find(*address).is_some() => {
            (Status::IllegalAddress, Some(Rule::UseAfterFree))
        }
        FaultKind::OutOfBounds { .. } => (Status::IllegalAddress, Some(Rule::OutOfBounds)),
        FaultKind::Misaligned { .. } => (Status::MisalignedAddress, Some(Rule::Misaligned)),
        FaultKind::Trap | FaultKind::InvalidCall(_) => (Status::LaunchFailure, None),
        FaultKind::Assertion { .. } => (Status::Assert, None),
        FaultKind::IllegalInstruction(_) => (Status::IllegalInstruction, None),
        FaultKind::StackOverflow => (Status::HardwareStackError, None),
        FaultKind::NotSupported(_) => (Status::NotSupported, None),
    };
    if let FaultKind::Assertion { .. } = &fault.kind {
        say_assertion(fault);
    }
    let finding = rule.map(|rule| finding(fault, rule, replay, freed));
    Failure { status, sentence: format!("kernel {} was stopped: {fault}", fault.kernel), finding }
}

/// The words of a failed assertion as CUDA prints them (CUDA C++ Programming Guide, «Assertion»).
fn say_assertion(fault: &Fault) {
    use std::io::Write;
    if let FaultKind::Assertion { message, file, line, function } = &fault.kind {
        let ([bx, by, bz], [tx, ty, tz]) = (fault.block, fault.thread);
        let _ = writeln!(
            std::io::stderr(),
            "{file}:{line}: {function}: block: [{bx},{by},{bz}], thread: [{tx},{ty},{tz}] \
             Assertion `{message}` failed."
        );
    }
}

fn finding(fault: &Fault, rule: Rule, replay: &str, freed: &Freed) -> Finding {
    let ([bx, by, bz], [tx, ty, tz]) = (fault.block, fault.thread);
    let who = format!("thread ({tx},{ty},{tz}) of block ({bx},{by},{bz})");
    let mut finding = Finding::new(rule, fault.kernel.clone(), format!("{} by {who}", fault.kind));
    finding.known = Known::Observed;
    finding.platforms = PlatformRow::everywhere(Outcome::WrongResult);
    finding.replay = Some(replay.to_owned());
    if let FaultKind::OutOfBounds { address, .. } = &fault.kind {
        finding.notes.extend(about_address(*address, freed));
    }
    finding.notes.push("the launch ends here, and the program is told so by every later call".to_owned());
    let place = &fault.place;
    let mut span = Span::primary(place.file.clone(), place.line, place.column, "this access");
    span.inlined_at.clone_from(&place.inlined_at);
    finding.spans.push(span);
    finding
}

/// Null pointers reach a little way into the first page.
const FIRST_PAGE: u64 = 4096;

/// What is known of an address that is no device memory.
fn about_address(address: u64, freed: &Freed) -> Option<String> {
    if address < FIRST_PAGE {
        return Some("the pointer is null".to_owned());
    }
    if let Some((start, bytes)) = freed.find(address) {
        let into = address - start;
        return Some(format!("it is {into} bytes into an allocation of {bytes} bytes that was freed before"));
    }
    let host = crate::host::is_own_memory(address);
    host.then(|| {
        "the address is ordinary memory of the host, which a kernel does not reach: \
         copy it to the device, or allocate it with `cudaMallocManaged` or `cudaHostAlloc`"
            .to_owned()
    })
}

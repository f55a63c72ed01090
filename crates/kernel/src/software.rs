//! The software GPU: it runs kernel IR as it is, and judges what it sees.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use standstill_device_sim::{
    Device as Simulated, Fault, FaultKind, Grid as Running, LaunchRequest, LoadError, Memory, Module,
    Progress, Schedule as Turns,
};
use standstill_findings::{Finding, Known, Outcome, PlatformRow, Rule, Severity, Span};
use standstill_kernel_check::told;
use standstill_kernel_ir::Program as _;
use standstill_kernel_syntax::{Program, Stop};

use crate::launch::{Order, Source};
use crate::order::Orders;
use crate::{LaunchError, Stopped};

/// Instructions of warps between two looks at how far the launch is; decides nothing.
const BUDGET: u64 = 1 << 20;

/// In which order the software GPU runs what could run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// Warps take turns.
    #[default]
    Turns,
    /// Warps, and parts of warps that went different ways, run in an order and in pieces that chance chooses. Loads may give older
    /// values wherever the memory model lets them. The number is where chance starts; each launch draws anew.
    Random(u64),
    /// As at random, and one warp runs before all others until it loses that at an access that chance chooses.
    Priorities(u64),
}

/// The software GPU with what is loaded onto it.
#[derive(Debug)]
pub(crate) struct Software {
    simulated: Arc<Simulated>,
    schedule: Schedule,
    /// Launches so far.
    launches: AtomicU64,
    /// The kernels that are loaded, by the address of their source.
    modules: Mutex<HashMap<usize, Arc<Module>>>,
    orders: Mutex<Orders>,
}

impl Software {
    pub(crate) fn new(simulated: Arc<Simulated>, schedule: Schedule) -> Software {
        Software {
            simulated,
            schedule,
            launches: AtomicU64::new(0),
            modules: Mutex::default(),
            orders: Mutex::default(),
        }
    }

    /// The order of streams.
    pub(crate) fn orders(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn memory(&self) -> &Memory {
        self.simulated.memory()
    }

    /// Runs a launch to its end; gives what was seen and is no error.
    pub(crate) fn run(
        &self,
        source: &'static Source,
        program: &Arc<Program>,
        order: &Order,
    ) -> Result<Vec<Finding>, LaunchError> {
        let refused = |reason: String| LaunchError::Refused { kernel: order.kernel.clone(), reason };
        let function = program.function(order.function);
        let offsets = function.map(|function| function.parameter_offsets()).unwrap_or_default();
        let mut parameters = vec![0; offsets.last().map_or(0, |&end| end as usize)];
        for (value, &offset) in order.values.iter().zip(&offsets) {
            let place = parameters.get_mut(offset as usize..).unwrap_or_default();
            for (to, from) in place.iter_mut().zip(value) {
                *to = *from;
            }
        }
        let module = self.module(source, program).map_err(|error| refused(error.to_string()))?;
        let mut request = LaunchRequest::new(order.function, 1, 1);
        (request.grid, request.block) = (order.grid, order.block);
        request.parameters = parameters;
        request.races = true;
        request.cooperative = order.together;
        let launches = self.launches.fetch_add(1, Ordering::Relaxed);
        (request.schedule, request.seed) = match self.schedule {
            Schedule::Turns => (Turns::RoundRobin, 0),
            Schedule::Random(seed) => (Turns::Random, seed.wrapping_add(launches)),
            Schedule::Priorities(seed) => (Turns::Pct, seed.wrapping_add(launches)),
        };
        request.stale = self.schedule != Schedule::Turns;
        let running = self.simulated.launch(&module, request);
        let running =
            running.map_err(|error| refused(standstill_kernel_check::reader(&error.to_string())))?;
        finish(running, program)
    }

    /// The kernels of a source, loaded.
    fn module(&self, source: &'static Source, program: &Arc<Program>) -> Result<Arc<Module>, LoadError> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let key = std::ptr::from_ref(source).addr();
        if let Some(known) = modules.get(&key) {
            return Ok(Arc::clone(known));
        }
        let program: Arc<Program> = Arc::clone(program);
        let module = self.simulated.load(program, &[])?;
        modules.insert(key, Arc::clone(&module));
        Ok(module)
    }
}

/// Runs to the end, and judges what was seen; gives what is no error.
fn finish(mut running: Running, program: &Program) -> Result<Vec<Finding>, LaunchError> {
    let progress = loop {
        match running.run(BUDGET) {
            Progress::Running => {}
            ended => break ended,
        }
    };
    let mut found = running.races();
    found.extend(running.livelocks());
    found.extend(running.doubtful().into_iter().map(|(finding, _)| finding));
    match progress {
        Progress::Parked => found.extend(running.standstill(None).map(|standstill| standstill.finding)),
        Progress::Fault(fault) => match out_of_bounds(&fault, program) {
            Some(finding) => found.push(finding),
            None => return Err(LaunchError::Stopped(stopped(&fault, program))),
        },
        Progress::Running | Progress::Finished => {}
    }
    if let Some(reason) = running.guessed() {
        for finding in &mut found {
            finding.known = Known::Possible { reason: reason.clone() };
        }
    }
    for finding in &mut found {
        told(program, finding);
    }
    let (errors, more): (Vec<Finding>, Vec<Finding>) =
        found.into_iter().partition(|finding| finding.severity == Severity::Error);
    if errors.is_empty() { Ok(more) } else { Err(LaunchError::Found(errors)) }
}

/// An access that lies outside of its slice or array.
fn out_of_bounds(fault: &Fault, program: &Program) -> Option<Finding> {
    let place = &fault.place;
    let what = match (&fault.kind, program.stop(&place.file, place.line, place.column)) {
        (FaultKind::Trap, Some(Stop::Index(name))) => {
            format!("the index is not below the length of `{name}`")
        }
        (FaultKind::Trap, Some(Stop::Part(name))) => format!("the range does not lie in `{name}`"),
        (FaultKind::OutOfBounds { .. }, _) => fault.kind.to_string(),
        _ => return None,
    };
    let who = format!("in cell {:?} of tile {:?}", fault.thread, fault.block);
    let mut finding = Finding::new(Rule::OutOfBounds, fault.kernel.clone(), format!("{what}, {who}"));
    finding.known = Known::Observed;
    finding.platforms = PlatformRow::everywhere(Outcome::WrongResult);
    let mut span = Span::primary(place.file.clone(), place.line, place.column, "this access");
    span.inlined_at.clone_from(&place.inlined_at);
    finding.spans.push(span);
    finding.help =
        "guard the access with `if space.in_bounds_x()`, or with a comparison with `len()`".to_owned();
    Some(finding)
}

fn stopped(fault: &Fault, program: &Program) -> Stopped {
    let place = &fault.place;
    let reason = match (&fault.kind, program.stop(&place.file, place.line, place.column)) {
        (FaultKind::Trap, Some(Stop::Division)) => "division by zero".to_owned(),
        (FaultKind::Trap, Some(Stop::Overflow)) => "the quotient is beyond the type's range".to_owned(),
        (FaultKind::Trap, _) => "an assertion does not hold, or the kernel panicked".to_owned(),
        (kind, _) => kind.to_string(),
    };
    Stopped {
        kernel: fault.kernel.clone(),
        reason,
        file: place.file.clone(),
        line: place.line,
        column: place.column,
        cell: fault.thread,
        tile: fault.block,
    }
}

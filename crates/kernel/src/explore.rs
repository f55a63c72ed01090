//! All interleavings of a small launch, with a launcher's arguments. The attributes write calls of this.

use standstill_explore::{Argument as Explorable, Expectation, Launch, Options, explore as search, findings};
use standstill_findings::{Finding, Severity};
use standstill_kernel_check::told;
use standstill_kernel_ir::Program as _;

use crate::launch::{Argument, Source};
use crate::{Grid, LaunchError, Tile};

/// What all interleavings of a launch have shown.
#[derive(Debug, Clone)]
pub struct Explored {
    /// States that were looked at.
    pub states: usize,
    /// Ends with different memory.
    pub results: usize,
    /// Whether all executions were looked at.
    pub complete: bool,
    /// What some interleaving shows, with the shortest schedule to it.
    pub findings: Vec<Finding>,
}

impl Explored {
    /// Whether all executions were looked at, and none has a fault or another end than expected.
    pub fn is_right(&self) -> bool {
        self.complete && self.findings.iter().all(|finding| finding.severity != Severity::Error)
    }
}

/// Tries all interleavings.
///
/// # Errors
/// What is no launch, or no condition.
pub fn explore(
    source: &'static Source,
    name: &str,
    grid: Grid,
    tile: Tile,
    expected: &str,
    arguments: &[Argument<'_>],
) -> Result<Explored, LaunchError> {
    let refused = |reason: String| LaunchError::Refused { kernel: name.to_owned(), reason };
    let program = source.program().map_err(refused)?;
    let no_kernel = || refused("there is no such kernel".to_owned());
    let kernel = program.kernel(name).ok_or_else(no_kernel)?;
    let function = program.function(kernel.function).ok_or_else(no_kernel)?;
    let (tiles, cells) = grid.shape(tile).ok_or_else(|| refused("the space is too large".to_owned()))?;
    let mut launch = Launch::new(&**program, name).map_err(|error| refused(error.to_string()))?;
    (launch.grid, launch.block) = (tiles, tile.0);
    let mut all: Vec<Explorable> = arguments.iter().map(Argument::explored).collect();
    all.extend(arguments.iter().filter_map(Argument::length).map(Explorable::Value));
    all.extend(cells.map(|extent| Explorable::Value(extent.into())));
    launch.set_arguments(&function, &all).map_err(|error| refused(error.to_string()))?;
    for region in &mut launch.memory {
        // Buffers have the names of their parameters.
        let position = region.name.strip_prefix('p').and_then(|position| position.parse::<usize>().ok());
        if let Some(own) = position.and_then(|position| kernel.names.get(position)) {
            region.name.clone_from(own);
        }
    }
    let expect = match expected {
        "" => None,
        text => Some(Expectation::parse(text, &launch).map_err(|error| refused(error.to_string()))?),
    };
    let options = Options { expect, ..Options::default() };
    let outcome =
        search(&**program, &launch, &options, &mut ()).map_err(|error| refused(error.to_string()))?;
    let line_of = |_: u32| (String::new(), 0, 0);
    let mut found: Vec<Finding> =
        findings(&outcome, &launch, &line_of).into_iter().map(|(finding, _)| finding).collect();
    for finding in &mut found {
        told(program, finding);
    }
    Ok(Explored {
        states: outcome.states,
        results: outcome.results,
        complete: outcome.complete(),
        findings: found,
    })
}

//! All interleavings of a small launch of a kernel.
//!
//! Belongs here: the states of a launch and the steps between them, the search, what holds in all executions, under which
//! schedulers they end, and the shortest schedule that shows a fault.
//! Does not belong here: what an instruction computes (kernel-ir), reading files, and printing.

mod access;
mod ask;
mod asked;
mod batch;
mod capture;
mod check;
mod circle;
mod code;
mod expect;
mod faults;
mod findings;
mod follow;
mod graph;
mod history;
mod hopeless;
mod host;
mod intern;
mod interpret;
mod knowers;
mod launch;
mod layout;
mod load;
mod marks;
mod mbarriers;
mod memory;
mod misuse;
mod model;
mod operations;
mod order;
mod progress;
mod reductions;
mod room;
mod rows;
mod schedule;
mod search;
mod share;
mod system;
mod teams;
mod thread;
mod track;
mod updates;
mod values;
mod wrong_marks;

pub use ask::{Check, CheckError, Contents, check};
pub use capture::Found;
pub use check::{
    Failure, FailureKind, NotExplored, Options, Outcome, Races, RacingAccess, Verdicts, explore,
};
pub use expect::{ExpectError, Expectation};
pub use findings::{LineOf, findings};
pub use host::HostProgram;
pub use launch::{Argument, Launch, LaunchError, MOST_THREADS, Region};
pub use operations::Operation;
pub use progress::{Fairness, MOST_PROGRESS_THREADS, NAMED, Policy, ProgressError, ProgressGraph, Scheduler};
pub use reductions::{Property, Reduction, Reductions};
pub use schedule::{Place, ScheduleStep, Stand, StepKind, Stuck, Touched};
pub use search::{Limit, Limits, Observer};
pub use track::{Standing, Track, retrace};
pub use wrong_marks::WrongMark;

//! From positions to findings: who waits for whom, and which wait can never end.
//!
//! A snapshot shows where threads stand, not what they will do. A wait is called observed when nobody is left
//! that could end it; where a thread was still running, the finding is possible and says so.

mod barrier;
mod cluster;
mod fault;
mod grid;
mod loops;
mod mbarrier;
mod pattern;
mod spin;
mod warp;
mod words;

use standstill_findings::{Finding, Known, Outcome, Platform, PlatformRow, Rule, Severity};

use crate::dump::Dump;
use crate::position::{Doing, GridState};

pub(crate) use pattern::{Member, Pattern, Scene};
pub(crate) use words::{in_grid_sync, users_line};

/// What an explanation needs beside the dump.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// The dump's path: where a finding points when the code has no line table.
    pub input: &'a str,
    /// The platform that severities are for; `None` takes the worst of all.
    pub platform: Option<Platform>,
}

/// Says what the threads of a grid wait for. Blocks that stand alike are explained once.
pub fn explain(dump: &Dump, state: &GridState, options: &Options<'_>) -> Vec<Finding> {
    let scene = Scene::new(dump, state, options);
    let mut findings: Vec<Finding> = Vec::new();
    for stop in &state.stops {
        let Some(mut finding) = fault::gone(&scene, stop) else { continue };
        settle(&mut finding, options);
        findings.push(finding);
    }
    for pattern in &scene.patterns {
        let Some(mut finding) = judge(&scene, pattern) else { continue };
        // Of a grid that the hardware stopped, those that were still running say nothing.
        if finding.rule == Rule::Undecided && !state.stops.is_empty() {
            continue;
        }
        doubt(&scene, pattern, &mut finding);
        // What threads wait for cannot be told when others are missing; what a thread does alone can.
        if dump.lacks_threads() && !ALONE.contains(&finding.rule) {
            let Some(seen) = standing(&scene, pattern) else { continue };
            finding = seen;
        }
        settle(&mut finding, options);
        let same = |other: &&mut Finding| {
            other.rule == finding.rule && place(other) == place(&finding) && other.known == finding.known
        };
        // Blocks that wait at the same place for the same kind of thing are one finding.
        if findings.iter_mut().find(same).is_none() {
            findings.push(finding);
        }
    }
    findings
}

/// Rules that speak of what a thread does, whatever the others do.
const ALONE: [Rule; 3] = [Rule::HoistableSpin, Rule::NonTerminatingLoop, Rule::OutOfBounds];

/// Where other blocks of the grid were still running, a wait in this one may be a step between two others.
fn doubt(scene: &Scene<'_>, pattern: &Pattern, finding: &mut Finding) {
    let decided = finding.rule == Rule::GridResidency || ALONE.contains(&finding.rule);
    if finding.known != Known::Observed || decided || !is_wait(scene, pattern) {
        return;
    }
    let works = |doing: &Doing| matches!(doing, Doing::Work | Doing::Loop { may_end: true, .. });
    let busy = |other: &&Pattern| scene.doing(other, works).next().is_some();
    let others = scene.patterns.iter().filter(|other| other.blocks != pattern.blocks);
    if let Some(other) = others.filter(|other| !is_wait(scene, other)).find(busy) {
        let blocks = words::blocks(&other.blocks);
        let verb = if other.blocks.len() == 1 { "was" } else { "were" };
        let reason = format!("{blocks} {verb} still running, so this may be a step between two others");
        scene.may_end(finding, reason);
    }
}

/// Whether the threads of a block wait, as far as they were not stopped by the hardware.
fn is_wait(scene: &Scene<'_>, pattern: &Pattern) -> bool {
    let waits = |doing: &Doing| !matches!(doing, Doing::Work | Doing::Loop { .. } | Doing::Fault(_));
    scene.doing(pattern, waits).next().is_some()
        && scene.doing(pattern, |doing| matches!(doing, Doing::Fault(_))).next().is_none()
}

fn place(finding: &Finding) -> Option<(&str, u32)> {
    finding.primary_span().map(|span| (span.file.as_str(), span.line))
}

/// The rules, the more particular ones first.
fn judge(scene: &Scene<'_>, pattern: &Pattern) -> Option<Finding> {
    fault::judge(scene, pattern)
        .or_else(|| grid::judge(scene, pattern))
        .or_else(|| spin::judge(scene, pattern))
        .or_else(|| mbarrier::judge(scene, pattern))
        .or_else(|| loops::judge(scene, pattern))
        .or_else(|| warp::judge(scene, pattern))
        .or_else(|| cluster::judge(scene, pattern))
        .or_else(|| barrier::judge(scene, pattern))
        .or_else(|| running(scene, pattern))
}

/// Nothing waits for ever here: says what was under way.
fn running(scene: &Scene<'_>, pattern: &Pattern) -> Option<Finding> {
    let first = pattern.members.first()?;
    let message = format!("{} were running when the dump was taken", scene.threads(pattern, &first.threads));
    let mut finding = scene.finding(Rule::Undecided, message);
    finding.known = Known::Possible { reason: "one snapshot cannot tell slow from stuck".to_owned() };
    finding.severity = Severity::Note;
    scene.primary(&mut finding, first, "they stood here");
    for member in pattern.members.iter().skip(1) {
        scene.cause(&mut finding, member, scene.threads(pattern, &member.threads));
    }
    Some(finding)
}

/// Where the threads of a dump that is cut short stood, and nothing more.
fn standing(scene: &Scene<'_>, pattern: &Pattern) -> Option<Finding> {
    let mut finding = running(scene, pattern)?;
    let stood = |member: &Member| {
        let class = scene.class(member)?;
        let threads = scene.threads(pattern, &member.threads);
        Some(format!("{threads} {} on {}", class.doing, scene.line(class)))
    };
    /// More would not be read.
    const MOST: usize = 4;
    let stood: Vec<String> = pattern.members.iter().take(MOST).filter_map(stood).collect();
    finding.message = format!("where threads stood: {}", stood.join("; "));
    finding.known =
        Known::Possible { reason: "the dump is cut short, and other threads are not in it".to_owned() };
    Some(finding)
}

fn settle(finding: &mut Finding, options: &Options<'_>) {
    if finding.rule == Rule::Undecided {
        return;
    }
    if finding.platforms.outcomes.is_empty() {
        finding.platforms = PlatformRow::new(&[(Platform::Nvidia, Outcome::Hangs)]);
    }
    finding.severity = match &finding.known {
        // Seen on this very card, whatever platform was asked for.
        Known::Observed | Known::Proved => {
            finding.platforms.severity(options.platform.or(Some(Platform::Nvidia)))
        }
        Known::Possible { .. } => Severity::Warning,
    };
}

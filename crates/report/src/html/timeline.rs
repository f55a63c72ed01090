//! What the host asked as a drawing: a lane for each stream and host thread, calls from left to right in the order in
//! which they were made, order as arrows, and where it is missing.

use std::cmp::Ordering;
use std::fmt::Write;

use standstill_findings::{Arrow, Step, StepKind, Timeline};

use super::page::escape;
use crate::Reported;

const LANE: usize = 64;
const BOX: usize = 34;
const TOP: usize = 26;
const GAP: usize = 14;
/// Letters of a label that fit a box; the rest is seen when pointing at it.
const LETTERS: usize = 18;
const NAMES: usize = 120;

/// The picture of one recorded run; `number` tells it from others on the page.
pub(super) fn timeline(timeline: &Timeline, number: usize, findings: &[Reported]) -> String {
    if timeline.steps.is_empty() {
        return String::new();
    }
    let columns = columns(&timeline.steps);
    let width = columns.last().map_or(0, |(x, wide)| x + wide + GAP);
    let height = TOP + timeline.lanes.len() * LANE;
    let mut out = String::from("<section class=\"timeline\">\n<h2>Who comes before whom</h2>\n");
    let _ = writeln!(
        out,
        "<p>{}: calls from left to right in the order in which they were made. An arrow is order that the program \
         asked for; within a lane the order is that of the calls. A dashed double arrow is order that is missing. \
         Point at a box for all that is known of it.</p>",
        escape(&timeline.title)
    );
    out.push_str(&missing(timeline, number, findings));
    // Zooming needs no script: the choice made here sets the width of the drawing behind it.
    out.push_str("<div class=\"zoomed\">\nZoom:");
    for (zoom, checked) in [("50", ""), ("100", " checked"), ("200", "")] {
        let _ = write!(
            out,
            " <input type=\"radio\" name=\"zoom{number}\" id=\"zoom{number}-{zoom}\" class=\"zoom{zoom}\"{checked}>\
             <label for=\"zoom{number}-{zoom}\">{zoom} %</label>"
        );
    }
    let _ = write!(
        out,
        "\n<div class=\"drawing\"><svg class=\"names\" style=\"--w:{NAMES}\" viewBox=\"0 0 {NAMES} {height}\">"
    );
    for (lane, known) in timeline.lanes.iter().enumerate() {
        let _ = write!(out, "<text x=\"4\" y=\"{}\">{}</text>", middle(lane) + 5, escape(&known.name));
    }
    let _ = write!(
        out,
        "</svg>\n<div class=\"scroll\"><svg style=\"--w:{width}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\
         <title>{}</title>\n<defs><marker id=\"to{number}\" markerUnits=\"userSpaceOnUse\" markerWidth=\"9\" markerHeight=\"8\" refX=\"8\" refY=\"4\" \
         orient=\"auto\"><path class=\"head\" d=\"M0 0L9 4L0 8z\"/></marker></defs>\n",
        escape(&format!("{} calls in {} lanes", timeline.steps.len(), timeline.lanes.len()))
    );
    for lane in 0..timeline.lanes.len() {
        let y = middle(lane);
        let _ = writeln!(out, "<path class=\"lane\" d=\"M0 {y}H{width}\"/>");
    }
    let (lost, given): (Vec<&Arrow>, Vec<&Arrow>) =
        timeline.arrows.iter().partition(|arrow| arrow.missing.is_some());
    given.into_iter().for_each(|arrow| out.push_str(&drawn(timeline, arrow, &columns, number)));
    for (at, step) in timeline.steps.iter().enumerate() {
        out.push_str(&boxed(step, at, &columns, height, number));
    }
    lost.into_iter().for_each(|arrow| out.push_str(&drawn(timeline, arrow, &columns, number)));
    out.push_str("</svg></div></div>\n</div>\n</section>\n");
    out
}

/// Where each step begins, and how wide it is.
fn columns(steps: &[Step]) -> Vec<(usize, usize)> {
    let mut x = GAP;
    let column = |step: &Step| {
        let wide = (step.label.chars().count().min(LETTERS) * 8 + 16).max(40);
        let at = x;
        x += wide + GAP;
        (at, wide)
    };
    steps.iter().map(column).collect()
}

fn middle(lane: usize) -> usize {
    TOP + lane * LANE + LANE / 2
}

/// The table of what is missing, each with its finding and its two calls.
fn missing(timeline: &Timeline, number: usize, findings: &[Reported]) -> String {
    let mut out = String::new();
    for arrow in &timeline.arrows {
        let Some(message) = &arrow.missing else { continue };
        let at = findings.iter().position(|reported| reported.finding.message == *message);
        let name = at.and_then(|at| {
            let code = findings.get(at)?.finding.rule.code();
            Some(format!("<a href=\"#f{}\">{code}</a>", at + 1))
        });
        let call = |step: usize| {
            let label = timeline.steps.get(step).map_or("", |step| step.detail.as_str());
            format!("<a href=\"#t{number}-{step}\">{}</a>", escape(label))
        };
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            name.unwrap_or_default(),
            escape(message),
            call(arrow.from),
            call(arrow.to)
        );
    }
    if out.is_empty() {
        return out;
    }
    format!(
        "<table class=\"missing\">\n<tr><th>finding</th><th>what is missing</th><th>first call</th>\
         <th>call that must come behind it</th></tr>\n{out}</table>\n"
    )
}

fn class(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Kernel => "kernel",
        StepKind::Copy => "copy",
        StepKind::HostFunction => "function",
        StepKind::Record => "record",
        StepKind::Wait => "await",
        StepKind::Synchronise => "synchronise",
        StepKind::Access => "access",
        StepKind::Memory => "memory",
        StepKind::Graph => "graph",
        StepKind::LeftOut => "left-out",
    }
}

fn boxed(step: &Step, at: usize, columns: &[(usize, usize)], height: usize, number: usize) -> String {
    let Some((x, wide)) = columns.get(at).copied() else { return String::new() };
    let (detail, label) = (escape(&step.detail), escape(&short(&step.label)));
    let center = x + wide / 2;
    let Some(lane) = step.lane else {
        return format!(
            "<g><title>{detail}</title><path class=\"left-out\" d=\"M{center} {TOP}V{height}\"/>\
             <text class=\"word\" x=\"{center}\" y=\"16\">{label}</text></g>\n"
        );
    };
    let (y, round) = (middle(lane) - BOX / 2, if step.kind == StepKind::Record { BOX / 2 } else { 3 });
    let outer = format!("x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{BOX}\" rx=\"{round}\"");
    // Copies have a second line around them: nothing is told by a colour alone.
    let inner = match step.kind {
        StepKind::Copy => format!(
            "<rect class=\"inner\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            x + 3,
            y + 3,
            wide.saturating_sub(6),
            BOX - 6
        ),
        _ => String::new(),
    };
    format!(
        "<g id=\"t{number}-{at}\" class=\"step {}\"><title>{detail}</title><rect {outer}/>{inner}\
         <text class=\"word\" x=\"{center}\" y=\"{}\">{label}</text></g>\n",
        class(step.kind),
        middle(lane) + 5
    )
}

fn short(label: &str) -> String {
    if label.chars().count() <= LETTERS {
        return label.to_owned();
    }
    label.chars().take(LETTERS - 1).chain(['…']).collect()
}

fn drawn(timeline: &Timeline, arrow: &Arrow, columns: &[(usize, usize)], number: usize) -> String {
    let end = |step: usize| {
        let lane = timeline.steps.get(step)?.lane?;
        Some((*columns.get(step)?, middle(lane)))
    };
    let (Some(((from, wide), first)), Some(((to, room), second))) = (end(arrow.from), end(arrow.to)) else {
        return String::new();
    };
    let (from, to) = (from + wide / 2, to + room / 2);
    // Lines leave a lane at once and run between lanes, to be seen beside the boxes.
    let (leaving, arriving) = match first.cmp(&second) {
        Ordering::Less => (first + BOX / 2, second - BOX / 2),
        Ordering::Equal => (first - BOX / 2, second - BOX / 2),
        Ordering::Greater => (first - BOX / 2, second + BOX / 2),
    };
    let between = match first == second {
        true => leaving.saturating_sub(LANE / 2),
        false => usize::midpoint(leaving, arriving),
    };
    let line = format!("M{from} {leaving}C{from} {between} {to} {between} {to} {arriving}");
    let head = format!("marker-end=\"url(#to{number})\"");
    match &arrow.missing {
        None => format!("<path class=\"order\" d=\"{line}\" {head}/>\n"),
        Some(message) => format!(
            "<g class=\"lost\"><title>{}</title><path d=\"{line}\" {head}/><path class=\"core\" d=\"{line}\"/>\
             <text class=\"word\" x=\"{}\" y=\"{}\">no order</text></g>\n",
            escape(message),
            usize::midpoint(from, to),
            between + 5
        ),
    }
}

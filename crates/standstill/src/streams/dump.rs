//! A trace as text: a line for each record.

use standstill_stream_order::Places;
use standstill_trace::{Access, Call, LaunchShape, Record, Target, Work};

use super::places::KnownPlaces;

/// The line of a record; nothing for one that only names something.
pub(super) fn line(record: &Record, places: &KnownPlaces) -> String {
    let Some(text) = call(&record.call) else { return String::new() };
    let place = places.place(record.site).map(|place| format!("  {}:{}", place.file, place.line));
    format!("thread {}  {text}{}\n", record.thread, place.unwrap_or_default())
}

fn call(call: &Call) -> Option<String> {
    let numbers = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    Some(match call {
        Call::NameSite { .. } | Call::NameObject { .. } | Call::PlaceSite { .. } => return None,
        Call::NameKernel { kernel, name, .. } => format!("kernel {kernel} is {name}"),
        Call::NameLaunch { launch, shape } => {
            let LaunchShape { kernel, grid, block, arguments, .. } = shape;
            format!("launch {launch} is of kernel {kernel}: {grid:?} x {block:?}, {} bytes", arguments.len())
        }
        Call::NameLaunchLike { launch, like, words } => {
            format!("launch {launch} is launch {like} with {} other words", words.len())
        }
        Call::ReachOfLaunch { launch, accesses } => format!("launch {launch} touches: {}", all(accesses)),
        Call::CreateStream { stream, kind } => format!("create stream {stream} ({kind:?})"),
        Call::InContext { stream, context } => format!("stream {stream} is of context {context}"),
        Call::MemoryInContext { address, context } => {
            format!("memory at {address:#x} is of context {context}")
        }
        Call::HostNotSeen => "what the host itself does with memory is not seen".to_owned(),
        Call::AccessesUnseen => "accesses of the host were not seen".to_owned(),
        Call::Begin { operation } => format!("{operation} begins"),
        Call::ForBackward { site } => format!("site {site} is of the backward pass that stands there"),
        Call::DestroyStream { stream } => format!("destroy stream {stream}"),
        Call::Submit { operation, stream, work: what } => {
            format!("stream {stream}  {operation}: {}", work(what))
        }
        Call::LaunchGraph { operation, stream, graph } => {
            format!("stream {stream}  {operation}: launch graph {graph}")
        }
        Call::SubmitNode { operation, stream, work: what, launch, after } => {
            format!(
                "stream {stream}  {operation}: {} (node of {launch}, after {})",
                work(what),
                numbers(after)
            )
        }
        Call::EndGraph { operation, stream, launch, last } => {
            format!("stream {stream}  {operation}: end of graph {launch}, after {}", numbers(last))
        }
        Call::RecordEvent { operation, stream, event } => {
            format!("stream {stream}  {operation}: record event {event}")
        }
        Call::WaitEvent { operation, stream, event } => {
            format!("stream {stream}  {operation}: wait for event {event}")
        }
        Call::DestroyEvent { event } => format!("destroy event {event}"),
        Call::Synchronise(on) => format!("synchronised with {}", target(*on)),
        Call::NotReady(on) => format!("not ready: {}", target(*on)),
        Call::Allocate { address, bytes, kind } => format!("allocate {address:#x} +{bytes} ({kind:?})"),
        Call::Free { address } => format!("free {address:#x}"),
        Call::HostAccess(at) => format!("the host {}", access(at)),
        Call::Reach { operation, accesses } => format!("{operation} has touched: {}", all(accesses)),
        Call::CalledInHostFunction { function } => format!("{function} called in a host function"),
        Call::Surfaced { error, what, .. } => format!("{error} of {what} surfaced"),
    })
}

fn target(target: Target) -> String {
    match target {
        Target::Device => "the device".to_owned(),
        Target::Stream(stream) => format!("stream {stream}"),
        Target::Event(event) => format!("event {event}"),
        Target::Context(context) => format!("the device of context {context}"),
    }
}

fn work(work: &Work) -> String {
    match work {
        Work::Order => "order".to_owned(),
        Work::Record { event } => format!("record event {event}"),
        Work::Copy { copied, accesses } => {
            let how = if copied.asynchronous { "asynchronous copy" } else { "copy" };
            format!("{how} from {} to {}: {}", copied.from.word(), copied.to.word(), all(accesses))
        }
        Work::Fill { accesses, .. } => format!("memset: {}", all(accesses)),
        Work::Kernel { name, accesses } => {
            format!(
                "kernel {name}{}",
                accesses.as_deref().map(|it| format!(": {}", all(it))).unwrap_or_default()
            )
        }
        Work::Launch { launch } => format!("launch {launch}"),
        Work::HostFunction { .. } => "host function".to_owned(),
        Work::Allocate { address, bytes } => format!("allocate {address:#x} +{bytes}"),
        Work::Free { address } => format!("free {address:#x}"),
        Work::WriteValue { address, value, .. } => format!("write value {value} to {address:#x}"),
        Work::WaitValue { address, value, until, .. } => {
            format!("wait until the value at {address:#x} is {until:?} {value}")
        }
    }
}

fn all(accesses: &[Access]) -> String {
    accesses.iter().map(access).collect::<Vec<_>>().join(", ")
}

fn access(access: &Access) -> String {
    let verb = access.mode.verb();
    let rows = match access.rows {
        1 => String::new(),
        rows => format!(" x {rows} by {}", access.pitch),
    };
    let about = if access.exact { "" } else { " at most" };
    format!("{verb}{about} {:#x} +{}{rows}", access.address, access.width)
}

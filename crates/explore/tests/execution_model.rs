//! The API and stream examples of libcu++, «Execution model», as programs of our own: a block whose threads are the host's and those
//! of grids. The device examples are `promise_*.cu` among the cases.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use standstill_explore::{HostProgram, Launch, Limits, ProgressGraph};
use standstill_ptx::Lowering;

/// A program: what each thread does. `flag` is memory of host and device; a read of `query` is a call of `cudaStreamQuery`;
/// barrier 1 is where a host waits in `cudaDeviceSynchronize` for all, barrier 2 what a dependency waits for.
fn ptx(threads: &[&str]) -> String {
    let bodies = threads.iter().zip(0..).map(|(body, number)| format!("T{number}:\n{body}ret;\n"));
    let labels =
        (1..threads.len()).map(|number| format!("setp.eq.u32 %p1, %r1, {number};\n@%p1 bra T{number};\n"));
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 flag;\n.global .u32 query;\n\
         .visible .entry program()\n{{\n.reg .b32 %r<4>;\n.reg .pred %p<3>;\nmov.u32 %r1, %tid.x;\n{}{}}}\n",
        labels.collect::<String>(),
        bodies.collect::<String>()
    )
}

#[track_caller]
fn check(name: &str, threads: &[&str], clusters: &[&[usize]], ends: bool) {
    let text = ptx(threads);
    let module = standstill_ptx::parse(&text);
    let lowering = Lowering::new(&module);
    let mut launch = Launch::new(&lowering, "program").unwrap();
    launch.block = [threads.len() as u32, 1, 1];
    let graph =
        ProgressGraph::build_with_calls(&lowering, &launch, Limits::default(), "query", &mut ()).unwrap();
    let clusters = clusters.iter().map(|cluster| cluster.to_vec()).collect();
    let program = HostProgram { host: vec![0], clusters };
    assert_eq!(graph.ends_with_host(&program), ends, "{name}:\n{text}");
}

/// Sets the flag, and tells a host that waits for this thread.
const PRODUCER: &str = "mov.u32 %r2, 1;\nst.volatile.global.u32 [flag], %r2;\nbar.arrive 1, 2;\n";

#[test]
fn the_api_ensures_that_somebody_makes_progress() {
    // API.1: a launch of two threads that meet, and a host that synchronises.
    let meets = "bar.sync 3, 2;\nbar.arrive 1, 3;\n";
    check("API.1", &["bar.sync 1, 3;\n", meets, meets], &[&[1, 2]], true);
    // API.2: nothing sees to it that the producer starts while the host only looks at the flag.
    let look =
        "A: ld.volatile.global.u32 %r2, [flag];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra A;\nbar.sync 1, 2;\n";
    check("API.2", &[look, PRODUCER], &[&[1]], false);
    // API.3: one query does not help.
    let query = "ld.volatile.global.u32 %r3, [query];\n";
    check("API.3", &[&format!("{query}{look}"), PRODUCER], &[&[1]], false);
    // API.4: queries again and again do.
    let again = look.replace("A: ", &format!("A: {query}"));
    check("API.4", &[&again, PRODUCER], &[&[1]], true);
}

#[test]
fn a_stream_orders_what_the_device_need_not() {
    let host = "bar.sync 1, 3;\n";
    let first = "mov.u32 %r2, 1;\nst.volatile.global.u32 [flag], %r2;\nbar.arrive 2, 2;\nbar.arrive 1, 3;\n";
    let second =
        "A: ld.volatile.global.u32 %r2, [flag];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra A;\nbar.arrive 1, 3;\n";
    // Stream.0: the second grid may be the one that makes progress, for ever.
    check("Stream.0", &[host, &first.replace("bar.arrive 2, 2;\n", ""), second], &[&[1], &[2]], false);
    // Stream.1: in one stream it does not start before the first one has ended.
    check("Stream.1", &[host, first, &format!("bar.sync 2, 2;\n{second}")], &[&[1], &[2]], true);
}

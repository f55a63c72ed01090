//! Grids that wait for blocks which have no place on the card: capacity by card, block and registers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod common;

use common::Workplace;

/// A home-made grid barrier: each block counts itself in, and the last opens the gate.
const BARRIER: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry meet(.param .u64 count, .param .u64 gate)
{
    .reg .pred %p<5>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [count];
    ld.param.u64 %rd2, [gate];
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra $meet;
    atom.global.add.u32 %r2, [%rd1], 1;
    mov.u32 %r3, %nctaid.x;
    add.s32 %r4, %r3, -1;
    setp.eq.u32 %p2, %r2, %r4;
    @%p2 bra $last;
$spin:
    ld.volatile.global.u32 %r5, [%rd2];
    setp.eq.u32 %p3, %r5, 0;
    @%p3 bra $spin;
    bra $meet;
$last:
    st.volatile.global.u32 [%rd2], 1;
$meet:
    bar.sync 0;
    ret;
}
";

/// Checks a launch with flags; `places` is the capacity that an error must name, if there is to be one.
#[track_caller]
fn check(flags: &str, places: Option<u64>) {
    let place = Workplace::new();
    place.file("meet.ptx", BARRIER);
    let command: Vec<&str> = ["check", "meet.ptx", "--format=json", "--fail-on=never"]
        .into_iter()
        .chain(flags.split_whitespace())
        .collect();
    let json = place.run(&command).exits(0).json();
    let errors: Vec<_> =
        json["findings"].as_array().unwrap().iter().filter(|f| f["severity"] == "error").collect();
    let Some(places) = places else {
        assert!(errors.is_empty(), "{flags}: {errors:#?}");
        return;
    };
    assert_eq!(errors.len(), 1, "{flags}: {json:#}");
    assert_eq!(errors[0]["code"], "E0104");
    assert_eq!(errors[0]["known"], "proved");
    assert_eq!(errors[0]["spans"][0]["line"], 20, "the polling read");
    let sentence = errors[0]["waits"]["sentence"].as_str().unwrap();
    let expected = format!(
        "blocks 0–{} hold all {places} places and spin on line 20 for all {} blocks; block {places} has no place to \
         start until one of them ends",
        places - 1,
        places + 1
    );
    assert_eq!(sentence, expected);
}

#[test]
fn one_block_more_than_the_card_holds() {
    check("--block 256 --grid 160 --gpu t4 --regs 32", None);
    check("--block 256 --grid 161 --gpu t4 --regs 32", Some(160));
    check("--block 256 --grid 1056 --gpu h200 --regs 32", None);
    check("--block 256 --grid 1057 --gpu h200 --regs 32", Some(1056));
    // Without a number of registers the fewest are taken, and the error is still one.
    check("--block 256 --grid 1057 --gpu h200", Some(1056));
    check("--block 1024 --grid 40 --gpu t4 --regs 32", None);
    check("--block 1024 --grid 41 --gpu t4 --regs 32", Some(40));
}

#[test]
fn registers_take_places() {
    // 65,536 registers of a multiprocessor hold two blocks of 256 threads at 128 each.
    check("--block 256 --grid 80 --gpu t4 --regs 128", None);
    check("--block 256 --grid 81 --gpu t4 --regs 128", Some(80));
    check("--block 256 --grid 264 --gpu h200 --regs 128", None);
    check("--block 256 --grid 265 --gpu h200 --regs 128", Some(264));
}

#[test]
fn what_is_not_known_is_no_error() {
    for flags in ["--block 256", "--block 256 --grid 161", "--grid 161 --gpu t4", "--block 256 --gpu t4"] {
        check(flags, None);
    }
}

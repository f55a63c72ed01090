//! With races looked for, blocks on two threads do what they do on one, to the last word of what is found.

#![allow(clippy::unwrap_used, reason = "a helper of tests")]

mod common;

use std::fmt::Write;
use std::sync::Arc;

use common::{Case, WORDS, finish};
use standstill_device_sim::{Device, LaunchRequest};
use standstill_kernel_ir::launch::Device as Model;

/// Programs of a plain test run; `STANDSTILL_PROGRAMS` asks for another number, `STANDSTILL_FIRST` says where they begin.
const PROGRAMS: u64 = 150;

/// A small generator of numbers (xorshift).
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) % u64::from(bound)) as u32
    }

    fn one_in(&mut self, bound: u32) -> bool {
        self.below(bound) == 0
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u32) as usize]
    }
}

/// An operation on shared or global memory, mostly where no other thread is.
fn operation(draw: &mut Draw, tame: bool) -> String {
    let shared = draw.one_in(2);
    let astray = if tame { 40 } else { 6 };
    let (at, space) = match shared {
        // Another word of the block's, or the thread's own.
        true if draw.one_in(astray) => (draw.pick(&["%r10", "%r11+4", "%r12"]), "shared"),
        true => ("%r11", "shared"),
        false if draw.one_in(astray) => (draw.pick(&["%d0", "%d2+4", "%d3", "%d2+512"]), "global"),
        false => (draw.pick(&["%d2", "%d2", "%d2+8192"]), "global"),
    };
    let bytes = if draw.one_in(8) { "u8" } else { "u32" };
    match draw.below(if tame { 5 } else { 9 }) {
        0..=1 => format!("ld.{space}.{bytes} %r5, [{at}];"),
        2..=3 => format!("st.{space}.{bytes} [{at}], %r{};", draw.pick(&["4", "5", "6"])),
        4 if shared => "red.shared.add.u32 [%r13], %r2;".to_owned(),
        4 => format!("red.global.{} [%d4], %r4;", draw.pick(&["add.u32", "add.u32", "xor.b32", "max.u32"])),
        5 => "atom.shared.add.u32 %r6, [%r13], 1;".to_owned(),
        6 => "atom.shared.exch.b32 %r6, [%r13], %r2;".to_owned(),
        7 => "membar.gl;".to_owned(),
        _ => "ld.global.u32 %r6, [%d3];".to_owned(),
    }
}

/// A kernel with blocks that have nothing to do with each other but what they leave in memory. `%r2` is the thread, `%r4`
/// its number in the grid; `%r11` and `%d2` are its words, `%r13` and `%d4` words for counting.
fn program(seed: u64) -> String {
    let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let tame = !draw.one_in(3);
    let mut text = "
        mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r1, %r3, %r2;
        mov.u32 %r5, 1; mov.u32 %r6, 2; mov.u32 %r10, tile; shl.b32 %r7, %r2, 2; add.u32 %r11, %r10, %r7;
        xor.b32 %r8, %r7, 4; add.u32 %r12, %r10, %r8; and.b32 %r8, %r7, 28; add.u32 %r13, %r10, %r8;
        add.u32 %r13, %r13, 2048; mul.wide.u32 %d1, %r4, 4; add.s64 %d2, %d0, %d1; and.b32 %r9, %r4, 63;
        mul.wide.u32 %d5, %r9, 4; add.s64 %d3, %d0, %d5; mul.wide.u32 %d6, %r8, 1; add.s64 %d4, %d0, %d6;
        add.s64 %d4, %d4, 12288;\n"
        .to_owned();
    if !draw.one_in(4) {
        text += "st.shared.u32 [%r11], %r4; st.shared.u32 [%r11+2048], %r2; bar.sync 0;\n";
    }
    for step in 0..4 + draw.below(10) {
        let line = 100 + step;
        let inner = operation(&mut draw, tame);
        match draw.below(10) {
            0..=1 => text += "bar.sync 0;\n",
            2 => {
                let (mask, value) = (draw.pick(&["1", "31", "33"]), draw.below(2));
                writeln!(
                    text,
                    "and.b32 %r20, %r2, {mask}; setp.ne.u32 %p1, %r20, {value}; @%p1 bra L{step};\n#{line} {inner}\nL{step}:"
                )
                .unwrap();
            }
            3 => {
                let (how, block) = (draw.pick(&["eq", "gt"]), draw.below(30));
                let inner = if how == "gt" { operation(&mut draw, false) } else { inner };
                writeln!(text, "setp.{how}.u32 %p2, %r1, {block};\n#{line} @%p2 {inner}").unwrap();
            }
            4 if !tame => {
                writeln!(text, "#{line} setp.gt.u32 %p3, %r5, 9; @%p3 bra L{step}; {inner} L{step}:")
                    .unwrap();
            }
            5 => text += "shfl.sync.bfly.b32 %r5, %r5, 1, 31, -1; bar.warp.sync -1;\n",
            _ => writeln!(text, "#{line} {inner}").unwrap(),
        }
    }
    text + "ret;"
}

/// What a launch leaves and finds, and how many blocks ran ahead.
fn run(text: &str, (blocks, threads): (u32, u32), seed: u64, workers: usize) -> (String, Vec<u32>, u64) {
    let mut case = Case::new(text);
    case.device = Device::watched(Model::find("h200").unwrap(), 1 << 30);
    case.device.set_workers(workers);
    case.device.set_worthwhile(0);
    case.module = case.device.load(Arc::clone(case.module.program()), &[]).unwrap();
    case.buffer = case.device.memory().allocate_marked(4 * WORDS as u64, 1).unwrap();
    // Of some programs the buffer is written, of others not, or only the first half.
    let written = [4 * WORDS, 4 * WORDS, 2 * WORDS, 0][(seed % 4) as usize];
    case.device.memory().fill(case.buffer, &[0], written as u64).unwrap();
    let mut request = case.request(blocks, threads);
    (request.races, request.seed) = (true, seed);
    request.reach = !seed.is_multiple_of(3);
    let mut grid = case.grid(request);
    let end = finish(&mut grid);
    let doubtful = case.device.memory().doubtful(case.buffer, 4 * WORDS as u64);
    let statistics = grid.statistics();
    let told = format!(
        "{end:?}\n{:?}\n{:?}\n{:?}\n{doubtful:?}\n{:?} {} {}",
        grid.reach(),
        grid.races(),
        grid.doubtful(),
        grid.contended(),
        statistics.lane_instructions,
        statistics.warp_instructions,
    );
    // Another launch of it, which sees what is written now.
    let mut again = case.grid(LaunchRequest { races: true, ..case.request(2, 64) });
    let end = finish(&mut again);
    let told = format!("{told}\n{end:?}\n{:?}\n{:?}", again.races(), again.doubtful());
    (told, case.words(WORDS), statistics.blocks_ahead)
}

/// Compares two threads with one; gives what was found, and how many blocks ran ahead.
fn check(text: &str, shape: (u32, u32), seed: u64) -> (String, u64) {
    let (one, two) = (run(text, shape, seed, 1), run(text, shape, seed, 2));
    assert!(one.0 == two.0, "seed {seed}\n{text}\n{}\n{}", one.0, two.0);
    assert!(one.1 == two.1, "seed {seed}: the memory differs\n{text}");
    assert_eq!(one.2, 0);
    (two.0, two.2)
}

#[test]
fn races_of_blocks_that_ran_ahead() {
    let start = "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r4, %r1, 64, %r2;
        mul.wide.u32 %d1, %r4, 4; add.s64 %d2, %d0, %d1; setp.gt.u32 %p1, %r1, 30;\n";
    // The last blocks meet each other, or words of blocks before; stores and loads; bytes; reductions.
    for body in [
        "#7 @%p1 st.global.u32 [%d0+16000], %r2;",
        "#7 st.global.u32 [%d2], %r4;\n#8 @%p1 ld.global.u32 %r5, [%d0];",
        "#7 st.global.u32 [%d2], %r4;\n#8 @%p1 ld.global.u32 %r5, [%d0+1280];",
        "#7 ld.global.u32 %r5, [%d2];\n#8 @%p1 st.global.u32 [%d2-256], %r5;",
        "#7 ld.global.u32 %r5, [%d2];\n#8 @%p1 st.global.u8 [%d2-257], %r5;",
        "#7 red.global.add.u32 [%d0], %r5;\n#8 @%p1 st.global.u32 [%d0], %r5;",
        "#7 @%p1 red.global.add.u32 [%d0], %r5;\n#8 ld.global.u32 %r5, [%d0];",
    ] {
        let (told, _) = check(&format!("{start}{body}\nret;"), (40, 64), 0);
        assert!(told.contains("GlobalRace"), "{body}: {told}");
    }
}

#[test]
fn two_threads_find_what_one_finds() {
    let number = |name: &str| std::env::var(name).ok().and_then(|count| count.parse::<u64>().ok());
    let first = number("STANDSTILL_FIRST").unwrap_or(0);
    let count = number("STANDSTILL_PROGRAMS").unwrap_or(PROGRAMS);
    let (mut ahead, mut racy) = (0, 0);
    for seed in first..first + count {
        let text = program(seed);
        let shape = (3 + seed as u32 % 37, 32 + seed as u32 % 3 * 24);
        let (told, blocks) = check(&text, shape, seed);
        ahead += u64::from(blocks > 0);
        racy += u64::from(told.contains("Race"));
    }
    // It tells little where nothing runs ahead, or where nothing is found.
    assert!(ahead * 5 > count, "only {ahead} of {count} ran ahead");
    assert!(racy * 10 > count, "only {racy} of {count} race");
}

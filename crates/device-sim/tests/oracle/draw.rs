//! Random small kernels.

use super::program::{Access, GLOBAL_FLAGS, Guard, Kind, Order, Program, SHARED_FLAGS, Scope, Step};

/// A small generator of numbers (xorshift).
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Draw {
        Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below a bound.
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) % u64::from(bound)) as u32
    }

    fn one_in(&mut self, bound: u32) -> bool {
        self.below(bound) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }
}

fn guard(draw: &mut Draw, threads: u32, blocks: u32) -> Guard {
    let block = if blocks > 1 && draw.one_in(3) { Some(draw.below(blocks)) } else { None };
    let mask = match draw.below(6) {
        0 | 1 => 0,
        2 => 1,
        3 => 31,
        4 => 32,
        _ => 0x3f & !(draw.below(2)),
    };
    let mask = if threads <= 32 { mask & 31 } else { mask };
    let value = if mask & 1 != 0 && mask != 1 { draw.below(2) } else { draw.below(64) } & mask;
    Guard { mask, value, block }
}

fn access(draw: &mut Draw, blocks: u32) -> Access {
    let shared = draw.below(3) < 2;
    let scope = draw.pick(&[Scope::Cta, Scope::Gpu, Scope::Gpu, Scope::Sys]);
    if draw.one_in(3) {
        let kind = draw.pick(&[Kind::Load, Kind::Load, Kind::Store, Kind::Store, Kind::Exchange]);
        let order = match kind {
            Kind::Load => draw.pick(&[Order::Relaxed, Order::Volatile, Order::Acquire, Order::Acquire]),
            Kind::Store => draw.pick(&[Order::Relaxed, Order::Volatile, Order::Release, Order::Release]),
            _ => draw.pick(&[Order::Relaxed, Order::Acquire, Order::Release, Order::AcquireRelease]),
        };
        let scope = if order == Order::Volatile { Scope::Sys } else { scope };
        let offset = (if shared { SHARED_FLAGS } else { 4 * GLOBAL_FLAGS }) + 4 * u64::from(draw.below(2));
        let (factor, addend, mask) = (0, 0, 0);
        return Access {
            kind,
            shared,
            flag: true,
            whole: false,
            offset,
            factor,
            addend,
            mask,
            bytes: 4,
            order,
            scope,
        };
    }
    let kind = if draw.one_in(8) { Kind::Add } else { draw.pick(&[Kind::Load, Kind::Store]) };
    let bytes = if kind == Kind::Add { 4 } else { draw.pick(&[1, 2, 4, 4, 4, 4, 8]) };
    let mask = draw.pick(&[0, 1, 15, 63, 63, 127]);
    let order = if kind == Kind::Add { Order::Relaxed } else { Order::Weak };
    Access {
        kind,
        shared,
        flag: false,
        whole: !shared && blocks > 1 && !draw.one_in(4),
        offset: draw.pick(&[0, 0, 8, 16]),
        factor: draw.pick(&[1, 1, 1, 1, 2, 3, 31]),
        addend: draw.pick(&[0, 0, 0, 1, 2, 32]),
        mask,
        bytes,
        order,
        scope,
    }
}

/// One thread, or a few.
fn few(draw: &mut Draw, threads: u32, blocks: u32) -> Guard {
    let block = Some(draw.below(blocks));
    let mask = if draw.one_in(4) { 31 } else { 63 };
    Guard { mask, value: (draw.pick(&[0, 0, 1, 33, 34]) % threads.min(40)) & mask, block }
}

/// A thread leaves something for another one and sets a flag; any part may be missing or too weak.
fn hand_over(draw: &mut Draw, threads: u32, blocks: u32) -> Vec<Step> {
    let (from, to) = (few(draw, threads, blocks), few(draw, threads, blocks));
    let shared = draw.one_in(3);
    let mut scope = || draw.pick(&[Scope::Cta, Scope::Gpu, Scope::Gpu, Scope::Gpu, Scope::Sys]);
    let scopes = [scope(), scope(), scope(), scope()];
    let access = |kind, flag: Option<u64>, order, scope| Access {
        kind,
        shared,
        flag: flag.is_some(),
        whole: false,
        offset: flag.unwrap_or(0),
        factor: 0,
        addend: 0,
        mask: 0,
        bytes: 4,
        order,
        scope,
    };
    let flag = (if shared { SHARED_FLAGS } else { 4 * GLOBAL_FLAGS }) + 4 * u64::from(draw.below(2));
    let mut steps = vec![Step::Access(from, access(Kind::Store, None, Order::Weak, Scope::Sys))];
    if draw.one_in(2) {
        steps.push(Step::Fence(if draw.one_in(4) { Guard::ALL } else { from }, scopes[0]));
    }
    if draw.one_in(4) {
        steps.push(Step::Block);
    }
    let setter = if draw.one_in(4) { few(draw, threads, blocks) } else { from };
    let set = match draw.below(4) {
        0 => {
            access(Kind::Exchange, Some(flag), draw.pick(&[Order::Relaxed, Order::AcquireRelease]), scopes[1])
        }
        _ => access(Kind::Store, Some(flag), draw.pick(&[Order::Relaxed, Order::Release]), scopes[1]),
    };
    steps.push(Step::Access(setter, set));
    if draw.one_in(6) {
        let set = access(Kind::Store, Some(flag), Order::Relaxed, scopes[0]);
        steps.push(Step::Access(setter, set));
    }
    if draw.one_in(5) {
        // Somebody in between.
        let order = draw.pick(&[Order::Relaxed, Order::Release, Order::AcquireRelease]);
        let kind = if order == Order::Release { Kind::Store } else { Kind::Exchange };
        let access = access(kind, Some(flag), order, scopes[1]);
        steps.push(Step::Access(few(draw, threads, blocks), access));
    }
    let looker = if draw.one_in(4) { few(draw, threads, blocks) } else { to };
    let look = access(Kind::Load, Some(flag), draw.pick(&[Order::Relaxed, Order::Acquire]), scopes[2]);
    steps.push(Step::Access(looker, look));
    if draw.one_in(6) {
        let look = access(Kind::Load, Some(flag), draw.pick(&[Order::Relaxed, Order::Acquire]), scopes[3]);
        steps.push(Step::Access(looker, look));
    }
    if draw.one_in(4) {
        steps.push(Step::Block);
    }
    if draw.one_in(2) {
        steps.push(Step::Fence(to, scopes[3]));
    }
    let kind = draw.pick(&[Kind::Load, Kind::Store]);
    steps.push(Step::Access(to, access(kind, None, Order::Weak, Scope::Sys)));
    steps
}

fn steps(draw: &mut Draw, count: u32, depth: u32, threads: u32, blocks: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..count {
        let step = match draw.below(16) {
            0..=2 if depth == 0 => Step::Block,
            3 if depth == 0 && threads > 32 => {
                let warps = threads.div_ceil(32);
                let waits = if draw.one_in(2) { u32::MAX } else { 1 + draw.below((1 << warps) - 1) };
                Step::Some { id: 1 + steps.len() as u32, warps, waits }
            }
            4 | 5 if depth == 0 => {
                let mask = draw.pick(&[0, 0, 1, 16, 32]);
                Step::Warp(Guard { mask, value: draw.below(64) & mask, block: None })
            }
            6 => Step::Fence(guard(draw, threads, blocks), draw.pick(&[Scope::Cta, Scope::Gpu, Scope::Sys])),
            7 if depth == 0 => {
                let guard = guard(draw, threads, blocks);
                let (one, two) = (1 + draw.below(3), draw.below(3));
                let then = self::steps(draw, one, 1, threads, blocks);
                Step::Branch(guard, then, self::steps(draw, two, 1, threads, blocks))
            }
            _ => {
                let all = draw.one_in(2);
                let access = access(draw, blocks);
                let guard = if all && !access.flag { Guard::ALL } else { guard(draw, threads, blocks) };
                Step::Access(guard, access)
            }
        };
        if matches!(step, Step::Some { .. }) {
            // Such a barrier counts a warp each time that lanes of it come.
            steps.push(Step::Warp(Guard::ALL));
        }
        steps.push(step);
    }
    steps
}

impl Program {
    /// The program of a seed.
    pub(crate) fn draw(seed: u64) -> Program {
        let mut draw = Draw::new(seed);
        for _ in 0..4 {
            draw.below(2);
        }
        let blocks = draw.pick(&[1, 1, 2, 2, 3]);
        let threads = draw.pick(&[4, 32, 40, 64]);
        let count = 2 + draw.below(8);
        let steps = match draw.below(3) {
            0 => (0..count.div_ceil(3)).flat_map(|_| hand_over(&mut draw, threads, blocks)).collect(),
            _ => steps(&mut draw, count, 0, threads, blocks),
        };
        Program { blocks, threads, steps }
    }
}

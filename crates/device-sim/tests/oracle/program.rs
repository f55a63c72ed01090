//! Random small kernels: what each thread does, as PTX and as a list.

use std::fmt::Write;

/// Words of the buffer: data, then flags, then what each thread has read of flags.
const GLOBAL_FLAGS: u64 = 280;
const RESULTS: u64 = 512;
/// Flags in shared memory come behind the data there.
const SHARED_FLAGS: u64 = 1120;
/// Results of a thread.
const MOST_RESULTS: u32 = 16;

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    Cta,
    Gpu,
    Sys,
}

impl Scope {
    fn name(self) -> &'static str {
        match self {
            Scope::Cta => "cta",
            Scope::Gpu => "gpu",
            Scope::Sys => "sys",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Weak,
    Relaxed,
    Volatile,
    Acquire,
    Release,
    AcquireRelease,
}

/// Which threads of the grid do something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guard {
    /// Bits of the thread's index in its block that are looked at, and what they must be.
    mask: u32,
    value: u32,
    /// Only this block.
    block: Option<u32>,
}

impl Guard {
    const ALL: Guard = Guard { mask: 0, value: 0, block: None };

    fn takes(self, block: u32, thread: u32) -> bool {
        thread & self.mask == self.value && self.block.is_none_or(|only| only == block)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Load,
    Store,
    /// Atomic exchange.
    Exchange,
    /// Reduction that adds.
    Add,
}

/// An access: element `(thread * factor + addend) & mask` from an offset on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    kind: Kind,
    shared: bool,
    flag: bool,
    /// The thread's index is counted over the whole grid.
    whole: bool,
    offset: u64,
    factor: u32,
    addend: u32,
    mask: u32,
    bytes: u64,
    order: Order,
    scope: Scope,
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Access(Guard, Access),
    Fence(Guard, Scope),
    /// All threads of the block.
    Block,
    /// So many warps, from the first, at a barrier with a number; `waits` for the warps that do more than arrive.
    Some {
        id: u32,
        warps: u32,
        waits: u32,
    },
    /// The lanes that the guard takes.
    Warp(Guard),
    Branch(Guard, Vec<Step>, Vec<Step>),
}

/// A kernel and its launch.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
    steps: Vec<Step>,
}

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Access {
        kind: Kind,
        /// Shared memory of the thread's block.
        shared: bool,
        start: u64,
        bytes: u64,
        order: Order,
        scope: Scope,
        /// The number of the value that it writes to a flag, and of the word where what it read of one is left.
        writes: u32,
        result: Option<u64>,
    },
    Fence(Scope),
    /// A barrier: which, whether it waits, and whether it is one of the block.
    Barrier {
        id: u64,
        waits: bool,
        whole: bool,
    },
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub(crate) block: u32,
    pub(crate) thread: u32,
    pub(crate) line: u32,
    pub(crate) what: What,
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

    /// The kernel's body; each step has a line of its own.
    pub(crate) fn text(&self) -> String {
        let mut text = String::from(
            "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.s32 %r4, %r2, %r3, %r1;\n\
             mov.u32 %r5, tile; mul.lo.u32 %r6, %r4, 64; cvt.u64.u32 %d1, %r6; add.s64 %d1, %d0, %d1;\n",
        );
        let mut line = 100;
        self.write(&mut text, &self.steps, &mut line);
        text.push_str("ret;");
        text
    }

    fn write(&self, text: &mut String, steps: &[Step], line: &mut u32) {
        for step in steps {
            *line += 1;
            let at = *line;
            match step {
                Step::Access(guard, access) => {
                    let skip = self.skip(text, *guard, at);
                    access.write(text, at);
                    let _ = writeln!(text, "{skip}");
                }
                Step::Fence(guard, scope) => {
                    let skip = self.skip(text, *guard, at);
                    let _ = writeln!(text, "#{at} fence.acq_rel.{};\n{skip}", scope.name());
                }
                Step::Block => {
                    let _ = writeln!(text, "#{at} bar.sync 0;");
                }
                Step::Some { id, warps, waits } => {
                    let count = warps * 32;
                    let _ = writeln!(
                        text,
                        "shr.u32 %r10, %r1, 5; shl.b32 %r10, 1, %r10; and.b32 %r10, %r10, {waits};\n\
                         setp.eq.u32 %p1, %r10, 0; @%p1 bra A{at};\n#{at} bar.sync {id}, {count};\nbra B{at};\n\
                         A{at}:\n#{at} bar.arrive {id}, {count};\nB{at}:"
                    );
                }
                Step::Warp(guard) => {
                    let skip = self.skip(text, *guard, at);
                    // The lanes that the guard takes in this thread's warp.
                    let warps = [0, 1].map(|warp| {
                        (0..32)
                            .filter(|lane| {
                                warp * 32 + lane < self.threads && guard.takes(0, warp * 32 + lane)
                            })
                            .fold(0u32, |mask, lane| mask | 1 << lane)
                    });
                    let _ = writeln!(
                        text,
                        "setp.lt.u32 %p1, %r1, 32; selp.b32 %r10, {}, {}, %p1;\n#{at} bar.warp.sync %r10;\n{skip}",
                        warps[0], warps[1]
                    );
                }
                Step::Branch(guard, then, otherwise) => {
                    let skip = self.skip(text, *guard, at);
                    self.write(text, then, line);
                    let _ = writeln!(text, "bra C{at};\n{skip}");
                    self.write(text, otherwise, line);
                    let _ = writeln!(text, "C{at}:");
                }
            }
        }
    }

    /// Jumps over what follows where the guard does not take the thread; gives the label.
    fn skip(&self, text: &mut String, guard: Guard, at: u32) -> String {
        let Guard { mask, value, block } = guard;
        let _ = writeln!(text, "and.b32 %r10, %r1, {mask}; setp.ne.u32 %p1, %r10, {value}; @%p1 bra S{at};");
        if let Some(block) = block {
            let _ = writeln!(text, "setp.ne.u32 %p1, %r2, {block}; @%p1 bra S{at};");
        }
        format!("S{at}:")
    }

    /// What each thread does, thread by thread.
    pub(crate) fn events(&self) -> Vec<Vec<Event>> {
        let mut all = Vec::new();
        for block in 0..self.blocks {
            for thread in 0..self.threads {
                let mut events = Vec::new();
                let (mut line, mut results) = (100, 0);
                self.run(&self.steps, (block, thread), &mut line, &mut results, &mut events);
                all.push(events);
            }
        }
        all
    }

    fn run(
        &self,
        steps: &[Step],
        (block, thread): (u32, u32),
        line: &mut u32,
        results: &mut u32,
        events: &mut Vec<Event>,
    ) {
        for step in steps {
            *line += 1;
            let at = *line;
            let here = u64::from(at) << 32;
            let mut event = |what| events.push(Event { block, thread, line: at, what });
            match step {
                Step::Access(guard, access) if guard.takes(block, thread) => {
                    event(access.event(self, (block, thread), at, results));
                }
                Step::Fence(guard, scope) if guard.takes(block, thread) => event(What::Fence(*scope)),
                Step::Block => event(What::Barrier { id: here | u64::from(block), waits: true, whole: true }),
                Step::Some { waits, .. } => {
                    let waits = waits >> (thread / 32) & 1 != 0;
                    event(What::Barrier { id: here | u64::from(block), waits, whole: true });
                }
                Step::Warp(guard) if guard.takes(block, thread) => {
                    let warp = u64::from(block * 64 + thread / 32);
                    event(What::Barrier { id: here | warp, waits: true, whole: false });
                }
                Step::Branch(guard, then, otherwise) => {
                    let mut quiet = Vec::new();
                    let taken = guard.takes(block, thread);
                    let mut none = 0;
                    for (body, is_taken) in [(then, taken), (otherwise, !taken)] {
                        let (into, counter) = match is_taken {
                            true => (&mut *events, &mut *results),
                            false => (&mut quiet, &mut none),
                        };
                        self.run(body, (block, thread), line, counter, into);
                    }
                }
                _ => {}
            }
        }
    }
}

impl Access {
    fn write(&self, text: &mut String, at: u32) {
        let index = if self.whole { "%r4" } else { "%r1" };
        let Access { factor, addend, mask, bytes, offset, .. } = *self;
        let _ = writeln!(
            text,
            "mad.lo.s32 %r10, {index}, {factor}, {addend}; and.b32 %r10, %r10, {mask}; mul.lo.u32 %r10, %r10, {bytes};\n\
             add.u32 %r10, %r10, {offset}; add.u32 %r11, %r5, %r10; cvt.u64.u32 %d2, %r10; add.s64 %d2, %d0, %d2;\n\
             shl.b32 %r12, %r4, 8; add.u32 %r12, %r12, {at};"
        );
        let (space, place) = if self.shared { ("shared", "[%r11]") } else { ("global", "[%d2]") };
        let scope = self.scope.name();
        let order = match self.order {
            Order::Weak => String::new(),
            Order::Volatile => ".volatile".to_owned(),
            Order::Relaxed => format!(".relaxed.{scope}"),
            Order::Acquire => format!(".acquire.{scope}"),
            Order::Release => format!(".release.{scope}"),
            Order::AcquireRelease => format!(".acq_rel.{scope}"),
        };
        let (ty, register) = match bytes {
            1 => ("u8", "%h1"),
            2 => ("u16", "%h1"),
            4 => ("u32", "%r12"),
            _ => ("u64", "%d3"),
        };
        let read = if bytes == 4 { "%r13" } else { register };
        let _ = match self.kind {
            Kind::Load => writeln!(text, "#{at} ld{order}.{space}.{ty} {read}, {place};"),
            Kind::Store => {
                let _ = writeln!(text, "cvt.u16.u32 %h1, %r12; cvt.u64.u32 %d3, %r12;");
                writeln!(text, "#{at} st{order}.{space}.{ty} {place}, {register};")
            }
            Kind::Exchange => writeln!(text, "#{at} atom{order}.{space}.exch.b32 %r13, {place}, %r12;"),
            Kind::Add => writeln!(text, "#{at} red{order}.{space}.add.u32 {place}, 1;"),
        };
        if self.reads_flag() {
            // Each thread's results are its own; the next one stands one word further.
            let _ = writeln!(text, "st.global.u32 [%d1+{}], %r13; add.s64 %d1, %d1, 4;", 4 * RESULTS);
        }
    }

    fn reads_flag(&self) -> bool {
        self.flag && matches!(self.kind, Kind::Load | Kind::Exchange)
    }

    fn event(&self, program: &Program, (block, thread): (u32, u32), at: u32, results: &mut u32) -> What {
        let whole = block * program.threads + thread;
        let index = if self.whole { whole } else { thread };
        let element = index.wrapping_mul(self.factor).wrapping_add(self.addend) & self.mask;
        let start = self.offset + u64::from(element) * self.bytes;
        let result = self.reads_flag().then(|| {
            *results += 1;
            assert!(*results <= MOST_RESULTS);
            RESULTS + u64::from(whole * MOST_RESULTS + *results - 1)
        });
        let writes = (whole << 8) + at;
        let (kind, shared, bytes) = (self.kind, self.shared, self.bytes);
        What::Access { kind, shared, start, bytes, order: self.order, scope: self.scope, writes, result }
    }
}

//! Random small kernels, as steps and as PTX.

use std::fmt::Write;

/// Words of global memory that threads share, and as many of shared memory.
pub(crate) const WORDS: u32 = 2;

/// A small generator of numbers (Marsaglia, «Xorshift RNGs», 2003).
pub(crate) struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % u64::from(bound)) as u32
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
}

/// Which threads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Who {
    Thread(u32),
    OtherThreads(u32),
    Block(u32),
}

/// A word that threads share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    shared: bool,
    word: u32,
}

/// How strong an access is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strength {
    Weak,
    Volatile,
    Relaxed,
    /// Acquire for loads, release for stores.
    Synchronising,
}

/// A step of a kernel.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Load(Place, Strength),
    Store(Place, u32, Strength),
    Exchange(Place, u32),
    Add(Place),
    /// An increment by compare-and-swap.
    CompareAdd(Place),
    /// Waits until the word holds the value.
    Await(Place, u32, Strength),
    Fence,
    Block,
    Warp,
    If(Who, Vec<Step>, Vec<Step>),
    Return(Who),
    /// So many rounds.
    Loop(u32, Vec<Step>),
}

/// A kernel and the shape of its launch.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
    steps: Vec<Step>,
}

impl Program {
    /// The program of a seed.
    pub(crate) fn draw(seed: u64) -> Program {
        let mut random = Random::new(seed);
        let (blocks, threads) = [(1, 2), (1, 3), (2, 1), (2, 2), (3, 1)][random.below(5) as usize];
        let mut draw = Draw { random, blocks, threads };
        let count = 1 + draw.random.below(4);
        let steps = draw.steps(count, 0);
        Program { blocks, threads, steps }
    }

    /// All threads.
    pub(crate) fn all(&self) -> u32 {
        self.blocks * self.threads
    }

    /// Words of the buffer: the shared ones, then what each thread has read.
    pub(crate) fn words(&self) -> u32 {
        WORDS + self.all()
    }

    /// Whether each step is one that some thread comes to.
    pub(crate) fn has_no_dead_step(&self) -> bool {
        let everyone: Vec<(u32, u32)> =
            (0..self.all()).map(|thread| (thread / self.threads, thread % self.threads)).collect();
        leave(&self.steps, everyone).is_some()
    }

    /// Whether a word of shared memory is waited for with a value that it may have no more, or never has.
    pub(crate) fn may_miss(&self) -> bool {
        let misses = |place: Place, value: u32| {
            any(&self.steps, &|step| match *step {
                Step::Store(other, written, _) | Step::Exchange(other, written) => {
                    other == place && written != value
                }
                Step::Add(other) | Step::CompareAdd(other) => other == place,
                _ => false,
            })
        };
        any(
            &self.steps,
            &|step| matches!(*step, Step::Await(place, value, _) if place.shared && misses(place, value)),
        )
    }

    /// The kernel `k`, whose one parameter is the buffer.
    pub(crate) fn text(&self) -> String {
        let mut writer = Writer::default();
        writer.steps(&self.steps);
        format!(
            ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p0)\n{{\n\
             .reg .pred %p<2>; .reg .b32 %r<40>; .reg .b64 %d<4>; .shared .align 4 .b32 tile[{WORDS}];\n\
             ld.param.u64 %d0, [p0]; cvta.to.global.u64 %d0, %d0;\n\
             mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.s32 %r4, %r2, %r3, %r1;\n\
             mov.u32 %r5, 0;\n\
             setp.ne.u32 %p1, %r1, 0; @%p1 bra BEGIN;\nst.shared.u32 [tile], 0; st.shared.u32 [tile+4], 0;\nBEGIN:\nbar.sync 0;\n\
             {}END:\nmul.wide.u32 %d1, %r4, 4; add.s64 %d1, %d0, %d1;\nst.global.u32 [%d1+{}], %r5;\nret;\n}}\n",
            writer.text,
            4 * WORDS
        )
    }
}

impl Who {
    fn means(self, (block, thread): (u32, u32)) -> bool {
        match self {
            Who::Thread(wanted) => thread == wanted,
            Who::OtherThreads(other) => thread != other,
            Who::Block(wanted) => block == wanted,
        }
    }
}

/// Which of the threads that come to these steps go on behind them; `None` where nobody comes to one of them.
fn leave(steps: &[Step], mut who: Vec<(u32, u32)>) -> Option<Vec<(u32, u32)>> {
    for step in steps {
        if who.is_empty() {
            return None;
        }
        who = match step {
            Step::If(condition, then, otherwise) => {
                let (those, others) = who.into_iter().partition(|&thread| condition.means(thread));
                [leave(then, those)?, leave(otherwise, others)?].concat()
            }
            Step::Return(condition) => who.into_iter().filter(|&thread| !condition.means(thread)).collect(),
            Step::Loop(_, body) => leave(body, who)?,
            _ => who,
        };
    }
    Some(who)
}

/// Whether a step, or one in it, is wanted.
fn any(steps: &[Step], wanted: &dyn Fn(&Step) -> bool) -> bool {
    steps.iter().any(|step| {
        wanted(step)
            || match step {
                Step::If(_, then, otherwise) => any(then, wanted) || any(otherwise, wanted),
                Step::Loop(_, body) => any(body, wanted),
                _ => false,
            }
    })
}

struct Draw {
    random: Random,
    blocks: u32,
    threads: u32,
}

impl Draw {
    fn place(&mut self) -> Place {
        Place { shared: self.threads > 1 && self.random.chance(40), word: self.random.below(WORDS) }
    }

    fn strength(&mut self) -> Strength {
        use Strength::*;
        [Weak, Weak, Volatile, Relaxed, Synchronising, Synchronising][self.random.below(6) as usize]
    }

    fn who(&mut self) -> Who {
        match self.random.below(3) {
            0 if self.blocks > 1 => Who::Block(self.random.below(self.blocks)),
            1 if self.threads > 1 => Who::OtherThreads(self.random.below(self.threads)),
            _ if self.threads > 1 => Who::Thread(self.random.below(self.threads)),
            _ => Who::Block(self.random.below(self.blocks)),
        }
    }

    fn steps(&mut self, count: u32, depth: u32) -> Vec<Step> {
        (0..count).flat_map(|_| self.step(depth)).collect()
    }

    /// A step, or a few that belong together.
    fn step(&mut self, depth: u32) -> Vec<Step> {
        if depth < 2 && self.random.chance(35) {
            return match self.random.below(4) {
                0 => vec![self.message()],
                1 => {
                    let (rounds, count) = (1 + self.random.below(2), 1 + self.random.below(2));
                    vec![Step::Loop(rounds, self.steps(count, depth + 1))]
                }
                _ => {
                    let (who, then, otherwise) = (self.who(), self.random.below(3), self.random.below(3));
                    vec![Step::If(who, self.steps(then, depth + 1), self.steps(otherwise, depth + 1))]
                }
            };
        }
        let (place, value) = (self.place(), 1 + self.random.below(2));
        let step = match self.random.below(22) {
            0..3 => Step::Load(place, self.strength()),
            3..7 => Step::Store(place, value, self.strength()),
            7 => Step::Exchange(place, value),
            8..10 => Step::Add(place),
            10 => Step::CompareAdd(place),
            11..13 => {
                let strength =
                    if self.random.chance(50) { Strength::Synchronising } else { Strength::Volatile };
                Step::Await(place, value, strength)
            }
            13 => Step::Fence,
            14..19 => Step::Block,
            19..21 => Step::Warp,
            _ => Step::Return(self.who()),
        };
        vec![step]
    }

    /// Some write a word and raise a flag; the others wait for the flag and read.
    fn message(&mut self) -> Step {
        let shared = self.threads > 1 && (self.blocks == 1 || self.random.chance(30));
        let (data, flag) = (Place { shared, word: 0 }, Place { shared, word: 1 });
        let who = if shared { Who::Thread(0) } else { self.who() };
        let strength =
            [Strength::Relaxed, Strength::Synchronising, Strength::Synchronising, Strength::Volatile];
        let (mut sends, mut receives) = (vec![Step::Store(data, 1, Strength::Weak)], Vec::new());
        if self.random.chance(40) {
            sends.push(Step::Fence);
        }
        sends.push(Step::Store(flag, 1, strength[self.random.below(4) as usize]));
        receives.push(Step::Await(flag, 1, strength[self.random.below(4) as usize]));
        if self.random.chance(40) {
            receives.push(Step::Fence);
        }
        receives.push(Step::Load(data, Strength::Weak));
        Step::If(who, sends, receives)
    }
}

#[derive(Default)]
struct Writer {
    text: String,
    labels: u32,
    depth: u32,
}

impl Writer {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.text, "{line}");
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.step(step);
        }
    }

    /// Leaves in `%p1` whether a thread is not meant.
    fn unless(&mut self, who: Who) {
        match who {
            Who::Thread(thread) => self.line(format_args!("setp.ne.u32 %p1, %r1, {thread};")),
            Who::OtherThreads(thread) => self.line(format_args!("setp.eq.u32 %p1, %r1, {thread};")),
            Who::Block(block) => self.line(format_args!("setp.ne.u32 %p1, %r2, {block};")),
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Load(place, strength) => {
                let load = place.load(*strength);
                self.line(format_args!("{load}\nmad.lo.u32 %r5, %r5, 4, %r6;"));
            }
            Step::Store(place, value, strength) => {
                let order = match strength {
                    Strength::Weak => "",
                    Strength::Volatile => ".volatile",
                    Strength::Relaxed => ".relaxed.gpu",
                    Strength::Synchronising => ".release.gpu",
                };
                self.line(format_args!("st{order}.{}.u32 {}, {value};", place.space(), place.address()));
            }
            Step::Exchange(place, value) => {
                let (space, address) = (place.space(), place.address());
                self.line(format_args!(
                    "atom.{space}.exch.b32 %r6, {address}, {value};\nmad.lo.u32 %r5, %r5, 4, %r6;"
                ));
            }
            Step::Add(place) => {
                let (space, address) = (place.space(), place.address());
                self.line(format_args!(
                    "atom.acq_rel.gpu.{space}.add.u32 %r6, {address}, 1;\nmad.lo.u32 %r5, %r5, 4, %r6;"
                ));
            }
            Step::CompareAdd(place) => {
                let (again, load) = (self.label(), place.load(Strength::Volatile));
                let (space, address) = (place.space(), place.address());
                self.line(format_args!(
                    "{load}\nL{again}:\nmov.u32 %r7, %r6; add.u32 %r8, %r7, 1;\n\
                     atom.{space}.cas.b32 %r6, {address}, %r7, %r8;\nsetp.ne.u32 %p1, %r6, %r7;\n@%p1 bra L{again};"
                ));
            }
            Step::Await(place, value, strength) => {
                let (again, load) = (self.label(), place.load(*strength));
                self.line(format_args!(
                    "L{again}:\n{load}\nsetp.ne.u32 %p1, %r6, {value};\n@%p1 bra L{again};"
                ));
            }
            Step::Fence => self.line(format_args!("fence.acq_rel.gpu;")),
            Step::Block => self.line(format_args!("barrier.sync 0;")),
            Step::Warp => self.line(format_args!("bar.warp.sync -1;")),
            Step::If(who, then, otherwise) => {
                let (arm, end) = (self.label(), self.label());
                self.unless(*who);
                self.line(format_args!("@%p1 bra L{arm};"));
                self.steps(then);
                self.line(format_args!("bra L{end};\nL{arm}:"));
                self.steps(otherwise);
                self.line(format_args!("L{end}:"));
            }
            Step::Return(who) => {
                self.unless(*who);
                self.line(format_args!("@!%p1 bra END;"));
            }
            Step::Loop(rounds, body) => {
                let (again, counter) = (self.label(), 10 + self.depth);
                self.depth += 1;
                self.line(format_args!("mov.u32 %r{counter}, 0;\nL{again}:"));
                self.steps(body);
                self.line(format_args!(
                    "add.u32 %r{counter}, %r{counter}, 1; setp.lt.u32 %p1, %r{counter}, {rounds};\n@%p1 bra L{again};"
                ));
                self.depth -= 1;
            }
        }
    }
}

impl Place {
    fn space(self) -> &'static str {
        if self.shared { "shared" } else { "global" }
    }

    fn address(self) -> String {
        let base = if self.shared { "tile" } else { "%d0" };
        format!("[{base}+{}]", 4 * self.word)
    }

    fn load(self, strength: Strength) -> String {
        let order = match strength {
            Strength::Weak => "",
            Strength::Volatile => ".volatile",
            Strength::Relaxed => ".relaxed.gpu",
            Strength::Synchronising => ".acquire.gpu",
        };
        format!("ld{order}.{}.u32 %r6, {};", self.space(), self.address())
    }
}

//! Small kernels as PTX.

use std::fmt::Write;

use super::program::{Access, Guard, Kind, Order, Program, RESULTS, Scope, Step};

impl Scope {
    fn name(self) -> &'static str {
        match self {
            Scope::Cta => "cta",
            Scope::Gpu => "gpu",
            Scope::Sys => "sys",
        }
    }
}

impl Program {
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
}

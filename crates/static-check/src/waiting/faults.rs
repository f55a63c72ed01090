//! Faults that a rehearsal meets on its way, in the reader's words.

use standstill_findings::{Finding, Outcome, Platform, PlatformRow, Rule, ThreadRanges};

use crate::kernel::Kernel;
use crate::rehearsal::Fault;
use crate::words::{agreeing, count as number, sentence};

/// The finding for one fault.
pub(super) fn report(kernel: &Kernel<'_>, fault: &Fault) -> Finding {
    Finding { assumes: super::launch_assumptions(kernel), ..described(kernel, fault) }
}

fn described(kernel: &Kernel<'_>, fault: &Fault) -> Finding {
    let places = kernel.places;
    let new = |rule, message: String| Finding::new(rule, kernel.name, message);
    match fault {
        Fault::CountNotWholeWarps { at, count } => {
            let mut finding = new(
                Rule::BarrierCount,
                format!("the count {count} of this barrier is not a positive multiple of the warp size"),
            );
            finding
                .spans
                .push(places.primary(*at, format!("waits for {}", number(u64::from(*count), "thread"))));
            finding.notes.push("a barrier counts whole warps: its count must be a multiple of 32".into());
            finding.help = "give the number of participating threads, rounded up to whole warps".into();
            finding.platforms = PlatformRow::new(&[
                (Platform::Nvidia, Outcome::MayHang),
                (Platform::Specification, Outcome::Undefined),
            ]);
            finding
        }
        Fault::CountsDiffer { at, count, other, other_count } => {
            let words = |count: &Option<u32>| match count {
                Some(count) => number(u64::from(*count), "thread"),
                None => "all threads of the block".to_string(),
            };
            let mut finding =
                new(Rule::BarrierCount, "threads meet at one barrier with different counts".to_string());
            finding.spans.push(places.primary(*at, format!("expects {}", words(count))));
            finding.spans.push(places.cause(*other, format!("expects {}", words(other_count))));
            finding.help = "give all participants of a barrier the same count".into();
            finding.platforms = PlatformRow::new(&[
                (Platform::Nvidia, Outcome::MayHang),
                (Platform::Specification, Outcome::Undefined),
            ]);
            finding
        }
        Fault::ArrivesTwice { at, earlier, id, thread } => {
            let mut finding = new(
                Rule::BarrierCount,
                format!("thread {thread} arrives at barrier {id} again before the others came"),
            );
            finding.spans.push(places.primary(*at, "arrives a second time in one phase"));
            if earlier != at {
                finding.spans.push(places.cause(*earlier, "arrives first here"));
            }
            finding.notes.push(
                "its second arrival counts in place of a thread that is still missing, so the barrier lets \
                 through too early and the next phase waits for an arrival too many"
                    .into(),
            );
            finding.help = "wait for the other side between two arrivals".into();
            finding.platforms = PlatformRow::new(&[
                (Platform::Nvidia, Outcome::MayHang),
                (Platform::Specification, Outcome::Undefined),
            ]);
            finding
        }
        Fault::TooManyThreads { at, count, id, other, threads } => {
            let more = ThreadRanges::from_members(threads.iter().copied());
            let mut finding = new(
                Rule::BarrierCount,
                format!("more threads come to barrier {id} than its count of {count}"),
            );
            finding.spans.push(places.primary(*at, sentence("thread", &more, "come here as well")));
            if places.line(*other) != places.line(*at) {
                finding.spans.push(places.cause(*other, format!("{count} threads complete it here")));
            }
            crate::divergence::add_causes(kernel, *at, &mut finding);
            finding.notes.push(
                "nothing keeps the groups apart, so the barrier opens for whichever threads come first: it lets \
                 through too early"
                    .into(),
            );
            finding.help =
                "let the count be the number of threads that come, or give each group its own barrier".into();
            finding.platforms = PlatformRow::new(&[
                (Platform::Nvidia, Outcome::MayBeWrong),
                (Platform::Specification, Outcome::Undefined),
            ]);
            finding
        }
        Fault::PartOfWarp { at, present, absent } => {
            let present = ThreadRanges::from_members(present.iter().copied());
            let warps = ThreadRanges::from_members(absent.iter().map(|thread| thread / 32)).len();
            let absent = ThreadRanges::from_members(absent.iter().copied());
            let mut finding =
                new(Rule::DivergentBarrier, "a counted barrier is executed by parts of warps".to_string());
            finding.spans.push(places.primary(*at, sentence("thread", &present, "come here")));
            crate::divergence::add_causes(kernel, *at, &mut finding);
            finding.notes.push(format!(
                "{} of the same {} {} not; the barrier counts each warp with all its threads, so it opens before \
                 everybody came",
                absent.with_noun("thread"),
                if warps == 1 { "warp" } else { "warps" },
                agreeing(&absent, "do")
            ));
            finding.help = "let whole warps take part in the barrier".into();
            finding.platforms = PlatformRow::new(&[
                (Platform::Nvidia, Outcome::MayBeWrong),
                (Platform::NvidiaOld, Outcome::MayHang),
                (Platform::Specification, Outcome::Undefined),
            ]);
            finding
        }
        Fault::MaskLeavesOutCaller { at, mask, thread } => {
            let mut finding = new(
                Rule::WarpMask,
                format!("thread {thread} executes a warp operation whose mask 0x{mask:08x} leaves it out"),
            );
            finding.spans.push(places.primary(*at, format!("mask 0x{mask:08x}")));
            finding.notes.push(
                "every thread that executes a warp operation must be named by its mask; for the others it is \
                 undefined (NVIDIA CUDA C++ guidelines 2.4)"
                    .into(),
            );
            finding.help = "name all lanes that come here, or let only the named ones come".into();
            finding.platforms = PlatformRow::new(&[
                (Platform::Nvidia, Outcome::CompletesUnordered),
                (Platform::NvidiaOld, Outcome::Undefined),
                (Platform::Specification, Outcome::Undefined),
            ]);
            finding
        }
        Fault::MaskNamesEnded { at, mask, ended } => {
            let ended = ThreadRanges::from_members(ended.iter().copied());
            let mut finding = new(
                Rule::WarpMask,
                format!("the mask 0x{mask:08x} of this warp operation names lanes that never come to it"),
            );
            finding.spans.push(places.primary(*at, sentence("thread", &ended, "end without coming here")));
            crate::divergence::add_causes(kernel, *at, &mut finding);
            finding.notes.push(
                "all lanes that the mask names must execute the operation (NVIDIA CUDA C++ guidelines 2.4)"
                    .into(),
            );
            finding.help = "let all lanes come to the operation, or take the mask from `__ballot_sync` \
                            before the others leave"
                .into();
            finding.platforms = PlatformRow::new(&[
                (Platform::Nvidia, Outcome::CompletesUnordered),
                (Platform::NvidiaOld, Outcome::Undefined),
                (Platform::Specification, Outcome::Undefined),
            ]);
            finding
        }
    }
}

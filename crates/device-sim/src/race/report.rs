//! What was found, in words.

use standstill_findings::{Finding, Known, Outcome, Platform, PlatformRow, Rule, Span};

use super::{Found, Memory, thread_of};
use crate::fault::Place;
use crate::grid::Grid;

impl Grid {
    /// Races and faults of memory order that were seen so far, in the order in which they were first seen: each
    /// once, with how often. Empty unless the launch asked for them.
    pub fn races(&self) -> Vec<Finding> {
        let Some(race) = &self.shared.race else { return Vec::new() };
        let mut told: Vec<(Rule, Place, Place, Finding, u64)> = Vec::new();
        for found in race.order.iter().filter_map(|key| race.found.get(key)) {
            let place = |site: u32| {
                let site = race.sites.get(site as usize);
                site.map(|site| self.place(site.function, site.position)).unwrap_or_default()
            };
            let (at, other) = (place(found.site), place(found.other));
            let same = |(rule, one, two, ..): &&mut (Rule, Place, Place, Finding, u64)| {
                let lines = |place: &Place| (place.file.clone(), place.line);
                let pair = (lines(one), lines(two));
                *rule == found.rule
                    && (pair == (lines(&at), lines(&other)) || pair == (lines(&other), lines(&at)))
            };
            if let Some(known) = told.iter_mut().find(same) {
                known.4 += found.count;
                continue;
            }
            let cause = found.cause.map(place);
            let finding = self.race(found, &at, &other, cause.as_ref());
            told.push((found.rule, at, other, finding, found.count));
        }
        let with_count = |(_, _, _, mut finding, count): (Rule, Place, Place, Finding, u64)| {
            if count > 1 {
                finding.notes.push(format!("seen {count} times in this launch"));
            }
            finding
        };
        told.into_iter().map(with_count).collect()
    }

    /// Where several threads met so far, and what orders them: functions and positions in their code, for
    /// [`crate::Schedule::Adversarial`]. Empty unless the launch looks for races.
    pub fn contended(&self) -> Vec<(u32, u32)> {
        let sites = self.shared.race.iter().flat_map(|race| &race.sites);
        sites.filter(|site| site.contended).map(|site| (site.function, site.position)).collect()
    }

    fn race(&self, found: &Found, at: &Place, other: &Place, cause: Option<&Place>) -> Finding {
        let race = self.shared.race.as_ref();
        let warps = race.map_or(1, |race| race.warps);
        let writes =
            |site: u32| race.and_then(|race| race.sites.get(site as usize)).is_some_and(|site| site.write);
        let (me, them) = (self.who(found.me, warps), self.who(found.them, warps));
        let what = match found.memory {
            Memory::Global => format!("global memory at {:#x}", found.address),
            Memory::Shared(_) => self.shared_name(found.address),
        };
        let verb = |site: u32| if writes(site) { "writes" } else { "reads" };
        let acquired_by = found.acquired_by.map(|thread| self.who(thread, warps));
        let words = if acquired_by.is_some() { Words::WAITED_FOR_BY_ANOTHER } else { Words::of(found.rule) };
        let message = format!("{}: {me} and {them}, {what}", words.message);
        let mut finding = Finding::new(found.rule, self.kernel().to_owned(), message);
        finding.known = Known::Observed;
        finding.platforms = PlatformRow::everywhere(Outcome::WrongResult);
        if found.rule == Rule::SharedRace || found.rule == Rule::GlobalRace {
            finding.platforms =
                PlatformRow::new(&Platform::ALL.map(|platform| (platform, Outcome::WrongResult)));
        }
        finding.help = words.help.to_owned();
        let label = match found.rule {
            Rule::MissingRelease => {
                format!("this store lets {me} go on, but nothing orders it behind what it tells of")
            }
            Rule::MissingAcquire if let Some(by) = &acquired_by => {
                format!("{by} sees here that it may go on; nothing orders {me} behind that")
            }
            Rule::MissingAcquire => {
                format!("{me} sees here that it may go on, but nothing orders what follows behind it")
            }
            Rule::MbarrierPhase => {
                "this wait lets through: the phase that it names was over before".to_owned()
            }
            Rule::BarrierCount => "more threads arrive here than the mbarrier counts".to_owned(),
            Rule::Aba => "the old value is back, but not what hung from it: this succeeds".to_owned(),
            Rule::LostUpdate => format!("{me} writes back what it read before the other one's write"),
            _ => match &found.values {
                Some(values) => format!("{me} {}", values.later()),
                None => format!("{me} {} here", verb(found.site)),
            },
        };
        let seen = found.values.as_ref().and_then(|values| values.other());
        let seen = seen.map(|value| format!(" {value}")).unwrap_or_default();
        let span = |place: &Place, label: String, primary: bool| {
            let mut span = match primary {
                true => Span::primary(place.file.clone(), place.line, place.column, label),
                false => Span::cause(place.file.clone(), place.line, place.column, label),
            };
            span.inlined_at.clone_from(&place.inlined_at);
            span
        };
        finding.spans.push(span(at, label, true));
        finding.spans.push(span(other, format!("{them} {}{seen} here", verb(found.other)), false));
        if let Some(cause) = cause.filter(|cause| *cause != at && *cause != other) {
            finding.spans.push(span(cause, "this access then meets it unordered".to_owned(), false));
        }
        finding
    }

    fn who(&self, number: u32, warps: u32) -> String {
        let thread = thread_of(number, warps);
        let [gx, gy, _] = self.shared.shape.map(|extent| extent.max(1));
        let at = thread.block;
        let (bx, by, bz) = (at % gx, at / gx % gy, at / gx / gy);
        if thread.warp >= warps {
            return format!("a copy of block ({bx},{by},{bz})");
        }
        let [x, y, _] = self.shared.block.map(|extent| extent.max(1));
        let linear = thread.warp * 32 + thread.lane;
        let (tx, ty, tz) = (linear % x, linear / x % y, linear / x / y);
        format!("thread ({tx},{ty},{tz}) of block ({bx},{by},{bz})")
    }

    /// A place in shared memory by the variable it is in.
    fn shared_name(&self, offset: u64) -> String {
        let names = &self.shared.kernel.shared_names;
        let inside = |(_, start, bytes): &&(String, u32, u64)| {
            (u64::from(*start)..u64::from(*start) + *bytes).contains(&offset)
        };
        match names.iter().find(inside) {
            Some((name, start, _)) => {
                format!("byte {} of {name} in shared memory", offset - u64::from(*start))
            }
            None => format!("byte {offset} of shared memory"),
        }
    }
}

/// The words of a rule.
struct Words {
    message: &'static str,
    help: &'static str,
}

impl Words {
    const WAITED_FOR_BY_ANOTHER: Words = Words {
        message: "one thread waits for what others then use, and no barrier stands between",
        help: "put `__syncthreads()` (within a warp `__syncwarp()`) behind the wait for the flag, before other threads use what it tells of",
    };

    fn of(rule: Rule) -> Words {
        let (message, help) = match rule {
            Rule::SharedRace => (
                "two accesses of the same shared memory, at least one a write, that nothing orders",
                "put a barrier of both threads between the two: `__syncthreads()`, or `__syncwarp()` within a warp",
            ),
            Rule::GlobalRace => (
                "two accesses of the same global memory, at least one a write, that nothing orders",
                "order the two by a barrier, by release and acquire through a flag, or by separate launches; or make both atomic",
            ),
            Rule::MissingRelease => (
                "a flag is set without a release, so that what was written before may be seen later",
                "put `__threadfence()` between the data and the flag, or store the flag with `memory_order_release`",
            ),
            Rule::MissingAcquire => (
                "a flag is read without an acquire, so that what follows may see older data",
                "put `__threadfence()` behind the read of the flag, or load it with `memory_order_acquire`",
            ),
            Rule::ScopeTooNarrow => (
                "the scope of this synchronisation does not reach the other thread",
                "use `thread_scope_device`, `__threadfence()` or an atomic without `_block` where threads of several blocks meet",
            ),
            Rule::LostUpdate => (
                "a value is read, changed and written back while another thread changes it: that change is lost",
                "use one atomic operation, or repeat the compare-and-swap until it succeeds",
            ),
            Rule::ReuseAfterFree => (
                "a record is used although it was given back to its pool",
                "publish that it is in use, look again whether it is still linked, and only then use it",
            ),
            Rule::Aba => (
                "a compare-and-swap succeeds although the value was changed and changed back in between",
                "put a counter beside the index that every change raises, and compare both",
            ),
            Rule::BarrierCount => (
                "the mbarrier ends its phase before all have arrived",
                "initialise it with the number of threads that arrive in each phase",
            ),
            Rule::MbarrierPhase => (
                "a wait at an mbarrier lets through for a phase that was over before",
                "change the parity with every round",
            ),
            Rule::PipelineOrder => (
                "shared memory is used while an asynchronous copy is still under way",
                "wait for the copy's group (`cp.async.wait_group`, `__pipeline_wait_prior`) and then at a barrier before others use the data",
            ),
            _ => ("a fault of order", ""),
        };
        Words { message, help }
    }
}

//! Barriers, fences and operations of a warp.

use standstill_kernel_ir::{
    BarrierKind, BarrierReduction, FenceKind, Op, Order, Scope, ShuffleMode, Type, VoteMode,
};

use crate::lower::opcode::{Form, Meaning, atomic_operation};
use crate::lower::words::{Words, order_of, scope_of, space_of, type_of};

/// What a synchronising opcode means; `None` where it is not known.
pub(super) fn meaning(mnemonic: &str, words: &Words<'_>) -> Option<Meaning> {
    match mnemonic {
        "bar" | "barrier" => barrier(mnemonic, words),
        "membar" | "fence" => fence(mnemonic, words),
        "shfl" => {
            let mode = words.first(|word| {
                Some(match word {
                    "up" => ShuffleMode::Up,
                    "down" => ShuffleMode::Down,
                    "bfly" => ShuffleMode::Bfly,
                    "idx" => ShuffleMode::Idx,
                    _ => return None,
                })
            })?;
            collective(Op::Shuffle(mode), 4, words, &["sync", "up", "down", "bfly", "idx"])
        }
        "vote" => {
            let mode = words.first(|word| {
                Some(match word {
                    "all" => VoteMode::All,
                    "any" => VoteMode::Any,
                    "uni" => VoteMode::Uni,
                    "ballot" => VoteMode::Ballot,
                    _ => return None,
                })
            })?;
            collective(Op::Vote(mode), 2, words, &["sync", "all", "any", "uni", "ballot"])
        }
        "match" => collective(Op::Match { all: words.has("all") }, 2, words, &["sync", "all", "any"]),
        "redux" => {
            let operation = words.first(atomic_operation)?;
            // The operation has no place for what these say, so that the value is unknown.
            let special = words.has("abs") || words.has("NaN");
            let ty = words.types().last().copied().unwrap_or(Type::B32);
            let ty = if special { Type::None } else { ty };
            let known = ["sync", "add", "min", "max", "and", "or", "xor", "abs", "NaN"];
            collective(Op::WarpReduce { operation, ty }, 2, words, &known)
        }
        "activemask" => Some(Meaning::op(Op::ActiveMask, Form::First)),
        "elect" => collective(Op::Elect, 1, words, &["sync"]),
        "nanosleep" => Some(Meaning::op(Op::Nanosleep, Form::Reads)),
        "griddepcontrol" => match words.at(0) {
            "wait" => Some(Meaning::op(Op::GridDependency { wait: true }, Form::Reads)),
            "launch_dependents" => Some(Meaning::op(Op::GridDependency { wait: false }, Form::Reads)),
            _ => None,
        },
        "setmaxnreg" => Some(Meaning::op(Op::SetMaximumRegisters, Form::Reads).splitting()),
        "pmevent" | "brkpt" => Some(Meaning::op(Op::Hint, Form::Reads)),
        _ => None,
    }
}

/// An operation of all lanes named by a mask.
fn collective(op: Op, least_sources: u8, words: &Words<'_>, known: &[&str]) -> Option<Meaning> {
    words
        .only(|word| known.contains(&word) || type_of(word).is_some())
        .then(|| Meaning { least_sources, ..Meaning::op(op, Form::First).splitting() })
}

fn barrier(mnemonic: &str, words: &Words<'_>) -> Option<Meaning> {
    match words.at(0) {
        "warp" => (words.at(1) == "sync").then(|| Meaning::op(Op::WarpSync, Form::Reads).splitting()),
        "cluster" => {
            let known = ["cluster", "arrive", "wait", "aligned", "relaxed", "release", "acquire"];
            let arrive = words.has("arrive");
            if !words.only(|word| known.contains(&word)) || arrive == words.has("wait") {
                return None;
            }
            let usual = if arrive { Order::Release } else { Order::Acquire };
            let order = words.first(order_of).unwrap_or(usual);
            let aligned = words.has("aligned");
            Some(Meaning::op(Op::ClusterBarrier { arrive, aligned, order }, Form::Reads).splitting())
        }
        _ => {
            let known = ["cta", "sync", "arrive", "red", "aligned", "popc", "and", "or"];
            if !words.only(|word| known.contains(&word) || type_of(word).is_some()) {
                return None;
            }
            let kind = if words.has("arrive") { BarrierKind::Arrive } else { BarrierKind::Sync };
            let reduces = words.has("red");
            if !(reduces || words.has("sync") || words.has("arrive")) {
                return None;
            }
            let aligned = mnemonic == "bar" || words.has("aligned");
            let reduction = reduces.then(|| match (words.has("and"), words.has("or")) {
                (true, _) => BarrierReduction::And,
                (_, true) => BarrierReduction::Or,
                _ => BarrierReduction::Count,
            });
            Some(Meaning::op(Op::Barrier { kind, aligned, reduction }, Form::Barrier).splitting())
        }
    }
}

fn fence(mnemonic: &str, words: &Words<'_>) -> Option<Meaning> {
    let proxy = words.has("proxy");
    let known = |word: &str| {
        order_of(word).is_some()
            || scope_of(word).is_some()
            || space_of(word).is_some()
            || matches!(
                word,
                "proxy" | "alias" | "async" | "async::generic" | "mbarrier_init" | "to_proxy::async"
            )
            || word.starts_with("tensormap")
            || word.starts_with("sync_restrict")
            || word.starts_with("from_proxy")
    };
    if !words.only(known) {
        return None;
    }
    let kind = if words.has("mbarrier_init") {
        FenceKind::MbarrierInit
    } else if proxy && words.all.iter().any(|word| word.starts_with("async")) {
        FenceKind::AsyncProxy
    } else if proxy {
        FenceKind::OtherProxy
    } else {
        FenceKind::Thread
    };
    let usual = match mnemonic {
        "membar" => Order::SequentiallyConsistent,
        _ => Order::AcquireRelease,
    };
    let order = words.first(order_of).unwrap_or(usual);
    // A proxy fence without a scope orders what this thread does.
    let scope = words.first(scope_of).unwrap_or(Scope::Cta);
    Some(Meaning::op(Op::Fence { kind, order, scope }, Form::Reads))
}

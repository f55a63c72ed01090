//! Memory barriers in shared memory, asynchronous copies, matrix and tensor-memory instructions.

use standstill_kernel_ir::{
    BulkCompletion, BulkDirection, MatrixKind, MbarrierOperation, Op, Order, Scope, Space,
};

use crate::lower::matrix as matrix_forms;
use crate::lower::opcode::{Form, Meaning, atomic_operation};
use crate::lower::words::{Words, is_cache_hint, order_of, scope_of, space_of, type_of};

/// What an asynchronous opcode means; `None` where it is not known.
pub(super) fn meaning(mnemonic: &str, words: &Words<'_>) -> Option<Meaning> {
    let matrix = |kind, form| Some(Meaning::op(Op::Matrix(kind), form));
    match mnemonic {
        "mbarrier" => mbarrier(words),
        "cp" => copy(words),
        "mma" | "wmma" | "ldmatrix" | "stmatrix" => matrix_forms::meaning(mnemonic, words),
        "movmatrix" => matrix(MatrixKind::Move, Form::First),
        "wgmma" => match words.at(0) {
            "mma_async" => matrix(MatrixKind::WarpgroupMma, Form::FirstIfRegister),
            "fence" => matrix(MatrixKind::WarpgroupFence, Form::Reads),
            "commit_group" => matrix(MatrixKind::WarpgroupCommit, Form::Reads),
            "wait_group" => matrix(MatrixKind::WarpgroupWait, Form::Reads),
            _ => None,
        },
        "tcgen05" => match words.at(0) {
            "mma" => matrix(MatrixKind::TensorMma, Form::Reads),
            "ld" => matrix(MatrixKind::TensorMove, Form::First),
            "st" | "cp" | "shift" => matrix(MatrixKind::TensorMove, Form::Reads),
            "wait::ld" | "wait::st" => matrix(MatrixKind::TensorWait, Form::Reads),
            "commit" => matrix(MatrixKind::TensorCommit, Form::Reads),
            "fence::before_thread_sync" | "fence::after_thread_sync" => {
                matrix(MatrixKind::TensorFence, Form::Reads)
            }
            "alloc" | "dealloc" | "relinquish_alloc_permit" => {
                matrix(MatrixKind::TensorAllocation, Form::Reads)
            }
            _ => None,
        },
        "clusterlaunchcontrol" if words.at(0) == "query_cancel" => Some(Meaning::unknown_value()),
        _ => None,
    }
}

fn mbarrier(words: &Words<'_>) -> Option<Meaning> {
    let known = |word: &str| {
        type_of(word).is_some()
            || space_of(word).is_some()
            || order_of(word).is_some()
            || scope_of(word).is_some()
            || matches!(word, "expect_tx" | "noComplete" | "parity")
            || word.starts_with("sync_restrict")
            || word.starts_with("phase_type")
    };
    if !words.all.iter().skip(1).all(|word| known(word)) {
        return None;
    }
    let arrive = |drop| MbarrierOperation::Arrive {
        drop,
        expect: words.has("expect_tx"),
        no_complete: words.has("noComplete"),
    };
    let wait = |suspends| MbarrierOperation::Wait { suspends, parity: words.has("parity") };
    let (operation, usual, form) = match words.at(0) {
        "init" => (MbarrierOperation::Init, Order::Weak, Form::Reads),
        "inval" => (MbarrierOperation::Invalidate, Order::Weak, Form::Reads),
        "expect_tx" => (MbarrierOperation::ExpectTransactions, Order::Relaxed, Form::Reads),
        "complete_tx" => (MbarrierOperation::CompleteTransactions, Order::Relaxed, Form::Reads),
        "arrive" => (arrive(false), Order::Release, Form::FirstIfRegister),
        "arrive_drop" => (arrive(true), Order::Release, Form::FirstIfRegister),
        "test_wait" => (wait(false), Order::Acquire, Form::First),
        "try_wait" => (wait(true), Order::Acquire, Form::First),
        "pending_count" => (MbarrierOperation::PendingCount, Order::Weak, Form::First),
        _ => return None,
    };
    let op = Op::Mbarrier {
        operation,
        space: words.first(space_of).unwrap_or(Space::Generic),
        order: words.first(order_of).unwrap_or(usual),
        scope: words.first(scope_of).unwrap_or(Scope::Cta),
    };
    Some(Meaning::op(op, form))
}

fn copy(words: &Words<'_>) -> Option<Meaning> {
    let reads = |op| Some(Meaning::op(op, Form::Reads));
    let reduce = words.at(0) == "reduce";
    if words.at(usize::from(reduce)) != "async" {
        return None;
    }
    match words.at(1 + usize::from(reduce)) {
        "bulk" => return bulk(words, reduce),
        _ if reduce => return None,
        "commit_group" => return reads(Op::AsyncCommit),
        "wait_group" => return reads(Op::AsyncWait),
        "wait_all" => return Some(Meaning { least_sources: 1, ..Meaning::op(Op::AsyncWait, Form::Reads) }),
        "mbarrier" if words.at(2) == "arrive" => {
            return reads(Op::AsyncMbarrierArrive { no_increment: words.has("noinc") });
        }
        _ => {}
    }
    let known = |word: &str| space_of(word).is_some() || is_cache_hint(word) || word == "async";
    let meaning = Meaning::op(Op::AsyncCopy { bytes: 0 }, Form::AsyncCopy);
    words.only(known).then(|| Meaning { cache_policy: words.has_cache_policy(), ..meaning })
}

/// `cp.async.bulk` and `cp.reduce.async.bulk`; the destination's space comes before the source's.
fn bulk(words: &Words<'_>, reduce: bool) -> Option<Meaning> {
    match words.at(2) {
        "commit_group" if !reduce => return Some(Meaning::op(Op::BulkCommit, Form::Reads)),
        "wait_group" if !reduce => {
            return Some(Meaning::op(Op::BulkWait { read: words.has("read") }, Form::Reads));
        }
        _ => {}
    }
    let shared = |space: &Space| matches!(space, Space::Shared | Space::SharedCluster);
    let spaces = words.each(space_of);
    let direction = match (spaces.first(), spaces.get(1)) {
        _ if words.has("prefetch") => BulkDirection::Prefetch,
        (Some(to), Some(from)) => match (shared(to), shared(from)) {
            (true, true) => BulkDirection::SharedToShared,
            (true, false) => BulkDirection::GlobalToShared,
            (false, true) => BulkDirection::SharedToGlobal,
            (false, false) => BulkDirection::GlobalToGlobal,
        },
        _ => return None,
    };
    let completion = if words.all.iter().any(|word| word.starts_with("mbarrier::")) {
        BulkCompletion::Mbarrier
    } else if words.has("bulk_group") {
        BulkCompletion::Group
    } else {
        BulkCompletion::None
    };
    let reduction = match reduce {
        true => words.first(atomic_operation).zip(words.types().last().copied()),
        false => None,
    };
    let multicast = words.all.iter().any(|word| word.starts_with("multicast::"));
    let tensor = words.has("tensor");
    Some(Meaning::op(Op::BulkCopy { direction, tensor, completion, reduction, multicast }, Form::Reads))
}

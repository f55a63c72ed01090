//! Loads, stores, atomics and what only touches caches.

use standstill_kernel_ir::{Access, FenceKind, Op, Order, Scope, Space};

use crate::lower::opcode::{Action, Form, Meaning, atomic_operation};
use crate::lower::words::{Words, elements_of, is_cache_hint, order_of, scope_of, space_of, type_of};

/// What a memory opcode means; `None` where a modifier is not known.
pub(super) fn meaning(mnemonic: &str, words: &Words<'_>) -> Option<Meaning> {
    match mnemonic {
        "st" | "red" if words.at(0) == "async" => asynchronous(words),
        "ld" | "ldu" | "st" => load_or_store(mnemonic, words),
        "atom" | "red" => atomic(mnemonic, words),
        "prefetch" | "prefetchu" | "discard" | "applypriority" => Some(Meaning::op(Op::Hint, Form::Reads)),
        "tensormap" => descriptor(words),
        // Texture and surface reads go through a path of their own, and what they bring is not modelled.
        _ => Some(Meaning::unknown_value()),
    }
}

/// `tensormap.replace` changes a descriptor of tensor copies, whose contents are not modelled, as those of the
/// copies are not. `tensormap.cp_fenceproxy` hands a changed one on, by all lanes together.
fn descriptor(words: &Words<'_>) -> Option<Meaning> {
    match words.at(0) {
        "replace" => Some(Meaning::op(Op::Hint, Form::Reads)),
        "cp_fenceproxy" => {
            let (order, scope) = (words.first(order_of)?, words.first(scope_of)?);
            Some(
                Meaning::op(Op::Fence { kind: FenceKind::OtherProxy, order, scope }, Form::Reads).splitting(),
            )
        }
        _ => None,
    }
}

/// `st.async` and `red.async` that tell an mbarrier of their end.
fn asynchronous(words: &Words<'_>) -> Option<Meaning> {
    let known = |word: &str| {
        type_of(word).is_some()
            || space_of(word).is_some()
            || order_of(word).is_some()
            || scope_of(word).is_some()
            || elements_of(word).is_some()
            || atomic_operation(word).is_some()
            || matches!(word, "async" | "mbarrier::complete_tx::bytes")
    };
    if !words.only(known) || !words.has("mbarrier::complete_tx::bytes") {
        return None;
    }
    // Both take effect relaxed at cluster scope, whatever `.weak` says of the instruction itself.
    let mut access = access(words, Order::Relaxed, Scope::Cluster)?;
    (access.order, access.scope) = (Order::Relaxed, Scope::Cluster);
    if access.space == Space::Generic {
        access.space = Space::SharedCluster;
    }
    let reduction = words.first(atomic_operation);
    Some(Meaning { ty: access.ty, ..Meaning::op(Op::AsyncStore { access, reduction }, Form::Reads) })
}

fn load_or_store(mnemonic: &str, words: &Words<'_>) -> Option<Meaning> {
    let known = |word: &str| {
        type_of(word).is_some()
            || space_of(word).is_some()
            || order_of(word).is_some()
            || scope_of(word).is_some()
            || elements_of(word).is_some()
            || is_cache_hint(word)
            || word == "nc"
    };
    if !words.only(known) {
        return None;
    }
    let (order, scope) = match mnemonic {
        "ld" => fresh(words),
        _ => (Order::Weak, Scope::Cta),
    };
    let access = access(words, order, scope)?;
    let meaning = match mnemonic {
        "st" => Meaning::op(Op::Store(access), Form::Reads),
        _ => Meaning::op(Op::Load(access), Form::First),
    };
    Some(Meaning { ty: access.ty, cache_policy: words.has_cache_policy(), ..meaning })
}

/// Order and scope of a load without words for them. `.cv` fetches again each time and `.cg` reads past the first
/// cache (PTX ISA, "Cache Operators"): both are asked for to see what other threads write, and compilers neither
/// merge nor move them.
fn fresh(words: &Words<'_>) -> (Order, Scope) {
    if words.has("nc") {
        (Order::Weak, Scope::Cta)
    } else if words.has("cv") {
        (Order::Volatile, Scope::Sys)
    } else if words.has("cg") {
        (Order::Relaxed, Scope::Gpu)
    } else {
        (Order::Weak, Scope::Cta)
    }
}

fn atomic(mnemonic: &str, words: &Words<'_>) -> Option<Meaning> {
    let known = |word: &str| {
        type_of(word).is_some()
            || space_of(word).is_some()
            || order_of(word).is_some()
            || scope_of(word).is_some()
            || elements_of(word).is_some()
            || is_cache_hint(word)
            || atomic_operation(word).is_some()
    };
    if !words.only(known) {
        return None;
    }
    // Without modifiers an atomic is relaxed at GPU scope (PTX ISA, "atom").
    let access = access(words, Order::Relaxed, Scope::Gpu)?;
    let operation = words.first(atomic_operation)?;
    let form = if mnemonic == "red" { Form::ReadsWithoutResult } else { Form::First };
    let meaning = Meaning::new(Action::Op(Op::Atomic { access, operation }), form);
    Some(Meaning { ty: access.ty, cache_policy: words.has_cache_policy(), ..meaning })
}

/// The access that the modifiers describe, with the opcode's defaults.
fn access(words: &Words<'_>, order: Order, scope: Scope) -> Option<Access> {
    let order = words.first(order_of).unwrap_or(order);
    let scope = match order {
        // Volatile and memory-mapped accesses are as strong as relaxed ones at system scope.
        Order::Volatile | Order::Mmio => Scope::Sys,
        _ => words.first(scope_of).unwrap_or(scope),
    };
    Some(Access {
        space: words.first(space_of).unwrap_or(Space::Generic),
        ty: words.types().last().copied()?,
        elements: words.first(elements_of).unwrap_or(1),
        order,
        scope,
        non_coherent: words.has("nc"),
    })
}

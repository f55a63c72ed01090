//! What single modifiers mean: types, spaces, orders, scopes.

use smallvec::SmallVec;
use standstill_kernel_ir::{Order, Scope, Space, Special, Type};

use crate::syntax::opcode::Opcode;

/// The modifiers of one opcode.
pub(super) struct Words<'a> {
    pub(super) all: SmallVec<[&'a str; 12]>,
}

impl<'a> Words<'a> {
    pub(super) fn new(opcode: Opcode<'a>) -> Self {
        Self { all: opcode.modifiers().collect() }
    }

    /// The modifier at a position, or an empty string.
    pub(super) fn at(&self, position: usize) -> &'a str {
        self.all.get(position).copied().unwrap_or("")
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.all.contains(&word)
    }

    /// What the modifiers mean by `meaning`, in their order.
    pub(super) fn each<T>(&self, meaning: impl Fn(&str) -> Option<T>) -> SmallVec<[T; 4]> {
        self.all.iter().filter_map(|word| meaning(word)).collect()
    }

    /// What the first modifier that has a meaning means.
    pub(super) fn first<T>(&self, meaning: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.all.iter().find_map(|word| meaning(word))
    }

    /// Whether every modifier is known by `known`.
    pub(super) fn only(&self, known: impl Fn(&str) -> bool) -> bool {
        self.all.iter().all(|word| known(word))
    }

    /// The types in their order.
    pub(super) fn types(&self) -> SmallVec<[Type; 4]> {
        self.each(type_of)
    }

    /// Whether the last operand is a cache policy.
    pub(super) fn has_cache_policy(&self) -> bool {
        self.has("L2::cache_hint") || self.has("level::cache_hint")
    }
}

/// A type by its name.
pub(super) fn type_of(word: &str) -> Option<Type> {
    Some(match word {
        "pred" => Type::Pred,
        "b8" => Type::B8,
        "b16" => Type::B16,
        "b32" => Type::B32,
        "b64" => Type::B64,
        "b128" => Type::B128,
        "u8" => Type::U8,
        "u16" => Type::U16,
        "u32" => Type::U32,
        "u64" | "texref" | "samplerref" | "surfref" => Type::U64,
        "s8" => Type::S8,
        "s16" => Type::S16,
        "s32" => Type::S32,
        "s64" => Type::S64,
        "f16" => Type::F16,
        "f16x2" => Type::F16x2,
        "bf16" => Type::Bf16,
        "bf16x2" => Type::Bf16x2,
        "tf32" => Type::Tf32,
        "f32" => Type::F32,
        "f32x2" => Type::F32x2,
        "f64" => Type::F64,
        "u16x2" => Type::U16x2,
        "s16x2" => Type::S16x2,
        "e4m3" => Type::E4m3,
        "e5m2" => Type::E5m2,
        "e4m3x2" => Type::E4m3x2,
        "e5m2x2" => Type::E5m2x2,
        "e2m3" => Type::E2m3,
        "e3m2" => Type::E3m2,
        "e2m1" => Type::E2m1,
        "e2m3x2" => Type::E2m3x2,
        "e3m2x2" => Type::E3m2x2,
        "e2m1x2" => Type::E2m1x2,
        "u4" => Type::U4,
        "s4" => Type::S4,
        "u2" => Type::U2,
        "s2" => Type::S2,
        "b1" => Type::B1,
        "e4m3x4" | "e5m2x4" | "e3m2x4" | "e2m3x4" | "e2m1x4" | "ue8m0" | "ue8m0x2" | "ue4m3" | "b4"
        | "b6x16_p32" | "b4x16_p64" | "s2f6x2" => Type::Narrow,
        _ => return None,
    })
}

/// A state space by its name. `.shared` without a window is the block's own.
pub(super) fn space_of(word: &str) -> Option<Space> {
    Some(match word {
        "global" => Space::Global,
        "shared" | "shared::cta" => Space::Shared,
        "shared::cluster" => Space::SharedCluster,
        "local" => Space::Local,
        "param" | "param::entry" | "param::func" => Space::Param,
        "const" => Space::Const,
        _ => return None,
    })
}

/// A memory order by its name.
pub(super) fn order_of(word: &str) -> Option<Order> {
    Some(match word {
        "weak" => Order::Weak,
        "relaxed" => Order::Relaxed,
        "volatile" => Order::Volatile,
        "mmio" => Order::Mmio,
        "acquire" => Order::Acquire,
        "release" => Order::Release,
        "acq_rel" => Order::AcquireRelease,
        "sc" => Order::SequentiallyConsistent,
        _ => return None,
    })
}

/// A scope by its name; `gl` is `membar`'s word for the GPU.
pub(super) fn scope_of(word: &str) -> Option<Scope> {
    Some(match word {
        "cta" => Scope::Cta,
        "cluster" => Scope::Cluster,
        "gpu" | "gl" => Scope::Gpu,
        "sys" => Scope::Sys,
        _ => return None,
    })
}

/// The number of elements by a vector modifier.
pub(super) fn elements_of(word: &str) -> Option<u8> {
    Some(match word {
        "v2" => 2,
        "v4" => 4,
        "v8" => 8,
        _ => return None,
    })
}

/// Modifiers that steer caches and have no effect on values or order.
pub(super) fn is_cache_hint(word: &str) -> bool {
    matches!(word, "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" | "unified" | "noftz")
        || word.starts_with("L1::")
        || word.starts_with("L2::")
        || word.starts_with("level")
}

/// A special register by its name (PTX ISA, "Special Registers").
pub(super) fn special_of(name: &str) -> Option<Special> {
    let name = match name {
        "WARP_SZ" => return Some(Special::WarpSize),
        _ => name.strip_prefix('%')?,
    };
    if let Some(number) = name.strip_prefix("envreg").and_then(|digits| digits.parse::<u8>().ok()) {
        return Some(Special::Environment(number));
    }
    let (name, component) = match name.split_once('.') {
        None => (name, 0),
        Some((name, "x" | "r")) => (name, 0),
        Some((name, "y" | "g")) => (name, 1),
        Some((name, "z" | "b")) => (name, 2),
        // The fourth component of the vector ones is always zero or one.
        Some((_, "w" | "a")) => return Some(Special::Other),
        Some(_) => return None,
    };
    Some(match name {
        "tid" => Special::Tid(component),
        "ntid" => Special::Ntid(component),
        "ctaid" => Special::Ctaid(component),
        "nctaid" => Special::Nctaid(component),
        "laneid" => Special::LaneId,
        "warpid" => Special::WarpId,
        "nwarpid" => Special::NwarpId,
        "gridid" => Special::GridId,
        "smid" => Special::SmId,
        "nsmid" => Special::NsmId,
        "clusterid" => Special::ClusterId(component),
        "nclusterid" => Special::NclusterId(component),
        "cluster_ctaid" => Special::ClusterCtaid(component),
        "cluster_nctaid" => Special::ClusterNctaid(component),
        "cluster_ctarank" => Special::ClusterCtarank,
        "cluster_nctarank" => Special::ClusterNctarank,
        "is_explicit_cluster" => Special::IsExplicitCluster,
        "lanemask_eq" => Special::LaneMaskEq,
        "lanemask_le" => Special::LaneMaskLe,
        "lanemask_lt" => Special::LaneMaskLt,
        "lanemask_ge" => Special::LaneMaskGe,
        "lanemask_gt" => Special::LaneMaskGt,
        "clock" => Special::Clock,
        "clock64" => Special::Clock64,
        "globaltimer" | "globaltimer_lo" => Special::GlobalTimer,
        "dynamic_smem_size" => Special::DynamicSharedSize,
        "total_smem_size" => Special::TotalSharedSize,
        "aggr_smem_size" => Special::AggregateSharedSize,
        "current_graph_exec" => Special::CurrentGraphExec,
        "clock_hi" | "globaltimer_hi" => Special::Other,
        _ if name.starts_with("pm") || name.starts_with("reserved_smem") => Special::Other,
        _ => return None,
    })
}

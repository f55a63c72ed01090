//! How types, spaces, orders and special registers are written.

use standstill_kernel_ir::{AtomicOperation, Comparison, Order, Scope, Space, Special, Type};

/// A type's name; `None` for those that have no register or no name of their own.
pub(super) fn type_name(ty: Type) -> Option<&'static str> {
    Some(match ty {
        Type::Pred => "pred",
        Type::B8 => "b8",
        Type::B16 => "b16",
        Type::B32 => "b32",
        Type::B64 => "b64",
        Type::B128 => "b128",
        Type::U8 => "u8",
        Type::U16 => "u16",
        Type::U32 => "u32",
        Type::U64 => "u64",
        Type::S8 => "s8",
        Type::S16 => "s16",
        Type::S32 => "s32",
        Type::S64 => "s64",
        Type::F16 => "f16",
        Type::F16x2 => "f16x2",
        Type::Bf16 => "bf16",
        Type::Bf16x2 => "bf16x2",
        Type::Tf32 => "tf32",
        Type::F32 => "f32",
        Type::F32x2 => "f32x2",
        Type::F64 => "f64",
        Type::U16x2 => "u16x2",
        Type::S16x2 => "s16x2",
        Type::E4m3x2 => "e4m3x2",
        Type::E5m2x2 => "e5m2x2",
        _ => return None,
    })
}

/// A type as mere bits.
pub(super) fn bits_name(bits: u32) -> Option<&'static str> {
    Some(match bits {
        8 => "b8",
        16 => "b16",
        32 => "b32",
        64 => "b64",
        128 => "b128",
        _ => return None,
    })
}

/// A space as a modifier; empty for generic addresses.
pub(super) fn space_word(space: Space) -> Option<&'static str> {
    Some(match space {
        Space::Generic => "",
        Space::Global => ".global",
        Space::Shared => ".shared",
        Space::SharedCluster => ".shared::cluster",
        Space::Local => ".local",
        Space::Param => ".param",
        Space::Const => ".const",
        Space::Tensor => return None,
    })
}

/// A scope as a modifier.
pub(super) fn scope_word(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => ".cta",
        Scope::Cluster => ".cluster",
        Scope::Gpu => ".gpu",
        Scope::Sys => ".sys",
    }
}

/// Order and scope of a load, store or atomic, as modifiers; `None` where PTX has no such form.
pub(super) fn order_words(order: Order, scope: Scope) -> Option<String> {
    let word = match order {
        Order::Weak => return Some(String::new()),
        Order::Volatile => return Some(".volatile".to_owned()),
        Order::Mmio => return Some(".mmio.relaxed.sys".to_owned()),
        Order::Relaxed => ".relaxed",
        Order::Acquire => ".acquire",
        Order::Release => ".release",
        Order::AcquireRelease => ".acq_rel",
        Order::SequentiallyConsistent => return None,
    };
    Some(format!("{word}{}", scope_word(scope)))
}

/// What an atomic does.
pub(super) fn atomic_word(operation: AtomicOperation) -> &'static str {
    match operation {
        AtomicOperation::Add => "add",
        AtomicOperation::And => "and",
        AtomicOperation::Or => "or",
        AtomicOperation::Xor => "xor",
        AtomicOperation::Min => "min",
        AtomicOperation::Max => "max",
        AtomicOperation::Inc => "inc",
        AtomicOperation::Dec => "dec",
        AtomicOperation::Exchange => "exch",
        AtomicOperation::CompareExchange => "cas",
    }
}

/// A comparison.
pub(super) fn comparison_word(comparison: Comparison) -> Option<&'static str> {
    Some(match comparison {
        Comparison::None => return None,
        Comparison::Eq => "eq",
        Comparison::Ne => "ne",
        Comparison::Lt => "lt",
        Comparison::Le => "le",
        Comparison::Gt => "gt",
        Comparison::Ge => "ge",
        Comparison::Lo => "lo",
        Comparison::Ls => "ls",
        Comparison::Hi => "hi",
        Comparison::Hs => "hs",
        Comparison::Equ => "equ",
        Comparison::Neu => "neu",
        Comparison::Ltu => "ltu",
        Comparison::Leu => "leu",
        Comparison::Gtu => "gtu",
        Comparison::Geu => "geu",
        Comparison::Num => "num",
        Comparison::Nan => "nan",
    })
}

/// A special register with its width in bits.
pub(super) fn special_name(special: Special) -> Option<(String, u32)> {
    let axis = |name: &str, component: u8| {
        Some(match component {
            0 => format!("%{name}.x"),
            1 => format!("%{name}.y"),
            2 => format!("%{name}.z"),
            _ => return None,
        })
    };
    let name = match special {
        Special::Tid(component) => axis("tid", component)?,
        Special::Ntid(component) => axis("ntid", component)?,
        Special::Ctaid(component) => axis("ctaid", component)?,
        Special::Nctaid(component) => axis("nctaid", component)?,
        Special::ClusterId(component) => axis("clusterid", component)?,
        Special::NclusterId(component) => axis("nclusterid", component)?,
        Special::ClusterCtaid(component) => axis("cluster_ctaid", component)?,
        Special::ClusterNctaid(component) => axis("cluster_nctaid", component)?,
        Special::Environment(number) => format!("%envreg{number}"),
        other => {
            let (name, bits) = match other {
                Special::LaneId => ("%laneid", 32),
                Special::WarpId => ("%warpid", 32),
                Special::NwarpId => ("%nwarpid", 32),
                Special::WarpSize => ("WARP_SZ", 32),
                Special::GridId => ("%gridid", 64),
                Special::SmId => ("%smid", 32),
                Special::NsmId => ("%nsmid", 32),
                Special::ClusterCtarank => ("%cluster_ctarank", 32),
                Special::ClusterNctarank => ("%cluster_nctarank", 32),
                Special::LaneMaskEq => ("%lanemask_eq", 32),
                Special::LaneMaskLe => ("%lanemask_le", 32),
                Special::LaneMaskLt => ("%lanemask_lt", 32),
                Special::LaneMaskGe => ("%lanemask_ge", 32),
                Special::LaneMaskGt => ("%lanemask_gt", 32),
                Special::Clock => ("%clock", 32),
                Special::Clock64 => ("%clock64", 64),
                Special::GlobalTimer => ("%globaltimer", 64),
                Special::DynamicSharedSize => ("%dynamic_smem_size", 32),
                Special::TotalSharedSize => ("%total_smem_size", 32),
                Special::AggregateSharedSize => ("%aggr_smem_size", 32),
                Special::IsExplicitCluster => ("%is_explicit_cluster", 1),
                Special::CurrentGraphExec => ("%current_graph_exec", 64),
                _ => return None,
            };
            return Some((name.to_owned(), bits));
        }
    };
    Some((name, 32))
}

/// A name as an identifier of PTX: what may not stand in one becomes `_`.
pub fn identifier(name: &str) -> String {
    let mut text: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '$') { c } else { '_' })
        .collect();
    if text.chars().next().is_none_or(|first| first.is_ascii_digit()) {
        text.insert(0, '_');
    }
    if text.len() == 1 && !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        text.push('_');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::identifier;

    #[test]
    fn names_become_identifiers() {
        for (name, expected) in
            [("_Z3addPi", "_Z3addPi"), ("a::b<f32>", "a__b_f32_"), ("1st", "_1st"), ("", "__"), ("é", "__")]
        {
            assert_eq!(identifier(name), expected, "{name}");
        }
    }
}

//! Schedulers as a person writes them: a policy for each level.

use std::str::FromStr;

use crate::progress::{Fairness, Policy, Scheduler};

/// The names of policies.
const POLICIES: [(&str, Policy); 5] = [
    ("OBE", Policy::OccupancyBound),
    ("HSA", Policy::Hsa),
    ("HSA_OBE", Policy::HsaOccupancyBound),
    ("LOBE", Policy::LinearOccupancyBound),
    ("FAIR", Policy::Fair),
];

impl FromStr for Scheduler {
    type Err = String;

    /// `grid=OBE,block=FAIR,warp=LOBE`, with `_STRONG` behind the policies or without: who is treated fairly between the clusters of the grid
    /// (its blocks, where there are no clusters), the blocks of a cluster, the warps of a block, and the lanes of a warp. Levels that are not named are fair.
    fn from_str(text: &str) -> Result<Scheduler, String> {
        let mut scheduler = Scheduler::between_blocks(Policy::Fair, Fairness::Weak);
        for part in text.split(',').map(str::trim) {
            let form = "it is written as grid=OBE,block=FAIR,warp=LOBE";
            let (level, policy) = part.split_once('=').ok_or_else(|| format!("`{part}`: {form}"))?;
            let written = policy.trim().to_ascii_uppercase();
            let (name, strong) = match written.strip_suffix("_STRONG") {
                Some(name) => (name, true),
                None => (written.as_str(), false),
            };
            let known = POLICIES.iter().find(|(known, _)| *known == name);
            let (_, policy) = known.ok_or_else(|| {
                let names = POLICIES.map(|(name, _)| name).join(", ");
                format!("`{policy}` is no policy; there are {names}, each also with _STRONG")
            })?;
            match level.trim() {
                "grid" => scheduler.grid = *policy,
                "cluster" => scheduler.cluster = *policy,
                "block" => scheduler.block = *policy,
                "warp" => scheduler.warp = *policy,
                other => {
                    return Err(format!("`{other}` is no level; there are grid, cluster, block and warp"));
                }
            }
            if strong {
                scheduler.fairness = Fairness::Strong;
            }
        }
        Ok(scheduler)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduler_has_a_policy_for_each_level() {
        let all = Scheduler {
            grid: Policy::OccupancyBound,
            cluster: Policy::Fair,
            block: Policy::Hsa,
            warp: Policy::LinearOccupancyBound,
            fairness: Fairness::Weak,
        };
        assert_eq!("grid=OBE, block=hsa,warp=LOBE".parse(), Ok(all));
        let strong = Scheduler::between_blocks(Policy::HsaOccupancyBound, Fairness::Strong);
        assert_eq!("grid=HSA_OBE_STRONG".parse(), Ok(strong));
        for wrong in ["", "grid", "grid=NEVER", "card=OBE", "grid=OBE,"] {
            assert!(wrong.parse::<Scheduler>().is_err(), "{wrong}");
        }
    }
}

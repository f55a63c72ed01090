//! Sets of threads, written as ranges so that a report never lists 270,000 rows.

use std::fmt;

/// A sorted set of numbers (threads of a block, blocks of a grid) as inclusive ranges.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ThreadRanges {
    ranges: Vec<(u32, u32)>,
}

impl ThreadRanges {
    /// The set of the numbers that `members` yields, in any order.
    pub fn from_members(members: impl IntoIterator<Item = u32>) -> ThreadRanges {
        let mut members: Vec<u32> = members.into_iter().collect();
        members.sort_unstable();
        members.dedup();
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for member in members {
            match ranges.last_mut() {
                Some(last) if last.1.checked_add(1) == Some(member) => last.1 = member,
                _ => ranges.push((member, member)),
            }
        }
        ThreadRanges { ranges }
    }

    /// The inclusive ranges, ascending.
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// How many members there are.
    pub fn len(&self) -> u64 {
        self.ranges.iter().map(|(first, last)| u64::from(last - first) + 1).sum()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// `thread 5`, `threads 0–127`, `blocks 1, 3–5`, with at most four ranges spelt out.
    pub fn with_noun(&self, singular: &str) -> String {
        let plural = if self.len() == 1 { "" } else { "s" };
        format!("{singular}{plural} {self}")
    }
}

impl fmt::Display for ThreadRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SPELT_OUT: usize = 4;
        for (index, (first, last)) in self.ranges.iter().take(SPELT_OUT).enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            if first == last {
                write!(f, "{first}")?;
            } else {
                write!(f, "{first}–{last}")?;
            }
        }
        if self.ranges.len() > SPELT_OUT {
            write!(f, ", … ({} in all)", self.len())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_neighbours() {
        let set = ThreadRanges::from_members([3, 1, 2, 7, 9, 8, 1]);
        assert_eq!(set.ranges(), [(1, 3), (7, 9)]);
        assert_eq!(set.with_noun("thread"), "threads 1–3, 7–9");
        assert_eq!(ThreadRanges::from_members([5]).with_noun("block"), "block 5");
        let odd = ThreadRanges::from_members((0..32).filter(|n| n % 2 == 1));
        assert_eq!(odd.to_string(), "1, 3, 5, 7, … (16 in all)");
    }
}

//! The words of shaders: a block is a workgroup, a thread an invocation.

use standstill_findings::{Finding, Known};

/// What CUDA C++ calls a thing, and what WGSL does; longer phrases first.
const PHRASES: [(&str, &str); 18] = [
    ("threadIdx.x read here", "the invocation's own index is read here"),
    ("threadIdx.y read here", "the invocation's own index is read here"),
    ("threadIdx.z read here", "the invocation's own index is read here"),
    ("blockIdx.x read here", "the workgroup's index is read here"),
    ("blockIdx.y read here", "the workgroup's index is read here"),
    ("blockIdx.z read here", "the workgroup's index is read here"),
    ("threadIdx.", "local_invocation_id."),
    ("blockIdx.", "workgroup_id."),
    ("__syncthreads()", "workgroupBarrier()"),
    ("__syncthreads", "workgroupBarrier()"),
    ("__syncwarp", "subgroupBarrier()"),
    ("__threadfence_block()", "a fence"),
    ("__threadfence()", "a fence"),
    ("shared memory", "workgroup memory"),
    ("blockDim.", "workgroup_size."),
    ("gridDim.", "num_workgroups."),
    ("thread block", "workgroup"),
    ("warp operation", "subgroup operation"),
];

/// Single words.
const WORDS: [(&str, &str); 12] = [
    ("thread", "invocation"),
    ("threads", "invocations"),
    ("block", "workgroup"),
    ("blocks", "workgroups"),
    ("warp", "subgroup"),
    ("warps", "subgroups"),
    ("Thread", "Invocation"),
    ("Threads", "Invocations"),
    ("Block", "Workgroup"),
    ("Blocks", "Workgroups"),
    ("Warp", "Subgroup"),
    ("Warps", "Subgroups"),
];

/// A text about CUDA C++ in the words of a reader of shaders.
pub fn reader(text: &str) -> String {
    let mut text = text.to_owned();
    for (theirs, ours) in PHRASES {
        if text.contains(theirs) {
            text = text.replace(theirs, ours);
        }
    }
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut result = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(start) = rest.find(is_word) {
        let (between, from) = rest.split_at(start);
        let (word, after) = from.split_at(from.find(|c| !is_word(c)).unwrap_or(from.len()));
        result.push_str(between);
        result.push_str(WORDS.iter().find(|(theirs, _)| *theirs == word).map_or(word, |(_, ours)| ours));
        rest = after;
    }
    result.push_str(rest);
    result
}

/// Puts all texts of a finding into these words.
pub(crate) fn tell(finding: &mut Finding) {
    let one = |text: &mut String| *text = reader(text);
    one(&mut finding.message);
    one(&mut finding.help);
    finding.notes.iter_mut().for_each(one);
    finding.spans.iter_mut().for_each(|span| one(&mut span.label));
    if let Known::Possible { reason } = &mut finding.known {
        one(reason);
    }
}

#[cfg(test)]
mod tests {
    use super::reader;

    #[test]
    fn a_block_is_a_workgroup() {
        for (theirs, ours) in [
            ("threads 0–127 of block 0 wait", "invocations 0–127 of workgroup 0 wait"),
            ("move it behind `__syncthreads()`", "move it behind `workgroupBarrier()`"),
            ("give the shape with --block", "give the shape with --block"),
        ] {
            assert_eq!(reader(theirs), ours);
        }
    }
}

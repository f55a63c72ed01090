//! The words of shaders: a block is a workgroup, a thread an invocation.

use standstill_findings::Vocabulary;

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

/// The words of shaders.
pub(crate) const VOCABULARY: Vocabulary = Vocabulary { phrases: &PHRASES, words: &WORDS };

/// A text about CUDA C++ in the words of a reader of shaders.
pub fn reader(text: &str) -> String {
    VOCABULARY.reader(text)
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

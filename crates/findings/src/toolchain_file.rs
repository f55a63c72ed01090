//! Which files of a line table are nobody's own.

/// Parts of a path that only toolchains' own headers have.
const PARTS: [&str; 15] = [
    "/include/cooperative_groups",
    "/include/cuda/",
    "/include/cub/",
    "/include/thrust/",
    "/include/crt/",
    "/include/nv/",
    "/include/cccl/",
    "/include/cuda_",
    "/include/sm_",
    "/include/device_",
    "/include/vector_",
    "/targets/x86_64-linux/include/",
    "/lib/clang/",
    "/triton/language/",
    "/numba/cuda/",
];

/// Whether a file of a line table belongs to a compiler or its libraries. A finding points past it, at the line
/// from which the user's own code came there.
pub fn is_toolchain_file(path: &str) -> bool {
    PARTS.iter().any(|part| path.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_toolchains_are_told_from_the_users_files() {
        let check = |path: &str, expected: bool| assert_eq!(is_toolchain_file(path), expected, "{path}");
        check("/usr/local/cuda/targets/x86_64-linux/include/device_functions.h", true);
        check("/opt/cccl/include/cub/block/block_reduce.cuh", true);
        check("/usr/lib/llvm-19/lib/clang/19/include/__clang_cuda_intrinsics.h", true);
        check("/venv/site-packages/triton/language/standard.py", true);
        check("src/scan.cu", false);
        check("/home/me/cuda/include/queue.cuh", false);
        check("", false);
    }
}

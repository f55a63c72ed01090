//! Calls of the host: which frame of a call's stack the reader looks for.

use standstill_findings::is_toolchain_file;
use standstill_report::base_name;
use standstill_supervisor::Frame;

/// The innermost frame in the program's own source. A launch goes through two functions that the compiler makes of the
/// kernel: the *stub*, and one with the kernel's own name and line.
pub(crate) fn first_own_line(frames: &[Frame]) -> Option<&Frame> {
    let mut frames = frames;
    if let Some(stub) = frames.iter().position(|frame| frame.function.contains(STUB)) {
        let kernel = frames.get(stub).map(|frame| kernel_of(&frame.function));
        frames = frames.get(stub + 1..)?;
        if let Some((first, rest)) = frames.split_first()
            && kernel.is_some_and(|kernel| plain(&first.function) == kernel)
        {
            frames = rest;
        }
    }
    frames.iter().find(|frame| is_own_line(frame))
}

/// How the names of stubs begin, before the kernel's mangled name.
const STUB: &str = "__device_stub_";

/// The kernel that a stub is for: its name without arguments and namespaces.
fn kernel_of(stub: &str) -> String {
    let symbol = stub.split(STUB).nth(1).and_then(|rest| rest.split('(').next()).unwrap_or_default();
    base_name(symbol)
}

/// The name of a function without result, parameters, template arguments and namespaces.
fn plain(function: &str) -> &str {
    let end = function.find(['(', '<']).unwrap_or(function.len());
    let name = function.get(..end).unwrap_or(function);
    name.rsplit([':', ' ']).next().unwrap_or(name)
}

/// Whether a frame stands in the program's own source.
fn is_own_line(frame: &Frame) -> bool {
    frame.line > 0
        && !frame.file.is_empty()
        && !is_toolchain_file(&frame.file)
        && !frame.file.contains("/include/c++/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(frames: &[(&str, &str, u32)], expected: Option<u32>) {
        let frame = |(function, file, line): &(&str, &str, u32)| Frame {
            function: (*function).to_owned(),
            file: (*file).to_owned(),
            line: *line,
            ..Frame::default()
        };
        let frames: Vec<Frame> = frames.iter().map(frame).collect();
        assert_eq!(first_own_line(&frames).map(|frame| frame.line), expected);
    }

    #[test]
    fn launches_stand_where_the_kernel_is_called() {
        let stub = ("__device_stub__Z4plusPfi(float*, int)", "/tmp/x.cudafe1.stub.c", 15);
        check(&[stub, ("plus(float*, int)", "x.cu", 4), ("main", "x.cu", 40)], Some(40));
        // Optimised code calls the stub itself.
        check(&[stub, ("main", "x.cu", 40)], Some(40));
        let of_template = ("__device_stub__Z4fillIiEvPT_i(int*, int)", "/tmp/x.cudafe1.stub.c", 1);
        check(&[of_template, ("void ns::fill<int>(int*, int)", "x.cu", 9), ("run()", "x.cu", 41)], Some(41));
    }

    #[test]
    fn other_calls_stand_where_they_are() {
        check(
            &[("cudaMalloc<float>", "/usr/local/cuda/include/cuda_runtime.h", 800), ("main", "x.cu", 7)],
            Some(7),
        );
        check(&[("main", "", 0)], None);
    }
}

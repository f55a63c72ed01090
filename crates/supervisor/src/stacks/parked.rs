//! A thread inside a CUDA call is innocent: the first blocking call after a stuck kernel inherits its wait.

use super::{Frame, ThreadStack};

/// The CUDA call in which a thread stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parked {
    /// The call, as the program named it: `cudaDeviceSynchronize`.
    pub call: String,
    /// Whether the call waits for work of the GPU: a synchronisation, a copy, a free.
    pub waits: bool,
    /// The function that called; empty when not known.
    pub caller: String,
    /// Source file of the call; empty when not known.
    pub file: String,
    /// Source line of the call, from 1; 0 when not known.
    pub line: u32,
    /// Address to which the call returns; 0 when not known.
    pub returns_to: u64,
}

/// Finds the outermost CUDA call of a stack: that is the one which the program made.
pub(crate) fn parked(thread: &ThreadStack) -> Option<Parked> {
    let at = thread.frames.iter().rposition(|frame| is_cuda_call(&frame.function));
    let (index, call) = match at {
        Some(index) => (index, thread.frames.get(index)?.function.clone()),
        // A stripped program: the driver's file is all that is known.
        None => {
            let index = thread.frames.iter().rposition(|frame| is_driver(&frame.module))?;
            // The driver has threads of its own, which nobody in the program called.
            thread.frames.get(index + 1..)?.iter().find(|frame| !is_system(frame))?;
            (index, String::new())
        }
    };
    let callers = thread.frames.get(index + 1..)?;
    let own = thread.frames.get(index).map_or(0, |frame| frame.address);
    // Addresses of callers lie one byte inside the call instruction.
    let returns_to = callers.iter().find(|frame| frame.address != own).map_or(0, |frame| frame.address + 1);
    let native = callers.iter().find(|frame| frame.line > 0 && !is_system(frame));
    let python = thread.python.first();
    let (caller, file, line) = match (native, python) {
        (_, Some(frame)) => (frame.function.clone(), frame.file.clone(), frame.line),
        (Some(frame), None) => (frame.function.clone(), frame.file.clone(), frame.line),
        (None, None) => {
            let caller = callers.iter().find(|frame| !frame.function.is_empty() && !is_system(frame));
            (caller.map(|frame| frame.function.clone()).unwrap_or_default(), String::new(), 0)
        }
    };
    Some(Parked { waits: waits(&call), call, caller, file, line, returns_to })
}

/// `cudaStreamSynchronize`, `cuMemcpyDtoH_v2`: a C function of the runtime or the driver.
fn is_cuda_call(function: &str) -> bool {
    let rest = function.strip_prefix("cuda").or_else(|| function.strip_prefix("cu"));
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
        && function.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_driver(module: &str) -> bool {
    module.rsplit('/').next().is_some_and(|file| file.starts_with("libcuda.so"))
}

/// Frames that the programmer did not write.
fn is_system(frame: &Frame) -> bool {
    let file = frame.module.rsplit('/').next().unwrap_or_default();
    ["libcuda.so", "libcudart.so", "libc.so", "libc-", "libpthread", "ld-linux", "ld-musl", "[vdso]"]
        .iter()
        .any(|name| file.starts_with(name))
        || ["/usr/include/", "/usr/local/cuda", "/usr/lib/"]
            .iter()
            .any(|folder| frame.file.starts_with(folder))
        || ["_start", "__libc_start_main", "clone", "start_thread"].contains(&frame.function.as_str())
}

/// Calls that return only when the GPU has done something (CUDA Runtime API, «API synchronization behavior»). A launch
/// may wait as well: the first one of a kernel loads its code, and that can wait for kernels that run (CUDA
/// Programming Guide, «Lazy Loading»).
fn waits(call: &str) -> bool {
    const WAITING: [&str; 10] = [
        "Launch",
        "Synchronize",
        "Memcpy",
        "Memset",
        "Free",
        "Destroy",
        "HostRegister",
        "HostUnregister",
        "DeviceReset",
        "Malloc",
    ];
    call.is_empty() || WAITING.iter().any(|part| call.contains(part)) || call.starts_with("cuMemAlloc")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(module: &str, function: &str, line: u32) -> Frame {
        let file = if line > 0 { "prog.cu" } else { "" };
        let [module, function, file] = [module, function, file].map(str::to_owned);
        Frame { module, function, file, line, ..Frame::default() }
    }

    #[track_caller]
    fn check(frames: Vec<Frame>, expected: Option<(&str, bool, &str, u32)>) {
        let found = parked(&ThreadStack { frames, ..ThreadStack::default() });
        let found = found.as_ref().map(|p| (p.call.as_str(), p.waits, p.caller.as_str(), p.line));
        assert_eq!(found, expected);
    }

    #[test]
    fn the_call_that_the_program_made() {
        let driver = "/usr/lib/libcuda.so.1";
        check(
            vec![
                frame("[vdso]", "clock_gettime", 0),
                frame(driver, "", 0),
                frame(driver, "cuCtxSynchronize", 0),
                frame("/app", "cudaDeviceSynchronize", 0),
                frame("/app", "check(int)", 12),
                frame("/app", "main", 40),
            ],
            Some(("cudaDeviceSynchronize", true, "check(int)", 12)),
        );
        check(vec![frame(driver, "", 0), frame("/app", "", 0)], Some(("", true, "", 0)));
        check(
            vec![frame(driver, "cuLaunchKernel", 0), frame("/app", "main", 3)],
            Some(("cuLaunchKernel", true, "main", 3)),
        );
    }

    #[test]
    fn others_are_not_parked() {
        check(vec![frame("/usr/lib/libcuda.so.1", "", 0), frame("/lib/libc.so.6", "clone", 0)], None);
        check(vec![frame("/app", "curl_easy_perform", 3), frame("/app", "custom", 4)], None);
        check(vec![frame("/app", "main", 3)], None);
        check(vec![], None);
    }
}

//! Where a process that others started can be dumped.

use std::path::{Path, PathBuf};

use standstill_supervisor::{DumpRequest, variable};

/// The pipe and the file of a process, or why there is none.
pub(super) fn request(pid: i32) -> Result<DumpRequest, (i32, String)> {
    let enabled = variable(pid, "CUDA_ENABLE_USER_TRIGGERED_COREDUMP");
    if enabled.as_deref() != Some("1") {
        let reason = "it was not started with dumps enabled (CUDA_ENABLE_USER_TRIGGERED_COREDUMP=1 before its first \
                      CUDA call; `standstill run` does that)";
        return Err((pid, reason.to_owned()));
    }
    let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    let named = |name: &str, default: String| {
        let pattern = variable(pid, name).filter(|pattern| !pattern.is_empty()).unwrap_or(default);
        folder.join(expand(&pattern, pid, host))
    };
    let pipe = named("CUDA_COREDUMP_PIPE", format!("corepipe.cuda.{host}.{pid}"));
    let core = named("CUDA_COREDUMP_FILE", format!("core_%t_{host}_{pid}.nvcudmp"));
    if !pipe.exists() {
        let reason = format!("its dump pipe is not there ({}): no CUDA context was made yet", pipe.display());
        return Err((pid, reason));
    }
    Ok(DumpRequest { pid, pipe, core: with_time(core) })
}

/// `%p` is the process, `%h` the host; `%t` stays.
fn expand(pattern: &str, pid: i32, host: &str) -> String {
    pattern.replace("%p", &pid.to_string()).replace("%h", host)
}

/// The driver puts the seconds since 1970 for `%t`. They are known only when it writes; the name is guessed as of
/// now, and a file of the next seconds is found under its own name.
fn with_time(core: PathBuf) -> PathBuf {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let name =
        core.file_name().unwrap_or_default().to_string_lossy().replace("%t", &now.as_secs().to_string());
    core.parent().unwrap_or(Path::new("/")).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_pipes() {
        assert_eq!(expand("/tmp/pipe.%p.%h", 42, "box"), "/tmp/pipe.42.box");
        assert_eq!(with_time(PathBuf::from("/tmp/core.42")), PathBuf::from("/tmp/core.42"));
    }

    #[test]
    fn without_dumps_it_says_why() {
        let (pid, reason) = request(std::process::id() as i32).unwrap_err();
        assert_eq!(pid, std::process::id() as i32);
        assert!(reason.contains("CUDA_ENABLE_USER_TRIGGERED_COREDUMP=1"));
    }
}

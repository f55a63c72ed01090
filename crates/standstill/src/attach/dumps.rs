//! Where a process that others started can be dumped.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use standstill_supervisor::{Dump, DumpRequest, ThreadTimes, variable};

/// The pipe and the file of a process, or why there is none.
pub(super) fn request(pid: i32, before: ThreadTimes) -> Result<DumpRequest, (i32, String)> {
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
    let pipe = if pipe.exists() { pipe } else { fifo_of(pid, &folder).unwrap_or(pipe) };
    if !pipe.exists() {
        let reason = format!("its dump pipe is not there ({}): no CUDA context was made yet", pipe.display());
        return Err((pid, reason));
    }
    Ok(DumpRequest { pid, pipe, core: with_time(core), before })
}

/// A named pipe in a folder that carries the process's number.
fn fifo_of(pid: i32, folder: &Path) -> Option<PathBuf> {
    let number = pid.to_string();
    let numbered = |name: &str| name.split(|c: char| !c.is_ascii_digit()).any(|part| part == number);
    std::fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let is_fifo = entry.file_type().is_ok_and(|kind| kind.is_fifo());
        (is_fifo && entry.file_name().to_str().is_some_and(numbered)).then(|| entry.path())
    })
}

/// Where the file has a time in its name, finds the one that the driver wrote.
pub(super) fn found(mut dump: Dump) -> Dump {
    let name = dump.core.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if dump.core.exists() || !name.ends_with(".nvcudmp") {
        return dump;
    }
    let ending = name.splitn(3, '_').nth(2).map(|rest| format!("_{rest}")).unwrap_or_default();
    let entries = dump.core.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let files = entries.into_iter().flatten().flatten();
    let written = files
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.ends_with(&ending)))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .max();
    if let Some((_, path)) = written {
        dump.bytes = path.metadata().map_or(0, |metadata| metadata.len());
        dump.core = path;
        dump.error = None;
    }
    dump
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
    fn a_file_with_a_time_in_its_name_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("core_1700000007_box_42.nvcudmp"), "x").unwrap();
        std::fs::write(path("core_1700000009_box_43.nvcudmp"), "xy").unwrap();
        let guess = path("core_1700000006_box_42.nvcudmp");
        let dump = Dump { pid: 42, core: guess, took: std::time::Duration::ZERO, bytes: 0, error: None };
        let dump = found(dump);
        assert_eq!((dump.core, dump.bytes), (path("core_1700000007_box_42.nvcudmp"), 1));
    }

    #[test]
    fn without_dumps_it_says_why() {
        let own = std::process::id() as i32;
        let (pid, reason) = request(own, ThreadTimes::of(own)).unwrap_err();
        assert_eq!(pid, own);
        assert!(reason.contains("CUDA_ENABLE_USER_TRIGGERED_COREDUMP=1"));
    }
}

//! What `/proc` says of processes.

use std::fs;
use std::path::PathBuf;

/// A process as `/proc/PID/stat` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Its short name (15 bytes at most).
    pub name: String,
    /// `R` running, `S` sleeping, `D` uninterruptible, `T` stopped, `Z` ended and not yet waited for.
    pub state: char,
    /// Its parent.
    pub parent: i32,
    /// Its process group.
    pub group: i32,
}

/// All processes that can be seen.
#[must_use]
pub fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pid = |entry: fs::DirEntry| entry.file_name().to_str().and_then(|name| name.parse().ok());
    entries.flatten().filter_map(pid).filter_map(process).collect()
}

/// One process; `None` when it is gone.
pub(crate) fn process(pid: i32) -> Option<Process> {
    parse_stat(&read_text(&format!("/proc/{pid}/stat"))?)
}

/// `PID (NAME) STATE PARENT GROUP …`; the name may hold anything, brackets and spaces too.
pub(crate) fn parse_stat(text: &str) -> Option<Process> {
    let (head, tail) = text.rsplit_once(')')?;
    let (pid, name) = head.split_once('(')?;
    let mut fields = tail.split_ascii_whitespace();
    Some(Process {
        pid: pid.trim().parse().ok()?,
        name: name.to_owned(),
        state: fields.next()?.chars().next()?,
        parent: fields.next()?.parse().ok()?,
        group: fields.next()?.parse().ok()?,
    })
}

/// A file of `/proc` as text; bytes that are no UTF-8 are replaced.
pub(crate) fn read_text(path: &str) -> Option<String> {
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The command line of a process, arguments separated by spaces.
pub(crate) fn command_line(pid: i32) -> String {
    let text = read_text(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
    text.trim_end_matches('\0').replace('\0', " ")
}

/// One variable of the environment that a process was started with; `None` when it may not be read.
#[must_use]
pub fn variable(pid: i32, name: &str) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut entries = bytes.split(|byte| *byte == 0);
    entries.find_map(|entry| {
        let value = entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        Some(String::from_utf8_lossy(value).into_owned())
    })
}

/// A range of a process's address space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) executable: bool,
    /// Byte of the file that `start` shows.
    pub(crate) offset: u64,
    /// The file, `[stack]`, `[vdso]`, or empty.
    pub(crate) path: String,
}

/// The address space of a process; empty when it may not be read.
pub(crate) fn mappings(pid: i32) -> Vec<Mapping> {
    let text = read_text(&format!("/proc/{pid}/maps")).unwrap_or_default();
    text.lines().filter_map(parse_mapping).collect()
}

fn parse_mapping(line: &str) -> Option<Mapping> {
    // start-end perms offset device inode path
    let mut rest = line;
    let mut field = || {
        let (field, after) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = after.trim_start();
        field
    };
    let (start, end) = field().split_once('-')?;
    let permissions = field();
    let offset = field();
    let (_, _) = (field(), field());
    Some(Mapping {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        executable: permissions.contains('x'),
        offset: u64::from_str_radix(offset, 16).ok()?,
        path: rest.to_owned(),
    })
}

/// Whether a process has the CUDA driver loaded.
#[must_use]
pub fn uses_cuda(pid: i32) -> bool {
    mappings(pid)
        .iter()
        .any(|mapping| mapping.path.rsplit('/').next().is_some_and(|file| file.starts_with("libcuda.so")))
}

/// Where the file of a mapping can be opened: through the process's own root, which may be a container's.
pub(crate) fn path_seen_by(pid: i32, path: &str) -> PathBuf {
    let inside = PathBuf::from(format!("/proc/{pid}/root{path}"));
    if inside.exists() { inside } else { PathBuf::from(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let process = parse_stat("42 (a) b (c)) S 1 40 40 0 -1").unwrap();
        assert_eq!(process, Process { pid: 42, name: "a) b (c)".into(), state: 'S', parent: 1, group: 40 });
        assert_eq!(parse_stat("42 (x"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn a_line_of_the_address_space() {
        let line = "7f00-7f10 r-xp 00001000 08:01 1234                       /opt/a b.so (deleted)";
        let expected = Mapping {
            start: 0x7f00,
            end: 0x7f10,
            executable: true,
            offset: 0x1000,
            path: "/opt/a b.so (deleted)".into(),
        };
        assert_eq!(parse_mapping(line), Some(expected));
        assert_eq!(parse_mapping("7f00-7f10 rw-p 00000000 00:00 0 ").unwrap().path, "");
        assert_eq!(parse_mapping("x"), None);
    }

    #[test]
    fn sees_itself() {
        let own = std::process::id() as i32;
        assert!(processes().iter().any(|process| process.pid == own));
        assert!(mappings(own).iter().any(|mapping| mapping.path == "[stack]"));
        assert!(!uses_cuda(own));
    }
}

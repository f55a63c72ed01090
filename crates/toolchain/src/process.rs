//! Running a program to its end.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// What a program left behind.
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a program and keeps all that it prints.
pub(crate) fn run(command: &mut Command) -> io::Result<Finished> {
    let output = command.stdin(Stdio::null()).output()?;
    Ok(Finished {
        status: output.status,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Runs a program, hands each line of its standard output to `line` as it comes, and keeps the rest.
pub(crate) fn run_with_lines(command: &mut Command, line: &mut dyn FnMut(&str)) -> io::Result<Finished> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // Both pipes must be emptied at once, or the program blocks when one is full.
    let stderr = child.stderr.take().map(|mut pipe| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // What was read until an error is still worth showing.
            let _ = pipe.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    });
    let mut stdout = String::new();
    if let Some(pipe) = child.stdout.take() {
        let mut reader = BufReader::new(pipe);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes)? != 0 {
            let text = String::from_utf8_lossy(&bytes);
            line(text.trim_end());
            stdout.push_str(&text);
            bytes.clear();
        }
    }
    let status = child.wait()?;
    let stderr = stderr.and_then(|thread| thread.join().ok()).unwrap_or_default();
    Ok(Finished { status, stdout, stderr })
}

/// The arguments as one would type them in a shell.
pub(crate) fn command_line<'a>(program: &Path, arguments: impl Iterator<Item = &'a OsStr>) -> String {
    let mut line = quoted(program.as_os_str());
    for argument in arguments {
        line.push(' ');
        line.push_str(&quoted(argument));
    }
    line
}

/// One argument, in quotes where a shell would change it.
pub(crate) fn quoted(argument: &OsStr) -> String {
    let text = argument.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_./=+,:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::command_line;
    use std::ffi::OsStr;
    use std::path::Path;

    #[track_caller]
    fn check(arguments: &[&str], expected: &str) {
        assert_eq!(command_line(Path::new("nvcc"), arguments.iter().map(OsStr::new)), expected);
    }

    #[test]
    fn lines_that_a_shell_reads_back() {
        check(&["-arch=sm_90", "a/b.cu"], "nvcc -arch=sm_90 a/b.cu");
        check(&["-DX=\"a b\"", "", "it's.cu"], r#"nvcc '-DX="a b"' '' 'it'\''s.cu'"#);
    }
}

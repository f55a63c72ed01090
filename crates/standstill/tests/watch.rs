//! `run` and `attach` on the watchdog's side, with programs that need no card.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::Workplace;
use serde_json::Value;

/// Compiles one of the supervisor's stand-in programs.
fn stand_in(place: &Workplace, name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../supervisor/tests/children/{name}.c"));
    let program = place.path(name);
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Command::new(compiler)
        .args(["-g", "-O1", "-pthread", "-o"])
        .arg(&program)
        .arg(source)
        .status()
        .unwrap();
    assert!(status.success());
    program
}

/// Starts the command in the background.
fn started(place: &Workplace, arguments: &[&str], word: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_standstill"))
        .args(arguments)
        .current_dir(place.path("."))
        .env("STANDSTILL_TEST_WORD", word)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Living processes with this word in their environment.
fn alive(word: &str) -> Vec<i32> {
    let holds = |pid: i32| {
        let bytes = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        bytes.windows(word.len()).any(|window| window == word.as_bytes())
    };
    let all = standstill_supervisor::processes().into_iter();
    all.filter(|process| process.state != 'Z').map(|process| process.pid).filter(|pid| holds(*pid)).collect()
}

#[track_caller]
fn eventually(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

#[test]
fn exit_codes() {
    let place = Workplace::new();
    let run = |command: &[&str]| place.run(&[&["run", "--device", "gpu", "--"], command].concat());
    run(&["true"]).exits(0);
    run(&["sh", "-c", "echo out; echo err >&2; exit 42"]).exits(42).prints("out\n").says("err\n");
    run(&["sh", "-c", "kill -KILL $$"]).exits(137);
    run(&["/no/such/program"]).exits(127).says("/no/such/program: not found");
    run(&["/etc/passwd"]).exits(126).says("/etc/passwd: cannot be executed");
    place.run(&["run", "--device", "gpu", "missing.cu"]).exits(125).says("missing.cu");
    place.run(&["run", "--timeout", "0s", "--", "true"]).exits(2).says("longer than nothing");
}

#[test]
fn a_hang_names_the_innocent_call() {
    let place = Workplace::new();
    stand_in(&place, "parked");
    let ran = place.run(&["run", "--device", "gpu", "--timeout", "500ms", "--", "./parked"]);
    let ran = ran.exits(124).prints("ready\n");
    for part in [
        "stopped by --timeout after 500 ms",
        "stands in cudaDeviceSynchronize, called by `finish` at ",
        "parked.c:12; it is innocent: it waits for the GPU",
        "explained after 0.",
    ] {
        assert!(ran.err().contains(part), "{part}: {}", ran.err());
    }
}

#[test]
fn json_carries_the_host() {
    let place = Workplace::new();
    stand_in(&place, "parked");
    let arguments = [
        "run",
        "--device",
        "gpu",
        "--timeout",
        "500ms",
        "--format",
        "json",
        "-o",
        "r.json",
        "--",
        "./parked",
    ];
    place.run(&arguments).exits(124);
    let json: Value = serde_json::from_str(&std::fs::read_to_string(place.path("r.json")).unwrap()).unwrap();
    assert_eq!((&json["exit"], &json["program_exit"]), (&124.into(), &143.into()));
    assert_eq!(json["watchdog"]["reason"], "timeout");
    let parked = &json["watchdog"]["host"][0]["threads"][0]["parked"];
    assert_eq!(parked["call"], "cudaDeviceSynchronize");
    assert_eq!(parked["line"], 12);
}

#[test]
fn a_dump_that_is_no_dump_is_said_and_kept() {
    let place = Workplace::new();
    stand_in(&place, "dumping");
    let arguments =
        ["run", "--device", "gpu", "--timeout", "400ms", "--evidence", "kept", "--", "./dumping", "full"];
    let ran = place.run(&arguments).exits(124);
    assert!(ran.err().contains("GPU core dump of process "), "{}", ran.err());
    // The dump and the report.
    assert_eq!(std::fs::read_dir(place.path("kept")).unwrap().count(), 2);
    assert!(place.path("kept/report.json").exists());
}

#[test]
fn interrupting_explains_too() {
    let place = Workplace::new();
    stand_in(&place, "parked");
    for (name, code, words) in [("-INT", 130, "stopped by Ctrl-C"), ("-TERM", 143, "stopped by SIGTERM")] {
        let word = format!("standstill-test-interrupt{name}");
        let child = started(&place, &["run", "--device", "gpu", "--", "./parked"], &word);
        eventually("both run", || alive(&word).len() >= 3);
        // The program prints when it has come to its synchronisation.
        std::thread::sleep(Duration::from_millis(200));
        signal(child.id(), name);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(words) && said.contains("parked.c:12"), "{said}");
        assert!(alive(&word).is_empty());
    }
}

#[test]
fn children_die_with_the_supervisor() {
    let place = Workplace::new();
    let word = "standstill-test-orphans";
    let script = "setsid sleep 1001 & (sleep 1002 &) ; trap '' TERM HUP; while :; do sleep 1003; done";
    let mut child = started(&place, &["run", "--device", "gpu", "--", "sh", "-c", script], word);
    // The supervisor, its guard, the shell and three sleeps.
    eventually("all run", || alive(word).len() >= 6);
    child.kill().unwrap();
    child.wait().unwrap();
    eventually("nothing is left", || alive(word).is_empty());
}

#[test]
fn attaching_says_what_there_is() {
    let place = Workplace::new();
    let program = stand_in(&place, "parked");
    let mut child = Command::new(program).stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let ran = place.run(&["attach", &child.id().to_string()]).exits(0);
    child.kill().unwrap();
    child.wait().unwrap();
    for part in ["the CUDA driver loaded", "not started with dumps enabled", "parked.c:12"] {
        assert!(ran.out().contains(part), "{part}: {}", ran.out());
    }
    place.run(&["attach", "999999999"]).exits(2).says("there is no process 999999999");
    place.run(&["attach", "0"]).exits(2);
}

/// The dump of the laboratory's first case.
fn laboratory_dump() -> Vec<u8> {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpu-core/tests/fixtures/hang_lab_1.core.gz");
    let mut unpacked = Vec::new();
    let file = std::fs::File::open(fixture).unwrap();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(file), &mut unpacked).unwrap();
    unpacked
}

/// A disk that is full while the driver writes: the part that is there still explains the hang, and everything is
/// removed. The disk is a small one of the test's own, where the system lets it have one.
#[test]
fn a_full_disk_leaves_an_explanation() {
    let place = Workplace::new();
    stand_in(&place, "dumping");
    let dump = laboratory_dump();
    place.file("core", &dump);
    let mount = |program: &str| {
        let kilobytes = dump.len() * 75 / 100 / 4096 * 4;
        let script = format!("mkdir disk && mount -t tmpfs -o size={kilobytes}k none disk && {program}");
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", &script]).current_dir(place.path(".")).output().unwrap()
    };
    if !mount("true").status.success() {
        return;
    }
    let _ = std::fs::remove_dir(place.path("disk"));
    let standstill = env!("CARGO_BIN_EXE_standstill");
    let output = mount(&format!(
        "TMPDIR=$PWD/disk {standstill} run --device gpu --timeout 500ms -- ./dumping copy core; code=$?; ls -A disk; \
         exit $code"
    ));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(124), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ready\n", "nothing is left on the disk");
    for part in [
        "(the disk is full)",
        "cut short: the table of sections should stand at byte ",
        "on the card: handoff_bug <<<1x1x1, 256x1x1>>>",
        "error[E0105]",
        "it is innocent: it waits for the kernel `handoff_bug`",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// A dump that an H200 wrote, through the stand-in of the driver: from the limit to the explanation.
#[test]
fn a_hang_of_the_laboratory_is_explained() {
    let place = Workplace::new();
    stand_in(&place, "dumping");
    place.file("core", laboratory_dump());
    let ran = place
        .run(&["run", "--device", "gpu", "--timeout", "500ms", "--", "./dumping", "copy", "core"])
        .exits(124);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../supervisor/tests/children/dumping.c");
    let launch = std::fs::read_to_string(&source).unwrap();
    let launch = launch.lines().position(|line| line == "    handoff_bug();").unwrap() + 1;
    let source = source.display();
    for part in [
        "error[E0105]",
        "threads 0–127 of block 0 wait at the barrier on line 15 for threads 128–255",
        "stands in cudaDeviceSynchronize, called by `main`",
        "it is innocent: it waits for the kernel `handoff_bug`",
        &format!("the kernel `handoff_bug` was launched at {source}:{launch} in `main`"),
    ] {
        assert!(ran.err().contains(part), "{part}: {}", ran.err());
    }
}

/// The laboratory builds, and says so where there is no card. With one it must pass.
#[test]
fn the_laboratory_builds() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hang-lab/hang_lab.cu");
    let place = Workplace::new();
    let ran = place.run(&["run", "--device", "gpu", "--fetch-nvcc", "--", source.to_str().unwrap()]);
    let has_card = Path::new("/dev/nvidiactl").exists();
    if has_card {
        ran.exits(0).prints("| 1, barrier in an if").prints("killed by the watchdog after 5 s");
    } else {
        ran.exits(1).prints("(line ");
    }
}

//! What a person gets wrong in a call, a comment or a text is said, not passed over.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod common;

use std::io::Write;
use std::process::Stdio;

use common::{Ran, Workplace};

const HEADER: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// Two kernels with one and two parameters; the first has launch bounds.
const TWO: &str = "\
.visible .entry _Z4scanPi(.param .u64 p)
.maxntid 256, 1, 1
{
    bar.sync 0;
    ret;
}
.visible .entry _Z3addPii(.param .u64 p, .param .u32 n)
{
    ret;
}
";

fn place() -> Workplace {
    let place = Workplace::new();
    place.file("two.ptx", format!("{HEADER}{TWO}"));
    place
}

#[test]
fn impossible_and_unused_options_are_refused() {
    let place = place();
    for (options, part) in [
        ("--block 2000", "at most 1024 threads"),
        ("--block 1024x1024x64", "at most 1024 threads"),
        ("--block 1x1x65", "at most 64 threads in z"),
        ("-j 0", "at least 1 file"),
        ("--grid 5 --cluster 2", "error: --grid 5 is not a multiple of --cluster 2"),
        ("--param 1=1 --param 1=2", "error: --param gives parameter 1 two values"),
        ("--block 256 --assume block.x==128", "error: --assume 'block.x==128' contradicts the other options"),
        ("--param 99=1", "--param: no kernel has a parameter at position 99"),
        ("--param nope:1=1", "--param: no kernel in the inputs is named nope"),
        ("--assume p9>1", "--assume: no kernel has a parameter at position 9"),
    ] {
        let call: Vec<&str> = ["check", "two.ptx"].into_iter().chain(options.split(' ')).collect();
        place.run(&call).exits(2).says(part);
    }
    let all = ["check", "two.ptx", "--block=256", "--grid=4", "--cluster=2", "--param=add:1=2", "-j=1"];
    assert_eq!(place.run(&all).exits(0).err(), "");
}

#[test]
fn a_block_beyond_the_launch_bounds_is_a_warning() {
    let ran = place().run(&["check", "two.ptx", "--block=1024"]).exits(0);
    let ran = ran.says("warning: two.ptx: scan: a launch with blocks of 1024 fails: the code allows 256");
    assert_eq!(ran.err().lines().count(), 1, "{}", ran.err());
}

#[test]
fn slips_in_comments_are_warnings_with_their_place() {
    let place = place();
    let comments =
        "// standstill: alow(E0009)\n// standstill: allow(E9999)\n// standstill launch(block = 4)\n";
    place.file("slips.ptx", format!("{HEADER}{comments}{TWO}"));
    place
        .run(&["check", "slips.ptx"])
        .exits(0)
        .says("warning: slips.ptx:4: a comment cannot ask for `alow`; did you mean `allow`?")
        .says("warning: slips.ptx:5: there is no rule `E9999`")
        .says("warning: slips.ptx:6: this comment is not read; did you mean `// standstill: launch(…)`?");
}

#[test]
fn a_branch_to_nowhere_is_an_error_with_its_place() {
    let place = place();
    place.file("nowhere.ptx", format!("{HEADER}.visible .entry k()\n{{\n    bra NOWHERE;\n}}\n"));
    let message = "nowhere.ptx:6:9: no label of this name is declared in this function";
    place.run(&["check", "nowhere.ptx"]).exits(2).says(message);
    place.run(&["check", "nowhere.ptx", "two.ptx"]).exits(2).says(message).prints("checked 2 kernels");
}

#[test]
fn standard_input_is_read_as_ptx() {
    let place = place();
    let check = |text: String| {
        let mut command = place.command();
        command.args(["check", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        Ran::new(child.wait_with_output().unwrap())
    };
    check(format!("{HEADER}{TWO}")).exits(0).prints("checked 2 kernels");
    check(format!("{HEADER}.visible .entry k() {{ bar.sync [[; }}")).exits(2).says("<stdin>:4:");
}

#[cfg(unix)]
#[test]
fn what_never_ends_is_refused() {
    let place = place();
    for device in ["/dev/zero", "/dev/null"] {
        place.run(&["check", device]).exits(2).says("this is a device");
    }
    // A sparse file takes no room.
    let file = std::fs::File::create(place.path("huge.ptx")).unwrap();
    file.set_len((4 << 30) + 1).unwrap();
    place.run(&["check", "huge.ptx"]).exits(2).says("it holds more than 4 GiB");
    let pipe = place.path("pipe.ptx");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let text = format!("{HEADER}{TWO}");
    let writer = std::thread::spawn(move || std::fs::write(pipe, text).unwrap());
    place.run(&["check", "pipe.ptx"]).exits(0).prints("checked 2 kernels");
    writer.join().unwrap();
}

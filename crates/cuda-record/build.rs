//! Links the library so that it stands in the driver's place: with the driver's name, and with the need for
//! `libcuda-real.so`, where the loader finds every function that is not wrapped.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// What the driver is called in the folder that programs look in first.
const REAL: &str = "libcuda-real.so";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let folder = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let (source, library) = (folder.join("empty.c"), folder.join(REAL));
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let built = std::fs::write(&source, "").is_ok_and(|()| {
        let mut command = Command::new(&compiler);
        command.args(["-shared", "-nostdlib", "-fPIC", &format!("-Wl,-soname,{REAL}"), "-o"]);
        command.arg(&library).arg(&source).status().is_ok_and(|status| status.success())
    });
    if !built {
        println!(
            "cargo:warning={compiler} cannot link a shared library: host operations on cards are not recorded"
        );
        return;
    }
    let arguments = ["-Wl,-soname,libcuda.so.1", "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed"];
    for argument in arguments {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
    println!("cargo:rustc-cdylib-link-arg={}", library.display());
}

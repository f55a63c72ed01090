//! Remembers the folder that cargo builds in: `cargo install --path` installs the command from there, but not the
//! library that programs load on the software GPU.

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // `target/release/build/standstill-…/out`
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let folder = out.ancestors().nth(3).map(PathBuf::from).unwrap_or_default();
    println!("cargo::rustc-env=STANDSTILL_BUILT_IN={}", folder.display());
}

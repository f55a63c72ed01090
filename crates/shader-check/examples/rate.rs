//! How fast shaders are read and checked: `cargo run --release -p standstill-shader-check --example rate -- FILE|FOLDER...`
//!
//! Prints files, megabytes, and seconds of one thread for reading and for checking, then the slowest files.
#![allow(clippy::print_stdout, reason = "this program prints figures")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use standstill_kernel_ir::launch::LaunchShape;
use standstill_shader_check::{Request, check};

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if let Ok(entries) = std::fs::read_dir(path) {
        entries.flatten().for_each(|entry| collect(&entry.path(), files));
    } else if path.extension().is_some_and(|extension| extension == "wgsl" || extension == "spv") {
        files.push(path.to_owned());
    }
}

fn main() {
    let mut files = Vec::new();
    std::env::args().skip(1).for_each(|path| collect(Path::new(&path), &mut files));
    let (mut bytes, mut findings, mut refused) = (0, 0, 0);
    let (mut reading, mut checking) = (Duration::ZERO, Duration::ZERO);
    let mut slow = Vec::new();
    for file in &files {
        let Ok(data) = std::fs::read(file) else { continue };
        bytes += data.len();
        let start = Instant::now();
        let shader = match file.extension().is_some_and(|extension| extension == "spv") {
            true => standstill_shader::spirv(&data, "a.spv"),
            false => standstill_shader::wgsl(&String::from_utf8_lossy(&data), "a.wgsl"),
        };
        let read = start.elapsed();
        reading += read;
        let Ok(shader) = shader else {
            refused += 1;
            continue;
        };
        let start = Instant::now();
        let launch = |_: &str| LaunchShape::default();
        let request = Request { file: "a", launch: &launch, wanted: &|_| true, platform: None };
        findings += check(&shader, &request).0.len();
        checking += start.elapsed();
        slow.push((read + start.elapsed(), file));
    }
    slow.sort();
    let megabytes = bytes as f64 / 1e6;
    println!("{} files, {megabytes:.3} MB, {findings} findings, {refused} refused", files.len());
    println!("reading {:.3} s, checking {:.3} s", reading.as_secs_f64(), checking.as_secs_f64());
    for (time, file) in slow.iter().rev().take(10) {
        println!("{:.1} ms {}", time.as_secs_f64() * 1e3, file.display());
    }
}

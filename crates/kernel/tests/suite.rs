//! Kernels of every construct give the same bits on the software GPU as plain Rust does.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by it")]

#[path = "../../../examples/rust/suite/mod.rs"]
mod suite;

use standstill_kernel::Device;

#[test]
fn the_software_gpu_computes_what_rust_does() {
    let device = Device::software();
    for case in suite::cases() {
        let seen = (case.run)(&device).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let expected = (case.expected)();
        assert_eq!(seen.len(), expected.len(), "{}", case.name);
        for (at, (ours, rust)) in seen.iter().zip(&expected).enumerate() {
            assert!(ours.is(*rust), "{} {at}: {ours:x?}, Rust gives {rust:x?}", case.name);
        }
    }
}

#[test]
fn all_of_it_can_be_written_as_ptx() {
    for case in suite::cases() {
        let text = (case.ptx)("sm_90").unwrap();
        let module = standstill_ptx::parse(&text);
        assert_eq!(module.errors.kept(), [], "{}: {text}", case.name);
    }
}

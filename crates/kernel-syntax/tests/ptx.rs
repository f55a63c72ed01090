//! What kernels become can be written as PTX, and read again.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use standstill_kernel_syntax::{Unit, lower};

/// A kernel with an instruction of every kind.
const SOURCE: &str = "
#[kernels]
mod all {
    const N: usize = 64;

    #[device]
    fn update(slot: &[Atomic<u32>], at: u32, factor: u32) -> u32 {
        let mut old = slot[at].load(Relaxed);
        loop {
            match slot[at].compare_exchange(old, old.wrapping_mul(factor), AcqRel, Device) {
                Ok(before) => return before,
                Err(now) => old = now,
            }
        }
    }

    #[device]
    fn triple(x: u32) -> u32 {
        3 * x
    }

    #[device]
    fn twice(f: fn(u32) -> u32, x: u32) -> u32 {
        let again = f;
        again(f(x))
    }

    #[kernel]
    fn everything(space: Space, a: &[f32], b: &mut [f64], c: &[Atomic<u32>], bytes: &mut [u8], flag: bool, n: i64) {
        let mut cache = space.tile_array::<[f32; 4], N>();
        let mut own = [0i16; 24];
        own[space.lane % 24] = n as i16;
        let part = &a[1..a.len()];
        if flag && space.in_bounds() {
            cache[space.cell_x % 64][1] = part[space.x].sqrt().mul_add(2.5, 1.0);
        }
        space.sync();
        let sum = space.warp_sum(cache[0][1]) + space.shuffle_xor(a[0], 1);
        let most = space.warp_max(space.cell_x) as i32;
        if space.warp_any(sum > 1.0) {
            space.warp_sync();
        }
        space.fence(SeqCst, Device);
        c[0].fetch_add(update(c, 1, 3), Relaxed, Tile);
        c[1].store(space.warp_ballot(flag), Release);
        space.mark_freed(&c[1]);
        space.mark_held(stack_push, &c[0], 7, 8);
        space.mark_begins(stack_pop, &c[0]);
        let same = space.warp_match(c[0].load(Relaxed));
        space.mark_ends(if same == 1 { -1 } else { twice(triple, same) as i64 });
        for i in (0..n).step_by(2) {
            b[i as u64] = (i / 3 % 7) as f64 - (most >> 2) as f64;
        }
        bytes[0] = (own[3] as u8).leading_zeros() as u8 | (sum as u8);
        assert!(n > 0);
    }
}";

#[test]
fn kernels_are_written_as_ptx() {
    let file = syn::parse_file(SOURCE).unwrap();
    let lowered = lower(&Unit::all(&file)[0], "all.rs", 1).unwrap();
    let text = standstill_ptx::write::write(&lowered.program, "sm_90", &[]).unwrap();
    let module = standstill_ptx::parse(&text);
    assert_eq!(module.errors.kept(), [], "{text}");
    for part in [
        "bar.sync",
        "atom.",
        "shfl.sync.bfly",
        "redux.sync",
        "fence.sc",
        "match.any.sync.b32",
        "standstill_held_stack_push",
        "standstill_ends",
        ".loc 1 ",
        "all.rs",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    if let Some(path) = std::env::var_os("WRITE_PTX") {
        std::fs::write(path, text).unwrap();
    }
}

/// Helpers of another file keep their places.
#[test]
fn helpers_of_other_modules_stand_in_their_own_file() {
    let other = "pub mod other {\n    pub const TWO: u32 = 2;\n\n    #[device]\n    fn put(a: &mut [u32]) {\n        a[TWO] = 1;\n    }\n}";
    let own = "#[kernels]\nmod own {\n    #[kernel]\n    fn k(space: Space, a: &mut [u32]) {\n        put(a);\n    }\n}";
    let units = Unit::all(&syn::parse_file(own).unwrap());
    let unit = units[0].clone().with(&syn::parse_str(other).unwrap(), "other.rs", 10);
    let lowered = lower(&unit, "own.rs", 1).unwrap();
    let place = |file, line, column| lowered.program.place(file, line, column).map(|p| p.end_column);
    assert_eq!(place("other.rs", 15, 9), Some(15));
    assert_eq!(place("own.rs", 5, 9), Some(15));
    assert_eq!(place("own.rs", 15, 9), None);
    let text = standstill_ptx::write::write(&lowered.program, "sm_90", &[]).unwrap();
    assert!(text.contains("other.rs"), "{text}");
}

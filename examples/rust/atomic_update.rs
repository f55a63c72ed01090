//! Any atomic update by a loop of `compare_exchange`: `cargo run -p standstill-kernel --example atomic_update`.
//!
//! There is no atomic multiplication. Four cells multiply one number by 2, 3, 5 and 7, and it is 210 in every order. `STANDSTILL_DEVICE=cuda` runs
//! the launches on a card.

#![allow(clippy::print_stdout, reason = "an example prints")]

use standstill_kernel::{Device, kernels, tiles};

#[kernels]
mod update {
    use standstill_kernel::{Atomic, Space};

    /// Multiplies; gives how often it had to try.
    #[device]
    fn multiply(number: &[Atomic<u32>], factor: u32) -> u32 {
        let mut tries = 1;
        let mut old = number[0].load(Relaxed);
        while let Err(now) = number[0].compare_exchange(old, old.wrapping_mul(factor), AcqRel) {
            old = now;
            tries += 1;
        }
        tries
    }

    #[kernel]
    pub fn product(space: Space, number: &[Atomic<u32>], factors: &[u32]) {
        multiply(number, factors[space.x]);
    }

    /// The same without atomicity: what others write in between is lost.
    #[kernel]
    pub fn lost(space: Space, number: &[Atomic<u32>], factors: &[u32]) {
        let old = number[0].load(Relaxed);
        number[0].store(old.wrapping_mul(factors[space.x]), Relaxed);
    }

    /// One after the other, by their numbers.
    #[kernel]
    pub fn in_turns(
        space: Space,
        number: &[Atomic<u32>],
        factors: &[u32],
        turn: &[Atomic<u32>],
        seen: &mut [u32],
    ) {
        while turn[0].load(Acquire) != space.x {}
        multiply(number, factors[space.x]);
        seen[space.x] = number[0].load(Relaxed);
        turn[0].store(space.x + 1, Release);
    }

    /// Cell 0 reads first, and goes on when all others are done.
    #[kernel]
    pub fn delayed(
        space: Space,
        number: &[Atomic<u32>],
        factors: &[u32],
        turn: &[Atomic<u32>],
        seen: &mut [u32],
    ) {
        let factor = factors[space.x];
        if space.x == 0 {
            let mut old = number[0].load(Relaxed);
            turn[0].store(1, Release);
            while turn[0].load(Acquire) != 4 {}
            while let Err(now) = number[0].compare_exchange(old, old.wrapping_mul(factor), AcqRel) {
                seen[0] = now;
                old = now;
            }
        } else {
            while turn[0].load(Acquire) != space.x {}
            seen[space.x] = multiply(number, factor);
            turn[0].store(space.x + 1, Release);
        }
    }

    /// All read before any writes, and cell 0 writes last.
    #[kernel]
    pub fn all_lost(space: Space, number: &[Atomic<u32>], factors: &[u32]) {
        let old = number[0].load(Relaxed);
        space.sync();
        for cell in (0..space.tile_size_x).rev() {
            if space.cell_x == cell {
                number[0].store(old.wrapping_mul(factors[cell]), Relaxed);
            }
            space.sync();
        }
    }
}

const FACTORS: [u32; 4] = [2, 3, 5, 7];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::from_environment()?;
    let factors = device.buffer(&FACTORS)?;
    let one = || device.buffer(&[1u32]);
    let turn = || device.buffer(&[0u32]);
    let expected = FACTORS.iter().product::<u32>();
    println!("one after the other on the host: {expected}");

    let right = update::product::explore(tiles(4), 1, "number[0] == 210", &one()?, &factors)?;
    println!("all interleavings: {} states, right: {}", right.states, right.is_right());
    let wrong = update::lost::explore(tiles(4), 1, "number[0] == 210", &one()?, &factors)?;
    println!("a plain read and write: {} results, right: {}", wrong.results, wrong.is_right());

    let number = one()?;
    update::product::launch(&device, tiles(4), 1, &number, &factors)?;
    let product = number.read()?[0];
    println!("on the {}: {product}", device.name());

    let (number, mut seen) = (one()?, device.zeros(4)?);
    update::in_turns::launch(&device, tiles(4), 1, &number, &factors, &turn()?, &mut seen)?;
    let steps = seen.read()?;
    println!("one after the other: {steps:?}");

    let (number, mut seen) = (one()?, device.zeros(4)?);
    update::delayed::launch(&device, tiles(4), 1, &number, &factors, &turn()?, &mut seen)?;
    let (delayed, found) = (number.read()?[0], seen.read()?[0]);
    println!("cell 0 delayed behind its read: it expects 1, finds {found}, tries again: {delayed}");

    let number = one()?;
    update::all_lost::launch(&device, tiles(1), 4, &number, &factors)?;
    let lost = number.read()?[0];
    println!("a plain read and write, all reads first: {lost}");

    let confirmed = right.is_right()
        && !wrong.is_right()
        && (product, delayed, found, lost) == (expected, expected, 105, 2)
        && steps == [2, 6, 30, 210];
    println!("{}", if confirmed { "confirmed" } else { "MISMATCH" });
    if confirmed { Ok(()) } else { Err("the product is not as expected".into()) }
}

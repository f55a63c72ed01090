//! Inputs that are cut short, damaged or hostile: an error or a problem with its place, never a panic.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::fixture;
use proptest::prelude::*;
use standstill_fatbin::{Contents, Limits, ProblemKind, read, read_with};

fn problems(contents: &Contents<'_>) -> Vec<String> {
    contents.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn cut_short_fatbin_keeps_the_whole_images() {
    let bytes = fixture("mode-none.fatbin");
    let whole = read(&bytes).unwrap();
    let ends: Vec<usize> =
        whole.images.iter().skip(1).map(|image| image.offset as usize).chain([bytes.len()]).collect();
    for percent in 1..100 {
        let cut = bytes.len() * percent / 100;
        let contents = read(&bytes[..cut]).unwrap();
        let kept = ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(contents.images, whole.images[..kept], "cut at {cut}");
        assert!(!contents.problems.is_empty(), "cut at {cut}");
        assert!(contents.problems.iter().all(|problem| problem.offset <= cut as u64), "cut at {cut}");
    }
}

#[test]
fn cut_short_program_keeps_the_whole_images() {
    for name in ["program-shared", "relocatable.o", "archive.a", "library.so"] {
        let bytes = fixture(name);
        let whole = read(&bytes).unwrap();
        for percent in 0..100 {
            let cut = bytes.len() * percent / 100;
            if let Ok(contents) = read(&bytes[..cut]) {
                let same = contents.images.iter().zip(&whole.images).filter(|(a, b)| a == b).count();
                assert_eq!(contents.images.len(), same, "{name} cut at {cut}");
                if contents.images.len() < whole.images.len() && contents.images.len() % 2 == 1 {
                    assert!(!contents.problems.is_empty(), "{name} cut at {cut}");
                }
            }
        }
    }
}

#[test]
fn places_of_problems() {
    let bytes = fixture("mode-none.fatbin");
    let second = read(&bytes).unwrap().images[1].offset as usize;
    let cut = read(&bytes[..second + 100]).unwrap();
    let missing = bytes.len() - second - 100;
    assert_eq!(
        problems(&cut),
        [
            format!(
                "fatbin cut short: {missing} of its {} bytes are missing at byte {:#x}",
                bytes.len() - 16,
                second + 100
            ),
            format!("image cut short: 20 of its 1576 bytes are there at byte {second:#x}"),
        ]
    );

    let mut wrong_size = bytes.clone();
    wrong_size[second + 4] = 3;
    let contents = read(&wrong_size).unwrap();
    assert_eq!(contents.images.len(), 1);
    assert_eq!(
        problems(&contents),
        [format!("damaged image header: its size makes no sense at byte {second:#x}")]
    );
}

#[test]
fn one_bad_image_does_not_stop_the_others() {
    let bytes = fixture("mode-size.fatbin");
    let whole = read(&bytes).unwrap();
    for (index, image) in whole.images.iter().enumerate() {
        let mut damaged = bytes.clone();
        let payload = image.offset as usize + 120;
        damaged[payload..payload + 200].fill(0xff);
        let contents = read(&damaged).unwrap();
        let mut others = whole.images.clone();
        others.remove(index);
        assert_eq!(contents.images, others);
        assert_eq!(contents.problems.len(), 1);
        assert_eq!(contents.problems[0].offset, image.offset);
    }
}

/// A fatbin of one PTX image.
fn fatbin(flags: u64, stored: &[u8], uncompressed: u64) -> Vec<u8> {
    let mut image = vec![0u8; 64];
    image[0..2].copy_from_slice(&1u16.to_le_bytes());
    image[4..8].copy_from_slice(&64u32.to_le_bytes());
    image[8..16].copy_from_slice(&(stored.len() as u64).to_le_bytes());
    image[16..20].copy_from_slice(&(stored.len() as u32).to_le_bytes());
    image[28..32].copy_from_slice(&90u32.to_le_bytes());
    image[40..48].copy_from_slice(&flags.to_le_bytes());
    image[56..64].copy_from_slice(&uncompressed.to_le_bytes());
    image.extend_from_slice(stored);
    let mut container = b"\x50\xed\x55\xba\x01\0\x10\0".to_vec();
    container.extend_from_slice(&(image.len() as u64).to_le_bytes());
    container.extend(image);
    container
}

/// A Zstandard frame that gives `blocks` times 128 KiB of one byte.
fn zstd_bomb(blocks: usize) -> Vec<u8> {
    let mut frame = b"\x28\xb5\x2f\xfd\x00\x38".to_vec();
    for block in 1..=blocks {
        let header = (128u32 << 10 << 3) | 0b010 | u32::from(block == blocks);
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(b'x');
    }
    frame
}

#[test]
fn decompression_bombs_are_refused() {
    const ZSTD: u64 = 0x8000;
    let frame = zstd_bomb(100);
    let size = 100 << 17;
    let honest = fatbin(ZSTD, &frame, size);
    assert_eq!(read(&honest).unwrap().ptx().next().unwrap().1.len() as u64, size);

    // More comes out than is declared.
    let small = fatbin(ZSTD, &frame, 1000);
    let expected = ProblemKind::LengthMismatch { declared: 1000, found: 1001 };
    assert_eq!(read(&small).unwrap().problems[0].kind, expected);

    // More is declared than can come out, or than is allowed.
    for declared in [u64::MAX, 1 << 40] {
        let limit = frame.len() as u64 * (32 << 10);
        let refused = read(&fatbin(ZSTD, &frame, declared)).unwrap().problems.remove(0).kind;
        assert_eq!(refused, ProblemKind::TooLarge { declared, limit });
    }
    let limits = Limits { image_bytes: size - 1, ..Limits::default() };
    let refused = read_with(&honest, &limits).unwrap().problems.remove(0).kind;
    assert_eq!(refused, ProblemKind::TooLarge { declared: size, limit: size - 1 });

    // Many images that are each allowed share one budget.
    let many = honest.repeat(10);
    let limits = Limits { total_bytes: 3 * size, ..Limits::default() };
    let contents = read_with(&many, &limits).unwrap();
    assert_eq!((contents.images.len(), contents.problems.len()), (3, 7));
}

#[test]
fn the_number_of_problems_is_bounded() {
    let many = fatbin(0x8000, b"no frame", 10).repeat(5000);
    assert_eq!(read(&many).unwrap().problems.len(), Limits::default().problems);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let _ = read(&bytes);
        let mut fatbin = b"\x50\xed\x55\xba\x01\0\x10\0".to_vec();
        fatbin.extend_from_slice(&bytes);
        let _ = read(&fatbin);
    }

    #[test]
    fn changed_bytes(
        which in 0usize..6,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let names = ["mode-none.fatbin", "mode-speed.fatbin", "concatenated.fatbin", "relocatable.o", "archive.a",
            "resources-90.cubin"];
        let mut bytes = fixture(names[which]);
        for (index, value) in changes {
            let index = index.index(bytes.len());
            bytes[index] = value;
        }
        if let Ok(contents) = read(&bytes) {
            prop_assert!(contents.problems.iter().all(|problem| problem.offset <= bytes.len() as u64));
        }
    }
}

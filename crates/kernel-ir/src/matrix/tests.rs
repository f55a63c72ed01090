//! Layouts hold every element once; products are right where they are exact.

use proptest::prelude::*;

use super::layout::Tile;
use super::{Fragment, LANES, MatrixFragment, MatrixMultiply, MatrixOperation, multiply, pieces, transpose};
use crate::{Space, Type};

const SHAPES: &[(u32, u32, u32, Type)] = &[
    (16, 8, 8, Type::F16),
    (16, 8, 16, Type::Bf16),
    (16, 8, 4, Type::Tf32),
    (16, 8, 16, Type::F64),
    (8, 8, 4, Type::F64),
    (16, 8, 32, Type::S8),
    (8, 8, 32, Type::U4),
    (16, 8, 256, Type::B1),
    (16, 16, 16, Type::F16),
    (32, 8, 16, Type::F16),
    (8, 32, 16, Type::S8),
];

#[test]
fn every_element_has_a_place() {
    for &(m, n, k, ty) in SHAPES {
        for (fragment, ty) in [(Fragment::A, ty), (Fragment::B, ty), (Fragment::C, Type::F32)] {
            let tile = Tile::new(fragment, (m, n, k), ty, false).unwrap();
            let count = (tile.rows * tile.columns) as usize;
            let mut seen = vec![0; count];
            for register in 0..tile.registers {
                for lane in 0..LANES as u32 {
                    for part in 0..tile.parts {
                        seen[tile.index(tile.place(register, part, lane))] += 1;
                    }
                }
            }
            assert!(seen.iter().all(|&times| times == 1), "{tile:?}");
            let mask = u64::MAX >> (64 - tile.bits);
            let elements: Vec<u64> = (0..count as u64).map(|value| value & mask).collect();
            let mut registers = vec![[0; LANES]; tile.registers as usize];
            tile.scatter(&elements, &mut registers);
            assert_eq!(tile.gather(&registers), elements);
        }
    }
    assert!(Tile::new(Fragment::A, (0, 8, 8), Type::F16, false).is_none());
    assert!(Tile::new(Fragment::A, (16, 8, 8), Type::None, false).is_none());
    assert!(Tile::new(Fragment::A, (3, 5, 7), Type::F16, false).is_none());
}

/// One times one: the identity gives the other factor.
#[test]
fn products_with_the_identity() {
    let form = MatrixMultiply {
        m: 16,
        n: 8,
        k: 8,
        d: Type::F32,
        a: Type::F16,
        b: Type::F16,
        c: Type::F32,
        operation: MatrixOperation::MultiplyAdd,
        saturates: false,
        wmma: false,
    };
    let tile = |fragment, ty| Tile::new(fragment, (16, 8, 8), ty, false).unwrap();
    let (a, b, c) =
        (tile(Fragment::A, Type::F16), tile(Fragment::B, Type::F16), tile(Fragment::C, Type::F32));
    // A has 1.0 where row and column agree; B counts 1024, 1025, ….
    let ones: Vec<u64> = (0..128).map(|at| if at / 8 == at % 8 { 0x3c00 } else { 0 }).collect();
    let counts: Vec<u64> = (0..64).map(|at| 0x6400 + at).collect();
    let mut sources = vec![[0; LANES]; 7];
    a.scatter(&ones, &mut sources[..2]);
    b.scatter(&counts, &mut sources[2..3]);
    let mut results = vec![[0; LANES]; 4];
    assert_eq!(multiply(&form, &sources, &mut results), Some(()));
    let expected: Vec<u64> =
        (0..128).map(|at: u32| if at < 64 { u64::from((1024.0 + at as f32).to_bits()) } else { 0 }).collect();
    assert_eq!(c.gather(&results), expected);
    // Too few registers, and a form that is not modelled.
    assert_eq!(multiply(&form, &sources[..6], &mut results), None);
    let unknown = MatrixMultiply { operation: MatrixOperation::Unknown, ..form };
    assert_eq!(multiply(&unknown, &sources, &mut results), None);
}

#[test]
fn rows_and_their_transposition() {
    let fragment = |column| MatrixFragment {
        fragment: Fragment::Rows,
        space: Space::Shared,
        ty: Type::B16,
        m: 8,
        n: 8,
        k: 1,
        column,
    };
    // Row r holds 8 r to 8 r + 7, and every lane points at its row.
    let load = |column: bool| {
        let mut register = [0u64; LANES];
        let read = |address: u64, bytes: u32| {
            (0..u64::from(bytes) / 2).fold(0, |value, at| value | (address / 2 + at) << (16 * at))
        };
        let moved = pieces(&fragment(column), None, |piece| {
            let address = 16 * piece.address_lane as u64 + piece.offset;
            register[piece.lane] |= read(address, piece.bytes) << piece.shift;
        });
        assert_eq!(moved, Some(()));
        register
    };
    let (plain, transposed) = (load(false), load(true));
    assert_eq!(plain[5], (8 + 2) | (8 + 3) << 16);
    assert_eq!(transpose(&plain), transposed);
    assert_eq!(transpose(&transposed), plain);
}

#[test]
fn tiles_with_a_stride() {
    let fragment = MatrixFragment {
        fragment: Fragment::A,
        space: Space::Global,
        ty: Type::F16,
        m: 16,
        n: 16,
        k: 16,
        column: false,
    };
    assert_eq!(fragment.registers(), Some(8));
    let mut seen = Vec::new();
    assert!(pieces(&fragment, Some(100), |piece| seen.push(piece)).is_some());
    // Two neighbours at once, row 8 of lane 0 in its second register.
    assert!(seen.iter().all(|piece| piece.bytes == 4));
    let second = seen.iter().find(|piece| piece.lane == 0 && piece.register == 1).unwrap();
    assert_eq!(second.offset, 8 * 100 * 2);
    let none = MatrixFragment { fragment: Fragment::Unknown, ..fragment };
    assert!(pieces(&none, None, |_| {}).is_none() && none.registers().is_none());
}

const TYPES: &[Type] = &[
    Type::F16,
    Type::Bf16,
    Type::Tf32,
    Type::F32,
    Type::F64,
    Type::E4m3,
    Type::E5m2,
    Type::S8,
    Type::U8,
    Type::S4,
    Type::U4,
    Type::B1,
    Type::S32,
    Type::U64,
    Type::Pred,
    Type::B128,
    Type::None,
    Type::Narrow,
    Type::F16x2,
];

fn ty() -> impl Strategy<Value = Type> {
    prop::sample::select(TYPES)
}

proptest! {
    #[test]
    fn no_form_panics(
        (m, n, k) in (prop::sample::select(vec![0u8, 8, 16, 32, 255]), prop::sample::select(vec![0u8, 8, 16, 32]),
            prop::sample::select(vec![0u16, 4, 8, 16, 32, 64, 128, 256, 65535])),
        (d, a, b, c) in (ty(), ty(), ty(), ty()),
        operation in prop::sample::select(vec![
            MatrixOperation::MultiplyAdd, MatrixOperation::XorPopulationCount, MatrixOperation::AndPopulationCount,
        ]),
        (saturates, wmma) in any::<(bool, bool)>(),
        bits in any::<[u64; 32]>(),
    ) {
        let form = MatrixMultiply { m, n, k, d, a, b, c, operation, saturates, wmma };
        let sources: Vec<_> = (0..40u32).map(|by| bits.map(|value| value.rotate_left(by))).collect();
        let mut results = vec![[0; LANES]; 16];
        let _ = multiply(&form, &sources, &mut results);
        for fragment in [Fragment::A, Fragment::B, Fragment::C, Fragment::Rows] {
            let fragment = MatrixFragment { fragment, space: Space::Shared, ty: a, m, n, k: k as u8, column: wmma };
            let registers = fragment.registers();
            let mut inside = true;
            let moved = pieces(&fragment, Some(bits[0]), |piece| {
                inside &= Some(piece.register) < registers && piece.lane < LANES && piece.address_lane < LANES;
                inside &= (1..=8).contains(&piece.bytes) && piece.shift < 64;
            });
            prop_assert!(inside && moved.is_some() == registers.is_some(), "{fragment:?}");
        }
    }
}

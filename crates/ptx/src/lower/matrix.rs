//! Matrix instructions of a warp: shapes, layouts and element types.

use standstill_kernel_ir::{
    Fragment, MatrixFragment, MatrixKind, MatrixMultiply, MatrixOperation, Op, Space, Type,
};

use crate::lower::opcode::{Form, Meaning};
use crate::lower::words::{Words, space_of, type_of};

/// What a matrix opcode means. Forms whose values are not modelled keep their operands.
pub(super) fn meaning(mnemonic: &str, words: &Words<'_>) -> Option<Meaning> {
    let (kind, form) = match (mnemonic, words.at(0)) {
        ("mma", _) => (MatrixKind::Mma(multiply(words, false)), Form::First),
        ("wmma", "mma") => (MatrixKind::Mma(multiply(words, true)), Form::First),
        ("wmma", "load") => (MatrixKind::Load(fragment(words)), Form::First),
        ("wmma", "store") => (MatrixKind::Store(fragment(words)), Form::Reads),
        ("ldmatrix", _) => (MatrixKind::Load(rows(words)), Form::First),
        ("stmatrix", _) => (MatrixKind::Store(rows(words)), Form::Reads),
        _ => return None,
    };
    Some(Meaning::op(Op::Matrix(kind), form))
}

/// `m16n8k16` as three numbers; the last two may be missing.
fn shape_of(word: &str) -> Option<(u8, u8, u16)> {
    let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k').unwrap_or((rest, "0"));
    Some((m.parse().ok()?, n.parse().ok()?, k.parse().ok()?))
}

fn multiply(words: &Words<'_>, wmma: bool) -> MatrixMultiply {
    let (m, n, k) = words.first(shape_of).unwrap_or_default();
    let types = words.each(type_of);
    let (d, a, b, c) = match *types {
        // Half-precision `wmma` names d and c only.
        [d, c] => (d, Type::F16, Type::F16, c),
        [d, a, b, c] => (d, a, b, c),
        _ => (Type::None, Type::None, Type::None, Type::None),
    };
    // Volta's shape has a layout of its own for four groups of lanes.
    let plain = !wmma && words.at(3) == "row" && words.at(4) == "col" && !(k == 4 && a == Type::F16);
    let known = |word: &str| {
        type_of(word).is_some()
            || shape_of(word).is_some()
            || matches!(
                word,
                "mma" | "sync" | "aligned" | "row" | "col" | "satfinite" | "rn" | "popc" | "xor" | "and"
            )
    };
    let saturates = words.has("satfinite");
    let operation = match (words.has("popc"), words.has("xor")) {
        _ if !(words.only(known) && (wmma || plain)) => MatrixOperation::Unknown,
        _ if saturates && a.is_float() => MatrixOperation::Unknown,
        (false, _) => MatrixOperation::MultiplyAdd,
        (true, true) => MatrixOperation::XorPopulationCount,
        (true, false) => MatrixOperation::AndPopulationCount,
    };
    MatrixMultiply { m, n, k, d, a, b, c, operation, saturates, wmma }
}

/// `wmma.load` and `wmma.store`.
fn fragment(words: &Words<'_>) -> MatrixFragment {
    let fragment = match words.at(1) {
        "a" => Fragment::A,
        "b" => Fragment::B,
        "c" | "d" => Fragment::C,
        _ => Fragment::Unknown,
    };
    let (m, n, k) = words.first(shape_of).unwrap_or_default();
    MatrixFragment {
        fragment,
        space: words.first(space_of).unwrap_or(Space::Generic),
        ty: words.types().last().copied().unwrap_or(Type::None),
        m,
        n,
        k: u8::try_from(k).unwrap_or(0),
        column: words.has("col"),
    }
}

/// `ldmatrix` and `stmatrix`.
fn rows(words: &Words<'_>) -> MatrixFragment {
    let ty = words.types().last().copied().unwrap_or(Type::None);
    let shape = words.first(shape_of).unwrap_or_default();
    let known = ty == Type::B16 && shape == (8, 8, 0);
    MatrixFragment {
        fragment: if known { Fragment::Rows } else { Fragment::Unknown },
        space: words.first(space_of).unwrap_or(Space::Generic),
        ty,
        m: shape.0,
        n: shape.1,
        k: match () {
            () if words.has("x4") => 4,
            () if words.has("x2") => 2,
            () => 1,
        },
        column: words.has("trans"),
    }
}

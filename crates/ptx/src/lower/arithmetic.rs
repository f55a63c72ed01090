//! Pure functions of registers.

use standstill_kernel_ir::{
    Arithmetic, ArithmeticFlags, BooleanOperation, Comparison, Op, Operation, Type, VideoOperation,
};

use crate::lower::opcode::{Form, Meaning};
use crate::lower::words::{Words, space_of, type_of};

/// What an arithmetic opcode means; `None` where the mnemonic is not known. A modifier that is not known
/// makes the value unknown.
pub(super) fn meaning(mnemonic: &str, words: &Words<'_>) -> Option<Meaning> {
    if let Some((operation, plain, adds)) = video_of(mnemonic) {
        return Some(video(operation, plain, adds, words));
    }
    let Some(operation) = operation(mnemonic) else {
        return pure_but_unknown(mnemonic).then(Meaning::unknown_value);
    };
    let mut flags =
        if matches!(mnemonic, "mul24" | "mad24") { ArithmeticFlags::TWENTY_FOUR | SPECIAL } else { 0 };
    let mut comparison = Comparison::None;
    let mut combine = BooleanOperation::None;
    let compares = matches!(operation, Operation::Setp | Operation::Set);
    let combines = compares || operation == Operation::Lop3;
    for &word in &words.all {
        if type_of(word).is_some() || is_silent(operation, word) {
            continue;
        }
        if compares && let Some(found) = comparison_of(word) {
            comparison = found;
        } else if combines && let Some(found) = combination_of(word) {
            combine = found;
        } else if let Some(mode) = mode_of(operation, word) {
            flags |= ArithmeticFlags::of_mode(mode);
        } else {
            flags |= flag_of(operation, word);
        }
    }
    let types = words.types();
    let ty = types.first().copied().unwrap_or(Type::None);
    let from = match operation {
        Operation::Cvt | Operation::Set | Operation::Slct | Operation::Dp4a | Operation::Dp2a => {
            types.get(1).copied().unwrap_or(ty)
        }
        // Mixed precision.
        Operation::Add | Operation::Sub | Operation::Fma if types.len() > 1 => {
            flags |= SPECIAL;
            types.get(1).copied().unwrap_or(ty)
        }
        _ => ty,
    };
    // What is not known at all hides what is known of the rest.
    if flags & UNKNOWN != 0 {
        flags = flags & !(UNKNOWN | ArithmeticFlags::MODELLED) | ArithmeticFlags::OTHER;
    }
    let arithmetic = Arithmetic { operation, ty, from, comparison, combine, flags: ArithmeticFlags(flags) };
    let carry_in = matches!(operation, Operation::AddCarry | Operation::SubCarry | Operation::MadCarry);
    Some(Meaning {
        // Literals have the type of the sources; those of mixed precision are wide.
        ty: if operation == Operation::Fma || operation == Operation::Add { ty } else { from },
        carry_out: flags & ArithmeticFlags::CARRY_OUT != 0,
        carry_in,
        constant: match operation {
            Operation::Isspacep => words.first(space_of).map(|space| space as u64),
            _ => None,
        },
        ..Meaning::op(Op::Arithmetic(arithmetic), Form::First)
    })
}

/// Known to execution, but not what the operation alone says.
const SPECIAL: u32 = ArithmeticFlags::OTHER | ArithmeticFlags::MODELLED;
/// A modifier that is not known, while the flags are collected.
const UNKNOWN: u32 = 1 << 29;

/// The modes of `prmt` and the properties of `testp`.
fn mode_of(operation: Operation, word: &str) -> Option<u32> {
    let modes = match operation {
        Operation::Prmt => ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"],
        Operation::Testp => ["finite", "infinite", "number", "notanumber", "normal", "subnormal"],
        _ => return None,
    };
    modes.into_iter().zip(1..).find(|&(mode, _)| mode == word).map(|(_, number)| number)
}

fn operation(mnemonic: &str) -> Option<Operation> {
    Some(match mnemonic {
        "mov" => Operation::Mov,
        "cvt" => Operation::Cvt,
        "cvta" => Operation::Cvta,
        "mapa" => Operation::Mapa,
        "getctarank" => Operation::GetCtaRank,
        "isspacep" => Operation::Isspacep,
        "add" => Operation::Add,
        "sub" => Operation::Sub,
        "mul" | "mul24" => Operation::Mul,
        "mad" | "mad24" => Operation::Mad,
        "sad" => Operation::Sad,
        "div" => Operation::Div,
        "rem" => Operation::Rem,
        "abs" => Operation::Abs,
        "neg" => Operation::Neg,
        "min" => Operation::Min,
        "max" => Operation::Max,
        "popc" => Operation::Popc,
        "clz" => Operation::Clz,
        "bfind" => Operation::Bfind,
        "fns" => Operation::Fns,
        "brev" => Operation::Brev,
        "bfe" => Operation::Bfe,
        "bfi" => Operation::Bfi,
        "bmsk" => Operation::Bmsk,
        "szext" => Operation::Szext,
        "dp4a" => Operation::Dp4a,
        "dp2a" => Operation::Dp2a,
        "addc" => Operation::AddCarry,
        "subc" => Operation::SubCarry,
        "madc" => Operation::MadCarry,
        "fma" => Operation::Fma,
        "rcp" => Operation::Rcp,
        "sqrt" => Operation::Sqrt,
        "rsqrt" => Operation::Rsqrt,
        "sin" => Operation::Sin,
        "cos" => Operation::Cos,
        "lg2" => Operation::Lg2,
        "ex2" => Operation::Ex2,
        "tanh" => Operation::Tanh,
        "copysign" => Operation::Copysign,
        "testp" => Operation::Testp,
        "setp" => Operation::Setp,
        "set" => Operation::Set,
        "selp" => Operation::Selp,
        "slct" => Operation::Slct,
        "and" => Operation::And,
        "or" => Operation::Or,
        "xor" => Operation::Xor,
        "not" => Operation::Not,
        "cnot" => Operation::Cnot,
        "lop3" => Operation::Lop3,
        "shl" => Operation::Shl,
        "shr" => Operation::Shr,
        "shf" => Operation::Shf,
        "prmt" => Operation::Prmt,
        _ => return None,
    })
}

/// Functions of their sources whose values are not modelled.
fn pure_but_unknown(mnemonic: &str) -> bool {
    matches!(mnemonic, "alloca" | "stacksave")
}

/// A video instruction: its function, and the modes without and with `.add`, which are those of its lanes.
fn video_of(mnemonic: &str) -> Option<(VideoOperation, u32, u32)> {
    let name = mnemonic.strip_prefix('v')?;
    let (name, plain, adds) = match (name.strip_suffix('2'), name.strip_suffix('4')) {
        (Some(name), _) => (name, 4, 5),
        (_, Some(name)) => (name, 6, 7),
        _ => (name, 0, 1),
    };
    let operation = match name {
        "add" => VideoOperation::Add,
        "sub" => VideoOperation::Sub,
        "absdiff" => VideoOperation::AbsDiff,
        "min" => VideoOperation::Min,
        "max" => VideoOperation::Max,
        "avrg" if plain != 0 => VideoOperation::Average,
        "set" => VideoOperation::Set,
        "shl" if plain == 0 => VideoOperation::Shl,
        "shr" if plain == 0 => VideoOperation::Shr,
        "mad" if plain == 0 => VideoOperation::Mad,
        _ => return None,
    };
    Some((operation, plain, adds))
}

/// What a video opcode means: `vadd.dtype.atype.btype{.sat}{.op2}`.
fn video(operation: VideoOperation, plain: u32, adds: u32, words: &Words<'_>) -> Meaning {
    let (mut flags, mut mode) = (0, plain);
    let mut comparison = Comparison::None;
    for &word in &words.all {
        match word {
            "sat" => flags |= ArithmeticFlags::SATURATE,
            "wrap" => flags |= ArithmeticFlags::WRAP,
            "clamp" => {}
            "add" => mode = adds,
            "min" if plain == 0 => mode = 2,
            "max" if plain == 0 => mode = 3,
            _ if type_of(word).is_some() => {}
            _ => match comparison_of(word) {
                Some(found) if operation == VideoOperation::Set => comparison = found,
                _ => flags |= ArithmeticFlags::OTHER,
            },
        }
    }
    let types = words.types();
    let (ty, from, second) = match *types {
        [ty, from, second] => (ty, from, second),
        // `vset` has no type of the result.
        [from, second] => (Type::U32, from, second),
        _ => return Meaning::unknown_value(),
    };
    if second.is_signed() {
        flags |= ArithmeticFlags::SECOND_SIGNED;
    }
    let arithmetic = Arithmetic {
        operation: Operation::Video(operation),
        ty,
        from,
        comparison,
        combine: BooleanOperation::None,
        flags: ArithmeticFlags(flags | ArithmeticFlags::of_mode(mode)),
    };
    Meaning { ty, takes_parts: true, ..Meaning::op(Op::Arithmetic(arithmetic), Form::First) }
}

/// Modifiers that say nothing beyond the operation.
fn is_silent(operation: Operation, word: &str) -> bool {
    match operation {
        Operation::Cvta => word == "to" || space_of(word).is_some(),
        Operation::Isspacep | Operation::Mapa | Operation::GetCtaRank => space_of(word).is_some(),
        Operation::Shf => word == "r",
        Operation::Cvt => word == "pack",
        _ => false,
    }
}

fn flag_of(operation: Operation, word: &str) -> u32 {
    match word {
        "lo" => ArithmeticFlags::LOW,
        "hi" => ArithmeticFlags::HIGH,
        "l" if operation == Operation::Shf => ArithmeticFlags::HIGH,
        "wide" => ArithmeticFlags::WIDE,
        "sat" => ArithmeticFlags::SATURATE,
        "ftz" => ArithmeticFlags::FLUSH,
        "approx" => ArithmeticFlags::APPROXIMATE,
        "rn" => ArithmeticFlags::NEAREST,
        "rz" => ArithmeticFlags::TOWARD_ZERO,
        "rm" => ArithmeticFlags::DOWN,
        "rp" => ArithmeticFlags::UP,
        "rni" => ArithmeticFlags::NEAREST_INTEGER,
        "rzi" => ArithmeticFlags::ZERO_INTEGER,
        "rmi" => ArithmeticFlags::DOWN_INTEGER,
        "rpi" => ArithmeticFlags::UP_INTEGER,
        "cc" => ArithmeticFlags::CARRY_OUT,
        "wrap" => ArithmeticFlags::WRAP,
        "clamp" => ArithmeticFlags::CLAMP,
        "shiftamt" => ArithmeticFlags::SHIFT_AMOUNT,
        "NaN" => ArithmeticFlags::NAN,
        "relu" => ArithmeticFlags::RELU,
        "full" => ArithmeticFlags::FULL,
        "rna" => ArithmeticFlags::NEAREST_AWAY,
        "satfinite" => ArithmeticFlags::FINITE,
        // The two words stand together.
        "xorsign" | "abs" if matches!(operation, Operation::Min | Operation::Max) => {
            ArithmeticFlags::XORSIGN | SPECIAL
        }
        _ => UNKNOWN,
    }
}

fn comparison_of(word: &str) -> Option<Comparison> {
    Some(match word {
        "eq" => Comparison::Eq,
        "ne" => Comparison::Ne,
        "lt" => Comparison::Lt,
        "le" => Comparison::Le,
        "gt" => Comparison::Gt,
        "ge" => Comparison::Ge,
        "lo" => Comparison::Lo,
        "ls" => Comparison::Ls,
        "hi" => Comparison::Hi,
        "hs" => Comparison::Hs,
        "equ" => Comparison::Equ,
        "neu" => Comparison::Neu,
        "ltu" => Comparison::Ltu,
        "leu" => Comparison::Leu,
        "gtu" => Comparison::Gtu,
        "geu" => Comparison::Geu,
        "num" => Comparison::Num,
        "nan" => Comparison::Nan,
        _ => return None,
    })
}

fn combination_of(word: &str) -> Option<BooleanOperation> {
    Some(match word {
        "and" => BooleanOperation::And,
        "or" => BooleanOperation::Or,
        "xor" => BooleanOperation::Xor,
        _ => return None,
    })
}

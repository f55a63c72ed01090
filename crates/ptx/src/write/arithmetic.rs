//! Opcodes of pure functions.

use standstill_kernel_ir::{Arithmetic, ArithmeticFlags as Flags, BooleanOperation, Operation, Type};

use super::words::{bits_name, comparison_word, type_name};

/// Rounding modes in the order in which PTX writes at most one of them.
const ROUNDINGS: [(u32, &str); 9] = [
    (Flags::NEAREST, ".rn"),
    (Flags::TOWARD_ZERO, ".rz"),
    (Flags::DOWN, ".rm"),
    (Flags::UP, ".rp"),
    (Flags::NEAREST_INTEGER, ".rni"),
    (Flags::ZERO_INTEGER, ".rzi"),
    (Flags::DOWN_INTEGER, ".rmi"),
    (Flags::UP_INTEGER, ".rpi"),
    (Flags::NEAREST_AWAY, ".rna"),
];

/// The words of an opcode; `None` where it lost what its text needs, or has none here.
pub(super) fn opcode(arithmetic: &Arithmetic) -> Option<String> {
    let &Arithmetic { operation, ty, from, flags, .. } = arithmetic;
    if flags.has(Flags::OTHER) && !flags.has(Flags::TWENTY_FOUR) {
        return None;
    }
    let name = mnemonic(operation, flags)?;
    let word = |bit: u32, text: &'static str| if flags.has(bit) { text } else { "" };
    let rounding: &str = ROUNDINGS.iter().find(|(bit, _)| flags.has(*bit)).map_or("", |(_, text)| text);
    let (flush, saturate) = (word(Flags::FLUSH, ".ftz"), word(Flags::SATURATE, ".sat"));
    let carry = word(Flags::CARRY_OUT, ".cc");
    let half = [(Flags::LOW, ".lo"), (Flags::HIGH, ".hi"), (Flags::WIDE, ".wide")];
    let half = half.iter().find(|(bit, _)| flags.has(*bit)).map_or("", |(_, text)| text);
    let approximate = [(Flags::APPROXIMATE, ".approx"), (Flags::FULL, ".full")];
    let approximate = approximate.iter().find(|(bit, _)| flags.has(*bit)).map_or("", |(_, text)| text);
    let (typed, other) = (type_name(ty), type_name(from));
    let bits = bits_name(ty.bits()).or(typed);
    Some(match operation {
        Operation::Mov if ty == Type::Pred => format!("{name}.pred"),
        Operation::Mov => format!("{name}.{}", bits?),
        Operation::Cvt => {
            // Between integers there is nothing to round; PTX wants a word wherever there is.
            let relu = word(Flags::RELU, ".relu");
            let finite = word(Flags::FINITE, ".satfinite");
            let (typed, other) = (type_name(unsigned(ty)), type_name(unsigned(from)));
            format!("{name}{rounding}{flush}{relu}{finite}{saturate}.{}.{}", typed?, other?)
        }
        Operation::Setp | Operation::Set => {
            let combine = match arithmetic.combine {
                BooleanOperation::None => "",
                BooleanOperation::And => ".and",
                BooleanOperation::Or => ".or",
                BooleanOperation::Xor => ".xor",
            };
            let comparison = comparison_word(arithmetic.comparison)?;
            match operation {
                Operation::Set => format!("{name}.{comparison}{combine}{flush}.{}.{}", typed?, other?),
                _ => format!("{name}.{comparison}{combine}{flush}.{}", typed?),
            }
        }
        Operation::Slct => format!("{name}{flush}.{}.{}", typed?, other?),
        Operation::Dp4a => format!("{name}.{}.{}", typed?, other?),
        Operation::And | Operation::Or | Operation::Xor | Operation::Not if ty == Type::Pred => {
            format!("{name}.pred")
        }
        Operation::And
        | Operation::Or
        | Operation::Xor
        | Operation::Not
        | Operation::Cnot
        | Operation::Shl
        | Operation::Popc
        | Operation::Clz
        | Operation::Brev
        | Operation::Bfi => format!("{name}.{}", bits?),
        Operation::Lop3 if arithmetic.combine == BooleanOperation::None => format!("{name}.b32"),
        Operation::Shf => {
            let side = if flags.has(Flags::HIGH) { ".l" } else { ".r" };
            format!("{name}{side}{}.b32", if flags.has(Flags::WRAP) { ".wrap" } else { ".clamp" })
        }
        Operation::Bmsk | Operation::Szext => {
            format!("{name}{}.{}", if flags.has(Flags::WRAP) { ".wrap" } else { ".clamp" }, typed?)
        }
        Operation::Prmt => {
            let modes = ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"];
            format!("{name}.b32{}", modes.get(flags.mode() as usize)?)
        }
        Operation::Testp => {
            let modes = ["finite", "infinite", "number", "notanumber", "normal", "subnormal"];
            format!("{name}.{}.{}", modes.get((flags.mode() as usize).checked_sub(1)?)?, typed?)
        }
        Operation::Bfind => format!("{name}{}.{}", word(Flags::SHIFT_AMOUNT, ".shiftamt"), typed?),
        Operation::Min | Operation::Max => {
            let (not_a_number, relu) = (word(Flags::NAN, ".NaN"), word(Flags::RELU, ".relu"));
            format!("{name}{flush}{not_a_number}{relu}.{}", typed?)
        }
        Operation::Mul | Operation::Mad | Operation::MadCarry => {
            format!("{name}{half}{rounding}{flush}{saturate}{carry}.{}", typed?)
        }
        Operation::Lop3
        | Operation::Cvta
        | Operation::Isspacep
        | Operation::Mapa
        | Operation::GetCtaRank
        | Operation::Dp2a
        | Operation::Fns
        | Operation::Video(_) => return None,
        _ if from != ty && from != Type::None => return None,
        _ => {
            let relu = word(Flags::RELU, ".relu");
            format!("{name}{approximate}{rounding}{flush}{relu}{saturate}{carry}.{}", typed?)
        }
    })
}

/// Conversions have no types of mere bits: what extends those extends them by zeros.
fn unsigned(ty: Type) -> Type {
    match ty {
        Type::B8 => Type::U8,
        Type::B16 => Type::U16,
        Type::B32 => Type::U32,
        Type::B64 => Type::U64,
        other => other,
    }
}

fn mnemonic(operation: Operation, flags: Flags) -> Option<&'static str> {
    Some(match operation {
        Operation::Mov => "mov",
        Operation::Cvt => "cvt",
        Operation::Add => "add",
        Operation::Sub => "sub",
        Operation::Mul if flags.has(Flags::TWENTY_FOUR) => "mul24",
        Operation::Mul => "mul",
        Operation::Mad if flags.has(Flags::TWENTY_FOUR) => "mad24",
        Operation::Mad => "mad",
        Operation::Sad => "sad",
        Operation::Div => "div",
        Operation::Rem => "rem",
        Operation::Abs => "abs",
        Operation::Neg => "neg",
        Operation::Min => "min",
        Operation::Max => "max",
        Operation::Popc => "popc",
        Operation::Clz => "clz",
        Operation::Bfind => "bfind",
        Operation::Brev => "brev",
        Operation::Bfe => "bfe",
        Operation::Bfi => "bfi",
        Operation::Bmsk => "bmsk",
        Operation::Szext => "szext",
        Operation::Dp4a => "dp4a",
        Operation::AddCarry => "addc",
        Operation::SubCarry => "subc",
        Operation::MadCarry => "madc",
        Operation::Fma => "fma",
        Operation::Rcp => "rcp",
        Operation::Sqrt => "sqrt",
        Operation::Rsqrt => "rsqrt",
        Operation::Sin => "sin",
        Operation::Cos => "cos",
        Operation::Lg2 => "lg2",
        Operation::Ex2 => "ex2",
        Operation::Tanh => "tanh",
        Operation::Copysign => "copysign",
        Operation::Testp => "testp",
        Operation::Setp => "setp",
        Operation::Set => "set",
        Operation::Selp => "selp",
        Operation::Slct => "slct",
        Operation::And => "and",
        Operation::Or => "or",
        Operation::Xor => "xor",
        Operation::Not => "not",
        Operation::Cnot => "cnot",
        Operation::Lop3 => "lop3",
        Operation::Shl => "shl",
        Operation::Shr => "shr",
        Operation::Shf => "shf",
        Operation::Prmt => "prmt",
        _ => return None,
    })
}

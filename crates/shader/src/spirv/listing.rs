//! A module as text, one instruction a line.

use std::fmt::Write as _;

use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind, OperandQuantifier};
use rustc_hash::FxHashMap;

use super::words::{Instruction, Words, string};

/// Most bytes of a string that are shown.
const LONGEST: usize = 60;

/// Writes a module down, for findings in modules without debugging information: line n holds instruction n, as in the output
/// of `spirv-dis --no-header --raw-id`. Empty for what is no SPIR-V.
pub fn spirv_listing(bytes: &[u8]) -> String {
    let Ok(words) = Words::new(bytes) else { return String::new() };
    let grammar: FxHashMap<u16, _> =
        INSTRUCTION_TABLE.iter().map(|known| (known.opcode as u32 as u16, known.operands)).collect();
    let mut text = String::new();
    for instruction in words.range(0..words.len()) {
        let kinds = grammar.get(&instruction.code).copied().unwrap_or_default();
        line(instruction, kinds, &mut text);
    }
    text
}

fn line(instruction: Instruction<'_>, kinds: &[rspirv::grammar::LogicalOperand], text: &mut String) {
    if let Some(result) = instruction.result() {
        let _ = write!(text, "%{result} = ");
    }
    text.push_str(&instruction.name());
    let mut rest = instruction.words;
    let mut kinds = kinds.iter();
    let mut repeated = None;
    while let Some((&word, behind)) = rest.split_first() {
        let kind = match repeated {
            Some(kind) => kind,
            None => match kinds.next() {
                Some(operand) => {
                    if operand.quantifier == OperandQuantifier::ZeroOrMore {
                        repeated = Some(&operand.kind);
                    }
                    &operand.kind
                }
                // Parameters of a value before, such as of a decoration.
                None => &OperandKind::LiteralInteger,
            },
        };
        rest = behind;
        let _ = match kind {
            OperandKind::IdResult => Ok(()),
            OperandKind::IdResultType
            | OperandKind::IdRef
            | OperandKind::IdScope
            | OperandKind::IdMemorySemantics
            | OperandKind::PairIdRefIdRef => write!(text, " %{word}"),
            OperandKind::LiteralString => {
                let all = [&[word], behind].concat();
                let (literal, after) = string(&all);
                rest = behind.get(behind.len() - after.len()..).unwrap_or_default();
                let shown: String = literal.chars().take(LONGEST).collect();
                write!(text, " {shown:?}")
            }
            _ => write!(text, " {word}"),
        };
    }
    text.push('\n');
}

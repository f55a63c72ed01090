//! Addresses as a base plus a constant plus multiples of values, so that two of them can be compared.

use standstill_kernel_ir::{
    Instruction, InstructionId, Op, Operand, Operation, Space, Special, Symbol, Type, ValueDef, ValueId,
};

use crate::body::{Base, Body};
use crate::kernel::Kernel;
use crate::uniformity::Agreement;

/// How deep an address is taken apart.
const MAXIMUM_DEPTH: u32 = 40;

/// Something that an address is a multiple of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Atom {
    /// A thread or block index, and the like.
    Axis(u8, u8),
    /// A kernel's parameter, taken as a number: position and byte offset.
    Parameter(u32, i32),
    /// What a variable of the module or function holds at a constant offset: kind, number, offset.
    Content(u8, u32, i64),
    /// Any other value.
    Value(ValueId),
}

/// One address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) base: Base,
    pub(super) constant: i64,
    /// Each atom once, sorted, with its factor.
    pub(super) terms: Vec<(Atom, i64)>,
    /// Bytes accessed.
    pub(crate) bytes: i64,
    /// It lies at the constant or behind it: what is added are multiples of indices and extents.
    pub(super) ascends: bool,
}

impl Address {
    /// The address of a memory operation (its first source).
    pub(crate) fn of(body: &Body, id: InstructionId) -> Option<Address> {
        let instruction = body.instruction(id)?;
        let access = match instruction.op {
            Op::Load(access) | Op::Store(access) | Op::Atomic { access, .. } => access,
            _ => return None,
        };
        let base = body.base(id);
        if base == Base::Unknown {
            return None;
        }
        let bytes = i64::from(access.ty.bytes()) * i64::from(access.elements.max(1));
        let mut address = Address { base, constant: 0, terms: Vec::new(), bytes, ascends: false };
        address.add_source(body, instruction, 0, 1, 0);
        address.terms.sort_unstable();
        address.terms.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 = earlier.1.wrapping_add(later.1);
            }
            same
        });
        address.terms.retain(|(_, factor)| *factor != 0);
        address.ascends = address.terms.iter().all(|&(atom, factor)| factor > 0 && is_index(body, atom));
        Some(address)
    }

    fn add_source(&mut self, body: &Body, instruction: &Instruction, index: usize, factor: i64, depth: u32) {
        match body.source(instruction, index) {
            Operand::Immediate(bits) => self.add_constant(bits as i64, factor),
            Operand::Symbol { symbol, offset } => {
                self.add_constant(i64::from(offset), factor);
                if self.base != Base::Symbol(symbol) {
                    let (kind, number) = symbol_number(symbol);
                    self.terms.push((Atom::Content(kind | 4, number, 0), factor));
                }
            }
            Operand::Special(special) => self.terms.push((axis(special), factor)),
            Operand::Address { offset, .. } => {
                self.add_constant(i64::from(offset), factor);
                if let Some(value) = body.source_value(instruction, index) {
                    self.add_value(body, value, factor, depth);
                }
            }
            Operand::Register(_) => {
                if let Some(value) = body.source_value(instruction, index) {
                    self.add_value(body, value, factor, depth);
                }
            }
            _ => {}
        }
    }

    fn add_constant(&mut self, constant: i64, factor: i64) {
        self.constant = self.constant.wrapping_add(constant.wrapping_mul(factor));
    }

    fn add_value(&mut self, body: &Body, value: ValueId, factor: i64, depth: u32) {
        let opaque = (Atom::Value(value), factor);
        let whole = matches!(
            body.ssa.definition(value),
            Some(ValueDef::Instruction { previous: None, destination: 0, .. })
        );
        let Some((_, instruction)) = body.definition(value).filter(|_| whole && depth < MAXIMUM_DEPTH) else {
            self.terms.push(opaque);
            return;
        };
        let constant = |index: usize| body.constant(instruction, index).map(|bits| bits as i64);
        let mut add = |index: usize, factor: i64| {
            self.add_source(body, instruction, index, factor, depth + 1);
        };
        match instruction.op {
            Op::Load(access) if access.space == Space::Param => {
                if let Operand::Parameter { index, offset } = body.source(instruction, 0) {
                    if self.base != Base::Parameter(index, offset) {
                        self.terms.push((Atom::Parameter(index, offset), factor));
                    }
                    return;
                }
                self.terms.push(opaque);
            }
            Op::Load(_) => match body.source(instruction, 0) {
                Operand::Symbol { symbol, offset } => {
                    let (kind, number) = symbol_number(symbol);
                    self.terms.push((Atom::Content(kind, number, i64::from(offset)), factor));
                }
                _ => self.terms.push(opaque),
            },
            Op::Arithmetic(arithmetic) => match arithmetic.operation {
                Operation::Mov if instruction.operands.sources == 1 => add(0, factor),
                Operation::Cvta => add(0, factor),
                Operation::Cvt if !arithmetic.ty.is_float() && !arithmetic.from.is_float() => {
                    if arithmetic.ty.bits() >= 32 && arithmetic.from.bits() >= 32 {
                        add(0, factor);
                    } else {
                        self.terms.push(opaque);
                    }
                }
                Operation::Add if !arithmetic.ty.is_float() => {
                    add(0, factor);
                    add(1, factor);
                }
                Operation::Sub if !arithmetic.ty.is_float() => {
                    add(0, factor);
                    add(1, factor.wrapping_neg());
                }
                Operation::Mul if !arithmetic.ty.is_float() => match (constant(0), constant(1)) {
                    (_, Some(by)) => add(0, factor.wrapping_mul(by)),
                    (Some(by), None) => add(1, factor.wrapping_mul(by)),
                    _ => self.terms.push(opaque),
                },
                Operation::Mad if !arithmetic.ty.is_float() => match (constant(0), constant(1)) {
                    (_, Some(by)) => {
                        add(0, factor.wrapping_mul(by));
                        add(2, factor);
                    }
                    (Some(by), None) => {
                        add(1, factor.wrapping_mul(by));
                        add(2, factor);
                    }
                    _ => self.terms.push(opaque),
                },
                Operation::Shl => match constant(1) {
                    Some(by @ 0..=31) => add(0, factor.wrapping_shl(by as u32)),
                    _ => self.terms.push(opaque),
                },
                _ => self.terms.push(opaque),
            },
            _ => self.terms.push(opaque),
        }
    }

    /// Whether two accesses can touch the same bytes, each at some value of its atoms.
    pub(crate) fn may_meet(&self, other: &Address) -> bool {
        if self.base != other.base {
            return false;
        }
        let step = self
            .terms
            .iter()
            .chain(&other.terms)
            .fold(0u64, |step, (_, factor)| greatest_divisor(step, factor.unsigned_abs()));
        let distance = other.constant.wrapping_sub(self.constant);
        let behind = |access: &Address, fixed: &Address| {
            fixed.terms.is_empty()
                && access.ascends
                && fixed.constant.wrapping_add(fixed.bytes) <= access.constant
        };
        if behind(self, other) || behind(other, self) {
            return false;
        }
        if step == 0 {
            return distance < self.bytes && distance.wrapping_neg() < other.bytes;
        }
        let step = step.min(1 << 40) as i64;
        let after = distance.rem_euclid(step);
        after < self.bytes || step - after < other.bytes
    }

    /// Its offset from the base in a block with these coordinates, when nothing else goes into it.
    pub(crate) fn offset_in_block(&self, block: [u32; 3]) -> Option<i64> {
        self.terms.iter().try_fold(self.constant, |offset, &(atom, factor)| match atom {
            Atom::Axis(BLOCK, axis) => {
                let index = i64::from(*block.get(usize::from(axis))?);
                Some(offset.wrapping_add(index.wrapping_mul(factor)))
            }
            _ => None,
        })
    }

    /// Whether two accesses go to the same place in one and the same thread.
    pub(super) fn same(&self, other: &Address) -> bool {
        self.base == other.base && self.constant == other.constant && self.terms == other.terms
    }

    /// The atoms alone.
    pub(super) fn atoms(&self) -> Vec<Atom> {
        self.terms.iter().map(|(atom, _)| *atom).collect()
    }

    /// Whether nothing in the address differs between the threads of the launch.
    pub(super) fn is_common(&self, kernel: &Kernel<'_>) -> bool {
        self.terms.iter().all(|(atom, _)| atom_agreement(kernel, *atom) == Agreement::Grid)
    }

    /// Whether threads of all blocks come to the same places: nothing in it tells blocks apart, and what
    /// differs between threads is kept within a constant range.
    pub(super) fn is_shared_by_blocks(&self, kernel: &Kernel<'_>) -> bool {
        self.terms.iter().all(|(atom, _)| match *atom {
            Atom::Value(value) => {
                kernel.uniformity.value(value) == Agreement::Grid || bounded_data(kernel.body, value)
            }
            Atom::Axis(kind, _) => kind == THREAD || atom_agreement(kernel, *atom) == Agreement::Grid,
            _ => atom_agreement(kernel, *atom) == Agreement::Grid,
        })
    }

    /// Whether the address is the same for the threads of a block, or taken from a ticket, and differs
    /// between blocks.
    pub(super) fn is_of_one_block(&self, kernel: &Kernel<'_>) -> bool {
        let each = |atom: Atom| atom_agreement(kernel, atom) >= Agreement::Block || is_ticket(kernel, atom);
        self.terms.iter().all(|(atom, _)| each(*atom)) && !self.is_common(kernel)
    }
}

const THREAD: u8 = 0;
const BLOCK: u8 = 1;
const OTHER: u8 = 2;

fn axis(special: Special) -> Atom {
    match special {
        Special::Tid(axis) => Atom::Axis(THREAD, axis),
        Special::LaneId => Atom::Axis(THREAD, 3),
        Special::Ctaid(axis) => Atom::Axis(BLOCK, axis),
        Special::Ntid(axis) => Atom::Axis(OTHER, axis),
        Special::Nctaid(axis) => Atom::Axis(OTHER, axis | 4),
        // What else there is counts as something that a block has for itself.
        _ => Atom::Axis(BLOCK, 7),
    }
}

fn symbol_number(symbol: Symbol) -> (u8, u32) {
    match symbol {
        Symbol::Module(number) => (0, number),
        Symbol::Local(number) => (1, number),
        Symbol::Function(number) => (2, number),
    }
}

fn greatest_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Whether an atom is an index or an extent of the launch, or made of such by sums and products: it is never negative, as
/// long as nothing overflows.
fn is_index(body: &Body, atom: Atom) -> bool {
    match atom {
        Atom::Axis(..) => true,
        Atom::Value(value) => is_sum_of_indices(body, value, 8),
        Atom::Parameter(..) | Atom::Content(..) => false,
    }
}

fn is_sum_of_indices(body: &Body, value: ValueId, depth: u32) -> bool {
    let Some((_, instruction)) = body.definition(value).filter(|_| depth > 0) else { return false };
    let Op::Arithmetic(arithmetic) = instruction.op else { return false };
    let plain = matches!(
        arithmetic.operation,
        Operation::Mov | Operation::Cvt | Operation::Add | Operation::Mul | Operation::Mad | Operation::Shl
    );
    plain
        && !arithmetic.ty.is_float()
        && !arithmetic.from.is_float()
        && (0..usize::from(instruction.operands.sources)).all(|index| match body.source(instruction, index) {
            Operand::Immediate(bits) => bits.cast_signed() >= 0,
            Operand::Special(_) => true,
            _ => body
                .source_value(instruction, index)
                .is_some_and(|value| is_sum_of_indices(body, value, depth - 1)),
        })
}

/// Who agrees on an atom.
pub(super) fn atom_agreement(kernel: &Kernel<'_>, atom: Atom) -> Agreement {
    match atom {
        Atom::Axis(THREAD, _) => Agreement::Thread,
        Atom::Axis(BLOCK, _) => Agreement::Block,
        Atom::Axis(..) | Atom::Parameter(..) => Agreement::Grid,
        Atom::Content(kind, number, _) if kind < 4 => {
            let symbol = if kind == 0 { Symbol::Module(number) } else { Symbol::Local(number) };
            if kernel.body.is_shared_symbol(symbol) { Agreement::Block } else { Agreement::Thread }
        }
        Atom::Content(..) => Agreement::Grid,
        Atom::Value(value) => kernel.uniformity.value(value),
    }
}

/// Whether an atom comes from a counter in global memory from which threads of all blocks draw.
fn is_ticket(kernel: &Kernel<'_>, atom: Atom) -> bool {
    let Atom::Value(value) = atom else { return false };
    from_counter(kernel.body, value)
}

/// Whether a value is what an atomic on global memory gave, handed on through copies, arithmetic and shuffles.
pub(super) fn from_counter(body: &Body, value: ValueId) -> bool {
    let mut seen = vec![value];
    let mut next = 0;
    while let Some(&value) = seen.get(next) {
        next += 1;
        let mut visit = |value: Option<ValueId>| {
            if let Some(value) = value
                && seen.len() < 64
                && !seen.contains(&value)
            {
                seen.push(value);
            }
        };
        match body.definition(value) {
            Some((id, instruction)) => match instruction.op {
                Op::Atomic { access, .. } => {
                    let shared =
                        matches!(body.base(id), Base::Symbol(symbol) if body.is_shared_symbol(symbol));
                    if !shared && !crate::inline::is_shared(access.space) {
                        return true;
                    }
                }
                Op::Arithmetic(_) => {
                    for index in 0..usize::from(instruction.operands.sources) {
                        visit(body.source_value(instruction, index));
                    }
                }
                Op::Shuffle(_) => visit(body.source_value(instruction, 0)),
                _ => {}
            },
            None => body.ssa.incoming(value).iter().for_each(|&(_, value)| visit(Some(value))),
        }
    }
    false
}

/// Whether a value is data that was cut to a constant range (`x & 7`, `x % 8`, a byte), with no block index
/// in it.
fn bounded_data(body: &Body, value: ValueId) -> bool {
    let Some((_, instruction)) = body.definition(value) else { return false };
    let block = |instruction: &Instruction| {
        (0..usize::from(instruction.operands.sources)).any(|index| {
            matches!(
                body.source(instruction, index),
                Operand::Special(Special::Ctaid(_) | Special::ClusterId(_) | Special::SmId)
            )
        })
    };
    let bounds = |by: Option<u64>| by.is_some_and(|by| (by as i64) >= 0 && by < 1 << 16);
    match instruction.op {
        Op::Arithmetic(arithmetic) => {
            let bounded = match arithmetic.operation {
                Operation::And => {
                    bounds(body.constant(instruction, 1)) || bounds(body.constant(instruction, 0))
                }
                Operation::Rem => bounds(body.constant(instruction, 1)),
                Operation::Cvt => {
                    return body.source_value(instruction, 0).is_some_and(|value| bounded_data(body, value));
                }
                _ => false,
            };
            bounded && !body.rests_on(value, &block)
        }
        Op::Load(access) => matches!(access.ty, Type::U8 | Type::S8 | Type::B8),
        _ => false,
    }
}

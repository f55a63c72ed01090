//! What a rehearsal knows of a value: a number, or an unknown thing plus a number.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use standstill_kernel_ir::{
    Arithmetic, ArithmeticFlags, BooleanOperation, Comparison, Operation, Symbol, Type, evaluate,
};

/// How deep an expression is looked into.
const MAXIMUM_DEPTH: u32 = 16;

/// What went into a number. A fault must not rest on how a chosen parameter value compares with a thread's
/// index: a kernel may ask for a parameter that fits its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Taint {
    /// Constants and the launch shape.
    Code,
    /// The index of the thread or block.
    Thread,
    /// The chosen value of a parameter.
    Sampled,
    /// Both, put together by arithmetic or a comparison.
    Mixed,
}

impl Taint {
    /// What goes into a result computed from both.
    fn join(self, other: Taint) -> Taint {
        match (self, other) {
            (Taint::Thread, Taint::Sampled) | (Taint::Sampled, Taint::Thread) => Taint::Mixed,
            (a, b) => a.max(b),
        }
    }
}

/// A value of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    /// A number, in the low bits.
    Known {
        /// The bits.
        bits: u64,
        /// What went into it.
        taint: Taint,
    },
    /// An unknown thing plus a number: `flag + 8`, `n - 1`.
    Linear {
        /// The unknown thing.
        base: PointerBase,
        /// What is added to it.
        offset: i64,
    },
}

/// Something whose value is not known, but which is the same thing wherever it is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum PointerBase {
    /// The address of a variable.
    Symbol(Symbol),
    /// A kernel's parameter at a byte offset, taken as a pointer or as a number that is not known.
    Parameter(u32, i32),
    /// Anything else, by its number in [`Unknowns`].
    Unknown(u32),
}

impl Value {
    /// A number that the code itself determines.
    pub(crate) fn known(bits: u64) -> Value {
        Value::Known { bits, taint: Taint::Code }
    }

    /// The bits of a number.
    pub(crate) fn bits(self) -> Option<u64> {
        match self {
            Value::Known { bits, .. } => Some(bits),
            Value::Linear { .. } => None,
        }
    }

    /// What memory or a register of a type keeps of it.
    pub(crate) fn kept(self, ty: Type) -> Value {
        match self {
            Value::Known { bits, taint } => Value::Known { bits: evaluate::keep(bits, ty), taint },
            value => value,
        }
    }

    /// A number that a thread's or block's index determines.
    pub(crate) fn of_thread(bits: u64) -> Value {
        Value::Known { bits, taint: Taint::Thread }
    }

    /// What went into it.
    pub(crate) fn taint(self) -> Taint {
        match self {
            Value::Known { taint, .. } => taint,
            Value::Linear { .. } => Taint::Code,
        }
    }

    /// Whether a parameter's chosen value went into it.
    pub(crate) fn sampled(self) -> bool {
        self.taint() >= Taint::Sampled
    }

    fn unknown(number: u32) -> Value {
        Value::Linear { base: PointerBase::Unknown(number), offset: 0 }
    }

    /// The value plus a number of bytes, as an address.
    pub(crate) fn plus(self, offset: i64) -> Value {
        match self {
            Value::Known { bits, taint } => Value::Known { bits: bits.wrapping_add_signed(offset), taint },
            Value::Linear { base, offset: old } => Value::Linear { base, offset: old.wrapping_add(offset) },
        }
    }
}

/// What an unknown thing is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Thing {
    /// What was read at an address that nobody had written, in a version of memory.
    Memory(Value, u32),
    /// A function of other values.
    Expression(Arithmetic, SmallVec<[Value; 4]>, u8),
    /// A thing of its own.
    Fresh(u32),
}

/// The unknown things of a rehearsal; equal expressions over equal things are one thing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unknowns {
    numbers: FxHashMap<Thing, u32>,
    /// For each: whether it belongs to one thread or warp alone, so that no other need agree.
    private: Vec<bool>,
    /// For each: the things read from memory that it rests on.
    roots: Vec<SmallVec<[u32; 2]>>,
}

impl Unknowns {
    fn intern(&mut self, origin: Thing, private: bool, roots: SmallVec<[u32; 2]>) -> Value {
        if let Some(&number) = self.numbers.get(&origin) {
            return Value::unknown(number);
        }
        let number = self.private.len() as u32;
        let roots = if roots.is_empty() { SmallVec::from_slice(&[number]) } else { roots };
        self.numbers.insert(origin, number);
        self.private.push(private);
        self.roots.push(roots);
        Value::unknown(number)
    }

    /// Something of one thread alone, different from everything else.
    pub(crate) fn fresh(&mut self) -> Value {
        let number = self.private.len() as u32;
        self.intern(Thing::Fresh(number), true, SmallVec::new())
    }

    /// Something that all threads agree on.
    pub(crate) fn common(&mut self) -> Value {
        let number = self.private.len() as u32;
        self.intern(Thing::Fresh(number), false, SmallVec::new())
    }

    /// The negation of a condition.
    pub(crate) fn negated(&mut self, value: Value) -> Value {
        let not = Arithmetic {
            operation: Operation::Not,
            ty: Type::Pred,
            from: Type::Pred,
            comparison: Comparison::None,
            combine: BooleanOperation::None,
            flags: ArithmeticFlags::default(),
        };
        self.compute(&not, &[value], 1).first().copied().unwrap_or(value)
    }

    /// What lies at an address that nobody wrote: the same for all who read it.
    pub(crate) fn memory(&mut self, address: Value, version: u32) -> Value {
        let private = self.is_private(address);
        self.intern(Thing::Memory(address, version), private, SmallVec::new())
    }

    /// Whether a value belongs to one thread alone and is not known.
    pub(crate) fn is_private(&self, value: Value) -> bool {
        match value {
            Value::Linear { base: PointerBase::Unknown(number), .. } => {
                self.private.get(number as usize).copied().unwrap_or(true)
            }
            _ => false,
        }
    }

    /// The things that a value rests on.
    pub(crate) fn roots(&self, value: Value) -> &[u32] {
        match value {
            Value::Linear { base: PointerBase::Unknown(number), .. } => {
                self.roots.get(number as usize).map_or(&[], |roots| roots.as_slice())
            }
            _ => &[],
        }
    }

    /// What a value is if the given things are zero.
    pub(crate) fn at_zero(&self, value: Value, zero: &[u32]) -> Option<u64> {
        let by_number: FxHashMap<u32, &Thing> =
            self.numbers.iter().map(|(thing, &number)| (number, thing)).collect();
        self.with_zeroes(value, zero, &by_number, 0)
    }

    fn with_zeroes(
        &self,
        value: Value,
        zero: &[u32],
        by_number: &FxHashMap<u32, &Thing>,
        depth: u32,
    ) -> Option<u64> {
        let (number, offset) = match value {
            Value::Known { bits, .. } => return Some(bits),
            Value::Linear { base: PointerBase::Unknown(number), offset } => (number, offset),
            Value::Linear { .. } => return None,
        };
        if zero.contains(&number) {
            return Some(offset as u64);
        }
        let Some(Thing::Expression(arithmetic, sources, index)) = by_number.get(&number) else { return None };
        if depth > MAXIMUM_DEPTH {
            return None;
        }
        let sources: Option<SmallVec<[u64; 4]>> =
            sources.iter().map(|&source| self.with_zeroes(source, zero, by_number, depth + 1)).collect();
        let index = usize::from(*index);
        let results = evaluate::evaluate(arithmetic, &sources?, index + 1)?;
        Some(results.get(index)?.wrapping_add_signed(offset))
    }

    /// The results of a pure function.
    pub(crate) fn compute(
        &mut self,
        arithmetic: &Arithmetic,
        sources: &[Value],
        results: usize,
    ) -> SmallVec<[Value; 2]> {
        if let Some(value) = simplify(arithmetic, sources) {
            return SmallVec::from_slice(&[value]);
        }
        let bits: SmallVec<[u64; 4]> = sources.iter().map_while(|source| source.bits()).collect();
        if bits.len() == sources.len()
            && let Some(values) = evaluate::evaluate(arithmetic, &bits, results)
        {
            let taint = taint_of(arithmetic, sources);
            return values.iter().map(|&bits| Value::Known { bits, taint }).collect();
        }
        let private = sources.iter().any(|&source| self.is_private(source));
        let mut roots: SmallVec<[u32; 2]> = SmallVec::new();
        for &source in sources {
            for &root in self.roots(source) {
                if !roots.contains(&root) {
                    roots.push(root);
                }
            }
        }
        (0..results.max(1))
            .map(|index| {
                let origin = Thing::Expression(*arithmetic, SmallVec::from_slice(sources), index as u8);
                self.intern(origin, private, roots.clone())
            })
            .collect()
    }
}

/// What goes into the result of a function. Logic on conditions only selects; arithmetic and comparisons mix.
fn taint_of(arithmetic: &Arithmetic, sources: &[Value]) -> Taint {
    let join = |values: &[Value]| values.iter().fold(Taint::Code, |taint, value| taint.join(value.taint()));
    let most = |values: &[Value]| values.iter().map(|value| value.taint()).max().unwrap_or(Taint::Code);
    match arithmetic.operation {
        Operation::Setp | Operation::Set => {
            let (compared, combined) = sources.split_at(sources.len().min(2));
            join(compared).max(most(combined))
        }
        _ if arithmetic.ty == Type::Pred => most(sources),
        _ => join(sources),
    }
}

/// Results that do not need every source to be a number.
fn simplify(arithmetic: &Arithmetic, sources: &[Value]) -> Option<Value> {
    use Value::{Known, Linear};
    let wide_enough = arithmetic.ty.bits() >= 32 && !arithmetic.ty.is_float();
    match (arithmetic.operation, sources) {
        (Operation::Mov | Operation::Cvta, [value]) => Some(*value),
        (Operation::Cvt, [value @ Linear { .. }]) if wide_enough && arithmetic.from.bits() >= 32 => {
            (!arithmetic.from.is_float()).then_some(*value)
        }
        (
            Operation::Add,
            [Linear { base, offset }, Known { bits, .. }] | [Known { bits, .. }, Linear { base, offset }],
        ) if wide_enough && !arithmetic.flags.has(ArithmeticFlags::SATURATE) => {
            let add = signed(*bits, arithmetic.ty);
            Some(Linear { base: *base, offset: offset.wrapping_add(add) })
        }
        (Operation::Sub, [Linear { base, offset }, Known { bits, .. }]) if wide_enough => {
            Some(Linear { base: *base, offset: offset.wrapping_sub(signed(*bits, arithmetic.ty)) })
        }
        (Operation::Sub, [Linear { base: a, offset: x }, Linear { base: b, offset: y }])
            if a == b && wide_enough =>
        {
            Some(Value::known(truncate(x.wrapping_sub(*y) as u64, arithmetic.ty)))
        }
        (Operation::Mad, [Known { bits: a, .. }, Known { bits: b, .. }, Linear { base, offset }])
            if !arithmetic.flags.has(ArithmeticFlags::HIGH) && wide_enough =>
        {
            let product = signed(*a, arithmetic.ty).wrapping_mul(signed(*b, arithmetic.ty));
            Some(Linear { base: *base, offset: offset.wrapping_add(product) })
        }
        (Operation::Setp, [Linear { base: a, offset: x }, Linear { base: b, offset: y }])
            if a == b && arithmetic.combine == BooleanOperation::None && !arithmetic.ty.is_float() =>
        {
            compare(arithmetic.comparison, *x, *y).map(|holds| Value::known(u64::from(holds)))
        }
        (Operation::Selp, [a, b, Known { bits, taint }]) if *taint < Taint::Mixed => {
            Some(if bits & 1 == 1 { *a } else { *b })
        }
        (Operation::Selp, [a, b, _]) if a == b => Some(*a),
        (Operation::And, [zero @ Known { bits: 0, .. }, _] | [_, zero @ Known { bits: 0, .. }]) => {
            Some(*zero)
        }
        (Operation::Or, [one @ Known { bits: 1, .. }, _] | [_, one @ Known { bits: 1, .. }])
            if arithmetic.ty == Type::Pred =>
        {
            Some(*one)
        }
        (Operation::And, [Known { bits: 1, .. }, other] | [other, Known { bits: 1, .. }])
            if arithmetic.ty == Type::Pred =>
        {
            Some(*other)
        }
        (Operation::Or | Operation::Xor, [Known { bits: 0, .. }, other] | [other, Known { bits: 0, .. }]) => {
            Some(*other)
        }
        (Operation::Shl | Operation::Shr, [value, Known { bits: 0, .. }]) => Some(*value),
        _ => None,
    }
}

/// Comparison of two offsets from the same thing; objects do not wrap around the address space.
fn compare(comparison: Comparison, x: i64, y: i64) -> Option<bool> {
    Some(match comparison {
        Comparison::Eq => x == y,
        Comparison::Ne => x != y,
        Comparison::Lt | Comparison::Lo => x < y,
        Comparison::Le | Comparison::Ls => x <= y,
        Comparison::Gt | Comparison::Hi => x > y,
        Comparison::Ge | Comparison::Hs => x >= y,
        _ => return None,
    })
}

fn signed(bits: u64, ty: Type) -> i64 {
    match ty.bits() {
        8 => i64::from(bits as i8),
        16 => i64::from(bits as i16),
        32 => i64::from(bits as i32),
        _ => bits as i64,
    }
}

fn truncate(bits: u64, ty: Type) -> u64 {
    match ty.bits() {
        0 | 64.. => bits,
        width => bits & ((1 << width) - 1),
    }
}

//! Methods of numbers, slices and atomics.

use standstill_kernel_ir::{AtomicOperation, Order, Scope};

use super::expression::with_variable;
use super::place::Found;
use super::{Checker, Obligation};
use crate::extent::Extent;
use crate::tree::{Atomic, AtomicAccess, Binary, Expression, Function, Kind};
use crate::types::{Scalar, Ty};

type Arguments = syn::punctuated::Punctuated<syn::Expr, syn::Token![,]>;

const BOOL: Ty = Ty::Scalar(Scalar::Bool);
const U32: Ty = Ty::Scalar(Scalar::U32);

/// Which numbers have a method.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Numbers,
    Integers,
    Floats,
    /// `f32` alone: what the card computes approximately.
    Singles,
}

/// What a method gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gives {
    Same,
    U32,
    Bool,
    Bits,
}

/// Methods of numbers: the name, the function, who has it, how many arguments of the same type, what it gives.
const FUNCTIONS: [(&str, Function, Of, usize, Gives); 20] = [
    ("min", Function::Minimum, Of::Numbers, 1, Gives::Same),
    ("max", Function::Maximum, Of::Numbers, 1, Gives::Same),
    ("abs", Function::Absolute, Of::Numbers, 0, Gives::Same),
    ("sqrt", Function::SquareRoot, Of::Floats, 0, Gives::Same),
    ("mul_add", Function::MultiplyAdd, Of::Floats, 2, Gives::Same),
    ("exp2", Function::Exp2, Of::Singles, 0, Gives::Same),
    ("exp", Function::Exp, Of::Singles, 0, Gives::Same),
    ("log2", Function::Log2, Of::Singles, 0, Gives::Same),
    ("ln", Function::Ln, Of::Singles, 0, Gives::Same),
    ("sin", Function::Sin, Of::Singles, 0, Gives::Same),
    ("cos", Function::Cos, Of::Singles, 0, Gives::Same),
    ("tanh", Function::Tanh, Of::Singles, 0, Gives::Same),
    ("floor", Function::Floor, Of::Floats, 0, Gives::Same),
    ("ceil", Function::Ceiling, Of::Floats, 0, Gives::Same),
    ("trunc", Function::Truncate, Of::Floats, 0, Gives::Same),
    ("to_bits", Function::ToBits, Of::Floats, 0, Gives::Bits),
    ("is_nan", Function::IsNan, Of::Floats, 0, Gives::Bool),
    ("count_ones", Function::CountOnes, Of::Integers, 0, Gives::U32),
    ("leading_zeros", Function::LeadingZeros, Of::Integers, 0, Gives::U32),
    ("trailing_zeros", Function::TrailingZeros, Of::Integers, 0, Gives::U32),
];

/// Methods that are operators: all arithmetic of kernels wraps around.
const OPERATORS: [(&str, Binary); 5] = [
    ("wrapping_add", Binary::Add),
    ("wrapping_sub", Binary::Subtract),
    ("wrapping_mul", Binary::Multiply),
    ("wrapping_shl", Binary::ShiftLeft),
    ("wrapping_shr", Binary::ShiftRight),
];

/// Methods of atomics with the number of values that they take.
const ATOMICS: [(&str, AtomicAccess, usize); 11] = [
    ("load", AtomicAccess::Load, 0),
    ("store", AtomicAccess::Store, 1),
    ("swap", AtomicAccess::Update(AtomicOperation::Exchange), 1),
    ("fetch_add", AtomicAccess::Update(AtomicOperation::Add), 1),
    ("fetch_sub", AtomicAccess::Subtract, 1),
    ("fetch_min", AtomicAccess::Update(AtomicOperation::Min), 1),
    ("fetch_max", AtomicAccess::Update(AtomicOperation::Max), 1),
    ("fetch_and", AtomicAccess::Update(AtomicOperation::And), 1),
    ("fetch_or", AtomicAccess::Update(AtomicOperation::Or), 1),
    ("fetch_xor", AtomicAccess::Update(AtomicOperation::Xor), 1),
    ("compare_exchange", AtomicAccess::Update(AtomicOperation::CompareExchange), 2),
];

impl Checker<'_> {
    pub(super) fn method(&mut self, it: &syn::ExprMethodCall, extent: Extent) -> Expression {
        let name = it.method.to_string();
        if self.is_space(&it.receiver) {
            return self.space_method(&name, it, extent);
        }
        if ATOMICS.iter().any(|(known, ..)| *known == name)
            && let Some(place) = self.atomic_place(&it.receiver)
        {
            return match place {
                Some((place, scalar)) => self.atomic(&name, place, scalar, &it.args, extent),
                None => Expression { kind: Kind::Wrong, ty: Ty::Wrong, extent },
            };
        }
        match name.as_str() {
            "len" => return self.length(it, extent),
            "is_ok" | "is_err" => return self.is_ok(it, name == "is_ok", extent),
            "iter" | "iter_mut" | "into_iter" => {
                return self.wrong(extent, "kernels have no iterators; write `for i in 0..slice.len()`");
            }
            _ => {}
        }
        let receiver = self.expression(&it.receiver);
        self.number_method(receiver, &name, &it.args, extent)
    }

    /// `u32::from_bits(x)`, `f32::max(a, b)`, and the like.
    pub(super) fn associated(
        &mut self,
        scalar: Scalar,
        name: &str,
        arguments: &Arguments,
        extent: Extent,
    ) -> Expression {
        let bits = match scalar {
            Scalar::F32 => Scalar::U32,
            Scalar::F64 => Scalar::U64,
            _ => scalar,
        };
        let mut rest = arguments.clone();
        let first = rest.first().cloned();
        let Some(first) = first else {
            return self.wrong(extent, format!("kernels do not know `{}::{name}`", scalar.name()));
        };
        rest = rest.into_iter().skip(1).collect();
        let value = self.expression(&first);
        if name == "from_bits" && scalar.is_float() {
            self.expect(&Ty::Scalar(bits), &value.ty.clone(), value.extent);
            let kind = Kind::Function(Function::FromBits, vec![value]);
            return Expression { kind, ty: Ty::Scalar(scalar), extent };
        }
        self.expect(&Ty::Scalar(scalar), &value.ty.clone(), value.extent);
        self.number_method(value, name, &rest, extent)
    }

    fn number_method(
        &mut self,
        receiver: Expression,
        name: &str,
        arguments: &Arguments,
        extent: Extent,
    ) -> Expression {
        let ty = receiver.ty.clone();
        let known = self.types.resolve(&ty);
        if known == Ty::Wrong {
            return Expression { kind: Kind::Wrong, ty: Ty::Wrong, extent };
        }
        if let Some((_, operation)) = OPERATORS.iter().find(|(known, _)| *known == name)
            && let (1, Some(argument)) = (arguments.len(), arguments.first())
        {
            let right = self.expression(argument);
            let wanted = match operation {
                Binary::ShiftLeft | Binary::ShiftRight => U32,
                _ => ty.clone(),
            };
            self.expect(&wanted, &right.ty.clone(), right.extent);
            self.oblige(Obligation::Integer(ty.clone()), receiver.extent);
            return Expression {
                kind: Kind::Binary(*operation, Box::new(receiver), Box::new(right)),
                ty,
                extent,
            };
        }
        let Some(&(_, function, of, count, gives)) = FUNCTIONS.iter().find(|(known, ..)| *known == name)
        else {
            let shown = self.types.show(&ty);
            return self.wrong(extent, format!("kernels do not know `{name}` of `{shown}`"));
        };
        if arguments.len() != count {
            return self
                .wrong(extent, format!("`{name}` takes {count} arguments, {} are given", arguments.len()));
        }
        let fits = match of {
            Of::Floats => known.scalar().is_some_and(Scalar::is_float),
            Of::Singles => known.scalar() == Some(Scalar::F32),
            Of::Numbers | Of::Integers => true,
        };
        if !fits {
            if self.types.hint(&ty) == Some(super::infer::Hint::Float) {
                let message = format!(
                    "the type of the number is not known here; write a suffix, as in `2.0_f32.{name}()`"
                );
                return self.wrong(extent, message);
            }
            return self.wrong(extent, format!("`{known}` has no `{name}`; convert it with `as f32` first"));
        }
        self.oblige(
            if of == Of::Integers { Obligation::Integer(ty.clone()) } else { Obligation::Number(ty.clone()) },
            receiver.extent,
        );
        let mut values = vec![receiver];
        for argument in arguments {
            let value = self.expression(argument);
            self.expect(&ty, &value.ty.clone(), value.extent);
            values.push(value);
        }
        let result = match gives {
            Gives::Same => ty,
            Gives::U32 => U32,
            Gives::Bool => BOOL,
            Gives::Bits if known == Ty::Scalar(Scalar::F64) => Ty::Scalar(Scalar::U64),
            Gives::Bits => U32,
        };
        Expression { kind: Kind::Function(function, values), ty: result, extent }
    }

    fn length(&mut self, it: &syn::ExprMethodCall, extent: Extent) -> Expression {
        let Some(Found { location, ty, .. }) = self.place(&it.receiver) else {
            return Expression { kind: Kind::Wrong, ty: Ty::Wrong, extent };
        };
        let usize = Ty::Scalar(Scalar::Usize);
        match self.types.resolve(&ty) {
            Ty::Array(_, length) => Expression { kind: Kind::Integer(length.into()), ty: usize, extent },
            Ty::Slice(..) => Expression { kind: Kind::Length(location), ty: usize, extent },
            Ty::Wrong => Expression { kind: Kind::Wrong, ty: Ty::Wrong, extent },
            other => self.wrong(extent, format!("`{other}` has no length")),
        }
    }

    fn is_ok(&mut self, it: &syn::ExprMethodCall, wanted: bool, extent: Extent) -> Expression {
        let value = self.expression(&it.receiver);
        let Some((scalar, value)) = self.exchange(value) else {
            return Expression { kind: Kind::Wrong, ty: Ty::Wrong, extent };
        };
        let id = self.declare("", Ty::Exchange(scalar), false);
        let truth = Expression { kind: Kind::Exchanged(id), ty: BOOL, extent };
        let truth =
            if wanted { truth } else { Expression { kind: Kind::Not(Box::new(truth)), ty: BOOL, extent } };
        with_variable(id, value, truth)
    }

    /// The place of an atomic; `Some(None)` after saying what is wrong, `None` for what is no atomic.
    #[allow(clippy::option_option, reason = "no atomic and a wrong place are two things")]
    fn atomic_place(&mut self, receiver: &syn::Expr) -> Option<Option<(crate::tree::Location, Scalar)>> {
        let Some(Found { location, ty, .. }) = self.place(receiver) else { return Some(None) };
        match self.types.resolve(&ty) {
            Ty::Atomic(scalar) => Some(Some((location, scalar))),
            Ty::Reference(to, _) => match *to {
                Ty::Atomic(scalar) => Some(Some((location, scalar))),
                _ => None,
            },
            Ty::Wrong => Some(None),
            other => {
                let shown = self.types.show(&other);
                let message = format!("`{shown}` is not atomic; declare its elements as `Atomic<…>`");
                self.problem(Extent::of(receiver), message);
                Some(None)
            }
        }
    }

    fn atomic(
        &mut self,
        name: &str,
        place: crate::tree::Location,
        scalar: Scalar,
        arguments: &Arguments,
        extent: Extent,
    ) -> Expression {
        let Some(&(_, operation, count)) = ATOMICS.iter().find(|(known, ..)| *known == name) else {
            return self.wrong(extent, format!("atomics have no `{name}`"));
        };
        let arguments: Vec<&syn::Expr> = arguments.iter().collect();
        let (values, words) = arguments.split_at(count.min(arguments.len()));
        let mut operands = Vec::new();
        for value in values {
            let value = self.expression(value);
            self.expect(&Ty::Scalar(scalar), &value.ty.clone(), value.extent);
            operands.push(value);
        }
        let mut order = None;
        let mut scope = Scope::Gpu;
        for word in words {
            match (order_of(word), scope_of(word)) {
                (Some(known), _) => order = order.or(Some(known)),
                (_, Some(known)) => scope = known,
                _ => self.problem(
                    Extent::of(*word),
                    "write a memory order (`Relaxed`, `Acquire`, `Release`, `AcqRel`, `SeqCst`) or a scope (`Tile`, \
                     `Device`, `System`)",
                ),
            }
        }
        if values.len() < count {
            return self.wrong(extent, format!("`{name}` takes {count} values and a memory order"));
        }
        let Some(order) = order else {
            return self.wrong(
                extent,
                format!("`{name}` needs a memory order; write `Relaxed` where no other memory depends on it"),
            );
        };
        let fits = match operation {
            AtomicAccess::Load => !matches!(order, Order::Release | Order::AcquireRelease),
            AtomicAccess::Store => !matches!(order, Order::Acquire | Order::AcquireRelease),
            _ => true,
        };
        if !fits {
            let right = if operation == AtomicAccess::Load {
                "`Relaxed`, `Acquire` or `SeqCst`"
            } else {
                "`Relaxed`, `Release` or `SeqCst`"
            };
            return self.wrong(extent, format!("`{name}` has no such memory order; write {right}"));
        }
        let floats = matches!(
            operation,
            AtomicAccess::Load
                | AtomicAccess::Store
                | AtomicAccess::Subtract
                | AtomicAccess::Update(AtomicOperation::Add | AtomicOperation::Exchange)
        );
        if scalar.is_float() && !floats {
            let message = format!(
                "there is no `{name}` of floating-point numbers; keep the bits as `Atomic<u32>` and use `to_bits` and `from_bits`"
            );
            return self.wrong(extent, message);
        }
        let ty = match operation {
            AtomicAccess::Store => Ty::Unit,
            AtomicAccess::Update(AtomicOperation::CompareExchange) => Ty::Exchange(scalar),
            _ => Ty::Scalar(scalar),
        };
        let atomic = Atomic { operation, place, operands, order, scope, scalar };
        Expression { kind: Kind::Atomic(Box::new(atomic)), ty, extent }
    }
}

fn word(expression: &syn::Expr) -> Option<String> {
    match expression {
        syn::Expr::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
        _ => None,
    }
}

/// The memory order that an argument names.
pub(super) fn order_of(expression: &syn::Expr) -> Option<Order> {
    Some(match word(expression)?.as_str() {
        "Relaxed" => Order::Relaxed,
        "Acquire" => Order::Acquire,
        "Release" => Order::Release,
        "AcqRel" => Order::AcquireRelease,
        "SeqCst" => Order::SequentiallyConsistent,
        _ => return None,
    })
}

/// The scope that an argument names.
pub(super) fn scope_of(expression: &syn::Expr) -> Option<Scope> {
    Some(match word(expression)?.as_str() {
        "Tile" => Scope::Cta,
        "Cluster" => Scope::Cluster,
        "Device" => Scope::Gpu,
        "System" => Scope::Sys,
        _ => return None,
    })
}

//! What a `Space` tells, and what all cells of a tile do together.

use standstill_kernel_ir::{
    AtomicOperation, OperationMark, Scope, ShuffleMode, StructureOperation, VoteMode,
};

use super::method::{order_of, scope_of};
use super::place::Found;
use super::{Checker, Obligation};
use crate::extent::Extent;
use crate::tree::{Expression, Field, Kind};
use crate::types::{Scalar, Ty};

const BOOL: Ty = Ty::Scalar(Scalar::Bool);
const U32: Ty = Ty::Scalar(Scalar::U32);

/// The start of a field's name, and what the field is in a direction.
type Named = (&'static str, fn(u8) -> Field);

/// The numbers of one direction.
const FIELDS: [Named; 6] = [
    ("", Field::Index),
    ("cell_", Field::Cell),
    ("tile_", Field::Tile),
    ("size_", Field::Size),
    ("tile_size_", Field::TileSize),
    ("tiles_", Field::Tiles),
];

fn field_of(name: &str) -> Option<Field> {
    match name {
        "lane" => return Some(Field::Lane),
        "warp" => return Some(Field::Warp),
        _ => {}
    }
    let axis = axis_of(name)?;
    let start = name.get(..name.len().checked_sub(1)?)?;
    FIELDS.iter().find(|(known, _)| *known == start).map(|(_, field)| field(axis))
}

fn axis_of(name: &str) -> Option<u8> {
    match name.as_bytes().last()? {
        b'x' => Some(0),
        b'y' => Some(1),
        b'z' => Some(2),
        _ => None,
    }
}

impl Checker<'_> {
    /// Whether an expression is the `Space`.
    pub(super) fn is_space(&self, expression: &syn::Expr) -> bool {
        match expression {
            syn::Expr::Path(path) => path
                .path
                .get_ident()
                .and_then(|name| self.find(&name.to_string()))
                .is_some_and(|id| self.local_type(id) == Ty::Space),
            syn::Expr::Paren(inner) => self.is_space(&inner.expr),
            _ => false,
        }
    }

    pub(super) fn field(&mut self, it: &syn::ExprField, extent: Extent) -> Expression {
        let at = Extent::of(&it.member);
        if !self.is_space(&it.base) {
            return self.wrong(at, "kernels have no structures; only `space` has fields");
        }
        let field = match &it.member {
            syn::Member::Named(name) => field_of(&name.to_string()),
            syn::Member::Unnamed(_) => None,
        };
        match field {
            Some(field) => Expression { kind: Kind::Field(field), ty: U32, extent },
            None => self.wrong(
                at,
                "`space` has `x`, `cell_x`, `tile_x`, `size_x`, `tile_size_x` and `tiles_x`, the same for `y` and `z`, \
                 and `lane` and `warp`",
            ),
        }
    }

    pub(super) fn space_method(
        &mut self,
        name: &str,
        it: &syn::ExprMethodCall,
        extent: Extent,
    ) -> Expression {
        let value = |checker: &mut Self, index: usize, ty: Option<&Ty>| {
            let value = checker.expression(it.args.get(index)?);
            if let Some(ty) = ty {
                checker.expect(ty, &value.ty.clone(), value.extent);
            }
            Some(Box::new(value))
        };
        let unit = |kind| Some((kind, Ty::Unit));
        let made = match (name, it.args.len()) {
            ("sync", 0) => unit(Kind::Sync),
            ("warp_sync", 0) => unit(Kind::WarpSync),
            ("in_bounds_x" | "in_bounds_y" | "in_bounds_z", 0) => {
                axis_of(name).map(|axis| (Kind::InBounds(vec![axis]), BOOL))
            }
            ("in_bounds", 0) => Some((Kind::InBounds(vec![0, 1, 2]), BOOL)),
            ("fence", 1 | 2) => {
                let order = it.args.first().and_then(order_of);
                let scope = it.args.get(1).map_or(Some(Scope::Gpu), scope_of);
                match (order, scope) {
                    (Some(order), Some(scope)) => unit(Kind::Fence(order, scope)),
                    _ => {
                        return self
                            .wrong(extent, "write `space.fence(AcqRel, Device)`, with an order and a scope");
                    }
                }
            }
            ("warp_any", 1) => value(self, 0, Some(&BOOL)).map(|v| (Kind::Vote(VoteMode::Any, v), BOOL)),
            ("warp_all", 1) => value(self, 0, Some(&BOOL)).map(|v| (Kind::Vote(VoteMode::All, v), BOOL)),
            ("warp_ballot", 1) => value(self, 0, Some(&BOOL)).map(|v| (Kind::Vote(VoteMode::Ballot, v), U32)),
            ("warp_sum" | "warp_min" | "warp_max", 1) => value(self, 0, None).map(|v| {
                let operation = match name {
                    "warp_sum" => AtomicOperation::Add,
                    "warp_min" => AtomicOperation::Min,
                    _ => AtomicOperation::Max,
                };
                self.thirty_two_bits(&v);
                let ty = v.ty.clone();
                (Kind::WarpReduce(operation, v), ty)
            }),
            ("warp_match", 1) => value(self, 0, None).map(|v| {
                self.thirty_two_bits(&v);
                (Kind::WarpMatch(v), U32)
            }),
            ("mark_begins" | "mark_held", 2..=4) => {
                return self.operation_begins(name == "mark_held", it, extent);
            }
            ("mark_ends", 1) => {
                let results = self.mark_values(it.args.iter());
                unit(Kind::OperationMark(OperationMark::Ends, None, results))
            }
            ("shuffle" | "shuffle_up" | "shuffle_down" | "shuffle_xor", 2) => {
                let mode = match name {
                    "shuffle" => ShuffleMode::Idx,
                    "shuffle_up" => ShuffleMode::Up,
                    "shuffle_down" => ShuffleMode::Down,
                    _ => ShuffleMode::Bfly,
                };
                let what = value(self, 0, None);
                let from = value(self, 1, Some(&U32));
                what.zip(from).map(|(what, from)| {
                    self.thirty_two_bits(&what);
                    let ty = what.ty.clone();
                    (Kind::Shuffle(mode, what, from), ty)
                })
            }
            ("mark_freed" | "mark_allocated", 1) => match it.args.first() {
                Some(syn::Expr::Reference(reference)) => {
                    let Some(Found { location, .. }) = self.place(&reference.expr) else {
                        return Expression { kind: Kind::Wrong, ty: Ty::Wrong, extent };
                    };
                    unit(Kind::LifeMark { freed: name == "mark_freed", place: location })
                }
                _ => {
                    return self.wrong(
                        extent,
                        "write the place that it is about, as in `space.mark_freed(&nodes[i])`",
                    );
                }
            },
            ("tile_array", _) => {
                return self.wrong(
                    extent,
                    "give the array a name: `let mut cache = space.tile_array::<f32, 256>();`",
                );
            }
            _ => None,
        };
        match made {
            Some((kind, ty)) => Expression { kind, ty, extent },
            None => self.wrong(
                Extent::of(&it.method),
                format!(
                    "`space` has no `{name}` with {} arguments; it has `sync()`, `in_bounds_x()`, `tile_array()`, \
                     `fence(order, scope)`, `warp_sync()`, `warp_any(p)`, `warp_all(p)`, `warp_ballot(p)`, \
                     `warp_sum(v)`, `warp_min(v)`, `warp_max(v)`, `warp_match(v)` and `shuffle(v, lane)` with its `_up`, `_down`, `_xor`",
                    it.args.len()
                ),
            ),
        }
    }

    /// `space.mark_begins(stack_push, &head[0], value)`
    fn operation_begins(&mut self, held: bool, it: &syn::ExprMethodCall, extent: Extent) -> Expression {
        let mut arguments = it.args.iter();
        let operation = match arguments.next() {
            Some(syn::Expr::Path(path)) => {
                path.path.get_ident().and_then(|name| StructureOperation::named(&name.to_string()))
            }
            _ => None,
        };
        let structure = match arguments.next() {
            Some(syn::Expr::Reference(reference)) => self.place(&reference.expr).map(|found| found.location),
            _ => None,
        };
        let (Some(operation), Some(structure)) = (operation, structure) else {
            return self.wrong(
                extent,
                "write the operation and the structure that it is about, as in `space.mark_begins(stack_push, \
                 &heads[0], value)`; there are registers, counters, stacks, queues, sets and maps",
            );
        };
        let mark = if held { OperationMark::Held(operation) } else { OperationMark::Begins(operation) };
        let values = self.mark_values(arguments);
        Expression { kind: Kind::OperationMark(mark, Some(structure), values), ty: Ty::Unit, extent }
    }

    /// Integers as the 64 bits that marks carry.
    fn mark_values<'a>(&mut self, values: impl Iterator<Item = &'a syn::Expr>) -> Vec<Expression> {
        let mut wide = Vec::new();
        for value in values {
            let value = self.expression(value);
            self.oblige(Obligation::Bits(value.ty.clone()), value.extent);
            let extent = value.extent;
            wide.push(Expression { kind: Kind::Cast(Box::new(value)), ty: Ty::Scalar(Scalar::I64), extent });
        }
        wide
    }

    /// Says so where a value that goes through a warp is not of 32 bits.
    fn thirty_two_bits(&mut self, value: &Expression) {
        let known = self.types.resolve(&value.ty);
        if known.scalar().is_some_and(|s| !matches!(s, Scalar::U32 | Scalar::I32 | Scalar::F32)) {
            let message =
                format!("values of 32 bits go through a warp, this is `{known}`; convert it with `as u32`");
            self.problem(value.extent, message);
        }
    }

    /// The type of `space.tile_array::<T, N>()`; `None` for anything else, `Some(None)` after saying what is wrong.
    #[allow(clippy::option_option, reason = "no array and a wrong array are two things")]
    pub(super) fn tile_array(&mut self, expression: &syn::Expr) -> Option<Option<Ty>> {
        let syn::Expr::MethodCall(call) = expression else { return None };
        if call.method != "tile_array" || !self.is_space(&call.receiver) {
            return None;
        }
        let arguments = call.turbofish.as_ref().map(|fish| fish.args.iter().collect::<Vec<_>>());
        let Some([syn::GenericArgument::Type(element), length]) = arguments.as_deref() else {
            let message = "write element and length: `space.tile_array::<f32, 256>()`";
            self.problem(Extent::of(expression), message);
            return Some(None);
        };
        let length = match length {
            syn::GenericArgument::Const(length) => super::constant::length(length, &self.constants),
            syn::GenericArgument::Type(syn::Type::Path(path)) => {
                let path = syn::Expr::Path(syn::ExprPath {
                    attrs: Vec::new(),
                    qself: None,
                    path: path.path.clone(),
                });
                super::constant::length(&path, &self.constants)
            }
            other => Err(crate::Problem::new(Extent::of(other), "write the length as a number or constant")),
        };
        let element = super::signature::read(element, &self.constants);
        match (element, length) {
            (Ok(element), Ok(length)) if matches!(element.innermost(), Ty::Scalar(_) | Ty::Atomic(_)) => {
                Some(Some(Ty::Array(Box::new(element), length)))
            }
            (Ok(other), Ok(_)) => {
                self.problem(Extent::of(expression), format!("a tile array cannot hold `{other}`"));
                Some(None)
            }
            (Err(problem), _) | (_, Err(problem)) => {
                self.problems.push(problem);
                Some(None)
            }
        }
    }
}

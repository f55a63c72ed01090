//! From syntax to a tree with types: names, types, and what is not part of kernels.
//!
//! Every problem stands on the smallest piece of source that it is about. An expression with a problem gets a type
//! that fits everything, so that one mistake is told once.

pub(crate) mod constant;
mod control;
mod expression;
mod infer;
mod loops;
mod method;
mod operator;
mod place;
pub(crate) mod signature;
mod space;
mod statement;

use rustc_hash::FxHashMap;

use crate::extent::Extent;
use crate::problem::Problem;
use crate::tree::{Block, Body, Expression, Kind, Local, LocalId, LoopId};
use crate::types::{Scalar, Ty};
use crate::unit::{Role, Unit};
use constant::Constants;
use infer::{Hint, Inference};
use signature::Signature;

/// A unit whose functions are all well-formed.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) signatures: Vec<Signature>,
    pub(crate) bodies: Vec<Body>,
    pub(crate) elsewhere: Vec<crate::unit::Elsewhere>,
}

/// Checks a unit.
pub(crate) fn check(unit: &Unit) -> Result<Checked, Vec<Problem>> {
    let mut problems = unit.problems.clone();
    let mut constants = Constants::default();
    for item in &unit.constants {
        match constant::item(item, &constants) {
            Ok(value) => drop(constants.insert(item.ident.to_string(), value)),
            Err(problem) => problems.push(problem),
        }
    }
    let signatures: Vec<Signature> = unit
        .functions
        .iter()
        .map(|(role, function)| signature::signature(*role, function, &constants, &mut problems))
        .collect();
    let mut bodies = Vec::new();
    for ((_, function), signature) in unit.functions.iter().zip(&signatures) {
        let mut checker = Checker {
            signatures: &signatures,
            role: signature.role,
            result: signature.result,
            constants: constants.clone(),
            types: Inference::default(),
            locals: Vec::new(),
            scopes: vec![FxHashMap::default()],
            loops: Vec::new(),
            loop_count: 0,
            obligations: Vec::new(),
            problems: Vec::new(),
        };
        bodies.push(checker.function(function, signature));
        problems.append(&mut checker.problems);
    }
    if problems.is_empty() {
        Ok(Checked { signatures, bodies, elsewhere: unit.elsewhere.clone() })
    } else {
        Err(problems)
    }
}

/// Something that must hold of a type once it is known.
#[derive(Debug, Clone)]
enum Obligation {
    /// Numbers have arithmetic.
    Number(Ty),
    /// Signed and floating-point numbers have negatives.
    Negative(Ty),
    /// Integers and truth values have bits.
    Bits(Ty),
    Integer(Ty),
    /// An index.
    Index(Ty),
    /// The literal fits its type.
    Literal(Ty, i128),
}

/// A loop that is being checked.
struct LoopFrame {
    id: LoopId,
    label: Option<String>,
    /// What `break` gives; `None` in loops that give nothing.
    value: Option<Ty>,
}

pub(crate) struct Checker<'a> {
    signatures: &'a [Signature],
    role: Role,
    result: Option<Scalar>,
    constants: Constants,
    types: Inference,
    locals: Vec<Local>,
    scopes: Vec<FxHashMap<String, LocalId>>,
    loops: Vec<LoopFrame>,
    loop_count: u32,
    obligations: Vec<(Obligation, Extent)>,
    problems: Vec<Problem>,
}

impl Checker<'_> {
    fn function(&mut self, function: &syn::ItemFn, signature: &Signature) -> Body {
        let parameters: Vec<LocalId> =
            signature.parameters.iter().map(|p| self.declare(&p.name, p.ty.clone(), p.mutable)).collect();
        let block = self.block(&function.block);
        let end = Extent::at(function.block.brace_token.span.close());
        match (self.result, &block.1) {
            (Some(result), ty) => {
                let at = function.block.stmts.last().map_or(end, Extent::of);
                self.expect(&Ty::Scalar(result), &ty.clone(), at);
            }
            (None, ty) => {
                if let Some(value) = &block.0.value {
                    let (ty, extent) = (ty.clone(), value.extent);
                    self.expect(&Ty::Unit, &ty, extent);
                }
            }
        }
        self.discharge();
        let mut locals = std::mem::take(&mut self.locals);
        for local in &mut locals {
            local.ty = self.types.settle(&local.ty);
        }
        let mut block = block.0;
        settle::block(&mut block, &self.types);
        Body { locals, parameters, block, result: self.result, end }
    }

    /// Says that something is wrong.
    fn problem(&mut self, extent: Extent, message: impl Into<String>) {
        self.problems.push(Problem::new(extent, message));
    }

    /// Says that something is wrong with an expression, and stands in for it.
    fn wrong(&mut self, extent: Extent, message: impl Into<String>) -> Expression {
        self.problem(extent, message);
        Expression { kind: Kind::Wrong, ty: Ty::Wrong, extent }
    }

    fn declare(&mut self, name: &str, ty: Ty, mutable: bool) -> LocalId {
        let id = LocalId(self.locals.len() as u32);
        self.locals.push(Local { name: name.to_owned(), ty, mutable });
        if let Some(scope) = self.scopes.last_mut()
            && !name.is_empty()
        {
            scope.insert(name.to_owned(), id);
        }
        id
    }

    fn find(&self, name: &str) -> Option<LocalId> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    fn local(&self, id: LocalId) -> Option<&Local> {
        self.locals.get(id.0 as usize)
    }

    fn local_type(&self, id: LocalId) -> Ty {
        self.local(id).map_or(Ty::Wrong, |local| self.types.resolve(&local.ty))
    }

    /// Makes `found` the type that is wanted, or says that it is not.
    fn expect(&mut self, wanted: &Ty, found: &Ty, extent: Extent) -> bool {
        let fits = match (self.types.resolve(wanted), self.types.resolve(found)) {
            // `&mut` serves as `&`.
            (Ty::Slice(a, false), Ty::Slice(b, _)) | (Ty::Reference(a, false), Ty::Reference(b, _)) => {
                self.types.unify(&a, &b)
            }
            (a, b) => self.types.unify(&a, &b),
        };
        if !fits {
            let advice = self.conversion(wanted, found);
            let (wanted, found) = (self.types.show(wanted), self.types.show(found));
            self.problem(extent, format!("expected `{wanted}`, found `{found}`{advice}"));
        }
        fits
    }

    /// What to write where one number stands for another.
    fn conversion(&self, wanted: &Ty, found: &Ty) -> String {
        let (wanted, found) = (self.types.resolve(wanted), self.types.resolve(found));
        match (&wanted, &found) {
            (Ty::Scalar(to), Ty::Scalar(from)) if *to != Scalar::Bool && *from != Scalar::Bool => {
                format!("; convert it with `as {}`", to.name())
            }
            (Ty::Scalar(Scalar::Bool), _) => "; compare it, as in `x != 0`".into(),
            (Ty::Scalar(to), Ty::Variable(_)) if to.is_float() => {
                "; write the number with a point, as in `1.0`".into()
            }
            (Ty::Slice(_, true), Ty::Slice(_, false)) => "; take it as `&mut`".into(),
            (Ty::Slice(..), Ty::Array(..)) => "; borrow the array with `&`".into(),
            _ => String::new(),
        }
    }

    fn oblige(&mut self, obligation: Obligation, extent: Extent) {
        self.obligations.push((obligation, extent));
    }

    /// Looks at what must hold of types, now that all are known.
    fn discharge(&mut self) {
        let obligations = std::mem::take(&mut self.obligations);
        // A literal that is only an index is a `usize`.
        for (obligation, _) in &obligations {
            if let Obligation::Index(ty) = obligation
                && self.types.hint(ty) == Some(Hint::Integer)
            {
                self.types.unify(ty, &Ty::Scalar(Scalar::Usize));
            }
        }
        for (obligation, extent) in obligations {
            let (Obligation::Number(ty)
            | Obligation::Negative(ty)
            | Obligation::Bits(ty)
            | Obligation::Integer(ty)
            | Obligation::Index(ty)
            | Obligation::Literal(ty, _)) = &obligation;
            let known = self.types.settle(ty);
            if matches!(known, Ty::Wrong | Ty::Never) {
                continue;
            }
            let scalar = known.scalar();
            let message = match obligation {
                Obligation::Number(_) if scalar.is_none_or(|s| s == Scalar::Bool) => {
                    format!("`{known}` is not a number")
                }
                Obligation::Negative(_) if !scalar.is_some_and(|s| s.is_signed() || s.is_float()) => {
                    format!("`{known}` has no negatives; convert it to a signed type first")
                }
                Obligation::Bits(_) if scalar.is_none_or(Scalar::is_float) => {
                    format!("`{known}` has no bit operations; take its bits with `to_bits()`")
                }
                Obligation::Integer(_) if !scalar.is_some_and(Scalar::is_integer) => {
                    format!("an integer is needed here, this is `{known}`")
                }
                Obligation::Index(_) if !scalar.is_some_and(|s| s.is_integer() && !s.is_signed()) => {
                    format!("an index is an unsigned integer, this is `{known}`; write `as usize`")
                }
                Obligation::Literal(_, number) => match scalar {
                    Some(scalar) if scalar.is_integer() => {
                        let (least, greatest) = scalar.range();
                        if (least..=greatest).contains(&number) {
                            continue;
                        }
                        format!("{number} is out of range for `{known}`")
                    }
                    _ => continue,
                },
                _ => continue,
            };
            self.problem(extent, message);
        }
    }

    /// A block in a scope of its own, with its type.
    fn block(&mut self, block: &syn::Block) -> (Block, Ty) {
        self.scopes.push(FxHashMap::default());
        let constants = self.constants.clone();
        let result = self.statements(&block.stmts);
        self.constants = constants;
        self.scopes.pop();
        result
    }
}

/// Puts the settled types into a tree.
mod settle;

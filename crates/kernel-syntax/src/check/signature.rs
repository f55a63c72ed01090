//! Parameters, results and the types in them.

use syn::spanned::Spanned;

use super::constant::{self, Constants};
use crate::extent::Extent;
use crate::problem::Problem;
use crate::types::{Scalar, Ty};
use crate::unit::Role;

/// A function as its callers see it.
#[derive(Debug, Clone)]
pub(crate) struct Signature {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) result: Option<Scalar>,
}

/// A formal parameter.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) ty: Ty,
    pub(crate) mutable: bool,
}

const FORMS: &str = "kernels take `Space`, numbers, `bool`, and slices such as `&[f32]`, `&mut [u32]` and \
                     `&[Atomic<u32>]`";

/// Reads a function's header.
pub(crate) fn signature(
    role: Role,
    function: &syn::ItemFn,
    constants: &Constants,
    problems: &mut Vec<Problem>,
) -> Signature {
    let header = &function.sig;
    let mut refuse = |span: proc_macro2::Span, message: &str| {
        problems.push(Problem::new(Extent::at(span), message));
    };
    if let Some(token) = &header.asyncness {
        refuse(token.span, "a kernel cannot be `async`; launches already run beside the host");
    }
    if let Some(token) = &header.unsafety {
        refuse(token.span, "a kernel cannot be `unsafe`; every access of a kernel is checked");
    }
    if let Some(abi) = &header.abi {
        refuse(abi.span(), "a kernel has no calling convention of its own; leave `extern` out");
    }
    if !header.generics.params.is_empty() {
        refuse(
            header.generics.span(),
            "kernels and their helpers are not generic; write one function for each type that is needed",
        );
    }
    let mut parameters = Vec::new();
    for input in &header.inputs {
        match parameter(input, role, constants) {
            Ok(parameter) => parameters.push(parameter),
            Err(problem) => {
                problems.push(problem);
                parameters.push(Parameter { name: String::new(), ty: Ty::Wrong, mutable: false });
            }
        }
    }
    if role == Role::Kernel && parameters.first().is_none_or(|p| !matches!(p.ty, Ty::Space | Ty::Wrong)) {
        let message = "a kernel's first parameter tells each cell where it is; write `space: Space`";
        problems.push(Problem::new(Extent::at(header.ident.span()), message));
    }
    let result = match &header.output {
        syn::ReturnType::Default => None,
        syn::ReturnType::Type(_, ty) => match (role, read(ty, constants)) {
            (_, Ok(Ty::Unit)) => None,
            (Role::Device, Ok(Ty::Scalar(scalar))) => Some(scalar),
            (Role::Device, Ok(_)) => {
                problems.push(Problem::new(
                    Extent::of(ty),
                    "a helper gives a number or a truth value back; write other results through `&mut` parameters",
                ));
                None
            }
            (Role::Kernel, _) => {
                problems.push(Problem::new(
                    Extent::of(ty),
                    "a kernel gives nothing back; write results to a `&mut [T]` parameter",
                ));
                None
            }
            (_, Err(problem)) => {
                problems.push(problem);
                None
            }
        },
    };
    Signature { name: header.ident.to_string(), role, parameters, result }
}

impl Signature {
    /// Its type, where it can be handed to another helper.
    pub(crate) fn function(&self) -> Option<Ty> {
        let parameters = self.parameters.iter().map(|p| p.ty.scalar()).collect::<Option<_>>()?;
        (self.role == Role::Device).then_some(Ty::Function(parameters, self.result?))
    }
}

fn parameter(input: &syn::FnArg, role: Role, constants: &Constants) -> Result<Parameter, Problem> {
    let syn::FnArg::Typed(typed) = input else {
        return Err(Problem::new(Extent::of(input), "a kernel is no method; name the parameter"));
    };
    let syn::Pat::Ident(name) = &*typed.pat else {
        return Err(Problem::new(Extent::of(&typed.pat), "write a plain name for the parameter"));
    };
    let ty = read(&typed.ty, constants)?;
    let fits = match (&ty, role) {
        (Ty::Space | Ty::Scalar(_), _) => true,
        (Ty::Slice(element, _), _) => matches!(element.innermost(), Ty::Scalar(_) | Ty::Atomic(_)),
        (Ty::Reference(to, _), Role::Device) => matches!(**to, Ty::Scalar(_) | Ty::Atomic(_)),
        (Ty::Function(..), Role::Device) => true,
        _ => false,
    };
    if !fits {
        return Err(Problem::new(Extent::of(&typed.ty), format!("a kernel cannot take `{ty}`; {FORMS}")));
    }
    Ok(Parameter { name: name.ident.to_string(), ty, mutable: name.mutability.is_some() })
}

/// Reads a type.
pub(crate) fn read(ty: &syn::Type, constants: &Constants) -> Result<Ty, Problem> {
    match ty {
        syn::Type::Paren(inner) => read(&inner.elem, constants),
        syn::Type::Group(inner) => read(&inner.elem, constants),
        syn::Type::Tuple(tuple) if tuple.elems.is_empty() => Ok(Ty::Unit),
        syn::Type::Never(_) => Ok(Ty::Never),
        syn::Type::Path(path) => named(path),
        syn::Type::Array(array) => {
            let element = read(&array.elem, constants)?;
            Ok(Ty::Array(Box::new(element), constant::length(&array.len, constants)?))
        }
        syn::Type::Reference(reference) => {
            let mutable = reference.mutability.is_some();
            Ok(match &*reference.elem {
                syn::Type::Slice(slice) => Ty::Slice(Box::new(read(&slice.elem, constants)?), mutable),
                other => match read(other, constants)? {
                    Ty::Array(element, _) => Ty::Slice(element, mutable),
                    to => Ty::Reference(Box::new(to), mutable),
                },
            })
        }
        syn::Type::BareFn(function) => function_type(function, constants),
        other => Err(Problem::new(Extent::of(other), format!("this type is not for kernels; {FORMS}"))),
    }
}

/// `fn(u32, u32) -> u32`
fn function_type(function: &syn::TypeBareFn, constants: &Constants) -> Result<Ty, Problem> {
    let number = |ty: &syn::Type| match read(ty, constants)? {
        Ty::Scalar(scalar) => Ok(scalar),
        other => Err(Problem::new(
            Extent::of(ty),
            format!("a function that is handed on takes numbers and gives one, not `{other}`"),
        )),
    };
    let parameters = function.inputs.iter().map(|input| number(&input.ty)).collect::<Result<_, _>>()?;
    match &function.output {
        syn::ReturnType::Type(_, ty) => Ok(Ty::Function(parameters, number(ty)?)),
        syn::ReturnType::Default => Err(Problem::new(
            Extent::of(function),
            "a function that is handed on gives a number, as in `fn(u32) -> u32`",
        )),
    }
}

fn named(path: &syn::TypePath) -> Result<Ty, Problem> {
    let unknown = || {
        let shown = path.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
        Problem::new(Extent::of(path), format!("`{shown}` is no type of kernels; {FORMS}"))
    };
    let last = path.path.segments.last().ok_or_else(unknown)?;
    let name = last.ident.to_string();
    if name == "Atomic"
        && let syn::PathArguments::AngleBracketed(arguments) = &last.arguments
        && let Some(syn::GenericArgument::Type(syn::Type::Path(inner))) = arguments.args.first()
    {
        return match named(inner)? {
            Ty::Scalar(scalar) if scalar.bits() >= 32 => Ok(Ty::Atomic(scalar)),
            other => Err(Problem::new(
                Extent::of(inner),
                format!(
                    "there are no atomics of `{other}`; use a type of 32 or 64 bits, such as `Atomic<u32>`"
                ),
            )),
        };
    }
    match name.as_str() {
        "Space" => Ok(Ty::Space),
        _ => Scalar::find(&name).map(Ty::Scalar).ok_or_else(unknown),
    }
}

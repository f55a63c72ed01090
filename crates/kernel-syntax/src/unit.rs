//! Finding kernels and their helpers in a source file.

use syn::spanned::Spanned;

/// Functions that know each other: a kernel by itself, or all of a `#[kernels] mod`.
#[derive(Debug, Clone, Default)]
pub struct Unit {
    pub(crate) functions: Vec<(Role, syn::ItemFn)>,
    /// Where functions stand that came from elsewhere: files, with the line that line 1 stands for, and the first function.
    pub(crate) elsewhere: Vec<Elsewhere>,
    pub(crate) constants: Vec<syn::ItemConst>,
    pub(crate) problems: Vec<crate::Problem>,
}

/// Helpers of another file.
#[derive(Debug, Clone)]
pub(crate) struct Elsewhere {
    /// The functions from this one on.
    pub(crate) first: usize,
    pub(crate) file: String,
    pub(crate) first_line: u32,
}

/// What a function is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Launched from the host.
    Kernel,
    /// Called from kernels.
    Device,
}

impl Unit {
    /// A `#[kernel]` function by itself.
    pub fn of_kernel(function: syn::ItemFn) -> Unit {
        Unit { functions: vec![(Role::Kernel, function)], ..Unit::default() }
    }

    /// A `#[kernels]` module: its kernels, its `#[device]` functions and its constants.
    pub fn of_module(module: &syn::ItemMod) -> Unit {
        let mut unit = Unit::default();
        for item in module.content.iter().flat_map(|(_, items)| items) {
            match item {
                syn::Item::Fn(function) => match role(&function.attrs) {
                    Some(role) => unit.functions.push((role, function.clone())),
                    None => unit.problem(
                        function.sig.ident.span(),
                        "this function is neither kernel nor helper; mark it `#[kernel]` or `#[device]`, or move \
                         it out of the `#[kernels]` module",
                    ),
                },
                syn::Item::Const(constant) => unit.constants.push(constant.clone()),
                syn::Item::Use(_) => {}
                other => unit.problem(
                    other.span(),
                    "a `#[kernels]` module holds `#[kernel]` and `#[device]` functions, constants and `use`; \
                     move this out of it",
                ),
            }
        }
        unit
    }

    /// Adds the helpers and constants of another module, which stands in a file with its line 1 on a line of it.
    #[must_use]
    pub fn with(mut self, module: &syn::ItemMod, file: &str, first_line: u32) -> Unit {
        let other = Unit::of_module(module);
        let first = self.functions.len();
        self.elsewhere.push(Elsewhere { first, file: file.to_owned(), first_line });
        for (_, function) in other.functions.into_iter().filter(|(role, _)| *role == Role::Device) {
            let name = &function.sig.ident;
            if let Some((_, own)) = self.functions.iter().find(|(_, known)| known.sig.ident == *name) {
                let message = format!(
                    "`{name}` is a helper of another module that is brought in, too; give it another name"
                );
                self.problems.push(crate::Problem::new(crate::Extent::at(own.sig.ident.span()), message));
            }
            self.functions.push((Role::Device, function));
        }
        // Own constants come last, and hide those of the same name.
        self.constants.splice(0..0, other.constants);
        self
    }

    fn problem(&mut self, span: proc_macro2::Span, message: &str) {
        self.problems.push(crate::Problem::new(crate::Extent::at(span), message));
    }

    /// The units of a source file, in the order of the text; modules within the file are looked into.
    pub fn all(file: &syn::File) -> Vec<Unit> {
        let mut units = Vec::new();
        collect(&file.items, &mut units);
        units
    }

    /// The kernels' names with their functions.
    pub fn kernels(&self) -> impl Iterator<Item = &syn::ItemFn> {
        self.functions.iter().filter(|(role, _)| *role == Role::Kernel).map(|(_, function)| function)
    }
}

fn collect(items: &[syn::Item], units: &mut Vec<Unit>) {
    for item in items {
        match item {
            syn::Item::Fn(function) if role(&function.attrs) == Some(Role::Kernel) => {
                units.push(Unit::of_kernel(function.clone()));
            }
            syn::Item::Mod(module) if has(&module.attrs, "kernels") => units.push(Unit::of_module(module)),
            syn::Item::Mod(syn::ItemMod { content: Some((_, items)), .. }) => collect(items, units),
            _ => {}
        }
    }
}

fn role(attributes: &[syn::Attribute]) -> Option<Role> {
    if has(attributes, "kernel") {
        Some(Role::Kernel)
    } else if has(attributes, "device") {
        Some(Role::Device)
    } else {
        None
    }
}

/// Whether there is an attribute of this name, with or without a path before it.
fn has(attributes: &[syn::Attribute], name: &str) -> bool {
    attributes.iter().any(|a| a.path().segments.last().is_some_and(|segment| segment.ident == name))
}

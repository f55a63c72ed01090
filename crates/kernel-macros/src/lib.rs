//! The attributes `kernel`, `kernels` and `device`; use them through `standstill_kernel`.
//!
//! Belongs here: turning what the check found into errors of the compiler, and writing launchers.
//! Does not belong here: which Rust is a kernel, the rules, running anything.

mod diagnostics;
mod helpers;
mod launcher;

use proc_macro::TokenStream;
use standstill_kernel_syntax::{Unit, lower};

use helpers::{Gathered, Helpers};

/// Makes a function a kernel, checked while it compiles, and gives it a launcher: `name::launch(&device, grid, tile,
/// arguments…)`.
///
/// The first parameter is the `Space`; the others are numbers, `bool`, and slices, which become buffers of the device.
/// Helpers of a kernel stand beside it in a module marked [`macro@kernels`].
#[proc_macro_attribute]
pub fn kernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if let Some(first) = proc_macro2::TokenStream::from(arguments).into_iter().next() {
        let message = "the attribute takes no arguments; the shape of a launch is given to `launch`";
        return syn::Error::new(first.span(), message).to_compile_error().into();
    }
    let tokens = proc_macro2::TokenStream::from(item);
    given(syn::parse2(tokens.clone()).map(|function: syn::ItemFn| {
        let unit = Unit::of_kernel(function.clone());
        expand(unit, &Shell::Function(Box::new(function)), &tokens, &[])
    }))
}

/// Makes a module of kernels, their helpers (marked `#[device]`) and constants.
///
/// `#[kernels(export)] pub mod m` publishes the helpers and constants of `m`: a module of another crate brings them in
/// with `#[kernels(with(that_crate::m))]`, and calls them like its own.
#[proc_macro_attribute]
pub fn kernels(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let left = match syn::parse(arguments) {
        Ok(left) => left,
        Err(error) => return error.to_compile_error().into(),
    };
    gathered(&Gathered { helpers: Vec::new(), left, module: item.into() })
}

/// A module with helpers of others; what `#[kernels(with(…))]` becomes on the way.
#[doc(hidden)]
#[proc_macro]
pub fn kernels_with(input: TokenStream) -> TokenStream {
    let all = syn::parse_macro_input!(input as Gathered);
    gathered(&all)
}

fn gathered(it: &Gathered) -> TokenStream {
    given(it.next().map_or_else(|| module(it), Ok))
}

fn module(it: &Gathered) -> syn::Result<proc_macro2::TokenStream> {
    let module: syn::ItemMod = syn::parse2(it.module.clone())?;
    if module.content.is_none() {
        let message = "a `#[kernels]` module stands in this file; write its items in braces";
        return Err(syn::Error::new_spanned(&module, message));
    }
    let file = file_of(&it.module);
    let exported = it.left.export.then(|| helpers::export(&module, &it.module, &file));
    let mut unit = Unit::of_module(&module);
    for helpers in &it.helpers {
        unit = helpers.add_to(unit, &file)?;
    }
    let shell = Shell::Module { module, exported: it.left.export };
    let expanded = expand(unit, &shell, &it.module, &it.helpers);
    Ok(quote::quote!(#expanded #exported))
}

fn given(expanded: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Marks a helper of kernels. It has a meaning inside a module marked [`macro@kernels`] only.
#[proc_macro_attribute]
pub fn device(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    let function = syn::parse_macro_input!(item as syn::ItemFn);
    let message = "a `#[device]` function stands in a `#[kernels] mod`, beside the kernels that call it";
    syn::Error::new_spanned(&function.sig.ident, message).to_compile_error().into()
}

/// What the attribute stood on.
enum Shell {
    Function(Box<syn::ItemFn>),
    Module { module: syn::ItemMod, exported: bool },
}

fn expand(
    unit: Unit,
    shell: &Shell,
    tokens: &proc_macro2::TokenStream,
    helpers: &[Helpers],
) -> proc_macro2::TokenStream {
    let file = file_of(tokens);
    let (errors, made) = match lower(&unit, &file, 1) {
        Ok(lowered) => (diagnostics::of_findings(&lowered, &file), Some(lowered)),
        Err(problems) => (diagnostics::of_problems(&problems), None),
    };
    let launchers = launcher::write(&unit, shell, made.as_ref(), tokens, &file, helpers);
    quote::quote!(#errors #launchers)
}

/// The file that the tokens stand in, as the compiler names it.
fn file_of(tokens: &proc_macro2::TokenStream) -> String {
    let first = tokens.clone().into_iter().next().map(|token| token.span());
    first.map_or_else(|| "kernel.rs".to_owned(), |span| span.file())
}

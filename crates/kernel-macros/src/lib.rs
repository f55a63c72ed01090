//! The attributes `kernel`, `kernels` and `device`; use them through `standstill_kernel`.
//!
//! Belongs here: turning what the check found into errors of the compiler, and writing launchers.
//! Does not belong here: which Rust is a kernel, the rules, running anything.

mod diagnostics;
mod launcher;

use proc_macro::TokenStream;
use standstill_kernel_syntax::{Unit, lower};

/// Makes a function a kernel, checked while it compiles, and gives it a launcher: `name::launch(&device, grid, tile,
/// arguments…)`.
///
/// The first parameter is the `Space`; the others are numbers, `bool`, and slices, which become buffers of the device.
/// Helpers of a kernel stand beside it in a module marked [`macro@kernels`].
#[proc_macro_attribute]
pub fn kernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(arguments, item, |tokens| {
        let function: syn::ItemFn = syn::parse2(tokens.clone())?;
        let unit = Unit::of_kernel(function.clone());
        Ok((unit, Shell::Function(Box::new(function))))
    })
}

/// Makes a module of kernels, their helpers (marked `#[device]`) and constants.
#[proc_macro_attribute]
pub fn kernels(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(arguments, item, |tokens| {
        let module: syn::ItemMod = syn::parse2(tokens.clone())?;
        if module.content.is_none() {
            let message = "a `#[kernels]` module stands in this file; write its items in braces";
            return Err(syn::Error::new_spanned(&module, message));
        }
        Ok((Unit::of_module(&module), Shell::Module(module)))
    })
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
    Module(syn::ItemMod),
}

fn expand(
    arguments: TokenStream,
    item: TokenStream,
    read: impl Fn(&proc_macro2::TokenStream) -> syn::Result<(Unit, Shell)>,
) -> TokenStream {
    let tokens = proc_macro2::TokenStream::from(item);
    if let Some(first) = proc_macro2::TokenStream::from(arguments).into_iter().next() {
        let message = "the attribute takes no arguments; the shape of a launch is given to `launch`";
        return syn::Error::new(first.span(), message).to_compile_error().into();
    }
    let (unit, shell) = match read(&tokens) {
        Ok(read) => read,
        Err(error) => return error.to_compile_error().into(),
    };
    let file = file_of(&tokens);
    let (errors, made) = match lower(&unit, &file, 1) {
        Ok(lowered) => (diagnostics::of_findings(&lowered, &file), Some(lowered)),
        Err(problems) => (diagnostics::of_problems(&problems), None),
    };
    let launchers = launcher::write(&unit, &shell, made.as_ref(), &tokens, &file);
    quote::quote!(#errors #launchers).into()
}

/// The file that the tokens stand in, as the compiler names it.
fn file_of(tokens: &proc_macro2::TokenStream) -> String {
    let first = tokens.clone().into_iter().next().map(|token| token.span());
    first.map_or_else(|| "kernel.rs".to_owned(), |span| span.file())
}

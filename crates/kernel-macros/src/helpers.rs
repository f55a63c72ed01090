//! Helpers that kernels of other crates can call.
//!
//! A module with `export` becomes a macro that hands its text on; a module with `with(…)` calls these macros one after
//! the other, and is expanded with all that they gave. Nothing but text goes from one crate to another, so that helpers
//! are checked again in every kernel that calls them.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use standstill_kernel_syntax::{Unit, rebuilt};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Token, bracketed, parenthesized};

/// The helpers of a module: its file, its first line there, and its text.
pub(crate) struct Helpers {
    file: syn::LitStr,
    first_line: syn::LitInt,
    text: syn::LitStr,
}

impl Parse for Helpers {
    fn parse(input: ParseStream<'_>) -> syn::Result<Helpers> {
        let inside;
        parenthesized!(inside in input);
        let file = inside.parse()?;
        inside.parse::<Token![,]>()?;
        let first_line = inside.parse()?;
        inside.parse::<Token![,]>()?;
        Ok(Helpers { file, first_line, text: inside.parse()? })
    }
}

impl ToTokens for Helpers {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Helpers { file, first_line, text } = self;
        tokens.extend(quote!((#file, #first_line, #text)));
    }
}

impl Helpers {
    /// Adds them to a unit. While it compiles, their places are not known: they count as the place of the attribute.
    pub(crate) fn add_to(&self, unit: Unit, file: &str) -> syn::Result<Unit> {
        let module: syn::ItemMod = syn::parse_str(&self.text.value())?;
        Ok(unit.with(&module, file, 1))
    }
}

/// What stands behind `kernels` in the attribute.
#[derive(Default)]
pub(crate) struct Arguments {
    /// `with(path, …)`
    with: Vec<syn::Path>,
    /// `export`
    pub(crate) export: bool,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Arguments> {
        let mut arguments = Arguments::default();
        while !input.is_empty() {
            let word: syn::Ident = input.parse()?;
            if word == "export" {
                arguments.export = true;
            } else if word == "with" {
                let inside;
                parenthesized!(inside in input);
                let paths = Punctuated::<syn::Path, Token![,]>::parse_terminated(&inside)?;
                arguments.with.extend(paths);
            } else {
                let message = "write `with(path::of::helpers)`, or `export`; the shape of a launch is given to `launch`";
                return Err(syn::Error::new(word.span(), message));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(arguments)
    }
}

/// A module on its way: helpers that are there, attribute arguments that are left, and the module.
pub(crate) struct Gathered {
    pub(crate) helpers: Vec<Helpers>,
    pub(crate) left: Arguments,
    pub(crate) module: TokenStream,
}

impl Parse for Gathered {
    fn parse(input: ParseStream<'_>) -> syn::Result<Gathered> {
        let newest = input.parse()?;
        let (before, left);
        bracketed!(before in input);
        let mut helpers: Vec<Helpers> =
            Punctuated::<Helpers, Token![,]>::parse_terminated(&before)?.into_iter().collect();
        helpers.push(newest);
        bracketed!(left in input);
        Ok(Gathered { helpers, left: left.parse()?, module: input.parse()? })
    }
}

impl Gathered {
    /// The call of the macro that gives the next helpers; `None` when all are there.
    pub(crate) fn next(&self) -> Option<TokenStream> {
        let (next, rest) = self.left.with.split_first()?;
        let (helpers, module) = (&self.helpers, &self.module);
        let export = self.left.export.then(|| quote!(export));
        Some(quote!(#next! { [#(#helpers),*] [with(#(#rest),*), #export] #module }))
    }
}

/// The macro that hands on the helpers of a module.
pub(crate) fn export(module: &syn::ItemMod, tokens: &TokenStream, file: &str) -> TokenStream {
    let name = &module.ident;
    let (text, first_line) = rebuilt(tokens.clone());
    let documentation =
        format!("Brings the helpers of [`mod@{name}`] into a module of kernels: `#[kernels(with({name}))]`.");
    quote! {
        #[doc = #documentation]
        #[macro_export]
        macro_rules! #name {
            ($($rest:tt)*) => { ::standstill_kernel::kernels_with! { (#file, #first_line, #text) $($rest)* } };
        }
    }
}

/// The helpers of a module as its documentation.
pub(crate) fn documentation(module: &syn::ItemMod) -> TokenStream {
    let functions = module.content.iter().flat_map(|(_, items)| items).filter_map(|item| match item {
        syn::Item::Fn(function) => Some(function),
        _ => None,
    });
    functions
        .flat_map(|function| {
            let header = format!(
                "\n# `{}`\n\n```text\n{}\n```\n",
                function.sig.ident,
                rebuilt(function.sig.to_token_stream()).0
            );
            let words = function.attrs.iter().filter(|a| a.path().is_ident("doc"));
            quote!(#[doc = #header] #(#words)*)
        })
        .collect()
}

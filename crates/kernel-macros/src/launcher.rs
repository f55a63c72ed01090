//! Launchers: what a kernel becomes on the host.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use standstill_kernel_syntax::{Kernel, Lowered, Ty, Unit, rebuilt};

use crate::Shell;
use crate::helpers::{Helpers, documentation};

/// The module that a kernel becomes, for each kernel; in their module, when they stand in one.
pub(crate) fn write(
    unit: &Unit,
    shell: &Shell,
    made: Option<&Lowered>,
    tokens: &TokenStream,
    file: &str,
    helpers: &[Helpers],
) -> TokenStream {
    let (text, first_line) = rebuilt(tokens.clone());
    let is_module = matches!(shell, Shell::Module { .. });
    let source = quote! {
        #[doc(hidden)]
        #[allow(dead_code)]
        pub(super) static SOURCE: ::standstill_kernel::launch::Source =
            ::standstill_kernel::launch::Source::new(#file, #first_line, #text, #is_module).with(&[#(#helpers),*]);
    };
    let kernels = unit.kernels().map(|function| {
        let made = made.and_then(|lowered| lowered.program.kernel(&function.sig.ident.to_string()));
        kernel(function, made, is_module)
    });
    match shell {
        Shell::Function(function) => {
            let name = format_ident!("__standstill_{}", function.sig.ident, span = Span::mixed_site());
            let kernels = kernels.collect::<TokenStream>();
            quote!(#[doc(hidden)] #[allow(non_snake_case)] mod #name { #source } #kernels)
        }
        Shell::Module { module, exported } => {
            let documentation = exported.then(|| documentation(module));
            let (attributes, visibility, name) = (&module.attrs, &module.vis, &module.ident);
            let attributes = attributes.iter().filter(|a| !a.path().is_ident("kernels"));
            let uses = module.content.iter().flat_map(|(_, items)| items).filter_map(|item| match item {
                syn::Item::Use(it) => Some(quote!(#[allow(unused_imports)] #it)),
                // A constant may serve the host, too.
                syn::Item::Const(it) => Some(quote!(#[allow(dead_code)] #it)),
                _ => None,
            });
            quote! {
                #(#attributes)* #documentation #visibility mod #name {
                    #(#uses)*
                    #[doc(hidden)]
                    mod __standstill { #source }
                    #(#kernels)*
                }
            }
        }
    }
}

fn kernel(function: &syn::ItemFn, made: Option<&Kernel>, is_module: bool) -> TokenStream {
    let (visibility, name) = (&function.vis, &function.sig.ident);
    let documentation =
        function.attrs.iter().filter(|a| a.path().is_ident("doc") || a.path().is_ident("cfg"));
    let documentation: Vec<_> = documentation.collect();
    // The types as they are written are the user's names, which must be in scope.
    let types = function.sig.inputs.iter().filter_map(|input| match input {
        syn::FnArg::Typed(typed) => Some(&typed.ty),
        syn::FnArg::Receiver(_) => None,
    });
    let types = quote! {
        const _: ::core::option::Option<fn(#(#types),*)> = ::core::option::Option::None;
    };
    let parameters = made.map(|kernel| kernel.parameters.as_slice()).unwrap_or_default();
    let names: Vec<Ident> =
        parameters.iter().map(|(name, _)| Ident::new(name, name.span_in(function))).collect();
    let formal = names.iter().zip(parameters).map(|(name, (_, ty))| {
        let ty = formal(ty);
        quote!(#name: #ty)
    });
    let actual = names.iter().zip(parameters).map(|(name, (_, ty))| match ty {
        Ty::Slice(element, mutable) => {
            let how = match (&**element, mutable) {
                (Ty::Atomic(_), _) => quote!(.updated()),
                (_, true) => quote!(.written()),
                _ => quote!(),
            };
            quote!(::standstill_kernel::launch::Argument::buffer(#name)#how)
        }
        _ => quote!(::standstill_kernel::launch::Argument::number(#name)),
    });
    // A kernel with errors keeps its launcher, so that its callers are not told about it once more.
    let actual: Vec<TokenStream> = actual.collect();
    let (body, together, launch_on, explore, ptx) = if made.is_some() {
        let source = if is_module {
            quote!(super::__standstill::SOURCE)
        } else {
            let hidden = format_ident!("__standstill_{}", name, span = Span::mixed_site());
            quote!(super::#hidden::SOURCE)
        };
        let text = name.to_string();
        let launch = |together: bool| {
            quote!(::standstill_kernel::launch::launch(
                __device, &#source, #text, __grid.into(), __tile.into(), #together, &[#(#actual),*],
            ))
        };
        let launch_on = quote!(::standstill_kernel::launch::launch_on(
            __stream, &#source, #text, __grid.into(), __tile.into(), &[#(#actual),*],
        ));
        let explore = quote!(::standstill_kernel::explore::explore(
            &#source, #text, __grid.into(), __tile.into(), __expected, &[#(#actual),*],
        ));
        let ptx = quote!(::standstill_kernel::launch::ptx(&#source, #text, __target));
        (launch(false), launch(true), launch_on, explore, ptx)
    } else {
        let never = || quote!(::core::unreachable!());
        (never(), never(), never(), never(), never())
    };
    let text = format!("Launches the kernel `{name}` and waits for its end.");
    let submitted = format!("Launches the kernel `{name}` in the order of a stream.");
    let explained = format!("Tries all interleavings of a small launch of the kernel `{name}`.");
    let formal = if made.is_some() { quote!(#(#formal),*) } else { quote!() };
    let allow = if made.is_some() { quote!() } else { quote!(#[allow(unused_variables)]) };
    quote! {
        #types
        #(#documentation)*
        #[allow(dead_code, non_snake_case)]
        #visibility mod #name {
            #[doc = #text]
            ///
            /// # Errors
            /// What the device refuses, and what was found while the kernel ran.
            #[allow(clippy::too_many_arguments)]
            #[track_caller]
            #allow
            pub fn launch(
                __device: &::standstill_kernel::Device,
                __grid: impl ::core::convert::Into<::standstill_kernel::Grid>,
                __tile: impl ::core::convert::Into<::standstill_kernel::Tile>,
                #formal
            ) -> ::core::result::Result<::standstill_kernel::Launched, ::standstill_kernel::LaunchError> {
                #body
            }

            /// As `launch`, for a kernel whose tiles wait for each other: a launch whose tiles cannot all be on the device at
            /// once is refused.
            ///
            /// # Errors
            /// As `launch`.
            #[allow(clippy::too_many_arguments)]
            #[track_caller]
            #allow
            pub fn launch_together(
                __device: &::standstill_kernel::Device,
                __grid: impl ::core::convert::Into<::standstill_kernel::Grid>,
                __tile: impl ::core::convert::Into<::standstill_kernel::Tile>,
                #formal
            ) -> ::core::result::Result<::standstill_kernel::Launched, ::standstill_kernel::LaunchError> {
                #together
            }

            #[doc = #submitted]
            ///
            /// # Errors
            /// What the device refuses; on the software GPU what was found, and what no event orders.
            #[allow(clippy::too_many_arguments)]
            #[track_caller]
            #allow
            pub fn launch_on(
                __stream: &::standstill_kernel::Stream,
                __grid: impl ::core::convert::Into<::standstill_kernel::Grid>,
                __tile: impl ::core::convert::Into<::standstill_kernel::Tile>,
                #formal
            ) -> ::core::result::Result<::standstill_kernel::Launched, ::standstill_kernel::LaunchError> {
                #launch_on
            }

            #[doc = #explained]
            /// `expected` is a condition on buffers at the end, such as `acc[0] == 210`; it may be empty. The buffers stay as they are.
            ///
            /// # Errors
            /// What is no launch, or no condition. What is found is not an error of this call.
            #[allow(clippy::too_many_arguments)]
            #allow
            pub fn explore(
                __grid: impl ::core::convert::Into<::standstill_kernel::Grid>,
                __tile: impl ::core::convert::Into<::standstill_kernel::Tile>,
                __expected: &str,
                #formal
            ) -> ::core::result::Result<::standstill_kernel::Explored, ::standstill_kernel::LaunchError> {
                #explore
            }

            /// The kernel as PTX for a target such as `sm_90`, with the others of its module.
            ///
            /// # Errors
            /// What PTX has no words for.
            #allow
            pub fn ptx(
                __target: &str,
            ) -> ::core::result::Result<::std::string::String, ::standstill_kernel::LaunchError> {
                #ptx
            }
        }
    }
}

/// Gives the span of a parameter's name.
trait SpanIn {
    fn span_in(&self, function: &syn::ItemFn) -> Span;
}

impl SpanIn for String {
    fn span_in(&self, function: &syn::ItemFn) -> Span {
        let names = function.sig.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Typed(typed) => match &*typed.pat {
                syn::Pat::Ident(name) => Some(&name.ident),
                _ => None,
            },
            syn::FnArg::Receiver(_) => None,
        });
        names.into_iter().find(|name| *name == self).map_or_else(Span::call_site, Ident::span)
    }
}

/// The type of a parameter on the host.
fn formal(ty: &Ty) -> TokenStream {
    match ty {
        Ty::Slice(element, mutable) => {
            let element = element_type(element);
            let mutable = mutable.then(|| quote!(mut));
            quote!(&#mutable ::standstill_kernel::Buffer<#element>)
        }
        other => element_type(other),
    }
}

fn element_type(ty: &Ty) -> TokenStream {
    match ty {
        Ty::Scalar(scalar) | Ty::Atomic(scalar) => {
            let name = Ident::new(scalar.name(), Span::call_site());
            quote!(#name)
        }
        Ty::Array(element, length) => {
            let element = element_type(element);
            let length = usize::try_from(*length).unwrap_or(usize::MAX);
            quote!([#element; #length])
        }
        _ => quote!(()),
    }
}

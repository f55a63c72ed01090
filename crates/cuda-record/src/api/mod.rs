//! The functions that are wrapped, by what they are about.

pub mod copies;
mod events;
mod graphs;
mod launches;
mod memory;
mod names;
pub mod sets;
mod streams;
pub mod values;

use crate::real::Wrapped;

/// All wrapped functions.
pub fn wrapped() -> impl Iterator<Item = &'static Wrapped> + Clone {
    let tables = [
        copies::WRAPPED,
        copies::WRAPPED_BOTH,
        events::WRAPPED,
        events::WRAPPED_BOTH,
        graphs::WRAPPED,
        graphs::WRAPPED_BOTH,
        launches::WRAPPED_BOTH,
        memory::WRAPPED,
        memory::WRAPPED_BOTH,
        names::WRAPPED,
        sets::WRAPPED_BOTH,
        streams::WRAPPED,
        streams::WRAPPED_BOTH,
        values::WRAPPED_BOTH,
    ];
    tables.into_iter().flatten()
}

/// Exports functions under the driver's names. In a body, the name between the bars calls the driver's function with
/// the arguments that the program gave.
macro_rules! wrap {
    ($(fn $name:ident($($argument:ident: $ty:ty),* $(,)?) |$call:ident| $body:block)*) => {
        #[allow(non_upper_case_globals, reason = "named like the functions")]
        mod real_functions {
            $(pub static $name: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);)*
        }
        pub static WRAPPED: &[crate::real::Wrapped] = &[$(crate::real::Wrapped {
            name: stringify!($name),
            wrapper: $name as *const std::ffi::c_void,
            real: &real_functions::$name,
        }),*];
        $(crate::api::one! { $name($($argument: $ty),*) real_functions |$call| $body })*
    };
}

/// As [`wrap`], for functions that exist twice: the name for the legacy default stream and the name for the thread's
/// own. The name in brackets says which was called.
macro_rules! wrap_both {
    ($(fn $name:ident / $other:ident($($argument:ident: $ty:ty),* $(,)?) [$default:ident] |$call:ident| $body:block)*) => {
        #[allow(non_upper_case_globals, reason = "named like the functions")]
        mod real_functions_of_both {
            $(
                pub static $name: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
                pub static $other: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
            )*
        }
        pub static WRAPPED_BOTH: &[crate::real::Wrapped] = &[$(
            crate::real::Wrapped {
                name: stringify!($name),
                wrapper: $name as *const std::ffi::c_void,
                real: &real_functions_of_both::$name,
            },
            crate::real::Wrapped {
                name: stringify!($other),
                wrapper: $other as *const std::ffi::c_void,
                real: &real_functions_of_both::$other,
            },
        )*];
        $(
            crate::api::one! { $name($($argument: $ty),*) real_functions_of_both |$call| {
                let $default = crate::streams::Default::Legacy;
                $body
            } }
            crate::api::one! { $other($($argument: $ty),*) real_functions_of_both |$call| {
                let $default = crate::streams::Default::PerThread;
                $body
            } }
        )*
    };
}

macro_rules! one {
    ($name:ident($($argument:ident: $ty:ty),*) $slots:ident |$call:ident| $body:block) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $ty),*) -> std::ffi::c_int {
            let Some(real) = crate::real::function(&$slots::$name) else {
                return crate::real::NOT_FOUND;
            };
            // SAFETY: the driver's function of this name, which has these parameters.
            let real: unsafe extern "C" fn($($ty),*) -> std::ffi::c_int = unsafe { std::mem::transmute(real) };
            let thread = crate::thread::here();
            if thread.is_inside() {
                // SAFETY: the driver's own arguments.
                return unsafe { real($($argument),*) };
            }
            if thread.is_in_host_function() {
                crate::recorder::called_in_host_function(stringify!($name));
            }
            let $call = || {
                let _inside = thread.enter();
                // SAFETY: the program's arguments, as they are.
                unsafe { real($($argument),*) }
            };
            $body
        }
    };
}

pub(crate) use {one, wrap, wrap_both};

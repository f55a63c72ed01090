//! The names that a compiler gives to the host functions of a kernel.

use crate::stacks::readable;

/// The names of one kernel's host functions.
#[derive(Debug)]
pub(super) struct Names {
    /// As the device code has it.
    kernel: String,
    /// The same with internal linkage: a `static` kernel has that on the host alone.
    internal: String,
    /// What stands in the name of nvcc's function that launches: `23__device_stub__Z4oncePi`.
    stub: String,
    /// For clang, whose stub is named like the kernel with a prefix.
    readable: String,
}

const STUB: &str = "__device_stub__";
/// A part that compilers move away from a function.
const COLD: &str = ".cold";

impl Names {
    pub(super) fn of(kernel: &str) -> Names {
        let mangled = kernel.strip_prefix("_Z");
        let stub = match mangled {
            Some(rest) => {
                let name = format!("{STUB}Z{rest}");
                format!("{}{name}", name.len())
            }
            // An `extern "C"` kernel's stub carries the name that it would have in C++.
            None => format!("{STUB}Z{}{kernel}", kernel.len()),
        };
        Names {
            kernel: kernel.to_owned(),
            internal: mangled.map(|rest| format!("_ZL{rest}")).unwrap_or_default(),
            stub,
            readable: readable(kernel),
        }
    }

    /// Whether `symbol` is one of them.
    pub(super) fn hold(&self, symbol: &str) -> bool {
        if symbol == self.kernel || (symbol == self.internal && !symbol.is_empty()) {
            return true;
        }
        symbol.contains(&self.stub) && !symbol.ends_with(COLD)
    }

    /// Whether `symbol` is the stub that clang makes. Large libraries have thousands of stubs, and this takes longer.
    pub(super) fn hold_as_clang(&self, symbol: &str) -> bool {
        symbol.contains(STUB)
            && !symbol.ends_with(COLD)
            && readable(symbol).replace(STUB, "") == self.readable
    }
}

/// A readable name without what it returns, namespaces, template arguments and parameters.
pub(super) fn bare(function: &str) -> &str {
    let name = function.rsplit("(anonymous namespace)::").next().unwrap_or_default();
    let name = name.split(['(', '<']).next().unwrap_or_default();
    // The readable name of a template begins with what it returns.
    let name = name.rsplit(' ').next().unwrap_or_default();
    name.rsplit("::").next().unwrap_or_default()
}

/// Whether a function, by its mangled or readable name, is one of the CUDA runtime.
pub(super) fn is_runtime(function: &str) -> bool {
    let name = bare(function);
    let name = name.strip_prefix("__").unwrap_or(name);
    name.strip_prefix("cuda").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// Whether a symbol is a function of the CUDA runtime.
pub(super) fn is_runtime_symbol(symbol: &str) -> bool {
    // Most names with `cuda` in them are namespaces of libraries; only few are made readable.
    let candidate = symbol
        .match_indices("cuda")
        .any(|(at, _)| symbol.as_bytes().get(at + 4).is_some_and(|next| next.is_ascii_uppercase()));
    candidate && is_runtime(&readable(symbol))
}

/// Whether such a function launches a kernel whose address it is given.
pub(super) fn launches(function: &str) -> bool {
    is_runtime(function) && function.contains("cudaLaunch")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_host_functions() {
        let check = |kernel: &str, symbol: &str, expected: bool| {
            let names = Names::of(kernel);
            let held = names.hold(symbol) || names.hold_as_clang(symbol);
            assert_eq!(held, expected, "{kernel} {symbol}");
        };
        check("_Z4oncePi", "_Z4oncePi", true);
        check("_Z4oncePi", "_Z23__device_stub__Z4oncePiPi", true);
        check("_Z4oncePi", "_Z23__device_stub__Z4oncePiPi.cold", false);
        check("_Z6hiddenPi", "_ZL6hiddenPi", true);
        check("_Z6hiddenPi", "_ZL25__device_stub__Z6hiddenPiPi", true);
        check("_Z4tmplIiEvPT_", "_ZL28__device_stub__Z4tmplIiEvPT_Pi", true);
        check("_Z4tmplIiEvPT_", "_ZL28__device_stub__Z4tmplIfEvPT_Pf", false);
        // A name that begins like another.
        check("_Z1fi", "_Z20__device_stub__Z1fiii", false);
        check("_Z1fi", "_Z4oncePi", false);
        check("plain", "plain", true);
        check("plain", "_Z24__device_stub__Z5plainPiPi", true);
        check("plain", "_Z26__device_stub__Z7plainerPiPi", false);
        // clang
        check("_Z4oncePi", "_Z19__device_stub__oncePi", true);
        check("_Z4oncePi", "_Z19__device_stub__oncePf", false);
    }

    #[test]
    fn bare_names() {
        for (name, expected) in [
            ("once(int*)", "once"),
            ("void ns::generic<int, ns::A>(int*)", "generic"),
            ("(anonymous namespace)::unnamed(int*)", "unnamed"),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(bare(name), expected, "{name}");
        }
    }

    #[test]
    fn functions_of_the_runtime() {
        for (name, runtime, launching) in [
            ("cudaLaunchKernel", true, true),
            ("__cudaPushCallConfiguration", true, false),
            ("cudaError cudaLaunchKernelEx<int*, int*>(cudaLaunchConfig_st const*)", true, true),
            ("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", true, false),
            ("launch(int)", false, false),
            ("my_cudaLaunch", false, false),
        ] {
            assert_eq!((is_runtime(name), launches(name)), (runtime, launching), "{name}");
        }
    }
}

//! A kernel with everything that it calls.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{Callee, Function, FunctionId, FunctionKind, Operand, Space, Symbol};

use super::code::Kernel;
use super::independent::is_independent;
use super::rows::reads_unwritten;
use super::{Surroundings, decode};
use crate::address;
use crate::launch::LaunchError;
use crate::module::{Module, parameter_layout};

/// Decodes a kernel and every function that it may call.
pub(crate) fn kernel(module: &Module, id: FunctionId) -> Result<Kernel, LaunchError> {
    let headers = &module.program().module().functions;
    let header = headers.get(id.0 as usize).filter(|header| header.kind == FunctionKind::Kernel);
    let Some(header) = header else { return Err(LaunchError::NoSuchKernel(id.0)) };
    let functions = reachable(module, id)?;
    let mut shared = SharedLayout {
        module,
        addresses: FxHashMap::default(),
        names: Vec::new(),
        end: 0,
        dynamic: Vec::new(),
    };
    for function in &functions {
        shared.function(function);
    }
    shared.finish();
    let entry = functions.first().ok_or(LaunchError::NoSuchKernel(id.0))?;
    let (parameter_offsets, parameter_bytes) = parameter_layout(entry);
    let surroundings = Surroundings { module, shared: &shared.addresses, parameters: &parameter_offsets };
    let independent = functions.len() == 1 && is_independent(entry);
    let clears = functions.len() > 1 || reads_unwritten(entry);
    let mut codes = vec![None; headers.len()];
    for function in functions {
        let at = function.id.0 as usize;
        let code = Arc::new(decode(function, &surroundings)?);
        if let Some(slot) = codes.get_mut(at) {
            *slot = Some(code);
        }
    }
    Ok(Kernel {
        id,
        name: header.name.clone(),
        functions: codes,
        static_shared: shared.end,
        shared_names: shared.names,
        parameter_offsets,
        parameter_bytes,
        independent,
        clears,
    })
}

/// The kernel and all functions that it may call, the kernel first.
fn reachable(module: &Module, id: FunctionId) -> Result<Vec<Arc<Function>>, LaunchError> {
    let program = module.program();
    let headers = &program.module().functions;
    let mut seen = vec![false; headers.len()];
    let mut found: Vec<Arc<Function>> = Vec::new();
    let mut rest = vec![id];
    while let Some(next) = rest.pop() {
        if seen.get_mut(next.0 as usize).is_none_or(|seen| std::mem::replace(seen, true)) {
            continue;
        }
        let Some(function) = program.function(next) else { continue };
        let mut indirect = false;
        for call in &function.calls {
            match &call.callee {
                Callee::Direct(callee) => rest.push(*callee),
                Callee::Indirect(targets) if !targets.is_empty() => rest.extend(targets),
                Callee::Indirect(_) => indirect = true,
                Callee::Unknown(_) => {}
            }
        }
        for operand in &function.operands {
            if let Operand::Symbol { symbol: Symbol::Function(callee), .. } = operand {
                rest.push(FunctionId(*callee));
            }
        }
        if indirect {
            // Anything whose address some variable or function may hold.
            let devices = headers
                .iter()
                .zip(0..)
                .filter(|(header, _)| header.kind == FunctionKind::Device && header.defined);
            rest.extend(devices.map(|(_, index)| FunctionId(index)));
        }
        let kernel_elsewhere = next != id
            && headers.get(next.0 as usize).is_some_and(|header| header.kind == FunctionKind::Kernel);
        if !kernel_elsewhere {
            found.push(Arc::new(function));
        }
    }
    match found.is_empty() {
        true => Err(LaunchError::NoSuchKernel(id.0)),
        false => Ok(found),
    }
}

/// Shared variables get their places in the order in which functions name them.
struct SharedLayout<'a> {
    module: &'a Module,
    addresses: FxHashMap<(Option<u32>, Symbol), u64>,
    names: Vec<(String, u32, u64)>,
    end: u32,
    /// Variables of no size: they begin behind all others.
    dynamic: Vec<(Option<u32>, Symbol, String, u32)>,
}

impl SharedLayout<'_> {
    fn function(&mut self, function: &Function) {
        let program = Arc::clone(self.module.program());
        for operand in &function.operands {
            let &Operand::Symbol { symbol, .. } = operand else { continue };
            match symbol {
                Symbol::Module(index) => {
                    if let Some(variable) = program.module().variables.get(index as usize)
                        && variable.space == Space::Shared
                    {
                        let align = variable.align.max(variable.ty.bytes());
                        self.place((None, symbol), &variable.name, variable.bytes, align);
                    }
                }
                Symbol::Local(index) => {
                    if let Some(variable) = function.variables.get(index as usize)
                        && variable.space == Space::Shared
                    {
                        let align = variable.align.max(variable.ty.bytes());
                        self.place((Some(function.id.0), symbol), &variable.name, variable.bytes, align);
                    }
                }
                Symbol::Function(_) => {}
            }
        }
    }

    fn place(&mut self, key: (Option<u32>, Symbol), name: &str, bytes: u64, align: u32) {
        if self.addresses.contains_key(&key) {
            return;
        }
        let align = align.max(1);
        if bytes == 0 {
            self.addresses.insert(key, 0);
            self.dynamic.push((key.0, key.1, name.to_owned(), align));
            return;
        }
        let start = self.end.checked_next_multiple_of(align).unwrap_or(self.end);
        self.end = start.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        self.names.push((name.to_owned(), start, bytes));
        self.addresses.insert(key, address::SHARED + u64::from(start));
    }

    fn finish(&mut self) {
        let align = self.dynamic.iter().map(|&(.., align)| align).max().unwrap_or(1).max(16);
        if !self.dynamic.is_empty() {
            self.end = self.end.checked_next_multiple_of(align).unwrap_or(self.end);
        }
        for (owner, symbol, name, _) in std::mem::take(&mut self.dynamic) {
            self.names.push((name, self.end, 0));
            self.addresses.insert((owner, symbol), address::SHARED + u64::from(self.end));
        }
    }
}

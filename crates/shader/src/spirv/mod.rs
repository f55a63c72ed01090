//! SPIR-V: from words to a program.

mod composite;
mod constants;
mod extended;
mod flow;
mod group;
mod instruction;
mod kernel;
mod layout;
mod listing;
mod memory;
mod module;
mod types;
mod words;

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{FileId, FunctionHeader, FunctionId, FunctionKind, LaunchBounds};

use crate::program::{Shader, ShaderError};
pub use listing::spirv_listing;

use kernel::Kernel;
use layout::Layout;
use module::Module;
use words::Words;

/// Reads SPIR-V. `file` is what findings call the module.
///
/// Places come from `OpLine` or NonSemantic.Shader.DebugInfo.100. What has none stands in `file` itself, at the position of its
/// instruction from 1: a line of `spirv-dis --no-header`. An entry point that cannot be lowered is left out and told of in
/// [`Shader::problems`].
///
/// # Errors
/// What is no SPIR-V.
pub fn spirv(bytes: &[u8], file: &str) -> Result<Shader, ShaderError> {
    let words = Words::new(bytes)?;
    let module = Module::new(&words);
    let layout = Layout::of(&module);
    let mut shader = Shader::new(file);
    shader.is_spirv = true;
    let mut names: Vec<(&u32, &String)> = module.strings.iter().collect();
    names.sort();
    let mut files = FxHashMap::default();
    if module.has_lines {
        for (&id, name) in names {
            files.insert(id, FileId(shader.module.files.len() as u32));
            shader.module.files.push(name.clone());
        }
    }
    let sources = module.sources.iter();
    shader.sources =
        sources.filter_map(|(id, text)| Some((module.strings.get(id)?.clone(), text.clone()))).collect();
    for entry in &module.entries {
        let fail = |message: String| ShaderError { message, line: 0, column: 0 };
        if entry.size.is_some_and(|size| size.contains(&0)) {
            shader.problems.push(fail(format!("the workgroup of `{}` has no invocations", entry.name)));
            continue;
        }
        let mut kernel = Kernel::new(&module, &layout, &files);
        if let Err(message) = kernel.entry_point(entry.function) {
            shader.problems.push(fail(format!("entry point `{}`: {message}", entry.name)));
            continue;
        }
        shader.early_returns.append(&mut kernel.early_returns);
        shader.loops.append(&mut kernel.loops);
        shader.places.extend(kernel.places);
        let own = module.functions.get(&entry.function).map_or(&[][..], |function| &function.parameters);
        let (parameters, declared): (Vec<_>, Vec<_>) = layout.parameters(&module, own).into_iter().unzip();
        let mut function = kernel.emit.out.finish();
        function.id = FunctionId(shader.functions.len() as u32);
        function.parameters = declared;
        shader.module.functions.push(FunctionHeader {
            name: entry.name.clone(),
            kind: FunctionKind::Kernel,
            defined: true,
            bounds: LaunchBounds { required_block: entry.size, ..LaunchBounds::default() },
            offset: 0,
            no_return: false,
        });
        shader.functions.push(function);
        shader.parameters.push(parameters);
    }
    Ok(shader)
}

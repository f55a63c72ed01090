//! Compute shaders as kernel IR.
//!
//! Belongs here: what WGSL and SPIR-V are in terms of kernel IR: structured control flow, memory of every address space, barriers, atomics
//! and subgroup operations, with the place of each piece in the source.
//! Does not belong here: any rule about what is right or wrong, execution, and reading of files.
//!
//! Each compute entry point becomes a kernel. A workgroup is a block, an invocation a thread, a subgroup a warp. Helper functions are
//! copied into their callers. Buffers are parameters, in the order of group and binding; behind them stand the lengths in
//! bytes of those that end in a runtime-sized array, and last the pipeline's overridable constants.
//!
//! ```
//! use standstill_kernel_ir::Program;
//!
//! let shader = standstill_shader::wgsl("@compute @workgroup_size(64) fn main() { workgroupBarrier(); }", "a.wgsl").unwrap();
//! assert_eq!(shader.module().functions[0].bounds.required_block, Some([64, 1, 1]));
//! ```

mod builtin;
mod emit;
mod expression;
mod frame;
mod math;
mod memory;
mod operation;
mod place;
mod program;
mod source;
mod spirv;
mod statement;
mod subgroup;
mod types;

pub use program::{Parameter, ParameterKind, Shader, ShaderError, wgsl, wgsl_by_specification};
pub use spirv::{spirv, spirv_listing};

//! Compute shaders in WGSL: source text in, findings out.

use standstill_kernel_ir::{FunctionId, Program as _};
use standstill_shader::{wgsl, wgsl_by_specification};
use standstill_shader_check::check;

use crate::engine::SyntaxProblem;
use crate::kernel_text::{Analysed, Request};
use crate::unused::KernelFacts;

/// Checks every compute entry point of a shader.
pub(crate) fn analyse(request: &Request<'_>) -> Analysed {
    let mut analysed = Analysed::default();
    let read = if request.by_specification { wgsl_by_specification } else { wgsl };
    let shader = match read(request.text, request.name) {
        Ok(shader) => shader,
        Err(error) => {
            let (line, column, message) = (error.line, error.column, error.message);
            analysed.problems.push(SyntaxProblem { line, column, message });
            return analysed;
        }
    };
    let facts: Vec<KernelFacts> = shader
        .module()
        .functions
        .iter()
        .zip(0..)
        .map(|(header, id)| KernelFacts {
            symbol: header.name.clone(),
            parameters: shader.parameters(FunctionId(id)).len(),
            bounds: header.bounds,
        })
        .collect();
    if facts.is_empty() {
        let message = "it has no compute entry point".to_owned();
        analysed.problems.push(SyntaxProblem { line: 0, column: 0, message });
    }
    analysed.add(request, facts, &|shape| {
        check(
            &shader,
            &standstill_shader_check::Request {
                file: request.name,
                launch: &|name| shape(name).unwrap_or_default(),
                wanted: &|name| shape(name).is_some(),
                platform: request.platform,
            },
        )
    });
    analysed
}

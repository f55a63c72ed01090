//! Compute shaders in WGSL and SPIR-V: source text or module in, findings out.

use standstill_findings::Finding;
use standstill_kernel_ir::{FunctionId, Program as _};
use standstill_shader::{Shader, ShaderError, spirv, spirv_listing, wgsl, wgsl_by_specification};
use standstill_shader_check::check;

use crate::engine::SyntaxProblem;
use crate::kernel_text::{Analysed, Request};
use crate::unused::KernelFacts;

/// Checks every compute entry point of a shader.
pub(crate) fn analyse(request: &Request<'_>) -> Analysed {
    let read = if request.by_specification { wgsl_by_specification } else { wgsl };
    match read(request.text, request.name) {
        Ok(shader) => judge(&shader, request),
        Err(error) => Analysed { problems: vec![problem(&error)], ..Analysed::default() },
    }
}

/// Checks every compute entry point of a SPIR-V module.
pub(crate) fn analyse_module(request: &Request<'_>) -> Analysed {
    let shader = match spirv(request.module, request.name) {
        Ok(shader) => shader,
        Err(error) => return Analysed { problems: vec![problem(&error)], ..Analysed::default() },
    };
    let mut analysed = judge(&shader, request);
    analysed.sources.extend_from_slice(shader.sources());
    let in_module = |finding: &Finding| finding.spans.iter().any(|span| span.file == request.name);
    if analysed.findings.iter().any(in_module) {
        analysed.sources.push((request.name.to_owned(), spirv_listing(request.module)));
    }
    analysed
}

fn problem(error: &ShaderError) -> SyntaxProblem {
    SyntaxProblem { line: error.line, column: error.column, message: error.message.clone() }
}

fn judge(shader: &Shader, request: &Request<'_>) -> Analysed {
    let mut analysed = Analysed::default();
    analysed.problems.extend(shader.problems().iter().map(problem));
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
    if facts.is_empty() && analysed.problems.is_empty() {
        let message = "it has no compute entry point".to_owned();
        analysed.problems.push(SyntaxProblem { line: 0, column: 0, message });
    }
    analysed.add(request, facts, &|shape| {
        check(
            shader,
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

//! Checking small PTX texts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use standstill_findings::Finding;
use standstill_kernel_ir::launch::LaunchShape;
use standstill_static_check::{Options, check};

/// The findings on a PTX text without a source, for launches of one shape.
pub(crate) fn findings(text: &str, shape: &LaunchShape) -> Vec<Finding> {
    let module = standstill_ptx::parse(text);
    assert!(module.errors.is_empty(), "{:?} in {text}", module.errors);
    let lowering = standstill_ptx::Lowering::new(&module);
    let options = Options {
        input: "k.ptx",
        main_source: None,
        launch: &|_| shape.clone(),
        position: &|offset| {
            let before = text.get(..offset as usize).unwrap_or("");
            (before.matches('\n').count() as u32 + 1, 1)
        },
        source_line: &|_, _| None,
        platform: None,
        wanted: &|_| true,
        parameter_name: &|_, _| None,
    };
    check(&lowering, &options).findings
}

/// The line of a text that a finding points at.
#[allow(dead_code, reason = "not every test file asks for lines")]
pub(crate) fn line_of<'a>(text: &'a str, finding: &Finding) -> &'a str {
    let line = finding.primary_span().unwrap().line;
    text.lines().nth(line as usize - 1).unwrap().trim()
}

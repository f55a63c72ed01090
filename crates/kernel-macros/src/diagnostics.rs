//! Errors of the compiler, on the user's own pieces of source.
//!
//! Stable compilers give macros plain errors only: no codes, labels or warnings. The code and the advice go into the
//! text, and each further place gets an error of its own.

use proc_macro2::TokenStream;
use quote::quote_spanned;
use standstill_findings::{Finding, Span};
use standstill_kernel_check::{check_anywhere, stops_compilation};
use standstill_kernel_syntax::{Extent, Lowered, Problem};

/// What is no kernel source.
pub(crate) fn of_problems(problems: &[Problem]) -> TokenStream {
    problems.iter().map(|problem| error(problem.extent, &problem.message)).collect()
}

/// The findings that keep the kernels from compiling.
pub(crate) fn of_findings(lowered: &Lowered, file: &str) -> TokenStream {
    let findings = check_anywhere(&lowered.program, file);
    findings
        .iter()
        .filter(|finding| stops_compilation(finding))
        .map(|finding| of_finding(finding, lowered))
        .collect()
}

fn of_finding(finding: &Finding, lowered: &Lowered) -> TokenStream {
    let code = finding.rule.code();
    let mut errors = TokenStream::new();
    let primary = finding.primary_span();
    for span in primary.into_iter().chain(finding.spans.iter().filter(|span| !span.primary)) {
        let text = if span.primary { whole_text(finding) } else { format!("[{code}] {}", span.label) };
        let extent = extent_of(lowered, span);
        errors.extend(error(extent, &text));
    }
    errors
}

/// All that there is to say, as rustc would lay it out.
fn whole_text(finding: &Finding) -> String {
    let code = finding.rule.code();
    let mut text = format!("[{code}] {}", finding.message);
    for span in finding.spans.iter().filter(|span| !span.primary) {
        text += &format!("\n  --> {}:{}:{}: {}", span.file, span.line, span.column, span.label);
    }
    if let Some(primary) = finding.primary_span() {
        for call in &primary.inlined_at {
            text += &format!("\nnote: reached through {call}");
        }
    }
    for note in &finding.notes {
        text += &format!("\nnote: {note}");
    }
    if !finding.help.is_empty() {
        text += &format!("\nhelp: {}", finding.help);
    }
    text
}

/// The piece of source of a span.
fn extent_of(lowered: &Lowered, span: &Span) -> Extent {
    let wanted = lowered.program.place(&span.file, span.line, span.column);
    let found = lowered.extents.iter().find(|(place, _)| Some(*place) == wanted);
    found.map_or_else(|| Extent::at(proc_macro2::Span::call_site()), |(_, extent)| *extent)
}

fn error(extent: Extent, message: &str) -> TokenStream {
    // The compiler underlines from the first token of the call to its last.
    let path = quote_spanned!(extent.start=> ::core::compile_error);
    let mut group = proc_macro2::Group::new(
        proc_macro2::Delimiter::Brace,
        std::iter::once(proc_macro2::TokenTree::from(proc_macro2::Literal::string(message))).collect(),
    );
    group.set_span(extent.end);
    let mut mark = proc_macro2::Punct::new('!', proc_macro2::Spacing::Alone);
    mark.set_span(extent.start);
    let mut tokens = path;
    tokens.extend([proc_macro2::TokenTree::from(mark), proc_macro2::TokenTree::from(group)]);
    tokens
}

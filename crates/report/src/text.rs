//! Findings as a compiler would print them, on the reader's own source lines.

use std::collections::HashMap;
use std::fmt::Write;

use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use standstill_findings::{Finding, Known, Platform, PlatformRow, Rule, Severity, Span};

use crate::names::BaseNames;
use crate::snippet::{Piece, pieces};
use crate::summary::{counted, summary};
use crate::{InputError, Report, Reported, Sources, base_name, display_name, shorten};

/// How the text is to look.
#[derive(Debug, Clone, Copy)]
pub struct TextOptions {
    /// Whether to colour it with terminal escapes.
    pub color: bool,
    /// Findings only, without the summary.
    pub quiet: bool,
    /// Full names, every instantiation, every kind of instruction that was not understood.
    pub verbose: bool,
    /// Also what could not be read ([`render_errors`] gives that alone).
    pub errors: bool,
    /// Columns of the terminal.
    pub width: usize,
}

impl Default for TextOptions {
    fn default() -> TextOptions {
        TextOptions { color: false, quiet: false, verbose: false, errors: true, width: 140 }
    }
}

/// The whole report as text.
pub fn render_text(report: &Report, sources: &dyn Sources, options: TextOptions) -> String {
    let renderer = if options.color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(options.width);
    let mut out = String::new();
    if options.errors && !report.errors.is_empty() {
        out.push_str(&render_errors(report, options.color));
        out.push('\n');
    }
    let mut alike = Alike::default();
    for reported in &report.findings {
        if !options.verbose && !alike.is_shown(reported) {
            continue;
        }
        out.push_str(&render_finding(reported, sources, &renderer, options));
        out.push_str("\n\n");
    }
    out.push_str(&alike.left_out());
    if !options.quiet {
        out.push_str(&summary(report, options.verbose));
    }
    out
}

/// Of the notes that say the same of one kernel and its other instantiations, this many are shown.
const SHOWN_ALIKE: u64 = 3;

/// Counts notes that say the same. In PTX without a line table each copy of one source line that the
/// compiler unrolled, inlined or instantiated has its own line, and a kernel may have hundreds.
#[derive(Default)]
struct Alike<'a> {
    names: BaseNames,
    counts: HashMap<(Rule, &'a str, String), u64>,
    /// The kinds of which some are left out, in the order of the report.
    left_out: Vec<(Rule, &'a str, String)>,
}

impl<'a> Alike<'a> {
    fn is_shown(&mut self, reported: &'a Reported) -> bool {
        let finding = &reported.finding;
        let in_ptx = |span: &Span| span.file.ends_with(".ptx") || span.file.contains("!ptx");
        if finding.severity != Severity::Note || !finding.primary_span().is_some_and(in_ptx) {
            return true;
        }
        let kind = (finding.rule, finding.message.as_str(), self.names.of(&finding.kernel).to_owned());
        let count = self.counts.entry(kind.clone()).or_insert(0);
        *count += 1;
        if *count == SHOWN_ALIKE + 1 {
            self.left_out.push(kind);
        }
        *count <= SHOWN_ALIKE
    }

    /// How many of each kind were not shown, a line each.
    fn left_out(&self) -> String {
        let mut text = String::new();
        for kind in &self.left_out {
            let more = self.counts.get(kind).map_or(0, |count| count - SHOWN_ALIKE);
            let (rule, _, kernel) = kind;
            let notes = counted(more, "more note");
            let _ =
                writeln!(text, "{notes} of {} like these in `{kernel}`; --verbose shows all", rule.code());
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }
}

/// What could not be read, one line each.
pub fn render_errors(report: &Report, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    report.errors.iter().map(|error| render_error(error, &renderer)).collect()
}

/// One finding as plain text, for formats that carry text.
pub(crate) fn plain_finding(reported: &Reported, sources: &dyn Sources) -> String {
    render_finding(reported, sources, &Renderer::plain(), TextOptions::default())
}

fn level(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    }
}

fn render_error(error: &InputError, renderer: &Renderer) -> String {
    let place = match (error.line, error.column) {
        (0, _) => error.file.clone(),
        (line, 0) => format!("{}:{line}", error.file),
        (line, column) => format!("{}:{line}:{column}", error.file),
    };
    let title = Level::ERROR.primary_title(format!("{place}: {}", error.message));
    let mut text = renderer.render(&[annotate_snippets::Group::with_title(title)]);
    text.push('\n');
    text
}

fn render_finding(
    reported: &Reported,
    sources: &dyn Sources,
    renderer: &Renderer,
    options: TextOptions,
) -> String {
    let finding = &reported.finding;
    let (files, unreadable) = by_file(&finding.spans);
    let texts: Vec<_> = files.iter().map(|(file, _)| sources.text(file)).collect();
    let title = level(finding.severity).primary_title(finding.message.as_str()).id(finding.rule.code());
    let mut elements: Vec<Element<'_>> = Vec::new();
    let mut extra: Vec<String> = Vec::new();
    for ((file, spans), text) in files.iter().zip(&texts) {
        match text.as_deref().and_then(|text| pieces(text, spans)) {
            Some(pieces) => elements.extend(pieces.into_iter().map(|piece| snippet(file, piece).into())),
            None => {
                for span in spans {
                    elements.push(origin(span).into());
                    if !span.label.is_empty() {
                        elements.push(Level::NOTE.message(span.label.as_str()).into());
                    }
                }
            }
        }
    }
    extra.extend(unreadable);
    extra.extend(notes(reported, options));
    elements.extend(extra.iter().map(|note| Level::NOTE.message(note.as_str()).into()));
    if !finding.help.is_empty() {
        elements.push(Level::HELP.message(finding.help.as_str()).into());
    }
    renderer.render(&[title.elements(elements)])
}

/// The spans of each file, the file of the primary span first; and words for spans without a line.
fn by_file(spans: &[Span]) -> (Vec<(&str, Vec<&Span>)>, Vec<String>) {
    let mut files: Vec<(&str, Vec<&Span>)> = Vec::new();
    let mut placeless = Vec::new();
    let primary_first = spans.iter().filter(|s| s.primary).chain(spans.iter().filter(|s| !s.primary));
    for span in primary_first {
        if span.line == 0 {
            placeless.push(format!("{}: {}", span.file, span.label));
            continue;
        }
        match files.iter_mut().find(|(file, _)| *file == span.file) {
            Some((_, list)) if list.iter().any(|known| same_words(known, span)) => {}
            Some((_, list)) => list.push(span),
            None => files.push((&span.file, vec![span])),
        }
    }
    (files, placeless)
}

/// Whether two spans would be shown alike: threads of several blocks may stand at one place.
fn same_words(a: &Span, b: &Span) -> bool {
    (a.line, a.column, &a.label) == (b.line, b.column, &b.label)
}

fn snippet<'a>(file: &'a str, piece: Piece<'a>) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let annotations = piece.spans.into_iter().map(|(range, span)| {
        let kind = if span.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        kind.span(range).label(span.label.as_str())
    });
    Snippet::source(piece.text)
        .path(file)
        .line_start(piece.first_line as usize)
        .fold(true)
        .annotations(annotations.collect::<Vec<_>>())
}

fn origin(span: &Span) -> Origin<'_> {
    let origin = Origin::path(span.file.as_str()).line(span.line as usize);
    if span.column > 0 { origin.char_column(span.column as usize) } else { origin }
}

/// What stands below the source: who waits, why, where it bites, how it is known.
fn notes(reported: &Reported, options: TextOptions) -> Vec<String> {
    let finding = &reported.finding;
    let mut notes = Vec::new();
    if let Some(waits) = &finding.waits
        && !waits.sentence.is_empty()
    {
        notes.push(waits.sentence.clone());
    }
    notes.extend(finding.notes.iter().cloned());
    for span in finding.spans.iter().filter(|span| span.primary && !span.inlined_at.is_empty()) {
        notes.push(format!("reached through {}", span.inlined_at.join(", from ")));
    }
    if let Some(row) = platform_row(&finding.platforms) {
        notes.push(row);
    }
    notes.push(how_known(finding));
    // A call of the host is in none.
    if !reported.finding.kernel.is_empty() {
        notes.push(kernel(reported, options));
    }
    if let Some(replay) = &finding.replay {
        notes.push(format!("replay with {replay}"));
    }
    notes
}

/// What happens where, in one line; `None` for an empty row.
pub(crate) fn platform_row(row: &PlatformRow) -> Option<String> {
    let (_, first) = row.outcomes.first()?;
    if row.outcomes.len() == Platform::ALL.len() && row.outcomes.iter().all(|(_, o)| o == first) {
        return Some(format!("on every platform: {}", first.words()));
    }
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (platform, outcome) in &row.outcomes {
        match groups.last_mut() {
            Some((words, names)) if *words == outcome.words() => names.push(platform_name(*platform)),
            _ => groups.push((outcome.words(), vec![platform_name(*platform)])),
        }
    }
    let parts: Vec<String> =
        groups.iter().map(|(words, names)| format!("{}: {words}", names.join(", "))).collect();
    Some(parts.join("; "))
}

fn platform_name(platform: Platform) -> &'static str {
    match platform {
        Platform::Nvidia => "NVIDIA sm_70 and later",
        Platform::NvidiaOld => "NVIDIA before sm_70",
        Platform::Amd => "AMD",
        Platform::Others => "Intel, Vulkan, WebGPU",
        Platform::Specification => "the specification",
    }
}

fn how_known(finding: &Finding) -> String {
    let mut text = match &finding.known {
        Known::Proved if finding.assumes.is_empty() => "proved from the code".to_owned(),
        Known::Proved => "proved, if".to_owned(),
        Known::Observed => "observed in this run".to_owned(),
        Known::Possible { reason } => format!("possible: {reason}"),
    };
    if !finding.assumes.is_empty() {
        if finding.known != Known::Proved {
            text.push_str("; assumes that");
        }
        let _ = write!(text, " {}", finding.assumes.join("; "));
    }
    text
}

fn kernel(reported: &Reported, options: TextOptions) -> String {
    let full = display_name(&reported.finding.kernel);
    let name = if options.verbose { full } else { shorten(&full) };
    let mut text = format!("in kernel `{name}`");
    let others = reported.instances.len() as u64;
    if others == 0 {
        return text;
    }
    if options.verbose {
        for symbol in &reported.instances {
            let _ = write!(text, ", `{}`", display_name(symbol));
        }
    } else {
        let base = base_name(&reported.finding.kernel);
        let _ = write!(text, " and in {} of `{base}`", counted(others, "other instantiation"));
    }
    text
}

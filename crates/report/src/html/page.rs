//! What the page is made of.

/// The page's style: system fonts, light and dark, nothing that only a colour tells.
pub(super) const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1a1d21; --paper: #fdfdfb; --line: #b9bec5; --soft: #eef0f2; --fault: #a8201a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e6e8; --paper: #16181b; --line: #565c64; --soft: #23272c; --fault: #ff8a80; }
}
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 0 0 .25rem; }
section { border: 1px solid var(--line); border-left-width: 6px; border-radius: 4px; padding: 1rem; margin: 1.25rem 0; }
section.error { border-left-color: var(--fault); } section.warning { border-left-style: double; }
.severity { text-transform: uppercase; font-size: .8em; letter-spacing: .04em; }
.error .severity, p.error { color: var(--fault); }
.kernel, .summary { margin: .25rem 0; white-space: pre-line; }
.sentence { font-size: 1.05rem; border-left: 3px solid var(--line); padding-left: .75rem; }
pre { overflow-x: auto; background: var(--soft); padding: .75rem; border-radius: 4px; font: 13px/1.45 ui-monospace, monospace; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
th { text-align: left; vertical-align: top; padding-right: 1rem; font-weight: 600; }
svg { max-width: 100%; height: auto; } svg text { fill: var(--ink); font: 14px system-ui, sans-serif; }
.box { fill: var(--soft); stroke: var(--ink); } .wait { fill: none; stroke: var(--ink); stroke-width: 1.5; }
.head { fill: var(--ink); }
.map { display: flex; flex-wrap: wrap; gap: 2px; margin: .5rem 0; }
.map span { min-width: 1.6rem; padding: 0 .2rem; height: 1.6rem; line-height: 1.6rem; text-align: center; border: 1px solid var(--line); font: 12px/1.6rem ui-monospace, monospace; }
.map .k1 { background: var(--soft); } .map .k2 { background: repeating-linear-gradient(45deg, var(--soft) 0 3px, transparent 3px 6px); }
.map .k3 { background: repeating-linear-gradient(90deg, var(--line) 0 1px, transparent 1px 4px); } .map .k4 { border-style: dashed; border-color: var(--ink); }
.timeline .missing td, .timeline .missing th { padding: .15rem 1rem .15rem 0; vertical-align: top; }
.drawing { display: flex; border: 1px solid var(--line); margin-top: .5rem; } .drawing .scroll { overflow-x: auto; }
.drawing svg { width: calc(var(--w) * 1px * var(--zoom, 1)); max-width: none; height: auto; flex: none; display: block; }
.drawing .names { border-right: 1px solid var(--line); } .drawing text { font-size: 13px; } .drawing .word { text-anchor: middle; }
.zoom50:checked ~ .drawing { --zoom: .5; } .zoom200:checked ~ .drawing { --zoom: 2; }
.drawing .lane, .drawing .left-out { fill: none; stroke: var(--line); } .drawing .left-out { stroke-dasharray: 2 4; }
.step rect { fill: var(--soft); stroke: var(--ink); } .step .inner { fill: none; } .step.kernel rect { stroke-width: 2; }
.step.await rect { stroke-dasharray: 4 3; } .step.memory rect, .step.graph rect { fill: var(--paper); } .step.access rect { stroke-dasharray: 1 2; }
.step:hover rect, .step:target rect { stroke: var(--fault); stroke-width: 3; }
.drawing .order { fill: none; stroke: var(--ink); } .lost path { fill: none; stroke: var(--fault); stroke-width: 6; stroke-dasharray: 9 5; }
.lost .core { stroke: var(--paper); stroke-width: 2; } .drawing .lost text { fill: var(--fault); font-weight: 700; paint-order: stroke; stroke: var(--paper); stroke-width: 6; }
.scroll { overflow-x: auto; } .schedule { border-collapse: collapse; margin: .75rem 0; font-size: .9rem; }
.key { font-size: .85rem; margin: .75rem 0 0; } .schedule th, .schedule td { padding: 0 .6rem; }
.schedule thead th { white-space: nowrap; border-bottom: 2px solid var(--line); } .schedule tbody th { vertical-align: middle; text-align: right; font-weight: 400; font-variant-numeric: tabular-nums; }
.schedule tbody td:not(.source) { min-width: 12rem; background: linear-gradient(var(--line), var(--line)) 50% 0 / 1px 100% no-repeat; }
.schedule .step { background: var(--soft); border: 1px solid var(--ink); border-radius: 3px; margin: 3px 0; padding: .1rem .5rem; text-align: center; }
.schedule .write { border: 4px double var(--ink); } .schedule .fault { border: 3px solid var(--fault); font-weight: 700; }
.schedule .source { white-space: nowrap; } .schedule .source span { display: inline-block; min-width: 2.5rem; text-align: right; }
.map .many { border-width: 2px; border-color: var(--ink); }
";

/// Text as HTML.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Controls have no place in a page, and some would end it.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

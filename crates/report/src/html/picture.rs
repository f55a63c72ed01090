//! The wait graph as a drawing: the cycle from top to bottom and back, other waits below it.

use std::fmt::Write;

use standstill_findings::{Edge, NodeId, WaitGraph};

use super::page::escape;

const BOX_HEIGHT: usize = 34;
const GAP: usize = 56;
const LEFT: usize = 70;
const TOP: usize = 10;
/// Waits beside the cycle that are spelt out.
const LISTED: usize = 12;

/// The graph as an SVG picture with words; empty for a graph without waits.
pub(super) fn waits(graph: &WaitGraph) -> String {
    if graph.edges.is_empty() {
        return String::new();
    }
    let cycle = graph.cycle();
    let closed = !cycle.is_empty();
    let chain: Vec<&Edge> = if closed { cycle } else { longest_chain(graph) };
    let mut out = drawing(graph, &chain, closed);
    let rest: Vec<&Edge> = graph.edges.iter().filter(|edge| !chain.contains(edge)).collect();
    if !rest.is_empty() {
        out.push_str("<p>Also waiting:</p>\n<ul>\n");
        for edge in rest.iter().take(LISTED) {
            let (from, to) = (words(graph, edge.from), words(graph, edge.to));
            let _ = writeln!(out, "<li>{} {} → {}</li>", escape(&from), escape(&edge.reason), escape(&to));
        }
        if let Some(more) = rest.len().checked_sub(LISTED).filter(|more| *more > 0) {
            let _ = writeln!(out, "<li>and {more} more</li>");
        }
        out.push_str("</ul>\n");
    }
    out
}

fn words(graph: &WaitGraph, id: NodeId) -> String {
    graph.nodes.get(id.0 as usize).map(|node| node.words()).unwrap_or_default()
}

/// A longest path of waits that visits no node twice, found from each node greedily: enough for a drawing.
fn longest_chain(graph: &WaitGraph) -> Vec<&Edge> {
    let mut best: Vec<&Edge> = Vec::new();
    for first in &graph.edges {
        let (mut chain, mut seen) = (vec![first], vec![first.from, first.to]);
        while let Some(next) = chain
            .last()
            .and_then(|last| graph.edges.iter().find(|edge| edge.from == last.to && !seen.contains(&edge.to)))
        {
            seen.push(next.to);
            chain.push(next);
        }
        if chain.len() > best.len() {
            best = chain;
        }
    }
    best
}

fn drawing(graph: &WaitGraph, chain: &[&Edge], closed: bool) -> String {
    let mut nodes: Vec<String> = chain.iter().map(|edge| words(graph, edge.from)).collect();
    if let Some(last) = chain.last().filter(|_| !closed) {
        nodes.push(words(graph, last.to));
    }
    // Without font metrics: eight units a letter hold any text of the page's font.
    let wide = |text: &str| text.chars().count() * 8 + 24;
    let reasons: Vec<String> = chain.iter().map(|edge| reason(edge)).collect();
    let box_width = nodes.iter().map(|node| wide(node)).max().unwrap_or(0).max(160);
    let text_width = reasons.iter().map(|reason| wide(reason)).max().unwrap_or(0) + 24;
    let width = LEFT + box_width.max(text_width + 24) + 20;
    let bottom = TOP + nodes.len() * (BOX_HEIGHT + GAP);
    let height = if closed { bottom + 20 } else { bottom - GAP + 10 };
    let described = chain.iter().zip(&nodes).zip(&reasons).map(|((_, from), why)| format!("{from} {why}"));
    let title = escape(&described.collect::<Vec<_>>().join("; "));
    let mut out = format!(
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\"><title>{title}</title>\n\
         <defs><marker id=\"arrow\" markerWidth=\"10\" markerHeight=\"8\" refX=\"9\" refY=\"4\" orient=\"auto\">\
         <path class=\"head\" d=\"M0,0 L10,4 L0,8 z\"/></marker></defs>\n"
    );
    let middle = LEFT + 24;
    for (index, node) in nodes.iter().enumerate() {
        let y = TOP + index * (BOX_HEIGHT + GAP);
        let _ = writeln!(
            out,
            "<rect class=\"box\" x=\"{LEFT}\" y=\"{y}\" width=\"{box_width}\" height=\"{BOX_HEIGHT}\" rx=\"6\"/>\
             <text x=\"{}\" y=\"{}\">{}</text>",
            LEFT + 12,
            y + BOX_HEIGHT - 12,
            escape(node),
        );
        let Some(why) = reasons.get(index) else { continue };
        let (from, to) = (y + BOX_HEIGHT, y + BOX_HEIGHT + GAP);
        if index + 1 < nodes.len() {
            let _ = writeln!(
                out,
                "<path class=\"wait\" marker-end=\"url(#arrow)\" d=\"M{middle},{from} V{to}\"/>\
                 <text x=\"{}\" y=\"{}\">{}</text>",
                middle + 12,
                from + GAP / 2 + 5,
                escape(why),
            );
        } else {
            // Back to the first, around the left side.
            let (low, side, first) = (from + GAP / 2, LEFT / 2, TOP + BOX_HEIGHT / 2);
            let _ = writeln!(
                out,
                "<path class=\"wait\" marker-end=\"url(#arrow)\" d=\"M{middle},{from} V{low} H{side} V{first} H{LEFT}\"/>\
                 <text x=\"{}\" y=\"{}\">{}</text>",
                middle + 12,
                low + 5,
                escape(why),
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

fn reason(edge: &Edge) -> String {
    match edge.reason.as_str() {
        "" if edge.line > 0 => format!("waits (line {})", edge.line),
        "" => "waits".to_owned(),
        reason => reason.to_owned(),
    }
}

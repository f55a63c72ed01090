//! Blocks as cells, each with the letters of what its threads wait for; blocks whose threads wait for
//! different things also warp by warp.

use std::collections::BTreeMap;
use std::fmt::Write;

use standstill_findings::{Node, ThreadRanges, WaitGraph};

use super::page::escape;

/// Cells drawn of one kind; a page with more is no picture.
const CELLS: u64 = 4096;
/// Blocks that are also shown warp by warp.
const BLOCKS_IN_FULL: usize = 8;
const WARP: u32 = 32;

/// Indices into the legend.
type Kinds = Vec<usize>;

/// The map, with its legend; empty where no threads or blocks of the graph wait.
pub(super) fn thread_map(graph: &WaitGraph) -> String {
    let mut legend: Vec<String> = Vec::new();
    let mut blocks: BTreeMap<u32, Kinds> = BTreeMap::new();
    let mut threads: BTreeMap<u32, Vec<(&ThreadRanges, usize)>> = BTreeMap::new();
    let mut left_out = 0;
    for edge in &graph.edges {
        let Some(node) = graph.nodes.get(edge.from.0 as usize) else { continue };
        if !matches!(node, Node::Threads { .. } | Node::Blocks(_)) {
            continue;
        }
        let to = graph.nodes.get(edge.to.0 as usize).map(Node::words).unwrap_or_default();
        let why = if edge.reason.is_empty() {
            format!("wait for {to}")
        } else {
            format!("{} → {to}", edge.reason)
        };
        let kind = legend.iter().position(|known| *known == why).unwrap_or_else(|| {
            legend.push(why);
            legend.len() - 1
        });
        match node {
            Node::Threads { block, threads: members } => {
                add(blocks.entry(*block).or_default(), kind);
                threads.entry(*block).or_default().push((members, kind));
            }
            Node::Blocks(members) => {
                for (first, last) in members.ranges() {
                    for block in *first..=*last {
                        if blocks.len() as u64 >= CELLS {
                            left_out += u64::from(last - block) + 1;
                            break;
                        }
                        add(blocks.entry(block).or_default(), kind);
                    }
                }
            }
            _ => {}
        }
    }
    if blocks.is_empty() {
        return String::new();
    }
    let mut out = String::from("<h3>Blocks by what they wait for</h3>\n<div class=\"map\">");
    for (block, kinds) in &blocks {
        out.push_str(&cell(&format!("block {block}"), kinds));
    }
    out.push_str("</div>\n");
    if left_out > 0 {
        let _ = writeln!(out, "<p>and {left_out} more blocks</p>");
    }
    for (block, members) in threads.iter().filter(|(_, members)| members.len() > 1).take(BLOCKS_IN_FULL) {
        let _ = write!(out, "<h3>Warps of block {block}</h3>\n<div class=\"map\">");
        for (warp, kinds) in warps(members) {
            out.push_str(&cell(&format!("warp {warp}"), &kinds));
        }
        out.push_str("</div>\n");
    }
    out.push_str("<table>\n");
    for (kind, why) in legend.iter().enumerate() {
        let _ = writeln!(out, "<tr><th>{}</th><td>{}</td></tr>", letter(kind), escape(why));
    }
    out.push_str("</table>\n");
    out
}

fn add(kinds: &mut Kinds, kind: usize) {
    if !kinds.contains(&kind) {
        kinds.push(kind);
    }
}

fn warps(members: &[(&ThreadRanges, usize)]) -> BTreeMap<u32, Kinds> {
    let mut warps: BTreeMap<u32, Kinds> = BTreeMap::new();
    for (ranges, kind) in members {
        for (first, last) in ranges.ranges() {
            for warp in (first / WARP..=last / WARP).take(CELLS as usize) {
                add(warps.entry(warp).or_default(), *kind);
            }
        }
    }
    warps
}

fn cell(name: &str, kinds: &Kinds) -> String {
    let letters: String = kinds.iter().map(|kind| letter(*kind)).collect();
    let class = match kinds.as_slice() {
        [one] => format!("k{}", one % 5),
        _ => "many".to_owned(),
    };
    format!("<span class=\"{class}\" title=\"{name}\">{letters}</span>")
}

/// A, B, …; after Z numbers.
fn letter(kind: usize) -> String {
    match u8::try_from(kind).ok().filter(|kind| *kind < 26) {
        Some(kind) => char::from(b'A' + kind).to_string(),
        None => format!("{kind} "),
    }
}

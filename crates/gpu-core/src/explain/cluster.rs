//! Threads that wait at the barrier of their cluster for blocks that do not come.

use std::collections::BTreeSet;

use standstill_findings::{Finding, Node, Rule, WaitGraph};

use crate::dump::Grid;
use crate::position::Doing;

use super::{Pattern, Scene, words};

pub(crate) fn judge(scene: &Scene<'_>, pattern: &Pattern) -> Option<Finding> {
    let at_barrier = |doing: &Doing| *doing == Doing::ClusterBarrier;
    let (member, class) = scene.doing(pattern, at_barrier).next()?;
    let clusters: BTreeSet<u64> =
        pattern.blocks.iter().map(|block| cluster(&scene.state.grid, *block)).collect();
    let mates = |block: &u64| clusters.contains(&cluster(&scene.state.grid, *block));
    // Threads of the same clusters that are elsewhere, and blocks that are gone.
    let mut elsewhere: Vec<String> = Vec::new();
    let mut running: Option<String> = None;
    for other in &scene.patterns {
        let blocks: Vec<u64> = other.blocks.iter().copied().filter(mates).collect();
        if blocks.is_empty() {
            continue;
        }
        let away = scene.doing(other, |doing| *doing != Doing::ClusterBarrier);
        for (there, at) in away {
            let threads = format!("{} of {}", words::threads(&there.threads), words::blocks(&blocks));
            if matches!(at.doing, Doing::Work | Doing::Loop { .. }) {
                running.get_or_insert(format!("{threads} were running {} and may still come", scene.on(at)));
            }
            elsewhere.push(format!("{threads}, which stand {}", scene.on(at)));
        }
    }
    let gone: Vec<u64> = (0..scene.state.grid.blocks().min(MOST))
        .filter(|block| mates(block) && !scene.state.blocks.contains_key(block))
        .collect();
    if !gone.is_empty() {
        let have = if gone.len() == 1 { "has" } else { "have" };
        elsewhere.push(format!("{}, which {have} finished", words::blocks(&gone)));
    }
    if elsewhere.is_empty() {
        return None;
    }
    let on = scene.on(class);
    let message = format!(
        "{} at the barrier of the cluster {on} for {}",
        scene.say(pattern, member, "wait", "").trim_end(),
        elsewhere.join(", and for ")
    );
    let mut finding = scene.finding(Rule::GridDivergence, message.clone());
    finding.help = "let every thread of the cluster arrive at each of its barriers".to_owned();
    if let Some(reason) = running {
        scene.may_end(&mut finding, reason);
    }
    scene.primary(&mut finding, member, scene.say(pattern, member, "wait", "here"));
    let mut graph = WaitGraph { sentence: message, ..WaitGraph::default() };
    let from = graph.node(Node::Named(scene.threads(pattern, &member.threads)));
    let to = graph.node(Node::Named("the barrier of the cluster".to_owned()));
    graph.edge(from, to, format!("wait ({})", scene.line(class)), scene.line_number(class));
    finding.waits = Some(graph);
    Some(finding)
}

/// Larger grids are looked at to here.
const MOST: u64 = 1 << 20;

/// The number of the cluster that a block belongs to. Without clusters every block is one.
fn cluster(grid: &Grid, block: u64) -> u64 {
    let [width, height, _] = grid.grid_dim.map(|n| u64::from(n.max(1)));
    let index = [block % width, block / width % height, block / width / height];
    let size = grid.cluster_dim.unwrap_or_default().map(|n| u64::from(n.max(1)));
    let [x, y, z] = [index[0] / size[0], index[1] / size[1], index[2] / size[2]];
    let (across, down) = (width.div_ceil(size[0]), height.div_ceil(size[1]));
    z.saturating_mul(down).saturating_add(y).saturating_mul(across).saturating_add(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_fall_into_clusters() {
        let grid = Grid { grid_dim: [4, 4, 1], cluster_dim: Some([2, 2, 1]), ..Grid::default() };
        let numbers: Vec<u64> = (0..16).map(|block| cluster(&grid, block)).collect();
        assert_eq!(numbers, [0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3]);
        let alone = Grid { grid_dim: [4, 1, 1], cluster_dim: Some([0, 0, 0]), ..Grid::default() };
        assert_eq!(cluster(&alone, 3), 3);
    }
}

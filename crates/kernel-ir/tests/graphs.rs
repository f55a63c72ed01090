//! Dominators, post-dominators, loops and reachability against their definitions, on random graphs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test may end so")]

use proptest::prelude::*;
use standstill_kernel_ir::build::graph;
use standstill_kernel_ir::{
    BlockId, ControlDependence, ControlFlow, Dominators, Influence, LoopId, Loops, PostDominators,
    Reachability,
};

/// Successor lists.
type Graph = Vec<Vec<u32>>;

fn graphs(largest: usize) -> impl Strategy<Value = Graph> {
    (1..=largest)
        .prop_flat_map(|count| prop::collection::vec(prop::collection::vec(0..count as u32, 0..4), count))
}

/// The nodes reached from `start` by any number of edges, never entering `without`.
fn reached(graph: &Graph, start: u32, without: Option<u32>) -> Vec<bool> {
    let mut seen = vec![false; graph.len()];
    let mut stack = if Some(start) == without { vec![] } else { vec![start] };
    while let Some(node) = stack.pop() {
        if !std::mem::replace(&mut seen[node as usize], true) {
            stack.extend(graph[node as usize].iter().filter(|&&to| Some(to) != without));
        }
    }
    seen
}

fn check_dominators(input: &Graph) {
    let flow = ControlFlow::build(&graph(input));
    let dominators = Dominators::build(&flow);
    let reachable = reached(input, 0, None);
    let count = input.len() as u32;
    let expected = |above: u32, below: u32| {
        reachable[above as usize]
            && reachable[below as usize]
            && !reached(input, 0, Some(above))[below as usize]
    };
    for below in 0..count {
        let strict: Vec<u32> = (0..count).filter(|&above| above != below && expected(above, below)).collect();
        for above in 0..count {
            assert_eq!(dominators.dominates(BlockId(above), BlockId(below)), expected(above, below));
            let common = (0..count)
                .filter(|&node| expected(node, above) && expected(node, below))
                .max_by_key(|&node| dominators.depth(BlockId(node)));
            assert_eq!(dominators.nearest_common(BlockId(above), BlockId(below)), common.map(BlockId));
        }
        let immediate = strict.iter().find(|&&node| strict.iter().all(|&above| expected(above, node)));
        assert_eq!(dominators.immediate(BlockId(below)), immediate.map(|&node| BlockId(node)));
        assert_eq!(dominators.depth(BlockId(below)) as usize, strict.len());
    }
    let preorder = dominators.preorder();
    assert_eq!(preorder.len(), reachable.iter().filter(|&&yes| yes).count());
    for (index, &block) in preorder.iter().enumerate() {
        assert!(!preorder[..index].iter().any(|&earlier| dominators.dominates(block, earlier)));
    }
}

fn check_post_dominators(input: &Graph) {
    let flow = ControlFlow::build(&graph(input));
    let post = PostDominators::build(&flow);
    let reachable = reached(input, 0, None);
    let count = input.len() as u32;
    let ends = |node: u32| input[node as usize].is_empty() || post.endless().contains(&BlockId(node));
    let expected = |after: u32, before: u32| {
        let rest = reached(input, before, Some(after));
        reachable[after as usize]
            && reachable[before as usize]
            && !(0..count).any(|node| rest[node as usize] && ends(node))
    };
    for &BlockId(node) in post.endless() {
        let trap = reached(input, node, None);
        assert!(
            (0..count)
                .filter(|&other| trap[other as usize])
                .all(|other| reached(input, other, None)[node as usize])
        );
    }
    for before in (0..count).filter(|&node| reachable[node as usize]) {
        let from = reached(input, before, None);
        assert!((0..count).any(|node| from[node as usize] && ends(node)), "{before} has no end");
        for after in 0..count {
            assert_eq!(
                post.post_dominates(BlockId(after), BlockId(before)),
                expected(after, before),
                "{after} after {before}"
            );
        }
        let strict: Vec<u32> =
            (0..count).filter(|&after| after != before && expected(after, before)).collect();
        let immediate = strict.iter().find(|&&node| strict.iter().all(|&after| expected(after, node)));
        assert_eq!(post.immediate(BlockId(before)), immediate.map(|&node| BlockId(node)));
        for other in (0..count).filter(|&node| reachable[node as usize]) {
            let common: Vec<u32> =
                (0..count).filter(|&node| expected(node, before) && expected(node, other)).collect();
            let nearest = common.iter().find(|&&node| common.iter().all(|&after| expected(after, node)));
            assert_eq!(
                post.nearest_common(BlockId(before), BlockId(other)),
                nearest.map(|&node| BlockId(node))
            );
        }
    }
}

/// A loop by definition: sorted headers, sorted blocks, and the loops inside.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Nest {
    headers: Vec<u32>,
    blocks: Vec<u32>,
    inside: Vec<Nest>,
}

/// The loops of the part of a graph in `within`, by definition. `all` is the graph of reachable nodes.
fn nests(all: &Graph, within: &[u32]) -> Vec<Nest> {
    let part: Graph = (0..all.len() as u32)
        .map(|node| {
            let keep = |to: &&u32| within.contains(&node) && within.contains(to);
            all[node as usize].iter().filter(keep).copied().collect()
        })
        .collect();
    let after: Vec<Vec<bool>> = (0..all.len() as u32)
        .map(|node| {
            let mut seen = vec![false; all.len()];
            for &to in &part[node as usize] {
                for (seen, reached) in seen.iter_mut().zip(reached(&part, to, None)) {
                    *seen |= reached;
                }
            }
            seen
        })
        .collect();
    let mut found: Vec<Nest> = Vec::new();
    for &node in within {
        let blocks: Vec<u32> = (0..all.len() as u32)
            .filter(|&other| after[node as usize][other as usize] && after[other as usize][node as usize])
            .collect();
        if blocks.is_empty() || found.iter().any(|nest| nest.blocks == blocks) {
            continue;
        }
        let enters = |header: u32| {
            (0..all.len() as u32).any(|from| !blocks.contains(&from) && all[from as usize].contains(&header))
        };
        let headers: Vec<u32> = blocks.iter().copied().filter(|&node| node == 0 || enters(node)).collect();
        let rest: Vec<u32> = blocks.iter().copied().filter(|node| !headers.contains(node)).collect();
        let inside = nests(all, &rest);
        found.push(Nest { headers, blocks, inside });
    }
    found.sort();
    found
}

fn nest_of(loops: &Loops, parent: Option<LoopId>) -> Vec<Nest> {
    let sorted = |blocks: &[BlockId]| {
        let mut numbers: Vec<u32> = blocks.iter().map(|block| block.0).collect();
        numbers.sort();
        numbers
    };
    let mut nests: Vec<Nest> = loops
        .iter()
        .filter(|(_, own)| own.parent == parent)
        .map(|(id, _)| Nest {
            headers: sorted(loops.headers(id)),
            blocks: sorted(loops.blocks(id)),
            inside: nest_of(loops, Some(id)),
        })
        .collect();
    nests.sort();
    nests
}

fn check_loops(input: &Graph) {
    let flow = ControlFlow::build(&graph(input));
    let loops = Loops::build(&flow);
    let reachable = reached(input, 0, None);
    let nodes: Vec<u32> = (0..input.len() as u32).filter(|&node| reachable[node as usize]).collect();
    let all: Graph =
        (0..input.len()).map(|node| if reachable[node] { input[node].clone() } else { vec![] }).collect();
    assert_eq!(nest_of(&loops, None), nests(&all, &nodes));
    for (id, own) in loops.iter() {
        assert_eq!(own.irreducible, loops.headers(id).len() > 1);
        assert_eq!(own.depth, own.parent.map_or(0, |outer| loops.get(outer).unwrap().depth) + 1);
        assert_eq!(loops.headers(id)[0], own.header);
        let inside = |node: u32| loops.blocks(id).contains(&BlockId(node));
        let mut exits = Vec::new();
        let mut latches = Vec::new();
        for &from in &nodes {
            assert_eq!(loops.contains(id, BlockId(from)), inside(from));
            let targets = flow.successors(BlockId(from));
            if inside(from) {
                exits.extend(targets.iter().filter(|to| !inside(to.0)).map(|&to| (BlockId(from), to)));
                latches
                    .extend(targets.iter().any(|to| loops.headers(id).contains(to)).then_some(BlockId(from)));
            }
        }
        let mut found = loops.exits(id).to_vec();
        found.sort();
        exits.sort();
        assert_eq!(found, exits);
        let mut found = loops.latches(id).to_vec();
        found.sort();
        assert_eq!(found, latches);
    }
    for node in 0..input.len() as u32 {
        let deepest = loops.iter().filter(|(id, _)| loops.blocks(*id).contains(&BlockId(node)));
        let deepest = deepest.max_by_key(|(_, own)| own.depth).map(|(id, _)| id);
        assert_eq!(loops.innermost(BlockId(node)), deepest);
    }
}

fn check_reachability(input: &Graph) {
    let flow = ControlFlow::build(&graph(input));
    let mut reachability = Reachability::new(&flow);
    for from in 0..input.len() as u32 {
        for to in 0..input.len() as u32 {
            let expected = input[from as usize].iter().any(|&next| reached(input, next, None)[to as usize]);
            assert_eq!(reachability.block_reaches(BlockId(from), BlockId(to)), expected);
        }
    }
}

fn check_control_dependence(input: &Graph) {
    let flow = ControlFlow::build(&graph(input));
    let post = PostDominators::build(&flow);
    let dependence = ControlDependence::build(&flow, &post);
    for block in (0..input.len() as u32).map(BlockId) {
        let expected: Vec<BlockId> = flow
            .reverse_postorder()
            .iter()
            .copied()
            .filter(|&branch| {
                let successors = flow.successors(branch);
                successors.len() > 1
                    && successors.iter().any(|&to| post.post_dominates(block, to))
                    && (block == branch || !post.post_dominates(block, branch))
            })
            .collect();
        assert_eq!(dependence.branches(block), expected, "of {block:?}");
    }
}

/// Whether two paths from `branch` reach `join` by different edges and share nothing between, not going
/// past `stop` nor through `branch` again. Tries all simple paths.
fn disjoint_paths(flow: &ControlFlow, branch: BlockId, stop: Option<BlockId>, join: BlockId) -> bool {
    let mut paths: Vec<Vec<BlockId>> = Vec::new();
    let mut stack: Vec<Vec<BlockId>> = flow.successors(branch).iter().map(|&to| vec![to]).collect();
    while let Some(path) = stack.pop() {
        let last = path[path.len() - 1];
        if last == join {
            paths.push(path);
        } else if last != branch && Some(last) != stop {
            for &to in flow.successors(last) {
                if !path.contains(&to) {
                    stack.push([path.as_slice(), &[to]].concat());
                }
            }
        }
    }
    let apart = |left: &[BlockId], right: &[BlockId]| {
        let between = |path: &[BlockId], block| path[..path.len() - 1].contains(&block);
        (left.len() > 1 || right.len() > 1)
            && left.iter().all(|&block| !between(left, block) || !between(right, block))
    };
    paths.iter().any(|left| paths.iter().any(|right| apart(left, right)))
}

fn check_influence(input: &Graph) {
    let flow = ControlFlow::build(&graph(input));
    let post = PostDominators::build(&flow);
    let mut influence = Influence::new(&flow, &post);
    for &branch in flow.reverse_postorder() {
        let stop = post.immediate(branch);
        let mut region = influence.region(branch).to_vec();
        region.sort();
        let without = stop.map(|stop| stop.0);
        let expected: Vec<BlockId> = (0..input.len() as u32)
            .filter(|&node| {
                flow.successors(branch).iter().any(|to| reached(input, to.0, without)[node as usize])
            })
            .map(BlockId)
            .collect();
        assert_eq!(region, expected, "region of {branch:?}");
        let mut joins = influence.joins(branch).to_vec();
        joins.sort();
        let expected: Vec<BlockId> = (0..input.len() as u32)
            .map(BlockId)
            .filter(|&join| flow.successors(branch).len() > 1 && disjoint_paths(&flow, branch, stop, join))
            .collect();
        assert_eq!(joins, expected, "joins of {branch:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn dominators_are_on_every_path(input in graphs(9)) {
        check_dominators(&input);
    }

    #[test]
    fn post_dominators_are_on_every_path_to_the_end(input in graphs(9)) {
        check_post_dominators(&input);
    }

    #[test]
    fn control_dependence_is_by_post_dominance(input in graphs(9)) {
        check_control_dependence(&input);
    }

    #[test]
    fn joins_are_where_disjoint_paths_meet(input in graphs(7)) {
        check_influence(&input);
    }

    #[test]
    fn loops_are_nested_components(input in graphs(10)) {
        check_loops(&input);
    }

    #[test]
    fn reachability_is_by_at_least_one_edge(input in graphs(9)) {
        check_reachability(&input);
    }
}

/// A long chain, a long ladder into one block, and deep nesting need no deep stack and little time.
#[test]
fn large_graphs_are_quick() {
    let count = 20_000u32;
    let chain: Graph =
        (0..count).map(|node| if node + 1 < count { vec![node + 1] } else { vec![] }).collect();
    let ladder: Graph =
        (0..count).map(|node| if node + 1 < count { vec![node + 1, count - 1] } else { vec![] }).collect();
    let nested: Graph = (0..count)
        .map(|node| match node {
            _ if node + 1 == count => vec![],
            _ if node >= count / 2 && node < count / 2 + 60 => vec![node + 1, count - 1 - node],
            _ => vec![node + 1],
        })
        .collect();
    for input in [chain, ladder, nested] {
        let flow = ControlFlow::build(&graph(&input));
        let dominators = Dominators::build(&flow);
        let post = PostDominators::build(&flow);
        assert!(dominators.dominates(BlockId(0), BlockId(count - 1)));
        assert!(post.post_dominates(BlockId(count - 1), BlockId(0)));
        assert!(Loops::build(&flow).len() <= 60);
    }
}

#[test]
fn an_infinite_loop_ends_at_its_latch() {
    // 0 → 1; 1 → 2 | 3; 2 → 4; 3 → 4; 4 → 1
    let flow = ControlFlow::build(&graph(&[vec![1], vec![2, 3], vec![4], vec![4], vec![1]]));
    let post = PostDominators::build(&flow);
    assert_eq!(post.endless(), [BlockId(4)]);
    assert_eq!(post.immediate(BlockId(1)), Some(BlockId(4)));
    assert_eq!(post.immediate(BlockId(4)), None);
}

//! Who calls whom.

use crate::components::strongly_connected;
use crate::{Callee, Function, FunctionId, Lists, Op, Program};

/// The calls between the functions of a module.
#[derive(Debug, Clone, Default)]
pub struct CallGraph {
    callees: Lists<FunctionId>,
    callers: Lists<FunctionId>,
    /// Functions that call each other in a cycle, callees before callers.
    components: Lists<FunctionId>,
    recursive: Vec<bool>,
    unknown: Vec<bool>,
    indirect: Vec<bool>,
}

/// Collects the calls of one function after another.
#[derive(Debug, Clone, Default)]
pub struct CallGraphBuilder {
    count: usize,
    calls: Vec<(u32, FunctionId)>,
    unknown: Vec<bool>,
    indirect: Vec<bool>,
}

impl CallGraphBuilder {
    /// A graph over the functions `0..count` of a module.
    pub fn new(count: usize) -> CallGraphBuilder {
        CallGraphBuilder {
            count,
            calls: Vec::new(),
            unknown: vec![false; count],
            indirect: vec![false; count],
        }
    }

    /// Adds the calls in a function's body. An indirect call whose targets the code lists counts as a
    /// call of each.
    pub fn add(&mut self, function: &Function) -> &mut Self {
        let caller = function.id.0;
        if caller as usize >= self.count || function.calls.is_empty() {
            return self;
        }
        for instruction in &function.instructions {
            let Op::Call(call) = instruction.op else { continue };
            let Some(site) = function.calls.get(call.0 as usize) else { continue };
            match &site.callee {
                Callee::Direct(callee) => self.calls.push((caller, *callee)),
                Callee::Indirect(targets) => {
                    self.calls.extend(targets.iter().map(|&target| (caller, target)));
                    self.indirect[caller as usize] = true;
                    self.unknown[caller as usize] |= targets.is_empty();
                }
                Callee::Unknown(_) => self.unknown[caller as usize] = true,
            }
        }
        self
    }

    /// Puts the graph together.
    pub fn finish(mut self) -> CallGraph {
        self.calls.retain(|(_, callee)| (callee.0 as usize) < self.count);
        self.calls.sort_unstable();
        self.calls.dedup();
        let callees = Lists::from_pairs(self.count, &self.calls);
        let backward: Vec<(u32, FunctionId)> =
            self.calls.iter().map(|&(caller, callee)| (callee.0, FunctionId(caller))).collect();
        let callers = Lists::from_pairs(self.count, &backward);
        let successor = |node, step| callees.get(node).get(step as usize).map(|callee: &FunctionId| callee.0);
        let found = strongly_connected(self.count, |_| true, successor);
        let mut recursive = vec![false; self.count];
        let mut components = Lists::with_capacity(found.len(), self.count);
        for members in found.iter() {
            for &member in members {
                components.push(FunctionId(member));
                recursive[member as usize] =
                    members.len() > 1 || callees.get(member).contains(&FunctionId(member));
            }
            components.end_list();
        }
        CallGraph { callees, callers, components, recursive, unknown: self.unknown, indirect: self.indirect }
    }
}

impl CallGraph {
    /// The graph of a whole program; every function is looked at once.
    pub fn of(program: &dyn Program) -> CallGraph {
        let count = program.module().functions.len();
        let mut builder = CallGraphBuilder::new(count);
        for id in (0..count as u32).map(FunctionId) {
            if let Some(function) = program.function(id) {
                builder.add(&function);
            }
        }
        builder.finish()
    }

    /// The functions that a function calls, directly or as a listed target of an indirect call; each once.
    pub fn callees(&self, function: FunctionId) -> &[FunctionId] {
        self.callees.get(function.0)
    }

    /// The functions that call a function; each once.
    pub fn callers(&self, function: FunctionId) -> &[FunctionId] {
        self.callers.get(function.0)
    }

    /// All functions, callees before their callers; those that call each other in a cycle together.
    pub fn bottom_up(&self) -> impl Iterator<Item = &[FunctionId]> {
        self.components.iter()
    }

    /// Whether a function can call itself, directly or through others.
    pub fn is_recursive(&self, function: FunctionId) -> bool {
        self.recursive.get(function.0 as usize).copied().unwrap_or(false)
    }

    /// Whether a function has a call whose target is not known at all.
    pub fn calls_unknown(&self, function: FunctionId) -> bool {
        self.unknown.get(function.0 as usize).copied().unwrap_or(false)
    }

    /// Whether a function has a call by address.
    pub fn calls_indirectly(&self, function: FunctionId) -> bool {
        self.indirect.get(function.0 as usize).copied().unwrap_or(false)
    }

    /// The functions that can run when `roots` are called, in increasing order.
    pub fn reachable_from(&self, roots: &[FunctionId]) -> Vec<FunctionId> {
        let mut seen = vec![false; self.recursive.len()];
        let mut stack: Vec<FunctionId> = roots.to_vec();
        while let Some(function) = stack.pop() {
            if let Some(seen) = seen.get_mut(function.0 as usize)
                && !std::mem::replace(seen, true)
            {
                stack.extend_from_slice(self.callees(function));
            }
        }
        (0..).map(FunctionId).zip(seen).filter(|(_, seen)| *seen).map(|(function, _)| function).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::FunctionBuilder;
    use crate::{CallId, CallSite};

    /// `calls[i]` are the callees of function i; checks the bottom-up order and who is recursive.
    fn check(calls: &[&[Callee]], order: &[&[u32]], recursive: &[u32]) -> CallGraph {
        let mut builder = CallGraphBuilder::new(calls.len());
        for (id, callees) in calls.iter().enumerate() {
            let mut function = FunctionBuilder::new();
            let block = function.block();
            for (index, callee) in callees.iter().enumerate() {
                let site = CallSite { callee: callee.clone(), arguments: vec![], results: vec![] };
                function.tables().calls.push(site);
                function.push(block, Op::Call(CallId(index as u32)), &[], &[]);
            }
            let mut function = function.finish();
            function.id = FunctionId(id as u32);
            builder.add(&function);
        }
        let graph = builder.finish();
        let found: Vec<Vec<u32>> = graph
            .bottom_up()
            .map(|members| {
                let mut numbers: Vec<u32> = members.iter().map(|member| member.0).collect();
                numbers.sort();
                numbers
            })
            .collect();
        assert_eq!(found, order);
        let found: Vec<u32> =
            (0..calls.len() as u32).filter(|&id| graph.is_recursive(FunctionId(id))).collect();
        assert_eq!(found, recursive);
        graph
    }

    #[test]
    fn callees_come_first() {
        let direct = |id| Callee::Direct(FunctionId(id));
        check(&[&[direct(1), direct(1)], &[direct(2)], &[]], &[&[2], &[1], &[0]], &[]);
        check(&[&[direct(0)]], &[&[0]], &[0]);
        let graph = check(
            &[&[direct(1), direct(3)], &[direct(2)], &[direct(1)], &[Callee::Unknown("printf".into())]],
            &[&[1, 2], &[3], &[0]],
            &[1, 2],
        );
        assert!(graph.calls_unknown(FunctionId(3)) && !graph.calls_unknown(FunctionId(0)));
        assert_eq!(graph.callers(FunctionId(1)), [FunctionId(0), FunctionId(2)]);
        assert_eq!(graph.reachable_from(&[FunctionId(2)]), [FunctionId(1), FunctionId(2)]);
        let graph = check(
            &[&[Callee::Indirect(vec![FunctionId(1)])], &[Callee::Indirect(vec![])]],
            &[&[1], &[0]],
            &[],
        );
        assert!(graph.calls_indirectly(FunctionId(0)) && !graph.calls_unknown(FunctionId(0)));
        assert!(graph.calls_unknown(FunctionId(1)));
    }
}

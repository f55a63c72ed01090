//! What the operations of a function mean for order, worked out once.

use std::sync::Arc;

use standstill_kernel_ir::{Access, AtomicOperation, Op, Order, Scope, Space, Type};

use super::pairs::Pairs;
use super::records::{OBSERVER, STRONG, WIDE};
use super::shape::{Layouts, Shape};
use super::{Race, Site};
use crate::decode::code::{Code, Origin, Slot};
use crate::exec::core::Core;
use crate::exec::memory::element_bytes;

/// The kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Nothing,
    Load,
    Store,
    Atomic(AtomicOperation),
    /// Neither.
    Other,
}

/// An operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) what: What,
    /// For accesses: how, and bytes of an element.
    pub(super) access: Access,
    pub(super) bytes: u64,
    /// The numbers of the place as a reading and as a writing one.
    pub(super) reads: u32,
    pub(super) writes: u32,
    /// What marks strong accesses in a record's site.
    pub(super) flags: u32,
    /// It is one of a pair of accesses that belong together; see [`Pairs`].
    pub(super) noted: bool,
    /// Somebody looks at the result.
    pub(super) observed: bool,
    /// A strong access ends the turn at times.
    pub(super) strong: bool,
    /// Where its shape stands.
    pub(super) shape: u32,
}

/// No access.
const NONE: Access = Access {
    space: Space::Generic,
    ty: Type::None,
    elements: 0,
    order: Order::Weak,
    scope: Scope::Sys,
    non_coherent: false,
};

impl Plan {
    const NOTHING: Plan = Plan {
        what: What::Nothing,
        access: NONE,
        bytes: 1,
        reads: 0,
        writes: 0,
        flags: 0,
        noted: false,
        observed: true,
        strong: false,
        shape: 0,
    };
}

/// The functions that have been looked at.
#[derive(Debug, Default, Clone)]
pub(super) struct Plans {
    functions: Vec<Option<Arc<Pairs>>>,
    plans: Vec<Vec<Plan>>,
    pub(super) layouts: Layouts,
    /// Taken out while they are used.
    pub(super) shapes: Vec<Option<Box<Shape>>>,
}

/// What marks an access of this scope as strong.
pub(super) fn flags(strong: Option<Scope>) -> u32 {
    match strong {
        None => 0,
        Some(Scope::Gpu | Scope::Sys) => STRONG | WIDE,
        Some(Scope::Cta | Scope::Cluster) => STRONG,
    }
}

fn is_followed(space: Space) -> bool {
    matches!(space, Space::Global | Space::Shared | Space::SharedCluster | Space::Generic)
}

impl Race {
    /// The plan of an operation.
    #[inline]
    pub(super) fn plan(&mut self, core: &Core<'_>, position: usize) -> Plan {
        let function = core.code.function.id.0 as usize;
        let known = self.plans.plans.get(function).filter(|plans| !plans.is_empty());
        match known.and_then(|plans| plans.get(position)) {
            Some(plan) => *plan,
            None => self.plan_function(core.code, position),
        }
    }

    /// The plan of an operation of a function that has been looked at.
    pub(super) fn plan_at(&self, function: u32, position: u32) -> Option<&Plan> {
        self.plans.plans.get(function as usize)?.get(position as usize)
    }

    /// What the code of a function writes back.
    pub(super) fn pairs_of(&mut self, core: &Core<'_>) -> Option<Arc<Pairs>> {
        self.plans.functions.get(core.code.function.id.0 as usize).cloned().flatten()
    }

    #[cold]
    fn plan_function(&mut self, code: &Code, position: usize) -> Plan {
        let function = code.function.id.0 as usize;
        let mut pairs = Pairs::build(&code.function);
        let number = |origin: &Origin| match origin {
            Origin::Instruction(id) => id.0,
            Origin::Terminator(_) => u32::MAX,
        };
        pairs.positions = code.origins.iter().map(number).collect();
        let plans: Vec<Plan> =
            (0..code.ops.len()).map(|position| self.plan_of(code, &pairs, position)).collect();
        if self.plans.plans.len() <= function {
            self.plans.plans.resize_with(function + 1, Vec::new);
            self.plans.functions.resize(function + 1, None);
        }
        let plan = plans.get(position).copied().unwrap_or(Plan::NOTHING);
        if let (Some(place), Some(of)) =
            (self.plans.plans.get_mut(function), self.plans.functions.get_mut(function))
        {
            *place = plans;
            *of = Some(Arc::new(pairs));
        }
        plan
    }

    fn plan_of(&mut self, code: &Code, pairs: &Pairs, position: usize) -> Plan {
        let Some(Origin::Instruction(id)) = code.origins.get(position) else { return Plan::NOTHING };
        let Some(instruction) = code.function.instructions.get(id.0 as usize) else { return Plan::NOTHING };
        let what = instruction.op;
        let (kind, access, bytes) = match what {
            Op::Load(access) => (What::Load, access, element_bytes(access.ty)),
            Op::Store(access) => (What::Store, access, element_bytes(access.ty)),
            Op::Atomic { access, operation } => (What::Atomic(operation), access, Some(access.ty.bytes())),
            Op::Arithmetic(_) | Op::Hint | Op::Shuffle(_) | Op::Vote(_) | Op::Call(_) => {
                return Plan::NOTHING;
            }
            _ => return Plan { what: What::Other, ..Plan::NOTHING },
        };
        // The copy of an address that a vector overwrites is no access.
        let copies = matches!(kind, What::Load | What::Store)
            && code.ops.get(position).is_none_or(|op| op.c == Slot::NONE);
        let Some(bytes) = bytes.filter(|bytes| (1..=8).contains(bytes)) else { return Plan::NOTHING };
        if copies || !is_followed(access.space) {
            return Plan::NOTHING;
        }
        let mut plan = Plan { what: kind, access, bytes: bytes.into(), ..Plan::NOTHING };
        let scope = self.strong_scope(&what, &access, pairs, position);
        self.narrow |= access.space != Space::Shared && matches!(scope, Some(Scope::Cta | Scope::Cluster));
        let function = code.function.id.0;
        plan.reads = self.site_at((function, position as u32), scope, false, false);
        plan.writes = self.site_at((function, position as u32), scope, true, false);
        plan.flags = flags(scope);
        if scope.is_some() && !matches!(what, Op::Store(_)) {
            plan.flags |= OBSERVER;
        }
        plan.noted = pairs.is_noted(position);
        plan.observed = pairs.is_observed(position);
        plan.strong = access.order != Order::Weak || matches!(what, Op::Atomic { .. });
        plan.shape = self.plans.shapes.len() as u32;
        self.plans.shapes.push(Some(Box::default()));
        plan
    }

    fn strong_scope(&self, what: &Op, access: &Access, pairs: &Pairs, position: usize) -> Option<Scope> {
        match what {
            Op::Atomic { .. } => Some(access.scope),
            Op::Load(_) if access.order == Order::Weak => pairs.is_guess(position).then_some(Scope::Sys),
            _ if access.order == Order::Weak => None,
            _ => Some(access.scope),
        }
    }

    /// The number of a place in the code.
    pub(super) fn site_at(
        &mut self,
        (function, position): (u32, u32),
        strong: Option<Scope>,
        write: bool,
        copies: bool,
    ) -> u32 {
        let key = (function, position * 4 + u32::from(write) * 2 + u32::from(copies));
        let fresh = self.sites.len() as u32;
        let number = *self.site_numbers.entry(key).or_insert(fresh);
        if number == fresh {
            self.sites.push(Site { function, position, strong, write, copies, contended: false });
        }
        number
    }
}

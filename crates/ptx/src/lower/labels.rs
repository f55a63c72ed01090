//! Which labels branches name, with the scoping of inner blocks: worked out before a body is lowered,
//! since branches go forwards and only labels that are named begin a block.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{ERRORS_KEPT, ErrorKind, SyntaxError};
use crate::lower::Lowering;
use crate::span::{Span, offset};
use crate::syntax::function::FunctionSyntax;
use crate::syntax::operand::{Operand, Operands};
use crate::syntax::statement::{Statement, StatementKind};

/// A label by its position among the labels of the body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LabelId(pub(super) u32);

impl LabelId {
    /// A label that is declared nowhere.
    pub(super) const UNDECLARED: Self = Self(u32::MAX);
}

/// The labels that one jump names, as a range of [`Labels::targets`]; for an indirect call the operand slots
/// of its `.calltargets` list.
#[derive(Clone, Copy, Default)]
pub(super) struct Targets {
    pub(super) first: u32,
    pub(super) count: u32,
}

#[derive(Default)]
pub(super) struct Labels {
    /// For each branch, switch and call of the body in order: what it names.
    uses: Vec<Targets>,
    taken: usize,
    pub(super) targets: Vec<LabelId>,
    /// For each label whether a branch names it.
    named: Vec<bool>,
}

impl Labels {
    /// What the next branch, switch or call of the body names.
    pub(super) fn next_use(&mut self) -> Targets {
        self.taken += 1;
        self.uses.get(self.taken - 1).copied().unwrap_or_default()
    }

    /// The label of a branch.
    pub(super) fn target(&self, targets: Targets) -> LabelId {
        self.targets.get(targets.first as usize).copied().unwrap_or(LabelId::UNDECLARED)
    }

    pub(super) fn is_named(&self, label: LabelId) -> bool {
        self.named.get(label.0 as usize).copied().unwrap_or(false)
    }

    pub(super) fn count(&self) -> usize {
        self.named.len()
    }
}

struct Finder<'l, 'm, 'a> {
    lowering: &'l Lowering<'m, 'a>,
    body: &'m [Statement],
    /// Labels by scope and name.
    by_name: FxHashMap<(u32, &'a str), LabelId>,
    /// Statement and scope of each label.
    places: Vec<(u32, u32)>,
    /// The scope around each scope.
    outer: Vec<u32>,
    /// Target lists that have been read, by the label that names them.
    lists: FxHashMap<u32, Targets>,
    labels: Labels,
}

/// Finds the labels of a body and what its branches name.
pub(super) fn find(lowering: &Lowering<'_, '_>, function: &FunctionSyntax) -> Labels {
    let mut finder = Finder {
        lowering,
        body: lowering.module.body(function),
        by_name: FxHashMap::default(),
        places: Vec::new(),
        outer: vec![u32::MAX],
        lists: FxHashMap::default(),
        labels: Labels::default(),
    };
    let mut scope = 0;
    let mut jumps = Vec::new();
    for (at, statement) in lowering.module.body_landmarks(function) {
        match statement.kind {
            StatementKind::Instruction { opcode, .. }
                if lowering.jumps.get(opcode.0 as usize).copied().unwrap_or(false) =>
            {
                jumps.push((at, scope));
            }
            StatementKind::Label(name) => {
                let label = LabelId(offset(finder.places.len()));
                finder.places.push((at, scope));
                finder.by_name.entry((scope, lowering.module.str(name))).or_insert(label);
            }
            StatementKind::Open => {
                finder.outer.push(scope);
                scope = offset(finder.outer.len() - 1);
            }
            StatementKind::Close => scope = finder.outer.get(scope as usize).copied().unwrap_or(0),
            _ => {}
        }
    }
    finder.labels.named = vec![false; finder.places.len()];
    for (at, scope) in jumps {
        let targets = finder.jump(at, scope);
        finder.labels.uses.push(targets);
    }
    finder.labels
}

impl<'m, 'a> Finder<'_, 'm, 'a> {
    fn jump(&mut self, at: u32, scope: u32) -> Targets {
        let Some(&Statement { kind: StatementKind::Instruction { opcode, first, slots, .. }, .. }) =
            self.body.get(at as usize)
        else {
            return Targets::default();
        };
        let module = self.lowering.module;
        let operands = module.operands(first, u32::from(slots));
        match module.opcode(opcode).mnemonic() {
            "bra" => {
                let label =
                    operands.into_iter().next().and_then(|operand| self.label(operand.operand, scope));
                let first = offset(self.labels.targets.len());
                self.name(label);
                Targets { first, count: 1 }
            }
            "brx" => match last_name(operands) {
                Some(table) => self.list(table, scope),
                None => Targets::default(),
            },
            _ => match last_name(operands).and_then(|table| self.table(table, scope)) {
                Some((first, count, _)) => Targets { first, count },
                None => Targets::default(),
            },
        }
    }

    /// The operand slots of the list that a label names, and the label.
    fn table(&self, table: Span, scope: u32) -> Option<(u32, u32, LabelId)> {
        let label = self.find(table, scope)?;
        let (at, _) = self.places.get(label.0 as usize)?;
        match self.body.get(*at as usize + 1)?.kind {
            StatementKind::Targets { first, slots } => Some((first, slots, label)),
            _ => None,
        }
    }

    /// Adds a target.
    fn name(&mut self, label: Option<LabelId>) {
        if let Some(named) = label.and_then(|label| self.labels.named.get_mut(label.0 as usize)) {
            *named = true;
        }
        self.labels.targets.push(label.unwrap_or(LabelId::UNDECLARED));
    }

    fn label(&self, operand: Operand, scope: u32) -> Option<LabelId> {
        match operand {
            Operand::Name(name) => self.find(name, scope),
            _ => None,
        }
    }

    /// The label that a name means in a scope: an inner block's hides an outer one's.
    fn find(&self, name: Span, mut scope: u32) -> Option<LabelId> {
        let name = self.lowering.module.str(name);
        loop {
            if let Some(&label) = self.by_name.get(&(scope, name)) {
                return Some(label);
            }
            scope = *self.outer.get(scope as usize)?;
            if scope == u32::MAX {
                return None;
            }
        }
    }

    /// The labels of a `.branchtargets` list, by the label before it.
    fn list(&mut self, table: Span, scope: u32) -> Targets {
        let Some((first, slots, label)) = self.table(table, scope) else { return Targets::default() };
        if let Some(&known) = self.lists.get(&label.0) {
            return known;
        }
        let scope = self.places.get(label.0 as usize).map_or(0, |place| place.1);
        let start = offset(self.labels.targets.len());
        for operand in self.lowering.module.operands(first, slots) {
            let label = self.label(operand.operand, scope);
            self.name(label);
        }
        let targets = Targets { first: start, count: offset(self.labels.targets.len()) - start };
        self.lists.insert(label.0, targets);
        targets
    }
}

/// See [`Lowering::undefined_labels`].
pub(super) fn undefined(lowering: &Lowering<'_, '_>) -> Vec<SyntaxError> {
    let module = lowering.module;
    let mut found = Vec::new();
    let mut declared = FxHashSet::default();
    let mut named = Vec::new();
    for function in &module.functions {
        let inside =
            |error: &SyntaxError| (function.span.start..function.span.end).contains(&error.span.start);
        if module.errors.kept().iter().any(inside) {
            continue;
        }
        declared.clear();
        named.clear();
        let mut names_labels = false;
        for (_, statement) in module.body_landmarks(function) {
            match statement.kind {
                StatementKind::Label(name) => {
                    declared.insert(module.str(name));
                }
                StatementKind::Instruction { opcode, first, slots, .. }
                    if lowering.jumps.get(opcode.0 as usize).copied().unwrap_or(false) =>
                {
                    let operands = module.operands(first, u32::from(slots));
                    match module.opcode(opcode).mnemonic() {
                        "bra" => named.extend(last_name(operands)),
                        "brx" => {
                            names_labels = true;
                            named.extend(last_name(operands));
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        if names_labels {
            named.extend(listed(lowering, module.body(function)));
        }
        let missing = named.iter().filter(|name| !declared.contains(module.str(**name)));
        found.extend(missing.map(|&span| SyntaxError { kind: ErrorKind::UndefinedLabel, span }));
        if found.len() >= ERRORS_KEPT {
            break;
        }
    }
    found.sort_by_key(|error| error.span.start);
    found.truncate(ERRORS_KEPT);
    found
}

/// The labels in the lists that switches of a body choose from.
fn listed(lowering: &Lowering<'_, '_>, body: &[Statement]) -> Vec<Span> {
    let module = lowering.module;
    let switched: FxHashSet<&str> = body
        .iter()
        .filter_map(|statement| match statement.kind {
            StatementKind::Instruction { opcode, first, slots, .. }
                if module.opcode(opcode).mnemonic() == "brx" =>
            {
                last_name(module.operands(first, u32::from(slots))).map(|name| module.str(name))
            }
            _ => None,
        })
        .collect();
    let mut found = Vec::new();
    for pair in body.windows(2) {
        if let [
            Statement { kind: StatementKind::Label(table), .. },
            Statement { kind: StatementKind::Targets { first, slots }, .. },
        ] = pair
            && switched.contains(module.str(*table))
        {
            found.extend(module.operands(*first, *slots).into_iter().filter_map(|operand| {
                match operand.operand {
                    Operand::Name(name) => Some(name),
                    _ => None,
                }
            }));
        }
    }
    found
}

fn last_name(operands: Operands<'_>) -> Option<Span> {
    operands
        .into_iter()
        .filter_map(|operand| match operand.operand {
            Operand::Name(name) => Some(name),
            _ => None,
        })
        .last()
}

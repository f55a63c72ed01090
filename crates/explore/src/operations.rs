//! The operations of a schedule, in words.

use standstill_kernel_ir::{OperationMark, StructureOperation, Type};

use crate::follow::{Event, Follower};
use crate::model::{Held, apply};
use crate::schedule::{ScheduleStep, show};
use crate::system::System;

/// An operation of a shared structure in a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Block and thread, by their linear indices; nobody for what was so before the launch.
    pub thread: Option<(u32, u32)>,
    /// What kind of structure it is.
    pub structure: &'static str,
    /// What was called: `push(3)`.
    pub call: String,
    /// What it gave; nothing where it had not ended.
    pub result: Option<String>,
    /// The step that it began with, counted from 1.
    pub begins: usize,
    /// The step that it ended with.
    pub ends: Option<usize>,
}

impl System<'_> {
    /// The operations of a schedule from the first state.
    pub(crate) fn operations(&mut self, schedule: &[ScheduleStep]) -> Vec<Operation> {
        let mut list: Vec<(Operation, StructureOperation)> = Vec::new();
        self.log = Some(Vec::new());
        let mut now = self.initial();
        for number in 0..=schedule.len() {
            if let Some(step) = number.checked_sub(1).and_then(|at| schedule.get(at)) {
                let thread = (step.block * self.per_block + step.thread) as usize;
                let Some(after) = self.step_of(&now, thread) else { break };
                now = after;
            }
            for (thread, effect) in self.log.replace(Vec::new()).unwrap_or_default() {
                let events = match &self.orders {
                    Some(Follower::Histories(histories)) => histories.events(effect).to_vec(),
                    _ => Vec::new(),
                };
                let who = (self.block_of(thread), thread as u32 % self.per_block);
                events.into_iter().for_each(|event| add(&mut list, who, event, number));
            }
        }
        self.log = None;
        self.race = None;
        list.into_iter().map(|(operation, _)| operation).collect()
    }
}

fn add(list: &mut Vec<(Operation, StructureOperation)>, who: (u32, u32), event: Event, number: usize) {
    let Event::Operation { mark, subject, arguments, .. } = event else { return };
    let number_of = |value: u64| show(value, Type::S64);
    let (operation, thread) = match mark {
        OperationMark::Begins(operation) => (operation, Some(who)),
        OperationMark::Held(operation) => (operation, None),
        OperationMark::Unknown => return,
        OperationMark::Ends => {
            let is_open = |known: &Operation| known.thread == Some(who) && known.ends.is_none();
            if let Some((open, operation)) = list.iter_mut().rev().find(|(known, _)| is_open(known)) {
                let gives = apply(*operation, arguments, &mut Held::new()).is_some();
                open.result = gives.then(|| number_of(subject));
                open.ends = Some(number);
            }
            return;
        }
    };
    let (structure, name) = operation.names();
    let arguments = arguments.iter().take(arguments_of(operation)).map(|&value| number_of(value));
    let call = format!("{name}({})", arguments.collect::<Vec<_>>().join(", "));
    let known = Operation { thread, structure, call, result: None, begins: number, ends: None };
    list.push((known, operation));
}

/// How many arguments an operation has.
fn arguments_of(operation: StructureOperation) -> usize {
    use StructureOperation as Is;
    match operation {
        Is::RegisterRead | Is::CounterGet | Is::StackPop | Is::QueuePop => 0,
        Is::RegisterSwap | Is::MapPut => 2,
        _ => 1,
    }
}

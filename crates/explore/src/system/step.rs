//! The step of one thread: worked out once, looked up after that.

use standstill_kernel_ir::{Op, Order};

use super::{Done, Found, Next, System, at_barrier, live};
use crate::follow::NOTHING;
use crate::thread::{Local, Status};

impl System<'_> {
    /// The state after the step of a thread, before threads are brought into one order; `false` when it can take none.
    pub(crate) fn advance(&mut self, state: &[u32], thread: usize, after: &mut Vec<u32>) -> bool {
        let (Some(&local), Some(&memory)) = (state.get(thread), state.last()) else { return false };
        if !matches!(self.next(local), Next::Step | Next::Circle) {
            return false;
        }
        let done = self.step(local, memory);
        after.clear();
        after.extend_from_slice(state);
        if let Some(slot) = after.get_mut(thread) {
            *slot = done.local;
        }
        if let Some(slot) = after.last_mut() {
            *slot = done.memory;
        }
        self.follow(after, thread, done.effect);
        if !matches!(self.next(done.local), Next::Step | Next::Circle | Next::Stopped) {
            self.normalise(after);
        }
        self.forget(after);
        true
    }

    /// The same where all of it is known already, and with threads in one order.
    pub(crate) fn look_up(&self, state: &[u32], thread: usize, after: &mut Vec<u32>) -> Found {
        let (Some(&local), Some(&memory)) = (state.get(thread), state.last()) else { return Found::Nothing };
        if !matches!(self.next(local), Next::Step | Next::Circle) {
            return Found::Nothing;
        }
        let Some(&done) = self.steps.get(&(u64::from(local) << 32 | u64::from(memory))) else {
            return Found::Open;
        };
        after.clear();
        after.extend_from_slice(state);
        if let Some(slot) = after.get_mut(thread) {
            *slot = done.local;
        }
        if let Some(slot) = after.last_mut() {
            *slot = done.memory;
        }
        let waits = !matches!(self.next(done.local), Next::Step | Next::Circle | Next::Stopped);
        if waits && self.may_open(after) {
            return Found::Open;
        }
        let mut shown = None;
        if let Some(orders) = &self.orders {
            let threads = self.threads();
            let followed = after.get(threads).and_then(|&order| {
                let (order, number) = orders.known_after(order, thread as u8, done.effect)?;
                shown = (number != NOTHING).then_some(number);
                orders.known_to_forget(order, live(&self.next, after.get(..threads).unwrap_or(&[])))
            });
            match (followed, after.get_mut(threads)) {
                (Some(order), Some(slot)) => *slot = order,
                _ => return Found::Open,
            }
        }
        self.sort(after);
        Found::Known(shown)
    }

    /// What comes of the step of a thread in a state, and the memory after it.
    fn step(&mut self, local: u32, memory: u32) -> Done {
        let key = u64::from(local) << 32 | u64::from(memory);
        if let Some(&known) = self.steps.get(&key) {
            return known;
        }
        let known = self.work_out(local, memory);
        self.steps.insert(key, known);
        known
    }

    fn work_out(&mut self, local: u32, memory: u32) -> Done {
        let Some(state) = self.locals.get(local).cloned() else { return Done { local, memory, effect: 0 } };
        // These steps change nothing but who has taken one.
        let (status, next) = match state.status {
            Status::Ends => (Status::Ended, Next::Over),
            Status::Circles => (Status::Circles, Next::Circle),
            other => (other, Next::Step),
        };
        if next != Next::Step {
            let after = Local { status, started: true, ..(*state).clone() };
            let (number, fresh) = self.locals.number(after);
            if fresh {
                self.next.push(next);
            }
            return Done { local: number, memory, effect: 0 };
        }
        let contents = self.memory.contents(memory);
        let mut running = state.run(&self.codes);
        running.started = true;
        let (number, contents, effect) = self.go_on(running, contents, |machine| {
            machine.begin_operations()?;
            let Some((function, &instruction)) = machine.instruction() else { return Ok(()) };
            match instruction.op {
                Op::Load(access) | Op::Store(access) | Op::Atomic { access, .. } => {
                    machine.access(function, instruction, access, true)?;
                }
                Op::Mbarrier { .. } => {
                    machine.mbarrier(function, instruction, true)?;
                }
                // An arrival that does not wait.
                Op::Barrier { .. } => {
                    let sources = function.sources(instruction.operands);
                    let id = sources.first().map_or(0, |&id| machine.operand(id));
                    let word = machine.memory.barrier_word(machine.running.block, id as u32);
                    let arrived = machine.memory.read(&machine.contents, word) + 1;
                    machine.memory.write(&mut machine.contents, word, arrived);
                    if let Some(events) = &mut machine.events {
                        events.push(at_barrier(word, Order::Release));
                    }
                }
                _ => {}
            }
            machine.pass();
            Ok(())
        });
        Done { local: number, memory: self.memory.number(contents), effect }
    }
}

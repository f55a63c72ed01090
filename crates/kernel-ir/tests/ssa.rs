//! The SSA view against execution and against the definition of pruned minimal form, on random programs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test may end so")]

use proptest::prelude::*;
use standstill_kernel_ir::build::{FunctionBuilder, integer};
use standstill_kernel_ir::{
    BlockId, ControlFlow, Dominators, Function, Guard, InstructionId, Operand, Operation, Piece, Register,
    Ssa, Terminator, Type, User, Uses, ValueDef, ValueId,
};

const REGISTERS: u32 = 4;

/// One instruction: guard, registers written, registers read.
type Step = (Option<u32>, Vec<u32>, Vec<u32>);

/// A block: instructions, successors, the register that a branch reads.
type Code = (Vec<Step>, Vec<u32>, u32);

fn programs() -> impl Strategy<Value = (Vec<Code>, Option<u32>)> {
    let register = 0..REGISTERS;
    let step = (
        prop::option::weighted(0.2, register.clone()),
        prop::collection::vec(register.clone(), 0..3),
        prop::collection::vec(register.clone(), 0..3),
    );
    (1usize..8).prop_flat_map(move |count| {
        let code = (
            prop::collection::vec(step.clone(), 0..4),
            prop::collection::vec(0..count as u32, 0..4),
            register.clone(),
        );
        (prop::collection::vec(code, count), prop::option::of(register.clone()))
    })
}

fn build(program: &[Code], parameter: Option<u32>) -> Function {
    let mut builder = FunctionBuilder::new();
    let registers: Vec<Register> = (0..REGISTERS).map(|_| builder.register(Type::U32)).collect();
    if let Some(parameter) = parameter {
        let piece = Piece { index: 0, offset: 0, register: Register(parameter) };
        builder.tables().parameter_pieces.push(piece);
        builder.tables().result_pieces.push(piece);
    }
    for (steps, targets, read) in program {
        let block = builder.block();
        for (guard, destinations, sources) in steps {
            let guard = guard.map(|register| Guard::new(Register(register), false));
            let list = |numbers: &[u32]| -> Vec<Operand> {
                numbers.iter().map(|&number| registers[number as usize].into()).collect()
            };
            builder.push_guarded(block, guard, integer(Operation::Mov), &list(destinations), &list(sources));
        }
        let guard = Guard::new(Register(*read), true);
        match targets[..] {
            [] => builder.terminate(block, Terminator::Return),
            [to] => builder.terminate(block, Terminator::Jump(BlockId(to))),
            [taken, otherwise] => builder.terminate(
                block,
                Terminator::Branch { guard, taken: BlockId(taken), otherwise: BlockId(otherwise) },
            ),
            _ => {
                let targets: Vec<BlockId> = targets.iter().map(|&to| BlockId(to)).collect();
                builder.switch(block, Register(*read).into(), &targets)
            }
        };
    }
    builder.finish()
}

/// Runs along a path chosen by `choices`; each write makes a new token, and each read must see through
/// the view the token that its register holds.
fn check_execution(function: &Function, flow: &ControlFlow, ssa: &Ssa, choices: &[u8]) {
    let mut next_token = 0u32;
    let mut fresh = || {
        next_token += 1;
        next_token
    };
    let mut registers: Vec<u32> = (0..REGISTERS).map(|_| fresh()).collect();
    let mut values: Vec<Option<u32>> = ssa
        .values()
        .iter()
        .map(|value| match *value {
            ValueDef::Undefined(register) | ValueDef::Entry(register) => Some(registers[register.0 as usize]),
            _ => None,
        })
        .collect();
    let mut choices = choices.iter().copied();
    let mut block = BlockId(0);
    let mut from = Ssa::OUTSIDE;
    loop {
        let phis: Vec<(ValueId, Option<u32>)> = ssa
            .phis(block)
            .iter()
            .map(|&phi| {
                let incoming = ssa.incoming(phi);
                assert!(incoming.iter().filter(|(block, _)| *block == from).count() == 1);
                let (_, value) = incoming.iter().find(|(block, _)| *block == from).unwrap();
                (phi, values[value.0 as usize])
            })
            .collect();
        for (phi, token) in phis {
            values[phi.0 as usize] = token;
        }
        let token =
            |values: &[Option<u32>], value: Option<ValueId>| values[value.unwrap().0 as usize].unwrap();
        let body = function.blocks[block.0 as usize];
        for number in body.first..body.end {
            let instruction = function.instructions[number as usize];
            let operands = instruction.operands;
            let sources = operands.start + u32::from(operands.destinations);
            for (slot, source) in (sources..).zip(function.sources(operands)) {
                let register = source.register().unwrap();
                assert_eq!(token(&values, ssa.at(slot)), registers[register.0 as usize], "operand {slot}");
            }
            let mut takes_effect = true;
            if let Some(guard) = instruction.guard {
                let read = token(&values, ssa.guard(InstructionId(number)));
                assert_eq!(read, registers[guard.register().0 as usize]);
                takes_effect = choices.next().unwrap_or(0) % 2 == 0;
            }
            for (slot, destination) in (operands.start..).zip(function.destinations(operands)) {
                let register = destination.register().unwrap();
                let value = ssa.at(slot).unwrap();
                if takes_effect {
                    let new = fresh();
                    registers[register.0 as usize] = new;
                    values[value.0 as usize] = Some(new);
                } else {
                    let Some(ValueDef::Instruction { previous, .. }) = ssa.definition(value) else {
                        panic!()
                    };
                    values[value.0 as usize] = Some(token(&values, previous));
                }
            }
        }
        match body.terminator {
            Terminator::Branch { guard, .. } => {
                assert_eq!(token(&values, ssa.terminator(block)), registers[guard.register().0 as usize]);
            }
            Terminator::Switch { index, .. } => {
                let register = index.register().unwrap();
                assert_eq!(token(&values, ssa.terminator(block)), registers[register.0 as usize]);
            }
            Terminator::Return => {
                for (piece, result) in function.result_pieces.iter().enumerate() {
                    let read = token(&values, ssa.result(block, piece as u32));
                    assert_eq!(read, registers[result.register.0 as usize]);
                }
            }
            _ => {}
        }
        let targets = flow.successors(block);
        let Some(choice) = choices.next() else { return };
        let Some(&to) = targets.get(usize::from(choice) % targets.len().max(1)) else { return };
        (from, block) = (block, to);
    }
}

/// The blocks that need a phi of a register, by definition.
fn phis_by_definition(
    function: &Function,
    flow: &ControlFlow,
    dominators: &Dominators,
    register: Register,
) -> Vec<BlockId> {
    let blocks = flow.reverse_postorder();
    // (read before any full write, written at all, fully written)
    let effect = |block: BlockId| {
        let (mut read, mut written, mut full) = (false, false, false);
        for instruction in function.instructions_of(block) {
            let reads = function.sources(instruction.operands).contains(&Operand::Register(register))
                || instruction.guard.is_some_and(|guard| guard.register() == register);
            let writes = function.destinations(instruction.operands).contains(&Operand::Register(register));
            let merges = writes && instruction.guard.is_some();
            read |= (reads || merges) && !written;
            written |= writes;
            full |= writes;
        }
        let at_end = match function.blocks[block.0 as usize].terminator {
            Terminator::Branch { guard, .. } => guard.register() == register,
            Terminator::Switch { index, .. } => index.register() == Some(register),
            Terminator::Return => function.result_pieces.iter().any(|piece| piece.register == register),
            _ => false,
        };
        (read || (at_end && !written), written, full)
    };
    let mut live: Vec<BlockId> = Vec::new();
    loop {
        let before = live.len();
        for &block in blocks {
            let (read, _, full) = effect(block);
            let after = flow.successors(block).iter().any(|to| live.contains(to));
            if !live.contains(&block) && (read || (after && !full)) {
                live.push(block);
            }
        }
        if live.len() == before {
            break;
        }
    }
    let mut phis: Vec<BlockId> = Vec::new();
    loop {
        let before = phis.len();
        for &join in blocks {
            let frontier = flow.predecessors(join).iter().any(|&from| {
                blocks.iter().any(|&writer| {
                    (effect(writer).1 || phis.contains(&writer))
                        && dominators.dominates(writer, from)
                        && (writer == join || !dominators.dominates(writer, join))
                })
            });
            if frontier && live.contains(&join) && !phis.contains(&join) {
                phis.push(join);
            }
        }
        if phis.len() == before {
            break;
        }
    }
    phis.sort();
    phis
}

fn check_phis(function: &Function, flow: &ControlFlow, dominators: &Dominators, ssa: &Ssa) {
    for register in (0..REGISTERS).map(Register) {
        let mut found: Vec<BlockId> = (0..function.blocks.len() as u32)
            .map(BlockId)
            .filter(|&block| {
                ssa.phis(block).iter().any(|&phi| {
                    matches!(ssa.definition(phi), Some(ValueDef::Phi { register: own, .. }) if own == register)
                })
            })
            .collect();
        found.sort();
        assert_eq!(
            found,
            phis_by_definition(function, flow, dominators, register),
            "of register {register:?}"
        );
    }
}

/// Every place that reads a value is among its users, and nothing else.
fn check_uses(function: &Function, ssa: &Ssa) {
    let uses = Uses::build(function, ssa);
    for value in (0..ssa.values().len() as u32).map(ValueId) {
        for &user in uses.of(value) {
            let read = match user {
                User::Source { instruction, source } => {
                    let operands = function.instructions[instruction.0 as usize].operands;
                    ssa.at(operands.start + u32::from(operands.destinations) + u32::from(source))
                }
                User::Guard(instruction) => ssa.guard(instruction),
                User::Terminator(block) => ssa.terminator(block),
                User::Result { block, piece } => ssa.result(block, piece),
                User::Phi(phi) => ssa.incoming(phi).iter().map(|pair| pair.1).find(|&read| read == value),
                User::Previous(instruction) => {
                    let operands = function.instructions[instruction.0 as usize].operands;
                    let slots = operands.start..operands.start + u32::from(operands.destinations);
                    slots
                        .filter_map(|slot| match ssa.definition(ssa.at(slot)?) {
                            Some(ValueDef::Instruction { previous, .. }) => previous,
                            _ => None,
                        })
                        .find(|&read| read == value)
                }
            };
            assert_eq!(read, Some(value));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]

    #[test]
    fn reads_see_what_execution_wrote(
        (program, parameter) in programs(),
        choices in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let function = build(&program, parameter);
        let flow = ControlFlow::build(&function);
        let dominators = Dominators::build(&flow);
        let ssa = Ssa::build(&function, &flow, &dominators);
        check_execution(&function, &flow, &ssa, &choices);
        check_phis(&function, &flow, &dominators, &ssa);
        check_uses(&function, &ssa);
    }
}

/// Many registers that cross blocks need more than one batch.
#[test]
fn many_crossing_registers() {
    let mut builder = FunctionBuilder::new();
    let count = 1000;
    let registers: Vec<Register> = (0..count).map(|_| builder.register(Type::U32)).collect();
    let guard = Guard::new(builder.register(Type::Pred), false);
    let (entry, body, end) = (builder.block(), builder.block(), builder.block());
    for &register in &registers {
        builder.push(entry, integer(Operation::Mov), &[register], &[Operand::Immediate(0)]);
        builder.push(body, integer(Operation::Add), &[register], &[register.into(), Operand::Immediate(1)]);
    }
    builder.terminate(entry, Terminator::Jump(body));
    builder.terminate(body, Terminator::Branch { guard, taken: body, otherwise: end });
    builder.terminate(end, Terminator::Return);
    let function = builder.finish();
    let flow = ControlFlow::build(&function);
    let ssa = Ssa::build(&function, &flow, &Dominators::build(&flow));
    assert_eq!(ssa.phis(body).len(), count);
    for &phi in ssa.phis(body) {
        let from: Vec<BlockId> = ssa.incoming(phi).iter().map(|pair| pair.0).collect();
        assert_eq!(from, [entry, body]);
    }
}

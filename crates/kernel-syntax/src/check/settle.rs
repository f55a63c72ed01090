//! Puts the types that inference found into the tree.

use super::infer::Inference;
use crate::tree::{ArrayValue, Block, Expression, Kind, LoopKind, Statement};

pub(super) fn block(block: &mut Block, types: &Inference) {
    for statement in &mut block.statements {
        match statement {
            Statement::Let(_, value) | Statement::Expression(value) => expression(value, types),
            Statement::LetArray(_, Some(value), _) => array(value, types),
            Statement::LetArray(_, None, _) => {}
        }
    }
    if let Some(value) = &mut block.value {
        expression(value, types);
    }
}

fn array(value: &mut ArrayValue, types: &Inference) {
    match value {
        ArrayValue::Repeat(value) | ArrayValue::Element(value) => expression(value, types),
        ArrayValue::List(values) => values.iter_mut().for_each(|value| array(value, types)),
    }
}

fn expression(it: &mut Expression, types: &Inference) {
    it.ty = types.settle(&it.ty);
    let mut one = |inner: &mut Expression| expression(inner, types);
    match &mut it.kind {
        Kind::Integer(_)
        | Kind::Float(_)
        | Kind::Bool(_)
        | Kind::Unit
        | Kind::Field(_)
        | Kind::InBounds(_)
        | Kind::Continue(_)
        | Kind::Break(_, None)
        | Kind::Return(None)
        | Kind::Exchanged(_)
        | Kind::Held(_)
        | Kind::Sync
        | Kind::WarpSync
        | Kind::Fence(..)
        | Kind::Helper(_)
        | Kind::Stop
        | Kind::Wrong => {}
        Kind::Read(place) | Kind::Length(place) | Kind::LifeMark { place, .. } => {
            place.indices.iter_mut().for_each(one);
        }
        Kind::Borrow(place, range) => {
            place.indices.iter_mut().for_each(&mut one);
            if let Some(range) = range {
                one(&mut range.0);
                range.1.iter_mut().for_each(one);
            }
        }
        Kind::Negate(inner)
        | Kind::Not(inner)
        | Kind::Cast(inner)
        | Kind::Break(_, Some(inner))
        | Kind::Return(Some(inner))
        | Kind::Vote(_, inner)
        | Kind::WarpReduce(_, inner)
        | Kind::WarpMatch(inner) => one(inner),
        Kind::Binary(_, left, right)
        | Kind::Compare(_, left, right)
        | Kind::Lazy { left, right, .. }
        | Kind::Shuffle(_, left, right) => {
            one(left);
            one(right);
        }
        Kind::Function(_, arguments) | Kind::Call(_, arguments) | Kind::CallParameter(_, arguments) => {
            arguments.iter_mut().for_each(one);
        }
        Kind::OperationMark(_, place, values) => {
            place.iter_mut().flat_map(|place| &mut place.indices).for_each(&mut one);
            values.iter_mut().for_each(one);
        }
        Kind::Block(inner) => block(inner, types),
        Kind::If { condition, then, otherwise } => {
            one(condition);
            block(then, types);
            if let Some(otherwise) = otherwise {
                expression(otherwise, types);
            }
        }
        Kind::Match { arms, .. } => {
            for arm in arms {
                arm.guard.iter_mut().for_each(&mut one);
                one(&mut arm.value);
            }
        }
        Kind::Loop(it) => {
            match &mut it.kind {
                LoopKind::Forever => {}
                LoopKind::While(condition) => one(condition),
                LoopKind::Range(range) => {
                    one(&mut range.start);
                    one(&mut range.end);
                    range.step.iter_mut().for_each(one);
                }
            }
            block(&mut it.body, types);
        }
        Kind::Assign(place, value) | Kind::Update(_, place, value) => {
            place.indices.iter_mut().for_each(&mut one);
            one(value);
        }
        Kind::Atomic(atomic) => {
            atomic.place.indices.iter_mut().for_each(&mut one);
            atomic.operands.iter_mut().for_each(one);
        }
    }
}

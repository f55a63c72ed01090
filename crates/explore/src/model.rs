//! What the operations of structures do when nobody else is there.

use standstill_kernel_ir::StructureOperation;

/// What stands for nothing: −1.
pub(crate) const NOTHING: u64 = u64::MAX;

/// What a structure holds: a value, values in order, or keys each followed by its value.
pub(crate) type Held = Vec<u64>;

/// Does an operation; gives its result, where it has one.
pub(crate) fn apply(
    operation: StructureOperation,
    [first, second]: [u64; 2],
    held: &mut Held,
) -> Option<u64> {
    use StructureOperation as Is;
    let value = held.first().copied().unwrap_or(0);
    let set = |held: &mut Held, value: u64| {
        held.clear();
        // A fresh structure and one that holds zero are the same.
        held.extend((value != 0).then_some(value));
    };
    match operation {
        Is::RegisterRead | Is::CounterGet => Some(value),
        Is::RegisterWrite => {
            set(held, first);
            None
        }
        Is::RegisterSwap => {
            if value == first {
                set(held, second);
            }
            Some(value)
        }
        Is::CounterAdd | Is::CounterFetchAdd => {
            set(held, value.wrapping_add(first));
            (operation == Is::CounterFetchAdd).then_some(value)
        }
        Is::StackPush | Is::QueuePush => {
            held.push(first);
            None
        }
        Is::StackPop => Some(held.pop().unwrap_or(NOTHING)),
        Is::QueuePop if held.is_empty() => Some(NOTHING),
        Is::QueuePop => Some(held.remove(0)),
        Is::SetInsert => {
            let place = held.binary_search(&first);
            if let Err(at) = place {
                held.insert(at, first);
            }
            Some(place.is_err().into())
        }
        Is::SetRemove => {
            let place = held.binary_search(&first);
            if let Ok(at) = place {
                held.remove(at);
            }
            Some(place.is_ok().into())
        }
        Is::SetContains => Some(held.binary_search(&first).is_ok().into()),
        Is::MapPut | Is::MapGet | Is::MapRemove => map(operation, first, second, held),
    }
}

fn map(operation: StructureOperation, key: u64, value: u64, held: &mut Held) -> Option<u64> {
    let (pairs, _) = held.as_chunks::<2>();
    let place = pairs.binary_search_by_key(&key, |[key, _]| *key);
    let known = place.ok().and_then(|at| pairs.get(at)).map(|[_, value]| *value);
    match (operation, place) {
        (StructureOperation::MapGet, _) => Some(known.unwrap_or(NOTHING)),
        (StructureOperation::MapRemove, _) => {
            if let Ok(at) = place {
                held.drain(2 * at..2 * at + 2);
            }
            Some(place.is_ok().into())
        }
        (_, Ok(at)) => {
            held.splice(2 * at + 1..2 * at + 2, [value]);
            None
        }
        (_, Err(at)) => {
            held.splice(2 * at..2 * at, [key, value]);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use standstill_kernel_ir::StructureOperation as Is;

    use super::*;

    #[track_caller]
    fn check(operations: &[(Is, u64, u64, Option<u64>)]) {
        let mut held = Held::new();
        for &(operation, first, second, result) in operations {
            assert_eq!(
                apply(operation, [first, second], &mut held),
                result,
                "{operation:?} in {operations:?}"
            );
        }
    }

    #[test]
    fn structures_do_what_they_are_called() {
        check(&[
            (Is::RegisterRead, 0, 0, Some(0)),
            (Is::RegisterWrite, 5, 0, None),
            (Is::RegisterSwap, 4, 9, Some(5)),
            (Is::RegisterSwap, 5, 9, Some(5)),
            (Is::RegisterRead, 0, 0, Some(9)),
        ]);
        check(&[
            (Is::CounterAdd, 2, 0, None),
            (Is::CounterFetchAdd, 3, 0, Some(2)),
            (Is::CounterGet, 0, 0, Some(5)),
        ]);
        check(&[
            (Is::StackPush, 1, 0, None),
            (Is::StackPush, 2, 0, None),
            (Is::StackPop, 0, 0, Some(2)),
            (Is::StackPop, 0, 0, Some(1)),
            (Is::StackPop, 0, 0, Some(NOTHING)),
        ]);
        check(&[
            (Is::QueuePush, 1, 0, None),
            (Is::QueuePush, 2, 0, None),
            (Is::QueuePop, 0, 0, Some(1)),
            (Is::QueuePop, 0, 0, Some(2)),
            (Is::QueuePop, 0, 0, Some(NOTHING)),
        ]);
        check(&[
            (Is::SetInsert, 7, 0, Some(1)),
            (Is::SetInsert, 7, 0, Some(0)),
            (Is::SetContains, 7, 0, Some(1)),
            (Is::SetRemove, 7, 0, Some(1)),
            (Is::SetRemove, 7, 0, Some(0)),
        ]);
        check(&[
            (Is::MapPut, 7, 70, None),
            (Is::MapPut, 3, 30, None),
            (Is::MapPut, 7, 71, None),
            (Is::MapGet, 7, 0, Some(71)),
            (Is::MapGet, 3, 0, Some(30)),
            (Is::MapRemove, 7, 0, Some(1)),
            (Is::MapGet, 7, 0, Some(NOTHING)),
        ]);
    }
}

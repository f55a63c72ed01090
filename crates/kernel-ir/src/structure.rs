//! Operations of structures that threads share, as their author marks them.

/// An operation of a structure, by what it does when nobody else is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StructureOperation {
    /// Gives the value.
    RegisterRead,
    /// Sets the value.
    RegisterWrite,
    /// Sets the value to the second argument where it is the first; gives the value from before.
    RegisterSwap,
    /// Adds the argument.
    CounterAdd,
    /// Adds the argument and gives the value from before.
    CounterFetchAdd,
    /// Gives the value.
    CounterGet,
    /// Puts the argument on top.
    StackPush,
    /// Takes the top and gives it; −1 where there is none.
    StackPop,
    /// Puts the argument at the end.
    QueuePush,
    /// Takes the first and gives it; −1 where there is none.
    QueuePop,
    /// Puts the argument in; 1, or 0 where it is in.
    SetInsert,
    /// Takes the argument out; 1, or 0 where it is not in.
    SetRemove,
    /// 1 where the argument is in, or 0.
    SetContains,
    /// Puts the second argument in under the first.
    MapPut,
    /// Gives what is under the argument; −1 where nothing is.
    MapGet,
    /// Takes out what is under the argument; 1, or 0 where nothing is.
    MapRemove,
}

/// What a mark says of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperationMark {
    /// It begins: `← structure, argument, argument`.
    Begins(StructureOperation),
    /// It was done before the launch, so that the structure holds something: `← structure, argument, argument`.
    Held(StructureOperation),
    /// The one that the thread began last ends: `← result`.
    Ends,
    /// It begins or was done, but no structure has an operation of that name: `← structure, argument, argument`.
    Unknown,
}

impl StructureOperation {
    /// All, with the names that marks use: the structure's, and the operation's.
    pub const ALL: [(&'static str, &'static str, StructureOperation); 16] = {
        use StructureOperation::{
            CounterAdd, CounterFetchAdd, CounterGet, MapGet, MapPut, MapRemove, QueuePop, QueuePush,
            RegisterRead, RegisterSwap, RegisterWrite, SetContains, SetInsert, SetRemove, StackPop,
            StackPush,
        };
        [
            ("register", "read", RegisterRead),
            ("register", "write", RegisterWrite),
            ("register", "swap", RegisterSwap),
            ("counter", "add", CounterAdd),
            ("counter", "fetch_add", CounterFetchAdd),
            ("counter", "get", CounterGet),
            ("stack", "push", StackPush),
            ("stack", "pop", StackPop),
            ("queue", "push", QueuePush),
            ("queue", "pop", QueuePop),
            ("set", "insert", SetInsert),
            ("set", "remove", SetRemove),
            ("set", "contains", SetContains),
            ("map", "put", MapPut),
            ("map", "get", MapGet),
            ("map", "remove", MapRemove),
        ]
    };

    /// The names of its structure and of itself.
    pub fn names(self) -> (&'static str, &'static str) {
        let known = StructureOperation::ALL.iter().find(|(.., operation)| *operation == self);
        known.map_or(("", ""), |(structure, operation, _)| (structure, operation))
    }

    /// The operation with a mark's name: `stack_push`.
    pub fn named(name: &str) -> Option<StructureOperation> {
        let known = StructureOperation::ALL.iter().find(|(structure, operation, _)| {
            name.strip_prefix(structure).and_then(|rest| rest.strip_prefix('_')) == Some(operation)
        });
        known.map(|(.., operation)| *operation)
    }
}

impl OperationMark {
    /// The name of a register that makes the instruction that writes it this mark.
    pub fn register(self) -> String {
        let name = |operation: StructureOperation| {
            let (structure, operation) = operation.names();
            format!("{structure}_{operation}")
        };
        match self {
            OperationMark::Begins(operation) => format!("standstill_begins_{}", name(operation)),
            OperationMark::Held(operation) => format!("standstill_held_{}", name(operation)),
            OperationMark::Ends => "standstill_ends".to_owned(),
            OperationMark::Unknown => "standstill_begins_unknown".to_owned(),
        }
    }

    /// What a register's name makes of the instruction that writes it: `standstill_begins_stack_push`, `standstill_ends`.
    pub fn of_register(name: &str) -> Option<OperationMark> {
        let name = name.strip_prefix("standstill_")?;
        if name == "ends" {
            return Some(OperationMark::Ends);
        }
        let (kind, operation): (fn(_) -> _, _) = match name.strip_prefix("begins_") {
            Some(operation) => (OperationMark::Begins, operation),
            None => (OperationMark::Held, name.strip_prefix("held_")?),
        };
        Some(StructureOperation::named(operation).map_or(OperationMark::Unknown, kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again() {
        for (structure, operation, of) in StructureOperation::ALL {
            assert_eq!(StructureOperation::named(&format!("{structure}_{operation}")), Some(of));
            assert_eq!(of.names(), (structure, operation));
            let begins = OperationMark::Begins(of);
            assert_eq!(OperationMark::of_register(&begins.register()), Some(begins));
        }
        let check = |name, mark| assert_eq!(OperationMark::of_register(name), mark, "{name}");
        check("standstill_begins_queue_pop", Some(OperationMark::Begins(StructureOperation::QueuePop)));
        check("standstill_held_set_insert", Some(OperationMark::Held(StructureOperation::SetInsert)));
        check("standstill_ends", Some(OperationMark::Ends));
        check("standstill_begins_heap_pop", Some(OperationMark::Unknown));
        check("standstill_other", None);
        check("%rd1", None);
    }
}

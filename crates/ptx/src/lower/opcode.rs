//! What an opcode means, worked out once for each distinct one of a module.

use standstill_kernel_ir::{
    Arithmetic, ArithmeticFlags, AtomicOperation, BooleanOperation, Comparison, Op, Operation, Type,
};

use crate::lower::words::Words;
use crate::lower::{arithmetic, asynchronous, memory, synchronisation};
use crate::syntax::opcode::Opcode;

/// How an opcode's operands fall into destinations and sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// The first operand is written.
    First,
    /// The first operand is written if it is a register, a vector, a pair or a sink; an address, a number
    /// or a name is read.
    FirstIfRegister,
    /// Everything is read.
    Reads,
    /// An absent destination, then everything is read (`red`).
    ReadsWithoutResult,
    /// `bar` and `barrier`: identifier, optional count, and with a result first and a predicate last.
    Barrier,
    /// `cp.async`: the third operand is the number of bytes.
    AsyncCopy,
}

/// What an opcode does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    /// An operation of the kernel IR.
    Op(Op),
    /// An operation that is not understood.
    Opaque,
    Branch,
    Switch,
    Call,
    Return,
    Exit,
    Trap,
}

/// An opcode's meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Meaning {
    pub(super) action: Action,
    pub(super) form: Form,
    /// Type that floating-point literals take.
    pub(super) ty: Type,
    /// The last operand is a cache policy, which is dropped.
    pub(super) cache_policy: bool,
    /// With fewer sources than this, absent ones are added (masks of operations without `.sync`).
    pub(super) least_sources: u8,
    /// One more source: what a modifier says that the operation has no place for.
    pub(super) constant: Option<u64>,
    /// Its sources may be bytes or half words of registers, which are taken out before.
    pub(super) takes_parts: bool,
    /// A guard on it becomes control flow.
    pub(super) splits: bool,
    /// Writes the carry flag.
    pub(super) carry_out: bool,
    /// Reads the carry flag.
    pub(super) carry_in: bool,
}

impl Meaning {
    pub(super) fn new(action: Action, form: Form) -> Self {
        Self {
            action,
            form,
            ty: Type::None,
            cache_policy: false,
            least_sources: 0,
            constant: None,
            takes_parts: false,
            splits: !matches!(action, Action::Op(_) | Action::Opaque),
            carry_out: false,
            carry_in: false,
        }
    }

    pub(super) fn op(op: Op, form: Form) -> Self {
        Self::new(Action::Op(op), form)
    }

    /// The same with a guard that becomes control flow.
    pub(super) fn splitting(self) -> Self {
        Self { splits: true, ..self }
    }

    /// A pure function whose value is not modelled.
    pub(super) fn unknown_value() -> Self {
        Self::op(
            Op::Arithmetic(Arithmetic {
                operation: Operation::Mov,
                ty: Type::None,
                from: Type::None,
                comparison: Comparison::None,
                combine: BooleanOperation::None,
                flags: ArithmeticFlags(ArithmeticFlags::OTHER),
            }),
            Form::First,
        )
    }

    /// An operation that is not understood: its first operand is written unless it is an address.
    pub(super) fn opaque() -> Self {
        Self::new(Action::Opaque, Form::FirstIfRegister)
    }
}

/// What `opcode` means.
pub(super) fn meaning(opcode: Opcode<'_>) -> Meaning {
    let words = Words::new(opcode);
    let mnemonic = opcode.mnemonic();
    let found = match mnemonic {
        "bra" => Some(Meaning::new(Action::Branch, Form::Reads)),
        "brx" => Some(Meaning::new(Action::Switch, Form::Reads)),
        "call" => Some(Meaning::new(Action::Call, Form::Reads)),
        "ret" => Some(Meaning::new(Action::Return, Form::Reads)),
        "exit" => Some(Meaning::new(Action::Exit, Form::Reads)),
        "trap" => Some(Meaning::new(Action::Trap, Form::Reads)),
        "ld" | "ldu" | "st" | "atom" | "red" | "prefetch" | "prefetchu" | "discard" | "applypriority"
        | "tensormap" | "tex" | "tld4" | "txq" | "suld" | "suq" | "createpolicy" | "istypep" => {
            memory::meaning(mnemonic, &words)
        }
        "bar" | "barrier" | "membar" | "fence" | "shfl" | "vote" | "match" | "redux" | "activemask"
        | "elect" | "nanosleep" | "griddepcontrol" | "setmaxnreg" | "pmevent" | "brkpt" => {
            synchronisation::meaning(mnemonic, &words)
        }
        "mbarrier"
        | "cp"
        | "mma"
        | "wmma"
        | "ldmatrix"
        | "stmatrix"
        | "movmatrix"
        | "wgmma"
        | "tcgen05"
        | "clusterlaunchcontrol" => asynchronous::meaning(mnemonic, &words),
        _ => arithmetic::meaning(mnemonic, &words),
    };
    found.unwrap_or_else(|| not_understood(mnemonic, &words))
}

/// The operand form of what is not understood, where the opcode tells it.
fn not_understood(mnemonic: &str, words: &Words<'_>) -> Meaning {
    let reads = match mnemonic {
        "st" | "red" | "sust" | "sured" | "stackrestore" | "tensormap" | "stmatrix" | "pmevent" => true,
        "multimem" => words.has("st") || words.has("red"),
        "tcgen05" => words.has("dealloc"),
        _ => false,
    };
    match reads {
        true => Meaning::new(Action::Opaque, Form::Reads),
        false => Meaning::opaque(),
    }
}

/// The operation of an atomic or reduction by its modifier.
pub(super) fn atomic_operation(word: &str) -> Option<AtomicOperation> {
    Some(match word {
        "add" => AtomicOperation::Add,
        "and" => AtomicOperation::And,
        "or" => AtomicOperation::Or,
        "xor" => AtomicOperation::Xor,
        "min" => AtomicOperation::Min,
        "max" => AtomicOperation::Max,
        "inc" => AtomicOperation::Inc,
        "dec" => AtomicOperation::Dec,
        "exch" => AtomicOperation::Exchange,
        "cas" => AtomicOperation::CompareExchange,
        _ => return None,
    })
}

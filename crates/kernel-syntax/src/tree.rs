//! Kernels with every type known: what the check makes of the syntax, and lowering turns into kernel IR.

use standstill_kernel_ir::{AtomicOperation, OperationMark, Order, Scope, ShuffleMode, VoteMode};

use crate::extent::Extent;
use crate::types::{Scalar, Ty};

/// A variable of a function, by its index in [`Body::locals`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LocalId(pub(crate) u32);

/// A loop of a function, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LoopId(pub(crate) u32);

/// A variable.
#[derive(Debug, Clone)]
pub(crate) struct Local {
    pub(crate) name: String,
    pub(crate) ty: Ty,
    pub(crate) mutable: bool,
}

/// A function's body.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    pub(crate) locals: Vec<Local>,
    /// The variables that hold the parameters.
    pub(crate) parameters: Vec<LocalId>,
    pub(crate) block: Block,
    /// The result, when it gives one.
    pub(crate) result: Option<Scalar>,
    /// The closing brace.
    pub(crate) end: Extent,
}

/// Statements and a value.
#[derive(Debug, Clone, Default)]
pub(crate) struct Block {
    pub(crate) statements: Vec<Statement>,
    pub(crate) value: Option<Box<Expression>>,
}

#[derive(Debug, Clone)]
pub(crate) enum Statement {
    /// A variable in registers, or a slice.
    Let(LocalId, Expression),
    /// An array; `None` leaves it as it is.
    LetArray(LocalId, Option<ArrayValue>, Extent),
    Expression(Expression),
}

#[derive(Debug, Clone)]
pub(crate) enum ArrayValue {
    /// `[x; N]`, also of arrays: everywhere the same.
    Repeat(Expression),
    /// `[a, b, c]`
    List(Vec<ArrayValue>),
    /// One element.
    Element(Expression),
}

#[derive(Debug, Clone)]
pub(crate) struct Expression {
    pub(crate) kind: Kind,
    pub(crate) ty: Ty,
    pub(crate) extent: Extent,
}

/// A place in memory, or a variable.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    pub(crate) base: LocalId,
    pub(crate) indices: Vec<Expression>,
    pub(crate) extent: Extent,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Integer(i128),
    Float(f64),
    Bool(bool),
    Unit,
    /// The value of a variable or of memory.
    Read(Location),
    /// `&place`, `&mut place`, or a slice handed on; with a range of it.
    Borrow(Location, Option<Box<(Expression, Option<Expression>)>>),
    Length(Location),
    Field(Field),
    InBounds(Vec<u8>),
    Negate(Box<Expression>),
    Not(Box<Expression>),
    Binary(Binary, Box<Expression>, Box<Expression>),
    Compare(Comparison, Box<Expression>, Box<Expression>),
    /// `&&`, or `||` when it is not `and`.
    Lazy {
        and: bool,
        left: Box<Expression>,
        right: Box<Expression>,
    },
    Cast(Box<Expression>),
    Function(Function, Vec<Expression>),
    Block(Block),
    If {
        condition: Box<Expression>,
        then: Block,
        otherwise: Option<Box<Expression>>,
    },
    Match {
        value: LocalId,
        arms: Vec<Arm>,
    },
    Loop(Box<Loop>),
    Break(LoopId, Option<Box<Expression>>),
    Continue(LoopId),
    Return(Option<Box<Expression>>),
    Assign(Location, Box<Expression>),
    Update(Binary, Location, Box<Expression>),
    Call(usize, Vec<Expression>),
    /// The helper of this index, as an argument.
    Helper(usize),
    /// A call of the helper that a parameter stands for.
    CallParameter(LocalId, Vec<Expression>),
    Atomic(Box<Atomic>),
    /// Whether a `compare_exchange` has exchanged.
    Exchanged(LocalId),
    /// What memory held before a `compare_exchange`.
    Held(LocalId),
    Sync,
    WarpSync,
    Fence(Order, Scope),
    Shuffle(ShuffleMode, Box<Expression>, Box<Expression>),
    Vote(VoteMode, Box<Expression>),
    WarpReduce(AtomicOperation, Box<Expression>),
    WarpMatch(Box<Expression>),
    LifeMark {
        freed: bool,
        place: Location,
    },
    /// An operation of a shared structure begins or ends: the structure, and numbers of 64 bits.
    OperationMark(OperationMark, Option<Location>, Vec<Expression>),
    /// The launch ends with this reason.
    Stop,
    /// What follows from an error.
    Wrong,
}

/// One arm of a `match` on integers.
#[derive(Debug, Clone)]
pub(crate) struct Arm {
    /// First and last number of each alternative; none matches everything.
    pub(crate) numbers: Vec<(i128, i128)>,
    pub(crate) guard: Option<Expression>,
    pub(crate) value: Expression,
    pub(crate) extent: Extent,
}

#[derive(Debug, Clone)]
pub(crate) struct Loop {
    pub(crate) id: LoopId,
    pub(crate) kind: LoopKind,
    pub(crate) body: Block,
}

#[derive(Debug, Clone)]
pub(crate) enum LoopKind {
    Forever,
    While(Expression),
    Range(Box<Range>),
}

/// What a `for` runs over.
#[derive(Debug, Clone)]
pub(crate) struct Range {
    pub(crate) variable: LocalId,
    pub(crate) start: Expression,
    pub(crate) end: Expression,
    pub(crate) inclusive: bool,
    pub(crate) reversed: bool,
    pub(crate) step: Option<Expression>,
    /// The range as it is written.
    pub(crate) extent: Extent,
}

#[derive(Debug, Clone)]
pub(crate) struct Atomic {
    pub(crate) operation: AtomicAccess,
    pub(crate) place: Location,
    pub(crate) operands: Vec<Expression>,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
    pub(crate) scalar: Scalar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtomicAccess {
    Load,
    Store,
    /// Subtraction adds the negated operand.
    Subtract,
    Update(AtomicOperation),
}

/// What a `Space` tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Index(u8),
    Cell(u8),
    Tile(u8),
    Size(u8),
    TileSize(u8),
    Tiles(u8),
    Lane,
    Warp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A method of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Minimum,
    Maximum,
    Absolute,
    SquareRoot,
    MultiplyAdd,
    Exp2,
    Exp,
    Log2,
    Ln,
    Sin,
    Cos,
    Tanh,
    Floor,
    Ceiling,
    Truncate,
    ToBits,
    FromBits,
    CountOnes,
    LeadingZeros,
    TrailingZeros,
    IsNan,
}

//! What is known about a launch before it happens: shapes, parameter values and assumptions.
//!
//! Pure data with exact evaluation; where the values come from (flags, source comments, a recorded
//! launch) is not decided here.

mod device;

use std::collections::BTreeMap;
use std::fmt;

pub use device::Device;

/// One launch as far as it is known. The default knows nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchShape {
    /// Threads of a block in x, y and z.
    pub block: Option<[u32; 3]>,
    /// Blocks of the grid in x, y and z.
    pub grid: Option<[u32; 3]>,
    /// Blocks of a cluster in x, y and z.
    pub cluster: Option<[u32; 3]>,
    /// Values of integer parameters, by position from 0.
    pub parameters: BTreeMap<usize, i64>,
    /// Conditions that hold in every launch that is asked about.
    pub assumptions: Vec<Assumption>,
    /// The card that it runs on.
    pub device: Option<Device>,
    /// Registers of a thread, from compiled code or from the user.
    pub registers: Option<u32>,
}

impl LaunchShape {
    /// The value of `variable` when the shape and the parameters settle it.
    pub fn value(&self, variable: Variable) -> Option<i64> {
        let extent = |dims: Option<[u32; 3]>, axis: Axis| {
            dims.and_then(|dims| dims.get(axis as usize).copied()).map(i64::from)
        };
        match variable {
            Variable::Parameter(position) => self.parameters.get(&position).copied(),
            Variable::Block(axis) => extent(self.block, axis),
            Variable::Grid(axis) => extent(self.grid, axis),
            Variable::Cluster(axis) => extent(self.cluster, axis),
        }
    }

    /// Threads of one block, when the block's shape is known.
    pub fn threads_per_block(&self) -> Option<u64> {
        volume(self.block)
    }

    /// Blocks of the grid, when its shape is known.
    pub fn blocks(&self) -> Option<u64> {
        volume(self.grid)
    }
}

/// The product of the three extents; `None` when not known or beyond 64 bits.
fn volume(dims: Option<[u32; 3]>) -> Option<u64> {
    dims?.iter().try_fold(1u64, |product, &extent| product.checked_mul(u64::from(extent)))
}

/// A direction of a block, grid or cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Axis {
    /// `.x`
    X = 0,
    /// `.y`
    Y = 1,
    /// `.z`
    Z = 2,
}

/// Something of a launch that an assumption can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Variable {
    /// `p0`: the kernel's parameter at this position.
    Parameter(usize),
    /// `block.x`: threads of a block in one direction.
    Block(Axis),
    /// `grid.x`: blocks of the grid in one direction.
    Grid(Axis),
    /// `cluster.x`: blocks of a cluster in one direction.
    Cluster(Axis),
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (space, axis) = match self {
            Variable::Parameter(position) => return write!(f, "p{position}"),
            Variable::Block(axis) => ("block", axis),
            Variable::Grid(axis) => ("grid", axis),
            Variable::Cluster(axis) => ("cluster", axis),
        };
        let axis = match axis {
            Axis::X => "x",
            Axis::Y => "y",
            Axis::Z => "z",
        };
        write!(f, "{space}.{axis}")
    }
}

/// A comparison that holds in every launch that is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Assumption {
    /// The condition as the user wrote it, for reports.
    pub text: String,
    /// Left of the comparison.
    pub left: Expression,
    /// How the sides compare.
    pub comparison: Comparison,
    /// Right of the comparison.
    pub right: Expression,
}

impl Assumption {
    /// Whether it holds for these values; `None` when a value is missing or the arithmetic leaves
    /// 64 bits.
    pub fn holds(&self, value: &dyn Fn(Variable) -> Option<i64>) -> Option<bool> {
        Some(self.comparison.holds(self.left.evaluate(value)?, self.right.evaluate(value)?))
    }
}

/// How two numbers compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// Whether `left` compares to `right` in this way.
    pub fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
        }
    }
}

/// Integer arithmetic over a launch's variables.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Expression {
    /// A literal.
    Number(i64),
    /// A variable of the launch.
    Variable(Variable),
    /// Two operands and an operator.
    Binary(Operator, Box<Expression>, Box<Expression>),
}

/// An arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, rounding towards zero as in C++.
    Divide,
    /// `%`, with the sign of the left operand as in C++.
    Remainder,
}

impl Expression {
    /// The value; `None` when a variable is not known, on division by zero, and beyond 64 bits.
    pub fn evaluate(&self, value: &dyn Fn(Variable) -> Option<i64>) -> Option<i64> {
        match self {
            Expression::Number(number) => Some(*number),
            Expression::Variable(variable) => value(*variable),
            Expression::Binary(operator, left, right) => {
                let (left, right) = (left.evaluate(value)?, right.evaluate(value)?);
                match operator {
                    Operator::Add => left.checked_add(right),
                    Operator::Subtract => left.checked_sub(right),
                    Operator::Multiply => left.checked_mul(right),
                    Operator::Divide => left.checked_div(right),
                    Operator::Remainder => left.checked_rem(right),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_exact_or_absent() {
        let shape = LaunchShape {
            block: Some([32, 8, 1]),
            parameters: BTreeMap::from([(2, 1000)]),
            ..LaunchShape::default()
        };
        let value = |variable| shape.value(variable);
        let binary = |operator, left, right| Expression::Binary(operator, Box::new(left), Box::new(right));
        let p2 = || Expression::Variable(Variable::Parameter(2));
        let modulo = binary(Operator::Remainder, p2(), Expression::Number(256));
        assert_eq!(modulo.evaluate(&value), Some(232));
        assert_eq!(binary(Operator::Divide, p2(), Expression::Number(0)).evaluate(&value), None);
        assert_eq!(binary(Operator::Multiply, p2(), Expression::Number(i64::MAX)).evaluate(&value), None);
        assert_eq!(Expression::Variable(Variable::Grid(Axis::X)).evaluate(&value), None);
        assert_eq!(shape.value(Variable::Block(Axis::Y)), Some(8));
        assert_eq!(shape.threads_per_block(), Some(256));
    }
}

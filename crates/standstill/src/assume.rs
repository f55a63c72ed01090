//! The little language of `--assume`: comparisons of integer arithmetic, joined by `&&`.
//!
//! ```text
//! conjunction = comparison { "&&" comparison }
//! comparison  = sum ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum
//! sum         = product { ( "+" | "-" ) product }
//! product     = unary { ( "*" | "/" | "%" ) unary }
//! unary       = [ "-" ] ( number | variable | "(" sum ")" )
//! variable    = "p" digits | ( "block" | "grid" | "cluster" ) "." ( "x" | "y" | "z" )
//! ```

use standstill_kernel_ir::launch::{Assumption, Axis, Comparison, Expression, Operator, Variable};

/// The comparisons of one `--assume`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conjunction(pub(crate) Vec<Assumption>);

/// Nesting deeper than this is refused, so that no input exhausts the stack.
const DEEPEST: usize = 64;

/// Parses a conjunction; errors name the column.
pub(crate) fn parse(text: &str) -> Result<Conjunction, String> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let mut assumptions = Vec::new();
    loop {
        assumptions.push(parser.comparison()?);
        if !parser.eat("&&") {
            break;
        }
    }
    match parser.rest() {
        "" => Ok(Conjunction(assumptions)),
        _ => Err(parser.expected("`&&` or the end")),
    }
}

/// [`parse`] in the form that clap calls.
pub(crate) fn parse_for_clap(text: &str) -> Result<Conjunction, String> {
    parse(text)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// What is left, from the next token on.
    fn rest(&mut self) -> &'a str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expected(&mut self, what: &str) -> String {
        let found = match self.rest().chars().next() {
            None => "the end".to_owned(),
            Some(letter) => format!("`{letter}`"),
        };
        format!("expected {what} at column {}, found {found}", self.at + 1)
    }

    fn comparison(&mut self) -> Result<Assumption, String> {
        self.rest();
        let start = self.at;
        let left = self.sum()?;
        // Longer operators first: `<` is a prefix of `<=`.
        const OPERATORS: [(&str, Comparison); 6] = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let Some((_, comparison)) = OPERATORS.into_iter().find(|(token, _)| self.eat(token)) else {
            return Err(self.expected("a comparison (==, !=, <, <=, >, >=)"));
        };
        let right = self.sum()?;
        let text = self.text.get(start..self.at).unwrap_or_default().trim().to_owned();
        Ok(Assumption { text, left, comparison, right })
    }

    fn sum(&mut self) -> Result<Expression, String> {
        self.chain(&[("+", Operator::Add), ("-", Operator::Subtract)], Parser::product)
    }

    fn product(&mut self) -> Result<Expression, String> {
        let operators = [("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)];
        self.chain(&operators, Parser::unary)
    }

    /// `next { operator next }`, grouping to the left.
    fn chain(
        &mut self,
        operators: &[(&str, Operator)],
        next: fn(&mut Parser<'a>) -> Result<Expression, String>,
    ) -> Result<Expression, String> {
        let mut left = next(self)?;
        let mut length = 0;
        while let Some((_, operator)) = operators.iter().find(|(token, _)| self.eat(token)) {
            length += 1;
            if length > DEEPEST {
                return Err(format!("more than {DEEPEST} operators in a row at column {}", self.at));
            }
            left = Expression::Binary(*operator, Box::new(left), Box::new(next(self)?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("nested deeper than {DEEPEST} at column {}", self.at + 1));
        }
        let result = if self.eat("-") {
            let zero = Box::new(Expression::Number(0));
            self.unary().map(|operand| Expression::Binary(Operator::Subtract, zero, Box::new(operand)))
        } else if self.eat("(") {
            self.sum().and_then(|inner| match self.eat(")") {
                true => Ok(inner),
                false => Err(self.expected("`)`")),
            })
        } else {
            self.atom()
        };
        self.depth -= 1;
        result
    }

    fn atom(&mut self) -> Result<Expression, String> {
        let rest = self.rest();
        let length =
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_').unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        let parsed = if word.starts_with(|c: char| c.is_ascii_digit()) {
            parse_number(word).map(Expression::Number)
        } else {
            parse_variable(word).map(Expression::Variable)
        };
        match parsed {
            Some(expression) => {
                self.at += length;
                Ok(expression)
            }
            None if word.is_empty() => {
                Err(self.expected("a number, p0, p1, …, block.x, grid.x or cluster.x"))
            }
            None => Err(format!(
                "`{word}` at column {} is neither a number that fits 64 bits nor one of p0, p1, …, block.x, \
                 grid.x, cluster.x",
                self.at + 1
            )),
        }
    }
}

/// A decimal or `0x` number.
pub(crate) fn parse_number(word: &str) -> Option<i64> {
    match word.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

fn parse_variable(word: &str) -> Option<Variable> {
    if let Some(position) = parse_position(word) {
        return Some(Variable::Parameter(position));
    }
    let (space, axis) = word.split_once('.')?;
    let axis = match axis {
        "x" => Axis::X,
        "y" => Axis::Y,
        "z" => Axis::Z,
        _ => return None,
    };
    match space {
        "block" => Some(Variable::Block(axis)),
        "grid" => Some(Variable::Grid(axis)),
        "cluster" => Some(Variable::Cluster(axis)),
        _ => None,
    }
}

/// `p2`: a parameter's position.
pub(crate) fn parse_position(word: &str) -> Option<usize> {
    word.strip_prefix('p').filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit()))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the conjunction holds with p2 = 1000 and block.x = 256.
    fn holds(text: &str) -> Option<bool> {
        let value = |variable| match variable {
            Variable::Parameter(2) => Some(1000),
            Variable::Block(Axis::X) => Some(256),
            _ => None,
        };
        parse(text)
            .unwrap()
            .0
            .iter()
            .map(|assumption| assumption.holds(&value))
            .try_fold(true, |all, one| Some(all & one?))
    }

    #[test]
    fn arithmetic_follows_cpp() {
        assert_eq!(holds("p2 % 256 == 232"), Some(true));
        assert_eq!(holds("p2 % block.x == 0"), Some(false));
        assert_eq!(holds("2 + 3 * 4 == 14 && (2 + 3) * 4 == 20"), Some(true));
        assert_eq!(holds("10 - 3 - 2 == 5"), Some(true));
        assert_eq!(holds("-7 / 2 == -3 && -7 % 2 == -1"), Some(true));
        assert_eq!(holds("0x10<=16&&p2!=7"), Some(true));
        assert_eq!(holds("p1 > 0"), None);
    }

    #[test]
    fn the_text_is_kept_for_reports() {
        let texts: Vec<String> =
            parse(" p2 % 256 == 0 && grid.x>1 ").unwrap().0.into_iter().map(|a| a.text).collect();
        assert_eq!(texts, ["p2 % 256 == 0", "grid.x>1"]);
    }

    #[test]
    fn errors_name_the_column() {
        let check = |text: &str, part: &str| {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        };
        check("", "column 1, found the end");
        check("p2", "expected a comparison (==, !=, <, <=, >, >=) at column 3");
        check("p2 = 3", "at column 4, found `=`");
        check("n > 3", "`n` at column 1 is neither");
        check("p2 > 3 || p2 < 1", "expected `&&` or the end at column 8");
        check("(p2 > 3", "expected `)` at column 5");
        check("p2 > 99999999999999999999", "fits 64 bits");
        check("block.w > 1", "`block.w`");
        check(&"(".repeat(100_000), "nested deeper than 64");
        check(&"-".repeat(100_000), "nested deeper than 64");
        check(&format!("p0{}", "+1".repeat(100_000)), "operators in a row");
        check("p2 > é", "found `é`");
    }
}

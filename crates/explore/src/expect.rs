//! What memory must hold when a launch has ended: `acc == 210`, `p0[2] != 0 && sum(p0) == 6`.

use standstill_kernel_ir::Type;
use standstill_kernel_ir::evaluate::signed;

use crate::ask::{Contents, Predicate};
use crate::launch::Launch;
use crate::memory::Memory;

/// Why an expectation cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at character {at} of `{text}`)")]
pub struct ExpectError {
    /// What is wrong.
    pub message: String,
    /// Where, counted from 1.
    pub at: usize,
    /// The whole text.
    pub text: String,
}

/// A condition on memory at the end.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// As it was written.
    pub text: String,
    tree: Tree,
}

#[derive(Debug, Clone, PartialEq)]
enum Tree {
    Number(i128),
    /// An element of a region.
    Element {
        region: usize,
        index: Box<Tree>,
    },
    /// The sum of all elements of a region.
    Sum(usize),
    Not(Box<Tree>),
    Negative(Box<Tree>),
    Both(Box<Tree>, Operator, Box<Tree>),
    Function(Predicate),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    LessOrEqual,
    GreaterOrEqual,
    Less,
    Greater,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Operators by rising precedence; longer ones before those that they begin with.
const OPERATORS: [&[(&str, Operator)]; 6] = [
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[("==", Operator::Equal), ("!=", Operator::Unequal)],
    &[
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)],
];

impl Expectation {
    /// Reads a condition over the memory of a launch: numbers, names of variables of the module and of buffers (`p0`),
    /// with an index where there are several elements, `sum(NAME)`, the operators of C, and parentheses. Elements
    /// are signed integers.
    pub fn parse(text: &str, launch: &Launch) -> Result<Expectation, ExpectError> {
        let names: Vec<&str> = launch.memory.iter().map(|region| region.name.as_str()).collect();
        let mut reader = Reader { text, at: 0, names: &names, depth: 0 };
        let tree = reader.level(0)?;
        reader.space();
        if reader.at < text.len() {
            return Err(reader.wrong("an operator was expected"));
        }
        Ok(Expectation { text: text.to_owned(), tree })
    }

    /// A function as a condition.
    pub(crate) fn of(name: &str, predicate: Predicate) -> Expectation {
        Expectation { text: name.to_owned(), tree: Tree::Function(predicate) }
    }

    /// Whether it holds in what a launch finds; `None` where a value is outside of memory or a division is by zero.
    pub fn holds_at_first(&self, launch: &Launch) -> Option<bool> {
        let mut memory = Memory::new(launch, 0, false);
        let contents = memory.number(Vec::new());
        self.holds(&memory, contents)
    }

    /// Whether it holds; `None` where a value is outside of memory or a division is by zero.
    pub(crate) fn holds(&self, memory: &Memory, contents: u32) -> Option<bool> {
        Some(value(&self.tree, memory, contents)? != 0)
    }
}

pub(crate) fn element(memory: &Memory, contents: u32, region: usize, index: i128) -> Option<i128> {
    let region = memory.regions().get(region)?;
    let bytes = region.element.clamp(1, 8);
    let offset = u64::try_from(index).ok()?.checked_mul(bytes.into())?;
    let value = memory.value(contents, region.address.checked_add(offset)?, bytes)?;
    Some(signed(value, bytes * 8).into())
}

fn value(tree: &Tree, memory: &Memory, contents: u32) -> Option<i128> {
    let of = |tree: &Tree| value(tree, memory, contents);
    Some(match tree {
        Tree::Number(number) => *number,
        Tree::Element { region, index } => element(memory, contents, *region, of(index)?)?,
        Tree::Sum(region) => {
            let known = memory.regions().get(*region)?;
            let count = known.bytes.len() as u64 / u64::from(known.element.clamp(1, 8));
            let elements = (0..count).map(|index| element(memory, contents, *region, index.into()));
            elements.sum::<Option<i128>>()?
        }
        Tree::Function(predicate) => i128::from((predicate.0)(&Contents { memory, number: contents })),
        Tree::Not(inner) => i128::from(of(inner)? == 0),
        Tree::Negative(inner) => of(inner)?.checked_neg()?,
        Tree::Both(left, Operator::And, right) => i128::from(of(left)? != 0 && of(right)? != 0),
        Tree::Both(left, Operator::Or, right) => i128::from(of(left)? != 0 || of(right)? != 0),
        Tree::Both(left, operator, right) => {
            let (left, right) = (of(left)?, of(right)?);
            match operator {
                Operator::Equal => i128::from(left == right),
                Operator::Unequal => i128::from(left != right),
                Operator::LessOrEqual => i128::from(left <= right),
                Operator::GreaterOrEqual => i128::from(left >= right),
                Operator::Less => i128::from(left < right),
                Operator::Greater => i128::from(left > right),
                Operator::Add => left.checked_add(right)?,
                Operator::Subtract => left.checked_sub(right)?,
                Operator::Multiply => left.checked_mul(right)?,
                Operator::Divide => left.checked_div(right)?,
                Operator::Remainder => left.checked_rem(right)?,
                Operator::And | Operator::Or => return None,
            }
        }
    })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    names: &'a [&'a str],
    depth: u32,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, word: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn wrong(&self, message: impl Into<String>) -> ExpectError {
        let at = self.text.get(..self.at).map_or(0, |before| before.chars().count()) + 1;
        ExpectError { message: message.into(), at, text: self.text.to_owned() }
    }

    fn level(&mut self, level: usize) -> Result<Tree, ExpectError> {
        let Some(operators) = OPERATORS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        loop {
            self.space();
            // `=` alone is a slip that C would take for an assignment.
            if self.rest().starts_with('=') && !self.rest().starts_with("==") {
                return Err(self.wrong("`=` compares nothing; write `==`"));
            }
            let Some(&(_, operator)) = operators.iter().find(|(word, _)| self.rest().starts_with(word))
            else {
                return Ok(left);
            };
            self.at +=
                operators.iter().find(|(_, known)| *known == operator).map_or(0, |(word, _)| word.len());
            let right = self.level(level + 1)?;
            left = Tree::Both(Box::new(left), operator, Box::new(right));
        }
    }

    fn unary(&mut self) -> Result<Tree, ExpectError> {
        self.depth += 1;
        if self.depth > 64 {
            return Err(self.wrong("there are too many parentheses inside each other"));
        }
        let tree = self.atom();
        self.depth -= 1;
        tree
    }

    fn atom(&mut self) -> Result<Tree, ExpectError> {
        if self.eat("!") {
            return Ok(Tree::Not(Box::new(self.unary()?)));
        }
        if self.eat("-") {
            return Ok(Tree::Negative(Box::new(self.unary()?)));
        }
        if self.eat("(") {
            let inner = self.level(0)?;
            return if self.eat(")") { Ok(inner) } else { Err(self.wrong("a `)` is missing")) };
        }
        let word_length =
            self.rest().bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"_$".contains(byte));
        let length = word_length.count();
        let word = self.rest().get(..length).unwrap_or("");
        if word.is_empty() {
            return Err(self.wrong("a number or a name was expected"));
        }
        if word.starts_with(|first: char| first.is_ascii_digit()) {
            let number = match word.strip_prefix("0x") {
                Some(digits) => i128::from_str_radix(digits, 16),
                None => word.parse(),
            };
            let number = number.map_err(|_| self.wrong(format!("`{word}` is not a number")))?;
            self.at += length;
            return Ok(Tree::Number(number));
        }
        let start = self.at;
        self.at += length;
        if word == "sum" && self.eat("(") {
            self.space();
            let length =
                self.rest().bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"_$".contains(byte));
            let length = length.count();
            let name = self.rest().get(..length).unwrap_or("");
            let region = self.region(name, self.at)?;
            self.at += length;
            return if self.eat(")") { Ok(Tree::Sum(region)) } else { Err(self.wrong("a `)` is missing")) };
        }
        let region = self.region(word, start)?;
        let index = if self.eat("[") {
            let index = self.level(0)?;
            if !self.eat("]") {
                return Err(self.wrong("a `]` is missing"));
            }
            index
        } else {
            Tree::Number(0)
        };
        Ok(Tree::Element { region, index: Box::new(index) })
    }

    fn region(&mut self, name: &str, start: usize) -> Result<usize, ExpectError> {
        self.names.iter().position(|known| *known == name).ok_or_else(|| {
            self.at = start;
            let known = if self.names.is_empty() { "none".to_owned() } else { self.names.join(", ") };
            self.wrong(format!("no memory is called `{name}`; known are {known}"))
        })
    }
}

/// A value as the reader of an expectation wants it.
pub(crate) fn shown_element(bytes: u32) -> Type {
    match bytes {
        1 => Type::S8,
        2 => Type::S16,
        8 => Type::S64,
        _ => Type::S32,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use standstill_kernel_ir::FunctionId;

    use super::*;
    use crate::launch::Region;

    /// `a` is 7, `list` is 1, -2, 3.
    fn launch() -> Launch {
        let bytes = |values: &[i32]| values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let region = |address, name: &str, values: &[i32]| Region {
            address,
            bytes: bytes(values),
            name: name.to_owned(),
            element: 4,
        };
        Launch {
            kernel: FunctionId(0),
            grid: [1; 3],
            block: [1; 3],
            cluster: [1; 3],
            parameters: Vec::new(),
            memory: vec![region(0x1000, "a", &[7]), region(0x2000, "list", &[1, -2, 3])],
            variables: Vec::new(),
            dynamic_shared: 0,
        }
    }

    #[track_caller]
    fn check(text: &str, expected: Option<bool>) {
        let launch = launch();
        let mut memory = Memory::new(&launch, 0, true);
        let contents = memory.number(Vec::new());
        let condition = Expectation::parse(text, &launch).unwrap();
        assert_eq!(condition.holds(&memory, contents), expected, "{text}");
    }

    #[test]
    fn conditions_are_those_of_c() {
        check("a == 7", Some(true));
        check("a != 7 || list[1] == -2", Some(true));
        check("!(a < 7) && a >= 7 && a <= 0x7 && !(a > 7)", Some(true));
        check("list[list[0] + 1] * 2 - 1 == 5", Some(true));
        check("sum(list) == 2 && list == 1", Some(true));
        check("1 + 2 * 3 == 7 && 7 / 2 == 3 && 7 % 2 == 1", Some(true));
        check("list[3] == 0", None);
        check("list[0 - 1] == 0", None);
        check("a / (a - 7) == 0", None);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let check = |text: &str, at: usize, part: &str| {
            let error = Expectation::parse(text, &launch()).unwrap_err();
            assert!(error.at == at && error.message.contains(part), "{text}: {error}");
        };
        check("a = 7", 3, "`==`");
        check("b == 7", 1, "no memory is called `b`; known are a, list");
        check("a ==", 5, "a number or a name");
        check("(a", 3, "a `)` is missing");
        check("list[0", 7, "a `]` is missing");
        check("a 7", 3, "an operator");
        check("12x", 1, "not a number");
        check(&"(".repeat(100), 65, "too many parentheses");
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".*", like in "[a-z0-9()\\[\\]!=<>&|+*/% -]{0,40}") {
            for text in [text, like] {
                let launch = launch();
                if let Ok(condition) = Expectation::parse(&text, &launch) {
                    let mut memory = Memory::new(&launch, 0, true);
                    let contents = memory.number(Vec::new());
                    let _ = condition.holds(&memory, contents);
                }
            }
        }
    }
}

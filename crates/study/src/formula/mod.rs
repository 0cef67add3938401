//! Formulas of derived levels: text → expression → number. Knows neither cells nor YAML; a place is a range of characters.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = signed { ("*" | "/" | "%") signed }
//! signed  = "-" signed | value
//! value   = number | "${" name "}" | "(" sum ")" | function "(" sum { "," sum } ")"
//! ```

mod evaluate;
mod parse;

#[cfg(test)]
mod tests;

/// Longest formula, in bytes.
pub(crate) const MAX_FORMULA_BYTES: usize = 1_000;
/// Deepest nesting of parentheses, functions and signs.
pub(crate) const MAX_FORMULA_DEPTH: usize = 32;

/// A formula that was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Formula {
    root: Expression,
    /// Every name in it with its place, in their order.
    names: Vec<(String, Place)>,
}

/// Characters of a formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Counted from 0.
    pub start: usize,
    /// At least 1.
    pub width: usize,
}

/// What is wrong with a formula, and in which place of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FormulaError {
    pub place: Place,
    pub what: String,
    pub expected: String,
}

impl FormulaError {
    fn new(place: Place, what: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            place,
            what: what.into(),
            expected: expected.into(),
        }
    }
}

impl Formula {
    /// Reads a formula.
    ///
    /// # Errors
    /// The first mistake in it.
    pub(crate) fn parse(text: &str) -> Result<Self, FormulaError> {
        let (root, names) = parse::parse(text)?;
        Ok(Self { root, names })
    }

    /// Every name in it with its place, in their order.
    pub(crate) fn names(&self) -> &[(String, Place)] {
        &self.names
    }

    /// Its value, if every name has the value that `value` gives; the error of `value` says why a name has none.
    ///
    /// # Errors
    /// A name without a value, a division by zero, or a result that is not finite.
    pub(crate) fn evaluate(
        &self,
        value: &dyn Fn(&str) -> Result<f64, String>,
    ) -> Result<f64, FormulaError> {
        evaluate::evaluate(&self.root, value)
    }
}

/// A part of a formula with its place: of an operation, that of its operator.
#[derive(Debug, Clone, PartialEq)]
struct Expression {
    kind: Kind,
    place: Place,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Number(f64),
    Name(String),
    Negative(Box<Expression>),
    Operation(Operator, Box<[Expression; 2]>),
    /// With at least one argument.
    Call(Function, Vec<Expression>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    Floor,
    Ceil,
    Round,
    Min,
    Max,
}

impl Function {
    const ALL: [(&'static str, Self); 5] = [
        ("floor", Self::Floor),
        ("ceil", Self::Ceil),
        ("round", Self::Round),
        ("min", Self::Min),
        ("max", Self::Max),
    ];

    fn name(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(_, function)| *function == self)
            .map_or("", |(name, _)| name)
    }

    /// The fewest and the most arguments.
    fn arguments(self) -> (usize, usize) {
        match self {
            Self::Floor | Self::Ceil | Self::Round => (1, 1),
            Self::Min | Self::Max => (2, usize::MAX),
        }
    }
}

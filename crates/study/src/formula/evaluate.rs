//! The value of a formula, in IEEE 754 double precision.

use super::{Expression, FormulaError, Function, Kind, Operator};

pub(super) fn evaluate(
    expression: &Expression,
    value: &dyn Fn(&str) -> Result<f64, String>,
) -> Result<f64, FormulaError> {
    let place = expression.place;
    let result = match &expression.kind {
        Kind::Number(number) => *number,
        Kind::Name(name) => {
            value(name).map_err(|why| FormulaError::new(place, why, "a number without a unit"))?
        }
        Kind::Negative(operand) => -evaluate(operand, value)?,
        Kind::Operation(operator, sides) => {
            let [left, right] = &**sides;
            let (left, right) = (evaluate(left, value)?, evaluate(right, value)?);
            if right == 0.0 && matches!(operator, Operator::Divide | Operator::Remainder) {
                let what = format!("{left} is divided by zero");
                return Err(FormulaError::new(place, what, "a divisor other than 0"));
            }
            operator.apply(left, right)
        }
        Kind::Call(function, arguments) => {
            let arguments = arguments.iter().map(|argument| evaluate(argument, value));
            function.apply(&arguments.collect::<Result<Vec<f64>, _>>()?)
        }
    };
    match result.is_finite() {
        true => Ok(result),
        false => Err(FormulaError::new(
            place,
            "the result is too large",
            "a finite number",
        )),
    }
}

impl Operator {
    fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide => left / right,
            Self::Remainder => left % right,
        }
    }
}

impl Function {
    fn apply(self, arguments: &[f64]) -> f64 {
        let first = arguments.first().copied().unwrap_or(f64::NAN);
        match self {
            Self::Floor => first.floor(),
            Self::Ceil => first.ceil(),
            Self::Round => first.round(),
            Self::Min => arguments.iter().copied().fold(first, f64::min),
            Self::Max => arguments.iter().copied().fold(first, f64::max),
        }
    }
}

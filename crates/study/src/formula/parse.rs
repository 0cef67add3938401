//! The one parser of formulas: recursive descent over characters, with a limit on length and depth.

use super::{
    Expression, FormulaError, Function, Kind, MAX_FORMULA_BYTES, MAX_FORMULA_DEPTH, Operator, Place,
};
use crate::{nearest::nearest_word, tree::quote};

type Parsed = Result<Expression, FormulaError>;

/// The expression, and every name in it with its place.
pub(super) fn parse(text: &str) -> Result<(Expression, Vec<(String, Place)>), FormulaError> {
    let mut parser = Parser {
        characters: text.chars().collect(),
        at: 0,
        depth: 0,
        names: Vec::new(),
    };
    if text.len() > MAX_FORMULA_BYTES {
        let what = format!("the formula has {} bytes", text.len());
        let expected = format!("at most {MAX_FORMULA_BYTES}");
        return Err(FormulaError::new(parser.place(0), what, expected));
    }
    let root = parser.sum()?;
    match parser.peek() {
        None => Ok((root, parser.names)),
        Some(_) => Err(parser.syntax_error("an operator or the end of the formula")),
    }
}

struct Parser {
    characters: Vec<char>,
    /// Index of the next character.
    at: usize,
    depth: usize,
    names: Vec<(String, Place)>,
}

impl Parser {
    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        while self
            .characters
            .get(self.at)
            .is_some_and(|c| c.is_ascii_whitespace())
        {
            self.at += 1;
        }
        self.characters.get(self.at).copied()
    }

    /// From a character up to the next one that is to be read.
    fn place(&self, start: usize) -> Place {
        Place {
            start,
            width: self.at.saturating_sub(start).max(1),
        }
    }

    /// Takes characters as long as they are of this kind.
    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> String {
        let start = self.at;
        while self.characters.get(self.at).is_some_and(|c| is_part(*c)) {
            self.at += 1;
        }
        self.characters[start..self.at].iter().collect()
    }

    fn take_if(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        self.at += usize::from(is_there);
        is_there
    }

    fn syntax_error(&mut self, expected: &str) -> FormulaError {
        let what = match self.peek() {
            Some(character) => format!("the formula has {character:?} here"),
            None => "the formula ends here".to_owned(),
        };
        FormulaError::new(self.place(self.at), what, expected)
    }

    fn sum(&mut self) -> Parsed {
        let mut left = self.product()?;
        while let Some(operator) = match self.peek() {
            Some('+') => Some(Operator::Add),
            Some('-') => Some(Operator::Subtract),
            _ => None,
        } {
            left = self.operation(left, operator, Self::product)?;
        }
        Ok(left)
    }

    fn product(&mut self) -> Parsed {
        let mut left = self.sign_and_value()?;
        while let Some(operator) = match self.peek() {
            Some('*') => Some(Operator::Multiply),
            Some('/') => Some(Operator::Divide),
            Some('%') => Some(Operator::Remainder),
            _ => None,
        } {
            left = self.operation(left, operator, Self::sign_and_value)?;
        }
        Ok(left)
    }

    /// The operator is the next character.
    fn operation(
        &mut self,
        left: Expression,
        operator: Operator,
        right: fn(&mut Self) -> Parsed,
    ) -> Parsed {
        let start = self.at;
        self.at += 1;
        let place = self.place(start);
        let right = right(self)?;
        let kind = Kind::Operation(operator, Box::new([left, right]));
        Ok(Expression { kind, place })
    }

    fn sign_and_value(&mut self) -> Parsed {
        self.depth += 1;
        self.peek();
        if self.depth > MAX_FORMULA_DEPTH {
            let expected = format!("at most {MAX_FORMULA_DEPTH} levels");
            let place = self.place(self.at);
            return Err(FormulaError::new(place, "nested too deep", expected));
        }
        let start = self.at;
        let expression = match self.take_if('-') {
            true => {
                let place = self.place(start);
                self.sign_and_value().map(|operand| Expression {
                    kind: Kind::Negative(Box::new(operand)),
                    place,
                })
            }
            false => self.value(),
        };
        self.depth -= 1;
        expression
    }

    fn value(&mut self) -> Parsed {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.sum()?;
                match self.take_if(')') {
                    true => Ok(inner),
                    false => Err(self.syntax_error("an operator or )")),
                }
            }
            Some('$') => self.name(),
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.call(),
            _ => Err(self.syntax_error("a number, ${factor}, a function or (")),
        }
    }

    fn name(&mut self) -> Parsed {
        let start = self.at;
        self.at += 1;
        if self.characters.get(self.at) != Some(&'{') {
            let place = self.place(start);
            return Err(FormulaError::new(place, "a $ without {", "${factor}"));
        }
        self.at += 1;
        let name = self.take_while(|c| c != '}');
        if self.at == self.characters.len() {
            let place = Place { start, width: 2 };
            return Err(FormulaError::new(place, "a ${ without its }", "${factor}"));
        }
        self.at += 1;
        let place = self.place(start);
        self.names.push((name.clone(), place));
        Ok(Expression {
            kind: Kind::Name(name),
            place,
        })
    }

    fn number(&mut self) -> Parsed {
        let start = self.at;
        let mut text = self.take_while(|c| c.is_ascii_digit() || c == '.');
        let exponent = &self.characters[self.at..];
        let sign = usize::from(matches!(exponent.get(1), Some('+' | '-')));
        let has_digit = |index: usize| exponent.get(index).is_some_and(char::is_ascii_digit);
        if matches!(exponent.first(), Some('e' | 'E')) && has_digit(1 + sign) {
            text.extend(&exponent[..=sign]);
            self.at += 1 + sign;
            text.push_str(&self.take_while(|c| c.is_ascii_digit()));
        }
        let rest = self.take_while(|c| c.is_alphanumeric() || c == '_');
        let place = self.place(start);
        if !rest.is_empty() {
            let what = format!("the number {text} has the unit {}", quote(&rest));
            return Err(FormulaError::new(place, what, "a number without a unit"));
        }
        let number = text.parse::<f64>().ok();
        match number.filter(|number| number.is_finite()) {
            Some(number) => Ok(Expression {
                kind: Kind::Number(number),
                place,
            }),
            None => {
                let what = format!("{} is no number", quote(&text));
                let expected = "a number such as 45, 0.5 or 2e6";
                Err(FormulaError::new(place, what, expected))
            }
        }
    }

    fn call(&mut self) -> Parsed {
        let start = self.at;
        let word = self.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        let place = self.place(start);
        let mut known = Function::ALL.iter();
        let Some((_, function)) = known.find(|(name, _)| *name == word) else {
            let names = Function::ALL.map(|(name, _)| name);
            let what = format!("{} is no function", quote(&word));
            let expected = match nearest_word(&word, names) {
                Some(near) => format!("{near}(…), or ${{{word}}} for a factor"),
                None => format!("one of {}, or ${{{word}}} for a factor", names.join(", ")),
            };
            return Err(FormulaError::new(place, what, expected));
        };
        if !self.take_if('(') {
            return Err(self.syntax_error("("));
        }
        let mut arguments = vec![self.sum()?];
        while self.take_if(',') {
            arguments.push(self.sum()?);
        }
        if !self.take_if(')') {
            return Err(self.syntax_error("an operator, a comma or )"));
        }
        let (fewest, most) = function.arguments();
        if !(fewest..=most).contains(&arguments.len()) {
            let what = format!("{} has {} arguments", function.name(), arguments.len());
            let expected = match most {
                1 => "one argument",
                _ => "two arguments or more",
            };
            return Err(FormulaError::new(place, what, expected));
        }
        Ok(Expression {
            kind: Kind::Call(*function, arguments),
            place,
        })
    }
}

//! A command line as a shell would split it into words: quotes, backslashes, comments. No expansions.

use anyhow::{Result, bail};

/// The commands in a text, each as its words. Commands end at line ends, `;`, `&&`, `||`, `|` and `&`.
pub(crate) fn commands(text: &str) -> Result<Vec<Vec<String>>> {
    let mut split = Split::default();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\'' => split.word().push_str(&quoted(&mut characters, "'")?),
            '"' => {
                let inner = double_quoted(&mut characters)?;
                split.word().push_str(&inner);
            }
            '$' if characters.peek() == Some(&'\'') => {
                characters.next();
                let inner = c_quoted(&mut characters)?;
                split.word().push_str(&inner);
            }
            '\\' => match characters.next() {
                // A line that goes on; files from Windows have a carriage return before it.
                Some('\n') | None => {}
                Some('\r') if characters.peek() == Some(&'\n') => {
                    characters.next();
                }
                Some(other) => split.word().push(other),
            },
            '\n' | ';' | '|' | '&' => split.end_command(),
            '#' if split.current.is_none() => {
                while characters.peek().is_some_and(|next| *next != '\n') {
                    characters.next();
                }
            }
            character if character.is_whitespace() => split.end_word(),
            character => split.word().push(character),
        }
    }
    split.end_command();
    Ok(split.commands)
}

#[derive(Default)]
struct Split {
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    current: Option<String>,
}

impl Split {
    fn word(&mut self) -> &mut String {
        self.current.get_or_insert_default()
    }

    fn end_word(&mut self) {
        self.words.extend(self.current.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn quoted(characters: &mut Characters<'_>, quote: &str) -> Result<String> {
    let mut inner = String::new();
    for character in characters {
        if quote.contains(character) {
            return Ok(inner);
        }
        inner.push(character);
    }
    bail!("a {quote} is opened and not closed")
}

fn double_quoted(characters: &mut Characters<'_>) -> Result<String> {
    let mut inner = String::new();
    while let Some(character) = characters.next() {
        match character {
            '"' => return Ok(inner),
            '\\' => match characters.next() {
                Some('\n') => {}
                Some(next @ ('"' | '\\' | '$' | '`')) => inner.push(next),
                Some(next) => inner.extend(['\\', next]),
                None => break,
            },
            character => inner.push(character),
        }
    }
    bail!("a \" is opened and not closed")
}

/// `$'…'`, as browsers write bodies with quotes or line ends in them.
fn c_quoted(characters: &mut Characters<'_>) -> Result<String> {
    let mut inner = String::new();
    while let Some(character) = characters.next() {
        match character {
            '\'' => return Ok(inner),
            '\\' => match characters.next() {
                Some('n') => inner.push('\n'),
                Some('r') => inner.push('\r'),
                Some('t') => inner.push('\t'),
                Some('u') => inner.push(unicode(characters, 4)?),
                Some('U') => inner.push(unicode(characters, 8)?),
                Some('x') => inner.push(unicode(characters, 2)?),
                Some(next @ ('\'' | '"' | '\\' | '?')) => inner.push(next),
                Some(next) => inner.extend(['\\', next]),
                None => break,
            },
            character => inner.push(character),
        }
    }
    bail!("a $' is opened and not closed")
}

fn unicode(characters: &mut Characters<'_>, most: usize) -> Result<char> {
    let mut digits = String::new();
    while digits.len() < most
        && let Some(digit) = characters.next_if(char::is_ascii_hexdigit)
    {
        digits.push(digit);
    }
    let code = u32::from_str_radix(&digits, 16).ok();
    match code.and_then(char::from_u32) {
        Some(character) => Ok(character),
        None => bail!("\\u{digits} is no character"),
    }
}

#[cfg(test)]
mod tests {
    use super::commands;

    #[test]
    fn words_are_those_of_a_shell() {
        let check = |text: &str, expected: &[&[&str]]| {
            assert_eq!(commands(text).unwrap(), expected, "{text}");
        };
        check("curl http://a", &[&["curl", "http://a"]]);
        check("curl \\\n  -X PUT \\\r\n x", &[&["curl", "-X", "PUT", "x"]]);
        check(
            r#"a 'b c' "d \"e\" $f" g\ h"#,
            &[&["a", "b c", "d \"e\" $f", "g h"]],
        );
        check(
            r"a $'it\'s\n\u00e4\x41'",
            &[&["a", "it's\nä"]].map(|_| &["a", "it's\näA"][..]),
        );
        check("a ''", &[&["a", ""]]);
        check("# c\na;b && c\n", &[&["a"], &["b"], &["c"]]);
        check("a'b'\"c\"", &[&["abc"]]);
        for text in ["'", "\"a", "$'a", "\"a\\", "$'\\uD800'"] {
            assert!(commands(text).is_err(), "{text}");
        }
    }
}

//! Splits a command line into words like a shell: quotes, backslashes, comments. Expansions are marked, redirections are ignored.

use anyhow::{Result, bail};

use super::slot;

/// Marks the `$` of a shell expansion in a word; words cannot contain it otherwise.
pub(super) const EXPANSION: char = '\0';

/// The commands of a text, each as a list of words. Commands end at line ends, `;`, `&&`, `||` and `&`. Commands behind a pipe
/// (`| jq`) and redirections are ignored.
pub(crate) fn commands(text: &str) -> Result<Vec<Vec<String>>> {
    let mut split = Split::default();
    let text = text.replace(EXPANSION, " ");
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\'' => split.word().push_str(&read_quoted(&mut characters, "'")?),
            '"' => {
                let inner = double_quoted(&mut characters)?;
                split.word().push_str(&inner);
            }
            '$' if characters.peek() == Some(&'\'') => {
                characters.next();
                let inner = c_quoted(&mut characters)?;
                split.word().push_str(&inner);
            }
            '$' => split.word().push(dollar(&characters)),
            '`' => split.word().push(EXPANSION),
            '\\' => match characters.next() {
                // Line continuation; files from Windows have a carriage return before the line end.
                Some('\n') | None => {}
                Some('\r') if characters.peek() == Some(&'\n') => {
                    characters.next();
                }
                Some(other) => split.word().push(other),
            },
            '|' if characters.peek() != Some(&'|') => {
                split.end_command();
                characters.next_if_eq(&'&');
                split.is_piped = true;
            }
            '&' if characters.peek() == Some(&'>') => split.end_word(),
            // A copied shell prompt.
            '>' if split.is_at_start() => split.word().push('>'),
            '>' | '<' => split.redirect(character, &mut characters)?,
            '\n' if split.is_at_start() => {}
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
    /// The current command is behind a pipe.
    is_piped: bool,
    /// The next word is the file of a redirection.
    is_redirected: bool,
}

impl Split {
    fn word(&mut self) -> &mut String {
        self.current.get_or_insert_default()
    }

    fn is_at_start(&self) -> bool {
        self.words.is_empty() && self.current.is_none()
    }

    fn end_word(&mut self) {
        let Some(word) = self.current.take() else {
            return;
        };
        if !std::mem::take(&mut self.is_redirected) {
            self.words.push(word);
        }
    }

    /// `> file`, `2>&1`, `< file`: drops the number before and the word after the sign.
    fn redirect(&mut self, sign: char, characters: &mut Characters<'_>) -> Result<()> {
        if sign == '<' && characters.peek() == Some(&'<') {
            bail!("a here-document (<<) is not supported; expected the text in quotes");
        }
        let is_number =
            |word: &String| !word.is_empty() && word.chars().all(|digit| digit.is_ascii_digit());
        self.current = self.current.take().filter(|word| !is_number(word));
        self.end_word();
        while characters.next_if(|next| "><&|".contains(*next)).is_some() {}
        self.is_redirected = true;
        Ok(())
    }

    fn end_command(&mut self) {
        self.end_word();
        self.is_redirected = false;
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() && !std::mem::take(&mut self.is_piped) {
            self.commands.push(words);
        }
    }
}

/// Whether an expansion starts at this `$`.
fn dollar(behind: &Characters<'_>) -> char {
    let expands = behind
        .clone()
        .next()
        .is_some_and(|next| next.is_ascii_alphanumeric() || "_{(@*#?!-".contains(next));
    if expands { EXPANSION } else { '$' }
}

/// Whether a text consists of expansions only.
pub(super) fn is_expansions(text: &str) -> bool {
    !text.is_empty() && parts(text).all(|(literal, name)| literal.is_empty() && name.is_some())
}

/// Whether all expansions are variables, not commands.
pub(super) fn are_variables(text: &str) -> bool {
    parts(text).all(|(literal, _)| !literal.contains(EXPANSION))
}

/// Replaces `$NAME` and `${NAME}` by slots of the environment; returns the text and the names.
pub(super) fn expand(text: &str) -> (String, Vec<String>) {
    let (mut whole, mut names) = (String::new(), Vec::new());
    for (literal, name) in parts(text) {
        whole.push_str(literal);
        if let Some(name) = name {
            whole.push_str(&slot::environment(name));
            names.push(name.to_owned());
        }
    }
    (whole, names)
}

/// Pairs of literal text and the variable behind it.
fn parts(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut rest = Some(text);
    std::iter::from_fn(move || next_part(&mut rest))
}

fn next_part<'a>(rest: &mut Option<&'a str>) -> Option<(&'a str, Option<&'a str>)> {
    let text = rest.take().filter(|text| !text.is_empty())?;
    let mut from = 0;
    while let Some(position) = text[from..].find(EXPANSION).map(|position| from + position) {
        if let Some((name, behind)) = variable(&text[position + 1..]) {
            *rest = Some(behind);
            return Some((&text[..position], Some(name)));
        }
        from = position + 1;
    }
    Some((text, None))
}

/// `NAME` or `{NAME}`, and the rest of the text.
fn variable(text: &str) -> Option<(&str, &str)> {
    let (inner, is_braced) = match text.strip_prefix('{') {
        Some(inner) => (inner, true),
        None => (text, false),
    };
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let end = inner
        .find(|letter| !is_of_name(letter))
        .unwrap_or(inner.len());
    let (name, behind) = inner.split_at(end);
    let behind = if is_braced {
        behind.strip_prefix('}')?
    } else {
        behind
    };
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    is_name.then_some((name, behind))
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn read_quoted(characters: &mut Characters<'_>, quote: &str) -> Result<String> {
    let mut inner = String::new();
    for character in characters {
        if quote.contains(character) {
            return Ok(inner);
        }
        inner.push(character);
    }
    bail!("a {quote} is not closed")
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
            '$' => inner.push(dollar(characters)),
            '`' => inner.push(EXPANSION),
            character => inner.push(character),
        }
    }
    bail!("a \" is not closed")
}

/// `$'…'`: browsers write bodies with quotes or line ends in this form. All escapes of bash's ANSI-C quoting; `\xHH` and `\NNN`
/// are bytes, which together must be UTF-8.
fn c_quoted(characters: &mut Characters<'_>) -> Result<String> {
    let mut inner = Vec::new();
    while let Some(character) = characters.next() {
        match character {
            '\'' => {
                if inner.contains(&0) {
                    bail!("a $'…' has a NUL, which no argument can have");
                }
                return match String::from_utf8(inner) {
                    Ok(inner) => Ok(inner),
                    Err(_) => bail!("the bytes of a $'…' are not UTF-8 text"),
                };
            }
            '\\' => {
                let Some(escaped) = characters.next() else {
                    break;
                };
                push_escape(&mut inner, escaped, characters)?;
            }
            character => push(&mut inner, character),
        }
    }
    bail!("a $' is not closed")
}

fn push(bytes: &mut Vec<u8>, character: char) {
    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

fn push_escape(bytes: &mut Vec<u8>, escaped: char, characters: &mut Characters<'_>) -> Result<()> {
    let byte = match escaped {
        'a' => 7,
        'b' => 8,
        'e' | 'E' => 27,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        'u' | 'U' => {
            let most = if escaped == 'u' { 4 } else { 8 };
            push(bytes, unicode(characters, most)?);
            return Ok(());
        }
        'x' if characters.peek().is_some_and(char::is_ascii_hexdigit) => {
            let digits = digits(characters, 2, 16);
            u8::from_str_radix(&digits, 16)?
        }
        '0'..='7' => {
            let digits = format!("{escaped}{}", digits(characters, 2, 8));
            // As in bash: of three digits the lowest eight bits.
            u16::from_str_radix(&digits, 8)?.to_be_bytes()[1]
        }
        'c' => match characters.next() {
            Some(key) if key.is_ascii() => key.to_ascii_uppercase() as u8 & 0x1f,
            _ => bail!("\\c in a $'…' needs a key"),
        },
        '\'' | '"' | '\\' | '?' => {
            push(bytes, escaped);
            return Ok(());
        }
        other => {
            bytes.push(b'\\');
            push(bytes, other);
            return Ok(());
        }
    };
    bytes.push(byte);
    Ok(())
}

fn digits(characters: &mut Characters<'_>, most: usize, radix: u32) -> String {
    let mut digits = String::new();
    while digits.len() < most
        && let Some(digit) = characters.next_if(|next| next.is_digit(radix))
    {
        digits.push(digit);
    }
    digits
}

fn unicode(characters: &mut Characters<'_>, most: usize) -> Result<char> {
    let digits = digits(characters, most, 16);
    let code = u32::from_str_radix(&digits, 16).ok();
    match code.and_then(char::from_u32) {
        Some(character) => Ok(character),
        None => bail!("\\u{digits} is not a character"),
    }
}

#[cfg(test)]
mod tests {
    use super::commands;

    #[test]
    fn words_are_split_as_in_a_shell() {
        let check = |text: &str, expected: &[&[&str]]| {
            assert_eq!(commands(text).unwrap(), expected, "{text}");
        };
        check("curl http://a", &[&["curl", "http://a"]]);
        check("curl \\\n  -X PUT \\\r\n x", &[&["curl", "-X", "PUT", "x"]]);
        check(
            r#"a 'b c' "d \"e\" $ f" g\ h"#,
            &[&["a", "b c", "d \"e\" $ f", "g h"]],
        );
        check(
            r"a $'it\'s\n\u00e4\x41'",
            &[&["a", "it's\nä"]].map(|_| &["a", "it's\näA"][..]),
        );
        check(
            r"$'\xc3\xa4\303\244\e\cA\a\z\U0001F600\?'",
            &[&["ää\u{1b}\u{1}\u{7}\\z😀?"]],
        );
        check("a ''", &[&["a", ""]]);
        check("# c\na;b && c\n", &[&["a"], &["b"], &["c"]]);
        check("a'b'\"c\"", &[&["abc"]]);
        for text in [
            "'",
            "\"a",
            "$'a",
            "\"a\\",
            "$'\\uD800'",
            "$'\\xff'",
            "$'\\0'",
        ] {
            assert!(commands(text).is_err(), "{text}");
        }
    }
}

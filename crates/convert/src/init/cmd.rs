//! Splits a command line for Windows' cmd, as browsers copy it: carets first, as cmd.exe removes them, then quotes and
//! backslashes, as a program of Microsoft's C runtime reads its arguments.

use anyhow::{Result, bail};

/// Whether a text is written for cmd: its first quote has a caret, or carets continue its lines. Single quotes are those of a shell, in
/// which carets are text.
pub(super) fn is_cmd(text: &str) -> bool {
    let first = text
        .find(['"', '\''])
        .map(|position| text.split_at(position));
    match first {
        Some((_, quoted)) if quoted.starts_with('\'') => false,
        Some((before, _)) if before.ends_with(" ^") => true,
        _ => text.lines().any(|line| line.ends_with(" ^")),
    }
}

/// The commands of a text, each as a list of words. Commands end at line ends and at `&`.
pub(super) fn commands(text: &str) -> Result<Vec<Vec<String>>> {
    let lines = without_carets(&text.replace("\r\n", "\n"));
    let commands: Result<Vec<_>> = lines.iter().map(|line| words(line)).collect();
    Ok(commands?
        .into_iter()
        .filter(|command| !command.is_empty())
        .collect())
}

/// Outside of quotes a caret makes the next character plain text; at the end of a line it continues the line, and the character
/// behind is plain text, too.
fn without_carets(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut is_quoted = false;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let line = lines.last_mut().expect("it begins with one line");
        match character {
            '^' if !is_quoted => match characters.next() {
                Some('\n') => line.extend(characters.next()),
                other => line.extend(other),
            },
            '"' => {
                is_quoted = !is_quoted;
                line.push('"');
            }
            '\n' => {
                is_quoted = false;
                lines.push(String::new());
            }
            '&' if !is_quoted => lines.push(String::new()),
            other => line.push(other),
        }
    }
    lines
}

/// 2n backslashes and a quote are n backslashes and the end or beginning of a quoted part, 2n + 1 are n and a quote; elsewhere
/// backslashes are text. Two quotes in a quoted part are one.
fn words(line: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let mut current: Option<String> = None;
    let mut is_quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                let mut count = 1;
                while characters.next_if_eq(&'\\').is_some() {
                    count += 1;
                }
                let word = current.get_or_insert_default();
                if characters.peek() == Some(&'"') {
                    word.push_str(&"\\".repeat(count / 2));
                    if count % 2 == 1 {
                        characters.next();
                        word.push('"');
                    }
                } else {
                    word.push_str(&"\\".repeat(count));
                }
            }
            '"' if is_quoted && characters.next_if_eq(&'"').is_some() => {
                current.get_or_insert_default().push('"');
            }
            '"' => {
                is_quoted = !is_quoted;
                current.get_or_insert_default();
            }
            ' ' | '\t' if !is_quoted => words.extend(current.take()),
            other => current.get_or_insert_default().push(other),
        }
    }
    if is_quoted {
        bail!("a \" is not closed");
    }
    words.extend(current);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::{commands, is_cmd};

    #[test]
    fn words_are_split_as_on_windows() {
        let check = |text: &str, expected: &[&[&str]]| {
            assert!(is_cmd(text), "{text}");
            assert_eq!(commands(text).unwrap(), expected, "{text}");
        };
        // Chrome since 2024.
        check(
            "curl ^\"http://h/a?x=1^&y=2^\" ^\r\n  --data-raw ^\"^{^\\^\"k^\\^\":^\\^\"v^\\^\"^}^\"",
            &[&["curl", "http://h/a?x=1&y=2", "--data-raw", "{\"k\":\"v\"}"]],
        );
        // Older ones.
        check(
            "curl \"http://h/a\" ^\n  -H \"accept: */*\" ^\n  --data-raw \"x=1^2\"",
            &[&[
                "curl",
                "http://h/a",
                "-H",
                "accept: */*",
                "--data-raw",
                "x=1^2",
            ]],
        );
        check("curl ^\"a^%^20b^!^^^\"", &[&["curl", "a%20b!^"]]);
        check("curl ^\"a^\n\nb^\"", &[&["curl", "a\nb"]]);
        check(
            "curl ^\"a^\" ^\n -s &\ncurl ^\"b\\\\^\"",
            &[&["curl", "a", "-s"], &["curl", "b\\"]],
        );
        check("curl \"a\"\"b\" ^\n c\\d", &[&["curl", "a\"b", "c\\d"]]);
        // In single quotes a caret is text.
        for text in [
            "curl 'http://h' -d 'a^b'",
            "curl 'http://h' -d 'a ^\"b'",
            "curl -d 'a ^\nb' http://h",
        ] {
            assert!(!is_cmd(text), "{text}");
        }
        assert!(commands("curl ^\"a").is_err());
    }
}

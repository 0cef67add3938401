//! The one statement of InfluxQL that is answered: `CREATE DATABASE "name"`, with which clients of version 1 begin.

/// A statement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Statement {
    /// The database to be created.
    CreateDatabase(String),
    Other,
}

/// Reads a statement, which may end in a semicolon.
pub(crate) fn read_statement(text: &str) -> Statement {
    let text = text.trim().trim_end_matches(';').trim_end();
    let named = take_word(text, "create").and_then(|rest| take_word(rest, "database"));
    match named.and_then(identifier) {
        Some(name) => Statement::CreateDatabase(name),
        None => Statement::Other,
    }
}

/// What follows a keyword and white space.
fn take_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(word.len())?;
    let is_apart = rest.starts_with(|first: char| first.is_ascii_whitespace());
    (start.eq_ignore_ascii_case(word) && is_apart).then(|| rest.trim_start())
}

/// The name, if the text is an identifier and nothing else: bare, or in quotes with escapes.
fn identifier(text: &str) -> Option<String> {
    let Some(quoted) = text.strip_prefix('"') else {
        let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_name = !text.is_empty() && text.bytes().all(is_bare);
        return is_name.then(|| text.to_owned());
    };
    let mut name = String::new();
    let mut characters = quoted.chars();
    loop {
        match characters.next()? {
            '"' => return characters.next().is_none().then_some(name),
            '\\' => match characters.next()? {
                'n' => name.push('\n'),
                escaped @ ('"' | '\\') => name.push(escaped),
                _ => return None,
            },
            character => name.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_creation_of_a_database_is_read() {
        let check = |text: &str, name: Option<&str>| {
            let expected = name.map_or(Statement::Other, |name| {
                Statement::CreateDatabase(name.to_owned())
            });
            assert_eq!(read_statement(text), expected, "{text}");
        };
        check(r#"CREATE DATABASE "plant""#, Some("plant"));
        check("create  database\tplant ; ", Some("plant"));
        check(r#"CREATE DATABASE "a \"b\" \\ c""#, Some(r#"a "b" \ c"#));
        check(r#"CREATE DATABASE "plant" WITH DURATION 1d"#, None);
        check(r#"CREATE DATABASE "plant"#, None);
        check(r#"CREATE DATABASE "a"; DROP DATABASE "b""#, None);
        check("CREATE DATABASE", None);
        check("CREATEDATABASE a", None);
        check("SHOW DATABASES", None);
        check("é", None);
        check("", None);
    }
}

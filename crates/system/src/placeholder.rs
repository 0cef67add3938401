//! Replacing `${…}` in the strings of a component and a probe.

use waggle_template::placeholder::{Part, parts};

/// Why a text cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceholderError {
    #[error("\"{text}\" has a \"${{\" that is never closed")]
    Unclosed { text: String },
    #[error("\"{text}\" names \"{name}\", which has no value here")]
    Unknown { text: String, name: String },
    #[error(
        "the image of the pod has no program \"{name}\", which \"{text}\" names: make it again with `waggle system image`, and bring it \
         to where nodes get it"
    )]
    NotInImage { text: String, name: String },
}

/// `text` with every `${name}` replaced by the result of `value`; `$${` is a literal `${`.
pub fn fill(
    text: &str,
    value: impl Fn(&str) -> Option<String>,
) -> Result<String, PlaceholderError> {
    let parts = parts(text).ok_or_else(|| PlaceholderError::Unclosed {
        text: text.to_owned(),
    })?;
    let mut filled = String::with_capacity(text.len());
    for part in parts {
        match part {
            Part::Literal(literal) => filled.push_str(literal),
            Part::Name(name) => {
                filled.push_str(&value(name).ok_or_else(|| PlaceholderError::Unknown {
                    text: text.to_owned(),
                    name: name.to_owned(),
                })?)
            }
        }
    }
    Ok(filled)
}

/// The headers and the body of a request with every placeholder in them replaced by `fill`.
pub fn fill_content<E>(
    headers: &[(String, String)],
    body: &str,
    fill: impl Fn(&str) -> Result<String, E>,
) -> Result<(Vec<(String, String)>, String), E> {
    let headers = headers
        .iter()
        .map(|(name, text)| Ok((name.clone(), fill(text)?)));
    Ok((headers.collect::<Result<_, E>>()?, fill(body)?))
}

#[cfg(test)]
mod tests {
    use super::{PlaceholderError, fill};

    #[track_caller]
    fn check(text: &str, expected: Result<&str, PlaceholderError>) {
        let value = |name: &str| (name == "port.http").then(|| "80".to_owned());
        assert_eq!(fill(text, value), expected.map(str::to_owned));
    }

    #[test]
    fn names_are_replaced_or_refused() {
        check("", Ok(""));
        check("plain $ {x}", Ok("plain $ {x}"));
        check("127.0.0.1:${port.http}/${port.http}", Ok("127.0.0.1:80/80"));
        check("$${HOME} $$ ${port.http}", Ok("${HOME} $$ 80"));
        check(
            "a${port.http",
            Err(PlaceholderError::Unclosed {
                text: "a${port.http".to_owned(),
            }),
        );
        check(
            "${dir}/x",
            Err(PlaceholderError::Unknown {
                text: "${dir}/x".to_owned(),
                name: "dir".to_owned(),
            }),
        );
    }
}

//! Parameters of OpenAPI as they are sent: `style`, `explode`, `allowReserved` and `content` (OAS 3.1.1, "Style Values"; RFC 6570).

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{
    super::{
        names::percent_encoded as encoded,
        slot::{exact_digits, with_exact_digits},
    },
    syntax::is_json,
};

/// The text of a parameter in a path, in a query (with its name), or in a header.
pub(super) fn serialize(parameter: &Value, value: &Value) -> Result<String> {
    let place = parameter["in"].as_str().unwrap_or_default();
    let name = parameter["name"].as_str().unwrap_or_default();
    let text = match parameter["content"].as_object() {
        Some(kinds) => {
            let (kind, _) = kinds.iter().next().context("it has no media type")?;
            let text = content_text(kind, value)?;
            match place {
                "path" => encoded(&text),
                "query" => format!("{}={}", encoded(name), encoded(&text)),
                _ => text,
            }
        }
        None => style_text(parameter, place, name, value)?,
    };
    let text = with_exact_digits(&text);
    if text.is_empty() && place != "header" {
        bail!("its value is empty, and cannot be written in a {place}");
    }
    if place == "header" && text.contains(|letter: char| letter.is_control()) {
        bail!("its value cannot be written in a header");
    }
    Ok(text)
}

fn content_text(kind: &str, value: &Value) -> Result<String> {
    match value {
        value if is_json(kind) => Ok(value.to_string()),
        Value::String(text) if kind.starts_with("text/") => Ok(text.clone()),
        _ => bail!("it is {kind}, which is not supported"),
    }
}

fn style_text(parameter: &Value, place: &str, name: &str, value: &Value) -> Result<String> {
    let default = if place == "query" { "form" } else { "simple" };
    let style = parameter["style"].as_str().unwrap_or(default);
    let explode = parameter["explode"].as_bool().unwrap_or(style == "form");
    let keeps_reserved = place == "query" && parameter["allowReserved"].as_bool() == Some(true);
    let text = |text: &str| match place {
        "header" => text.to_owned(),
        _ if keeps_reserved => with_reserved(text),
        _ => encoded(text),
    };
    let parts = Parts::new(value, &text)?;
    let name = encoded(name);
    match (place, style) {
        ("path" | "header", "simple") => Ok(parts.list(explode, ",")),
        ("path", "label") => {
            let separator = if explode { "." } else { "," };
            Ok(format!(".{}", parts.list(explode, separator)))
        }
        ("path", "matrix") => Ok(parts.matrix(&name, explode)),
        ("query", "form") => Ok(parts.form(&name, explode)),
        ("query", "spaceDelimited" | "pipeDelimited") => match (&parts, explode) {
            (Parts::One(_), _) => bail!("style {style} is for arrays and objects"),
            (Parts::Members(_), true) => bail!("style {style} of an object has no explode"),
            (Parts::Items(_), true) => Ok(parts.form(&name, true)),
            _ if parts.is_empty() => Ok(String::new()),
            _ => {
                let separator = if style == "pipeDelimited" {
                    "%7C"
                } else {
                    "%20"
                };
                Ok(format!("{name}={}", parts.list(false, separator)))
            }
        },
        ("query", "deepObject") => match &parts {
            Parts::Members(members) => {
                let members = members.iter();
                let members = members.map(|(key, value)| format!("{name}[{key}]={value}"));
                Ok(members.collect::<Vec<_>>().join("&"))
            }
            _ => bail!("style deepObject is for objects"),
        },
        _ => bail!("a {place} parameter has no style {style:?}"),
    }
}

/// A value whose texts are encoded already.
enum Parts {
    One(String),
    Items(Vec<String>),
    Members(Vec<(String, String)>),
}

impl Parts {
    fn new(value: &Value, text: &dyn Fn(&str) -> String) -> Result<Self> {
        let scalar = |value: &Value| match value {
            Value::String(given) => Ok(text(exact_digits(given).unwrap_or(given))),
            Value::Bool(_) | Value::Number(_) => Ok(text(&value.to_string())),
            Value::Null => bail!("null has no text"),
            _ => bail!("OpenAPI does not say how nested arrays and objects are sent"),
        };
        Ok(match value {
            Value::Array(items) => Self::Items(items.iter().map(scalar).collect::<Result<_>>()?),
            Value::Object(members) => {
                let members = members.iter();
                let members = members.map(|(key, value)| Ok((text(key), scalar(value)?)));
                Self::Members(members.collect::<Result<_>>()?)
            }
            value => Self::One(scalar(value)?),
        })
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::One(_) => false,
            Self::Items(items) => items.is_empty(),
            Self::Members(members) => members.is_empty(),
        }
    }

    /// The values without the parameter's name. Members are `k=v` if exploded, else `k` and `v` in turn.
    fn list(&self, explode: bool, separator: &str) -> String {
        match self {
            Self::One(text) => text.clone(),
            Self::Items(items) => items.join(separator),
            Self::Members(members) => {
                let between = if explode { "=" } else { separator };
                let members = members.iter();
                let members = members.map(|(key, value)| format!("{key}{between}{value}"));
                members.collect::<Vec<_>>().join(separator)
            }
        }
    }

    fn form(&self, name: &str, explode: bool) -> String {
        match self {
            _ if self.is_empty() => String::new(),
            Self::Items(items) if explode => {
                let items = items.iter().map(|item| format!("{name}={item}"));
                items.collect::<Vec<_>>().join("&")
            }
            Self::Members(_) if explode => self.list(true, "&"),
            _ => format!("{name}={}", self.list(false, ",")),
        }
    }

    fn matrix(&self, name: &str, explode: bool) -> String {
        let pair = |name: &str, value: &str| match value {
            "" => format!(";{name}"),
            value => format!(";{name}={value}"),
        };
        match self {
            _ if self.is_empty() => String::new(),
            Self::Items(items) if explode => items.iter().map(|item| pair(name, item)).collect(),
            Self::Members(members) if explode => members
                .iter()
                .map(|(key, value)| pair(key, value))
                .collect(),
            _ => pair(name, &self.list(false, ",")),
        }
    }
}

/// Reserved characters stay, but for those that end a value or the query, or are read as a space.
fn with_reserved(text: &str) -> String {
    let mut sent = String::new();
    for letter in text.chars() {
        match letter {
            ':' | '/' | '?' | '@' | '!' | '$' | '\'' | '(' | ')' | '*' | ',' | ';' | '=' => {
                sent.push(letter)
            }
            letter => sent.push_str(&encoded(letter.encode_utf8(&mut [0; 4]))),
        }
    }
    sent
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::serialize;

    #[track_caller]
    fn check(place: &str, style: &str, explode: bool, value: Value, expected: &str) {
        let parameter = json!({"name": "color", "in": place, "style": style, "explode": explode});
        let sent = serialize(&parameter, &value).unwrap_or_else(|why| format!("refused: {why}"));
        assert_eq!(sent, expected, "{place} {style} {explode} {value}");
    }

    fn array() -> Value {
        json!(["blue", "black", "brown"])
    }

    fn object() -> Value {
        json!({"B": 150, "G": 200, "R": 100})
    }

    /// The table of examples of OAS 3.1.1, "Style Examples"; members are in the order of their names.
    #[test]
    fn paths_and_headers_are_styled_as_the_specification_says() {
        check("path", "matrix", false, json!(""), ";color");
        check("path", "matrix", false, json!("blue"), ";color=blue");
        check("path", "matrix", false, array(), ";color=blue,black,brown");
        check(
            "path",
            "matrix",
            true,
            array(),
            ";color=blue;color=black;color=brown",
        );
        check(
            "path",
            "matrix",
            false,
            object(),
            ";color=B,150,G,200,R,100",
        );
        check("path", "matrix", true, object(), ";B=150;G=200;R=100");
        check("path", "label", false, json!(""), ".");
        check("path", "label", true, json!(5), ".5");
        check("path", "label", false, array(), ".blue,black,brown");
        check("path", "label", true, array(), ".blue.black.brown");
        check("path", "label", false, object(), ".B,150,G,200,R,100");
        check("path", "label", true, object(), ".B=150.G=200.R=100");
        check("path", "simple", false, json!("a/b c"), "a%2Fb%20c");
        check("path", "simple", true, array(), "blue,black,brown");
        check("path", "simple", false, object(), "B,150,G,200,R,100");
        check("path", "simple", true, object(), "B=150,G=200,R=100");
        check("header", "simple", false, json!("a b"), "a b");
        check("header", "simple", true, object(), "B=150,G=200,R=100");
    }

    #[test]
    fn queries_are_styled_as_the_specification_says() {
        check("query", "form", true, json!(""), "color=");
        check("query", "form", false, array(), "color=blue,black,brown");
        check(
            "query",
            "form",
            true,
            array(),
            "color=blue&color=black&color=brown",
        );
        check("query", "form", false, object(), "color=B,150,G,200,R,100");
        check("query", "form", true, object(), "B=150&G=200&R=100");
        check(
            "query",
            "form",
            true,
            json!(["a,b", "&"]),
            "color=a%2Cb&color=%26",
        );
        check(
            "query",
            "spaceDelimited",
            false,
            array(),
            "color=blue%20black%20brown",
        );
        check(
            "query",
            "spaceDelimited",
            false,
            object(),
            "color=B%20150%20G%20200%20R%20100",
        );
        check(
            "query",
            "pipeDelimited",
            false,
            array(),
            "color=blue%7Cblack%7Cbrown",
        );
        check(
            "query",
            "pipeDelimited",
            true,
            array(),
            "color=blue&color=black&color=brown",
        );
        check(
            "query",
            "deepObject",
            true,
            object(),
            "color[B]=150&color[G]=200&color[R]=100",
        );
    }

    #[test]
    fn values_that_a_style_cannot_write_are_refused() {
        check(
            "query",
            "pipeDelimited",
            false,
            json!("a"),
            "refused: style pipeDelimited is for arrays and objects",
        );
        check(
            "query",
            "deepObject",
            true,
            json!({"a": [1]}),
            "refused: OpenAPI does not say how nested arrays and objects are sent",
        );
        check(
            "path",
            "form",
            false,
            json!("a"),
            "refused: a path parameter has no style \"form\"",
        );
        check(
            "path",
            "simple",
            false,
            json!([]),
            "refused: its value is empty, and cannot be written in a path",
        );
        check(
            "header",
            "simple",
            false,
            json!("a\nb"),
            "refused: its value cannot be written in a header",
        );
    }

    #[test]
    fn defaults_reserved_characters_and_content_are_applied() {
        let check = |parameter: Value, value: Value, expected: &str| {
            assert_eq!(
                serialize(&parameter, &value).unwrap(),
                expected,
                "{parameter}"
            );
        };
        check(
            json!({"name": "a", "in": "query"}),
            json!([1, 2]),
            "a=1&a=2",
        );
        check(
            json!({"name": "a", "in": "query", "allowReserved": true}),
            json!("x/y?z&#"),
            "a=x/y?z%26%23",
        );
        check(
            json!({"name": "a", "in": "query", "content": {"application/json": {}}}),
            json!({"b": 1}),
            "a=%7B%22b%22%3A1%7D",
        );
    }
}

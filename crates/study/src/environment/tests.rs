//! Values in headers: what is put in, what stays, what is refused.

use waggle_template::variable::{Part, parts};

use super::{EnvironmentError, Filling, OPENINGS, Origin, Receiver, SECRET_OPENINGS, Values};
use crate::{Source, no_files};

/// Fills a template; checks what is sent, with the names of its variables in angle brackets.
#[track_caller]
fn check_template(template: &str, given: &[(&str, &str)], expected: &str) {
    let variable = |name: &str| {
        let mut given = given.iter();
        let found = given.find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let values = Values {
        variable: &variable,
        file: &no_files,
    };
    let mut headers = [("h".to_owned(), template.to_owned())];
    Filling::new(OPENINGS, &|origin| values.value(origin))
        .fill(&mut headers, Receiver::Template)
        .unwrap();
    let parts = parts(&headers[0].1).unwrap_or_else(|slip| panic!("{slip:?}: {headers:?}"));
    let sent: String = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => (*text).to_owned(),
            Part::Variable(name) => format!("<{name}>"),
        })
        .collect();
    assert_eq!(sent, expected, "{template}");
}

#[test]
fn braces_of_values_and_of_texts_next_to_them_are_no_variable() {
    check_template("{${env.V}", &[("V", "{a")], "{{a");
    check_template("${env.A}${env.B}", &[("A", "x{"), ("B", "{y}}")], "x{{y}}");
    check_template("${env.V}{b}}", &[("V", "{")], "{{b}}");
    check_template("{{{{${env.V}}}", &[("V", "a}}")], "{{a}}}}");
    check_template("{{a}}${env.V}{{b}}", &[("V", "{c}}")], "<a>{c}}<b>");
    for braces in ["{", "{{", "{{{", "{{{{", "{{{{{", "}", "}}", "}}}"] {
        check_template(
            "{{a}}${env.V}{{b}}",
            &[("V", braces)],
            &format!("<a>{braces}<b>"),
        );
        check_template(
            "{{a}}{${env.V}",
            &[("V", braces)],
            &format!("<a>{{{braces}"),
        );
    }
}

fn variable(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some("abc".to_owned()),
        "BRACES" => Some("{{a".to_owned()),
        "BAD" => Some("a\r\nb".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

fn file(name: &str) -> Result<Source, String> {
    match name {
        "keys/token" => Ok(Source {
            name: name.to_owned(),
            text: "of a file\r\n".to_owned(),
        }),
        _ => Err("no such file".to_owned()),
    }
}

#[test]
fn values_that_were_taken_are_known() {
    let values = Values {
        variable: &variable,
        file: &file,
    };
    let value = |origin: &Origin| values.value(origin);
    let mut filling = Filling::new(OPENINGS, &value);
    for value in ["${env.TOKEN}", "${file:keys/token}", "b ${env.TOKEN}"] {
        let mut headers = [("h".to_owned(), value.to_owned())];
        filling.fill(&mut headers, Receiver::Text).unwrap();
    }
    let taken = filling.taken.iter();
    let taken: Vec<_> = taken.map(|one| (one.origin.name(), &*one.value)).collect();
    let expected = [("env.TOKEN", "abc"), ("file:keys/token", "of a file")];
    assert_eq!(
        taken,
        expected.map(|(name, value)| (name.to_owned(), value))
    );
    assert!(!format!("{:?}", filling.taken).contains("abc"));
    let mut headers = [("h".to_owned(), "x ${env.BRACES}".to_owned())];
    Filling::new(OPENINGS, &|origin| values.value(origin))
        .fill(&mut headers, Receiver::Template)
        .unwrap();
    assert_eq!(headers[0].1, "x {{{{a");
}

#[test]
fn secrets_are_put_in_when_the_system_is_up_and_all_else_stays() {
    let value = |origin: &Origin| match origin {
        Origin::Secret(name) if name == "token" => Ok("{{x".to_owned()),
        _ => Err("the system does not have".to_owned()),
    };
    let check = |text: &str, receiver, expected: Result<&str, &str>| {
        let mut headers = [("h".to_owned(), text.to_owned())];
        let filled = Filling::new(SECRET_OPENINGS, &value).fill(&mut headers, receiver);
        let [(_, text)] = headers;
        let filled = filled.map(|()| text).map_err(|why| why.to_string());
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(filled, expected);
    };
    let bearer = "Bearer ${secret.token}";
    check(bearer, Receiver::Text, Ok("Bearer {{x"));
    check(bearer, Receiver::Template, Ok("Bearer {{{{x"));
    let others = "$${secret.token} ${env.A} $${file:b}";
    check(
        others,
        Receiver::Text,
        Ok("${secret.token} ${env.A} $${file:b}"),
    );
    check(
        "${secret.other}",
        Receiver::Text,
        Err(
            "the header h takes its value from the system's secret other, which the system does not have",
        ),
    );
}

#[test]
fn values_come_from_the_environment() {
    let values = Values {
        variable: &variable,
        file: &file,
    };
    let check = |value: &str, expected: Result<&str, EnvironmentError>| {
        let mut headers = [("h".to_owned(), value.to_owned())];
        let filled = Filling::new(OPENINGS, &|origin| values.value(origin))
            .fill(&mut headers, Receiver::Text);
        let [(_, value)] = headers;
        assert_eq!(filled.map(|()| value), expected.map(str::to_owned));
    };
    let unusable = |name: &str| {
        Err(EnvironmentError::Unusable {
            origin: Origin::Variable(name.to_owned()),
        })
    };
    check("plain", Ok("plain"));
    check("Bearer ${env.TOKEN}!", Ok("Bearer abc!"));
    check("${env.TOKEN}${env.TOKEN}", Ok("abcabc"));
    check("a $${env.TOKEN} ${env.TOKEN}", Ok("a ${env.TOKEN} abc"));
    check("${env.BRACES}", Ok("{{a"));
    check("$${env.NONE", Ok("${env.NONE"));
    check("${env.BAD}", unusable("BAD"));
    check("${env.EMPTY}", unusable("EMPTY"));
    check(
        "${env.NONE}",
        Err(EnvironmentError::NotThere {
            header: "h".to_owned(),
            origin: Origin::Variable("NONE".to_owned()),
            why: "is not set".to_owned(),
        }),
    );
    check("t ${file:keys/token}${env.TOKEN}", Ok("t of a fileabc"));
    check(
        "$${file:keys/token} ${env.TOKEN}",
        Ok("${file:keys/token} abc"),
    );
    check(
        "${file:none}",
        Err(EnvironmentError::NotThere {
            header: "h".to_owned(),
            origin: Origin::File("none".to_owned()),
            why: "cannot be had: no such file".to_owned(),
        }),
    );
}

#[test]
fn a_value_in_a_header_has_its_place_in_the_study() {
    let check = |text: &str, expected: Option<(&str, u32, u32)>| {
        let why = EnvironmentError::Unusable {
            origin: Origin::Variable("A".to_owned()),
        };
        let study = Source {
            name: "study.yaml".to_owned(),
            text: text.to_owned(),
        };
        let scenario = |name: &str| {
            Ok(Source {
                name: name.to_owned(),
                text: "flows:\n- steps:\n  - get: /\n    headers: { h: 'Bearer ${env.A}' }\n"
                    .to_owned(),
            })
        };
        let place = why.place(&study, &scenario);
        let found = place
            .as_ref()
            .map(|place| (&*place.file, place.line, place.column));
        assert_eq!(found, expected, "{text}");
    };
    let study = Some("study.yaml");
    check(
        "load:\n  headers:\n    é: x ${env.A}\n",
        study.map(|file| (file, 3, 8)),
    );
    check(
        "# ${env.A}\nheaders: { h: '$${env.A} ${env.A}' }",
        study.map(|file| (file, 2, 15)),
    );
    check("headers: { h: '${env.AB}', i: '${file:A}' }\n", None);
    check(
        "load: { scenario: { file: s.yaml } }\n",
        Some(("s.yaml", 4, 19)),
    );
}

#[test]
fn credentials_have_their_scheme_once() {
    let check = |header: &str, text: &str, token: &str, is_refused: bool| {
        let values = Values {
            variable: &|_| Some(token.to_owned()),
            file: &no_files,
        };
        let mut headers = [(header.to_owned(), text.to_owned())];
        let filled = Filling::new(OPENINGS, &|origin| values.value(origin))
            .fill(&mut headers, Receiver::Text);
        let expected = match is_refused {
            true => Err(EnvironmentError::SchemeTwice {
                header: header.to_owned(),
                origin: Origin::Variable("T".to_owned()),
                scheme: text[..6].to_owned(),
            }),
            false => Ok(()),
        };
        assert_eq!(filled, expected, "{header}: {text} {token}");
    };
    check("Authorization", "Bearer ${env.T}", "bearer abc", true);
    check("proxy-authorization", "Bearer ${env.T}", "Bearer abc", true);
    check("Authorization", "Bearer ${env.T}", "bearerabc", false);
    check("Authorization", "${env.T}", "Bearer abc", false);
    check("X-Token", "Bearer ${env.T}", "Bearer abc", false);
}

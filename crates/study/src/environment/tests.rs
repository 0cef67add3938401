//! Values in headers: what is put in, what stays, what is refused.

use waggle_template::variable::{Part, parts};

use super::{EnvironmentError, Filling, OPENINGS, Origin, Part as Place, SECRET_OPENINGS, Values};
use crate::{
    Problem, Source, no_files,
    request_texts::{Receiver, RequestTexts},
};

/// Fills the headers of a request without other texts.
fn fill(
    filling: &mut Filling<'_>,
    headers: &mut [(String, String); 1],
    receiver: Receiver,
) -> Result<(), EnvironmentError> {
    let (mut path, mut all, mut from_outside) = (String::new(), headers.to_vec(), Vec::new());
    let filled = filling.fill(RequestTexts {
        receiver,
        path: &mut path,
        headers: &mut all,
        body: None,
        from_outside: &mut from_outside,
    });
    headers.clone_from_slice(&all);
    filled
}

/// Fills a template; checks what is sent, with the names of its variables in angle brackets.
#[track_caller]
fn check_template(template: &str, given: &[(&str, &str)], expected: &str) {
    let variable = |name: &str| {
        let mut given = given.iter();
        let entry = given.find(|(known, _)| *known == name);
        entry.map(|(_, value)| (*value).to_owned())
    };
    let values = Values {
        variable: &variable,
        file: &no_files,
    };
    let mut headers = [("h".to_owned(), template.to_owned())];
    let value = |origin: &Origin| values.value(origin);
    let mut filling = Filling::new(OPENINGS, &value);
    fill(&mut filling, &mut headers, Receiver::Template).unwrap();
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

fn file(name: &str) -> Result<Source, Problem> {
    match name {
        "keys/token" => Ok(Source {
            name: name.to_owned(),
            text: "of a file\r\n".to_owned(),
        }),
        _ => Err(Problem("no such file".to_owned())),
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
        fill(&mut filling, &mut headers, Receiver::Text).unwrap();
    }
    let taken = filling.taken.iter();
    let taken: Vec<_> = taken
        .map(|entry| (entry.origin.name(), &*entry.value))
        .collect();
    let expected = [("env.TOKEN", "abc"), ("file:keys/token", "of a file")];
    assert_eq!(
        taken,
        expected.map(|(name, value)| (name.to_owned(), value))
    );
    assert!(!format!("{:?}", filling.taken).contains("abc"));
    let mut headers = [("h".to_owned(), "x ${env.BRACES}".to_owned())];
    let value = |origin: &Origin| values.value(origin);
    let mut filling = Filling::new(OPENINGS, &value);
    fill(&mut filling, &mut headers, Receiver::Template).unwrap();
    assert_eq!(headers[0].1, "x {{{{a");
}

#[test]
fn secrets_are_put_in_when_the_system_is_up_and_all_else_stays() {
    let value = |origin: &Origin| match origin {
        Origin::Secret(name) if name == "token" => Ok("{{x".to_owned()),
        _ => Err(Problem("the system does not have".to_owned())),
    };
    let check = |text: &str, receiver, expected: Result<&str, &str>| {
        let mut headers = [("h".to_owned(), text.to_owned())];
        let mut filling = Filling::new(SECRET_OPENINGS, &value);
        let filled = fill(&mut filling, &mut headers, receiver);
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
        let value = |origin: &Origin| values.value(origin);
        let mut filling = Filling::new(OPENINGS, &value);
        let filled = fill(&mut filling, &mut headers, Receiver::Text);
        let [(_, value)] = headers;
        assert_eq!(filled.map(|()| value), expected.map(str::to_owned));
    };
    let unusable = |name: &str| {
        Err(EnvironmentError::Unusable {
            part: Place::Header("h".to_owned()),
            origin: Origin::Variable(name.to_owned()),
            why: "is empty, too long or has a control character",
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
            part: Place::Header("h".to_owned()),
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
            part: Place::Header("h".to_owned()),
            origin: Origin::File("none".to_owned()),
            why: "cannot be had: no such file".to_owned(),
        }),
    );
}

#[test]
fn a_value_in_a_header_has_its_place_in_the_study() {
    let check_part = |part: &Place, text: &str, expected: Option<(&str, u32, u32)>| {
        let why = EnvironmentError::NotThere {
            part: part.clone(),
            origin: Origin::Variable("A".to_owned()),
            why: String::new(),
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
        let actual = place
            .as_ref()
            .map(|place| (&*place.file, place.line, place.column));
        assert_eq!(actual, expected, "{text}");
    };
    let check = |text: &str, expected| check_part(&Place::Header("h".to_owned()), text, expected);
    let study = Some("study.yaml");
    let body = "load:\n  request: { get: '/${env.A}', headers: { h: '${env.A}' },\n    body: '${env.A}' }\n";
    check_part(&Place::Path, body, Some(("study.yaml", 2, 19)));
    check_part(&Place::Body, body, Some(("study.yaml", 3, 11)));
    check_part(
        &Place::Body,
        "question: '${env.A}'\nload: { expect: { body: '${env.A}' } }\n",
        None,
    );
    check(
        "load:\n  headers:\n    h: x ${env.A}\n",
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
        let value = |origin: &Origin| values.value(origin);
        let mut filling = Filling::new(OPENINGS, &value);
        let filled = fill(&mut filling, &mut headers, Receiver::Text);
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

/// Path, header and body of one request, each with the escapes of its place.
#[test]
fn every_text_of_a_request_has_values() {
    let values = Values {
        variable: &|name| match name {
            "V" => Some("a \"b\"&{{c".to_owned()),
            "N" => Some("17".to_owned()),
            _ => None,
        },
        file: &no_files,
    };
    let value = |origin: &Origin| values.value(origin);
    let check = |media_type: &str, given: &str, expected: Result<&str, &str>| {
        let mut path = "/p/${env.V}?q=$${env.V}&n=${env.N}".to_owned();
        let mut headers = vec![("Content-Type".to_owned(), media_type.to_owned())];
        let (mut body, mut from_outside) = (given.to_owned(), Vec::new());
        let mut filling = Filling::new(OPENINGS, &value);
        let filled = filling.fill(RequestTexts {
            receiver: Receiver::Text,
            path: &mut path,
            headers: &mut headers,
            body: Some(&mut body),
            from_outside: &mut from_outside,
        });
        assert_eq!(path, "/p/a%20%22b%22%26%7B%7Bc?q=${env.V}&n=17");
        assert_eq!(from_outside, ["env.V", "env.N"]);
        assert_eq!(filling.taken.len(), 2);
        let filled = filled.map(|()| body).map_err(|why| why.to_string());
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(filled, expected, "{media_type} {given}");
    };
    check(
        "application/json",
        r#"{"a":"x${env.V}","n":${env.N},"t":"$${env.V}"}"#,
        Ok(r#"{"a":"xa \"b\"&{{c","n":17,"t":"${env.V}"}"#),
    );
    check(
        "application/json",
        r#"{"a":${env.V}}"#,
        Err(
            "the environment variable V cannot be the value of the body: it is outside of quotes in JSON, and no number, true, false \
             or null",
        ),
    );
    check(
        "application/x-www-form-urlencoded",
        "a=${env.V}&n=${env.N}",
        Ok("a=a%20%22b%22%26%7B%7Bc&n=17"),
    );
    check(
        "application/x-www-form-urlencoded",
        r#"{"password":"${env.V}"}"#,
        Ok(r#"{"password":"a \"b\"&{{c"}"#),
    );
    check("text/plain", "${env.V}", Ok("a \"b\"&{{c"));
    check(
        "text/plain",
        "${env.X}",
        Err("the body takes its value from the environment variable X, which is not set"),
    );
}

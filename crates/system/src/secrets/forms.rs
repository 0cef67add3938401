//! The forms in which a secret may be in a text: as it is, and as JSON, XML, URLs, forms and Base64 have it.

use std::fmt::Write;

use base64::{
    Engine, alphabet,
    engine::general_purpose::{GeneralPurpose, NO_PAD},
};

/// Shortest form that is looked for; a shorter one occurs by chance.
const FORM_MIN_BYTES: usize = 5;
/// Punctuation that the encoders of some languages leave as it is in a URL.
const LEFT_AS_IT_IS: &[u8] = b"-._~!'()*";

/// Every form, each once, the secret itself first.
pub(super) fn secret_forms(secret: &str) -> Vec<String> {
    let json = json_forms(secret);
    // A text in JSON that is a text in JSON again.
    let twice: Vec<String> = json.iter().flat_map(|form| json_forms(form)).collect();
    let others = json
        .into_iter()
        .chain(twice)
        .chain(percent_forms(secret))
        .chain([
            waggle_study::xml_escaped(secret),
            waggle_load::one_line(secret),
        ])
        .chain(base64_forms(secret))
        .filter(|form| form.len() >= FORM_MIN_BYTES);
    let mut forms = vec![secret.to_owned()];
    for form in others {
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
}

/// As a string of JSON: with as few escapes as possible, with those of all that is not ASCII, with those for HTML, with `\\/`.
fn json_forms(secret: &str) -> Vec<String> {
    let quoted = serde_json::Value::from(secret).to_string();
    let plain = quoted[1..quoted.len() - 1].to_owned();
    let in_ascii = json_escaped(&plain, |letter| !letter.is_ascii());
    let for_html = json_escaped(&plain, |letter| "<>&".contains(letter));
    let slashes = [&plain, &in_ascii].map(|form| form.replace('/', "\\/"));
    [plain, in_ascii, for_html]
        .into_iter()
        .chain(slashes)
        .collect()
}

/// These letters as `\\u` and four digits of each of their UTF-16 units.
fn json_escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if !is_escaped(letter) {
            escaped.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    escaped
}

/// As a URL or a form has it: with digits in capitals or not, a space as `%20` or `+`, and more or less of the punctuation encoded.
fn percent_forms(secret: &str) -> Vec<String> {
    let strict: &[u8] = b"-._~";
    let of_forms: &[u8] = b"-._*";
    let mut forms = Vec::new();
    for kept in [strict, of_forms, LEFT_AS_IT_IS, b"/-._~"] {
        for space in ["%20", "+"] {
            let capitals = percent_encoded(secret, kept, space, |byte| format!("%{byte:02X}"));
            let small = percent_encoded(secret, kept, space, |byte| format!("%{byte:02x}"));
            forms.extend([capitals, small]);
        }
    }
    forms
}

fn percent_encoded(
    secret: &str,
    kept: &[u8],
    space: &str,
    encoded: impl Fn(u8) -> String,
) -> String {
    let bytes = secret.bytes().map(|byte| match byte {
        b' ' => space.to_owned(),
        byte if byte.is_ascii_alphanumeric() || kept.contains(&byte) => {
            char::from(byte).to_string()
        }
        byte => encoded(byte),
    });
    bytes.collect()
}

/// As it is within Base64, wherever it begins there (`user:secret`): without the letters that hold bits of what is before and after it.
fn base64_forms(secret: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for alphabet in [alphabet::STANDARD, alphabet::URL_SAFE] {
        let engine = GeneralPurpose::new(&alphabet, NO_PAD);
        for before in 0..3 {
            let text = [&[0; 2][..before], secret.as_bytes()].concat();
            let encoded = engine.encode(&text);
            let first = (before * 8).div_ceil(6);
            let last = text.len() * 8 / 6;
            forms.push(encoded[first..last].to_owned());
        }
    }
    forms
}

#[cfg(test)]
mod tests {
    use base64::{Engine, prelude::BASE64_STANDARD};

    use super::secret_forms;

    fn clean(secret: &str, text: &str) -> String {
        let mut forms = secret_forms(secret);
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        let mut text = text.to_owned();
        for form in forms {
            text = text.replace(&form, "[x]");
        }
        text
    }

    #[test]
    fn a_secret_is_known_in_the_forms_of_other_programs() {
        let secret = "p\u{e4}ss/w\"<d> 1&2'(3)";
        for text in [
            // Python's json.dumps, PHP's json_encode, Go's json.Marshal, JavaScript's JSON.stringify of a string of JSON.
            r#"p\u00e4ss/w\"<d> 1&2'(3)"#,
            r#"p\u00e4ss\/w\"<d> 1&2'(3)"#,
            "p\u{e4}ss/w\\\"\\u003cd\\u003e 1\\u00262'(3)",
            "p\u{e4}ss/w\\\\\\\"<d> 1&2'(3)",
            // Python's quote, its quote_plus, JavaScript's encodeURIComponent, Java's URLEncoder, curl with small digits.
            "p%C3%A4ss/w%22%3Cd%3E%201%262%27%283%29",
            "p%C3%A4ss%2Fw%22%3Cd%3E+1%262%27%283%29",
            "p%C3%A4ss%2Fw%22%3Cd%3E%201%262'(3)",
            "p%c3%a4ss%2fw%22%3cd%3e%201%262%27%283%29",
            "p\u{e4}ss/w&quot;&lt;d&gt; 1&amp;2&apos;(3)",
        ] {
            let cleaned = clean(secret, &format!("key={text};"));
            assert_eq!(cleaned, "key=[x];", "{text}");
        }
    }

    #[test]
    fn a_secret_is_known_within_base64() {
        let secret = "open-sesame?>";
        for before in ["", "u", "us", "user:", "admin:"] {
            for after in ["", "!", "!!", "!!!"] {
                let text = BASE64_STANDARD.encode(format!("{before}{secret}{after}"));
                for text in [text.clone(), text.replace('+', "-").replace('/', "_")] {
                    let cleaned = clean(secret, &text);
                    assert!(cleaned.contains("[x]"), "{before} {after}: {cleaned}");
                    // The letters beside it hold fewer than six of its bits.
                    assert!(!cleaned.contains("c2VzYW") && !cleaned.contains("Nlc2Ft"));
                }
            }
        }
    }
}

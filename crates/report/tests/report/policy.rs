//! The Content-Security-Policy of a page names each of its scripts and its style by the hash of their text.

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::digest::{SHA256, digest};

use waggle_report::html;

use crate::{seeded::Seeded, seeded_model, unpacked_text};

/// The values of a directive.
fn directive<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let (_, policy) = page
        .split_once("http-equiv=\"Content-Security-Policy\" content=\"")
        .expect("the page has a policy");
    let (policy, _) = policy.split_once('"').expect("an attribute ends");
    let mut directives = policy.split(';').map(str::split_whitespace);
    let values = directives.find_map(|mut words| (words.next() == Some(name)).then_some(words));
    values.expect("the policy has the directive").collect()
}

/// The attributes and the text of each element of a name.
fn elements<'a>(page: &'a str, name: &str) -> Vec<(&'a str, &'a str)> {
    let (start, end) = (format!("<{name}"), format!("</{name}>"));
    let elements = page.split(start.as_str()).skip(1);
    elements
        .map(|rest| {
            let (attributes, rest) = rest.split_once('>').expect("a tag ends");
            (
                attributes,
                rest.split_once(end.as_str()).expect("an element ends").0,
            )
        })
        .collect()
}

fn hash_source(text: &str) -> String {
    format!(
        "'sha256-{}'",
        STANDARD.encode(digest(&SHA256, text.as_bytes()))
    )
}

#[test]
fn each_script_and_the_style_have_their_hashes_in_the_policy() {
    let page = html(&seeded_model(&Seeded::hostile()));
    // What is no script, such as the charts' data, no policy is asked for.
    let (data, scripts): (Vec<_>, Vec<_>) = elements(&page, "script")
        .into_iter()
        .partition(|(attributes, _)| attributes.contains("type=\"text/plain\""));
    // What the first script unpacks and runs is named as well.
    let unpacked = data
        .iter()
        .filter(|(attributes, _)| attributes.contains("id=\"packed-"));
    let unpacked = unpacked.map(|(_, packed)| unpacked_text(packed));
    let texts = scripts
        .iter()
        .map(|(_, text)| (*text).to_owned())
        .chain(unpacked);
    let hashes: Vec<String> = texts.map(|text| hash_source(&text)).collect();
    assert_eq!((data.len(), scripts.len(), hashes.len()), (3, 2, 4));
    assert_eq!(directive(&page, "script-src"), hashes);
    let styles = elements(&page, "style");
    let hashes: Vec<String> = styles.iter().map(|(_, text)| hash_source(text)).collect();
    assert_eq!(directive(&page, "style-src-elem"), hashes);
    assert_eq!(directive(&page, "default-src"), ["'none'"]);
}

/// Their scripts would not run.
#[test]
fn no_element_has_an_attribute_that_is_a_script() {
    let page = html(&seeded_model(&Seeded::ingest()));
    let (_, body) = page.split_once("<body>").unwrap();
    let (body, _) = body.split_once("<script").unwrap();
    let tags = body.split('<').skip(1).filter_map(|rest| {
        let (tag, _) = rest.split_once('>')?;
        Some(tag)
    });
    let mut count = 0;
    for tag in tags {
        count += 1;
        let mut attributes = tag.split_whitespace().skip(1);
        assert!(
            !attributes.any(
                |attribute| (attribute.starts_with("on") && attribute.contains('='))
                    || attribute.contains("=\"javascript:")
            ),
            "<{tag}>"
        );
    }
    assert!(count > 100, "{count} tags");
}

//! Links and headings of a Markdown text, outside of code.

use std::collections::BTreeSet;

/// The targets of the links in a text, each with its line, counted from 1.
pub(super) fn links(text: &str) -> Vec<(usize, String)> {
    let mut targets = Vec::new();
    let mut is_code = false;
    for (line, content) in prose(text) {
        // Code goes over the end of a line, but not of a paragraph.
        is_code &= !content.is_empty();
        let content = without_code(content, &mut is_code);
        let mut rest = content.as_str();
        while let Some(start) = rest.find("](") {
            rest = &rest[start + 2..];
            let Some(end) = rest.find(')') else { break };
            targets.push((line, rest[..end].trim().to_owned()));
            rest = &rest[end..];
        }
    }
    targets
}

/// The anchors of the headings of a text, as GitHub and mdBook make them: letters, digits, `-` and `_` in lower case, `-` for each
/// space, and a number behind the second of two alike.
pub(super) fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let anchor = anchor(title.trim());
        let numbered = (1..).map(|number| format!("{anchor}-{number}"));
        let mut candidates = std::iter::once(anchor.clone()).chain(numbered);
        let free = candidates.find(|candidate| !anchors.contains(candidate));
        anchors.extend(free);
    }
    anchors
}

fn anchor(title: &str) -> String {
    let mut anchor = String::new();
    let mut rest = title;
    // Of a link in a heading only the text counts.
    while let Some((before, after)) = rest.split_once("](") {
        anchor.push_str(before);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    anchor.push_str(rest);
    let letters = anchor.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ if letter.is_alphanumeric() => Some(letter),
        _ => None,
    });
    letters.flat_map(char::to_lowercase).collect()
}

/// The lines outside of fenced code, with their numbers.
pub(crate) fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    let mut fence: Option<&str> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let start = line.trim_start();
        let marks = &start[..start.len() - start.trim_start_matches('`').len()];
        match fence {
            Some(open) if marks.len() >= open.len() && start == marks => fence = None,
            Some(_) => {}
            None if marks.len() >= 3 => fence = Some(marks),
            None => lines.push((number, line)),
        }
    }
    lines
}

/// The line without what is between backticks; `is_code` says whether its start is, and then whether its end is.
fn without_code(line: &str, is_code: &mut bool) -> String {
    let mut text = String::new();
    for letter in line.chars() {
        if letter == '`' {
            *is_code = !*is_code;
        } else if !*is_code {
            text.push(letter);
        }
    }
    text
}

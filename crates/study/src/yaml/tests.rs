//! Mistakes of syntax, and what is read as other readers of YAML read it.
// long: one table of mistakes, a row for each.

use saphyr_parser::Event;

use super::YamlText;

fn check(text: &str, place: &str, message: &str) {
    let yaml = YamlText::new(text);
    let mistake = yaml.events().find_map(Result::err).expect(text);
    assert_eq!(mistake.to_string(), format!("{place}: {message}"), "{text}");
}

#[test]
fn missing_spaces_and_colons_are_named() {
    check(
        "a: 1\nmeasure:3s\nb: 2\n",
        "2:9",
        "a space is missing after `measure:`",
    );
    check(
        "a: 1\nmeasure:3s\n",
        "2:9",
        "a space is missing after `measure:`",
    );
    check(
        "m:\n  measure:3s\n  b: 2\n",
        "2:11",
        "a space is missing after `measure:`",
    );
    check(
        "m:\n  a: 1\n  measure:3s\nb: 2\n",
        "3:11",
        "a space is missing after `measure:`",
    );
    check(
        "measure:3s\nb: 2\n",
        "1:9",
        "a space is missing after `measure:`",
    );
    check(
        "- a: 1\n  b:2\n- c: 3\n",
        "2:5",
        "a space is missing after `b:`",
    );
    check("a:1\nb:2\nc: 3\n", "1:3", "a space is missing after `a:`");
    check(
        "a: 1\nb\n",
        "2:1",
        "this line has no `key: `, and the lines around it have; expected a key with its value, or the text in quotes",
    );
    check(
        "a: 1\nb\nc: 2\n",
        "2:1",
        "this line has no `key: `, and the lines around it have; expected a key with its value, or the text in quotes",
    );
    check("- -x\n-y\n", "2:2", "a space is missing after `-`");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn open_brackets_and_quotes_are_named_where_they_were_opened() {
    check(
        "a: [1, 2\nb: 3\nc: 4\n",
        "1:4",
        "the [ is not closed; expected ] at its end",
    );
    check(
        "a: [1, 2\n",
        "1:4",
        "the [ is not closed; expected ] at its end",
    );
    // A line that ends in a letter of several bytes.
    check(
        "a: [1, 2\nüß\nc: ö\n",
        "1:4",
        "the [ is not closed; expected ] at its end",
    );
    check(
        "a: 'x\nüß\n日本\n",
        "1:4",
        "the ' is not closed; expected ' at its end",
    );
    check(
        "a: {b: 1\nc: 2\n",
        "1:4",
        "the { is not closed; expected } at its end",
    );
    check(
        "a: [{b: 1]\n",
        "1:5",
        "the { is not closed; expected } at its end",
    );
    check(
        "a: [1]]\n",
        "1:7",
        "the ] closes nothing; expected a [ before it, or the text in quotes",
    );
    check(
        "a: ]\n",
        "1:4",
        "the ] closes nothing; expected a [ before it, or the text in quotes",
    );
    check(
        "m:\n  a: [1, {b: 2}\nn: {x: [1]}\no: |\n  {]}\n",
        "2:6",
        "the [ is not closed; expected ] at its end",
    );
    check(
        "a: \"x\nb: 1\n",
        "1:4",
        "the \" is not closed; expected \" at its end",
    );
    check(
        "a: \"x\nb: \"y\"\n",
        "1:4",
        "the \" is not closed; expected \" at its end",
    );
    check(
        "a: 'x\nb: 'y'\n",
        "1:4",
        "the ' is not closed; expected ' at its end",
    );
    check(
        "m:\n  a: \"x\nb: 1\n",
        "2:6",
        "the \" is not closed; expected \" at its end",
    );
    check(
        "a: \"x\" y\n",
        "1:8",
        "text follows the closing \"; expected the whole text in quotes, with \\\" for each \" in it; in { } or [ ] a comma",
    );
    check(
        "a: it's\nb: 'it's'\n",
        "2:8",
        "text follows the closing '; expected the whole text in quotes, with '' for each ' in it; in { } or [ ] a comma",
    );
    check(
        "a: \"\\d\"\n",
        "1:4",
        "an unknown escape in a text in \"…\"; expected the text in '…', where \\ stands for itself, or \\\\ for each \\",
    );
    check(
        "a: \"x\n---\nb: 1\n",
        "1:4",
        "the \" is not closed; expected \" at its end",
    );
    check(
        "- \"x\n- \"y\"\n",
        "1:3",
        "the \" is not closed; expected \" at its end",
    );
    check(
        "a: [\"x, \"y\"]\n",
        "1:10",
        "text follows the closing \"; expected the whole text in quotes, with \\\" for each \" in it; in { } or [ ] a comma",
    );
    check(
        "a: {b: \"x, c: 1}\nd: 2\n",
        "1:8",
        "the \" is not closed; expected \" at its end",
    );
    check(
        "a: \"x\n  y\" z\n",
        "2:6",
        "text follows the closing \", which was opened at 1:4; expected the whole text in quotes, with \\\" for each \" in it; in { } or [ ] a comma",
    );
    check(
        "a: 'x\nb: 1\nc: it's\n",
        "1:4",
        "the ' is not closed; expected ' at its end",
    );
    check(
        "a: [\"x, y]\nb: \"z\"\n",
        "1:5",
        "the \" is not closed; expected \" at its end",
    );
    check(
        "a: {b: 1}c\n",
        "1:10",
        "text follows the closing }; expected the whole text in quotes",
    );
    check(
        "a: [1] x\n",
        "1:8",
        "text follows the closing ]; expected the whole text in quotes",
    );
    check(
        "a: {b: ${x}}\n",
        "1:8",
        "a bare ${…} inside { } or [ ] is not YAML; expected \"${…}\" in quotes",
    );
    check(
        "a: {\"b\" 1}\n",
        "1:9",
        "text follows the closing \"; expected the whole text in quotes, with \\\" for each \" in it; in { } or [ ] a comma",
    );
    check(
        "a: [\"b\" \"c\"]\n",
        "1:9",
        "text follows the closing \"; expected the whole text in quotes, with \\\" for each \" in it; in { } or [ ] a comma",
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn wrong_indentation_and_tabs_are_named() {
    check("a:\n\tb: 1\n", "2:1", "a tab: YAML is indented by spaces");
    check("a: 1\n\tb: 1\n", "2:1", "a tab: YAML is indented by spaces");
    check(
        "a:\n  b: 1\n\tc: 2\n",
        "3:1",
        "a tab: YAML is indented by spaces",
    );
    check(
        "a:\n  - x\n\t- y\n",
        "3:1",
        "a tab: YAML is indented by spaces",
    );
    check("a: |\n\tx\n", "2:1", "a tab: YAML is indented by spaces");
    check(
        "a:\n  b: 1\n  \tc: 2\n",
        "3:3",
        "a tab: YAML is indented by spaces",
    );
    check(
        "a:\n  b: \"1\"\n\tc: 2\n",
        "3:1",
        "a tab: YAML is indented by spaces",
    );
    check(
        "a: 1\n  b: 2\n",
        "2:3",
        "this line is indented by 2 spaces, and the key of line 1 has a value already; expected no spaces, or no value in line 1",
    );
    check(
        "a:\n    b: 1\n  c: 2\n",
        "3:3",
        "this line is indented by 2 spaces, as no line above that it could belong to; expected 0 or 4 spaces",
    );
    check(
        "  a: 1\nb: 2\n",
        "2:1",
        "this line is indented by no spaces, less than the first line; expected 2 spaces",
    );
    check(
        "a:\n  - x\n - y\n",
        "3:2",
        "this line is indented by 1 space, as no line above that it could belong to; expected 0 or 2 spaces",
    );
    check(
        "a:\n  - x\n  b: 1\n",
        "3:3",
        "a key stands among the items of a list; expected all keys, or all items, at one indentation",
    );
    check(
        "a:\n  b: 1\n  - x\n",
        "3:3",
        "a list item stands among the keys of a mapping; expected all keys, or all items, at one indentation",
    );
    check(
        "- x\na: 1\n",
        "2:1",
        "a key stands among the items of a list; expected all keys, or all items, at one indentation",
    );
    check(
        "a: 1\n- x\n",
        "2:1",
        "a list item stands among the keys of a mapping; expected all keys, or all items, at one indentation",
    );
    check(
        "a:\n  b: 1\n   c: 2\n",
        "3:4",
        "this line is indented by 3 spaces, and the key of line 2 has a value already; expected 2 spaces, or no value in line 2",
    );
    check(
        "- a: 1\n   b: 2\n",
        "2:4",
        "this line is indented by 3 spaces, and the key of line 1 has a value already; expected 2 spaces, or no value in line 1",
    );
    check(
        "- a: 1\n b: 2\n",
        "2:2",
        "this line is indented by 1 space, as no line above that it could belong to; expected 0 or 2 spaces",
    );
    check(
        "a: \"1\"\n  b: 2\n",
        "2:3",
        "this line is indented by 2 spaces, as no line above that it could belong to; expected no spaces",
    );
    check(
        "a:\n  b: 1\n c: 1\n",
        "3:2",
        "this line is indented by 1 space, as no line above that it could belong to; expected 0 or 2 spaces",
    );
    check(
        "a: {b: 1}\n  c: 1\n",
        "2:3",
        "this line is indented by 2 spaces, as no line above that it could belong to; expected no spaces",
    );
    check(
        "a: b\n  c: d\n",
        "2:3",
        "this line is indented by 2 spaces, and the key of line 1 has a value already; expected no spaces, or no value in line 1",
    );
    check(
        "a: >x\n",
        "1:4",
        "text follows the > on its line; expected the text on the next lines, indented, or in quotes",
    );
    check(
        "a: | x\n",
        "1:4",
        "text follows the | on its line; expected the text on the next lines, indented, or in quotes",
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn values_that_need_quotes_or_commas_are_named() {
    check(
        "a: @x\n",
        "1:4",
        "a plain text cannot begin with @; expected the text in quotes",
    );
    check(
        "a: `x`\n",
        "1:4",
        "a plain text cannot begin with `; expected the text in quotes",
    );
    check(
        "a: %x\n",
        "1:4",
        "a plain text cannot begin with %; expected the text in quotes",
    );
    check(
        "%a: 1\n",
        "1:1",
        "a line cannot begin with %; expected the text in quotes",
    );
    check(
        "a: [@x]\n",
        "1:5",
        "a plain text cannot begin with @; expected the text in quotes",
    );
    check(
        "@a: 1\n",
        "1:1",
        "a plain text cannot begin with @; expected the text in quotes",
    );
    check(
        "a: b: c\n",
        "1:5",
        "a second `: ` in a plain value; expected the value in quotes",
    );
    check(
        "a: it is: fast\nb: 1\n",
        "1:9",
        "a second `: ` in a plain value; expected the value in quotes",
    );
    check(
        "a: {b: c: d}\n",
        "1:9",
        "a second `: ` in a plain value; expected the value in quotes, or a comma before the next key",
    );
    check(
        "a: [b: c: d]\n",
        "1:9",
        "a second `: ` in a plain value; expected the value in quotes, or a comma before the next key",
    );
    check(
        "a: x:\n",
        "1:5",
        "a second `: ` in a plain value; expected the value in quotes",
    );
    check(
        "q: why: this\n",
        "1:7",
        "a second `: ` in a plain value; expected the value in quotes",
    );
    check(
        "a: *b\n",
        "1:4",
        "the alias *b has no anchor &b before it; expected the value written out, or the text in quotes",
    );
    check(
        "a: *\n",
        "1:4",
        "a plain text cannot begin with *; expected the text in quotes",
    );
    check(
        "a: &\n",
        "1:4",
        "a plain text cannot begin with &; expected the text in quotes",
    );
    check(
        "a: *b c\n",
        "1:4",
        "the alias *b has no anchor &b before it; expected the value written out, or the text in quotes",
    );
    check(
        "[a]\nb: 1\n",
        "2:1",
        "not YAML: did not find expected <document start>",
    );
    check(
        "a: - b\n",
        "1:4",
        "a list begins in the line of its key; expected the list on the next lines, or the text in quotes",
    );
    check(
        "a: [1,,2]\n",
        "1:7",
        "a value is missing before this comma; expected a value between two commas",
    );
    check(
        "a: [, 1]\n",
        "1:5",
        "a value is missing before this comma; expected a value between two commas",
    );
    check(
        "a: {,}\n",
        "1:5",
        "a value is missing before this comma; expected a value between two commas",
    );
    check(
        "a: !<x\n",
        "1:4",
        "not YAML: while scanning a verbatim tag, did not find the expected '>'",
    );
    check(
        "a: ,x\n",
        "1:4",
        "a plain text cannot begin with ,; expected the text in quotes",
    );
    check(
        "a: [\n- b\n]\n",
        "2:1",
        "an item with `- ` inside { } or [ ]; expected items with commas between them",
    );
    check(
        "a: [-]\n",
        "1:5",
        "not YAML: plain scalar cannot start with '-' followed by ,[]{}",
    );
    check(
        "a: {b: 1 c: 2}\n",
        "1:11",
        "a second `: ` in a plain value; expected the value in quotes, or a comma before the next key",
    );
    check(
        "a: {b: 1\n  c: 2}\n",
        "1:9",
        "a comma is missing at the end of this line; expected a comma between two values",
    );
    check(
        "a: [{b: 1} {c: 2}]\n",
        "1:12",
        "a comma is missing before this; expected a comma between two values",
    );
}

/// Each scalar with its place, in order.
fn scalars(text: &str) -> Vec<String> {
    let yaml = YamlText::new(text);
    yaml.events()
        .filter_map(
            |event| match event.unwrap_or_else(|error| panic!("{error}: {text}")) {
                (Event::Scalar(value, ..), span) => {
                    let (line, column) = (span.start.line(), span.start.col() + 1);
                    Some(format!("{value}@{line}:{column}"))
                }
                _ => None,
            },
        )
        .collect()
}

#[test]
fn collections_and_quoted_texts_over_lines_keep_their_places() {
    let check = |text: &str, expected: &[&str]| assert_eq!(scalars(text), expected, "{text}");
    check(
        "a: [\n  \"x\"\n]\nb: 1\n",
        &["a@1:1", "x@2:3", "b@4:1", "1@4:4"],
    );
    check(
        "a: [\r\n  \"x\"\r\n]\r\nb: 1\r\n",
        &["a@1:1", "x@2:3", "b@4:1", "1@4:4"],
    );
    check("\u{feff}a: [\n'x'\n]\n", &["a@1:1", "x@2:1"]);
    check(
        "m:\n  a: [\n \"x\",\ny\n]\n  b: 1\n",
        &["m@1:1", "a@2:3", "x@3:2", "y@4:1", "b@6:3", "1@6:6"],
    );
    check("m:\n  - a: {\n  b: {}\n  }\n", &["m@1:1", "a@2:5", "b@3:3"]);
    check(
        "m:\n  a: [\n    \"x\n y\"\n  ]\n",
        &["m@1:1", "a@2:3", "x y@3:5"],
    );
    check(
        "m:\n  a:\n    [\n  'x'\n  ]\n",
        &["m@1:1", "a@2:3", "x@4:3"],
    );
    check("- - [\n'x'\n]\n- y\n", &["x@2:1", "y@4:3"]);
    check(
        "m:\n    a: \"x\n  y\"\n    b: 1\n",
        &["m@1:1", "a@2:5", "x y@2:8", "b@4:5", "1@4:8"],
    );
    // Signs that open nothing: in plain texts, comments, block scalars, tags and escapes.
    check(
        "a: it's [\nb: [ # ]\n\"x]\", 'it''s', \"\\\"\"\n]\n",
        &[
            "a@1:1",
            "it's [@1:4",
            "b@2:1",
            "x]@3:1",
            "it's@3:7",
            "\"@3:16",
        ],
    );
    check(
        "a: |\n  [ \"\nb: >-\n  {\n\n  '\nc: [\n'x'\n]\n",
        &["a@1:1", "[ \"\n@2:3", "b@3:1", "{\n'@4:3", "c@7:1", "x@8:1"],
    );
    check(
        "- |2\n   [\n- a: |\n    {\n  b: {\n\"c\": 1\n  }\n",
        &[" [\n@2:3", "a@3:3", "{\n@4:5", "b@5:3", "c@6:1", "1@6:6"],
    );
    check(
        "a: x\n  [ y\n  'z\nb: [\n'x'\n]\n",
        &["a@1:1", "x [ y 'z@1:4", "b@4:1", "x@5:1"],
    );
    check(
        "a: [x\n  'y, {b: \"c\"}\n]\n",
        &["a@1:1", "x 'y@1:5", "b@2:8", "c@2:11"],
    );
}

#[test]
fn spaces_before_lines_do_not_let_a_text_grow_without_bound() {
    let text = format!("{}a: [\n{}]\n", " ".repeat(100_000), "x,\n".repeat(50_000));
    assert_eq!(YamlText::new(&text).padded.len(), text.len());
}

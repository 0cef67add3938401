//! Every command of `waggle` in the documentation has a subcommand, flags and values that there are. Those of the tutorial, the how-tos
//! and the README also run (`tests/it/documentation`).

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::arguments::Arguments;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The pages of users; decisions show commands of their time.
fn pages() -> Vec<PathBuf> {
    let folders = ["", "how-to", "reference", "results"].map(|folder| docs().join(folder));
    let mut pages = vec![docs().join("../README.md")];
    for folder in folders {
        let entries = fs::read_dir(folder).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        pages.extend(files.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    pages
}

/// The commands in the blocks for a shell, each in one line.
fn commands(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut is_shell = false;
    let joined = page.replace("\\\n", " ");
    for line in joined.lines() {
        match line.strip_prefix("```") {
            Some(language) => is_shell = matches!(language, "sh" | "console"),
            None if is_shell => commands.push(line.to_owned()),
            None => {}
        }
    }
    commands
}

/// The words of a command up to a comment or another command; quotes are taken off.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in command.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '#') if word.is_none() => break,
            (None, '|' | '>' | '<' | ';' | '&') => break,
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// The words from `waggle` on, behind variables that are set for it.
fn arguments(command: &str) -> Option<Vec<String>> {
    let mut words = words(command);
    let start = words.iter().position(|word| !word.contains('='))?;
    let words = words.split_off(start);
    (words[0] == "waggle").then_some(words)
}

#[test]
fn documented_commands_can_be_parsed() {
    let mut count = 0;
    let mut mistakes = Vec::new();
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        for arguments in commands(&page)
            .iter()
            .filter_map(|command| arguments(command))
        {
            count += 1;
            let parsed = waggle_flags::try_parse_from::<Arguments>(&arguments, &[]);
            let error = parsed.err().filter(clap::Error::use_stderr);
            mistakes
                .extend(error.map(|error| format!("{}: {arguments:?}: {error}", path.display())));
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    assert!(count > 60, "only {count} commands were found");
}

#[test]
fn words_of_commands() {
    let check = |command: &str, expected: Option<&str>| {
        let words = arguments(command).map(|words| words.join("|"));
        assert_eq!(words.as_deref(), expected, "{command}");
    };
    check("waggle run s.yaml   # comment", Some("waggle|run|s.yaml"));
    check(
        "A=… waggle load h --threshold 'p99 < 5ms' > f",
        Some("waggle|load|h|--threshold|p99 < 5ms"),
    );
    check("curl http://h/#a", None);
    check("", None);
}

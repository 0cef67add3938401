//! What scripts need: their interpreter, and programs that they name by a path.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use super::tree::{Content, Entry};

/// Bytes of a script that are looked at.
const SCRIPT_MAX: u64 = 256 << 10;
/// Letters of a path in a script; `*` stands for one part of it.
const PATH_LETTERS: &str = "/._-+*";

/// The text of a file, if it is a script.
fn script(entry: &Entry) -> Option<String> {
    let Entry::File { content, .. } = entry else {
        return None;
    };
    let bytes = match content {
        Content::Bytes(bytes) => bytes.clone(),
        Content::File(path) => {
            let mut bytes = Vec::new();
            let mut file = File::open(path).ok()?;
            let mut first = [0; 2];
            file.read_exact(&mut first).ok()?;
            if first != *b"#!" {
                return None;
            }
            bytes.extend(first);
            file.take(SCRIPT_MAX).read_to_end(&mut bytes).ok()?;
            bytes
        }
    };
    let is_script = bytes.starts_with(b"#!");
    is_script.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// What runs a script: a path, or the name of a program that `env` looks for. `None`: it is no script.
pub(crate) fn interpreter(entry: &Entry) -> Option<String> {
    let text = script(entry)?;
    let mut words = text.lines().next()?.strip_prefix("#!")?.split_whitespace();
    let first = words.next()?;
    let is_env = Path::new(first)
        .file_name()
        .is_some_and(|name| name == "env");
    let program = match is_env {
        true => words.find(|word| !word.starts_with('-') && !word.contains('='))?,
        false => first,
    };
    Some(program.to_owned())
}

/// What a script names in its text.
pub(crate) struct References {
    /// Those of the names that are there as words.
    pub(crate) names: Vec<String>,
    /// Absolute paths, of which some have `*` as a part.
    pub(crate) paths: Vec<PathBuf>,
}

/// What a script names: those of `names`, and absolute paths. Comments are not looked at.
pub(crate) fn references(entry: &Entry, names: &[String]) -> References {
    let text = script(entry).unwrap_or_default();
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let mut references = References {
        names: Vec::new(),
        paths: Vec::new(),
    };
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || PATH_LETTERS.contains(letter);
    for word in lines.flat_map(|line| line.split(|letter| !is_letter(letter))) {
        if word.starts_with('/') {
            references.paths.push(PathBuf::from(word));
        }
        let name = names.iter().find(|name| *name == word);
        references.names.extend(name.cloned());
    }
    references
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{interpreter, references};
    use crate::layer::{Content, Entry};

    fn script(text: &str) -> Entry {
        Entry::File {
            content: Content::Bytes(text.as_bytes().to_vec()),
            is_executable: true,
        }
    }

    #[test]
    fn a_script_names_its_interpreter() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(interpreter(&script(text)).as_deref(), expected, "{text}");
        };
        check("#!/bin/sh -e\n", Some("/bin/sh"));
        check("#! /usr/bin/env bash\n", Some("bash"));
        check("#!/usr/bin/env -S A=1 node\n", Some("node"));
        check("\x7fELF", None);
        check("#!\n", None);
    }

    #[test]
    fn scripts_name_programs() {
        let text = "#!/bin/sh\n# java in words\nexec \"${JAVA_HOME:+$JAVA_HOME/bin/}java\" '/opt/p/bin/python3.12' /usr/lib/jvm/*/bin/java\n";
        let names = ["java".to_owned(), "mvn".to_owned()];
        let named = references(&script(text), &names);
        assert_eq!(named.names, ["java"]);
        let expected = ["/opt/p/bin/python3.12", "/usr/lib/jvm/*/bin/java"];
        let paths: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert!(
            paths.iter().all(|path| named.paths.contains(path)),
            "{:?}",
            named.paths
        );
    }
}

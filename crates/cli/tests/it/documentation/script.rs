//! The commands of a page as one script: its files are written and its studies planned where the page has them.

use std::{collections::BTreeMap, fmt::Write, path::Path};

use super::blocks::Block;

/// A script, and the files that it takes the blocks from.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) text: String,
    /// Content by the number of the block.
    pub(super) files: BTreeMap<usize, String>,
}

/// Folder of the blocks, in the folder in which the script runs.
pub(super) const BLOCKS: &str = ".blocks";

/// Languages whose blocks are files or parts of files, of which a page must say what is done with them.
const CHECKED: [&str; 1] = ["yaml"];

/// Makes the script of a page; every mistake of the page if it has blocks that are neither run nor marked.
pub(super) fn script(page: &str, blocks: &[Block]) -> Result<Script, Vec<String>> {
    // Servers that a page starts are stopped at its end.
    let mut text = "trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n".to_owned();
    let mut files = BTreeMap::new();
    let mut mistakes = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        if block.not_run.is_some() {
            continue;
        }
        let is_file = block.file.is_some() || block.is_study();
        let _ = writeln!(text, "echo '>>> {page}:{}' >&2", block.line);
        if is_file {
            files.insert(number, block.text.clone());
            text += &file_commands(number, block);
        } else if block.language == "console" {
            let commands = block
                .text
                .lines()
                .filter_map(|line| line.strip_prefix("$ "));
            text.extend(commands.map(|command| format!("{command}\n")));
        } else if block.is_commands() {
            text += &block.text;
        } else if CHECKED.contains(&block.language.as_str()) {
            mistakes.push(format!(
                "{page}:{}: this block is no study, has no line with the name of its file above it, and no \
                 `<!-- not run: REASON -->`",
                block.line
            ));
        }
    }
    if mistakes.is_empty() {
        Ok(Script { text, files })
    } else {
        Err(mistakes)
    }
}

fn file_commands(number: usize, block: &Block) -> String {
    let unnamed = format!("block-{number}.yaml");
    let name = block.file.as_ref().unwrap_or(&unnamed);
    let folder = Path::new(name).parent().map(Path::to_string_lossy);
    let folder = folder.filter(|folder| !folder.is_empty());
    let mut commands = String::new();
    if let Some(folder) = folder {
        let _ = writeln!(commands, "mkdir -p '{folder}'");
    }
    let _ = writeln!(commands, "cp {BLOCKS}/{number} '{name}'");
    if block.is_study() {
        let _ = writeln!(commands, "waggle plan '{name}' >&2");
    }
    commands
}

impl Script {
    /// The ports of 127.0.0.1 in its commands and files, each with whether it starts the server there.
    pub(super) fn ports(&self) -> BTreeMap<u16, bool> {
        let files = self.files.values().map(String::as_str);
        ports(
            &std::iter::once(self.text.as_str())
                .chain(files)
                .collect::<String>(),
        )
    }
}

fn ports(page: &str) -> BTreeMap<u16, bool> {
    const HOST: &str = "127.0.0.1:";
    let mut ports = BTreeMap::new();
    for (position, _) in page.match_indices(HOST) {
        let digits = page[position + HOST.len()..].split(|letter: char| !letter.is_ascii_digit());
        let Some(Ok(port)) = digits.into_iter().next().map(str::parse) else {
            continue;
        };
        let is_started = page[..position].ends_with("listen ");
        *ports.entry(port).or_insert(false) |= is_started;
    }
    ports
}

#[cfg(test)]
mod tests {
    use super::{super::blocks::blocks, *};

    #[test]
    fn blocks_become_commands() {
        let page = "```sh\na\n```\n\n`f/s.yaml`\n\n```yaml\nstudy: s\n```\n\n<!-- not run: no -->\n```sh\nb\n```\n\n```console\n$ c\nout\n```\n\n```text\nout\n```\n";
        let script = script("p.md", &blocks(page)).unwrap();
        let lines: Vec<&str> = script.text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "echo '>>> p.md:1' >&2",
                "a",
                "echo '>>> p.md:7' >&2",
                "mkdir -p 'f'",
                "cp .blocks/1 'f/s.yaml'",
                "waggle plan 'f/s.yaml' >&2",
                "echo '>>> p.md:16' >&2",
                "c",
                "echo '>>> p.md:21' >&2",
            ]
        );
        assert_eq!(script.files, BTreeMap::from([(1, "study: s\n".to_owned())]));
    }

    #[test]
    fn a_block_that_is_neither_run_nor_marked_is_refused() {
        let mistakes = script("p.md", &blocks("```yaml\nload: {}\n```\n")).unwrap_err();
        assert!(
            mistakes[0].starts_with("p.md:1: this block is no study"),
            "{mistakes:?}"
        );
    }

    #[test]
    fn ports_are_found() {
        let page = "serve --listen 127.0.0.1:8080 and http://127.0.0.1:8080/ and 127.0.0.1:9";
        assert_eq!(ports(page), BTreeMap::from([(8080, true), (9, false)]));
    }
}

//! Code blocks of a page, with what the page says about each.
//!
//! A line with only a name in backticks above a block makes it the file of this name. The comment `<!-- not run: REASON -->` above a
//! block, which readers do not see, says why no test runs it.

/// A fenced block of code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Line of its fence, counted from 1.
    pub(super) line: usize,
    /// Empty if the page names none.
    pub(super) language: String,
    pub(super) text: String,
    /// The file that it is.
    pub(super) file: Option<String>,
    /// Why it is not run.
    pub(super) not_run: Option<String>,
}

impl Block {
    /// Whether it has commands for a shell.
    pub(super) fn is_commands(&self) -> bool {
        matches!(self.language.as_str(), "sh" | "bash" | "shell" | "console")
    }

    /// Whether it is a whole study.
    pub(super) fn is_study(&self) -> bool {
        self.language == "yaml" && self.text.lines().any(|line| line.starts_with("study:"))
    }
}

const FENCE: &str = "```";

pub(super) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut before = "";
    let mut lines = page.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(language) = line.strip_prefix(FENCE) else {
            if !line.is_empty() {
                before = line;
            }
            continue;
        };
        let content = lines.by_ref().map(|(_, line)| line);
        let content: Vec<&str> = content.take_while(|line| *line != FENCE).collect();
        blocks.push(Block {
            line: index + 1,
            language: language.trim().to_owned(),
            text: content.join("\n") + "\n",
            file: text_between(before, "`", "`").filter(|name| !name.contains('`')),
            not_run: text_between(before, "<!-- not run: ", " -->"),
        });
        before = "";
    }
    blocks
}

fn text_between(line: &str, start: &str, end: &str) -> Option<String> {
    let inner = line.strip_prefix(start)?.strip_suffix(end)?;
    (!inner.trim().is_empty()).then(|| inner.to_owned())
}

#[test]
fn blocks_are_found_with_their_marks() {
    let page = "text\n\n```sh\na\n\nb\n```\n\n`x/y.yaml`\n\n```yaml\nstudy: x\n```\n\n<!-- not run: an hour -->\n```console\nc\n```\n```\nout\n```\n";
    let rows: Vec<_> = blocks(page)
        .into_iter()
        .map(|block| (block.line, block.text, block.file, block.not_run))
        .collect();
    let text = |text: &str| text.to_owned();
    assert_eq!(
        rows,
        [
            (3, text("a\n\nb\n"), None, None),
            (11, text("study: x\n"), Some(text("x/y.yaml")), None),
            (16, text("c\n"), None, Some(text("an hour"))),
            (19, text("out\n"), None, None),
        ]
    );
}

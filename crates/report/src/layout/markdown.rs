//! `report.md`: the answer and every table, for a wiki, a pull request or a terminal.

use super::{
    document::{Block, Document, Failure, Opening, Section, Term},
    table::{Align, Field, Mark, Table},
};

/// A document as Markdown.
pub(crate) fn text(document: &Document) -> String {
    let mut out = opening(&document.opening);
    for section in &document.sections {
        self::section(&mut out, section);
    }
    out
}

fn opening(opening: &Opening) -> String {
    let verdict = opening
        .verdict
        .as_ref()
        .map(|verdict| format!("**{verdict}** · "));
    let warnings: Vec<String> = opening
        .warnings
        .iter()
        .map(|warning| format!("> {}\n", escape(warning)))
        .collect();
    let mut out = format!(
        "# {}\n\n**{}**\n\n{}{}\n\n",
        escape(&opening.study),
        escape(&opening.question),
        verdict.unwrap_or_default(),
        escape(&opening.answer.join(" ")),
    );
    if !opening.notes.is_empty() {
        out.push_str(&format!("{}\n\n", escape(&opening.notes.join(" "))));
    }
    if !warnings.is_empty() {
        out.push_str(&warnings.join(">\n"));
        out.push('\n');
    }
    out
}

/// A table with a title has its own heading, also as the first of its section; none if the section's heading is above it, and is the same.
fn section(out: &mut String, section: &Section) {
    let mut written = String::new();
    blocks(&mut written, &section.blocks, None);
    if written.is_empty() {
        return;
    }
    let is_headed = written.starts_with("## ");
    if !is_headed {
        out.push_str(&format!("## {}\n\n", section.name));
    }
    let is_same =
        |block: &Block| matches!(block, Block::Table(table) if table.title == Some(section.name));
    if !is_headed && section.blocks.iter().any(is_same) {
        blocks(out, &section.blocks, Some(section.name));
    } else {
        out.push_str(&written);
    }
}

/// `above`: the heading of the section, if it is written.
fn blocks(out: &mut String, blocks: &[Block], above: Option<&str>) {
    for block in blocks {
        match block {
            Block::Table(content) => {
                let title = content.title.filter(|title| above != Some(*title));
                table(out, content, title);
            }
            Block::Heading(text) | Block::Anchor { heading: text, .. } => {
                out.push_str(&format!("### {}\n\n", escape(text)))
            }
            Block::Headline(text) | Block::Note(text) => {
                out.push_str(&format!("{}\n\n", escape(text)));
            }
            Block::Sentences(all) => list(out, all.iter().map(|sentence| escape(sentence))),
            Block::Caution(text) => out.push_str(&format!("> {}\n\n", escape(text))),
            Block::Terms(terms) => list(out, terms.iter().map(term)),
            Block::Folded(folded) => self::blocks(out, &folded.blocks, above),
            Block::Failure(content) => failure(out, content),
            Block::File { text, .. } => write_fenced(out, "yaml", text),
            Block::Drawn(_) | Block::Timeline(_) | Block::PageOnly(_) | Block::Page(_) => {}
        }
    }
}

fn list(out: &mut String, items: impl Iterator<Item = String>) {
    let before = out.len();
    for item in items {
        out.push_str(&format!("- {item}\n"));
    }
    if out.len() > before {
        out.push('\n');
    }
}

fn term(term: &Term) -> String {
    let code = term.code.as_ref().map(|code| format!(" (`{code}`)"));
    format!(
        "**{}**{}: {}",
        escape(&term.name.text()),
        code.unwrap_or_default(),
        escape(&term.meaning)
    )
}

/// The caption, then the table, then what its marks mean.
fn table(out: &mut String, table: &Table, title: Option<&str>) {
    if let Some(title) = title {
        out.push_str(&format!("## {title}\n\n"));
    }
    out.push_str(&format!("{}.\n\n", escape(&table.caption)));
    let heads: Vec<String> = table.heads.iter().map(|head| escape(&head.text)).collect();
    let rules: Vec<&str> = table
        .heads
        .iter()
        .map(|head| match head.align {
            Align::Left => ":--",
            Align::Right => "--:",
        })
        .collect();
    out.push_str(&format!(
        "| {} |\n| {} |\n",
        heads.join(" | "),
        rules.join(" | ")
    ));
    let mut notes: Vec<Note> = Vec::new();
    for row in &table.rows {
        let fields: Vec<String> = row
            .iter()
            .map(|field| field_text(field, &mut notes))
            .collect();
        out.push_str(&format!("| {} |\n", fields.join(" | ")));
    }
    out.push('\n');
    for (sign, note) in notes {
        out.push_str(&format!("{sign} {note}.\n\n"));
    }
}

/// A sign behind a number, and what it means.
type Note = (&'static str, &'static str);

const THIN: Note = ("\\*", "from few samples; the HTML page shows how many");
const EVEN: Note = ("\\*", "no difference is shown");
const CHANCE: Note = ("\\*", "may be chance; the HTML page shows the probability");
const ALONE: Note = (
    "§",
    "its interval alone shows a difference, but it is not shown together with all statements of the report (Holm)",
);
const LAG: Note = (
    "†",
    "the load generator's own lag is a large part of it; the HTML page shows how much",
);
const WINDOWS: Note = (
    "‡",
    "from few windows of a sample, which do not show it; the HTML page shows how many",
);

fn field_text(field: &Field, notes: &mut Vec<Note>) -> String {
    let text = match field.side_note() {
        Some(aside) => format!("{} ({aside})", field.text()),
        None => field.text().into_owned(),
    };
    let note = match &field.mark {
        Mark::Thin(_) => Some(THIN),
        Mark::Windows(_) => Some(WINDOWS),
        Mark::Lag(_) => Some(LAG),
        Mark::Chance(_) => Some(CHANCE),
        Mark::Even(_) => Some(EVEN),
        Mark::Alone(_) => Some(ALONE),
        Mark::Plain | Mark::Verdict | Mark::Bad => None,
    };
    if let Some(note) = note.filter(|note| !notes.contains(note)) {
        notes.push(note);
    }
    match (&field.mark, note) {
        (Mark::Bad, _) => format!("**{}**", escape(&text)),
        (_, Some((sign, _))) => format!("{}{sign}", escape(&text)),
        (_, None) => escape(&text),
    }
}

fn failure(out: &mut String, failure: &Failure) {
    out.push_str(&format!(
        "### {}\n\n{}\n\n",
        escape(&failure.title),
        escape(&failure.reason)
    ));
    if !failure.log.is_empty() {
        write_fenced(out, "text", &failure.log.join("\n"));
    }
}

/// A fence longer than any run of backticks inside it.
fn write_fenced(out: &mut String, language: &str, text: &str) {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    out.push_str(&format!(
        "{fence}{language}\n{}\n{fence}\n\n",
        text.trim_end()
    ));
}

/// No text of a study becomes markup, or leaves its cell of a table.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\n' => out.push_str("<br>"),
            '\r' => {}
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::section;
    use crate::layout::{
        document::{Block, Section},
        table::{Column, Field, Table},
    };

    #[test]
    fn a_heading_is_written_once() {
        let table = |title: &'static str| {
            let column = Column::words("node", |node: &&str| Field::plain(*node));
            Block::Table(Table::new("nodes", "Caption", vec![column], ["n1"]).with_title(title))
        };
        let caution = || Block::Caution("Beware".to_owned());
        let check = |blocks: Vec<Block>, expected: &str| {
            let mut out = String::new();
            let whole = Section {
                blocks,
                ..Section::new("placement", "Nodes")
            };
            section(&mut out, &whole);
            let lines = out.lines().filter(|line| line.starts_with(['#', '>', 'C']));
            assert_eq!(lines.collect::<Vec<_>>().join("\n"), expected);
        };
        check(vec![table("Nodes")], "## Nodes\nCaption.");
        check(
            vec![caution(), table("Nodes")],
            "## Nodes\n> Beware\nCaption.",
        );
        check(
            vec![caution(), table("Others")],
            "## Nodes\n> Beware\n## Others\nCaption.",
        );
        check(
            vec![table("Others"), table("Nodes")],
            "## Others\nCaption.\n## Nodes\nCaption.",
        );
        check(Vec::new(), "");
    }
}

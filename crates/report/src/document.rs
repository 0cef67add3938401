//! The report as plain values: the answer, then sections of blocks. The page and Markdown lay out the same one.

use waggle_stats::Verdict;

use crate::table::{Field, Table};

/// The whole report.
pub(crate) struct Document {
    pub(crate) opening: Opening,
    pub(crate) sections: Vec<Section>,
    /// Of waggle, when the study ran.
    pub(crate) version: String,
}

/// What a reader sees first.
pub(crate) struct Opening {
    pub(crate) study: String,
    pub(crate) started_utc: String,
    /// The study's name where it asks nothing.
    pub(crate) question: String,
    pub(crate) verdict: Option<Verdict>,
    /// The answer, a sentence each.
    pub(crate) answer: Vec<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) figures: Vec<Figure>,
}

/// One number in large letters.
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) value: String,
    pub(crate) small: String,
}

/// A part of the report with a heading of its own.
pub(crate) struct Section {
    /// Unique; an anchor in the page.
    pub(crate) id: &'static str,
    /// As the page's bar calls it; the others are not in the bar.
    pub(crate) link: Option<&'static str>,
    /// As Markdown heads it.
    pub(crate) name: &'static str,
    /// As the page heads it.
    pub(crate) title: String,
    /// How to read the charts of it; on the page only.
    pub(crate) lead: &'static str,
    pub(crate) blocks: Vec<Block>,
}

/// What stands in a section, in the order of reading.
pub(crate) enum Block {
    Table(Table),
    Heading(String),
    /// A sentence that says most of what the section has to say.
    Headline(String),
    Sentences(Vec<String>),
    /// A sentence about how far to believe the others.
    Caution(String),
    Note(String),
    /// Something of the page alone, that its scripts fill.
    Drawn(Drawn),
    Terms(Vec<Term>),
    /// Opened at a click, where one can click.
    Folded(Folded),
    /// What only the page has the room for.
    PageOnly(Vec<Block>),
    Failure(Failure),
    /// A file, word for word.
    File {
        label: &'static str,
        text: String,
    },
}

/// Places that the page's scripts fill; without scripts they do not show.
pub(crate) enum Drawn {
    /// What to draw is chosen here.
    Choice(&'static str),
    /// The cells to draw are chosen here.
    Cells,
    /// Over the whole width.
    Wide(Chart),
    /// Beside each other.
    Beside(Vec<Chart>),
    /// Beside each other, all of the one number that tabs above them choose.
    OfOneNumber(Vec<Chart>),
}

/// One chart.
pub(crate) struct Chart {
    /// Unique; the script finds it by this.
    pub(crate) id: String,
    pub(crate) label: String,
}

/// A term with what it means.
pub(crate) struct Term {
    pub(crate) name: Field,
    /// As conditions and files have it.
    pub(crate) code: Option<String>,
    pub(crate) meaning: String,
}

/// Blocks below a summary.
pub(crate) struct Folded {
    pub(crate) what: Fold,
    pub(crate) summary: String,
    pub(crate) blocks: Vec<Block>,
}

/// What is folded away; the style tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    Legend,
    /// What a chart draws.
    Same,
    /// Every trial over time.
    Series,
    /// One of these trials.
    Trial,
    /// All numbers there are.
    Every,
}

/// A trial that did not come to its end.
pub(crate) struct Failure {
    pub(crate) title: String,
    pub(crate) reason: String,
    pub(crate) log: Vec<String>,
}

impl Document {
    /// The table of this name, wherever it stands.
    pub(crate) fn table(&self, id: &str) -> Option<&Table> {
        let mut sections = self.sections.iter();
        sections.find_map(|section| table_of(&section.blocks, id))
    }
}

fn table_of<'a>(blocks: &'a [Block], id: &str) -> Option<&'a Table> {
    blocks.iter().find_map(|block| match block {
        Block::Table(table) => (table.id == Some(id)).then_some(table),
        Block::Folded(Folded { blocks, .. }) | Block::PageOnly(blocks) => table_of(blocks, id),
        _ => None,
    })
}

impl Section {
    /// A section that the page's bar has.
    pub(crate) fn new(id: &'static str, name: &'static str, title: impl Into<String>) -> Self {
        Self {
            id,
            link: Some(name),
            name,
            title: title.into(),
            lead: "",
            blocks: Vec::new(),
        }
    }
}

impl Block {
    pub(crate) fn tables(tables: impl IntoIterator<Item = Table>) -> impl Iterator<Item = Self> {
        tables.into_iter().map(Self::Table)
    }

    pub(crate) fn wide(id: impl Into<String>, label: impl Into<String>) -> Self {
        Self::Drawn(Drawn::Wide(Chart::new(id, label)))
    }

    pub(crate) const fn choice(id: &'static str) -> Self {
        Self::Drawn(Drawn::Choice(id))
    }
}

impl Chart {
    pub(crate) fn new(id: impl Into<String>, label: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            label: label.into(),
        }
    }
}

//! The report as plain values: the answer, then sections of blocks. The page and Markdown lay out the same one.

use std::borrow::Cow;

use super::{
    site::Site,
    table::{Field, Table},
    timeline::Timeline,
};

/// The whole report.
pub(crate) struct Document {
    pub(crate) opening: Opening,
    pub(crate) sections: Vec<Section>,
    /// Of waggle, when the study ran.
    pub(crate) version: String,
    /// The pages beside it.
    pub(crate) site: Site,
}

/// What a reader sees first.
pub(crate) struct Opening {
    pub(crate) study: String,
    pub(crate) started_utc: String,
    /// The study's name if it has no question.
    pub(crate) question: String,
    /// Of the answer, as a label.
    pub(crate) verdict: Option<String>,
    /// The answer, a sentence each.
    pub(crate) answer: Vec<String>,
    /// How the answer is to be read, a sentence each.
    pub(crate) notes: Vec<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) figures: Vec<Figure>,
}

/// A tile: one value in large letters.
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) value: String,
    pub(crate) small: String,
}

/// A part of the report with a heading of its own.
pub(crate) struct Section {
    /// Unique; an anchor in the page.
    pub(crate) id: &'static str,
    /// Its text in the page's bar; `None`: not in the bar.
    pub(crate) link: Option<&'static str>,
    /// Heading in Markdown.
    pub(crate) name: &'static str,
    /// Heading on the page.
    pub(crate) title: String,
    /// How to read the charts of it; on the page only.
    pub(crate) lead: &'static str,
    pub(crate) blocks: Vec<Block>,
}

/// A part of a section, in reading order.
pub(crate) enum Block {
    Table(Table),
    Heading(String),
    /// The most important sentence of the section.
    Headline(String),
    Sentences(Vec<String>),
    /// A sentence about how reliable the others are.
    Caution(String),
    Note(String),
    /// A heading that links of the page lead to.
    Anchor {
        id: String,
        heading: String,
    },
    /// On the page only; its scripts fill it.
    Drawn(Drawn),
    /// On the page only; a table has its values for the other formats.
    Timeline(Timeline),
    Terms(Vec<Term>),
    /// Opened by a click on the page.
    Folded(Folded),
    /// On the page only, for its length.
    PageOnly(Vec<Block>),
    Failure(Failure),
    /// A file, word for word.
    File {
        label: Cow<'static, str>,
        text: String,
    },
    /// What is read by itself; on the page only.
    Page(Page),
}

/// Shown alone once a link leads to it.
pub(crate) struct Page {
    /// Unique; where links lead.
    pub(crate) id: String,
    pub(crate) title: String,
    /// As a label.
    pub(crate) verdict: String,
    /// The one before and the one after, each with its title; both the other way round lead here.
    pub(crate) neighbours: [Option<PageLink>; 2],
    pub(crate) blocks: Vec<Block>,
}

/// The place of a page, and its title.
pub(crate) struct PageLink {
    pub(crate) id: String,
    pub(crate) title: String,
}

/// Elements that the page's scripts fill; hidden without scripts.
pub(crate) enum Drawn {
    /// A selector of what to draw.
    Choice(&'static str),
    /// A selector of the cells to draw.
    Cells,
    /// Over the whole width.
    Wide(Chart),
    /// Side by side.
    Beside(Vec<Chart>),
    /// Side by side, all of the one metric that tabs above them select.
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
    /// As in conditions and files.
    pub(crate) code: Option<String>,
    pub(crate) meaning: String,
}

/// Blocks below a summary.
pub(crate) struct Folded {
    pub(crate) what: Fold,
    pub(crate) summary: String,
    pub(crate) blocks: Vec<Block>,
}

/// What is folded away; each has a style of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    Legend,
    /// What a chart draws.
    Same,
    /// A trial over time.
    Series,
    /// All metrics.
    Every,
}

/// A trial that failed.
pub(crate) struct Failure {
    pub(crate) title: String,
    pub(crate) reason: String,
    pub(crate) log: Vec<String>,
}

impl Document {
    /// The table of this id, in whichever section.
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
    /// A section with one heading in all formats, and with a link in the page's bar.
    pub(crate) fn new(id: &'static str, name: &'static str) -> Self {
        Self {
            id,
            link: Some(name),
            name,
            title: name.to_owned(),
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

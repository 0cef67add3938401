//! A table as a plain value, defined once: the page, Markdown and the terminal lay out the same one.

use std::borrow::Cow;

use waggle_stats::{Estimate, ThinTail};

use crate::words::{
    findings,
    format::{self, NONE, Unit},
};
use waggle_analysis::{Percentile, Shown};

/// Heads, then rows of as many fields.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    /// Short and unique; an anchor in the page.
    pub(crate) id: Option<&'static str>,
    /// Its heading in Markdown; the page shows the caption only.
    pub(crate) title: Option<&'static str>,
    pub(crate) caption: String,
    pub(crate) heads: Vec<Head>,
    pub(crate) rows: Vec<Vec<Field>>,
    /// The last row sums up the others: sorting leaves it where it is.
    pub(crate) has_summary: bool,
}

/// A column's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) text: String,
    pub(crate) align: Align,
    /// It says which row this is, as the level of a factor does.
    pub(crate) names_row: bool,
}

/// Numbers are aligned right, words left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A column with what it holds in the row of a `T`.
pub(crate) struct Column<'a, T> {
    head: Head,
    field: Box<dyn Fn(&T) -> Field + 'a>,
}

/// One cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    value: Value,
    pub(crate) mark: Mark,
    /// Drawn below the value on the page.
    pub(crate) whisker: Option<Whisker>,
    /// Where its value leads on the page.
    pub(crate) href: Option<String>,
}

/// A ratio with its interval, drawn against a margin around 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Whisker {
    pub(crate) point: f64,
    pub(crate) interval: (f64, f64),
    pub(crate) margin: f64,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Text {
        text: String,
        /// In smaller letters.
        aside: Option<String>,
    },
    Estimate {
        estimate: Estimate,
        unit: Unit,
    },
}

/// How a field is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    Plain,
    /// Greyed: a percentile from few samples, with the reason.
    Thin(String),
    /// Greyed: a percentile from few windows of a sample, with the reason.
    Windows(String),
    /// Greyed: the load generator's own lag is a large part of it, with the reason.
    Lag(String),
    /// Greyed because it may be chance, with the probability.
    Chance(String),
    /// Greyed: it shows no difference, with the reason if it is another one than the interval.
    Even(Option<String>),
    /// Greyed: its interval shows a difference, but not together with all statements of the report; with their number.
    Alone(String),
    Verdict,
    /// Shows a problem.
    Bad,
}

impl Table {
    /// A row for each of `rows`.
    pub(crate) fn new<T>(
        id: &'static str,
        caption: impl Into<String>,
        columns: Vec<Column<'_, T>>,
        rows: impl IntoIterator<Item = T>,
    ) -> Self {
        let fields = |row: T| columns.iter().map(|column| (column.field)(&row)).collect();
        Self {
            id: Some(id),
            title: None,
            caption: caption.into(),
            rows: rows.into_iter().map(fields).collect(),
            heads: columns.into_iter().map(|column| column.head).collect(),
            has_summary: false,
        }
    }

    pub(crate) fn with_title(self, title: &'static str) -> Self {
        Self {
            title: Some(title),
            ..self
        }
    }

    /// Below a heading, next to others of its kind.
    pub(crate) fn without_heading(self) -> Self {
        Self {
            id: None,
            title: None,
            ..self
        }
    }

    /// Without the columns of numbers of which no row has one.
    pub(crate) fn without_empty_columns(mut self) -> Self {
        let shown: Vec<bool> = (0..self.heads.len())
            .map(|column| {
                let mut rows = self.rows.iter();
                self.heads[column].align == Align::Left
                    || rows.any(|row| row.get(column).is_some_and(|field| field.text() != NONE))
            })
            .collect();
        let mut places = shown.iter();
        self.heads
            .retain(|_| places.next().is_none_or(|shown| *shown));
        for row in &mut self.rows {
            let mut places = shown.iter();
            row.retain(|_| places.next().is_none_or(|shown| *shown));
        }
        self
    }

    /// `None` if it has no row.
    pub(crate) fn unless_empty(self) -> Option<Self> {
        (!self.rows.is_empty()).then_some(self)
    }
}

impl Head {
    pub(crate) fn number(text: impl Into<String>) -> Self {
        Self::new(text, Align::Right)
    }

    pub(crate) fn words(text: impl Into<String>) -> Self {
        Self::new(text, Align::Left)
    }

    fn new(text: impl Into<String>, align: Align) -> Self {
        Self {
            text: text.into(),
            align,
            names_row: false,
        }
    }
}

impl<'a, T: 'a> Column<'a, T> {
    /// The column of what a row has; without that its field is empty.
    pub(crate) fn map_row<U>(self, part: impl Fn(&U) -> Option<T> + 'a) -> Column<'a, U> {
        let Self { head, field } = self;
        Column {
            head,
            field: Box::new(move |row: &U| {
                part(row).map_or_else(Field::empty, |part| field(&part))
            }),
        }
    }
}

impl<'a, T> Column<'a, T> {
    /// It says which row this is.
    pub(crate) fn into_row_name(mut self) -> Self {
        self.head.names_row = true;
        self
    }

    pub(crate) fn numbers(head: impl Into<String>, field: impl Fn(&T) -> Field + 'a) -> Self {
        Self {
            head: Head::new(head, Align::Right),
            field: Box::new(field),
        }
    }

    pub(crate) fn words(head: impl Into<String>, field: impl Fn(&T) -> Field + 'a) -> Self {
        Self {
            head: Head::new(head, Align::Left),
            field: Box::new(field),
        }
    }
}

impl Field {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            value: Value::Text { text, aside: None },
            mark: Mark::Plain,
            whisker: None,
            href: None,
        }
    }

    /// No value.
    pub(crate) fn empty() -> Self {
        Self::plain(NONE)
    }

    /// A text that may be missing.
    pub(crate) fn optional(text: Option<String>) -> Self {
        text.map_or_else(Self::empty, Self::plain)
    }

    pub(crate) fn count(value: u64) -> Self {
        Self::plain(format::count(value))
    }

    /// A count that should be zero.
    pub(crate) fn nothing_expected(value: u64) -> Self {
        Self::count(value).bad_if(value > 0)
    }

    /// Failed requests, with the error rate.
    pub(crate) fn errors(failed: u64, share: Option<f64>) -> Self {
        match share {
            None => Self::empty(),
            Some(_) if failed == 0 => Self::plain("0"),
            Some(share) => Self::nothing_expected(failed).with_aside(format::share(share)),
        }
    }

    pub(crate) fn share(share: Option<f64>) -> Self {
        Self::optional(share.map(format::share))
    }

    pub(crate) fn estimate(estimate: Option<&Estimate>, unit: Unit) -> Self {
        let value = estimate.map(|estimate| Value::Estimate {
            estimate: *estimate,
            unit,
        });
        value.map_or_else(Self::empty, |value| Self {
            value,
            ..Self::empty()
        })
    }

    pub(crate) fn percentile(percentile: &Percentile) -> Self {
        let field = Self::estimate(percentile.estimate.as_ref(), Unit::Time);
        match &percentile.thin {
            Some(reason) if percentile.estimate.is_some() => field.thin(reason),
            _ => match percentile.lag_us {
                Some(lag_us) => field.with_mark(Mark::Lag(findings::hiding_lag(lag_us))),
                None => field,
            },
        }
    }

    pub(crate) fn verdict(text: impl Into<String>) -> Self {
        Self::plain(text).with_mark(Mark::Verdict)
    }

    pub(crate) fn thin(self, tail: &ThinTail) -> Self {
        let reason = findings::thin(tail);
        self.with_mark(match tail.is_of_windows() {
            true => Mark::Windows(reason),
            false => Mark::Thin(reason),
        })
    }

    pub(crate) fn bad_if(self, is_bad: bool) -> Self {
        match is_bad {
            true => self.with_mark(Mark::Bad),
            false => self,
        }
    }

    pub(crate) fn with_whisker(self, whisker: Whisker) -> Self {
        Self {
            whisker: Some(whisker),
            ..self
        }
    }

    pub(crate) fn with_href(self, href: Option<String>) -> Self {
        Self { href, ..self }
    }

    pub(crate) fn with_mark(self, mark: Mark) -> Self {
        Self { mark, ..self }
    }

    /// Marked by what it shows of a difference, among so many statements.
    pub(crate) fn with_shown(self, shown: Shown, family: usize) -> Self {
        match shown {
            Shown::Together | Shown::Unknown => self,
            Shown::Nothing => self.with_mark(Mark::Even(None)),
            Shown::Alone => self.with_mark(Mark::Alone(format!(
                "its interval alone shows a difference, but not together with all {family} statements of the report (Holm)"
            ))),
        }
    }

    pub(crate) fn with_aside(self, aside: impl Into<Option<String>>) -> Self {
        let value = Value::Text {
            text: self.text().into_owned(),
            aside: aside.into(),
        };
        Self { value, ..self }
    }

    pub(crate) fn text(&self) -> Cow<'_, str> {
        match &self.value {
            Value::Text { text, .. } => text.into(),
            Value::Estimate { estimate, unit } => format::point(estimate, *unit).into(),
        }
    }

    /// In smaller letters: of an estimate the ends of its interval.
    pub(crate) fn side_note(&self) -> Option<Cow<'_, str>> {
        match &self.value {
            Value::Text { aside, .. } => Some(aside.as_deref()?.into()),
            Value::Estimate { estimate, unit } => format::certainty(estimate, *unit).map(Cow::from),
        }
    }

    /// All of it in one line, as short as it can be.
    pub(crate) fn short(&self) -> String {
        match &self.value {
            Value::Text { text, aside: None } => text.clone(),
            Value::Text {
                text,
                aside: Some(aside),
            } => format!("{text} ({aside})"),
            Value::Estimate { estimate, unit } => format::short(Some(estimate), *unit),
        }
    }

    /// Its value without an interval and without an aside.
    pub(crate) fn point(&self) -> String {
        match &self.value {
            Value::Text { text, .. } => text.clone(),
            Value::Estimate { estimate, unit } => unit.show(estimate.point),
        }
    }
}

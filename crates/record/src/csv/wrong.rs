//! Mistakes by their offset in the text. Lines are counted once for all of them, because rows repeat a mistake.

use crate::{Mistake, TABLE_MISTAKES_MAX, source_text::SourceText};

/// A mistake at an offset of a character in the text, or at its end.
#[derive(Debug)]
pub(crate) struct Wrong {
    at: usize,
    problem: String,
    remedy: Option<String>,
}

impl Wrong {
    pub(super) fn new(offset: usize, problem: impl Into<String>) -> Self {
        Self {
            at: offset,
            problem: problem.into(),
            remedy: None,
        }
    }

    pub(super) fn with_remedy(self, remedy: impl Into<String>) -> Self {
        Self {
            remedy: Some(remedy.into()),
            ..self
        }
    }
}

/// The mistakes of a text, up to [`TABLE_MISTAKES_MAX`].
#[derive(Debug, Default)]
pub(crate) struct Wrongs(Vec<Wrong>);

impl Wrongs {
    pub(super) fn add(&mut self, wrong: Wrong) {
        if !self.is_full() {
            self.0.push(wrong);
        }
    }

    pub(super) fn extend(&mut self, wrongs: impl IntoIterator<Item = Wrong>) {
        wrongs.into_iter().for_each(|wrong| self.add(wrong));
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= TABLE_MISTAKES_MAX
    }

    /// The value, if there are no mistakes; else they with their lines and columns, in their order in the text.
    pub(crate) fn into_result<T>(
        mut self,
        source: SourceText<'_>,
        value: T,
    ) -> Result<T, Vec<Mistake>> {
        if self.0.is_empty() {
            return Ok(value);
        }
        self.0.sort_by_key(|wrong| wrong.at);
        let mut from = 0;
        let mut rest = source;
        let mut mistakes = Vec::with_capacity(self.0.len());
        for wrong in self.0 {
            let passed = &source.text[from..wrong.at];
            if let Some(line_break) = passed.rfind('\n') {
                rest.first_line += memchr::memchr_iter(b'\n', passed.as_bytes()).count();
                from += line_break + 1;
                rest.text = &source.text[from..];
            }
            let mistake = rest.mistake(wrong.at - from, wrong.problem);
            mistakes.push(match wrong.remedy {
                Some(remedy) => mistake.with_remedy(remedy),
                None => mistake,
            });
        }
        Err(mistakes)
    }
}

//! What is not certain of a file, in sentences: columns that are read as something else than somebody may mean.

use super::{Look, layout, numbers, samples::Sample, times};
use crate::{
    Decimal, TimeFormat,
    columns::Role,
    csv::{is_telephone_number, lossy_value},
};

impl Look<'_> {
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Lines that are left out although they are among the rows.
    pub(super) fn note_comments(&mut self) {
        let layout = &self.columns.layout;
        let count = layout::count_comments(self.source.text, layout);
        if let (Some(comment), 1..) = (layout.comment.clone(), count) {
            let lines = if count == 1 { "line" } else { "lines" };
            let begin = if count == 1 { "begins" } else { "begin" };
            self.note(format!(
                "comment leaves out {count} {lines} below the header row that {begin} with {comment:?}"
            ));
        }
    }

    /// `"ERR" in line 7`: a cell of the column as an example.
    fn example(&self, sample: &Sample, text: &str) -> String {
        format!("{text:?} in line {}", sample.line(text, self.source))
    }

    /// Columns of numbers that are read as texts because of some cells, and letters that are read as booleans: a column has one
    /// type.
    pub(super) fn note_texts(&mut self, samples: &[Sample]) {
        for sample in samples {
            let cells = self.values(sample);
            let note = if cells.is_empty() {
                None
            } else if cells.iter().all(|cell| matches!(*cell, "T" | "F")) {
                Some(format!(
                    "is read as booleans, such as {}: tags reads it as texts",
                    self.example(sample, cells[0])
                ))
            } else if cells.iter().all(|cell| is_telephone_number(cell)) {
                Some(format!(
                    "is read as texts, such as {}: a plus sign before eight or more digits is that of a telephone number",
                    self.example(sample, cells[0])
                ))
            } else {
                self.text_note(sample, &cells)
            };
            if let Some(note) = note {
                self.note(format!("column {:?} {note}", sample.name));
            }
        }
    }

    fn text_note(&self, sample: &Sample, cells: &[&str]) -> Option<String> {
        let decimal = self.columns.layout.decimal.unwrap_or(Decimal::Point);
        let is_text = |cell: &&&str| !numbers::is_number_with(decimal, cell);
        let texts = cells.iter().filter(is_text).count();
        let example = cells.iter().find(is_text)?;
        // Whether commas are decimal is asked, or a mistake of the reader.
        let is_open = self.columns.layout.decimal.is_none()
            && cells.iter().any(|cell| numbers::has_comma(cell));
        let marks = cells.iter().filter(|cell| layout::is_missing_text(cell));
        let meant = cells.iter().filter(|cell| numbers::is_meant(cell)).count();
        let are_meant = !is_open && 2 * meant > cells.len() - marks.count();
        (2 * texts < cells.len() || are_meant).then(|| {
            format!(
                "is read as texts, because {texts} of its {} cells {} no number, such as {}",
                cells.len(),
                if texts == 1 { "is" } else { "are" },
                self.example(sample, example)
            )
        })
    }

    /// Fields with numbers of more digits than a float holds.
    pub(super) fn note_digits(&mut self, samples: &[Sample]) {
        let decimal = self.columns.layout.decimal.unwrap_or(Decimal::Point);
        for sample in samples {
            let cells = self.values(sample);
            let is_float = numbers::are_floats(&cells, decimal) && sample.json_texts().count() == 0;
            if self.columns.role(&sample.name) != Role::Field || !is_float {
                continue;
            }
            let lost = cells
                .iter()
                .find_map(|cell| Some((cell, lossy_value(cell, decimal)?)));
            if let Some((cell, value)) = lost {
                self.note(format!(
                    "column {:?} has more digits than a float of 64 bits: {} is sent as {value}",
                    sample.name,
                    self.example(sample, cell)
                ));
            }
        }
    }

    /// Columns of times that no known format reads, or not all of them.
    pub(super) fn note_unread_times(&mut self, samples: &[Sample]) {
        for sample in samples {
            let texts = sample.texts();
            let time = texts.iter().find(|text| times::is_likely(text));
            let is_named =
                super::is_time_name(&sample.name) && !numbers::are_mostly_numbers(&texts);
            let Some(first) = texts
                .first()
                .filter(|_| is_named || super::are_unread(&texts))
            else {
                continue;
            };
            // Of times such as 24:00 among others, the one that is not read.
            let unread = texts.iter().find(|text| times::formats(&[text]).is_empty());
            let first = unread.unwrap_or(first);
            let others: Vec<&&str> = texts
                .iter()
                .filter(|text| !times::is_likely(text))
                .collect();
            let note = match (time, &others[..]) {
                (Some(_), [other, ..]) if 2 * others.len() < texts.len() => format!(
                    "column {:?} is not read as times, because {} of its {} cells {} no time, such as {}: time names the column once they are corrected",
                    sample.name,
                    others.len(),
                    texts.len(),
                    if others.len() == 1 { "is" } else { "are" },
                    self.example(sample, other)
                ),
                _ => format!(
                    "column {:?} is not read as times, such as {}: time.format is their pattern, and time.zone their zone",
                    sample.name,
                    self.example(sample, first)
                ),
            };
            self.note(note);
        }
    }

    pub(super) fn note_ambiguity(&mut self, name: &str, formats: &[TimeFormat]) {
        let patterns: Vec<String> = formats
            .iter()
            .filter_map(|format| match format {
                TimeFormat::Pattern(pattern) => Some(format!("{pattern:?}")),
                _ => None,
            })
            .collect();
        if patterns.len() > 1 {
            let either = patterns.join(" and ");
            self.note(format!("{either} both read the times of column {name:?}"));
        }
    }
}

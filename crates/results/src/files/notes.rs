//! Notes that people leave on a run, a small file each in its folder `notes`: what was changed, and that a new level is accepted.
//!
//! They are no results: a note that cannot be read says so in its place, and the run is still read.

use std::{fs, path::Path};

use serde::{Deserialize, Serialize};

use crate::{
    FORMAT, WriteError,
    files::{
        disk::{json, write_synced},
        names::PARTIAL,
    },
    private_file,
};

/// Below the folder of a run.
const NOTES: &str = "notes";
const EXTENSION: &str = ".json";
/// Longest text of a note, in letters.
pub const NOTE_MAX_LETTERS: usize = 2_000;
/// Notes of a run that are read and written.
pub const NOTES_MAX: usize = 200;
const FILE_MAX_BYTES: u64 = 64 << 10;

/// A note on a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// RFC 3339, UTC.
    pub written_utc: String,
    pub text: String,
    /// From this run on the level that a history shows is the accepted one.
    #[serde(default)]
    pub accepts: bool,
    /// The column in `tables.csv` of the one metric that the note is about; `None`: the run as a whole.
    #[serde(default)]
    pub metric: Option<String>,
}

impl Note {
    /// Whether it is about the metric of this column, alone or with all others.
    #[must_use]
    pub fn is_about(&self, column: &str) -> bool {
        self.metric.as_deref().is_none_or(|metric| metric == column)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoteFile {
    format: u32,
    written_utc: String,
    text: String,
    #[serde(default)]
    accepts: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metric: Option<String>,
}

/// The notes on a run, the oldest first; none if there is no folder of them.
#[must_use]
pub fn read_notes(run: &Path) -> Vec<Note> {
    let folder = run.join(NOTES);
    if folder.is_symlink() {
        return Vec::new();
    }
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_note(name)).collect();
    names.sort();
    names.truncate(NOTES_MAX);
    names.iter().map(|name| read_note(&folder, name)).collect()
}

fn is_note(name: &str) -> bool {
    name.ends_with(EXTENSION) && !name.starts_with('.')
}

fn read_note(folder: &Path, name: &str) -> Note {
    let file = folder.join(name);
    let bytes = private_file::read_file(&file, FILE_MAX_BYTES).map_err(|why| why.to_string());
    let note = bytes.and_then(|bytes| {
        serde_json::from_slice::<NoteFile>(&bytes).map_err(|why| why.to_string())
    });
    let why = match note {
        Ok(note) if note.format == FORMAT => {
            return Note {
                written_utc: note.written_utc,
                text: note.text,
                accepts: note.accepts,
                metric: note.metric,
            };
        }
        Ok(note) => format!(
            "it has format {}, and this waggle reads {FORMAT}",
            note.format
        ),
        Err(why) => why,
    };
    Note {
        written_utc: String::new(),
        text: format!("{NOTES}/{name} cannot be read: {why}"),
        accepts: false,
        metric: None,
    }
}

/// Adds a note to a run. Whether its text has the right length is for the caller to say.
///
/// # Errors
/// The run has the most notes already, or writing fails.
pub fn write_note(run: &Path, note: &Note) -> Result<(), WriteError> {
    let folder = run.join(NOTES);
    if folder.is_symlink() {
        return Err(WriteError::Occupied { path: folder });
    }
    private_file::create_folder(&folder).map_err(WriteError::io("create", &folder))?;
    let text = json(
        &folder,
        &NoteFile {
            format: FORMAT,
            written_utc: note.written_utc.clone(),
            text: note.text.clone(),
            accepts: note.accepts,
            metric: note.metric.clone(),
        },
    )?;
    let stamp: String = (note.written_utc.chars())
        .filter(char::is_ascii_alphanumeric)
        .collect();
    for count in 1..=NOTES_MAX {
        let file = folder.join(format!("{stamp}-{count:03}{EXTENSION}"));
        if fs::symlink_metadata(&file).is_ok() {
            continue;
        }
        let partial = folder.join(format!(".{stamp}-{count:03}{PARTIAL}"));
        write_synced(&partial, &text)?;
        return fs::rename(&partial, &file).map_err(WriteError::io("rename", &partial));
    }
    Err(WriteError::Occupied { path: folder })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str, accepts: bool) -> Note {
        Note {
            written_utc: "2026-01-02T03:04:05Z".to_owned(),
            text: text.to_owned(),
            accepts,
            metric: None,
        }
    }

    #[test]
    fn notes_are_read_in_the_order_of_their_writing() {
        let run = tempfile::tempdir().unwrap();
        assert_eq!(read_notes(run.path()), []);
        let of_metric = Note {
            metric: Some("goodput_per_s".to_owned()),
            ..note("less is fine", true)
        };
        let all = [note("new disk", false), note("accepted", true), of_metric];
        for note in &all {
            write_note(run.path(), note).unwrap();
        }
        assert_eq!(read_notes(run.path()), all);
    }

    #[test]
    fn a_note_that_cannot_be_read_says_so_in_its_place() {
        let run = tempfile::tempdir().unwrap();
        write_note(run.path(), &note("new disk", false)).unwrap();
        let folder = run.path().join(NOTES);
        fs::write(folder.join("a.json"), "{").unwrap();
        let other = r#"{"format":9,"written_utc":"","text":"x"}"#;
        fs::write(folder.join("b.json"), other).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", folder.join("c.json")).unwrap();
        let texts: Vec<String> = (read_notes(run.path()).into_iter())
            .map(|note| note.text)
            .collect();
        let expected = [
            "new disk",
            "notes/a.json cannot be read: EOF",
            "notes/b.json cannot be read: it has format 9",
            "notes/c.json cannot be read: it is a link",
        ];
        assert_eq!(texts.len(), expected.len());
        for (text, expected) in texts.iter().zip(expected) {
            assert!(text.starts_with(expected), "{text}");
        }
    }
}

//! Objects with names, kept in a file: what a study prepares a system with.

use std::{
    collections::{HashMap, HashSet},
    fs::{File, OpenOptions, read_to_string},
    io::Write,
};

/// What the store refuses.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    /// The first request for every n-th object is refused for now.
    pub(crate) busy: Option<usize>,
    /// There is room for no more.
    pub(crate) full: Option<usize>,
    /// The process ends when it has so many.
    pub(crate) dies: Option<usize>,
}

#[derive(Debug, Default)]
pub(crate) struct Objects {
    names: HashSet<String>,
    refused: HashMap<String, u32>,
    file: Option<File>,
    pub(crate) limits: Limits,
    /// Work that is left after the last object; each look finds less of it.
    pending: u64,
}

/// Status, a header line, and body.
pub(crate) type Answer = (u16, Option<(&'static str, &'static str)>, String);

impl Objects {
    /// Objects in this folder, which may have some already.
    pub(crate) fn open(folder: &str) -> std::io::Result<Self> {
        let path = format!("{folder}/objects");
        let names = read_to_string(&path).unwrap_or_default();
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            names: names.lines().map(str::to_owned).collect(),
            file: Some(file),
            ..Self::default()
        })
    }

    /// `None`: the path is none of an object.
    pub(crate) fn answer(&mut self, method: &str, path: &str) -> Option<Answer> {
        if path == "/count" {
            return Some((200, None, format!("{{\"count\": {}}}", self.names.len())));
        }
        if path == "/pending" {
            self.pending = self.pending.saturating_sub(1);
            return Some((200, None, format!("{{\"pending\": {}}}", self.pending)));
        }
        let name = path.strip_prefix("/objects/")?;
        Some(match method {
            "POST" => self.make(name),
            _ if self.names.contains(name.trim_start_matches("id-")) => {
                (200, None, name.to_owned())
            }
            _ => (404, None, String::new()),
        })
    }

    fn make(&mut self, name: &str) -> Answer {
        if self.names.contains(name) {
            return (409, None, String::new());
        }
        let tries = self.refused.entry(name.to_owned()).or_insert(0);
        *tries += 1;
        let is_nth =
            |n: usize| name.ends_with(|digit: char| digit.to_digit(10) == u32::try_from(n).ok());
        if *tries == 1 && self.limits.busy.is_some_and(is_nth) {
            return (503, Some(("Retry-After", "0")), String::new());
        }
        let count = self.names.len();
        if self.limits.full.is_some_and(|full| count >= full) {
            return (507, None, "no space left".to_owned());
        }
        if self.limits.dies.is_some_and(|dies| count >= dies) {
            std::process::exit(7);
        }
        self.names.insert(name.to_owned());
        if let Some(file) = &mut self.file {
            // A test that finds fewer objects fails.
            writeln!(file, "{name}").ok();
        }
        self.pending = 3;
        (200, None, format!("{{\"id\": \"id-{name}\"}}"))
    }
}

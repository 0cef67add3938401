//! curl's `-H`: a header, its removal, or a file of them.

use anyhow::{Result, bail};

use super::{super::shell::EXPANSION, Command, is_token};
use crate::target::basic;

impl Command {
    /// A header, or those of a file, one a line.
    pub(super) fn headers_of(
        &mut self,
        text: &str,
        read: &dyn Fn(&str) -> Result<String>,
    ) -> Result<()> {
        match text.strip_prefix('@') {
            Some(file) => {
                let lines = read(file)?;
                let lines = lines.lines().filter(|line| !line.trim().is_empty());
                lines.for_each(|line| self.header(line));
            }
            None => self.header(text),
        }
        Ok(())
    }

    /// `Name: value`; `Name;` sends an empty value, `Name:` removes a default header.
    fn header(&mut self, text: &str) {
        let (name, value) = match (text.split_once(':'), text.strip_suffix(';')) {
            (Some((name, value)), _) => (
                name.trim(),
                Some(value.trim()).filter(|value| !value.is_empty()),
            ),
            (None, Some(name)) => (name, Some("")),
            (None, None) => ("", None),
        };
        let line = match value {
            Some(value) if is_token(name) => {
                return self.headers.push((name.to_owned(), value.to_owned()));
            }
            None if ["host", "content-length"].contains(&&*name.to_ascii_lowercase()) => {
                format!("curl's -H {name}: this header is always sent")
            }
            None if is_token(name) => return self.removed.push(name.to_owned()),
            // Only the name of an invalid header is shown: the rest may be secret.
            _ => match text.split_once([':', ';', ' ']) {
                Some((name, _)) if is_token(name) => format!("a header {name}: it has no value"),
                _ => "a header without a colon".to_owned(),
            },
        };
        self.left_out.push(line);
    }

    /// A header that curl writes for another option; of several of one name the last counts.
    pub(super) fn header_by_option(&mut self, option: &str, value: String) -> Result<()> {
        let (name, value) = match option {
            "-u" | "--user" if !value.contains([':', EXPANSION]) => {
                bail!("curl's -u asks for the password; expected name:password")
            }
            "-u" | "--user" => ("Basic", basic(&value)),
            "--oauth2-bearer" => ("Authorization", format!("Bearer {value}")),
            "-A" | "--user-agent" => ("User-Agent", value),
            "-e" | "--referer" => {
                let first = value.split(";auto").next().unwrap_or_default();
                ("Referer", first.to_owned())
            }
            "-r" | "--range" => ("Range", format!("bytes={value}")),
            _ if value.contains(['=', EXPANSION]) => {
                self.cookies.push(value);
                return Ok(());
            }
            _ => {
                let what = "curl's -b: a cookie file is not read".to_owned();
                self.left_out.push(what);
                return Ok(());
            }
        };
        self.by_option.retain(|(known, _)| *known != name);
        self.by_option.push((name, value));
        Ok(())
    }
}

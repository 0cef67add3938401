//! Random words that the components of a system share, and their removal from everything that is kept.
//!
//! A secret is created when it is first used, unless the study gives it, and forgotten with the system. A random secret of a
//! system that is gone opens nothing. Even so it is in no result, no report and no kept log.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt,
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use waggle_study::{GivenSecret, TakenValue};

use crate::{
    placeholder::{PlaceholderError, fill},
    secrets::{forms::secret_forms, tokens::Tokens},
};

const PREFIX: &str = "secret.";
/// The name of the newest token.
pub const TOKEN: &str = "oauth2.token";
/// Random bytes of a secret; they are written as twice as many hexadecimal digits.
const BYTES: usize = 20;
/// Values of requests from outside may be no secrets. A shorter value occurs too often in the output of components, and is not
/// replaced.
const TAKEN_MIN_BYTES: usize = 6;

/// The secrets of one system that is up.
#[derive(Default)]
pub struct Secrets {
    words: RefCell<BTreeMap<String, String>>,
    /// Those that the study gives.
    given: BTreeSet<String>,
    /// Those that components give once they are ready.
    awaited: RefCell<BTreeSet<String>>,
    /// Values of the load's requests from outside: source and value.
    taken: Vec<(String, String)>,
    pub tokens: Tokens,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.words.borrow().keys()).finish()
    }
}

impl Secrets {
    /// Given secrets are not created; values that the load takes from outside are hidden as well.
    pub fn from_given(given: &[GivenSecret], taken: &[TakenValue]) -> Self {
        let value = |given: &GivenSecret| Some((given.name.clone(), given.value.clone()?));
        let words: BTreeMap<String, String> = given.iter().filter_map(value).collect();
        let taken = taken.iter();
        let taken = taken.filter(|taken| taken.value.len() >= TAKEN_MIN_BYTES);
        Self {
            given: words.keys().cloned().collect(),
            words: RefCell::new(words),
            awaited: RefCell::default(),
            taken: taken
                .map(|taken| (taken.origin.name(), taken.value.clone()))
                .collect(),
            tokens: Tokens::default(),
        }
    }

    /// Sets secrets that are in the files of a system already; those that were given are not replaced.
    pub fn restore(&self, words: BTreeMap<String, String>) {
        let mut known = self.words.borrow_mut();
        for (name, word) in words {
            known.entry(name).or_insert(word);
        }
    }

    /// Components give these secrets once they are ready: none is made up for them before.
    pub fn wait_for<'n>(&self, names: impl Iterator<Item = &'n str>) {
        let names = names.filter(|name| !self.given.contains(*name));
        self.awaited.borrow_mut().extend(names.map(str::to_owned));
    }

    /// Sets a secret that a component gave, unless the study gives it.
    pub fn set(&self, name: &str, value: String) {
        if !self.given.contains(name) {
            self.words.borrow_mut().insert(name.to_owned(), value);
        }
    }

    /// The value of `${secret.NAME}`, or of `${oauth2.token}` once one was fetched; `None` for another name, or if the system
    /// gives no random bytes.
    pub fn placeholder(&self, name: &str) -> Option<String> {
        if name == TOKEN {
            return self.tokens.newest().map(|token| token.value);
        }
        let name = name.strip_prefix(PREFIX)?;
        if let Some(known) = self.words.borrow().get(name) {
            return Some(known.clone());
        }
        if self.awaited.borrow().contains(name) {
            return None;
        }
        let word = random_word().ok()?;
        self.words
            .borrow_mut()
            .insert(name.to_owned(), word.clone());
        Some(word)
    }

    /// A text with its `${secret.NAME}` filled.
    pub fn fill(&self, text: &str) -> Result<String, PlaceholderError> {
        fill(text, |name| self.placeholder(name))
    }

    /// The same with a token that may be another one when the text is used: `${oauth2.token}` stays.
    pub fn fill_but_token(&self, text: &str) -> Result<String, PlaceholderError> {
        fill(text, |name| self.placeholder_but_token(name))
    }

    pub fn placeholder_but_token(&self, name: &str) -> Option<String> {
        match name {
            TOKEN => Some(format!("${{{TOKEN}}}")),
            _ => self.placeholder(name),
        }
    }

    /// The secrets that were used, with their values.
    pub fn used_values(&self) -> Vec<(String, String)> {
        let known = self.words.borrow();
        known
            .iter()
            .map(|(name, word)| (name.clone(), word.clone()))
            .collect()
    }

    /// The text without any secret.
    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (form, mark) in self.hidden_texts() {
            if text.contains(&form) {
                text = text.replace(&form, &mark);
            }
        }
        text
    }

    /// The forms of all secrets that no text may have, the longest first, each with what stands in its place. One that was given may be
    /// part of another.
    pub fn hidden_texts(&self) -> Vec<(String, String)> {
        let mut known = self.used_values();
        let awaited = self.awaited.borrow();
        known.retain(|(name, word)| word.len() >= TAKEN_MIN_BYTES || !awaited.contains(name));
        known.extend_from_slice(&self.taken);
        let tokens = self.tokens.hidden_values().into_iter();
        let tokens = tokens.filter(|token| token.len() >= TAKEN_MIN_BYTES);
        known.extend(tokens.map(|token| (TOKEN.to_owned(), token)));
        let mut hidden: Vec<(String, String)> = known
            .into_iter()
            .flat_map(|(name, word)| {
                let mark = format!("[secret {name}]");
                let forms = secret_forms(&word).into_iter();
                forms.map(move |form| (form, mark.clone()))
            })
            .collect();
        hidden.sort_by_key(|(form, _)| std::cmp::Reverse(form.len()));
        hidden
    }

    /// Removes the secrets from every file of a folder. The files are logs, so their size is bounded.
    pub fn redact_files(&self, folder: &Path) -> io::Result<()> {
        let hidden = self.hidden_texts();
        if hidden.is_empty() {
            return Ok(());
        }
        for entry in fs::read_dir(folder)? {
            let file = entry?.path();
            if file.is_file() {
                redact_file(&file, &hidden)?;
            }
        }
        Ok(())
    }
}

fn redact_file(file: &Path, hidden: &[(String, String)]) -> io::Result<()> {
    let before = fs::read(file)?;
    let mut after = before.clone();
    for (form, mark) in hidden {
        after = replace_bytes(&after, form.as_bytes(), mark.as_bytes());
    }
    if after == before {
        return Ok(());
    }
    fs::write(file, after)
}

/// Works on bytes, because logs need not be UTF-8.
fn replace_bytes(text: &[u8], word: &[u8], by: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut from = 0;
    for position in memchr::memmem::find_iter(text, word) {
        bytes.extend_from_slice(&text[from..position]);
        bytes.extend_from_slice(by);
        from = position + word.len();
    }
    bytes.extend_from_slice(&text[from..]);
    bytes
}

pub(crate) fn random_word() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use waggle_study::{GivenSecret, Origin, TakenValue};

    use super::Secrets;

    #[test]
    fn a_secret_is_the_same_wherever_it_is_named_and_another_in_the_next_system() {
        let (secrets, other) = (Secrets::default(), Secrets::default());
        let word = secrets.fill("${secret.token}").unwrap();
        assert_eq!(word.len(), 40);
        assert_eq!(
            secrets.fill("a ${secret.token}").unwrap(),
            format!("a {word}")
        );
        assert_ne!(secrets.fill("${secret.other}").unwrap(), word);
        assert_ne!(other.fill("${secret.token}").unwrap(), word);
        assert!(secrets.fill("${token}").is_err());
    }

    #[test]
    fn given_secrets_are_used_and_hidden_even_where_one_is_part_of_another() {
        let given = |name: &str, value: &str| GivenSecret {
            name: name.to_owned(),
            origin: Origin::Variable("X".to_owned()),
            at: (1, 1),
            value: Some(value.to_owned()),
        };
        let secrets =
            Secrets::from_given(&[given("a", "door"), given("b", "door-of-the-house")], &[]);
        assert_eq!(
            secrets.fill("${secret.a} ${secret.b}").unwrap(),
            "door door-of-the-house"
        );
        assert_eq!(
            secrets.redact("door-of-the-house, door"),
            "[secret b], [secret a]"
        );
        assert_eq!(secrets.fill("${secret.c}").unwrap().len(), 40);
    }

    #[test]
    fn what_headers_have_from_outside_is_hidden_unless_it_is_short() {
        let taken = |origin, value: &str| TakenValue {
            origin,
            value: value.to_owned(),
        };
        let secrets = Secrets::from_given(
            &[],
            &[
                taken(Origin::Variable("TOKEN".to_owned()), "open-sesame"),
                taken(Origin::Variable("PASSWORD".to_owned()), "a b&\"c"),
                taken(Origin::File("a/key".to_owned()), "sesame"),
                taken(Origin::Variable("SHOP".to_owned()), "shop"),
            ],
        );
        let text = "Bearer open-sesame, sesame of shop; a%20b%26%22c a b&\\\"c";
        let password = "[secret env.PASSWORD]";
        let hidden = format!(
            "Bearer [secret env.TOKEN], [secret file:a/key] of shop; {password} {password}"
        );
        assert_eq!(secrets.redact(text), hidden);
        assert!(
            secrets.used_values().is_empty(),
            "no component may ask for them"
        );
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.log");
        std::fs::write(&file, text).unwrap();
        secrets.redact_files(folder.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), hidden);
    }

    #[test]
    fn nothing_kept_shows_it() {
        let secrets = Secrets::default();
        let word = secrets.fill("${secret.token}").unwrap();
        let text = format!("token={word}, again {word}");
        assert_eq!(
            secrets.redact(&text),
            "token=[secret token], again [secret token]"
        );
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.log");
        let log = [b"\xff", text.as_bytes(), b"\xfe"].concat();
        std::fs::write(&file, log).unwrap();
        secrets.redact_files(folder.path()).unwrap();
        let log = std::fs::read(&file).unwrap();
        assert_eq!(
            log,
            b"\xfftoken=[secret token], again [secret token]\xfe".to_vec()
        );
        assert!(!format!("{secrets:?}").contains(&word));
    }

    #[test]
    fn what_a_component_gives_is_not_made_up() {
        let secrets = Secrets::default();
        secrets.wait_for(["session", "pin"].into_iter());
        assert!(secrets.fill("${secret.session}").is_err());
        secrets.set("session", "open-sesame".to_owned());
        secrets.set("pin", "1".to_owned());
        assert_eq!(secrets.fill("${secret.session}").unwrap(), "open-sesame");
        // So short a word occurs everywhere.
        assert_eq!(secrets.redact("1 open-sesame"), "1 [secret session]");
    }

    #[test]
    fn what_the_study_gives_is_not_replaced() {
        let given = GivenSecret {
            name: "session".to_owned(),
            origin: Origin::Variable("X".to_owned()),
            at: (1, 1),
            value: Some("ours".to_owned()),
        };
        let secrets = Secrets::from_given(&[given], &[]);
        secrets.wait_for(["session"].into_iter());
        secrets.set("session", "theirs".to_owned());
        assert_eq!(secrets.fill("${secret.session}").unwrap(), "ours");
    }
}

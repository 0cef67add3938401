//! Clients by what they show: tokens, names in certificates, and subjects of issuers' tokens.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{audit::Changes, jwt::Issuer, known_client::Identity, token::Digest};

/// Stands for every subject that no client names.
const ANY_SUBJECT: &str = "*";

/// The clients of a file.
#[derive(Default)]
pub(super) struct Table {
    names: BTreeMap<Box<str>, Arc<Identity>>,
    tokens: HashMap<Digest, Arc<Identity>>,
    certificates: HashMap<Box<str>, Arc<Identity>>,
    /// By subject, then by the name of the issuer.
    subjects: HashMap<Box<str>, HashMap<Box<str>, Arc<Identity>>>,
    pub(super) issuers: Vec<Issuer>,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn by_name(&self, name: &str) -> Option<&Arc<Identity>> {
        self.names.get(name)
    }

    pub(super) fn by_token(&self, digest: &Digest) -> Option<&Arc<Identity>> {
        self.tokens.get(digest)
    }

    /// The client of the first name of a certificate that is one of a client.
    pub(super) fn by_certificate(&self, names: &[Box<str>]) -> Option<&Arc<Identity>> {
        names.iter().find_map(|name| self.certificates.get(name))
    }

    /// The client of a subject, or the one of all other subjects of the issuer (`*`).
    pub(super) fn by_subject(&self, issuer: &str, subject: &str) -> Option<&Arc<Identity>> {
        let client = |subject: &str| self.subjects.get(subject)?.get(issuer);
        client(subject).or_else(|| client(ANY_SUBJECT))
    }

    /// Adds a client; whether its name is new.
    pub(super) fn add(&mut self, identity: &Arc<Identity>) -> bool {
        let name = identity.name.clone();
        self.names.insert(name, Arc::clone(identity)).is_none()
    }

    /// Adds a token of a client; whether it is new.
    pub(super) fn add_token(&mut self, digest: Digest, identity: &Arc<Identity>) -> bool {
        let before = self.tokens.insert(digest, Arc::clone(identity));
        before.is_none()
    }

    /// Adds a name in certificates of a client; whether it is new.
    pub(super) fn add_certificate(&mut self, name: &str, identity: &Arc<Identity>) -> bool {
        let before = self.certificates.insert(name.into(), Arc::clone(identity));
        before.is_none()
    }

    /// Adds a subject of an issuer's tokens of a client; whether it is new.
    pub(super) fn add_subject(
        &mut self,
        issuer: &str,
        subject: &str,
        identity: &Arc<Identity>,
    ) -> bool {
        let of_subject = self.subjects.entry(subject.into()).or_default();
        let before = of_subject.insert(issuer.into(), Arc::clone(identity));
        before.is_none()
    }

    /// What the next version of the file changes.
    pub(super) fn changes(&self, next: &Self) -> Changes {
        let names = |from: &Self, is_meant: &dyn Fn(&Identity) -> bool| {
            let meant = from.names.iter().filter(|(_, identity)| is_meant(identity));
            meant.map(|(name, _)| name.to_string()).collect()
        };
        Changes {
            added: names(next, &|identity| !self.names.contains_key(&identity.name)),
            removed: names(self, &|identity| !next.names.contains_key(&identity.name)),
            changed: names(next, &|identity| {
                let before = self.names.get(&identity.name);
                before.is_some_and(|before| before.entry != identity.entry)
            }),
        }
    }
}

//! Who sends the requests of a connection, and the judgement of each request.

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
};

use super::{
    Gate, Identities,
    audit::Event,
    certificate::Certificate,
    jwt::{self, Refused},
    known_client::Identity,
    pages, token,
};
use crate::{
    answers::problem::Problem,
    clients::{
        client::{Client, NamedTopic},
        floods::Floods,
        memory::Memory,
    },
    http1::Head,
    ingest::influx,
};

/// Who sends a request.
#[derive(Clone)]
pub(crate) struct Caller {
    gate: Arc<Gate>,
    /// Its address.
    pub(crate) client: Arc<Client>,
    /// `None` if this gateway knows no identities.
    pub(crate) identity: Option<Arc<Identity>>,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.identity.as_ref().map(|identity| &identity.name);
        write!(f, "Caller({}, {name:?})", self.client.address)
    }
}

impl Caller {
    /// The memory that its requests take: that of its name, else that of its address.
    pub(crate) fn memory(&self) -> &Arc<Memory> {
        match &self.identity {
            Some(identity) => &identity.usage.memory,
            None => &self.client.memory,
        }
    }

    /// What it does in vain, by its name, else by its address.
    pub(crate) fn floods(&self) -> &Floods {
        match &self.identity {
            Some(identity) => &identity.usage.floods,
            None => &self.client.floods,
        }
    }

    /// Refuses a write to a topic without the right to it.
    pub(crate) fn check_write(&self, topic: &str) -> Result<(), Problem> {
        let allows = |identity: &Arc<Identity>| identity.write.allow(topic);
        self.check(topic, "write to", allows)
    }

    pub(crate) fn may_create(&self, topic: &str) -> bool {
        let identity = self.identity.as_ref();
        identity.is_none_or(|identity| identity.create.allow(topic))
    }

    /// Refuses to create a topic without the right to it.
    pub(crate) fn check_create(&self, topic: &str) -> Result<(), Problem> {
        let allows = |identity: &Arc<Identity>| identity.create.allow(topic);
        self.check(topic, "create", allows)
    }

    /// Refuses to delete a topic without the right to it, which nobody has who is not known.
    pub(crate) fn check_delete(&self, topic: &str) -> Result<(), Problem> {
        if self.identity.is_none() {
            return Err(self.refuse(403, "topics are deleted by clients that are known alone"));
        }
        let allows = |identity: &Arc<Identity>| identity.delete.allow(topic);
        self.check(topic, "delete", allows)
    }

    pub(crate) fn may_read(&self, topic: &str) -> bool {
        let identity = self.identity.as_ref();
        identity.is_none_or(|identity| identity.read.allow(topic))
    }

    /// Refuses a read of a topic without the right to it.
    pub(crate) fn check_read(&self, topic: &str) -> Result<(), Problem> {
        let allows = |identity: &Arc<Identity>| identity.read.allow(topic);
        self.check(topic, "read", allows)
    }

    fn check(
        &self,
        topic: &str,
        what: &str,
        allows: impl Fn(&Arc<Identity>) -> bool,
    ) -> Result<(), Problem> {
        match &self.identity {
            Some(identity) if !allows(identity) => {
                let name = &identity.name;
                Err(self.refuse(403, format!("client {name} may not {what} topic {topic}")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses what is about all topics without the right to read them all.
    pub(crate) fn check_read_all(&self) -> Result<(), Problem> {
        match &self.identity {
            Some(identity) if !identity.read.allow_all() => {
                let name = &identity.name;
                Err(self.refuse(403, format!("client {name} may not read all topics")))
            }
            _ => Ok(()),
        }
    }

    /// The problem of a refusal, of which the audit has a line.
    pub(crate) fn refuse(&self, status: u16, detail: impl Into<String>) -> Problem {
        let identity = self.identity.as_ref().map(|identity| &*identity.name);
        self.refuse_named(identity, status, detail)
    }

    /// The same for a client whose name is known and which has no connection yet.
    fn refuse_named(
        &self,
        identity: Option<&str>,
        status: u16,
        detail: impl Into<String>,
    ) -> Problem {
        let problem = Problem::new(status, detail);
        let event = Event::Refused {
            status,
            detail: &problem.detail,
        };
        let address = Some(self.client.address);
        self.gate.audit.write(event, address, identity);
        problem
    }

    /// A refusal of which the audit gets a line.
    pub(crate) fn note_refusal(&self, problem: Problem) -> Problem {
        let (status, detail) = (problem.status, &*problem.detail);
        self.note(Event::Refused { status, detail });
        problem
    }

    /// Counts a topic that it names first into its budget.
    pub(crate) fn name_topic(&self) -> Result<NamedTopic, Problem> {
        let named = self.client.name_topic();
        named.map_err(|wait_s| {
            let detail =
                "this client has named too many new topics in a minute (--client-topics-max)";
            self.refuse(429, detail).with_retry_after(wait_s)
        })
    }

    /// Counts bytes of a body of which a part is missing.
    pub(crate) fn take_in_flight(&self, bytes: usize) -> Result<(), Problem> {
        if self.memory().in_flight.take(bytes) {
            return Ok(());
        }
        let detail = "this client has sent too much of bodies that are not complete; try again";
        Err(self.refuse(429, detail))
    }

    /// Refuses a request of which a part is missing at the end of its timeout.
    pub(crate) fn refuse_late(&self) -> Problem {
        self.refuse(408, "the request did not arrive in time")
    }

    /// Writes an audit line.
    pub(crate) fn note(&self, event: Event<'_>) {
        let identity = self.identity.as_ref().map(|identity| &*identity.name);
        self.gate
            .audit
            .write(event, Some(self.client.address), identity);
    }
}

/// The caller of a connection, which usually is the same for all of its requests: the credentials are looked up once.
pub(crate) struct CallerOfConnection {
    pub(crate) caller: Caller,
    /// The `Authorization` of the identity; empty if it is the certificate's.
    authorization: Vec<u8>,
    version: u64,
    /// When its token expires, in seconds since 1970.
    expires: u64,
    /// What the client has shown in the TLS handshake.
    certificate: Option<Box<Certificate>>,
}

impl CallerOfConnection {
    pub(crate) fn new(
        gate: Arc<Gate>,
        client: Arc<Client>,
        certificate: Option<Box<Certificate>>,
    ) -> Self {
        Self {
            certificate,
            caller: Caller {
                gate,
                client,
                identity: None,
            },
            authorization: Vec::new(),
            version: 0,
            expires: u64::MAX,
        }
    }

    /// Judges a request by its head: whether a web page of another origin sends it, who sends it, and the sender's budget.
    #[inline]
    pub(crate) fn judge(&mut self, head: &Head<'_, '_>) -> Result<(), Problem> {
        let pages = &self.caller.gate.pages;
        let sender = &head.sender;
        if sender.origin.is_some() || sender.fetch_site.is_some() || !pages.hosts.is_empty() {
            pages::check(sender, pages)
                .map_err(|(status, detail)| self.caller.refuse(status, detail))?;
        }
        if let Some(certificate) = &mut self.certificate {
            let second = self.caller.gate.second.load(Ordering::Relaxed);
            let judged = certificate.check(second);
            judged.map_err(|detail| self.caller.refuse(401, detail))?;
        }
        match self.caller.gate.identities.clone() {
            Some(identities) if !is_open_to_all(head.target) => {
                self.identify(&identities, sender.authorization)
            }
            _ => Ok(()),
        }
    }

    /// Identifies the sender of a request, and counts it into the sender's budget.
    fn identify(
        &mut self,
        identities: &Identities,
        authorization: Option<&[u8]>,
    ) -> Result<(), Problem> {
        let version = identities.version();
        let presented = authorization.unwrap_or_default();
        let second = self.caller.gate.second.load(Ordering::Relaxed);
        let is_known = self.caller.identity.is_some()
            && self.version == version
            && self.authorization == presented
            && second <= self.expires;
        if !is_known {
            self.leave();
            let looked_up = match authorization {
                Some(text) => find_by_authorization(identities, text),
                None => self.find_by_certificate(identities),
            };
            let (identity, expires) =
                looked_up.map_err(|refused| self.caller.refuse(refused.status, refused.detail))?;
            self.enter(identity)?;
            self.expires = expires;
            self.authorization.clear();
            self.authorization.extend_from_slice(presented);
            self.version = version;
        }
        let Some(identity) = &self.caller.identity else {
            return Ok(());
        };
        let second = self.caller.gate.second.load(Ordering::Relaxed);
        let max = identity.requests_per_second;
        let taken = identity.usage.requests.take(1, max, second);
        taken.map_err(|wait| self.over_budget(identity, "requests per second", wait))
    }

    fn find_by_certificate(&self, identities: &Identities) -> Result<Found, Refused> {
        let certificate = self.certificate.as_ref();
        let certificate = certificate.ok_or(NO_TOKEN)?;
        let table = identities.table();
        let identity = table.by_certificate(certificate.names());
        // When it expires is checked with each request anyway.
        let lasting = identity.map(|identity| (Arc::clone(identity), u64::MAX));
        lasting.ok_or(refusal("no name of the certificate is known here"))
    }

    /// Counts bytes of a body into the sender's budget.
    pub(crate) fn count_bytes(&self, bytes: usize) -> Result<(), Problem> {
        let Some(identity) = &self.caller.identity else {
            return Ok(());
        };
        let second = self.caller.gate.second.load(Ordering::Relaxed);
        let max = identity.bytes_per_second;
        let taken = identity.usage.bytes.take(bytes as u64, max, second);
        taken.map_err(|wait| self.over_budget(identity, "bytes per second", wait))
    }

    fn enter(&mut self, identity: Arc<Identity>) -> Result<(), Problem> {
        let open = &identity.usage.connections;
        if open.fetch_add(1, Ordering::Relaxed) >= identity.connections {
            open.fetch_sub(1, Ordering::Relaxed);
            return Err(self.over_budget(&identity, "open connections", 1));
        }
        self.caller.identity = Some(identity);
        Ok(())
    }

    fn over_budget(&self, identity: &Identity, what: &str, wait_s: u64) -> Problem {
        let name = &*identity.name;
        let detail = format!("client {name} is above its limit of {what}");
        let problem = self.caller.refuse_named(Some(name), 429, detail);
        problem.with_retry_after(wait_s)
    }

    fn leave(&mut self) {
        if let Some(identity) = self.caller.identity.take() {
            identity.usage.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for CallerOfConnection {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A client, and until when what it has shown is valid.
type Found = (Arc<Identity>, u64);

const NO_TOKEN: Refused = refusal("this gateway needs a token");

const fn refusal(detail: &'static str) -> Refused {
    Refused {
        status: 401,
        detail,
    }
}

fn find_by_authorization(identities: &Identities, authorization: &[u8]) -> Result<Found, Refused> {
    let digest = token::read_authorization(authorization);
    let table = identities.table();
    let known = digest.and_then(|digest| table.by_token(&digest).cloned());
    if let Some(identity) = known {
        return Ok((identity, u64::MAX));
    }
    let jwt = token::read_bearer(authorization).filter(|token| jwt::is_jwt(token));
    let Some(token) = jwt.filter(|_| !table.issuers.is_empty()) else {
        return Err(refusal("the token is not known here"));
    };
    let verified = jwt::verify(token, &table.issuers)?;
    let identity = table.by_subject(&verified.issuer, &verified.subject);
    let identity = identity.ok_or(refusal("the subject of the token is not known here"))?;
    Ok((Arc::clone(identity), verified.expires))
}

/// Probes of the process have no token, and learn nothing.
fn is_open_to_all(target: &str) -> bool {
    matches!(target, "/healthz" | "/readyz") || influx::is_probe(target)
}

//! The claim of a run to a namespace: a Lease in it, which a second run finds. Instants in it are those of the API server's clock, so
//! clocks of hosts do not matter.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::{
    access::Access,
    api::{ApiError, Call, Kind, Verb},
    labels::RUN_LABEL,
    objects::{Created, Ledger, ObjectError},
};

/// Its name in every namespace.
const LEASE: &str = "waggle";
const HOST_ANNOTATION: &str = "waggle/host";
/// How often an expired lease is taken from under another one that does the same.
const ATTEMPTS_MAX: u32 = 3;
/// A lease is renewed so often in its duration.
const RENEWALS: u32 = 4;

/// The namespace of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Namespace {
    /// It is there, and stays.
    Given(String),
    /// It is made for the run, and removed with all that is in it.
    Made(String),
}

/// Who claims a namespace.
#[derive(Debug, Clone)]
pub struct Holder {
    /// The name of this host, for messages to others.
    pub host: String,
    /// After this time without a renewal others may take the namespace; a minute is usual.
    pub lease: Duration,
}

/// A namespace that is this run's alone. It is renewed until this is dropped; the [`Ledger`] removes it.
#[derive(Debug)]
pub struct Claim {
    pub namespace: String,
    pub lease: Created,
    lost: watch::Receiver<Option<String>>,
    renewal: JoinHandle<()>,
}

/// Why a namespace was not claimed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Another run has it.
    #[error("{0}")]
    Held(Box<Held>),
    #[error(
        "namespace {namespace} was made for run {run} and is removed with it; choose another one, or remove what that run left \
         with `waggle system down`"
    )]
    OfOtherRun { namespace: String, run: String },
    #[error(
        "namespace {0} is there already, and waggle did not make it; if the run may use it, give it as the namespace, and it stays"
    )]
    Exists(String),
    #[error("there is no namespace {0}")]
    NotThere(String),
    #[error("namespace {0} is being deleted; try again when it is gone")]
    Terminating(String),
    #[error(transparent)]
    Object(#[from] ObjectError),
}

/// The run that has a namespace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "namespace {namespace} is used by run {run} on {host} since {since} (renewed {renewed}); wait for its end, or choose another \
     namespace; if that run was killed, the namespace is free {lease_seconds} s after the last renewal"
)]
pub struct Held {
    pub namespace: String,
    pub run: String,
    pub host: String,
    pub since: String,
    pub renewed: String,
    pub lease_seconds: i64,
}

impl From<ApiError> for ClaimError {
    fn from(why: ApiError) -> Self {
        Self::Object(why.into())
    }
}

impl Claim {
    /// Makes the namespace if that is asked for, and takes the lease in it.
    ///
    /// # Errors
    /// Another run has it, or what is needed is not there or not allowed.
    pub async fn acquire(
        ledger: &mut Ledger,
        namespace: &Namespace,
        holder: &Holder,
    ) -> Result<Self, ClaimError> {
        let name = match namespace {
            Namespace::Given(name) => check_given(ledger, name).await.map(|()| name)?,
            Namespace::Made(name) => make(ledger, name).await.map(|()| name)?,
        };
        let (lease, object, offset) = take(ledger, name, holder).await?;
        let (sender, lost) = watch::channel(None);
        let renewing = Renewing {
            access: ledger.access().clone(),
            namespace: name.clone(),
            lease: holder.lease,
            offset,
            object,
        };
        let renewal = tokio::spawn(async move {
            let why = renewing.renew_until_lost().await;
            // Nobody may wait for it.
            let _ = sender.send(Some(why));
        });
        Ok(Self {
            namespace: name.clone(),
            lease,
            lost,
            renewal,
        })
    }

    /// Waits until the namespace is not this run's any more, and says why.
    pub async fn loss(&self) -> String {
        let mut lost = self.lost.clone();
        let why = lost.wait_for(Option::is_some).await;
        match why {
            Ok(why) => why.clone().unwrap_or_default(),
            // The task has ended without a word: it was cancelled with its runtime.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

async fn check_given(ledger: &Ledger, name: &str) -> Result<(), ClaimError> {
    let call = Call::new(Verb::Get, Kind::Namespace, None).name(name);
    let object = match ledger.access().call(call).await {
        // The lease below shows whether it is there.
        Err(ApiError::Forbidden { .. }) => return Ok(()),
        Err(why) if why.is_not_found() => return Err(ClaimError::NotThere(name.to_owned())),
        answer => answer?.value,
    };
    if object["status"]["phase"] == "Terminating" {
        return Err(ClaimError::Terminating(name.to_owned()));
    }
    check_run(&object, ledger.run(), name)
}

/// Refuses a namespace that waggle made for another run.
fn check_run(namespace: &Value, run: &str, name: &str) -> Result<(), ClaimError> {
    let other = namespace["metadata"]["labels"][RUN_LABEL].as_str();
    match other.filter(|other| *other != run) {
        None => Ok(()),
        Some(other) => Err(ClaimError::OfOtherRun {
            namespace: name.to_owned(),
            run: other.to_owned(),
        }),
    }
}

async fn make(ledger: &mut Ledger, name: &str) -> Result<(), ClaimError> {
    let manifest = json!({ "metadata": { "name": name } });
    let made = ledger.create(Kind::Namespace, None, manifest).await;
    let Err(ObjectError::Api(ApiError::Conflict { .. })) = made else {
        return made.map(drop).map_err(ClaimError::from);
    };
    let call = Call::new(Verb::Get, Kind::Namespace, None).name(name);
    let object = ledger.access().call(call).await?.value;
    check_run(&object, ledger.run(), name)?;
    Err(ClaimError::Exists(name.to_owned()))
}

/// Takes the lease. Returns it, as it is in the API, and how far the API's clock is ahead of ours.
async fn take(
    ledger: &mut Ledger,
    namespace: &str,
    holder: &Holder,
) -> Result<(Created, Value, SignedDuration), ClaimError> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let call = Call::new(Verb::List, Kind::Lease, Some(namespace))
            .option("fieldSelector", format!("metadata.name={LEASE}"));
        let answer = ledger.access().call(call).await?;
        let offset = answer.date.map_or(SignedDuration::ZERO, |date| {
            date.duration_since(Timestamp::now())
        });
        if let Some(there) = answer.value["items"].get(0) {
            if let Some(held) = refusal(there, namespace, ledger.run(), offset) {
                return Err(held);
            }
            expel(ledger.access(), namespace, there).await?;
        }
        let manifest = manifest(ledger.run(), holder, Timestamp::now() + offset);
        let made = ledger
            .create_object(Kind::Lease, Some(namespace), manifest)
            .await;
        match made {
            Err(ObjectError::Api(ApiError::Conflict { .. })) if attempts < ATTEMPTS_MAX => {}
            Err(ObjectError::Api(why)) if why.is_not_found() => {
                return Err(ClaimError::NotThere(namespace.to_owned()));
            }
            made => {
                return made
                    .map(|(lease, object)| (lease, object, offset))
                    .map_err(Into::into);
            }
        }
    }
}

/// That another run holds the lease; `None`: it has expired.
fn refusal(
    lease: &Value,
    namespace: &str,
    run: &str,
    offset: SignedDuration,
) -> Option<ClaimError> {
    let spec = &lease["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let seconds = spec["leaseDurationSeconds"].as_i64().unwrap_or_default();
    let renewed = text(&spec["renewTime"]);
    let holder = text(&spec["holderIdentity"]);
    let until = renewed.parse::<Timestamp>().ok()? + SignedDuration::from_secs(seconds);
    let now = Timestamp::now() + offset;
    if now > until || holder == run {
        return None;
    }
    Some(ClaimError::Held(Box::new(Held {
        namespace: namespace.to_owned(),
        run: holder,
        host: text(&lease["metadata"]["annotations"][HOST_ANNOTATION]),
        since: whole_seconds(&text(&spec["acquireTime"])),
        renewed: whole_seconds(&renewed),
        lease_seconds: seconds,
    })))
}

/// Removes an expired lease, unless it has been renewed meanwhile.
async fn expel(access: &Access, namespace: &str, lease: &Value) -> Result<(), ClaimError> {
    let metadata = &lease["metadata"];
    let call = Call::new(Verb::Delete, Kind::Lease, Some(namespace))
        .name(LEASE)
        .body(json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {
                "uid": metadata["uid"],
                "resourceVersion": metadata["resourceVersion"],
            },
        }));
    match access.call(call).await {
        // Who was faster is seen by the creation.
        Err(ApiError::NotFound { .. } | ApiError::Conflict { .. }) | Ok(_) => Ok(()),
        Err(why) => Err(why.into()),
    }
}

fn manifest(run: &str, holder: &Holder, now: Timestamp) -> Value {
    let now = micro_time(now);
    json!({
        "metadata": { "name": LEASE, "annotations": { HOST_ANNOTATION: holder.host } },
        "spec": {
            "holderIdentity": run,
            "leaseDurationSeconds": holder.lease.as_secs().max(1),
            "acquireTime": now,
            "renewTime": now,
        },
    })
}

fn micro_time(instant: Timestamp) -> String {
    instant.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

fn whole_seconds(text: &str) -> String {
    match text.parse::<Timestamp>() {
        Ok(instant) => instant.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Err(_) => "an unknown time".to_owned(),
    }
}

/// The task that renews a lease.
struct Renewing {
    access: Access,
    namespace: String,
    lease: Duration,
    offset: SignedDuration,
    object: Value,
}

/// Why a lease was not renewed.
enum NotRenewed {
    /// It is not this run's any more.
    Lost(String),
    /// It may be the next time.
    Api(ApiError),
}

impl Renewing {
    /// Returns why the lease is lost.
    async fn renew_until_lost(mut self) -> String {
        let namespace = self.namespace.clone();
        let mut renewed = Instant::now();
        loop {
            sleep(self.lease / RENEWALS).await;
            let why = match self.renew().await {
                Ok(()) => {
                    renewed = Instant::now();
                    continue;
                }
                Err(NotRenewed::Lost(why)) => {
                    return format!("the lease in namespace {namespace} {why}");
                }
                Err(NotRenewed::Api(why)) => why,
            };
            if renewed.elapsed() > self.lease {
                let seconds = self.lease.as_secs();
                return format!(
                    "the lease in namespace {namespace} could not be renewed for {seconds} s: {why}"
                );
            }
        }
    }

    async fn renew(&mut self) -> Result<(), NotRenewed> {
        match self.write().await {
            Err(ApiError::Conflict { .. } | ApiError::NotFound { .. }) => {}
            written => return written.map_err(NotRenewed::Api),
        }
        let there = self.access.find(Kind::Lease, Some(&self.namespace), LEASE);
        let Some(there) = there.await.map_err(NotRenewed::Api)? else {
            return Err(NotRenewed::Lost("was deleted".to_owned()));
        };
        if there["metadata"]["uid"] != self.object["metadata"]["uid"] {
            let run = there["spec"]["holderIdentity"].as_str().unwrap_or_default();
            return Err(NotRenewed::Lost(format!("was taken by run {run}")));
        }
        // Somebody has changed something in it, or the answer of an earlier attempt was lost.
        self.object = there;
        self.write().await.map_err(NotRenewed::Api)
    }

    async fn write(&mut self) -> Result<(), ApiError> {
        self.object["spec"]["renewTime"] = json!(micro_time(Timestamp::now() + self.offset));
        let call = Call::new(Verb::Update, Kind::Lease, Some(&self.namespace))
            .name(LEASE)
            .body(self.object.clone());
        self.object = self.access.call(call).await?.value;
        Ok(())
    }
}

//! The way to an API server: where it is, whom to trust and who one is, by a context of a kubeconfig or from within a pod. The texts of
//! these files have secrets, so no error shows a value of them.

mod credential;
mod file;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use kube::{Client, Config};
use tokio::sync::Mutex;

use self::credential::Credential;
use serde_json::Value;

use crate::api::{self, Answer, ApiError, Call, Kind, Resource, Verb, causes};

/// Until a connection is there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// New credentials are asked for so long before the old ones end.
const RENEW_BEFORE: SignedDuration = SignedDuration::from_secs(60);

/// A cluster, and who one is there. Clones share their connections.
#[derive(Clone)]
pub struct Access {
    /// Where it is from.
    pub origin: Arc<Origin>,
    config: Arc<Config>,
    program: Option<Arc<Credential>>,
    current: Arc<Mutex<Option<Current>>>,
}

/// Where an [`Access`] is from. Nothing in it is secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Absolute; `None`: from the service account of a pod, or from several files of `KUBECONFIG`.
    pub kubeconfig: Option<PathBuf>,
    /// `None`: from within a pod.
    pub context: Option<String>,
    /// Its URL.
    pub server: String,
    /// The namespace of the context, or of the pod.
    pub namespace: String,
    /// The program that is run for credentials, such as `aws` or `gke-gcloud-auth-plugin`.
    pub credential_program: Option<String>,
}

/// Why a cluster cannot be reached with what a file says.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error("{place}: {why}")]
    File { place: String, why: String },
    #[error(
        "{place}: the program {program}, which gives the credentials of user \"{user}\", {why}"
    )]
    Credentials {
        place: String,
        program: String,
        user: String,
        why: String,
    },
    #[error(
        "{place}: credentials are given by the program {program}, and a plan starts no programs"
    )]
    Program { place: String, program: String },
    #[error("this is no pod with a service account: {0}")]
    NotInCluster(String),
    #[error("cannot connect to {server}: {why}")]
    Client { server: String, why: String },
}

/// A client, and how long its credentials hold.
struct Current {
    client: Client,
    until: Option<Timestamp>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Access").field(&self.origin).finish()
    }
}

impl Access {
    /// Reads a kubeconfig: the given one, else those of `KUBECONFIG`, else `~/.kube/config`; and its context: the given one, else its
    /// current one. If the context has a program for credentials, it is run.
    ///
    /// # Errors
    /// The file cannot be read, has no such context, or its credentials cannot be had.
    pub async fn load(
        kubeconfig: Option<&Path>,
        context: Option<&str>,
    ) -> Result<Self, AccessError> {
        let read = file::read(kubeconfig, context).await?;
        Self::begin(read.config, read.origin, read.credential).await
    }

    /// The same for a plan, which starts nothing: a context with a program for credentials is refused.
    ///
    /// # Errors
    /// As above.
    pub async fn load_without_program(
        kubeconfig: Option<&Path>,
        context: Option<&str>,
    ) -> Result<Self, AccessError> {
        let read = file::read(kubeconfig, context).await?;
        if let (Some(program), Some(context)) =
            (&read.origin.credential_program, &read.origin.context)
        {
            let place = read.origin.kubeconfig.as_ref();
            let place = place.map_or("KUBECONFIG".into(), |file| file.to_string_lossy());
            return Err(AccessError::Program {
                place: format!("{place}, context \"{context}\""),
                program: program.clone(),
            });
        }
        Self::begin(read.config, read.origin, None).await
    }

    /// By the service account of the pod in which this runs.
    ///
    /// # Errors
    /// This is no pod, or it has no token.
    pub async fn in_cluster() -> Result<Self, AccessError> {
        let config = Config::incluster();
        let config = config.map_err(|why| AccessError::NotInCluster(causes(&why)))?;
        let origin = Origin {
            kubeconfig: None,
            context: None,
            server: config.cluster_url.to_string(),
            namespace: config.default_namespace.clone(),
            credential_program: None,
        };
        Self::begin(config, origin, None).await
    }

    async fn begin(
        mut config: Config,
        origin: Origin,
        credential: Option<Credential>,
    ) -> Result<Self, AccessError> {
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        // Calls are repeated here, with their own limits.
        config.default_retry = false;
        let access = Self {
            origin: Arc::new(origin),
            config: Arc::new(config),
            program: credential.map(Arc::new),
            current: Arc::default(),
        };
        access.client().await?;
        Ok(access)
    }

    /// A client whose credentials hold.
    pub(crate) async fn client(&self) -> Result<Client, AccessError> {
        let mut current = self.current.lock().await;
        let needed = Timestamp::now() + RENEW_BEFORE;
        if let Some(Current { client, until }) = &*current
            && until.is_none_or(|until| until > needed)
        {
            return Ok(client.clone());
        }
        let mut config = Config::clone(&self.config);
        let until = match &self.program {
            Some(program) => program.renew(&mut config.auth_info).await?,
            None => None,
        };
        let client = Client::try_from(config).map_err(|why| AccessError::Client {
            server: self.origin.server.clone(),
            why: causes(&why),
        })?;
        *current = Some(Current {
            client: client.clone(),
            until,
        });
        Ok(client)
    }

    /// The client of a call.
    pub(crate) async fn client_for(&self, call: &Call<'_>) -> Result<Client, ApiError> {
        let client = self.client().await;
        client.map_err(|why| ApiError::Credentials {
            what: call.target(),
            why: why.to_string(),
        })
    }

    pub(crate) async fn call(&self, call: Call<'_>) -> Result<Answer, ApiError> {
        api::send(&self.client_for(&call).await?, &call).await
    }

    /// The object of this name, if it is there. A lease is searched for in the list, for which there is a right anyway.
    pub(crate) async fn find<'a>(
        &self,
        kind: impl Into<Resource<'a>>,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, ApiError> {
        let resource = kind.into();
        if resource == Resource::Known(Kind::Lease) {
            let listing = Call::new(Verb::List, resource, namespace)
                .option("fieldSelector", format!("metadata.name={name}"));
            let mut list = self.call(listing).await?.value;
            return Ok(list["items"].get_mut(0).map(Value::take));
        }
        match self
            .call(Call::new(Verb::Get, resource, namespace).name(name))
            .await
        {
            Err(why) if why.is_not_found() => Ok(None),
            answer => answer.map(|answer| Some(answer.value)),
        }
    }

    pub(crate) async fn call_text(&self, call: Call<'_>) -> Result<String, ApiError> {
        let client = self.client_for(&call).await?;
        Ok(api::send_text(&client, &call).await?.text)
    }
}

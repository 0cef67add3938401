//! The push itself: what the registry has is not sent again.

use std::{fs::File, io::Read, path::Path, time::Duration};

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use oci_client::{
    Client,
    client::{ClientConfig, ClientProtocol},
    errors::OciDistributionError,
};
use tokio::time::timeout;

use super::{Credentials, Destination};
use crate::{digest::sha256, error::ImageError, image::Image, stop::Stop};

const CONNECT_AT_MOST: Duration = Duration::from_secs(10);
/// Without a byte from the registry.
const SILENT_AT_MOST: Duration = Duration::from_secs(120);
const BLOB_AT_MOST: Duration = Duration::from_secs(3600);
/// Bytes that are read of a file at once, and sent in one request of an upload.
const PART_BYTES: usize = 4 << 20;
/// What the library for TLS says of an answer in plain HTTP.
const NOT_TLS: &str = "InvalidContentType";
const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";

/// What a push did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// Layers and the configuration.
    pub sent: usize,
    pub sent_bytes: u64,
    /// Those that the registry had.
    pub known: usize,
}

/// Sends an image, its manifest last.
///
/// # Errors
/// The registry cannot be reached, refuses, or takes too long.
pub async fn push(
    image: &Image,
    destination: &Destination,
    credentials: &Credentials,
    stop: &Stop,
) -> Result<Pushed, ImageError> {
    let push = Push::new(destination, credentials)?;
    let registry = destination.reference.resolve_registry();
    push.client
        .store_auth_if_needed(registry, &credentials.auth)
        .await;
    let mut pushed = Pushed {
        sent: 0,
        sent_bytes: 0,
        known: 0,
    };
    let config = Blob {
        digest: format!("sha256:{}", sha256(&image.config)),
        size: image.config.len() as u64,
        content: BlobContent::Bytes(&image.config),
    };
    let layers = image.layers.iter().map(|layer| Blob {
        digest: format!("sha256:{}", layer.compressed.sha256),
        size: layer.compressed.size,
        content: BlobContent::File(&layer.file),
    });
    for blob in layers.chain([config]) {
        stop.check()?;
        match push.blob(&blob, stop).await? {
            true => {
                pushed.sent += 1;
                pushed.sent_bytes += blob.size;
            }
            false => pushed.known += 1,
        }
    }
    let kind = http::HeaderValue::from_static(MANIFEST_TYPE);
    let manifest = image.manifest.clone();
    let attempt = push
        .client
        .push_manifest_raw(&destination.reference, manifest, kind);
    push.call("send the manifest", stop, attempt).await?;
    Ok(pushed)
}

struct Blob<'a> {
    digest: String,
    size: u64,
    content: BlobContent<'a>,
}

enum BlobContent<'a> {
    Bytes(&'a [u8]),
    File(&'a Path),
}

struct Push<'a> {
    client: Client,
    destination: &'a Destination,
    credentials: &'a Credentials,
}

impl<'a> Push<'a> {
    fn new(destination: &'a Destination, credentials: &'a Credentials) -> Result<Self, ImageError> {
        // The library asks rustls which ciphers it is to use; one that was named before is kept.
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let protocol = match destination.is_plain {
            true => ClientProtocol::Http,
            false => ClientProtocol::Https,
        };
        let config = ClientConfig {
            protocol,
            connect_timeout: Some(CONNECT_AT_MOST),
            read_timeout: Some(SILENT_AT_MOST),
            user_agent: concat!("waggle/", env!("CARGO_PKG_VERSION")),
            ..ClientConfig::default()
        };
        let client = Client::try_from(config).map_err(|why| ImageError::Registry {
            registry: destination.registry().to_owned(),
            attempt: "connect".to_owned(),
            why: chain(&why),
        })?;
        Ok(Self {
            client,
            destination,
            credentials,
        })
    }

    /// Whether it was sent.
    async fn blob(&self, blob: &Blob<'_>, stop: &Stop) -> Result<bool, ImageError> {
        let reference = &self.destination.reference;
        let digest = &blob.digest;
        let asked = self.client.blob_exists(reference, digest);
        if self.call(&format!("ask for {digest}"), stop, asked).await? {
            return Ok(false);
        }
        self.send(blob, stop).await?;
        Ok(true)
    }

    async fn send(&self, blob: &Blob<'_>, stop: &Stop) -> Result<(), ImageError> {
        let reference = &self.destination.reference;
        let (digest, size) = (&blob.digest, Some(blob.size));
        let attempt = format!("send {digest}");
        let sent = match blob.content {
            BlobContent::Bytes(bytes) => {
                let bytes = Bytes::copy_from_slice(bytes);
                let sending = self.client.push_blob(reference, bytes, digest);
                self.outcome(&attempt, stop, sending).await?
            }
            BlobContent::File(path) => {
                let file = File::open(path).map_err(ImageError::file("read", path))?;
                let sending = self
                    .client
                    .push_blob_stream(reference, parts(file), digest, size);
                self.outcome(&attempt, stop, sending).await?
            }
        };
        let why = match sent {
            Ok(_) => return Ok(()),
            Err(why) => why,
        };
        // Some registries, such as crane's, take a blob and do not say where it is: they are asked whether they have it.
        if matches!(why, OciDistributionError::RegistryNoLocationError) {
            let asked = self.client.blob_exists(reference, digest);
            if self.call(&attempt, stop, asked).await? {
                return Ok(());
            }
        }
        Err(self.refusal(&attempt, self.reason(&why)))
    }

    /// The answer to a call that ends in time and is answered.
    async fn call<T>(
        &self,
        attempt: &str,
        stop: &Stop,
        request: impl Future<Output = Result<T, OciDistributionError>>,
    ) -> Result<T, ImageError> {
        let answer = self.outcome(attempt, stop, request).await?;
        answer.map_err(|why| self.refusal(attempt, self.reason(&why)))
    }

    /// What a call says that ends in time, unless all should end.
    async fn outcome<T>(
        &self,
        attempt: &str,
        stop: &Stop,
        request: impl Future<Output = Result<T, OciDistributionError>>,
    ) -> Result<Result<T, OciDistributionError>, ImageError> {
        let mut stopped = stop.0.clone();
        tokio::select! {
            ended = timeout(BLOB_AT_MOST, request) => ended.map_err(|_| {
                let seconds = BLOB_AT_MOST.as_secs();
                self.refusal(attempt, format!("it took longer than {seconds} s"))
            }),
            Ok(_) = stopped.wait_for(|is_asked| *is_asked) => Err(ImageError::Interrupted),
        }
    }

    fn refusal(&self, attempt: &str, why: String) -> ImageError {
        ImageError::Registry {
            registry: self.destination.registry().to_owned(),
            attempt: attempt.to_owned(),
            why,
        }
    }

    fn reason(&self, why: &OciDistributionError) -> String {
        let reason = chain(why);
        let is_refused = matches!(
            why,
            OciDistributionError::UnauthorizedError { .. }
                | OciDistributionError::AuthenticationFailure(_)
        );
        match &self.credentials.unused_store {
            Some(store) if is_refused => format!(
                "{reason}; docker's file leaves its passwords to the program docker-credential-{store}, which waggle does not start: \
                 set WAGGLE_REGISTRY_USER and WAGGLE_REGISTRY_PASSWORD"
            ),
            _ if reason.contains(NOT_TLS) => {
                let registry = self.destination.registry();
                format!(
                    "its answer is not TLS ({reason}); if it speaks plain HTTP: --insecure-registry {registry}"
                )
            }
            _ => reason,
        }
    }
}

/// A file in parts.
fn parts(file: File) -> impl Stream<Item = Result<Bytes, OciDistributionError>> + Send + 'static {
    stream::try_unfold(file, |mut file| async move {
        let mut part = Vec::new();
        let mut rest = (&mut file).take(PART_BYTES as u64);
        rest.read_to_end(&mut part)?;
        Ok((!part.is_empty()).then(|| (Bytes::from(part), file)))
    })
}

/// An error with its causes, in one line.
fn chain(why: &dyn std::error::Error) -> String {
    let mut text = why.to_string();
    let mut cause = why.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::{io::Write, net::TcpListener};

    use tokio::sync::watch;

    use super::*;

    #[tokio::test]
    async fn a_registry_without_tls_is_told_with_its_option() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let registry = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let answer = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
            stream.write_all(answer).unwrap();
            // The client closes it.
            std::io::copy(&mut stream, &mut std::io::sink()).ok();
        });
        let destination = Destination {
            is_plain: false,
            ..Destination::new(&format!("{registry}/a:1"), &[]).unwrap()
        };
        let credentials = Credentials::anonymous();
        let push = Push::new(&destination, &credentials).unwrap();
        let (_sender, shutdown) = watch::channel(false);
        let digest = format!("sha256:{}", sha256(b""));
        let asked = push.client.blob_exists(&destination.reference, &digest);
        let why = push.call("ask", &Stop(shutdown), asked).await.unwrap_err();
        let why = why.to_string();
        let option = format!("if it speaks plain HTTP: --insecure-registry {registry}");
        assert!(why.ends_with(&option), "{why}");
        server.join().unwrap();
    }
}

//! Who one is at a registry: variables of the environment, or docker's file. Never on a command line, and never shown.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use oci_client::secrets::RegistryAuth;
use serde::Deserialize;

use crate::error::ImageError;

const USER: &str = "WAGGLE_REGISTRY_USER";
const PASSWORD: &str = "WAGGLE_REGISTRY_PASSWORD";
const TOKEN: &str = "WAGGLE_REGISTRY_TOKEN";
/// The folder of docker's file.
const DOCKER_FOLDER: &str = "DOCKER_CONFIG";
/// Most bytes of it.
const FILE_MAX_BYTES: u64 = 1 << 20;
/// What docker calls its own registry in its file.
const DOCKER_KEY: &str = "https://index.docker.io/v1/";
const DOCKER_REGISTRY: &str = "docker.io";

/// Who one is at a registry. Debug output does not have it.
#[derive(Clone, Debug)]
pub struct Credentials {
    pub(super) auth: RegistryAuth,
    /// What docker's file would have started, and waggle does not.
    pub(super) unused_store: Option<String>,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    auths: BTreeMap<String, Auth>,
    #[serde(default, rename = "credHelpers")]
    helpers: BTreeMap<String, String>,
    #[serde(default, rename = "credsStore")]
    store: Option<String>,
}

#[derive(Deserialize)]
struct Auth {
    auth: Option<String>,
    #[serde(rename = "registrytoken")]
    token: Option<String>,
}

impl Credentials {
    /// Those of the environment, else those of docker's file, else none.
    ///
    /// # Errors
    /// Docker's file cannot be read, or variables are half set.
    pub fn find(registry: &str) -> Result<Self, ImageError> {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let file = match set(DOCKER_FOLDER) {
            Some(folder) => Some(PathBuf::from(folder)),
            None => set("HOME").map(|home| Path::new(&home).join(".docker")),
        };
        let variables = Variables {
            user: set(USER),
            password: set(PASSWORD),
            token: set(TOKEN),
        };
        match variables.auth()? {
            Some(auth) => Ok(Self::new(auth)),
            None => match file {
                Some(folder) => Self::read_file(&folder.join("config.json"), registry),
                None => Ok(Self::anonymous()),
            },
        }
    }

    /// Nobody.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::new(RegistryAuth::Anonymous)
    }

    fn new(auth: RegistryAuth) -> Self {
        Self {
            auth,
            unused_store: None,
        }
    }

    fn read_file(path: &Path, registry: &str) -> Result<Self, ImageError> {
        let refusal = |why: &str| ImageError::Credentials {
            file: path.to_path_buf(),
            why: why.to_owned(),
        };
        let text = match fs::metadata(path) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::anonymous());
            }
            Ok(metadata) if metadata.len() > FILE_MAX_BYTES => {
                return Err(refusal("it has more than a mebibyte"));
            }
            _ => fs::read_to_string(path).map_err(ImageError::file("read", path))?,
        };
        // What the parser says of a mistake may have a part of a password.
        let file: File =
            serde_json::from_str(&text).map_err(|_| refusal("it is no configuration of docker"))?;
        let mut auths = (file.auths.iter()).filter(|(key, _)| is_key_of(key, registry));
        let auth = auths.find_map(|(_, auth)| auth.read());
        let auth = auth.transpose();
        let auth =
            auth.map_err(|()| refusal("`auth` of the registry is not base64 of USER:PASSWORD"))?;
        let helper = file.helpers.get(registry).or(file.store.as_ref());
        Ok(Self {
            unused_store: helper.filter(|_| auth.is_none()).cloned(),
            auth: auth.unwrap_or(RegistryAuth::Anonymous),
        })
    }
}

impl Auth {
    fn read(&self) -> Option<Result<RegistryAuth, ()>> {
        if let Some(token) = &self.token {
            return Some(Ok(RegistryAuth::Bearer(token.clone())));
        }
        let encoded = self.auth.as_ref().filter(|text| !text.is_empty())?;
        Some(decode(encoded).ok_or(()))
    }
}

/// Whether a key of docker's file is that of a registry.
fn is_key_of(key: &str, registry: &str) -> bool {
    let is_docker = registry == DOCKER_REGISTRY && key == DOCKER_KEY;
    let host = key.trim_start_matches("https://");
    let host = host.trim_start_matches("http://").trim_end_matches('/');
    is_docker || host == registry
}

/// `USER:PASSWORD` in base64.
fn decode(encoded: &str) -> Option<RegistryAuth> {
    let bytes = STANDARD.decode(encoded.trim()).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (user, password) = text.split_once(':')?;
    Some(RegistryAuth::Basic(user.to_owned(), password.to_owned()))
}

struct Variables {
    user: Option<String>,
    password: Option<String>,
    token: Option<String>,
}

impl Variables {
    fn auth(self) -> Result<Option<RegistryAuth>, ImageError> {
        if let Some(token) = self.token {
            return Ok(Some(RegistryAuth::Bearer(token)));
        }
        match (self.user, self.password) {
            (Some(user), Some(password)) => Ok(Some(RegistryAuth::Basic(user, password))),
            (None, None) => Ok(None),
            _ => Err(ImageError::Credentials {
                file: PathBuf::from("environment"),
                why: format!("{USER} and {PASSWORD} belong together, and only one is set"),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use oci_client::secrets::RegistryAuth;

    use super::{Credentials, Variables};

    #[test]
    fn dockers_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        let read = |text: &str, registry: &str| {
            fs::write(&file, text).unwrap();
            Credentials::read_file(&file, registry)
        };
        // "user:pass:word"
        let text = r#"{"auths":{"r.example":{"auth":"dXNlcjpwYXNzOndvcmQ="},"https://index.docker.io/v1/":{"registrytoken":"t"},
            "broken":{"auth":"??"}},"credsStore":"desktop"}"#;
        let basic = RegistryAuth::Basic("user".to_owned(), "pass:word".to_owned());
        assert_eq!(read(text, "r.example").unwrap().auth, basic);
        let token = RegistryAuth::Bearer("t".to_owned());
        assert_eq!(read(text, "docker.io").unwrap().auth, token);
        let other = read(text, "other").unwrap();
        assert_eq!(other.auth, RegistryAuth::Anonymous);
        assert_eq!(other.unused_store.as_deref(), Some("desktop"));
        let shown = format!("{:?}", read(text, "r.example").unwrap());
        assert!(!shown.contains("pass"), "{shown}");
        assert!(read(text, "broken").is_err());
        let refused = read(r#"{"auths":"secret"}"#, "r").unwrap_err().to_string();
        assert!(!refused.contains("secret"), "{refused}");
    }

    #[test]
    fn variables_come_in_pairs() {
        let variables = |user: Option<&str>, password: Option<&str>| Variables {
            user: user.map(str::to_owned),
            password: password.map(str::to_owned),
            token: None,
        };
        assert!(variables(None, None).auth().unwrap().is_none());
        assert!(variables(Some("a"), Some("b")).auth().unwrap().is_some());
        assert!(variables(Some("a"), None).auth().is_err());
    }
}

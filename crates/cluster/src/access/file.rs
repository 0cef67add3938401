//! What a kubeconfig says about one of its contexts.

use std::path::{Path, PathBuf};

use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};

use super::{AccessError, Origin, causes, credential::Credential};

/// A context as it is read.
pub(super) struct Read {
    pub config: Config,
    pub origin: Origin,
    pub credential: Option<Credential>,
}

pub(super) async fn read(file: Option<&Path>, context: Option<&str>) -> Result<Read, AccessError> {
    let path = file.map_or_else(default_file, |file| Some(file.to_owned()));
    let place = match &path {
        Some(path) => path.display().to_string(),
        None => "KUBECONFIG".to_owned(),
    };
    let failed = |why: String| AccessError::File {
        place: place.clone(),
        why,
    };
    let kubeconfig = match &path {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let kubeconfig = kubeconfig.map_err(|why| failed(wrong_file(&why)))?;
    let name = context.map(str::to_owned);
    let name = name.or_else(|| kubeconfig.current_context.clone());
    let names: Vec<&str> = kubeconfig
        .contexts
        .iter()
        .map(|context| context.name.as_str())
        .collect();
    let Some(name) = name.filter(|name| names.contains(&name.as_str())) else {
        return Err(failed(no_context(context, &names)));
    };
    let options = KubeConfigOptions {
        context: Some(name.clone()),
        ..KubeConfigOptions::default()
    };
    let user = user_of(&kubeconfig, &name);
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config =
        config.map_err(|why| failed(format!("context \"{name}\": {}", wrong_file(&why))))?;
    let place = format!("{place}, context \"{name}\"");
    let exec = config.auth_info.exec.take();
    let credential = exec
        .map(|exec| Credential::new(exec, place.clone(), user))
        .transpose()?;
    let origin = Origin {
        kubeconfig: path.map(|path| std::path::absolute(&path).unwrap_or(path)),
        context: Some(name),
        server: config.cluster_url.to_string(),
        namespace: config.default_namespace.clone(),
        credential_program: credential
            .as_ref()
            .map(|credential| credential.program.clone()),
    };
    Ok(Read {
        config,
        origin,
        credential,
    })
}

/// The one file that kubectl reads if none is given; `None`: `KUBECONFIG` has several, or there is no home folder.
fn default_file() -> Option<PathBuf> {
    let set = std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty());
    if let Some(value) = set {
        let mut files: Vec<PathBuf> = std::env::split_paths(&value)
            .filter(|file| !file.as_os_str().is_empty())
            .collect();
        return (files.len() == 1).then(|| files.remove(0));
    }
    Some(PathBuf::from(std::env::var_os("HOME")?).join(".kube/config"))
}

fn user_of(kubeconfig: &Kubeconfig, context: &str) -> String {
    let mut contexts = kubeconfig.contexts.iter();
    let named = contexts.find(|named| named.name == context);
    let user = named.and_then(|named| named.context.as_ref()?.user.clone());
    user.unwrap_or_default()
}

fn no_context(wanted: Option<&str>, names: &[&str]) -> String {
    let known = match names {
        [] => "it has no contexts".to_owned(),
        names => format!("it has {}", names.join(", ")),
    };
    match wanted {
        Some(wanted) => format!("there is no context \"{wanted}\"; {known}"),
        None => format!("it has no current context that is in it; choose one: {known}"),
    }
}

/// An error without the lines of the file that it is about, which may be a token.
fn wrong_file(why: &KubeconfigError) -> String {
    let problem = match why {
        KubeconfigError::Parse(problem) => problem,
        KubeconfigError::ReadConfig(problem, file) => {
            let file = file.display();
            let advice = match std::env::var_os("KUBECONFIG").is_some_and(|value| !value.is_empty())
            {
                true => "look at KUBECONFIG, which names it unless it was given",
                false => "the variable KUBECONFIG may name another one",
            };
            return format!("the kubeconfig {file} cannot be read: {problem}; {advice}");
        }
        _ => return causes(why),
    };
    match problem.location() {
        Some(place) => format!(
            "it is no kubeconfig: line {}, column {}",
            place.line(),
            place.column()
        ),
        None => "it is no kubeconfig".to_owned(),
    }
}

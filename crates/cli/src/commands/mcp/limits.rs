//! What tools may touch: files of one folder, and targets on this machine unless others are allowed.
//!
//! The limits keep an assistant from mistakes. A study and its system are code all the same: who can write into the folder decides
//! what is started.

use std::{
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use waggle_study::{System, TokenEndpoint};

use crate::{
    arguments::{Choice, Mcp, TrustFlags},
    inputs::{against, named_files::Named, study::Loaded},
};

/// The limits of a server.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    /// The working folder, without links.
    folder: PathBuf,
    /// In it.
    pub(super) runs: PathBuf,
    pub(super) max_duration: Duration,
    /// Hosts beside loopback addresses.
    targets: Vec<String>,
    pub(super) trust: TrustFlags,
}

impl Limits {
    /// Makes the folder the working folder.
    ///
    /// # Errors
    /// There is no such folder, or the folder of runs is outside of it.
    pub(super) fn new(arguments: &Mcp) -> Result<Self> {
        let shown = arguments.folder.display();
        let folder = fs::canonicalize(&arguments.folder);
        let folder = folder.with_context(|| format!("cannot serve {shown}"))?;
        if !folder.is_dir() {
            bail!("cannot serve {shown}: it is no folder");
        }
        let mut trust = arguments.trust.clone();
        for trusted in &mut trust.folders {
            *trusted = std::path::absolute(&*trusted).context("cannot find a folder of --trust")?;
        }
        trust.within = Some(folder.clone());
        if arguments.max_duration.is_zero() {
            bail!("--max-duration: a run of no time measures nothing");
        }
        std::env::set_current_dir(&folder).with_context(|| format!("cannot enter {shown}"))?;
        let limits = Self {
            folder,
            runs: arguments.runs.clone(),
            max_duration: arguments.max_duration,
            targets: arguments.allow_target.clone(),
            trust,
        };
        match limits.runs.exists() {
            true => drop(limits.path("--runs", &limits.runs)?),
            false => limits.refuse_dots("--runs", &limits.runs)?,
        }
        Ok(limits)
    }

    /// A path that a field names, with all links followed.
    ///
    /// # Errors
    /// It is not there, or not in the folder.
    pub(super) fn path(&self, field: &str, path: &Path) -> Result<PathBuf> {
        let shown = path.display();
        // Of what is outside it is not said whether it is there.
        self.refuse_dots(field, path)?;
        let target = fs::canonicalize(self.folder.join(path));
        let target = target.with_context(|| format!("{field}: cannot read {shown}"))?;
        match target.starts_with(&self.folder) {
            true => Ok(target),
            false => bail!("{field}: {}", self.refusal(path)),
        }
    }

    /// By name alone, for what may not be there.
    fn refuse_dots(&self, field: &str, path: &Path) -> Result<()> {
        let mut depth = 0_u32;
        let inner = match path.strip_prefix(&self.folder) {
            Ok(inner) => inner,
            Err(_) if path.is_absolute() => bail!("{field}: {}", self.refusal(path)),
            Err(_) => path,
        };
        for part in inner.components() {
            match part {
                std::path::Component::ParentDir if depth == 0 => {
                    bail!("{field}: {}", self.refusal(path))
                }
                std::path::Component::ParentDir => depth -= 1,
                std::path::Component::Normal(_) => depth += 1,
                _ => {}
            }
        }
        Ok(())
    }

    fn refusal(&self, path: &Path) -> String {
        format!(
            "{} is outside of {}, the folder of this server",
            path.display(),
            self.folder.display()
        )
    }

    /// Checks the paths of a choice, before anything is read.
    ///
    /// # Errors
    /// One of them is outside of the folder.
    pub(super) fn check_choice(&self, choice: &Choice) -> Result<()> {
        self.path("study", &choice.study)?;
        for path in against::named_paths(&choice.against) {
            self.path("against", path)?;
        }
        Ok(())
    }

    /// Checks a study that was read: the files that it names, and where its load goes.
    ///
    /// # Errors
    /// A file is outside of the folder, or a target is neither a loopback address nor allowed.
    pub(super) fn check_study(&self, choice: &Choice, loaded: &Loaded) -> Result<()> {
        let named = Named::find(choice, loaded)?;
        let beside = choice.study.parent().unwrap_or(Path::new(""));
        for file in &named.files {
            self.path("study: a file that it names", &beside.join(file))?;
        }
        self.refuse_machines(loaded)?;
        for (place, host) in hosts(loaded) {
            if !self.is_allowed(host) {
                bail!(
                    "study: {place} is on {host}, which is no loopback address; a server that was started with --allow-target {host} \
                     may load it"
                );
            }
        }
        Ok(())
    }

    /// Refuses studies that start something on other machines.
    fn refuse_machines(&self, loaded: &Loaded) -> Result<()> {
        let study = &loaded.study;
        let uses = [
            (study.agents.is_some(), "agents"),
            (study.runner.is_some(), "runner"),
            (study.system_pods.is_some(), "system.pods"),
            (study.kubeconfig.is_some(), "system.kubeconfig"),
            (loaded.system.manifests.is_some(), "manifests or a chart"),
        ];
        match uses.iter().find(|(is_used, _)| *is_used) {
            Some((_, what)) => bail!(
                "study: it has {what}, so that it would use other machines than this one; run it with `waggle run`"
            ),
            None => Ok(()),
        }
    }

    fn is_allowed(&self, host: &str) -> bool {
        let address = host.parse::<IpAddr>();
        let is_loopback = address.map_or_else(
            |_| host.eq_ignore_ascii_case("localhost"),
            |address| address.to_canonical().is_loopback(),
        );
        let mut targets = self.targets.iter();
        is_loopback || targets.any(|target| target.eq_ignore_ascii_case(host))
    }
}

/// The hosts of servers that run already, each with its place in the study.
fn hosts(loaded: &Loaded) -> Vec<(String, &str)> {
    let mut hosts = Vec::new();
    let changed = loaded.changed.as_ref().map(|changed| &changed.system);
    for system in std::iter::once(&loaded.system).chain(changed) {
        hosts.extend(hosts_of_server(system));
    }
    for component in &loaded.study.external {
        let addresses = component.ports.iter().flat_map(|port| &port.at);
        let place = || format!("the component {}", component.name);
        hosts.extend(addresses.map(|address| (place(), &*address.host)));
    }
    if let Some(oauth2) = &loaded.study.oauth2
        && let TokenEndpoint::Url { host, .. } = &oauth2.endpoint
    {
        hosts.push(("system.oauth2".to_owned(), host));
    }
    hosts
}

fn hosts_of_server(system: &System) -> Vec<(String, &str)> {
    let Some(server) = &system.external else {
        return Vec::new();
    };
    let connected = server.connect_to.as_ref();
    let host = connected.map_or(&*server.host, |address| &*address.host);
    vec![("system.url".to_owned(), host)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(folder: &Path, targets: &[&str]) -> Limits {
        Limits {
            folder: fs::canonicalize(folder).unwrap(),
            runs: PathBuf::from("runs"),
            max_duration: Duration::from_secs(1),
            targets: targets.iter().map(|target| (*target).to_owned()).collect(),
            trust: TrustFlags::default(),
        }
    }

    #[test]
    fn targets_are_loopback_addresses_unless_allowed() {
        let around = tempfile::tempdir().unwrap();
        let limits = limits(around.path(), &["Shop.test", "10.0.0.1"]);
        for host in [
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "::ffff:127.0.0.1",
            "LOCALHOST",
        ] {
            assert!(limits.is_allowed(host), "{host}");
        }
        assert!(limits.is_allowed("shop.test") && limits.is_allowed("10.0.0.1"));
        for host in ["10.0.0.2", "a.shop.test", "localhost.test", "0.0.0.0", ""] {
            assert!(!limits.is_allowed(host), "{host}");
        }
    }

    #[test]
    fn paths_are_in_the_folder_with_all_their_links() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("inner");
        fs::create_dir_all(folder.join("studies")).unwrap();
        fs::write(folder.join("studies/a.yaml"), "").unwrap();
        fs::write(around.path().join("b.yaml"), "").unwrap();
        std::os::unix::fs::symlink("../b.yaml", folder.join("link.yaml")).unwrap();
        let limits = limits(&folder, &[]);
        let target = limits.path("study", Path::new("studies/../studies/a.yaml"));
        assert_eq!(target.unwrap(), limits.folder.join("studies/a.yaml"));
        let absolute = limits.folder.join("studies/a.yaml");
        assert_eq!(limits.path("study", &absolute).unwrap(), absolute);
        let check = |path: &str, expected: &str| {
            let error = limits.path("study", Path::new(path)).unwrap_err();
            let error = format!("{error:#}");
            assert!(
                error.starts_with("study: ") && error.contains(expected),
                "{error}"
            );
        };
        check("../b.yaml", "is outside of");
        check("../nowhere.yaml", "is outside of");
        check("studies/../../b.yaml", "is outside of");
        check("/etc/hosts", "is outside of");
        check("link.yaml", "is outside of");
        check("c.yaml", "cannot read c.yaml");
    }
}

//! Commands and environments of the replicas of a trial's system, with every `${…}` filled.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use waggle_results::private_file;
use waggle_study::{Component, Trust};

use crate::{
    components::{
        certificates::Certificates,
        driver::{
            Failure, Setup,
            child::Launch,
            elsewhere::{Elsewhere, RemotePlace},
            ports::Ports,
            program::{PREFIX, Programs},
        },
        limits::ReplicaLimits,
        replica::remote::RemoteLaunch,
    },
    host::cpus,
    placeholder::{PlaceholderError, fill},
};

/// Maximum number of replicas of one component.
const REPLICAS_MAX: u32 = 256;
/// Where processes listen, and are reached.
const LOOPBACK: &str = "127.0.0.1";
/// Of a pod, which has a network of its own.
const ANY_ADDRESS: &str = "0.0.0.0";

/// The values that a replica's strings may refer to.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReplicaEnv<'a> {
    pub(super) ports: &'a Ports,
    /// Of this machine.
    pub(super) programs: &'a Programs,
    /// `None`: the system has none.
    pub(super) certificates: Option<&'a Certificates>,
    pub(super) setup: Setup<'a>,
    /// The folder of the system's file, as an absolute path.
    pub(super) system_folder: &'a Path,
    /// Where replicas are that are not on this machine; `None`: all are.
    pub(super) elsewhere: Option<&'a Elsewhere>,
}

/// The texts of a replica.
struct Texts {
    /// Names below its folder.
    files: Vec<(String, String)>,
    command: Vec<String>,
    environment: Vec<(String, String)>,
}

/// How many replicas a component has in a trial.
pub(super) fn replicas(component: &Component, setup: Setup<'_>) -> Result<u32, Failure> {
    let value = |name: &str| setup.parameters.get(name).map(ToString::to_string);
    let text = fill(&component.replicas, value).map_err(|why| Failure::new(why.to_string()))?;
    match text.parse() {
        Ok(count @ 1..=REPLICAS_MAX) => Ok(count),
        _ => Err(Failure::new(format!(
            "component \"{}\" wants \"{text}\" replicas; expected 1 to {REPLICAS_MAX}",
            component.name
        ))),
    }
}

/// The same of a replica whose programs are those of an image.
fn of_image(why: PlaceholderError) -> PlaceholderError {
    match why {
        PlaceholderError::Unknown { text, name } => match name.strip_prefix(PREFIX) {
            Some(program) => PlaceholderError::NotInImage {
                text,
                name: program.to_owned(),
            },
            None => PlaceholderError::Unknown { text, name },
        },
        why => why,
    }
}

impl ReplicaEnv<'_> {
    /// Everything that is needed to start a replica here; creates its folder.
    pub(super) fn launch(
        &self,
        component: &Component,
        number: u32,
        supervisor: &Path,
        limits: &ReplicaLimits,
    ) -> Result<Launch, Failure> {
        let replica = format!("{}-{number}", component.name);
        let folder = self.setup.folder.join(&replica);
        // Its files may hold secrets.
        private_file::create_folder(&folder)
            .map_err(|why| Failure::new(format!("cannot create {}: {why}", folder.display())))?;
        let Texts {
            files,
            command,
            environment,
        } = self.texts(component, number)?;
        for (name, text) in &files {
            let file = folder.join(name);
            private_file::write_file(&file, text)
                .map_err(|why| Failure::new(format!("cannot write {}: {why}", file.display())))?;
        }
        Ok(Launch {
            log: self.log(&replica),
            supervisor: PathBuf::from(supervisor),
            cpus: cpus::cpu_list(limits.cpus.as_deref().unwrap_or(self.setup.cpus)),
            group: limits.group.clone(),
            replica,
            command: command.into_iter().map(OsString::from).collect(),
            environment,
            environment_from: component.process.environment_from.clone(),
            folder,
        })
    }

    /// Everything that is needed to start a replica elsewhere.
    pub(super) fn remote_launch(
        &self,
        component: &Component,
        number: u32,
        place: &RemotePlace,
        hosts: Vec<String>,
    ) -> Result<RemoteLaunch, Failure> {
        let replica = format!("{}-{number}", component.name);
        let folder = place.folder(&replica);
        let Texts {
            files,
            command,
            environment,
        } = self.texts(component, number)?;
        let files = files.into_iter();
        Ok(RemoteLaunch {
            log: self.log(&replica),
            files: files
                .map(|(name, text)| (folder.join(name), text))
                .collect(),
            replica,
            folder,
            command,
            environment,
            environment_from: component.process.environment_from.clone(),
            hosts,
        })
    }

    fn log(&self, replica: &str) -> PathBuf {
        self.setup.logs.join(format!("{replica}.log"))
    }

    fn texts(&self, component: &Component, number: u32) -> Result<Texts, Failure> {
        let filled = |text: &String| {
            self.fill(component, number, text)
                .map_err(|why| Failure::new(why.to_string()))
        };
        let pair = |(name, text): &(String, String)| Ok((name.clone(), filled(text)?));
        let files = component.files.iter().map(pair);
        let environment = component.process.environment.iter().map(pair);
        let mut command: Vec<String> = component
            .process
            .command
            .iter()
            .map(filled)
            .collect::<Result<_, Failure>>()?;
        if let Some(program) = command.first_mut() {
            let path = self.programs_of(component, number).path_of(program);
            *program = path.display().to_string();
        }
        Ok(Texts {
            files: files.collect::<Result<_, Failure>>()?,
            command,
            environment: environment.collect::<Result<_, Failure>>()?,
        })
    }

    fn place(&self, component: &str, number: u32) -> Option<&RemotePlace> {
        self.elsewhere?.place(component, number)
    }

    fn programs_of(&self, component: &Component, number: u32) -> &Programs {
        let place = self.place(&component.name, number);
        place.map_or(self.programs, |place| &place.programs)
    }

    /// The files of authorities that a replica writes, each with the port that they are for.
    pub(super) fn authority_files(
        &self,
        component: &Component,
        number: u32,
    ) -> Result<Vec<(String, PathBuf)>, Failure> {
        let mut files = Vec::new();
        for tls in &component.tls {
            if let Trust::File(text) = &tls.trust {
                let file = self.fill(component, number, text);
                let file = file.map_err(|why| Failure::new(why.to_string()))?;
                files.push((tls.port.clone(), PathBuf::from(file)));
            }
        }
        Ok(files)
    }

    /// A replica's text with every `${…}` replaced.
    pub(super) fn fill(
        &self,
        component: &Component,
        number: u32,
        text: &str,
    ) -> Result<String, PlaceholderError> {
        let filled = fill(text, |name| self.value(component, number, name));
        filled.map_err(|why| match self.place(&component.name, number) {
            Some(_) => of_image(why),
            None => why,
        })
    }

    /// The value of `${name}` in a replica's strings.
    fn value(&self, owner: &Component, number: u32, name: &str) -> Option<String> {
        match name {
            "dir" => {
                let replica = format!("{}-{number}", owner.name);
                let folder = match self.place(&owner.name, number) {
                    Some(place) => place.folder(&replica),
                    None => self.setup.folder.join(replica),
                };
                return Some(folder.display().to_string());
            }
            "replica" => return Some(number.to_string()),
            "system_dir" => {
                let place = self.place(&owner.name, number);
                let folder = place.map_or(self.system_folder, RemotePlace::system_folder);
                return Some(folder.display().to_string());
            }
            "listen" | "host" => {
                return Some(match (self.place(&owner.name, number), name) {
                    // A process is reached from this machine alone.
                    (None, _) => LOOPBACK.to_owned(),
                    (Some(_), "listen") => ANY_ADDRESS.to_owned(),
                    (Some(place), _) => place.host.clone(),
                });
            }
            _ => {}
        }
        if let Some(port) = name.strip_prefix("port.") {
            return self.port(&owner.name, number, port);
        }
        let others = self
            .programs_of(owner, number)
            .placeholder(name)
            .or_else(|| self.setup.secrets.placeholder(name))
            .or_else(|| self.certificates?.placeholder(name))
            .or_else(|| self.setup.parameters.get(name).map(ToString::to_string));
        if others.is_some() {
            return others;
        }
        if let Some((component, port)) = name.split_once(".port.") {
            return self.port(component, 0, port);
        }
        if let Some((component, port)) = name.split_once(".address.") {
            return self.ports.addresses(component, port).into_iter().next();
        }
        if let Some(component) = name.strip_suffix(".host") {
            if let Some(place) = self.place(component, 0) {
                return Some(place.host.clone());
            }
            let written = self.ports.written_host(component);
            return Some(written.unwrap_or(LOOPBACK).to_owned());
        }
        let (component, port) = name.split_once(".addresses.")?;
        let addresses = self.ports.addresses(component, port);
        (!addresses.is_empty()).then(|| addresses.join(","))
    }

    fn port(&self, component: &str, number: u32, port: &str) -> Option<String> {
        let address = self.ports.of_replica(component, number, port)?;
        Some(address.port().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::{PlaceholderError, of_image};

    #[test]
    fn a_program_that_an_image_lacks_is_told_with_what_makes_images() {
        let unknown = |name: &str| PlaceholderError::Unknown {
            text: format!("${{{name}}}"),
            name: name.to_owned(),
        };
        assert_eq!(
            of_image(unknown("program.shop")).to_string(),
            "the image of the pod has no program \"shop\", which \"${program.shop}\" names: make it again with `waggle system image`, \
             and bring it to where nodes get it"
        );
        assert_eq!(of_image(unknown("port.http")), unknown("port.http"));
    }
}

//! The files and variables that a study names.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use anyhow::Result;
use waggle_study::{Body, ExternalTls, Pem, Study, System, TokenEndpoint, Values, What};

use crate::{
    arguments::Choice,
    inputs::study::{Loaded, error_with_position, files_of_choice, read_study},
};

/// What a study names.
pub(crate) struct Named {
    /// As they are written, relative to its folder.
    pub(crate) files: BTreeSet<String>,
    /// Of the environment, with their values.
    pub(crate) variables: BTreeMap<String, String>,
}

impl Named {
    /// Reads the study again, and notes what is asked for.
    ///
    /// # Errors
    /// A file cannot be read, or a variable is not set.
    pub(crate) fn find(choice: &Choice, loaded: &Loaded) -> Result<Self> {
        let files = RefCell::new(BTreeSet::new());
        let variables = RefCell::new(BTreeMap::new());
        let read = files_of_choice(choice);
        let note_file = |name: &str| {
            files.borrow_mut().insert(name.to_owned());
            read(name)
        };
        let note_variable = |name: &str| note_variable(name, &variables);
        let mut study = read_study(choice, loaded, &note_file)?;
        let taken = study.take_from_environment(Values {
            variable: &note_variable,
            file: &note_file,
        });
        taken.map_err(|why| error_with_position(&why, &loaded.study_source, &read))?;
        let mut files = files.into_inner();
        files.extend(bodies(&study));
        files.extend(certificates(&study, &loaded.system));
        Ok(Self {
            files,
            variables: variables.into_inner(),
        })
    }
}

fn note_variable(name: &str, noted: &RefCell<BTreeMap<String, String>>) -> Option<String> {
    let value = std::env::var(name).ok()?;
    noted.borrow_mut().insert(name.to_owned(), value.clone());
    Some(value)
}

/// Files that are sent as bodies, or whose records are.
fn bodies(study: &Study) -> impl Iterator<Item = String> + '_ {
    study.cells.iter().filter_map(|cell| match &cell.what {
        What::Request(request) => match &request.body {
            Body::File(name) => Some(name.clone()),
            Body::Records(body) => Some(body.file.clone()),
            Body::None | Body::Text(_) | Body::Random(_) => None,
        },
        What::Scenario(_) => None,
    })
}

/// Files with certificates and keys.
fn certificates(study: &Study, system: &System) -> Vec<String> {
    let server = system.external.iter().map(|server| &server.tls);
    let components = system.components.iter();
    let ports = components.flat_map(|component| component.external.iter().flatten());
    let ports = ports.filter_map(|port| port.tls.as_ref());
    let token = study
        .oauth2
        .iter()
        .filter_map(|oauth2| match &oauth2.endpoint {
            TokenEndpoint::Url { tls, .. } => tls.as_ref(),
            TokenEndpoint::OfSystem { .. } => None,
        });
    let all = server.chain(ports).chain(token);
    all.flat_map(pem_files).collect()
}

fn pem_files(tls: &ExternalTls) -> Vec<String> {
    let client = tls.client.iter().flat_map(|(cert, key)| [cert, key]);
    let pems = tls.ca.iter().chain(client);
    pems.filter_map(|pem| match pem {
        Pem::File(file) => Some(file.clone()),
        Pem::Text(_) => None,
    })
    .collect()
}

//! Who one is: at a component that runs already, read from a kubeconfig and put into the headers of the load; and at a token server.

use std::convert::Infallible;

use crate::{
    Authorization, Credential, EnvironmentError, Origin, Problem, Study, TakenValue, Values,
    oauth2::VALUE_MAX_BYTES,
    request_texts::RequestTexts,
    substitute::{is_authorization, remove_own_identity},
};

impl Study {
    /// Reads the kubeconfig, if the study names one: where its component is, whom to trust, and who one is there.
    pub(crate) fn read_kubeconfig(&mut self, values: Values<'_>) -> Result<(), EnvironmentError> {
        let Some(given) = self.kubeconfig.clone() else {
            return Ok(());
        };
        let cluster = given.read(values).map_err(|Problem(why)| {
            let position = given.at;
            EnvironmentError::Kubeconfig { why, at: position }
        })?;
        let origin = Origin::File(given.file);
        let identity = cluster.authorization.as_ref();
        self.put_identity(
            &given.endpoints,
            identity.map(|known| (known, origin.name())),
        );
        let secrets = cluster.secrets.into_iter();
        self.taken.extend(secrets.map(|value| TakenValue {
            origin: origin.clone(),
            value,
        }));
        let components = self.external.iter_mut();
        let ports = components
            .filter(|component| component.name == given.component)
            .flat_map(|component| &mut component.ports);
        for port in ports.filter(|port| port.name == given.port) {
            port.at = vec![cluster.server.clone()];
            port.tls.clone_from(&cluster.tls);
            port.authorization.clone_from(&cluster.authorization);
        }
        Ok(())
    }

    /// Says in each request to one of the endpoints who one is, if it does not do so itself.
    fn put_identity(&mut self, endpoints: &[String], identity: Option<(&Authorization, String)>) {
        for cell in &mut self.cells {
            let Ok(()) = cell.change_requests::<Infallible>(&mut |endpoint, texts| {
                put_at(endpoints, endpoint, texts, identity.as_ref());
                Ok(())
            });
        }
    }
}

/// A header with a secret of the system is not the identity at a component that waggle does not start.
fn put_at(
    endpoints: &[String],
    endpoint: &str,
    texts: RequestTexts<'_>,
    identity: Option<&(&Authorization, String)>,
) {
    if endpoints.iter().all(|known| known != endpoint) {
        return;
    }
    let headers = texts.headers;
    remove_own_identity(headers);
    let is_there = headers.iter().any(|(header, _)| is_authorization(header));
    if let Some((identity, name)) = identity.filter(|_| !is_there) {
        headers.push(("Authorization".to_owned(), identity.value.clone()));
        texts.from_outside.push(name.clone());
    }
}

impl Study {
    /// Reads who the client of `system.oauth2` is. The values are hidden as those of headers are.
    pub(crate) fn read_client(&mut self, values: Values<'_>) -> Result<(), EnvironmentError> {
        let Some(oauth2) = &mut self.oauth2 else {
            return Ok(());
        };
        // The id is no secret; it is often a common word.
        oauth2.client_id.resolve(values)?;
        self.taken.extend(oauth2.client_secret.resolve(values)?);
        Ok(())
    }
}

impl Credential {
    /// Reads its value, if it comes from outside; returns it then.
    fn resolve(&mut self, values: Values<'_>) -> Result<Option<TakenValue>, EnvironmentError> {
        let (key, position) = (self.key, self.at);
        let origin = match &self.origin {
            None | Some(Origin::Secret(_)) => return Ok(None),
            Some(origin) => origin.clone(),
        };
        let value = match values.value(&origin) {
            Ok(value) => value,
            Err(Problem(why)) => {
                return Err(EnvironmentError::NoCredential {
                    key,
                    origin,
                    why,
                    at: position,
                });
            }
        };
        if value.is_empty() || value.len() > VALUE_MAX_BYTES || value.chars().any(char::is_control)
        {
            return Err(EnvironmentError::UnusableCredential {
                key,
                origin,
                at: position,
            });
        }
        self.value = Some(value.clone());
        Ok(Some(TakenValue { origin, value }))
    }
}

//! How a Service is reached.

use std::net::IpAddr;

use serde_json::Value;

use crate::{
    access::Access,
    api::{ApiError, Call, Kind, Verb},
};

/// A Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// `None`: it is headless, and its pods are reached by their own addresses.
    pub address: Option<IpAddr>,
    pub ports: Vec<ServicePort>,
}

/// A port of a Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServicePort {
    /// Empty: its only port may have none.
    pub name: String,
    pub number: u16,
    /// That of the pods.
    pub target: TargetPort,
}

/// A port of pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetPort {
    Number(u16),
    Name(String),
}

impl Service {
    /// A port by its name; a port without a name is found by any, if it is the only one.
    #[must_use]
    pub fn port(&self, name: &str) -> Option<&ServicePort> {
        match &self.ports[..] {
            [only] if only.name.is_empty() => Some(only),
            all => all.iter().find(|port| port.name == name),
        }
    }
}

impl Access {
    /// A Service of a namespace; `None`: it is not there.
    ///
    /// # Errors
    /// It may not be read, or the API does not answer.
    pub async fn service(&self, namespace: &str, name: &str) -> Result<Option<Service>, ApiError> {
        let call = Call::new(Verb::Get, Kind::Service, Some(namespace)).name(name);
        match self.call(call).await {
            Err(why) if why.is_not_found() => Ok(None),
            answer => answer.map(|answer| Some(service(&answer.value))),
        }
    }
}

fn service(object: &Value) -> Service {
    let address = object["spec"]["clusterIP"].as_str();
    let ports = object["spec"]["ports"].as_array().into_iter().flatten();
    Service {
        address: address.and_then(|text| text.parse().ok()),
        ports: ports.filter_map(service_port).collect(),
    }
}

fn service_port(port: &Value) -> Option<ServicePort> {
    let as_port = |value: &Value| value.as_u64().and_then(|number| u16::try_from(number).ok());
    let number = as_port(&port["port"])?;
    let target = match &port["targetPort"] {
        Value::String(name) => TargetPort::Name(name.clone()),
        value => TargetPort::Number(as_port(value).unwrap_or(number)),
    };
    Some(ServicePort {
        name: port["name"].as_str().unwrap_or_default().to_owned(),
        number,
        target,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ports_are_found_by_their_names() {
        let ports = json!([
            { "name": "http", "port": 80, "targetPort": "web" },
            { "name": "admin", "port": 81 },
        ]);
        let object = json!({ "spec": { "clusterIP": "10.0.0.7", "ports": ports } });
        let service = service(&object);
        assert_eq!(service.address, "10.0.0.7".parse().ok());
        let port = |name: &str| {
            service
                .port(name)
                .map(|port| (port.number, port.target.clone()))
        };
        assert_eq!(port("http"), Some((80, TargetPort::Name("web".to_owned()))));
        assert_eq!(port("admin"), Some((81, TargetPort::Number(81))));
        assert_eq!(port("other"), None);
        let object = json!({ "spec": { "clusterIP": "None", "ports": [{ "port": 9092 }] } });
        let headless = super::service(&object);
        assert_eq!(headless.address, None);
        assert_eq!(headless.port("any").map(|port| port.number), Some(9092));
    }
}

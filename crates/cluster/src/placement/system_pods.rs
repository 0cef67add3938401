//! On which nodes a system is: by labels of its pods, or by the address at which it is reached.

use std::net::IpAddr;

use serde_json::Value;
use tokio::net::lookup_host;

use super::nodes::{Unknown, has_ended, items, unknown};
use crate::{
    access::Access,
    api::{ApiError, Call, Kind, Verb},
    labels::{Pairs, selector},
};

/// Kubernetes writes it on what it makes for a Service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// After the namespace, in the name of a Service.
const SERVICE_LABEL: &str = "svc";

/// A pod of a system, where it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SystemPod {
    pub namespace: String,
    pub name: String,
    pub node: String,
    /// Of all its containers; `None`: found by a Service, which does not say.
    pub restarts: Option<u32>,
}

/// What is behind an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Behind {
    /// Not empty.
    Pods(Vec<SystemPod>),
    /// It is the address of this node.
    Node(String),
}

impl Access {
    /// The pods with these labels that are on a node and have not ended.
    ///
    /// # Errors
    /// They may not be listed, or the API does not answer.
    pub async fn pods_with_labels(
        &self,
        namespace: &str,
        labels: &Pairs,
    ) -> Result<Vec<SystemPod>, ApiError> {
        let listing = Call::new(Verb::List, Kind::Pod, Some(namespace));
        let listing = listing.option("labelSelector", selector(labels));
        let pods = self.call(listing).await?.value;
        Ok(placed_pods(&pods))
    }

    /// What is behind a host that agents in this namespace send to: a Service by its name, or an address of a pod, a Service or a node.
    ///
    /// # Errors
    /// It is none of these, or what is needed to know that may not be read.
    pub async fn find_behind(&self, host: &str, namespace: &str) -> Result<Behind, Unknown> {
        if let Ok(address) = host.trim_matches(['[', ']']).parse() {
            return self.find_by_address(address).await;
        }
        if let Some((service, namespace)) = service_of(host, namespace) {
            return self.find_by_service(service, namespace).await;
        }
        let addresses = lookup_host((host, 0)).await;
        let addresses = addresses.map_err(|why| Unknown(format!("{host}: {why}")))?;
        let mut last = Unknown(format!("{host} has no address"));
        for address in addresses {
            match self.find_by_address(address.ip()).await {
                Ok(behind) => return Ok(behind),
                Err(why) => last = why,
            }
        }
        Err(last)
    }

    async fn find_by_service(&self, service: &str, namespace: &str) -> Result<Behind, Unknown> {
        let listing = Call::new(Verb::List, Kind::EndpointSlice, Some(namespace));
        let listing = listing.option("labelSelector", format!("{SERVICE_NAME}={service}"));
        let slices = self.call(listing).await.map_err(unknown)?.value;
        let mut pods: Vec<SystemPod> = items(&slices)
            .flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten())
            .filter_map(endpoint_pod)
            .collect();
        pods.sort();
        // A slice for each family of addresses.
        pods.dedup();
        match pods.is_empty() {
            true => Err(Unknown(format!(
                "Service {service} of namespace {namespace} has no pods"
            ))),
            false => Ok(Behind::Pods(pods)),
        }
    }

    async fn find_by_address(&self, address: IpAddr) -> Result<Behind, Unknown> {
        let address = address.to_string();
        let nodes = Call::new(Verb::List, Kind::Node, None);
        let nodes = self.call(nodes).await.map_err(unknown)?.value;
        let mut with_address = items(&nodes).filter(|node| {
            let addresses = node["status"]["addresses"].as_array();
            let mut addresses = addresses.into_iter().flatten();
            addresses.any(|known| known["address"] == address.as_str())
        });
        if let Some(node) = with_address.next() {
            let name = node["metadata"]["name"].as_str().unwrap_or_default();
            return Ok(Behind::Node(name.to_owned()));
        }
        let pods = Call::new(Verb::List, Kind::Pod, None);
        let pods = pods.option("fieldSelector", format!("status.podIP={address}"));
        let pods = self.call(pods).await.map_err(unknown)?.value;
        let pods = placed_pods(&pods);
        if !pods.is_empty() {
            return Ok(Behind::Pods(pods));
        }
        let services = Call::new(Verb::List, Kind::Service, None);
        let services = self.call(services).await.map_err(unknown)?.value;
        let service = items(&services).find(|service| has_address(service, &address));
        let Some(service) = service else {
            return Err(Unknown(format!(
                "no pod, Service or node of the cluster has the address {address}"
            )));
        };
        let part = |key: &str| service["metadata"][key].as_str().unwrap_or_default();
        self.find_by_service(part("name"), part("namespace")).await
    }
}

/// The name and namespace of a Service in the name of a host: `shop`, `shop.prod.svc`, `shop.prod.svc.cluster.local`. `None`: it is
/// another one.
fn service_of<'h>(host: &'h str, namespace: &'h str) -> Option<(&'h str, &'h str)> {
    let mut labels = host.trim_end_matches('.').split('.');
    let service = labels.next().filter(|service| !service.is_empty())?;
    match (labels.next(), labels.next()) {
        (None, _) if service != "localhost" => Some((service, namespace)),
        (Some(namespace), Some(SERVICE_LABEL)) => Some((service, namespace)),
        _ => None,
    }
}

/// Of those that are on a node and have not ended.
fn placed_pods(list: &Value) -> Vec<SystemPod> {
    let living = items(list).filter(|pod| !has_ended(pod));
    living.filter_map(placed_pod).collect()
}

fn placed_pod(pod: &Value) -> Option<SystemPod> {
    let part = |key: &str| pod["metadata"][key].as_str().map(str::to_owned);
    let containers = pod["status"]["containerStatuses"].as_array();
    let restarts = containers.into_iter().flatten();
    let restarts = restarts.filter_map(|container| container["restartCount"].as_u64());
    Some(SystemPod {
        namespace: part("namespace")?,
        name: part("name")?,
        node: pod["spec"]["nodeName"].as_str()?.to_owned(),
        restarts: Some(u32::try_from(restarts.sum::<u64>()).unwrap_or(u32::MAX)),
    })
}

fn endpoint_pod(endpoint: &Value) -> Option<SystemPod> {
    let target = &endpoint["targetRef"];
    let part = |key: &str| target[key].as_str().map(str::to_owned);
    (target["kind"] == "Pod").then_some(())?;
    Some(SystemPod {
        namespace: part("namespace")?,
        name: part("name")?,
        node: endpoint["nodeName"].as_str()?.to_owned(),
        restarts: None,
    })
}

/// Whether a Service is reached by this address.
fn has_address(service: &Value, address: &str) -> bool {
    let spec = &service["spec"];
    let texts = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let of_balancer = texts(&service["status"]["loadBalancer"]["ingress"]);
    let of_balancer = of_balancer.iter().map(|entry| entry["ip"].clone());
    let mut all = texts(&spec["clusterIPs"]);
    all.extend(texts(&spec["externalIPs"]));
    all.extend(of_balancer);
    all.iter().any(|known| *known == address)
}

#[cfg(test)]
mod tests {
    use super::service_of;

    #[test]
    fn names_of_services() {
        let check = |host: &str, expected| assert_eq!(service_of(host, "load"), expected, "{host}");
        check("shop", Some(("shop", "load")));
        check("shop.prod.svc", Some(("shop", "prod")));
        check("shop.prod.svc.cluster.local.", Some(("shop", "prod")));
        check("localhost", None);
        check("shop.example", None);
        check("api.shop.example", None);
        check("", None);
    }
}

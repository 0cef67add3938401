//! Where the ports of components are reached: at the address of their Service, or at that of each pod that is ready.

use std::{collections::BTreeMap, net::SocketAddr};

use waggle_cluster::{Access, PodStatus, Service, TargetPort};
use waggle_study::{Component, System, Workload};
use waggle_system::components::driver::Failure;

/// Addresses by component and port.
pub(super) type Addresses = BTreeMap<(String, String), Vec<SocketAddr>>;

/// Finds the ports of all components of a configured system; `pods_of`: their pods that are ready.
pub(super) async fn find_addresses(
    access: &Access,
    namespace: &str,
    system: &System,
    pods_of: impl Fn(&str) -> Vec<PodStatus>,
) -> Result<Addresses, Failure> {
    let mut addresses = Addresses::new();
    for component in &system.components {
        let Some(workload) = &component.workload else {
            continue;
        };
        let service = service_of(access, namespace, component, workload).await?;
        let pods = pods_of(&component.name);
        for port in &component.ports {
            let places = places(component, service.as_ref(), &pods, port);
            let places = places.map_err(|why| {
                Failure::new(format!("components.{}: port {port}: {why}", component.name))
            })?;
            addresses.insert((component.name.clone(), port.clone()), places);
        }
    }
    Ok(addresses)
}

async fn service_of(
    access: &Access,
    namespace: &str,
    component: &Component,
    workload: &Workload,
) -> Result<Option<Service>, Failure> {
    let Some(name) = &workload.service else {
        return Ok(None);
    };
    let service = access.service(namespace, name).await;
    let service = service.map_err(|why| Failure::new(why.to_string()))?;
    match service {
        Some(service) => Ok(Some(service)),
        None => Err(Failure::new(format!(
            "components.{}: there is no Service {name} in namespace {namespace}",
            component.name
        ))),
    }
}

fn places(
    component: &Component,
    service: Option<&Service>,
    pods: &[PodStatus],
    port: &str,
) -> Result<Vec<SocketAddr>, String> {
    let Some(service) = service else {
        return of_pods(pods, &TargetPort::Name(port.to_owned()));
    };
    let service_port = service.port(port);
    let service_port = service_port.ok_or_else(|| no_port(component, service))?;
    match service.address {
        Some(address) => Ok(vec![SocketAddr::new(address, service_port.number)]),
        None => of_pods(pods, &service_port.target),
    }
}

fn no_port(component: &Component, service: &Service) -> String {
    let workload = component.workload.as_ref();
    let name = workload.and_then(|workload| workload.service.as_deref());
    let names = service.ports.iter().map(|port| port.name.as_str());
    let names: Vec<&str> = names.collect();
    format!(
        "Service {} does not have it; it has {}",
        name.unwrap_or_default(),
        names.join(", ")
    )
}

/// A port of each pod.
fn of_pods(pods: &[PodStatus], port: &TargetPort) -> Result<Vec<SocketAddr>, String> {
    match pods.is_empty() {
        true => Err("no pod is ready".to_owned()),
        false => pods.iter().map(|pod| place(pod, port)).collect(),
    }
}

fn place(pod: &PodStatus, port: &TargetPort) -> Result<SocketAddr, String> {
    let address = pod.pod_ip.as_ref().and_then(|text| text.parse().ok());
    let address = address.ok_or_else(|| format!("pod {} has no address", pod.name))?;
    let number = match port {
        TargetPort::Number(number) => Some(*number),
        TargetPort::Name(name) => {
            let mut ports = pod.ports.iter();
            let named = ports.find(|known| known.name == *name);
            named.map(|port| port.number)
        }
    };
    let number =
        number.ok_or_else(|| format!("no container of pod {} names such a port", pod.name))?;
    Ok(SocketAddr::new(address, number))
}

#[cfg(test)]
mod tests {
    use waggle_cluster::{PodPort, ServicePort};

    use super::*;

    #[test]
    fn ports_are_those_of_a_service_or_of_each_pod() {
        let pod = |address: &str| PodStatus {
            name: format!("shop-{address}"),
            pod_ip: Some(address.to_owned()),
            ports: vec![PodPort {
                name: "web".to_owned(),
                number: 8080,
            }],
            ..PodStatus::default()
        };
        let pods = [pod("10.1.0.1"), pod("10.1.0.2")];
        let service = |address: Option<&str>| Service {
            address: address.and_then(|text| text.parse().ok()),
            ports: vec![ServicePort {
                name: "http".to_owned(),
                number: 80,
                target: TargetPort::Name("web".to_owned()),
            }],
        };
        let component = waggle_study::read_system(&waggle_study::Source {
            name: "system.yaml".to_owned(),
            text: "system: a\nsummary: A shop.\nmanifests: [k8s]\ncomponents: { shop: { workload: deployment/shop, service: front, ports: [http] } }\nendpoints: { shop: { component: shop, port: http } }\n".to_owned(),
        })
        .unwrap()
        .components
        .remove(0);
        let check = |service: Option<&Service>, port: &str, expected: Result<&[&str], &str>| {
            let places_of_port = places(&component, service, &pods, port);
            let places_of_port: Result<Vec<String>, String> =
                places_of_port.map(|places| places.iter().map(ToString::to_string).collect());
            let expected =
                expected.map(|places| places.iter().map(|text| (*text).to_owned()).collect());
            assert_eq!(places_of_port, expected.map_err(str::to_owned));
        };
        let each = ["10.1.0.1:8080", "10.1.0.2:8080"];
        check(
            Some(&service(Some("10.0.0.7"))),
            "http",
            Ok(&["10.0.0.7:80"]),
        );
        check(Some(&service(None)), "http", Ok(&each));
        check(None, "web", Ok(&each));
        check(
            None,
            "http",
            Err("no container of pod shop-10.1.0.1 names such a port"),
        );
        check(
            Some(&service(None)),
            "admin",
            Err("Service front does not have it; it has http"),
        );
    }
}

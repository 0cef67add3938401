//! Where pods are, and what nodes are.

use http::Method;
use serde_json::json;
use waggle_cluster::{Access, Behind, Closed, PodSize, Spread, SystemPod, Unknown, WantedNodes};

use crate::server::Lab;

/// A node of the lab's own, and pods on it.
async fn node(lab: &Lab, name: &str, ready: &str) {
    let manifest = json!({
        "metadata": { "name": name, "labels": {
            "lab": lab.namespace,
            "node.kubernetes.io/instance-type": "c7.large",
            "topology.kubernetes.io/zone": "z1",
        } },
    });
    lab.request(Method::POST, "/api/v1/nodes", &manifest).await;
    // The admission of new nodes taints them until their controller has seen them.
    let patch = json!({ "spec": { "taints": null } });
    lab.request(Method::PATCH, &format!("/api/v1/nodes/{name}"), &patch)
        .await;
    let status = json!({
        "allocatable": { "cpu": "3900m", "memory": "8Gi", "pods": "110" },
        "conditions": [{ "type": "Ready", "status": ready, "reason": "", "message": "" }],
        "nodeInfo": {
            "kernelVersion": "6.1.0", "osImage": "Debian 12", "kubeletVersion": "v1.36.3", "architecture": "amd64",
            "containerRuntimeVersion": "containerd://1.6.20", "machineID": "", "systemUUID": "", "bootID": "",
            "kubeProxyVersion": "", "operatingSystem": "linux",
        },
    });
    lab.set_status(&format!("/api/v1/nodes/{name}"), status)
        .await;
}

async fn pod(lab: &Lab, name: &str, node: &str, run: &str, cpu: &str) {
    let manifest = json!({
        "metadata": {
            "name": name,
            "labels": { "waggle/run": run, "batch.kubernetes.io/job-name": "agents" },
            "annotations": { "batch.kubernetes.io/job-completion-index": "1" },
        },
        "spec": {
            "nodeName": node,
            "containers": [{
                "name": "waggle", "image": "lab/waggle:1", "resources": { "requests": { "cpu": cpu, "memory": "1Gi" } },
            }],
        },
    });
    lab.request(Method::POST, "pods", &manifest).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_and_their_nodes() {
    let lab = Lab::new("placement").await;
    let access: Access = lab.access().await;
    let first = format!("{}-n1", lab.namespace);
    let second = format!("{}-n2", lab.namespace);
    node(&lab, &first, "True").await;
    node(&lab, &second, "False").await;
    pod(&lab, "own", &first, &lab.run, "2").await;
    pod(&lab, "other", &first, "other", "500m").await;
    let digest = format!("sha256:{}", "0".repeat(64));
    let status = json!({
        "phase": "Running", "podIP": "10.0.0.7", "hostIP": "192.0.2.7", "startTime": "2026-01-01T00:00:00Z", "qosClass": "Burstable",
        "containerStatuses": [{
            "name": "waggle", "image": "lab/waggle:1", "imageID": format!("lab/waggle@{digest}"), "restartCount": 2, "ready": true,
            "state": { "running": { "startedAt": "2026-01-01T00:00:01Z" } },
        }],
    });
    lab.set_status("pods/own", status).await;

    let places = access.placement(&lab.namespace, "agents").await.unwrap();
    let place = places.iter().find(|place| place.pod == "own").unwrap();
    assert_eq!(place.index, Some(1));
    assert_eq!(place.node.as_deref(), Some(first.as_str()));
    assert_eq!(place.pod_ip.as_deref(), Some("10.0.0.7"));
    assert_eq!(place.host_ip.as_deref(), Some("192.0.2.7"));
    assert_eq!(place.restarts, 2);
    assert_eq!(place.image_digest.as_deref(), Some(digest.as_str()));
    assert_eq!(place.qos_class.as_deref(), Some("Burstable"));

    let facts = access.node_facts(&first, &lab.run).await.unwrap();
    assert_eq!(facts.kernel, "6.1.0");
    assert_eq!(facts.instance_type.as_deref(), Some("c7.large"));
    assert_eq!(facts.zone.as_deref(), Some("z1"));
    assert_eq!((facts.other_pods, facts.other_cpus), (1, 0.5));
    assert!((facts.allocatable_cpus - 3.9).abs() < 1e-9);

    pod(&lab, "shop", &first, "other", "100m").await;
    let labels = [("lab".to_owned(), lab.namespace.clone())].into();
    let mut wanted = WantedNodes {
        node_selector: labels,
        ..WantedNodes::default()
    };
    let capacity = access.capacity(&wanted).await.unwrap();
    assert_eq!(capacity.nodes.len(), 2);
    assert_eq!(capacity.requests_unknown, None);
    let [ready, absent] = [&first, &second].map(|name| {
        let mut nodes = capacity.nodes.iter();
        nodes.find(|node| node.name == *name).unwrap()
    });
    assert!((ready.free_cpus - 1.3).abs() < 1e-9, "{capacity:?}");
    assert_eq!(absent.closed, Some(Closed::NotReady));
    let size = |cpus| PodSize {
        cpus,
        memory_bytes: 1 << 30,
    };
    assert_eq!(capacity.room_for(size(1), Spread::Even), 1);
    assert_eq!(capacity.room_for(size(2), Spread::Even), 0);

    wanted.apart_from = [("waggle/run".to_owned(), "other".to_owned())].into();
    wanted.apart_from_namespaces = vec![lab.namespace.clone()];
    let capacity = access.capacity(&wanted).await.unwrap();
    assert!(capacity.nodes.iter().any(|node| node.has_apart));
    assert_eq!(capacity.room_for(size(1), Spread::Even), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_system_is_found_by_its_address() {
    let lab = Lab::new("behind").await;
    let access: Access = lab.access().await;
    let name = format!("{}-n1", lab.namespace);
    node(&lab, &name, "True").await;
    let addresses = json!({ "addresses": [{ "type": "InternalIP", "address": "192.0.2.71" }] });
    lab.set_status(&format!("/api/v1/nodes/{name}"), addresses)
        .await;
    pod(&lab, "shop-0", &name, "other", "100m").await;
    let address = json!({ "phase": "Running", "podIP": "198.51.100.71", "podIPs": [{ "ip": "198.51.100.71" }] });
    lab.set_status("pods/shop-0", address).await;
    let service = json!({
        "metadata": { "name": "shop" }, "spec": { "ports": [{ "port": 80 }] },
    });
    let service = lab.request(Method::POST, "services", &service).await;
    let slice = json!({
        "metadata": { "name": "shop-1", "labels": { "kubernetes.io/service-name": "shop" } },
        "addressType": "IPv4",
        "endpoints": [{
            "addresses": ["198.51.100.71"], "nodeName": name,
            "targetRef": { "kind": "Pod", "namespace": lab.namespace, "name": "shop-0" },
        }],
    });
    lab.request(Method::POST, "discovery.k8s.io/v1/endpointslices", &slice)
        .await;

    let shop = |restarts| {
        Behind::Pods(vec![SystemPod {
            namespace: lab.namespace.clone(),
            name: "shop-0".to_owned(),
            node: name.clone(),
            restarts,
        }])
    };
    let behind = async |host: &str| access.find_behind(host, &lab.namespace).await;
    assert_eq!(behind("192.0.2.71").await, Ok(Behind::Node(name.clone())));
    assert_eq!(behind("198.51.100.71").await, Ok(shop(Some(0))));
    assert_eq!(behind("shop").await, Ok(shop(None)));
    let long = format!("shop.{}.svc.cluster.local", lab.namespace);
    assert_eq!(behind(&long).await, Ok(shop(None)));
    let address = service["spec"]["clusterIP"].as_str().unwrap();
    assert_eq!(behind(address).await, Ok(shop(None)));
    let unknown = |why: &str| Err(Unknown(why.to_owned()));
    let why = "no pod, Service or node of the cluster has the address 203.0.113.9";
    assert_eq!(behind("203.0.113.9").await, unknown(why));
    let why = format!("Service stock of namespace {} has no pods", lab.namespace);
    assert_eq!(behind("stock").await, unknown(&why));
}

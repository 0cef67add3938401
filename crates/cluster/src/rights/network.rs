//! The traffic that agents and the runner need, for clusters in which traffic is denied unless a policy allows it.

/// The manifests of policies: agents reach the runner at this port, the system and the cluster's DNS, and the runner is reached by
/// agents alone. `system`: the namespace of the system; `None`: it is outside, and agents may send anywhere.
#[must_use]
pub fn network_policy(namespace: &str, system: Option<&str>, runner_port: u16) -> String {
    let to_system = match system {
        Some(system) => format!(
            "    # the system\n    - to: [{{ namespaceSelector: {{ matchLabels: {{ kubernetes.io/metadata.name: {system} }} }} }}]\n"
        ),
        None => "    # the system, which is outside\n    - {}\n".to_owned(),
    };
    let mut text = format!(
        "# Agents: out to the runner, the system and DNS; nothing in.\n\
         apiVersion: networking.k8s.io/v1\n\
         kind: NetworkPolicy\n\
         metadata:\n  name: waggle-agents\n  namespace: {namespace}\n\
         spec:\n  podSelector: {{ matchLabels: {{ app.kubernetes.io/name: waggle-agent }} }}\n  \
         policyTypes: [Ingress, Egress]\n  egress:\n    # the runner\n    \
         - to: [{{ podSelector: {{ matchLabels: {{ app.kubernetes.io/name: waggle-runner }} }} }}]\n      \
         ports: [{{ port: {runner_port}, protocol: TCP }}]\n    # names\n    \
         - ports: [{{ port: 53, protocol: UDP }}, {{ port: 53, protocol: TCP }}]\n{to_system}\
         ---\n\
         # The runner: in from agents. Its way out stays as it is: it needs the API server, the system and its stores.\n\
         apiVersion: networking.k8s.io/v1\n\
         kind: NetworkPolicy\n\
         metadata:\n  name: waggle-runner\n  namespace: {namespace}\n\
         spec:\n  podSelector: {{ matchLabels: {{ app.kubernetes.io/name: waggle-runner }} }}\n  \
         policyTypes: [Ingress]\n  ingress:\n    \
         - from: [{{ podSelector: {{ matchLabels: {{ app.kubernetes.io/name: waggle-agent }} }} }}]\n      \
         ports: [{{ port: {runner_port}, protocol: TCP }}]\n"
    );
    if let Some(system) = system {
        text.push_str(&format!(
            "---\n\
             # The system: in from agents and the runner. A namespace without other policies needs none: this one would close it to all\n\
             # others.\n\
             apiVersion: networking.k8s.io/v1\n\
             kind: NetworkPolicy\n\
             metadata:\n  name: waggle-load\n  namespace: {system}\n\
             spec:\n  podSelector: {{}}\n  policyTypes: [Ingress]\n  ingress:\n    \
             - from: [{{ namespaceSelector: {{ matchLabels: {{ kubernetes.io/metadata.name: {namespace} }} }} }}]\n"
        ));
    }
    text
}

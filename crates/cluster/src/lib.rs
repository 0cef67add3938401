//! What waggle does with a Kubernetes API: it keeps others out of a namespace, makes Jobs, says why their pods do not run, talks to them,
//! finds where they are, and removes what it made, also after it was killed.
//!
//! It knows neither studies nor loads. Objects are JSON values of our own: `kube` is used for access alone (kubeconfig, TLS,
//! credentials, WebSockets), because typed objects and watchers of all of Kubernetes cost more to build than they save here.
//!
//! The rooms, of which each imports only those before it: `labels`, `api`, `manifests`, `access`, `objects`, `claim`, `job`, `pods`,
//! `workloads`, `placement`, `rights`.

mod access;
mod api;
mod claim;
mod job;
mod labels;
mod manifests;
mod objects;
mod placement;
mod pods;
mod rights;
mod workloads;

pub use access::{Access, AccessError, Origin};
pub use api::{ApiError, ForeignKind, Kind, Target, Verb};
pub use claim::{Claim, ClaimError, Held, Holder, Namespace};
pub use job::{
    IndexedJob, MountedSecret, PodShape, PullPolicy, ReplicaSet, Resources, RunnerJob, Spread,
    Toleration,
};
pub use labels::{APP_LABEL, COMPONENT_LABEL, PART_LABEL, RUN_LABEL, START_LABEL, TRIAL_LABEL};
pub use manifests::{Manifest, ManifestError, read_manifests};
pub use objects::{
    CordonError, Created, Ledger, LeftBehind, LeftBehindError, ObjectError, Place, StillThere,
    left_behind,
};
pub use placement::{
    Behind, Capacity, Closed, NodeCapacity, NodeFacts, PodPlace, PodSize, SystemPod, Unknown,
    WantedNodes,
};
pub use pods::{
    ContainerState, ContainerStatus, Event, ExecEnd, ExecError, LogLines, NotRunning, PodPort,
    PodStatus, Reason, Streams, Stuck, WaitLimits,
};
pub use rights::{ClusterRight, KindRight, guess_kind, network_policy, rbac};
pub use workloads::{
    ApiKind, Awaited, EndError, EvictionError, NotReady, PodUsage, Scope, Service, ServicePort,
    TargetPort, selector_of,
};

//! A system that is the user's own manifests or chart: rendered, patched, applied, waited for, watched, and removed again. The cluster is
//! asked by `waggle-cluster`, which knows neither systems nor trials.

mod addresses;
mod drains;
mod driver;
mod evidence;
mod kills;
mod leaving;
mod objects;
mod patch;
mod pods;
mod source;
mod upgrades;
mod watch;

pub(crate) use driver::{ManifestDriver, ManifestParts};
pub use objects::{ManifestsError, rights_of};
pub use source::{RENDERED, SourceError, render_all};

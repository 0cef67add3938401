//! Parts of a study that are about its report alone: best and worst trials, figures from elsewhere.

pub(crate) mod best_and_worst;
pub(crate) mod reference;

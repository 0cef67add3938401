//! One call of the API: its path, the verb by which a right names it, its retries and its errors.

mod call;
mod error;
mod kind;
mod resource;

pub(crate) use call::{Answer, Call, causes, send, send_text};
pub use error::{ApiError, Target};
pub use kind::{Kind, Verb};
pub use resource::ForeignKind;
pub(crate) use resource::Resource;

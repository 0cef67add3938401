//! A scenario made ready to run: names have become numbers, and texts have been cut into pieces.

use super::{OnFailure, Pattern, Source, Subject, text::Text};
use crate::{Think, judge::Judge};

/// What sessions run.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) flows: Vec<FlowProgram>,
    /// Of all flows.
    pub(crate) weight: u64,
    pub(crate) requests: Vec<RequestProgram>,
    /// Links to these lead to where the requests go.
    pub(crate) hosts: Vec<String>,
    /// How many variables are captured anywhere.
    pub(crate) variables: usize,
}

#[derive(Debug)]
pub(crate) struct FlowProgram {
    /// Of this flow and all before it.
    pub(crate) weight_up_to: u64,
    pub(crate) operations: Vec<Operation>,
    /// Numbers of the feeds that its sessions take a row of.
    pub(crate) feeds: Vec<usize>,
}

/// The actions of a flow, loops unfolded into a beginning and a way back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Operation {
    /// The number of the request in [`Program::requests`].
    Request(usize),
    Pause(Think),
    /// The rounds of a loop begin behind this.
    Begin {
        times: u32,
    },
    /// A round has ended; where one is left, the next begins at this place.
    Again {
        from: usize,
    },
}

#[derive(Debug)]
pub(crate) struct RequestProgram {
    pub(crate) step: usize,
    pub(crate) is_head: bool,
    pub(crate) method: String,
    pub(crate) path: Text,
    /// Lines of the head, `Host` among them, each with its end.
    pub(crate) headers: Text,
    pub(crate) sends_cookies: bool,
    /// Whether the length is said of a body that is empty.
    pub(crate) says_no_length: bool,
    pub(crate) body: Text,
    pub(crate) judge: Judge,
    pub(crate) checks: Vec<CheckProgram>,
    pub(crate) captures: Vec<CaptureProgram>,
    /// Whether a check or a capture looks at the body.
    pub(crate) keeps_body: bool,
    /// Whether it names the key of a record.
    pub(crate) carries_record: bool,
    pub(crate) on_failure: OnFailure,
    pub(crate) timeout: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct CaptureProgram {
    pub(crate) variable: usize,
    pub(crate) from: Source,
    /// Whether a path begins with it somewhere.
    pub(crate) is_link: bool,
}

#[derive(Debug)]
pub(crate) struct CheckProgram {
    pub(crate) of: Subject,
    pub(crate) holds: ConditionProgram,
}

#[derive(Debug)]
pub(crate) enum ConditionProgram {
    Exists,
    Equals(Text),
    Contains(Text),
    Matches(Pattern),
}

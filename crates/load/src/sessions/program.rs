//! A compiled scenario: names are numbers, and texts are split into pieces.

use waggle_spec::{OnFailure, Think};

use super::request_text::Text;
use crate::{
    protocol::answer_matcher::AnswerMatcher,
    scenario::model::{Extractor, Pattern, Subject},
};

/// What sessions run.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) flows: Vec<FlowProgram>,
    /// Of all flows.
    pub(crate) weight: u64,
    pub(crate) requests: Vec<RequestProgram>,
    pub(crate) loops: Vec<LoopProgram>,
    /// Links to these hosts can be followed.
    pub(crate) hosts: Vec<String>,
    /// Number of captured variables.
    pub(crate) variables: usize,
    /// Those of which completed sessions keep the values.
    pub(crate) keeps: Vec<usize>,
}

impl Program {
    /// Whether sessions that run the other one can go on with this one.
    pub(crate) fn has_shape_of(&self, other: &Self) -> bool {
        let mut requests = self.requests.iter().zip(&other.requests);
        self.flows == other.flows
            && self.weight == other.weight
            && self.hosts == other.hosts
            && self.variables == other.variables
            && self.keeps == other.keeps
            && self.requests.len() == other.requests.len()
            && requests.all(|(request, other)| request.has_shape_of(other))
    }
}

impl RequestProgram {
    fn has_shape_of(&self, other: &Self) -> bool {
        let mine = self.captures.iter().map(|capture| capture.variable);
        let others = other.captures.iter().map(|capture| capture.variable);
        self.step == other.step
            && self.is_head == other.is_head
            && self.carries_record == other.carries_record
            && self.on_failure == other.on_failure
            && self.timeout == other.timeout
            && mine.eq(others)
    }
}

#[derive(Debug, PartialEq)]
pub(crate) struct FlowProgram {
    /// Sum of the weights of this flow and all before it.
    pub(crate) weight_up_to: u64,
    pub(crate) operations: Vec<Operation>,
    /// Indices of the feeds of which its sessions take a row.
    pub(crate) feeds: Vec<usize>,
}

/// The actions of a flow; a loop is a beginning and a jump back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Operation {
    /// The number of the request in [`Program::requests`].
    Request(usize),
    Pause(Think),
    /// The rounds of a loop, by its number in [`Program::loops`], begin after this.
    Begin {
        number: usize,
    },
    /// A round of a loop has ended; if another one follows, it begins at this index.
    Again {
        number: usize,
        from: usize,
    },
}

#[derive(Debug)]
pub(crate) struct LoopProgram {
    /// Most rounds.
    pub(crate) rounds: u32,
    /// `None`: as many rounds as that.
    pub(crate) condition: Option<LoopCondition>,
    /// Growth of the offset per round; 0: the loop has none.
    pub(crate) offset_step: u64,
}

impl LoopProgram {
    pub(crate) fn ends_session_at_limit(&self) -> bool {
        let condition = self.condition.as_ref();
        condition.is_some_and(|condition| condition.on_limit == OnFailure::EndSession)
    }
}

/// A round follows as long as the one before left something in a variable.
#[derive(Debug)]
pub(crate) struct LoopCondition {
    pub(crate) variable: usize,
    /// Its value in the first round.
    pub(crate) first: Text,
    pub(crate) on_limit: OnFailure,
}

#[derive(Debug)]
pub(crate) struct RequestProgram {
    pub(crate) step: usize,
    pub(crate) is_head: bool,
    pub(crate) method: String,
    pub(crate) path: Text,
    /// Header lines, `Host` included, each with its line end.
    pub(crate) headers: Text,
    pub(crate) sends_cookies: bool,
    /// Whether an empty body gets `Content-Length: 0`.
    pub(crate) says_no_length: bool,
    pub(crate) body: Text,
    pub(crate) matcher: AnswerMatcher,
    pub(crate) checks: Vec<CheckProgram>,
    pub(crate) captures: Vec<CaptureProgram>,
    /// Whether a check or a capture needs the body.
    pub(crate) keeps_body: bool,
    /// Whether it contains the key of a record.
    pub(crate) carries_record: bool,
    pub(crate) on_failure: OnFailure,
    pub(crate) timeout: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct CaptureProgram {
    pub(crate) variable: usize,
    pub(crate) from: Extractor,
    pub(crate) is_optional: bool,
    /// Whether some path begins with it.
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

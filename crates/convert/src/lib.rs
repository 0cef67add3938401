//! Files of other programs: what they send → the text of a study (`init`), what they measured → the folder of a run (`import`).
//!
//! Errors are for the user who gave the file: they say what is wrong, with its place. Whoever calls prints them.

pub mod import;
mod init;
pub mod input;
mod target;

pub use init::{
    BODY_MAX_BYTES, NewStudy, Origin, StudyOptions, Summary, beginning,
    call::{Answer, Call, Capture, Extractor},
    call_text, file_without_secrets, json_string, literal,
    mask::MARK,
    question, record_lines, study, text_without_secrets, without_secrets,
    write::Written,
};
pub use target::{Target, basic, display_url};

//! Formats of a reading in an answer, and the buffers to write it in.

/// Format of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Lines,
    Json,
}

/// Buffers of one worker, so that answers need no allocation.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) series: Vec<u8>,
    pub(crate) line: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl Form {
    /// From the client's `Accept`: lines if it has `text/plain`, else JSON.
    pub(crate) fn from_accept<'a>(mut accepts: impl Iterator<Item = &'a [u8]>) -> Self {
        let says_plain = accepts.any(|accept| accept.split(|byte| *byte == b',').any(is_plain));
        if says_plain { Self::Lines } else { Self::Json }
    }

    /// Media type of an answer with several readings.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Lines => "text/plain; charset=utf-8",
            Self::Json => "application/x-ndjson",
        }
    }
}

/// Whether it is the media range `text/plain`, with or without parameters.
fn is_plain(range: &[u8]) -> bool {
    let end = memchr::memchr(b';', range).unwrap_or(range.len());
    range[..end]
        .trim_ascii()
        .eq_ignore_ascii_case(b"text/plain")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_what_the_client_takes() {
        let form =
            |accepts: &[&str]| Form::from_accept(accepts.iter().map(|accept| accept.as_bytes()));
        assert_eq!(form(&[]), Form::Json);
        assert_eq!(form(&["*/*"]), Form::Json);
        assert_eq!(form(&["application/json"]), Form::Json);
        assert_eq!(form(&["text/html, Text/Plain;q=0.5"]), Form::Lines);
        assert_eq!(form(&["a/b", "text/plain"]), Form::Lines);
    }
}

//! What is wrong with a head that `httparse` has refused: the line, and what was expected there. It runs once for each refused head, and
//! decides nothing.

/// Most bytes of a line that are shown.
const SHOWN_MAX_BYTES: usize = 60;

/// Why these bytes are not the beginning of a head: the line, and what is wrong there.
#[cold]
pub(super) fn diagnose(bytes: &[u8]) -> (usize, String) {
    let start = bytes
        .iter()
        .take_while(|byte| matches!(byte, b'\r' | b'\n'));
    let skipped = &bytes[..start.count()];
    let first = 1 + skipped.iter().filter(|byte| **byte == b'\n').count();
    let mut lines = bytes[skipped.len()..]
        .split(|byte| *byte == b'\n')
        .map(text_of);
    let status_line = lines.next().unwrap_or_default();
    if let Some(problem) = status_line_problem(status_line) {
        return (first, problem);
    }
    let mut has_field = false;
    for (line, number) in lines.zip(first + 1..) {
        if line.is_empty() {
            break;
        }
        if let Some(problem) = field_problem(line, has_field) {
            return (number, problem);
        }
        has_field = true;
    }
    (first, "it is not a head of HTTP/1".to_owned())
}

/// The line in which a part of a head is.
pub(super) fn line_of(head: &[u8], part: &[u8]) -> usize {
    let offset = (part.as_ptr() as usize).saturating_sub(head.as_ptr() as usize);
    let before = head.get(..offset).unwrap_or_default();
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// Bytes as they are shown in a message.
pub fn quote(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(SHOWN_MAX_BYTES)];
    let more = if cut.len() < bytes.len() { "…" } else { "" };
    format!("`{}{more}`", cut.escape_ascii())
}

fn text_of(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn status_line_problem(line: &[u8]) -> Option<String> {
    // Alert and handshake records of TLS.
    if let [0x15 | 0x16, 0x03, ..] = line {
        return Some("the server speaks TLS; https:// may be meant".to_owned());
    }
    // SETTINGS of the connection, with which a server of HTTP/2 begins.
    if let [_, _, _, 4, _, 0, 0, 0, 0, ..] = line {
        return Some("the server speaks HTTP/2, which may be meant".to_owned());
    }
    let Some(rest) = line.strip_prefix(b"HTTP/") else {
        return Some(format!(
            "expected a status line such as `HTTP/1.1 200 OK`, found {}",
            quote(line)
        ));
    };
    let mut parts = rest.splitn(3, |byte| *byte == b' ');
    let version = parts.next().unwrap_or_default();
    if !matches!(version, [b'1', b'.', digit] if digit.is_ascii_digit()) {
        return Some(format!(
            "expected version 1.1 of HTTP, found {}",
            quote(version)
        ));
    }
    let status = parts.next().unwrap_or_default();
    if status.len() != 3 || !status.iter().all(u8::is_ascii_digit) {
        return Some(format!(
            "expected a status of three digits, found {}",
            quote(status)
        ));
    }
    let reason = parts.next().unwrap_or_default();
    reason
        .iter()
        .any(|byte| is_control(*byte))
        .then(|| "the reason after the status has a control character".to_owned())
}

fn field_problem(line: &[u8], has_field: bool) -> Option<String> {
    let is_folded = line.starts_with(b" ") || line.starts_with(b"\t");
    if is_folded && !has_field {
        return Some("it begins with white space, and no header is before it".to_owned());
    }
    let value = if is_folded {
        line
    } else {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            return Some(format!("a header has no colon: {}", quote(line)));
        };
        let name = &line[..colon];
        if name.is_empty() {
            return Some("a header has no name".to_owned());
        }
        if name.ends_with(b" ") || name.ends_with(b"\t") {
            return Some(format!("white space before the colon of {}", quote(name)));
        }
        if !name.iter().all(|byte| is_token(*byte)) {
            return Some(format!("{} is not the name of a header", quote(name)));
        }
        &line[colon + 1..]
    };
    let is_bare = value.contains(&b'\r');
    if is_bare {
        return Some("a carriage return without a line feed".to_owned());
    }
    let has_control = value.iter().any(|byte| is_control(*byte));
    has_control.then(|| format!("a control character in a value: {}", quote(line)))
}

fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && byte != b'\t'
}

/// RFC 9110, section 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

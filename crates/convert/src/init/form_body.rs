//! The parts of a multipart form (RFC 7578) as a body.

/// The boundary of written bodies, with as many dashes as curl's.
const BOUNDARY: &str = "------------------------waggleform000001";

/// One part of a form.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) file_name: Option<String>,
    pub(super) media_type: Option<String>,
    pub(super) content: String,
}

/// The Content-Type and the body of a form.
pub(super) fn body(parts: &[Part]) -> (String, String) {
    let mut body = String::new();
    for part in parts {
        body.push_str(&format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{}\"",
            escape_name(&part.name)
        ));
        if let Some(name) = &part.file_name {
            body.push_str(&format!("; filename=\"{}\"", escape_name(name)));
        }
        if let Some(media_type) = &part.media_type {
            body.push_str(&format!("\r\nContent-Type: {media_type}"));
        }
        body.push_str(&format!("\r\n\r\n{}\r\n", part.content));
    }
    body.push_str(&format!("--{BOUNDARY}--\r\n"));
    (format!("multipart/form-data; boundary={BOUNDARY}"), body)
}

/// As browsers and curl write names in quotes.
fn escape_name(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

//! What the servers of these examples know of HTTP: a request with its body, and texts that stand between others.

use std::{
    io::{BufRead, BufReader, Read},
    net::TcpStream,
};

/// The request line and the body; `None` when the connection has ended.
pub(crate) fn request(reader: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let mut first = String::new();
    let mut length = 0;
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first, String::from_utf8(body).unwrap()))
}

/// What stands between `start` and the first of `ends`.
pub(crate) fn between<'a>(text: &'a str, start: &str, ends: &[char]) -> &'a str {
    text.split_once(start)
        .and_then(|(_, rest)| rest.split(ends).next())
        .unwrap_or_default()
}

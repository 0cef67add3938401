//! The null server as a process of its own, for `bench/engine`: `null_server ADDRESS`.

#![expect(
    clippy::print_stdout,
    reason = "a program for the bench script, which reads its output"
)]

use std::error::Error;

use waggle_load::NullServer;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, world!";

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args()
        .nth(1)
        .ok_or("usage: null_server ADDRESS")?;
    let server = NullServer::start(address.parse()?, ANSWER)?;
    println!("{}", server.address());
    server.wait();
    Ok(())
}

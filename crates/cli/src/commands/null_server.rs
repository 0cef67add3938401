//! The null server as a component of a system: the floor to which other servers are compared. It answers every request with the
//! same list, whatever the path and the query say.

use anyhow::{Context, Result, bail};
use waggle_load::NullServer;

use crate::process::exit::Exit;

/// What `/random` of the system `technologies` answers without `num`.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 91\r\n\r\n\
    [\"141592\",\"653589\",\"793238\",\"462643\",\"383279\",\"502884\",\"197169\",\"399375\",\"105820\",\"974944\"]";

pub(crate) fn run(arguments: &[String]) -> Result<Exit> {
    let [address] = arguments else {
        bail!("__null-server takes one argument, the address");
    };
    let address = address.parse().context("reading the address")?;
    let server = NullServer::start(address, ANSWER).context("starting the null server")?;
    server.wait();
    Ok(Exit::Fine)
}

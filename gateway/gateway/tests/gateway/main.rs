//! The gateway from outside: real processes on free ports of loopback.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod database;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod durability;
#[cfg(test)]
mod encodings;
#[cfg(test)]
mod http2;
#[cfg(test)]
mod identity;
#[cfg(test)]
mod influx;
#[cfg(test)]
mod kafka;
#[cfg(test)]
mod latest;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod openapi;
#[cfg(test)]
mod query;
#[cfg(test)]
mod reads;
#[cfg(test)]
mod schemathesis;
#[cfg(test)]
mod smuggling;
#[cfg(test)]
mod support;
#[cfg(test)]
mod topics;

//! Sets up the loopback interface of the calling thread's network, by the kernel's netlink protocol: rtnetlink(7), tc-tbf(8),
//! tc-netem(8). Numbers are in the machine's byte order; parts begin at multiples of four bytes.

use std::{io, time::Duration};

use rustix::{
    fd::OwnedFd,
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType,
        netlink::SocketAddrNetlink,
        recv, sendto, socket_with,
        sockopt::{Timeout, set_socket_timeout},
    },
};
use waggle_study::Network;

use super::NetworkError;

/// The loopback interface is the first of each network.
const LOOPBACK: u32 = 1;
/// How long the kernel's answer may take.
const ANSWER_AT_MOST: Duration = Duration::from_secs(5);

// Numbers of the protocol.
const NLMSG_ERROR: u16 = 2;
const RTM_NEWLINK: u16 = 16;
const RTM_NEWQDISC: u16 = 36;
const REQUEST_WITH_ANSWER: u16 = 0x1 | 0x4;
const CREATE_NEW: u16 = 0x200 | 0x400;
const IFF_UP: u32 = 1;
const IFLA_MTU: u16 = 4;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_BURST: u16 = 6;
const TCA_NETEM_LATENCY64: u16 = 10;
const LINKLAYER_ETHERNET: u8 = 1;
/// The parent of an interface's first queue.
const ROOT: u32 = u32::MAX;
/// The emulator's own number, and that of its only class.
const NETEM: u32 = 0x1_0000;
const NETEM_CLASS: u32 = NETEM + 1;

/// Packets that the emulator holds at most.
const NETEM_PACKETS: u32 = 100_000;
/// What a rate lets pass at once: a millisecond's worth, and at least so many packets.
const BURST: (f64, u32) = (0.001, 10);
/// How long a packet waits at most because of a rate, before it is dropped.
const QUEUE_S: f64 = 0.05;

/// Brings the loopback interface up, with its rate, delay and loss.
pub(super) fn set_up(network: &Network) -> Result<(), NetworkError> {
    let setting = |key: &'static str| {
        move |problem: io::Error| NetworkError::Setting {
            key: key.to_owned(),
            why: explanation(key, &problem),
        }
    };
    let socket = open().map_err(setting("mtu"))?;
    request(&socket, link_up(network.packet_bytes())).map_err(setting("mtu"))?;
    let mut parent = ROOT;
    if network.needs_netem() {
        let key = match network.delay.is_zero() {
            true => "loss",
            false => "delay",
        };
        request(&socket, emulator(network.delay, network.loss)).map_err(setting(key))?;
        parent = NETEM_CLASS;
    }
    if let Some(bits_per_s) = network.rate_bits_per_s {
        let bucket = token_bucket(bits_per_s, network.packet_bytes(), parent);
        request(&socket, bucket).map_err(setting("rate"))?;
    }
    Ok(())
}

fn explanation(key: &str, problem: &io::Error) -> String {
    let kernel_part = match key {
        "rate" => "tbf (module sch_tbf)",
        _ => "netem (module sch_netem)",
    };
    match problem.raw_os_error() == Some(Errno::NOENT.raw_os_error()) && key != "mtu" {
        true => format!("the kernel has no {kernel_part}"),
        false => problem.to_string(),
    }
}

fn open() -> io::Result<OwnedFd> {
    // Protocol 0 of this family is that of routes, links and queues.
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None,
    )?;
    set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_AT_MOST))?;
    Ok(socket)
}

/// Sends a request and waits for the kernel's answer.
fn request(socket: &OwnedFd, message: Vec<u8>) -> io::Result<()> {
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(socket, &message, SendFlags::empty(), &kernel)?;
    let mut answer = [0; 4096];
    let (length, _) = recv(socket, &mut answer[..], RecvFlags::empty())?;
    match error_code(&answer[..length]) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::Error::other("the kernel's answer is not understood")),
    }
}

/// The code in an answer: 0 or a negative error number.
fn error_code(answer: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let code = i32::from_ne_bytes(answer.get(16..20)?.try_into().ok()?);
    (kind == NLMSG_ERROR).then_some(code)
}

fn link_up(mtu: u32) -> Vec<u8> {
    let mut message = Message::new(RTM_NEWLINK, REQUEST_WITH_ANSWER);
    // Family, padding and type; the interface; its flags, and which of them are meant.
    message.words(&[0, LOOPBACK, IFF_UP, IFF_UP]);
    message.attribute(IFLA_MTU, &mtu.to_ne_bytes());
    message.into_bytes()
}

/// A queue of this kind on the loopback interface.
fn queue(kind: &str, (handle, parent): (u32, u32), options: &[u8]) -> Vec<u8> {
    let mut message = Message::new(RTM_NEWQDISC, REQUEST_WITH_ANSWER | CREATE_NEW);
    // Family and padding; the interface; the queue; its parent; nothing.
    message.words(&[0, LOOPBACK, handle, parent, 0]);
    message.attribute(TCA_KIND, &[kind.as_bytes(), &[0]].concat());
    message.attribute(TCA_OPTIONS, options);
    message.into_bytes()
}

fn emulator(delay: Duration, loss: f64) -> Vec<u8> {
    let lost = (loss * f64::from(u32::MAX)).round() as u32;
    let mut options = Vec::new();
    // Delay in the kernel's ticks, which is replaced below; packets; loss; gap, duplicates, jitter.
    for word in [0, NETEM_PACKETS, lost, 0, 0, 0] {
        options.extend_from_slice(&u32::to_ne_bytes(word));
    }
    let delay = i64::try_from(delay.as_nanos()).unwrap_or(i64::MAX);
    append(&mut options, TCA_NETEM_LATENCY64, &delay.to_ne_bytes());
    queue("netem", (NETEM, ROOT), &options)
}

fn token_bucket(bits_per_s: u64, mtu: u32, parent: u32) -> Vec<u8> {
    // At most 32 gbit, so it fits.
    let bytes_per_s = u32::try_from(bits_per_s / 8).unwrap_or(u32::MAX);
    let (seconds, packets) = BURST;
    let burst = ((f64::from(bytes_per_s) * seconds) as u32).max(mtu.saturating_mul(packets));
    let limit = ((f64::from(bytes_per_s) * QUEUE_S) as u32).saturating_add(burst);
    // The log of a cell, the link layer, overhead, alignment and smallest packet; then the rate.
    let mut rate = vec![0, LINKLAYER_ETHERNET, 0, 0, 0, 0, 0, 0];
    rate.extend_from_slice(&bytes_per_s.to_ne_bytes());
    let no_peak_rate = [0; 12];
    let mut parameters = [&rate[..], &no_peak_rate].concat();
    // Bytes that may wait; the burst as a time and the largest packet, both replaced by the next attribute.
    for word in [limit, 0, 0] {
        parameters.extend_from_slice(&u32::to_ne_bytes(word));
    }
    let mut options = Vec::new();
    append(&mut options, TCA_TBF_PARMS, &parameters);
    append(&mut options, TCA_TBF_BURST, &burst.to_ne_bytes());
    queue("tbf", (0, parent), &options)
}

/// A request to the kernel.
struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16, flags: u16) -> Self {
        let mut bytes = vec![0; 4];
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&flags.to_ne_bytes());
        // Its number, and the sender's.
        bytes.extend_from_slice(&[0; 8]);
        Self(bytes)
    }

    fn words(&mut self, words: &[u32]) {
        for word in words {
            self.0.extend_from_slice(&word.to_ne_bytes());
        }
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        append(&mut self.0, kind, value);
    }

    fn into_bytes(mut self) -> Vec<u8> {
        let length = u32::try_from(self.0.len()).expect("a message has some hundred bytes");
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        self.0
    }
}

/// Appends an attribute: its length without padding, its kind, its value, padding to four bytes.
fn append(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(value.len() + 4).expect("an attribute has some hundred bytes");
    bytes.extend_from_slice(&length.to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::{Message, append, error_code, token_bucket};

    #[test]
    fn attributes_are_padded_and_their_length_is_not() {
        let mut bytes = Vec::new();
        append(&mut bytes, 7, &[1, 2, 3, 4, 5]);
        let header = [9_u16.to_ne_bytes(), 7_u16.to_ne_bytes()].concat();
        assert_eq!(bytes, [&header[..], &[1, 2, 3, 4, 5, 0, 0, 0]].concat());
    }

    #[test]
    fn a_message_begins_with_its_length() {
        let mut message = Message::new(16, 5);
        message.words(&[1, 2]);
        let bytes = message.into_bytes();
        assert_eq!(bytes.len(), 24);
        assert_eq!(bytes[..4], 24_u32.to_ne_bytes());
        assert_eq!(
            bytes[4..8],
            [16_u16.to_ne_bytes(), 5_u16.to_ne_bytes()].concat()
        );
    }

    /// 100 mbit with packets of 1,500 bytes: 12.5 MB/s, a burst of 15,000 bytes, and 50 ms more that wait.
    #[test]
    fn a_token_bucket_has_rate_limit_and_burst() {
        let bytes = token_bucket(100_000_000, 1_500, 0xFFFF_FFFF);
        assert_eq!(bytes[..4], u32::to_ne_bytes(bytes.len() as u32));
        let word = |value: u32| value.to_ne_bytes();
        let contains = |value: u32| bytes.windows(4).any(|window| window == word(value));
        assert!(contains(12_500_000), "rate");
        assert!(contains(625_000 + 15_000), "limit");
        assert_eq!(bytes[bytes.len() - 4..], word(15_000), "burst");
    }

    #[test]
    fn an_answer_has_the_code_of_the_error() {
        let answer = |kind: u16, code: i32| {
            let mut bytes = vec![36, 0, 0, 0];
            bytes.extend_from_slice(&kind.to_ne_bytes());
            bytes.extend_from_slice(&[0; 10]);
            bytes.extend_from_slice(&code.to_ne_bytes());
            bytes
        };
        assert_eq!(error_code(&answer(2, 0)), Some(0));
        assert_eq!(error_code(&answer(2, -2)), Some(-2));
        assert_eq!(error_code(&answer(3, 0)), None);
        assert_eq!(error_code(&answer(2, 0)[..18]), None);
    }
}

//! A request that names its key and its sending instant.

use waggle_load::{KEY_DIGITS, Prepared, Slot, Stamp, TIME_DIGITS};

/// A request that contains its key and its sending instant.
pub(crate) fn stamped_request() -> Prepared {
    let length = KEY_DIGITS + TIME_DIGITS;
    let head = format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
    let slots = vec![
        Slot {
            at: head.len(),
            stamp: Stamp::Key { record: 0 },
        },
        Slot {
            at: head.len() + KEY_DIGITS,
            stamp: Stamp::Time,
        },
    ];
    Prepared {
        bytes: (head + &"0".repeat(length)).into_bytes(),
        slots,
        records: 1,
        is_head: false,
    }
}

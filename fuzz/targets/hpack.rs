//! HPACK: any block is decoded or refused, and what is decoded is the same after it was encoded again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use waggle_wire::http2::hpack::{Decoder, Encoder, Indexing, put_static};

const TABLE_BYTES: usize = 256;
/// Fields of a block that are kept: one may refer to a large entry again and again.
const FIELDS_MAX: usize = 500;

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

fuzz_target!(|bytes: &[u8]| {
    let mut decoder = Decoder::new(TABLE_BYTES);
    let mut encoder = Encoder::default();
    encoder.limit_table(TABLE_BYTES);
    let mut reader = Decoder::new(TABLE_BYTES);
    // Blocks of a connection, each with its length in front.
    let mut rest = bytes;
    while let Some((&length, after)) = rest.split_first() {
        let (block, after) = after.split_at(usize::from(length).min(after.len()));
        rest = after;
        let Some(fields) = decode(&mut decoder, block) else {
            return;
        };
        let mut encoded = Vec::new();
        encoder.begin(&mut encoded);
        for (number, (name, value)) in fields.iter().enumerate() {
            let indexing = match number % 3 {
                0 => Indexing::Without,
                _ => Indexing::Added,
            };
            encoder.put(&mut encoded, name, value, indexing);
        }
        assert_eq!(decode(&mut reader, &encoded).as_ref(), Some(&fields));
        // The same without tables.
        let mut fixed = Vec::new();
        for (name, value) in &fields {
            put_static(&mut fixed, name, value);
        }
        let again = decode(&mut Decoder::new(0), &fixed);
        assert_eq!(again.as_ref(), Some(&fields));
    }
});

/// The fields of a block, up to a number; `None` if it is invalid.
fn decode(decoder: &mut Decoder, block: &[u8]) -> Option<Fields> {
    let mut fields = Vec::new();
    let changes = decoder.changes();
    let decoded = decoder.decode(block, |name, value| {
        if fields.len() < FIELDS_MAX {
            fields.push((name.to_vec(), value.to_vec()));
        }
    });
    let decoded = decoded.ok()?;
    assert!(decoder.changes() >= changes);
    assert!(decoded.list_bytes >= 32 * decoded.fields);
    Some(fields)
}

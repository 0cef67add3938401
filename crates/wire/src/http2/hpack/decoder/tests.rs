//! The examples of RFC 7541, and blocks that are no blocks.

use super::*;

fn fields(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<String>, HpackError> {
    let mut fields = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    decoder.decode(block, |name, value| {
        fields.push(format!("{}: {}", text(name), text(value)));
    })?;
    Ok(fields)
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks_exact(2).map(pair).collect()
}

/// Decodes blocks one after the other; checks their fields and the table after each.
fn check(size: usize, blocks: &[(&str, &[&str], &[&str])]) {
    let mut decoder = Decoder::new(size);
    for (block, expected, table) in blocks {
        assert_eq!(
            fields(&mut decoder, &bytes(block)).unwrap(),
            *expected,
            "{block}"
        );
        let entries: Vec<String> = (0..decoder.table.len())
            .map(|number| {
                let (name, value) = decoder.table.get(number).unwrap();
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                format!("{}: {}", text(name), text(value))
            })
            .collect();
        assert_eq!(entries, *table, "{block}");
    }
}

const AUTHORITY: &str = ":authority: www.example.com";
const NO_CACHE: &str = "cache-control: no-cache";

#[test]
fn requests_of_the_standard_are_decoded() {
    // RFC 7541, appendix C.3 and C.4: the same three requests, without and with Huffman codes.
    let first: &[&str] = &[":method: GET", ":scheme: http", ":path: /", AUTHORITY];
    let second: &[&str] = &[
        ":method: GET",
        ":scheme: http",
        ":path: /",
        AUTHORITY,
        NO_CACHE,
    ];
    let third: &[&str] = &[
        ":method: GET",
        ":scheme: https",
        ":path: /index.html",
        AUTHORITY,
        "custom-key: custom-value",
    ];
    let tables: [&[&str]; 3] = [
        &[AUTHORITY],
        &[NO_CACHE, AUTHORITY],
        &["custom-key: custom-value", NO_CACHE, AUTHORITY],
    ];
    check(
        4_096,
        &[
            ("828684410f7777772e6578616d706c652e636f6d", first, tables[0]),
            ("828684be58086e6f2d6361636865", second, tables[1]),
            (
                "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
                third,
                tables[2],
            ),
        ],
    );
    check(
        4_096,
        &[
            ("828684418cf1e3c2e5f23a6ba0ab90f4ff", first, tables[0]),
            ("828684be5886a8eb10649cbf", second, tables[1]),
            (
                "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
                third,
                tables[2],
            ),
        ],
    );
}

#[test]
fn answers_of_the_standard_evict_entries() {
    // RFC 7541, appendix C.6, with a table of 256 bytes.
    let date = "date: Mon, 21 Oct 2013 20:13:21 GMT";
    let later = "date: Mon, 21 Oct 2013 20:13:22 GMT";
    let location = "location: https://www.example.com";
    let cookie = "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
    let private = "cache-control: private";
    check(
        256,
        &[
            (
                "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
                &[":status: 302", private, date, location],
                &[location, date, private, ":status: 302"],
            ),
            (
                "4883640effc1c0bf",
                &[":status: 307", private, date, location],
                &[":status: 307", location, date, private],
            ),
            (
                "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
                &[
                    ":status: 200",
                    private,
                    later,
                    location,
                    "content-encoding: gzip",
                    cookie,
                ],
                &[cookie, "content-encoding: gzip", later],
            ),
        ],
    );
}

#[test]
fn invalid_blocks_are_refused() {
    let check = |block: &str, error| {
        let mut decoder = Decoder::new(100);
        assert_eq!(fields(&mut decoder, &bytes(block)), Err(error), "{block}");
    };
    check("80", HpackError::Index);
    check("be", HpackError::Index);
    check("ff00", HpackError::Index);
    check("7e0161", HpackError::Index);
    check("0f2f0161", HpackError::Index);
    check("41", HpackError::Truncated);
    check("410577", HpackError::Truncated);
    check("4081ff0161", HpackError::Huffman);
    check("ff80808080808001", HpackError::Integer);
    check("3f46", HpackError::TableSize);
    check("8220", HpackError::TableSize);
    // Within the limit, at the beginning, and twice.
    let mut decoder = Decoder::new(100);
    assert_eq!(
        fields(&mut decoder, &bytes("203f4582")).unwrap(),
        [":method: GET"]
    );
}

#[test]
fn equal_blocks_mean_the_same_while_the_table_does_not_change() {
    let mut decoder = Decoder::new(4_096);
    let changes = |decoder: &mut Decoder, block: &str| {
        fields(decoder, &bytes(block)).unwrap();
        decoder.changes()
    };
    assert_eq!(changes(&mut decoder, "88"), 0);
    assert_eq!(
        changes(&mut decoder, "410f7777772e6578616d706c652e636f6d"),
        1
    );
    assert_eq!(changes(&mut decoder, "be"), 1);
    assert_eq!(changes(&mut decoder, "20"), 2);
}

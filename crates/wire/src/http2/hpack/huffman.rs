//! The Huffman code of HPACK (RFC 7541, section 5.2 and appendix B). It is canonical: the codes follow from their lengths.

use super::HpackError;

/// Bits of the code of each byte (appendix B). The end of the string, all ones, has 30.
#[rustfmt::skip]
const LENGTHS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];

const LENGTH_MAX: usize = 30;
/// Codes up to this length are found by one load.
const FAST_BITS: u32 = 9;

struct Tables {
    codes: [u32; 256],
    /// The bytes in the order of their codes.
    symbols: [u8; 256],
    /// By length: the first code of that length, and its place in `symbols`.
    first_code: [u32; LENGTH_MAX + 2],
    first_symbol: [u16; LENGTH_MAX + 2],
    /// By the next bits: the byte, and the length of its code above; 0: it is longer.
    fast: [u16; 1 << FAST_BITS],
}

static TABLES: Tables = tables();

const fn tables() -> Tables {
    let mut tables = Tables {
        codes: [0; 256],
        symbols: [0; 256],
        first_code: [0; LENGTH_MAX + 2],
        first_symbol: [0; LENGTH_MAX + 2],
        fast: [0; 1 << FAST_BITS],
    };
    let (mut code, mut place, mut length) = (0_u32, 0_usize, 1_usize);
    while length <= LENGTH_MAX {
        code <<= 1;
        tables.first_code[length] = code;
        tables.first_symbol[length] = place as u16;
        let mut byte = 0;
        while byte < 256 {
            if LENGTHS[byte] as usize == length {
                tables.codes[byte] = code;
                tables.symbols[place] = byte as u8;
                if length <= FAST_BITS as usize {
                    let rest = FAST_BITS as usize - length;
                    let mut low = 0;
                    while low < 1 << rest {
                        tables.fast[((code as usize) << rest) | low] =
                            (length as u16) << 8 | byte as u16;
                        low += 1;
                    }
                }
                code += 1;
                place += 1;
            }
            byte += 1;
        }
        length += 1;
    }
    tables.first_code[LENGTH_MAX + 1] = u32::MAX;
    tables.first_symbol[LENGTH_MAX + 1] = 256;
    tables
}

/// Appends the decoded bytes of `coded` to `out`.
///
/// # Errors
/// If the end of the string is coded in it, or the padding is longer than 7 bits or not all ones.
pub(super) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Result<(), HpackError> {
    let (mut bits, mut held) = (0_u64, 0_u32);
    let mut rest = coded;
    loop {
        while held <= 56
            && let Some((&byte, after)) = rest.split_first()
        {
            bits |= u64::from(byte) << (56 - held);
            held += 8;
            rest = after;
        }
        let entry = TABLES.fast[(bits >> (64 - FAST_BITS)) as usize];
        let (length, byte) = match entry {
            0 => match long_code(bits) {
                Some(code) => code,
                // All ones: padding, or the coded end of the string.
                None if held < 8 => (64, 0),
                None => return Err(HpackError::Huffman),
            },
            entry => (u32::from(entry >> 8), entry as u8),
        };
        if length > held {
            // What is left is padding, or the beginning of a code.
            let is_padding = held < 8 && bits == !u64::MAX.unbounded_shr(held);
            return if is_padding && rest.is_empty() {
                Ok(())
            } else {
                Err(HpackError::Huffman)
            };
        }
        out.push(byte);
        bits <<= length;
        held -= length;
    }
}

/// The length of the code at the front of `bits` and its byte; `None` if it is the end of the string.
fn long_code(bits: u64) -> Option<(u32, u8)> {
    for length in FAST_BITS as usize + 1..=LENGTH_MAX {
        let code = (bits >> (64 - length)) as u32;
        let place =
            u32::from(TABLES.first_symbol[length]) + code.wrapping_sub(TABLES.first_code[length]);
        let is_of_length =
            code >= TABLES.first_code[length] && place < u32::from(TABLES.first_symbol[length + 1]);
        if is_of_length {
            return Some((length as u32, TABLES.symbols[place as usize]));
        }
    }
    None
}

/// Bytes that `text` has when it is coded.
#[must_use]
pub(super) fn coded_length(text: &[u8]) -> usize {
    let bits: usize = text
        .iter()
        .map(|&byte| usize::from(LENGTHS[usize::from(byte)]))
        .sum();
    bits.div_ceil(8)
}

/// Appends the coded `text`.
pub(super) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut held) = (0_u64, 0_u32);
    for &byte in text {
        let length = u32::from(LENGTHS[usize::from(byte)]);
        bits = bits << length | u64::from(TABLES.codes[usize::from(byte)]);
        held += length;
        while held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    if held > 0 {
        out.push((bits << (8 - held)) as u8 | 0xff >> held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode_all(coded: &[u8]) -> Result<Vec<u8>, HpackError> {
        let mut out = Vec::new();
        decode(coded, &mut out).map(|()| out)
    }

    #[test]
    fn examples_of_the_standard_are_coded() {
        // RFC 7541, appendix C.4 and C.6.
        let check = |text: &str, coded: &[u8]| {
            let mut out = Vec::new();
            encode(text.as_bytes(), &mut out);
            assert_eq!(out, coded, "{text}");
            assert_eq!(coded_length(text.as_bytes()), coded.len());
            assert_eq!(decode_all(coded), Ok(text.as_bytes().to_vec()));
        };
        check("", &[]);
        check(
            "www.example.com",
            &[
                0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff,
            ],
        );
        check("no-cache", &[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]);
        check("302", &[0x64, 0x02]);
        check("private", &[0xae, 0xc3, 0x77, 0x1a, 0x4b]);
    }

    #[test]
    fn every_byte_is_coded_and_decode_all() {
        let all: Vec<u8> = (0..=255).collect();
        for length in 0..all.len() {
            let mut coded = Vec::new();
            encode(&all[..length], &mut coded);
            assert_eq!(decode_all(&coded), Ok(all[..length].to_vec()));
        }
    }

    #[test]
    fn padding_is_short_and_of_ones() {
        let check =
            |coded: &[u8]| assert_eq!(decode_all(coded), Err(HpackError::Huffman), "{coded:x?}");
        // `0` has the code 00000.
        check(&[0b0000_0000]);
        check(&[0b0000_0110]);
        check(&[0b0000_0111, 0xff]);
        check(&[0xff]);
        // The end of the string, and a byte after it.
        check(&[0xff, 0xff, 0xff, 0xff]);
        check(&[0xff, 0xff, 0xff, 0xfc, 0x07]);
        assert_eq!(decode_all(&[0b0000_0111]), Ok(b"0".to_vec()));
    }
}

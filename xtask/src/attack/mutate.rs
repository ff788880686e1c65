//! Damages files: as disks and editors do, and as an attacker would.

use super::stream::Stream;

/// Numbers where programs break.
pub const NUMBERS: [&str; 24] = [
    "0",
    "1",
    "-1",
    "-0",
    "2",
    "255",
    "256",
    "65535",
    "65536",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "0.5",
    "1e-400",
    "5e-324",
    "1e308",
    "1e309",
    "nan",
    "inf",
    "99999999999999999999999999999999999999999999999999999999999999999999999999999999",
];

/// A file with a bit flipped.
pub fn flip_bit(content: &mut [u8], stream: &mut Stream) {
    if !content.is_empty() {
        let place = stream.below(content.len());
        content[place] ^= 1 << stream.below(8);
    }
}

/// A damaged file: one to three kinds of damage in a row.
pub fn mutate(content: &[u8], stream: &mut Stream) -> Vec<u8> {
    let mut content = content.to_vec();
    for _ in 0..=stream.below(3) {
        damage(&mut content, stream);
    }
    content
}

fn damage(content: &mut Vec<u8>, stream: &mut Stream) {
    match stream.below(12) {
        0 => (0..=stream.below(8)).for_each(|_| flip_bit(content, stream)),
        1 => content.truncate(stream.below(content.len() + 1)),
        2 => {
            let from = stream.below(content.len() + 1);
            let to = from + stream.below((content.len() - from).min(64) + 1);
            content.drain(from..to);
        }
        3 => {
            let (from, to) = piece(content, stream);
            let copy = content[from..to].to_vec();
            let place = stream.below(content.len() + 1);
            content.splice(place..place, copy);
        }
        4..=7 => {
            let number = stream.pick(&NUMBERS).bytes();
            replace_number(content, stream, number.collect());
        }
        8 => nest(content, stream),
        9 => {
            let place = stream.below(content.len() + 1);
            let bytes: Vec<u8> = (0..=stream.below(16)).map(|_| stream.byte()).collect();
            content.splice(place..place, bytes);
        }
        10 => swap_lines(content, stream),
        _ => {
            let words: [&[u8]; 8] = [
                b"null",
                b"true",
                b"{}",
                b"[]",
                b"\"\"",
                b"[[]]",
                b"\"1/0\"",
                b"\"\\u0000\"",
            ];
            let word = stream.pick(&words).to_vec();
            replace_number(content, stream, word);
        }
    }
}

/// A piece of at most 200 bytes.
fn piece(content: &[u8], stream: &mut Stream) -> (usize, usize) {
    let from = stream.below(content.len() + 1);
    let length = stream.below((content.len() - from).min(200) + 1);
    (from, from + length)
}

/// Puts something in the place of a number, one that is in the file.
fn replace_number(content: &mut Vec<u8>, stream: &mut Stream, new: Vec<u8>) {
    let part_of = |byte: &u8| byte.is_ascii_digit() || b".-+e".contains(byte);
    let begins = |&place: &usize| {
        content[place].is_ascii_digit() && (place == 0 || !part_of(&content[place - 1]))
    };
    let places: Vec<usize> = (0..content.len()).filter(begins).collect();
    if places.is_empty() {
        return;
    }
    let from = *stream.pick(&places);
    let length = content[from..].iter().take_while(|b| part_of(b)).count();
    content.splice(from..from + length, new);
}

/// Deep nesting, as bombs have it.
fn nest(content: &mut Vec<u8>, stream: &mut Stream) {
    let depth = *stream.pick(&[10, 127, 128, 129, 5000, 200_000]);
    let (open, close) = *stream.pick(&[("[", "]"), ("{\"a\":", "}"), ("{ a = ", " }")]);
    let place = stream.below(content.len() + 1);
    let bomb = format!("{}0{}", open.repeat(depth), close.repeat(depth));
    match stream.below(3) {
        0 => *content = bomb.into_bytes(),
        1 => replace_number(content, stream, bomb.into_bytes()),
        _ => _ = content.splice(place..place, bomb.into_bytes()),
    }
}

fn swap_lines(content: &mut Vec<u8>, stream: &mut Stream) {
    let mut lines: Vec<Vec<u8>> = content.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
    let (a, b) = (stream.below(lines.len()), stream.below(lines.len()));
    lines.swap(a, b);
    *content = lines.join(&b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_damage_is_the_same_again_and_most_change_the_file() {
        let text = b"{\"actions\":[0,1,2],\"reward\":\"41/50\"}\nnext = 1e-3\n";
        let damaged = |n| mutate(text, &mut Stream::new(5, "files", n));
        let changed = (0..500).filter(|&n| damaged(n) != text).count();
        assert!(changed > 400, "{changed}");
        assert!((0..500).all(|n| damaged(n) == damaged(n)));
        assert!((0..50).all(|n| mutate(b"", &mut Stream::new(5, "files", n)).len() < 1 << 21));
    }

    #[test]
    fn a_whole_number_is_replaced() {
        let mut text = b"a = 1e-3".to_vec();
        replace_number(&mut text, &mut Stream::new(0, "x", 0), b"nan".to_vec());
        assert_eq!(text, b"a = nan");
    }

    #[test]
    fn a_flipped_bit_is_one_bit() {
        let mut bytes = vec![0u8; 40];
        flip_bit(&mut bytes, &mut Stream::new(0, "x", 1));
        assert_eq!(bytes.iter().map(|b| b.count_ones()).sum::<u32>(), 1);
    }
}

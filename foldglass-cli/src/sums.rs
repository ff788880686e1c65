//! Computes SHA-256 sums, as `sha256sum` prints them.

use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

/// The sum of a content.
pub fn sum(content: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(content);
    hex(hash)
}

/// The bytes that a reader gives, and their sum.
pub fn sum_of(reader: &mut dyn Read) -> io::Result<(u64, String)> {
    let mut hash = Hashed::default();
    let bytes = io::copy(reader, &mut hash)?;
    Ok((bytes, hash.sum()))
}

/// Takes bytes into a hash.
#[derive(Default)]
pub struct Hashed(Sha256);

impl Hashed {
    /// The sum of all bytes so far.
    pub fn sum(self) -> String {
        hex(self.0)
    }
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hex(hash: Sha256) -> String {
    let bytes = hash.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_published_function() {
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sum(b"abc"), known);
        assert_eq!(sum_of(&mut &b"abc"[..]).unwrap(), (3, known.to_owned()));
    }
}

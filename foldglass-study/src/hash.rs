//! Hashes contents, to tell one from another (not to withstand an attack).

const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// FNV-1a of 128 bits.
pub fn fnv(bytes: &[u8]) -> u128 {
    let step = |hash: u128, &byte: &u8| (hash ^ u128::from(byte)).wrapping_mul(PRIME);
    bytes.iter().fold(OFFSET, step)
}

/// The same as 32 hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    format!("{:032x}", fnv(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_published_function() {
        assert_eq!(fnv(b""), OFFSET);
        assert_eq!(fnv(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(digest(b"a"), "d228cb696f1a8caf78912b704e4a8964");
    }
}

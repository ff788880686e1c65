//! Writes and reads archives in the format of tar (POSIX.1-1988, ustar) whose bytes follow from names and contents.
//!
//! Owner, times and modes are constant. A reader that knows the names therefore knows every byte of a header.

use std::io::{self, Error, ErrorKind, Read, Write};

/// Headers are blocks, and contents are filled up to blocks.
const BLOCK: usize = 512;

/// What ends an archive.
const END: usize = 2 * BLOCK;

/// The header of a file.
fn header(path: &str, bytes: u64) -> io::Result<[u8; BLOCK]> {
    let too_long = || {
        let problem =
            format!("{path}: the name is too long for tar, or the file larger than 8 GiB");
        Error::new(ErrorKind::InvalidInput, problem)
    };
    // The folders of a long name stand in a field of their own.
    let split = match path.len() {
        ..=100 => Some(("", path)),
        _ => path.match_indices('/').find_map(|(at, _)| {
            (at <= 155 && path.len() - at - 1 <= 100).then(|| (&path[..at], &path[at + 1..]))
        }),
    };
    let (folders, name) = split.ok_or_else(too_long)?;
    if bytes >= 1 << 33 {
        return Err(too_long());
    }
    let mut block = [0; BLOCK];
    let mut put =
        |at: usize, text: &str| block[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644\0");
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{bytes:011o}\0"));
    put(136, "00000000000\0");
    // The sum is taken with blanks in its place.
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    put(345, folders);
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(block)
}

/// The zeros behind a content.
fn filling(bytes: u64) -> usize {
    (BLOCK - (bytes % BLOCK as u64) as usize) % BLOCK
}

/// Writes an archive.
pub struct TarWriter<W>(W);

impl<W: Write> TarWriter<W> {
    /// Begins one.
    pub fn new(to: W) -> TarWriter<W> {
        TarWriter(to)
    }

    /// Adds a file of so many bytes.
    pub fn append(&mut self, path: &str, bytes: u64, mut content: impl Read) -> io::Result<()> {
        self.0.write_all(&header(path, bytes)?)?;
        let copied = io::copy(&mut content, &mut self.0)?;
        if copied != bytes {
            return Err(Error::other(format!("{path} changed while it was read")));
        }
        self.0.write_all(&[0; BLOCK][..filling(bytes)])
    }

    /// Ends it.
    pub fn finish(mut self) -> io::Result<W> {
        self.0.write_all(&[0; END])?;
        Ok(self.0)
    }
}

/// Reads an archive that [`TarWriter`] wrote, and refuses any other byte.
pub struct TarReader<R>(R);

impl<R: Read> TarReader<R> {
    /// Begins at its first byte.
    pub fn new(from: R) -> TarReader<R> {
        TarReader(from)
    }

    /// Reads the next file, which must have this name, and gives its size.
    pub fn read(&mut self, path: &str, to: &mut impl Write) -> Result<u64, String> {
        let damaged = |what: &str| format!("{path}: {what}");
        let mut block = [0; BLOCK];
        let read = self.0.read_exact(&mut block);
        read.map_err(|error| damaged(&format!("cannot be read: {error}")))?;
        let digits = std::str::from_utf8(&block[124..135]).ok();
        let bytes = digits.and_then(|digits| u64::from_str_radix(digits, 8).ok());
        let bytes = bytes.filter(|&bytes| header(path, bytes).is_ok_and(|known| known == block));
        let bytes = bytes.ok_or_else(|| damaged("its header is damaged"))?;
        let copied = io::copy(&mut (&mut self.0).take(bytes), to);
        let copied = copied.map_err(|error| damaged(&format!("cannot be read: {error}")))?;
        let mut rest = vec![0; filling(bytes)];
        let filled = self.0.read_exact(&mut rest);
        if copied != bytes || filled.is_err() {
            return Err(damaged("the archive ends within it"));
        }
        match rest.iter().all(|&byte| byte == 0) {
            true => Ok(bytes),
            false => Err(damaged("the bytes behind it are damaged")),
        }
    }

    /// Whether nothing but the end follows.
    pub fn end(&mut self) -> Result<(), String> {
        let mut rest = Vec::new();
        let read = (&mut self.0).take(END as u64 + 1).read_to_end(&mut rest);
        match read.is_ok() && rest == [0; END] {
            true => Ok(()),
            false => Err("the end of the archive is damaged".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut tar = TarWriter::new(Vec::new());
        for (path, content) in files {
            tar.append(path, content.len() as u64, *content).unwrap();
        }
        tar.finish().unwrap()
    }

    #[test]
    fn every_flipped_bit_outside_of_contents_is_found() {
        let long = format!("{}/{}", "d".repeat(90), "n".repeat(40));
        let files: [(&str, &[u8]); 2] = [("a/b.json", b"{}\n"), (&long, &[7; BLOCK])];
        let whole = archive(&files);
        let read = |bytes: &[u8]| -> Result<Vec<Vec<u8>>, String> {
            let mut tar = TarReader::new(bytes);
            let mut contents = Vec::new();
            for (path, _) in files {
                let mut content = Vec::new();
                tar.read(path, &mut content)?;
                contents.push(content);
            }
            tar.end().map(|()| contents)
        };
        let contents: Vec<Vec<u8>> = files.iter().map(|(_, bytes)| bytes.to_vec()).collect();
        assert_eq!(read(&whole).unwrap(), contents);
        for byte in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[byte] ^= 1 << (byte % 8);
            assert!(
                read(&damaged).is_err_and(|_| true) || read(&damaged).unwrap() != contents,
                "{byte}"
            );
        }
        for length in [0, 10, whole.len() - 1] {
            assert!(read(&whole[..length]).is_err(), "{length}");
        }
        assert!(read(&[&whole[..], b"\0"].concat()).is_err());
    }
}

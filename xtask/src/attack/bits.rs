//! Flips single bits of what the program keeps: the same result, or a word.

use super::corpus::Corpus;
use super::files::{collected, go_on};
use super::mutate::flip_bit;
use super::stream::Stream;
use std::fs;
use std::path::Path;

const FILES: [(&str, &str); 4] = [
    ("study", "records.jsonl"),
    ("census", "parts.jsonl"),
    ("study", "study.json"),
    ("census", "census.json"),
];

/// Each so many flipped bits of records, the study goes on to its end.
const GO_ON: usize = 20;

/// Flips a bit; gives 1.
pub fn attack(corpus: &Corpus, folder: &Path, _: u64, stream: &mut Stream) -> Result<u64, String> {
    // Most of them where most bytes are.
    let (directory, file) = FILES[[0, 1, 0, 1, 0, 1, 0, 1, 2, 3][stream.below(10)]];
    corpus.copy(&["study.toml", directory], folder)?;
    let path = folder.join(directory).join(file);
    let mut content = fs::read(&path).map_err(|error| error.to_string())?;
    flip_bit(&mut content, stream);
    fs::write(&path, content).map_err(|error| error.to_string())?;
    collected(corpus, folder, directory)?;
    if directory == "study" && stream.below(GO_ON) == 0 {
        go_on(corpus, folder, directory)?;
    }
    Ok(1)
}

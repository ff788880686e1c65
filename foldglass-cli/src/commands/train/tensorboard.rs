//! Writes curves as event files that TensorBoard reads: one directory per model.
//!
//! An event file is a sequence of records (length, its checksum, a protobuf message, its checksum).
//! Every call of the program begins a file of its own, which says from which step on it holds: what
//! an interrupted call wrote after that step is left out by readers.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use foldglass_nn::fleet::CurvePoint;

/// The event files of a fleet.
pub struct Events {
    files: Vec<EventFile>,
}

struct EventFile {
    path: PathBuf,
    file: File,
}

/// An event file that cannot be written.
#[derive(Debug)]
pub struct Unwritten {
    /// Where.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl Events {
    /// Begins a file for every model, from a step on.
    pub fn begin(directory: &Path, names: &[String], step: u64) -> Result<Events, Unwritten> {
        let begun = |name: &String| EventFile::begin(&directory.join(name), step);
        let files = names.iter().map(begun).collect::<Result<_, _>>()?;
        Ok(Events { files })
    }

    /// Adds a point of every model.
    pub fn add(&mut self, points: &[CurvePoint]) -> Result<(), Unwritten> {
        for (file, point) in self.files.iter_mut().zip(points) {
            file.write(&scalars(point, now()))?;
        }
        Ok(())
    }
}

impl EventFile {
    fn begin(directory: &Path, step: u64) -> Result<EventFile, Unwritten> {
        let unwritten = |path: &Path, source| Unwritten {
            path: path.to_owned(),
            source,
        };
        fs::create_dir_all(directory).map_err(|source| unwritten(directory, source))?;
        // Readers take the files of a directory in the order of their names.
        let time = now();
        let name = format!("events.out.tfevents.{:020}.foldglass", (time * 1e6) as u64);
        let path = directory.join(name);
        let file = File::create(&path).map_err(|source| unwritten(&path, source))?;
        let mut begun = EventFile { path, file };
        begun.write(&version(time))?;
        // The last point before it is kept.
        begun.write(&start(step + 1, time))?;
        Ok(begun)
    }

    fn write(&mut self, message: &[u8]) -> Result<(), Unwritten> {
        let written = self.file.write_all(&record(message));
        written.map_err(|source| Unwritten {
            path: self.path.clone(),
            source,
        })
    }
}

fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |time| time.as_secs_f64())
}

/// A message with its length and checksums.
fn record(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u64).to_le_bytes();
    let sum = |bytes: &[u8]| masked(crc32c(bytes)).to_le_bytes();
    [&length[..], &sum(&length), message, &sum(message)].concat()
}

/// CRC-32C (Castagnoli), bit by bit: events are few.
fn crc32c(bytes: &[u8]) -> u32 {
    const REVERSED: u32 = 0x82f6_3b78;
    let step = |crc: u32| {
        if crc & 1 == 1 {
            (crc >> 1) ^ REVERSED
        } else {
            crc >> 1
        }
    };
    let sum = bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc))
    });
    !sum
}

/// The form in which records have their checksums.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

// Fields of the messages Event, SessionLog, Summary and Summary.Value.
const EVENT_TIME: u32 = 1;
const EVENT_STEP: u32 = 2;
const EVENT_VERSION: u32 = 3;
const EVENT_SUMMARY: u32 = 5;
const EVENT_SESSION: u32 = 7;
const SESSION_STATUS: u32 = 1;
const SESSION_START: u64 = 1;
const SUMMARY_VALUE: u32 = 1;
const VALUE_TAG: u32 = 1;
const VALUE_NUMBER: u32 = 2;

/// The first event of a file.
fn version(time: f64) -> Vec<u8> {
    let mut event = Vec::new();
    double(&mut event, EVENT_TIME, time);
    bytes(&mut event, EVENT_VERSION, b"brain.Event:2");
    event
}

/// Says that events from a step on are what comes now.
fn start(step: u64, time: f64) -> Vec<u8> {
    let mut session = Vec::new();
    varint(&mut session, SESSION_STATUS, SESSION_START);
    let mut event = Vec::new();
    double(&mut event, EVENT_TIME, time);
    varint(&mut event, EVENT_STEP, step);
    bytes(&mut event, EVENT_SESSION, &session);
    event
}

/// A point of a curve.
fn scalars(point: &CurvePoint, time: f64) -> Vec<u8> {
    let last = &point.last;
    let mut summary = Vec::new();
    let all = [
        ("accuracy/gate", point.gate),
        ("accuracy/sampled", last.sampled),
        ("curriculum/length", point.length as f64),
        ("train/loss", last.loss),
        ("train/entropy", last.entropy),
        ("train/gradient_norm", last.gradient_norm),
    ];
    let divergence = last.kl.map(|kl| ("train/kl", kl));
    for (tag, number) in all.into_iter().chain(divergence) {
        let mut value = Vec::new();
        bytes(&mut value, VALUE_TAG, tag.as_bytes());
        float(&mut value, VALUE_NUMBER, number as f32);
        bytes(&mut summary, SUMMARY_VALUE, &value);
    }
    let mut event = Vec::new();
    double(&mut event, EVENT_TIME, time);
    varint(&mut event, EVENT_STEP, point.step);
    bytes(&mut event, EVENT_SUMMARY, &summary);
    event
}

/// The wire types of protobuf.
const VARINT: u32 = 0;
const EIGHT_BYTES: u32 = 1;
const LENGTH: u32 = 2;
const FOUR_BYTES: u32 = 5;

fn plain(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn key(out: &mut Vec<u8>, field: u32, wire: u32) {
    plain(out, u64::from(field << 3 | wire));
}

fn varint(out: &mut Vec<u8>, field: u32, number: u64) {
    key(out, field, VARINT);
    plain(out, number);
}

fn double(out: &mut Vec<u8>, field: u32, number: f64) {
    key(out, field, EIGHT_BYTES);
    out.extend(number.to_le_bytes());
}

fn float(out: &mut Vec<u8>, field: u32, number: f32) {
    key(out, field, FOUR_BYTES);
    out.extend(number.to_le_bytes());
}

fn bytes(out: &mut Vec<u8>, field: u32, content: &[u8]) {
    key(out, field, LENGTH);
    plain(out, content.len() as u64);
    out.extend(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standard() {
        // RFC 3720, B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&ascending), 0x46dd_794e);
    }

    #[test]
    fn messages_are_protobuf() {
        let mut out = Vec::new();
        varint(&mut out, 1, 150);
        assert_eq!(out, [0x08, 0x96, 0x01]);
        out.clear();
        bytes(&mut out, 2, b"testing");
        assert_eq!(out, b"\x12\x07testing");
        assert_eq!(version(0.0)[9..], *b"\x1a\x0dbrain.Event:2");
        let record = record(b"abc");
        assert_eq!(
            (record.len(), &record[12..15]),
            (8 + 4 + 3 + 4, &b"abc"[..])
        );
    }
}

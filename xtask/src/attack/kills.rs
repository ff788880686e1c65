//! Kills commands that keep what they have done, takes them up, and compares with an undisturbed run.

use super::corpus::{CENSUS, CERTIFY, Corpus};
use super::process::Call;
use super::stream::Stream;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// What an undisturbed end may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The most kills of one command before it may end.
const MOST: usize = 8;

/// Kills one kind of command several times; gives the number of kills.
pub fn attack(
    corpus: &Corpus,
    folder: &Path,
    number: u64,
    stream: &mut Stream,
) -> Result<u64, String> {
    match number % 4 {
        0 => run(corpus, folder, 1, stream),
        1 => run(corpus, folder, 2 + stream.below(2), stream),
        2 => enumerate(corpus, folder, stream),
        _ => certified(corpus, folder, stream),
    }
}

/// Starts a command again and again, and kills it each time at a random moment, until it ended
/// before that.
fn harass(
    call: &Call,
    seconds: f64,
    stream: &mut Stream,
    mut look: impl FnMut() -> Result<(), String>,
) -> Result<u64, String> {
    let mut kills = 0;
    for _ in 0..=stream.below(MOST) {
        let mut running = call.start();
        if running.wait(Duration::from_secs_f64(seconds * stream.share())) {
            let end = running.interrupt();
            if let Some(fault) = end.fault() {
                return Err(format!("after {kills} kills: {fault}\n  {call}"));
            }
            break;
        }
        running.kill();
        kills += 1;
        look().map_err(|fault| format!("after {kills} kills: {fault}\n  {call}"))?;
    }
    Ok(kills)
}

fn run(corpus: &Corpus, folder: &Path, shards: usize, stream: &mut Stream) -> Result<u64, String> {
    corpus.copy(&["study.toml"], folder)?;
    let apart = stream.below(2) == 0;
    let (mut kills, mut calls, mut folders) = (0, Vec::new(), Vec::new());
    for shard in 1..=shards {
        let out = if apart {
            format!("out{shard}")
        } else {
            "out".into()
        };
        let shard = format!("{shard}/{shards}");
        let threads = 1 + stream.below(3);
        let args = format!("run study.toml --out {out} --shard {shard} --threads {threads}");
        let call = Call::new(&corpus.program, folder, &args).args("--checkpoint-every 0.01");
        let seconds = corpus.seconds.study / shards as f64;
        kills += harass(&call, seconds, stream, || Ok(()))?;
        calls.push(call);
        if !folders.contains(&out) {
            folders.push(out);
        }
    }
    for call in &calls {
        call.succeed(PATIENCE)?;
    }
    let collect = Call::new(&corpus.program, folder, "collect").args(&folders.join(" "));
    kills += harass(&collect, 0.05, stream, || Ok(()))?;
    collect.succeed(PATIENCE)?;
    let same = corpus.same_tables(&folder.join(&folders[0]));
    same.map_err(|fault| format!("after {kills} kills: {fault}\n  {collect}"))?;
    for out in folders {
        if folder.join(&out).join("checkpoints").exists() {
            return Err(format!("{out}/checkpoints is left when all runs are done"));
        }
    }
    Ok(kills)
}

fn enumerate(corpus: &Corpus, folder: &Path, stream: &mut Stream) -> Result<u64, String> {
    let threads = 1 + stream.below(3);
    let args = format!("enumerate --out census --traps traps.json --threads {threads} {CENSUS}");
    let call = Call::new(&corpus.program, folder, &args);
    let traps = corpus.read("traps.json");
    let look = || match fs::read(folder.join("traps.json")) {
        Ok(there) if there != traps => Err("a part of traps.json".to_owned()),
        _ => Ok(()),
    };
    let kills = harass(&call, corpus.seconds.census * 1.2, stream, look)?;
    call.succeed(PATIENCE)?;
    let collect = Call::new(&corpus.program, folder, "collect census --json");
    let counted = collect.succeed(PATIENCE)?.found();
    if counted != corpus.census {
        return Err(format!(
            "after {kills} kills the counts differ\n  {collect}"
        ));
    }
    if fs::read(folder.join("traps.json")).ok() != Some(traps) {
        return Err(format!("after {kills} kills traps.json differs\n  {call}"));
    }
    Ok(kills)
}

/// A killed `certify` leaves what was there, or all of it.
fn certified(corpus: &Corpus, folder: &Path, stream: &mut Stream) -> Result<u64, String> {
    corpus.copy(&["codes.json"], folder)?;
    let (out, whole) = (folder.join("verdicts.json"), corpus.read("verdicts.json"));
    let old = b"{\"what\":\"was there\"}\n".to_vec();
    if stream.below(2) == 0 {
        fs::write(&out, &old).map_err(|error| error.to_string())?;
    }
    let before = fs::read(&out).ok();
    let call = Call::new(&corpus.program, folder, CERTIFY);
    let look = || {
        let there = fs::read(&out).ok();
        if there == before || there.as_ref() == Some(&whole) {
            Ok(())
        } else {
            Err("verdicts.json is neither the old file nor the new one".to_owned())
        }
    };
    let kills = harass(&call, corpus.seconds.verdicts * 1.2, stream, look)?;
    call.succeed(PATIENCE)?;
    if fs::read(&out).ok() != Some(whole) {
        return Err(format!(
            "after {kills} kills verdicts.json differs\n  {call}"
        ));
    }
    Ok(kills)
}

//! Takes a code apart: steps, aliasing, ignored positions, wrong answers, defended cells (paper, section
//! 4.2, App. D to G.6).

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use dashu_ratio::RBig;
use foldglass::anatomy::{
    self, Aliased, Answers, Cause, Defence, Factor, Share, StepAnatomy, Wrong,
};
use foldglass::landscape::ignored::{ignored, pairs};
use foldglass::stats::Interval;
use foldglass::{ClassSpec, Code, Reward, Stream, Symbol, count};
use foldglass_study::Error as StudyError;
use foldglass_study::claims::LABEL;
use foldglass_study::disk::replace;
use foldglass_study::tables::Source;
use serde::Serialize;
use serde_json::{Value, json};

use super::draw::drawing;
use crate::cli::Settings;
use crate::error::Error;
use crate::flags::table::one_code;
use crate::flags::{ClassArgs, positive};
use crate::output::Report;
use crate::report::{Cell, Column, Format, Table};

/// The flags of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// The code: a code file, or any that holds codes, FILE#N for one of several, - for stdin; a bare
    /// {"actions":[..]} needs the class flags
    #[arg(short, long, value_name = "FILE")]
    code: Source,
    /// Roll out all inputs that occur where there are at most so many, else so many of each length,
    /// drawn from their law
    #[arg(long, value_name = "N", default_value = "200000", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    most_inputs: usize,
    /// Wrong answers to print
    #[arg(long, value_name = "N", default_value = "8", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    wrong: usize,
    /// Draw the code to this file, as `draw` does
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    class: ClassArgs,
}

impl InspectArgs {
    /// Reads the code and takes it apart.
    pub fn run(&self, settings: &Settings) -> Result<Inspected, Error> {
        let (_, code) = one_code(&self.code, &self.class, settings.seed)?;
        if let Some(path) = &self.svg {
            let name = self.code.path.file_stem().unwrap_or_default();
            let drawing = drawing(&name.to_string_lossy(), &code)?;
            let written = replace(path, LABEL, drawing.as_bytes());
            written.map_err(|source| StudyError::write(path, source))?;
        }
        let defence = anatomy::defence(&code, self.class.allowance())?;
        let limits = Limits {
            inputs: self.most_inputs,
            pairs: MOST_PAIRS,
        };
        let inspected = inspect(code, limits, settings.seed, defence);
        Ok(Inspected {
            shown: self.wrong,
            svg: self.svg.as_ref().map(|path| path.display().to_string()),
            ..inspected
        })
    }
}

/// The most pairs of rollouts that are followed for the positions that a code ignores: up to a minute.
const MOST_PAIRS: u128 = 100_000_000;

/// What is rolled out of a code.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// All inputs where there are at most so many, else as many drawn.
    pub inputs: usize,
    /// The most pairs of rollouts that are followed for the positions that a code ignores.
    pub pairs: u128,
}

/// Takes a code apart; inputs are drawn by the seed.
pub fn inspect(code: Code, limits: Limits, seed: u64, defence: Defence) -> Inspected {
    let mut stream = Stream::new(seed, 0);
    let reward = count::reward(&code);
    let lengths = code.class().task().lengths().iter();
    let followed = pairs(code.class()) <= limits.pairs;
    Inspected {
        wrong: Reward::from(RBig::ONE - reward.ratio()),
        reward,
        ignored: lengths
            .map(|&length| (length, followed.then(|| ignored(&code, length))))
            .collect(),
        steps: anatomy::steps(&code),
        aliasing: anatomy::aliasing(&code),
        product: anatomy::product(&code),
        defence,
        answers: anatomy::answers(&code, limits.inputs, &mut stream),
        shown: 0,
        svg: None,
        code,
    }
}

/// A code taken apart.
pub struct Inspected {
    code: Code,
    reward: Reward,
    /// The probability of a wrong answer, 1 - J.
    wrong: Reward,
    /// By length: the positions whose symbol never changes the answer; none where too many pairs of rollouts
    /// would have to be followed.
    ignored: Vec<(usize, Option<Vec<usize>>)>,
    steps: Vec<StepAnatomy>,
    aliasing: Vec<Aliased>,
    product: Option<(Vec<Factor>, Reward)>,
    defence: Defence,
    answers: Answers,
    /// Wrong answers to print.
    shown: usize,
    svg: Option<String>,
}

/// The level of intervals.
const LEVEL: f64 = 0.95;

/// How likely a cause is: exactly where all inputs were looked at, else with the ends of an interval.
fn share_json(share: &Share, object: &mut Value) {
    object["probability"] = share.probability().into();
    let (exact, interval) = match share {
        Share::Exact(exact) => (Some(exact.to_string()), None),
        Share::Drawn(drawn) => (None, Some(drawn.interval(LEVEL))),
    };
    object["probability_exact"] = exact.into();
    object["low"] = interval.map(|interval| interval.low).into();
    object["high"] = interval.map(|interval| interval.high).into();
}

fn share_words(share: &Share) -> String {
    match share {
        Share::Exact(exact) => format!("{exact} = {:.6}", exact.to_f64()),
        Share::Drawn(drawn) => {
            let Interval { low, high } = drawn.interval(LEVEL);
            format!("{:.6} ({low:.6} to {high:.6})", share.probability())
        }
    }
}

fn cause_json(cause: Cause) -> Value {
    match cause {
        Cause::Aliased { t } => json!({"why": "aliased", "t": t}),
        Cause::Misread => json!({"why": "misread"}),
    }
}

fn cause_words(cause: Cause) -> String {
    match cause {
        Cause::Aliased { t } => format!("its token at step {t} stands for other states too"),
        Cause::Misread => "the last step answers another state".to_owned(),
    }
}

fn half(twice: i8) -> String {
    match twice {
        1 => "1/2".to_owned(),
        -1 => "-1/2".to_owned(),
        whole => (whole / 2).to_string(),
    }
}

fn comma<T: ToString>(list: &[T]) -> String {
    let words: Vec<String> = list.iter().map(T::to_string).collect();
    words.join(",")
}

impl Inspected {
    fn step_json(&self, number: usize) -> Value {
        let step = &self.steps[number];
        let mut object = json!({
            "t": step.t, "first_cell": step.first_cell, "cells": step.cells, "windows": step.windows,
            "constant_links": step.constant_links, "merging_links": step.merging_links,
            "kind": step.kind.words(), "dead": step.kind.is_dead(),
        });
        if let Some((factors, _)) = &self.product {
            object["mu"] = half(factors[number].twice).into();
        }
        object
    }

    fn aliased_json(step: &Aliased) -> Value {
        let tokens = step.states.iter();
        let tokens: Vec<Value> = tokens
            .map(|(token, states)| json!({"token": token, "states": states}))
            .collect();
        json!({"length": step.length, "t": step.t, "aliases": step.aliases(), "tokens": tokens})
    }

    /// All of it.
    pub fn json(&self) -> Value {
        let answers = &self.answers;
        let causes: Vec<Value> = (answers.causes.iter())
            .map(|(&cause, share)| {
                let mut object = cause_json(cause);
                share_json(share, &mut object);
                object
            })
            .collect();
        let wrong = |wrong: &Wrong| {
            let mut object = cause_json(wrong.cause);
            object["x"] = json!(wrong.x);
            object["y"] = json!(wrong.y);
            object["target"] = json!(wrong.target);
            object["probability_exact"] = json!(wrong.probability);
            object
        };
        let ignored = self.ignored.iter();
        let ignored: Vec<Value> = ignored
            .map(|(length, positions)| json!({"length": length, "positions": positions}))
            .collect();
        let steps: Vec<Value> = (0..self.steps.len()).map(|n| self.step_json(n)).collect();
        let aliasing: Vec<Value> = self.aliasing.iter().map(Inspected::aliased_json).collect();
        json!({
            "reward_exact": self.reward.to_string(),
            "product_exact": self.product.as_ref().map(|(_, reward)| reward.to_string()),
            "steps": steps,
            "aliasing": aliasing,
            "ignored": ignored,
            "inputs": answers.inputs,
            "sampled": !answers.all,
            "wrong": answers.wrong,
            "wrong_probability": self.wrong.to_f64(),
            "wrong_probability_exact": self.wrong,
            "causes": causes,
            "wrong_inputs": answers.listed.iter().map(wrong).collect::<Vec<_>>(),
            "defended": self.defence.defended,
            "neutral": self.defence.neutral,
            "improvable": self.defence.improvable,
            "unconsulted": self.defence.unconsulted,
            "svg": self.svg,
        })
    }

    /// The tokens of a step that stand for several states, over all lengths.
    fn shared(&self, t: Option<usize>) -> Cell {
        let Some(t) = t else {
            return Cell::Missing;
        };
        let own = self.aliasing.iter().filter(|step| step.t == t);
        let shared = own.flat_map(|step| {
            let tokens = step.states.iter().filter(|(_, states)| states.len() > 1);
            tokens.map(|(&token, _)| token)
        });
        let shared: std::collections::BTreeSet<Symbol> = shared.collect();
        if shared.is_empty() {
            return "none".into();
        }
        comma(&shared.into_iter().collect::<Vec<_>>()).into()
    }

    fn table(&self) -> Table {
        let columns = [
            Column::numbers("t"),
            Column::numbers("cells"),
            Column::numbers("windows"),
            Column::numbers("constant links").key("constant_links"),
            Column::numbers("merging links").key("merging_links"),
            Column::words("the step").key("kind"),
            Column::words("mu"),
            Column::words("tokens of several states").key("aliased"),
        ];
        let mut table = Table::new(columns);
        for (number, step) in self.steps.iter().enumerate() {
            let factors = self.product.as_ref().map(|(factors, _)| factors);
            table.push([
                Cell::or_missing(step.t),
                step.cells.into(),
                step.windows.into(),
                Cell::or_missing(step.constant_links),
                Cell::or_missing(step.merging_links),
                step.kind.words().into(),
                Cell::or_missing(factors.map(|factors| half(factors[number].twice))),
                self.shared(step.t),
            ]);
        }
        table
    }

    fn wrong_table(&self) -> Table {
        let columns = [
            Column::words("input"),
            Column::numbers("probability"),
            Column::words("tokens"),
            Column::numbers("target"),
            Column::words("answered wrongly because").key("cause"),
        ];
        let listed = self.answers.listed.iter().take(self.shown);
        let row = |wrong: &Wrong| -> [Cell; 5] {
            [
                comma(&wrong.x).into(),
                wrong.probability.to_f64().into(),
                comma(&wrong.y).into(),
                wrong.target.into(),
                cause_words(wrong.cause).into(),
            ]
        };
        Table::new(columns).rows(listed.map(row))
    }

    fn write_answers(&self, out: &mut dyn Write) -> io::Result<()> {
        let answers = &self.answers;
        for (length, positions) in &self.ignored {
            let words = match positions.as_deref() {
                None => "not computed, too many pairs of rollouts to follow".to_owned(),
                Some([]) => "none".to_owned(),
                Some(list) => comma(list),
            };
            writeln!(out, "positions ignored at length {length}: {words}")?;
        }
        let (inputs, wrong) = (answers.inputs, &self.wrong);
        writeln!(
            out,
            "answered wrongly with probability {wrong} = {:.6}",
            wrong.to_f64()
        )?;
        if wrong.is_zero() {
            return Ok(());
        }
        if answers.causes.is_empty() {
            return writeln!(out, "none of {inputs} inputs drawn from their law is such");
        }
        if answers.all {
            writeln!(out, "why, from all {inputs} inputs that occur:")?;
        } else {
            writeln!(
                out,
                "why, from {inputs} inputs drawn from their law, with 95 % intervals:"
            )?;
        }
        for (&cause, share) in &answers.causes {
            writeln!(out, "  {}: {}", share_words(share), cause_words(cause))?;
        }
        if answers.wrong > 0 {
            writeln!(out)?;
            self.wrong_table().write_text(out)?;
        }
        Ok(())
    }
}

impl Serialize for Inspected {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

impl Report for Inspected {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.code.class().spec())
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table(), self.wrong_table()]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "reward {} = {:.6}", self.reward, self.reward.to_f64())?;
        if let Some((factors, reward)) = &self.product {
            let factors: Vec<String> = factors.iter().map(|f| half(f.twice)).collect();
            writeln!(out, "1/2 + 1/2 x {} = {reward}", factors.join(" x "))?;
        }
        writeln!(out)?;
        self.table().write_text(out)?;
        writeln!(out)?;
        let defence = &self.defence;
        writeln!(
            out,
            "cells: {} strictly defended, {} neutral, {} improvable, {} that no input consults",
            defence.defended.len(),
            defence.neutral.len(),
            defence.improvable.len(),
            defence.unconsulted.len()
        )?;
        self.write_answers(out)?;
        match &self.svg {
            Some(svg) => writeln!(out, "\ndrawn to {svg}"),
            None => Ok(()),
        }
    }
}

//! Follows three stretches of codes by networks, each exact before the next (paper, app. G.4).

use std::path::Path;

use foldglass::support::watch::Progress;
use foldglass::{Class, Operation};
use foldglass_nn::barrier::{Following, LineReward};
use foldglass_nn::distill::Distillation;
use foldglass_nn::fleet::FleetError;
use foldglass_nn::lesson::Lesson;
use foldglass_study::VERSION;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::kept::{Names, RunDirectory, Trains, begin_in};
use crate::error::Error;
use crate::flags::distill::pupils_named;
use crate::flags::fleet::{Machine, Maker};
use crate::progress::Terminal;

const NAMES: Names = Names {
    run: "barrier.json",
    lines: "networks.jsonl",
    result: "barriers.json",
};

const FORMAT: &str = "foldglass-barrier/1";

/// The codes to be followed, and how.
pub struct CodeRoute {
    pub distillation: Distillation,
    pub lessons: Vec<Vec<Lesson>>,
    pub square: Operation,
    pub seed: u64,
}

/// Networks under way.
pub struct BarrierRun {
    pub following: Following,
    networks: usize,
    steps: u64,
    pub machine: Machine,
}

/// What is recorded as it comes.
#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum BarrierRecord {
    /// A network that is exact.
    Network {
        step: u64,
        stretch: usize,
        number: usize,
        updates: u64,
    },
    /// The line from a network to the next.
    Line {
        step: u64,
        stretch: usize,
        number: usize,
        #[serde(flatten)]
        line: LineReward,
    },
}

impl CodeRoute {
    pub fn begin(&self, maker: &Maker) -> Result<BarrierRun, Error> {
        let make = |settings: &_, models: &_| maker.make(settings, models);
        let (distillation, lessons) = (self.distillation.clone(), self.lessons.clone());
        let begun = Following::new(distillation, &self.square, lessons, self.seed, &make);
        Ok(BarrierRun {
            following: begun.map_err(pupils_named)?,
            networks: self.lessons.iter().map(Vec::len).sum(),
            steps: self.distillation.steps,
            machine: maker.machine().expect("networks have a back end"),
        })
    }

    /// Begins in a directory, or resumes what is in it.
    pub fn take_up(
        &self,
        points: usize,
        class: &Class,
        out: &Path,
        maker: &Maker,
        observer: &Terminal,
    ) -> Result<(BarrierRun, RunDirectory), Error> {
        let codes: Vec<Vec<&[u8]>> = (self.lessons.iter())
            .map(|part| part.iter().map(Lesson::actions).collect())
            .collect();
        let description = json!({
            "format": FORMAT,
            "version": VERSION,
            "class": class.spec(),
            "settings": self.distillation,
            "seed": self.seed,
            "points": points,
            "codes": codes,
        });
        let begin = |maker: &Maker| self.begin(maker);
        begin_in(out, &NAMES, description, maker, observer, begin)
    }
}

impl Trains for BarrierRun {
    type Line = BarrierRecord;

    fn step(&self) -> u64 {
        self.following.step()
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn is_finished(&self) -> bool {
        self.following.is_finished()
    }

    fn advance(&mut self, steps: u64) -> Result<Vec<BarrierRecord>, Error> {
        let before: Vec<usize> = self.following.trail().steps.iter().map(Vec::len).collect();
        let asked = self.following.advance_by(steps);
        asked.map_err(pupils_named)?;
        let step = self.step();
        let kept = self.following.trail().steps.iter().zip(before).enumerate();
        let new = kept.flat_map(|(stretch, (updates, before))| {
            let new = updates.iter().enumerate().skip(before);
            new.map(move |(number, &updates)| BarrierRecord::Network {
                step,
                stretch,
                number,
                updates,
            })
        });
        Ok(new.collect())
    }

    fn save(&mut self) -> Result<Vec<u8>, Error> {
        self.following.save().map_err(pupils_named)
    }

    fn take_up(&mut self, state: &[u8]) -> Result<(), FleetError> {
        self.following.take_up(state)
    }

    fn machine(&self) -> Machine {
        self.machine
    }

    fn news(&self) -> (Progress<'static>, String) {
        let progress = Progress {
            unit: "networks",
            done: self.following.trail().networks() as u64,
            all: Some(self.networks as u64),
            share: None,
        };
        (progress, format!("update {}", self.step()))
    }
}

//! Trains transformers by REINFORCE as a method of studies (paper, section 5, app. G.4 and G.5).
//!
//! A class says which square and which lengths; its windows are those of the code that a network is
//! read back as. Runs of a point are trained as fleets, in lock step.

mod prior;
mod recipe;
mod settings;

use foldglass::support::watch::Stop;
use foldglass_nn::bridge::{ReadBack, read_back};
use foldglass_nn::fleet::{CurvePoint, Fleet};
use foldglass_nn::machine::{Machine, Maker};
use foldglass_nn::settings::ModelSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::{Fields, RunOutcome, RunningUnit, Streams, put, put_some};
pub use prior::set_prior;
pub use recipe::Train;
use recipe::TrainPlan;
pub use settings::SETTINGS;

/// The accuracy above which a length is held (SPEC, "Holds T").
const HELD: f64 = 0.9;

/// What a unit needs to resume.
#[derive(JsonSchema, Serialize, Deserialize)]
struct SavedTraining {
    machine: Machine,
    fleet: Vec<u8>,
    /// By model.
    curves: Vec<Curve>,
}

/// What is kept of a network while it is trained.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
struct Curve {
    /// The point before the next gate.
    last: Option<KeptPoint>,
    /// The points that are recorded.
    points: Vec<KeptPoint>,
}

/// A point of a curve; numbers as records have them.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
struct KeptPoint {
    step: u64,
    length: usize,
    gate: f64,
    loss: f64,
    sampled: f64,
    entropy: f64,
    gradient_norm: f64,
    kl: Option<f64>,
}

impl From<&CurvePoint> for KeptPoint {
    fn from(point: &CurvePoint) -> KeptPoint {
        KeptPoint {
            step: point.step,
            length: point.length,
            gate: point.gate,
            loss: point.last.loss,
            sampled: point.last.sampled,
            entropy: point.last.entropy,
            gradient_norm: point.last.gradient_norm,
            kl: point.last.kl,
        }
    }
}

/// Networks in training.
struct TrainUnit {
    plan: TrainPlan,
    machine: Machine,
    fleet: Fleet,
    curves: Vec<Curve>,
}

impl TrainUnit {
    fn begin(plan: &TrainPlan, streams: &Streams, maker: &Maker) -> Result<TrainUnit, String> {
        let make = |settings: &_, models: &_| maker.make(settings, models);
        let models: Vec<ModelSettings> = plan.models(streams);
        let curves = vec![Curve::default(); models.len()];
        let settings = plan.settings.clone();
        let fleet = match &plan.prior {
            Some(prior) => Fleet::with_prior(settings, models, prior, &make),
            None => Fleet::new(settings, models, &make),
        };
        let fleet = fleet.map_err(|error| error.to_string())?;
        Ok(TrainUnit {
            plan: plan.clone(),
            machine: maker.machine().expect("a fleet has a back end"),
            fleet,
            curves,
        })
    }

    fn resume(
        plan: &TrainPlan,
        streams: &Streams,
        state: &[u8],
        maker: &Maker,
    ) -> Result<TrainUnit, String> {
        let saved: SavedTraining =
            postcard::from_bytes(state).map_err(|error| error.to_string())?;
        // Another back end would not give the same bits.
        let maker = maker.only(saved.machine);
        let maker = maker.ok_or_else(|| format!("it was saved on back end {:?}", saved.machine))?;
        let mut progress = TrainUnit::begin(plan, streams, &maker)?;
        let taken = progress.fleet.take_up(&saved.fleet);
        taken.map_err(|error| error.to_string())?;
        progress.curves = saved.curves;
        Ok(progress)
    }

    fn note(&mut self, points: &[CurvePoint]) {
        let period = self.plan.settings.gate.period;
        for (curve, point) in self.curves.iter_mut().zip(points) {
            let point = KeptPoint::from(point);
            let before = (point.step - 1) / period * period;
            let due = |every: u64| point.step / every > before / every;
            if self.plan.record_every.is_some_and(due) {
                curve.points.push(point);
            }
            curve.last = Some(point);
        }
    }

    fn outcome(&self, model: usize, last: &Look, best: Option<&Look>) -> RunOutcome {
        let lengths = self.plan.class.task().lengths();
        let greedy = last.greedy(model);
        let of_class = lengths.iter().map(|&length| greedy[length - 1]);
        let mut fields = Fields::new();
        let reward = of_class.sum::<f64>() / lengths.len() as f64;
        put(&mut fields, "reward", reward);
        put(&mut fields, "greedy", &greedy);
        put(&mut fields, "holds", holds(&greedy));
        put(&mut fields, "length", self.fleet.lengths()[model]);
        let curve = &self.curves[model];
        let of_last = |of: fn(&KeptPoint) -> f64| curve.last.as_ref().map(of);
        put_some(&mut fields, "loss", of_last(|point| point.loss));
        put_some(&mut fields, "sampled", of_last(|point| point.sampled));
        put_some(&mut fields, "entropy", of_last(|point| point.entropy));
        put_some(&mut fields, "kl", curve.last.and_then(|point| point.kl));
        put(&mut fields, "back_end", self.machine);
        if self.plan.record_every.is_some() {
            curve.put(&mut fields);
        }
        last.put_code(model, "", &mut fields);
        if let (Some(look), Some(at)) = (best, self.fleet.best().get(model)) {
            let greedy = look.greedy(model);
            put(&mut fields, "best_step", at.step);
            put(&mut fields, "best_length", at.length);
            put(&mut fields, "best_gate", at.gate);
            put(&mut fields, "best_sampled", at.last.sampled);
            put(&mut fields, "best_entropy", at.last.entropy);
            put(&mut fields, "best_greedy", &greedy);
            put(&mut fields, "best_holds", holds(&greedy));
            look.put_code(model, "best_", &mut fields);
        }
        fields
    }
}

fn holds(greedy: &[f64]) -> usize {
    greedy.iter().take_while(|&&share| share > HELD).count()
}

/// What all networks of a fleet do, with the weights they have.
struct Look {
    /// Greedy accuracy at every length up to the cap, of every model.
    accuracies: Vec<Vec<f64>>,
    /// The models as codes of the class, where that is asked for.
    codes: Vec<ReadBack>,
}

impl Look {
    fn at(fleet: &mut Fleet, plan: &TrainPlan) -> Result<Look, String> {
        let (inputs, cap) = (plan.settings.evaluation.inputs, plan.settings.cap);
        let accuracies = (1..=cap).map(|length| fleet.accuracies(length, inputs));
        let accuracies = accuracies.collect::<Result<_, _>>();
        let models = if plan.read_back {
            fleet.models().len()
        } else {
            0
        };
        let codes = (0..models).map(|model| read_back(fleet.backend(), model, &plan.class, cap));
        Ok(Look {
            accuracies: accuracies.map_err(|error| error.to_string())?,
            codes: (codes.collect::<Result<_, _>>()).map_err(|error| error.to_string())?,
        })
    }

    fn greedy(&self, model: usize) -> Vec<f64> {
        self.accuracies.iter().map(|all| all[model]).collect()
    }

    /// Records a model's code, under names that begin with `which`.
    fn put_code(&self, model: usize, which: &str, fields: &mut Fields) {
        let Some(read) = self.codes.get(model) else {
            return;
        };
        put(
            fields,
            &format!("{which}agreement"),
            read.agreement.to_f64(),
        );
        put(fields, &format!("{which}code_reward"), read.reward.to_f64());
        put(fields, &format!("{which}code_exact"), &read.reward);
        put(fields, &format!("{which}actions"), read.code.actions());
    }
}

impl Curve {
    /// A column a quantity, an entry a point.
    fn put(&self, fields: &mut Fields) {
        let all = |of: fn(&KeptPoint) -> f64| self.points.iter().map(of).collect::<Vec<f64>>();
        let steps: Vec<u64> = self.points.iter().map(|point| point.step).collect();
        let lengths: Vec<usize> = self.points.iter().map(|point| point.length).collect();
        put(fields, "curve_step", steps);
        put(fields, "curve_length", lengths);
        put(fields, "curve_gate", all(|point| point.gate));
        put(fields, "curve_loss", all(|point| point.loss));
        put(fields, "curve_sampled", all(|point| point.sampled));
        put(fields, "curve_entropy", all(|point| point.entropy));
        put(
            fields,
            "curve_gradient_norm",
            all(|point| point.gradient_norm),
        );
        let divergences: Option<Vec<f64>> = self.points.iter().map(|point| point.kl).collect();
        if let Some(divergences) = divergences.filter(|list| !list.is_empty()) {
            put(fields, "curve_kl", divergences);
        }
    }
}

impl RunningUnit for TrainUnit {
    fn done(&self) -> u64 {
        self.fleet.step()
    }

    fn is_finished(&self) -> bool {
        self.fleet.step() >= self.plan.settings.steps
    }

    fn heed(&mut self, stop: Stop) {
        self.fleet.heed(stop);
    }

    fn advance(&mut self, steps: u64) -> Result<(), String> {
        let end = self.fleet.step().saturating_add(steps);
        while !self.is_finished() && self.fleet.step() < end {
            let before = self.fleet.step();
            let points = self.fleet.advance_by(end - before);
            if let Some(points) = points.map_err(|error| error.to_string())? {
                self.note(&points);
            } else if self.fleet.step() == before {
                // It was stopped.
                break;
            }
        }
        Ok(())
    }

    fn save(&mut self) -> Result<Vec<u8>, String> {
        let saved = SavedTraining {
            machine: self.machine,
            fleet: self.fleet.save().map_err(|error| error.to_string())?,
            curves: self.curves.clone(),
        };
        Ok(postcard::to_stdvec(&saved).expect("plain data"))
    }

    fn outcomes(&mut self) -> Result<Vec<RunOutcome>, String> {
        let last = Look::at(&mut self.fleet, &self.plan)?;
        let best = match self.fleet.best() {
            [] => None,
            _ => {
                let looked = (self.fleet).look_at_best(|fleet| Look::at(fleet, &self.plan));
                Some(looked.map_err(|error| error.to_string())??)
            }
        };
        let models = 0..self.curves.len();
        Ok(models
            .map(|model| self.outcome(model, &last, best.as_ref()))
            .collect())
    }
}

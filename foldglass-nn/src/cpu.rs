//! Trains a fleet on the processor's cores, in single precision (paper, app. G.4).

use crate::adam;
use crate::backend::{
    Backend, BackendError, ModelState, StepRecord, Test, TokenAgreement, checked,
};
use crate::batch::{Batch, BatchLaw};
use crate::law::{LengthLaw, SymbolLaw};
use crate::lesson::Lesson;
use crate::matmul::Undone;
use crate::objective::{Sampler, TokenWeight, Weighed, likeliest, log_of, logit_gradient, weigh};
use crate::pass::Activations;
use crate::philox::{Numbers, Purpose};
use crate::settings::{Decoding, FleetSettings, LengthDraw, ModelSettings, TrainingMethod};
use crate::table::Tables;
use foldglass::support::watch::Stop;
use rayon::prelude::*;

/// The most samples a model takes at once: bounds the memory of its activations.
const ROOM: usize = 4096;

/// A fleet on the processor. Threads are those of the current rayon pool; the results do not
/// depend on their number.
pub struct Cpu {
    settings: FleetSettings,
    models: Vec<Model>,
    lessons: Vec<Lesson>,
    undone: Undone,
    /// The models before the last call that trained them, where it may be taken back.
    before: Vec<ModelState>,
}

struct Model {
    own: ModelSettings,
    inputs: SymbolLaw,
    state: ModelState,
    tables: Tables,
    activations: Activations,
    prior: Option<PriorPass>,
}

/// A network to which a model is held, and what it computes on the model's batch.
struct PriorPass {
    weights: Vec<f32>,
    tables: Tables,
    activations: Activations,
}

impl PriorPass {
    /// Computes the policies of a batch whose tokens are there.
    fn follow(&mut self, settings: &FleetSettings, batch: &Batch, q: usize) {
        self.activations.make_room(&self.tables, batch.tokens());
        for t in 1..=batch.longest() {
            if self.activations.undone.ask() {
                return;
            }
            let (tables, weights) = (&self.tables, &self.weights);
            (self.activations).step(tables, weights, settings.layout, batch, t, q);
        }
    }
}

impl Cpu {
    /// A back end for these models; their weights are still to be restored.
    ///
    /// # Panics
    /// If the settings have a law of the inputs that [`FleetSettings::check`] refuses.
    pub fn new(settings: &FleetSettings, models: &[ModelSettings]) -> Cpu {
        let tables = Tables::new(settings.shape, settings.layout, settings.cap);
        let blank = ModelState::new(vec![0.0; settings.shape.parameters()]);
        Cpu {
            settings: settings.clone(),
            models: models
                .iter()
                .map(|own| Model {
                    own: own.clone(),
                    inputs: (settings.symbol_law(own.square.q())).expect("a law that was checked"),
                    state: blank.clone(),
                    tables: tables.clone(),
                    activations: Activations::default(),
                    prior: None,
                })
                .collect(),
            lessons: Vec::new(),
            undone: Undone::default(),
            before: Vec::new(),
        }
    }

    /// Begins a call that trains and may be stopped or taken back.
    fn begin_training(&mut self) {
        self.undone.begin();
        if self.undone.can_be() {
            self.before = self.models.iter().map(|m| m.state.clone()).collect();
        }
    }

    /// What training came to, unless it was stopped: then it is taken back.
    fn trained<T>(&mut self, result: T) -> Result<T, BackendError> {
        if self.undone.is() {
            self.take_back();
            return Err(BackendError::Stopped);
        }
        Ok(result)
    }

    /// What a test came to, unless it was stopped.
    fn tested<T>(&self, result: T) -> Result<T, BackendError> {
        match self.undone.is() {
            true => Err(BackendError::Stopped),
            false => Ok(result),
        }
    }

    fn check_room(&self, samples: usize) -> Result<(), BackendError> {
        if samples > ROOM {
            let room = ROOM;
            return Err(BackendError::TooMany { samples, room });
        }
        Ok(())
    }
}

impl Model {
    /// Emits the tokens of a batch; `choose` gets a token's policy, sample and step.
    fn emit(
        &mut self,
        settings: &FleetSettings,
        batch: &mut Batch,
        mut choose: impl FnMut(&[f32], usize, usize) -> u8,
    ) {
        let (v, q) = (settings.shape.vocabulary, self.own.square.q());
        self.activations.make_room(&self.tables, batch.tokens());
        for t in 1..=batch.longest() {
            if self.activations.undone.ask() {
                return;
            }
            let weights = &self.state.weights;
            (self.activations).step(&self.tables, weights, settings.layout, batch, t, q);
            for sample in 0..batch.live(t) {
                let row = &self.activations.policy[(batch.start(t) + sample) * v..][..v];
                batch.y_mut(sample)[t - 1] = choose(row, sample, t);
            }
        }
    }

    /// Computes the policies of a batch whose tokens are there.
    fn follow(&mut self, settings: &FleetSettings, batch: &mut Batch) {
        let given = batch.clone();
        self.emit(settings, batch, |_, sample, t| given.y(sample)[t - 1]);
    }

    /// Computes the prior's policies of such a batch, where there is a prior.
    fn follow_prior(&mut self, settings: &FleetSettings, batch: &Batch) {
        let q = self.own.square.q();
        if let Some(prior) = &mut self.prior {
            prior.follow(settings, batch, q);
        }
    }

    /// What [`Model::follow_prior`] computed.
    fn prior_policy(&self) -> Option<&[f32]> {
        (self.prior.as_ref()).map(|prior| &prior.activations.policy[..])
    }

    /// The gradient of the weighed tokens; the batch's policies have been computed.
    fn gradient(
        &self,
        settings: &FleetSettings,
        batch: &Batch,
        weights: &[TokenWeight],
    ) -> Vec<f32> {
        if self.activations.undone.is() {
            return Vec::new();
        }
        let v = settings.shape.vocabulary;
        let mut d_logits = vec![0.0; batch.tokens() * v];
        let prior = self.prior_policy();
        for t in 1..=batch.longest() {
            for sample in 0..batch.live(t) {
                let token = batch.start(t) + sample;
                let (policy, y) = (
                    &self.activations.policy[token * v..][..v],
                    batch.y(sample)[t - 1],
                );
                let weight = weights[token];
                let prior = prior.filter(|_| weight.divergence != 0.0);
                let prior = prior.map(|prior| &prior[token * v..][..v]);
                logit_gradient(policy, y, weight, prior, &mut d_logits[token * v..][..v]);
            }
        }
        let mut gradient = vec![0.0; self.state.weights.len()];
        self.activations.backward(
            &self.tables,
            &self.state.weights,
            settings.layout,
            batch,
            &d_logits,
            &mut gradient,
        );
        gradient
    }

    fn train_step(&mut self, settings: &FleetSettings, step: u64, length: usize) -> StepRecord {
        let numbers = Numbers::new(self.own.seed, Purpose::Training, step);
        let mut batch = Batch::draw(
            &BatchLaw {
                square: &self.own.square,
                inputs: &self.inputs,
                lengths: &settings.lengths.law(length),
                drawn: settings.lengths.drawn(),
                rows: settings.batch,
                group: settings.group(),
                cap: settings.cap,
            },
            numbers,
        );
        let sampler = Sampler {
            numbers,
            q: self.own.square.q(),
            exploration: settings.exploration,
            relabelling: (settings.relabelling).filter(|r| step.is_multiple_of(r.period)),
        };
        self.tables.refresh(&self.state.weights);
        self.emit(settings, &mut batch, |p, sample, t| {
            sampler.token(p, sample, t)
        });
        self.follow_prior(settings, &batch);
        let v = settings.shape.vocabulary;
        let (policy, prior) = (&self.activations.policy, self.prior_policy());
        let coefficient = settings.coefficient(self.own.entropy, step);
        let weighed = weigh(settings, coefficient, &batch, policy, v, None, prior);
        let record = self.update_on(settings, step, &batch, &weighed);
        if let TrainingMethod::Grpo { epochs, .. } = settings.method {
            let old = chosen(&batch, &self.activations.policy, v);
            for _ in 1..epochs {
                self.tables.refresh(&self.state.weights);
                self.follow(settings, &mut batch);
                let (policy, prior) = (&self.activations.policy, self.prior_policy());
                let again = weigh(settings, coefficient, &batch, policy, v, Some(&old), prior);
                self.update_on(settings, step, &batch, &again);
            }
        }
        StepRecord {
            loss: weighed.loss,
            sampled: weighed.right as f64 / batch.samples() as f64,
            entropy: weighed.entropy,
            gradient_norm: record,
            kl: weighed.divergence,
        }
    }

    /// Updates the weights, or gathers the gradient for a later update; returns its norm.
    fn update_on(
        &mut self,
        settings: &FleetSettings,
        step: u64,
        batch: &Batch,
        weighed: &Weighed,
    ) -> f64 {
        let mut gradient = self.gradient(settings, batch, &weighed.tokens);
        if self.activations.undone.is() {
            return 0.0;
        }
        let norm = adam::norm(&gradient);
        if let Some(adaptive) = settings.adaptive {
            let state = &mut self.state;
            state.gathered.resize(gradient.len(), 0.0);
            (state.gathered.iter_mut().zip(&gradient)).for_each(|(sum, g)| *sum += g);
            state.gathered_batches += 1;
            state.gathered_right += weighed.right as u32;
            if state.gathered_right < adaptive.right && state.gathered_batches < adaptive.most {
                return norm;
            }
            let share = 1.0 / state.gathered_batches as f32;
            for (g, sum) in gradient.iter_mut().zip(&mut state.gathered) {
                *g = *sum * share;
                *sum = 0.0;
            }
            state.gathered_batches = 0;
            state.gathered_right = 0;
        }
        if let Some(most) = settings.clip_norm {
            adam::clip(&mut gradient, most);
        }
        let step = adam::Step {
            rate: settings.rate(self.own.learning_rate, step),
            decay: settings.weight_decay,
        };
        adam::update(settings.adam, step, &gradient, &mut self.state);
        norm
    }

    fn right(&mut self, settings: &FleetSettings, test: &Test, lengths: &LengthLaw) -> u32 {
        let batch = self.tested(settings, test, lengths);
        (0..batch.samples()).filter(|&s| batch.right(s)).count() as u32
    }

    /// A test's batch, answered; empty without lengths.
    fn tested(&mut self, settings: &FleetSettings, test: &Test, lengths: &LengthLaw) -> Batch {
        if lengths.lengths().is_empty() {
            return Batch::new(&self.own.square, &[], settings.cap);
        }
        let numbers = Numbers::new(self.own.seed, test.purpose, test.step);
        let mut batch = Batch::draw(
            &BatchLaw {
                square: &self.own.square,
                inputs: &self.inputs,
                lengths,
                drawn: settings.lengths.drawn(),
                rows: test.samples,
                group: 1,
                cap: settings.cap,
            },
            numbers,
        );
        let q = self.own.square.q();
        let sampler = Sampler {
            numbers,
            q,
            exploration: 0.0,
            relabelling: None,
        };
        self.tables.refresh(&self.state.weights);
        self.emit(settings, &mut batch, |p, sample, t| match test.decoding {
            Decoding::Greedy => likeliest(p, q),
            Decoding::Sampled => sampler.token(p, sample, t),
        });
        batch
    }

    fn imitate(&mut self, settings: &FleetSettings, lesson: &Lesson, step: u64) -> f64 {
        let mut batch = Batch::draw(
            &BatchLaw {
                square: &self.own.square,
                inputs: &self.inputs,
                lengths: &LengthLaw::equal(lesson.lengths().to_vec()),
                drawn: LengthDraw::Sample,
                rows: settings.batch,
                group: 1,
                cap: settings.cap,
            },
            Numbers::new(self.own.seed, Purpose::Imitation, step),
        );
        for sample in 0..batch.samples() {
            let mut y = vec![0; batch.lengths()[sample]];
            lesson.emit(batch.x(sample), &mut y);
            batch.y_mut(sample).copy_from_slice(&y);
        }
        let v = settings.shape.vocabulary;
        self.tables.refresh(&self.state.weights);
        self.follow(settings, &mut batch);
        let share = 1.0 / batch.tokens() as f32;
        let weight = TokenWeight {
            policy: share,
            ..TokenWeight::default()
        };
        let gradient = self.gradient(settings, &batch, &vec![weight; batch.tokens()]);
        if self.activations.undone.is() {
            return 0.0;
        }
        let step = adam::Step {
            rate: self.own.learning_rate,
            decay: 0.0,
        };
        adam::update(settings.adam, step, &gradient, &mut self.state);
        let logs = chosen(&batch, &self.activations.policy, v).into_iter();
        -logs.map(log_of).sum::<f64>() * f64::from(share)
    }
}

/// The probability of every token of a batch.
fn chosen(batch: &Batch, policy: &[f32], v: usize) -> Vec<f32> {
    (1..=batch.longest())
        .flat_map(|t| (0..batch.live(t)).map(move |sample| (t, sample)))
        .map(|(t, sample)| {
            let y = usize::from(batch.y(sample)[t - 1]);
            policy[(batch.start(t) + sample) * v + y]
        })
        .collect()
}

impl Backend for Cpu {
    fn name(&self) -> String {
        format!("CPU, {} threads", rayon::current_num_threads())
    }

    fn models(&self) -> usize {
        self.models.len()
    }

    fn room(&self) -> usize {
        ROOM
    }

    fn heed(&mut self, stop: Stop) {
        self.undone = Undone::heeding(stop);
        for model in &mut self.models {
            model.activations.undone = self.undone.clone();
            if let Some(prior) = &mut model.prior {
                prior.activations.undone = self.undone.clone();
            }
        }
    }

    fn take_back(&mut self) {
        for (model, state) in self.models.iter_mut().zip(self.before.drain(..)) {
            model.state = state;
        }
    }

    fn state(&mut self, model: usize) -> Result<ModelState, BackendError> {
        Ok(self.models[model].state.clone())
    }

    fn weights(&mut self, model: usize) -> Result<Vec<f32>, BackendError> {
        Ok(self.models[model].state.weights.clone())
    }

    fn restore(&mut self, model: usize, state: &ModelState) -> Result<(), BackendError> {
        self.models[model].state = state.clone();
        Ok(())
    }

    fn set_prior(&mut self, model: usize, weights: &[f32]) -> Result<(), BackendError> {
        let own = &mut self.models[model];
        let mut tables = own.tables.clone();
        tables.refresh(weights);
        let mut activations = Activations::default();
        activations.undone = self.undone.clone();
        own.prior = Some(PriorPass {
            weights: weights.to_vec(),
            tables,
            activations,
        });
        Ok(())
    }

    fn train(
        &mut self,
        first: u64,
        count: u64,
        lengths: &[usize],
    ) -> Result<Vec<StepRecord>, BackendError> {
        if self.settings.prior.is_some() && self.models.iter().any(|m| m.prior.is_none()) {
            return Err(BackendError::NoPrior);
        }
        self.begin_training();
        let (settings, undone) = (&self.settings, &self.undone);
        let records: Vec<Option<StepRecord>> = (self.models.par_iter_mut())
            .zip(lengths)
            .map(|(model, &length)| {
                let steps = (first + 1..=first + count).take_while(|_| !undone.is());
                steps.fold(None, |_, step| {
                    Some(model.train_step(settings, step, length))
                })
            })
            .collect();
        let records: Vec<StepRecord> = records.into_iter().flatten().collect();
        checked(self.trained(records)?, first + count)
    }

    fn right(&mut self, test: &Test) -> Result<Vec<u32>, BackendError> {
        self.check_room(test.samples)?;
        self.undone.begin();
        let settings = &self.settings;
        let right = (self.models.par_iter_mut())
            .zip(&test.lengths)
            .map(|(model, lengths)| model.right(settings, test, lengths))
            .collect();
        self.tested(right)
    }

    fn teach(&mut self, lessons: &[Lesson]) -> Result<(), BackendError> {
        self.lessons = lessons.to_vec();
        Ok(())
    }

    fn imitate(
        &mut self,
        first: u64,
        count: u64,
        active: &[bool],
    ) -> Result<Vec<f64>, BackendError> {
        if self.lessons.len() != self.models.len() {
            return Err(BackendError::NoLesson);
        }
        self.begin_training();
        let (settings, undone) = (&self.settings, &self.undone);
        let losses = (self.models.par_iter_mut())
            .zip(&self.lessons)
            .zip(active)
            .map(|((model, lesson), &active)| {
                let steps = if active { count } else { 0 };
                let steps = (first + 1..=first + steps).take_while(|_| !undone.is());
                steps.fold(0.0, |_, step| model.imitate(settings, lesson, step))
            })
            .collect();
        self.trained(losses)
    }

    fn agree(&mut self, test: &Test) -> Result<Vec<TokenAgreement>, BackendError> {
        self.check_room(test.samples)?;
        if self.lessons.len() != self.models.len() {
            return Err(BackendError::NoLesson);
        }
        self.undone.begin();
        let settings = &self.settings;
        let agreements = (self.models.par_iter_mut())
            .zip(&self.lessons)
            .zip(&test.lengths)
            .map(|((model, lesson), lengths)| {
                let batch = model.tested(settings, test, lengths);
                let mut y = vec![0; settings.cap];
                let matching = (0..batch.samples()).map(|sample| {
                    let own = batch.y(sample);
                    lesson.emit(batch.x(sample), &mut y[..own.len()]);
                    own.iter().zip(&y).filter(|(a, b)| a == b).count() as u32
                });
                TokenAgreement {
                    matching: matching.sum(),
                    tokens: batch.tokens() as u32,
                }
            })
            .collect();
        self.tested(agreements)
    }

    fn decode(&mut self, batches: &mut [Batch]) -> Result<(), BackendError> {
        for batch in batches.iter() {
            self.check_room(batch.samples())?;
        }
        self.undone.begin();
        let settings = &self.settings;
        (self.models.par_iter_mut())
            .zip(batches)
            .for_each(|(model, batch)| {
                let q = model.own.square.q();
                model.tables.refresh(&model.state.weights);
                model.emit(settings, batch, |p, _, _| likeliest(p, q));
            });
        self.tested(())
    }

    fn gradients(
        &mut self,
        batches: &[Batch],
        weights: &[Vec<TokenWeight>],
    ) -> Result<Vec<Vec<f32>>, BackendError> {
        self.undone.begin();
        let settings = &self.settings;
        let gradients = (self.models.par_iter_mut())
            .zip(batches)
            .zip(weights)
            .map(|((model, batch), weights)| {
                model.tables.refresh(&model.state.weights);
                model.follow(settings, &mut batch.clone());
                model.follow_prior(settings, batch);
                model.gradient(settings, batch, weights)
            })
            .collect();
        self.tested(gradients)
    }
}

//! Makes steps: what a launch is about, batches in place, one update after the other.

use super::device::Address;
use super::memory::{Call, RECORD};
use super::{Choice, Cuda};
use crate::backend::{BackendError, StepRecord, Test};
use crate::batch::Batch;
use crate::law::LengthLaw;
use crate::philox::Purpose;
use crate::schedule::DecayKind;
use crate::settings::{Baseline, Decoding, EntropyForm, LengthDraw, Permutation, TrainingMethod};

impl Cuda {
    /// What all launches of training or imitation have in common.
    pub(super) fn call(&self) -> Call {
        let settings = &self.settings;
        let (method, clip) = match settings.method {
            TrainingMethod::Reinforce {} => (0, 0.0),
            TrainingMethod::Grpo { clip, .. } => (1, clip),
            TrainingMethod::Expert {} => (2, 0.0),
        };
        let adaptive = settings.adaptive;
        Call {
            group: 1,
            method,
            clip: clip as f32,
            form: match settings.entropy {
                EntropyForm::TokenMean => 0,
                EntropyForm::SequenceMean => 1,
                EntropyForm::Summed => 2,
                EntropyForm::Return => 3,
            },
            drawn_once: (settings.lengths.drawn() == LengthDraw::Batch).into(),
            adaptive_right: adaptive.map_or(0, |a| a.right.min(i32::MAX as u32) as i32),
            adaptive_most: adaptive.map_or(0, |a| a.most as i32),
            rate_share: 1.0,
            beta1: settings.adam.beta1,
            beta2: settings.adam.beta2,
            adam_epsilon: settings.adam.epsilon as f32,
            ..Call::default()
        }
    }

    /// Tells the device which lengths are drawn, and which models have most work.
    pub(super) fn write_lengths(&mut self, lengths: &[LengthLaw]) -> Result<usize, BackendError> {
        let stride = self.sizes.cap + 1;
        let mut choices = vec![0; self.models * stride];
        let mut ends = vec![0; self.models * stride];
        for (model, law) in lengths.iter().enumerate() {
            let list = law.lengths().iter().map(|&t| t as i32);
            let counted = std::iter::once(law.lengths().len() as i32).chain(list);
            let to = choices[model * stride..].iter_mut();
            to.zip(counted).for_each(|(to, n)| *to = n);
            let counted =
                std::iter::once(law.ends().len() as u64).chain(law.ends().iter().copied());
            let to = ends[model * stride..].iter_mut();
            to.zip(counted).for_each(|(to, n)| *to = n);
        }
        let memory = self.memory;
        self.write_i32(memory.choices, &choices)?;
        self.write_u64(memory.choice_ends, &ends)?;
        let work = |law: &LengthLaw| {
            let list = law.lengths();
            list.iter().sum::<usize>() / list.len().max(1)
        };
        let mut order: Vec<i32> = (0..self.models as i32).collect();
        order.sort_by_key(|&m| std::cmp::Reverse(work(&lengths[m as usize])));
        self.write_i32(memory.order, &order)?;
        let all = lengths.iter().flat_map(LengthLaw::lengths);
        Ok(all.copied().max().unwrap_or(0))
    }

    pub(super) fn train_step(&mut self, step: u64, longest: usize) -> Result<(), BackendError> {
        let settings = &self.settings;
        let relabelling = (settings.relabelling).filter(|r| step.is_multiple_of(r.period));
        let decay = settings.entropy_decay;
        let call = Call {
            mode: Choice::Drawn as i32,
            step: step as u32,
            purpose: Purpose::Training as u32,
            samples: settings.batch as i32,
            group: settings.group() as i32,
            relabelling: relabelling.map_or(0, |r| match r.kind {
                Permutation::Transposition => 1,
                Permutation::Full => 2,
            }),
            fraction: relabelling.map_or(0.0, |r| r.fraction as f32),
            exploration: settings.exploration as f32,
            baseline: (settings.baseline == Baseline::Length).into(),
            standardise: settings.standardise.into(),
            decay: decay.map_or(0, |d| match d.kind {
                DecayKind::Linear => 1,
                DecayKind::Geometric => 2,
            }),
            decay_past: decay.map_or(0.0, |d| d.past(step) as f32),
            decay_to: decay.map_or(0.0, |d| d.to as f32),
            kl: (settings.prior.as_ref()).map_or(0.0, |prior| prior.coefficient as f32),
            clip_norm: settings.clip_norm.map_or(0.0, |norm| norm as f32),
            rate_share: settings.schedule.share(step, settings.steps),
            weight_decay: settings.weight_decay,
            ..self.call()
        };
        let (r, batch) = (self.models, settings.batch);
        let epochs = match settings.method {
            TrainingMethod::Grpo { epochs, .. } => epochs,
            _ => 1,
        };
        self.tables(&call)?;
        self.launch("draw_batch", (r, 1, 1), 256, 0, &call)?;
        for t in 1..=longest as i32 {
            self.forward(&Call { t, ..call }, batch)?;
        }
        self.follow_prior(&call, batch * longest)?;
        self.launch("weigh", (r, 1, 1), 256, 0, &call)?;
        self.backward(&call)?;
        let again = Call {
            mode: Choice::Given as i32,
            ..call
        };
        for _ in 1..epochs {
            self.tables(&again)?;
            self.forward(&again, batch * longest)?;
            self.launch("weigh", (r, 1, 1), 256, 0, &again)?;
            self.backward(&again)?;
        }
        Ok(())
    }

    /// Draws a test's batches and answers them.
    pub(super) fn answer(&mut self, test: &Test) -> Result<Call, BackendError> {
        self.check_room(test.samples)?;
        let longest = self.write_lengths(&test.lengths)?;
        let call = Call {
            mode: match test.decoding {
                Decoding::Greedy => Choice::Likeliest,
                Decoding::Sampled => Choice::Drawn,
            } as i32,
            step: test.step as u32,
            purpose: test.purpose as u32,
            samples: test.samples as i32,
            ..self.call()
        };
        self.tables(&call)?;
        self.launch("draw_batch", (self.models, 1, 1), 256, 0, &call)?;
        for t in 1..=longest as i32 {
            self.forward(&Call { t, ..call }, test.samples)?;
        }
        Ok(call)
    }

    pub(super) fn check_room(&self, samples: usize) -> Result<(), BackendError> {
        let room = self.sizes.samples;
        if samples > room {
            return Err(BackendError::TooMany { samples, room });
        }
        Ok(())
    }

    /// Puts batches into the device's memory; returns their longest length and most tokens.
    pub(super) fn upload(&mut self, batches: &[Batch]) -> Result<(usize, usize), BackendError> {
        let (s, xs, cap) = (
            self.sizes.samples,
            self.sizes.input_stride(),
            self.sizes.cap,
        );
        let r = self.models;
        let mut lengths = vec![0; r * s];
        let mut starts = vec![0; r * (cap + 1)];
        let mut samples = vec![0; r];
        let (mut x, mut y, mut target) = (vec![0; r * s * xs], vec![0; r * s * xs], vec![0; r * s]);
        for (model, batch) in batches.iter().enumerate() {
            self.check_room(batch.samples())?;
            samples[model] = batch.samples() as i32;
            for t in 1..=cap {
                starts[model * (cap + 1) + t] = match t <= batch.longest() {
                    true => batch.start(t) + batch.live(t),
                    false => batch.tokens(),
                } as i32;
            }
            for sample in 0..batch.samples() {
                let row = model * s + sample;
                lengths[row] = batch.lengths()[sample] as i32;
                target[row] = batch.targets()[sample];
                let length = batch.lengths()[sample];
                x[row * xs..][..length].copy_from_slice(batch.x(sample));
                y[row * xs..][..length].copy_from_slice(batch.y(sample));
            }
        }
        let memory = self.memory;
        self.write_i32(memory.lengths, &lengths)?;
        self.write_i32(memory.starts, &starts)?;
        self.write_i32(memory.samples, &samples)?;
        self.device.write(memory.x, &x)?;
        self.device.write(memory.y, &y)?;
        self.device.write(memory.target, &target)?;
        let order: Vec<i32> = (0..r as i32).collect();
        self.write_i32(memory.order, &order)?;
        let longest = batches.iter().map(Batch::longest).max().unwrap_or(0);
        let tokens = batches.iter().map(Batch::tokens).max().unwrap_or(0);
        Ok((longest, tokens))
    }

    pub(super) fn records(&mut self) -> Result<Vec<StepRecord>, BackendError> {
        let numbers = self.read_f32(self.memory.record, RECORD * self.models)?;
        let held = self.settings.prior.is_some();
        Ok((numbers.chunks_exact(RECORD))
            .map(|n| StepRecord {
                loss: n[0].into(),
                sampled: n[1].into(),
                entropy: n[2].into(),
                gradient_norm: n[3].into(),
                kl: held.then(|| n[4].into()),
            })
            .collect())
    }

    pub(super) fn model_place(&self, start: Address, model: usize) -> Address {
        start + 4 * (model * self.sizes.shape.parameters()) as u64
    }
}

//! Does for a fleet what a back end does, on a GPU.

use super::device::Address;
use super::memory::Call;
use super::source::LESSON;
use super::{Choice, Cuda};
use crate::backend::Precision;
use crate::backend::{
    Backend, BackendError, ModelState, StepRecord, Test, TokenAgreement, checked,
};
use crate::batch::Batch;
use crate::law::LengthLaw;
use crate::lesson::Lesson;
use crate::objective::TokenWeight;
use crate::philox::Purpose;

impl Backend for Cuda {
    fn name(&self) -> String {
        let precision = match self.sizes.precision {
            Precision::Bf16 => "bf16",
            Precision::Tf32 => "tf32",
        };
        format!("CUDA, {}, {precision}", self.device.name())
    }

    fn models(&self) -> usize {
        self.models
    }

    fn room(&self) -> usize {
        self.sizes.samples
    }

    fn state(&mut self, model: usize) -> Result<ModelState, BackendError> {
        let (memory, n) = (self.memory, self.sizes.shape.parameters());
        let place = |start| self.model_place(start, model);
        let places = [place(memory.mean), place(memory.second)];
        let gathered = place(memory.gathered);
        let weights = self.weights(model)?;
        let [mean, square] = [self.read_f32(places[0], n)?, self.read_f32(places[1], n)?];
        let gathers = self.settings.adaptive.is_some();
        let gathered = if gathers {
            self.read_f32(gathered, n)?
        } else {
            Vec::new()
        };
        let number = |this: &mut Cuda, start: Address| {
            let value = this.read_i32(start + 4 * model as u64, 1)?[0];
            Ok::<u32, BackendError>(value as u32)
        };
        Ok(ModelState {
            weights,
            mean,
            square,
            updates: number(self, memory.updates)?.into(),
            gathered,
            gathered_batches: number(self, memory.gathered_batches)?,
            gathered_right: number(self, memory.gathered_right)?,
        })
    }

    fn weights(&mut self, model: usize) -> Result<Vec<f32>, BackendError> {
        let at = self.model_place(self.memory.weights, model);
        self.read_f32(at, self.sizes.shape.parameters())
    }

    fn restore(&mut self, model: usize, state: &ModelState) -> Result<(), BackendError> {
        let memory = self.memory;
        self.stale = true;
        self.write_f32(self.model_place(memory.weights, model), &state.weights)?;
        self.write_f32(self.model_place(memory.mean, model), &state.mean)?;
        self.write_f32(self.model_place(memory.second, model), &state.square)?;
        if self.settings.adaptive.is_some() {
            let mut gathered = state.gathered.clone();
            gathered.resize(state.weights.len(), 0.0);
            self.write_f32(self.model_place(memory.gathered, model), &gathered)?;
        }
        let at = 4 * model as u64;
        self.write_i32(memory.updates + at, &[state.updates as i32])?;
        self.write_i32(
            memory.gathered_batches + at,
            &[state.gathered_batches as i32],
        )?;
        self.write_i32(memory.gathered_right + at, &[state.gathered_right as i32])
    }

    fn set_prior(&mut self, model: usize, weights: &[f32]) -> Result<(), BackendError> {
        if self.settings.prior.is_some() {
            self.write_f32(self.model_place(self.prior.weights, model), weights)?;
            self.priors.given[model] = true;
            self.priors.made = false;
        }
        Ok(())
    }

    fn train(
        &mut self,
        first: u64,
        count: u64,
        lengths: &[usize],
    ) -> Result<Vec<StepRecord>, BackendError> {
        if self.settings.prior.is_some() && self.priors.given.contains(&false) {
            return Err(BackendError::NoPrior);
        }
        let lists: Vec<_> = lengths
            .iter()
            .map(|&n| self.settings.lengths.law(n))
            .collect();
        let longest = self.write_lengths(&lists)?;
        for step in first + 1..=first + count {
            self.train_step(step, longest)?;
        }
        checked(self.records()?, first + count)
    }

    fn right(&mut self, test: &Test) -> Result<Vec<u32>, BackendError> {
        let call = self.answer(test)?;
        self.launch("count_right", (self.models, 1, 1), 256, 0, &call)?;
        let right = self.read_i32(self.memory.right, self.models)?;
        Ok(right.into_iter().map(|n| n as u32).collect())
    }

    fn teach(&mut self, lessons: &[Lesson]) -> Result<(), BackendError> {
        let (cap, r) = (self.sizes.cap, self.models);
        if lessons.len() != r {
            return Err(BackendError::NoLesson);
        }
        let most = lessons.iter().map(|l| l.actions().len()).max().unwrap_or(0);
        if most > self.lessons.room {
            self.memory.lesson_actions = self.device.allocate(r * most)?;
            self.lessons.room = most;
        }
        self.lessons.stride = most;
        let mut actions = vec![0; r * most];
        let mut steps = vec![0; r * (cap + 1) * cap * LESSON];
        for (model, lesson) in lessons.iter().enumerate() {
            let to = &mut actions[model * most..][..lesson.actions().len()];
            to.copy_from_slice(lesson.actions());
            for (which, &length) in lesson.lengths().iter().enumerate() {
                for (t, step) in lesson.steps(which).iter().enumerate() {
                    let at = ((model * (cap + 1) + length) * cap + t) * LESSON;
                    let numbers = [
                        step.before,
                        step.after,
                        step.tokens,
                        step.first,
                        step.histories,
                    ];
                    (steps[at..].iter_mut().zip(numbers)).for_each(|(to, n)| *to = n as i32);
                }
            }
        }
        let memory = self.memory;
        self.device.write(memory.lesson_actions, &actions)?;
        self.write_i32(memory.lesson_steps, &steps)?;
        self.lessons.lengths = lessons.iter().map(|l| l.lengths().to_vec()).collect();
        Ok(())
    }

    fn imitate(
        &mut self,
        first: u64,
        count: u64,
        active: &[bool],
    ) -> Result<Vec<f64>, BackendError> {
        if self.lessons.lengths.len() != self.models {
            return Err(BackendError::NoLesson);
        }
        let lengths: Vec<LengthLaw> = (self.lessons.lengths.iter().zip(active))
            .map(|(list, &active)| if active { list.clone() } else { Vec::new() })
            .map(LengthLaw::equal)
            .collect();
        let longest = self.write_lengths(&lengths)?;
        let (r, batch) = (self.models, self.settings.batch);
        for step in first + 1..=first + count {
            let call = Call {
                mode: Choice::Given as i32,
                step: step as u32,
                purpose: Purpose::Imitation as u32,
                samples: batch as i32,
                method: 3,
                form: 2,
                drawn_once: 0,
                adaptive_most: 0,
                actions: self.lessons.stride as i32,
                ..self.call()
            };
            self.tables(&call)?;
            self.launch("draw_batch", (r, 1, 1), 256, 0, &call)?;
            self.launch("teach", (batch.div_ceil(256), r, 1), 256, 0, &call)?;
            self.forward(&call, batch * longest)?;
            self.launch("weigh", (r, 1, 1), 256, 0, &call)?;
            self.backward(&call)?;
        }
        let losses: Vec<f64> = self.records()?.into_iter().map(|r| r.loss).collect();
        let broken = (losses.iter().zip(active)).position(|(l, &on)| on && !l.is_finite());
        if let Some(model) = broken {
            let step = first + count;
            return Err(BackendError::NotANumber { model, step });
        }
        Ok(losses)
    }

    fn agree(&mut self, test: &Test) -> Result<Vec<TokenAgreement>, BackendError> {
        if self.lessons.lengths.len() != self.models {
            return Err(BackendError::NoLesson);
        }
        let call = Call {
            actions: self.lessons.stride as i32,
            ..self.answer(test)?
        };
        self.launch("count_agreement", (self.models, 1, 1), 256, 0, &call)?;
        let matching = self.read_i32(self.memory.right, self.models)?;
        let stride = self.sizes.cap + 1;
        let starts = self.read_i32(self.memory.starts, self.models * stride)?;
        Ok((matching.iter().zip(starts.chunks_exact(stride)))
            .map(|(&matching, starts)| TokenAgreement {
                matching: matching as u32,
                tokens: starts[stride - 1] as u32,
            })
            .collect())
    }

    fn decode(&mut self, batches: &mut [Batch]) -> Result<(), BackendError> {
        let (longest, _) = self.upload(batches)?;
        let rows = batches.iter().map(Batch::samples).max().unwrap_or(0);
        let call = Call {
            mode: Choice::Likeliest as i32,
            ..self.call()
        };
        self.tables(&call)?;
        for t in 1..=longest as i32 {
            self.forward(&Call { t, ..call }, rows)?;
        }
        let (s, xs) = (self.sizes.samples, self.sizes.input_stride());
        let mut y = vec![0; self.models * s * xs];
        self.device.read(self.memory.y, &mut y)?;
        for (model, batch) in batches.iter_mut().enumerate() {
            for sample in 0..batch.samples() {
                let to = batch.y_mut(sample);
                to.copy_from_slice(&y[(model * s + sample) * xs..][..to.len()]);
            }
        }
        Ok(())
    }

    fn gradients(
        &mut self,
        batches: &[Batch],
        weights: &[Vec<TokenWeight>],
    ) -> Result<Vec<Vec<f32>>, BackendError> {
        let (_, tokens) = self.upload(batches)?;
        let nt = self.sizes.tokens();
        let mut numbers = vec![0.0; 3 * self.models * nt];
        for (model, list) in weights.iter().enumerate() {
            for (token, weight) in list.iter().enumerate() {
                let own = [weight.policy, weight.entropy, weight.divergence];
                numbers[3 * (model * nt + token)..][..3].copy_from_slice(&own);
            }
        }
        let call = Call {
            mode: Choice::Given as i32,
            write_only: 1,
            ..self.call()
        };
        if self.token_weights == 0 {
            self.token_weights = self.device.allocate(4 * numbers.len())?;
        }
        let room = self.token_weights;
        self.write_f32(room, &numbers)?;
        self.tables(&call)?;
        self.forward(&call, tokens)?;
        self.follow_prior(&call, tokens)?;
        self.memory.token_weights = room;
        let done = self.backward(&call);
        self.memory.token_weights = 0;
        done?;
        let (at, n) = (self.memory.gradient, self.sizes.shape.parameters());
        (0..self.models)
            .map(|model| self.read_f32(self.model_place(at, model), n))
            .collect()
    }
}

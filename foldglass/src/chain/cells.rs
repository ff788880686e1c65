//! Sweeps a chain cell by cell in a random permutation, in any class, tied ones included.

use super::{Kernel, resample};
use crate::count::{CountError, Counter};
use crate::memory::Allowance;
use crate::policy::Code;
use crate::stream::Stream;

pub(super) struct Cells {
    kernel: Kernel,
    q: usize,
    counter: Counter,
    order: Vec<u32>,
    rewards: Vec<u128>,
}

impl Cells {
    pub fn new(kernel: Kernel, code: Code, allowance: Allowance) -> Result<Cells, CountError> {
        let (q, cells) = (code.class().q(), code.class().cells());
        Ok(Cells {
            kernel,
            q,
            counter: Counter::new(code, allowance)?,
            order: (0..cells as u32).collect(),
            rewards: vec![0; q],
        })
    }

    pub fn sweep(&mut self, tau: f64, stream: &mut Stream) {
        self.order.sort_unstable();
        stream.shuffle(&mut self.order);
        // Gains are compared as whole numbers; the temperature is put on their scale.
        let tau = tau * self.counter.denominator() as f64;
        for i in 0..self.order.len() {
            let cell = self.order[i] as usize;
            let present = self.counter.code().action(cell);
            let rewards = &mut self.rewards;
            let counter = &mut self.counter;
            let mut known = false;
            let action = resample(self.kernel, tau, self.q, present, stream, |action| {
                if !known {
                    counter.rewards(cell, rewards);
                    known = true;
                }
                rewards[action as usize] as f64 - rewards[present as usize] as f64
            });
            if action != present {
                self.counter.set(cell, action);
            }
        }
    }

    pub fn reward(&self) -> u128 {
        self.counter.reward()
    }

    pub fn denominator(&self) -> u128 {
        self.counter.denominator()
    }

    pub fn code(&self) -> &Code {
        self.counter.code()
    }
}

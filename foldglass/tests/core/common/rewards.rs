//! Remembers rewards by the definition.

use foldglass::reward::count::reference::reward_by_rollouts;
use foldglass::{Class, Code, Reward};
use std::collections::HashMap;

/// Rewards by the definition, each code's once.
pub struct Rewards<'a> {
    pub class: &'a Class,
    known: HashMap<Code, Reward>,
}

impl<'a> Rewards<'a> {
    pub fn new(class: &'a Class) -> Rewards<'a> {
        Rewards {
            class,
            known: HashMap::new(),
        }
    }

    pub fn of(&mut self, code: &Code) -> Reward {
        if let Some(reward) = self.known.get(code) {
            return reward.clone();
        }
        let reward = reward_by_rollouts(code);
        self.known.insert(code.clone(), reward.clone());
        reward
    }
}

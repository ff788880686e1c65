//! Compares the fast counts of rewards with the definition.

mod common;

use common::problems;
use foldglass::class::{Allowance, Class};
use foldglass::count::reference::reward_by_rollouts;
use foldglass::count::{Counter, Regime, reward};
use foldglass::policy::Code;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn random_code(class: &Class, rng: &mut ChaCha8Rng) -> Code {
    Code::from_fn(class, |_| below(rng, class.q()) as u16)
}

fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    (rng.next_u64() % n as u64) as usize
}

fn numerator(class: &Class, code: &Code) -> u128 {
    reward_by_rollouts(class, code).num.try_into().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn quick(problem in problems(), seed: u64) {
        let class = problem.class();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut code = random_code(&class, &mut rng);
        prop_assert_eq!(reward(&class, &code), reward_by_rollouts(&class, &code));
        let mut counter = Counter::with_regime(&class, code.clone(), Regime::States, Allowance::default()).unwrap();
        let mut rewards = vec![0; class.q()];
        for _ in 0..10 {
            prop_assert_eq!(counter.reward(), numerator(&class, &code));
            let cell = below(&mut rng, class.cells());
            counter.rewards(cell, &mut rewards);
            for a in 0..class.q() {
                let mut changed = code.clone();
                changed.set(cell, a as u16);
                prop_assert_eq!(rewards[a], numerator(&class, &changed));
            }
            for _ in 0..below(&mut rng, 3) {
                let (cell, a) = (below(&mut rng, class.cells()), below(&mut rng, class.q()) as u16);
                counter.set(cell, a);
                code.set(cell, a);
            }
        }
    }
}

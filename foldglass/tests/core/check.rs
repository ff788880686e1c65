//! Compares what the checker counts with the definition, one rollout after the other.

use crate::common::problems;
use foldglass::proof::check::{CheckError, Rollouts, bytes};
use foldglass::reward::count::Counter;
use foldglass::reward::count::reference::reward_by_rollouts;
use foldglass::{Allowance, Class, Code, InputLaw, Operation, Shape, Stream, Symbol, Task};
use proptest::prelude::*;

fn random_code(class: &Class, stream: &mut Stream) -> Code {
    Code::from_fn(class, |_| stream.below(class.q() as u32) as Symbol)
}

/// The numerator of J, by the definition.
fn by_definition(code: &Code) -> u128 {
    let denominator = code.class().task().denominator();
    let numerator = reward_by_rollouts(code).over(&denominator);
    numerator.try_into().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_rollouts_of_a_changing_code_earn_what_the_definition_says(
        problem in problems(),
        seed in any::<u64>(),
    ) {
        let class = problem.class();
        let mut stream = Stream::new(seed, 0);
        let mut code = random_code(&class, &mut stream);
        let mut rollouts = Rollouts::new(code.clone()).unwrap();
        let mut rewards = vec![0; class.q()];
        for _ in 0..6 {
            prop_assert_eq!(rollouts.reward(), by_definition(&code));
            let cell = stream.below(class.cells() as u32) as usize;
            rollouts.rewards(cell, &mut rewards);
            for (action, &reward) in rewards.iter().enumerate() {
                let mut changed = code.clone();
                changed.set(cell, action as Symbol);
                prop_assert_eq!(reward, by_definition(&changed));
            }
            for _ in 0..stream.below(3) {
                let cell = stream.below(class.cells() as u32) as usize;
                let action = stream.below(class.q() as u32) as Symbol;
                code.set(cell, action);
                rollouts.set(cell, action);
            }
            prop_assert_eq!(rollouts.code(), &code);
        }
    }
}

#[test]
fn all_neighbours_in_the_wide_tied_class_agree_with_the_counts() {
    let task = Task::new(Operation::paper(), &InputLaw::Uniform, &[7]).unwrap();
    let class = Class::new(task, Shape::tied(0, 3)).unwrap();
    let code = random_code(&class, &mut Stream::new(5, 0));
    let mut rollouts = Rollouts::new(code.clone()).unwrap();
    let mut all = vec![0; class.cells() * 5];
    for (cell, rewards) in all.chunks_exact_mut(5).enumerate() {
        rollouts.rewards(cell, rewards);
    }
    let mut counter = Counter::new(code).unwrap();
    let mut rewards = [0; 5];
    for (cell, found) in all.chunks_exact(5).enumerate() {
        counter.rewards(cell, &mut rewards);
        assert_eq!(found, rewards, "cell {cell}");
    }
}

#[test]
fn rollouts_that_do_not_fit_are_refused_before_they_are_taken() {
    let task = Task::new(Operation::paper(), &InputLaw::Uniform, &[60]).unwrap();
    let class = Class::new(task, Shape::untied(0, 0)).unwrap();
    let code = random_code(&class, &mut Stream::new(0, 0));
    let error = Rollouts::new(code).unwrap_err();
    assert!(
        error.to_string().contains("rolling out every input"),
        "{error}"
    );
}

#[test]
fn rollouts_take_the_memory_that_is_stated() {
    let task = Task::new(Operation::paper(), &InputLaw::Uniform, &[2, 4]).unwrap();
    let class = Class::new(task, Shape::tied(1, 1)).unwrap();
    let code = random_code(&class, &mut Stream::new(0, 0));
    let bytes = bytes(&class).unwrap();
    let new = |bytes| Rollouts::within(code.clone(), Allowance(bytes));
    assert!(new(bytes).is_ok());
    assert!(matches!(new(bytes - 1), Err(CheckError::TooLarge(_))));
}

//! Compares the checker's second engine with the definition.

use super::Earnings;
use super::forward::Forward;
use crate::model::class::{Class, Shape, Window};
use crate::model::inputs::InputLaw;
use crate::model::operation::{Operation, Symbol};
use crate::model::policy::Code;
use crate::model::task::Task;
use crate::reward::count::reference::reward_by_rollouts;
use crate::support::exact::{Reward, parse};
use crate::support::stream::Stream;
use dashu_int::UBig;

fn earned(forward: &Forward) -> Reward {
    Reward::new(forward.reward(), forward.denominator())
}

#[test]
fn weights_passed_forward_earn_what_the_definition_says() {
    let number = |text: &str| parse(text).unwrap();
    let rows = [["1/2", "1/3", "1/6"], ["0", "1/4", "3/4"], ["1", "0", "0"]];
    let product = InputLaw::Product(rows.iter().map(|row| row.map(number).to_vec()).collect());
    let laws = [
        InputLaw::Uniform,
        InputLaw::Markov(number("9/10")),
        InputLaw::Markov(number("1")),
        product,
    ];
    let mut stream = Stream::new(3, 0);
    for law in &laws {
        for lengths in [&[3][..], &[1, 3], &[2, 3]] {
            for n in 0..24 {
                let (past, future, memory, tied) = (n % 3, n / 3 % 2, 1 + n / 6 % 2, n / 12 == 1);
                let task = Task::new(Operation::random(3, n as u64).unwrap(), law, lengths);
                let shape = Shape {
                    window: Window { past, future },
                    memory,
                    tied,
                };
                let class = Class::new(task.unwrap(), shape).unwrap();
                let code = Code::from_fn(&class, |_| stream.below(3) as Symbol);
                let mut forward = Forward::new(code.clone());
                assert_eq!(earned(&forward), reward_by_rollouts(&code));
                let mut changed = code;
                for _ in 0..4 {
                    let cell = stream.below(class.cells() as u32) as usize;
                    let action = stream.below(3) as Symbol;
                    changed.set(cell, action);
                    forward.set(cell, action);
                    assert_eq!(earned(&forward), reward_by_rollouts(&changed));
                }
                for cell in 0..class.cells() {
                    let mut rewards = vec![UBig::ZERO; 3];
                    forward.rewards(cell, &mut rewards);
                    for (action, found) in rewards.into_iter().enumerate() {
                        let mut other = changed.clone();
                        other.set(cell, action as Symbol);
                        let found = Reward::new(found, forward.denominator());
                        assert_eq!(found, reward_by_rollouts(&other), "cell {cell}");
                    }
                }
            }
        }
    }
}

//! Draws fig:joint_dictionary: the paper's dictionary, and its two codes at T = 5.

use foldglass::{ClassSpec, Code, Operation, Shape, Symbol};

use crate::error::Error;
use crate::report::draw;
use crate::report::page::{Block, Chapter, Fact, Figure, Sheet};
use crate::report::{Cell, Column, Table};

/// The two inputs that differ in x_1 alone.
const INPUTS: [[Symbol; 5]; 2] = [[0, 1, 0, 1, 1], [1, 1, 0, 1, 1]];

/// What the two codes emit at x_t and y_{t-1}, in the order of cells, after the two cells of t = 1.
const PARITY: [i64; 4] = [0, 1, 1, 0];
const COPY: [i64; 4] = [0, 0, 1, 1];

/// The words of both fields, and what they are here.
const WORDS: [[&str; 4]; 8] = [
    [
        "deterministic policy (code)",
        "spin configuration σ",
        "`Code`",
        "`eval --code`",
    ],
    [
        "expected reward J",
        "minus the energy",
        "`Reward`, exact",
        "`eval`",
    ],
    [
        "one table entry (cell)",
        "one q-state (Potts) spin",
        "a cell of `Class`",
        "`cells --list`",
    ],
    [
        "stochastic policy π",
        "variational product state",
        "`Policy`",
        "`cavi`",
    ],
    [
        "entropy coefficient τ = 1/β",
        "temperature",
        "τ of `cavi`, `chain`",
        "`--tau`",
    ],
    [
        "d(c) Q(c,a)",
        "local field at a site",
        "`Evaluator`’s values",
        "`eval --json`",
    ],
    [
        "relabelling of tokens",
        "gauge transformation",
        "`gauge`",
        "`gauge`",
    ],
    [
        "set of codes near a trap",
        "pure state",
        "`pure-state` records",
        "`reproduce fig:trapsfixed`",
    ],
];

/// The chapter.
pub fn chapter() -> Result<Chapter, Error> {
    let square = Operation::cyclic(2).expect("there are two symbols");
    let parity = ClassSpec::uniform(square, &[5], Shape::untied(0, 0));
    let class = parity.lay_out()?;
    let code = |actions: [i64; 4]| {
        let steps = std::iter::repeat_n(actions, 4).flatten();
        let all: Vec<i64> = [0, 1].into_iter().chain(steps).collect();
        Code::new(&class, &all).expect("a code of this class")
    };
    let codes = [("parity code", code(PARITY)), ("copy code", code(COPY))];
    let (svg, rewards) = draw::picture(&codes, &INPUTS);
    let columns = [
        Column::words("reinforcement learning"),
        Column::words("physics"),
        Column::words("foldglass"),
        Column::words("command"),
    ];
    let plain = |row: [&str; 4]| row.map(|text| Cell::from(text.replace('`', "")));
    let table = Table::new(columns)
        .titled("The dictionary")
        .rows(WORDS.map(plain));
    let rewards: Vec<String> = rewards.iter().map(ToString::to_string).collect();
    let facts = vec![
        Fact {
            name: "command",
            value: "`foldglass draw --code FILE --input 0,1,0,1,1 1,1,0,1,1 --svg FILE`".to_owned(),
        },
        Fact {
            name: "exact reward",
            value: format!("parity code {}, copy code {}", rewards[0], rewards[1]),
        },
        Fact {
            name: "settings",
            value: "q = 2, T = 5, window (0,0), untied, uniform inputs".to_owned(),
        },
        Fact {
            name: "verdict",
            value: "agrees: the parity code answers every input, the copy code half of them"
                .to_owned(),
        },
    ];
    let figure = Figure {
        id: "fig-joint-dictionary-codes".to_owned(),
        svg,
        alternative: "Two codes at T = 5, cells as circles, and the ways of two inputs through each".to_owned(),
        caption: "(II) Each circle is a cell (x_t, y_{t-1}, t), the arrow in it the token that the code emits \
                  there. Two inputs that differ only in x_1 are in colour: the parity code answers both, the \
                  copy code one of them."
            .to_owned(),
    };
    let chapter = Chapter::new("fig-joint-dictionary", "Fig. 1: reinforcement learning and spin glasses")
        .short("Fig. 1")
        .prose("*Section 2.* The paper’s dictionary, with the word of each in foldglass; and two codes, drawn.")
        .with(Block::Facts(facts))
        .with(Block::Figure(figure))
        .sheet(Sheet::new("dictionary", table));
    Ok(chapter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_codes_are_those_of_the_paper() {
        let chapter = chapter().unwrap();
        let Block::Facts(facts) = &chapter.blocks[1] else {
            panic!("the facts come second");
        };
        assert_eq!(facts[1].value, "parity code 1/1, copy code 1/2");
        assert_eq!(chapter.figures().count(), 1);
    }
}

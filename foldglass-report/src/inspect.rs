//! Takes a code apart: steps, aliasing, ignored positions, wrong answers, defended cells (paper, section
//! 4.2, App. D to G.6).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use foldglass::landscape::anatomy::{
    self, Aliased, Blame, Cause, Defence, Share, StepAnatomy, Wrong,
};
use foldglass::landscape::ignored::{ignored, pairs};
use foldglass::support::exact::RBig;
use foldglass::{Class, ClassSpec, Code, Reward, Stream, Symbol, reward::count};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::INTERVAL_LEVEL;
use crate::report::Report;
use crate::table::{Cell, Column, Format, Table};
use crate::words::{self, cell_name};

/// What is rolled out of a code.
#[derive(Debug, Clone, Copy)]
pub struct RolloutLimits {
    /// All inputs where there are at most so many, else as many drawn.
    pub inputs: usize,
    /// The most pairs of rollouts that are followed for the positions that a code ignores.
    pub pairs: u128,
}

/// Takes a code apart; inputs are drawn by the seed.
pub fn inspect(code: Code, limits: RolloutLimits, seed: u64, defence: Defence) -> Inspected {
    let mut stream = Stream::new(seed, 0);
    let reward = count::reward(&code);
    let wrong = Reward::from(RBig::ONE - reward.ratio());
    let lengths = code.class().task().lengths().iter();
    let followed = pairs(code.class()) <= limits.pairs;
    let (factors, product) = anatomy::product(&code).unzip();
    let factors = factors.map(|factors| factors.iter().map(|f| half(f.twice)).collect());
    let mu = |number: usize| {
        factors
            .as_ref()
            .map(|list: &Vec<String>| list[number].clone())
    };
    let answers = anatomy::answers(&code, limits.inputs, &mut stream);
    let steps = anatomy::steps(&code).into_iter().enumerate();
    let Defence {
        defended,
        neutral,
        improvable,
        unconsulted,
    } = defence;
    Inspected {
        aliasing: anatomy::aliasing(&code).iter().map(Shared::of).collect(),
        blame: BlamedCell::all(code.class(), answers.blame),
        causes: (answers.causes.into_iter())
            .map(|(cause, share)| CauseShare::of(cause, &share))
            .collect(),
        defended,
        ignored: lengths
            .map(|&length| Ignored {
                length,
                positions: followed.then(|| ignored(&code, length)),
            })
            .collect(),
        improvable,
        inputs: answers.inputs,
        neutral,
        product_exact: product,
        reward_exact: reward,
        sampled: !answers.all,
        steps: steps.map(|(n, step)| Step::of(&step, mu(n))).collect(),
        svg: None,
        unconsulted,
        wrong: answers.wrong,
        wrong_inputs: (answers.listed.into_iter())
            .map(|wrong| WrongInput::of(code.class(), wrong))
            .collect(),
        wrong_probability: wrong.to_f64(),
        wrong_probability_exact: wrong,
        shown: 0,
        class: code.class().spec(),
    }
}

/// A code taken apart.
#[derive(JsonSchema, Serialize)]
pub struct Inspected {
    aliasing: Vec<Shared>,
    /// The cells with which inputs go wrong, the most probable first.
    blame: Vec<BlamedCell>,
    causes: Vec<CauseShare>,
    defended: Vec<usize>,
    ignored: Vec<Ignored>,
    improvable: Vec<usize>,
    inputs: usize,
    neutral: Vec<usize>,
    product_exact: Option<Reward>,
    reward_exact: Reward,
    /// Whether the inputs were drawn: there are too many.
    sampled: bool,
    steps: Vec<Step>,
    /// The file that the code was drawn to.
    pub svg: Option<String>,
    unconsulted: Vec<usize>,
    /// Of the inputs looked at.
    wrong: usize,
    wrong_inputs: Vec<WrongInput>,
    /// The probability of a wrong answer, 1 - J.
    wrong_probability: f64,
    wrong_probability_exact: Reward,
    /// Wrong answers to print.
    #[serde(skip)]
    pub shown: usize,
    #[serde(skip)]
    class: ClassSpec,
}

/// What the tokens of a step stand for, on the inputs of one length.
#[derive(JsonSchema, Serialize)]
struct Shared {
    aliases: bool,
    length: usize,
    t: usize,
    tokens: Vec<Token>,
}

#[derive(JsonSchema, Serialize)]
struct Token {
    states: BTreeSet<Symbol>,
    token: Symbol,
}

impl Shared {
    fn of(step: &Aliased) -> Shared {
        let token = |(&token, states): (&Symbol, &BTreeSet<Symbol>)| Token {
            states: states.clone(),
            token,
        };
        Shared {
            aliases: step.aliases(),
            length: step.length,
            t: step.t,
            tokens: step.states.iter().map(token).collect(),
        }
    }
}

/// Why an input is answered wrongly.
#[derive(JsonSchema, Serialize)]
struct Why {
    /// The step at which it goes wrong, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    t: Option<usize>,
    why: &'static str,
}

impl Why {
    fn of(cause: Cause) -> Why {
        match cause {
            Cause::Aliased { t } => Why {
                t: Some(t),
                why: "aliased",
            },
            Cause::Misread => Why {
                t: None,
                why: "misread",
            },
        }
    }
}

/// How likely something is: exactly where all inputs were looked at, else with the ends of an interval.
#[derive(JsonSchema, Serialize)]
struct Likely {
    high: Option<f64>,
    low: Option<f64>,
    probability: f64,
    probability_exact: Option<Reward>,
}

impl Likely {
    fn of(share: &Share) -> Likely {
        let (exact, interval) = match share {
            Share::Exact(exact) => (Some(exact.clone()), None),
            Share::Drawn(drawn) => (None, Some(drawn.interval(INTERVAL_LEVEL))),
        };
        Likely {
            high: interval.map(|interval| interval.high),
            low: interval.map(|interval| interval.low),
            probability: share.probability(),
            probability_exact: exact,
        }
    }

    fn words(&self) -> String {
        let probability = self.probability;
        match (&self.probability_exact, self.low.zip(self.high)) {
            (Some(exact), _) => words::reward(exact),
            (None, Some((low, high))) => format!("{probability:.6} ({low:.6} to {high:.6})"),
            (None, None) => unreachable!("a share is exact or has an interval"),
        }
    }
}

/// A cause, and how likely it is.
#[derive(JsonSchema, Serialize)]
struct CauseShare {
    #[serde(flatten)]
    likely: Likely,
    #[serde(flatten)]
    why: Why,
}

impl CauseShare {
    fn of(cause: Cause, share: &Share) -> CauseShare {
        CauseShare {
            likely: Likely::of(share),
            why: Why::of(cause),
        }
    }
}

/// A cell to blame for wrong answers.
#[derive(JsonSchema, Serialize)]
struct BlamedCell {
    cell: usize,
    /// The cell as (t, x, y).
    #[serde(skip)]
    name: String,
    /// The state it leads to.
    state: Symbol,
    /// The token it emits, and the other states that the token stands for.
    token: Symbol,
    other_states: BTreeSet<Symbol>,
    /// The tokens that would be right.
    right_tokens: BTreeSet<Symbol>,
    #[serde(flatten)]
    likely: Likely,
}

impl BlamedCell {
    /// All of a code, the most probable first.
    fn all(class: &Class, blame: BTreeMap<Blame, Share>) -> Vec<BlamedCell> {
        let one = |(blame, share): (Blame, Share)| BlamedCell {
            cell: blame.cell,
            name: cell_name(&class.key(blame.cell)),
            state: blame.state,
            token: blame.token,
            other_states: blame.others,
            right_tokens: blame.right,
            likely: Likely::of(&share),
        };
        let mut all: Vec<BlamedCell> = blame.into_iter().map(one).collect();
        all.sort_by(|a, b| b.likely.probability.total_cmp(&a.likely.probability));
        all
    }

    /// `cell (2, 0, 1) leads to state 1 and emits 0, which also stands for 0; right would be 1`.
    fn words(&self) -> String {
        let BlamedCell {
            name, state, token, ..
        } = self;
        let shared = match self.other_states.is_empty() {
            true => String::new(),
            false => format!(
                ", which also stands for state {}",
                comma(&self.other_states)
            ),
        };
        let right = match self.right_tokens.len() {
            0 => "no token is free for it".to_owned(),
            _ => format!("right would be {}", comma(&self.right_tokens)),
        };
        format!("cell {name} leads to state {state} and emits {token}{shared}; {right}")
    }
}

#[derive(JsonSchema, Serialize)]
struct Ignored {
    length: usize,
    /// The positions whose symbol never changes the answer; none where too many pairs of rollouts would have
    /// to be followed.
    positions: Option<Vec<usize>>,
}

#[derive(JsonSchema, Serialize)]
struct Step {
    cells: usize,
    constant_links: Option<usize>,
    dead: bool,
    first_cell: usize,
    kind: &'static str,
    merging_links: Option<usize>,
    /// The factor of the step in the product formula, where that holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    mu: Option<String>,
    t: Option<usize>,
    windows: usize,
}

impl Step {
    fn of(step: &StepAnatomy, mu: Option<String>) -> Step {
        Step {
            cells: step.cells,
            constant_links: step.constant_links,
            dead: step.kind.is_dead(),
            first_cell: step.first_cell,
            kind: step.kind.words(),
            merging_links: step.merging_links,
            mu,
            t: step.t,
            windows: step.windows,
        }
    }
}

#[derive(JsonSchema, Serialize)]
struct WrongInput {
    cell: usize,
    #[serde(skip)]
    name: String,
    probability_exact: Reward,
    #[serde(skip_serializing_if = "Option::is_none")]
    t: Option<usize>,
    target: Symbol,
    why: &'static str,
    x: Vec<Symbol>,
    y: Vec<Symbol>,
}

impl WrongInput {
    fn of(class: &Class, wrong: Wrong) -> WrongInput {
        let Why { t, why } = Why::of(wrong.cause);
        WrongInput {
            cell: wrong.cell,
            name: cell_name(&class.key(wrong.cell)),
            probability_exact: wrong.probability,
            t,
            target: wrong.target,
            why,
            x: wrong.x,
            y: wrong.y,
        }
    }
}

fn half(twice: i8) -> String {
    match twice {
        1 => "1/2".to_owned(),
        -1 => "-1/2".to_owned(),
        whole => (whole / 2).to_string(),
    }
}

fn comma<T: ToString>(list: impl IntoIterator<Item = T>) -> String {
    let words: Vec<String> = list.into_iter().map(|item| item.to_string()).collect();
    words.join(",")
}

impl Inspected {
    /// All of it, as `--json` prints it.
    pub fn json(&self) -> Value {
        serde_json::to_value(self).expect("plain data")
    }

    /// The tokens of a step that stand for several states, over all lengths.
    fn shared(&self, t: Option<usize>) -> Cell {
        let Some(t) = t else {
            return Cell::Missing;
        };
        let own = self.aliasing.iter().filter(|step| step.t == t);
        let shared = own.flat_map(|step| {
            let shared = step.tokens.iter().filter(|of| of.states.len() > 1);
            shared.map(|of| of.token)
        });
        let shared: BTreeSet<Symbol> = shared.collect();
        if shared.is_empty() {
            return "none".into();
        }
        comma(shared).into()
    }

    fn table(&self) -> Table {
        let columns = [
            Column::numbers("t"),
            Column::numbers("cells"),
            Column::numbers("windows"),
            Column::numbers("constant links").key("constant_links"),
            Column::numbers("merging links").key("merging_links"),
            Column::words("the step").key("kind"),
            Column::words("mu"),
            Column::words("tokens of several states").key("aliased"),
        ];
        let mut table = Table::new(columns);
        for step in &self.steps {
            table.push([
                Cell::or_missing(step.t),
                step.cells.into(),
                step.windows.into(),
                Cell::or_missing(step.constant_links),
                Cell::or_missing(step.merging_links),
                step.kind.into(),
                Cell::or_missing(step.mu.clone()),
                self.shared(step.t),
            ]);
        }
        table
    }

    fn wrong_table(&self) -> Table {
        let columns = [
            Column::words("input"),
            Column::numbers("probability"),
            Column::words("tokens"),
            Column::numbers("target"),
            Column::words("cell to blame").key("cell"),
        ];
        let listed = self.wrong_inputs.iter().take(self.shown);
        let row = |wrong: &WrongInput| -> [Cell; 5] {
            [
                comma(&wrong.x).into(),
                wrong.probability_exact.to_f64().into(),
                comma(&wrong.y).into(),
                wrong.target.into(),
                wrong.name.clone().into(),
            ]
        };
        Table::new(columns).rows(listed.map(row))
    }

    fn write_answers(&self, out: &mut dyn Write) -> io::Result<()> {
        for Ignored { length, positions } in &self.ignored {
            let words = match positions.as_deref() {
                None => "not computed, too many pairs of rollouts to follow".to_owned(),
                Some([]) => "none".to_owned(),
                Some(list) => comma(list),
            };
            writeln!(out, "positions ignored at length {length}: {words}")?;
        }
        let (inputs, wrong) = (self.inputs, &self.wrong_probability_exact);
        writeln!(
            out,
            "answered wrongly with probability {wrong} = {:.6}",
            self.wrong_probability
        )?;
        if wrong.is_zero() {
            return Ok(());
        }
        if self.causes.is_empty() {
            return writeln!(out, "none of {inputs} inputs drawn from their law is such");
        }
        match self.sampled {
            true => writeln!(
                out,
                "cells to blame, from {inputs} inputs drawn from their law, with {} % intervals:",
                100.0 * INTERVAL_LEVEL
            )?,
            false => writeln!(out, "cells to blame, from all {inputs} inputs that occur:")?,
        }
        for blamed in self.blame.iter().take(self.shown) {
            writeln!(out, "  {}: {}", blamed.likely.words(), blamed.words())?;
        }
        if let more @ 1.. = self.blame.len().saturating_sub(self.shown) {
            writeln!(
                out,
                "  and {more} more; --wrong {} has all",
                self.blame.len()
            )?;
        }
        if self.wrong > 0 {
            writeln!(out)?;
            self.wrong_table().write_text(out)?;
        }
        Ok(())
    }
}

impl Report for Inspected {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.class.clone())
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        vec![self.table(), self.wrong_table()]
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let reward = &self.reward_exact;
        writeln!(out, "reward {reward} = {:.6}", reward.to_f64())?;
        if let Some(reward) = &self.product_exact {
            let factors = self.steps.iter().filter_map(|step| step.mu.as_deref());
            let factors: Vec<&str> = factors.collect();
            writeln!(out, "1/2 + 1/2 x {} = {reward}", factors.join(" x "))?;
        }
        writeln!(out)?;
        self.table().write_text(out)?;
        writeln!(
            out,
            "a link: what a step does to the token before at one symbol; a cell (t, x, y): step, symbols seen, token before\n"
        )?;
        writeln!(
            out,
            "cells: {} strictly defended, {} neutral, {} improvable, {} that no input consults",
            self.defended.len(),
            self.neutral.len(),
            self.improvable.len(),
            self.unconsulted.len()
        )?;
        self.write_answers(out)?;
        match &self.svg {
            Some(svg) => writeln!(out, "\ndrawn to {svg}"),
            None => Ok(()),
        }
    }
}

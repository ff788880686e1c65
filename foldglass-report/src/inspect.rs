//! Takes a code apart: steps, aliasing, ignored positions, wrong answers, defended cells (paper, section
//! 4.2, App. D to G.6).

use std::collections::BTreeSet;
use std::io::{self, Write};

use foldglass::anatomy::{self, Aliased, Cause, Defence, StepAnatomy, Wrong};
use foldglass::{ClassSpec, Code, Reward, Stream, Symbol, count};
use serde::Serialize;
use serde_json::Value;

use crate::report::Report;
use crate::table::{Cell, Column, Format, Table};

/// Takes a code apart, with all inputs where there are at most so many, else as many drawn by the seed.
pub fn inspect(code: Code, most_inputs: usize, seed: u64, defence: Defence) -> Inspected {
    let mut stream = Stream::new(seed, 0);
    let (factors, product) = anatomy::product(&code).unzip();
    let factors = factors.map(|factors| factors.iter().map(|f| half(f.twice)).collect());
    let mu = |number: usize| {
        factors
            .as_ref()
            .map(|list: &Vec<String>| list[number].clone())
    };
    let answers = anatomy::answers(&code, most_inputs, &mut stream);
    let steps = anatomy::steps(&code).into_iter().enumerate();
    let Defence {
        defended,
        neutral,
        improvable,
        unconsulted,
    } = defence;
    Inspected {
        aliasing: anatomy::aliasing(&code).iter().map(Shared::of).collect(),
        causes: (answers.causes.into_iter())
            .map(|(cause, inputs)| CauseCount {
                inputs,
                why: Why::of(cause),
            })
            .collect(),
        defended,
        ignored: (answers.ignored.into_iter())
            .map(|(length, positions)| Ignored { length, positions })
            .collect(),
        improvable,
        inputs: answers.inputs,
        neutral,
        product_exact: product,
        reward_exact: count::reward(&code),
        sampled: !answers.all,
        steps: steps.map(|(n, step)| Step::of(&step, mu(n))).collect(),
        svg: None,
        unconsulted,
        wrong: answers.wrong,
        wrong_inputs: answers.listed.into_iter().map(WrongInput::of).collect(),
        shown: 0,
        class: code.class().spec(),
    }
}

/// A code taken apart.
#[derive(Serialize)]
pub struct Inspected {
    aliasing: Vec<Shared>,
    causes: Vec<CauseCount>,
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
    wrong: usize,
    wrong_inputs: Vec<WrongInput>,
    /// Wrong answers to print.
    #[serde(skip)]
    pub shown: usize,
    #[serde(skip)]
    class: ClassSpec,
}

/// What the tokens of a step stand for, on the inputs of one length.
#[derive(Serialize)]
struct Shared {
    aliases: bool,
    length: usize,
    t: usize,
    tokens: Vec<Token>,
}

#[derive(Serialize)]
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
#[derive(Serialize)]
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

    fn words(&self) -> String {
        match self.t {
            Some(t) => format!("its token at step {t} stands for other states too"),
            None => "the last step answers another state".to_owned(),
        }
    }
}

#[derive(Serialize)]
struct CauseCount {
    inputs: usize,
    #[serde(flatten)]
    why: Why,
}

#[derive(Serialize)]
struct Ignored {
    length: usize,
    positions: Vec<usize>,
}

#[derive(Serialize)]
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

#[derive(Serialize)]
struct WrongInput {
    #[serde(skip_serializing_if = "Option::is_none")]
    t: Option<usize>,
    target: Symbol,
    why: &'static str,
    x: Vec<Symbol>,
    y: Vec<Symbol>,
}

impl WrongInput {
    fn of(wrong: Wrong) -> WrongInput {
        let Why { t, why } = Why::of(wrong.cause);
        WrongInput {
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
            Column::words("tokens"),
            Column::numbers("target"),
            Column::words("answered wrongly because").key("cause"),
        ];
        let listed = self.wrong_inputs.iter().take(self.shown);
        let row = |wrong: &WrongInput| -> [Cell; 4] {
            let WrongInput { t, why, .. } = *wrong;
            [
                comma(&wrong.x).into(),
                comma(&wrong.y).into(),
                wrong.target.into(),
                Why { t, why }.words().into(),
            ]
        };
        Table::new(columns).rows(listed.map(row))
    }

    fn write_answers(&self, out: &mut dyn Write) -> io::Result<()> {
        let which = if self.sampled {
            "inputs drawn at random, too many to list"
        } else {
            "all inputs"
        };
        for Ignored { length, positions } in &self.ignored {
            let words = match &positions[..] {
                [] => "none".to_owned(),
                list => comma(list),
            };
            writeln!(out, "positions ignored at length {length}: {words}")?;
        }
        let Inspected { inputs, wrong, .. } = self;
        writeln!(out, "{wrong} of {inputs} answered wrongly ({which})")?;
        for CauseCount { inputs, why } in &self.causes {
            writeln!(out, "  {inputs}: {}", why.words())?;
        }
        if *wrong > 0 {
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
        writeln!(out)?;
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

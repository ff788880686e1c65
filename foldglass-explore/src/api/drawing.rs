//! Draws a code as the paper's panel II, and follows one input through it (paper, Fig. 1).

use foldglass::Symbol;
use foldglass_report::draw;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::command::{self, CODE};
use super::{Ask, code_of};
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SvgAsked {
    class: Vec<String>,
    code: Vec<i64>,
    /// Inputs whose ways are drawn in colour.
    #[serde(default)]
    inputs: Vec<Vec<Symbol>>,
}

/// The flags of inputs.
fn input_flags(inputs: &[Vec<Symbol>]) -> Vec<String> {
    let one = |x: &Vec<Symbol>| {
        let symbols: Vec<String> = x.iter().map(Symbol::to_string).collect();
        ["--input".to_owned(), symbols.join(",")]
    };
    inputs.iter().flat_map(one).collect()
}

fn draw_command(inputs: &[Vec<Symbol>]) -> String {
    let words = ["draw", "--code", CODE, "--svg", "code.svg"].map(str::to_owned);
    command::line(words.into_iter().chain(input_flags(inputs)))
}

/// Draws a code.
pub fn svg(ask: &Ask<'_>, asked: &SvgAsked) -> Result<Value, Refusal> {
    let known = ask.class(&asked.class)?;
    let code = code_of(&known, &asked.code)?;
    let sketch = draw::sketch("code", &code, &asked.inputs)?;
    let [width, height] = sketch.size;
    Ok(json!({
        "svg": sketch.svg,
        "width": width,
        "height": height,
        "cells": sketch.cells,
        "command": draw_command(&asked.inputs),
        "code_file": command::code_file(&code),
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolloutAsked {
    class: Vec<String>,
    code: Vec<i64>,
    input: Vec<Symbol>,
}

#[derive(Serialize)]
struct Step {
    t: usize,
    x: Symbol,
    cell: usize,
    token: Symbol,
    /// The fold of the symbols so far.
    state: Symbol,
}

/// Follows an input.
pub fn rollout(ask: &Ask<'_>, asked: &RolloutAsked) -> Result<Value, Refusal> {
    let known = ask.class(&asked.class)?;
    let code = code_of(&known, &asked.code)?;
    let walk = draw::walk(&code, &asked.input)?;
    let task = known.class.task();
    let step = |n: usize| Step {
        t: n + 1,
        x: walk.x[n],
        cell: walk.cells[n],
        token: walk.y[n],
        state: task.fold(&walk.x[..=n]),
    };
    let steps: Vec<Step> = (0..walk.x.len()).map(step).collect();
    Ok(json!({
        "steps": steps,
        "answer": walk.answer,
        "truth": walk.target,
        "correct": walk.right,
        "command": draw_command(std::slice::from_ref(&asked.input)),
        "code_file": command::code_file(&code),
    }))
}

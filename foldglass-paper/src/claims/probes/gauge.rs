//! Relabels the tokens of codes, reads their links, and makes steps forget (paper, App. D).

use std::collections::BTreeSet;

use foldglass::dynamics::chain::random_code;
use foldglass::landscape::gauge::{Freedom, Relabelling, agreement, links};
use foldglass::support::exact::lowest_terms;
use foldglass::{Class, Code, Context, InputLaw, Shape, Stream, Symbol, reward::count};
use serde::{Deserialize, Serialize};

use super::class;
use crate::claims::Bench;
use crate::error::Error;

/// What [`relabelling`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relabelled {
    /// Random codes, each with a random relabelling.
    pub codes: u64,
    /// Those that compute the same function after it.
    pub same_function: u64,
    /// That have the same reward.
    pub same_reward: u64,
    /// The least share of cells that are the same.
    pub least_shared: f64,
    /// As many codes of a wider window that have the same reward.
    pub same_reward_wide: u64,
    /// The links of each step of that window.
    pub links_wide: Vec<usize>,
    /// The folding code of Z_5, T = 5, and its tokens shifted by t at step t.
    pub shifted: Shifted,
    /// The orders of groups.
    pub orders: Vec<FoldingImages>,
    /// Holonomies of all codes whose links are permutations.
    pub holonomies: Vec<Holonomies>,
}

/// A code and its relabelling by shifts.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shifted {
    /// Its cells.
    pub cells: u64,
    /// Cells that are the same.
    pub shared: u64,
    /// The share of inputs on which the two answer alike.
    pub agreement: String,
}

/// All relabellings of the folding code of a class.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FoldingImages {
    /// q.
    pub q: usize,
    /// T.
    pub length: usize,
    /// The different codes that they make of it.
    pub images: u64,
    /// Those of reward 1.
    pub optimal: u64,
    /// The order that the library states.
    pub order: String,
    /// (q!)^(T-1).
    pub stated: String,
}

/// The holonomies of the codes of a class all of whose links are permutations.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holonomies {
    /// q.
    pub q: usize,
    /// T.
    pub length: usize,
    /// All codes of the class.
    pub all: u64,
    /// The codes whose links are permutations.
    pub codes: u64,
    /// Those whose holonomies and boundary term some relabelling changes.
    pub changed: u64,
    /// The different holonomies with boundary terms.
    pub contents: u64,
    /// The codes up to relabelling.
    pub orbits: u64,
}

/// What relabelling leaves alone: the function, the reward, holonomies; and what it does not: cells.
///
/// Catches a relabelling that renames what is emitted but not what is read, a group that is too small or too
/// large, and holonomies that lose or invent something.
pub fn relabelling(bench: &Bench) -> Result<Option<Relabelled>, Error> {
    let mut stream = Stream::new(bench.seed, 5);
    let class = class("quasigroup", &InputLaw::Uniform, &[5], Shape::untied(0, 0));
    let runs = bench.scaled(100, 10);
    let (mut same_function, mut same_reward) = (0, 0);
    let mut least_shared = 1f64;
    for _ in 0..runs {
        let code = random_code(&class, &mut stream);
        let g = Relabelling::random(&class, &mut stream);
        let other = g.apply(&code);
        let found = agreement(&code, &other, Context::default())?;
        same_function += u64::from(lowest_terms(&found.overall) == "1/1");
        same_reward += u64::from(count::reward(&code) == count::reward(&other));
        least_shared = least_shared.min(shared(&code, &other) as f64 / class.cells() as f64);
    }
    let wide = super::class("quasigroup", &InputLaw::Uniform, &[4], Shape::untied(1, 1));
    let (mut same_wide, mut links_wide) = (0, Vec::new());
    for _ in 0..runs {
        let code = random_code(&wide, &mut stream);
        let other = Relabelling::random(&wide, &mut stream).apply(&code);
        same_wide += u64::from(count::reward(&code) == count::reward(&other));
        let links = links(&code).expect("one token is remembered");
        links_wide = links.iter().map(|step| step.maps.len()).collect();
    }
    Ok(Some(Relabelled {
        codes: runs,
        same_function,
        same_reward,
        least_shared,
        same_reward_wide: same_wide,
        links_wide,
        shifted: shifted()?,
        orders: vec![
            order("parity", 5),
            order("z:3", 3),
            order("quasigroup", bench.scaled(3, 2)),
        ],
        holonomies: vec![holonomies("parity", 4), holonomies("z:3", 2)],
    }))
}

/// The cells at which two codes do the same.
fn shared(a: &Code, b: &Code) -> u64 {
    let pairs = a.actions().iter().zip(b.actions());
    pairs.filter(|(a, b)| a == b).count() as u64
}

/// The folding code of Z_5, its tokens shifted by t at step t but the last.
fn shifted() -> Result<Shifted, Error> {
    let length = 5;
    let class = class("z:5", &InputLaw::Uniform, &[length], Shape::untied(0, 0));
    let by = (1..length as i64).chain([0]);
    let steps = by.map(|by| (0..5).map(|token| (token + by) % 5).collect());
    let steps: Vec<Vec<i64>> = steps.collect();
    let g = Relabelling::new(&class, &steps).map_err(|error| Error::Failed(error.to_string()))?;
    let code = Code::fold(&class);
    let other = g.apply(&code);
    let found = agreement(&code, &other, Context::default())?;
    Ok(Shifted {
        cells: class.cells() as u64,
        shared: shared(&code, &other),
        agreement: lowest_terms(&found.overall),
    })
}

/// All permutations of q tokens.
fn permutations(q: usize) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for _ in 0..q {
        let longer = all.iter().flat_map(|begun: &Vec<i64>| {
            let next = (0..q as i64).filter(|a| !begun.contains(a));
            next.map(|a| [&begun[..], &[a]].concat())
        });
        all = longer.collect();
    }
    all
}

/// All relabellings: a permutation for every step but the last.
fn relabellings(class: &Class) -> Vec<Relabelling> {
    let (q, length) = (class.q(), class.task().longest());
    let one = permutations(q);
    let of = |number: usize| {
        let place = |t: usize| number / one.len().pow(t as u32) % one.len();
        let steps = (0..length - 1).map(|t| one[place(t)].clone());
        let steps: Vec<Vec<i64>> = steps.chain([(0..q as i64).collect()]).collect();
        Relabelling::new(class, &steps).expect("the last step keeps its names")
    };
    (0..one.len().pow(length as u32 - 1)).map(of).collect()
}

/// The images of the folding code, which no relabelling but the identity leaves as it is.
fn order(task: &str, length: usize) -> FoldingImages {
    let class = class(task, &InputLaw::Uniform, &[length], Shape::untied(0, 0));
    let code = Code::fold(&class);
    let images = relabellings(&class).into_iter().map(|g| g.apply(&code));
    let images: Vec<Code> = images.collect();
    let different: BTreeSet<&[Symbol]> = images.iter().map(Code::actions).collect();
    let optimal = images.iter().filter(|code| count::reward(code).is_one());
    FoldingImages {
        q: class.q(),
        length,
        images: different.len() as u64,
        optimal: optimal.count() as u64,
        order: Freedom::of(&class).order(class.q()).to_string(),
        stated: (permutations(class.q()).len().pow(length as u32 - 1)).to_string(),
    }
}

/// All codes of a class whose links from the second step on are permutations.
///
/// No relabelling but the identity leaves one of them as it is: the last step has every name. So their
/// orbits are as many as codes over relabellings, and contents tell orbits apart if they are as many.
fn holonomies(task: &str, length: usize) -> Holonomies {
    let class = class(task, &InputLaw::Uniform, &[length], Shape::untied(0, 0));
    let q = class.q();
    let one = permutations(q);
    let names = relabellings(&class);
    let (choices, links) = (one.len(), q * (length - 1));
    let (mut codes, mut changed) = (0, 0);
    let mut contents = BTreeSet::new();
    for number in 0..q.pow(q as u32) * choices.pow(links as u32) {
        let (first, rest) = (number % q.pow(q as u32), number / q.pow(q as u32));
        let code = Code::from_fn(&class, |cell| {
            let key = class.key(cell);
            let x = key.x[0].expect("the step's own symbol") as usize;
            let Some(y) = key.y[0] else {
                return (first / q.pow(x as u32) % q) as Symbol;
            };
            let link = (key.t.expect("an untied class") - 2) * q + x;
            let permutation = &one[rest / choices.pow(link as u32) % choices];
            permutation[y as usize] as Symbol
        });
        let own = content(&code);
        codes += 1;
        changed += u64::from(names.iter().any(|g| content(&g.apply(&code)) != own));
        contents.insert(own);
    }
    Holonomies {
        q,
        length,
        all: (q as u64).pow(class.cells() as u32),
        codes,
        changed,
        contents: contents.len() as u64,
        orbits: codes / names.len() as u64,
    }
}

/// The holonomies of a code whose links are permutations, and its boundary term, both carried to the last
/// step along the links of the first symbol: there nothing is renamed.
fn content(code: &Code) -> Vec<Vec<Symbol>> {
    let links = links(code).expect("one token is remembered");
    let after =
        |g: &[Symbol], h: &[Symbol]| -> Vec<Symbol> { h.iter().map(|&a| g[a as usize]).collect() };
    let mut carry: Vec<Symbol> = (0..code.class().q() as Symbol).collect();
    let mut content = Vec::new();
    for step in links[1..].iter().rev() {
        let mut back = carry.clone();
        for (a, &b) in carry.iter().enumerate() {
            back[b as usize] = a as Symbol;
        }
        let carried = |holonomy: &Vec<Symbol>| after(&carry, &after(holonomy, &back));
        content.extend(step.holonomies.iter().map(carried));
        carry = after(&carry, &step.maps[0]);
    }
    content.extend(links[0].maps.iter().map(|token| after(&carry, token)));
    content
}

/// What [`resets`] finds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResetFindings {
    /// Random codes with a step whose links are constant.
    pub codes: u64,
    /// Those that compute the same function after all earlier steps are drawn anew.
    pub same_function: u64,
    /// The same of codes one of whose links at that step is a permutation.
    pub same_function_one_link: u64,
}

/// Codes of the quasigroup at T = 5 with a step whose links are constant, earlier steps drawn anew.
///
/// Functions are compared, not rewards: with a dead step every reward is 1/q here, whatever is before it. The
/// control, one link of the step a permutation, catches a comparison that cannot fail.
pub fn resets(bench: &Bench) -> Result<Option<ResetFindings>, Error> {
    let mut stream = Stream::new(bench.seed, 13);
    let length = 5;
    let class = class(
        "quasigroup",
        &InputLaw::Uniform,
        &[length],
        Shape::untied(0, 0),
    );
    let codes = bench.scaled(100, 10);
    let mut same = [0u64; 2];
    for _ in 0..codes {
        bench.go_on()?;
        let step = 2 + stream.below(length as u32 - 2) as usize;
        let mut code = random_code(&class, &mut stream);
        // Later steps permute, so that what the step emits reaches the answer.
        let folding = Code::fold(&class);
        let constants: Vec<Symbol> = (0..5).map(|_| stream.below(5) as Symbol).collect();
        for cell in 0..class.cells() {
            let key = class.key(cell);
            let t = key.t.expect("an untied class");
            let x = key.x[0].expect("the step's own symbol") as usize;
            match t.cmp(&step) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => code.set(cell, constants[x]),
                std::cmp::Ordering::Greater => code.set(cell, folding.action(cell)),
            }
        }
        for (n, same) in same.iter_mut().enumerate() {
            if n == 1 {
                let own = |cell: &usize| {
                    let key = class.key(*cell);
                    key.t == Some(step) && key.x[0] == Some(0)
                };
                for cell in (0..class.cells()).filter(own) {
                    code.set(cell, folding.action(cell));
                }
            }
            let mut other = random_code(&class, &mut stream);
            for cell in 0..class.cells() {
                if class.key(cell).t >= Some(step) {
                    other.set(cell, code.action(cell));
                }
            }
            let found = agreement(&code, &other, Context::default())?;
            *same += u64::from(lowest_terms(&found.overall) == "1/1");
        }
    }
    let [same_function, same_function_one_link] = same;
    Ok(Some(ResetFindings {
        codes,
        same_function,
        same_function_one_link,
    }))
}

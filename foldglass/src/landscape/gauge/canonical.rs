//! Finds the least code that a code can be relabelled to, and how many there are (paper, App. D).
//!
//! Codes are compared as lists of actions in the order of the cells. Group by group, those
//! relabellings survive that make the list least so far; two of them that rename alike whatever is
//! still to be read are kept as one, with their number. What is left at the end maps the code to its
//! least form: as many relabellings as leave the code as it is.

use super::{Freedom, GaugeError, MOST, Relabelling, cells_by_window, identity, renamed, step_of};
use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::model::policy::Code;
use dashu_int::UBig;
use std::collections::HashMap;

/// The least code of an orbit, and the orbit's size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical {
    /// The least code.
    pub code: Code,
    /// A relabelling that leads to it.
    pub relabelling: Relabelling,
    /// Relabellings that leave the code as it is.
    pub stabiliser: UBig,
    /// Codes that it can be relabelled to, itself included.
    pub orbit: UBig,
}

/// A partly decided relabelling, by class of steps, and how many relabellings rename the rest alike.
#[derive(Clone)]
struct Survivor {
    decided: Vec<Option<Vec<Symbol>>>,
    count: UBig,
}

/// The least code that a code can be relabelled to.
///
/// ```
/// use foldglass::landscape::gauge::canonical;
/// use foldglass::{ClassSpec, Code, Operation, Shape};
/// let spec = ClassSpec::uniform(Operation::cyclic(2).unwrap(), &[4], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let copy = Code::from_fn(&class, |cell| class.key(cell).x[0].unwrap());
/// let found = canonical(&copy).unwrap();
/// assert_eq!(found.orbit, 8u32.into());
/// ```
pub fn canonical(code: &Code) -> Result<Canonical, GaugeError> {
    let class = code.class();
    let (q, steps) = (class.q(), class.task().longest());
    let freedom = Freedom::of(class);
    let fixed = |t: usize| (freedom.fixed[t] && freedom.class_of[t] == t).then(|| identity(q));
    let mut survivors = vec![Survivor {
        decided: (0..steps).map(fixed).collect(),
        count: UBig::ONE,
    }];
    let groups: Vec<usize> = (0..class.groups().len())
        .map(|g| step_of(class, g))
        .collect();
    for (number, &t) in groups.iter().enumerate() {
        survivors = least(class, code, &freedom, (number, t), survivors)?;
        // Only the classes that a later group reads still tell survivors apart.
        let later = (number + 1..).zip(&groups[number + 1..]);
        let mut read = vec![false; steps];
        for (later, &t) in later {
            for s in t - class.groups()[later].tokens..=t {
                read[freedom.class_of[s]] = true;
            }
        }
        survivors = merge(survivors, &read);
    }
    let survivor = survivors.pop().expect("the least is attained");
    let decided = |&class: &usize| survivor.decided[class].clone().expect("every step emits");
    let relabelling = Relabelling(freedom.class_of.iter().map(decided).collect());
    Ok(Canonical {
        code: relabelling.apply(code),
        relabelling,
        orbit: freedom.order(q) / &survivor.count,
        stabiliser: survivor.count,
    })
}

/// The survivors, with all that they may do at the step of a group, that make its actions least.
fn least(
    class: &Class,
    code: &Code,
    freedom: &Freedom,
    (number, t): (usize, usize),
    survivors: Vec<Survivor>,
) -> Result<Vec<Survivor>, GaugeError> {
    let (q, group) = (class.q(), &class.groups()[number]);
    let mut best: Vec<Symbol> = Vec::new();
    let mut kept: Vec<Survivor> = Vec::new();
    for survivor in survivors {
        let of = |s: usize| survivor.decided[freedom.class_of[s]].as_deref();
        let tokens = (t - group.tokens..t).map(|s| of(s).expect("decided by an earlier group"));
        let tokens: Vec<&[Symbol]> = tokens.collect();
        // Where each history comes from: the cell's action before it is renamed itself.
        let mut from = vec![0; group.histories];
        for h in 0..group.histories {
            from[renamed(q, h, &tokens)] = h;
        }
        let actions = cells_by_window(group)
            .flat_map(|first| from.iter().map(move |h| first + h))
            .map(|cell| code.action(cell));
        let (list, choices) = match of(t) {
            Some(g) => (actions.map(|a| g[a as usize]).collect(), None),
            None => {
                let (list, names) = named_as_they_come(q, actions);
                (list, Some(names))
            }
        };
        if kept.is_empty() || list < best {
            kept.clear();
            best = list;
        } else if list > best {
            continue;
        }
        let Some(names) = choices else {
            kept.push(survivor);
            continue;
        };
        let unused = names.iter().filter(|name| name.is_none()).count();
        let completions = (1..=unused).try_fold(1usize, usize::checked_mul);
        if completions.is_none_or(|n| n.saturating_add(kept.len()) > MOST) {
            return Err(GaugeError::TooMany {
                step: t + 1,
                tokens: unused,
                q,
            });
        }
        for g in completed(&names) {
            let mut survivor = survivor.clone();
            survivor.decided[freedom.class_of[t]] = Some(g);
            kept.push(survivor);
        }
    }
    Ok(kept)
}

/// Names the tokens 0, 1, .. in the order in which they come: no naming makes the list less.
fn named_as_they_come(
    q: usize,
    actions: impl Iterator<Item = Symbol>,
) -> (Vec<Symbol>, Vec<Option<Symbol>>) {
    let (mut names, mut next) = (vec![None; q], 0);
    let list = actions.map(|a| {
        *names[a as usize].get_or_insert_with(|| {
            next += 1;
            next - 1
        })
    });
    let list = list.collect();
    (list, names)
}

/// Every permutation that gives these names, the unused tokens being named in any order.
fn completed(names: &[Option<Symbol>]) -> Vec<Vec<Symbol>> {
    let used = names.iter().flatten().count() as Symbol;
    let mut all = vec![(Vec::new(), Vec::from_iter(used..names.len() as Symbol))];
    for name in names {
        let one = |(list, left): (Vec<Symbol>, Vec<Symbol>)| match name {
            Some(name) => vec![([&list[..], &[*name]].concat(), left)],
            None => (0..left.len())
                .map(|i| {
                    let mut left = left.clone();
                    let name = left.remove(i);
                    ([&list[..], &[name]].concat(), left)
                })
                .collect(),
        };
        all = all.into_iter().flat_map(one).collect();
    }
    all.into_iter().map(|(list, _)| list).collect()
}

/// Keeps one of all survivors that agree on the classes still to be read, with their number.
fn merge(survivors: Vec<Survivor>, read: &[bool]) -> Vec<Survivor> {
    let mut place: HashMap<Vec<Option<Vec<Symbol>>>, usize> = HashMap::new();
    let mut merged: Vec<Survivor> = Vec::new();
    for survivor in survivors {
        let still = survivor.decided.iter().zip(read);
        let key = still.map(|(g, read)| g.clone().filter(|_| *read)).collect();
        match place.get(&key) {
            Some(&n) => merged[n].count += survivor.count,
            None => {
                place.insert(key, merged.len());
                merged.push(survivor);
            }
        }
    }
    merged
}

/// A relabelling that makes one code of another, if there is one.
///
/// # Panics
/// If the codes belong to different classes.
pub fn relabelling_between(from: &Code, to: &Code) -> Result<Option<Relabelling>, GaugeError> {
    assert!(from.class() == to.class(), "codes of one class");
    let (a, b) = (canonical(from)?, canonical(to)?);
    let same = a.code == b.code;
    Ok(same.then(|| b.relabelling.inverse().after(&a.relabelling)))
}

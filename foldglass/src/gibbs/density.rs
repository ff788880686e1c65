//! Counts how many codes of an untied class have which reward, exactly (paper, App. F).
//!
//! J depends on the cells of steps 1 to t only through a *summary* (module `layout`); summaries that agree
//! up to the names of tokens are one *prefix class*, with the number of codes in it. Steps are taken
//! one after the other; the last one factorises over its cells.

mod expand;
mod last;
mod layout;
mod levels;
mod table;

use super::bands::{Bands, log};
use crate::model::class::Class;
use crate::model::operation::Symbol;
use crate::reward::count::flow::CellFlow;
use crate::reward::count::steps::Steps;
use crate::reward::count::weight::{Whole, at_width};
use crate::support::context::Context;
use crate::support::exact::Reward;
use crate::support::memory::{Allowance, TooLarge};
use crate::support::watch::Stopped;
use dashu_int::UBig;
use dashu_int::ops::BitTest;
use expand::Expansion;
use layout::SummaryLayout;
use levels::{RowLevel, advance};
use table::{CodeTally, Table};
use thiserror::Error;

/// A density of states that is not computed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DensityError {
    /// A tied class.
    #[error(
        "the density of states of a tied class is not computed: its steps share cells, so no prefix \
         of a code can be forgotten; sampling estimates it"
    )]
    Tied,
    /// A denominator of 2^126 or more.
    #[error("the rewards have a denominator of {bits} bits: up to 126 are counted")]
    TooFine {
        /// The denominator's size.
        bits: usize,
    },
    /// More memory than allowed, by the forecast.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// More memory than allowed, against the forecast.
    #[error(
        "after step {step} there are more than {rows} different prefixes or rewards: they take more \
         than the {allowed} bytes allowed"
    )]
    Outgrown {
        /// The step.
        step: usize,
        /// Prefix classes, or rewards after the last step, so far.
        rows: u64,
        /// The bytes allowed.
        allowed: u128,
    },
    /// The observer stopped it.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// The codes of one reward.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Band {
    /// The numerator of J, over the class's denominator.
    pub reward: u128,
    /// The number of codes.
    pub count: UBig,
}

/// How many codes of a class have which reward.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DensityOfStates {
    class: Class,
    denominator: UBig,
    bands: Vec<Band>,
}

impl DensityOfStates {
    /// The class.
    pub fn class(&self) -> &Class {
        &self.class
    }

    /// The denominator of all rewards.
    pub fn denominator(&self) -> &UBig {
        &self.denominator
    }

    /// The bands, rewards ascending; no band is empty.
    pub fn bands(&self) -> &[Band] {
        &self.bands
    }

    /// The reward of a band.
    pub fn reward(&self, band: &Band) -> Reward {
        Reward::new(band.reward, self.denominator.clone())
    }

    /// The number of codes of reward 1.
    pub fn optimal(&self) -> UBig {
        let last = self
            .bands
            .last()
            .filter(|band| self.denominator == band.reward.into());
        last.map_or(UBig::ZERO, |band| band.count.clone())
    }

    /// The thermodynamics that follow, at any temperature.
    pub fn thermodynamics(&self) -> Bands {
        let offset = |band: &Band| self.reward(band).to_f64();
        let bands = self.bands.iter();
        Bands::new(0.0, bands.map(|band| (offset(band), log(&band.count))))
    }
}

/// The time and memory that a density of states will take.
#[derive(Debug, Clone, PartialEq)]
pub struct DensityForecast {
    /// The prefix classes after each step but the last.
    pub prefix_classes: Vec<f64>,
    /// How many of these, from the first, are counted; the others are estimated by extrapolating their growth.
    pub counted: usize,
    /// About the most bytes at any time.
    pub bytes: u128,
}

/// The first steps done, the others forecast.
///
/// ```
/// use foldglass::gibbs::density::DensityPlan;
/// use foldglass::prelude::*;
/// let spec = ClassSpec::uniform(Operation::cyclic(3).unwrap(), &[3], Shape::untied(0, 0));
/// let class = spec.lay_out().unwrap();
/// let density = DensityPlan::new(&class).unwrap().count(Context::default()).unwrap();
/// assert_eq!(density.optimal(), 36u32.into());
/// use foldglass::support::exact::UBig;
/// let codes: UBig = density.bands().iter().map(|band| &band.count).sum();
/// assert_eq!(codes, UBig::from(3u8).pow(class.cells()));
/// ```
pub struct DensityPlan {
    class: Class,
    forecast: DensityForecast,
    rest: Box<dyn Rest>,
}

/// Up to this many partial summaries are looked at for the forecast.
const LOOKED_AT: f64 = 524_288.0;

impl DensityPlan {
    /// Takes the first steps, says what the others will need, and refuses what is not allowed.
    pub fn new(class: &Class) -> Result<DensityPlan, DensityError> {
        DensityPlan::within(class, Allowance::default())
    }

    /// Prepares the count within this memory.
    pub fn within(class: &Class, memory: Allowance) -> Result<DensityPlan, DensityError> {
        if class.shape().tied {
            return Err(DensityError::Tied);
        }
        let what = "the steps of the class";
        let begun = at_width!(&class.task().denominator(), Int => {
            memory.check(what, layout_bytes::<Int>(class))?;
            begin::<Int>(class, memory)?
        });
        let (rest, forecast) = begun.map_err(|bits| DensityError::TooFine { bits })?;
        let most = forecast.prefix_classes.iter().copied().fold(1.0, f64::max);
        let what = format!("the density of states, with about {most:.3e} prefix classes,");
        memory.check(&what, Some(forecast.bytes))?;
        Ok(DensityPlan {
            class: class.clone(),
            forecast,
            rest,
        })
    }

    /// The time and memory that it will take.
    pub fn forecast(&self) -> &DensityForecast {
        &self.forecast
    }

    /// Counts all codes, within the memory of the plan.
    pub fn count(self, context: Context<'_>) -> Result<DensityOfStates, DensityError> {
        let bands = self.rest.finish(context)?;
        Ok(DensityOfStates {
            denominator: self.class.task().denominator(),
            class: self.class,
            bands,
        })
    }
}

/// The bytes of a layout: a flow for each place and token of every message.
fn layout_bytes<W: Whole>(class: &Class) -> Option<u128> {
    let flows = Steps::<W>::size(class)?.checked_mul(class.q() as u128)?;
    let each = size_of::<CellFlow<W>>() + size_of::<Symbol>();
    flows.checked_mul(2 * each as u128)
}

/// The steps that are left.
trait Rest {
    fn finish(self: Box<Self>, context: Context<'_>) -> Result<Vec<Band>, DensityError>;
}

struct Begun<W, C> {
    layout: SummaryLayout<W>,
    level: RowLevel<W, C>,
    /// Steps taken.
    t: usize,
    memory: Allowance,
}

/// Chooses the numbers in which codes are counted.
fn begin<W: Whole>(
    class: &Class,
    memory: Allowance,
) -> Result<(Box<dyn Rest>, DensityForecast), DensityError> {
    let codes = UBig::from(class.q()).pow(class.cells());
    match codes.bit_len() {
        0..=63 => Begun::<W, u64>::first_steps(class, memory),
        64..=127 => Begun::<W, u128>::first_steps(class, memory),
        _ => Begun::<W, UBig>::first_steps(class, memory),
    }
}

impl<W: Whole, C: CodeTally> Begun<W, C> {
    /// Takes the steps that take no time, and forecasts the others.
    fn first_steps(
        class: &Class,
        memory: Allowance,
    ) -> Result<(Box<dyn Rest>, DensityForecast), DensityError> {
        let layout = SummaryLayout::<W>::new(class);
        let first = layout.first();
        let mut level = RowLevel::<W, C>::new(first.len());
        level.add(&first, &C::of(1));
        let mut counted = Vec::new();
        let last = layout.steps.len() - 1;
        let mut children = 1.0;
        for t in 0..last {
            children = children_of(&layout, &level, t);
            if children > LOOKED_AT {
                break;
            }
            let context = Context::default().with_memory(memory).with_threads(1);
            level = advance(&layout, &mut level, t, context)?;
            counted.push(level.rows() as f64);
        }
        let t = counted.len();
        let forecast = forecast::<W, C>(class, &layout, counted, children);
        let begun = Begun {
            layout,
            level,
            t,
            memory,
        };
        Ok((Box::new(begun), forecast))
    }
}

/// About how many summaries come after step t + 1, each from all that lead to it.
fn children_of<W: Whole, C: CodeTally>(
    layout: &SummaryLayout<W>,
    level: &RowLevel<W, C>,
    t: usize,
) -> f64 {
    let step = &layout.steps[t];
    let mut expansion = Expansion::<W, C>::new(step.width);
    let (mut children, mut seen) = (0.0, 0u64);
    level.for_each(|row| {
        // A sample of the first thousand of each table will do.
        if seen < 1000 || children < LOOKED_AT {
            children += expansion.bound(layout, step, row);
            seen += 1;
        }
    });
    children / seen as f64 * level.rows() as f64
}

/// Goes on as the classes grew where they were counted, or where too few steps were, as if none of
/// the `children` of the last were alike.
fn forecast<W: Whole, C: CodeTally>(
    class: &Class,
    layout: &SummaryLayout<W>,
    counted: Vec<f64>,
    children: f64,
) -> DensityForecast {
    let steps = layout.steps.len() - 1;
    let mut classes = counted.clone();
    let known = counted.len();
    let growth = |t: usize| counted[t] / counted[t - 1];
    while classes.len() < steps {
        let now = classes.last().copied().unwrap_or(1.0);
        let most = children / counted.last().copied().unwrap_or(1.0);
        let usual = if known >= 3 {
            growth(known - 1) * (growth(known - 1) / growth(known - 2)).max(1.0)
        } else {
            most
        };
        classes.push(now * most.min(usual));
    }
    let row = |width: usize| Table::<W, C>::bytes_per_row(width) as f64;
    let level = |t: usize| classes[t] * row(layout.steps[t].width);
    // A level, and the next or the rewards; these, once more as bands.
    let distinct = Reward::new(class.task().denominator() + UBig::ONE, 1u8).to_f64();
    let rewards = classes.last().copied().unwrap_or(1.0).min(distinct);
    let rewards = rewards * (row(1) + 2.0 * size_of::<Band>() as f64);
    let after = |t: usize| if t + 1 < steps { level(t + 1) } else { rewards };
    let bytes = (0..steps)
        .map(|t| level(t) + after(t))
        .fold(rewards, f64::max);
    DensityForecast {
        prefix_classes: classes,
        counted: known,
        bytes: bytes as u128,
    }
}

impl<W: Whole, C: CodeTally> Rest for Begun<W, C> {
    fn finish(self: Box<Self>, context: Context<'_>) -> Result<Vec<Band>, DensityError> {
        let Begun {
            layout,
            mut level,
            t,
            memory,
        } = *self;
        let context = context.with_memory(memory);
        for t in t..layout.steps.len() {
            level = advance(&layout, &mut level, t, context)?;
        }
        let mut bands = Vec::with_capacity(level.rows() as usize);
        for table in level.into_tables() {
            bands.extend(table.iter().map(|(row, codes)| Band {
                reward: row[0].to_u128(),
                count: codes.to_ubig(),
            }));
        }
        bands.sort_unstable_by_key(|band| band.reward);
        Ok(bands)
    }
}

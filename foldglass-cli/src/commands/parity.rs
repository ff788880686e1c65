//! Shows the exact thermodynamics of parity and its transitions (paper, App. F).

mod figure;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use foldglass::gibbs::bands::BandsPoint;
use foldglass::gibbs::parity::Parity;
use foldglass::{ClassSpec, Reward};
use foldglass_study::claims::LABEL;
use foldglass_study::disk::replace;
use foldglass_study::{ClassWords, StudyError};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::{max_memory, one_length};
use crate::output::{Report, number};
use crate::report::{Cell, Column, Format, Table};

/// The flags of `parity`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass parity --lengths 20 --tau 0.005,0.01,0.02
      ln Z, mean reward and entropy at three temperatures, exactly.
  foldglass parity --lengths 10 --tau 0.01 --svg parity.svg
      The transition as a picture.")]
pub struct ParityArgs {
    /// The length T of the inputs: one
    #[arg(long, alias = "length", value_name = "T", value_parser = one_length)]
    #[arg(allow_negative_numbers = true)]
    lengths: usize,
    /// Temperatures, above 0: 0.1, or several as 0.05,0.1,0.2
    #[arg(short, long, value_name = "TAU,..", value_delimiter = ',', value_parser = above_zero)]
    #[arg(allow_hyphen_values = true)]
    tau: Vec<f64>,
    /// Report the density of states too: how many codes have which reward
    #[arg(long)]
    density: bool,
    /// Draw the mean reward against tau / tau_c for growing T, both transitions marked
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Reads a temperature above 0.
pub fn above_zero(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    let number = number.filter(|tau: &f64| tau.is_finite() && *tau > 0.0);
    number.ok_or("a number above 0 is needed, such as 0.05".to_owned())
}

/// The bytes of a step, at most: two bands of a reward and a logarithm, in a list that has grown and in
/// the two that are kept.
const BYTES_PER_STEP: u128 = 128;

impl ParityArgs {
    /// Evaluates the closed form.
    pub fn run(&self, _settings: &GlobalArgs) -> Result<Solved, Error> {
        let (length, needed) = (self.lengths, self.lengths as u128 * BYTES_PER_STEP);
        max_memory::available()
            .check(&format!("--lengths {length}"), Some(needed))
            .map_err(|error| Error::Usage(error.to_string()))?;
        if let Some(path) = &self.svg {
            replace(path, LABEL, figure::draw(self.lengths).as_bytes())
                .map_err(|source| StudyError::write(path, source))?;
        }
        Ok(Solved::new(
            &self.tau,
            Parity::new(self.lengths),
            self.density,
        ))
    }
}

/// The closed form at some temperatures.
#[derive(JsonSchema, Serialize)]
pub struct Solved {
    length: usize,
    tau: Vec<f64>,
    log_z: Vec<f64>,
    mean_reward: Vec<f64>,
    free_energy: Vec<f64>,
    entropy: Vec<f64>,
    heat_capacity: Vec<f64>,
    /// The mean reward of the two leading bands alone, crossing at the asymptotic transition.
    two_level: Vec<f64>,
    /// The least RLVR loss of all factorised policies, and their reward.
    rlvr_loss: Vec<f64>,
    rlvr_reward: Vec<f64>,
    beta: Betas,
    /// How many times colder RLVR melts than the two leading bands cross.
    mean_field_colder: f64,
    /// The reward from which RLVR falls to 1/2 there.
    mean_field_reward: f64,
    climb: ClimbFields,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "bands")]
    #[schemars(with = "Vec<BandEntry>")]
    density_of_states: Option<Parity>,
}

/// The inverse temperatures of the transition, by definition.
#[derive(JsonSchema, Serialize)]
struct Betas {
    asymptotic: f64,
    crossing: f64,
    three_quarters: f64,
    variance_peak: f64,
    heat_peak: f64,
    mean_field: f64,
}

/// The part of beta over which the mean reward climbs from 0.6 to 0.9.
#[derive(JsonSchema, Serialize)]
struct ClimbFields {
    from: f64,
    to: f64,
    width: f64,
}

#[derive(JsonSchema, Serialize)]
struct BandEntry {
    reward: Reward,
    count: String,
}

/// Serialises the density of states one band at a time: the counts of all bands together may not fit in memory.
fn bands<S: Serializer>(parity: &Option<Parity>, serializer: S) -> Result<S::Ok, S::Error> {
    let bands = parity.iter().flat_map(Parity::density);
    serializer.collect_seq(bands.map(|band| BandEntry {
        reward: Reward::new(band.numerator, band.denominator),
        count: band.count.to_string(),
    }))
}

impl Solved {
    fn new(tau: &[f64], parity: Parity, density: bool) -> Solved {
        let (transition, melting) = (parity.transition(), parity.melting());
        let climb = parity.climb(0.6, 0.9);
        let points: Vec<BandsPoint> = tau.iter().map(|tau| parity.at(1.0 / tau)).collect();
        let list = |of: &dyn Fn(&BandsPoint) -> f64| points.iter().map(of).collect();
        Solved {
            length: parity.length(),
            tau: tau.to_vec(),
            log_z: list(&|point| point.log_z),
            mean_reward: list(&|point| point.mean_reward),
            free_energy: list(&|point| point.free_energy.expect("tau is finite")),
            entropy: list(&|point| point.entropy),
            heat_capacity: list(&|point| point.heat_capacity),
            two_level: list(&|point| Parity::two_level(point.beta, transition.asymptotic)),
            rlvr_loss: list(&|point| parity.mean_field(point.beta).loss),
            rlvr_reward: list(&|point| parity.mean_field(point.beta).reward),
            mean_field_colder: melting.beta / transition.crossing,
            mean_field_reward: melting.reward,
            climb: ClimbFields {
                from: climb.from,
                to: climb.to,
                width: climb.width(),
            },
            beta: Betas {
                asymptotic: transition.asymptotic,
                crossing: transition.crossing,
                three_quarters: transition.three_quarters,
                variance_peak: transition.variance_peak,
                heat_peak: transition.heat_peak,
                mean_field: melting.beta,
            },
            density_of_states: density.then_some(parity),
        }
    }
}

impl Report for Solved {
    fn class(&self) -> Option<ClassSpec> {
        let words = ClassWords::new("parity", &[self.length]);
        words.spec(Path::new("")).ok()
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        let mut tables = Vec::new();
        if !self.tau.is_empty() {
            tables.push(self.points_table());
        }
        tables.push(self.transitions_table());
        tables
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.tau.is_empty() {
            self.points_table().write_text(out)?;
            writeln!(
                out,
                "F is the free energy, -tau ln Z; least L the lowest loss of RLVR (a mean-field free energy), its J \
                 the reward there;\ntwo-level: the mean reward of codes of reward 1/2 and 1 alone\n"
            )?;
        }
        self.transitions_table().write_text(out)?;
        writeln!(
            out,
            "\nthe mean reward climbs from 0.6 to 0.9 within {} in beta; RLVR loses the solution, falling from a \
             reward of {}, at a temperature {} times lower than the crossing",
            number(self.climb.width),
            number(self.mean_field_reward),
            number(self.mean_field_colder)
        )?;
        if let Some(parity) = &self.density_of_states {
            writeln!(out, "\nreward  codes")?;
            for band in parity.density() {
                let reward = Reward::new(band.numerator, band.denominator);
                writeln!(out, "{reward}  {}", band.count)?;
            }
        }
        Ok(())
    }
}

impl Solved {
    fn points_table(&self) -> Table {
        let heads = [
            "tau",
            "ln Z",
            "mean J",
            "two-level",
            "F",
            "entropy",
            "heat",
            "least L",
            "its J",
        ];
        let columns = [
            &self.tau,
            &self.log_z,
            &self.mean_reward,
            &self.two_level,
            &self.free_energy,
            &self.entropy,
            &self.heat_capacity,
            &self.rlvr_loss,
            &self.rlvr_reward,
        ];
        let row = |n: usize| columns.map(|column| Cell::from(column[n]));
        Table::of_numbers(heads).rows((0..self.tau.len()).map(row))
    }

    fn transitions_table(&self) -> Table {
        let beta = &self.beta;
        let row = |(name, beta, meaning): (&str, f64, &str)| {
            let tau = (beta > 0.0).then(|| 1.0 / beta);
            [
                name.into(),
                beta.into(),
                Cell::or_missing(tau),
                meaning.into(),
            ]
        };
        let rows = [
            ("asymptotic", beta.asymptotic, "(6T-2) ln 2"),
            (
                "crossing",
                beta.crossing,
                "J = 1/2 and J = 1 weigh the same",
            ),
            (
                "three_quarters",
                beta.three_quarters,
                "the mean reward is 3/4",
            ),
            (
                "variance_peak",
                beta.variance_peak,
                "the variance of J is largest",
            ),
            ("heat_peak", beta.heat_peak, "the heat capacity is largest"),
            (
                "mean_field",
                beta.mean_field,
                "the best factorised policy ties with the uniform one",
            ),
        ];
        let columns = [
            Column::words("transition"),
            Column::numbers("beta"),
            Column::numbers("tau"),
            Column::words("where"),
        ];
        Table::new(columns).rows(rows.map(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temperature_is_finite_and_above_zero() {
        assert_eq!(above_zero(" 0.05"), Ok(0.05));
        for bad in ["0", "-1", "nan", "inf", "", "1/2"] {
            assert!(above_zero(bad).is_err(), "{bad}");
        }
    }
}

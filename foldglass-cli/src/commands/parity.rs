//! Shows the exact thermodynamics of parity and its transitions (paper, App. F).

mod figure;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use foldglass::gibbs::bands::Point;
use foldglass::gibbs::parity::{Climb, Melting, Parity, Transition};
use foldglass::{ClassSpec, Reward};
use foldglass_study::claims::LABEL;
use foldglass_study::disk::replace;
use foldglass_study::{ClassWords, Error as StudyError};
use serde::Serialize;

use crate::cli::Settings;
use crate::error::Error;
use crate::flags::{max_memory, positive};
use crate::output::{Report, Stream, number};
use crate::report::{Cell, Column, Format, Table};

/// The flags of `parity`.
#[derive(Debug, Args)]
pub struct ParityArgs {
    /// The length T of the inputs
    #[arg(long, value_name = "T", value_parser = positive, allow_negative_numbers = true)]
    length: usize,
    /// Temperatures, above 0: 0.1, or several as 0.05,0.1,0.2
    #[arg(long, value_name = "TAU,..", value_delimiter = ',', value_parser = above_zero)]
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
    pub fn run(&self, _settings: &Settings) -> Result<Solved, Error> {
        let (length, needed) = (self.length, self.length as u128 * BYTES_PER_STEP);
        max_memory::available()
            .check(&format!("--length {length}"), Some(needed))
            .map_err(|error| Error::Usage(error.to_string()))?;
        if let Some(path) = &self.svg {
            replace(path, LABEL, figure::draw(self.length).as_bytes())
                .map_err(|source| StudyError::write(path, source))?;
        }
        let parity = Parity::new(self.length);
        Ok(Solved {
            points: self.tau.iter().map(|tau| parity.at(1.0 / tau)).collect(),
            tau: self.tau.clone(),
            transition: parity.transition(),
            melting: parity.melting(),
            climb: parity.climb(0.6, 0.9),
            density: self.density,
            parity,
        })
    }
}

/// The closed form at some temperatures.
pub struct Solved {
    parity: Parity,
    tau: Vec<f64>,
    points: Vec<Point>,
    transition: Transition,
    melting: Melting,
    climb: Climb,
    density: bool,
}

/// The inverse temperatures of the transition, by definition.
#[derive(Serialize)]
struct Betas {
    asymptotic: f64,
    crossing: f64,
    three_quarters: f64,
    variance_peak: f64,
    heat_peak: f64,
    mean_field: f64,
}

/// The part of beta over which the mean reward climbs from 0.6 to 0.9.
#[derive(Serialize)]
struct ClimbFields {
    from: f64,
    to: f64,
    width: f64,
}

#[derive(Serialize)]
struct Band {
    reward: Reward,
    count: String,
}

#[derive(Serialize)]
struct Fields<D: Serialize> {
    length: usize,
    tau: Vec<f64>,
    log_z: Vec<f64>,
    mean_reward: Vec<f64>,
    free_energy: Vec<Option<f64>>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    density_of_states: Option<D>,
}

impl Solved {
    fn list<T>(&self, of: impl Fn(&Point) -> T) -> Vec<T> {
        self.points.iter().map(of).collect()
    }

    fn two_level(&self, point: &Point) -> f64 {
        Parity::two_level(point.beta, self.transition.asymptotic)
    }

    /// How many times colder RLVR melts than the codes.
    fn colder(&self) -> f64 {
        self.melting.beta / self.transition.crossing
    }
}

impl Serialize for Solved {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let band = |band: foldglass::gibbs::parity::Band| Band {
            reward: Reward::new(band.numerator, band.denominator),
            count: band.count.to_string(),
        };
        let bands = Stream(|| self.parity.density().map(band));
        let best = self.list(|point| self.parity.mean_field(point.beta));
        Fields {
            length: self.parity.length(),
            tau: self.tau.clone(),
            log_z: self.list(|point| point.log_z),
            mean_reward: self.list(|point| point.mean_reward),
            free_energy: self.list(|point| point.free_energy),
            entropy: self.list(|point| point.entropy),
            heat_capacity: self.list(|point| point.heat_capacity),
            two_level: self.list(|point| self.two_level(point)),
            rlvr_loss: best.iter().map(|best| best.loss).collect(),
            rlvr_reward: best.iter().map(|best| best.reward).collect(),
            beta: Betas {
                asymptotic: self.transition.asymptotic,
                crossing: self.transition.crossing,
                three_quarters: self.transition.three_quarters,
                variance_peak: self.transition.variance_peak,
                heat_peak: self.transition.heat_peak,
                mean_field: self.melting.beta,
            },
            mean_field_colder: self.colder(),
            mean_field_reward: self.melting.reward,
            climb: ClimbFields {
                from: self.climb.from,
                to: self.climb.to,
                width: self.climb.width(),
            },
            density_of_states: self.density.then_some(bands),
        }
        .serialize(serializer)
    }
}

impl Report for Solved {
    fn class(&self) -> Option<ClassSpec> {
        let words = ClassWords::new("parity", &[self.parity.length()]);
        words.spec(Path::new("")).ok()
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        let mut tables = Vec::new();
        if !self.points.is_empty() {
            tables.push(self.points_table());
        }
        tables.push(self.transitions_table());
        tables
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.points.is_empty() {
            self.points_table().write_text(out)?;
            writeln!(out)?;
        }
        self.transitions_table().write_text(out)?;
        writeln!(
            out,
            "\nthe mean reward climbs from 0.6 to 0.9 over {} in beta; RLVR melts {} times colder \
             than the leading bands cross, from a reward of {}",
            number(self.climb.width()),
            number(self.colder()),
            number(self.melting.reward)
        )?;
        if self.density {
            writeln!(out, "\nreward  codes")?;
            for band in self.parity.density() {
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
        let row = |(tau, point): (&f64, &Point)| {
            let best = self.parity.mean_field(point.beta);
            let free_energy = point.free_energy.expect("tau is finite");
            [
                *tau,
                point.log_z,
                point.mean_reward,
                self.two_level(point),
                free_energy,
                point.entropy,
                point.heat_capacity,
                best.loss,
                best.reward,
            ]
            .map(Cell::from)
        };
        Table::of_numbers(heads).rows(self.tau.iter().zip(&self.points).map(row))
    }

    fn transitions_table(&self) -> Table {
        let transition = &self.transition;
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
            ("asymptotic", transition.asymptotic, "(6T-2) ln 2"),
            (
                "crossing",
                transition.crossing,
                "J = 1/2 and J = 1 weigh the same",
            ),
            (
                "three_quarters",
                transition.three_quarters,
                "the mean reward is 3/4",
            ),
            (
                "variance_peak",
                transition.variance_peak,
                "the variance of J is largest",
            ),
            (
                "heat_peak",
                transition.heat_peak,
                "the heat capacity is largest",
            ),
            (
                "mean_field",
                self.melting.beta,
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

//! Reads and writes a `[[dynamics]]` of a study.

use foldglass::cavi::{self, Rule};
use foldglass::chain::{Kernel, Order};
use foldglass::policy::InitialLaw;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::method::{Cavi, Chain, Kind, Method};
use crate::flags::names;

/// A method, at which temperatures, how often, on which classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Flat", into = "Flat")]
pub struct Dynamics {
    /// Its name in ids; empty is that of its kind.
    pub id: String,
    /// The ids of its classes; none is all.
    pub classes: Option<Vec<String>>,
    /// Its temperatures.
    pub tau: Vec<f64>,
    /// Runs at each temperature.
    pub runs: u64,
    /// The seed of its runs; none is the study's.
    pub seed: Option<u64>,
    /// What a run does.
    pub method: Method,
}

/// All keys in one list.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flat {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    classes: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tau: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iterations: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    initial: Option<Initial>,
    #[serde(skip_serializing_if = "Option::is_none")]
    damping: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quench: Option<Quench>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resets: Option<Resets>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<KernelName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<OrderName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sweeps: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoints: Option<Vec<usize>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_when_stationary: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_at_optimum: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_code: Option<bool>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
struct KernelName(Kernel);

impl From<KernelName> for String {
    fn from(KernelName(kernel): KernelName) -> String {
        names::of(&Kernel::NAMES, kernel).to_owned()
    }
}

impl TryFrom<String> for KernelName {
    type Error = String;

    fn try_from(text: String) -> Result<KernelName, String> {
        names::find(&Kernel::NAMES, &text).map(KernelName)
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
struct OrderName(Order);

impl From<OrderName> for String {
    fn from(OrderName(order): OrderName) -> String {
        names::of(&Order::NAMES, order).to_owned()
    }
}

impl TryFrom<String> for OrderName {
    type Error = String;

    fn try_from(text: String) -> Result<OrderName, String> {
        names::find(&Order::NAMES, &text).map(OrderName)
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
struct Quench(#[serde(with = "QuenchForm")] cavi::Quench);

#[derive(Serialize, Deserialize)]
#[serde(remote = "cavi::Quench", deny_unknown_fields)]
struct QuenchForm {
    iterations: usize,
    tau: f64,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
struct Resets(#[serde(with = "ResetsForm")] cavi::Resets);

#[derive(Serialize, Deserialize)]
#[serde(remote = "cavi::Resets", deny_unknown_fields)]
struct ResetsForm {
    share: f64,
    every: usize,
    cycles: usize,
}

/// An initial law by its name.
#[derive(Debug, Clone, Copy)]
struct Initial(InitialLaw);

impl Serialize for Initial {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Initial {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Initial, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Initial).map_err(serde::de::Error::custom)
    }
}

impl Flat {
    /// Refuses keys that the kind has no use for.
    fn refuse_foreign(&self) -> Result<(), String> {
        let given = [
            ("iterations", self.iterations.is_some(), [true, true, false]),
            ("initial", self.initial.is_some(), [true, true, false]),
            ("damping", self.damping.is_some(), [true, false, false]),
            ("share", self.share.is_some(), [true, false, false]),
            ("step", self.step.is_some(), [false, true, false]),
            ("quench", self.quench.is_some(), [true, true, false]),
            ("resets", self.resets.is_some(), [true, true, false]),
            ("kernel", self.kernel.is_some(), [false, false, true]),
            ("order", self.order.is_some(), [false, false, true]),
            ("sweeps", self.sweeps.is_some(), [false, false, true]),
            (
                "checkpoints",
                self.checkpoints.is_some(),
                [false, false, true],
            ),
            (
                "stop_when_stationary",
                self.stop_when_stationary.is_some(),
                [false, false, true],
            ),
            (
                "stop_at_optimum",
                self.stop_at_optimum.is_some(),
                [false, false, true],
            ),
            ("keep_code", self.keep_code.is_some(), [false, false, true]),
        ];
        let own = |of: &[bool; 3]| of[self.kind as usize];
        let Some((key, ..)) = given.iter().find(|(_, given, of)| *given && !own(of)) else {
            return Ok(());
        };
        let keys: Vec<&str> = given
            .iter()
            .filter(|(.., of)| own(of))
            .map(|key| key.0)
            .collect();
        let (kind, keys) = (self.kind.name(), keys.join(", "));
        Err(format!(
            "`{key}` is no key of kind \"{kind}\", whose own are {keys}"
        ))
    }
}

/// Refuses what lacks a key.
fn given<T>(value: Option<T>, key: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("the key `{key}` is missing"))
}

impl TryFrom<Flat> for Method {
    type Error = String;

    fn try_from(flat: Flat) -> Result<Method, String> {
        flat.refuse_foreign()?;
        let Rule::Cavi { damping, share } = Rule::PAPER else {
            unreachable!("the paper's rule is CAVI");
        };
        let rule = match flat.kind {
            Kind::Cavi => Rule::Cavi {
                damping: flat.damping.unwrap_or(damping),
                share: flat.share.unwrap_or(share),
            },
            Kind::Gradient => Rule::Gradient {
                step: given(flat.step, "step")?,
            },
            Kind::Chain => {
                return Ok(Method::Chain(Chain {
                    kernel: given(flat.kernel, "kernel")?.0,
                    order: flat.order.map(|order| order.0),
                    sweeps: given(flat.sweeps, "sweeps")?,
                    checkpoints: flat.checkpoints.unwrap_or_default(),
                    stop_when_stationary: flat.stop_when_stationary,
                    stop_at_optimum: flat.stop_at_optimum.unwrap_or(false),
                    keep_code: flat.keep_code.unwrap_or(false),
                }));
            }
        };
        Ok(Method::Cavi(Cavi {
            rule,
            iterations: given(flat.iterations, "iterations")?,
            initial: flat.initial.map_or(InitialLaw::UNorm, |initial| initial.0),
            quench: flat.quench.map(|quench| quench.0),
            resets: flat.resets.map(|resets| resets.0),
        }))
    }
}

impl From<Method> for Flat {
    fn from(method: Method) -> Flat {
        match method {
            Method::Cavi(cavi) => {
                let (kind, damping, share, step) = match cavi.rule {
                    Rule::Cavi { damping, share } => (Kind::Cavi, Some(damping), Some(share), None),
                    Rule::Gradient { step } => (Kind::Gradient, None, None, Some(step)),
                };
                Flat {
                    kind,
                    iterations: Some(cavi.iterations),
                    initial: Some(Initial(cavi.initial)),
                    damping,
                    share,
                    step,
                    quench: cavi.quench.map(Quench),
                    resets: cavi.resets.map(Resets),
                    ..Flat::default()
                }
            }
            Method::Chain(chain) => Flat {
                kind: Kind::Chain,
                kernel: Some(KernelName(chain.kernel)),
                order: chain.order.map(OrderName),
                sweeps: Some(chain.sweeps),
                checkpoints: Some(chain.checkpoints),
                stop_when_stationary: chain.stop_when_stationary,
                stop_at_optimum: Some(chain.stop_at_optimum),
                keep_code: chain.keep_code.then_some(true),
                ..Flat::default()
            },
        }
    }
}

impl TryFrom<Flat> for Dynamics {
    type Error = String;

    fn try_from(mut flat: Flat) -> Result<Dynamics, String> {
        Ok(Dynamics {
            id: flat
                .id
                .take()
                .unwrap_or_else(|| flat.kind.name().to_owned()),
            classes: flat.classes.take(),
            tau: given(flat.tau.take(), "tau")?,
            runs: given(flat.runs.take(), "runs")?,
            seed: flat.seed.take(),
            method: flat.try_into()?,
        })
    }
}

impl From<Dynamics> for Flat {
    fn from(dynamics: Dynamics) -> Flat {
        Flat {
            id: Some(dynamics.id),
            classes: dynamics.classes,
            tau: Some(dynamics.tau),
            runs: Some(dynamics.runs),
            seed: dynamics.seed,
            ..Flat::from(dynamics.method)
        }
    }
}

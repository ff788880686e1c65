//! Weighs the lengths of a task and the steps whose tokens are rewarded (beyond the paper).
//!
//! The paper rewards the last token alone, and every length counts alike. Here a length has a weight, and a *process
//! reward* compares the token of every step with the state: sum over t of w_t \[y_t = s_t\].

use crate::support::exact::{lowest_terms, parse};
use dashu_int::UBig;
use dashu_int::ops::{Gcd, UnsignedAbs};
use dashu_ratio::RBig;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Weights that are not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WeightError {
    /// No weight at all.
    #[error("no weight was given: at least one is needed")]
    None,
    /// A text that is not a number.
    #[error(transparent)]
    Unreadable(#[from] crate::support::exact::NotANumber),
    /// A weight of zero or less.
    #[error("the weight {0} is refused: weights are above 0")]
    NotPositive(String),
}

/// Exact positive weights, of which only the proportion counts: whole numbers without a common factor.
///
/// ```
/// use foldglass::model::rewarded::ExactWeights;
/// let weights: ExactWeights = "1, 1/2, 0.5".parse().unwrap();
/// assert_eq!(weights.total(), 4u32.into());
/// assert_eq!(weights.to_string(), "1/2,1/4,1/4");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ExactWeights(Vec<UBig>);

impl ExactWeights {
    /// The proportion of some numbers.
    pub fn new(weights: &[RBig]) -> Result<ExactWeights, WeightError> {
        if weights.is_empty() {
            return Err(WeightError::None);
        }
        if let Some(bad) = weights.iter().find(|weight| **weight <= RBig::ZERO) {
            return Err(WeightError::NotPositive(bad.to_string()));
        }
        let common = weights.iter().fold(UBig::ONE, |common, weight| {
            let den = weight.denominator();
            &common / (&common).gcd(den) * den
        });
        let whole = |w: &RBig| w.numerator().unsigned_abs() * (&common / w.denominator());
        let parts: Vec<UBig> = weights.iter().map(whole).collect();
        let factor = (parts[1..].iter()).fold(parts[0].clone(), |factor, part| factor.gcd(part));
        Ok(ExactWeights(
            parts.iter().map(|part| part / &factor).collect(),
        ))
    }

    /// `count` equal weights.
    pub fn equal(count: usize) -> ExactWeights {
        ExactWeights(vec![UBig::ONE; count])
    }

    /// The weights as whole numbers.
    pub fn parts(&self) -> &[UBig] {
        &self.0
    }

    /// What they sum to.
    pub fn total(&self) -> UBig {
        self.0.iter().sum()
    }

    /// Whether they are equal.
    pub fn is_equal(&self) -> bool {
        self.0.iter().all(|part| *part == self.0[0])
    }

    /// The weights, normalised to the sum 1.
    pub fn shares(&self) -> impl Iterator<Item = RBig> + '_ {
        let total = self.total();
        (self.0.iter()).map(move |part| RBig::from_parts(part.clone().into(), total.clone()))
    }

    /// The same weights in another order: place n has what was at `order[n]`.
    pub(crate) fn reordered(&self, order: &[usize]) -> ExactWeights {
        ExactWeights(order.iter().map(|&place| self.0[place].clone()).collect())
    }
}

impl fmt::Display for ExactWeights {
    /// The normalised weights in lowest terms, with commas.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shares: Vec<String> = self.shares().map(|share| lowest_terms(&share)).collect();
        f.write_str(&shares.join(","))
    }
}

impl FromStr for ExactWeights {
    type Err = WeightError;

    fn from_str(text: &str) -> Result<ExactWeights, WeightError> {
        let numbers: Result<Vec<RBig>, _> = text.split(',').map(parse).collect();
        ExactWeights::new(&numbers?)
    }
}

/// Which tokens of a rollout are rewarded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum RewardRule {
    /// The last one: \[y_T = s_T\].
    #[default]
    Final,
    /// That of every step: the sum of w_t \[y_t = s_t\], with equal weights where none are given.
    Process(Option<ExactWeights>),
}

impl RewardRule {
    /// Whether the last token alone is rewarded.
    pub fn is_final(&self) -> bool {
        *self == RewardRule::Final
    }

    /// Whether the weights of steps, where there are some, are one for each step of inputs of one length.
    pub(crate) fn weighs_steps_of(&self, lengths: &[usize]) -> bool {
        match self {
            RewardRule::Process(Some(weights)) => lengths == [weights.parts().len()],
            _ => true,
        }
    }

    /// The same, with equal weights left out.
    pub(crate) fn canonical(self) -> RewardRule {
        match self {
            RewardRule::Process(Some(weights)) if weights.is_equal() => RewardRule::Process(None),
            rule => rule,
        }
    }
}

impl fmt::Display for RewardRule {
    /// `final`, `process`, `process:1/7,2/7,4/7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RewardRule::Final => f.write_str("final"),
            RewardRule::Process(None) => f.write_str("process"),
            RewardRule::Process(Some(weights)) => write!(f, "process:{weights}"),
        }
    }
}

impl FromStr for RewardRule {
    type Err = String;

    fn from_str(text: &str) -> Result<RewardRule, String> {
        match text.split_once(':') {
            None if text == "final" => Ok(RewardRule::Final),
            None if text == "process" => Ok(RewardRule::Process(None)),
            Some(("process", weights)) => match weights.parse() {
                Ok(weights) => Ok(RewardRule::Process(Some(weights))),
                Err(error) => Err(error.to_string()),
            },
            _ => Err(format!(
                "'{text}' is not a reward: accepted are final (the last token), process (every step, equally) and \
                 process:W1,W2,.. (one weight for each step)"
            )),
        }
    }
}

#[cfg(feature = "serde")]
mod form {
    //! Writes weights as `["1/7","2/7","4/7"]` and a reward as "process" or {"process":["1/7",..]}.

    use super::{ExactWeights, RewardRule, WeightError, lowest_terms, parse};
    use schemars::JsonSchema;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    crate::schema_as!(ExactWeights, Vec<String>);
    crate::schema_as!(RewardRule, Form);

    impl Serialize for ExactWeights {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(self.shares().map(|share| lowest_terms(&share)))
        }
    }

    impl<'de> Deserialize<'de> for ExactWeights {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ExactWeights, D::Error> {
            weights(&Vec::deserialize(deserializer)?).map_err(D::Error::custom)
        }
    }

    /// Reads the numbers of a list.
    fn weights(texts: &[String]) -> Result<ExactWeights, WeightError> {
        let numbers: Result<Vec<_>, _> = texts.iter().map(|text| parse(text)).collect();
        ExactWeights::new(&numbers?)
    }

    /// Which tokens are rewarded.
    #[derive(JsonSchema, Serialize, Deserialize)]
    #[schemars(rename = "RewardRule")]
    #[serde(
        untagged,
        expecting = "a reward is \"final\", \"process\" or {\"process\":[\"1/3\",..]}"
    )]
    enum Form {
        Named(String),
        Weighted { process: Vec<String> },
    }

    impl Serialize for RewardRule {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self {
                RewardRule::Process(Some(weights)) => {
                    let shares = weights.shares().map(|share| lowest_terms(&share));
                    let process = shares.collect();
                    Form::Weighted { process }.serialize(serializer)
                }
                rule => serializer.collect_str(rule),
            }
        }
    }

    impl<'de> Deserialize<'de> for RewardRule {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RewardRule, D::Error> {
            match Form::deserialize(deserializer)? {
                Form::Named(name) => name.parse().map_err(D::Error::custom),
                Form::Weighted { process } => match weights(&process) {
                    Ok(weights) => Ok(RewardRule::Process(Some(weights))),
                    Err(error) => Err(D::Error::custom(error)),
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(text: &str) -> Result<ExactWeights, WeightError> {
        text.parse()
    }

    #[test]
    fn only_the_proportion_of_weights_counts() {
        let parts = |text: &str| -> Vec<u64> {
            let weights = weights(text).unwrap();
            let part = |part: &UBig| part.try_into().unwrap();
            weights.parts().iter().map(part).collect()
        };
        assert_eq!(parts("2,4,8"), [1, 2, 4]);
        assert_eq!(parts("1/3,0.5"), [2, 3]);
        assert_eq!(parts("5"), [1]);
        assert!(weights("7/3,7/3").unwrap().is_equal());
        assert_eq!(weights("1,2").unwrap().to_string(), "1/3,2/3");
    }

    #[test]
    fn weights_that_are_none_are_refused_by_value() {
        for (bad, said) in [
            ("", "``"),
            ("1,", "``"),
            ("1,x", "`x`"),
            ("1,0", "weight 0 is refused"),
            ("-1/2,1", "weight -1/2 is refused"),
        ] {
            let error = weights(bad).unwrap_err().to_string();
            assert!(error.contains(said), "{bad}: {error}");
        }
        assert_eq!(ExactWeights::new(&[]), Err(WeightError::None));
    }

    #[test]
    fn a_reward_is_read_as_it_is_written() {
        for text in ["final", "process", "process:1/7,2/7,4/7"] {
            assert_eq!(text.parse::<RewardRule>().unwrap().to_string(), text);
        }
        for bad in ["", "Final", "process:", "process:1,0", "outcome", "final:1"] {
            assert!(bad.parse::<RewardRule>().is_err(), "{bad}");
        }
        let equal: RewardRule = "process:2,2".parse().unwrap();
        assert_eq!(equal.canonical(), RewardRule::Process(None));
    }
}

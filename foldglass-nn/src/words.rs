//! Reads settings in the words of the command line.

use crate::schedule::{DecayKind, EntropyDecay};
use crate::settings::{Adam, Adaptive, Permutation, TokenRelabelling, TrainingMethod};
use std::str::FromStr;
use thiserror::Error;

/// Words that are none of what was asked for; the message has those that are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct WordsError(&'static str);

/// A whole number in digits alone.
fn whole<T: FromStr>(text: &str) -> Option<T> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|x: &f64| x.is_finite())
}

impl FromStr for TrainingMethod {
    type Err = WordsError;

    /// `reinforce`, `expert` or `grpo:GROUP,CLIP,EPOCHS`.
    fn from_str(text: &str) -> Result<TrainingMethod, WordsError> {
        let grpo = |rest: &str| match rest.split(',').collect::<Vec<_>>()[..] {
            [group, clip, epochs] => Some(TrainingMethod::Grpo {
                group: whole(group)?,
                clip: number(clip).filter(|clip| *clip > 0.0)?,
                epochs: whole(epochs)?,
            }),
            _ => None,
        };
        match text.split_once(':') {
            None if text == "reinforce" => Some(TrainingMethod::Reinforce {}),
            None if text == "expert" => Some(TrainingMethod::Expert {}),
            Some(("grpo", rest)) => grpo(rest),
            _ => None,
        }
        .ok_or(WordsError(
            "accepted: reinforce, expert, grpo:GROUP,CLIP,EPOCHS such as grpo:8,0.2,1",
        ))
    }
}

impl FromStr for TokenRelabelling {
    type Err = WordsError;

    /// `transposition:SHARE,PERIOD` or `full:SHARE,PERIOD`.
    fn from_str(text: &str) -> Result<TokenRelabelling, WordsError> {
        let read = || {
            let (kind, rest) = text.split_once(':')?;
            let (fraction, period) = rest.split_once(',')?;
            Some(TokenRelabelling {
                kind: match kind {
                    "transposition" => Permutation::Transposition,
                    "full" => Permutation::Full,
                    _ => return None,
                },
                fraction: number(fraction).filter(|share| (0.0..=1.0).contains(share))?,
                period: whole(period).filter(|period| *period > 0)?,
            })
        };
        read().ok_or(WordsError(
            "accepted: transposition:SHARE,PERIOD or full:SHARE,PERIOD, such as full:0.5,1",
        ))
    }
}

impl FromStr for Adaptive {
    type Err = WordsError;

    /// `RIGHT,MOST`.
    fn from_str(text: &str) -> Result<Adaptive, WordsError> {
        let read = || {
            let (right, most) = text.split_once(',')?;
            let (right, most) = (whole(right)?, whole(most)?);
            (most > 0).then_some(Adaptive { right, most })
        };
        read().ok_or(WordsError(
            "write RIGHT,MOST: right samples to wait for, and at most so many batches, whole numbers up to 4294967295",
        ))
    }
}

impl FromStr for EntropyDecay {
    type Err = WordsError;

    /// `linear:FINAL,STEPS` or `geometric:FINAL,STEPS`.
    fn from_str(text: &str) -> Result<EntropyDecay, WordsError> {
        let read = || {
            let (kind, rest) = text.split_once(':')?;
            let (to, steps) = rest.split_once(',')?;
            Some(EntropyDecay {
                kind: match kind {
                    "linear" => DecayKind::Linear,
                    "geometric" => DecayKind::Geometric,
                    _ => return None,
                },
                to: number(to).filter(|to| *to >= 0.0)?,
                steps: whole(steps).filter(|steps| *steps > 0)?,
            })
        };
        read().ok_or(WordsError(
            "accepted: linear:FINAL,STEPS or geometric:FINAL,STEPS, such as linear:0.01,20000",
        ))
    }
}

impl FromStr for Adam {
    type Err = WordsError;

    /// `BETA1,BETA2,EPSILON`.
    fn from_str(text: &str) -> Result<Adam, WordsError> {
        let numbers: Option<Vec<f64>> = text.split(',').map(number).collect();
        match numbers.as_deref() {
            Some(&[beta1, beta2, epsilon]) => Ok(Adam {
                beta1,
                beta2,
                epsilon,
            }),
            _ => Err(WordsError(
                "write BETA1,BETA2,EPSILON, such as 0.9,0.999,1e-8",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_states_its_numbers() {
        let grpo = TrainingMethod::Grpo {
            group: 8,
            clip: 0.2,
            epochs: 2,
        };
        assert_eq!("grpo:8,0.2,2".parse(), Ok(grpo));
        assert_eq!("expert".parse(), Ok(TrainingMethod::Expert {}));
        for bad in ["grpo", "grpo:8", "grpo:8,0,1", "grpo:8,0.2,1,1", "ppo", ""] {
            let refused = bad.parse::<TrainingMethod>().unwrap_err().to_string();
            assert!(refused.contains("grpo:GROUP"), "{bad}");
        }
    }

    #[test]
    fn noise_has_a_kind_a_share_and_a_period() {
        let read: TokenRelabelling = "transposition:0.5,500".parse().unwrap();
        assert_eq!((read.fraction, read.period), (0.5, 500));
        for bad in ["full", "full:2,1", "full:0.5,0", "swap:0.5,1", "full:0.5"] {
            assert!(bad.parse::<TokenRelabelling>().is_err(), "{bad}");
        }
        let gathered = |text: &str| text.parse::<Adaptive>().is_ok();
        assert!(gathered("64,16") && !gathered("64") && !gathered("1,0"));
        let decay = "geometric:0.01,500".parse::<EntropyDecay>().unwrap();
        assert_eq!((decay.kind, decay.steps), (DecayKind::Geometric, 500));
        for bad in [
            "linear",
            "linear:0.1",
            "linear:-1,5",
            "linear:0.1,0",
            "cosine:0.1,5",
        ] {
            assert!(bad.parse::<EntropyDecay>().is_err(), "{bad}");
        }
        assert!("0.9,0.99,1e-8".parse::<Adam>().is_ok() && "0.9".parse::<Adam>().is_err());
    }
}

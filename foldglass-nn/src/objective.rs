//! Weighs emitted tokens: every method is a policy gradient with weights of its own (paper, G.5).
//!
//! The loss of a batch is -sum over tokens of (w log pi(y) + e H - k KL), H the entropy over the q symbols and
//! KL the divergence of pi from a prior's policy, the prefix given. Methods differ in w, e and k alone.

use crate::batch::Batch;
use crate::philox::{Draw, Numbers, below, unit};
use crate::settings::{
    Baseline, EntropyForm, FleetSettings, Permutation, TokenRelabelling, TrainingMethod,
};

/// The weights of one token.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TokenWeight {
    /// Of log pi of the token that was emitted.
    pub policy: f32,
    /// Of the entropy at its step.
    pub entropy: f32,
    /// Of the divergence from the prior at its step, which is taken off.
    pub divergence: f32,
}

/// A batch, weighed.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighed {
    /// The weights, as the batch numbers its tokens.
    pub tokens: Vec<TokenWeight>,
    /// The loss.
    pub loss: f64,
    /// The samples whose last token was right.
    pub right: usize,
    /// The entropy of a token, on average.
    pub entropy: f64,
    /// The divergence of a token from the prior, on average, where there is one.
    pub divergence: Option<f64>,
}

/// Weighs a batch: `policy` has `stride` numbers a token, `old` the probabilities that the tokens
/// had when they were drawn, for methods that make several updates on a batch, `prior` the policy of
/// the network to which this one is held.
pub fn weigh(
    settings: &FleetSettings,
    coefficient: f64,
    batch: &Batch,
    policy: &[f32],
    stride: usize,
    old: Option<&[f32]>,
    prior: Option<&[f32]>,
) -> Weighed {
    let place = |token: usize, y: u8| token * stride + usize::from(y);
    let tokens = batch.tokens();
    let mut log = vec![0.0; tokens];
    let mut entropy = vec![0.0; tokens];
    let mut above_prior = vec![0.0; tokens];
    let mut divergences = vec![0.0; tokens];
    for t in 1..=batch.longest() {
        for sample in 0..batch.live(t) {
            let token = batch.start(t) + sample;
            let y = batch.y(sample)[t - 1];
            log[token] = log_of(policy[place(token, y)]);
            let row = &policy[token * stride..][..stride];
            entropy[token] = -row.iter().map(|&p| product_with_log(p)).sum::<f64>();
            if let Some(prior) = prior {
                above_prior[token] = log[token] - log_of(prior[place(token, y)]);
                divergences[token] = divergence(row, &prior[token * stride..][..stride]);
            }
        }
    }
    let right = (0..batch.samples()).filter(|&s| batch.right(s)).count();
    let penalties = Penalties {
        entropy: coefficient,
        divergence: match (&settings.prior, prior) {
            (Some(own), Some(_)) => own.coefficient,
            _ => 0.0,
        },
    };
    let advantages = advantages(settings, penalties, batch, &log, &above_prior);
    let mut weights = vec![TokenWeight::default(); tokens];
    let mut loss = 0.0;
    for t in 1..=batch.longest() {
        for (sample, &advantage) in advantages[..batch.live(t)].iter().enumerate() {
            let token = batch.start(t) + sample;
            let ratio = old.map_or(1.0, |old| (log[token] - log_of(old[token])).exp());
            let policy = advantage * clipped(settings.method, ratio, advantage);
            let share = entropy_share(settings.entropy, batch, sample);
            let entropy_weight = penalties.entropy * share;
            let divergence_weight = penalties.divergence * share;
            weights[token] = TokenWeight {
                policy: policy as f32,
                entropy: entropy_weight as f32,
                divergence: divergence_weight as f32,
            };
            loss -= policy * log[token] + entropy_weight * entropy[token];
            loss += divergence_weight * divergences[token];
        }
    }
    Weighed {
        tokens: weights,
        loss,
        right,
        entropy: entropy.iter().sum::<f64>() / tokens as f64,
        divergence: prior.map(|_| divergences.iter().sum::<f64>() / tokens as f64),
    }
}

/// The coefficients of what is taken off the rewards.
#[derive(Clone, Copy)]
struct Penalties {
    /// Of minus the entropy.
    entropy: f64,
    /// Of the divergence from the prior.
    divergence: f64,
}

/// KL(policy || prior), the sum over symbols of p (log p - log prior).
fn divergence(policy: &[f32], prior: &[f32]) -> f64 {
    let symbols = policy.iter().zip(prior).filter(|&(&p, _)| p > 0.0);
    let terms = symbols.map(|(&p, &prior)| product_with_log(p) - f64::from(p) * log_of(prior));
    terms.sum()
}

/// The logarithm of a token's probability. One that was not drawn from the policy, but put in its
/// place by relabelling or exploration, may have a probability that is 0 in single precision.
pub fn log_of(probability: f32) -> f64 {
    f64::from(probability.max(f32::MIN_POSITIVE)).ln()
}

fn product_with_log(p: f32) -> f64 {
    if p > 0.0 {
        f64::from(p) * f64::from(p).ln()
    } else {
        0.0
    }
}

/// What multiplies log pi of a sample's tokens.
fn advantages(
    settings: &FleetSettings,
    penalties: Penalties,
    batch: &Batch,
    log: &[f64],
    above_prior: &[f64],
) -> Vec<f64> {
    let samples = batch.samples();
    let right = |sample: usize| f64::from(u8::from(batch.right(sample)));
    let mut returns: Vec<f64> = (0..samples).map(right).collect();
    if settings.entropy == EntropyForm::Return {
        for (sample, value) in returns.iter_mut().enumerate() {
            let tokens = (1..=batch.lengths()[sample]).map(|t| batch.start(t) + sample);
            *value -= penalties.entropy * tokens.clone().map(|token| log[token]).sum::<f64>();
            *value -= penalties.divergence * tokens.map(|token| above_prior[token]).sum::<f64>();
        }
    }
    let share = 1.0 / samples as f64;
    match settings.method {
        TrainingMethod::Reinforce {} => {
            let mut centred = returns;
            let parts: Vec<usize> = match settings.baseline {
                Baseline::Batch => vec![samples],
                // The longest first: samples of one length stand side by side.
                Baseline::Length => {
                    (batch.lengths().chunk_by(|a, b| a == b).map(<[_]>::len)).collect()
                }
            };
            let mut rest = &mut centred[..];
            for part in parts {
                let (own, later) = rest.split_at_mut(part);
                let mean = own.iter().sum::<f64>() * (1.0 / part as f64);
                own.iter_mut().for_each(|r| *r -= mean);
                rest = later;
            }
            if settings.standardise {
                // Their mean is 0.
                let variance = centred.iter().map(|a| a * a).sum::<f64>() * share;
                let deviation = variance.sqrt() + DEVIATION_EPSILON;
                centred.iter_mut().for_each(|a| *a /= deviation);
            }
            centred.iter().map(|a| a * share).collect()
        }
        TrainingMethod::Grpo { group, .. } => (returns.chunks_exact(group))
            .flat_map(|group| {
                let n = group.len() as f64;
                let mean = group.iter().sum::<f64>() / n;
                let variance = group.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / n;
                let deviation = variance.sqrt() + DEVIATION_EPSILON;
                group.iter().map(move |r| (r - mean) / deviation * share)
            })
            .collect(),
        TrainingMethod::Expert {} => {
            let all: f64 = (0..samples).map(right).sum();
            (0..samples).map(|s| right(s) / all.max(1.0)).collect()
        }
    }
}

/// Added to a deviation, which is 0 where all samples of a group or batch agree.
pub const DEVIATION_EPSILON: f64 = 1e-6;

/// The derivative of the clipped surrogate in log pi, over the advantage.
fn clipped(method: TrainingMethod, ratio: f64, advantage: f64) -> f64 {
    let TrainingMethod::Grpo { clip, .. } = method else {
        return 1.0;
    };
    let beyond = if advantage > 0.0 {
        ratio > 1.0 + clip
    } else {
        ratio < 1.0 - clip
    };
    if beyond { 0.0 } else { ratio }
}

fn entropy_share(form: EntropyForm, batch: &Batch, sample: usize) -> f64 {
    let samples = batch.samples() as f64;
    match form {
        EntropyForm::TokenMean => 1.0 / batch.tokens() as f64,
        EntropyForm::SequenceMean => 1.0 / (samples * batch.lengths()[sample] as f64),
        EntropyForm::Summed => 1.0 / samples,
        EntropyForm::Return => 0.0,
    }
}

/// The gradient in the logits: w (pi - onehot(y)) + e pi (log pi + H) + k pi (log pi - log prior - KL), for
/// the q symbols; zero for the other tokens of the vocabulary, which `policy` gives no probability.
pub fn logit_gradient(
    policy: &[f32],
    y: u8,
    weight: TokenWeight,
    prior: Option<&[f32]>,
    to: &mut [f32],
) {
    let logs = policy.iter().map(|&p| product_with_log(p) as f32);
    let entropy = -logs.sum::<f32>();
    for (a, (to, &p)) in to.iter_mut().zip(policy).enumerate() {
        let hit = if a == usize::from(y) { 1.0 } else { 0.0 };
        let log = if p > 0.0 { p.ln() } else { 0.0 };
        *to = weight.policy * (p - hit) + weight.entropy * p * (log + entropy);
    }
    if let Some(prior) = prior {
        let divergence = divergence(policy, prior) as f32;
        for (to, (&p, &prior)) in to.iter_mut().zip(policy.iter().zip(prior)) {
            if p > 0.0 {
                let above = (log_of(p) - log_of(prior)) as f32;
                *to += weight.divergence * p * (above - divergence);
            }
        }
    }
}

/// How tokens are drawn at one step of training.
#[derive(Debug, Clone, Copy)]
pub struct Sampler {
    /// The random numbers.
    pub numbers: Numbers,
    /// The symbols.
    pub q: usize,
    /// The probability of a uniform symbol.
    pub exploration: f64,
    /// The relabelling in force.
    pub relabelling: Option<TokenRelabelling>,
}

impl Sampler {
    /// The token that a sample executes at step t, t from 1: drawn from the policy, moved by
    /// exploration, relabelled.
    pub fn token(&self, policy: &[f32], sample: usize, t: usize) -> u8 {
        let words = self.numbers.words(Draw::Token, sample as u32, t as u32);
        let mut drawn = draw(policy, self.q, unit(words[0]));
        if unit(words[1]) < self.exploration as f32 {
            drawn = below(words[2], self.q as u32) as u8;
        }
        match self.relabelling {
            Some(relabelling) => self.relabelled(relabelling, sample, drawn),
            None => drawn,
        }
    }

    fn relabelled(&self, relabelling: TokenRelabelling, sample: usize, symbol: u8) -> u8 {
        let words = |place| self.numbers.words(Draw::Relabelling, sample as u32, place);
        let first = words(0);
        let q = self.q as u32;
        if unit(first[0]) >= relabelling.fraction as f32 {
            return symbol;
        }
        match relabelling.kind {
            Permutation::Transposition => {
                let one = below(first[1], q);
                let other = (one + 1 + below(first[2], q - 1)) % q;
                match u32::from(symbol) {
                    s if s == one => other as u8,
                    s if s == other => one as u8,
                    _ => symbol,
                }
            }
            // Fisher and Yates, followed backwards from the one symbol: no list is needed.
            Permutation::Full => {
                let mut at = u32::from(symbol);
                for i in (1..q).rev() {
                    let j = below(words(i)[0], i + 1);
                    if at == i {
                        at = j;
                    } else if at == j {
                        at = i;
                    }
                }
                at as u8
            }
        }
    }
}

/// The symbol at which the cumulated policy passes `u`.
pub fn draw(policy: &[f32], q: usize, u: f32) -> u8 {
    let mut sum = 0.0;
    for (a, p) in policy[..q - 1].iter().enumerate() {
        sum += p;
        if u < sum {
            return a as u8;
        }
    }
    (q - 1) as u8
}

/// The likeliest symbol, the least of equals.
pub fn likeliest(policy: &[f32], q: usize) -> u8 {
    let best = (1..q).fold(0, |best, a| if policy[a] > policy[best] { a } else { best });
    best as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::philox::Purpose;
    use crate::settings::Prior;
    use foldglass::model::operation::Operation;

    /// Two samples of lengths 2 and 1, the first right; policies of two symbols.
    fn example() -> (Batch, Vec<f32>) {
        let square = Operation::cyclic(2).unwrap();
        let mut batch = Batch::new(&square, &[vec![1, 0], vec![1]], 3);
        batch.y_mut(0).copy_from_slice(&[0, 1]);
        batch.y_mut(1).copy_from_slice(&[0]);
        assert!(batch.right(0) && !batch.right(1));
        // Tokens: step 1 of both samples, step 2 of the first.
        (batch, vec![0.25, 0.75, 0.5, 0.5, 0.9, 0.1])
    }

    fn weights(settings: &FleetSettings, old: Option<&[f32]>) -> Vec<TokenWeight> {
        let (batch, policy) = example();
        weigh(settings, 0.5, &batch, &policy, 2, old, None).tokens
    }

    #[test]
    fn weights_are_those_of_the_formulas() {
        let settings = FleetSettings {
            batch: 2,
            ..FleetSettings::default()
        };
        let of = |policy: f32, entropy: f32| TokenWeight {
            policy,
            entropy,
            divergence: 0.0,
        };
        // Rewards 1 and 0: advantages 1/2 and -1/2 over two samples; three tokens.
        let third = 0.5 / 3.0;
        assert_eq!(
            weights(&settings, None),
            [of(0.25, third), of(-0.25, third), of(0.25, third)]
        );
        let form = |entropy| FleetSettings {
            entropy,
            ..settings.clone()
        };
        assert_eq!(
            weights(&form(EntropyForm::SequenceMean), None),
            [of(0.25, 0.125), of(-0.25, 0.25), of(0.25, 0.125)]
        );
        assert_eq!(weights(&form(EntropyForm::Summed), None)[2], of(0.25, 0.25));
        // Returns 1 - (ln 1/4 + ln 1/10)/2 and -(ln 1/2)/2.
        let (one, other) = (1.0 + 0.5 * 40f64.ln(), 0.5 * 2f64.ln());
        let advantage = ((one - other) / 4.0) as f32;
        let found = weights(&form(EntropyForm::Return), None);
        assert!((found[0].policy - advantage).abs() < 1e-6 && found[0].entropy == 0.0);
        let expert = FleetSettings {
            method: TrainingMethod::Expert {},
            ..settings.clone()
        };
        assert_eq!(weights(&expert, None)[0].policy, 1.0);
        assert_eq!(weights(&expert, None)[1].policy, 0.0);
    }

    /// Every form weighs the divergence as it weighs the entropy, with the sign of a cost.
    #[test]
    fn a_divergence_is_weighed_as_the_entropy_is() {
        let (batch, policy) = example();
        let prior = [0.5f32, 0.5, 0.2, 0.8, 0.4, 0.6];
        let divergence = |of: usize| {
            let (p, r) = (&policy[2 * of..][..2], &prior[2 * of..][..2]);
            let term = |a: usize| f64::from(p[a]) * (f64::from(p[a]) / f64::from(r[a])).ln();
            term(0) + term(1)
        };
        let with = |form, coefficient: f64| {
            let settings = FleetSettings {
                entropy: form,
                prior: Some(Prior::initial(coefficient)),
                ..FleetSettings::default()
            };
            weigh(&settings, 0.5, &batch, &policy, 2, None, Some(&prior))
        };
        for (form, shares) in [
            (EntropyForm::TokenMean, [1.0 / 3.0; 3]),
            (EntropyForm::SequenceMean, [0.25, 0.5, 0.25]),
            (EntropyForm::Summed, [0.5; 3]),
        ] {
            let (without, weighed) = (with(form, 0.0), with(form, 0.3));
            let mut cost = 0.0;
            for (token, share) in shares.into_iter().enumerate() {
                let found = f64::from(weighed.tokens[token].divergence);
                assert!((found - 0.3 * share).abs() < 1e-7, "{form:?}: {found}");
                cost += 0.3 * share * divergence(token);
            }
            assert!((weighed.loss - without.loss - cost).abs() < 1e-7);
            let mean = (0..3).map(divergence).sum::<f64>() / 3.0;
            assert!((weighed.divergence.unwrap() - mean).abs() < 1e-7);
        }
        // In the return: log pi - log prior of the emitted tokens. Tokens are 0, 1 and 0 (the second sample).
        let (without, weighed) = (
            with(EntropyForm::Return, 0.0),
            with(EntropyForm::Return, 0.3),
        );
        let (one, other) = (0.5f64.ln() + (0.1f64 / 0.6).ln(), (0.5f64 / 0.2).ln());
        let less = 0.3 * (one - other) / 2.0 / 2.0;
        let found = f64::from(without.tokens[0].policy) - f64::from(weighed.tokens[0].policy);
        assert!((found - less).abs() < 1e-6, "{found} {less}");
        assert_eq!(weighed.tokens[0].divergence, 0.0);
    }

    #[test]
    fn a_token_without_probability_leaves_the_loss_a_number() {
        let (batch, mut policy) = example();
        (policy[0], policy[1]) = (0.0, 1.0);
        for method in [
            TrainingMethod::Reinforce {},
            TrainingMethod::Grpo {
                group: 2,
                clip: 0.2,
                epochs: 2,
            },
        ] {
            let settings = FleetSettings {
                method,
                prior: Some(Prior::initial(0.3)),
                ..FleetSettings::default()
            };
            let old = [0.0, 0.5, 0.1];
            let prior = vec![0.5, 0.5, 1.0, 0.0, 0.5, 0.5];
            let weighed = weigh(&settings, 0.5, &batch, &policy, 2, Some(&old), Some(&prior));
            assert!(weighed.loss.is_finite(), "{weighed:?}");
            let finite = |weight: &TokenWeight| weight.policy.is_finite();
            assert!(weighed.tokens.iter().all(finite));
        }
    }

    #[test]
    fn grpo_divides_by_the_deviation_and_clips_ratios() {
        let settings = FleetSettings {
            method: TrainingMethod::Grpo {
                group: 2,
                clip: 0.2,
                epochs: 2,
            },
            ..FleetSettings::default()
        };
        let fresh = weights(&settings, None);
        assert!((fresh[0].policy - 0.5).abs() < 1e-5 && (fresh[1].policy + 0.5).abs() < 1e-5);
        // Ratios 1.25 (clipped, a good sample), 1.25 (a bad one, kept), 1.1 (kept).
        let kept = weights(&settings, Some(&[0.2, 0.4, 0.1 / 1.1]));
        assert_eq!(kept[0].policy, 0.0);
        assert!((kept[1].policy + 0.625).abs() < 1e-5 && (kept[2].policy - 0.55).abs() < 1e-5);
    }

    #[test]
    fn the_logit_gradient_is_that_of_finite_differences() {
        let (logits, y) = ([0.3f64, -0.2, 1.1], 1u8);
        let weight = TokenWeight {
            policy: 0.7,
            entropy: 0.4,
            divergence: 0.9,
        };
        let prior = [0.2f32, 0.5, 0.3];
        let softmax = |logits: &[f64; 3]| {
            let total: f64 = logits.iter().map(|l| l.exp()).sum();
            logits.map(|l| l.exp() / total)
        };
        let loss = |logits: &[f64; 3]| {
            let p = softmax(logits);
            let entropy = -p.iter().map(|p| p * p.ln()).sum::<f64>();
            let of_prior = p.iter().zip(prior).map(|(p, r)| p * f64::from(r).ln());
            let divergence = -entropy - of_prior.sum::<f64>();
            -(0.7 * p[1].ln() + 0.4 * entropy - 0.9 * divergence)
        };
        let mut found = [0.0; 3];
        let policy = softmax(&logits).map(|p| p as f32);
        logit_gradient(&policy, y, weight, Some(&prior), &mut found);
        for a in 0..3 {
            let (mut above, mut below) = (logits, logits);
            above[a] += 1e-5;
            below[a] -= 1e-5;
            let slope = (loss(&above) - loss(&below)) / 2e-5;
            assert!((slope - f64::from(found[a])).abs() < 1e-6, "{slope}");
        }
    }

    #[test]
    fn draws_are_as_frequent_as_the_policy_says() {
        let policy = [0.5f32, 0.05, 0.15, 0.3];
        let sampler = Sampler {
            numbers: Numbers::new(4, Purpose::Training, 9),
            q: 4,
            exploration: 0.0,
            relabelling: None,
        };
        let explorer = Sampler {
            exploration: 0.4,
            ..sampler
        };
        let mixed = policy.map(|p| 0.6 * p + 0.1);
        for (sampler, expected) in [(sampler, policy), (explorer, mixed)] {
            let mut counts = [0.0; 4];
            for sample in 0..40_000 {
                counts[usize::from(sampler.token(&policy, sample, 3))] += 1.0;
            }
            let chi: f64 = (counts.iter().zip(expected))
                .map(|(c, p)| (c - 4e4 * f64::from(p)).powi(2) / (4e4 * f64::from(p)))
                .sum();
            assert!(chi < 30.7, "3 degrees, tail 1e-6: {chi}");
        }
    }

    #[test]
    fn relabellings_are_permutations_held_for_a_sample_and_uniform() {
        let mut seen = std::collections::HashMap::new();
        for (kind, expected) in [(Permutation::Full, 24.0), (Permutation::Transposition, 6.0)] {
            seen.clear();
            let sampler = Sampler {
                numbers: Numbers::new(8, Purpose::Training, 500),
                q: 4,
                exploration: 0.0,
                relabelling: None,
            };
            let relabelling = TokenRelabelling {
                kind,
                fraction: 0.5,
                period: 500,
            };
            for sample in 0..48_000 {
                let map: Vec<u8> = (0..4)
                    .map(|s| sampler.relabelled(relabelling, sample, s))
                    .collect();
                *seen.entry(map).or_insert(0.0) += 1.0;
            }
            // Half the samples keep their labels; a full permutation may be the identity.
            let identity: f64 = seen.remove(&vec![0, 1, 2, 3]).unwrap();
            let own = if kind == Permutation::Full {
                1000.0
            } else {
                0.0
            };
            assert!((identity - 24_000.0 - own).abs() < 600.0, "{identity}");
            let each = 24_000.0 / expected;
            assert_eq!(seen.len() as f64 + own / 1000.0, expected);
            for (map, count) in &seen {
                let mut sorted = map.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, [0, 1, 2, 3]);
                assert!((count - each).abs() < 6.0 * each.sqrt(), "{map:?}: {count}");
            }
        }
    }
}

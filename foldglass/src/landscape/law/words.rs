//! Lists the traps of parity by the laws, one by one, with their escape barriers.
//!
//! That these are the traps is proved; the barriers are conjectures that censuses agree with.
//! Correlated inputs: let h be the least height of the word (U less D) behind a letter D; its barrier
//! is |2k-1|^m (1 - |2k-1|^(h/2 rounded down, plus 1)) / 4. Several lengths: with h the least excess
//! of right over wrong lengths from a wrong one on, the barrier is h / (2l) for l lengths.

use std::collections::BTreeMap;

use crate::support::exact::Reward;
use dashu_int::UBig;

/// A ballot word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The places of D, counted from 0, ascending.
    pub downs: Vec<usize>,
    /// The least height behind a D; none without one.
    pub least: Option<usize>,
}

/// All ballot words of n letters with at least one D.
pub fn words(n: usize) -> Vec<Word> {
    let mut list = Vec::new();
    extend(n, 0, 0, &mut Vec::new(), None, &mut list);
    list.retain(|word| !word.downs.is_empty());
    list
}

fn extend(
    n: usize,
    place: usize,
    height: usize,
    downs: &mut Vec<usize>,
    least: Option<usize>,
    list: &mut Vec<Word>,
) {
    if place == n {
        let downs = downs.clone();
        list.push(Word { downs, least });
        return;
    }
    extend(n, place + 1, height + 1, downs, least, list);
    if let Some(lower) = height.checked_sub(1) {
        downs.push(place);
        let least = Some(least.map_or(lower, |least| least.min(lower)));
        extend(n, place + 1, lower, downs, least, list);
        downs.pop();
    }
}

/// Traps by something that they have.
pub type Counts<K> = BTreeMap<K, u128>;

/// The traps of a class by a law.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Law {
    /// Codes by reward.
    pub rewards: Counts<Reward>,
    /// Codes by escape barrier.
    pub barriers: Counts<Reward>,
    /// Traps, up to the names of tokens, by the positions that they ignore, or by the lengths that
    /// they answer wrongly.
    pub sets: Counts<Vec<usize>>,
}

impl Law {
    /// All traps.
    pub fn traps(&self) -> u128 {
        self.rewards.values().sum()
    }

    fn add(&mut self, codes: u128, reward: Reward, barrier: Reward, set: Vec<usize>) {
        *self.rewards.entry(reward).or_default() += codes;
        *self.barriers.entry(barrier).or_default() += codes;
        *self.sets.entry(set).or_default() += 1;
    }
}

/// The law of correlated parity of a length, where a symbol repeats with probability `repeats` of
/// `of`.
pub fn correlated(length: usize, repeats: u32, of: u32) -> Law {
    let mut law = Law::default();
    // |2k - 1|, over `of`.
    let r = UBig::from((2 * repeats).abs_diff(of));
    let of = UBig::from(of);
    for word in words(length.saturating_sub(2)) {
        let (m, h) = (word.downs.len(), word.least.unwrap_or(0) / 2 + 1);
        let reward = Reward::new(of.pow(m) + r.pow(m), of.pow(m) * UBig::from(2u8));
        let fall = of.pow(h) - r.pow(h);
        let barrier = Reward::new(r.pow(m) * fall, of.pow(m + h) * UBig::from(4u8));
        let codes = 1 << (length - 1);
        law.add(codes, reward, barrier, ignored(&word.downs));
    }
    law
}

/// The ends of the stretches of places without change: place 0 is between positions 2 and 3.
fn ignored(downs: &[usize]) -> Vec<usize> {
    let mut ends: Vec<usize> = Vec::new();
    for position in downs.iter().flat_map(|place| [place + 2, place + 3]) {
        // The end of a stretch that continues is not an end.
        if ends.last() == Some(&position) {
            ends.pop();
        } else {
            ends.push(position);
        }
    }
    ends
}

/// The law of several lengths of parity, given ascending.
pub fn lengths(lengths: &[usize]) -> Law {
    let mut law = Law::default();
    let count = lengths.len();
    let longest = lengths[count - 1];
    for word in words(count - 1) {
        // The longest, which is right, lifts every height by one.
        let excess = word.least.unwrap_or(0) + 1;
        let wrong = word
            .downs
            .iter()
            .rev()
            .map(|&place| lengths[count - 2 - place]);
        law.add(
            1 << (longest - count),
            Reward::new(count - word.downs.len(), count),
            Reward::new(excess, 2 * count),
            wrong.collect(),
        );
    }
    law
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::landscape::law::{Correlated, Lengths, ballot, ballot_runs};
    use crate::support::exact;
    use crate::{Class, ClassSpec, Code, ExactWeights, InputLaw, Operation, Shape, reward::count};

    #[test]
    fn words_are_counted_by_the_formula() {
        for n in 0..12 {
            let all = words(n);
            for m in 1..=n {
                let own = all.iter().filter(|word| word.downs.len() == m).count();
                assert_eq!(UBig::from(own), ballot(n, m), "{n} {m}");
            }
        }
    }

    /// The closed forms against the list of all words: by letters D, and by the positions ignored.
    #[test]
    fn closed_forms_agree_with_the_words() {
        for length in 1..16 {
            let listed = correlated(length, 3, 10);
            let law = Correlated::new(length, &exact::parse("3/10").unwrap()).unwrap();
            assert_eq!(UBig::from(listed.traps()), law.traps());
            let mut rewards = Counts::new();
            let mut found = Counts::new();
            for line in law.rewards() {
                let count = u128::try_from(line.count).unwrap();
                *rewards.entry(line.reward).or_default() += count;
                let twice = found.insert((line.changes.unwrap(), line.ignored), count);
                assert_eq!(twice, None);
            }
            assert_eq!(listed.rewards, rewards);
            let mut counted = Counts::new();
            for word in words(length.saturating_sub(2)) {
                let positions = ignored(&word.downs).len();
                let entry = counted.entry((word.downs.len(), positions)).or_default();
                *entry += 1 << (length - 1);
                let n = length - 2;
                let runs = ballot_runs(n, word.downs.len(), positions / 2);
                assert!(runs > UBig::ZERO, "{n} {:?}", word.downs);
            }
            assert_eq!(found, counted, "T = {length}");
        }
        for all in [
            &[3][..],
            &[1, 2],
            &[2, 4, 5, 6],
            &[1, 2, 3, 4, 5, 6, 7, 8, 9],
        ] {
            let listed = lengths(all);
            let law = Lengths::new(all, None).unwrap();
            assert_eq!(UBig::from(listed.traps()), law.traps().unwrap());
            let rewards = law.rewards().unwrap().into_iter();
            let rewards: Counts<Reward> = rewards
                .map(|line| (line.reward, u128::try_from(line.count).unwrap()))
                .collect();
            assert_eq!(listed.rewards, rewards);
        }
    }

    #[test]
    fn examples_are_strict_maxima_with_a_reward_of_the_law() {
        for (length, k) in [(4, "9/10"), (5, "1/10"), (7, "3/5")] {
            let law = Correlated::new(length, &exact::parse(k).unwrap()).unwrap();
            let code = law.example().unwrap();
            assert!(every_change_lowers(&code));
            assert_eq!(count::reward(&code), law.rewards()[0].reward);
        }
        assert_eq!(
            Correlated::new(3, &exact::parse("9/10").unwrap())
                .unwrap()
                .example(),
            None
        );
        let half = Correlated::new(9, &exact::parse("1/2").unwrap()).unwrap();
        assert_eq!((half.traps(), half.example()), (UBig::ZERO, None));
        for all in [&[1, 2, 3][..], &[2, 4, 5, 6]] {
            let law = Lengths::new(all, None).unwrap();
            let code = law.example().unwrap();
            assert!(every_change_lowers(&code));
            assert_eq!(count::reward(&code), law.rewards().unwrap()[0].reward);
        }
        assert_eq!(Lengths::new(&[3, 7], None).unwrap().example(), None);
    }

    /// Theorem B by its words: all ways to be wrong, one after the other.
    #[test]
    fn weights_are_counted_as_by_listing_all_wrong_sets() {
        for weights in [
            &[1u32, 2, 4][..],
            &[4, 2, 1],
            &[1, 1, 2, 3],
            &[5, 1, 1, 1, 1],
            &[7, 3, 2, 2],
        ] {
            let lengths: Vec<usize> = (2..2 + weights.len()).collect();
            let exact: Vec<_> = weights.iter().map(|&w| w.into()).collect();
            let exact = ExactWeights::new(&exact).unwrap();
            let law = Lengths::new(&lengths, Some(&exact)).unwrap();
            let all: u32 = weights.iter().sum();
            let mut listed = Counts::new();
            for wrong in 1u32..1 << weights.len() {
                let sign = |i: usize| if wrong >> i & 1 == 1 { -1i64 } else { 1 };
                let from = |t: usize| {
                    (t..weights.len())
                        .map(|i| sign(i) * i64::from(weights[i]))
                        .sum::<i64>()
                };
                if (0..weights.len()).all(|t| from(t) > 0) {
                    let right = Reward::new((i64::from(all) + from(0)) as u64, u64::from(2 * all));
                    *listed
                        .entry((right, wrong.count_ones() as usize))
                        .or_insert(0u128) += 2;
                }
            }
            let lines = law.rewards().unwrap().into_iter();
            let counted: Counts<(Reward, usize)> = lines
                .map(|line| {
                    (
                        (line.reward, line.ignored),
                        u128::try_from(line.count).unwrap(),
                    )
                })
                .collect();
            assert_eq!(counted, listed, "{weights:?}");
            assert_eq!(
                law.traps().unwrap(),
                UBig::from(listed.values().sum::<u128>())
            );
            assert_eq!(law.weak_length().is_none(), listed.is_empty());
        }
    }

    /// The paper's counts, and the sets of erratum 2.
    #[test]
    fn the_paper_s_traps_come_out() {
        let traps = |length| correlated(length, 9, 10).traps();
        assert_eq!([3, 4, 5, 6, 7, 8].map(traps), [0, 8, 32, 160, 576, 2432]);
        let law = correlated(8, 9, 10);
        assert_eq!(law.sets.get(&vec![5, 8]), Some(&1));
        assert!(law.sets.keys().all(|set| set.len() % 2 == 0));
        let rewards: Vec<String> = law.rewards.keys().rev().map(Reward::to_string).collect();
        assert_eq!(rewards, ["9/10", "41/50", "189/250"]);
    }

    /// The words that can be continued, step by step, modulo a prime: n letters at every height.
    fn words_modulo(n: usize, prime: u64) -> u64 {
        let mut heights = vec![0u64; n + 2];
        heights[0] = 1;
        for _ in 0..n {
            let below = |h: usize| if h == 0 { 0 } else { heights[h - 1] };
            let next = (0..n + 1).map(|h| (below(h) + heights[h + 1]) % prime);
            let next: Vec<u64> = next.chain([0]).collect();
            heights = next;
        }
        heights.iter().sum::<u64>() % prime
    }

    /// The total at T = 10^4, which no list reaches, modulo a prime.
    #[test]
    fn the_total_of_a_long_law_is_that_of_the_words_letter_by_letter() {
        let prime = 2_147_483_647;
        let power = |exponent: usize| (0..exponent).fold(1u64, |p, _| p * 2 % prime);
        for length in [9, 200, 10_000] {
            let law = Correlated::new(length, &exact::parse("9/10").unwrap()).unwrap();
            let words = words_modulo(length - 2, prime) + prime - 1;
            let expected = words % prime * power(length - 1) % prime;
            assert_eq!(law.traps() % UBig::from(prime), UBig::from(expected));
        }
        // The rewards of a law sum to its total.
        let law = Correlated::new(200, &exact::parse("9/10").unwrap()).unwrap();
        let lines = law.rewards();
        let sum: UBig = lines.iter().map(|line| &line.count).sum();
        assert_eq!(sum, law.traps());
        let of = |m, r: usize| {
            lines
                .iter()
                .find(|l| (l.changes, l.ignored) == (Some(m), 2 * r))
        };
        for (m, r) in [(1, 1), (50, 7), (99, 50)] {
            let count = of(m, r).map(|line| line.count.clone()).unwrap_or_default();
            assert_eq!(count, ballot_runs(198, m, r) << 199);
        }
    }

    /// The class of correlated parity of a length.
    fn class(length: usize, k: &str) -> Class {
        let spec = ClassSpec {
            inputs: InputLaw::Markov(exact::parse(k).unwrap()),
            ..ClassSpec::uniform(
                Operation::cyclic(2).unwrap(),
                &[length],
                Shape::untied(0, 0),
            )
        };
        spec.lay_out().unwrap()
    }

    /// The code that adds up all symbols but those in `ignored`, and at last the other answer where
    /// that is better.
    fn careless(class: &Class, ignored: &[usize]) -> Code {
        let with = |turned: u16| {
            Code::from_fn(class, |cell| {
                let key = class.key(cell);
                let (t, x) = (key.t.unwrap(), key.x[0].unwrap());
                let added = if ignored.contains(&t) { 0 } else { x };
                let last = t == class.task().longest();
                added ^ key.y[0].unwrap_or(0) ^ if last { turned } else { 0 }
            })
        };
        let [straight, turned] = [with(0), with(1)];
        if count::reward(&straight) >= count::reward(&turned) {
            straight
        } else {
            turned
        }
    }

    fn every_change_lowers(code: &Code) -> bool {
        let reward = count::reward(code);
        (0..code.class().cells()).all(|cell| {
            let mut changed = code.clone();
            changed.set(cell, 1 - code.action(cell));
            count::reward(&changed) < reward
        })
    }

    /// That the traps of the law are traps does not rest on censuses: of all codes that add up some
    /// of the symbols, those from which every change of a cell loses are the law's, and no others.
    #[test]
    fn the_law_s_traps_are_strict_maxima() {
        for (length, k, repeats) in [
            (4, "9/10", 9),
            (5, "1/10", 1),
            (6, "9/10", 9),
            (7, "3/5", 6),
        ] {
            let class = class(length, k);
            let law = correlated(length, repeats, 10);
            for set in 1u32..1 << length {
                let ignored: Vec<usize> =
                    (1..=length).filter(|i| set >> (i - 1) & 1 == 1).collect();
                let strict = every_change_lowers(&careless(&class, &ignored));
                assert_eq!(
                    strict,
                    law.sets.contains_key(&ignored),
                    "T={length} {ignored:?}"
                );
            }
        }
    }

    /// The same for lengths: the code that is right but for the lengths in a set.
    #[test]
    fn wrong_lengths_are_strict_maxima_by_the_law() {
        for all in [&[1, 2, 3][..], &[2, 3, 4], &[1, 2, 3, 4, 5], &[2, 4, 5, 6]] {
            let square = Operation::cyclic(2).unwrap();
            let spec = ClassSpec::uniform(square, all, Shape::untied(0, 0));
            let class = spec.lay_out().unwrap();
            let law = lengths(all);
            for set in 1u32..1 << all.len() {
                let wrong: Vec<usize> = (0..all.len())
                    .filter(|i| set >> i & 1 == 1)
                    .map(|i| all[i])
                    .collect();
                let turned = |t: usize| u16::from(wrong.contains(&t));
                let code = Code::from_fn(&class, |cell| {
                    let key = class.key(cell);
                    let (t, x) = (key.t.unwrap(), key.x[0].unwrap());
                    x ^ key.y[0].unwrap_or(0) ^ turned(t) ^ turned(t - 1)
                });
                let strict = every_change_lowers(&code);
                assert_eq!(strict, law.sets.contains_key(&wrong), "{all:?} {wrong:?}");
            }
        }
    }

    #[test]
    fn the_first_of_three_lengths_is_answered_wrongly() {
        let law = lengths(&[2, 3, 4]);
        assert_eq!(law.sets, Counts::from([(vec![2], 1)]));
        assert_eq!(law.rewards, Counts::from([("2/3".parse().unwrap(), 2)]));
        assert_eq!(law.barriers, Counts::from([("1/6".parse().unwrap(), 2)]));
        assert_eq!(lengths(&[3, 7]).traps(), 0);
    }
}

//! Says what a census found: counts, the traps' rewards and barriers.

use std::collections::BTreeMap;

use foldglass::landscape::census::{Census, Count, LeastCost, Trap};
use foldglass::support::parallel::in_order;
use foldglass::support::watch::{Observer, Tally};
use foldglass::{Code, Reward};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::StudyError;

/// What a census found.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
#[serde(into = "CensusObject")]
#[schemars(with = "CensusObject")]
pub struct CensusFindings {
    /// Cells of the class.
    pub cells: usize,
    /// Codes of the class.
    pub codes: String,
    /// Codes of reward 1.
    pub optimal: u128,
    /// Codes below that no single change raises by more than the tolerance.
    pub local_maxima: u128,
    /// Changes up to this counted as none.
    pub tolerance: Reward,
    /// Those of the local maxima that are traps; not sought where there is a tolerance.
    pub traps: Option<Traps>,
}

/// What was found of the traps.
#[derive(Debug, Clone, PartialEq)]
pub struct Traps {
    /// By reward, barrier and loss, the highest first.
    pub kinds: Vec<TrapKind>,
    /// Shelves, up to the names of tokens.
    pub shelves: usize,
    /// A code of each, up to the names of tokens.
    pub codes: Vec<Code>,
    /// By code: the number of its shelf.
    pub shelf_of: Vec<usize>,
    /// By code: its kind, with the number of codes that it stands for.
    pub kind_of: Vec<TrapKind>,
}

/// Traps of one reward, barrier and largest loss.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
pub struct TrapKind {
    /// Their reward.
    pub reward: Reward,
    /// Their escape barrier; none where too many codes would have to be visited to know it.
    pub barrier: Option<Reward>,
    /// The largest loss by a single change on the best way out; none likewise.
    pub loss: Option<Reward>,
    /// How many codes.
    #[serde(with = "decimal")]
    #[schemars(with = "String")]
    pub count: u128,
}

mod decimal {
    //! Counts that may pass 2^53 are decimal strings.
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub fn serialize<S: Serializer>(count: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(count)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl CensusFindings {
    /// Measures the barriers on several threads, visiting up to `cap` codes for each, and puts all
    /// together. None when it was stopped.
    pub fn new(
        census: &Census,
        count: Count,
        tolerance: &Reward,
        threads: usize,
        cap: usize,
        observer: &dyn Observer,
    ) -> Result<Option<CensusFindings>, StudyError> {
        let class = census.class();
        let traps = if tolerance.is_zero() {
            match Traps::new(census, count.traps, threads, cap, observer)? {
                Some(traps) => Some(traps),
                None => return Ok(None),
            }
        } else {
            None
        };
        let codes = foldglass::support::exact::UBig::from(class.q()).pow(class.cells());
        Ok(Some(CensusFindings {
            cells: class.cells(),
            codes: codes.to_string(),
            optimal: count.optimal,
            local_maxima: count.local_maxima,
            tolerance: tolerance.clone(),
            traps,
        }))
    }
}

/// Adds the weights of equal keys, the highest key first.
fn grouped<K: Ord>(all: impl IntoIterator<Item = (K, u128)>) -> Vec<(K, u128)> {
    let mut sums: BTreeMap<K, u128> = BTreeMap::new();
    for (key, weight) in all {
        *sums.entry(key).or_default() += weight;
    }
    sums.into_iter().rev().collect()
}

impl Traps {
    fn new(
        census: &Census,
        mut list: Vec<Trap>,
        threads: usize,
        cap: usize,
        observer: &dyn Observer,
    ) -> Result<Option<Traps>, StudyError> {
        list.sort();
        let on_shelf = |trap: &Trap| ((trap.reward, trap.shelf), trap.weight);
        let shelves = grouped(list.iter().map(on_shelf));
        let tally = Tally::new(observer, "barriers", Some(shelves.len() as u64));
        let measure = |n: usize| -> Result<_, StudyError> {
            let ((reward, shelf), weight) = shelves[n];
            let barrier = census.barrier(shelf, cap, &tally);
            let loss = census.largest_loss(shelf, cap, &tally);
            let (Ok(barrier), Ok(loss)) = (barrier, loss) else {
                return Ok(None);
            };
            if tally.add(1).is_break() {
                return Ok(None);
            }
            let exact = |value: u128| census.reward(value);
            let known = |cost: LeastCost| cost.known().map(exact);
            let key = (exact(reward), known(barrier), known(loss));
            Ok(Some((key, weight)))
        };
        let mut measured = Vec::new();
        in_order(
            vec![(); threads],
            shelves.len(),
            |()| measure,
            |kind| {
                measured.push(kind);
                Ok(())
            },
        )?;
        if measured.len() < shelves.len() {
            return Ok(None);
        }
        let kind = |((reward, barrier, loss), count)| TrapKind {
            reward,
            barrier,
            loss,
            count,
        };
        let numbers = shelves
            .iter()
            .zip(0..)
            .map(|(&(key, _), number)| (key, number));
        let number_of: BTreeMap<(u128, u128), usize> = numbers.collect();
        let shelf_of = list
            .iter()
            .map(|trap| number_of[&(trap.reward, trap.shelf)]);
        let shelf_of: Vec<usize> = shelf_of.collect();
        let own = |(trap, &shelf): (&Trap, &usize)| kind((measured[shelf].0.clone(), trap.weight));
        Ok(Some(Traps {
            kind_of: list.iter().zip(&shelf_of).map(own).collect(),
            kinds: grouped(measured).into_iter().map(kind).collect(),
            shelves: shelves.len(),
            codes: list.iter().map(|trap| census.code(trap.code)).collect(),
            shelf_of,
        }))
    }

    /// How many codes are traps.
    pub fn count(&self) -> u128 {
        self.kinds.iter().map(|kind| kind.count).sum()
    }

    /// How many have each value of something, the highest first.
    pub fn by<T: Ord + Clone>(&self, of: impl Fn(&TrapKind) -> T) -> Vec<(T, u128)> {
        grouped(self.kinds.iter().map(|kind| (of(kind), kind.count)))
    }
}

#[derive(JsonSchema, Serialize)]
struct ByReward {
    reward: Reward,
    count: String,
}

#[derive(JsonSchema, Serialize)]
struct ByBarrier {
    barrier: Option<Reward>,
    count: String,
}

#[derive(JsonSchema, Serialize)]
struct ByLoss {
    loss: Option<Reward>,
    count: String,
}

/// The object of the contract.
#[derive(JsonSchema, Serialize)]
struct CensusObject {
    cells: usize,
    codes: String,
    optimal: String,
    local_maxima: String,
    #[serde(skip_serializing_if = "Reward::is_zero")]
    tolerance: Reward,
    #[serde(flatten)]
    traps: Option<TrapsObject>,
}

#[derive(JsonSchema, Serialize)]
struct TrapsObject {
    traps: String,
    trap_rewards: Vec<ByReward>,
    barriers: Vec<ByBarrier>,
    largest_losses: Vec<ByLoss>,
    shelves: usize,
    kinds: Vec<TrapKind>,
}

impl From<CensusFindings> for CensusObject {
    fn from(found: CensusFindings) -> CensusObject {
        CensusObject {
            cells: found.cells,
            codes: found.codes,
            optimal: found.optimal.to_string(),
            local_maxima: found.local_maxima.to_string(),
            tolerance: found.tolerance,
            traps: found.traps.map(TrapsObject::from),
        }
    }
}

impl From<Traps> for TrapsObject {
    fn from(traps: Traps) -> TrapsObject {
        let rewards = traps.by(|kind| kind.reward.clone());
        let barriers = traps.by(|kind| kind.barrier.clone());
        let losses = traps.by(|kind| kind.loss.clone());
        TrapsObject {
            traps: traps.count().to_string(),
            trap_rewards: rewards
                .into_iter()
                .map(|(reward, count)| ByReward {
                    reward,
                    count: count.to_string(),
                })
                .collect(),
            barriers: barriers
                .into_iter()
                .map(|(barrier, count)| ByBarrier {
                    barrier,
                    count: count.to_string(),
                })
                .collect(),
            largest_losses: losses
                .into_iter()
                .map(|(loss, count)| ByLoss {
                    loss,
                    count: count.to_string(),
                })
                .collect(),
            shelves: traps.shelves,
            kinds: traps.kinds,
        }
    }
}

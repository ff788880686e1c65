//! Visits every code of an untied class: optima, local maxima, traps, barriers (paper, App. G.6).
//!
//! **Relabelling.** The tokens of a step that no length ends at can be renamed without changing any
//! reward (App. D). Codes are visited in one order of the names only, tokens named as the cells of
//! their step first emit them; each stands for as many codes as its used tokens have other names.
//!
//! **The last step** is not searched: given all others, a code that no change of the last step
//! raises takes a best action at each of its cells. The other steps are checked from the last to
//! the first, and most codes fail at once. Cells of the last step whose token no cell of the step
//! before emits are not searched either: they matter only to a change to that token, and the ways to
//! fill them are counted.
//!
//! **Forgetting.** When the actions of a step r do not depend on the token before it, no change
//! before r has any effect. Most local maxima are of this kind. Let r be the last such step.
//! Whether the code is a local maximum depends on the steps from r on (its *ending*), and on the
//! earlier ones only by the weights that arrive at the cells of r. So endings are visited first;
//! what one demands of these weights, the reward at r not to be raised, is kept once for all
//! endings that demand the same. Then the beginnings are visited, and each is held against all
//! demands. A beginning may forget too, at a step r' < r; then all that is before r' counts at once.
//! All codes of one ending are on one shelf, so whether they are traps is asked once for an ending.
//!
//! This needs a memory of one token and a single length; elsewhere no code is taken to forget.

mod demands;
mod descent;
mod visit;
mod walker;

use super::packed::{Packed, Packing};
use super::rungs::Rungs;
use crate::class::Class;
use crate::count::weight::{Whole, Width};
use crate::exact::Reward;
use crate::memory::{Allowance, TooLarge};
use crate::policy::Code;
use crate::quasigroup::Symbol;
use crate::watch::Tally;
use dashu_int::UBig;
use dashu_int::ops::BitTest;
use descent::{Descent, Stretch};
use std::ops::{AddAssign, Range};
use thiserror::Error;
use visit::Visit;
use walker::Walker;

pub use demands::Demands;

/// A class whose codes cannot all be visited.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CensusError {
    /// A tied class.
    #[error(
        "a tied class is not enumerated: the last step cannot be solved apart from the others; \
         single codes of it can be certified"
    )]
    Tied,
    /// More codes than are counted in 128 bits.
    #[error(
        "the class has {cells} cells of {q} actions: enumeration takes codes of up to 127 bits"
    )]
    TooMany {
        /// The cells.
        cells: usize,
        /// The actions of each.
        q: usize,
    },
    /// A denominator of 2^126 or more.
    #[error("the rewards have a denominator of {bits} bits: enumeration takes up to 126")]
    TooFine {
        /// The denominator's size.
        bits: usize,
    },
    /// More memory than allowed.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// A trap, up to the names of its tokens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trap {
    /// The numerator of its reward.
    pub reward: u128,
    /// The least code of its shelf that the search met, packed: which traps are on one shelf.
    pub shelf: u128,
    /// The code, packed.
    pub code: u128,
    /// The codes it stands for.
    pub weight: u128,
}

/// What was found among some of the codes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Count {
    /// Codes of reward 1.
    pub optimal: u128,
    /// Codes below it that no single change raises.
    pub local_maxima: u128,
    /// Those of them from which no neutral path leads to a raise.
    pub traps: Vec<Trap>,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.optimal += other.optimal;
        self.local_maxima += other.local_maxima;
        self.traps.extend(other.traps);
    }
}

/// What is done with the codes of a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// With the last rung solved, they are codes none of whose rungs forgets.
    Codes,
    /// They are the beginnings of codes whose last forgetting rung is the next.
    Beginnings,
    /// With the last rung solved, they are endings.
    Endings,
}

/// Some codes of a stretch.
#[derive(Debug, Clone, Copy)]
struct Part {
    aim: Aim,
    stretch: Stretch,
    /// The rungs of the stretch before this one are set.
    begun: usize,
    code: Packed,
}

/// What all visits of the codes of a class share.
struct Frame {
    class: Class,
    packing: Packing,
    /// A change up to this, over the denominator, does not count as one.
    tolerance: u128,
    /// The code that tracks the fold.
    tracker: Vec<Symbol>,
    tables: Tables,
    endings: Vec<Part>,
    parts: Vec<Part>,
}

/// A census in preparation: its endings are visited first, and [`Survey::learned`] makes a
/// [`Census`] of what they demand.
pub struct Survey(Frame);

/// A census of the codes of a class, cut into parts that can be counted in any order.
pub struct Census {
    frame: Frame,
    demands: Demands,
}

enum Tables {
    Narrow(Rungs<i64>),
    Wide(Rungs<i128>),
}

/// Evaluates an expression with the tables of either width.
macro_rules! with {
    ($frame:expr, $rungs:ident => $body:expr) => {
        match &$frame.tables {
            Tables::Narrow($rungs) => $body,
            Tables::Wide($rungs) => $body,
        }
    };
}

/// About how many parts there are where there are enough codes, and the most codes of one, should no
/// action of the last rung be better than another.
const PARTS: f64 = 4096.0;
const PART: f64 = 2_097_152.0;

/// The most parts of a stretch, about; each takes some bytes.
const MOST_PARTS: f64 = 262_144.0;

/// Codes that a walker keeps in mind.
const KEPT: usize = 1 << 21;

impl Survey {
    /// Prepares the census of a class; a change of the reward by up to `tolerance` counts as none.
    ///
    /// ```
    /// use foldglass::landscape::census::{Count, Demands, Survey};
    /// use foldglass::watch::{Tally, Unwatched};
    /// use foldglass::{Allowance, ClassSpec, InputLaw, LatinSquare, Reward, Shape, exact};
    /// let spec = ClassSpec {
    ///     inputs: InputLaw::Markov(exact::parse("9/10").unwrap()),
    ///     ..ClassSpec::uniform(LatinSquare::cyclic(2).unwrap(), &[4], Shape::untied(0, 0))
    /// };
    /// let class = spec.lay_out(Allowance::default()).unwrap();
    /// let survey = Survey::new(&class, &Reward::ZERO, Allowance::default()).unwrap();
    /// let tally = Tally::new(&Unwatched, "parts", None);
    /// let (mut all, mut demands) = (Count::default(), Demands::default());
    /// let mut visitor = survey.visitor(&tally);
    /// for ending in 0..survey.endings() {
    ///     let (count, demanded) = visitor.ending(ending).unwrap();
    ///     all += count;
    ///     demands += demanded;
    /// }
    /// drop(visitor);
    /// let census = survey.learned(demands);
    /// let mut visitor = census.visitor(&tally);
    /// (0..census.parts()).for_each(|part| all += visitor.part(part).unwrap());
    /// assert_eq!((all.optimal, all.local_maxima), (8, 648));
    /// assert_eq!(all.traps.iter().map(|trap| trap.weight).sum::<u128>(), 8);
    /// let barrier = census.barrier(all.traps[0].shelf, 1000, &tally).unwrap();
    /// assert_eq!(census.reward(barrier).to_string(), "1/25");
    /// ```
    pub fn new(
        class: &Class,
        tolerance: &Reward,
        allowance: Allowance,
    ) -> Result<Survey, CensusError> {
        let (q, cells) = (class.q(), class.cells());
        if class.shape().tied {
            return Err(CensusError::Tied);
        }
        // Every count is at most the number of codes, so none of them overflows.
        let counted = (q as u128).checked_pow(cells as u32);
        let packing = counted.and_then(|_| Packing::new(q, cells));
        let packing = packing.ok_or(CensusError::TooMany { cells, q })?;
        let denominator = class.task().denominator();
        let allowed = |size: Option<u128>| allowance.check("a census", size);
        let tables = match Width::of(&denominator) {
            Width::Narrow => {
                allowed(Rungs::<i64>::bytes(class))?;
                Tables::Narrow(Rungs::new(class))
            }
            Width::Wide => {
                allowed(Rungs::<i128>::bytes(class))?;
                Tables::Wide(Rungs::new(class))
            }
            Width::Unbounded => {
                let bits = denominator.bit_len();
                return Err(CensusError::TooFine { bits });
            }
        };
        // No change is larger than 1, and what is no larger than that fits where weights do.
        let tolerance = tolerance.over(&denominator).min(denominator);
        let tolerance = u128::try_from(tolerance).expect("the denominator has at most 126 bits");
        let mut frame = Frame {
            class: class.clone(),
            packing,
            tolerance,
            tracker: tracker(class),
            tables,
            endings: Vec::new(),
            parts: Vec::new(),
        };
        with!(frame, rungs => (frame.endings, frame.parts) = frame.plan(rungs));
        Ok(Survey(frame))
    }

    /// The class.
    pub fn class(&self) -> &Class {
        &self.0.class
    }

    /// The number of codes.
    pub fn codes(&self) -> UBig {
        UBig::from(self.0.class.q()).pow(self.0.class.cells())
    }

    /// The number of sets of endings.
    pub fn endings(&self) -> usize {
        self.0.endings.len()
    }

    /// The number of parts that the census will have.
    pub fn parts(&self) -> usize {
        self.0.parts.len()
    }

    /// The most bytes that a visitor takes, beyond the traps it finds and the shelf it searches.
    pub fn bytes(&self) -> u128 {
        KEPT as u128 * 2 * 32
    }

    /// A visitor of endings, for one thread; it remembers from one to the next what saves it time.
    /// Now and then it asks whether to stop.
    pub fn visitor<'a>(&'a self, tally: &'a Tally<'a>) -> EndingVisitor<'a> {
        EndingVisitor(Either::new(&self.0, None, tally))
    }

    /// The census, once all endings are visited: `demands` are those of all of them together.
    pub fn learned(self, demands: Demands) -> Census {
        Census {
            frame: self.0,
            demands,
        }
    }
}

impl Census {
    /// The class.
    pub fn class(&self) -> &Class {
        &self.frame.class
    }

    /// The number of parts.
    pub fn parts(&self) -> usize {
        self.frame.parts.len()
    }

    /// A visitor of parts, for one thread; it remembers from one to the next what saves it time. Now
    /// and then it asks whether to stop.
    pub fn visitor<'a>(&'a self, tally: &'a Tally<'a>) -> PartVisitor<'a> {
        PartVisitor(Either::new(&self.frame, Some(&self.demands), tally))
    }

    /// The escape barrier of a shelf: the least, over all paths to a higher reward, of the largest
    /// drop below its own. None if more than `cap` codes had to be visited to know it, or if it was
    /// to stop.
    pub fn barrier(&self, shelf: u128, cap: usize, tally: &Tally<'_>) -> Option<u128> {
        with!(self.frame, rungs => Walker::new(&self.frame, rungs, tally).barrier(shelf, cap))
    }

    /// The least, over all paths from a shelf to a higher reward, of the largest loss by a single
    /// change. None as for [`Census::barrier`].
    pub fn largest_loss(&self, shelf: u128, cap: usize, tally: &Tally<'_>) -> Option<u128> {
        with!(self.frame, rungs => Walker::new(&self.frame, rungs, tally).largest_loss(shelf, cap))
    }

    /// The reward, or the difference of two, of a numerator.
    pub fn reward(&self, numerator: u128) -> Reward {
        Reward::new(numerator, self.frame.class.task().denominator())
    }

    /// A packed code.
    pub fn code(&self, packed: u128) -> Code {
        let mut actions = vec![0; self.frame.class.cells()];
        self.frame.packing.unpack(packed, &mut actions);
        Code::from_fn(&self.frame.class, |cell| actions[cell])
    }
}

impl Frame {
    /// Cuts the work into sets of endings and parts.
    fn plan<W: Whole>(&self, rungs: &Rungs<W>) -> (Vec<Part>, Vec<Part>) {
        let last = rungs.rungs.len() - 1;
        let splits = self.class.shape().memory == 1 && self.class.task().lengths().len() == 1;
        let stretch = |first: usize, end: usize| Stretch { first, end, splits };
        let (mut endings, mut parts) = (Vec::new(), Vec::new());
        self.cut(rungs, Aim::Codes, stretch(0, last), &mut parts);
        for r in (1..=last).filter(|_| splits) {
            // The last rung is solved, unless it is the one that forgets.
            let end = if r == last { r + 1 } else { last };
            self.cut(rungs, Aim::Endings, stretch(r, end), &mut endings);
            for first in 0..r {
                self.cut(rungs, Aim::Beginnings, stretch(first, r), &mut parts);
            }
        }
        (endings, parts)
    }

    fn cut<W: Whole>(&self, rungs: &Rungs<W>, aim: Aim, stretch: Stretch, parts: &mut Vec<Part>) {
        let mut list = vec![Part {
            aim,
            stretch,
            begun: stretch.first,
            code: 0,
        }];
        let size = |range: Range<usize>| -> f64 {
            let rungs = rungs.rungs[range].iter();
            rungs.map(|rung| rung.codes(self.class.q())).product()
        };
        let last = rungs.rungs.len() - 1;
        let most = (PART / size(last..last + 1)).max(16.0);
        let part = (size(0..last) / PARTS).clamp((most / 512.0).max(16.0), most);
        let too_long = |list: &[Part]| {
            let begun = list[0].begun;
            let longer = || list.len() as f64 * size(begun..begun + 1);
            begun < stretch.end && size(begun..stretch.end) > part && longer() < MOST_PARTS
        };
        while too_long(&list) {
            let begun = list[0].begun;
            let mut longer = Vec::new();
            for part in &list {
                let short = Part {
                    stretch: Stretch {
                        end: begun + 1,
                        ..stretch
                    },
                    ..*part
                };
                let (mut descent, _) = self.descent(rungs, &short);
                descent.descend(begun, 1, &mut |descent, _| {
                    longer.push(Part {
                        begun: begun + 1,
                        code: self.packing.pack(&descent.actions),
                        ..*part
                    });
                });
            }
            list = longer;
        }
        parts.extend(list);
    }

    /// The descent of a part where it begins, and the number of codes this stands for. What is
    /// before its stretch tracks the fold.
    fn descent<'a, W: Whole>(&self, rungs: &'a Rungs<W>, part: &Part) -> (Descent<'a, W>, u128) {
        let mut alpha = rungs.alpha();
        rungs.pass_forward(&mut alpha, &self.tracker, 0);
        let first = rungs.rungs[part.stretch.first].cells.start;
        let begun = rungs.rungs[..part.begun]
            .last()
            .map_or(0, |rung| rung.cells.end);
        let mut actions = vec![0; self.class.cells()];
        self.packing.unpack(part.code, &mut actions);
        let mut code = self.tracker.clone();
        if begun > first {
            code[first..begun].copy_from_slice(&actions[first..begun]);
        }
        let mut descent = Descent::new(rungs, part.stretch, &code, &alpha);
        let weight = descent.begin(part.begun);
        (descent, weight)
    }

    /// How many codes the rungs before one have.
    fn codes_before<W: Whole>(&self, rungs: &Rungs<W>, rung: usize) -> u128 {
        let cells = rungs.rungs[rung].cells.start as u32;
        (self.class.q() as u128)
            .checked_pow(cells)
            .expect("all codes are numbered in 128 bits")
    }
}

/// The code that emits x_1 and then B[y, x_t]: its tokens are the fold.
fn tracker(class: &Class) -> Vec<Symbol> {
    let action = |cell| {
        let key = class.key(cell);
        let x = key.x[class.shape().window.past].expect("x_t is in the window");
        let y = key.y[class.shape().memory - 1];
        y.map_or(x, |y| class.task().square().multiply(y, x))
    };
    (0..class.cells()).map(action).collect()
}

/// Visits the endings of a census, on one thread.
pub struct EndingVisitor<'a>(Either<'a>);

/// Counts the parts of a census, on one thread.
pub struct PartVisitor<'a>(Either<'a>);

enum Either<'a> {
    Narrow(&'a Frame, Visit<'a, i64>),
    Wide(&'a Frame, Visit<'a, i128>),
}

impl<'a> Either<'a> {
    fn new(frame: &'a Frame, demands: Option<&'a Demands>, tally: &'a Tally<'a>) -> Either<'a> {
        match &frame.tables {
            Tables::Narrow(rungs) => {
                Either::Narrow(frame, Visit::new(frame, demands, rungs, tally))
            }
            Tables::Wide(rungs) => Either::Wide(frame, Visit::new(frame, demands, rungs, tally)),
        }
    }

    fn visit(&mut self, part: impl Fn(&'a Frame) -> &'a Part) -> Option<(Count, Demands)> {
        match self {
            Either::Narrow(frame, visit) => visit.part(part(frame)),
            Either::Wide(frame, visit) => visit.part(part(frame)),
        }
    }
}

impl EndingVisitor<'_> {
    /// Visits a set of endings: what it demands, and the optima and traps it decides. None when it
    /// was stopped.
    ///
    /// # Panics
    /// If there is no such set.
    pub fn ending(&mut self, number: usize) -> Option<(Count, Demands)> {
        self.0.visit(|frame| &frame.endings[number])
    }
}

impl PartVisitor<'_> {
    /// Counts the codes of one part. Traps are sought only where the tolerance is zero. None when it
    /// was stopped.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn part(&mut self, number: usize) -> Option<Count> {
        let found = self.0.visit(|frame| &frame.parts[number]);
        found.map(|(count, _)| count)
    }
}

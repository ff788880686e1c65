//! Writes a landscape for the `barriers` program of the ViennaRNA project (Flamm, Hofacker, Stadler
//! and Wolfinger 2002), so that a tree can be checked by others.
//!
//! That program floods from below and takes a list of all configurations, the lowest energy first:
//! a head line, then a configuration and its energy to a line. A code is a string over `-+` (two
//! actions) or `ABC..`, its cells in their order; its energy is minus its reward, in whole units.
//!
//! `barriers -G Q2 --max 0 --minh 0.5 --bsize FILE` (`-G Q3,ABC` for three actions, and so on) finds the
//! leaves: without `-G` it takes the strings for RNA, for three to six actions it packs them and stops
//! unless the alphabet is given, without `--max 0` it stops at 100 leaves, and less than one unit is a
//! plateau, not a barrier. Energies that differ by no more than 2^-23 of themselves count as equal.
//!
//! Its barriers are to any minimum at least as deep, ours to a higher reward: where leaves of one
//! reward meet before they meet a higher one, all but the first of them have a lower barrier there.

use super::levels::Levels;
use crate::model::operation::Symbol;
use crate::support::exact::Reward;
use crate::support::exact::gcd;
use std::io::{self, Write};

/// A landscape as `barriers` reads it.
pub struct Vienna<'a> {
    levels: &'a Levels,
    letters: Vec<u8>,
    /// The numerator of the reward that is one unit of energy.
    unit: u64,
}

/// The letters that `barriers` knows.
const LETTERS: usize = 26;

/// The most actions whose strings it packs, for which it needs the alphabet.
const PACKED: usize = 6;

/// From this energy on, one unit is 2^-23 of it, and no difference any more.
const BLURRED: u64 = 1 << 23;

impl Levels {
    /// All codes as the `barriers` program reads them. None if that has no letters for the actions,
    /// or if orbits were numbered: their graph is none of its own.
    pub fn vienna(&self) -> Option<Vienna<'_>> {
        let q = self.class.q();
        let named = self.numbering.spans.iter().any(|span| span.named);
        let letters = match q {
            2 => b"-+".to_vec(),
            _ => (b'A'..=b'Z').take(q).collect(),
        };
        let unit = self
            .rewards
            .iter()
            .fold(0, |unit, &reward| gcd(unit, reward.into()));
        let unit = unit.max(1) as u64;
        (q <= LETTERS && !named).then_some(Vienna {
            levels: self,
            letters,
            unit,
        })
    }
}

impl Vienna<'_> {
    /// The reward that is one unit of energy.
    pub fn unit(&self) -> Reward {
        Reward::new(self.unit, self.levels.class.task().denominator())
    }

    /// The option of `barriers` that describes the graph: `Q2`, `Q3,ABC`, .., `Q7`, ..
    pub fn graph(&self) -> String {
        let q = self.letters.len();
        if !(3..=PACKED).contains(&q) {
            return format!("Q{q}");
        }
        format!("Q{q},{}", String::from_utf8_lossy(&self.letters))
    }

    /// Whether `barriers` tells all energies apart.
    pub fn is_exact(&self) -> bool {
        self.depth() < BLURRED
    }

    /// The largest energy, without its sign.
    pub fn depth(&self) -> u64 {
        self.levels.rewards[0] / self.unit
    }

    /// Writes the head line and all codes.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let cells = self.levels.numbering.cells;
        let (mut actions, mut line) = (vec![0; cells], vec![0; cells]);
        let mut spell = |node: u32, line: &mut [u8]| {
            self.levels.numbering.write(node, &mut actions);
            for (letter, &action) in line.iter_mut().zip(&actions) {
                *letter = self.letter(action);
            }
        };
        // The head holds a configuration, of which only the length is read, and the graph.
        spell(self.levels.members(0..1)[0], &mut line);
        out.write_all(&line)?;
        writeln!(out, " 0 :: {}", self.graph())?;
        for (level, reward) in self.levels.rewards.iter().enumerate() {
            let energy = format!(
                " {}{}\n",
                if *reward > 0 { "-" } else { "" },
                reward / self.unit
            );
            for &node in self.levels.members(level..level + 1) {
                spell(node, &mut line);
                out.write_all(&line)?;
                out.write_all(energy.as_bytes())?;
            }
        }
        Ok(())
    }

    fn letter(&self, action: Symbol) -> u8 {
        self.letters[action as usize]
    }
}

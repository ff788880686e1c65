//! Decides how far a fleet trains between two looks at the terminal.

use std::time::{Duration, Instant};

use foldglass_nn::fleet::Piece;

use crate::progress::Terminal;

/// Keeps pieces of training short enough for Ctrl-C, and long enough for a GPU.
pub struct Pace {
    steps: u64,
    asked: Option<Instant>,
}

/// Pieces are made longer below this time and shorter above four times it.
const SHORT: Duration = Duration::from_millis(100);

impl Pace {
    /// Begins with a single step.
    pub fn new() -> Pace {
        Pace {
            steps: 1,
            asked: None,
        }
    }

    /// The next piece, or the end where the user asks for it.
    pub fn next(&mut self, observer: &Terminal) -> Piece {
        if observer.go_on().is_break() {
            return Piece::Stop;
        }
        let taken = self.asked.map(|asked| asked.elapsed());
        if taken.is_some_and(|taken| taken < SHORT) {
            self.steps = self.steps.saturating_mul(2);
        } else if taken.is_some_and(|taken| taken > 4 * SHORT) {
            self.steps = (self.steps / 2).max(1);
        }
        self.asked = Some(Instant::now());
        Piece::Steps(self.steps)
    }
}

//! Counts the reward along the lines between neighbouring networks (paper, app. G.4, tab:escape).

use std::collections::HashMap;

use foldglass::support::watch::{Observer, Progress};
use foldglass_nn::backend::BackendError;
use foldglass_nn::barrier::{LineReward, LineScan, Trail};
use foldglass_nn::fleet::FleetError;

use super::super::kept::RunDirectory;
use super::networks::BarrierRecord;
use super::report::StretchReport;
use crate::error::Error;
use crate::flags::distill::pupils_named;
use crate::progress::Terminal;

/// The stretches of a path.
const PLACES: [&str; 3] = ["first", "middle", "last"];

/// Lines that are being measured.
pub struct Measuring {
    pub lines: LineScan,
    /// The update after which the networks are.
    pub step: u64,
    pub directory: Option<RunDirectory>,
}

/// What was measured.
pub struct MeasuredLines {
    pub stretches: Vec<StretchReport>,
    pub stopped: bool,
}

impl Measuring {
    /// Measures every line of a trail that is not recorded yet.
    pub fn all(&mut self, trail: &Trail, observer: &Terminal) -> Result<MeasuredLines, Error> {
        let known = self.known()?;
        let pairs = |kept: &Vec<Vec<f32>>| kept.len().saturating_sub(1) as u64;
        let all: u64 = trail.weights.iter().map(pairs).sum();
        let mut done = 0;
        let mut stopped = false;
        let mut stretches = Vec::new();
        for (stretch, place) in PLACES.into_iter().enumerate() {
            let kept = &trail.weights[stretch];
            let mut measured = Vec::new();
            for (number, pair) in kept.windows(2).enumerate() {
                if stopped {
                    break;
                }
                let line = match known.get(&(stretch, number)) {
                    Some(line) => Some(line.clone()),
                    None => self.line(stretch, number, pair)?,
                };
                let Some(line) = line else {
                    stopped = true;
                    break;
                };
                measured.push(line);
                done += 1;
                let told = observer.report(Progress {
                    unit: "lines",
                    done,
                    all: Some(all),
                    share: None,
                });
                stopped = told.is_break() && done < all;
            }
            stretches.push(StretchReport {
                place,
                networks: kept.len(),
                updates: trail.steps[stretch].clone(),
                lines: measured,
            });
        }
        Ok(MeasuredLines { stretches, stopped })
    }

    /// The lines that an earlier call measured, by stretch and number.
    fn known(&mut self) -> Result<HashMap<(usize, usize), LineReward>, Error> {
        let Some(directory) = &mut self.directory else {
            return Ok(HashMap::new());
        };
        let line = |recorded| match recorded {
            BarrierRecord::Network { .. } => None,
            BarrierRecord::Line {
                stretch,
                number,
                line,
                ..
            } => Some(((stretch, number), line)),
        };
        Ok(directory.read()?.into_iter().filter_map(line).collect())
    }

    /// Measures a line; none where it was stopped.
    fn line(
        &mut self,
        stretch: usize,
        number: usize,
        pair: &[Vec<f32>],
    ) -> Result<Option<LineReward>, Error> {
        let line = match self.lines.line(&pair[0], &pair[1]) {
            Err(FleetError::Backend(BackendError::Stopped)) => return Ok(None),
            line => line.map_err(pupils_named)?,
        };
        if let Some(directory) = &mut self.directory {
            directory.append(&[BarrierRecord::Line {
                step: self.step,
                stretch,
                number,
                line: line.clone(),
            }])?;
        }
        Ok(Some(line))
    }
}

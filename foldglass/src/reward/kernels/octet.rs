//! Moves eight lanes at once where they lie side by side in the message too, as policies that are evaluated together do
//! (paper, App. A).

use super::routes::{QUAD, Quad, Routes};
use super::scatter::{LanePart, Returned, put};
use super::sums::LEAST_MESSAGE;
use super::vector::{Has, Lane};
use crate::reward::layout::PANEL;

impl Routes {
    /// Finds panels of eight lanes that are contiguous in the message, where no symbol is drawn on the way.
    pub(super) fn find_octets(&mut self) {
        let wide = self
            .lanes
            .blocks
            .iter()
            .filter(|block| block.width == PANEL);
        let starts = wide.flat_map(|block| block.lanes().step_by(PANEL));
        let is_octet = |&lane: &usize| {
            let mut rows = self.places.chunks(self.padded);
            lane + PANEL <= self.lanes.count
                && self.quads[lane / QUAD..][..2] == [Quad::Contiguous; 2]
                && rows.all(|row| row[lane] + QUAD as u32 == row[lane + QUAD])
        };
        let found: Vec<usize> = starts
            .filter(|lane| self.draws == 1 && is_octet(lane))
            .collect();
        let (actions, far) = (self.actions, self.shift(0).in_rows.action);
        for lane in found {
            self.quads[lane / QUAD] = Quad::Octet;
            let rows = self.places.chunks(self.padded).enumerate();
            let numbers = rows.flat_map(|(row, places)| {
                let entering = (row % self.entering) as u32;
                (0..actions).map(move |a| (places[lane] + (a * far) as u32, entering))
            });
            let numbers: Vec<(u32, u32)> = numbers.collect();
            self.octets.resize(lane / PANEL * numbers.len(), (0, 0));
            self.octets.extend(numbers);
        }
    }

    /// The numbers of a state and the panel of eight lanes that begins at a lane, as `octets` says.
    #[inline(always)]
    fn octet(&self, lane: usize, state: usize) -> &[(u32, u32)] {
        let columns = self.entering * self.actions;
        &self.octets[(lane / PANEL * self.states + state) * columns..][..columns]
    }

    /// Scatters eight lanes that are contiguous in the message.
    ///
    /// # Safety
    /// As for `scatter`; the quad is an octet.
    #[inline(always)]
    pub(super) unsafe fn scatter_octet<V: Lane>(
        &self,
        has: Has<V>,
        at: LanePart,
        _: &[f64],
        post: *const f64,
        message: *mut f64,
    ) {
        let moved = self.shift(at.tile.history).in_rows.first;
        for row in 0..at.tile.rows {
            let mut post = post.wrapping_add(at.offset(row, 0));
            for &(place, _) in self.octet(at.first(), at.tile.state + row) {
                // SAFETY: the places of the octet and of its actions are those that `check` has seen; the numbers of a
                // row lie in the tile's block of scratch, a column apart.
                unsafe {
                    let to = message.add(place as usize + moved);
                    put(has.load_at(post), self.adds, to);
                }
                post = post.wrapping_add(at.column);
            }
        }
    }

    /// Gathers eight lanes that are contiguous in the message.
    ///
    /// # Safety
    /// As for `gather`; the quad is an octet.
    #[inline(always)]
    pub(super) unsafe fn gather_octet<V: Lane>(
        &self,
        has: Has<V>,
        at: LanePart,
        back: Returned<'_>,
        bbar: *mut f64,
    ) {
        let moved = self.shift(at.tile.history).in_rows.first;
        let weights = back.weights.as_ptr().wrapping_add(at.first());
        for row in 0..at.tile.rows {
            let mut to = bbar.wrapping_add(at.offset(row, 0));
            for &(place, entering) in self.octet(at.first(), at.tile.state + row) {
                // SAFETY: as in `scatter_octet`, and there are weights for every entering symbol and lane.
                unsafe {
                    let weight = has.load_at(weights.add(entering as usize * self.lanes.row));
                    let value = has.load_at(back.message.as_ptr().add(place as usize + moved));
                    put(value.flush(LEAST_MESSAGE).times(weight), back.add, to);
                }
                to = to.wrapping_add(at.column);
            }
        }
    }
}

//! Copies a panel's lanes to rows in the order of the cells, and back (paper, section 2.1).
//!
//! In a panel the entries of a cell are as far apart as the panel is wide; in rows they lie one behind the
//! other. Four lanes go at once: four of their vectors, turned, are four pieces of a row each.

use super::vector::{Lane, Narrow};

/// Where the cells of one panel lie in rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// Entries of a cell.
    pub each: usize,
    /// Lanes of the panel, idle ones included.
    pub width: usize,
    /// By lane in use, and by vector of cells in the panel: the sum of both is the cell's number.
    pub lanes: &'a [usize],
    pub cells: &'a [usize],
}

/// Does a copy with the entries of a cell known to the compiler where they are few.
macro_rules! by_each {
    ($self:ident . $copy:ident ($($argument:expr),*)) => {
        match $self.each {
            4 => $self.$copy::<V, 4>($($argument),*),
            5 => $self.$copy::<V, 5>($($argument),*),
            _ => $self.$copy::<V, 0>($($argument),*),
        }
    };
}

impl Rows<'_> {
    /// Refuses buffers that a copy would leave.
    pub fn check(&self, panel: &[f64], rows: &[f64]) {
        let most = |numbers: &[usize]| numbers.iter().max().copied().unwrap_or(0);
        let reach = (most(self.lanes) + most(self.cells) + 1) * self.each;
        let needed = self.cells.len() * self.each * self.width;
        assert!(
            self.lanes.len() <= self.width && needed <= panel.len() && reach <= rows.len(),
            "{self:?} leaves buffers of {} and {} entries",
            panel.len(),
            rows.len()
        );
    }

    /// Copies the panel to rows.
    ///
    /// # Safety
    /// `check` accepts the buffers, and the machine has the instructions of `V`.
    #[inline(always)]
    pub unsafe fn read<V: Narrow>(&self, panel: &[f64], rows: &mut [f64]) {
        // SAFETY: the caller's.
        unsafe { by_each!(self.read_each(panel.as_ptr(), rows.as_mut_ptr())) }
    }

    /// Copies rows to the panel; what is below `least` becomes zero.
    ///
    /// # Safety
    /// As for `read`.
    #[inline(always)]
    pub unsafe fn write<V: Narrow>(&self, rows: &[f64], panel: &mut [f64], least: f64) {
        // SAFETY: the caller's.
        unsafe { by_each!(self.write_each(rows.as_ptr(), panel.as_mut_ptr(), least)) }
    }

    /// # Safety
    /// As for `read`, and cells have E entries, unless it is 0.
    #[inline(always)]
    unsafe fn read_each<V: Narrow, const E: usize>(&self, panel: *const f64, rows: *mut f64) {
        let (each, width) = (if E > 0 { E } else { self.each }, self.width);
        let (fours, others) = self.lanes.as_chunks::<4>();
        for (v, &cell) in self.cells.iter().enumerate() {
            // SAFETY: lanes and cells lie within the buffers.
            unsafe {
                let panel = panel.add(v * each * width);
                for (n, lanes) in fours.iter().enumerate() {
                    let from = panel.add(4 * n);
                    let to = lanes.map(|lane| rows.add((lane + cell) * each));
                    let mut action = 0;
                    while action + 4 <= each {
                        let load = |i: usize| V::load(from.add((action + i) * width));
                        let turned = V::turned(std::array::from_fn(load));
                        for (to, vector) in to.iter().zip(turned) {
                            vector.store(to.add(action));
                        }
                        action += 4;
                    }
                    for action in action..each {
                        for (i, to) in to.iter().enumerate() {
                            *to.add(action) = *from.add(action * width + i);
                        }
                    }
                }
                for (n, lane) in others.iter().enumerate() {
                    let (from, to) = (panel.add(4 * fours.len() + n), (lane + cell) * each);
                    for action in 0..each {
                        *rows.add(to + action) = *from.add(action * width);
                    }
                }
            }
        }
    }

    /// # Safety
    /// As for `read_each`.
    #[inline(always)]
    unsafe fn write_each<V: Narrow, const E: usize>(
        &self,
        rows: *const f64,
        panel: *mut f64,
        least: f64,
    ) {
        let (each, width) = (if E > 0 { E } else { self.each }, self.width);
        let (fours, others) = self.lanes.as_chunks::<4>();
        for (v, &cell) in self.cells.iter().enumerate() {
            // SAFETY: lanes and cells lie within the buffers.
            unsafe {
                let panel = panel.add(v * each * width);
                for (n, lanes) in fours.iter().enumerate() {
                    let to = panel.add(4 * n);
                    let from = lanes.map(|lane| rows.add((lane + cell) * each));
                    let mut action = 0;
                    while action + 4 <= each {
                        let load = |i: usize| V::load(from[i].add(action)).flush(least);
                        let turned = V::turned(std::array::from_fn(load));
                        for (i, vector) in turned.into_iter().enumerate() {
                            vector.store(to.add((action + i) * width));
                        }
                        action += 4;
                    }
                    for action in action..each {
                        for (i, from) in from.iter().enumerate() {
                            *to.add(action * width + i) = (*from.add(action)).flush(least);
                        }
                    }
                }
                for (n, lane) in others.iter().enumerate() {
                    let (to, from) = (panel.add(4 * fours.len() + n), (lane + cell) * each);
                    for action in 0..each {
                        *to.add(action * width) = (*rows.add(from + action)).flush(least);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reward::kernels::Kernels;

    #[test]
    fn every_kernel_copies_every_entry_to_its_place_and_back() {
        let cells = [0, 7, 2, 20];
        for (each, width, used) in [
            (4, 4, 4),
            (5, 4, 3),
            (5, 8, 8),
            (5, 8, 6),
            (9, 8, 5),
            (5, 1, 1),
        ] {
            let lanes: Vec<usize> = (0..used).map(|lane| 30 * lane + 3).collect();
            let work = Rows {
                each,
                width,
                lanes: &lanes,
                cells: &cells,
            };
            let panel: Vec<f64> = (1..=cells.len() * each * width).map(|n| n as f64).collect();
            for kernels in Kernels::available() {
                let mut rows = vec![0.0; 8 * 30 * each];
                kernels.read_rows(&work, &panel, &mut rows);
                let mut back = vec![0.0; panel.len()];
                kernels.write_rows(&work, &rows, &mut back, 10.0);
                for (v, cell) in cells.iter().enumerate() {
                    for (lane, first) in lanes.iter().enumerate() {
                        for action in 0..each {
                            let place = (v * each + action) * width + lane;
                            assert_eq!(rows[(first + cell) * each + action], panel[place]);
                            let kept = if panel[place] < 10.0 {
                                0.0
                            } else {
                                panel[place]
                            };
                            assert_eq!(back[place], kept, "{work:?}");
                        }
                    }
                }
                let copied = rows.iter().filter(|&&entry| entry != 0.0).count();
                assert_eq!(copied, used * cells.len() * each, "nothing else is written");
            }
        }
    }

    #[test]
    #[should_panic = "leaves buffers"]
    fn rows_beyond_the_buffer_are_refused() {
        let work = Rows {
            each: 5,
            width: 4,
            lanes: &[0, 1, 2, 3],
            cells: &[0, 4],
        };
        Kernels::best().read_rows(&work, &[0.0; 40], &mut [0.0; 39]);
    }
}

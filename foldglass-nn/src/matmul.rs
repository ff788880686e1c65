//! Multiplies single-precision matrices, in parts of a fixed size that threads share.

use foldglass::support::watch::Stop;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a computation is left undone. Once the answer was yes it stays so, until [`Undone::begin`]:
/// what was computed in between is worth nothing.
#[derive(Clone, Default)]
pub(crate) struct Undone {
    stop: Option<Stop>,
    told: Arc<AtomicBool>,
}

impl Undone {
    /// Asks this.
    pub fn heeding(stop: Stop) -> Undone {
        Undone {
            stop: Some(stop),
            told: Arc::default(),
        }
    }

    /// Whether there is something to ask.
    pub fn can_be(&self) -> bool {
        self.stop.is_some()
    }

    /// Forgets earlier answers.
    pub fn begin(&self) {
        self.told.store(false, Ordering::Relaxed);
    }

    /// Asks.
    pub fn ask(&self) -> bool {
        let told = self.is() || self.stop.as_ref().is_some_and(|stop| stop());
        self.told.fetch_or(told, Ordering::Relaxed);
        told
    }

    /// Whether an answer was yes.
    pub fn is(&self) -> bool {
        self.told.load(Ordering::Relaxed)
    }
}

impl std::fmt::Debug for Undone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Undone").field("told", &self.is()).finish()
    }
}

/// A matrix inside a list: element (i, j) stands at `i * row + j * column`.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub values: &'a [f32],
    pub rows: usize,
    pub columns: usize,
    row: usize,
    column: usize,
}

impl<'a> View<'a> {
    /// A row-major matrix of `stride` numbers a row, of which the first `columns` count.
    pub fn new(values: &'a [f32], rows: usize, columns: usize, stride: usize) -> View<'a> {
        let needed = if rows == 0 {
            0
        } else {
            (rows - 1) * stride + columns
        };
        assert!(values.len() >= needed && stride >= columns);
        View {
            values,
            rows,
            columns,
            row: stride,
            column: 1,
        }
    }

    /// Rows and columns exchanged.
    pub fn transposed(self) -> View<'a> {
        View {
            rows: self.columns,
            columns: self.rows,
            row: self.column,
            column: self.row,
            ..self
        }
    }
}

/// Whether a product replaces what is there or is added to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Overwrite,
    Add,
}

/// Rows of a part: an eighth, but enough for the inner kernel to be worth a call.
fn part_rows(m: usize) -> usize {
    m.div_ceil(8).next_multiple_of(16).clamp(32, 256)
}

/// Products below this many multiplications are not worth a second thread.
const WORTH_SHARING: usize = 1 << 20;

/// The sum of products, in eight interleaved sums that fit a vector.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    let (left, right) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = left.remainder().iter().zip(right.remainder());
    let rest: f32 = rest.map(|(a, b)| a * b).sum();
    for (a, b) in left.zip(right) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// `out = a b` or `out += a b`, `out` row-major with `stride` numbers a row.
pub(crate) fn multiply(out: &mut [f32], stride: usize, how: Output, a: View, b: View) {
    multiply_unless(&Undone::default(), out, stride, how, a, b);
}

/// The same; parts are left out as soon as it is told to leave it undone.
pub(crate) fn multiply_unless(
    undone: &Undone,
    out: &mut [f32],
    stride: usize,
    how: Output,
    a: View,
    b: View,
) {
    let (m, n, k) = (a.rows, b.columns, a.columns);
    assert_eq!(k, b.rows, "inner sizes");
    if m == 0 || n == 0 {
        return;
    }
    assert!(stride >= n && out.len() >= (m - 1) * stride + n);
    let each = part_rows(m);
    if m * n * k < WORTH_SHARING || m <= each {
        return part(out, stride, how, a, b);
    }
    out.par_chunks_mut(each * stride)
        .take(m.div_ceil(each))
        .enumerate()
        .for_each(|(number, out)| {
            if undone.ask() {
                return;
            }
            let first = number * each;
            let rows = View {
                values: &a.values[first * a.row..],
                rows: each.min(m - first),
                ..a
            };
            part(out, stride, how, rows, b);
        });
}

fn part(out: &mut [f32], stride: usize, how: Output, a: View, b: View) {
    let last = |v: &View| (v.rows - 1) * v.row + (v.columns - 1) * v.column;
    let inner = a.columns;
    assert!(out.len() > (a.rows - 1) * stride + b.columns - 1);
    if inner == 0 {
        if how == Output::Overwrite {
            let rows = out.chunks_mut(stride).take(a.rows);
            rows.for_each(|row| row[..b.columns].fill(0.0));
        }
        return;
    }
    assert!(last(&a) < a.values.len() && last(&b) < b.values.len());
    // SAFETY: the asserts above bound the last element of all three matrices, and `out` is
    // borrowed for writing.
    unsafe {
        gemm::gemm(
            a.rows,
            b.columns,
            inner,
            out.as_mut_ptr(),
            1,
            stride as isize,
            how == Output::Add,
            a.values.as_ptr(),
            a.column as isize,
            a.row as isize,
            b.values.as_ptr(),
            b.column as isize,
            b.row as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, step: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * step) % 17) as f32 - 8.0).collect()
    }

    #[test]
    fn products_are_those_of_three_loops() {
        for (m, n, k) in [(3, 5, 7), (300, 64, 70), (513, 40, 129), (2, 3, 0)] {
            let (a, b) = (numbers(m * k, 7), numbers(k * n, 5));
            let mut expected = vec![1.0f32; m * (n + 2)];
            for i in 0..m {
                for j in 0..n {
                    let sum: f32 = (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
                    expected[i * (n + 2) + j] += sum;
                }
            }
            let mut out = vec![1.0; m * (n + 2)];
            let (left, right) = (View::new(&a, m, k, k), View::new(&b, k, n, n));
            multiply(&mut out, n + 2, Output::Add, left, right);
            assert_eq!(out, expected, "small integers are exact");
            // The same product from transposed copies.
            let across = |v: &[f32], rows: usize, columns: usize| -> Vec<f32> {
                (0..columns * rows)
                    .map(|i| v[(i % rows) * columns + i / rows])
                    .collect()
            };
            let (at, bt) = (across(&a, m, k), across(&b, k, n));
            let left = View::new(&at, k, m, m).transposed();
            let right = View::new(&bt, n, k, k).transposed();
            let mut out = vec![1.0; m * (n + 2)];
            multiply(&mut out, n + 2, Output::Overwrite, left, right);
            for (i, row) in out.chunks(n + 2).enumerate() {
                for j in 0..n {
                    assert_eq!(row[j], expected[i * (n + 2) + j] - 1.0);
                }
                assert_eq!(
                    row[n..],
                    [1.0, 1.0],
                    "beyond the columns nothing is written"
                );
            }
        }
    }
}

//! Evaluates parity at T = 5 with the window (0,0) by going through all inputs (paper, section 2.2).
//!
//! Cells are (1, x), then (t, x, y); bit t - 1 of a number is x_t.

pub const T: usize = 5;

pub fn cells(code: &[u8], x: usize) -> Vec<usize> {
    let mut cells = Vec::new();
    let mut y = 0;
    for t in 0..T {
        let symbol = x >> t & 1;
        cells.push(if t == 0 {
            symbol
        } else {
            2 + 4 * (t - 1) + 2 * symbol + y
        });
        y = usize::from(code[cells[t]]);
    }
    cells
}

pub fn is_right(code: &[u8], x: usize) -> bool {
    let last = cells(code, x)[T - 1];
    u32::from(code[last]) == x.count_ones() % 2
}

/// The inputs of 32 that are answered rightly.
pub fn right(code: &[u8]) -> i32 {
    (0..1 << T).filter(|&x| is_right(code, x)).count() as i32
}

/// The sign that a cell has in the page.
pub fn mark(code: &[u8], cell: usize) -> &'static str {
    if (0..1 << T).all(|x| !cells(code, x).contains(&cell)) {
        return "unvisited";
    }
    let mut other = code.to_vec();
    other[cell] = 1 - other[cell];
    match right(&other).cmp(&right(code)) {
        std::cmp::Ordering::Greater => "raise",
        std::cmp::Ordering::Equal => "keep",
        std::cmp::Ordering::Less => "lower",
    }
}

/// `17/32` in lowest terms.
pub fn reward(code: &[u8]) -> String {
    let (mut above, mut below) = (right(code), 32);
    while above % 2 == 0 && below > 1 {
        (above, below) = (above / 2, below / 2);
    }
    if below == 1 {
        above.to_string()
    } else {
        format!("{above}/{below}")
    }
}

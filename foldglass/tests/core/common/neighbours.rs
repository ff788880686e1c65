//! Lists the codes that differ from one in a single cell.

use foldglass::{Class, Code, Symbol};

/// All codes with one cell changed, by cell, then by action.
pub fn neighbours(class: &Class, code: &Code) -> Vec<Code> {
    let (cells, q) = (class.cells(), class.q() as Symbol);
    let places = (0..cells).flat_map(|cell| (0..q).map(move |action| (cell, action)));
    let changed = |(cell, action)| {
        let mut other = code.clone();
        other.set(cell, action);
        other
    };
    places
        .filter(|&(cell, action)| code.action(cell) != action)
        .map(changed)
        .collect()
}

//! Names the classes of the items.

/// A class: its id in the studies and its name in tables.
pub const CLASSES: [(&str, &str); 8] = [
    ("parity", "parity (0,0) T=10"),
    ("z5", "Z_5 (0,0) T=8"),
    ("qg", "quasigroup (0,0) T=8"),
    ("qg21-345", "quasigroup (2,1) T=3,4,5"),
    ("qg11-3456", "quasigroup (1,1) T=3,4,5,6"),
    ("qg21-456", "quasigroup (2,1) T=4,5,6"),
    ("qg03", "quasigroup (0,3) T=7"),
    ("qg03-tied", "quasigroup (0,3) T=7 tied"),
];

/// The seven untied ones.
pub fn untied() -> impl Iterator<Item = &'static str> + Clone {
    CLASSES.into_iter().map(|(id, _)| id).take(7)
}

/// The name of a class or of several.
pub fn name(class: &'static str) -> &'static str {
    let found = CLASSES.into_iter().find(|(id, _)| *id == class);
    found.map_or(class, |(_, name)| name)
}

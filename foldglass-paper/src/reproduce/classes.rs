//! Names the classes that numbers are of, as types: claims find a number by its class.

use std::fmt;

/// A class, or several together. Two are the same where their names in tables are.
#[derive(Debug, Clone, Copy)]
pub struct ClassId {
    /// The id in the studies.
    pub id: &'static str,
    /// The name in tables.
    pub name: &'static str,
}

impl ClassId {
    /// A class of the studies.
    pub const fn new(id: &'static str, name: &'static str) -> ClassId {
        ClassId { id, name }
    }

    /// A class, or several, that only tables name.
    pub const fn named(name: &'static str) -> ClassId {
        ClassId { id: name, name }
    }
}

impl PartialEq for ClassId {
    fn eq(&self, other: &ClassId) -> bool {
        self.name == other.name
    }
}

impl Eq for ClassId {}

impl fmt::Display for ClassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Parity.
pub const PARITY: ClassId = ClassId::new("parity", "parity (0,0) T=10");
/// The cyclic group of five.
pub const Z5: ClassId = ClassId::new("z5", "Z_5 (0,0) T=8");
/// The paper's quasigroup.
pub const QG: ClassId = ClassId::new("qg", "quasigroup (0,0) T=8");
/// The quasigroup at several lengths.
pub const QG21_345: ClassId = ClassId::new("qg21-345", "quasigroup (2,1) T=3,4,5");
/// Likewise.
pub const QG11_3456: ClassId = ClassId::new("qg11-3456", "quasigroup (1,1) T=3,4,5,6");
/// Likewise.
pub const QG21_456: ClassId = ClassId::new("qg21-456", "quasigroup (2,1) T=4,5,6");
/// The quasigroup with a wide window.
pub const QG03: ClassId = ClassId::new("qg03", "quasigroup (0,3) T=7");
/// The same, tied.
pub const TIED: ClassId = ClassId::new("qg03-tied", "quasigroup (0,3) T=7 tied");

/// The untied classes of tab:shortfall and tab:regulator.
pub const UNTIED: [ClassId; 7] = [PARITY, Z5, QG, QG21_345, QG11_3456, QG21_456, QG03];

/// Those of several lengths.
pub const LENGTHS: [ClassId; 3] = [QG21_345, QG11_3456, QG21_456];

/// The untied classes and the tied one.
pub const CLASSES: [ClassId; 8] = [PARITY, Z5, QG, QG21_345, QG11_3456, QG21_456, QG03, TIED];

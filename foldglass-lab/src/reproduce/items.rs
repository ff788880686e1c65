//! Lists the items, a module each: what it needs, what it measures, and the paper's numbers.

mod containment;
mod cures;
mod equilibration;
mod escape;
mod ext_capture;
mod ext_lengths;
mod ext_panels;
mod ext_traps;
mod regulator;
mod relabelling;
mod shortfall;
mod temperature;
mod temperature_b;
mod trapsexist;
mod trapsfixed;

use super::item::Item;

/// All items, in the order of the paper's appendix. A new one is a module and a line here.
pub static ALL: [&Item; 11] = [
    &equilibration::ITEM,
    &shortfall::ITEM,
    &regulator::ITEM,
    &temperature::ITEM,
    &trapsexist::ITEM,
    &trapsfixed::ITEM,
    &containment::ITEM,
    &escape::ITEM,
    &temperature_b::ITEM,
    &relabelling::ITEM,
    &cures::ITEM,
];

/// What goes beyond the paper; these are run when they are named, or all of them by [`EXT`].
pub static BEYOND: [&Item; 3] = [&ext_lengths::ITEM, &ext_traps::ITEM, &ext_capture::ITEM];

/// The name of all that goes beyond the paper.
pub const EXT: &str = "ext";

/// The item of a label, or the items of a group.
pub fn labelled(label: &str) -> Option<&'static [&'static Item]> {
    if label == EXT {
        return Some(&BEYOND);
    }
    let within = |items: &'static [&'static Item]| {
        let place = items.iter().position(|item| item.label == label)?;
        Some(&items[place..=place])
    };
    within(&ALL).or_else(|| within(&BEYOND))
}

/// The item of a label.
pub fn one(label: &str) -> Option<&'static Item> {
    let mut all = ALL.iter().chain(&BEYOND);
    all.find(|item| item.label == label).copied()
}

/// Every label and group, as they are written.
pub fn labels() -> Vec<&'static str> {
    let all = ALL.iter().chain(&BEYOND).map(|item| item.label);
    all.chain([EXT]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::data::Data;
    use super::super::item::Quantity;
    use super::super::judge::judge;
    use super::super::studies::Scale;
    use super::*;

    #[test]
    fn every_number_of_the_paper_is_measured_once() {
        for item in ALL.into_iter().chain(BEYOND) {
            let measured = (item.measure)(&Data::planned(item.studies, Scale::Full));
            for entry in (item.paper)() {
                let same = |quantity: &&Quantity| {
                    quantity.class == entry.class && quantity.name == entry.quantity
                };
                let found: Vec<&Quantity> = measured.iter().filter(same).collect();
                let what = format!("{}: {}, {}", item.label, entry.class, entry.quantity);
                assert_eq!(found.len(), 1, "{what}");
                // A measurement of another kind than the number would panic.
                judge(&found[0].measured, &entry.paper, 1);
            }
        }
    }

    #[test]
    fn every_number_of_the_paper_is_stated_once() {
        for item in ALL {
            let entries = (item.paper)();
            assert!(!entries.is_empty());
            for (n, entry) in entries.iter().enumerate() {
                let same = |other: &&super::super::stated::Entry| {
                    (other.class, other.quantity) == (entry.class, entry.quantity)
                };
                assert!(!entries[..n].iter().any(|other| same(&other)), "{entry:?}");
            }
        }
    }
}

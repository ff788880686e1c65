//! Lists the items, a module each: what it needs, what it measures, and the paper's numbers.

pub mod containment;
pub mod cures;
pub mod equilibration;
pub mod escape;
pub mod ext_capture;
pub mod ext_lengths;
pub mod ext_networks_traps;
pub mod ext_objectives;
mod ext_panels;
pub mod ext_process;
pub mod ext_sampled;
pub mod ext_traps;
pub mod regulator;
pub mod relabelling;
pub mod shortfall;
pub mod temperature;
pub mod temperature_b;
pub mod theorem;
pub mod transition;
pub mod trapsexist;
pub mod trapsfixed;

use std::fmt;

use super::classes::{QG03, TIED};
use super::headlines::HEADLINES;
use super::item::{Item, Key};
use super::studies::Scale;

/// All items, in the order of the paper's appendix. A new one is a module and its lines here.
pub static ALL: [&Item; 13] = [
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
    &theorem::ITEM,
    &transition::ITEM,
];

/// What goes beyond the paper; these are run when they are named, or all of them by [`EXT`].
pub static BEYOND: [&Item; 7] = [
    &ext_lengths::ITEM,
    &ext_traps::ITEM,
    &ext_capture::ITEM,
    &ext_sampled::ITEM,
    &ext_objectives::ITEM,
    &ext_process::ITEM,
    &ext_networks_traps::ITEM,
];

macro_rules! quantities {
    ($($variant:ident: $item:ident::$quantity:ident),* $(,)?) => {
        /// What of a class a number is, in the words of the item that measures it.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub enum Quantity {
            $(#[doc = concat!("One of [`", stringify!($item), "`].")]
            $variant($item::$quantity),)*
        }

        $(impl From<$item::$quantity> for Quantity {
            fn from(quantity: $item::$quantity) -> Quantity {
                Quantity::$variant(quantity)
            }
        })*

        impl fmt::Display for Quantity {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Quantity::$variant(quantity) => quantity.fmt(f),)*
                }
            }
        }
    };
}

quantities! {
    Equilibration: equilibration::EquilibrationQuantity,
    Shortfall: shortfall::ShortfallQuantity,
    Regulator: regulator::RegulatorQuantity,
    TrapsExist: trapsexist::TrapsExistQuantity,
    TrapsFixed: trapsfixed::TrapsFixedQuantity,
    Containment: containment::ContainmentQuantity,
    Escape: escape::EscapeQuantity,
    TemperatureB: temperature_b::TemperatureBQuantity,
    Relabelling: relabelling::RelabellingQuantity,
    Cures: cures::CuresQuantity,
    Theorem: theorem::TheoremQuantity,
    Transition: transition::TransitionQuantity,
    ExtLengths: ext_lengths::ExtLengthsQuantity,
    ExtTraps: ext_traps::ExtTrapsQuantity,
    ExtCapture: ext_capture::ExtCaptureQuantity,
    ExtSampled: ext_sampled::ExtSampledQuantity,
    ExtObjectives: ext_objectives::ExtObjectivesQuantity,
    ExtProcess: ext_process::ExtProcessQuantity,
    ExtNetworksTraps: ext_networks_traps::ExtNetworksTrapsQuantity,
}

/// The key of the same runs under their first name: numbers of two keys with one original are one number.
pub fn original(key: Key) -> Key {
    const WIDE: &str = QG03.id;
    const BOUND: &str = TIED.id;
    use {equilibration as eq, regulator as reg, shortfall as short, trapsexist as exist};
    let quantity: Quantity = match (key.quantity, key.class.id) {
        // The plain runs of tab:regulator are those of tab:shortfall; its scan of (0,3) begins with them.
        (Quantity::Regulator(reg::RegulatorQuantity::Reward(reg::RegulatorRuns::Plain)), _) => {
            short::ShortfallQuantity::Reward(short::ComparedRuns::Rlvr).into()
        }
        (Quantity::Regulator(reg::RegulatorQuantity::AtOne(reg::RegulatorRuns::Plain)), _) => {
            short::ShortfallQuantity::AtOne(short::ComparedRuns::Rlvr).into()
        }
        (Quantity::Regulator(reg::RegulatorQuantity::RewardAt(1e-13)), WIDE) => {
            short::ShortfallQuantity::Reward(short::ComparedRuns::Rlvr).into()
        }
        (Quantity::Regulator(reg::RegulatorQuantity::AtOneAt(1e-13)), WIDE) => {
            short::ShortfallQuantity::AtOne(short::ComparedRuns::Rlvr).into()
        }
        // The ends of the chains on the (0,3) classes.
        (Quantity::Equilibration(eq::EquilibrationQuantity::AtOneAtEnd), WIDE) => {
            short::ShortfallQuantity::AtOne(short::ComparedRuns::Chain).into()
        }
        (Quantity::Equilibration(eq::EquilibrationQuantity::RewardAt(20000)), BOUND)
        | (Quantity::TrapsExist(exist::TrapsExistQuantity::EndReward), BOUND) => {
            short::ShortfallQuantity::Reward(short::ComparedRuns::Chain).into()
        }
        (Quantity::Equilibration(eq::EquilibrationQuantity::AtOneAt(20000)), BOUND)
        | (Quantity::TrapsExist(exist::TrapsExistQuantity::EndsAtOne), BOUND)
        | (Quantity::TrapsFixed(trapsfixed::TrapsFixedQuantity::Trapped), BOUND) => {
            short::ShortfallQuantity::AtOne(short::ComparedRuns::Chain).into()
        }
        (quantity, _) => quantity,
    };
    Key { quantity, ..key }
}

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

/// Every item, those beyond the paper last.
pub fn all() -> impl Iterator<Item = &'static Item> {
    ALL.into_iter().chain(BEYOND)
}

/// What a reproduction at a scale compares.
pub fn at(scale: Scale) -> Vec<&'static Item> {
    match scale {
        Scale::Quick => HEADLINES.iter().map(|headline| &headline.item).collect(),
        Scale::Smoke | Scale::Short | Scale::Full => all().collect(),
    }
}

/// The item of a label, or the headline result of a name.
pub fn one(label: &str) -> Option<&'static Item> {
    let headlines = HEADLINES.iter().map(|headline| &headline.item);
    all().chain(headlines).find(|item| item.label == label)
}

/// Every label and group, as they are written.
pub fn labels() -> Vec<&'static str> {
    all().map(|item| item.label).chain([EXT]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::item::Number;
    use super::super::judge::judge;
    use super::super::records::Records;
    use super::super::stated::Entry;
    use super::*;
    use crate::report::figure::panel::COLUMN;

    #[test]
    fn every_number_of_the_paper_is_measured_once() {
        for item in all() {
            let measured = (item.measure)(&Records::planned(Scale::Full));
            for entry in (item.paper)() {
                let same = |number: &&Number| number.key == entry.key;
                let found: Vec<&Number> = measured.iter().filter(same).collect();
                let Key { class, quantity } = entry.key;
                assert_eq!(found.len(), 1, "{}: {class}, {quantity}", item.label);
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
                let same = |other: &Entry| other.key == entry.key;
                assert!(!entries[..n].iter().any(same), "{entry:?}");
            }
        }
    }

    #[test]
    fn every_number_has_a_key_and_words_of_its_own() {
        for item in all() {
            let measured = (item.measure)(&Records::planned(Scale::Full));
            let words = |number: &Number| {
                let Key { class, quantity } = number.key;
                (class.name, quantity.to_string())
            };
            for (n, number) in measured.iter().enumerate() {
                let alike =
                    |other: &Number| other.key == number.key || words(other) == words(number);
                assert!(
                    !measured[..n].iter().any(alike),
                    "{}: {number:?}",
                    item.label
                );
            }
        }
    }

    #[test]
    fn every_item_of_the_paper_says_what_it_is_for() {
        let mut places: Vec<usize> = Vec::new();
        for item in ALL {
            places.push(item.about.as_ref().expect(item.label).place);
        }
        places.sort_unstable();
        assert_eq!(places, (1..=ALL.len()).collect::<Vec<_>>());
        assert!(BEYOND.iter().all(|item| item.about.is_none()));
    }

    /// The widths of the panels of a drawing: those within it, or its own.
    fn panel_widths(svg: &str) -> Vec<f64> {
        let mut widths = svg.split("<svg ").skip(1).map(|tag| {
            let tag = tag.split('>').next().unwrap();
            let width = tag.split("width=\"").nth(1).unwrap();
            width.split('"').next().unwrap().parse().unwrap()
        });
        let own = widths.next().unwrap();
        let within: Vec<f64> = widths.collect();
        if within.is_empty() { vec![own] } else { within }
    }

    #[test]
    fn every_panel_of_every_figure_is_one_column_wide() {
        let records = Records::planned(Scale::Full);
        let mut figures = 0;
        for item in all().chain(at(Scale::Quick)) {
            let Some(figure) = &item.figure else {
                continue;
            };
            let widths = panel_widths(&(figure.draw)(&records, Scale::Full));
            assert!(
                widths.iter().all(|width| *width <= COLUMN.size[0]),
                "{}: {widths:?}",
                item.label
            );
            figures += 1;
        }
        assert!(figures >= 16, "{figures}");
    }
}

//! Says in words what the items of the paper are for, in the order in which the paper has them.

/// What a table or figure is for.
pub struct Words {
    /// Its LaTeX label.
    pub label: &'static str,
    /// Where the paper has it.
    pub section: &'static str,
    /// What the paper draws from it.
    pub says: &'static str,
    /// What would fall with it.
    pub stakes: &'static str,
}

/// In the paper's order: first the figures of the text, then the tables of app. G.
const ALL: [Words; 11] = [
    Words {
        label: "fig:trapsfixed",
        section: "section 3.3, app. G.2",
        says: "What Monte Carlo settles into is, cell by cell, a fixed point of tabular RLVR.",
        stakes: "If it failed, traps of the spin model would say nothing about training.",
    },
    Words {
        label: "fig:temperature_untied",
        section: "section 5, app. G.5",
        says: "An entropy bonus far above common practice, or resets, lift RLVR towards reward 1.",
        stakes: "It decides which classes a temperature helps, and how far.",
    },
    Words {
        label: "fig:temperature_untied_b",
        section: "section 5.1, app. G.5",
        says: "Transformers learn at large entropy coefficients what they do not learn without.",
        stakes: "It is the paper’s bridge from tables to networks; success at 0.3 on the quasigroup depends on how \
                 inputs are laid out, which the paper leaves open.",
    },
    Words {
        label: "text:cures",
        section: "section 5.1, app. G.5",
        says: "Without a strong regulator no method that was tried learns T = 4.",
        stakes: "It is why the paper turns to entropy; here expert iteration with a little exploration learns it too, \
                 so a large coefficient is one way and not the only one.",
    },
    Words {
        label: "text:relabelling",
        section: "app. G.5",
        says: "Relabelling emitted tokens, the networks’ counterpart of resets, helps mildly.",
        stakes: "How mildly depends on shares and periods that the paper does not name; it solves the task nowhere.",
    },
    Words {
        label: "tab:equilibration",
        section: "app. G.1",
        says: "The chains have settled, so that chains and RLVR may be compared.",
        stakes: "Speeds differ with the order of updates; that all untied chains arrive does not.",
    },
    Words {
        label: "tab:shortfall",
        section: "section 5, app. G.3",
        says: "Monte Carlo reaches reward 1 on every untied class where plain RLVR mostly does not.",
        stakes: "This is the gap that the paper explains; it would close if RLVR reached 1 here.",
    },
    Words {
        label: "tab:containment",
        section: "section 5.1, app. G.4",
        says: "A modest transformer can be taught random codes, wider windows taking longer.",
        stakes: "It supports that networks can express tabular policies.",
    },
    Words {
        label: "tab:escape",
        section: "section 5.1, app. G.4",
        says: "Networks follow an escape path nearly without barriers between neighbours.",
        stakes: "It supports that networks inherit the benign landscape; how many steps are free of barriers depends \
                 on how finely a line is looked at.",
    },
    Words {
        label: "tab:regulator",
        section: "app. G.5",
        says: "Which temperature, and whether resets, bring RLVR to reward 1, class by class.",
        stakes: "It gives the figure’s numbers.",
    },
    Words {
        label: "tab:trapsexist",
        section: "section 5, app. G.6",
        says: "Correlated inputs and tied cells do make traps, counted exactly and certified.",
        stakes: "It is the paper’s counterexample to benignity; a count that is off by a tolerance changes no \
                 conclusion, a trap more or less would.",
    },
];

/// What the item of a label is for; none where the paper has no such item.
pub fn of(label: &str) -> Option<&'static Words> {
    ALL.iter().find(|words| words.label == label)
}

/// Where in the paper's order an item stands; what the paper has not comes last.
pub fn place(label: &str) -> usize {
    let found = ALL.iter().position(|words| words.label == label);
    found.unwrap_or(ALL.len())
}

#[cfg(test)]
mod tests {
    use super::super::super::items;
    use super::*;

    #[test]
    fn every_item_of_the_paper_has_its_words() {
        for item in &items::ALL {
            assert!(of(item.label).is_some(), "{}", item.label);
        }
        for words in &ALL {
            assert!(items::labelled(words.label).is_some(), "{}", words.label);
        }
        assert!(place("fig:trapsfixed") < place("tab:equilibration"));
        assert!(place("ext:traps") > place("tab:trapsexist"));
    }
}

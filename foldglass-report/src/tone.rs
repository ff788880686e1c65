//! Tells verdicts that stand from those that do not, whatever their words.

/// What a verdict says, whatever its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It stands.
    Good,
    /// It does not.
    Bad,
    /// It cannot be told, or only a part of it.
    Unsure,
    /// There is nothing to say.
    Silent,
}

impl Tone {
    /// That of a word.
    pub fn of(word: &str) -> Tone {
        match word {
            "agrees" | "holds" | "agree" => Tone::Good,
            "differs" | "contradicted" | "differ" | "not reproduced" => Tone::Bad,
            "not stated" | "not in the paper" | "not run" => Tone::Silent,
            _ => Tone::Unsure,
        }
    }

    /// How a terminal shows it; none as everything else.
    pub fn sgr(self) -> Option<&'static str> {
        match self {
            Tone::Good | Tone::Unsure => None,
            Tone::Bad => Some("31"),
            Tone::Silent => Some("2"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_claims_and_of_numbers_have_one_tone() {
        let tones = [
            "agrees",
            "holds",
            "differs",
            "contradicted",
            "holds in part",
            "undecided",
            "not stated",
        ];
        let tones = tones.map(Tone::of);
        use Tone::{Bad, Good, Silent, Unsure};
        assert_eq!(tones, [Good, Good, Bad, Bad, Unsure, Unsure, Silent]);
    }
}

//! Knows which pages are open, and since when none is.

use std::collections::HashMap;

use foldglass::support::clock::Instant;

use crate::limits;

/// The pages that call now and then.
pub struct Visitors {
    /// When each called last.
    last: HashMap<String, Instant>,
    /// Whether there was ever one.
    any: bool,
    /// When the last of them went, or the server began.
    empty_since: Instant,
}

impl Visitors {
    /// None yet.
    pub fn new(now: Instant) -> Visitors {
        Visitors {
            last: HashMap::new(),
            any: false,
            empty_since: now,
        }
    }

    /// Takes note of a call.
    pub fn hear(&mut self, page: &str, now: Instant) {
        if self.last.len() >= limits::PAGES && !self.last.contains_key(page) {
            let oldest = self.last.iter().min_by_key(|(_, heard)| **heard);
            if let Some(oldest) = oldest.map(|(page, _)| page.clone()) {
                self.last.remove(&oldest);
            }
        }
        self.last.insert(page.to_owned(), now);
        self.any = true;
    }

    /// Takes note that a page is closed.
    pub fn leave(&mut self, page: &str, now: Instant) {
        if self.last.remove(page).is_some() && self.last.is_empty() {
            self.empty_since = now;
        }
    }

    /// Forgets pages that have not called for long.
    pub fn sweep(&mut self, now: Instant) {
        let latest = self.last.values().max().copied();
        self.last
            .retain(|_, heard| now.duration_since(*heard) < limits::SILENT);
        if let (true, Some(latest)) = (self.last.is_empty(), latest) {
            self.empty_since = latest;
        }
    }

    /// Whether a page is open.
    pub fn is_open(&self, page: &str) -> bool {
        self.last.contains_key(page)
    }

    /// Whether there was ever a page.
    pub fn any(&self) -> bool {
        self.any
    }

    /// Since when no page is open.
    pub fn empty_since(&self) -> Option<Instant> {
        self.last.is_empty().then_some(self.empty_since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_time_without_pages_counts_from_the_last_call() {
        let begun = Instant::now();
        let at = |seconds: u64| begun + Duration::from_secs(seconds);
        let mut visitors = Visitors::new(begun);
        assert_eq!(
            (visitors.any(), visitors.empty_since()),
            (false, Some(begun))
        );
        visitors.hear("a", at(5));
        visitors.hear("b", at(6));
        visitors.leave("a", at(7));
        assert_eq!((visitors.any(), visitors.empty_since()), (true, None));
        visitors.sweep(at(6 + limits::SILENT.as_secs()));
        assert_eq!(visitors.empty_since(), Some(at(6)));
        visitors.hear("b", at(100));
        visitors.leave("b", at(101));
        visitors.leave("b", at(102));
        assert_eq!(visitors.empty_since(), Some(at(101)));
    }

    #[test]
    fn no_more_pages_are_told_apart_than_allowed() {
        let begun = Instant::now();
        let mut visitors = Visitors::new(begun);
        for number in 0..=limits::PAGES as u64 {
            visitors.hear(&number.to_string(), begun + Duration::from_millis(number));
        }
        assert!(!visitors.is_open("0") && visitors.is_open("1") && visitors.is_open("64"));
    }
}

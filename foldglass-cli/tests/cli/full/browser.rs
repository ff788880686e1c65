//! Names what tests ask of any browser.

use std::time::{Duration, Instant};

use serde_json::Value;

/// Longer than anything here takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A browser with one page.
pub trait Browser {
    /// Goes to an address and waits until it is loaded.
    fn open(&mut self, address: &str);

    /// The value of an expression, awaited if it is a promise.
    fn evaluate(&mut self, expression: &str) -> Value;

    /// Clicks the middle of the first element that a selector finds.
    fn click(&mut self, selector: &str);

    /// What went wrong so far, as far as the browser tells.
    fn complaints(&self) -> Vec<String> {
        Vec::new()
    }

    /// Waits until an expression is true.
    fn wait_for(&mut self, expression: &str) {
        let start = Instant::now();
        while self.evaluate(&format!("Boolean({expression})")) != true {
            if start.elapsed() > PATIENCE {
                let text = self.evaluate("document.body.innerText");
                let text = text.as_str().unwrap_or("").to_owned();
                panic!("never: {expression}\n{text}\n{:?}", self.complaints());
            }
            std::thread::sleep(Duration::from_millis(15));
        }
    }
}

/// Brings the first element that a selector finds into view, and gives its middle; null where there is none.
pub fn middle(selector: &str) -> String {
    format!(
        "(() => {{ const element = document.querySelector({selector:?}); \
         element?.scrollIntoView({{ block: 'center', inline: 'center', behavior: 'instant' }}); \
         const box = element?.getBoundingClientRect(); \
         return box?.width ? [box.left + box.width / 2, box.top + box.height / 2] : null; }})()"
    )
}

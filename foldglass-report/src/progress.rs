//! Shows how far the work is and stops it at Ctrl-C.
//!
//! On a terminal a bar, elsewhere a line now and then; nothing for what takes a moment, and nothing at
//! all under `--quiet`. Work of several parts has one bar over all of them.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

use foldglass::support::watch::{Observer, Progress, Stop};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub use crate::words::{about, span};

/// Shorter computations show nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where there is no terminal, a first line after this, then each after twice the time of the last,
/// up to [`LINES`].
const FIRST_LINE: Duration = Duration::from_secs(10);

/// The longest time between two lines.
const LINES: Duration = Duration::from_secs(120);

/// The share of the work, and the time, from which the time left is told: before it would jump.
const KNOWN_SHARE: f64 = 0.02;
const KNOWN_TIME: Duration = Duration::from_secs(4);

/// Signals within this time are one.
const AT_ONCE: Duration = Duration::from_millis(500);

/// The bar's resolution.
const FINE: f64 = 1000.0;

/// No news: only whether to go on is asked.
const SILENT: Progress<'static> = Progress {
    unit: "",
    done: 0,
    all: None,
    share: None,
};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on nothing is said on stderr but errors.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Where commands are called from in place of a terminal: it shows progress, and says whether to go
/// on.
pub trait Host: Observer + Send {
    /// Takes note of what is being done.
    fn stage(&self, stage: &str) {
        let _ = stage;
    }
}

thread_local! {
    /// The host of the command that this thread runs.
    static HOST: RefCell<Option<Arc<dyn Host>>> = const { RefCell::new(None) };
}

/// Runs a command for a host, which hears what a terminal would show.
pub fn hosted<T>(host: Arc<dyn Host>, command: impl FnOnce() -> T) -> T {
    /// The host is gone when the command is, whatever ended it.
    struct Gone;
    impl Drop for Gone {
        fn drop(&mut self) {
            HOST.set(None);
        }
    }
    let _gone = Gone;
    HOST.set(Some(host));
    command()
}

fn host() -> Option<Arc<dyn Host>> {
    HOST.with_borrow(Clone::clone)
}

/// Whether Ctrl-C was pressed since it is heard, or the host of this thread's command says to stop.
pub fn interrupted() -> bool {
    match host() {
        Some(host) => host.hear(SILENT).is_break(),
        None => INTERRUPTED.load(Ordering::Relaxed),
    }
}

/// The same question for threads that are not this one.
pub fn stop() -> Stop {
    let host = host();
    Arc::new(move || match &host {
        Some(host) => host.hear(SILENT).is_break(),
        None => INTERRUPTED.load(Ordering::Relaxed),
    })
}

/// From now on a first Ctrl-C is heard by [`interrupted`]; a second ends the program at once.
fn hear_interrupts() {
    static HEARD: Once = Once::new();
    HEARD.call_once(|| {
        let mut first: Option<Instant> = None;
        let handler = move || {
            INTERRUPTED.store(true, Ordering::Relaxed);
            // A terminal that closes, or a scheduler, sends several signals in a row.
            if first.get_or_insert_with(Instant::now).elapsed() > AT_ONCE {
                std::process::exit(130);
            }
        };
        // Without a handler Ctrl-C still ends the program, only without a report.
        keeping_hangups_ignored(|| _ = ctrlc::set_handler(handler));
    });
}

/// A hangup that is ignored, as under `nohup`, stays so: the handler would take it for Ctrl-C.
#[cfg(unix)]
fn keeping_hangups_ignored(install: impl FnOnce()) {
    // SAFETY: reads and sets what a signal does; nothing but `action` is written.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let known = libc::sigaction(libc::SIGHUP, std::ptr::null(), &mut action) == 0;
        install();
        if known && action.sa_sigaction == libc::SIG_IGN {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
        }
    }
}

#[cfg(not(unix))]
fn keeping_hangups_ignored(install: impl FnOnce()) {
    install();
}

/// Shows progress on stderr, or hands it to the host.
pub struct Terminal {
    host: Option<Arc<dyn Host>>,
    terminal: bool,
    bar: ProgressBar,
    begun: Instant,
    state: Mutex<State>,
}

struct State {
    /// Which part of the work is being done, where there are several.
    parts: Parts,
    /// What is being done, where there are several stages.
    stage: String,
    shown: bool,
    next_line: Duration,
    wait: Duration,
    /// The seconds left as last told, smoothed.
    left: Option<f64>,
    last: Instant,
    /// When the present unit began, and the share that was done then, for its pace.
    unit: String,
    unit_begun: Instant,
    begun_at: f64,
}

/// Parts of the work, done one after the other.
#[derive(Debug, Default)]
struct Parts {
    /// The relative cost of each; 0 once it is found complete.
    weights: Vec<f64>,
    /// The one that is being done.
    now: usize,
    /// Its name.
    name: String,
    /// Whether it was heard of.
    is_heard: bool,
    /// Whether any was, since when the pace is measured.
    is_paced: bool,
    /// Which of its steps is being done, and how many there are.
    step: [usize; 2],
}

impl Parts {
    fn begin(&mut self, number: usize, name: String) {
        self.pass(number);
        (self.now, self.name) = (number, name);
        (self.is_heard, self.step) = (false, [0, 1]);
    }

    /// A part of which nothing was heard took no time: it was done before.
    fn pass(&mut self, next: usize) {
        let first = self.now + usize::from(self.is_heard);
        if let Some(silent) = self.weights.get_mut(first..next) {
            silent.fill(0.0);
        }
    }

    /// The share of all parts that is done, when one of the present step is.
    fn share(&mut self, progress: Progress<'_>, share: f64) -> f64 {
        let [step, steps] = self.step;
        if !self.is_heard {
            let before = match progress.all {
                Some(all) if all > 0 && progress.share.is_some() => {
                    progress.done as f64 / all as f64
                }
                _ => step as f64 / steps as f64,
            };
            self.weights[self.now] *= 1.0 - before.clamp(0.0, 1.0);
            self.is_heard = true;
        }
        let within = (step as f64 + share) / steps as f64;
        let before: f64 = self.weights[..self.now].iter().sum();
        let all: f64 = self.weights.iter().sum();
        (before + within * self.weights[self.now]) / all.max(f64::MIN_POSITIVE)
    }
}

impl Default for Terminal {
    fn default() -> Terminal {
        Terminal::new()
    }
}

impl Terminal {
    /// Hears interrupts from now on.
    pub fn new() -> Terminal {
        let host = host();
        if host.is_none() {
            hear_interrupts();
        }
        let style = ProgressStyle::with_template("{wide_bar} {msg}").expect("a fixed form");
        let bar = ProgressBar::with_draw_target(Some(FINE as u64), ProgressDrawTarget::hidden());
        let begun = Instant::now();
        Terminal {
            terminal: host.is_none() && io::stderr().is_terminal(),
            host,
            bar: bar.with_style(style),
            begun,
            state: Mutex::new(State {
                parts: Parts::default(),
                stage: String::new(),
                shown: false,
                next_line: FIRST_LINE,
                wait: FIRST_LINE,
                left: None,
                last: begun,
                unit: String::new(),
                unit_begun: begun,
                begun_at: 0.0,
            }),
        }
    }

    /// The work that begins now has parts of these relative costs. One bar goes over all of them.
    pub fn parts(&self, weights: Vec<f64>) {
        let mut state = self.state.lock().expect("no panic while it is held");
        state.parts = Parts {
            weights,
            ..Parts::default()
        };
    }

    /// Begins a part.
    pub fn part(&self, number: usize, name: impl Into<String>) {
        let mut state = self.state.lock().expect("no panic while it is held");
        state.parts.begin(number, name.into());
        state.stage.clear();
        if let Some(host) = &self.host {
            host.stage(&state.parts.name);
        }
    }

    /// Begins a step of so many, within a part where there are some.
    pub fn step(&self, number: usize, of: usize, name: impl Into<String>) {
        let mut state = self.state.lock().expect("no panic while it is held");
        state.parts.step = [number, of.max(1)];
        state.stage = name.into();
        state.unit.clear();
    }

    /// Says what is being done from now on.
    pub fn stage(&self, stage: impl Into<String>) {
        let mut state = self.state.lock().expect("no panic while it is held");
        state.stage = stage.into();
        state.unit.clear();
        if let Some(host) = &self.host {
            host.stage(&state.stage);
        }
    }

    /// Says how what is being done goes, without beginning anew.
    pub fn remark(&self, remark: impl Into<String>) {
        let mut state = self.state.lock().expect("no panic while it is held");
        state.stage = remark.into();
    }

    /// Whether to go on, without news.
    pub fn go_on(&self) -> ControlFlow<()> {
        if let Some(host) = &self.host {
            return host.hear(SILENT);
        }
        if interrupted() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn show(&self, state: &mut State, progress: Progress<'_>) {
        let now = Instant::now();
        let counted = progress.all.filter(|&all| all > 0);
        let counted = counted.map(|all| progress.done as f64 / all as f64);
        let share = progress
            .share
            .or(counted)
            .map(|share| share.clamp(0.0, 1.0));
        let (share, since) = if state.parts.weights.is_empty() {
            if state.unit != progress.unit {
                (state.unit, state.unit_begun) = (progress.unit.to_owned(), now);
                (state.begun_at, state.left) = (share.unwrap_or(0.0), None);
            }
            (share, state.unit_begun)
        } else {
            let of_all = state.parts.share(progress, share.unwrap_or(0.0));
            // The pace is that after the first news: the first step may take far longer than others.
            if !state.parts.is_paced {
                (state.parts.is_paced, state.unit_begun) = (true, now);
                (state.begun_at, state.left) = (of_all, None);
            }
            (Some(of_all), state.unit_begun)
        };
        let passed = now - since;
        let told = now - self.begun >= PATIENCE;
        if is_quiet() || !told || now - state.last < Duration::from_millis(80) && state.shown {
            return;
        }
        state.last = now;
        let left = share.filter(|_| passed >= KNOWN_TIME);
        let left = left.and_then(|share| time_left(passed, state.begun_at, share));
        // A slow average: the time left does not jump with every unit that ends.
        state.left = match (left, state.left) {
            (Some(new), Some(old)) => Some(old + 0.05 * (new - old)),
            (new, _) => new,
        };
        let said = text(state, progress);
        if self.terminal {
            if !state.shown {
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            self.bar.set_position((FINE * share.unwrap_or(0.0)) as u64);
            self.bar.set_message(said);
        } else if now - self.begun >= state.next_line {
            state.wait = (state.wait * 2).min(LINES);
            state.next_line = now - self.begun + state.wait;
            let so_far = span((now - self.begun).as_secs_f64());
            say(&format!("{said} ({so_far} so far)"));
        }
        state.shown = true;
    }
}

/// The seconds left, when a share was done at the beginning and another is now; none while it
/// would jump.
fn time_left(passed: Duration, first: f64, share: f64) -> Option<f64> {
    let now_done = (share - first) / (1.0 - first);
    let known = now_done >= KNOWN_SHARE;
    known.then(|| passed.as_secs_f64() * (1.0 - now_done) / now_done)
}

/// `12 of 60 runs, about 3 min left`.
fn text(state: &State, progress: Progress<'_>) -> String {
    let count = match progress.all {
        Some(all) => format!("{} of {all} {}", progress.done, progress.unit),
        None => format!("{} {}", progress.done, progress.unit),
    };
    let Parts {
        weights, now, name, ..
    } = &state.parts;
    let part = if weights.is_empty() {
        String::new()
    } else {
        format!("part {} of {}, {name}", now + 1, weights.len())
    };
    let stages = [part, state.stage.clone()];
    let stages: Vec<String> = stages.into_iter().filter(|part| !part.is_empty()).collect();
    let stage = if stages.is_empty() {
        String::new()
    } else {
        format!("{}: ", stages.join(", "))
    };
    let left = match state.left {
        Some(left) => format!(", {} left", about(left)),
        None => String::new(),
    };
    format!("{stage}{count}{left}")
}

impl Observer for Terminal {
    fn hear(&self, progress: Progress<'_>) -> ControlFlow<()> {
        if let Some(host) = &self.host {
            return host.hear(progress);
        }
        // Whoever comes while another thread draws has nothing to add.
        if let Ok(mut state) = self.state.try_lock() {
            self.show(&mut state, progress);
        }
        self.go_on()
    }

    fn notice(&self, text: &str) {
        if let Some(host) = &self.host {
            return host.notice(text);
        }
        self.bar.suspend(|| say(text));
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Writes a line to stderr. Where that is gone, so is who would read it, and the work goes on.
pub fn say(line: &str) {
    if let Some(host) = host() {
        return host.notice(line);
    }
    if is_quiet() {
        return;
    }
    let _ = writeln!(io::stderr(), "foldglass: {line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_before_does_not_shorten_the_time_left() {
        let second = Duration::from_secs(1);
        assert_eq!(time_left(second, 0.0, 0.25), Some(3.0));
        assert_eq!(time_left(second, 0.5, 0.75), Some(1.0));
        assert_eq!(time_left(second, 0.9, 0.901), None);
        assert_eq!(time_left(second, 1.0, 1.0), None);
    }

    fn heard(done: u64, all: u64, share: f64) -> Progress<'static> {
        Progress {
            unit: "runs",
            done,
            all: Some(all),
            share: Some(share),
        }
    }

    #[test]
    fn one_bar_goes_over_all_parts() {
        let mut parts = Parts {
            weights: vec![10.0, 20.0, 10.0],
            ..Parts::default()
        };
        parts.begin(0, "first".into());
        assert_eq!(parts.share(heard(0, 8, 0.0), 0.0), 0.0);
        assert_eq!(parts.share(heard(4, 8, 0.5), 0.5), 5.0 / 40.0);
        parts.begin(1, "second".into());
        parts.step = [1, 2];
        assert_eq!(parts.share(heard(0, 8, 0.5), 0.5), (10.0 + 15.0) / 40.0);
    }

    #[test]
    fn what_was_done_before_has_no_weight() {
        let mut parts = Parts {
            weights: vec![10.0, 20.0, 10.0, 5.0],
            ..Parts::default()
        };
        // Nothing is heard of the first two; three of four runs of the third were done.
        parts.begin(0, "first".into());
        parts.begin(1, "second".into());
        parts.begin(2, "third".into());
        assert_eq!(parts.share(heard(3, 4, 0.0), 0.0), 0.0);
        assert_eq!(parts.weights, [0.0, 0.0, 2.5, 5.0]);
        assert_eq!(parts.share(heard(4, 4, 1.0), 1.0), 2.5 / 7.5);
    }
}

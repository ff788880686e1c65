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
use foldglass_study::estimate::TimeEstimate;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub use crate::words::{about, span};

/// Shorter computations show nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where there is no terminal, a first line after this, then each after twice the time of the last,
/// up to [`LINES`].
const FIRST_LINE: Duration = Duration::from_secs(10);

/// The longest time between two lines.
const LINES: Duration = Duration::from_secs(120);

/// The share of the work, and the seconds, from which on the remaining time is shown: before it would jump.
const KNOWN_SHARE: f64 = 0.02;
const KNOWN_SECONDS: f64 = 4.0;

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
        Some(host) => host.report(SILENT).is_break(),
        None => INTERRUPTED.load(Ordering::Relaxed),
    }
}

/// The same question for threads that are not this one.
pub fn stop() -> Stop {
    let host = host();
    Arc::new(move || match &host {
        Some(host) => host.report(SILENT).is_break(),
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
    /// The unit that is counted, where the work has no parts.
    unit: String,
}

/// Parts of the work, done one after the other. Work without parts is one part for each unit that is counted.
#[derive(Debug)]
struct Parts {
    /// How many there are; 0 for work without parts.
    count: usize,
    work: TimeEstimate,
    /// The one that is being done, and its name.
    now: usize,
    name: String,
    /// What is left of it in this call, and how much of that was reached when; none before it was heard of.
    heard: Option<(f64, f64, Instant)>,
    /// Which of its steps is being done, and how many there are.
    step: [usize; 2],
}

impl Parts {
    /// Parts of these relative costs.
    fn new(count: usize, weights: &[f64]) -> Parts {
        Parts {
            count,
            work: TimeEstimate::new(weights.iter().map(|&weight| (1.0, weight))),
            now: 0,
            name: String::new(),
            heard: None,
            step: [0, 1],
        }
    }

    /// A part that is over, or of which nothing was heard because it was done before, has nothing left.
    fn begin(&mut self, number: usize, name: String) {
        (self.now..number).for_each(|part| self.work.skip(part, f64::INFINITY));
        (self.now, self.name) = (number, name);
        (self.heard, self.step) = (None, [0, 1]);
    }

    /// Takes note of the share that is done of the present step. The first news of a part is not a pace: what was
    /// done until then may be from an earlier call, or its first step far longer than others.
    fn note(&mut self, progress: Progress<'_>, share: f64, now: Instant) {
        let [step, steps] = self.step;
        let within = (step as f64 + share) / steps as f64;
        let Some((rest, reached, before)) = self.heard else {
            let done = match progress.all {
                Some(all) if all > 0 && progress.share.is_some() => {
                    (progress.done as f64 / all as f64).clamp(0.0, 1.0)
                }
                _ => 0.0,
            };
            let rest = 1.0 - done;
            self.work.skip(self.now, done + rest * within);
            self.heard = Some((rest, rest * within, now));
            return;
        };
        let next = reached.max(rest * within);
        let seconds = (now - before).as_secs_f64();
        self.work.note(self.now, next - reached, seconds);
        self.heard = Some((rest, next, now));
    }

    /// The seconds left; none while they would jump.
    fn left(&self) -> Option<f64> {
        let known = self.work.spent() >= KNOWN_SECONDS && self.work.share()? >= KNOWN_SHARE;
        known.then(|| self.work.left())?
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
                parts: Parts::new(0, &[1.0]),
                stage: String::new(),
                shown: false,
                next_line: FIRST_LINE,
                wait: FIRST_LINE,
                left: None,
                last: begun,
                unit: String::new(),
            }),
        }
    }

    /// The work that begins now has parts of these relative costs. One bar goes over all of them.
    pub fn parts(&self, weights: Vec<f64>) {
        let mut state = self.state.lock().expect("no panic while it is held");
        state.parts = Parts::new(weights.len(), &weights);
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
            return host.report(SILENT);
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
        let share = if state.parts.count == 0 {
            if state.unit != progress.unit {
                state.unit = progress.unit.to_owned();
                (state.parts, state.left) = (Parts::new(0, &[1.0]), None);
            }
            if let Some(share) = share {
                state.parts.note(progress, share, now);
            }
            share
        } else {
            state.parts.note(progress, share.unwrap_or(0.0), now);
            state.parts.work.share()
        };
        let told = now - self.begun >= PATIENCE;
        if is_quiet() || !told || now - state.last < Duration::from_millis(80) && state.shown {
            return;
        }
        state.last = now;
        // A slow average: the remaining time does not jump with every unit that ends.
        state.left = match (state.parts.left(), state.left) {
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

/// `12 of 60 runs, about 3 min left`.
fn text(state: &State, progress: Progress<'_>) -> String {
    let count = match progress.all {
        Some(all) => format!("{} of {all} {}", progress.done, progress.unit),
        None => format!("{} {}", progress.done, progress.unit),
    };
    let parts = &state.parts;
    let part = if parts.count == 0 {
        String::new()
    } else {
        format!("part {} of {}, {}", parts.now + 1, parts.count, parts.name)
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
    fn report(&self, progress: Progress<'_>) -> ControlFlow<()> {
        if let Some(host) = &self.host {
            return host.report(progress);
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

    fn heard(done: u64, all: u64, share: f64) -> Progress<'static> {
        Progress {
            unit: "runs",
            done,
            all: Some(all),
            share: Some(share),
        }
    }

    /// Hears shares, one every ten seconds.
    fn hear(parts: &mut Parts, shares: &[f64]) {
        let begun = Instant::now();
        for (n, &share) in (0..).zip(shares) {
            let now = begun + n * Duration::from_secs(10);
            parts.note(heard(0, 8, share), share, now);
        }
    }

    #[test]
    fn the_share_of_the_first_news_does_not_shorten_the_remaining_time() {
        let mut one = Parts::new(0, &[1.0]);
        hear(&mut one, &[0.5, 0.75]);
        assert_eq!(one.left(), Some(10.0));
        let mut unknown = Parts::new(0, &[1.0]);
        hear(&mut unknown, &[0.9, 0.901]);
        assert_eq!(unknown.left(), None);
    }

    #[test]
    fn one_estimate_goes_over_all_parts() {
        let mut parts = Parts::new(3, &[10.0, 20.0, 10.0]);
        parts.begin(0, "first".into());
        hear(&mut parts, &[0.0, 0.5, 1.0]);
        assert_eq!(parts.left(), Some(40.0 + 20.0));
        parts.begin(1, "second".into());
        parts.step = [0, 2];
        hear(&mut parts, &[0.0, 0.5]);
        // A quarter of the second part took 10 seconds; the third goes at the pace of both.
        let third = 10.0 * (20.0 + 10.0) / (10.0 + 5.0);
        assert_eq!(parts.left(), Some(30.0 + third));
    }

    #[test]
    fn what_was_done_before_has_nothing_left() {
        let mut parts = Parts::new(4, &[10.0, 20.0, 10.0, 5.0]);
        // Nothing is heard of the first two; three of four runs of the third were done.
        (0..3).for_each(|part| parts.begin(part, String::new()));
        let begun = Instant::now();
        parts.note(heard(3, 4, 0.0), 0.0, begun);
        parts.note(heard(3, 4, 0.5), 0.5, begun + Duration::from_secs(10));
        // An eighth of the third took 10 seconds, as much is left of it, and the fourth has half its weight.
        assert_eq!(parts.left(), Some(10.0 + 5.0 * 10.0 / (10.0 / 8.0)));
    }
}

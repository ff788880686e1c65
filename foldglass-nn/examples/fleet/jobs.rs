//! Runs fig:temperature_untied (b), tab:containment and tab:escape as jobs of at most a given time: all
//! classes of an item in one fleet, which the commands, of one class each, do not do.

use crate::{Outcome, model, precision};
use foldglass::dynamics::chain::random_code;
use foldglass::model::class::{Class, Shape as Window};
use foldglass::model::inputs::InputLaw;
use foldglass::model::policy::Code;
use foldglass::model::quasigroup::LatinSquare;
use foldglass::model::task::Task;
use foldglass::support::stream::Stream;
use foldglass::support::watch::Unwatched;
use foldglass_nn::backend::{Backend, BackendError};
use foldglass_nn::barrier::{Following, Lines};
use foldglass_nn::cpu::Cpu;
use foldglass_nn::cuda::Cuda;
use foldglass_nn::distill::{Distillation, Pupil};
use foldglass_nn::fleet::{Fleet, Piece};
use foldglass_nn::lesson::Lesson;
use foldglass_nn::path::EscapePath;
use foldglass_nn::settings::{ModelSettings, Settings};
use std::io::Write;
use std::ops::ControlFlow;
use std::time::Instant;

/// What a line of the command asks for: models of one task and coefficient, seeds from 0.
struct Group {
    task: String,
    c: String,
    seeds: u64,
}

impl Group {
    fn parse(words: &str) -> Outcome<Group> {
        let parts: Vec<&str> = words.rsplitn(3, ':').collect();
        let [seeds, c, task] = parts.as_slice() else {
            return Err(format!("'{words}': TASK:C:SEEDS is needed").into());
        };
        Ok(Group {
            task: task.to_string(),
            c: c.to_string(),
            seeds: seeds.parse()?,
        })
    }
}

/// Trains every TASK:C:SEEDS until the end or the time is over. A line of JSON for every model at
/// every thousandth step, and one with the accuracies at all lengths at the end.
pub fn train(name: &str, settings: &str, out: &str, seconds: f64, words: &[&str]) -> Outcome<()> {
    let settings: Settings = toml::from_str(&std::fs::read_to_string(settings)?)?;
    let groups: Vec<Group> = words
        .iter()
        .map(|w| Group::parse(w))
        .collect::<Outcome<_>>()?;
    let mut list = Vec::new();
    let mut names = Vec::new();
    for group in &groups {
        for seed in 0..group.seeds {
            let square = LatinSquare::named(&group.task)?;
            list.push(model(seed, square, group.c.parse()?));
            names.push((group, seed));
        }
    }
    let make = maker(name);
    let started = Instant::now();
    let mut fleet = Fleet::new(settings, list, &make)?;
    let mut file = std::fs::File::create(out)?;
    writeln!(
        file,
        "{}",
        serde_json::json!({"settings": fleet.settings(), "back_end": fleet.backend().name(), "precision": name})
    )?;
    let mut failed = None;
    fleet.run(|points| {
        let step = points[0].step;
        if step % 1000 == 0 {
            let mut lines = String::new();
            for point in points {
                let (group, seed) = names[point.model];
                lines += &serde_json::json!({"task": group.task, "c": group.c, "seed": seed,
                    "point": point})
                .to_string();
                lines.push('\n');
            }
            if let Err(error) = file.write_all(lines.as_bytes()) {
                failed = Some(error);
                return ControlFlow::Break(());
            }
            let longest = points.iter().map(|p| p.length).max().unwrap_or(0);
            let mean = points.iter().map(|p| p.length).sum::<usize>() as f64 / points.len() as f64;
            if step % 5000 == 0 {
                eprintln!(
                    "step {step}, {:.1} s, lengths to {longest}, {mean:.2} on average",
                    started.elapsed().as_secs_f64()
                );
            }
        }
        until(started, seconds)
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    let trained = started.elapsed().as_secs_f64();
    let test = fleet.settings().evaluation;
    let accuracies = (1..=fleet.settings().cap)
        .map(|length| fleet.accuracies(length, test.inputs))
        .collect::<Result<Vec<_>, _>>()?;
    let lengths = fleet.lengths().to_vec();
    for (model, (group, seed)) in names.iter().enumerate() {
        let own: Vec<f64> = accuracies.iter().map(|all| all[model]).collect();
        let line = serde_json::json!({"task": group.task, "c": group.c, "seed": seed,
            "step": fleet.step(), "accuracies": own, "length": lengths[model]});
        writeln!(file, "{line}")?;
    }
    let mut model = 0;
    for group in &groups {
        let own = model..model + group.seeds as usize;
        model = own.end;
        let shown: Vec<String> = own
            .map(|m| format!("{:.3}/{}", accuracies[test.length - 1][m], lengths[m]))
            .collect();
        println!("{} at {}: {}", group.task, group.c, shown.join(" "));
    }
    println!("{} steps in {trained:.1} s", fleet.step());
    Ok(())
}

fn class(window: Window, length: usize) -> Outcome<Class> {
    let task = Task::new(LatinSquare::paper(), &InputLaw::Uniform, &[length])?;
    Ok(Class::new(task, window)?)
}

/// The paper's eight classes, a random code for every seed; all networks at once.
pub fn containment(name: &str, out: &str, seconds: f64, steps: u64, seeds: u64) -> Outcome<()> {
    let classes = [
        ("(0,0) T=4", Window::untied(0, 0), 4),
        ("(0,0) T=6", Window::untied(0, 0), 6),
        ("(0,0) T=7", Window::untied(0, 0), 7),
        ("(0,0) T=8", Window::untied(0, 0), 8),
        ("(1,1) T=7", Window::untied(1, 1), 7),
        ("(0,3) tied T=7", Window::tied(0, 3), 7),
        ("(0,3) T=7", Window::untied(0, 3), 7),
        ("(2,1) T=7", Window::untied(2, 1), 7),
    ];
    let mut pupils = Vec::new();
    for (_, window, length) in classes {
        let class = class(window, length)?;
        for seed in 0..seeds {
            let code = random_code(&class, &mut Stream::new(seed, 1));
            pupils.push(Pupil {
                lesson: Lesson::new(&code)?,
                square: LatinSquare::paper(),
                seed,
            });
        }
    }
    let distillation = Distillation {
        steps,
        ..Distillation::default()
    };
    let make = maker(name);
    let started = Instant::now();
    let mut file = std::fs::File::create(out)?;
    let mut failed = None;
    let (progress, _) = distillation.run(&pupils, &make, |points| {
        if points[0].steps.is_multiple_of(5000)
            || points.iter().any(|p| p.steps.is_multiple_of(5000))
        {
            let left = points.iter().filter(|p| !p.done).count();
            eprintln!("{:.1} s, {left} left", started.elapsed().as_secs_f64());
        }
        for point in points {
            let class = classes[point.pupil / seeds as usize].0;
            if let Err(error) = writeln!(
                file,
                "{}",
                serde_json::json!({"class": class, "point": point})
            ) {
                failed = Some(error);
                return ControlFlow::Break(());
            }
        }
        until(started, seconds)
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    for (points, (class, ..)) in progress.chunks(seeds as usize).zip(classes) {
        let shown: Vec<String> = points
            .iter()
            .map(|p| {
                format!(
                    "{}{} ({:.5})",
                    if p.done { "" } else { ">" },
                    p.steps,
                    p.agreement
                )
            })
            .collect();
        println!("{class}: {}", shown.join(", "));
    }
    println!("{:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Goes on for so many seconds.
fn until(started: Instant, seconds: f64) -> ControlFlow<()> {
    if started.elapsed().as_secs_f64() > seconds {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

/// Consecutive codes of an escape path, as a file has them.
#[derive(serde::Serialize, serde::Deserialize)]
struct Stretch {
    class: String,
    place: String,
    /// p and f of the window.
    window: [usize; 2],
    length: usize,
    /// The codes of the whole path.
    of: u64,
    codes: Vec<Vec<u16>>,
}

impl Stretch {
    fn lessons(&self) -> Outcome<Vec<Lesson>> {
        let class = class(Window::untied(self.window[0], self.window[1]), self.length)?;
        (self.codes.iter())
            .map(|actions| Ok(Lesson::new(&Code::new(&class, actions)?)?))
            .collect()
    }
}

/// Chains of three classes to reward 1: their first, middle and last codes, a line a stretch.
pub fn paths(length: usize, codes: u64, file: &str) -> Outcome<()> {
    let started = Instant::now();
    let mut file = std::fs::File::create(file)?;
    for window in [[0, 0], [1, 1], [0, 3]] {
        let class = class(Window::untied(window[0], window[1]), length)?;
        let path = (0..)
            .find_map(|seed| {
                let path = EscapePath::new(
                    &class,
                    1e-6,
                    seed,
                    40_000 * class.cells() as u64,
                    &Unwatched,
                );
                path.map_err(|error| eprintln!("{error}")).ok()
            })
            .expect("seeds do not end");
        let name = format!("({},{})", window[0], window[1]);
        let parts = path
            .three_stretches(codes, &Unwatched)?
            .ok_or("the chain is shorter than a stretch")?;
        eprintln!(
            "{name}: {} cells, {} codes, {:.1} s",
            class.cells(),
            path.codes(),
            started.elapsed().as_secs_f64()
        );
        for (place, part) in ["first", "middle", "last"].iter().zip(parts) {
            let stretch = Stretch {
                class: name.clone(),
                place: place.to_string(),
                window,
                length,
                of: path.codes(),
                codes: part.iter().map(|code| code.actions().to_vec()).collect(),
            };
            writeln!(file, "{}", serde_json::to_string(&stretch)?)?;
        }
    }
    Ok(())
}

/// Escape paths followed by networks, and the barriers on the lines between them; what is not
/// exact in time ends its stretch.
pub fn escape(name: &str, paths: &str, out: &str, seconds: f64, points: usize) -> Outcome<()> {
    let square = LatinSquare::paper();
    let started = Instant::now();
    let stretches = (std::fs::read_to_string(paths)?.lines())
        .map(|line| Ok(serde_json::from_str(line)?))
        .collect::<Outcome<Vec<Stretch>>>()?;
    let length = stretches.first().ok_or("no stretch")?.length;
    let lessons = (stretches.iter())
        .map(Stretch::lessons)
        .collect::<Outcome<Vec<_>>>()?;
    let make = maker(name);
    let distillation = Distillation {
        every: 100,
        steps: 200_000,
        ..Distillation::default()
    };
    let mut kept = 0;
    let mut following = Following::new(distillation.clone(), &square, lessons, 0, &make)?;
    while !following.is_finished() && until(started, seconds).is_continue() {
        following.advance_in_pieces(|| Piece::Steps(u64::MAX))?;
        if following.trail().networks() >= kept + 10 {
            kept = following.trail().networks();
            eprintln!("{:.1} s: {kept} networks", started.elapsed().as_secs_f64());
        }
    }
    let trail = following.trail();
    eprintln!("networks: {:.1} s", started.elapsed().as_secs_f64());
    let mut file = std::fs::File::create(out)?;
    let mut lines = Lines::new(&distillation, &square, length, points, &make)?;
    for ((stretch, kept), steps) in stretches.iter().zip(&trail.weights).zip(&trail.steps) {
        let name = format!("{} {}", stretch.class, stretch.place);
        let mut barriers = Vec::new();
        for pair in kept.windows(2) {
            let line = lines.line(&pair[0], &pair[1])?;
            barriers.push(line.barrier);
            writeln!(
                file,
                "{}",
                serde_json::json!({"stretch": name, "line": line})
            )?;
        }
        writeln!(
            file,
            "{}",
            serde_json::json!({"stretch": name, "networks": kept.len(), "updates": steps})
        )?;
        let none = barriers.iter().filter(|&&b| b == 0).count();
        println!(
            "{name}: {} networks, barrier 0 on {none} of {}, largest {:?}, updates {steps:?}",
            kept.len(),
            barriers.len(),
            barriers.iter().max()
        );
    }
    println!("{:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

type Made = Result<Box<dyn Backend>, BackendError>;

fn maker(name: &str) -> impl Fn(&Settings, &[ModelSettings]) -> Made {
    let precision = precision(name).ok();
    move |settings, models| match precision {
        Some(precision) => Ok(Box::new(Cuda::new(settings, models, precision)?)),
        None => Ok(Box::new(Cpu::new(settings, models))),
    }
}

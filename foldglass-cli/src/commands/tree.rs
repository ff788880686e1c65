//! Floods a small class and draws the tree of its maxima (paper, App. G.6).
//!
//! A leaf is a shelf of optima or of traps, a saddle the reward at which the ways between them meet.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use foldglass::landscape::tree::{self, Levels, Nodes, Tree, TreeError};
use foldglass::{ClassSpec, Code, Reward};
use foldglass_study::claims::LABEL;
use foldglass_study::disk::Whole;
use foldglass_study::parallel::threads;
use foldglass_study::{DataFile, RecordColumn, StudyError, Values};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::flags::{ClassArgs, data_path, positive};
use crate::output::Report;
use crate::progress::Terminal;
use crate::report::tree::{Drawing, refuse, title};
use crate::report::{Cell, Format, Table};

/// The flags of `tree`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass tree --task parity --lengths 5 --inputs markov:9/10 --svg tree.svg
      The barrier tree as a picture.
  foldglass tree --task parity --lengths 6 --inputs markov:9/10 --orbits
      The same up to the names of tokens.")]
pub struct TreeArgs {
    /// Count codes that differ only in the names of their tokens as one; not with --tied
    #[arg(long)]
    orbits: bool,
    /// Draw the tree (a disconnectivity graph) to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// The most leaves in the drawing: an optimum and the traps of the highest barriers come first
    #[arg(long, value_name = "N", value_parser = positive, default_value = "200")]
    #[arg(allow_negative_numbers = true)]
    max_leaves: usize,
    /// Write all codes and their energies -J to this file, as the program `barriers` of the ViennaRNA
    /// project reads them; not with --orbits
    #[arg(long, value_name = "FILE", conflicts_with = "orbits")]
    vienna: Option<PathBuf>,
    /// Write a row per leaf and saddle to this file: .csv or .parquet
    #[arg(long, value_name = "FILE", value_parser = data_path)]
    table: Option<PathBuf>,
    #[command(flatten)]
    class: ClassArgs,
}

impl TreeArgs {
    /// Floods the class, and writes the files asked for.
    pub fn run(&self, settings: &GlobalArgs) -> Result<Flooded, Error> {
        let class = self.class.class()?;
        if self.orbits && class.shape().tied {
            return Err(Error::Usage(format!("--orbits: {}", TreeError::TiedOrbits)));
        }
        let nodes = if self.orbits {
            Nodes::Orbits
        } else {
            Nodes::Codes
        };
        // Made before the long part, so that a wrong path is known at once.
        let create = |path: &PathBuf| match Whole::create(path, LABEL) {
            Ok(file) => Ok((path.clone(), file)),
            Err(source) => Err(StudyError::write(path, source)),
        };
        let svg = self.svg.as_ref().map(create).transpose()?;
        let vienna = self.vienna.as_ref().map(create).transpose()?;
        let table = self.table.as_deref().map(DataFile::create).transpose()?;
        let observer = Terminal::new();
        let threads = threads(settings.threads, usize::MAX);
        let context = self.class.context(&observer).with_threads(threads);
        let levels = Levels::new(&class, nodes, context);
        let levels = levels.map_err(refuse)?;
        let exported = vienna.map(|(path, file)| export(&levels, &path, file));
        let exported = exported.transpose()?;
        let tree = levels.tree(context).map_err(refuse)?;
        if let Some((path, mut file)) = svg {
            let drawing = Drawing {
                tree: &tree,
                title: title(&self.class.words()?),
                orbits: self.orbits,
                max_leaves: self.max_leaves,
            };
            file.write_all(drawing.draw().as_bytes())
                .and_then(|()| file.finish())
                .map_err(|source| StudyError::write(&path, source))?;
        }
        if let Some(file) = table {
            file.write(&class.spec(), &columns(&tree))?;
        }
        Ok(Flooded::new(tree, self.orbits, exported))
    }
}

/// A row per leaf, then one per saddle, then one for the ascents that end on no leaf. Leaves and saddles are
/// numbered as in JSON.
fn columns(tree: &Tree) -> Vec<RecordColumn> {
    let (leaves, saddles) = (&tree.leaves, &tree.saddles);
    let number = |id: usize| i64::try_from(id).ok();
    let saddle_number = |saddle: &Option<usize>| saddle.and_then(|n| number(leaves.len() + n));
    // The last row has neither number, reward nor place.
    let whole = |of_leaves: Vec<Option<i64>>, of_saddles: Vec<Option<i64>>| {
        Values::Whole([of_leaves, of_saddles, vec![None]].concat())
    };
    let kinds = [
        ("leaf", leaves.len()),
        ("saddle", saddles.len()),
        ("stuck", 1),
    ];
    let kinds = kinds.map(|(kind, rows)| vec![Some(kind.to_owned()); rows]);
    let ids = |from: usize, rows: usize| (from..from + rows).map(number).collect();
    let parents = whole(
        leaves
            .iter()
            .map(|leaf| saddle_number(&leaf.parent))
            .collect(),
        saddles
            .iter()
            .map(|saddle| saddle_number(&saddle.parent))
            .collect(),
    );
    let exact = |numerator: u64| Some(tree.reward(numerator));
    let rewards = leaves.iter().map(|leaf| leaf.reward);
    let rewards = rewards.chain(saddles.iter().map(|saddle| saddle.reward));
    let rewards: Vec<Option<Reward>> = rewards.map(exact).chain([None]).collect();
    let barriers = leaves.iter().map(|leaf| leaf.barrier.and_then(exact));
    let no_saddle = || vec![None; saddles.len()];
    let barriers: Vec<Option<Reward>> = barriers.chain(no_saddle()).chain([None]).collect();
    // Saddles have no basin.
    let counts = |name: &str, of: fn(&tree::Leaf) -> u128, stuck: u128| {
        let own = leaves.iter().map(|leaf| Some(of(leaf)));
        let skipped = saddles.iter().map(|_| None);
        RecordColumn::counts(name, own.chain(skipped).chain([Some(stuck)]))
    };
    let random = leaves.iter().map(|leaf| Some(leaf.random));
    let random = random.chain(saddles.iter().map(|_| None));
    let random = random.chain([Some(tree.stuck.random)]).collect();
    let codes = leaves.iter().map(|leaf| Some(leaf.code.actions()));
    let codes = codes.chain(saddles.iter().map(|_| None)).chain([None]);
    let mut columns = vec![
        RecordColumn::new(
            "id",
            whole(ids(0, leaves.len()), ids(leaves.len(), saddles.len())),
        ),
        RecordColumn::new("kind", Values::Text(kinds.concat())),
        RecordColumn::new("parent", parents),
    ];
    columns.extend(RecordColumn::exact(
        "reward",
        rewards.iter().map(Option::as_ref),
    ));
    columns.extend(RecordColumn::exact(
        "barrier",
        barriers.iter().map(Option::as_ref),
    ));
    columns.extend([
        counts("shelf_size", |leaf| leaf.shelf, tree.stuck.maxima),
        counts("steepest", |leaf| leaf.steepest, tree.stuck.steepest),
        RecordColumn::new("random", Values::Number(random)),
        RecordColumn::codes("actions", codes),
    ]);
    columns
}

/// What `barriers` has to be told of the file it reads.
#[derive(JsonSchema, Serialize)]
struct Exported {
    /// Its graph.
    graph: String,
    /// The reward that is one unit of energy.
    unit: Reward,
    #[serde(skip)]
    path: String,
    /// Whether it tells all energies apart.
    exact: bool,
}

fn export(levels: &Levels, path: &Path, mut file: Whole) -> Result<Exported, Error> {
    let vienna = levels.vienna().ok_or_else(|| {
        Error::Usage("--vienna: `barriers` has letters for at most 26 actions".to_owned())
    })?;
    vienna
        .write(&mut file)
        .and_then(|()| file.finish())
        .map_err(|source| StudyError::write(path, source))?;
    Ok(Exported {
        graph: vienna.graph(),
        unit: vienna.unit(),
        path: path.display().to_string(),
        exact: vienna.is_exact(),
    })
}

/// A tree, and what was written of it. Counts may pass 2^53 and are texts in JSON.
#[derive(JsonSchema, Serialize)]
pub struct Flooded {
    #[serde(skip)]
    class: ClassSpec,
    #[serde(skip)]
    orbits: bool,
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String")]
    codes: u128,
    /// Codes or orbits.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String")]
    nodes: u32,
    leaves: Vec<Leaf>,
    saddles: Vec<Saddle>,
    stuck: Stuck,
    #[serde(skip_serializing_if = "Option::is_none")]
    vienna: Option<Exported>,
}

#[derive(JsonSchema, Serialize)]
struct Leaf {
    id: usize,
    reward: Reward,
    /// Not `shelf`, which `certify` has as a number.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String")]
    shelf_size: u128,
    #[serde(rename = "actions", serialize_with = "actions")]
    #[schemars(with = "Vec<foldglass::Symbol>")]
    code: Code,
    barrier: Option<Reward>,
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String")]
    steepest: u128,
    random: f64,
}

#[derive(JsonSchema, Serialize)]
struct Saddle {
    id: usize,
    reward: Reward,
    children: Vec<usize>,
}

#[derive(JsonSchema, Serialize)]
struct Stuck {
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String")]
    maxima: u128,
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String")]
    steepest: u128,
    random: f64,
}

fn as_text<S: Serializer>(count: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(count)
}

fn actions<S: Serializer>(code: &Code, serializer: S) -> Result<S::Ok, S::Error> {
    code.actions().serialize(serializer)
}

impl Flooded {
    fn new(tree: Tree, orbits: bool, vienna: Option<Exported>) -> Flooded {
        let denominator = tree.class().task().denominator().clone();
        let exact = |numerator: u64| Reward::new(numerator, denominator.clone());
        let (class, first_saddle) = (tree.class().spec(), tree.leaves.len());
        let leaves = (0..).zip(tree.leaves).map(|(id, leaf)| Leaf {
            id,
            reward: exact(leaf.reward),
            shelf_size: leaf.shelf,
            code: leaf.code,
            barrier: leaf.barrier.map(exact),
            steepest: leaf.steepest,
            random: leaf.random,
        });
        let saddles = (first_saddle..).zip(tree.saddles);
        let saddles = saddles.map(|(id, saddle)| Saddle {
            id,
            reward: exact(saddle.reward),
            children: saddle.children,
        });
        Flooded {
            class,
            orbits,
            codes: tree.codes,
            nodes: tree.nodes,
            leaves: leaves.collect(),
            saddles: saddles.collect(),
            stuck: Stuck {
                maxima: tree.stuck.maxima,
                steepest: tree.stuck.steepest,
                random: tree.stuck.random,
            },
            vienna,
        }
    }
}

impl Report for Flooded {
    fn class(&self) -> Option<ClassSpec> {
        Some(self.class.clone())
    }

    fn tables(&self, _: Format) -> Vec<Table> {
        let saddles = (!self.saddles.is_empty()).then(|| self.saddle_table());
        [self.leaf_table()].into_iter().chain(saddles).collect()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let orbits = match self.orbits {
            true => format!(" in {} orbits", self.nodes),
            false => String::new(),
        };
        writeln!(out, "{} codes{orbits}\n", self.codes)?;
        self.write_leaves(out)?;
        if !self.saddles.is_empty() {
            writeln!(out)?;
            self.saddle_table().write_text(out)?;
        }
        if let Some(Exported {
            graph,
            unit,
            path,
            exact,
        }) = &self.vienna
        {
            writeln!(
                out,
                "\nenergies in {path} are -J in units of {unit}; to compare the trees:"
            )?;
            writeln!(out, "barriers -G {graph} --max 0 --minh 0.5 --bsize {path}")?;
            if !exact {
                writeln!(
                    out,
                    "(it takes energies for equal that differ by less than 2^-23 of themselves, as some of these do)"
                )?;
            }
        }
        Ok(())
    }
}

impl Flooded {
    /// The leaves, those alike in one row, and where ascents end.
    fn leaf_table(&self) -> Table {
        // By reward, the highest first, then the highest barrier, then the largest shelf.
        let mut kinds: BTreeMap<_, (usize, u128, f64)> = BTreeMap::new();
        for leaf in &self.leaves {
            let optimal = leaf.barrier.is_none();
            let key = Reverse((&leaf.reward, optimal, &leaf.barrier, leaf.shelf_size));
            let kind = kinds.entry(key).or_default();
            kind.0 += 1;
            kind.1 += leaf.steepest;
            kind.2 += leaf.random;
        }
        let share = |codes: f64| Cell::real(codes / self.codes as f64);
        let heads = ["leaves", "reward", "barrier", "shelf", "steepest", "random"];
        let mut table = Table::of_numbers(heads);
        let exact = |reward: &Reward| Cell::Exact(reward.to_string());
        for (Reverse((reward, _, barrier, shelf)), (count, steepest, random)) in kinds {
            table.push([
                count.into(),
                exact(reward),
                barrier.as_ref().map_or(Cell::Missing, exact),
                Cell::Large(shelf.into()),
                share(steepest as f64),
                share(random),
            ]);
        }
        let stuck = &self.stuck;
        table.push([
            "stuck".into(),
            Cell::Missing,
            Cell::Missing,
            Cell::Large(stuck.maxima.into()),
            share(stuck.steepest as f64),
            share(stuck.random),
        ]);
        table
    }

    fn write_leaves(&self, out: &mut dyn Write) -> io::Result<()> {
        self.leaf_table().write_text(out)?;
        writeln!(
            out,
            "\nsteepest and random: the share of all codes that ascent brings to these leaves; stuck \
             are\nthe local maxima on no leaf: a neutral path leaves them"
        )
    }

    /// The saddles, those alike in one row.
    fn saddle_table(&self) -> Table {
        let mut kinds: BTreeMap<_, usize> = BTreeMap::new();
        for saddle in &self.saddles {
            let key = Reverse((&saddle.reward, saddle.children.len()));
            *kinds.entry(key).or_default() += 1;
        }
        let row = |(Reverse((reward, joins)), count): (Reverse<(&Reward, usize)>, usize)| {
            [count.into(), Cell::Exact(reward.to_string()), joins.into()]
        };
        Table::of_numbers(["saddles", "reward", "joins"]).rows(kinds.into_iter().map(row))
    }
}

//! Holds what is said of the shelves of codes in a file.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use foldglass::check::verdict::{Claim, Move, Node, Verdict};
use foldglass::class::{Allowance, Class};
use foldglass::exact::parse;
use foldglass::landscape::shelf::{self, Shelf};
use foldglass::policy::Code;
use foldglass::quasigroup::Symbol;
use serde::{Deserialize, Serialize};

use super::ClassFile;
use crate::error::Error;
use crate::files::File;

/// What its `format` says.
pub const FORMAT: &str = "foldglass-verdict/1";

const EXPECTED: &str = "a verdict file ({\"format\":\"foldglass-verdict/1\",\"class\":{..},\
                        \"verdicts\":[{\"actions\":[..],\"reward_exact\":\"..\",\
                        \"verdict\":\"..\",..},..]})";

/// Verdicts on codes of one class in a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictFile {
    format: String,
    class: ClassFile,
    verdicts: Vec<Entry>,
}

/// A verdict, with the keys of its kind: certified has nodes, bounded has cap, nodes and beyond,
/// escapes has moves. A node is [parent, cell, action].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    actions: Vec<i64>,
    reward_exact: String,
    verdict: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    cap: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<[i64; 3]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    beyond: Option<[i64; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moves: Option<Vec<MoveFile>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Optimal,
    Certified,
    Bounded,
    Escapes,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MoveFile {
    cell: i64,
    from: i64,
    to: i64,
    reward_exact: String,
}

impl Entry {
    fn of(start: &Code, shelf: &Shelf) -> Entry {
        let triple = |n: &shelf::Node| [n.parent.into(), n.cell.into(), n.action.into()];
        let nodes = || Some(shelf.nodes.iter().map(triple).collect());
        let entry = Entry {
            actions: start.actions().iter().map(|&a| a.into()).collect(),
            reward_exact: shelf.reward.to_string(),
            verdict: Kind::Optimal,
            cap: None,
            nodes: None,
            beyond: None,
            moves: None,
        };
        match &shelf.verdict {
            shelf::Verdict::Optimal => entry,
            shelf::Verdict::Certified => Entry {
                verdict: Kind::Certified,
                nodes: nodes(),
                ..entry
            },
            shelf::Verdict::Bounded { beyond } => Entry {
                verdict: Kind::Bounded,
                cap: Some(shelf.size() as i64),
                nodes: nodes(),
                beyond: Some(triple(beyond)),
                ..entry
            },
            shelf::Verdict::Escapes { path, reward } => {
                let step = |(i, change): (usize, &shelf::Change)| MoveFile {
                    cell: change.cell as i64,
                    from: change.from.into(),
                    to: change.to.into(),
                    reward_exact: match i + 1 == path.len() {
                        true => reward.to_string(),
                        false => shelf.reward.to_string(),
                    },
                };
                Entry {
                    verdict: Kind::Escapes,
                    moves: Some(path.iter().enumerate().map(step).collect()),
                    ..entry
                }
            }
        }
    }

    /// What is claimed, if it is a claim about the class; whether it is true is not checked here.
    fn verdict(&self, class: &Class) -> Result<Verdict, String> {
        let reward = |text: &str| parse(text).map_err(|e| format!("reward_exact: {e}"));
        let node = |&[parent, cell, action]: &[i64; 3]| -> Result<Node, String> {
            Ok(Node {
                parent: usize::try_from(parent)
                    .map_err(|_| format!("there is no code {parent}"))?,
                cell: self::cell(class, cell)?,
                action: self::action(class, action)?,
            })
        };
        let nodes = |list: &[[i64; 3]]| -> Result<Vec<Node>, String> {
            let numbered = (1..).zip(list);
            let one = |(n, triple)| node(triple).map_err(|e| format!("node {n}: {e}"));
            numbered.map(one).collect::<Result<_, String>>()
        };
        let step = |m: &MoveFile| -> Result<Move, String> {
            Ok(Move {
                cell: cell(class, m.cell)?,
                from: action(class, m.from)?,
                to: action(class, m.to)?,
                reward: reward(&m.reward_exact)?,
            })
        };
        let parts = (&self.cap, &self.nodes, &self.beyond, &self.moves);
        let claim = match (self.verdict, parts) {
            (Kind::Optimal, (None, None, None, None)) => Claim::Optimal,
            (Kind::Certified, (None, Some(list), None, None)) => Claim::Certified {
                nodes: nodes(list)?,
            },
            (Kind::Bounded, (Some(cap), Some(list), Some(beyond), None)) => Claim::Bounded {
                cap: usize::try_from(*cap).map_err(|_| format!("a cap of {cap}"))?,
                nodes: nodes(list)?,
                beyond: node(beyond).map_err(|e| format!("beyond: {e}"))?,
            },
            (Kind::Escapes, (None, None, None, Some(list))) => {
                let numbered = (1..).zip(list);
                let one = |(n, m)| step(m).map_err(|e| format!("move {n}: {e}"));
                Claim::Escapes {
                    moves: numbered.map(one).collect::<Result<_, String>>()?,
                }
            }
            (kind, _) => return Err(kind.keys().to_owned()),
        };
        Ok(Verdict {
            start: Code::new(class, &self.actions).map_err(|e| format!("actions: {e}"))?,
            reward: reward(&self.reward_exact)?,
            claim,
        })
    }
}

impl Kind {
    fn keys(self) -> &'static str {
        match self {
            Kind::Optimal => "an optimal verdict has no cap, nodes, beyond or moves",
            Kind::Certified => "a certified verdict has nodes, and no cap, beyond or moves",
            Kind::Bounded => "a bounded verdict has cap, nodes and beyond, and no moves",
            Kind::Escapes => "an escapes verdict has moves, and no cap, nodes or beyond",
        }
    }
}

fn cell(class: &Class, cell: i64) -> Result<usize, String> {
    let known = usize::try_from(cell).ok().filter(|&c| c < class.cells());
    let last = class.cells() - 1;
    known.ok_or_else(|| format!("there is no cell {cell}: cells are 0 to {last}"))
}

fn action(class: &Class, action: i64) -> Result<Symbol, String> {
    let known = Symbol::try_from(action).ok();
    let known = known.filter(|&a| usize::from(a) < class.q());
    let last = class.q() - 1;
    known.ok_or_else(|| format!("there is no action {action}: actions are 0 to {last}"))
}

impl VerdictFile {
    /// Reads verdicts and their class; whether they are true is not checked here.
    pub fn read(file: &File, allowance: Allowance) -> Result<(Class, Vec<Verdict>), Error> {
        let content: VerdictFile = file.object(EXPECTED)?;
        let refuse = |problem: String| file.is_not(EXPECTED, problem);
        if content.format != FORMAT {
            return Err(refuse(format!("its format is `{}`", content.format)));
        }
        if content.verdicts.is_empty() {
            return Err(refuse("it holds no verdict".to_owned()));
        }
        let class = content.class.class(allowance).map_err(refuse)?;
        let one = |(n, entry): (usize, &Entry)| {
            let verdict = entry.verdict(&class);
            verdict.map_err(|e| refuse(format!("verdict {n}: {e}")))
        };
        let verdicts = content.verdicts.iter().enumerate().map(one);
        let verdicts = verdicts.collect::<Result<_, Error>>()?;
        Ok((class, verdicts))
    }
}

/// A file that verdicts are written to as they come.
pub struct VerdictWriter {
    path: String,
    file: BufWriter<fs::File>,
    count: usize,
}

impl VerdictWriter {
    /// Makes the file, or empties it, for verdicts on codes of this class.
    pub fn create(path: &Path, class: &Class) -> Result<VerdictWriter, Error> {
        let name = path.display().to_string();
        let file = fs::File::create(path).map_err(|source| Error::Write {
            path: name.clone(),
            source,
        })?;
        let mut writer = VerdictWriter {
            path: name,
            file: BufWriter::with_capacity(1 << 16, file),
            count: 0,
        };
        let class = serde_json::to_string(&ClassFile::of(class)).expect("a class is written");
        writer.put(|out| {
            write!(
                out,
                "{{\"format\":\"{FORMAT}\",\"class\":{class},\"verdicts\":["
            )
        })?;
        Ok(writer)
    }

    /// Writes what was found at a code, through to the file.
    pub fn write(&mut self, start: &Code, shelf: &Shelf) -> Result<(), Error> {
        let separator = if self.count == 0 { "\n" } else { ",\n" };
        self.count += 1;
        self.put(|out| {
            out.write_all(separator.as_bytes())?;
            serde_json::to_writer(&mut *out, &Entry::of(start, shelf))?;
            out.flush()
        })
    }

    /// Closes the file.
    pub fn finish(mut self) -> Result<(), Error> {
        self.put(|out| {
            out.write_all(b"\n]}\n")?;
            out.flush()
        })
    }

    fn put(
        &mut self,
        write: impl FnOnce(&mut BufWriter<fs::File>) -> io::Result<()>,
    ) -> Result<(), Error> {
        write(&mut self.file).map_err(|source| Error::Write {
            path: self.path.clone(),
            source,
        })
    }
}

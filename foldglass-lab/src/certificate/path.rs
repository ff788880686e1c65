//! Holds a path that never lowers J in a file.

use foldglass::check::path::{Kind, Move, Path};
use foldglass::class::{Allowance, Class};
use foldglass::exact::{lowest_terms, parse};
use foldglass::policy::Code;
use foldglass::quasigroup::Symbol;
use serde::{Deserialize, Serialize};

use super::ClassFile;
use crate::error::Error;
use crate::files::File;

/// What its `format` says.
pub const FORMAT: &str = "foldglass-path/1";

const EXPECTED: &str = "a path file ({\"format\":\"foldglass-path/1\",\"class\":{..},\
                        \"actions\":[..],\"start_exact\":\"..\",\"moves\":[..],\
                        \"reward_exact\":\"..\"})";

/// A path in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathFile {
    format: String,
    class: ClassFile,
    actions: Vec<i64>,
    start_exact: String,
    moves: Vec<MoveFile>,
    reward_exact: String,
}

/// A move in a file, and in the report of `escape`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoveFile {
    /// The cell.
    pub cell: i64,
    /// Its action before.
    pub from: i64,
    /// Its action after.
    pub to: i64,
    /// Why it is made.
    pub kind: KindName,
    /// J after it.
    pub reward_exact: String,
}

/// The name of a kind of move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KindName(#[serde(with = "KindForm")] pub Kind);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Kind", rename_all = "lowercase")]
enum KindForm {
    Consolidate,
    Prepare,
    Reroute,
    Finish,
    Neutral,
    Raise,
}

impl PathFile {
    /// Puts a path of a class into the form of a file.
    pub fn of(class: &Class, path: &Path) -> PathFile {
        PathFile {
            format: FORMAT.to_owned(),
            class: ClassFile::of(class),
            actions: path.start.actions().iter().map(|&a| a.into()).collect(),
            start_exact: lowest_terms(&path.start_reward),
            moves: path.moves.iter().map(MoveFile::new).collect(),
            reward_exact: lowest_terms(&path.reward),
        }
    }

    /// Reads a path and its class; whether its numbers are right is not checked here.
    pub fn read(file: &File, allowance: Allowance) -> Result<(Class, Path), Error> {
        let path: PathFile = file.object(EXPECTED)?;
        let refuse = |problem: String| file.is_not(EXPECTED, problem);
        if path.format != FORMAT {
            return Err(refuse(format!("its format is `{}`", path.format)));
        }
        let class = path.class.class(allowance).map_err(refuse)?;
        let start =
            Code::new(&class, &path.actions).map_err(|e| refuse(format!("actions: {e}")))?;
        let number = |text: &str, place: String| {
            parse(text).map_err(|error| refuse(format!("{place}: {error}")))
        };
        let mut moves = Vec::with_capacity(path.moves.len());
        for (n, m) in (1..).zip(&path.moves) {
            let (cell, from, to) = m.of(&class).map_err(|e| refuse(format!("move {n}: {e}")))?;
            moves.push(Move {
                cell,
                from,
                to,
                kind: m.kind.0,
                reward: number(&m.reward_exact, format!("move {n}: reward_exact"))?,
            });
        }
        let path = Path {
            start,
            start_reward: number(&path.start_exact, "start_exact".to_owned())?,
            moves,
            reward: number(&path.reward_exact, "reward_exact".to_owned())?,
        };
        Ok((class, path))
    }
}

impl MoveFile {
    /// Puts a move into the form of a file.
    pub fn new(m: &Move) -> MoveFile {
        MoveFile {
            cell: m.cell as i64,
            from: m.from.into(),
            to: m.to.into(),
            kind: KindName(m.kind),
            reward_exact: lowest_terms(&m.reward),
        }
    }

    /// The cell and the two actions, if the class has them.
    fn of(&self, class: &Class) -> Result<(usize, Symbol, Symbol), String> {
        let cell = usize::try_from(self.cell).ok();
        let Some(cell) = cell.filter(|&cell| cell < class.cells()) else {
            let last = class.cells() - 1;
            return Err(format!(
                "there is no cell {}: cells are 0 to {last}",
                self.cell
            ));
        };
        let action = |a: i64| match Symbol::try_from(a) {
            Ok(symbol) if usize::from(symbol) < class.q() => Ok(symbol),
            _ => Err(format!(
                "there is no action {a}: actions are 0 to {}",
                class.q() - 1
            )),
        };
        Ok((cell, action(self.from)?, action(self.to)?))
    }
}

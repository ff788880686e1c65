//! Floods a small class and draws the tree of its maxima (paper, App. G.6).

mod drawing;

use foldglass::Class;
use foldglass::Context;
use foldglass::landscape::tree::{Nodes, Tree, TreeError};
use foldglass_study::ClassWords;

use crate::error::Error;

pub use drawing::{Drawing, LeafSpot, TreeSketch};

/// The class in words.
pub fn title(words: &ClassWords) -> String {
    let lengths: Vec<String> = words.lengths.iter().map(usize::to_string).collect();
    let [past, future] = words.window;
    let mut title = format!(
        "{}, T = {}, inputs {}, window ({past},{future})",
        words.task,
        lengths.join(", "),
        words.inputs,
    );
    if words.memory > 1 {
        title += &format!(", {} tokens remembered", words.memory);
    }
    if let Some(weights) = &words.length_weights {
        title += &format!(", length weights {weights}");
    }
    if !words.reward.is_final() {
        title += &format!(", reward {}", words.reward);
    }
    title + if words.tied { ", tied" } else { "" }
}

/// The tree of a class and its drawing, with up to so many leaves.
pub fn flood(
    class: &Class,
    words: &ClassWords,
    max_leaves: usize,
    context: Context<'_>,
) -> Result<(Tree, TreeSketch), Error> {
    let tree = Tree::new(class, Nodes::Codes, context).map_err(refuse)?;
    let drawing = Drawing {
        tree: &tree,
        title: title(words),
        orbits: false,
        max_leaves,
    };
    let sketch = drawing.sketch();
    Ok((tree, sketch))
}

/// Why a class is not flooded.
pub fn refuse(error: TreeError) -> Error {
    match error {
        TreeError::TooLarge(error) => error.into(),
        TreeError::Stopped(_) => {
            Error::Stopped("interrupted: a tree needs all codes, so nothing is reported".to_owned())
        }
        other => Error::Usage(other.to_string()),
    }
}

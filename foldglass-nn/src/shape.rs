//! Names the parameters of the transformer and says where each lies (paper, app. G.4).
//!
//! D is the width, H the heads, F the MLP's width, V the vocabulary. One block of the paper's shape
//! has 791,296 parameters in 11 tensors. All weights of a model are one flat list, tensor after
//! tensor, each row-major as (inputs, outputs): a layer is `x @ W`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use thiserror::Error;

/// The norms' small constant, added to the mean square.
pub const NORM_EPSILON: f64 = 1e-6;

/// The base of the rotary angles: pair m of a head of width w turns by base^(-2m/w) a position.
pub const ROTARY_BASE: f64 = 10_000.0;

/// What a norm, always without bias, divides by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// The root of the mean square.
    #[default]
    Rms,
    /// The standard deviation, after the mean is subtracted.
    Layer,
}

/// The sizes of a transformer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkShape {
    /// D, the width of the residual stream.
    pub width: usize,
    /// H, the attention heads; D / H is even.
    pub heads: usize,
    /// F, the width of the MLP.
    pub mlp: usize,
    /// V, the tokens: the symbols first, the separator last.
    pub vocabulary: usize,
    /// The number of blocks; the table form and the fleets need one.
    pub blocks: usize,
    /// What the norms do.
    pub norm: Norm,
}

impl Default for NetworkShape {
    fn default() -> NetworkShape {
        NetworkShape {
            width: 256,
            heads: 4,
            mlp: 1024,
            vocabulary: 8,
            blocks: 1,
            norm: Norm::Rms,
        }
    }
}

/// The largest size: products of a few of them fit any machine's numbers.
const MOST: usize = 1 << 16;

/// Sizes that make no transformer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A size of zero.
    #[error("{what} is 0; at least 1 is needed")]
    Zero {
        /// Which size.
        what: &'static str,
    },
    /// A size beyond any that is used.
    #[error("{what} is {size}; at most {MOST} is accepted")]
    Large {
        /// Which size.
        what: &'static str,
        /// How large.
        size: usize,
    },
    /// Heads that do not split the width into even parts.
    #[error("width {width} over {heads} heads: every head needs an even width, for rotary pairs")]
    Heads {
        /// D.
        width: usize,
        /// H.
        heads: usize,
    },
    /// No token left for the separator.
    #[error("vocabulary {vocabulary} is too small for {q} symbols and a separator")]
    Vocabulary {
        /// V.
        vocabulary: usize,
        /// The symbols of the task.
        q: usize,
    },
}

/// One named tensor of the flat list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Its name in weight files.
    pub name: String,
    /// Its sizes: one for a norm, (inputs, outputs) for a matrix.
    pub sizes: Vec<usize>,
    /// Where it lies.
    pub place: Range<usize>,
}

/// Where the tensors of one block lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockPlaces {
    /// The weights of the norm before attention, (D).
    pub norm1: Range<usize>,
    /// (D, D), and the three below.
    pub query: Range<usize>,
    /// Keys.
    pub key: Range<usize>,
    /// Values.
    pub value: Range<usize>,
    /// From the heads' outputs back to the stream.
    pub output: Range<usize>,
    /// The weights of the norm before the MLP, (D).
    pub norm2: Range<usize>,
    /// (D, F).
    pub up: Range<usize>,
    /// (F, D).
    pub down: Range<usize>,
}

/// Where every tensor lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorPlaces {
    /// (V, D).
    pub embedding: Range<usize>,
    /// The blocks, first to last.
    pub blocks: Vec<BlockPlaces>,
    /// The weights of the last norm, (D).
    pub norm3: Range<usize>,
    /// (D, V).
    pub head: Range<usize>,
}

impl NetworkShape {
    /// Refuses sizes that make no transformer, or have no room for `q` symbols.
    pub fn check(&self, q: usize) -> Result<(), ShapeError> {
        for (what, size) in [
            ("width", self.width),
            ("heads", self.heads),
            ("mlp", self.mlp),
            ("blocks", self.blocks),
        ] {
            if size == 0 {
                return Err(ShapeError::Zero { what });
            }
        }
        for (what, size) in [
            ("width", self.width),
            ("heads", self.heads),
            ("mlp", self.mlp),
            ("vocabulary", self.vocabulary),
            ("blocks", self.blocks),
        ] {
            if size > MOST {
                return Err(ShapeError::Large { what, size });
            }
        }
        let (width, heads) = (self.width, self.heads);
        if width % (2 * heads) != 0 {
            return Err(ShapeError::Heads { width, heads });
        }
        if self.vocabulary <= q {
            let vocabulary = self.vocabulary;
            return Err(ShapeError::Vocabulary { vocabulary, q });
        }
        Ok(())
    }

    /// The separator's token.
    pub fn separator(&self) -> usize {
        self.vocabulary - 1
    }

    /// The width of a head.
    pub fn head_width(&self) -> usize {
        self.width / self.heads
    }

    /// The width of the table form's features: a token's one-hot and H times V token weights.
    pub fn features(&self) -> usize {
        self.vocabulary * (1 + self.heads)
    }

    /// The number of parameters.
    pub fn parameters(&self) -> usize {
        self.places().head.end
    }

    /// Where every tensor lies.
    pub fn places(&self) -> TensorPlaces {
        let mut end = 0;
        let mut take = |size: usize| {
            let place = end..end + size;
            end += size;
            place
        };
        let (width, square) = (self.width, self.width * self.width);
        let ends = self.vocabulary * width;
        TensorPlaces {
            embedding: take(ends),
            blocks: (0..self.blocks)
                .map(|_| BlockPlaces {
                    norm1: take(width),
                    query: take(square),
                    key: take(square),
                    value: take(square),
                    output: take(square),
                    norm2: take(width),
                    up: take(width * self.mlp),
                    down: take(width * self.mlp),
                })
                .collect(),
            norm3: take(width),
            head: take(ends),
        }
    }

    /// The tensors in their order.
    pub fn tensors(&self) -> Vec<Tensor> {
        let places = self.places();
        let (d, f, v) = (self.width, self.mlp, self.vocabulary);
        let tensor = |name: String, sizes: &[usize], place: &Range<usize>| Tensor {
            name,
            sizes: sizes.to_vec(),
            place: place.clone(),
        };
        let mut list = vec![tensor("embedding".into(), &[v, d], &places.embedding)];
        for (number, block) in places.blocks.iter().enumerate() {
            let named = |name: &str| format!("blocks.{number}.{name}");
            list.push(tensor(named("norm1"), &[d], &block.norm1));
            list.push(tensor(named("query"), &[d, d], &block.query));
            list.push(tensor(named("key"), &[d, d], &block.key));
            list.push(tensor(named("value"), &[d, d], &block.value));
            list.push(tensor(named("output"), &[d, d], &block.output));
            list.push(tensor(named("norm2"), &[d], &block.norm2));
            list.push(tensor(named("up"), &[d, f], &block.up));
            list.push(tensor(named("down"), &[f, d], &block.down));
        }
        list.push(tensor("norm".into(), &[d], &places.norm3));
        list.push(tensor("head".into(), &[d, v], &places.head));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_shape_has_791296_parameters_in_11_tensors() {
        let shape = NetworkShape::default();
        assert_eq!(shape.parameters(), 791_296);
        let tensors = shape.tensors();
        assert_eq!(tensors.len(), 11);
        for pair in tensors.windows(2) {
            assert_eq!(pair[0].place.end, pair[1].place.start);
        }
        for tensor in &tensors {
            let size: usize = tensor.sizes.iter().product();
            assert_eq!(tensor.place.len(), size, "{}", tensor.name);
        }
    }

    #[test]
    fn sizes_that_make_no_transformer_are_refused() {
        let shape = NetworkShape::default();
        assert_eq!(shape.check(7), Ok(()));
        assert!(matches!(shape.check(8), Err(ShapeError::Vocabulary { .. })));
        let odd = NetworkShape { heads: 3, ..shape };
        assert!(matches!(odd.check(5), Err(ShapeError::Heads { .. })));
        let none = NetworkShape { blocks: 0, ..shape };
        assert_eq!(none.check(5), Err(ShapeError::Zero { what: "blocks" }));
    }
}

//! What the bf16 kernels keep in shared memory: one list, from which the kernels get their constants and launches
//! their sizes.

use super::source::Sizes;

/// Bytes of shared memory that a block may have on Hopper.
pub(super) const MOST: usize = 227 * 1024;

/// Bytes of a tile of 64 by 64 numbers in bf16.
const TILE: usize = 64 * 64 * 2;

/// Places in a kernel's shared memory by name, the number of stages of its ring, and bytes in all.
pub(super) struct SharedLayout {
    pub numbers: Vec<(&'static str, usize)>,
    pub bytes: usize,
}

impl Sizes {
    /// hopper_forward: the ring, the stream's table, features of 128 rows, the head's table, barriers. Where all
    /// do not fit beside each other, only the first stage is filled at once, and the others lie where the stream's
    /// table is while it is of use.
    pub fn forward_shared(&self) -> SharedLayout {
        let (d, v, tiles) = (
            self.shape.width,
            self.shape.vocabulary,
            self.feature_tiles(),
        );
        let stage = 64 * d * 2 + tiles * TILE;
        let (stages, early) = match tiles {
            1 => (4, 4),
            2 => (2, 2),
            _ => (2, 1),
        };
        let stream = early * stage;
        let features = (stages * stage).max(stream + tiles * 64 * d * 2);
        let logit = features + 2 * tiles * TILE;
        let barriers = logit + 2 * d * v;
        SharedLayout {
            numbers: vec![
                ("FORWARD_STAGES", stages),
                ("FORWARD_STAGE", stage),
                ("FORWARD_EARLY", early),
                ("FORWARD_STREAM", stream),
                ("FORWARD_FEATURES", features),
                ("FORWARD_LOGIT", logit),
                ("FORWARD_BARRIERS", barriers),
            ],
            bytes: barriers + 8 * (2 * stages + 1),
        }
    }

    /// hopper_backward: 128 rows of the down-projection and of the up-projection's table, the ring, and where it
    /// is fused a tile of gradients for each warpgroup; barriers.
    pub fn backward_shared(&self) -> SharedLayout {
        let (d, tiles) = (self.shape.width, self.feature_tiles());
        let up = 2 * 64 * d * 2;
        let rows = up + 2 * tiles * TILE;
        // Gradients and features of 64 rows, and their scales.
        let stage = 64 * d * 2 + tiles * TILE + 1024;
        let stages = if self.fused() { 3 } else { 2 };
        let d_up = rows + stages * stage;
        let barriers = d_up + if self.fused() { 2 * TILE } else { 0 };
        SharedLayout {
            numbers: vec![
                ("BACKWARD_STAGES", stages),
                ("BACKWARD_STAGE", stage),
                ("BACKWARD_UP", up),
                ("BACKWARD_ROWS", rows),
                ("BACKWARD_D_UP", d_up),
                ("BACKWARD_BARRIERS", barriers),
            ],
            bytes: barriers + 8 * (2 * stages + 1),
        }
    }

    /// hopper_stream: a table, the ring, barriers.
    pub fn stream_shared(&self) -> SharedLayout {
        let table = 64 * self.shape.width * 2;
        let (stages, stage) = (2, table + TILE);
        let barriers = table + stages * stage;
        SharedLayout {
            numbers: vec![
                ("STREAM_STAGES", stages),
                ("STREAM_STAGE", stage),
                ("STREAM_BARRIERS", barriers),
            ],
            bytes: barriers + 8 * (2 * stages + 1),
        }
    }
}

//! Makes tables and figures: what a person or a program looks at, whatever it was made from.
//!
//! A [`Table`] has typed [`Cell`]s, so that one table serves a terminal, a program, a spreadsheet and
//! a paper: [`Format`] says which. Long lists are written as they come, by [`Lines`].
//! [`figure`] holds the look of all figures. A [`page::Page`] is a report of chapters, written as
//! [`html`] or as Markdown ([`page_markdown`]).

mod cell;
mod csv;
pub mod figure;
mod format;
pub mod html;
mod json;
mod latex;
mod markdown;
pub mod page;
pub mod page_markdown;
mod prose;
mod table;
mod text;

pub use cell::{Cell, Digits, short_fraction};
pub use format::Format;
pub use table::{Align, Column, Table};
pub use text::Lines;

/// The probability with which every interval that is printed or drawn covers the truth.
pub const INTERVAL_LEVEL: f64 = 0.95;

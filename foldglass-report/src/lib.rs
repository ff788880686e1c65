//! Shows what was found: tables, figures, pages, and the words of progress.
//!
//! A [`Table`] has typed [`Cell`]s, so that one table serves a terminal, a program, a spreadsheet and
//! a paper: [`Format`] says which. Long lists are written as they come, by [`StreamedTable`].
//! [`figure`] has the look of all figures. A [`page::Page`] is a report of chapters, written as
//! [`html`] or as Markdown ([`page_markdown`]).
//!
//! What several programs show is made here once: [`certify`], [`draw`], [`inspect`], [`plot`], [`tree`].
//! Each computes with the libraries, and gives data that serialises and a text for a person ([`Report`]).
//! [`error`] tells a user's mistakes from other failures. With the feature `terminal`, the module `progress` shows
//! how far a computation is and stops it at Ctrl-C.

pub mod certify;
pub mod draw;
pub mod error;
pub mod figure;
pub mod files;
pub mod html;
pub mod inspect;
pub mod nearest;
pub mod page;
pub mod page_markdown;
pub mod plot;
#[cfg(feature = "terminal")]
pub mod progress;
mod prose;
mod report;
mod screen;
mod table;
mod tone;
pub mod tree;
pub mod words;

pub use report::Report;
pub use table::{Align, Cell, Column, Digits, Format, StreamedTable, Table, short_fraction};

/// The probability with which every interval that is printed or drawn covers the truth.
pub const INTERVAL_LEVEL: f64 = 0.95;

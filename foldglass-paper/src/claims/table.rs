//! Lays statements out as tables.

use super::{DecidedStatement, StatementVerdict};
use crate::report::{Cell, Column, Table};

/// Every statement a line.
pub fn of(rows: &[DecidedStatement]) -> Table {
    let columns = [
        Column::words("id"),
        Column::words("statement"),
        Column::words("section"),
        Column::words("verdict"),
        Column::words("rests on").key("evidence_kind"),
        Column::numbers("n"),
        Column::words("touches").key("matters"),
        Column::words("same evidence as").key("same_as"),
        Column::words("evidence"),
        Column::words("command"),
    ];
    let mut table = Table::new(columns);
    for row in rows {
        table.push([
            Cell::from(row.id),
            row.statement.into(),
            row.section.into(),
            row.verdict.words().into(),
            row.evidence_kind.word().into(),
            row.n.into(),
            row.matters
                .map_or(Cell::Missing, |matters| matters.word().into()),
            row.same_as.map_or(Cell::Missing, Into::into),
            row.evidence.clone().into(),
            row.command.into(),
        ]);
    }
    table
}

/// How many have each verdict, by the part of the paper; statements that the same evidence decides count once.
pub fn summary(rows: &[DecidedStatement]) -> Table {
    let heads = StatementVerdict::ALL.map(|verdict| Column::numbers(verdict.words()));
    let columns = [Column::words("section")].into_iter().chain(heads);
    let mut table = Table::new(columns);
    let mut sections: Vec<&str> = Vec::new();
    for row in rows {
        if !sections.contains(&row.section) {
            sections.push(row.section);
        }
    }
    let line = |name: &str, own: &dyn Fn(&DecidedStatement) -> bool| {
        let count = |verdict| {
            let own = rows.iter().filter(|row| own(row) && row.verdict == verdict);
            let own = own.filter(|row| row.same_as.is_none());
            Cell::from(own.count())
        };
        let counts = StatementVerdict::ALL.map(count);
        [vec![Cell::from(name)], counts.to_vec()].concat()
    };
    for section in sections {
        table.push(line(section, &|row| row.section == section));
    }
    table.push(line("all", &|_| true));
    table
}

//! Tables for people: as wide as what is in them, a row a line.

use unicode_width::UnicodeWidthStr as _;

use crate::output::{Look, Output, clean};

/// Rows under a head.
#[derive(Debug)]
pub(crate) struct Table {
    head: Vec<&'static str>,
    right: Vec<bool>,
    rows: Vec<Vec<(Look, String)>>,
}

impl Table {
    /// A head that begins with `>` belongs to numbers, which end together.
    pub(crate) fn new(head: &[&'static str]) -> Self {
        let right = head.iter().map(|title| title.starts_with('>')).collect();
        let head = head.iter().map(|title| title.trim_start_matches('>')).collect();
        Self { head, right, rows: Vec::new() }
    }

    pub(crate) fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.painted(cells.into_iter().map(|cell| (Look::Plain, cell.into())));
    }

    pub(crate) fn painted(&mut self, cells: impl IntoIterator<Item = (Look, String)>) {
        self.rows.push(cells.into_iter().map(|(look, cell)| (look, clean(&cell))).collect());
    }

    pub(crate) fn print(&self, output: &mut Output) {
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|(_, cell)| cell.width());
            cells.max().unwrap_or(0).max(self.head[at].width())
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let head: Vec<(Look, String)> =
            self.head.iter().map(|title| (Look::Strong, (*title).to_owned())).collect();
        for row in std::iter::once(&head).chain(&self.rows) {
            let mut line = String::new();
            for (at, (look, cell)) in row.iter().enumerate() {
                let fill = " ".repeat(widths[at].saturating_sub(cell.width()));
                let last = at + 1 == row.len();
                let cell = output.paint(*look, cell);
                match (self.right[at], last) {
                    (true, _) => line += &format!("{fill}{cell}"),
                    (false, true) => line += &cell,
                    (false, false) => line += &format!("{cell}{fill}"),
                }
                if !last {
                    line += "  ";
                }
            }
            output.line(line.trim_end());
        }
    }
}

/// Names and values, a line each.
#[derive(Debug, Default)]
pub(crate) struct Facts(Vec<(&'static str, Look, String)>);

impl Facts {
    pub(crate) fn say(&mut self, name: &'static str, value: impl Into<String>) {
        self.look(name, Look::Plain, value);
    }

    pub(crate) fn look(&mut self, name: &'static str, look: Look, value: impl Into<String>) {
        self.0.push((name, look, clean(&value.into())));
    }

    pub(crate) fn print(&self, output: &mut Output) {
        let width = self.0.iter().map(|(name, ..)| name.width()).max().unwrap_or(0);
        for (name, look, value) in &self.0 {
            let fill = " ".repeat(width - name.width());
            let value = output.paint(*look, value);
            output.line(format!("{}{fill}  {value}", output.paint(Look::Faint, name)).trim_end());
        }
    }
}

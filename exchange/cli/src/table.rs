//! Tables and lists of properties for text output. Columns are as wide as their content, and a row is one line.

use unicode_width::UnicodeWidthStr as _;

use crate::output::{Output, TextStyle, sanitize};

/// A table with a header row.
#[derive(Debug)]
pub(crate) struct Table {
    head: Vec<&'static str>,
    right: Vec<bool>,
    rows: Vec<Vec<(TextStyle, String)>>,
}

impl Table {
    /// Creates an empty table. A title that begins with `>` aligns its column to the right, for numbers.
    pub(crate) fn new(head: &[&'static str]) -> Self {
        let right = head.iter().map(|title| title.starts_with('>')).collect();
        let head = head.iter().map(|title| title.trim_start_matches('>')).collect();
        Self { head, right, rows: Vec::new() }
    }

    pub(crate) fn push_row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.push_styled_row(cells.into_iter().map(|cell| (TextStyle::Plain, cell.into())));
    }

    pub(crate) fn push_styled_row(&mut self, cells: impl IntoIterator<Item = (TextStyle, String)>) {
        self.rows.push(cells.into_iter().map(|(style, cell)| (style, sanitize(&cell))).collect());
    }

    pub(crate) fn print(&self, output: &mut Output) {
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|(_, cell)| cell.width());
            cells.max().unwrap_or(0).max(self.head[at].width())
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let head: Vec<(TextStyle, String)> =
            self.head.iter().map(|title| (TextStyle::Strong, (*title).to_owned())).collect();
        for row in std::iter::once(&head).chain(&self.rows) {
            let mut line = String::new();
            for (at, (style, cell)) in row.iter().enumerate() {
                let fill = " ".repeat(widths[at].saturating_sub(cell.width()));
                let last = at + 1 == row.len();
                let cell = output.apply_style(*style, cell);
                match (self.right[at], last) {
                    (true, _) => line += &format!("{fill}{cell}"),
                    (false, true) => line += &cell,
                    (false, false) => line += &format!("{cell}{fill}"),
                }
                if !last {
                    line += "  ";
                }
            }
            output.write_line(line.trim_end());
        }
    }
}

/// A list of names and values, one per line.
#[derive(Debug, Default)]
pub(crate) struct PropertyList(Vec<(&'static str, TextStyle, String)>);

impl PropertyList {
    pub(crate) fn push_property(&mut self, name: &'static str, value: impl Into<String>) {
        self.push_styled_property(name, TextStyle::Plain, value);
    }

    pub(crate) fn push_styled_property(
        &mut self,
        name: &'static str,
        style: TextStyle,
        value: impl Into<String>,
    ) {
        self.0.push((name, style, sanitize(&value.into())));
    }

    pub(crate) fn print(&self, output: &mut Output) {
        let width = self.0.iter().map(|(name, ..)| name.width()).max().unwrap_or(0);
        for (name, style, value) in &self.0 {
            let fill = " ".repeat(width - name.width());
            let value = output.apply_style(*style, value);
            output.write_line(
                format!("{}{fill}  {value}", output.apply_style(TextStyle::Faint, name)).trim_end(),
            );
        }
    }
}

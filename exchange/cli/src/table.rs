//! Tables and lists of properties for text output. Columns are as wide as their content, and a row is one line. On a
//! terminal, columns of text are cut so that a row fits; files and other programs get all content.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

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
        let mut widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        if let Some(columns) = output.columns() {
            let heads: Vec<usize> = self.head.iter().map(|title| title.width()).collect();
            fit_widths(&mut widths, &heads, &self.right, columns);
        }
        let head: Vec<(TextStyle, String)> =
            self.head.iter().map(|title| (TextStyle::Strong, (*title).to_owned())).collect();
        for row in std::iter::once(&head).chain(&self.rows) {
            let mut line = String::new();
            for (at, (style, cell)) in row.iter().enumerate() {
                let cell = cut_to_width(cell, widths[at]);
                let fill = " ".repeat(widths[at].saturating_sub(cell.width()));
                let last = at + 1 == row.len();
                let cell = output.apply_style(*style, &cell);
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

/// The minimum width of a column that is cut.
const MIN_COLUMN_WIDTH: usize = 8;

/// Narrows the widest columns of text until a row fits into the terminal, or no column can be cut further. Numbers
/// are never cut.
fn fit_widths(widths: &mut [usize], heads: &[usize], is_number: &[bool], columns: usize) {
    let gaps = 2 * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > columns {
        let can_be_cut = |at: &usize| !is_number[*at] && widths[*at] > heads[*at].max(MIN_COLUMN_WIDTH);
        let Some(widest) = (0..widths.len()).filter(can_be_cut).max_by_key(|at| widths[*at]) else { return };
        widths[widest] -= 1;
    }
}

/// Returns the text if it fits into a width, or its beginning with an ellipsis.
fn cut_to_width(text: &str, width: usize) -> Cow<'_, str> {
    if text.width() <= width {
        return text.into();
    }
    let mut cut = String::new();
    for letter in text.chars() {
        if cut.width() + letter.width().unwrap_or(0) >= width {
            break;
        }
        cut.push(letter);
    }
    cut.push('\u{2026}');
    cut.into()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows fit into the terminal: the widest texts are cut first, and numbers never.
    #[test]
    fn wide_columns_are_cut() {
        let check = |mut widths: Vec<usize>, columns: usize, expect: &[usize]| {
            let heads = vec![4; widths.len()];
            let numbers: Vec<bool> = (0..widths.len()).map(|at| at == 0).collect();
            fit_widths(&mut widths, &heads, &numbers, columns);
            assert_eq!(widths, expect);
        };
        check(vec![20, 30, 40], 94, &[20, 30, 40]);
        check(vec![20, 30, 40], 93, &[20, 30, 39]);
        check(vec![20, 30, 40], 80, &[20, 28, 28]);
        check(vec![70, 30, 40], 80, &[70, 8, 8]);
    }

    #[test]
    fn cut_texts_have_an_ellipsis() {
        let check = |text: &str, width: usize, expect: &str| {
            assert_eq!(cut_to_width(text, width), expect);
            assert!(expect.width() <= width.max(text.width().min(width)));
        };
        check("Agricium", 8, "Agricium");
        check("Agricium", 7, "Agrici\u{2026}");
        // A wide character needs two cells.
        check("\u{6f22}\u{5b57}\u{6f22}\u{5b57}", 6, "\u{6f22}\u{5b57}\u{2026}");
    }
}

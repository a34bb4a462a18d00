//! Reports as text, plain or Markdown; the same words in both.

use std::{collections::BTreeMap, fmt::Write as _};

use super::Report;
#[cfg(feature = "engines")]
use crate::engines::Opinion;
use crate::{explain::How, proof::Proof};

pub(super) fn text(report: &Report, markdown: bool) -> String {
    let mut page = Page { out: String::new(), markdown };
    page.heading(1, if report.title.is_empty() { "The contract" } else { &report.title });
    let counts: Vec<String> =
        report.counts.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{n} {name}")).collect();
    page.counted(&counts, "Nothing is generated of it.");

    if !report.mends.is_empty() {
        page.heading(2, "Mends by overlays");
    }
    for each in &report.mends {
        let count = each.places.len();
        let times = if count > 1 { format!(" ({count} places)") } else { String::new() };
        page.item(&format!("{}: {}, {}{times}.", page.code(&each.file), each.what, each.how));
        each.places.iter().for_each(|place| page.detail(place));
    }

    page.heading(2, "Constraints, and what enforces them");
    let hows = [How::Type, How::Check, How::Tables, How::Owner, How::Nothing];
    let rows = report.constraints.iter().map(|(keyword, by)| {
        let counts = hows.iter().map(|how| by.get(how).map_or_else(String::new, ToString::to_string));
        std::iter::once((*keyword).to_owned()).chain(counts).collect()
    });
    page.table(&["keyword", "type", "is_valid", "tables", "owner", "nothing"], rows.collect());

    page.heading(2, "Types that hold more than their schemas accept");
    if report.looser.is_empty() {
        page.line("None.");
    }
    for each in &report.looser {
        page.item(&format!("{}: {}; {} enforces the rest.", page.code(&each.name), each.what, each.enforced));
        page.detail(&each.place);
    }

    page.heading(2, "Assumptions");
    if report.assumptions.is_empty() {
        page.line("None.");
    }
    report.assumptions.iter().for_each(|each| page.item(each));

    if !report.families.is_empty() {
        page.heading(2, "Bases whose children stand in `extra`");
    }
    for each in &report.families {
        let (base, count) = (page.code(&each.selector), each.children);
        let children = if count == 1 { "1 child" } else { &format!("{count} children") };
        page.item(&format!("{base}: {children}; `families` in `[types]` makes an enum of them."));
        page.detail(&each.place);
    }

    if !report.unsent.is_empty() {
        page.heading(2, "Operations that no client can send");
    }
    for each in &report.unsent {
        page.item(&format!("{}: {}.", page.code(&each.id), each.reason));
        page.detail(&each.place);
    }

    #[cfg(feature = "engines")]
    for opinion in report.engines.iter().flatten() {
        engine(opinion, &mut page);
    }

    page.heading(2, "Whether each type holds all that its schema accepts");
    proofs(report, &mut page);
    page.out
}

#[cfg(feature = "engines")]
fn engine(opinion: &Opinion, page: &mut Page) {
    page.heading(2, &format!("What {} makes of it", opinion.engine));
    let count = |count: usize| if count == 0 { String::new() } else { count.to_string() };
    let rows = opinion.rows.iter().map(|row| {
        let counts = [row.kept, row.dropped, row.refused, row.unasked].map(count);
        std::iter::once(row.construct.clone()).chain(counts).collect()
    });
    page.table(&["construct", "kept", "dropped", "refused", "not asked"], rows.collect());
    for row in opinion.rows.iter().filter(|row| row.dropped > 0) {
        page.item(&format!("{} is dropped.", page.code(&row.construct)));
        row.places.iter().for_each(|place| page.detail(place));
    }
    for each in &opinion.refusals {
        page.item(&format!("refused: {}", each.reason));
        page.detail(&each.place);
    }
}

fn proofs(report: &Report, page: &mut Page) {
    let mut by: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, proof) in &report.proofs {
        by.entry(proof.word()).or_default().push(name);
    }
    let counts: Vec<String> = by.iter().map(|(word, names)| format!("{} {word}", names.len())).collect();
    page.counted(&counts, "None.");
    for (name, proof) in &report.proofs {
        let name = page.code(name);
        match proof {
            Proof::Proven | Proof::Assumed => {}
            Proof::Tested(count) => {
                page.item(&format!("{name}: not provable; {count} generated instances are held."))
            }
            Proof::Gap(Some(instance)) => {
                page.item(&format!("{name}: GAP, it cannot hold {}", page.code(&instance.to_string())))
            }
            Proof::Gap(None) => page
                .item(&format!("{name}: GAP, it is proven not to hold everything; no instance was found.")),
            Proof::Skipped(reason) => page.item(&format!("{name}: skipped, {reason}.")),
        }
    }
}

struct Page {
    out: String,
    markdown: bool,
}

impl Page {
    fn heading(&mut self, level: usize, text: &str) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        // Writing into a string does not fail.
        let _ = if self.markdown {
            writeln!(self.out, "{} {text}\n", "#".repeat(level))
        } else {
            let line = if level == 1 { "=" } else { "-" };
            writeln!(self.out, "{text}\n{}", line.repeat(text.chars().count()))
        };
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}");
    }

    /// Amounts in one line, or what is said where there are none.
    fn counted(&mut self, counts: &[String], none: &str) {
        self.line(&if counts.is_empty() { none.to_owned() } else { format!("{}.", counts.join(", ")) });
    }

    fn item(&mut self, text: &str) {
        let _ = writeln!(self.out, "- {text}");
    }

    fn detail(&mut self, place: &str) {
        if !place.is_empty() {
            let place = self.code(place);
            let _ = writeln!(self.out, "  {place}");
        }
    }

    fn code(&self, text: &str) -> String {
        if self.markdown && !text.contains('`') { format!("`{text}`") } else { text.to_owned() }
    }

    fn table(&mut self, head: &[&str], rows: Vec<Vec<String>>) {
        if self.markdown {
            let _ = writeln!(self.out, "| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()));
            for row in rows {
                let _ = writeln!(self.out, "| {} |", row.join(" | "));
            }
            return;
        }
        let first = rows
            .iter()
            .filter_map(|row| row.first())
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
            .max(7);
        let mut print = |cells: &[&str]| {
            let mut cells = cells.iter();
            let mut line = format!("{:first$}", cells.next().unwrap_or(&""));
            cells.for_each(|cell| {
                let _ = write!(line, " {cell:>9}");
            });
            let _ = writeln!(self.out, "{}", line.trim_end());
        };
        print(head);
        for row in &rows {
            print(&row.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
}

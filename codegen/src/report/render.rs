//! Renders reports as plain text or Markdown, with the same content.

use std::{collections::BTreeMap, fmt::Write as _};

use contract_codegen_core::{enforced_constraints::EnforcedBy, proof::TypeProof};

use super::Report;

pub(super) fn render_report(report: &Report, markdown: bool) -> String {
    let mut page = ReportPage { out: String::new(), markdown };
    page.add_heading(1, if report.title.is_empty() { "The contract" } else { &report.title });
    let counts: Vec<String> =
        report.counts.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{n} {name}")).collect();
    page.add_counts(&counts, "Nothing is generated.");

    if !report.overlay_changes.is_empty() {
        page.add_heading(2, "Changes by overlays");
    }
    for each in &report.overlay_changes {
        let count = each.places.len();
        let times = if count > 1 { format!(" ({count} places)") } else { String::new() };
        page.add_item(&format!(
            "{}: {}, {}{times}.",
            page.format_code(&each.file),
            each.description,
            each.effect
        ));
        each.places.iter().for_each(|place| page.add_detail(place));
    }

    page.add_heading(2, "Constraints by enforcement");
    let hows =
        [EnforcedBy::Type, EnforcedBy::Check, EnforcedBy::Tables, EnforcedBy::Owner, EnforcedBy::Nothing];
    let rows = report.constraints.iter().map(|(keyword, by)| {
        let counts = hows.iter().map(|how| by.get(how).map_or_else(String::new, ToString::to_string));
        std::iter::once((*keyword).to_owned()).chain(counts).collect()
    });
    page.add_table(&["keyword", "type", "is_valid", "tables", "user", "nothing"], rows.collect());

    page.add_heading(2, "Types that accept more than their schemas");
    if report.looser_types.is_empty() {
        page.add_line("None.");
    }
    for each in &report.looser_types {
        page.add_item(&format!(
            "{}: {}; the rest is enforced by {}.",
            page.format_code(&each.name),
            each.reason,
            each.enforced
        ));
        page.add_detail(&each.place);
    }

    page.add_heading(2, "Untyped fields");
    write_untyped_fields(report, &mut page);

    page.add_heading(2, "Assumptions");
    if report.assumptions.is_empty() {
        page.add_line("None.");
    }
    report.assumptions.iter().for_each(|each| page.add_item(each));

    if !report.families.is_empty() {
        page.add_heading(2, "Base schemas whose children are in `extra`");
    }
    for each in &report.families {
        let (base, count) = (page.format_code(&each.selector), each.children);
        let children = if count == 1 { "1 child" } else { &format!("{count} children") };
        page.add_item(&format!(
            "{base}: {children}; list it in `families` of `[types]` to generate an enum."
        ));
        page.add_detail(&each.place);
    }

    if !report.unsendable.is_empty() {
        page.add_heading(2, "Operations that the client cannot send");
    }
    for each in &report.unsendable {
        page.add_item(&format!("{}: {}.", page.format_code(&each.id), each.reason));
        page.add_detail(&each.place);
    }

    page.add_heading(2, "Proof that each type can hold every valid value");
    write_proofs(report, &mut page);
    page.out
}

/// Writes the number of untyped fields. Lists the untyped fields whose values the contract restricts.
fn write_untyped_fields(report: &Report, page: &mut ReportPage) {
    let (all, total) = (report.untyped_fields.len(), report.field_count);
    if all == 0 {
        page.add_line("None.");
        return;
    }
    let open = report.untyped_fields.iter().filter(|field| field.is_open).count();
    page.add_line(&format!(
        "{all} of {total} fields contain untyped JSON: the contract accepts any value for {open} of them."
    ));
    for field in report.untyped_fields.iter().filter(|field| !field.is_open) {
        page.add_item(&format!("{}: {}.", page.format_code(&field.name), field.reason));
        page.add_detail(&field.place);
    }
}

fn write_proofs(report: &Report, page: &mut ReportPage) {
    let mut by: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, proof) in &report.proofs {
        by.entry(proof.as_str()).or_default().push(name);
    }
    let counts: Vec<String> = by.iter().map(|(label, names)| format!("{} {label}", names.len())).collect();
    page.add_counts(&counts, "None.");
    for (name, proof) in &report.proofs {
        let name = page.format_code(name);
        match proof {
            TypeProof::Proven | TypeProof::Assumed => {}
            TypeProof::Tested(count) => {
                page.add_item(&format!("{name}: not provable; it holds {count} of {count} generated values."))
            }
            TypeProof::Gap(Some(instance)) => page.add_item(&format!(
                "{name}: GAP, it cannot hold {}",
                page.format_code(&instance.to_string())
            )),
            TypeProof::Gap(None) => page
                .add_item(&format!("{name}: GAP, it cannot hold every valid value; no example was found.")),
            TypeProof::Skipped(reason) => page.add_item(&format!("{name}: skipped, {reason}.")),
        }
    }
}

struct ReportPage {
    out: String,
    markdown: bool,
}

impl ReportPage {
    fn add_heading(&mut self, level: usize, text: &str) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = if self.markdown {
            writeln!(self.out, "{} {text}\n", "#".repeat(level))
        } else {
            let line = if level == 1 { "=" } else { "-" };
            writeln!(self.out, "{text}\n{}", line.repeat(text.chars().count()))
        };
    }

    fn add_line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}");
    }

    /// Adds a line with the counts, such as `3 structs, 12 fields.`. If the list is empty, adds a line with
    /// the text in `none`.
    fn add_counts(&mut self, counts: &[String], none: &str) {
        self.add_line(&if counts.is_empty() { none.to_owned() } else { format!("{}.", counts.join(", ")) });
    }

    fn add_item(&mut self, text: &str) {
        let _ = writeln!(self.out, "- {text}");
    }

    fn add_detail(&mut self, place: &str) {
        if !place.is_empty() {
            let place = self.format_code(place);
            let _ = writeln!(self.out, "  {place}");
        }
    }

    fn format_code(&self, text: &str) -> String {
        if self.markdown && !text.contains('`') { format!("`{text}`") } else { text.to_owned() }
    }

    fn add_table(&mut self, head: &[&str], rows: Vec<Vec<String>>) {
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

//! The `list` and `show` commands, which display entries of the replica without the network.

use exchange_client::{
    api::{
        Nullable,
        types::{Blueprint, Holder, Insurance, OrgStockEntry, OrgStockLot, Quantity, Ship, StockLot},
    },
    feed::FeedEntry,
};
use serde_json::json;

use super::{CommandContext, format_timestamp};
use crate::{
    args::{ListArgs, ShowArgs},
    error::{CommandError, ExitStatus},
    output::{Output, TextStyle},
    table::{PropertyList, Table},
    times::TimeDisplay,
};

/// The display of a replica entry.
pub(super) trait EntryView: FeedEntry {
    /// Returns the name of the entry. `list PART` matches against it.
    fn display_name(&self) -> String;
    /// Returns the column titles of the table. A title that starts with `>` aligns its column to the right.
    fn table_head() -> &'static [&'static str];
    /// Returns the cells of the entry's row.
    fn table_row(&self, times: TimeDisplay) -> Vec<(TextStyle, String)>;
    /// Returns all properties, for `show`.
    fn fact_list(&self, times: TimeDisplay) -> PropertyList;
    /// Prints further details below the properties, if any.
    fn print_details(&self, output: &mut Output) {
        let _ = output;
    }
}

/// Formats a quantity, such as `12.5 SCU`.
pub(super) fn format_quantity(quantity: &Quantity) -> String {
    format!("{} {}", quantity.amount.get().to_json_text(), quantity.unit)
}

fn plain_cells<const N: usize>(cells: [String; N]) -> Vec<(TextStyle, String)> {
    cells.into_iter().map(|cell| (TextStyle::Plain, cell)).collect()
}

fn yes_or_empty(is: bool) -> String {
    (if is { "yes" } else { "" }).to_owned()
}

pub(super) async fn list_entries<E: EntryView>(
    context: &CommandContext,
    args: &ListArgs,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let part = args.part.as_deref().map(str::to_lowercase);
    let wanted =
        |entry: &E| part.as_deref().is_none_or(|part| entry.display_name().to_lowercase().contains(part));
    let (as_of, entries) = context.replica_view().await?.entries(wanted)?;
    let as_of = format_timestamp(as_of).unwrap_or_default();
    if output.is_json() {
        output.write_json(&json!({ "asOf": as_of, "items": entries }));
        return Ok(ExitStatus::Success);
    }
    if entries.is_empty() {
        output.print_note(if part.is_some() { "no matching entries" } else { "no entries" });
        return Ok(ExitStatus::Success);
    }
    // The rows are sorted by the displayed cells.
    let mut rows: Vec<_> = entries.iter().map(|entry| entry.table_row(output.times())).collect();
    rows.sort_by_cached_key(|row| row.iter().map(|(_, cell)| cell.to_lowercase()).collect::<Vec<_>>());
    let mut table = Table::new(E::table_head());
    for row in rows {
        table.push_styled_row(row);
    }
    table.print(output);
    output.print_footnote(format!(
        "{} as of {}",
        count_text(entries.len()),
        output.times().format(&as_of)
    ))?;
    Ok(ExitStatus::Success)
}

pub(super) async fn show_entry<E: EntryView>(
    context: &CommandContext,
    args: &ShowArgs,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let Some(entry) = context.replica_view().await?.entry::<E>(&args.key)? else {
        let next = "see `list`; `exchange sync` reads new entries";
        return Err(CommandError::new(
            ExitStatus::Failure,
            format!("no local entry has the key {}", args.key),
            next,
        ));
    };
    if output.is_json() {
        output.write_json(&entry);
        return Ok(ExitStatus::Success);
    }
    entry.fact_list(output.times()).print(output);
    entry.print_details(output);
    Ok(ExitStatus::Success)
}

fn count_text(count: usize) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

impl EntryView for Blueprint {
    fn display_name(&self) -> String {
        self.ref_.name.clone()
    }

    fn table_head() -> &'static [&'static str] {
        &["NAME", "ACQUIRED", "KNOWN FROM", "KEY"]
    }

    fn table_row(&self, times: TimeDisplay) -> Vec<(TextStyle, String)> {
        let source = self.provenance.as_ref().map_or("", |provenance| provenance.source.as_str());
        let at = self.acquired_at.as_ref().map_or_else(String::new, |at| times.format(at.as_str()));
        plain_cells([self.display_name(), at, source.to_owned(), self.key.as_str().to_owned()])
    }

    fn fact_list(&self, times: TimeDisplay) -> PropertyList {
        let mut properties = PropertyList::default();
        properties.push_styled_property("name", TextStyle::Strong, self.display_name());
        properties.push_property("key", self.key.as_str());
        if let Some(at) = &self.acquired_at {
            properties.push_property("acquired", times.format(at.as_str()));
        }
        if let Some(provenance) = &self.provenance {
            properties.push_property("known from", provenance.source.as_str());
        }
        if self.is_default {
            properties.push_property("default", "every member has it; it cannot be removed");
        }
        if let Some(Nullable::Value(note)) = &self.note {
            properties.push_property("note", note.as_str());
        }
        properties
    }
}

impl EntryView for StockLot {
    fn display_name(&self) -> String {
        self.material.name.clone()
    }

    fn table_head() -> &'static [&'static str] {
        &["MATERIAL", "PLACE", ">QUALITY", ">QUANTITY", "STOLEN", "KEY"]
    }

    fn table_row(&self, _times: TimeDisplay) -> Vec<(TextStyle, String)> {
        plain_cells([
            self.display_name(),
            self.location.name.as_str().to_owned(),
            self.quality.get().to_string(),
            format_quantity(&self.quantity),
            yes_or_empty(self.stolen),
            self.key.as_str().to_owned(),
        ])
    }

    fn fact_list(&self, _times: TimeDisplay) -> PropertyList {
        let mut properties = PropertyList::default();
        properties.push_styled_property("material", TextStyle::Strong, self.display_name());
        properties.push_property("material key", self.material.bt.as_str());
        properties.push_property("place", self.location.name.as_str());
        properties.push_property("quality", self.quality.get().to_string());
        properties.push_property("quantity", format_quantity(&self.quantity));
        if self.stolen {
            properties.push_styled_property("stolen", TextStyle::Warning, "yes");
        }
        properties.push_property("key", self.key.as_str());
        properties
    }
}

fn insurance_text(insurance: &Insurance) -> String {
    match insurance {
        Insurance::Lti(_) => "for its lifetime".to_owned(),
        Insurance::Months(months) => format!("{} months", months.months),
        _ => "in a way that is unknown to this version".to_owned(),
    }
}

impl EntryView for Ship {
    fn display_name(&self) -> String {
        let name = self.name.as_ref().map_or("", |name| name.as_str());
        format!("{} {name}", self.ship_type.name).trim_end().to_owned()
    }

    fn table_head() -> &'static [&'static str] {
        &["TYPE", "NAME", "PLACE", "UNIT", "FITTED", ">VERSION", "ID"]
    }

    fn table_row(&self, _times: TimeDisplay) -> Vec<(TextStyle, String)> {
        plain_cells([
            self.ship_type.name.clone(),
            self.name.as_ref().map_or("", |name| name.as_str()).to_owned(),
            self.location.as_ref().map_or("", |location| location.name.as_str()).to_owned(),
            self.org_unit.as_ref().map_or("", |unit| unit.shorthand.as_str()).to_owned(),
            yes_or_empty(self.fitted),
            self.version.get().to_string(),
            self.ship_id.as_str().to_owned(),
        ])
    }

    fn fact_list(&self, _times: TimeDisplay) -> PropertyList {
        let mut properties = PropertyList::default();
        properties.push_styled_property("type", TextStyle::Strong, self.ship_type.name.as_str());
        properties.push_property("type key", self.ship_type.bt.as_str());
        if let Some(name) = &self.name {
            properties.push_property("name", name.as_str());
        }
        if let Some(location) = &self.location {
            properties.push_property("place", location.name.as_str());
        }
        properties.push_property("insured", insurance_text(&self.insurance));
        properties.push_property("fitted", if self.fitted { "yes" } else { "no" });
        let unit = self
            .org_unit
            .as_ref()
            .map_or_else(|| "none".to_owned(), |unit| format!("{} ({})", unit.name, unit.id.as_str()));
        properties.push_property("unit", unit);
        if let Some(version) = &self.org_unit_version {
            properties.push_property("unit version", version.get().to_string());
        }
        properties.push_property("version", self.version.get().to_string());
        if let Some(id) = &self.external_id {
            properties.push_property("linked to", id.as_str());
        }
        properties.push_property("id", self.ship_id.as_str());
        properties
    }
}

impl EntryView for OrgStockLot {
    fn display_name(&self) -> String {
        self.material.name.clone()
    }

    fn table_head() -> &'static [&'static str] {
        &["MATERIAL", "UNIT", "PLACE", ">QUALITY", ">QUANTITY", "STOLEN", "KEY"]
    }

    fn table_row(&self, _times: TimeDisplay) -> Vec<(TextStyle, String)> {
        plain_cells([
            self.display_name(),
            self.unit.name.clone(),
            self.location.name.as_str().to_owned(),
            self.quality.get().to_string(),
            format_quantity(&self.quantity),
            yes_or_empty(self.stolen),
            self.key.as_str().to_owned(),
        ])
    }

    fn fact_list(&self, _times: TimeDisplay) -> PropertyList {
        let mut properties = PropertyList::default();
        properties.push_styled_property("material", TextStyle::Strong, self.display_name());
        properties.push_property("material key", self.material.bt.as_str());
        properties.push_property("unit", format!("{} ({})", self.unit.name, self.unit.id.as_str()));
        properties.push_property("place", self.location.name.as_str());
        properties.push_property("quality", self.quality.get().to_string());
        properties.push_property("quantity", format_quantity(&self.quantity));
        properties.push_property("for job orders", format_quantity(&self.earmarked.job_orders));
        properties.push_property("for missions", format_quantity(&self.earmarked.missions));
        if self.stolen {
            properties.push_styled_property("stolen", TextStyle::Warning, "yes");
        }
        properties.push_property("key", self.key.as_str());
        properties
    }

    fn print_details(&self, output: &mut Output) {
        let Some(entries) = &self.entries else { return };
        output.write_line("");
        let mut table = Table::new(&["ENTRY", ">VERSION", "HOLDER", ">QUANTITY", "NOTE"]);
        for entry in entries {
            table.push_styled_row(entry_row(entry));
        }
        table.print(output);
    }
}

fn entry_row(entry: &OrgStockEntry) -> Vec<(TextStyle, String)> {
    let holder = match &entry.holder {
        Holder::NamedHolder(holder) => {
            (TextStyle::Plain, format!("{} ({})", holder.name, holder.ref_.as_str()))
        }
        _ => (TextStyle::Faint, "withheld".to_owned()),
    };
    let mut cells = plain_cells([
        entry.id.as_str().to_owned(),
        entry.version.get().to_string(),
        String::new(),
        format_quantity(&entry.quantity),
        entry.note.clone().unwrap_or_default(),
    ]);
    cells[2] = holder;
    cells
}

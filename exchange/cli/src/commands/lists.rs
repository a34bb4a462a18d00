//! `list` and `show`: what the replica has, without the network.

use exchange_client::{
    api::types::{Blueprint, Holder, Insurance, OrgStockEntry, OrgStockLot, Quantity, Ship, StockLot},
    feed::Entry,
};
use serde_json::json;

use super::{App, written};
use crate::{
    args::{ListArgs, ShowArgs},
    failure::{Exit, Failure},
    output::{Look, Output},
    table::{Facts, Table},
};

/// How an entry is shown.
pub(super) trait Shown: Entry {
    /// What a search looks into.
    fn name(&self) -> String;
    /// The head of a list.
    fn head() -> &'static [&'static str];
    /// Its row.
    fn row(&self) -> Vec<(Look, String)>;
    /// All that is known.
    fn facts(&self) -> Facts;
    /// What stands below that.
    fn below(&self, output: &mut Output) {
        let _ = output;
    }
}

/// `12.5 SCU`
pub(super) fn quantity(quantity: &Quantity) -> String {
    format!("{} {}", quantity.amount.get().text(), quantity.unit)
}

fn plain<const N: usize>(cells: [String; N]) -> Vec<(Look, String)> {
    cells.into_iter().map(|cell| (Look::Plain, cell)).collect()
}

fn yes(is: bool) -> String {
    (if is { "yes" } else { "" }).to_owned()
}

pub(super) async fn list<E: Shown>(app: &App, args: &ListArgs, output: &mut Output) -> Result<Exit, Failure> {
    let part = args.part.as_deref().map(str::to_lowercase);
    let wanted = |entry: &E| part.as_deref().is_none_or(|part| entry.name().to_lowercase().contains(part));
    let (as_of, entries) = app.copies().await?.entries(wanted)?;
    let as_of = written(as_of).unwrap_or_default();
    if output.is_json() {
        output.json(&json!({ "asOf": as_of, "items": entries }));
        return Ok(Exit::Done);
    }
    if entries.is_empty() {
        output.note(if part.is_some() { "nothing of that name" } else { "nothing there" });
        return Ok(Exit::Done);
    }
    // By what people read, in the order of the columns.
    let mut rows: Vec<_> = entries.iter().map(Shown::row).collect();
    rows.sort_by_cached_key(|row| row.iter().map(|(_, cell)| cell.to_lowercase()).collect::<Vec<_>>());
    let mut table = Table::new(E::head());
    for row in rows {
        table.painted(row);
    }
    table.print(output);
    output.footnote(format!("{} as of {as_of}", counted(entries.len())))?;
    Ok(Exit::Done)
}

pub(super) async fn show<E: Shown>(app: &App, args: &ShowArgs, output: &mut Output) -> Result<Exit, Failure> {
    let Some(entry) = app.copies().await?.entry::<E>(&args.key)? else {
        let next = "look with `list`; what is new comes with `exchange sync`";
        return Err(Failure::new(Exit::Failed, format!("nothing here has the key {}", args.key), next));
    };
    if output.is_json() {
        output.json(&entry);
        return Ok(Exit::Done);
    }
    entry.facts().print(output);
    entry.below(output);
    Ok(Exit::Done)
}

fn counted(count: usize) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

impl Shown for Blueprint {
    fn name(&self) -> String {
        self.ref_.name.clone()
    }

    fn head() -> &'static [&'static str] {
        &["NAME", "ACQUIRED", "KNOWN FROM", "KEY"]
    }

    fn row(&self) -> Vec<(Look, String)> {
        let source = self.provenance.as_ref().map_or("", |provenance| provenance.source.as_str());
        let at = self.acquired_at.as_ref().map_or("", |at| at.as_str());
        plain([self.name(), at.to_owned(), source.to_owned(), self.key.as_str().to_owned()])
    }

    fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        facts.look("name", Look::Strong, self.name());
        facts.say("key", self.key.as_str());
        if let Some(at) = &self.acquired_at {
            facts.say("acquired", at.as_str());
        }
        if let Some(provenance) = &self.provenance {
            facts.say("known from", provenance.source.as_str());
        }
        if self.is_default {
            facts.say("default", "every member has it; it cannot be removed");
        }
        if let Some(note) = &self.note {
            facts.say("note", note.as_str());
        }
        facts
    }
}

impl Shown for StockLot {
    fn name(&self) -> String {
        self.material.name.clone()
    }

    fn head() -> &'static [&'static str] {
        &["MATERIAL", "PLACE", ">QUALITY", ">QUANTITY", "STOLEN", "KEY"]
    }

    fn row(&self) -> Vec<(Look, String)> {
        plain([
            self.name(),
            self.location.name.as_str().to_owned(),
            self.quality.get().to_string(),
            quantity(&self.quantity),
            yes(self.stolen),
            self.key.as_str().to_owned(),
        ])
    }

    fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        facts.look("material", Look::Strong, self.name());
        facts.say("material key", self.material.bt.as_str());
        facts.say("place", self.location.name.as_str());
        facts.say("quality", self.quality.get().to_string());
        facts.say("quantity", quantity(&self.quantity));
        if self.stolen {
            facts.look("stolen", Look::Warning, "yes");
        }
        facts.say("key", self.key.as_str());
        facts
    }
}

fn insured(insurance: &Insurance) -> String {
    match insurance {
        Insurance::Lti(_) => "for its lifetime".to_owned(),
        Insurance::Months(months) => format!("{} months", months.months),
        _ => "in a way that this version does not know".to_owned(),
    }
}

impl Shown for Ship {
    fn name(&self) -> String {
        let name = self.name.as_ref().map_or("", |name| name.as_str());
        format!("{} {name}", self.ship_type.name).trim_end().to_owned()
    }

    fn head() -> &'static [&'static str] {
        &["TYPE", "NAME", "PLACE", "UNIT", "FITTED", ">VERSION", "ID"]
    }

    fn row(&self) -> Vec<(Look, String)> {
        plain([
            self.ship_type.name.clone(),
            self.name.as_ref().map_or("", |name| name.as_str()).to_owned(),
            self.location.as_ref().map_or("", |location| location.name.as_str()).to_owned(),
            self.org_unit.as_ref().map_or("", |unit| unit.shorthand.as_str()).to_owned(),
            yes(self.fitted),
            self.version.get().to_string(),
            self.ship_id.as_str().to_owned(),
        ])
    }

    fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        facts.look("type", Look::Strong, self.ship_type.name.as_str());
        facts.say("type key", self.ship_type.bt.as_str());
        if let Some(name) = &self.name {
            facts.say("name", name.as_str());
        }
        if let Some(location) = &self.location {
            facts.say("place", location.name.as_str());
        }
        facts.say("insured", insured(&self.insurance));
        facts.say("fitted", if self.fitted { "yes" } else { "no" });
        let unit = self
            .org_unit
            .as_ref()
            .map_or_else(|| "none".to_owned(), |unit| format!("{} ({})", unit.name, unit.id.as_str()));
        facts.say("unit", unit);
        facts.say("unit version", self.org_unit_version.get().to_string());
        facts.say("version", self.version.get().to_string());
        if let Some(id) = &self.external_id {
            facts.say("linked to", id.as_str());
        }
        facts.say("id", self.ship_id.as_str());
        facts
    }
}

impl Shown for OrgStockLot {
    fn name(&self) -> String {
        self.material.name.clone()
    }

    fn head() -> &'static [&'static str] {
        &["MATERIAL", "UNIT", "PLACE", ">QUALITY", ">QUANTITY", "STOLEN", "KEY"]
    }

    fn row(&self) -> Vec<(Look, String)> {
        plain([
            self.name(),
            self.unit.name.clone(),
            self.location.name.as_str().to_owned(),
            self.quality.get().to_string(),
            quantity(&self.quantity),
            yes(self.stolen),
            self.key.as_str().to_owned(),
        ])
    }

    fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        facts.look("material", Look::Strong, self.name());
        facts.say("material key", self.material.bt.as_str());
        facts.say("unit", format!("{} ({})", self.unit.name, self.unit.id.as_str()));
        facts.say("place", self.location.name.as_str());
        facts.say("quality", self.quality.get().to_string());
        facts.say("quantity", quantity(&self.quantity));
        facts.say("for job orders", quantity(&self.earmarked.job_orders));
        facts.say("for missions", quantity(&self.earmarked.missions));
        if self.stolen {
            facts.look("stolen", Look::Warning, "yes");
        }
        facts.say("key", self.key.as_str());
        facts
    }

    fn below(&self, output: &mut Output) {
        let Some(entries) = &self.entries else { return };
        output.line("");
        let mut table = Table::new(&["ENTRY", ">VERSION", "HOLDER", ">QUANTITY", "NOTE"]);
        for entry in entries {
            table.painted(entry_row(entry));
        }
        table.print(output);
    }
}

fn entry_row(entry: &OrgStockEntry) -> Vec<(Look, String)> {
    let holder = match &entry.holder {
        Holder::NamedHolder(holder) => (Look::Plain, format!("{} ({})", holder.name, holder.ref_.as_str())),
        _ => (Look::Faint, "withheld".to_owned()),
    };
    let mut cells = plain([
        entry.id.as_str().to_owned(),
        entry.version.get().to_string(),
        String::new(),
        quantity(&entry.quantity),
        entry.note.clone().unwrap_or_default(),
    ]);
    cells[2] = holder;
    cells
}

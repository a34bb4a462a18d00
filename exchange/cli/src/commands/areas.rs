//! What is asked of the exchange directly: the installation's label, handles, the catalogue, units, demand.

use exchange_client::{
    Demand, HandleCheck, Label, MachineNames, OpenDemand, Resolution,
    api::{
        operations::OperationId,
        types::{CatalogKind, ItemDemand, MaterialDemand, OrgDemand, OrgUnit, UnitId},
    },
};
use serde_json::json;

use super::{App, envelope::item_ref, lists::quantity, typed_or_read, written};
use crate::{
    args::{self, CountBy, DemandArgs, DemandFor, Locations, Resolve},
    failure::{Exit, Failure},
    output::{Look, Output},
    table::{Facts, Table},
};

/// SVC-12: the label that the member chose.
pub(super) async fn set_label(app: &App, text: &str, output: &mut Output) -> Result<Exit, Failure> {
    let wanted = Label::new(text, &MachineNames::of_this_computer()).map_err(Failure::usage)?;
    let exchange = app.begin(OperationId::InstallationLabel, output).await?;
    let installation = exchange.label(&wanted).await?;
    if output.is_json() {
        output.json(&json!({ "label": installation.label }));
    } else {
        output.note(format!("this installation is called {}", installation.label.as_str()));
    }
    Ok(Exit::Done)
}

/// SVC-15: what follows from the answer is told; a handle with which nothing may be synchronised yet is no success.
pub(super) async fn check_handle(
    app: &App,
    args: &args::CheckHandle,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let handle = typed_or_read(&args.handle).await?;
    let exchange = app.begin(OperationId::AccountCheck, output).await?;
    let check = exchange.handles().check(handle.trim()).await?;
    let (word, look) = match check {
        HandleCheck::Match | HandleCheck::Confirmed => ("match", Look::Good),
        HandleCheck::Mismatch => ("mismatch", Look::Bad),
        _ => ("unknown", Look::Warning),
    };
    if output.is_json() {
        output.json(&json!({ "result": word, "maySync": check.may_sync(), "message": check.text() }));
    } else {
        let word = output.paint(look, word);
        output.line(format!("{word}: {}", check.text()));
    }
    Ok(if check.may_sync() { Exit::Done } else { Exit::Conflict })
}

/// RES-13: what each reference is; what is unmatched is told (CLI-04).
pub(super) async fn resolve(app: &App, args: &Resolve, output: &mut Output) -> Result<Exit, Failure> {
    let references = args.references.iter().map(item_ref).collect::<Result<Vec<_>, _>>()?;
    let exchange = app.begin(OperationId::CatalogResolve, output).await?;
    let catalogue = app.catalogue(&exchange);
    let found = catalogue.resolve(CatalogKind::from(args.kind), &references).await?;
    app.keep_catalogue(&catalogue);
    let unmatched = found.iter().filter(|lookup| lookup.resolution == Resolution::Unmatched).count();
    if output.is_json() {
        let results = args.references.iter().zip(&found).map(|(reference, lookup)| {
            let (status, entries) = match &lookup.resolution {
                Resolution::Resolved(entry) => ("resolved", std::slice::from_ref(entry)),
                Resolution::Ambiguous(entries) => ("ambiguous", entries.as_slice()),
                _ => ("unmatched", &[][..]),
            };
            json!({
                "reference": reference.0, "status": status, "entries": entries,
                "locKeyUnresolved": lookup.loc_key_unresolved,
            })
        });
        let results: Vec<_> = results.collect();
        output.json(&json!({ "results": results }));
    } else {
        let mut table = Table::new(&["REFERENCE", "STATUS", "NAME", "KEY"]);
        for (reference, lookup) in args.references.iter().zip(&found) {
            let reference = reference.0.to_string();
            let (status, look, entries) = match &lookup.resolution {
                Resolution::Resolved(entry) => ("resolved", Look::Good, std::slice::from_ref(entry)),
                Resolution::Ambiguous(entries) => ("ambiguous", Look::Warning, entries.as_slice()),
                _ => ("unmatched", Look::Bad, &[][..]),
            };
            let first = entries.first().map_or(("", ""), |entry| (entry.name.as_str(), entry.bt.as_str()));
            let row = [
                (Look::Plain, reference.as_str()),
                (look, status),
                (Look::Plain, first.0),
                (Look::Plain, first.1),
            ];
            table.painted(row.map(|(look, cell)| (look, cell.to_owned())));
            for entry in entries.iter().skip(1) {
                table.row(["", "", entry.name.as_str(), entry.bt.as_str()]);
            }
        }
        table.print(output);
    }
    if unmatched > 0 {
        output.deliver()?;
        output.warn(format!("references that match nothing: {unmatched}; they cannot be sent in a change"));
    }
    Ok(Exit::Done)
}

pub(super) async fn locations(app: &App, args: &Locations, output: &mut Output) -> Result<Exit, Failure> {
    let exchange = app.begin(OperationId::CatalogLocations, output).await?;
    let all = app.catalogue(&exchange).locations().await?;
    let part = args.part.as_deref().map(str::to_lowercase);
    let is_asked = |name: &str| part.as_deref().is_none_or(|part| name.to_lowercase().contains(part));
    let places: Vec<_> = all.iter().filter(|place| is_asked(place.name.as_str())).collect();
    if output.is_json() {
        output.json(&json!({ "items": places }));
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["PLACE", "KIND", ">ID"]);
    for place in &places {
        let link = place.uex.as_ref();
        let (kind, id) =
            (link.map_or("", |link| link.kind.as_str()), link.map(|link| link.id.get().to_string()));
        table.row([place.name.as_str(), kind, id.as_deref().unwrap_or("")]);
    }
    table.print(output);
    Ok(Exit::Done)
}

pub(super) async fn org_units(app: &App, output: &mut Output) -> Result<Exit, Failure> {
    let units = read_units(app, output).await?;
    if output.is_json() {
        output.json(&json!({ "items": units }));
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["NAME", "SHORT", "KIND", "ID"]);
    for unit in &units {
        table.row([unit.name.as_str(), unit.shorthand.as_str(), unit.kind.as_str(), unit.id.as_str()]);
    }
    table.print(output);
    Ok(Exit::Done)
}

pub(super) async fn org_unit(app: &App, args: &args::Unit, output: &mut Output) -> Result<Exit, Failure> {
    let units = read_units(app, output).await?;
    let Some(unit) = units.into_iter().find(|unit| unit.id.as_str() == args.unit) else {
        let what = format!("you belong to no unit with the id {}", args.unit);
        return Err(Failure::new(Exit::Failed, what, "look with `org-units list`"));
    };
    if output.is_json() {
        output.json(&unit);
        return Ok(Exit::Done);
    }
    let mut facts = Facts::default();
    facts.look("name", Look::Strong, unit.name.as_str());
    facts.say("short", unit.shorthand.as_str());
    facts.say("kind", unit.kind.as_str());
    facts.say("id", unit.id.as_str());
    facts.print(output);
    Ok(Exit::Done)
}

async fn read_units(app: &App, output: &mut Output) -> Result<Vec<OrgUnit>, Failure> {
    let exchange = app.begin(OperationId::OrgUnitsRead, output).await?;
    Ok(exchange.api().org_units_read().await.map_err(exchange_client::Error::from)?.into_body().items)
}

pub(super) async fn members(app: &App, unit: &str, output: &mut Output) -> Result<Exit, Failure> {
    let unit = UnitId::new(unit).map_err(|_| Failure::usage("this is no unit: see `org-units list`"))?;
    let exchange = app.begin(OperationId::OrgStockMembers, output).await?;
    let roster =
        exchange.api().org_stock_members(&unit).await.map_err(exchange_client::Error::from)?.into_body();
    if output.is_json() {
        output.json(&json!({ "unit": roster.unit, "items": roster.items }));
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["NAME", "REF"]);
    for member in &roster.items {
        table.row([member.name.as_str(), member.ref_.as_str()]);
    }
    table.print(output);
    Ok(Exit::Done)
}

/// DEM-07, DEM-08: one count, never both; withheld demand says why.
pub(super) async fn demand(app: &App, args: &DemandArgs, output: &mut Output) -> Result<Exit, Failure> {
    let document = read_demand(app, output).await?;
    let Some(open) = opened(document, output) else { return Ok(Exit::Done) };
    let (items, materials) = counted(&open, args.by);
    if output.is_json() {
        let (by, updated_at) = (by(args.by), open.updated_at());
        output.json(&json!({ "updatedAt": updated_at, "by": by, "items": items, "materials": materials }));
        return Ok(Exit::Done);
    }
    if items.is_empty() && materials.is_empty() {
        output.note("nothing is open");
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["WANTED", ">OPEN", ">QUALITY FROM", "CRAFTABLE BY YOU", "KEY"]);
    for line in items {
        let craftable = if line.craftable_by_me { "yes" } else { "" };
        let key = line.item.bt.as_ref().map_or("", |key| key.as_str());
        table.row([name_of(&line.item.name), &pieces(line), "", craftable, key]);
    }
    for line in materials {
        let (open, quality) = (quantity(&line.open_quantity), line.min_quality.get().to_string());
        table.row([name_of(&line.material.name), &open, &quality, "", line.material.bt.as_str()]);
    }
    table.print(output);
    output.footnote(format!("as of {}, internal to your organisation", open.updated_at().as_str()))?;
    Ok(Exit::Done)
}

/// What is open of one item or material, by its key or its name.
pub(super) async fn demand_for(app: &App, args: &DemandFor, output: &mut Output) -> Result<Exit, Failure> {
    let document = read_demand(app, output).await?;
    let Some(open) = opened(document, output) else { return Ok(Exit::Done) };
    let (items, materials) = counted(&open, args.counted.by);
    let asked = |key: Option<&str>, name: &Option<String>| {
        key == Some(args.key.as_str()) || name_of(name).to_lowercase() == args.key.to_lowercase()
    };
    let is_item = |line: &&ItemDemand| asked(line.item.bt.as_ref().map(|key| key.as_str()), &line.item.name);
    let is_material = |line: &&MaterialDemand| asked(Some(line.material.bt.as_str()), &line.material.name);
    let items: Vec<_> = items.iter().filter(is_item).collect();
    let materials: Vec<_> = materials.into_iter().filter(is_material).collect();
    if items.is_empty() && materials.is_empty() {
        let what = format!("nothing is open of {}", args.key);
        return Err(Failure::new(Exit::Failed, what, "look with `demand list`, counted the same way"));
    }
    if output.is_json() {
        let (by, updated_at) = (by(args.counted.by), open.updated_at());
        output.json(&json!({ "updatedAt": updated_at, "by": by, "items": items, "materials": materials }));
        return Ok(Exit::Done);
    }
    for (at, line) in items.iter().enumerate() {
        let mut facts = Facts::default();
        facts.look("item", Look::Strong, name_of(&line.item.name));
        facts.say("key", line.item.bt.as_ref().map_or("", |key| key.as_str()));
        facts.say("open", pieces(line));
        facts.say("craftable", if line.craftable_by_me { "by you" } else { "not by you" });
        apart(at, &facts, output);
    }
    for (at, line) in materials.iter().enumerate() {
        let mut facts = Facts::default();
        facts.look("material", Look::Strong, name_of(&line.material.name));
        facts.say("key", line.material.bt.as_str());
        facts.say("open", quantity(&line.open_quantity));
        facts.say("quality from", line.min_quality.get().to_string());
        facts.say("ordered as", line.source.as_str());
        let ores: Vec<_> = line.raw_refs.iter().map(|ore| name_of(&ore.name)).collect();
        if !ores.is_empty() {
            facts.say("refined from", ores.join(", "));
        }
        apart(items.len() + at, &facts, output);
    }
    output.footnote(format!("as of {}, internal to your organisation", open.updated_at().as_str()))?;
    Ok(Exit::Done)
}

/// An empty line between what is shown one below the other.
fn apart(at: usize, facts: &Facts, output: &mut Output) {
    if at > 0 {
        output.line("");
    }
    facts.print(output);
}

/// DEM-11: asks at most every five minutes, over processes too, and counts what came to nothing. What is kept of an
/// installation that this is not any more is not shown (DEM-10).
async fn read_demand(app: &App, output: &mut Output) -> Result<OrgDemand, Failure> {
    let now = app.now();
    let copies = app.copies().await?;
    let read = async {
        let exchange = app.begin(OperationId::DemandRead, output).await?;
        let connection = app.connection(&exchange, output).await?;
        app.read_for(&exchange, connection, output).await?;
        let replica = app.replica()?;
        replica.note_demand_asked(now)?;
        let read = exchange.read_demand(connection).await?;
        // Not where somebody else signed in meanwhile, for whom it would be taken (DEM-10).
        replica.keep_demand(&read, connection, now)?;
        Ok::<_, Failure>(read)
    };
    let (document, trouble) = copies.demand_or(now, read).await?;
    if let Some((read_at, failure)) = trouble {
        let why = failure.envelope().map_or_else(String::new, |told| told.message);
        let read_at = written(read_at).unwrap_or_default();
        output
            .warn(format!("the demand cannot be read now, and is shown as it was read at {read_at}: {why}"));
    }
    Ok(document)
}

/// Open demand; withheld demand says why (DEM-07).
fn opened(document: OrgDemand, output: &mut Output) -> Option<OpenDemand> {
    let updated_at = document.updated_at.clone();
    match Demand::from(document) {
        Demand::Open(open) => Some(open),
        Demand::Withheld(withheld) => {
            let reason = withheld.reason().as_str().to_owned();
            if output.is_json() {
                output.json(&json!({ "updatedAt": updated_at, "withheld": reason }));
            }
            output.warn(withheld);
            None
        }
    }
}

/// One count or the other, never both (DEM-08).
fn counted(open: &OpenDemand, by: CountBy) -> (&[ItemDemand], Vec<&MaterialDemand>) {
    match by {
        CountBy::Items => (open.by_items().items(), open.by_items().materials().collect()),
        CountBy::Materials => (&[], open.by_materials().materials().iter().collect()),
    }
}

const fn by(count: CountBy) -> &'static str {
    match count {
        CountBy::Items => "items",
        CountBy::Materials => "materials",
    }
}

fn name_of(name: &Option<String>) -> &str {
    name.as_deref().unwrap_or("")
}

fn pieces(line: &ItemDemand) -> String {
    format!("{} {}", line.open_quantity.amount.get().text(), line.open_quantity.unit)
}

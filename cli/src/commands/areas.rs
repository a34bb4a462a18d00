//! What is asked of the exchange directly: the installation's label, handles, the catalogue, units, demand.

use exchange_client::{
    Demand, DemandCadence, HandleCheck, Handles, Label, MachineNames, Resolution,
    api::{
        operations::OperationId,
        types::{CatalogKind, UnitId},
    },
    label,
};
use serde_json::json;

use super::{App, envelope::item_ref, lists::quantity, typed_or_read};
use crate::{
    args::{self, CountBy, DemandArgs, Locations, Resolve},
    failure::{Exit, Failure},
    output::{Look, Output},
    table::Table,
};

/// SVC-12: the label that the member chose.
pub(super) async fn set_label(app: &App, text: &str, output: &mut Output) -> Result<Exit, Failure> {
    let wanted = Label::new(text, &MachineNames::of_this_computer()).map_err(Failure::usage)?;
    let exchange = app.begin(OperationId::InstallationLabel, output).await?;
    let installation = label(exchange.api(), &wanted).await?;
    app.session().await?.note_label(installation.label.as_str()).await?;
    if output.is_json() {
        output.json(&json!({ "label": installation.label }));
    } else {
        output.note(format!("this installation is called {}", installation.label.as_str()));
    }
    Ok(Exit::Done)
}

/// SVC-15: what follows from the answer is told; a handle of somebody else's is no success.
pub(super) async fn check_handle(
    app: &App,
    args: &args::CheckHandle,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let handle = typed_or_read(&args.handle)?;
    let exchange = app.begin(OperationId::AccountCheck, output).await?;
    let check = Handles::new(exchange.api().clone()).check(handle.trim()).await?;
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
    Ok(if check == HandleCheck::Mismatch { Exit::Conflict } else { Exit::Done })
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
    let exchange = app.begin(OperationId::OrgUnitsRead, output).await?;
    let units = exchange.api().org_units_read().await.map_err(exchange_client::Error::from)?.into_body();
    if output.is_json() {
        output.json(&json!({ "items": units.items }));
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["NAME", "SHORT", "KIND", "ID"]);
    for unit in &units.items {
        table.row([unit.name.as_str(), unit.shorthand.as_str(), unit.kind.as_str(), unit.id.as_str()]);
    }
    table.print(output);
    Ok(Exit::Done)
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

/// DEM-07, DEM-08, DEM-11: withheld demand says why and is dropped; one count, never both; at most every five
/// minutes, over processes too.
pub(super) async fn demand(app: &App, args: &DemandArgs, output: &mut Output) -> Result<Exit, Failure> {
    let replica = app.replica()?;
    let now = app.now();
    let kept = replica.demand(now)?;
    let fresh =
        kept.as_ref().is_some_and(|(_, read_at)| !DemandCadence::since(*read_at).due_in(now).is_zero());
    let document = match kept {
        Some((document, _)) if fresh => document,
        _ => {
            let exchange = app.begin(OperationId::DemandRead, output).await?;
            let read = exchange.api().demand_read().await.map_err(exchange_client::Error::from)?.into_body();
            replica.keep_demand(&read, now)?;
            read
        }
    };
    let updated_at = document.updated_at.clone();
    let open = match Demand::from(document) {
        Demand::Open(open) => open,
        Demand::Withheld(withheld) => {
            let reason = withheld.reason().as_str().to_owned();
            if output.is_json() {
                output.json(&json!({ "updatedAt": updated_at, "withheld": reason }));
            }
            output.warn(withheld);
            return Ok(Exit::Done);
        }
    };
    let (items, materials): (&[_], Vec<_>) = match args.by {
        CountBy::Items => (open.by_items().items(), open.by_items().materials().collect()),
        CountBy::Materials => (&[], open.by_materials().materials().iter().collect()),
    };
    if output.is_json() {
        let by = if args.by == CountBy::Items { "items" } else { "materials" };
        output.json(&json!({ "updatedAt": updated_at, "by": by, "items": items, "materials": materials }));
        return Ok(Exit::Done);
    }
    if items.is_empty() && materials.is_empty() {
        output.note("nothing is open");
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["WANTED", ">OPEN", ">QUALITY FROM", "CRAFTABLE BY YOU"]);
    for line in items {
        let name = line.item.name.clone().unwrap_or_default();
        let open = format!("{} {}", line.open_quantity.amount.get().text(), line.open_quantity.unit);
        table.row([
            name,
            open,
            String::new(),
            if line.craftable_by_me { "yes".to_owned() } else { String::new() },
        ]);
    }
    for line in materials {
        let name = line.material.name.clone().unwrap_or_default();
        table.row([name, quantity(&line.open_quantity), line.min_quality.get().to_string(), String::new()]);
    }
    table.print(output);
    output.note(format!("as of {}, internal to your organisation", updated_at.as_str()));
    Ok(Exit::Done)
}

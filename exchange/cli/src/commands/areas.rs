//! Commands that read directly from the exchange: label, handles, catalogue, org units and demand.

use exchange_client::{
    ComputerNames, Demand, HandleCheck, Label, OpenDemand, ReferenceResolution,
    api::{
        operations::OperationId,
        types::{CatalogKind, ItemDemand, MaterialDemand, OrgDemand, OrgUnit, UnitId},
    },
};
use serde_json::json;

use super::{
    CommandContext, envelope::parse_item_ref, format_timestamp, lists::format_quantity, resolve_dash,
};
use crate::{
    args::{self, CountBy, DemandArgs, DemandShowArgs, LocationsArgs, ResolveArgs},
    error::{CommandError, ExitStatus},
    output::{Output, TextStyle},
    table::{PropertyList, Table},
};

/// SVC-12: sets the label that the member chose.
pub(super) async fn set_label(
    context: &CommandContext,
    text: &str,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let wanted = Label::new(text, &ComputerNames::detect()).map_err(CommandError::from_usage_error)?;
    let exchange = context.exchange_for_operation(OperationId::InstallationLabel, output).await?;
    let installation = exchange.set_label(&wanted).await?;
    if output.is_json() {
        output.write_json(&json!({ "label": installation.label }));
    } else {
        output.print_note(format!("the label of this installation is now {}", installation.label.as_str()));
    }
    Ok(ExitStatus::Success)
}

/// SVC-15: checks a handle and prints whether it may be synchronized. If it may not, the exit code is not
/// success.
pub(super) async fn check_handle(
    context: &CommandContext,
    args: &args::CheckHandleArgs,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let handle = resolve_dash(&args.handle).await?;
    let exchange = context.exchange_for_operation(OperationId::AccountCheck, output).await?;
    let check = exchange.handles().check(handle.trim()).await?;
    let (word, style) = match check {
        HandleCheck::Match | HandleCheck::Confirmed => ("match", TextStyle::Good),
        HandleCheck::Mismatch => ("mismatch", TextStyle::Bad),
        _ => ("unknown", TextStyle::Warning),
    };
    if output.is_json() {
        output
            .write_json(&json!({ "result": word, "maySync": check.may_sync(), "message": check.message() }));
    } else {
        let word = output.apply_style(style, word);
        output.write_line(format!("{word}: {}", check.message()));
    }
    Ok(if check.may_sync() { ExitStatus::Success } else { ExitStatus::Conflict })
}

/// RES-13: resolves references in the catalogue, and warns about references without a match (CLI-04).
pub(super) async fn resolve_references(
    context: &CommandContext,
    args: &ResolveArgs,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let references = args.references.iter().map(parse_item_ref).collect::<Result<Vec<_>, _>>()?;
    let exchange = context.exchange_for_operation(OperationId::CatalogResolve, output).await?;
    let catalogue = context.catalogue(&exchange);
    let found = catalogue.resolve(CatalogKind::from(args.kind), &references).await?;
    context.save_catalogue(&catalogue);
    let unmatched = found.iter().filter(|lookup| lookup.resolution == ReferenceResolution::Unmatched).count();
    if output.is_json() {
        let results = args.references.iter().zip(&found).map(|(reference, lookup)| {
            let (status, entries) = match &lookup.resolution {
                ReferenceResolution::Resolved(entry) => ("resolved", std::slice::from_ref(entry)),
                ReferenceResolution::Ambiguous(entries) => ("ambiguous", entries.as_slice()),
                _ => ("unmatched", &[][..]),
            };
            json!({
                "reference": reference.0, "status": status, "entries": entries,
                "locKeyUnresolved": lookup.loc_key_unresolved,
            })
        });
        let results: Vec<_> = results.collect();
        output.write_json(&json!({ "results": results }));
    } else {
        let mut table = Table::new(&["REFERENCE", "STATUS", "NAME", "KEY"]);
        for (reference, lookup) in args.references.iter().zip(&found) {
            let reference = reference.0.to_string();
            let (status, style, entries) = match &lookup.resolution {
                ReferenceResolution::Resolved(entry) => {
                    ("resolved", TextStyle::Good, std::slice::from_ref(entry))
                }
                ReferenceResolution::Ambiguous(entries) => {
                    ("ambiguous", TextStyle::Warning, entries.as_slice())
                }
                _ => ("unmatched", TextStyle::Bad, &[][..]),
            };
            let first = entries.first().map_or(("", ""), |entry| (entry.name.as_str(), entry.bt.as_str()));
            let row = [
                (TextStyle::Plain, reference.as_str()),
                (style, status),
                (TextStyle::Plain, first.0),
                (TextStyle::Plain, first.1),
            ];
            table.push_styled_row(row.map(|(style, cell)| (style, cell.to_owned())));
            for entry in entries.iter().skip(1) {
                table.push_row(["", "", entry.name.as_str(), entry.bt.as_str()]);
            }
        }
        table.print(output);
    }
    if unmatched > 0 {
        output.flush_data()?;
        output.print_warning(format!("unmatched references: {unmatched}; they cannot be used in a change"));
    }
    Ok(ExitStatus::Success)
}

pub(super) async fn list_locations(
    context: &CommandContext,
    args: &LocationsArgs,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let exchange = context.exchange_for_operation(OperationId::CatalogLocations, output).await?;
    let all = context.catalogue(&exchange).locations().await?;
    let part = args.part.as_deref().map(str::to_lowercase);
    let is_asked = |name: &str| part.as_deref().is_none_or(|part| name.to_lowercase().contains(part));
    let places: Vec<_> = all.iter().filter(|place| is_asked(place.name.as_str())).collect();
    if output.is_json() {
        output.write_json(&json!({ "items": places }));
        return Ok(ExitStatus::Success);
    }
    let mut table = Table::new(&["PLACE", "KIND", ">ID"]);
    for place in &places {
        let link = place.uex.as_ref();
        let (kind, id) =
            (link.map_or("", |link| link.kind.as_str()), link.map(|link| link.id.get().to_string()));
        table.push_row([place.name.as_str(), kind, id.as_deref().unwrap_or("")]);
    }
    table.print(output);
    Ok(ExitStatus::Success)
}

pub(super) async fn list_org_units(
    context: &CommandContext,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let units = read_units(context, output).await?;
    if output.is_json() {
        output.write_json(&json!({ "items": units }));
        return Ok(ExitStatus::Success);
    }
    let mut table = Table::new(&["NAME", "SHORT", "KIND", "ID"]);
    for unit in &units {
        table.push_row([unit.name.as_str(), unit.shorthand.as_str(), unit.kind.as_str(), unit.id.as_str()]);
    }
    table.print(output);
    Ok(ExitStatus::Success)
}

pub(super) async fn show_org_unit(
    context: &CommandContext,
    args: &args::UnitArgs,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let units = read_units(context, output).await?;
    let Some(unit) = units.into_iter().find(|unit| unit.id.as_str() == args.unit) else {
        let what = format!("you are not a member of a unit with the id {}", args.unit);
        return Err(CommandError::new(ExitStatus::Failure, what, "see `org-units list`"));
    };
    if output.is_json() {
        output.write_json(&unit);
        return Ok(ExitStatus::Success);
    }
    let mut properties = PropertyList::default();
    properties.push_styled_property("name", TextStyle::Strong, unit.name.as_str());
    properties.push_property("short", unit.shorthand.as_str());
    properties.push_property("kind", unit.kind.as_str());
    properties.push_property("id", unit.id.as_str());
    properties.print(output);
    Ok(ExitStatus::Success)
}

async fn read_units(context: &CommandContext, output: &mut Output) -> Result<Vec<OrgUnit>, CommandError> {
    let exchange = context.exchange_for_operation(OperationId::OrgUnitsRead, output).await?;
    let list = exchange.api().org_units_read().await.map_err(exchange_client::Error::from)?.into_body();
    Ok(list.items.unwrap_or_default())
}

pub(super) async fn list_members(
    context: &CommandContext,
    unit: &str,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let unit = UnitId::new(unit)
        .map_err(|_| CommandError::from_usage_error("invalid unit id: see `org-units list`"))?;
    let exchange = context.exchange_for_operation(OperationId::OrgStockMembers, output).await?;
    let roster =
        exchange.api().org_stock_members(&unit).await.map_err(exchange_client::Error::from)?.into_body();
    if output.is_json() {
        output.write_json(&json!({ "unit": roster.unit, "items": roster.items.unwrap_or_default() }));
        return Ok(ExitStatus::Success);
    }
    let mut table = Table::new(&["NAME", "REF"]);
    for member in roster.items.iter().flatten() {
        table.push_row([member.name.as_str(), member.ref_.as_str()]);
    }
    table.print(output);
    Ok(ExitStatus::Success)
}

/// DEM-07, DEM-08: prints the demand counted by items or by materials, never by both, or the reason why the
/// demand is withheld.
pub(super) async fn list_demand(
    context: &CommandContext,
    args: &DemandArgs,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let document = read_demand(context, output).await?;
    let Some(open) = unwrap_open_demand(document, output) else { return Ok(ExitStatus::Success) };
    let (items, materials) = count_demand(&open, args.by);
    if output.is_json() {
        let (by, updated_at) = (count_name(args.by), open.updated_at());
        output.write_json(
            &json!({ "updatedAt": updated_at, "by": by, "items": items, "materials": materials }),
        );
        return Ok(ExitStatus::Success);
    }
    if items.is_empty() && materials.is_empty() {
        output.print_note("no open demand");
        return Ok(ExitStatus::Success);
    }
    let mut table = Table::new(&["WANTED", ">OPEN", ">QUALITY FROM", "CRAFTABLE BY YOU", "KEY"]);
    for line in items {
        let craftable = if line.craftable_by_me { "yes" } else { "" };
        let key = line.item.bt.as_ref().map_or("", |key| key.as_str());
        table.push_row([name_or_empty(&line.item.name), &format_open_quantity(line), "", craftable, key]);
    }
    for line in materials {
        let (open, quality) = (format_quantity(&line.open_quantity), line.min_quality.get().to_string());
        table.push_row([name_or_empty(&line.material.name), &open, &quality, "", line.material.bt.as_str()]);
    }
    table.print(output);
    output.print_footnote(format!(
        "as of {}, internal to your organisation",
        output.times().format(open.updated_at().as_str())
    ))?;
    Ok(ExitStatus::Success)
}

/// Prints the demand for one item or material, which the user selects by key or by name.
pub(super) async fn show_demand(
    context: &CommandContext,
    args: &DemandShowArgs,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let document = read_demand(context, output).await?;
    let Some(open) = unwrap_open_demand(document, output) else { return Ok(ExitStatus::Success) };
    let (items, materials) = count_demand(&open, args.counted.by);
    let requested = |key: Option<&str>, name: &Option<String>| {
        key == Some(args.key.as_str()) || name_or_empty(name).to_lowercase() == args.key.to_lowercase()
    };
    let is_item =
        |line: &&ItemDemand| requested(line.item.bt.as_ref().map(|key| key.as_str()), &line.item.name);
    let is_material =
        |line: &&MaterialDemand| requested(Some(line.material.bt.as_str()), &line.material.name);
    let items: Vec<_> = items.iter().filter(is_item).collect();
    let materials: Vec<_> = materials.into_iter().filter(is_material).collect();
    if items.is_empty() && materials.is_empty() {
        let what = format!("no open demand for {}", args.key);
        return Err(CommandError::new(ExitStatus::Failure, what, "see `demand list` with the same --by"));
    }
    if output.is_json() {
        let (by, updated_at) = (count_name(args.counted.by), open.updated_at());
        output.write_json(
            &json!({ "updatedAt": updated_at, "by": by, "items": items, "materials": materials }),
        );
        return Ok(ExitStatus::Success);
    }
    for (index, line) in items.iter().enumerate() {
        let mut properties = PropertyList::default();
        properties.push_styled_property("item", TextStyle::Strong, name_or_empty(&line.item.name));
        properties.push_property("key", line.item.bt.as_ref().map_or("", |key| key.as_str()));
        properties.push_property("open", format_open_quantity(line));
        properties.push_property("craftable", if line.craftable_by_me { "by you" } else { "not by you" });
        print_separated(index, &properties, output);
    }
    for (index, line) in materials.iter().enumerate() {
        let mut properties = PropertyList::default();
        properties.push_styled_property("material", TextStyle::Strong, name_or_empty(&line.material.name));
        properties.push_property("key", line.material.bt.as_str());
        properties.push_property("open", format_quantity(&line.open_quantity));
        properties.push_property("quality from", line.min_quality.get().to_string());
        properties.push_property("ordered as", line.source.as_str());
        let ores: Vec<_> = line.raw_refs.iter().map(|ore| name_or_empty(&ore.name)).collect();
        if !ores.is_empty() {
            properties.push_property("refined from", ores.join(", "));
        }
        print_separated(items.len() + index, &properties, output);
    }
    output.print_footnote(format!(
        "as of {}, internal to your organisation",
        output.times().format(open.updated_at().as_str())
    ))?;
    Ok(ExitStatus::Success)
}

/// Prints properties, with an empty line before them unless they are the first ones.
fn print_separated(at: usize, properties: &PropertyList, output: &mut Output) {
    if at > 0 {
        output.write_line("");
    }
    properties.print(output);
}

/// DEM-11: requests the demand at most once every five minutes, also across processes. Failed requests count
/// as well. The cached demand of another installation is not displayed (DEM-10).
async fn read_demand(context: &CommandContext, output: &mut Output) -> Result<OrgDemand, CommandError> {
    let now = context.wall_clock_now();
    let copies = context.replica_view().await?;
    let read = async {
        let exchange = context.exchange_for_operation(OperationId::DemandRead, output).await?;
        let connection = context.connection(&exchange, output).await?;
        context.start_sync(&exchange, connection, output).await?;
        let replica = context.replica()?;
        replica.note_demand_request(now)?;
        let read = exchange.read_demand(connection).await?;
        // Fails if another member has signed in since, because that member would see the wrong demand
        // (DEM-10).
        replica.store_demand(&read, connection, now)?;
        Ok::<_, CommandError>(read)
    };
    let (document, failure) = copies.read_or_cached_demand(now, read).await?;
    if let Some((read_at, failure)) = failure {
        let why = failure.to_report().map_or_else(String::new, |report| report.message);
        let read_at = output.times().format(&format_timestamp(read_at).unwrap_or_default());
        output.print_warning(format!("cannot read the demand now, showing that of {read_at}: {why}"));
    }
    Ok(document)
}

/// Returns the open demand. If the demand is withheld, prints the reason and returns `None` (DEM-07).
fn unwrap_open_demand(document: OrgDemand, output: &mut Output) -> Option<OpenDemand> {
    let updated_at = document.updated_at.clone();
    match Demand::from(document) {
        Demand::Open(open) => Some(open),
        Demand::Withheld(withheld) => {
            let reason = withheld.reason().as_str().to_owned();
            if output.is_json() {
                output.write_json(&json!({ "updatedAt": updated_at, "withheld": reason }));
            }
            output.print_warning(withheld);
            None
        }
    }
}

/// Returns the demand counted by items or by materials, never by both (DEM-08).
fn count_demand(open: &OpenDemand, by: CountBy) -> (&[ItemDemand], Vec<&MaterialDemand>) {
    match by {
        CountBy::Items => (open.by_items().items(), open.by_items().materials().collect()),
        CountBy::Materials => (&[], open.by_materials().materials().iter().collect()),
    }
}

const fn count_name(count: CountBy) -> &'static str {
    match count {
        CountBy::Items => "items",
        CountBy::Materials => "materials",
    }
}

fn name_or_empty(name: &Option<String>) -> &str {
    name.as_deref().unwrap_or("")
}

fn format_open_quantity(line: &ItemDemand) -> String {
    format!("{} {}", line.open_quantity.amount.get().to_json_text(), line.open_quantity.unit)
}

//! Finds the quantities of lots in the replica, for `stock set` and `stock move` without explicit quantities.

use exchange_client::api::{Contract as _, Json, types::StockLot};

use super::CommandContext;
use crate::{
    args::{
        ops::LotDescription,
        values::{QuantityValue, property},
    },
    error::{CommandError, ExitStatus},
};

/// Returns the quantity of each lot as of the last `sync`, or `None` for a lot that the member does not hold.
///
/// # Errors
/// Returns an error if stock was not read yet, if the replica cannot find the material or the place by the kind of
/// reference, or if the member holds the material there only with another quality.
pub(super) async fn held_quantities<const N: usize>(
    context: &CommandContext,
    wanted: [LotDescription<'_>; N],
) -> Result<[Option<QuantityValue>; N], CommandError> {
    let view = context.replica_view().await?;
    let (_, lots) = view.entries::<StockLot>(|_| true)?;
    let mut held = [const { None }; N];
    // The source of a move must exist with this quality; a target may be new.
    for (index, (held, wanted)) in held.iter_mut().zip(wanted).enumerate() {
        *held = find_quantity(&lots, wanted, index == 0)?;
    }
    Ok(held)
}

fn find_quantity(
    lots: &[StockLot],
    wanted: LotDescription<'_>,
    names_other_qualities: bool,
) -> Result<Option<QuantityValue>, CommandError> {
    let mut other_qualities = Vec::new();
    for lot in lots {
        if !is_material(lot, wanted.material)? || !is_place(lot, wanted.place)? || lot.stolen != wanted.stolen
        {
            continue;
        }
        let quality = lot.quality.get();
        if quality == wanted.quality {
            let quantity = lot.quantity.to_json().map_err(CommandError::from_usage_error)?;
            return Ok(Some(QuantityValue(quantity)));
        }
        other_qualities.push(quality);
    }
    if other_qualities.is_empty() || !names_other_qualities {
        return Ok(None);
    }
    other_qualities.sort_unstable();
    let found: Vec<_> = other_qualities.iter().map(ToString::to_string).collect();
    let what = format!("you hold this at quality {}, not at quality {}", found.join(", "), wanted.quality);
    let next = format!("add --quality {}, or --from 0scu for a new lot", found[0]);
    Err(CommandError::new(ExitStatus::Usage, what, next))
}

/// Returns true if the reference names the material of the lot. Names are compared without case, as by the exchange.
fn is_material(lot: &StockLot, reference: &Json) -> Result<bool, CommandError> {
    match (property(reference, "bt"), property(reference, "name")) {
        (Some(Json::String(key)), _) => Ok(lot.material.bt.as_str() == key),
        (None, Some(Json::String(name))) => {
            Ok(lot.material.name.to_lowercase() == name.trim().to_lowercase())
        }
        _ => {
            let what = "the last `sync` contains only names and bt keys of materials";
            Err(CommandError::new(
                ExitStatus::Usage,
                what,
                "use the name, or give the old quantities with --from",
            ))
        }
    }
}

/// Returns true if the reference names the place of the lot.
fn is_place(lot: &StockLot, reference: &Json) -> Result<bool, CommandError> {
    if let Some(Json::String(name)) = property(reference, "name") {
        return Ok(lot.location.name.as_str() == name);
    }
    let link = lot.location.uex.as_ref().map(|link| (link.kind.as_str().to_owned(), link.id.get()));
    let wanted =
        property(reference, "uex").and_then(|link| match (property(link, "kind"), property(link, "id")) {
            (Some(Json::String(kind)), Some(Json::Number(id))) => Some((kind.clone(), id.as_i64()?)),
            _ => None,
        });
    Ok(wanted.is_some() && link == wanted)
}

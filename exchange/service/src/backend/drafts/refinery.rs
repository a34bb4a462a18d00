//! Refinery orders: the review form, which is filled in from a draft's first order, and the order that the
//! member accepts (DRF-10, DRF-11, WEB-10).

use contract_runtime::Number;
use exchange_api::types::{PanelType, RefineryDraft, RefineryGood as Sent, RefineryOrder as SentOrder};
use serde::{Deserialize, Serialize};

use super::super::connection::parse_timestamp;
use super::super::warehouse::trimmed_decimal;
use crate::catalogue::CatalogueIndex;
use crate::catalogue::contents::EntryKind;
use crate::time::Moment;

const VERSION: i64 = 1;
/// The maximum amount of a good, in thousandths of SCU.
const MAX_THOUSANDTHS: i64 = 1_000_000_000_000;
/// The maximum expenses, in aUEC.
const MAX_EXPENSES: i64 = 1_000_000_000;
/// The maximum duration, in minutes: one leap year.
const MAX_MINUTES: i64 = 366 * 24 * 60;
/// The maximum quality (LIM-31).
const MAX_QUALITY: i64 = 1000;
/// The maximum length of a form field, in characters.
const MAX_FIELD_CHARS: usize = 255;

/// The fields of the review form, as the client read them from the game's refinery panel or as the member
/// corrected them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefineryPanel {
    /// The name of the refinery's location.
    pub location: String,
    /// The sent name of the location, unless exactly one visible location has this name. The page shows it to
    /// help the member pick a location.
    #[serde(default)]
    pub read_location: Option<String>,
    /// The name of the refining method.
    pub method: String,
    /// The duration in minutes, as a string.
    pub minutes: String,
    /// The expenses in aUEC, as a string.
    pub expenses: String,
    /// The rows of goods.
    pub goods: Vec<PanelRow>,
    /// Further orders of the draft, which cannot be accepted.
    pub further: Vec<FurtherOrder>,
}

/// A row of the review form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PanelRow {
    /// The name of the material.
    pub material: String,
    /// The input amount in SCU, as a string.
    pub input: String,
    /// The output amount in SCU, as a string.
    pub output: String,
    /// The quality of the material, as a string.
    pub quality: String,
    /// Whether the material is refined.
    pub refine: bool,
}

/// An order of a draft that the review only mentions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FurtherOrder {
    /// The panel type of the order, as sent.
    pub panel: String,
    /// The name of the refinery's location, as sent.
    pub location: String,
    /// The number of goods in the order.
    pub goods: usize,
}

/// A refinery order that the member accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefineryOrder {
    /// The stored key of the refinery's location in the warehouse.
    pub location: Option<String>,
    /// The name of the refining method.
    pub method: Option<String>,
    /// The duration, in minutes.
    pub minutes: Option<i64>,
    /// The expenses, in aUEC.
    pub expenses: Option<i64>,
    /// The goods of the order.
    pub goods: Vec<RefineryGood>,
}

/// A row of a refinery order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefineryGood {
    /// The stored key of the material.
    pub material: String,
    /// The input amount, in thousandths of SCU.
    pub input: i64,
    /// The output amount, in thousandths of SCU.
    pub output: Option<i64>,
    /// The quality, from 0 to 1000.
    pub quality: Option<i64>,
    /// Whether the material is refined.
    pub refine: bool,
}

/// An accepted refinery order with its display names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedOrder {
    /// The id of the order.
    pub id: String,
    /// The time at which the member accepted the order.
    pub saved_at: Moment,
    /// The display name of the refinery's location.
    pub location: Option<String>,
    /// The content of the order.
    pub order: RefineryOrder,
    /// The display names of the goods, in the order of `order.goods`.
    pub names: Vec<String>,
}

/// Fills in the form from the first order of a draft. Returns `None` for invalid content (DRF-11), including
/// a calendar date that does not exist (CON-06).
pub(super) fn prepare_panel(body: RefineryDraft) -> Option<RefineryPanel> {
    let images = body.orders.iter().flat_map(|order| &order.source_images);
    let mut moments = images.filter_map(|image| image.captured_at.as_ref()).chain(&body.generated_at);
    if body.schema_version != VERSION || moments.any(|at| parse_timestamp(at).is_none()) {
        return None;
    }
    let mut orders = body.orders.into_iter();
    let first = orders.next().filter(|first| first.panel_type == PanelType::Setup)?;
    let further = |order: SentOrder| FurtherOrder {
        panel: order.panel_type.as_str().to_owned(),
        location: order.raw_location_name.unwrap_or_default(),
        goods: order.goods.len(),
    };
    Some(RefineryPanel {
        location: first.raw_location_name.unwrap_or_default(),
        read_location: None,
        method: first.raw_method_name.unwrap_or_default(),
        minutes: first.duration_minutes.map(|minutes| minutes.to_string()).unwrap_or_default(),
        expenses: format_number(first.expenses.as_ref(), 0),
        goods: first.goods.iter().map(PanelRow::from_sent).collect(),
        further: orders.map(further).collect(),
    })
}

impl PanelRow {
    fn from_sent(sent: &Sent) -> Self {
        Self {
            material: sent.raw_material_name.clone(),
            input: format_number(Some(&sent.input_quantity), 3),
            output: format_number(sent.output_quantity.as_ref(), 3),
            quality: format_number(sent.quality.as_ref(), 3),
            refine: sent.refine,
        }
    }

    /// Returns a remark about a quality that cannot be saved (DRF-09), or `None`.
    #[must_use]
    pub fn quality_remark(&self) -> Option<String> {
        let is_valid = parse_amount(&self.quality, 0, MAX_QUALITY).is_some();
        (!is_valid).then(|| format!("The quality must be a number between 0 and {MAX_QUALITY}."))
    }
}

/// Formats a number, rounded to `decimals` places. A number above the maximum is formatted as it was sent.
fn format_number(number: Option<&Number>, decimals: u8) -> String {
    let Some(number) = number else { return String::new() };
    match number.to_scaled_i64(decimals).filter(|digits| *digits <= MAX_THOUSANDTHS) {
        Some(digits) => format_decimal(digits, decimals),
        None => number.to_json_text().chars().take(MAX_FIELD_CHARS).collect(),
    }
}

/// Formats an amount in thousandths as a decimal number.
#[must_use]
pub fn format_thousandths(amount: i64) -> String {
    format_decimal(amount, 3)
}

/// Formats an integer as a decimal number with the given number of decimals, without trailing zeros.
fn format_decimal(digits: i64, decimals: u8) -> String {
    trimmed_decimal(digits, decimals).to_json_text().into_owned()
}

impl RefineryPanel {
    /// Converts the form into an order. Ignores rows without a material.
    ///
    /// # Errors
    /// Returns one message per invalid field, to be shown to the member.
    pub(super) fn to_order(&self, index: &CatalogueIndex) -> Result<RefineryOrder, Vec<String>> {
        let mut errors = Vec::new();
        let location = match self.location.trim() {
            "" => None,
            name => {
                let place = place_of(index, name);
                if place.is_none() {
                    errors.push(
                        "The place is not in the warehouse: pick one, or leave the field empty.".to_owned(),
                    );
                }
                place
            }
        };
        if self.method.chars().count() > MAX_FIELD_CHARS {
            errors.push("The method is longer than 255 characters.".to_owned());
        }
        let mut field = |name: &str, text: &str, decimals: u8, limit: i64| {
            let read = parse_amount(text, decimals, limit);
            if read.is_none() {
                errors.push(format!(
                    "{name} must be a number between 0 and {}.",
                    format_decimal(limit, decimals)
                ));
            }
            read.flatten()
        };
        let minutes = field("The duration", &self.minutes, 0, MAX_MINUTES);
        let expenses = field("The expenses", &self.expenses, 0, MAX_EXPENSES);
        let (mut goods, mut left_out) = (Vec::new(), Vec::new());
        for (position, good) in (1..).zip(&self.goods).filter(|(_, good)| !good.material.trim().is_empty()) {
            let input = field(&format!("Row {position}: the input amount"), &good.input, 3, MAX_THOUSANDTHS);
            let is_left_out = good.input.trim().is_empty();
            let output =
                field(&format!("Row {position}: the output amount"), &good.output, 3, MAX_THOUSANDTHS);
            let quality = field(&format!("Row {position}: the quality"), &good.quality, 0, MAX_QUALITY);
            goods.push((position, good, input, output, quality));
            left_out.extend(is_left_out.then(|| format!("Row {position}: enter the input amount.")));
        }
        errors.append(&mut left_out);
        let good = |(position, good, input, output, quality): (i32, &PanelRow, Option<i64>, _, _)| {
            let material = material_of(index, &good.material);
            if material.is_none() {
                errors.push(format!("Row {position}: unknown material."));
            }
            let refine = good.refine;
            Some(RefineryGood { material: material?, input: input?, output, quality, refine })
        };
        let goods: Vec<_> = goods.into_iter().filter_map(good).collect();
        if goods.is_empty() && errors.is_empty() {
            errors.push("No row names a material.".to_owned());
        }
        let method = Some(self.method.trim().to_owned()).filter(|method| !method.is_empty());
        if errors.is_empty() {
            Ok(RefineryOrder { location, method, minutes, expenses, goods })
        } else {
            Err(errors)
        }
    }

    /// Replaces each name that resolves uniquely with the catalogue's name. Moves the name of an unknown
    /// location to `read_location`.
    pub(super) fn with_catalogue_names(mut self, index: &CatalogueIndex) -> Self {
        let place = place_of(index, &self.location).and_then(|id| index.locations().get(&id));
        let read = match place {
            Some(place) => std::mem::replace(&mut self.location, place.name.clone()),
            None => std::mem::take(&mut self.location),
        };
        self.read_location = Some(read).filter(|read| place.is_none() && !read.trim().is_empty());
        for good in &mut self.goods {
            if let Some(id) = material_of(index, &good.material) {
                good.material = index.name_of(EntryKind::Material, &id);
            }
        }
        self
    }
}

/// Finds a location of the warehouse by its name, ignoring case. Returns `None` unless exactly one location
/// matches.
fn place_of(index: &CatalogueIndex, name: &str) -> Option<String> {
    let name = name.trim().to_lowercase();
    let mut found =
        index.locations().visible_locations().iter().filter(|place| place.name.to_lowercase() == name);
    found.next().filter(|_| found.next().is_none()).map(|place| place.id.clone())
}

fn material_of(index: &CatalogueIndex, name: &str) -> Option<String> {
    let name: String = name.trim().chars().take(200).collect();
    let reference = exchange_api::types::ItemRef::by_name(name).ok()?;
    index.find_unique(EntryKind::Material, &reference).map(|entry| entry.id.clone())
}

/// Parses a field. Returns `Some(None)` if it is empty, and `None` if it is not a number from 0 to `limit`.
fn parse_amount(text: &str, decimals: u8, limit: i64) -> Option<Option<i64>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(None);
    }
    if text.len() > 64 {
        return None;
    }
    let number = Number::parse(text).ok().filter(|number| *number >= Number::from_i64(0))?;
    number.to_scaled_i64(decimals).filter(|digits| *digits <= limit).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_fields_accept_human_input() {
        for (text, read) in [
            ("", Some(None)),
            (" 7 ", Some(Some(7000))),
            ("1.2345", Some(Some(1235))),
            ("0", Some(Some(0))),
            ("-1", None),
            ("1,5", None),
            ("x", None),
            ("1e99", None),
            ("1e9", Some(Some(MAX_THOUSANDTHS))),
            ("1000000000.001", None),
        ] {
            assert_eq!(parse_amount(text, 3, MAX_THOUSANDTHS), read, "{text}");
        }
        assert_eq!(parse_amount(&"0".repeat(65), 3, MAX_THOUSANDTHS), None);
        assert_eq!(
            (format_decimal(1500, 3), format_decimal(0, 3), format_decimal(7, 0)),
            ("1.5".into(), "0".into(), "7".into())
        );
        assert_eq!(
            format_number(Some(&Number::parse("1e400").unwrap()), 3),
            "1e400",
            "a number above the maximum is shown as it was sent"
        );
        assert_eq!(format_number(None, 3), "");
    }
}

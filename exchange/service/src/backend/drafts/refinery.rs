//! Refinery orders: of a draft the first one, as it fills in the form of the review, and what the member makes of
//! it (DRF-10, DRF-11, WEB-10).

use contract_runtime::Number;
use exchange_api::types::{PanelType, RefineryDraft, RefineryGood as Sent, RefineryOrder as SentOrder};
use serde::{Deserialize, Serialize};

use super::super::connection::moment;
use super::super::warehouse::decimal;
use crate::catalogue::Index;
use crate::catalogue::contents::Kind;
use crate::time::Moment;

/// The one version of the format.
const VERSION: i64 = 1;
/// The greatest amount of a good, in thousandths.
const MOST: i64 = 1_000_000_000_000;
/// The greatest expenses, in aUEC.
const DEAREST: i64 = 1_000_000_000;
/// The longest duration: a year, in minutes.
const LONGEST: i64 = 366 * 24 * 60;
/// The best quality (LIM-31).
const BEST: i64 = 1000;
/// The longest text of a field.
const LONGEST_TEXT: usize = 255;

/// A panel as it was read, or as the member corrected it: what stands in the fields of the form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Panel {
    /// The name of the place.
    pub location: String,
    /// The place as it was read, where the warehouse has none of that name: what the member goes by to pick one.
    #[serde(default)]
    pub read_location: Option<String>,
    /// The name of the method.
    pub method: String,
    /// How long it takes.
    pub minutes: String,
    /// What it costs.
    pub expenses: String,
    /// Its rows.
    pub goods: Vec<Good>,
    /// The orders that came along and are not taken over.
    pub further: Vec<Further>,
}

/// A row of a panel, as it stands in the fields of the form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Good {
    /// The material's name.
    pub material: String,
    /// What goes in.
    pub input: String,
    /// What comes out.
    pub output: String,
    /// The material's quality.
    pub quality: String,
    /// Whether it is refined.
    pub refine: bool,
}

/// An order of a draft that is only reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Further {
    /// Its kind of panel.
    pub panel: String,
    /// Where it is, as read.
    pub location: String,
    /// How many rows it has.
    pub goods: usize,
}

/// A refinery order as the member took it over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefineryOrder {
    /// A location of the warehouse, by the key that the store has.
    pub location: Option<String>,
    /// The method.
    pub method: Option<String>,
    /// How long it takes, in minutes.
    pub minutes: Option<i64>,
    /// What it costs, in aUEC.
    pub expenses: Option<i64>,
    /// What is refined.
    pub goods: Vec<RefineryGood>,
}

/// A row of a refinery order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefineryGood {
    /// The material, by the key that the store has.
    pub material: String,
    /// What goes in, in thousandths.
    pub input: i64,
    /// What comes out, in thousandths.
    pub output: Option<i64>,
    /// The material's quality.
    pub quality: Option<i64>,
    /// Whether it is refined.
    pub refine: bool,
}

/// A refinery order that the member took over, with the names of what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedOrder {
    /// Its id.
    pub id: String,
    /// When it was taken over.
    pub saved_at: Moment,
    /// The name of its place.
    pub location: Option<String>,
    /// What it holds.
    pub order: RefineryOrder,
    /// The names of its goods, in their order.
    pub names: Vec<String>,
}

/// The form of a draft's first order; none for content that is refused (DRF-11), a day that there is not among it
/// (CON-06).
pub(super) fn prepare(body: RefineryDraft) -> Option<Panel> {
    let images = body.orders.iter().flat_map(|order| &order.source_images);
    let mut moments = images.filter_map(|image| image.captured_at.as_ref()).chain(&body.generated_at);
    if body.schema_version != VERSION || moments.any(|at| moment(at).is_none()) {
        return None;
    }
    let mut orders = body.orders.into_iter();
    let first = orders.next().filter(|first| first.panel_type == PanelType::Setup)?;
    let further = |order: SentOrder| Further {
        panel: order.panel_type.as_str().to_owned(),
        location: order.raw_location_name.unwrap_or_default(),
        goods: order.goods.len(),
    };
    Some(Panel {
        location: first.raw_location_name.unwrap_or_default(),
        read_location: None,
        method: first.raw_method_name.unwrap_or_default(),
        minutes: first.duration_minutes.map(|minutes| minutes.to_string()).unwrap_or_default(),
        expenses: shown(first.expenses.as_ref(), 0),
        goods: first.goods.iter().map(Good::of).collect(),
        further: orders.map(further).collect(),
    })
}

impl Good {
    fn of(sent: &Sent) -> Self {
        Self {
            material: sent.raw_material_name.clone(),
            input: shown(Some(&sent.input_quantity), 3),
            output: shown(sent.output_quantity.as_ref(), 3),
            quality: sent.quality.as_ref().map(ToString::to_string).unwrap_or_default(),
            refine: sent.refine,
        }
    }
}

/// A number as a person writes it, rounded to so many decimals; one that is too great as it was sent, for the member to
/// see.
fn shown(number: Option<&Number>, decimals: u8) -> String {
    let Some(number) = number else { return String::new() };
    match number.scaled(decimals).filter(|digits| *digits <= MOST) {
        Some(digits) => written(digits, decimals),
        None => number.text().chars().take(LONGEST_TEXT).collect(),
    }
}

/// An amount in thousandths, as a person writes it.
#[must_use]
pub fn thousandths(amount: i64) -> String {
    written(amount, 3)
}

/// Digits with so many decimals, without zeros at their end.
fn written(digits: i64, decimals: u8) -> String {
    decimal(digits, decimals).text().into_owned()
}

impl Panel {
    /// What the form comes to, or what is wrong in it, in words for the member. Rows without a material are left
    /// out.
    pub(super) fn order(&self, index: &Index) -> Result<RefineryOrder, Vec<String>> {
        let mut wrong = Vec::new();
        let location = match self.location.trim() {
            "" => None,
            name => {
                let place = place_of(index, name);
                if place.is_none() {
                    wrong.push("The place is none of the warehouse: pick one, or leave it empty.".to_owned());
                }
                place
            }
        };
        if self.method.chars().count() > LONGEST_TEXT {
            wrong.push("The method has more than 255 characters.".to_owned());
        }
        let mut field = |name: &str, text: &str, decimals: u8, most: i64| {
            let read = amount(text, decimals, most);
            if read.is_none() {
                wrong.push(format!("{name} is no number between 0 and {}.", written(most, decimals)));
            }
            read.flatten()
        };
        let minutes = field("The duration", &self.minutes, 0, LONGEST);
        let expenses = field("The expenses", &self.expenses, 0, DEAREST);
        let (mut goods, mut left_out) = (Vec::new(), Vec::new());
        for (at, good) in (1..).zip(&self.goods).filter(|(_, good)| !good.material.trim().is_empty()) {
            let input = field(&format!("Row {at}: what goes in"), &good.input, 3, MOST);
            let is_left_out = good.input.trim().is_empty();
            let output = field(&format!("Row {at}: what comes out"), &good.output, 3, MOST);
            let quality = field(&format!("Row {at}: the quality"), &good.quality, 0, BEST);
            goods.push((at, good, input, output, quality));
            left_out.extend(is_left_out.then(|| format!("Row {at}: say what goes in.")));
        }
        wrong.append(&mut left_out);
        let good = |(at, good, input, output, quality): (i32, &Good, Option<i64>, _, _)| {
            let material = material_of(index, &good.material);
            if material.is_none() {
                wrong.push(format!("Row {at}: the material is not known."));
            }
            let refine = good.refine;
            Some(RefineryGood { material: material?, input: input?, output, quality, refine })
        };
        let goods: Vec<_> = goods.into_iter().filter_map(good).collect();
        if goods.is_empty() && wrong.is_empty() {
            wrong.push("No row names a material.".to_owned());
        }
        let method = Some(self.method.trim().to_owned()).filter(|method| !method.is_empty());
        if wrong.is_empty() {
            Ok(RefineryOrder { location, method, minutes, expenses, goods })
        } else {
            Err(wrong)
        }
    }

    /// The same with the names that the catalogue has, wherever what was read finds exactly one. A place that finds none
    /// is no place to fill in, and stands beside the field.
    pub(super) fn named(mut self, index: &Index) -> Self {
        let place = place_of(index, &self.location).and_then(|id| index.places().get(&id));
        let read = match place {
            Some(place) => std::mem::replace(&mut self.location, place.name.clone()),
            None => std::mem::take(&mut self.location),
        };
        self.read_location = Some(read).filter(|read| place.is_none() && !read.trim().is_empty());
        for good in &mut self.goods {
            if let Some(id) = material_of(index, &good.material) {
                good.material = index.name_of(Kind::Material, &id);
            }
        }
        self
    }
}

/// A place of the warehouse by its name, ignoring case.
fn place_of(index: &Index, name: &str) -> Option<String> {
    let name = name.trim().to_lowercase();
    let mut found = index.places().all().iter().filter(|place| place.name.to_lowercase() == name);
    found.next().filter(|_| found.next().is_none()).map(|place| place.id.clone())
}

/// A material by its name, as the catalogue resolves it.
fn material_of(index: &Index, name: &str) -> Option<String> {
    let name: String = name.trim().chars().take(200).collect();
    let reference = exchange_api::types::ItemRef::by_name(name).ok()?;
    index.find(Kind::Material, &reference).map(|entry| entry.id.clone())
}

/// A number of a field: none for an empty one, and nothing at all for what is no number, or too great.
fn amount(text: &str, decimals: u8, most: i64) -> Option<Option<i64>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(None);
    }
    if text.len() > 64 {
        return None;
    }
    let number = Number::parse(text).ok().filter(|number| *number >= Number::int(0))?;
    number.scaled(decimals).filter(|digits| *digits <= most).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_people_write_them() {
        for (text, read) in [
            ("", Some(None)),
            (" 7 ", Some(Some(7000))),
            ("1.2345", Some(Some(1235))),
            ("0", Some(Some(0))),
            ("-1", None),
            ("1,5", None),
            ("x", None),
            ("1e99", None),
            ("1e9", Some(Some(MOST))),
            ("1000000000.001", None),
        ] {
            assert_eq!(amount(text, 3, MOST), read, "{text}");
        }
        assert_eq!(amount(&"0".repeat(65), 3, MOST), None);
        assert_eq!((written(1500, 3), written(0, 3), written(7, 0)), ("1.5".into(), "0".into(), "7".into()));
        assert_eq!(shown(Some(&Number::parse("1e400").unwrap()), 3), "1e400", "what no field holds is seen");
        assert_eq!(shown(None, 3), "");
    }
}

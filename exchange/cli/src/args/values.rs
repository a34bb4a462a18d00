//! Parsers for argument values, which produce JSON in the format of the contract.

use std::str::FromStr;

use exchange_client::api::{Json, Map, Number};

/// A builder of a JSON object. It keeps the order of its calls and omits absent values.
#[derive(Clone, Debug, Default)]
pub(crate) struct JsonObject(Map<Json>);

impl JsonObject {
    pub(crate) fn for_op(op: &str) -> Self {
        Self::default().with("op", op)
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Json>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn with_optional<T: Into<Json>>(self, name: &str, value: Option<T>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds a boolean property if it is true.
    pub(crate) fn with_flag(self, name: &str, set: bool) -> Self {
        if set { self.with(name, true) } else { self }
    }

    /// Adds an array property if it is not empty.
    pub(crate) fn with_list(self, name: &str, values: Vec<Json>) -> Self {
        if values.is_empty() { self } else { self.with(name, values) }
    }
}

impl From<JsonObject> for Json {
    fn from(object: JsonObject) -> Self {
        Self::Object(object.0)
    }
}

/// A catalogue reference: a name, a kind of key and its value separated by a colon, or a JSON object with
/// several keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CatalogueReference(pub(crate) Json);

impl FromStr for CatalogueReference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with('{') {
            return Json::parse(text.as_bytes()).map(Self).map_err(|error| error.to_string());
        }
        let fields =
            [("bt", "bt"), ("record", "scRecord"), ("guid", "scGuid"), ("loc", "locKey"), ("name", "name")];
        if let Some((field, value)) = text.split_once(':') {
            if let Some((_, member)) = fields.iter().find(|(short, _)| *short == field) {
                return Ok(Self(JsonObject::default().with(member, value.trim_start_matches('@')).into()));
            }
            if field == "uex" {
                let id: i64 = value.parse().map_err(|_| {
                    format!("{text:?} is not a UEX id: expected a whole number, such as uex:42")
                })?;
                return Ok(Self(JsonObject::default().with("uexId", id).into()));
            }
        }
        // A string that starts with `@` is a localization key of the game.
        let member = if text.starts_with('@') { "locKey" } else { "name" };
        Ok(Self(JsonObject::default().with(member, text.trim_start_matches('@')).into()))
    }
}

/// A place: its exact name, or its id in the external catalogue (UEX).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LocationValue(pub(crate) Json);

impl FromStr for LocationValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kinds = [("city", "CITY"), ("station", "SPACE_STATION")];
        let linked = text.split_once(':').and_then(|(kind, id)| {
            let (_, kind) = kinds.iter().find(|(short, _)| *short == kind)?;
            Some((*kind, id))
        });
        let Some((kind, id)) = linked else {
            return Ok(Self(JsonObject::default().with("name", text).into()));
        };
        let id: i64 = id
            .parse()
            .map_err(|_| format!("{text:?} is not a UEX id: expected a whole number, such as city:42"))?;
        let link = JsonObject::default().with("kind", kind).with("id", id);
        Ok(Self(JsonObject::default().with("uex", Json::from(link)).into()))
    }
}

/// A quantity such as `12.5scu` or `40pc`. The amount stays decimal and is never converted to binary floating
/// point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QuantityValue(pub(crate) Json);

impl FromStr for QuantityValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("{text:?} is not a quantity like 12.5scu or 40pc");
        let lower = text.trim().to_ascii_lowercase();
        let units =
            [("scu", "SCU"), ("pieces", "PIECE"), ("piece", "PIECE"), ("pcs", "PIECE"), ("pc", "PIECE")];
        let (number, unit) = units
            .iter()
            .find_map(|(end, unit)| Some((lower.strip_suffix(end)?, *unit)))
            .ok_or_else(wanted)?;
        let number = Number::parse(number.trim()).map_err(|_| wanted())?;
        Ok(Self(JsonObject::default().with("amount", number).with("unit", unit).into()))
    }
}

/// Returns a property of a JSON object.
pub(crate) fn property<'j>(json: &'j Json, name: &str) -> Option<&'j Json> {
    match json {
        Json::Object(properties) => properties.get(name),
        _ => None,
    }
}

impl QuantityValue {
    /// Returns a quantity of zero with the same unit.
    pub(crate) fn zero(&self) -> Self {
        let unit = property(&self.0, "unit").cloned().unwrap_or(Json::Null);
        Self(JsonObject::default().with("amount", Number::from_i64(0)).with("unit", unit).into())
    }

    /// Adds a quantity of the same unit. Returns `None` for different units, or if the sum is too large.
    pub(crate) fn plus(&self, other: &Self) -> Option<Self> {
        self.combine(other, i64::checked_add)
    }

    /// Subtracts a quantity of the same unit. Returns `None` for different units, or if the other one is greater.
    pub(crate) fn minus(&self, other: &Self) -> Option<Self> {
        self.combine(other, i64::checked_sub).filter(|rest| rest.thousandths().is_some_and(|rest| rest >= 0))
    }

    fn combine(&self, other: &Self, combine: fn(i64, i64) -> Option<i64>) -> Option<Self> {
        if property(&self.0, "unit") != property(&other.0, "unit") {
            return None;
        }
        let sum = combine(self.thousandths()?, other.thousandths()?)?;
        let text =
            format!("{}{}.{:03}", if sum < 0 { "-" } else { "" }, (sum / 1000).abs(), (sum % 1000).abs());
        let text = text.trim_end_matches('0').trim_end_matches('.');
        let amount = Number::parse(text).ok()?;
        let unit = property(&self.0, "unit").cloned()?;
        Some(Self(JsonObject::default().with("amount", amount).with("unit", unit).into()))
    }

    /// Returns the amount in thousandths, as the exchange stores SCU (TYP-06).
    fn thousandths(&self) -> Option<i64> {
        match property(&self.0, "amount")? {
            Json::Number(number) => number.to_scaled_i64(3),
            _ => None,
        }
    }
}

/// Formats the quantity as it is typed.
impl std::fmt::Display for QuantityValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let amount = match property(&self.0, "amount") {
            Some(Json::Number(number)) => number.to_json_text().into_owned(),
            _ => String::new(),
        };
        let unit = match property(&self.0, "unit") {
            Some(Json::String(unit)) if unit == "PIECE" => "pc",
            _ => "scu",
        };
        write!(f, "{amount}{unit}")
    }
}

/// An insurance: `lifetime`, or a number of months.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InsuranceValue(pub(crate) Json);

impl FromStr for InsuranceValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if matches!(text, "lifetime" | "lti") {
            return Ok(Self(JsonObject::default().with("kind", "LTI").into()));
        }
        let months: i64 = text
            .trim_end_matches("months")
            .trim_end_matches('m')
            .trim()
            .parse()
            .map_err(|_| format!("{text:?} is neither `lifetime` nor a number of months"))?;
        Ok(Self(JsonObject::default().with("kind", "MONTHS").with("months", months).into()))
    }
}

/// A part of a quantity that is reserved for a job order or mission, written as `TARGET=QUANTITY`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReservationShare {
    target: String,
    quantity: QuantityValue,
}

impl ReservationShare {
    /// Returns the JSON of the share. `kind` is the property that names the target, such as `jobOrder`.
    pub(crate) fn to_json(&self, kind: &str) -> Json {
        JsonObject::default()
            .with(kind, self.target.as_str())
            .with("quantity", self.quantity.0.clone())
            .into()
    }
}

impl FromStr for ReservationShare {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (target, quantity) =
            text.rsplit_once('=').ok_or_else(|| format!("{text:?} is not a reservation like ID=2.5scu"))?;
        Ok(Self { target: target.to_owned(), quantity: quantity.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json<T: FromStr<Err = String>>(text: &str, json: fn(T) -> Json) -> Result<String, String> {
        text.parse::<T>().map(|value| json(value).to_string())
    }

    /// TYP-03: every field of a reference can be given, and a localization key with or without its `@`.
    #[test]
    fn references_are_names_or_fields() {
        let reference = |text: &str| json::<CatalogueReference>(text, |value| value.0).unwrap();
        assert_eq!(reference("Sandbox Rifle"), r#"{"name":"Sandbox Rifle"}"#);
        assert_eq!(reference("A: B"), r#"{"name":"A: B"}"#);
        assert_eq!(reference("bt:bp-1"), r#"{"bt":"bp-1"}"#);
        assert_eq!(reference("loc:@item_x"), r#"{"locKey":"item_x"}"#);
        assert_eq!(reference("@item_x"), r#"{"locKey":"item_x"}"#);
        assert_eq!(reference("record:BP"), r#"{"scRecord":"BP"}"#);
        assert_eq!(reference("uex:7"), r#"{"uexId":7}"#);
        assert_eq!(reference(r#"{"name": "x", "bt": "y"}"#), r#"{"name":"x","bt":"y"}"#);
        assert!(json::<CatalogueReference>("uex:x", |value| value.0).is_err());
        assert!(json::<CatalogueReference>("{", |value| value.0).is_err());
    }

    /// Quantities require a unit and keep their decimal digits.
    #[test]
    fn quantities_have_units() {
        let amount = |text: &str| json::<QuantityValue>(text, |value| value.0);
        assert_eq!(amount("12.30scu").unwrap(), r#"{"amount":12.30,"unit":"SCU"}"#);
        assert_eq!(amount("0.1 SCU").unwrap(), r#"{"amount":0.1,"unit":"SCU"}"#);
        assert_eq!(amount("40pc").unwrap(), r#"{"amount":40,"unit":"PIECE"}"#);
        assert_eq!(amount("1 piece").unwrap(), r#"{"amount":1,"unit":"PIECE"}"#);
        for none in ["", "12", "scu", "a scu", "1,5scu", "0x1pc"] {
            assert!(amount(none).is_err(), "{none}");
        }
    }

    #[test]
    fn short_forms_of_places_shares_and_insurance() {
        let place = |text: &str| json::<LocationValue>(text, |value| value.0).unwrap();
        assert_eq!(place("Area 18"), r#"{"name":"Area 18"}"#);
        assert_eq!(place("city:3"), r#"{"uex":{"kind":"CITY","id":3}}"#);
        assert_eq!(place("Pier: 3"), r#"{"name":"Pier: 3"}"#);
        let share: ReservationShare = "a=b=2scu".parse().unwrap();
        assert_eq!(
            share.to_json("jobOrder").to_string(),
            r#"{"jobOrder":"a=b","quantity":{"amount":2,"unit":"SCU"}}"#
        );
        let insured = |text: &str| json::<InsuranceValue>(text, |value| value.0);
        assert_eq!(insured("lifetime").unwrap(), r#"{"kind":"LTI"}"#);
        assert_eq!(insured("6m").unwrap(), r#"{"kind":"MONTHS","months":6}"#);
        assert_eq!(insured("120").unwrap(), r#"{"kind":"MONTHS","months":120}"#);
        assert!(insured("never").is_err());
    }
}

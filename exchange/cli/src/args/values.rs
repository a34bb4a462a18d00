//! Values of arguments as the contract has them.

use std::str::FromStr;

use exchange_client::api::{Json, Map, Number};

/// A JSON object under construction, in the order of the calls; what is not given is left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Object(Map<Json>);

impl Object {
    pub(crate) fn of(op: &str) -> Self {
        Self::default().with("op", op)
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Json>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn maybe<T: Into<Json>>(self, name: &str, value: Option<T>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// A flag that is left out unless it is set.
    pub(crate) fn flag(self, name: &str, set: bool) -> Self {
        if set { self.with(name, true) } else { self }
    }

    /// A list that is left out when it is empty.
    pub(crate) fn list(self, name: &str, values: Vec<Json>) -> Self {
        if values.is_empty() { self } else { self.with(name, values) }
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        Self::Object(object.0)
    }
}

/// A reference to the catalogue: a name, a field of it before a colon, or JSON with several fields.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reference(pub(crate) Json);

impl FromStr for Reference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with('{') {
            return Json::parse(text.as_bytes()).map(Self).map_err(|error| error.to_string());
        }
        let fields =
            [("bt", "bt"), ("record", "scRecord"), ("guid", "scGuid"), ("loc", "locKey"), ("name", "name")];
        if let Some((field, value)) = text.split_once(':') {
            if let Some((_, member)) = fields.iter().find(|(short, _)| *short == field) {
                return Ok(Self(Object::default().with(member, value.trim_start_matches('@')).into()));
            }
            if field == "uex" {
                let id: i64 =
                    value.parse().map_err(|_| format!("{value:?} is no id of the external catalogue"))?;
                return Ok(Self(Object::default().with("uexId", id).into()));
            }
        }
        // The key of a name in the game's data.
        let member = if text.starts_with('@') { "locKey" } else { "name" };
        Ok(Self(Object::default().with(member, text.trim_start_matches('@')).into()))
    }
}

/// A place: its exact name, or its id in the external catalogue.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place(pub(crate) Json);

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kinds = [("city", "CITY"), ("station", "SPACE_STATION")];
        let linked = text.split_once(':').and_then(|(kind, id)| {
            let (_, kind) = kinds.iter().find(|(short, _)| *short == kind)?;
            Some((*kind, id))
        });
        let Some((kind, id)) = linked else { return Ok(Self(Object::default().with("name", text).into())) };
        let id: i64 = id.parse().map_err(|_| format!("{id:?} is no id of the external catalogue"))?;
        let link = Object::default().with("kind", kind).with("id", id);
        Ok(Self(Object::default().with("uex", Json::from(link)).into()))
    }
}

/// `12.5scu`, `40pc`: exact, never through binary floating point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Amount(pub(crate) Json);

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("{text:?} is no quantity like 12.5scu or 40pc");
        let lower = text.trim().to_ascii_lowercase();
        let units =
            [("scu", "SCU"), ("pieces", "PIECE"), ("piece", "PIECE"), ("pcs", "PIECE"), ("pc", "PIECE")];
        let (number, unit) = units
            .iter()
            .find_map(|(end, unit)| Some((lower.strip_suffix(end)?, *unit)))
            .ok_or_else(wanted)?;
        let number = Number::parse(number.trim()).map_err(|_| wanted())?;
        Ok(Self(Object::default().with("amount", number).with("unit", unit).into()))
    }
}

/// `lifetime`, or months.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Insured(pub(crate) Json);

impl FromStr for Insured {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if matches!(text, "lifetime" | "lti") {
            return Ok(Self(Object::default().with("kind", "LTI").into()));
        }
        let months: i64 = text
            .trim_end_matches("months")
            .trim_end_matches('m')
            .trim()
            .parse()
            .map_err(|_| format!("{text:?} is neither `lifetime` nor a number of months"))?;
        Ok(Self(Object::default().with("kind", "MONTHS").with("months", months).into()))
    }
}

/// `TARGET=QUANTITY`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Share {
    target: String,
    quantity: Amount,
}

impl Share {
    /// As it stands in a list of shares for targets of this kind.
    pub(crate) fn of(&self, kind: &str) -> Json {
        Object::default().with(kind, self.target.as_str()).with("quantity", self.quantity.0.clone()).into()
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (target, quantity) =
            text.rsplit_once('=').ok_or_else(|| format!("{text:?} is no share like ID=2.5scu"))?;
        Ok(Self { target: target.to_owned(), quantity: quantity.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json<T: FromStr<Err = String>>(text: &str, json: fn(T) -> Json) -> Result<String, String> {
        text.parse::<T>().map(|value| json(value).to_string())
    }

    /// TYP-03: whatever is known of an entry can be typed, a key of the game's data without its `@`.
    #[test]
    fn references_are_names_or_fields() {
        let reference = |text: &str| json::<Reference>(text, |value| value.0).unwrap();
        assert_eq!(reference("Sandbox Rifle"), r#"{"name":"Sandbox Rifle"}"#);
        assert_eq!(reference("A: B"), r#"{"name":"A: B"}"#);
        assert_eq!(reference("bt:bp-1"), r#"{"bt":"bp-1"}"#);
        assert_eq!(reference("loc:@item_x"), r#"{"locKey":"item_x"}"#);
        assert_eq!(reference("@item_x"), r#"{"locKey":"item_x"}"#);
        assert_eq!(reference("record:BP"), r#"{"scRecord":"BP"}"#);
        assert_eq!(reference("uex:7"), r#"{"uexId":7}"#);
        assert_eq!(reference(r#"{"name": "x", "bt": "y"}"#), r#"{"name":"x","bt":"y"}"#);
        assert!(json::<Reference>("uex:x", |value| value.0).is_err());
        assert!(json::<Reference>("{", |value| value.0).is_err());
    }

    /// Amounts are exact.
    #[test]
    fn quantities_have_units() {
        let amount = |text: &str| json::<Amount>(text, |value| value.0);
        assert_eq!(amount("12.30scu").unwrap(), r#"{"amount":12.30,"unit":"SCU"}"#);
        assert_eq!(amount("0.1 SCU").unwrap(), r#"{"amount":0.1,"unit":"SCU"}"#);
        assert_eq!(amount("40pc").unwrap(), r#"{"amount":40,"unit":"PIECE"}"#);
        assert_eq!(amount("1 piece").unwrap(), r#"{"amount":1,"unit":"PIECE"}"#);
        for none in ["", "12", "scu", "a scu", "1,5scu", "0x1pc"] {
            assert!(amount(none).is_err(), "{none}");
        }
    }

    #[test]
    fn places_shares_and_insurance_are_typed_short() {
        let place = |text: &str| json::<Place>(text, |value| value.0).unwrap();
        assert_eq!(place("Area 18"), r#"{"name":"Area 18"}"#);
        assert_eq!(place("city:3"), r#"{"uex":{"kind":"CITY","id":3}}"#);
        assert_eq!(place("Pier: 3"), r#"{"name":"Pier: 3"}"#);
        let share: Share = "a=b=2scu".parse().unwrap();
        assert_eq!(
            share.of("jobOrder").to_string(),
            r#"{"jobOrder":"a=b","quantity":{"amount":2,"unit":"SCU"}}"#
        );
        let insured = |text: &str| json::<Insured>(text, |value| value.0);
        assert_eq!(insured("lifetime").unwrap(), r#"{"kind":"LTI"}"#);
        assert_eq!(insured("6m").unwrap(), r#"{"kind":"MONTHS","months":6}"#);
        assert_eq!(insured("120").unwrap(), r#"{"kind":"MONTHS","months":120}"#);
        assert!(insured("never").is_err());
    }
}

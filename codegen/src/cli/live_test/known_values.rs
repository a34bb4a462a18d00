//! Collects values of path parameters from responses.

use std::collections::BTreeMap;

use contract_runtime::{Json, Map};

/// The properties of objects that a service returned, by the path of the operation.
#[derive(Debug, Default)]
pub(super) struct KnownValues(BTreeMap<String, BTreeMap<String, Json>>);

impl KnownValues {
    /// Records the scalar properties of the first object in a response body: an object, an item of a list, or an
    /// item of a list in a property.
    pub(super) fn add_response(&mut self, path: &str, body: &[u8]) {
        let Ok(value) = Json::parse(body) else { return };
        let Some(object) = first_object(&value) else { return };
        let known = self.0.entry(path.to_owned()).or_default();
        for (name, value) in object.iter() {
            if matches!(value, Json::String(_) | Json::Number(_)) {
                known.entry(name.to_owned()).or_insert_with(|| value.clone());
            }
        }
    }

    /// Returns values of the path parameters of an operation. The value of `{id}` in `/tickets/{id}` comes from
    /// a response of `/tickets`: from the property with the name of the parameter, or from `id`.
    pub(super) fn path_values(&self, path: &str) -> BTreeMap<String, Json> {
        let mut values = BTreeMap::new();
        let mut parent = String::new();
        for segment in path.split('/').skip(1) {
            if let Some(name) = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
                let known = self.0.get(&parent);
                let value = known.and_then(|known| known.get(name).or_else(|| known.get("id")));
                values.extend(value.map(|value| (name.to_owned(), value.clone())));
            }
            parent = format!("{parent}/{segment}");
        }
        values
    }
}

fn first_object(value: &Json) -> Option<&Map<Json>> {
    match value {
        Json::Array(items) => items.iter().find_map(Json::as_object),
        Json::Object(members) => {
            let lists = members.iter().filter_map(|(_, value)| value.as_array());
            lists.flat_map(|items| items.iter()).find_map(Json::as_object).or(Some(members))
        }
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic on failure")]
mod tests {
    use super::*;

    #[test]
    fn path_values_come_from_the_responses_of_parent_paths() {
        let mut known = KnownValues::default();
        known.add_response("/teams", br#"{"total":1,"items":[{"id":7,"slug":"a"},{"id":8}]}"#);
        known.add_response("/teams/{team}/members", br#"[{"login":"mia","id":1}]"#);
        known.add_response("/broken", b"{");
        let shown = |path: &str| -> Vec<String> {
            known.path_values(path).iter().map(|(name, value)| format!("{name}={value}")).collect()
        };
        assert_eq!(shown("/teams/{slug}"), ["slug=\"a\""]);
        assert_eq!(shown("/teams/{team}/members/{login}"), ["login=\"mia\"", "team=7"]);
        assert_eq!(shown("/users/{id}"), Vec::<String>::new());
    }
}

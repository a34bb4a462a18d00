//! What values are called in bodies of XML (OpenAPI 3.1, 4.8.26); bodies of JSON do not know it.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::{Json, json::Object, media::MediaType};

use super::{
    annotations::said,
    enumerations::short,
    finding::{Comparer, Pair, place},
    flat::Flat,
    proof::Side,
    rules,
    subject::{Step, Subject, Words},
    unions::{around, form_at},
};
use crate::{schema::SchemaId, tree::escape};

/// Two lists of schemas that were compared, and what their elements are called anyway.
type Seen = BTreeSet<(Vec<SchemaId>, Vec<SchemaId>, Option<String>)>;

/// Whether a media type is one of XML (RFC 7303, 4).
fn is_xml(name: &str) -> bool {
    let subtype = MediaType::of(name).subtype().to_ascii_lowercase();
    subtype == "xml" || subtype.ends_with("+xml")
}

/// Whether bodies of one media type may be sent as XML by another, a range perhaps.
pub(super) fn are_xml(before: &str, after: &str) -> bool {
    is_xml(before) && (is_xml(after) || MediaType::of(after).is_range())
}

impl<'g> Comparer<'g> {
    /// Compares elements and attributes by what they are called.
    pub(super) fn elements_of_xml(&mut self, old: &[SchemaId], new: &[SchemaId], at: &Subject) {
        self.called((old, new), None, at, &mut Seen::new());
    }

    /// `name` is what an element is called where `xml` does not say it.
    fn called(
        &mut self,
        (old, new): (&[SchemaId], &[SchemaId]),
        name: Option<&str>,
        at: &Subject,
        seen: &mut Seen,
    ) {
        let is_same = || !matches!(at.words, Words::Around(..)) && self.identity.same(old, new);
        if old.is_empty() || new.is_empty() || is_same() {
            return;
        }
        if !seen.insert((old.to_vec(), new.to_vec(), name.map(str::to_owned))) {
            return;
        }
        let pair = self.sides(old, new, at);
        let words = said(&pair);
        let both = words.as_ref().unwrap_or(&pair);
        let xml = |flat: &Flat<'g>| flat.first(|schema| schema.extensions.get("xml"));
        let (was, is) = (xml(&both.old), xml(&both.new));
        let is_told = self.called_branches(&pair, name, seen) || at.words == Words::Told;
        if !is_told && meaning(was, name) != meaning(is, name) {
            let words = |xml: Option<&Json>| xml.map_or_else(|| "missing".to_owned(), short);
            let message = format!("`xml` is {}, was {}", words(is), words(was));
            self.note_at(rules::XML_CHANGED, at, (place(&both.old), place(&both.new)), message);
        }
        for name in pair.old.declared().into_iter().filter(|name| pair.new.declares(name)) {
            let (old, new) = (pair.old.applicable(name), pair.new.applicable(name));
            self.called((&old, &new), Some(name), &at.step(Step::Member, &escape(name)), seen);
        }
        for (pattern, old) in pair.old.schemas().flat_map(|schema| &schema.pattern_properties) {
            let mut others = pair.new.schemas().flat_map(|schema| &schema.pattern_properties);
            if let Some((_, new)) = others.find(|(other, _)| other == pattern) {
                let at = at.step(Step::Member, &format!("{{{pattern}}}"));
                self.called((&[*old], &[*new]), None, &at, seen);
            }
        }
        let (old, new) = (pair.old.additional(), pair.new.additional());
        self.called((&old, &new), None, &at.step(Step::Member, "{*}"), seen);
        for index in 0..pair.old.prefix().max(pair.new.prefix()) {
            let (old, new) = (pair.old.element(Some(index)), pair.new.element(Some(index)));
            self.called((&old, &new), None, &at.step(Step::Element, &index.to_string()), seen);
        }
        let (old, new) = (pair.old.element(None), pair.new.element(None));
        self.called((&old, &new), None, &at.step(Step::Element, "*"), seen);
    }

    /// The same of the forms of a value that follow each other; `true` where the value is one of them.
    fn called_branches(&mut self, pair: &Pair<'g>, name: Option<&str>, seen: &mut Seen) -> bool {
        if let Some(both) = self.alternatives_of(pair) {
            let side = both.side;
            let at = pair.at.clone().with(around(pair, side));
            for (form, _) in both.compared(self.graph(side)) {
                let form = [form];
                let (old, new): (&[SchemaId], &[SchemaId]) = match side {
                    Side::Old => (&form, &pair.new_ids),
                    Side::New => (&pair.old_ids, &form),
                };
                self.called((old, new), name, &at, seen);
            }
            return true;
        }
        for (before, after) in pair.old.unions().into_iter().zip(pair.new.unions()) {
            for each in self.matching(before.branches, after.branches).matched {
                self.called((&[each.0], &[each.1]), name, &form_at(pair, &each), seen);
            }
        }
        false
    }
}

/// What `xml` says beyond what holds without it.
fn meaning(xml: Option<&Json>, name: Option<&str>) -> BTreeMap<String, Json> {
    let members = xml.and_then(Json::as_object).into_iter().flat_map(Object::iter);
    let tells = |key: &str, value: &Json| match key {
        "attribute" | "wrapped" => *value != Json::Bool(false),
        "name" => value.as_str() != name || name.is_none(),
        _ => !key.starts_with("x-"),
    };
    let telling = members.filter(|(key, value)| tells(key, value));
    telling.map(|(key, value)| (key.to_owned(), value.clone())).collect()
}

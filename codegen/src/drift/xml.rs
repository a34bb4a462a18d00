//! What values are called in bodies of XML (OpenAPI 3.1, 4.8.26); bodies of JSON do not know it.

use std::collections::BTreeSet;

use contract_runtime::{Json, media::MediaType};

use super::{
    enumerations::short,
    finding::{Comparer, Subject, place},
    flat::Flat,
    rules,
};
use crate::{schema::SchemaId, tree::escape};

/// Two lists of schemas that were compared.
type Seen = BTreeSet<(Vec<SchemaId>, Vec<SchemaId>)>;

/// Whether a media type is one of XML (RFC 7303, 4).
pub(super) fn is_xml(name: &str) -> bool {
    let subtype = MediaType::of(name).subtype().to_ascii_lowercase();
    subtype == "xml" || subtype.ends_with("+xml")
}

impl<'g> Comparer<'g> {
    /// Compares elements and attributes by what they are called.
    pub(super) fn elements_of_xml(&mut self, old: &[SchemaId], new: &[SchemaId], at: &Subject) {
        self.called(old, new, at, &mut Seen::new());
    }

    fn called(&mut self, old: &[SchemaId], new: &[SchemaId], at: &Subject, seen: &mut Seen) {
        if self.identity.same(old, new) || !seen.insert((old.to_vec(), new.to_vec())) {
            return;
        }
        let (before, after) = (Flat::of(&self.old.graph, old), Flat::of(&self.new.graph, new));
        let said = |flat: &Flat<'g>| flat.first(|schema| schema.extensions.get("xml"));
        if said(&before) != said(&after) && !old.is_empty() && !new.is_empty() {
            let words = |xml: Option<&Json>| xml.map_or_else(|| "missing".to_owned(), short);
            let message = format!("`xml` is {}, was {}", words(said(&after)), words(said(&before)));
            self.note_at(rules::XML_CHANGED, at, (place(&before), place(&after)), message);
        }
        for name in before.declared().into_iter().filter(|name| after.declares(name)) {
            let (old, new) = (before.applicable(name), after.applicable(name));
            self.called(&old, &new, &at.step(&escape(name)), seen);
        }
        let (old, new) = (before.element(None), after.element(None));
        if !old.is_empty() && !new.is_empty() {
            self.called(&old, &new, &at.step("*"), seen);
        }
    }
}

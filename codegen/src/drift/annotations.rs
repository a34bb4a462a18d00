//! Keywords that say what values mean: `default`, `deprecated`, words.

use super::{
    enumerations::short,
    finding::{Comparer, Pair},
    flat::Flat,
    proof::Side,
    rules,
    subject::Words,
};
use crate::schema::{SchemaId, Types};

impl<'g> Comparer<'g> {
    /// Everything that decides nothing about validity.
    pub(super) fn annotations(&mut self, pair: &Pair<'g>) {
        if pair.at.words == Words::Told {
            return;
        }
        let said = self::said(pair);
        let pair = said.as_ref().unwrap_or(pair);
        let (old, new) = (&pair.old, &pair.new);
        self.flags(pair);
        self.defaults(pair);
        self.formats(pair);
        let content = |flat: &Flat<'g>| {
            let encoding = flat.first(|schema| schema.content_encoding.as_deref());
            (encoding, flat.first(|schema| schema.content_media_type.as_deref()))
        };
        if content(old) != content(new) && held(old) != held(new) {
            let words = |(encoding, media): (Option<&str>, Option<&str>)| match (encoding, media) {
                (None, None) => "plain text".to_owned(),
                (one, other) => [other, one].into_iter().flatten().collect::<Vec<_>>().join(" in "),
            };
            let message = format!("the text holds {}, was {}", words(content(new)), words(content(old)));
            self.note(rules::CONTENT_CHANGED, pair, message);
        }
        if old.members.is_empty() || new.members.is_empty() {
            return;
        }
        let title = |flat: &Flat<'g>| flat.first(|schema| schema.title.as_deref());
        let description = |flat: &Flat<'g>| flat.first(|schema| schema.description.as_deref());
        let examples = |flat: &Flat<'g>| {
            flat.schemas().find(|schema| !schema.examples.is_empty()).map(|schema| &schema.examples)
        };
        let mut words = Vec::new();
        if title(old) != title(new) {
            words.push("title");
        }
        if description(old) != description(new) {
            words.push("description");
        }
        if examples(old) != examples(new) {
            words.push("examples");
        }
        if !words.is_empty() {
            self.note(rules::EDITORIAL, pair, format!("{} changed", words.join(", ")));
        }
        self.extensions(pair);
    }

    fn flags(&mut self, pair: &Pair<'g>) {
        let (old, new) = (&pair.old, &pair.new);
        let flags = [
            (
                old.any(|s| s.deprecated),
                new.any(|s| s.deprecated),
                rules::DEPRECATED_SET,
                rules::DEPRECATED_UNSET,
                "deprecated",
            ),
            (
                old.any(|s| s.read_only),
                new.any(|s| s.read_only),
                rules::READ_ONLY_SET,
                rules::READ_ONLY_UNSET,
                "read-only",
            ),
            (
                old.any(|s| s.write_only),
                new.any(|s| s.write_only),
                rules::WRITE_ONLY_SET,
                rules::WRITE_ONLY_UNSET,
                "write-only",
            ),
        ];
        for (was, is, set, unset, word) in flags {
            if !was && is {
                self.note(set, pair, format!("it became {word}"));
            } else if was && !is && !new.members.is_empty() {
                self.note(unset, pair, format!("it is no longer {word}"));
            }
        }
    }

    fn defaults(&mut self, pair: &Pair<'g>) {
        let pick = |flat: &Flat<'g>| flat.first(|schema| schema.default.as_ref());
        match (pick(&pair.old), pick(&pair.new)) {
            (None, Some(new)) => self.note(
                rules::DEFAULT_ADDED,
                pair,
                format!("the default is {}, there was none", short(new)),
            ),
            (Some(old), None) => {
                self.note(rules::DEFAULT_CHANGED, pair, format!("there is no default, was {}", short(old)));
            }
            (Some(old), Some(new)) if old != new => {
                self.note(
                    rules::DEFAULT_CHANGED,
                    pair,
                    format!("the default is {}, was {}", short(new), short(old)),
                );
            }
            _ => {}
        }
    }

    fn extensions(&mut self, pair: &Pair<'g>) {
        let pick = |flat: &Flat<'g>, key: &str| flat.first(|schema| schema.extensions.get(key).cloned());
        let mut keys: Vec<&str> = Vec::new();
        for schema in pair.old.schemas().chain(pair.new.schemas()) {
            for key in schema.extensions.keys() {
                if key.starts_with("x-") && !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
        for key in keys {
            if pick(&pair.old, key) != pick(&pair.new, key) {
                self.note(rules::EXTENSION_CHANGED, pair, format!("`{key}` changed"));
            }
        }
    }
}

/// A pair with what is said around the form that it is, or of the one form of a union: what is said around
/// it is said of it, and what is said of it is said there. `None` where there is nothing of the kind.
pub(super) fn said<'g>(pair: &Pair<'g>) -> Option<Pair<'g>> {
    let (old, new) = match &pair.at.words {
        Words::Around(Side::Old, around) => {
            (Flat::of(pair.old.graph, around).around(&pair.old.members), pair.new.clone())
        }
        Words::Around(Side::New, around) => {
            (pair.old.clone(), Flat::of(pair.new.graph, around).around(&pair.new.members))
        }
        Words::Here | Words::Told => {
            let (old, new) = (only_form(&pair.old), only_form(&pair.new));
            let is_one = old.is_some() && new.is_some();
            let is_in_forms = || pair.old.has_branches() && pair.new.has_branches();
            if old.is_none() && new.is_none() || !is_one && is_in_forms() {
                return None;
            }
            (pair.old.around(old.as_slice()), pair.new.around(new.as_slice()))
        }
    };
    let (old_ids, new_ids) = (pair.old_ids.clone(), pair.new_ids.clone());
    Some(Pair { old, new, old_ids, new_ids, at: pair.at.clone() })
}

/// The one form of a union, beside `null` or alone.
pub(super) fn only_form(flat: &Flat<'_>) -> Option<SchemaId> {
    let unions = flat.unions();
    let [union] = unions.as_slice() else { return None };
    let is_null = |id: SchemaId| Flat::of(flat.graph, &[id]).types() == Types::NULL;
    let mut forms = union.branches.iter().copied().filter(|id| !is_null(*id));
    forms.next().filter(|_| forms.next().is_none())
}

/// What a text holds: how it is encoded, and the media type. OpenAPI 3.0 says with `format` what 3.1 says
/// with `contentEncoding` and `contentMediaType` (OpenAPI 3.1, 4.4.1.2).
pub(super) fn held<'g>(flat: &Flat<'g>) -> (Option<&'g str>, Option<&'g str>) {
    let is = |format: &str| flat.any(|schema| schema.format.as_deref() == Some(format));
    let encoding = flat.first(|schema| schema.content_encoding.as_deref());
    let media = flat.first(|schema| schema.content_media_type.as_deref());
    match (encoding, media) {
        (None, media) if is("byte") => (Some("base64"), media),
        (None, None) if is("binary") => (None, Some("application/octet-stream")),
        said => said,
    }
}

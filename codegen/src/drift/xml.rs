//! Compares the names of elements and attributes in XML bodies (OpenAPI 3.1, 4.8.26). JSON bodies do not
//! contain these names.

use std::collections::{BTreeMap, BTreeSet};

use contract_codegen_core::{schema::SchemaId, tree::escape_token};
use contract_runtime::{Json, json::JsonObject, media_type::MediaType};

use super::{
    alternatives::{annotation_source, find_alternatives},
    annotations::with_union_annotations,
    branches::{branch_site, match_branches},
    comparison::{Comparison, SchemaPair, flattened_place},
    enumerations::format_value,
    flattened::FlattenedSchema,
    proof::VersionSide,
    rules,
    site::{AnnotationSource, ComparisonSite, StepKind},
};

/// A pair of schemas that was already compared, and the default name of the pair's element.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct VisitedElement {
    old: Vec<SchemaId>,
    new: Vec<SchemaId>,
    name: Option<String>,
}

/// Returns true if a media type is XML (RFC 7303, 4).
fn is_xml(name: &str) -> bool {
    let subtype = MediaType::parse(name).subtype().to_ascii_lowercase();
    subtype == "xml" || subtype.ends_with("+xml")
}

/// Returns true if two corresponding media types are XML. `after` may also be a media range.
pub(super) fn are_xml(before: &str, after: &str) -> bool {
    is_xml(before) && (is_xml(after) || MediaType::parse(after).is_range())
}

/// A comparer for the names of XML elements and attributes.
pub(super) struct XmlComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    visited: BTreeSet<VisitedElement>,
}

impl<'c, 'g> XmlComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>) -> Self {
        Self { comparison, visited: BTreeSet::new() }
    }

    /// Compares the names of the elements and attributes of two XML bodies, given their schemas.
    pub(super) fn compare_xml(&mut self, old: &[SchemaId], new: &[SchemaId], site: &ComparisonSite) {
        self.compare_elements_named((old, new), None, site);
    }

    /// Compares the element of a pair of schemas and, recursively, its children. `name` is the default name
    /// of the element: the name of the property, or `None` if the element belongs to no property.
    fn compare_elements_named(
        &mut self,
        (old, new): (&[SchemaId], &[SchemaId]),
        name: Option<&str>,
        site: &ComparisonSite,
    ) {
        if old.is_empty() || new.is_empty() || self.comparison.is_unchanged(old, new, site) {
            return;
        }
        let element = VisitedElement { old: old.to_vec(), new: new.to_vec(), name: name.map(str::to_owned) };
        if !self.visited.insert(element) {
            return;
        }
        let pair = self.comparison.flatten_pair(old, new, site);
        let with_union = with_union_annotations(&pair);
        let annotated = with_union.as_ref().unwrap_or(&pair);
        let xml = |flat: &FlattenedSchema<'g>| flat.find_first(|schema| schema.extensions.get("xml"));
        let (was, is) = (xml(&annotated.old), xml(&annotated.new));
        let is_compared =
            self.compare_xml_branches(&pair, name) || site.annotations == AnnotationSource::AlreadyCompared;
        if !is_compared && xml_overrides(was, name) != xml_overrides(is, name) {
            let describe = |xml: Option<&Json>| xml.map_or_else(|| "missing".to_owned(), format_value);
            let message = format!("`xml` changed from {} to {}", describe(was), describe(is));
            self.comparison.report_change_at(
                rules::XML_CHANGED,
                site,
                (flattened_place(&annotated.old), flattened_place(&annotated.new)),
                message,
            );
        }
        for name in pair.old.declared_names().into_iter().filter(|name| pair.new.declares_property(name)) {
            let (old, new) = (pair.old.property_schemas(name), pair.new.property_schemas(name));
            self.compare_elements_named(
                (&old, &new),
                Some(name),
                &site.below(StepKind::Member, &escape_token(name)),
            );
        }
        for (pattern, old) in pair.old.schemas().flat_map(|schema| &schema.pattern_properties) {
            let mut others = pair.new.schemas().flat_map(|schema| &schema.pattern_properties);
            if let Some((_, new)) = others.find(|(other, _)| other == pattern) {
                let site = site.below(StepKind::Member, &format!("{{{pattern}}}"));
                self.compare_elements_named((&[*old], &[*new]), None, &site);
            }
        }
        let (old, new) = (pair.old.additional_schemas(), pair.new.additional_schemas());
        self.compare_elements_named((&old, &new), None, &site.below(StepKind::Member, "{*}"));
        for index in 0..pair.old.prefix_length().max(pair.new.prefix_length()) {
            let (old, new) = (pair.old.element_schemas(Some(index)), pair.new.element_schemas(Some(index)));
            self.compare_elements_named(
                (&old, &new),
                None,
                &site.below(StepKind::Element, &index.to_string()),
            );
        }
        let (old, new) = (pair.old.element_schemas(None), pair.new.element_schemas(None));
        self.compare_elements_named((&old, &new), None, &site.below(StepKind::Element, "*"));
    }

    /// Compares the elements of corresponding branches. Returns true if only one schema of the pair is a
    /// union, and the other schema was compared with branches of the union. The caller then does not compare
    /// the elements of the pair itself.
    fn compare_xml_branches(&mut self, pair: &SchemaPair<'g>, name: Option<&str>) -> bool {
        if let Some(alternatives) = find_alternatives(self.comparison, pair) {
            let side = alternatives.side;
            let site = pair.site.clone().with_annotations(annotation_source(pair, side));
            for (branch, _) in alternatives.compared_branches(self.comparison.graph(side)) {
                let branch = [branch];
                let (old, new): (&[SchemaId], &[SchemaId]) = match side {
                    VersionSide::Old => (&branch, &pair.new_ids),
                    VersionSide::New => (&pair.old_ids, &branch),
                };
                self.compare_elements_named((old, new), name, &site);
            }
            return true;
        }
        for (before, after) in pair.old.unions().into_iter().zip(pair.new.unions()) {
            let matching = match_branches(self.comparison, before.branches, after.branches);
            for each in matching.matches {
                let site = branch_site(pair, &each);
                self.compare_elements_named((&[each.old], &[each.new]), name, &site);
            }
        }
        false
    }
}

/// Returns the fields of the `xml` object that differ from their defaults. The parameter `name` is the
/// default value of the field `name`.
fn xml_overrides(xml: Option<&Json>, name: Option<&str>) -> BTreeMap<String, Json> {
    let members = xml.and_then(Json::as_object).into_iter().flat_map(JsonObject::iter);
    let differs = |key: &str, value: &Json| match key {
        "attribute" | "wrapped" => *value != Json::Bool(false),
        "name" => value.as_str() != name || name.is_none(),
        _ => !key.starts_with("x-"),
    };
    let different = members.filter(|(key, value)| differs(key, value));
    different.map(|(key, value)| (key.to_owned(), value.clone())).collect()
}

//! Builds the validation tables in memory. Rows borrow strings from the graph and lists from [`TableArenas`].

use std::collections::BTreeMap;

use contract_runtime::{
    Json,
    pattern::{CharClass, Pattern, SequenceAtom},
    schema::{
        BranchSelector, Keyword, Literal, ResourceId as RowResource, Schema as Row, SchemaId as RowId,
        SchemaResource, SchemaTables, TypeSet as RowTypes, TypedFormat, split_required,
    },
};

use super::{TablePlan, TableSet, TagBranches, rows::RowContent};
use crate::{
    formats::format_check,
    list_arena::ListArena,
    schema::{Schema, SchemaGraph, SchemaId, TypeSet},
};

/// The arenas that own the lists of rows, keywords and values to which a [`TableSet`] refers.
#[derive(Debug, Default)]
pub struct TableArenas<'t> {
    rows: ListArena<Row<'t>>,
    resources: ListArena<SchemaResource<'t>>,
    keywords: ListArena<Keyword<'t>>,
    ids: ListArena<RowId>,
    texts: ListArena<&'t str>,
    named: ListArena<(&'t str, RowId)>,
    needs: ListArena<(&'t str, &'t [&'t str])>,
    literals: ListArena<Literal<'t>>,
    members: ListArena<(&'t str, Literal<'t>)>,
    choices: ListArena<BranchSelector<'t>>,
    branches: ListArena<(Literal<'t>, usize)>,
    patterns: ListArena<Pattern<'t>>,
    lists: ListArena<&'t Pattern<'t>>,
    matched: ListArena<(&'t Pattern<'t>, RowId)>,
    pub(super) atoms: ListArena<SequenceAtom<'t>>,
    pub(super) classes: ListArena<CharClass<'t>>,
}

/// Builds the validation tables of a plan.
pub(super) fn build_tables<'t>(
    plan: &'t TablePlan,
    graph: &'t SchemaGraph,
    arenas: &'t TableArenas<'t>,
) -> TableSet<'t> {
    let patterns = plan.patterns.iter().map(|(source, (_, compiled))| {
        let pattern = compiled.to_pattern(&arenas.atoms, &arenas.classes);
        (source.as_str(), arenas.patterns.alloc_one(pattern))
    });
    let builder = TableBuilder { graph, plan, arenas, patterns: patterns.collect() };
    let contents = plan.rows.groups.iter().flat_map(|group| &group.rows);
    let rows = contents.map(|content| builder.build_row(content)).collect();
    let resources = plan.rows.resources.iter().map(|listed| {
        let resource = graph.resource(listed.id);
        let anchors = resource.dynamic_anchors.iter().map(|(n, id)| (n.as_str(), builder.row_id(*id)));
        SchemaResource { uri: &resource.uri, dynamic_anchors: arenas.named.alloc(anchors.collect()) }
    });
    let resources = arenas.resources.alloc(resources.collect());
    let tables = SchemaTables { schemas: arenas.rows.alloc(rows), resources };
    TableSet { plan, tables, patterns: builder.patterns }
}

struct TableBuilder<'t> {
    graph: &'t SchemaGraph,
    plan: &'t TablePlan,
    arenas: &'t TableArenas<'t>,
    patterns: BTreeMap<&'t str, &'t Pattern<'t>>,
}

impl<'t> TableBuilder<'t> {
    fn build_row(&self, content: &RowContent) -> Row<'t> {
        let (id, keywords) = match content {
            RowContent::Schema(id) => (*id, self.build_keywords(*id, self.graph.schema(*id))),
            RowContent::Conjunction(ids) => {
                let mut rows: Vec<RowId> = Vec::with_capacity(ids.len());
                for row in ids.iter().map(|id| self.row_id(*id)) {
                    if !rows.contains(&row) {
                        rows.push(row);
                    }
                }
                (ids[0], vec![Keyword::AllOf(self.arenas.ids.alloc(rows))])
            }
        };
        let schema = self.graph.schema(id);
        // Every resource with a schema has a number, so the fallback is never used.
        let resource = self.plan.rows.resource_number(schema.resource).unwrap_or(RowResource(u32::MAX));
        Row { resource, location: &schema.location, keywords: self.arenas.keywords.alloc(keywords) }
    }

    fn build_keywords(&self, id: SchemaId, s: &'t Schema) -> Vec<Keyword<'t>> {
        if s.boolean == Some(false) {
            return vec![Keyword::False];
        }
        let arenas = self.arenas;
        let literal = |value| self.build_literal(value);
        let mut out = Vec::new();
        out.extend(s.types.map(|t| Keyword::Type(row_types(t))));
        out.extend(
            s.enumeration
                .as_ref()
                .map(|v| Keyword::Enum(arenas.literals.alloc(v.iter().map(literal).collect()))),
        );
        out.extend(s.constant.as_ref().map(|c| Keyword::Const(literal(c))));
        out.extend(s.minimum.clone().map(Keyword::Minimum));
        out.extend(s.maximum.clone().map(Keyword::Maximum));
        out.extend(s.exclusive_minimum.clone().map(Keyword::ExclusiveMinimum));
        out.extend(s.exclusive_maximum.clone().map(Keyword::ExclusiveMaximum));
        out.extend(s.multiple_of.clone().map(Keyword::MultipleOf));
        out.extend(s.min_length.map(Keyword::MinLength));
        out.extend(s.max_length.map(Keyword::MaxLength));
        out.extend(
            s.pattern.as_ref().and_then(|p| self.patterns.get(p.as_str())).map(|p| Keyword::Pattern(p)),
        );
        out.extend(s.asserted.map(Keyword::Format));
        out.extend(self.plan.formats.for_schema(s).map(|mapped| {
            Keyword::TypedFormat(TypedFormat {
                format: &mapped.format,
                is_match: format_check(&mapped.format),
            })
        }));
        out.extend(s.min_items.map(Keyword::MinItems));
        out.extend(s.max_items.map(Keyword::MaxItems));
        out.extend(s.unique_items.then_some(Keyword::UniqueItems));
        out.extend(s.contains.as_ref().map(|c| Keyword::Contains {
            schema: self.row_id(c.schema),
            min: c.min,
            max: c.max,
        }));
        if !s.prefix_items.is_empty() {
            out.push(Keyword::PrefixItems(self.row_ids(&s.prefix_items)));
        }
        out.extend(s.items.map(|i| Keyword::Items { schema: self.row_id(i), from: s.prefix_items.len() }));
        self.add_object_keywords(s, &mut out);
        self.add_applicators(id, s, &mut out);
        // These keywords come last, because they apply to the elements and properties that the other keywords
        // did not evaluate.
        out.extend(s.unevaluated_items.map(|i| Keyword::UnevaluatedItems(self.row_id(i))));
        out.extend(s.unevaluated_properties.map(|i| Keyword::UnevaluatedProperties(self.row_id(i))));
        out
    }

    fn add_object_keywords(&self, s: &'t Schema, out: &mut Vec<Keyword<'t>>) {
        let arenas = self.arenas;
        let mut names: Vec<&'t str> = s.required.iter().map(|n| n.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let properties = self.sorted_rows(&s.properties);
        let declared: Vec<&'t str> = properties.iter().map(|(n, _)| *n).collect();
        let (bits, others) = split_required(&properties, &names);
        if !others.is_empty() {
            out.push(Keyword::Required(arenas.texts.alloc(others)));
        }
        if !properties.is_empty() {
            out.push(Keyword::Properties(arenas.named.alloc(properties), bits));
        }
        let patterns: Vec<(&'t Pattern<'t>, RowId)> = s
            .pattern_properties
            .iter()
            .filter_map(|(p, id)| Some((*self.patterns.get(p.as_str())?, self.row_id(*id))))
            .collect();
        let pattern_list: Vec<&'t Pattern<'t>> = patterns.iter().map(|(p, _)| *p).collect();
        if !patterns.is_empty() {
            out.push(Keyword::PatternProperties(arenas.matched.alloc(patterns)));
        }
        out.extend(s.additional_properties.map(|id| Keyword::AdditionalProperties {
            schema: self.row_id(id),
            declared: arenas.texts.alloc(declared),
            patterns: arenas.lists.alloc(pattern_list),
        }));
        out.extend(s.property_names.map(|id| Keyword::PropertyNames(self.row_id(id))));
        out.extend(s.min_properties.map(Keyword::MinProperties));
        out.extend(s.max_properties.map(Keyword::MaxProperties));
        if !s.dependent_required.is_empty() {
            let mut all: Vec<(&'t str, &'t [&'t str])> = s
                .dependent_required
                .iter()
                .map(|(n, needs)| {
                    let mut needs: Vec<&'t str> = needs.iter().map(|n| n.as_str()).collect();
                    needs.sort_unstable();
                    (n.as_str(), arenas.texts.alloc(needs))
                })
                .collect();
            all.sort_unstable();
            out.push(Keyword::DependentRequired(arenas.needs.alloc(all)));
        }
        if !s.dependent_schemas.is_empty() {
            out.push(Keyword::DependentSchemas(arenas.named.alloc(self.sorted_rows(&s.dependent_schemas))));
        }
    }

    fn add_applicators(&self, id: SchemaId, s: &'t Schema, out: &mut Vec<Keyword<'t>>) {
        out.extend(s.reference.map(|id| Keyword::Ref(self.row_id(id))));
        out.extend(s.dynamic_reference.as_ref().map(|d| match &d.anchor {
            Some(anchor) => Keyword::DynamicRef { anchor, initial: self.row_id(d.initial) },
            None => Keyword::Ref(self.row_id(d.initial)),
        }));
        if !s.all_of.is_empty() {
            out.push(Keyword::AllOf(self.row_ids(&s.all_of)));
        }
        let choice = |used: bool| {
            self.plan.choices.get(&id).filter(|_| used).map(|TagBranches { tag, certainty, branches }| {
                let branches = branches.iter().map(|(value, at)| (self.build_literal(value), *at)).collect();
                let branches = self.arenas.branches.alloc(branches);
                self.arenas.choices.alloc_one(BranchSelector { tag, certainty: *certainty, branches })
            })
        };
        if !s.any_of.is_empty() {
            out.push(Keyword::AnyOf(self.row_ids(&s.any_of), choice(s.one_of.is_empty())));
        }
        if !s.one_of.is_empty() {
            out.push(Keyword::OneOf(self.row_ids(&s.one_of), choice(true)));
        }
        out.extend(s.not.map(|id| Keyword::Not(self.row_id(id))));
        out.extend(s.condition.map(|condition| Keyword::If {
            condition: self.row_id(condition),
            then: s.then.map(|id| self.row_id(id)),
            otherwise: s.otherwise.map(|id| self.row_id(id)),
        }));
    }

    fn sorted_rows(&self, list: &'t [(String, SchemaId)]) -> Vec<(&'t str, RowId)> {
        let mut out: Vec<_> = list.iter().map(|(n, id)| (n.as_str(), self.row_id(*id))).collect();
        out.sort_unstable();
        out
    }

    fn row_ids(&self, list: &[SchemaId]) -> &'t [RowId] {
        self.arenas.ids.alloc(list.iter().map(|id| self.row_id(*id)).collect())
    }

    /// Returns the row of a schema. Every schema of the graph has a row, so the fallback, an invalid row that
    /// accepts no value, is never used.
    fn row_id(&self, id: SchemaId) -> RowId {
        self.plan.rows.row_of(id).unwrap_or(RowId(u32::MAX))
    }

    fn build_literal(&self, value: &'t Json) -> Literal<'t> {
        match value {
            Json::Null => Literal::Null,
            Json::Bool(b) => Literal::Bool(*b),
            Json::Number(n) => Literal::Number(n.clone()),
            Json::String(s) => Literal::String(s),
            Json::Array(items) => {
                let items = items.iter().map(|item| self.build_literal(item)).collect();
                Literal::Array(self.arenas.literals.alloc(items))
            }
            Json::Object(members) => {
                let mut all: Vec<_> = members.iter().map(|(n, v)| (n, self.build_literal(v))).collect();
                all.sort_by_key(|(n, _)| *n);
                Literal::Object(self.arenas.members.alloc(all))
            }
        }
    }
}

pub(super) const TYPE_PAIRS: [(TypeSet, RowTypes, &str); 7] = [
    (TypeSet::NULL, RowTypes::NULL, "NULL"),
    (TypeSet::BOOLEAN, RowTypes::BOOLEAN, "BOOLEAN"),
    (TypeSet::NUMBER, RowTypes::NUMBER, "NUMBER"),
    (TypeSet::INTEGER, RowTypes::INTEGER, "INTEGER"),
    (TypeSet::STRING, RowTypes::STRING, "STRING"),
    (TypeSet::ARRAY, RowTypes::ARRAY, "ARRAY"),
    (TypeSet::OBJECT, RowTypes::OBJECT, "OBJECT"),
];

/// Converts JSON types to the runtime's representation.
pub fn row_types(types: TypeSet) -> RowTypes {
    let mut all: Option<RowTypes> = None;
    for (ours, theirs, _) in TYPE_PAIRS {
        if types.contains(ours) {
            all = Some(all.map_or(theirs, |a| a.union(theirs)));
        }
    }
    // The loader rejects `type: []`, so the set contains at least one type.
    all.unwrap_or(RowTypes::NULL)
}

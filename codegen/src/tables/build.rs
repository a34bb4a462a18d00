//! The tables in memory, for the generator's own questions and to be printed: rows that borrow
//! their texts from the graph, and their lists from [`Shelves`].

use std::collections::BTreeMap;

use contract_runtime::{
    Json,
    pattern::{Atom, Class, Pattern},
    schema::{
        Choice, Keyword, Literal, Parse, Resource, ResourceId as RowResource, Schema as Row,
        SchemaId as RowId, Tables, Types as RowTypes, required,
    },
};

use super::{TablePlan, TableSet, Tags, rows::Content};
use crate::{
    formats::judge,
    schema::{Graph, Schema, SchemaId, Types},
    shelf::Shelf,
};

/// What holds the parts of a [`TableSet`].
#[derive(Debug, Default)]
pub struct Shelves<'t> {
    rows: Shelf<Row<'t>>,
    resources: Shelf<Resource<'t>>,
    keywords: Shelf<Keyword<'t>>,
    ids: Shelf<RowId>,
    texts: Shelf<&'t str>,
    named: Shelf<(&'t str, RowId)>,
    needs: Shelf<(&'t str, &'t [&'t str])>,
    literals: Shelf<Literal<'t>>,
    members: Shelf<(&'t str, Literal<'t>)>,
    choices: Shelf<Choice<'t>>,
    branches: Shelf<(Literal<'t>, usize)>,
    patterns: Shelf<Pattern<'t>>,
    lists: Shelf<&'t Pattern<'t>>,
    matched: Shelf<(&'t Pattern<'t>, RowId)>,
    pub(super) atoms: Shelf<Atom<'t>>,
    pub(super) classes: Shelf<Class<'t>>,
}

/// The tables of a plan.
pub(super) fn build<'t>(plan: &'t TablePlan, graph: &'t Graph, shelves: &'t Shelves<'t>) -> TableSet<'t> {
    let patterns = plan.patterns.iter().map(|(source, (_, compiled))| {
        let pattern = compiled.pattern(&shelves.atoms, &shelves.classes);
        (source.as_str(), shelves.patterns.keep_one(pattern))
    });
    let builder = Builder { graph, plan, shelves, patterns: patterns.collect() };
    let contents = plan.rows.groups.iter().flat_map(|group| &group.rows);
    let rows = contents.map(|content| builder.row(content)).collect();
    let resources = plan.rows.resources.iter().map(|listed| {
        let resource = graph.resource(listed.id);
        let anchors = resource.dynamic_anchors.iter().map(|(n, id)| (n.as_str(), builder.row_id(*id)));
        Resource { uri: &resource.uri, dynamic_anchors: shelves.named.keep(anchors.collect()) }
    });
    let resources = shelves.resources.keep(resources.collect());
    let tables = Tables { schemas: shelves.rows.keep(rows), resources };
    TableSet { plan, tables, patterns: builder.patterns }
}

struct Builder<'t> {
    graph: &'t Graph,
    plan: &'t TablePlan,
    shelves: &'t Shelves<'t>,
    patterns: BTreeMap<&'t str, &'t Pattern<'t>>,
}

impl<'t> Builder<'t> {
    fn row(&self, content: &Content) -> Row<'t> {
        let (id, keywords) = match content {
            Content::Schema(id) => (*id, self.keywords(*id, self.graph.schema(*id))),
            Content::All(ids) => {
                let mut rows: Vec<RowId> = Vec::with_capacity(ids.len());
                for row in ids.iter().map(|id| self.row_id(*id)) {
                    if !rows.contains(&row) {
                        rows.push(row);
                    }
                }
                (ids[0], vec![Keyword::AllOf(self.shelves.ids.keep(rows))])
            }
        };
        let schema = self.graph.schema(id);
        // What has rows is listed.
        let resource = self.plan.rows.resource(schema.resource).unwrap_or(RowResource(u32::MAX));
        Row { resource, location: &schema.location, keywords: self.shelves.keywords.keep(keywords) }
    }

    fn keywords(&self, id: SchemaId, s: &'t Schema) -> Vec<Keyword<'t>> {
        if s.boolean == Some(false) {
            return vec![Keyword::False];
        }
        let shelves = self.shelves;
        let literal = |value| self.literal(value);
        let mut out = Vec::new();
        out.extend(s.types.map(|t| Keyword::Type(row_types(t))));
        out.extend(
            s.enumeration
                .as_ref()
                .map(|v| Keyword::Enum(shelves.literals.keep(v.iter().map(literal).collect()))),
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
        out.extend(
            self.plan.formats.of(s).map(|mapped| {
                Keyword::Parse(Parse { format: &mapped.format, is_match: judge(&mapped.format) })
            }),
        );
        out.extend(s.min_items.map(Keyword::MinItems));
        out.extend(s.max_items.map(Keyword::MaxItems));
        out.extend(s.unique_items.then_some(Keyword::UniqueItems));
        out.extend(s.contains.as_ref().map(|c| Keyword::Contains {
            schema: self.row_id(c.schema),
            min: c.min,
            max: c.max,
        }));
        if !s.prefix_items.is_empty() {
            out.push(Keyword::PrefixItems(self.ids(&s.prefix_items)));
        }
        out.extend(s.items.map(|i| Keyword::Items { schema: self.row_id(i), from: s.prefix_items.len() }));
        self.object_keywords(s, &mut out);
        self.applicators(id, s, &mut out);
        // Last, since they look at what the others evaluated.
        out.extend(s.unevaluated_items.map(|i| Keyword::UnevaluatedItems(self.row_id(i))));
        out.extend(s.unevaluated_properties.map(|i| Keyword::UnevaluatedProperties(self.row_id(i))));
        out
    }

    fn object_keywords(&self, s: &'t Schema, out: &mut Vec<Keyword<'t>>) {
        let shelves = self.shelves;
        let mut names: Vec<&'t str> = s.required.iter().map(|n| n.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let properties = self.sorted(&s.properties);
        let declared: Vec<&'t str> = properties.iter().map(|(n, _)| *n).collect();
        let (bits, others) = required(&properties, &names);
        if !others.is_empty() {
            out.push(Keyword::Required(shelves.texts.keep(others)));
        }
        if !properties.is_empty() {
            out.push(Keyword::Properties(shelves.named.keep(properties), bits));
        }
        let patterns: Vec<(&'t Pattern<'t>, RowId)> = s
            .pattern_properties
            .iter()
            .filter_map(|(p, id)| Some((*self.patterns.get(p.as_str())?, self.row_id(*id))))
            .collect();
        let pattern_list: Vec<&'t Pattern<'t>> = patterns.iter().map(|(p, _)| *p).collect();
        if !patterns.is_empty() {
            out.push(Keyword::PatternProperties(shelves.matched.keep(patterns)));
        }
        out.extend(s.additional_properties.map(|id| Keyword::AdditionalProperties {
            schema: self.row_id(id),
            declared: shelves.texts.keep(declared),
            patterns: shelves.lists.keep(pattern_list),
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
                    (n.as_str(), shelves.texts.keep(needs))
                })
                .collect();
            all.sort_unstable();
            out.push(Keyword::DependentRequired(shelves.needs.keep(all)));
        }
        if !s.dependent_schemas.is_empty() {
            out.push(Keyword::DependentSchemas(shelves.named.keep(self.sorted(&s.dependent_schemas))));
        }
    }

    fn applicators(&self, id: SchemaId, s: &'t Schema, out: &mut Vec<Keyword<'t>>) {
        out.extend(s.reference.map(|id| Keyword::Ref(self.row_id(id))));
        out.extend(s.dynamic_reference.as_ref().map(|d| match &d.anchor {
            Some(anchor) => Keyword::DynamicRef { anchor, initial: self.row_id(d.initial) },
            None => Keyword::Ref(self.row_id(d.initial)),
        }));
        if !s.all_of.is_empty() {
            out.push(Keyword::AllOf(self.ids(&s.all_of)));
        }
        let choice = |used: bool| {
            self.plan.choices.get(&id).filter(|_| used).map(|Tags { tag, certainty, branches }| {
                let branches = branches.iter().map(|(value, at)| (self.literal(value), *at)).collect();
                let branches = self.shelves.branches.keep(branches);
                self.shelves.choices.keep_one(Choice { tag, certainty: *certainty, branches })
            })
        };
        if !s.any_of.is_empty() {
            out.push(Keyword::AnyOf(self.ids(&s.any_of), choice(s.one_of.is_empty())));
        }
        if !s.one_of.is_empty() {
            out.push(Keyword::OneOf(self.ids(&s.one_of), choice(true)));
        }
        out.extend(s.not.map(|id| Keyword::Not(self.row_id(id))));
        out.extend(s.condition.map(|condition| Keyword::If {
            condition: self.row_id(condition),
            then: s.then.map(|id| self.row_id(id)),
            otherwise: s.otherwise.map(|id| self.row_id(id)),
        }));
    }

    fn sorted(&self, list: &'t [(String, SchemaId)]) -> Vec<(&'t str, RowId)> {
        let mut out: Vec<_> = list.iter().map(|(n, id)| (n.as_str(), self.row_id(*id))).collect();
        out.sort_unstable();
        out
    }

    fn ids(&self, list: &[SchemaId]) -> &'t [RowId] {
        self.shelves.ids.keep(list.iter().map(|id| self.row_id(*id)).collect())
    }

    /// Every schema of the graph has a row; what is no row accepts nothing.
    fn row_id(&self, id: SchemaId) -> RowId {
        self.plan.rows.of(id).unwrap_or(RowId(u32::MAX))
    }

    fn literal(&self, value: &'t Json) -> Literal<'t> {
        match value {
            Json::Null => Literal::Null,
            Json::Bool(b) => Literal::Bool(*b),
            Json::Number(n) => Literal::Number(n.clone()),
            Json::String(s) => Literal::String(s),
            Json::Array(items) => {
                let items = items.iter().map(|item| self.literal(item)).collect();
                Literal::Array(self.shelves.literals.keep(items))
            }
            Json::Object(members) => {
                let mut all: Vec<_> = members.iter().map(|(n, v)| (n, self.literal(v))).collect();
                all.sort_by_key(|(n, _)| *n);
                Literal::Object(self.shelves.members.keep(all))
            }
        }
    }
}

pub(super) const TYPE_PAIRS: [(Types, RowTypes, &str); 7] = [
    (Types::NULL, RowTypes::NULL, "NULL"),
    (Types::BOOLEAN, RowTypes::BOOLEAN, "BOOLEAN"),
    (Types::NUMBER, RowTypes::NUMBER, "NUMBER"),
    (Types::INTEGER, RowTypes::INTEGER, "INTEGER"),
    (Types::STRING, RowTypes::STRING, "STRING"),
    (Types::ARRAY, RowTypes::ARRAY, "ARRAY"),
    (Types::OBJECT, RowTypes::OBJECT, "OBJECT"),
];

/// The same types as tables have them.
pub(crate) fn row_types(types: Types) -> RowTypes {
    let mut all: Option<RowTypes> = None;
    for (ours, theirs, _) in TYPE_PAIRS {
        if types.contains(ours) {
            all = Some(all.map_or(theirs, |a| a.or(theirs)));
        }
    }
    // `type: []` is refused when schemas are read, so something was found.
    all.unwrap_or(RowTypes::NULL)
}

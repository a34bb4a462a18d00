//! [`ValueConstraints`]: the combined constraints of several schemas on one value, as far as they are used
//! for generation.

use crate::{
    Json, Map, Number,
    format::StringFormat,
    pattern::Pattern,
    schema::{Keyword, Literal, SchemaId, SchemaTables, TypeSet, TypedFormat},
};

/// The location of a keyword with alternatives: its schema, and its position in the schema. One alternative
/// must be chosen.
pub(super) type ChoiceSite = (SchemaId, usize);

/// The disjoint types of JSON values. `NUMBER` represents only fractional numbers here.
pub(super) const DISJOINT_TYPES: [TypeSet; 7] = [
    TypeSet::OBJECT,
    TypeSet::ARRAY,
    TypeSet::STRING,
    TypeSet::INTEGER,
    TypeSet::NUMBER,
    TypeSet::BOOLEAN,
    TypeSet::NULL,
];

/// A declared member: its name and its schemas.
pub(super) type DeclaredMember = (&'static str, Vec<SchemaId>);

#[derive(Debug, Default)]
pub(super) struct ValueConstraints {
    /// Whether no value is valid.
    pub(super) never: bool,
    types: Vec<TypeSet>,
    /// The values of `const` or of the first `enum`.
    pub(super) literals: Option<Vec<Json>>,
    pub(super) minimum: Vec<Number>,
    pub(super) maximum: Vec<Number>,
    pub(super) factors: Vec<Number>,
    pub(super) min_length: u64,
    pub(super) max_length: Option<u64>,
    pub(super) patterns: Vec<&'static Pattern<'static>>,
    pub(super) formats: Vec<StringFormat>,
    pub(super) parses: Vec<TypedFormat<'static>>,
    pub(super) min_items: u64,
    pub(super) max_items: Option<u64>,
    pub(super) unique: bool,
    pub(super) contains: Vec<(SchemaId, u64)>,
    pub(super) prefix: Vec<Vec<SchemaId>>,
    pub(super) items: Vec<SchemaId>,
    pub(super) members: Vec<DeclaredMember>,
    pub(super) required: Vec<&'static str>,
    pub(super) matched: Vec<(&'static Pattern<'static>, SchemaId)>,
    pub(super) others: Vec<SchemaId>,
    pub(super) names: Vec<SchemaId>,
    pub(super) min_members: u64,
    /// The first keyword whose alternative is not chosen yet, with the schemas of each alternative.
    pub(super) choice: Option<(ChoiceSite, Vec<Vec<SchemaId>>)>,
}

impl ValueConstraints {
    /// Collects the constraints of several schemas. The alternatives in `chosen` are already chosen.
    pub(super) fn collect(tables: &SchemaTables<'static>, rows: &[SchemaId], chosen: &[ChoiceSite]) -> Self {
        let mut facts = Self::default();
        let mut seen = Vec::new();
        for row in rows {
            facts.add_schema(tables, *row, chosen, &mut seen);
        }
        facts
    }

    /// Returns the types that the value may have.
    pub(super) fn possible_types(&self) -> Vec<TypeSet> {
        let fits = |kind: TypeSet, types: &TypeSet| {
            types.is_superset(kind) || (kind == TypeSet::INTEGER && types.is_superset(TypeSet::NUMBER))
        };
        let possible = |kind: &TypeSet| self.types.iter().all(|types| fits(*kind, types));
        let mut kinds: Vec<TypeSet> = DISJOINT_TYPES.into_iter().filter(possible).collect();
        // Without the keyword `type`, the types to which the other keywords apply are assumed.
        let hints = [
            (
                TypeSet::OBJECT,
                !self.members.is_empty() || !self.required.is_empty() || !self.matched.is_empty(),
            ),
            (TypeSet::ARRAY, !self.items.is_empty() || !self.prefix.is_empty() || !self.contains.is_empty()),
            (TypeSet::STRING, !self.patterns.is_empty() || self.max_length.is_some() || self.min_length > 0),
        ];
        if self.types.is_empty() {
            let hinted: Vec<TypeSet> =
                hints.into_iter().filter(|(_, is)| *is).map(|(kind, _)| kind).collect();
            if !hinted.is_empty() {
                kinds = hinted;
            }
        }
        kinds
    }

    fn add_schema(
        &mut self,
        tables: &SchemaTables<'static>,
        row: SchemaId,
        chosen: &[ChoiceSite],
        seen: &mut Vec<SchemaId>,
    ) {
        let schema = tables.schemas.get(row.0 as usize).filter(|_| !seen.contains(&row));
        let Some(schema) = schema else { return };
        seen.push(row);
        for (index, keyword) in schema.keywords.iter().enumerate() {
            match keyword {
                Keyword::Ref(to) | Keyword::DynamicRef { initial: to, .. } => {
                    self.add_schema(tables, *to, chosen, seen);
                }
                Keyword::AllOf(all) => all.iter().for_each(|to| self.add_schema(tables, *to, chosen, seen)),
                _ => self.add_keyword(keyword, (row, index), chosen),
            }
        }
    }

    fn add_keyword(&mut self, keyword: &'static Keyword<'static>, here: ChoiceSite, chosen: &[ChoiceSite]) {
        let open = !chosen.contains(&here) && self.choice.is_none();
        let choose = |facts: &mut Self, ways: Vec<Vec<SchemaId>>| {
            if open {
                facts.choice = Some((here, ways));
            }
        };
        match keyword {
            Keyword::False => self.never = true,
            Keyword::Type(types) => self.types.push(*types),
            Keyword::Enum(list) => {
                self.literals.get_or_insert_with(|| list.iter().map(literal_to_json).collect());
            }
            Keyword::Const(one) => self.literals = Some(vec![literal_to_json(one)]),
            Keyword::MultipleOf(factor) => self.factors.push(factor.clone()),
            Keyword::Minimum(bound) | Keyword::ExclusiveMinimum(bound) => self.minimum.push(bound.clone()),
            Keyword::Maximum(bound) | Keyword::ExclusiveMaximum(bound) => self.maximum.push(bound.clone()),
            Keyword::MinLength(least) => self.min_length = self.min_length.max(*least),
            Keyword::MaxLength(max) => lower_maximum(&mut self.max_length, *max),
            Keyword::Format(format) => self.formats.push(*format),
            Keyword::TypedFormat(parse) => self.parses.push(*parse),
            Keyword::Pattern(pattern) => self.patterns.push(pattern),
            Keyword::MaxItems(max) => lower_maximum(&mut self.max_items, *max),
            Keyword::MinItems(least) => self.min_items = self.min_items.max(*least),
            Keyword::UniqueItems => self.unique = true,
            Keyword::Contains { schema, min, .. } => self.contains.push((*schema, min.unwrap_or(1))),
            Keyword::MinProperties(least) => self.min_members = self.min_members.max(*least),
            Keyword::Required(names) => self.required.extend_from_slice(names),
            Keyword::PrefixItems(rows) => {
                for (index, row) in rows.iter().enumerate() {
                    if self.prefix.len() <= index {
                        self.prefix.push(Vec::new());
                    }
                    self.prefix[index].push(*row);
                }
            }
            Keyword::Items { schema, .. } => self.items.push(*schema),
            Keyword::Properties(members, bits) => {
                for (index, (name, row)) in members.iter().enumerate() {
                    match self.members.iter_mut().find(|(known, _)| known == name) {
                        Some((_, rows)) => rows.push(*row),
                        None => self.members.push((name, vec![*row])),
                    }
                    if index < 64 && bits >> index & 1 == 1 {
                        self.required.push(name);
                    }
                }
            }
            Keyword::PatternProperties(matched) => self.matched.extend_from_slice(matched),
            Keyword::AdditionalProperties { schema, .. } | Keyword::UnevaluatedProperties(schema) => {
                self.others.push(*schema);
            }
            Keyword::PropertyNames(row) => self.names.push(*row),
            Keyword::AnyOf(branches, _) | Keyword::OneOf(branches, _) => {
                choose(self, branches.iter().map(|branch| vec![*branch]).collect());
            }
            Keyword::If { condition, then, otherwise } => {
                let met = std::iter::once(*condition).chain(*then).collect();
                choose(self, vec![otherwise.iter().copied().collect(), met]);
            }
            Keyword::DependentSchemas(all) => {
                choose(self, vec![Vec::new(), all.iter().map(|(_, row)| *row).collect()]);
            }
            // These keywords only exclude values, or `add_schema` has already followed them (`allOf` and
            // references). Validation of the candidates covers them all.
            Keyword::MaxProperties(_)
            | Keyword::DependentRequired(_)
            | Keyword::Not(_)
            | Keyword::UnevaluatedItems(_)
            | Keyword::AllOf(_)
            | Keyword::Ref(_)
            | Keyword::DynamicRef { .. } => {}
        }
    }

    /// Returns the schemas of a member.
    pub(super) fn member_schemas(&self, name: &str) -> Vec<SchemaId> {
        let declared =
            self.members.iter().filter(|(known, _)| *known == name).flat_map(|(_, rows)| rows.clone());
        let matched = self.matched.iter().filter(|(pattern, _)| pattern.is_match(name)).map(|(_, row)| *row);
        let rows: Vec<SchemaId> = declared.chain(matched).collect();
        if rows.is_empty() { self.others.clone() } else { rows }
    }

    /// Returns the schemas of an array element.
    pub(super) fn item_schemas(&self, at: usize) -> Vec<SchemaId> {
        self.prefix.get(at).unwrap_or(&self.items).clone()
    }
}

fn lower_maximum(known: &mut Option<u64>, other: u64) {
    *known = Some(known.map_or(other, |known| known.min(other)));
}

fn literal_to_json(literal: &Literal<'_>) -> Json {
    match literal {
        Literal::Null => Json::Null,
        Literal::Bool(own) => Json::Bool(*own),
        Literal::Number(own) => Json::Number(own.clone()),
        Literal::String(own) => Json::from(*own),
        Literal::Array(items) => Json::Array(items.iter().map(literal_to_json).collect()),
        Literal::Object(members) => {
            let members: Map<Json> =
                members.iter().map(|(name, own)| ((*name).to_owned(), literal_to_json(own))).collect();
            Json::Object(members)
        }
    }
}

//! What several schemas say together about one place, as far as it helps to make a value.

use crate::{
    Json, Map, Number,
    format::Format,
    pattern::Pattern,
    schema::{Keyword, Literal, Parse, SchemaId, Tables, Types},
};

/// A place where one of several alternatives has to be chosen: the row and the position of its
/// keyword.
pub(super) type Holder = (SchemaId, usize);

/// The types of JSON values, apart from one another.
pub(super) const KINDS: [Types; 7] =
    [Types::OBJECT, Types::ARRAY, Types::STRING, Types::INTEGER, Types::NUMBER, Types::BOOLEAN, Types::NULL];

/// A declared member: its name, and what it has to be.
pub(super) type Member = (&'static str, Vec<SchemaId>);

#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Nothing is valid.
    pub(super) never: bool,
    types: Vec<Types>,
    /// The values of the first `const` or `enum`.
    pub(super) literals: Option<Vec<Json>>,
    pub(super) minimum: Vec<Number>,
    pub(super) maximum: Vec<Number>,
    pub(super) factors: Vec<Number>,
    pub(super) min_length: u64,
    pub(super) max_length: Option<u64>,
    pub(super) patterns: Vec<&'static Pattern<'static>>,
    pub(super) formats: Vec<Format>,
    pub(super) parses: Vec<Parse<'static>>,
    pub(super) min_items: u64,
    pub(super) max_items: Option<u64>,
    pub(super) unique: bool,
    pub(super) contains: Vec<(SchemaId, u64)>,
    pub(super) prefix: Vec<Vec<SchemaId>>,
    pub(super) items: Vec<SchemaId>,
    pub(super) members: Vec<Member>,
    pub(super) required: Vec<&'static str>,
    pub(super) matched: Vec<(&'static Pattern<'static>, SchemaId)>,
    pub(super) others: Vec<SchemaId>,
    pub(super) names: Vec<SchemaId>,
    pub(super) min_members: u64,
    /// The first choice that nobody made yet.
    pub(super) choice: Option<(Holder, Vec<Vec<SchemaId>>)>,
}

impl Facts {
    /// What some rows say together, with these choices made.
    pub(super) fn of(tables: &Tables<'static>, rows: &[SchemaId], chosen: &[Holder]) -> Self {
        let mut facts = Self::default();
        let mut seen = Vec::new();
        for row in rows {
            facts.follow(tables, *row, chosen, &mut seen);
        }
        facts
    }

    /// The types that are possible.
    pub(super) fn kinds(&self) -> Vec<Types> {
        let fits = |kind: Types, types: &Types| {
            types.has(kind) || (kind == Types::INTEGER && types.has(Types::NUMBER))
        };
        let possible = |kind: &Types| self.types.iter().all(|types| fits(*kind, types));
        let mut kinds: Vec<Types> = KINDS.into_iter().filter(possible).collect();
        // Where nothing is said of types, people mean those that the keywords speak of.
        let hints = [
            (
                Types::OBJECT,
                !self.members.is_empty() || !self.required.is_empty() || !self.matched.is_empty(),
            ),
            (Types::ARRAY, !self.items.is_empty() || !self.prefix.is_empty() || !self.contains.is_empty()),
            (Types::STRING, !self.patterns.is_empty() || self.max_length.is_some() || self.min_length > 0),
        ];
        if self.types.is_empty() {
            let hinted: Vec<Types> = hints.into_iter().filter(|(_, is)| *is).map(|(kind, _)| kind).collect();
            if !hinted.is_empty() {
                kinds = hinted;
            }
        }
        kinds
    }

    fn follow(
        &mut self,
        tables: &Tables<'static>,
        row: SchemaId,
        chosen: &[Holder],
        seen: &mut Vec<SchemaId>,
    ) {
        let schema = tables.schemas.get(row.0 as usize).filter(|_| !seen.contains(&row));
        let Some(schema) = schema else { return };
        seen.push(row);
        for (at, keyword) in schema.keywords.iter().enumerate() {
            match keyword {
                Keyword::Ref(to) | Keyword::DynamicRef { initial: to, .. } => {
                    self.follow(tables, *to, chosen, seen);
                }
                Keyword::AllOf(all) => all.iter().for_each(|to| self.follow(tables, *to, chosen, seen)),
                _ => self.take(keyword, (row, at), chosen),
            }
        }
    }

    fn take(&mut self, keyword: &'static Keyword<'static>, here: Holder, chosen: &[Holder]) {
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
                self.literals.get_or_insert_with(|| list.iter().map(value).collect());
            }
            Keyword::Const(one) => self.literals = Some(vec![value(one)]),
            Keyword::MultipleOf(factor) => self.factors.push(factor.clone()),
            Keyword::Minimum(bound) | Keyword::ExclusiveMinimum(bound) => self.minimum.push(bound.clone()),
            Keyword::Maximum(bound) | Keyword::ExclusiveMaximum(bound) => self.maximum.push(bound.clone()),
            Keyword::MinLength(least) => self.min_length = self.min_length.max(*least),
            Keyword::MaxLength(most) => least(&mut self.max_length, *most),
            Keyword::Format(format) => self.formats.push(*format),
            Keyword::Parse(parse) => self.parses.push(*parse),
            Keyword::Pattern(pattern) => self.patterns.push(pattern),
            Keyword::MaxItems(most) => least(&mut self.max_items, *most),
            Keyword::MinItems(least) => self.min_items = self.min_items.max(*least),
            Keyword::UniqueItems => self.unique = true,
            Keyword::Contains { schema, min, .. } => self.contains.push((*schema, min.unwrap_or(1))),
            Keyword::MinProperties(least) => self.min_members = self.min_members.max(*least),
            Keyword::Required(names) => self.required.extend_from_slice(names),
            Keyword::PrefixItems(rows) => {
                for (at, row) in rows.iter().enumerate() {
                    if self.prefix.len() <= at {
                        self.prefix.push(Vec::new());
                    }
                    self.prefix[at].push(*row);
                }
            }
            Keyword::Items { schema, .. } => self.items.push(*schema),
            Keyword::Properties(members, bits) => {
                for (at, (name, row)) in members.iter().enumerate() {
                    match self.members.iter_mut().find(|(known, _)| known == name) {
                        Some((_, rows)) => rows.push(*row),
                        None => self.members.push((name, vec![*row])),
                    }
                    if at < 64 && bits >> at & 1 == 1 {
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
            // These say what values are not, which is found out by asking.
            Keyword::MaxProperties(_)
            | Keyword::DependentRequired(_)
            | Keyword::Not(_)
            | Keyword::UnevaluatedItems(_)
            | Keyword::AllOf(_)
            | Keyword::Ref(_)
            | Keyword::DynamicRef { .. } => {}
        }
    }

    /// What a member has to be.
    pub(super) fn of_member(&self, name: &str) -> Vec<SchemaId> {
        let declared =
            self.members.iter().filter(|(known, _)| *known == name).flat_map(|(_, rows)| rows.clone());
        let matched = self.matched.iter().filter(|(pattern, _)| pattern.is_match(name)).map(|(_, row)| *row);
        let rows: Vec<SchemaId> = declared.chain(matched).collect();
        if rows.is_empty() { self.others.clone() } else { rows }
    }

    /// What an element has to be.
    pub(super) fn of_item(&self, at: usize) -> Vec<SchemaId> {
        self.prefix.get(at).unwrap_or(&self.items).clone()
    }
}

fn least(known: &mut Option<u64>, other: u64) {
    *known = Some(known.map_or(other, |known| known.min(other)));
}

fn value(literal: &Literal<'_>) -> Json {
    match literal {
        Literal::Null => Json::Null,
        Literal::Bool(own) => Json::Bool(*own),
        Literal::Number(own) => Json::Number(own.clone()),
        Literal::String(own) => Json::from(*own),
        Literal::Array(items) => Json::Array(items.iter().map(value).collect()),
        Literal::Object(members) => {
            let members: Map<Json> =
                members.iter().map(|(name, own)| ((*name).to_owned(), value(own))).collect();
            Json::Object(members)
        }
    }
}

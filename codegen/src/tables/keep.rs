//! Tables of a part of a contract: the rows that are left, numbered anew.

use contract_runtime::schema::{Keyword, Resource, Schema as Row, SchemaId as RowId, Tables};

use super::{leak, leak_str};

/// The rows that `kept` lets through, and the new number of each row.
pub(super) fn keep(tables: &Tables, kept: impl Fn(u32) -> bool) -> (Tables, Vec<u32>) {
    let mut next = 0;
    let rows = u32::try_from(tables.schemas.len()).unwrap_or(u32::MAX);
    let numbers: Vec<u32> = (0..rows)
        .map(|row| {
            let number = if kept(row) { next } else { u32::MAX };
            next += u32::from(kept(row));
            number
        })
        .collect();
    let numbering = Numbering(&numbers);
    let left = tables.schemas.iter().zip(&numbers).filter(|(_, number)| **number != u32::MAX);
    let schemas = left.map(|(row, _)| Row {
        resource: row.resource,
        location: row.location,
        keywords: leak(row.keywords.iter().map(|keyword| numbering.keyword(keyword)).collect()),
    });
    let resources = tables.resources.iter().map(|resource| Resource {
        uri: leak_str(resource.uri),
        dynamic_anchors: leak(
            resource
                .dynamic_anchors
                .iter()
                .map(|(name, id)| (*name, numbering.row(*id)))
                .filter(|(_, RowId(row))| *row != u32::MAX)
                .collect(),
        ),
    });
    let tables = Tables { schemas: leak(schemas.collect()), resources: leak(resources.collect()) };
    (tables, numbers)
}

struct Numbering<'a>(&'a [u32]);

impl Numbering<'_> {
    fn row(&self, RowId(row): RowId) -> RowId {
        RowId(self.0.get(row as usize).copied().unwrap_or(u32::MAX))
    }

    fn rows(&self, list: &[RowId]) -> &'static [RowId] {
        leak(list.iter().map(|id| self.row(*id)).collect())
    }

    fn named(&self, list: &'static [(&'static str, RowId)]) -> &'static [(&'static str, RowId)] {
        leak(list.iter().map(|(name, id)| (*name, self.row(*id))).collect())
    }

    /// No arm for the rest: whoever adds a keyword decides here whether it names rows.
    fn keyword(&self, keyword: &Keyword) -> Keyword {
        match keyword {
            Keyword::False
            | Keyword::Type(_)
            | Keyword::Enum(_)
            | Keyword::Const(_)
            | Keyword::Minimum(_)
            | Keyword::Maximum(_)
            | Keyword::ExclusiveMinimum(_)
            | Keyword::ExclusiveMaximum(_)
            | Keyword::MultipleOf(_)
            | Keyword::MinLength(_)
            | Keyword::MaxLength(_)
            | Keyword::Pattern(_)
            | Keyword::MinItems(_)
            | Keyword::MaxItems(_)
            | Keyword::UniqueItems
            | Keyword::MinProperties(_)
            | Keyword::MaxProperties(_)
            | Keyword::Required(_)
            | Keyword::DependentRequired(_) => keyword.clone(),
            Keyword::Contains { schema, min, max } => {
                Keyword::Contains { schema: self.row(*schema), min: *min, max: *max }
            }
            Keyword::PrefixItems(list) => Keyword::PrefixItems(self.rows(list)),
            Keyword::Items { schema, from } => Keyword::Items { schema: self.row(*schema), from: *from },
            Keyword::Properties(list) => Keyword::Properties(self.named(list)),
            Keyword::PatternProperties(list) => Keyword::PatternProperties(leak(
                list.iter().map(|(pattern, id)| (*pattern, self.row(*id))).collect(),
            )),
            Keyword::AdditionalProperties { schema, declared, patterns } => {
                Keyword::AdditionalProperties { schema: self.row(*schema), declared, patterns }
            }
            Keyword::PropertyNames(id) => Keyword::PropertyNames(self.row(*id)),
            Keyword::DependentSchemas(list) => Keyword::DependentSchemas(self.named(list)),
            Keyword::AllOf(list) => Keyword::AllOf(self.rows(list)),
            Keyword::AnyOf(list, choice) => Keyword::AnyOf(self.rows(list), *choice),
            Keyword::OneOf(list, choice) => Keyword::OneOf(self.rows(list), *choice),
            Keyword::Not(id) => Keyword::Not(self.row(*id)),
            Keyword::If { condition, then, otherwise } => Keyword::If {
                condition: self.row(*condition),
                then: then.map(|id| self.row(id)),
                otherwise: otherwise.map(|id| self.row(id)),
            },
            Keyword::Ref(id) => Keyword::Ref(self.row(*id)),
            Keyword::DynamicRef { anchor, initial } => {
                Keyword::DynamicRef { anchor, initial: self.row(*initial) }
            }
            Keyword::UnevaluatedItems(id) => Keyword::UnevaluatedItems(self.row(*id)),
            Keyword::UnevaluatedProperties(id) => Keyword::UnevaluatedProperties(self.row(*id)),
        }
    }
}

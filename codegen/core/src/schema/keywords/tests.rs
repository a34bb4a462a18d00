//! Tests that the keyword table covers every field of a schema, and tests of the functions that search the
//! table.

use super::*;
use crate::schema::{ResourceId, SchemaOrigin};

/// Creates a schema for each field, in which only that field is set. The pattern has no `..`, so a new field
/// does not compile until it is listed here.
macro_rules! each_field {
    ($whole:expr, $($field:ident),* $(,)?) => {{
        let Schema {
            place: _, resource: _, location: _, origin: _, boolean: _, gap: _, is_generic: _,
            extensions: _, discriminator: _, implied_otherwise: _, one_way: _, $($field,)*
        } = $whole;
        vec![$((stringify!($field), Schema { $field, ..Schema::default() }),)*]
    }};
}

fn full() -> Schema {
    let id = SchemaId::default;
    let named = || vec![("a".to_owned(), id())];
    let number = || Some(Number::from_i64(1));
    let text = || Some("a".to_owned());
    Schema {
        place: crate::tree::DocumentLocation::default(),
        resource: ResourceId::default(),
        location: String::new(),
        origin: SchemaOrigin::Inline,
        boolean: None,
        gap: crate::schema::SchemaGap::None,
        is_generic: false,
        reference: Some(id()),
        dynamic_reference: Some(DynamicReference { anchor: None, initial: id() }),
        definitions: named(),
        title: text(),
        description: text(),
        default: Some(Json::Null),
        examples: vec![Json::Null],
        deprecated: true,
        read_only: true,
        write_only: true,
        format: text(),
        asserted: Some(contract_runtime::format::StringFormat::Date),
        content_encoding: text(),
        content_media_type: text(),
        content_schema: Some(id()),
        extensions: contract_runtime::Map::default(),
        discriminator: None,
        implied_otherwise: false,
        types: Some(TypeSet::NULL),
        enumeration: Some(Vec::new()),
        constant: Some(Json::Null),
        minimum: number(),
        maximum: number(),
        exclusive_minimum: number(),
        exclusive_maximum: number(),
        multiple_of: number(),
        min_length: Some(1),
        max_length: Some(1),
        pattern: text(),
        min_items: Some(1),
        max_items: Some(1),
        unique_items: true,
        contains: Some(ContainsConstraint { schema: id(), min: None, max: None }),
        prefix_items: vec![id()],
        items: Some(id()),
        unevaluated_items: Some(id()),
        properties: named(),
        pattern_properties: named(),
        additional_properties: Some(id()),
        unevaluated_properties: Some(id()),
        property_names: Some(id()),
        required: vec!["a".to_owned()],
        one_way: Vec::new(),
        min_properties: Some(1),
        max_properties: Some(1),
        dependent_required: vec![("a".to_owned(), Vec::new())],
        dependent_schemas: named(),
        all_of: vec![id()],
        any_of: vec![id()],
        one_of: vec![id()],
        not: Some(id()),
        condition: Some(id()),
        then: Some(id()),
        otherwise: Some(id()),
    }
}

#[test]
fn every_field_belongs_to_one_keyword() {
    let fields = each_field!(
        full(),
        reference,
        dynamic_reference,
        definitions,
        title,
        description,
        default,
        examples,
        deprecated,
        read_only,
        write_only,
        format,
        asserted,
        content_encoding,
        content_media_type,
        content_schema,
        types,
        enumeration,
        constant,
        minimum,
        maximum,
        exclusive_minimum,
        exclusive_maximum,
        multiple_of,
        min_length,
        max_length,
        pattern,
        min_items,
        max_items,
        unique_items,
        contains,
        prefix_items,
        items,
        unevaluated_items,
        properties,
        pattern_properties,
        additional_properties,
        unevaluated_properties,
        property_names,
        required,
        min_properties,
        max_properties,
        dependent_required,
        dependent_schemas,
        all_of,
        any_of,
        one_of,
        not,
        condition,
        then,
        otherwise,
    );
    let mut found = Vec::new();
    for (field, schema) in fields {
        let keywords: Vec<Keyword> = schema.keywords().map(|(keyword, _)| keyword).collect();
        assert_eq!(keywords.len(), 1, "{field}: {keywords:?}");
        // A copy with only one keyword has the same value for this keyword.
        let copy = schema.with_keywords(|keyword| keyword == keywords[0]);
        assert_eq!(copy.keywords().count(), 1, "{field}");
        assert_eq!(schema.with_keywords(|keyword| keyword != keywords[0]).keywords().count(), 0, "{field}");
        found.extend(keywords);
    }
    found.sort_unstable();
    let keywords_of_full: Vec<Keyword> = full().keywords().map(|(keyword, _)| keyword).collect();
    assert_eq!(found, keywords_of_full);
    assert!(Schema::default().keywords().next().is_none());
}

#[test]
fn children_are_the_applied_schemas() {
    // Schemas in `$defs` and `contentSchema` are not applied, so they are not children of the schema.
    let mut schema = full();
    let other = crate::arena::Arena::<Schema>::first_ids(2).last();
    schema.definitions.iter_mut().for_each(|(_, id)| *id = other.unwrap_or_default());
    schema.content_schema = other;
    let applied = Keyword::ALL.iter().filter(|keyword| keyword.role().applies_schemas());
    let present = applied.filter(|keyword| keyword.value(&schema).is_some()).count();
    let children: Vec<SchemaId> = schema.child_schemas().collect();
    assert_eq!(children, vec![SchemaId::default(); present]);
}

#[test]
fn constraining_keywords_are_classified() {
    let reference = Schema {
        reference: Some(SchemaId::default()),
        description: Some("a".to_owned()),
        ..Schema::default()
    };
    assert!(reference.is_constrained_only_by(&[Keyword::Ref]));
    assert!(!reference.is_constrained_only_by(&[]));
    assert!(Schema { then: Some(SchemaId::default()), ..Schema::default() }.is_constrained_only_by(&[]));
    assert!(Schema { boolean: Some(true), ..Schema::default() }.is_constrained_only_by(&[]));
    assert!(!Schema { boolean: Some(false), ..Schema::default() }.is_constrained_only_by(&[]));
    for keyword in Keyword::ALL.iter().filter(|keyword| !matches!(keyword, Keyword::Then | Keyword::Else)) {
        let single = full().with_keywords(|other| other == *keyword);
        let decides = keyword.role().can_reject() && keyword.value(&single).is_some();
        assert_eq!(single.is_constrained_only_by(&[]), !decides, "{}", keyword.name());
    }
}

#[test]
fn keywords_are_found_by_name() {
    for keyword in Keyword::ALL {
        // The table contains `format` twice; the annotation is the one that is found by name.
        let written_keyword = if *keyword == Keyword::AssertedFormat { &Keyword::Format } else { keyword };
        assert_eq!(Keyword::find(keyword.name()), Some(*written_keyword));
    }
    assert_eq!(Keyword::find("minlength"), None);
}

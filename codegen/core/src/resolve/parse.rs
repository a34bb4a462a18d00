//! Parses a schema at a document position to a [`Schema`], and validates the form of every keyword.

mod forms;

use std::{cell::OnceCell, collections::HashMap};

use contract_runtime::Number;

use crate::{
    diagnostics::{Diagnostic, Diagnostics, Severity},
    schema::{
        ContainsConstraint, DynamicReference, ResourceId, Schema, SchemaGap, SchemaId, TypeSet,
        keywords::{Draft, Keyword, KeywordRole, vocabulary},
    },
    tree::{DocumentLocation, DocumentNode, NodeValue, ObjectMember},
};

use self::forms::is_keyword_known;

use super::{
    NullableSemantics, ResolveOptions, UnknownKeywordPolicy,
    discover::{Discovery, SchemaNode},
    lenient,
    nullable::NullableKeyword,
    suggest::nearest_match,
};

/// A parser that converts nodes to schemas. It is used after the ids of all nodes are assigned.
pub(super) struct SchemaParser<'a, 't> {
    pub(super) discovery: &'a Discovery<'t>,
    /// The id of the schema for each node, by the index of the node.
    pub(super) ids: &'a HashMap<usize, SchemaId>,
    /// The id of each resource, by the index of the discovered resource.
    pub(super) resources: &'a HashMap<usize, ResourceId>,
    pub(super) options: &'a ResolveOptions,
    /// The occurrences of `nullable: true`, which are applied after all schemas are parsed.
    pub(super) nullable: Vec<NullableKeyword>,
    /// The kind of invalid keywords that were dropped from the schema currently being parsed.
    pub(super) gap: SchemaGap,
    /// For each node, the nodes that refer to it; computed on first use.
    pub(super) referring: OnceCell<HashMap<usize, Vec<usize>>>,
    pub(super) problems: Diagnostics,
}

impl<'t> SchemaParser<'_, 't> {
    /// Parses the schema of a node. A keyword with an invalid value is reported and dropped.
    pub(super) fn parse_schema(&mut self, at: usize, node: &SchemaNode<'t>) -> Schema {
        self.gap = SchemaGap::None;
        let resource = self.discovery.resources.get(node.resource);
        let inside = resource.and_then(|held| node.pointer.strip_prefix(held.pointer.as_str()));
        let mut schema = Schema {
            place: DocumentLocation {
                source: node.source,
                pointer: node.pointer.clone(),
                span: node.tree.span,
            },
            resource: self.resources.get(&node.resource).copied().unwrap_or_default(),
            location: inside.unwrap_or(&node.pointer).to_owned(),
            origin: node.origin.clone(),
            reference: node.reference.and_then(|target| self.ids.get(&target).copied()),
            ..Schema::default()
        };
        schema.dynamic_reference = node.dynamic.as_ref().and_then(|(anchor, target)| {
            let initial = self.ids.get(target).copied()?;
            Some(DynamicReference { anchor: anchor.clone(), initial })
        });
        match &node.tree.value {
            NodeValue::Bool(value) => {
                if node.dialect.draft == Draft::OpenApi30 && !node.pointer.ends_with("/additionalProperties")
                {
                    let message = "OpenAPI 3.0 has no boolean schemas".to_owned();
                    self.report_invalid(
                        schema.place.clone(),
                        message,
                        None,
                        "it is read as in later versions",
                    );
                }
                schema.boolean = Some(*value);
            }
            NodeValue::Object(members) => self.parse_members(node, members, &mut schema),
            _ => {
                let message =
                    format!("a schema must be an object or a boolean, not {}", node.tree.kind_with_article());
                // `properties: {$ref: …}` declares a property of the name `$ref` instead of a reference.
                let is_reference = node.pointer.ends_with("/$ref") && node.tree.as_str().is_some();
                let help = is_reference.then_some(
                    "`$ref` can only replace a whole schema, not a map of schemas: write the schemas, or refer to the schema that contains the map",
                );
                self.report_invalid(schema.place.clone(), message, help, "any JSON is accepted");
                self.record_gap(SchemaGap::Applicator);
            }
        }
        if let Some(reference) = self.discovery.dangling.get(&at) {
            self.record_gap(SchemaGap::Applicator);
            // The documentation of the generated type mentions the unresolved reference.
            let note = if schema.is_unconstrained() {
                format!("Any JSON: the contract does not contain `{reference}`.")
            } else {
                format!("The schema should also satisfy `{reference}`, which the contract does not contain.")
            };
            schema.description = Some(match schema.description.take() {
                Some(text) => format!("{text}\n\n{note}"),
                None => note,
            });
        }
        schema.gap = self.gap;
        schema
    }

    /// Records that a keyword of the current schema was dropped. The most severe gap is kept.
    fn record_gap(&mut self, gap: SchemaGap) {
        self.gap = self.gap.max(gap);
    }

    fn parse_members(&mut self, node: &SchemaNode<'t>, members: &[ObjectMember], schema: &mut Schema) {
        let ignores_siblings = node.dialect.ref_overrides_siblings() && node.tree.get("$ref").is_some();
        let mut void = Vec::new();
        for member in members {
            if member.key.starts_with("x-") {
                schema.extensions.insert(member.key.clone(), member.value.to_json());
                continue;
            }
            if node.dialect.is_draft_04 && member.key == node.dialect.id_keyword() {
                self.expect_string(node, member);
                continue;
            }
            let keyword = Keyword::find(&member.key);
            if let Some(keyword) = keyword
                && node.dialect.supports_keyword(keyword)
            {
                let kept = matches!(
                    keyword,
                    Keyword::Ref
                        | Keyword::Defs
                        | Keyword::Definitions
                        | Keyword::Title
                        | Keyword::Description
                        | Keyword::Comment
                        | Keyword::Schema
                );
                if ignores_siblings
                    && keyword == Keyword::Nullable
                    && self.options.nullable == NullableSemantics::OrNull
                {
                    if self.parse_bool(node, member) {
                        self.defer_nullable(node, member);
                    }
                } else if ignores_siblings && !kept {
                    void.push(format!("`{}`", member.key));
                } else {
                    self.parse_keyword(node, keyword, member, schema);
                }
            } else {
                self.report_unknown_keyword(node, keyword, member);
            }
        }
        if let Some(member) = node.tree.member("$ref")
            && !void.is_empty()
        {
            let message =
                format!("{} beside `$ref` has no effect in {}", void.join(", "), node.dialect.display_name());
            let later = if node.dialect.draft == Draft::OpenApi30 { "OpenAPI 3.1" } else { "2020-12" };
            let help = format!(
                "move the `$ref` into `allOf`, or use {later}, in which keywords beside `$ref` apply"
            );
            self.problems
                .push(Diagnostic::warning("ignored", message).with_place(node.place(member)).help(help));
        }
        if !ignores_siblings {
            self.resolve_combinations(node, schema);
        }
    }

    /// Parses the keywords whose meaning depends on adjacent keywords, such as `additionalItems` and
    /// `minContains`.
    fn resolve_combinations(&mut self, node: &SchemaNode<'t>, schema: &mut Schema) {
        let tree = node.tree;
        match node.dialect.draft {
            Draft::Draft2019 | Draft::Draft7 => {
                // Before 2020-12, `additionalItems` had an effect only if `items` was an array.
                let tuple = tree.get("items").is_some_and(|items| matches!(items.value, NodeValue::Array(_)));
                if tuple && let Some(member) = tree.member("additionalItems") {
                    schema.items = self.parse_child(node, member);
                }
                if let Some(member) = tree.member("unevaluatedItems")
                    && node.dialect.draft == Draft::Draft2019
                    && tree.get("contains").is_some()
                {
                    let message = "`unevaluatedItems` next to `contains` has a different meaning in 2019-09";
                    let problem = Diagnostic::error("unsupported", message).with_place(node.place(member));
                    self.problems.push(problem.with_fallback("`unevaluatedItems` is left out"));
                    self.record_gap(SchemaGap::Applicator);
                    schema.unevaluated_items = None;
                }
            }
            Draft::OpenApi30 => self.parse_nullable(node, schema),
            Draft::Latest if self.accepts_openapi_30(node) => self.parse_nullable(node, schema),
            Draft::Latest => {}
        }
        self.parse_boolean_bounds(node, schema);
        self.coerce_literals(node, schema);
        let unreadable = |name: &str| {
            is_keyword_known(node, name) && tree.get(name).is_some_and(|value| !value.is_object())
        };
        if unreadable("properties") || unreadable("patternProperties") {
            schema.additional_properties = None;
        }
        if is_keyword_known(node, "prefixItems")
            && tree.get("prefixItems").is_some_and(|list| list.elements().is_empty())
        {
            schema.items = None;
        }
        for keyword in [Keyword::MinContains, Keyword::MaxContains] {
            let Some(member) = tree.member(keyword.name()).filter(|_| node.dialect.supports_keyword(keyword))
            else {
                continue;
            };
            let count = self.parse_count(node, member);
            match (&mut schema.contains, keyword) {
                // An absent `minContains` means 1, which could be stricter than the value that was dropped.
                (Some(contains), Keyword::MinContains) => contains.min = count.or(Some(0)),
                (Some(contains), _) => contains.max = count,
                (None, _) => {}
            }
        }
    }

    /// Returns true if keywords of OpenAPI 3.0 are accepted with a warning in this schema of a 3.1 document.
    fn accepts_openapi_30(&self, node: &SchemaNode<'t>) -> bool {
        node.dialect.accepts_openapi_30 && self.options.unknown_keywords != UnknownKeywordPolicy::Deny
    }

    /// Warns about a keyword of OpenAPI 3.0 in a 3.1 document. `instead` is the recommended replacement.
    fn warn_openapi_30(&mut self, node: &SchemaNode<'t>, member: &ObjectMember, instead: &str) {
        if !node.dialect.accepts_openapi_30 || self.options.unknown_keywords == UnknownKeywordPolicy::Ignore {
            return;
        }
        let message = format!("`{}` is interpreted as in OpenAPI 3.0", member.key);
        let help = format!("{instead}, or set `\"openapi\": \"3.0.3\"`");
        self.problems
            .push(Diagnostic::warning("openapi-3.0", message).with_place(node.place(member)).help(help));
    }

    /// Translates `nullable` of OpenAPI 3.0 to JSON Schema 2020-12.
    fn parse_nullable(&mut self, node: &SchemaNode<'t>, schema: &mut Schema) {
        let tree = node.tree;
        if let Some(member) = tree.member("nullable") {
            match (self.parse_bool(node, member), &mut schema.types) {
                (true, _) if self.options.nullable == NullableSemantics::OrNull => {
                    self.defer_nullable(node, member)
                }
                (true, Some(types)) => {
                    *types = types.union(TypeSet::NULL);
                    self.warn_openapi_30(node, member, "write `\"type\": [\"string\", \"null\"]`");
                }
                (true, None) => {
                    // According to the clarification of `nullable` in OpenAPI 3.0.3, it has no effect without
                    // `type`.
                    let problem = Diagnostic::warning("ignored", "`nullable` has no effect without `type`")
                        .with_place(node.place(member))
                        .help("add `type`, or use OpenAPI 3.1 and `anyOf` with `{\"type\": \"null\"}`");
                    self.problems.push(problem);
                }
                (false, _) => {}
            }
        }
    }

    /// Translates the boolean bounds of draft-04 and OpenAPI 3.0 to JSON Schema 2020-12.
    fn parse_boolean_bounds(&mut self, node: &SchemaNode<'t>, schema: &mut Schema) {
        for (keyword, lower) in [("exclusiveMinimum", true), ("exclusiveMaximum", false)] {
            let Some(member) = node.tree.member(keyword) else { continue };
            let Some(exclusive) = lenient::coerce_bool(&member.value) else { continue };
            let (plain, bound) =
                if lower { ("minimum", &schema.minimum) } else { ("maximum", &schema.maximum) };
            let is_bounded = bound.is_some();
            if node.dialect.is_draft_04 || node.dialect.draft == Draft::OpenApi30 {
                self.parse_bool(node, member);
            } else if self.accepts_openapi_30(node) {
                self.warn_openapi_30(node, member, &exclusive_bound_help(&member.key, plain));
            } else if is_bounded {
                self.report_coerced(node, member, "a number", &format!("`{plain}` is used as the bound"));
            } else {
                self.report_dropped(node, member, "a number");
            }
            match (exclusive, lower) {
                (true, true) => schema.exclusive_minimum = schema.minimum.take(),
                (true, false) => schema.exclusive_maximum = schema.maximum.take(),
                (false, _) => {}
            }
        }
    }

    /// Parses a numeric exclusive bound; [`Self::parse_boolean_bounds`] parses boolean ones.
    fn parse_exclusive_bound(&mut self, node: &SchemaNode<'t>, member: &ObjectMember) -> Option<Number> {
        if lenient::coerce_bool(&member.value).is_some() {
            return None;
        }
        let number = self.parse_number(node, member);
        let old = node.dialect.is_draft_04 || node.dialect.draft == Draft::OpenApi30;
        if old && number.is_some() {
            let expected = format!("a boolean in {}", node.dialect.display_name());
            self.report_coerced(node, member, &expected, "it is used as the bound itself");
        }
        number
    }

    /// Records a `nullable` keyword, which is translated after the graph is complete.
    fn defer_nullable(&mut self, node: &SchemaNode<'t>, member: &ObjectMember) {
        let place = node.place(member);
        self.nullable.extend(self.id_at(node, &node.pointer).map(|schema| NullableKeyword { schema, place }));
        let instead = "write `\"type\": [\"string\", \"null\"]`, or `anyOf` with `{\"type\": \"null\"}`";
        self.warn_openapi_30(node, member, instead);
    }

    fn parse_keyword(
        &mut self,
        node: &SchemaNode<'t>,
        keyword: Keyword,
        member: &ObjectMember,
        schema: &mut Schema,
    ) {
        match keyword {
            Keyword::Comment => {
                self.parse_string(node, member);
            }
            // `discover` has already parsed these keywords.
            Keyword::Ref | Keyword::DynamicRef | Keyword::RecursiveRef | Keyword::Schema => {
                self.expect_string(node, member);
            }
            Keyword::Id => self.check_identifier(node, member),
            Keyword::Anchor | Keyword::DynamicAnchor => self.check_anchor(node, member),
            Keyword::RecursiveAnchor => {
                self.parse_bool(node, member);
            }
            Keyword::Vocabulary => {
                if !member.value.is_object()
                    || member.value.members().iter().any(|each| each.value.as_bool().is_none())
                {
                    self.report_dropped(node, member, "an object of booleans");
                }
            }
            Keyword::Defs | Keyword::Definitions => {
                schema.definitions.extend(self.parse_schema_map(node, member))
            }
            Keyword::AllOf => schema.all_of = self.parse_schema_list(node, member),
            Keyword::AnyOf => schema.any_of = self.parse_schema_list(node, member),
            Keyword::OneOf => schema.one_of = self.parse_schema_list(node, member),
            Keyword::Not => schema.not = self.parse_child(node, member),
            Keyword::If => schema.condition = self.parse_child(node, member),
            Keyword::Then => schema.then = self.parse_child(node, member),
            Keyword::Else => schema.otherwise = self.parse_child(node, member),
            Keyword::DependentSchemas => schema.dependent_schemas.extend(self.parse_schema_map(node, member)),
            Keyword::Dependencies => self.parse_dependencies(node, member, schema),
            Keyword::PrefixItems => schema.prefix_items = self.parse_schema_list(node, member),
            Keyword::Items => self.parse_items(node, member, schema),
            Keyword::AdditionalItems => {
                self.parse_child(node, member);
            }
            Keyword::Contains => {
                schema.contains = self.parse_child(node, member).map(|schema| ContainsConstraint {
                    schema,
                    min: None,
                    max: None,
                });
            }
            Keyword::Properties => schema.properties = self.parse_schema_map(node, member),
            Keyword::PatternProperties => schema.pattern_properties = self.parse_schema_map(node, member),
            Keyword::AdditionalProperties => schema.additional_properties = self.parse_child(node, member),
            Keyword::PropertyNames => schema.property_names = self.parse_child(node, member),
            Keyword::UnevaluatedItems => schema.unevaluated_items = self.parse_child(node, member),
            Keyword::UnevaluatedProperties => schema.unevaluated_properties = self.parse_child(node, member),
            Keyword::ContentSchema => schema.content_schema = self.parse_child(node, member),
            Keyword::Type => schema.types = self.parse_types(node, member),
            Keyword::Enum => schema.enumeration = self.parse_enum(node, member),
            Keyword::Const => schema.constant = Some(member.value.to_json()),
            Keyword::Minimum => schema.minimum = self.parse_number(node, member),
            Keyword::Maximum => schema.maximum = self.parse_number(node, member),
            Keyword::ExclusiveMinimum => schema.exclusive_minimum = self.parse_exclusive_bound(node, member),
            Keyword::ExclusiveMaximum => schema.exclusive_maximum = self.parse_exclusive_bound(node, member),
            Keyword::MultipleOf => {
                schema.multiple_of = self.parse_number(node, member);
                if schema.multiple_of.as_ref().is_some_and(|divisor| *divisor <= Number::from_i64(0)) {
                    self.report_dropped(node, member, "greater than 0");
                    schema.multiple_of = None;
                }
            }
            Keyword::MinLength => schema.min_length = self.parse_count(node, member),
            Keyword::MaxLength => schema.max_length = self.parse_count(node, member),
            Keyword::MinItems => schema.min_items = self.parse_count(node, member),
            Keyword::MaxItems => schema.max_items = self.parse_count(node, member),
            Keyword::MinProperties => schema.min_properties = self.parse_count(node, member),
            Keyword::MaxProperties => schema.max_properties = self.parse_count(node, member),
            // These keywords are parsed together with `contains`, `type` or `minimum`.
            Keyword::MinContains | Keyword::MaxContains | Keyword::Nullable => {}
            Keyword::Pattern => schema.pattern = self.parse_string(node, member),
            Keyword::UniqueItems => schema.unique_items = self.parse_bool(node, member),
            Keyword::Required => schema.required = self.parse_names(node, member),
            Keyword::DependentRequired => self.parse_dependent_required(node, member, schema),
            Keyword::Title => schema.title = self.parse_string(node, member),
            Keyword::Description => schema.description = self.parse_string(node, member),
            Keyword::Default => schema.default = Some(member.value.to_json()),
            Keyword::Example => schema.examples.push(member.value.to_json()),
            Keyword::Examples => match &member.value.value {
                NodeValue::Array(examples) => {
                    schema.examples.extend(examples.iter().map(DocumentNode::to_json))
                }
                _ => self.report_dropped(node, member, "an array"),
            },
            Keyword::Deprecated => schema.deprecated = self.parse_bool(node, member),
            Keyword::ReadOnly => schema.read_only = self.parse_bool(node, member),
            Keyword::WriteOnly => schema.write_only = self.parse_bool(node, member),
            Keyword::Format => {
                schema.format = self.parse_string(node, member);
                schema.asserted = self.parse_asserted_format(node, member);
            }
            // This keyword is spelled `format` in documents, so it is parsed together with `format`.
            Keyword::AssertedFormat => {}
            Keyword::ContentEncoding => schema.content_encoding = self.parse_string(node, member),
            Keyword::ContentMediaType => schema.content_media_type = self.parse_string(node, member),
            Keyword::Discriminator | Keyword::Xml | Keyword::ExternalDocs => {
                if !member.value.is_object() {
                    self.report_dropped(node, member, "an object");
                }
                if keyword == Keyword::Discriminator {
                    schema.discriminator = self.parse_discriminator(node, member);
                }
                schema.extensions.insert(member.key.clone(), member.value.to_json());
            }
        }
    }

    fn report_unknown_keyword(
        &mut self,
        node: &SchemaNode<'t>,
        keyword: Option<Keyword>,
        member: &ObjectMember,
    ) {
        // Keywords of a vocabulary that the meta-schema omits are ignored without a warning.
        let all = super::dialect::SchemaDialect { vocabularies: vocabulary::ALL, ..node.dialect };
        if keyword.is_some_and(|keyword| all.supports_keyword(keyword)) {
            return;
        }
        if keyword == Some(Keyword::Nullable) && self.accepts_openapi_30(node) {
            return;
        }
        let severity = match self.options.unknown_keywords {
            UnknownKeywordPolicy::Deny => Severity::Error,
            UnknownKeywordPolicy::Warn => Severity::Warning,
            UnknownKeywordPolicy::Ignore => return,
        };
        let message = format!("`{}` is not a keyword of {}", member.key, node.dialect.display_name());
        let place = DocumentLocation { span: member.key_span, ..node.place(member) };
        let mut problem = Diagnostic::new(severity, "unknown-keyword", message).with_place(place);
        let help = match member.key.as_str() {
            "nullable" => Some("add `\"null\"` to `type`: `\"type\": [\"string\", \"null\"]`".to_owned()),
            "id" => Some("did you mean `$id`?".to_owned()),
            "example" => Some("use `examples` with an array of one element".to_owned()),
            "additionalItems" => {
                Some("use `prefixItems` for the tuple and `items` for its other elements".to_owned())
            }
            "$recursiveRef" | "$recursiveAnchor" => {
                Some("use `$dynamicRef` and `$dynamicAnchor`, which replace it in 2020-12".to_owned())
            }
            key => nearest_match(
                key,
                Keyword::ALL
                    .iter()
                    .filter(|keyword| node.dialect.supports_keyword(**keyword))
                    .map(|keyword| keyword.name()),
            )
            .map(|near| format!("did you mean `{near}`?")),
        };
        if let Some(help) = help {
            problem = problem.help(help);
        } else if keyword.is_none() {
            problem = problem.help("start the name of a custom keyword with `x-`");
        }
        self.problems.push(problem);
    }

    fn report_invalid(&mut self, place: DocumentLocation, message: String, help: Option<&str>, mend: &str) {
        let mut problem = Diagnostic::error("invalid-schema", message).with_place(place).with_fallback(mend);
        if let Some(help) = help {
            problem = problem.help(help);
        }
        self.problems.push(problem);
    }

    fn report_dropped(&mut self, node: &SchemaNode<'t>, member: &ObjectMember, expected: &str) {
        self.report_dropped_as(node, member, expected, "it is left out");
    }

    /// Reports and drops a keyword that is not `expected`, and records a gap in the schema. `mend` is the
    /// fallback that the diagnostic states.
    fn report_dropped_as(
        &mut self,
        node: &SchemaNode<'t>,
        member: &ObjectMember,
        expected: &str,
        mend: &str,
    ) {
        match Keyword::find(&member.key).map(Keyword::role) {
            Some(KeywordRole::InPlace | KeywordRole::Below) => self.record_gap(SchemaGap::Applicator),
            Some(KeywordRole::Assertion) => self.record_gap(SchemaGap::Assertion),
            _ => {}
        }
        self.report_coerced(node, member, expected, mend);
    }

    /// Reports a value that is not `expected` but is used nevertheless. `mend` describes the interpretation.
    fn report_coerced(&mut self, node: &SchemaNode<'t>, member: &ObjectMember, expected: &str, mend: &str) {
        let found = &member.value;
        let shown = match &found.value {
            NodeValue::Number(text) => text.clone(),
            NodeValue::Bool(value) => value.to_string(),
            NodeValue::String(text) if text.len() <= 40 => format!("\"{text}\""),
            NodeValue::Array(elements) if elements.is_empty() => "an empty array".to_owned(),
            _ => found.kind_with_article().to_owned(),
        };
        let message = format!("`{}` must be {expected}, not {shown}", member.key);
        let exclusive;
        let help = match (member.key.as_str(), &found.value) {
            ("required", NodeValue::Bool(_)) => {
                Some("add the name of the property to `required` of the enclosing object")
            }
            ("items", NodeValue::Array(_)) => Some("use `prefixItems` for the schemas of a tuple"),
            (key @ ("exclusiveMinimum" | "exclusiveMaximum"), NodeValue::Bool(_)) => {
                let plain = if key == "exclusiveMinimum" { "minimum" } else { "maximum" };
                exclusive = exclusive_bound_help(key, plain);
                Some(exclusive.as_str())
            }
            ("example" | "examples", _) => Some("write the examples as an array"),
            (_, NodeValue::Object(_)) if found.get("$ref").is_some() => Some(
                "`$ref` can only replace a whole schema: write the value here, or refer to a schema that contains it",
            ),
            (_, NodeValue::String(text)) if Number::parse(text).is_ok() => Some("remove the quotes"),
            _ => None,
        };
        self.report_invalid(node.place(member), message, help, mend);
    }
}

/// Returns the help for a boolean `exclusiveMinimum` or `exclusiveMaximum`. `plain` is the keyword with the
/// number.
fn exclusive_bound_help(exclusive: &str, plain: &str) -> String {
    format!("replace `{plain}` by `{exclusive}` with the same number")
}

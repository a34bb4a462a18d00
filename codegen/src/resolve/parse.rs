//! A schema position as a [`Schema`]: the form of every keyword is checked here, once.

mod forms;

use std::{cell::OnceCell, collections::HashMap};

use contract_runtime::Number;

use crate::{
    diagnostics::{Diagnostic, Diagnostics, Severity},
    schema::{
        Contains, DynamicReference, Gap, ResourceId, Schema, SchemaId, Types,
        keywords::{Draft, Keyword, Role, vocabulary},
    },
    tree::{Member, Place, Tree, Value},
};

use self::forms::is_known;

use super::{
    Nullable, ResolveOptions, UnknownKeywords,
    discover::{Discovery, Node},
    lenient,
    nullable::Word,
    suggest::nearest,
};

/// Turns nodes into schemas once all ids are known.
pub(super) struct Parser<'a, 't> {
    pub(super) discovery: &'a Discovery<'t>,
    /// By node.
    pub(super) ids: &'a HashMap<usize, SchemaId>,
    /// By discovered resource.
    pub(super) resources: &'a HashMap<usize, ResourceId>,
    pub(super) options: &'a ResolveOptions,
    /// Where `nullable: true` is read as "or null".
    pub(super) nullable: Vec<Word>,
    /// What was left out of the schema that is being read.
    pub(super) gap: Gap,
    /// Who refers to each node, once somebody asks.
    pub(super) referring: OnceCell<HashMap<usize, Vec<usize>>>,
    pub(super) problems: Diagnostics,
}

impl<'t> Parser<'_, 't> {
    /// The schema of a node; a keyword of a wrong form is reported and left out.
    pub(super) fn schema(&mut self, at: usize, node: &Node<'t>) -> Schema {
        self.gap = Gap::None;
        let resource = self.discovery.resources.get(node.resource);
        let inside = resource.and_then(|held| node.pointer.strip_prefix(held.pointer.as_str()));
        let mut schema = Schema {
            place: Place { source: node.source, pointer: node.pointer.clone(), span: node.tree.span },
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
            Value::Bool(value) => {
                if node.dialect.draft == Draft::OpenApi30 && !node.pointer.ends_with("/additionalProperties")
                {
                    let message = "OpenAPI 3.0 has no boolean schemas".to_owned();
                    self.invalid(schema.place.clone(), message, None, "it is read as later versions do");
                }
                schema.boolean = Some(*value);
            }
            Value::Object(members) => self.members(node, members, &mut schema),
            _ => {
                let message = format!("a schema must be an object or a boolean, not {}", node.tree.kind());
                self.invalid(schema.place.clone(), message, None, "any JSON passes");
                self.lose(Gap::Members);
            }
        }
        if let Some(reference) = self.discovery.dangling.get(&at) {
            self.lose(Gap::Members);
            // Whoever reads the type learns why it says nothing, or less than it should.
            let lost = if schema.says_nothing() {
                format!("Any JSON: the contract does not have `{reference}`.")
            } else {
                format!("The contract does not have `{reference}`, which this should be as well.")
            };
            schema.description = Some(match schema.description.take() {
                Some(text) => format!("{text}\n\n{lost}"),
                None => lost,
            });
        }
        schema.gap = self.gap;
        schema
    }

    /// Notes that something is left out of the schema that is being read.
    fn lose(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn members(&mut self, node: &Node<'t>, members: &[Member], schema: &mut Schema) {
        let lonely = node.dialect.lonely_ref() && node.tree.get("$ref").is_some();
        let mut void = Vec::new();
        for member in members {
            if member.key.starts_with("x-") {
                schema.extensions.insert(member.key.clone(), member.value.to_json());
                continue;
            }
            if node.dialect.early && member.key == node.dialect.id() {
                self.written(node, member);
                continue;
            }
            let keyword = Keyword::find(&member.key);
            if let Some(keyword) = keyword
                && node.dialect.knows(keyword)
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
                if lonely && keyword == Keyword::Nullable && self.options.nullable == Nullable::OrNull {
                    if self.flag(node, member) {
                        self.or_null(node, member);
                    }
                } else if lonely && !kept {
                    void.push(format!("`{}`", member.key));
                } else {
                    self.keyword(node, keyword, member, schema);
                }
            } else {
                self.unknown(node, keyword, member);
            }
        }
        if let Some(member) = node.tree.member("$ref")
            && !void.is_empty()
        {
            let message =
                format!("{} beside `$ref` has no effect in {}", void.join(", "), node.dialect.name());
            let later = if node.dialect.draft == Draft::OpenApi30 { "OpenAPI 3.1" } else { "2020-12" };
            let help = format!("put the reference into `allOf`, or move to {later}, where both count");
            self.problems.push(Diagnostic::warning("ignored", message).at(node.place(member)).help(help));
        }
        if !lonely {
            self.combinations(node, schema);
        }
    }

    /// What more than one keyword decides.
    fn combinations(&mut self, node: &Node<'t>, schema: &mut Schema) {
        let tree = node.tree;
        match node.dialect.draft {
            Draft::Draft2019 | Draft::Draft7 => {
                // Before 2020-12, `additionalItems` says something beside an array of `items` only.
                let tuple = tree.get("items").is_some_and(|items| matches!(items.value, Value::Array(_)));
                if tuple && let Some(member) = tree.member("additionalItems") {
                    schema.items = self.child(node, member);
                }
                if let Some(member) = tree.member("unevaluatedItems")
                    && node.dialect.draft == Draft::Draft2019
                    && tree.get("contains").is_some()
                {
                    let message =
                        "`unevaluatedItems` beside `contains`, which 2019-09 understands differently";
                    let problem = Diagnostic::error("unsupported", message).at(node.place(member));
                    self.problems.push(problem.mended("`unevaluatedItems` is left out"));
                    self.lose(Gap::Members);
                    schema.unevaluated_items = None;
                }
            }
            Draft::OpenApi30 => self.nullable(node, schema),
            Draft::Latest if self.borrows(node) => self.nullable(node, schema),
            Draft::Latest => {}
        }
        self.bounds(node, schema);
        self.literals(node, schema);
        let unreadable =
            |name: &str| is_known(node, name) && tree.get(name).is_some_and(|value| !value.is_object());
        if unreadable("properties") || unreadable("patternProperties") {
            schema.additional_properties = None;
        }
        if is_known(node, "prefixItems")
            && tree.get("prefixItems").is_some_and(|list| list.elements().is_empty())
        {
            schema.items = None;
        }
        for keyword in [Keyword::MinContains, Keyword::MaxContains] {
            let Some(member) = tree.member(keyword.name()).filter(|_| node.dialect.knows(keyword)) else {
                continue;
            };
            let count = self.count(node, member);
            match (&mut schema.contains, keyword) {
                // Without it one is asked, which may be more than it says.
                (Some(contains), Keyword::MinContains) => contains.min = count.or(Some(0)),
                (Some(contains), _) => contains.max = count,
                (None, _) => {}
            }
        }
    }

    /// Whether words of OpenAPI 3.0 are read here too.
    fn borrows(&self, node: &Node<'t>) -> bool {
        node.dialect.migrated && self.options.unknown_keywords != UnknownKeywords::Deny
    }

    /// Says that a word of OpenAPI 3.0 was read in a document of 3.1.
    fn borrowed(&mut self, node: &Node<'t>, member: &Member, instead: &str) {
        if !node.dialect.migrated || self.options.unknown_keywords == UnknownKeywords::Ignore {
            return;
        }
        let message = format!("`{}` is read as OpenAPI 3.0 means it", member.key);
        let help = format!("{instead}; or say `\"openapi\": \"3.0.3\"`");
        self.problems.push(Diagnostic::warning("openapi-3.0", message).at(node.place(member)).help(help));
    }

    /// `nullable` of 3.0, in the words of 2020-12.
    fn nullable(&mut self, node: &Node<'t>, schema: &mut Schema) {
        let tree = node.tree;
        if let Some(member) = tree.member("nullable") {
            match (self.flag(node, member), &mut schema.types) {
                (true, _) if self.options.nullable == Nullable::OrNull => self.or_null(node, member),
                (true, Some(types)) => {
                    *types = types.or(Types::NULL);
                    self.borrowed(node, member, "write `\"type\": [\"string\", \"null\"]`");
                }
                (true, None) => {
                    // OpenAPI 3.0.3, clarification of `nullable`.
                    let problem = Diagnostic::warning("ignored", "`nullable` has no effect without `type`")
                        .at(node.place(member))
                        .help("add `type`, or move to OpenAPI 3.1 and `anyOf` with `{\"type\": \"null\"}`");
                    self.problems.push(problem);
                }
                (false, _) => {}
            }
        }
    }

    /// The boolean bounds of draft-04 and 3.0, in the words of 2020-12.
    fn bounds(&mut self, node: &Node<'t>, schema: &mut Schema) {
        for (keyword, lower) in [("exclusiveMinimum", true), ("exclusiveMaximum", false)] {
            let Some(member) = node.tree.member(keyword) else { continue };
            let Some(exclusive) = lenient::flag(&member.value) else { continue };
            let (plain, bound) =
                if lower { ("minimum", &schema.minimum) } else { ("maximum", &schema.maximum) };
            let is_bounded = bound.is_some();
            if node.dialect.early || node.dialect.draft == Draft::OpenApi30 {
                self.flag(node, member);
            } else if self.borrows(node) {
                self.borrowed(node, member, &format!("write the bound itself, in place of `{plain}`"));
            } else if is_bounded {
                self.wrong_but(node, member, "a number", &format!("`{plain}` is the bound"));
            } else {
                self.wrong(node, member, "a number");
            }
            match (exclusive, lower) {
                (true, true) => schema.exclusive_minimum = schema.minimum.take(),
                (true, false) => schema.exclusive_maximum = schema.maximum.take(),
                (false, _) => {}
            }
        }
    }

    /// A bound of its own; a boolean, which older versions have here, is settled in `bounds`.
    fn bound(&mut self, node: &Node<'t>, member: &Member) -> Option<Number> {
        if lenient::flag(&member.value).is_some() {
            return None;
        }
        let number = self.number(node, member);
        let old = node.dialect.early || node.dialect.draft == Draft::OpenApi30;
        if old && number.is_some() {
            let expected = format!("a boolean in {}", node.dialect.name());
            self.wrong_but(node, member, &expected, "it is the bound itself");
        }
        number
    }

    /// A `nullable` that is read as "or null" once the graph stands.
    fn or_null(&mut self, node: &Node<'t>, member: &Member) {
        let place = node.place(member);
        self.nullable.extend(self.id_at(node, &node.pointer).map(|schema| Word { schema, place }));
        let instead = "write `\"type\": [\"string\", \"null\"]`, or `anyOf` with `{\"type\": \"null\"}`";
        self.borrowed(node, member, instead);
    }

    fn keyword(&mut self, node: &Node<'t>, keyword: Keyword, member: &Member, schema: &mut Schema) {
        match keyword {
            Keyword::Comment => {
                self.text(node, member);
            }
            // Read while references are settled, as they are written.
            Keyword::Ref | Keyword::DynamicRef | Keyword::RecursiveRef | Keyword::Schema => {
                self.written(node, member);
            }
            Keyword::Id => self.identifier(node, member),
            Keyword::Anchor | Keyword::DynamicAnchor => self.anchor(node, member),
            Keyword::RecursiveAnchor => {
                self.flag(node, member);
            }
            Keyword::Vocabulary => {
                if !member.value.is_object()
                    || member.value.members().iter().any(|each| each.value.as_bool().is_none())
                {
                    self.wrong(node, member, "an object of booleans");
                }
            }
            Keyword::Defs | Keyword::Definitions => schema.definitions.extend(self.map(node, member)),
            Keyword::AllOf => schema.all_of = self.list(node, member),
            Keyword::AnyOf => schema.any_of = self.list(node, member),
            Keyword::OneOf => schema.one_of = self.list(node, member),
            Keyword::Not => schema.not = self.child(node, member),
            Keyword::If => schema.condition = self.child(node, member),
            Keyword::Then => schema.then = self.child(node, member),
            Keyword::Else => schema.otherwise = self.child(node, member),
            Keyword::DependentSchemas => schema.dependent_schemas.extend(self.map(node, member)),
            Keyword::Dependencies => self.dependencies(node, member, schema),
            Keyword::PrefixItems => schema.prefix_items = self.list(node, member),
            Keyword::Items => self.items(node, member, schema),
            Keyword::AdditionalItems => {
                self.child(node, member);
            }
            Keyword::Contains => {
                schema.contains =
                    self.child(node, member).map(|schema| Contains { schema, min: None, max: None });
            }
            Keyword::Properties => schema.properties = self.map(node, member),
            Keyword::PatternProperties => schema.pattern_properties = self.map(node, member),
            Keyword::AdditionalProperties => schema.additional_properties = self.child(node, member),
            Keyword::PropertyNames => schema.property_names = self.child(node, member),
            Keyword::UnevaluatedItems => schema.unevaluated_items = self.child(node, member),
            Keyword::UnevaluatedProperties => schema.unevaluated_properties = self.child(node, member),
            Keyword::ContentSchema => schema.content_schema = self.child(node, member),
            Keyword::Type => schema.types = self.types(node, member),
            Keyword::Enum => schema.enumeration = self.enumeration(node, member),
            Keyword::Const => schema.constant = Some(member.value.to_json()),
            Keyword::Minimum => schema.minimum = self.number(node, member),
            Keyword::Maximum => schema.maximum = self.number(node, member),
            Keyword::ExclusiveMinimum => schema.exclusive_minimum = self.bound(node, member),
            Keyword::ExclusiveMaximum => schema.exclusive_maximum = self.bound(node, member),
            Keyword::MultipleOf => {
                schema.multiple_of = self.number(node, member);
                if schema.multiple_of.as_ref().is_some_and(|divisor| *divisor <= Number::int(0)) {
                    self.wrong(node, member, "greater than 0");
                    schema.multiple_of = None;
                }
            }
            Keyword::MinLength => schema.min_length = self.count(node, member),
            Keyword::MaxLength => schema.max_length = self.count(node, member),
            Keyword::MinItems => schema.min_items = self.count(node, member),
            Keyword::MaxItems => schema.max_items = self.count(node, member),
            Keyword::MinProperties => schema.min_properties = self.count(node, member),
            Keyword::MaxProperties => schema.max_properties = self.count(node, member),
            // Settled with `contains`, `type` or `minimum`.
            Keyword::MinContains | Keyword::MaxContains | Keyword::Nullable => {}
            Keyword::Pattern => schema.pattern = self.text(node, member),
            Keyword::UniqueItems => schema.unique_items = self.flag(node, member),
            Keyword::Required => schema.required = self.names(node, member),
            Keyword::DependentRequired => self.dependent_required(node, member, schema),
            Keyword::Title => schema.title = self.text(node, member),
            Keyword::Description => schema.description = self.text(node, member),
            Keyword::Default => schema.default = Some(member.value.to_json()),
            Keyword::Example => schema.examples.push(member.value.to_json()),
            Keyword::Examples => match &member.value.value {
                Value::Array(examples) => schema.examples.extend(examples.iter().map(Tree::to_json)),
                _ => self.wrong(node, member, "an array"),
            },
            Keyword::Deprecated => schema.deprecated = self.flag(node, member),
            Keyword::ReadOnly => schema.read_only = self.flag(node, member),
            Keyword::WriteOnly => schema.write_only = self.flag(node, member),
            Keyword::Format => {
                schema.format = self.text(node, member);
                schema.asserted = self.asserted(node, member);
            }
            // Written as `format`.
            Keyword::AssertedFormat => {}
            Keyword::ContentEncoding => schema.content_encoding = self.text(node, member),
            Keyword::ContentMediaType => schema.content_media_type = self.text(node, member),
            Keyword::Discriminator | Keyword::Xml | Keyword::ExternalDocs => {
                if !member.value.is_object() {
                    self.wrong(node, member, "an object");
                }
                if keyword == Keyword::Discriminator {
                    schema.discriminator = self.discriminator(node, member);
                }
                schema.extensions.insert(member.key.clone(), member.value.to_json());
            }
        }
    }

    fn unknown(&mut self, node: &Node<'t>, keyword: Option<Keyword>, member: &Member) {
        // A vocabulary that the meta-schema leaves out takes its keywords with it.
        let all = super::dialect::Dialect { vocabularies: vocabulary::ALL, ..node.dialect };
        if keyword.is_some_and(|keyword| all.knows(keyword)) {
            return;
        }
        if keyword == Some(Keyword::Nullable) && self.borrows(node) {
            return;
        }
        let severity = match self.options.unknown_keywords {
            UnknownKeywords::Deny => Severity::Error,
            UnknownKeywords::Warn => Severity::Warning,
            UnknownKeywords::Ignore => return,
        };
        let message = format!("`{}` is not a keyword of {}", member.key, node.dialect.name());
        let place = Place { span: member.key_span, ..node.place(member) };
        let mut problem = Diagnostic::new(severity, "unknown-keyword", message).at(place);
        let help = match member.key.as_str() {
            "nullable" => Some("add `\"null\"` to `type`: `\"type\": [\"string\", \"null\"]`".to_owned()),
            "id" => Some("did you mean `$id`?".to_owned()),
            "example" => Some("write `examples` with a list of one".to_owned()),
            "additionalItems" => Some("`items` says this since 2020-12, beside `prefixItems`".to_owned()),
            "$recursiveRef" | "$recursiveAnchor" => {
                Some("2020-12 has `$dynamicRef` and `$dynamicAnchor` instead".to_owned())
            }
            key => nearest(
                key,
                Keyword::ALL
                    .iter()
                    .filter(|keyword| node.dialect.knows(**keyword))
                    .map(|keyword| keyword.name()),
            )
            .map(|near| format!("did you mean `{near}`?")),
        };
        if let Some(help) = help {
            problem = problem.help(help);
        } else if keyword.is_none() {
            problem = problem.help("keywords of your own start with `x-`");
        }
        self.problems.push(problem);
    }

    fn invalid(&mut self, place: Place, message: String, help: Option<&str>, mend: &str) {
        let mut problem = Diagnostic::error("invalid-schema", message).at(place).mended(mend);
        if let Some(help) = help {
            problem = problem.help(help);
        }
        self.problems.push(problem);
    }

    fn wrong(&mut self, node: &Node<'t>, member: &Member, expected: &str) {
        self.left_out(node, member, expected, "it is left out");
    }

    /// A keyword that is left out, and what that means for others.
    fn left_out(&mut self, node: &Node<'t>, member: &Member, expected: &str, mend: &str) {
        match Keyword::find(&member.key).map(Keyword::role) {
            Some(Role::InPlace | Role::Below) => self.lose(Gap::Members),
            Some(Role::Assertion) => self.lose(Gap::Check),
            _ => {}
        }
        self.wrong_but(node, member, expected, mend);
    }

    /// A value of the wrong kind that is read all the same, and as what.
    fn wrong_but(&mut self, node: &Node<'t>, member: &Member, expected: &str, mend: &str) {
        let found = &member.value;
        let shown = match &found.value {
            Value::Number(text) => text.clone(),
            Value::Bool(value) => value.to_string(),
            Value::String(text) if text.len() <= 40 => format!("\"{text}\""),
            Value::Array(elements) if elements.is_empty() => "an empty array".to_owned(),
            _ => found.kind().to_owned(),
        };
        let message = format!("`{}` must be {expected}, not {shown}", member.key);
        let help = match (member.key.as_str(), &found.value) {
            ("required", Value::Bool(_)) => Some("list the name in the `required` of the object around it"),
            ("items", Value::Array(_)) => Some("2020-12 has `prefixItems` for the schemas of a tuple"),
            ("exclusiveMinimum", Value::Bool(_)) => Some("write the bound itself, in place of `minimum`"),
            ("exclusiveMaximum", Value::Bool(_)) => Some("write the bound itself, in place of `maximum`"),
            ("example" | "examples", _) => Some("`examples` is a list"),
            (_, Value::String(text)) if Number::parse(text).is_ok() => Some("remove the quotes"),
            _ => None,
        };
        self.invalid(node.place(member), message, help, mend);
    }
}

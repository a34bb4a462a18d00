//! Parses the values of keywords: schemas, counts, names and types.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use contract_runtime::{Json, Number, format::StringFormat};

use crate::{
    diagnostics::Diagnostic,
    schema::{
        Discriminator, Schema, SchemaGap, SchemaId, TypeSet,
        keywords::{Draft, Keyword, KeywordRole},
    },
    tree::{DocumentLocation, DocumentNode, NodeValue, ObjectMember, join_token},
};

use super::{
    super::{
        discover::{SchemaNode, is_schema},
        lenient,
        suggest::nearest_match,
    },
    SchemaParser,
};

impl<'t> SchemaParser<'_, 't> {
    pub(super) fn id_at(&self, node: &SchemaNode<'t>, pointer: &str) -> Option<SchemaId> {
        let known = self.discovery.schemas.get(node.source.0 as usize)?;
        self.ids.get(known.get(pointer)?).copied()
    }

    pub(super) fn parse_child(&mut self, node: &SchemaNode<'t>, member: &ObjectMember) -> Option<SchemaId> {
        if !is_schema(&member.value) {
            self.report_dropped(node, member, "a schema (an object or a boolean)");
            return None;
        }
        self.id_at(node, &join_token(&node.pointer, &member.key))
    }

    pub(super) fn parse_schema_list(
        &mut self,
        node: &SchemaNode<'t>,
        member: &ObjectMember,
    ) -> Vec<SchemaId> {
        let elements = member.value.elements();
        if elements.is_empty() {
            let expected = "an array of at least one schema";
            // Without a valid array, the items to which `items` applies are unknown.
            let rest = node.tree.member("items").filter(|_| member.key == "prefixItems");
            self.report_dropped_as(node, member, expected, &dropped_with(rest));
        }
        let here = join_token(&node.pointer, &member.key);
        (0..elements.len()).filter_map(|at| self.id_at(node, &format!("{here}/{at}"))).collect()
    }

    pub(super) fn parse_schema_map(
        &mut self,
        node: &SchemaNode<'t>,
        member: &ObjectMember,
    ) -> Vec<(String, SchemaId)> {
        if !member.value.is_object() {
            // Without a valid object, the properties to which `additionalProperties` applies are unknown.
            let known = matches!(member.key.as_str(), "properties" | "patternProperties");
            let rest = node.tree.member("additionalProperties").filter(|_| known);
            self.report_dropped_as(node, member, "an object of schemas", &dropped_with(rest));
        }
        let here = join_token(&node.pointer, &member.key);
        let members = member.value.members().iter();
        members
            .filter_map(|each| Some((each.key.clone(), self.id_at(node, &join_token(&here, &each.key))?)))
            .collect()
    }

    /// Returns the format of a schema if its dialect asserts formats, or `None` if the format is only an
    /// annotation.
    pub(super) fn parse_asserted_format(
        &mut self,
        node: &SchemaNode<'t>,
        member: &ObjectMember,
    ) -> Option<StringFormat> {
        let name = member.value.as_str().filter(|_| node.dialect.asserts_formats)?;
        let found = StringFormat::from_name(name);
        if found.is_some() {
            return found;
        }
        // Validation 7.2.2 requires support for all formats of the specification; by 7.2.3, other formats are
        // annotations.
        match name {
            "regex" | "idn-email" | "idn-hostname" => {
                let message = format!("the dialect asserts the format `{name}`, which is not supported");
                let problem = Diagnostic::error("unsupported", message)
                    .with_place(node.place(member))
                    .help("remove the `format`, or use a dialect with the vocabulary `format-annotation`");
                self.problems.push(problem.with_fallback("it is not asserted"));
                self.record_gap(SchemaGap::Assertion);
            }
            // The formats that OpenAPI defines are only hints for the types of strings and numbers.
            "int32" | "uint32" | "int64" | "uint64" | "float" | "double" | "byte" | "binary" | "password" => {
            }
            _ => {
                let message = format!("`{name}` is not a format of JSON Schema and is not asserted");
                let near = nearest_match(name, StringFormat::ALL.iter().map(|format| format.as_str()));
                let mut problem = Diagnostic::warning("ignored", message).with_place(node.place(member));
                if let Some(near) = near {
                    problem = problem.help(format!("did you mean `{near}`?"));
                }
                self.problems.push(problem);
            }
        }
        None
    }

    /// Parses the `discriminator` of OpenAPI and resolves the schemas in its mapping.
    pub(super) fn parse_discriminator(
        &mut self,
        node: &SchemaNode<'t>,
        member: &ObjectMember,
    ) -> Option<Discriminator> {
        let here = join_token(&node.pointer, &member.key);
        let mut fault = |pointer: String, tree: &DocumentNode, message: String| {
            let place = DocumentLocation { source: node.source, pointer, span: tree.span };
            self.report_invalid(place, message, None, "it is left out");
        };
        let Some(tag) = member.value.get("propertyName").and_then(DocumentNode::as_str) else {
            if member.value.is_object() {
                let message = "`discriminator` must have a string `propertyName`".to_owned();
                fault(here, &member.value, message);
            }
            return None;
        };
        let tag = tag.to_owned();
        let here = join_token(&here, "mapping");
        let mut mapping = Vec::new();
        if let Some(other) = member.value.get("mapping").filter(|mapping| !mapping.is_object()) {
            let message =
                format!("`mapping` must be an object of schema names, not {}", other.kind_with_article());
            fault(here.clone(), other, message);
        }
        for each in member.value.get("mapping").map_or(&[][..], DocumentNode::members) {
            let what = || format!("the mapping of `{}`", each.key);
            let found = self.resolve_mapping_value(node, &each.value, join_token(&here, &each.key), &what);
            mapping.extend(found.map(|id| (each.key.clone(), id)));
        }
        let here = join_token(&join_token(&node.pointer, &member.key), "defaultMapping");
        let default = member.value.get("defaultMapping");
        let default = default
            .and_then(|text| self.resolve_mapping_value(node, text, here, &|| "`defaultMapping`".to_owned()));
        Some(Discriminator { tag, mapping, default, family: Vec::new() })
    }

    /// Returns the schema to which a value in the `mapping` of a discriminator refers. Returns `None` with a
    /// warning if there is no such schema.
    fn resolve_mapping_value(
        &mut self,
        node: &SchemaNode<'t>,
        text: &DocumentNode,
        pointer: String,
        what: &dyn Fn() -> String,
    ) -> Option<SchemaId> {
        let found = text.as_str().and_then(|text| self.find_mapped_schema(node, text));
        if found.is_none() {
            self.problems.push(
                Diagnostic::warning("ignored", format!("{} refers to no schema of the contract", what()))
                    .with_place(DocumentLocation { source: node.source, pointer, span: text.span })
                    .help("use the name of a schema in `components/schemas`, or a reference to a schema"),
            );
        }
        found
    }

    /// Looks up a value in the `mapping` of a discriminator: first as the name of a component, then as a
    /// reference.
    fn find_mapped_schema(&self, node: &SchemaNode<'t>, text: &str) -> Option<SchemaId> {
        // These characters are valid in component names (OpenAPI 3.1, 4.8.7).
        let is_name = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
        let named = is_name.then(|| format!("#/components/schemas/{text}"));
        let references = named.iter().map(String::as_str).chain([text]);
        let found = references
            .filter_map(|reference| self.discovery.locate_reference(node.resource, reference, 0).ok())
            .find_map(|target| {
                let known = self.discovery.schemas.get(target.source.0 as usize)?;
                known.get(&target.pointer).copied()
            })?;
        self.ids.get(&found).copied()
    }

    pub(super) fn parse_items(&mut self, node: &SchemaNode<'t>, member: &ObjectMember, schema: &mut Schema) {
        let tuple = matches!(member.value.value, NodeValue::Array(_));
        let old = matches!(node.dialect.draft, Draft::Draft2019 | Draft::Draft7);
        if tuple && (old || !member.value.elements().is_empty()) {
            if !old {
                let fallback = "it is read as `prefixItems`";
                self.report_coerced(node, member, "a schema (an object or a boolean)", fallback);
            }
            let here = join_token(&node.pointer, &member.key);
            let count = member.value.elements().len();
            schema.prefix_items =
                (0..count).filter_map(|at| self.id_at(node, &format!("{here}/{at}"))).collect();
        } else {
            schema.items = self.parse_child(node, member);
        }
    }

    pub(super) fn parse_dependencies(
        &mut self,
        node: &SchemaNode<'t>,
        member: &ObjectMember,
        schema: &mut Schema,
    ) {
        if !member.value.is_object() {
            return self.report_dropped(node, member, "an object of schemas and arrays of property names");
        }
        let here = join_token(&node.pointer, &member.key);
        for each in member.value.members() {
            let pointer = join_token(&here, &each.key);
            if let NodeValue::Array(names) = &each.value.value {
                let place = DocumentLocation { source: node.source, pointer, span: each.value.span };
                let names = self.parse_strings(&place, &member.key, names);
                schema.dependent_required.push((each.key.clone(), names));
            } else if let Some(id) = self.id_at(node, &pointer) {
                schema.dependent_schemas.push((each.key.clone(), id));
            } else {
                let place = DocumentLocation { source: node.source, pointer, span: each.value.span };
                let message = format!("`{}` must be a schema or an array of property names", each.key);
                self.report_invalid(place, message, None, "it is left out");
                self.record_gap(SchemaGap::Applicator);
            }
        }
    }

    pub(super) fn parse_dependent_required(
        &mut self,
        node: &SchemaNode<'t>,
        member: &ObjectMember,
        schema: &mut Schema,
    ) {
        if !member.value.is_object() {
            return self.report_dropped(node, member, "an object of arrays of property names");
        }
        let here = join_token(&node.pointer, &member.key);
        for each in member.value.members() {
            let place = DocumentLocation {
                source: node.source,
                pointer: join_token(&here, &each.key),
                span: each.value.span,
            };
            if let NodeValue::Array(names) = &each.value.value {
                let names = self.parse_strings(&place, &member.key, names);
                schema.dependent_required.push((each.key.clone(), names));
            } else {
                let message = format!(
                    "`{}` must be an array of names, not {}",
                    each.key,
                    each.value.kind_with_article()
                );
                self.report_invalid(place, message, None, "it is left out");
                self.record_gap(SchemaGap::Assertion);
            }
        }
    }

    pub(super) fn parse_names(&mut self, node: &SchemaNode<'t>, member: &ObjectMember) -> Vec<String> {
        let NodeValue::Array(names) = &member.value.value else {
            self.report_dropped(node, member, "an array of names");
            return Vec::new();
        };
        self.parse_strings(&node.place(member), &member.key, names)
    }

    pub(super) fn parse_strings(
        &mut self,
        place: &DocumentLocation,
        keyword: &str,
        names: &[DocumentNode],
    ) -> Vec<String> {
        let mut seen = HashSet::new();
        let mut out = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let place = DocumentLocation {
                pointer: format!("{}/{at}", place.pointer),
                span: name.span,
                ..place.clone()
            };
            match name.as_str() {
                Some(text) if seen.insert(text) => out.push(text.to_owned()),
                Some(text) => {
                    // Duplicates are invalid (2020-12 Validation, 6.5.3) but unambiguous.
                    let message = format!("duplicate `{text}` in `{keyword}`");
                    self.report_invalid(place, message, Some("list it once"), "it is used once");
                }
                None => {
                    let message =
                        format!("`{keyword}` must contain strings, not {}", name.kind_with_article());
                    self.report_invalid(place, message, None, "it is left out");
                    self.record_gap(SchemaGap::Assertion);
                }
            }
        }
        out
    }

    pub(super) fn check_identifier(&mut self, node: &SchemaNode<'t>, member: &ObjectMember) {
        let Some(text) = self.expect_string(node, member) else { return };
        let fragment = text.split_once('#').map(|(_, fragment)| fragment);
        if fragment.is_some_and(|fragment| !fragment.is_empty()) && node.dialect.draft != Draft::Draft7 {
            let message = "`$id` must have no fragment".to_owned();
            let help = Some("name a place with `$anchor`");
            self.report_invalid(node.place(member), message, help, "the fragment is left out");
        }
    }

    pub(super) fn check_anchor(&mut self, node: &SchemaNode<'t>, member: &ObjectMember) {
        let Some(text) = self.expect_string(node, member) else { return };
        let good = |each: char| each.is_ascii_alphanumeric() || matches!(each, '-' | '_' | '.');
        if !text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            || !text.chars().all(good)
        {
            let expected = "a plain name: letters, digits, `-`, `_`, `.`";
            self.report_coerced(node, member, expected, "the name is used anyway");
        }
    }

    /// Reports a keyword whose value has the wrong type, and whether the value was coerced or dropped.
    fn report_coercion(
        &mut self,
        node: &SchemaNode<'t>,
        member: &ObjectMember,
        expected: &str,
        is_right: bool,
        is_read: bool,
    ) {
        match (is_right, is_read) {
            (true, _) => {}
            (false, true) => self.report_coerced(node, member, expected, "it is read as one"),
            (false, false) => self.report_dropped(node, member, expected),
        }
    }

    pub(super) fn parse_string(&mut self, node: &SchemaNode<'t>, member: &ObjectMember) -> Option<String> {
        let text = lenient::coerce_string(&member.value).map(Cow::into_owned);
        self.report_coercion(node, member, "a string", member.value.as_str().is_some(), text.is_some());
        text
    }

    /// Returns the string value of a keyword; any other value is reported and dropped. It is not coerced,
    /// because other stages take the value from the raw document.
    pub(super) fn expect_string<'m>(
        &mut self,
        node: &SchemaNode<'t>,
        member: &'m ObjectMember,
    ) -> Option<&'m str> {
        let text = member.value.as_str();
        if text.is_none() {
            self.report_dropped(node, member, "a string");
        }
        text
    }

    pub(super) fn parse_bool(&mut self, node: &SchemaNode<'t>, member: &ObjectMember) -> bool {
        let flag = lenient::coerce_bool(&member.value);
        self.report_coercion(node, member, "a boolean", member.value.as_bool().is_some(), flag.is_some());
        flag.unwrap_or(false)
    }

    pub(super) fn parse_number(&mut self, node: &SchemaNode<'t>, member: &ObjectMember) -> Option<Number> {
        let number = lenient::coerce_number(&member.value);
        self.report_coercion(node, member, "a number", member.value.as_number().is_some(), number.is_some());
        number
    }

    pub(super) fn parse_count(&mut self, node: &SchemaNode<'t>, member: &ObjectMember) -> Option<u64> {
        let number = lenient::coerce_number(&member.value);
        let number = number.filter(|number| number.is_integer() && *number >= Number::from_i64(0));
        let is_right = number.is_some() && member.value.as_number().is_some();
        self.report_coercion(node, member, "a whole number of at least 0", is_right, number.is_some());
        let number = number?;
        let count = number.as_u64();
        if count.is_none() {
            let message = format!("`{}` exceeds 64 bits", member.key);
            let problem = Diagnostic::error("unsupported", message).with_place(node.place(member));
            self.problems.push(problem.with_fallback("it is left out"));
            self.record_gap(SchemaGap::Assertion);
        }
        count
    }

    pub(super) fn parse_types(&mut self, node: &SchemaNode<'t>, member: &ObjectMember) -> Option<TypeSet> {
        let list = match &member.value.value {
            NodeValue::String(_) => std::slice::from_ref(&member.value),
            NodeValue::Array(names) if !names.is_empty() && node.dialect.draft != Draft::OpenApi30 => {
                names.as_slice()
            }
            NodeValue::Array(names) if !names.is_empty() => {
                self.report_coerced(
                    node,
                    member,
                    "one type in OpenAPI 3.0",
                    "it is read as in later versions",
                );
                names.as_slice()
            }
            _ => {
                self.report_dropped(node, member, "a type or an array of types");
                return None;
            }
        };
        let mut types = TypeSet::default();
        let mut seen = HashSet::new();
        let mut unknown = false;
        for (at, name) in list.iter().enumerate() {
            let mut place = node.place(member);
            if matches!(member.value.value, NodeValue::Array(_)) {
                place.pointer.push_str(&format!("/{at}"));
                place.span = name.span;
            }
            let found = match name.as_str() {
                Some(text) => {
                    let known = TypeSet::from_name(text);
                    let foreign = known == Some(TypeSet::NULL) && node.dialect.draft == Draft::OpenApi30;
                    if known.is_none() || foreign {
                        let names = TypeSet::NAMED.iter().map(|(_, name)| *name);
                        let near = nearest_match(text, names).map(|near| format!("did you mean `{near}`?"));
                        let message = format!("`{text}` is not a type of {}", node.dialect.display_name());
                        let fallback =
                            if foreign { "it is read as in later versions" } else { "any type is accepted" };
                        self.report_invalid(
                            place.clone(),
                            message,
                            near.as_deref().filter(|_| !foreign),
                            fallback,
                        );
                    }
                    known
                }
                // A `null` in `type` can only mean the type `null`, which YAML authors often write without
                // quotes.
                None if name.value == NodeValue::Null => {
                    let message = "`type` must contain names of types, not null".to_owned();
                    self.report_invalid(place.clone(), message, None, "it is read as `\"null\"`");
                    Some(TypeSet::NULL)
                }
                None => {
                    let message =
                        format!("`type` must contain names of types, not {}", name.kind_with_article());
                    self.report_invalid(place.clone(), message, None, "any type is accepted");
                    None
                }
            };
            let Some(found) = found else {
                unknown = true;
                continue;
            };
            if !seen.insert(found.0) {
                self.report_invalid(place, "duplicate type in `type`".to_owned(), None, "it is used once");
            }
            types = types.union(found);
        }
        if unknown {
            self.record_gap(SchemaGap::Assertion);
        }
        // If a name is unknown, every type is accepted, because the known types might reject the intended
        // values.
        (!types.is_empty() && !unknown).then_some(types)
    }

    /// Coerces values of `enum`, `const` and `default` to the `type` of the schema if that is unambiguous:
    /// strings to numbers and vice versa, and YAML numbers that JSON cannot express.
    pub(super) fn coerce_literals(&mut self, node: &SchemaNode<'t>, schema: &mut Schema) {
        let stated = schema.types.unwrap_or(TypeSet::ALL);
        let nullable = stated.contains(TypeSet::NULL) || node.tree.member("nullable").is_some();
        let types = schema.types.map(|types| types.difference(TypeSet::NULL));
        let Some(types) = types.filter(|types| !types.is_empty()) else { return };
        for key in ["enum", "const", "default"] {
            let Some(member) = node.tree.member(key).filter(|_| is_keyword_known(node, key)) else {
                continue;
            };
            let pointer = join_token(&node.pointer, key);
            let (trees, values): (_, Vec<&mut Json>) = match key {
                "enum" => (member.value.elements(), schema.enumeration.iter_mut().flatten().collect()),
                "const" => (std::slice::from_ref(&member.value), schema.constant.iter_mut().collect()),
                _ => (std::slice::from_ref(&member.value), schema.default.iter_mut().collect()),
            };
            let place_of = |at: usize, tree: &DocumentNode| {
                let pointer = if key == "enum" { format!("{pointer}/{at}") } else { pointer.clone() };
                DocumentLocation { source: node.source, pointer, span: tree.span }
            };
            let mut fits = values.is_empty();
            let (mut left_out, mut nulls) = (Vec::new(), Vec::new());
            for (at, (tree, value)) in trees.iter().zip(values).enumerate() {
                let found = match key {
                    "default" => coerce_yaml_number(types, tree),
                    // With `nullable`, `null` is a valid value. A list that contains only `null` is not
                    // reported here.
                    _ if tree.value == NodeValue::Null => {
                        nulls.extend((key == "enum" && !nullable).then_some((at, tree)));
                        None
                    }
                    _ if has_type(types, tree) => {
                        fits = true;
                        None
                    }
                    _ => {
                        let found = coerce_literal(types, tree);
                        left_out.extend(found.is_none().then_some((at, tree)));
                        found
                    }
                };
                let Some((found, one, many)) = found else { continue };
                let must = if key == "enum" { format!("contain {many}") } else { format!("be {one}") };
                let message = format!("`{key}` must {must} here, not {}", tree.kind_with_article());
                self.report_invalid(place_of(at, tree), message, None, &format!("it is read as `{found}`"));
                *value = found;
                fits = true;
            }
            if fits {
                // The schema is valid, but the value has no effect.
                for (at, tree) in left_out.into_iter().chain(nulls) {
                    let message = format!(
                        "`enum` contains {}, which its `type` does not allow",
                        tree.kind_with_article()
                    );
                    self.problems
                        .push(Diagnostic::warning("ignored", message).with_place(place_of(at, tree)));
                }
                continue;
            }
            if left_out.is_empty() {
                continue;
            }
            let message = match key {
                "enum" => "`enum` contains no value that its `type` allows",
                _ => "`const` is not allowed by its `type`",
            };
            // In a branch of a union, a schema that accepts no value is kept, because values must then match
            // another branch.
            if self.is_branch(node) {
                let problem = Diagnostic::warning("invalid-schema", format!("{message}: no value is valid"));
                self.problems.push(problem.with_place(node.place(member)));
                continue;
            }
            self.report_invalid(node.place(member), message.to_owned(), None, "it is left out");
            self.record_gap(SchemaGap::Assertion);
            let Schema { enumeration, constant, .. } = &mut *schema;
            if key == "enum" { *enumeration = None } else { *constant = None }
        }
    }

    /// Returns true if a schema, or the schema that includes it by `allOf`, is applied only as an alternative
    /// or a condition, such as a branch of `oneOf`. For a definition, this must hold for all references to
    /// it.
    fn is_branch(&self, node: &SchemaNode<'t>) -> bool {
        let (mut waiting, mut seen, mut found) = (vec![node], HashSet::new(), false);
        while let Some(node) = waiting.pop() {
            let Some((pointer, is_branch)) = self.enclosing_composition(node) else { return false };
            found |= is_branch;
            let known = self.discovery.schemas.get(node.source.0 as usize);
            let Some(at) = known.and_then(|known| known.get(pointer)).filter(|_| !is_branch) else {
                continue;
            };
            if !seen.insert(*at) {
                continue;
            }
            let Some(referring) = self.referrers().get(at) else { return false };
            waiting.extend(referring.iter().filter_map(|at| self.discovery.nodes.get(*at)));
        }
        found
    }

    /// Follows `allOf` outwards. Returns the pointer of the outermost schema that includes this one, and true
    /// if that schema is an alternative or a condition of another schema.
    fn enclosing_composition<'n>(&self, node: &'n SchemaNode<'t>) -> Option<(&'n str, bool)> {
        let known = self.discovery.schemas.get(node.source.0 as usize)?;
        let mut pointer = node.pointer.as_str();
        while let Some((mut holder, mut key)) = pointer.rsplit_once('/') {
            if !known.contains_key(holder) {
                let Some(list) = holder.rsplit_once('/') else { break };
                (holder, key) = list;
            }
            match Keyword::find(key).filter(|_| known.contains_key(holder)) {
                Some(Keyword::AllOf) => pointer = holder,
                found => {
                    let is_branch = found.is_some_and(|keyword| keyword.role() == KeywordRole::InPlace);
                    return Some((pointer, is_branch));
                }
            }
        }
        Some((pointer, false))
    }

    /// Returns, for each node, the nodes whose `$ref` or `$dynamicRef` refers to it. Nodes outside the
    /// contract are not considered.
    fn referrers(&self) -> &HashMap<usize, Vec<usize>> {
        self.referring.get_or_init(|| {
            let mut all: HashMap<usize, Vec<usize>> = HashMap::new();
            let reached = self.discovery.nodes.iter().zip(&self.discovery.reached).enumerate();
            for (at, (node, _)) in reached.filter(|(_, (_, reached))| **reached) {
                let dynamic = node.dynamic.as_ref().map(|(_, initial)| *initial);
                for target in node.reference.into_iter().chain(dynamic) {
                    all.entry(target).or_default().push(at);
                }
            }
            all
        })
    }

    pub(super) fn parse_enum(&mut self, node: &SchemaNode<'t>, member: &ObjectMember) -> Option<Vec<Json>> {
        let NodeValue::Array(values) = &member.value.value else {
            self.report_dropped(node, member, "an array of values");
            return None;
        };
        if values.is_empty() {
            let problem = Diagnostic::warning("invalid-schema", "an empty `enum` accepts nothing");
            self.problems.push(problem.with_place(node.place(member)));
        }
        Some(values.iter().map(DocumentNode::to_json).collect())
    }
}

/// Returns true if a value has one of the types.
fn has_type(types: TypeSet, tree: &DocumentNode) -> bool {
    match &tree.value {
        NodeValue::Null => types.contains(TypeSet::NULL),
        NodeValue::Bool(_) => types.contains(TypeSet::BOOLEAN),
        NodeValue::String(_) => types.contains(TypeSet::STRING),
        NodeValue::Array(_) => types.contains(TypeSet::ARRAY),
        NodeValue::Object(_) => types.contains(TypeSet::OBJECT),
        NodeValue::Number(text) => {
            let is_whole = Number::parse(text).is_ok_and(|number| number.is_integer());
            types.contains(if is_whole { TypeSet::INTEGER } else { TypeSet::NUMBER })
        }
    }
}

/// A coerced value, and the name of its new type in singular and plural for messages.
type CoercedLiteral = (Json, &'static str, &'static str);

/// Coerces a value to the type in `types`, if there is only one and the result is unambiguous. Returns `None`
/// otherwise.
fn coerce_literal(types: TypeSet, tree: &DocumentNode) -> Option<CoercedLiteral> {
    match types {
        TypeSet::STRING => {
            lenient::coerce_string(tree).map(|text| (Json::String(text.into_owned()), "a string", "strings"))
        }
        TypeSet::BOOLEAN => {
            lenient::coerce_bool(tree).map(|flag| (Json::Bool(flag), "a boolean", "booleans"))
        }
        TypeSet::NUMBER | TypeSet::INTEGER => {
            let number = lenient::coerce_number(tree)?;
            let fits = types == TypeSet::NUMBER || number.is_integer();
            fits.then_some((Json::Number(number), "a number", "numbers"))
        }
        _ => None,
    }
}

/// Coerces a string to a number if the schema allows only numbers and the string is a YAML number that is not valid
/// JSON, such as `+1` or `0x1F`. Returns `None` for other strings. For example, `"1"` stays a string, because the
/// author must have quoted it intentionally.
fn coerce_yaml_number(types: TypeSet, tree: &DocumentNode) -> Option<CoercedLiteral> {
    tree.as_str().filter(|text| TypeSet::NUMBER.contains(types) && Number::parse(text).is_err())?;
    coerce_literal(TypeSet::NUMBER, tree)
}

/// Returns true if the dialect of a schema defines the keyword.
pub(super) fn is_keyword_known(node: &SchemaNode<'_>, keyword: &str) -> bool {
    Keyword::find(keyword).is_some_and(|keyword| node.dialect.supports_keyword(keyword))
}

/// Returns the fallback for a keyword that is dropped. `rest` is the keyword for the remaining properties or
/// items, such as `additionalProperties`, if it must be dropped as well.
fn dropped_with(rest: Option<&ObjectMember>) -> String {
    match rest {
        Some(rest) => format!("it is left out, and so is `{}`", rest.key),
        None => "it is left out".to_owned(),
    }
}

#[cfg(test)]
mod tests;

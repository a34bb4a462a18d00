//! Readers of keyword values: schemas, counts, names, types.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use contract_runtime::{Json, Number, format::Format};

use crate::{
    diagnostics::Diagnostic,
    schema::{
        Discriminator, Gap, Schema, SchemaId, Types,
        keywords::{Draft, Keyword, Role},
    },
    tree::{Member, Place, Tree, Value, join},
};

use super::{
    super::{
        discover::{Node, is_schema},
        lenient,
        suggest::nearest,
    },
    Parser,
};

impl<'t> Parser<'_, 't> {
    pub(super) fn id_at(&self, node: &Node<'t>, pointer: &str) -> Option<SchemaId> {
        let known = self.discovery.schemas.get(node.source.0 as usize)?;
        self.ids.get(known.get(pointer)?).copied()
    }

    pub(super) fn child(&mut self, node: &Node<'t>, member: &Member) -> Option<SchemaId> {
        if !is_schema(&member.value) {
            self.wrong(node, member, "a schema (an object or a boolean)");
            return None;
        }
        self.id_at(node, &join(&node.pointer, &member.key))
    }

    pub(super) fn list(&mut self, node: &Node<'t>, member: &Member) -> Vec<SchemaId> {
        let elements = member.value.elements();
        if elements.is_empty() {
            let expected = "an array of at least one schema";
            // Elements that nobody can count off are those of nobody.
            let rest = node.tree.member("items").filter(|_| member.key == "prefixItems");
            self.left_out(node, member, expected, &with(rest));
        }
        let here = join(&node.pointer, &member.key);
        (0..elements.len()).filter_map(|at| self.id_at(node, &format!("{here}/{at}"))).collect()
    }

    pub(super) fn map(&mut self, node: &Node<'t>, member: &Member) -> Vec<(String, SchemaId)> {
        if !member.value.is_object() {
            // Members that nobody can tell from others are not refused with them.
            let known = matches!(member.key.as_str(), "properties" | "patternProperties");
            let rest = node.tree.member("additionalProperties").filter(|_| known);
            self.left_out(node, member, "an object of schemas", &with(rest));
        }
        let here = join(&node.pointer, &member.key);
        let members = member.value.members().iter();
        members
            .filter_map(|each| Some((each.key.clone(), self.id_at(node, &join(&here, &each.key))?)))
            .collect()
    }

    /// What a `format` demands where the dialect asserts it.
    pub(super) fn asserted(&mut self, node: &Node<'t>, member: &Member) -> Option<Format> {
        let name = member.value.as_str().filter(|_| node.dialect.asserts)?;
        let found = Format::named(name);
        if found.is_some() {
            return found;
        }
        // Validation 7.2.2: all formats of the specification; 7.2.3: those of others are annotations.
        match name {
            "regex" | "idn-email" | "idn-hostname" => {
                let message = format!("`{name}` cannot be asserted here, as the dialect demands");
                let problem = Diagnostic::error("unsupported", message)
                    .at(node.place(member))
                    .help("remove the `format`, or use a dialect with the vocabulary `format-annotation`");
                self.problems.push(problem.mended("it is not asserted"));
                self.lose(Gap::Check);
            }
            // OpenAPI's own say what a text or a number is for.
            "int32" | "int64" | "uint64" | "float" | "double" | "byte" | "binary" | "password" => {}
            _ => {
                let message =
                    format!("`{name}` is no format of JSON Schema: the dialect asserts nothing of it");
                let near = nearest(name, Format::ALL.iter().map(|format| format.name()));
                let mut problem = Diagnostic::warning("ignored", message).at(node.place(member));
                if let Some(near) = near {
                    problem = problem.help(format!("did you mean `{near}`?"));
                }
                self.problems.push(problem);
            }
        }
        None
    }

    /// OpenAPI's `discriminator`, with the schemas of its mapping.
    pub(super) fn discriminator(&mut self, node: &Node<'t>, member: &Member) -> Option<Discriminator> {
        let here = join(&node.pointer, &member.key);
        let mut fault = |pointer: String, tree: &Tree, message: String| {
            let place = Place { source: node.source, pointer, span: tree.span };
            self.invalid(place, message, None, "it is left out");
        };
        let Some(tag) = member.value.get("propertyName").and_then(Tree::as_str) else {
            if member.value.is_object() {
                let message = "`discriminator` must have a `propertyName`, a string".to_owned();
                fault(here, &member.value, message);
            }
            return None;
        };
        let tag = tag.to_owned();
        let here = join(&here, "mapping");
        let mut mapping = Vec::new();
        if let Some(other) = member.value.get("mapping").filter(|mapping| !mapping.is_object()) {
            let message = format!("`mapping` must be an object of names of schemas, not {}", other.kind());
            fault(here.clone(), other, message);
        }
        for each in member.value.get("mapping").map_or(&[][..], Tree::members) {
            let what = || format!("the mapping of `{}`", each.key);
            let found = self.means(node, &each.value, join(&here, &each.key), &what);
            mapping.extend(found.map(|id| (each.key.clone(), id)));
        }
        let here = join(&join(&node.pointer, &member.key), "defaultMapping");
        let default = member.value.get("defaultMapping");
        let default =
            default.and_then(|text| self.means(node, text, here, &|| "`defaultMapping`".to_owned()));
        Some(Discriminator { tag, mapping, default, family: Vec::new() })
    }

    /// The schema that a value of a discriminator means.
    fn means(
        &mut self,
        node: &Node<'t>,
        text: &Tree,
        pointer: String,
        what: &dyn Fn() -> String,
    ) -> Option<SchemaId> {
        let found = text.as_str().and_then(|text| self.mapped(node, text));
        if found.is_none() {
            self.problems.push(
                Diagnostic::warning("ignored", format!("{} leads to no schema of the contract", what()))
                    .at(Place { source: node.source, pointer, span: text.span })
                    .help("give the name of a schema in `components/schemas`, or a reference to one"),
            );
        }
        found
    }

    /// What a value of a mapping names: a component by its name, or else what a reference does.
    fn mapped(&self, node: &Node<'t>, text: &str) -> Option<SchemaId> {
        // OpenAPI 3.1, 4.8.7: what a component may be called.
        let is_name = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
        let named = is_name.then(|| format!("#/components/schemas/{text}"));
        let references = named.iter().map(String::as_str).chain([text]);
        let found = references
            .filter_map(|reference| self.discovery.locate(node.resource, reference, 0).ok())
            .find_map(|target| {
                let known = self.discovery.schemas.get(target.source.0 as usize)?;
                known.get(&target.pointer).copied()
            })?;
        self.ids.get(&found).copied()
    }

    pub(super) fn items(&mut self, node: &Node<'t>, member: &Member, schema: &mut Schema) {
        let tuple = matches!(member.value.value, Value::Array(_));
        let old = matches!(node.dialect.draft, Draft::Draft2019 | Draft::Draft7);
        if tuple && (old || !member.value.elements().is_empty()) {
            if !old {
                let mend = "it is read as `prefixItems`";
                self.wrong_but(node, member, "a schema (an object or a boolean)", mend);
            }
            let here = join(&node.pointer, &member.key);
            let count = member.value.elements().len();
            schema.prefix_items =
                (0..count).filter_map(|at| self.id_at(node, &format!("{here}/{at}"))).collect();
        } else {
            schema.items = self.child(node, member);
        }
    }

    pub(super) fn dependencies(&mut self, node: &Node<'t>, member: &Member, schema: &mut Schema) {
        if !member.value.is_object() {
            return self.wrong(node, member, "an object of schemas and arrays of names");
        }
        let here = join(&node.pointer, &member.key);
        for each in member.value.members() {
            let pointer = join(&here, &each.key);
            if let Value::Array(names) = &each.value.value {
                let place = Place { source: node.source, pointer, span: each.value.span };
                let names = self.strings(&place, &member.key, names);
                schema.dependent_required.push((each.key.clone(), names));
            } else if let Some(id) = self.id_at(node, &pointer) {
                schema.dependent_schemas.push((each.key.clone(), id));
            } else {
                let place = Place { source: node.source, pointer, span: each.value.span };
                let message = format!("`{}` must be a schema or an array of names", each.key);
                self.invalid(place, message, None, "it is left out");
                self.lose(Gap::Members);
            }
        }
    }

    pub(super) fn dependent_required(&mut self, node: &Node<'t>, member: &Member, schema: &mut Schema) {
        if !member.value.is_object() {
            return self.wrong(node, member, "an object of arrays of names");
        }
        let here = join(&node.pointer, &member.key);
        for each in member.value.members() {
            let place = Place { source: node.source, pointer: join(&here, &each.key), span: each.value.span };
            if let Value::Array(names) = &each.value.value {
                let names = self.strings(&place, &member.key, names);
                schema.dependent_required.push((each.key.clone(), names));
            } else {
                let message = format!("`{}` must be an array of names, not {}", each.key, each.value.kind());
                self.invalid(place, message, None, "it is left out");
                self.lose(Gap::Check);
            }
        }
    }

    pub(super) fn names(&mut self, node: &Node<'t>, member: &Member) -> Vec<String> {
        let Value::Array(names) = &member.value.value else {
            self.wrong(node, member, "an array of names");
            return Vec::new();
        };
        self.strings(&node.place(member), &member.key, names)
    }

    pub(super) fn strings(&mut self, place: &Place, keyword: &str, names: &[Tree]) -> Vec<String> {
        let mut seen = HashSet::new();
        let mut out = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let place =
                Place { pointer: format!("{}/{at}", place.pointer), span: name.span, ..place.clone() };
            match name.as_str() {
                Some(text) if seen.insert(text) => out.push(text.to_owned()),
                Some(text) => {
                    // Not valid (2020-12 validation, 6.5.3), yet there is one thing it can mean.
                    let message = format!("`{text}` is in `{keyword}` twice");
                    self.invalid(place, message, Some("name it once"), "it counts once");
                }
                None => {
                    let message = format!("`{keyword}` must hold names, not {}", name.kind());
                    self.invalid(place, message, None, "it is left out");
                    self.lose(Gap::Check);
                }
            }
        }
        out
    }

    pub(super) fn identifier(&mut self, node: &Node<'t>, member: &Member) {
        let Some(text) = self.written(node, member) else { return };
        let fragment = text.split_once('#').map(|(_, fragment)| fragment);
        if fragment.is_some_and(|fragment| !fragment.is_empty()) && node.dialect.draft != Draft::Draft7 {
            let message = "`$id` must have no fragment".to_owned();
            let help = Some("name a place with `$anchor`");
            self.invalid(node.place(member), message, help, "the fragment is left out");
        }
    }

    pub(super) fn anchor(&mut self, node: &Node<'t>, member: &Member) {
        let Some(text) = self.written(node, member) else { return };
        let good = |each: char| each.is_ascii_alphanumeric() || matches!(each, '-' | '_' | '.');
        if !text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            || !text.chars().all(good)
        {
            let expected = "a plain name: letters, digits, `-`, `_`, `.`";
            self.wrong_but(node, member, expected, "it is the name all the same");
        }
    }

    /// Says of a value of the wrong kind whether it was read all the same.
    fn expect(&mut self, node: &Node<'t>, member: &Member, expected: &str, is_right: bool, is_read: bool) {
        match (is_right, is_read) {
            (true, _) => {}
            (false, true) => self.wrong_but(node, member, expected, "it is read as one"),
            (false, false) => self.wrong(node, member, expected),
        }
    }

    pub(super) fn text(&mut self, node: &Node<'t>, member: &Member) -> Option<String> {
        let text = lenient::text(&member.value).map(Cow::into_owned);
        self.expect(node, member, "a string", member.value.as_str().is_some(), text.is_some());
        text
    }

    /// A text that nothing else stands for: what other readers look for as it is written.
    pub(super) fn written<'m>(&mut self, node: &Node<'t>, member: &'m Member) -> Option<&'m str> {
        let text = member.value.as_str();
        if text.is_none() {
            self.wrong(node, member, "a string");
        }
        text
    }

    pub(super) fn flag(&mut self, node: &Node<'t>, member: &Member) -> bool {
        let flag = lenient::flag(&member.value);
        self.expect(node, member, "a boolean", member.value.as_bool().is_some(), flag.is_some());
        flag.unwrap_or(false)
    }

    pub(super) fn number(&mut self, node: &Node<'t>, member: &Member) -> Option<Number> {
        let number = lenient::number(&member.value);
        self.expect(node, member, "a number", member.value.as_number().is_some(), number.is_some());
        number
    }

    pub(super) fn count(&mut self, node: &Node<'t>, member: &Member) -> Option<u64> {
        let number = lenient::number(&member.value);
        let number = number.filter(|number| number.is_integer() && *number >= Number::int(0));
        let is_right = number.is_some() && member.value.as_number().is_some();
        self.expect(node, member, "a whole number of at least 0", is_right, number.is_some());
        let number = number?;
        let count = number.as_u64();
        if count.is_none() {
            let message = format!("`{}` is beyond 64 bits", member.key);
            let problem = Diagnostic::error("unsupported", message).at(node.place(member));
            self.problems.push(problem.mended("it is left out"));
            self.lose(Gap::Check);
        }
        count
    }

    pub(super) fn types(&mut self, node: &Node<'t>, member: &Member) -> Option<Types> {
        let list = match &member.value.value {
            Value::String(_) => std::slice::from_ref(&member.value),
            Value::Array(names) if !names.is_empty() && node.dialect.draft != Draft::OpenApi30 => {
                names.as_slice()
            }
            Value::Array(names) if !names.is_empty() => {
                self.wrong_but(node, member, "one type in OpenAPI 3.0", "it is read as later versions do");
                names.as_slice()
            }
            _ => {
                self.wrong(node, member, "a type or an array of types");
                return None;
            }
        };
        let mut types = Types::default();
        let mut seen = HashSet::new();
        let mut unknown = false;
        for (at, name) in list.iter().enumerate() {
            let mut place = node.place(member);
            if matches!(member.value.value, Value::Array(_)) {
                place.pointer.push_str(&format!("/{at}"));
                place.span = name.span;
            }
            let found = match name.as_str() {
                Some(text) => {
                    let known = Types::named(text);
                    let foreign = known == Some(Types::NULL) && node.dialect.draft == Draft::OpenApi30;
                    if known.is_none() || foreign {
                        let names = Types::NAMED.iter().map(|(_, name)| *name);
                        let near = nearest(text, names).map(|near| format!("did you mean `{near}`?"));
                        let message = format!("`{text}` is not a type of {}", node.dialect.name());
                        let mend =
                            if foreign { "it is read as later versions do" } else { "any type passes" };
                        self.invalid(place.clone(), message, near.as_deref().filter(|_| !foreign), mend);
                    }
                    known
                }
                // What `null` is called is clear.
                None if name.value == Value::Null => {
                    let message = "`type` must name types, not null".to_owned();
                    self.invalid(place.clone(), message, None, "it is read as `\"null\"`");
                    Some(Types::NULL)
                }
                None => {
                    let message = format!("`type` must name types, not {}", name.kind());
                    self.invalid(place.clone(), message, None, "any type passes");
                    None
                }
            };
            let Some(found) = found else {
                unknown = true;
                continue;
            };
            if !seen.insert(found.0) {
                self.invalid(place, "`type` names one type twice".to_owned(), None, "it counts once");
            }
            types = types.or(found);
        }
        if unknown {
            self.lose(Gap::Check);
        }
        // Where a name was not understood, any type passes: the others would refuse what it means.
        (!types.is_empty() && !unknown).then_some(types)
    }

    /// Values of a schema that are written as another type than it has: texts for numbers, or the other way, and
    /// numbers of YAML that JSON cannot write. Each is read as the type says where there is one way to.
    pub(super) fn literals(&mut self, node: &Node<'t>, schema: &mut Schema) {
        let stated = schema.types.unwrap_or(Types::ALL);
        let nullable = stated.contains(Types::NULL) || node.tree.member("nullable").is_some();
        let types = schema.types.map(|types| types.without(Types::NULL));
        let Some(types) = types.filter(|types| !types.is_empty()) else { return };
        for key in ["enum", "const", "default"] {
            let Some(member) = node.tree.member(key).filter(|_| is_known(node, key)) else { continue };
            let pointer = join(&node.pointer, key);
            let (trees, values): (_, Vec<&mut Json>) = match key {
                "enum" => (member.value.elements(), schema.enumeration.iter_mut().flatten().collect()),
                "const" => (std::slice::from_ref(&member.value), schema.constant.iter_mut().collect()),
                _ => (std::slice::from_ref(&member.value), schema.default.iter_mut().collect()),
            };
            let place_of = |at: usize, tree: &Tree| {
                let pointer = if key == "enum" { format!("{pointer}/{at}") } else { pointer.clone() };
                Place { source: node.source, pointer, span: tree.span }
            };
            let mut fits = values.is_empty();
            let (mut left_out, mut nulls) = (Vec::new(), Vec::new());
            for (at, (tree, value)) in trees.iter().zip(values).enumerate() {
                let found = match key {
                    "default" => odd_number(types, tree),
                    // Beside `nullable` it is one of the values, and where nothing else is listed other keywords
                    // speak of it.
                    _ if tree.value == Value::Null => {
                        nulls.extend((key == "enum" && !nullable).then_some((at, tree)));
                        None
                    }
                    _ if is_of(types, tree) => {
                        fits = true;
                        None
                    }
                    _ => {
                        let found = meant(types, tree);
                        left_out.extend(found.is_none().then_some((at, tree)));
                        found
                    }
                };
                let Some((found, one, many)) = found else { continue };
                let must = if key == "enum" { format!("hold {many}") } else { format!("be {one}") };
                let message = format!("`{key}` must {must} here, not {}", tree.kind());
                self.invalid(place_of(at, tree), message, None, &format!("it is read as `{found}`"));
                *value = found;
                fits = true;
            }
            if fits {
                // A schema may say it, though it says nothing.
                for (at, tree) in left_out.into_iter().chain(nulls) {
                    let message =
                        format!("`enum` holds {}, which no value of the `type` beside it is", tree.kind());
                    self.problems.push(Diagnostic::warning("ignored", message).at(place_of(at, tree)));
                }
                continue;
            }
            if left_out.is_empty() {
                continue;
            }
            let message = match key {
                "enum" => "`enum` holds nothing of the `type` beside it",
                _ => "`const` is nothing of the `type` beside it",
            };
            // A branch that accepts nothing says which of the others count.
            if self.is_branch(node) {
                let problem = Diagnostic::warning("invalid-schema", format!("{message}: no value is valid"));
                self.problems.push(problem.at(node.place(member)));
                continue;
            }
            self.invalid(node.place(member), message.to_owned(), None, "it is left out");
            self.lose(Gap::Check);
            let Schema { enumeration, constant, .. } = &mut *schema;
            if key == "enum" { *enumeration = None } else { *constant = None }
        }
    }

    /// Whether a schema is one of several for a value, or decides between them: by itself, as a part, or because
    /// all that refer to it are.
    fn is_branch(&self, node: &Node<'t>) -> bool {
        let (mut waiting, mut seen, mut found) = (vec![node], HashSet::new(), false);
        while let Some(node) = waiting.pop() {
            let Some((pointer, is_branch)) = self.whole_of(node) else { return false };
            found |= is_branch;
            let known = self.discovery.schemas.get(node.source.0 as usize);
            let Some(at) = known.and_then(|known| known.get(pointer)).filter(|_| !is_branch) else {
                continue;
            };
            if !seen.insert(*at) {
                continue;
            }
            let Some(referring) = self.referring().get(at) else { return false };
            waiting.extend(referring.iter().filter_map(|at| self.discovery.nodes.get(*at)));
        }
        found
    }

    /// The schema that one is a part of by `allOf`, and whether that is one of several for a value.
    fn whole_of<'n>(&self, node: &'n Node<'t>) -> Option<(&'n str, bool)> {
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
                    let is_branch = found.is_some_and(|keyword| keyword.role() == Role::InPlace);
                    return Some((pointer, is_branch));
                }
            }
        }
        Some((pointer, false))
    }

    /// Who refers to each schema.
    fn referring(&self) -> &HashMap<usize, Vec<usize>> {
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

    pub(super) fn enumeration(&mut self, node: &Node<'t>, member: &Member) -> Option<Vec<Json>> {
        let Value::Array(values) = &member.value.value else {
            self.wrong(node, member, "an array of values");
            return None;
        };
        if values.is_empty() {
            let problem = Diagnostic::warning("invalid-schema", "an empty `enum` accepts nothing");
            self.problems.push(problem.at(node.place(member)));
        }
        Some(values.iter().map(Tree::to_json).collect())
    }
}

/// Whether a value is of one of some types.
fn is_of(types: Types, tree: &Tree) -> bool {
    match &tree.value {
        Value::Null => types.contains(Types::NULL),
        Value::Bool(_) => types.contains(Types::BOOLEAN),
        Value::String(_) => types.contains(Types::STRING),
        Value::Array(_) => types.contains(Types::ARRAY),
        Value::Object(_) => types.contains(Types::OBJECT),
        Value::Number(text) => {
            let is_whole = Number::parse(text).is_ok_and(|number| number.is_integer());
            types.contains(if is_whole { Types::INTEGER } else { Types::NUMBER })
        }
    }
}

/// A value, and what messages call one of its type and several.
type Meant = (Json, &'static str, &'static str);

/// What a value of another type can only mean where one of a single type must stand.
fn meant(types: Types, tree: &Tree) -> Option<Meant> {
    match types {
        Types::STRING => {
            lenient::text(tree).map(|text| (Json::String(text.into_owned()), "a string", "strings"))
        }
        Types::BOOLEAN => lenient::flag(tree).map(|flag| (Json::Bool(flag), "a boolean", "booleans")),
        Types::NUMBER | Types::INTEGER => {
            let number = lenient::number(tree)?;
            let fits = types == Types::NUMBER || number.is_integer();
            fits.then_some((Json::Number(number), "a number", "numbers"))
        }
        _ => None,
    }
}

/// A number of YAML that JSON cannot write, where numbers must stand. What JSON can write is a text
/// because its author says so.
fn odd_number(types: Types, tree: &Tree) -> Option<Meant> {
    tree.as_str().filter(|text| Types::NUMBER.contains(types) && Number::parse(text).is_err())?;
    meant(Types::NUMBER, tree)
}

/// Whether a keyword means something to a schema.
pub(super) fn is_known(node: &Node<'_>, keyword: &str) -> bool {
    Keyword::find(keyword).is_some_and(|keyword| node.dialect.knows(keyword))
}

/// What becomes of a keyword, and of the one that is about what it leaves over.
fn with(rest: Option<&Member>) -> String {
    match rest {
        Some(rest) => format!("it is left out, and so is `{}`", rest.key),
        None => "it is left out".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::{
        resolve::tests::{graph, shown},
        schema::Gap,
    };

    /// A value is read as what the type beside it says, where there is one way.
    #[test]
    fn literals_of_another_type_are_read_as_their_type_says() {
        for (schema, read, said) in [
            (
                "{type: string, enum: [1.0, 2.0]}",
                r#"["1.0","2.0"]"#,
                "invalid-schema /enum/0\ninvalid-schema /enum/1",
            ),
            ("{type: integer, enum: ['1']}", "[1]", "invalid-schema /enum/0"),
            (
                "{type: integer, enum: ['1', '2', 3]}",
                "[1,2,3]",
                "invalid-schema /enum/0\ninvalid-schema /enum/1",
            ),
            (
                "{type: string, enum: [all, 10, 20]}",
                r#"["all","10","20"]"#,
                "invalid-schema /enum/1\ninvalid-schema /enum/2",
            ),
            (
                "{type: string, enum: [v1, 1.0, 1e3, 09, true]}",
                r#"["v1","1.0","1e3","09","true"]"#,
                "invalid-schema /enum/1\ninvalid-schema /enum/2\nsyntax /enum/3\ninvalid-schema /enum/4",
            ),
            // `null` is no value of theirs.
            ("{type: string, enum: [1, null]}", r#"["1",null]"#, "invalid-schema /enum/0\n?ignored /enum/1"),
            ("{type: [string, 'null'], enum: [1, null]}", r#"["1",null]"#, "invalid-schema /enum/0"),
            ("{type: [integer, 'null'], enum: [x, null]}", "-", "invalid-schema /enum"),
            ("{type: [string, 'null'], enum: [null]}", "[null]", ""),
            ("{type: [string, 'null'], const: null}", "null", ""),
            ("{type: boolean, enum: ['True']}", "[true]", "invalid-schema /enum/0"),
            ("{type: number, const: '1.5'}", "1.5", "invalid-schema /const"),
            ("{type: [string, 'null'], const: true}", r#""true""#, "invalid-schema /const"),
            ("{type: array, enum: [a, b]}", "-", "invalid-schema /enum"),
            ("{type: object, const: a}", "-", "invalid-schema /const"),
            ("{type: integer, enum: [x]}", "-", "invalid-schema /enum"),
            // What can be nothing of the type is told beside what is.
            (
                "{type: integer, enum: ['1', '1.5', a]}",
                r#"[1,"1.5","a"]"#,
                "invalid-schema /enum/0\n?ignored /enum/1\n?ignored /enum/2",
            ),
            ("{type: [string, integer], enum: [a, true]}", r#"["a",true]"#, "?ignored /enum/1"),
            ("{enum: ['1', 2]}", r#"["1",2]"#, ""),
            ("{type: [string, integer], enum: [true]}", "-", "invalid-schema /enum"),
        ] {
            let (found, problems) = graph(&[("a.yaml", schema)]);
            let found = &found.schemas.iter().next().unwrap();
            let list = found.enumeration.clone().map(contract_runtime::Json::Array);
            let own = list.or_else(|| found.constant.clone()).map_or("-".to_owned(), |own| own.to_string());
            assert_eq!((own.as_str(), shown(&problems).as_str()), (read, said), "{schema}");
            assert_eq!(found.gap, if read == "-" { Gap::Check } else { Gap::None }, "{schema}");
            assert!(!problems.has_fatal(), "{schema}");
        }
    }

    /// `null` that the `type` refuses is told like any other value; beside `nullable` it is one of them.
    #[test]
    fn null_in_an_enumeration_of_another_type_is_told() {
        let check = |schema: &str, expect: usize| {
            let (_, problems) = graph(&[("a.json", schema)]);
            let told = problems
                .iter()
                .filter(|each| each.message.contains("which no value of the `type` beside it is"));
            assert_eq!(told.count(), expect, "{schema}: {problems}");
        };
        check(r#"{"type": "string", "enum": ["a", null]}"#, 1);
        check(r#"{"type": "integer", "enum": [1, null]}"#, 1);
        check(r#"{"type": "string", "enum": ["a", [1]]}"#, 1);
        check(r#"{"type": ["string", "null"], "enum": ["a", null]}"#, 0);
        check(r#"{"enum": ["a", null]}"#, 0);
        let old = |schema: &str| {
            format!(
                r#"{{"openapi": "3.0.3", "info": {{"title": "T", "version": "1"}}, "paths": {{}}, "components": {{"schemas": {{"A": {schema}}}}}}}"#
            )
        };
        check(&old(r#"{"type": "string", "nullable": true, "enum": ["a", null]}"#), 0);
        check(&old(r#"{"type": "string", "enum": ["a", null]}"#), 1);
    }

    /// What one of several says of no value is said by the others.
    #[test]
    fn literals_of_another_type_stay_in_branches() {
        let warned = |pointer: &str| format!("?invalid-schema {pointer}/const");
        for (schema, said) in [
            ("oneOf: [{type: object, const: a}, {type: string}]", warned("/oneOf/0")),
            ("anyOf: [{allOf: [{type: object, const: a}]}, {type: string}]", warned("/anyOf/0/allOf/0")),
            ("not: {type: object, const: a}", warned("/not")),
            ("if: {type: object, const: a}\nthen: false", warned("/if")),
            ("dependentSchemas: {oneOf: {type: object, const: a}}", warned("/dependentSchemas/oneOf")),
            (
                "properties: {not: {type: object, const: a}}",
                "invalid-schema /properties/not/const".to_owned(),
            ),
            ("allOf: [{type: object, const: a}]", "invalid-schema /allOf/0/const".to_owned()),
            (
                "oneOf: [{$ref: '#/$defs/a'}, {type: string}]\n$defs: {a: {type: object, const: a}}",
                warned("/$defs/a"),
            ),
            (
                "oneOf: [{$ref: '#/$defs/b'}, {type: string}]\n\
                 $defs: {a: {allOf: [{type: object, const: a}]}, b: {$ref: '#/$defs/a'}}",
                warned("/$defs/a/allOf/0"),
            ),
            // Where a value is of it and of nothing else, it is read as it may be meant.
            (
                "oneOf: [{$ref: '#/$defs/a'}, {type: string}]\nproperties: {a: {$ref: '#/$defs/a'}}\n\
                 $defs: {a: {type: object, const: a}}",
                "invalid-schema /$defs/a/const".to_owned(),
            ),
            ("$defs: {a: {type: object, const: a}}", "invalid-schema /$defs/a/const".to_owned()),
        ] {
            let (found, problems) = graph(&[("a.yaml", schema)]);
            assert_eq!(shown(&problems), said, "{schema}");
            let kept = found.schemas.iter().any(|schema| schema.constant.is_some());
            let lost = found.schemas.iter().any(|schema| schema.gap == Gap::Check);
            assert_eq!((kept, lost), (said.starts_with('?'), !said.starts_with('?')), "{schema}");
        }
    }

    /// A fault each, for whoever wrote it expects something of it.
    #[test]
    fn discriminators_that_say_nothing_are_told() {
        for (discriminator, said, tag) in [
            ("{}", "invalid-schema /discriminator", None),
            ("{propertyName: 5}", "invalid-schema /discriminator", None),
            ("{mapping: {a: x}}", "invalid-schema /discriminator", None),
            ("{propertyName: kind, mapping: []}", "invalid-schema /discriminator/mapping", Some("kind")),
            ("5", "invalid-schema /discriminator", None),
            ("{propertyName: kind, mapping: {}}", "", Some("kind")),
        ] {
            let (found, problems) = graph(&[("a.yaml", &format!("discriminator: {discriminator}"))]);
            assert_eq!(shown(&problems), said, "{discriminator}");
            let found = found.schemas.iter().next().unwrap().discriminator.as_ref();
            assert_eq!(found.map(|found| found.tag.as_str()), tag, "{discriminator}");
        }
    }

    /// What names a whole document, as its author writes it.
    #[test]
    fn names_that_lead_to_no_schema_are_told() {
        let (_, problems) = graph(&[("a.yaml", "$id: 'http://[a'\ntype: string\n")]);
        assert_eq!(shown(&problems), "invalid-schema /$id");
        let api = "openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths: {}\ncomponents: {schemas: {A: {$ref: ''}}}\n";
        let (_, problems) = graph(&[("a.yaml", api)]);
        assert_eq!(shown(&problems), "invalid-schema /components/schemas/A/$ref");
    }
}

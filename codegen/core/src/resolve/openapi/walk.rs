//! Walks the objects of an OpenAPI document: queues their schemas, follows their references, and validates
//! the form of every field.

use crate::{
    api::{StatusPattern, tokens::is_token},
    diagnostics::Diagnostic,
    resolve::{
        dialect::{SchemaDialect, openapi_version},
        discover::{Discovery, ExpectedTarget, PendingReference, VisitJob, VisitKind, is_schema},
        lenient,
        suggest::nearest_match,
    },
    schema::{SchemaOrigin, keywords::Draft},
    tree::{DocumentLocation, DocumentNode, NodeValue, ObjectMember, SourceId, join_token},
};

use super::{
    method_field,
    object::{FieldForm, FieldPresence, FixedField, ObjectKind, OpenApiVersion, is_extension},
    split_media_types,
};

impl<'t> Discovery<'t> {
    /// Visits the object of a job: validates its fields, queues its schemas and objects, and records its
    /// reference. An object that is used as several types is visited once for each type.
    pub(crate) fn visit_object(&mut self, kind: ObjectKind, job: VisitJob<'t>) {
        if !self.objects.insert((job.source, job.pointer.clone(), kind)) {
            return;
        }
        if !job.tree.is_object() {
            let message =
                format!("{} must be an object, not {}", kind.display_name(), job.tree.kind_with_article());
            let fallback = match kind {
                ObjectKind::Response | ObjectKind::MediaType => kind.fallback_if_unresolved(),
                _ => "it is left out",
            };
            self.report_invalid(job_place(&job), message, fallback);
            return;
        }
        if kind.allows_extensions()
            && kind != ObjectKind::Document
            && let Some(member) = job.tree.member("$ref")
        {
            self.visit_reference(kind, &job, member);
            // A path item may have other fields next to its `$ref`, which are also used (OpenAPI 3.1, 4.8.9).
            if kind != ObjectKind::PathItem {
                return;
            }
        }
        let mut job = job;
        if kind == ObjectKind::Document {
            match self.document_dialect(&job) {
                Some(dialect) => job.dialect = dialect,
                None => return,
            }
        }
        let old = job.dialect.draft == Draft::OpenApi30;
        let mut children = Vec::new();
        for member in job.tree.members() {
            if is_extension(kind, &member.key) || (kind == ObjectKind::PathItem && member.key == "$ref") {
                continue;
            }
            if kind == ObjectKind::Content && !self.check_media_type(&job, member) {
                continue;
            }
            let mut name = member.key.as_str();
            if kind == ObjectKind::PathItem
                && let Some(field) = method_field(name).filter(|field| *field != name)
            {
                let is_there = job.tree.get(field).is_some();
                let at = DocumentLocation { span: member.key_span, ..job.member_place(member) };
                let fallback = if is_there {
                    "the field is used".to_owned()
                } else {
                    format!("it is read as `{field}`")
                };
                let message = format!("the method `{name}` must be written `{field}`");
                self.report_invalid(at, message, &fallback);
                if is_there {
                    continue;
                }
                name = field;
            }
            let field = kind.fixed_fields().iter().find(|field| field.name == name);
            let later = field.filter(|field| old && field.since > OpenApiVersion::V30);
            let form = field.map(|field| field.form).or_else(|| kind.patterned_field());
            if later.is_some() || form.is_none() {
                self.report_unknown_field(kind, &job, member, later);
            }
            if let Some(form) = form.filter(|_| later.is_none_or(|field| kind.is_read_early(*field))) {
                self.check_key(kind, &job, member);
                self.check_form(kind, form, &job, member, &mut children);
            }
        }
        for field in kind.fixed_fields() {
            if field.need != FieldPresence::Optional && job.tree.get(field.name).is_none() {
                self.report_missing_field(kind, *field, &job);
            }
        }
        self.check_rules(kind, &job);
        match kind {
            ObjectKind::Document => self.check_document_parts(&job, old),
            ObjectKind::SecurityScheme => self.check_security_scheme(&job),
            _ => {}
        }
        for child in children.into_iter().rev() {
            self.enqueue(child);
        }
    }

    /// Validates a key of `content`, which should be a media type. Returns true if it contains at least one
    /// valid media type.
    fn check_media_type(&mut self, job: &VisitJob<'t>, member: &ObjectMember) -> bool {
        let names = split_media_types(&member.key);
        let (message, mend) = match names.as_slice() {
            [] => (
                format!("`{}` is not a media type: write `type/subtype`", member.key),
                "it is left out".to_owned(),
            ),
            [_] => return true,
            several => (
                format!("`{}` names several media types", member.key),
                format!("each is read separately: `{}`", several.join("`, `")),
            ),
        };
        self.report_invalid(job.member_place(member), message, &mend);
        !names.is_empty()
    }

    /// Returns the schema dialect of an OpenAPI document, given its version. Returns `None` and reports an
    /// error if the version is not supported.
    fn document_dialect(&mut self, job: &VisitJob<'t>) -> Option<SchemaDialect> {
        let member = job.tree.member("openapi")?;
        let place = job.member_place(member);
        let version = openapi_version(job.tree)?;
        let dialect = match version.split('.').take(2).collect::<Vec<_>>().as_slice() {
            // Features of OpenAPI 3.2 are also accepted in 3.1 documents.
            ["3", "1" | "2"] => SchemaDialect::OPENAPI_31,
            ["3", "0"] => SchemaDialect::OPENAPI_30,
            found => {
                let message = format!("unsupported OpenAPI version `{version}`: expected 3.0, 3.1 or 3.2");
                let problem = Diagnostic::error("unsupported", message).with_place(place.clone());
                if found.first() != Some(&"3") {
                    self.problems.push(problem);
                    return None;
                }
                self.problems.push(problem.with_fallback("it is read as 3.2"));
                SchemaDialect::OPENAPI_31
            }
        };
        let named = job.tree.member("jsonSchemaDialect").filter(|_| dialect.draft == Draft::Latest);
        if let Some(member) = named
            && let Some(name) = member.value.as_str()
        {
            let at = join_token(&job.pointer, &member.key);
            return Some(self.choose_dialect(name, job.resource, at, member.value.span).unwrap_or(dialect));
        }
        Some(dialect)
    }

    /// Checks that a document has at least one of `paths`, `components` and `webhooks` (OpenAPI 3.1, 4.8.1).
    /// An OpenAPI 3.0 document must have `paths`.
    fn check_document_parts(&mut self, job: &VisitJob<'t>, old: bool) {
        let has = |name: &str| job.tree.get(name).is_some();
        let message = if old && !has("paths") {
            "an OpenAPI 3.0 document must have `paths`"
        } else if !(has("paths") || has("webhooks") || has("components")) {
            "an OpenAPI document must have `paths`, `webhooks` or `components`"
        } else {
            return;
        };
        self.report_invalid(job_place(job), message.to_owned(), "it has no operations");
    }

    fn visit_reference(&mut self, kind: ObjectKind, job: &VisitJob<'t>, member: &'t ObjectMember) {
        let place = job.member_place(member);
        let Some(reference) = member.value.as_str() else {
            let message = format!("`$ref` must be a string, not {}", member.value.kind_with_article());
            return self.report_invalid(place, message, kind.fallback_if_unresolved());
        };
        if !kind.allows_reference() {
            let message = format!("{} must not have `$ref`", kind.display_name());
            let help =
                "write the referenced value here: other tools ignore this reference or reject the document";
            let problem = Diagnostic::error("invalid-openapi", message).with_place(place.clone());
            self.problems.push(problem.with_fallback("the reference is followed").help(help));
        }
        let beside: Vec<String> = job
            .tree
            .members()
            .iter()
            .filter(|each| !matches!(each.key.as_str(), "$ref" | "summary" | "description"))
            .map(|each| format!("`{}`", each.key))
            .collect();
        if !beside.is_empty() && kind != ObjectKind::PathItem {
            let message = format!("{} beside `$ref` has no effect", beside.join(", "));
            self.problems.push(Diagnostic::warning("ignored", message).with_place(place.clone()));
        }
        if let Some((_, rest)) = reference.split_once("#/components/")
            && let Some(section) = rest.split('/').next()
            && kind.allows_reference()
            && kind.components_section() != Some(section)
        {
            let message = format!(
                "expected a reference to {}, but `{reference}` refers to `components/{section}`",
                kind.display_name()
            );
            if !kind.is_compatible_with(section) {
                return self.report_invalid(place, message, kind.fallback_if_unresolved());
            }
            self.report_invalid(place.clone(), message, &format!("it is read as {}", kind.display_name()));
        }
        self.add_pending(PendingReference {
            expect: ExpectedTarget::Object(kind),
            reference,
            resource: job.resource,
            dialect: job.dialect,
            place,
            holder: job.pointer.clone(),
        });
    }

    /// Validates a key of an object whose keys have arbitrary names: a path, a status code or a method.
    fn check_key(&mut self, kind: ObjectKind, job: &VisitJob<'t>, member: &ObjectMember) {
        let key = &member.key;
        let at = || DocumentLocation { span: member.key_span, ..job.member_place(member) };
        let (message, mend) = match kind {
            ObjectKind::Paths => {
                for (message, mend) in super::route::path_faults(key) {
                    self.report_invalid(at(), message, mend);
                }
                return;
            }
            ObjectKind::Response | ObjectKind::Encoding if key == "headers" => {
                return self.check_header_names(job, member);
            }
            ObjectKind::PathItem if key == "additionalOperations" => {
                return self.check_additional_operations(job, member);
            }
            ObjectKind::Responses => {
                let message = format!("`{key}` is not a status code: write `200`, `4XX` or `default`");
                match super::parse_status(key) {
                    None => (message, "the response is left out"),
                    Some(StatusPattern::Range(_)) if !key.ends_with("XX") => {
                        (message, "it is read in upper case")
                    }
                    Some(_) => return,
                }
            }
            _ => return,
        };
        self.report_invalid(at(), message, mend);
    }

    /// Reports names of response and part headers that are not valid in HTTP messages (RFC 9110, 5.1).
    fn check_header_names(&mut self, job: &VisitJob<'t>, member: &ObjectMember) {
        let around = join_token(&job.pointer, &member.key);
        for each in member.value.members().iter().filter(|each| !is_token(&each.key)) {
            let pointer = join_token(&around, &each.key);
            let at = DocumentLocation { source: job.source, pointer, span: each.key_span };
            let message = format!("`{}` is not a valid header name", each.key);
            self.report_invalid(at, message, "the header is left out");
        }
    }

    /// Checks that `additionalOperations` contains no method that has a fixed field (OpenAPI 3.2, 4.9).
    fn check_additional_operations(&mut self, job: &VisitJob<'t>, member: &ObjectMember) {
        let around = join_token(&job.pointer, &member.key);
        for each in member.value.members() {
            let Some(field) = method_field(&each.key) else { continue };
            let at = DocumentLocation {
                source: job.source,
                pointer: join_token(&around, &each.key),
                span: each.key_span,
            };
            let message = format!(
                "`additionalOperations` must not contain `{}`: the path item has the field `{field}` for this method",
                each.key
            );
            let fallback = match job.tree.get(field) {
                Some(_) => format!("the operation of the field `{field}` is used"),
                None => format!("it is read as the field `{field}`"),
            };
            self.report_invalid(at, message, &fallback);
        }
    }

    fn check_form(
        &mut self,
        kind: ObjectKind,
        form: FieldForm,
        job: &VisitJob<'t>,
        member: &'t ObjectMember,
        children: &mut Vec<VisitJob<'t>>,
    ) {
        let value = &member.value;
        let pointer = join_token(&job.pointer, &member.key);
        let (source, resource, dialect) = (job.source, job.resource, job.dialect);
        let mut child = |what, pointer, tree| {
            children.push(VisitJob { what, source, pointer, tree, resource, dialect });
        };
        let expected = match (form, &value.value) {
            (FieldForm::Any, _)
            | (FieldForm::Text, NodeValue::String(_))
            | (FieldForm::Flag, NodeValue::Bool(_)) => return,
            (FieldForm::Texts, NodeValue::Array(texts))
                if texts.iter().all(|text| text.as_str().is_some()) =>
            {
                return;
            }
            (FieldForm::TextMap, NodeValue::Object(texts))
                if texts.iter().all(|each| each.value.as_str().is_some()) =>
            {
                return;
            }
            (FieldForm::Schema, _) if is_schema(value) => {
                return child(VisitKind::Schema(SchemaOrigin::Inline), pointer, value);
            }
            (FieldForm::Schemas, NodeValue::Object(members)) => {
                for each in members {
                    if !self.check_component_name(job, &pointer, each) {
                        continue;
                    }
                    let origin = SchemaOrigin::Component(each.key.clone());
                    child(VisitKind::Schema(origin), join_token(&pointer, &each.key), &each.value);
                }
                return;
            }
            (FieldForm::One(kind), _) => return child(VisitKind::Object(kind), pointer, value),
            (FieldForm::Security, _) => return self.check_security(kind, job, member),
            (FieldForm::List(kind), NodeValue::Array(elements)) => {
                for (at, element) in elements.iter().enumerate() {
                    child(VisitKind::Object(kind), format!("{pointer}/{at}"), element);
                }
                return;
            }
            (FieldForm::Map(kind), NodeValue::Object(members)) => {
                let components = job.pointer == "/components";
                for each in members {
                    if components && !self.check_component_name(job, &pointer, each) {
                        continue;
                    }
                    child(VisitKind::Object(kind), join_token(&pointer, &each.key), &each.value);
                }
                return;
            }
            (FieldForm::Text, _) => "a string",
            (FieldForm::Flag, _) => "a boolean",
            (FieldForm::Texts, _) => "an array of strings",
            (FieldForm::TextMap, _) => "an object of strings",
            (FieldForm::Schema, _) => "a schema",
            (FieldForm::List(_), _) => "an array",
            (FieldForm::Schemas | FieldForm::Map(_), _) => "an object",
        };
        let other = match form {
            FieldForm::Texts => value.elements().iter().find(|each| each.as_str().is_none()),
            FieldForm::TextMap => {
                let mut all = value.members().iter().map(|each| &each.value);
                all.find(|each| each.as_str().is_none())
            }
            _ => None,
        };
        let found = match other {
            Some(other) => format!("one that contains {}", other.kind_with_article()),
            None => value.kind_with_article().to_owned(),
        };
        let message = format!("`{}` must be {expected}, not {found}", member.key);
        let fallback = match form {
            FieldForm::Text if lenient::coerce_string(value).is_some() => "it is read as one",
            FieldForm::Flag if lenient::coerce_bool(value).is_some() => "it is read as one",
            FieldForm::Texts
                if kind == ObjectKind::SecurityRequirement
                    && value.elements().is_empty()
                    && lenient::coerce_string(value).is_none() =>
            {
                "it requires no scopes"
            }
            FieldForm::Texts if lenient::coerce_string(value).is_some() => "it is read as a list of one",
            FieldForm::Texts if !value.elements().is_empty() => "other elements are left out",
            _ => "it is left out",
        };
        let mut problem = Diagnostic::error("invalid-openapi", message)
            .with_place(job.member_place(member))
            .with_fallback(fallback);
        if form == FieldForm::Text && matches!(value.value, NodeValue::Number(_)) {
            problem = problem.help("put it in quotes");
        } else if value.get("$ref").is_some() {
            problem = problem.help(match form {
                FieldForm::List(kind) if kind.allows_reference() => {
                    "write an array: each of its elements may be a `$ref`"
                }
                _ => "no `$ref` is allowed here: write the value itself",
            });
        }
        self.problems.push(problem);
    }

    /// Checks that the name of a component is valid (OpenAPI 3.1, 4.8.7). Returns false for a `$ref` instead
    /// of a map of components. Such a `$ref` is reported and ignored.
    fn check_component_name(&mut self, job: &VisitJob<'t>, pointer: &str, member: &ObjectMember) -> bool {
        let good = |each: char| each.is_ascii_alphanumeric() || matches!(each, '.' | '-' | '_');
        if member.key.is_empty() || !member.key.chars().all(good) {
            let message =
                format!("invalid component name `{}`: use letters, digits, `.`, `-`, `_`", member.key);
            let at = DocumentLocation {
                source: job.source,
                pointer: join_token(pointer, &member.key),
                span: member.key_span,
            };
            if member.key == "$ref" && member.value.as_str().is_some() {
                let message = "a map of components must not have `$ref`".to_owned();
                let fallback = "it is left out; components are read where they are referenced";
                let help = "list the components by name: each may be a `$ref` to a file";
                let problem = Diagnostic::error("invalid-openapi", message).with_place(at);
                self.problems.push(problem.with_fallback(fallback).help(help));
                return false;
            }
            self.report_invalid(at, message, "the name is used anyway");
        }
        true
    }

    /// Reports a field that the object does not have in the OpenAPI version of the document. `later` is the
    /// definition of the field if a later version has one.
    fn report_unknown_field(
        &mut self,
        kind: ObjectKind,
        job: &VisitJob<'t>,
        member: &ObjectMember,
        later: Option<&FixedField>,
    ) {
        let message = format!("{} has no field `{}`", kind.display_name(), member.key);
        let at = DocumentLocation { span: member.key_span, ..job.member_place(member) };
        let repair = match later {
            Some(field) if kind.is_read_early(*field) => Some(("it is read anyway", None)),
            _ => kind.fallback_for_unknown_field(&member.key, &member.value),
        };
        let mut problem = match repair {
            Some((fallback, _)) => Diagnostic::error("unknown-field", message).with_fallback(fallback),
            None => Diagnostic::warning("unknown-field", message),
        };
        problem = problem.with_place(at);
        let near = nearest_match(&member.key, kind.fixed_fields().iter().map(|field| field.name));
        if let Some(later) = later {
            problem = problem.help(match later.since {
                OpenApiVersion::V30 | OpenApiVersion::V31 => "the field exists since OpenAPI 3.1",
                OpenApiVersion::V32 => "the field exists since OpenAPI 3.2",
            });
        } else if let Some(help) = repair.and_then(|(_, help)| help) {
            problem = problem.help(help);
        } else if let Some(near) = near {
            problem = problem.help(format!("did you mean `{near}`?"));
        }
        self.problems.push(problem);
    }

    fn report_missing_field(&mut self, kind: ObjectKind, field: FixedField, job: &VisitJob<'t>) {
        // The `description` of a response is optional (OpenAPI 3.2, 4.17).
        let root = self.sources.get(job.source).and_then(|source| openapi_version(&source.tree));
        if kind == ObjectKind::Response && root.is_some_and(|version| version.starts_with("3.2")) {
            return;
        }
        let message = format!("{} must have `{}`", kind.display_name(), field.name);
        let problem = match field.need {
            FieldPresence::Required => {
                Diagnostic::error("invalid-openapi", message).with_fallback(kind.fallback_if_incomplete())
            }
            FieldPresence::Recommended | FieldPresence::Optional => {
                Diagnostic::warning("invalid-openapi", message)
            }
        };
        self.problems.push(problem.with_place(job_place(job)));
    }

    fn report_invalid(&mut self, at: DocumentLocation, message: String, mend: &str) {
        self.problems.push(Diagnostic::error("invalid-openapi", message).with_place(at).with_fallback(mend));
    }

    /// Returns the source, pointer and tree of the object at the end of a chain of references, or an error if
    /// a reference is unresolved or the chain is circular.
    pub(crate) fn follow_links(
        &self,
        source: SourceId,
        pointer: &str,
        tree: &'t DocumentNode,
    ) -> Result<(SourceId, String, &'t DocumentNode), LinkError> {
        let mut at = (source, pointer.to_owned());
        let mut tree = tree;
        for _ in 0..32 {
            if tree.get("$ref").is_none() {
                return Ok((at.0, at.1, tree));
            }
            let (source, pointer, target) = self.link_target(&at, tree).ok_or(LinkError::Unresolved)?;
            (at, tree) = ((source, pointer.to_owned()), target);
        }
        Err(LinkError::Cycle)
    }

    /// Returns the source, pointer and tree of the target of the `$ref` in the object `tree` at `from`.
    /// Returns `None` if there is no `$ref` or if it is unresolved.
    pub(crate) fn link_target(
        &self,
        from: &(SourceId, String),
        tree: &DocumentNode,
    ) -> Option<(SourceId, &str, &'t DocumentNode)> {
        let (source, pointer) = self.links.get(from).filter(|_| tree.get("$ref").is_some())?;
        let root = self.sources.get(*source)?;
        Some((*source, pointer, root.tree.resolve_pointer(pointer)?))
    }

    /// Reports circular chains of references.
    pub(crate) fn check_links(&self) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> = Vec::new();
        for (source, pointer) in self.links.keys() {
            let Some(root) = self.sources.get(*source) else { continue };
            let Some(tree) = root.tree.resolve_pointer(pointer) else { continue };
            if matches!(self.follow_links(*source, pointer, tree), Err(LinkError::Cycle)) {
                let place = DocumentLocation { source: *source, pointer: pointer.clone(), span: tree.span };
                if !self.is_in_contract(&place) {
                    continue;
                }
                let message = "the chain of references is circular";
                let problem = Diagnostic::error("reference-cycle", message).with_place(place);
                let response = (*source, pointer.clone(), ObjectKind::Response);
                let kind = if self.objects.contains(&response) {
                    ObjectKind::Response
                } else {
                    ObjectKind::PathItem
                };
                found.push(problem.with_fallback(kind.fallback_if_unresolved()));
            }
        }
        found
    }
}

/// The reason why a chain of references has no target object. Other functions report these problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkError {
    Unresolved,
    Cycle,
}

fn job_place(job: &VisitJob<'_>) -> DocumentLocation {
    DocumentLocation { source: job.source, pointer: job.pointer.clone(), span: job.tree.span }
}

#[cfg(test)]
mod tests {
    use crate::resolve::openapi::tests::read_valid;

    /// If a path item has fields next to its `$ref`, they are combined with those of the target, even if the
    /// target has a `$ref` as well.
    #[test]
    fn path_items_are_read_with_the_targets_of_their_references() {
        let (_, api) = read_valid(
            "paths:\n  /a/{id}:\n    $ref: '#/components/pathItems/p'\n    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]\n    put: {operationId: put, responses: {}}\ncomponents:\n  pathItems:\n    p: {$ref: '#/components/pathItems/q', servers: [{url: 'https://p.test'}]}\n    q: {get: {operationId: get, responses: {}}}\n",
        );
        let found: Vec<_> = api
            .operations
            .iter()
            .map(|each| (each.id.as_str(), each.parameters.len(), each.servers.len()))
            .collect();
        assert_eq!(found, [("get", 1, 1), ("put", 1, 1)]);
    }
}

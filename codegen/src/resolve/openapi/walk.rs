//! Walks the objects of an OpenAPI document: finds their schemas, follows their references,
//! checks the form of every field.

use crate::{
    api::Status,
    diagnostics::Diagnostic,
    resolve::{
        dialect::{Dialect, version},
        discover::{Discovery, Expect, Job, Pending, What, is_schema},
        lenient,
        suggest::nearest,
    },
    schema::{Origin, keywords::Draft},
    tree::{Member, Place, SourceId, Tree, Value, join},
};

use super::{
    media_types, method_field,
    object::{Field, Form, Kind, Need, Version, is_extension},
};

impl<'t> Discovery<'t> {
    /// Visits an object, once per kind that it is used as.
    pub(crate) fn object(&mut self, kind: Kind, job: Job<'t>) {
        if !self.objects.insert((job.source, job.pointer.clone(), kind)) {
            return;
        }
        if !job.tree.is_object() {
            let message = format!("{} must be an object, not {}", kind.name(), job.tree.kind());
            let mend = match kind {
                Kind::Response | Kind::MediaType => kind.lost(),
                _ => "it is left out",
            };
            self.invalid(here(&job), message, mend);
            return;
        }
        if kind.extensible()
            && kind != Kind::Document
            && let Some(member) = job.tree.member("$ref")
        {
            return self.reference(kind, &job, member);
        }
        let mut job = job;
        if kind == Kind::Document {
            match self.version(&job) {
                Some(dialect) => job.dialect = dialect,
                None => return,
            }
        }
        let old = job.dialect.draft == Draft::OpenApi30;
        let mut children = Vec::new();
        for member in job.tree.members() {
            if is_extension(kind, &member.key) {
                continue;
            }
            if kind == Kind::Content && !self.media_type(&job, member) {
                continue;
            }
            let mut name = member.key.as_str();
            if kind == Kind::PathItem
                && let Some(field) = method_field(name).filter(|field| *field != name)
            {
                let is_there = job.tree.get(field).is_some();
                let at = Place { span: member.key_span, ..place(&job, member) };
                let mend = if is_there { "the field counts" } else { "it is read as that" };
                self.invalid(at, format!("the method `{name}` is written `{field}`"), mend);
                if is_there {
                    continue;
                }
                name = field;
            }
            let field = kind.fields().iter().find(|field| field.name == name);
            let later = field.filter(|field| old && field.since > Version::V30);
            let form = field.map(|field| field.form).or_else(|| kind.others());
            if later.is_some() || form.is_none() {
                self.unknown_field(kind, &job, member, later);
            }
            if let Some(form) = form.filter(|_| later.is_none_or(|field| kind.is_read_early(*field))) {
                self.key(kind, &job, member);
                self.form(kind, form, &job, member, &mut children);
            }
        }
        for field in kind.fields() {
            if field.need != Need::May && job.tree.get(field.name).is_none() {
                self.absent(kind, *field, &job);
            }
        }
        match kind {
            Kind::Document => self.parts(&job, old),
            Kind::SecurityScheme => self.scheme(&job),
            _ => {}
        }
        for child in children.into_iter().rev() {
            self.enqueue(child);
        }
    }

    /// Whether a key of a `content` is a media type, or several.
    fn media_type(&mut self, job: &Job<'t>, member: &Member) -> bool {
        let names = media_types(&member.key);
        let (message, mend) = match names.as_slice() {
            [] => (
                format!("`{}` is no media type: write `type/subtype`", member.key),
                "it is left out".to_owned(),
            ),
            [_] => return true,
            several => (
                format!("`{}` names several media types", member.key),
                format!("each is read as if it stood alone: `{}`", several.join("`, `")),
            ),
        };
        self.invalid(place(job, member), message, &mend);
        !names.is_empty()
    }

    /// The dialect of a document's version, `None` for one that is not read.
    fn version(&mut self, job: &Job<'t>) -> Option<Dialect> {
        let member = job.tree.member("openapi")?;
        let place = place(job, member);
        let version = version(job.tree)?;
        let dialect = match version.split('.').take(2).collect::<Vec<_>>().as_slice() {
            // What 3.2 brings is read in 3.1 too: nobody writes it there and means nothing by it.
            ["3", "1" | "2"] => Dialect::OPENAPI_31,
            ["3", "0"] => Dialect::OPENAPI_30,
            found => {
                let message = format!("OpenAPI `{version}`: versions 3.0, 3.1 and 3.2 are read");
                let problem = Diagnostic::error("unsupported", message).at(place.clone());
                if found.first() != Some(&"3") {
                    self.problems.push(problem);
                    return None;
                }
                self.problems.push(problem.mended("it is read as 3.2"));
                Dialect::OPENAPI_31
            }
        };
        let named = job.tree.member("jsonSchemaDialect").filter(|_| dialect.draft == Draft::Latest);
        if let Some(member) = named
            && let Some(name) = member.value.as_str()
        {
            let at = join(&job.pointer, &member.key);
            return Some(self.choose(name, job.resource, at, member.value.span).unwrap_or(dialect));
        }
        Some(dialect)
    }

    /// OpenAPI 3.1, 4.8.1: one of three parts at least; 3.0 requires `paths`.
    fn parts(&mut self, job: &Job<'t>, old: bool) {
        let has = |name: &str| job.tree.get(name).is_some();
        let message = if old && !has("paths") {
            "an OpenAPI 3.0 document must have `paths`"
        } else if !(has("paths") || has("webhooks") || has("components")) {
            "an OpenAPI document must have `paths`, `webhooks` or `components`"
        } else {
            return;
        };
        self.invalid(here(job), message.to_owned(), "it has no operations");
    }

    fn reference(&mut self, kind: Kind, job: &Job<'t>, member: &'t Member) {
        let place = place(job, member);
        let Some(reference) = member.value.as_str() else {
            let message = format!("`$ref` must be a string, not {}", member.value.kind());
            return self.invalid(place, message, kind.lost());
        };
        if !kind.referable() {
            let message = format!("{} has no `$ref`", kind.name());
            self.invalid(place.clone(), message, "it is what the reference leads to");
        }
        let beside: Vec<String> = job
            .tree
            .members()
            .iter()
            .filter(|each| !matches!(each.key.as_str(), "$ref" | "summary" | "description"))
            .map(|each| format!("`{}`", each.key))
            .collect();
        if !beside.is_empty() {
            let list = beside.join(", ");
            let problem = if kind == Kind::PathItem {
                // OpenAPI 3.1, 4.8.9: the behaviour is undefined.
                Diagnostic::error("unsupported", format!("{list} beside the `$ref` of a path item"))
                    .mended("what the reference leads to counts")
            } else {
                Diagnostic::warning("ignored", format!("{list} beside `$ref` has no effect"))
            };
            self.problems.push(problem.at(place.clone()));
        }
        if let Some((_, rest)) = reference.split_once("#/components/")
            && let Some(section) = rest.split('/').next()
            && kind.referable()
            && kind.section() != Some(section)
        {
            let message =
                format!("`{reference}` leads to `components/{section}`, where {} should be", kind.name());
            if !kind.resembles(section) {
                return self.invalid(place, message, kind.lost());
            }
            self.invalid(place.clone(), message, "it is read as that");
        }
        self.expect(Pending {
            expect: Expect::Object(kind),
            reference,
            resource: job.resource,
            dialect: job.dialect,
            place,
            holder: job.pointer.clone(),
        });
    }

    /// Keys that are data have a form of their own.
    fn key(&mut self, kind: Kind, job: &Job<'t>, member: &Member) {
        let key = &member.key;
        let at = || Place { span: member.key_span, ..place(job, member) };
        let (message, mend) = match kind {
            Kind::Paths => {
                for (message, mend) in super::route::faults(key) {
                    self.invalid(at(), message, mend);
                }
                return;
            }
            Kind::PathItem if key == "additionalOperations" => return self.additional(job, member),
            Kind::Responses => {
                let message = format!("`{key}` is no status: write `200`, `4XX` or `default`");
                match super::status(key) {
                    None => (message, "the response is left out"),
                    Some(Status::Range(_)) if !key.ends_with("XX") => (message, "it is read in capitals"),
                    Some(_) => return,
                }
            }
            _ => return,
        };
        self.invalid(at(), message, mend);
    }

    /// OpenAPI 3.2, 4.9: methods that have a field of their own do not stand among the others.
    fn additional(&mut self, job: &Job<'t>, member: &Member) {
        let around = join(&job.pointer, &member.key);
        for each in member.value.members() {
            let Some(field) = method_field(&each.key) else { continue };
            let at = Place { source: job.source, pointer: join(&around, &each.key), span: each.key_span };
            let message = format!("`{}` has a field of its own: write `{field}` beside the others", each.key);
            let is_there = job.tree.get(field).is_some();
            self.invalid(at, message, if is_there { "the field counts" } else { "it is read as that" });
        }
    }

    fn form(
        &mut self,
        kind: Kind,
        form: Form,
        job: &Job<'t>,
        member: &'t Member,
        children: &mut Vec<Job<'t>>,
    ) {
        let value = &member.value;
        let pointer = join(&job.pointer, &member.key);
        let (source, resource, dialect) = (job.source, job.resource, job.dialect);
        let mut child = |what, pointer, tree| {
            children.push(Job { what, source, pointer, tree, resource, dialect });
        };
        let expected = match (form, &value.value) {
            (Form::Any, _) | (Form::Text, Value::String(_)) | (Form::Flag, Value::Bool(_)) => return,
            (Form::Texts, Value::Array(texts)) if texts.iter().all(|text| text.as_str().is_some()) => return,
            (Form::TextMap, Value::Object(texts))
                if texts.iter().all(|each| each.value.as_str().is_some()) =>
            {
                return;
            }
            (Form::Schema, _) if is_schema(value) => {
                return child(What::Schema(Origin::Inline), pointer, value);
            }
            (Form::Schemas, Value::Object(members)) => {
                for each in members {
                    if !self.component(job, &pointer, each) {
                        continue;
                    }
                    let origin = Origin::Component(each.key.clone());
                    child(What::Schema(origin), join(&pointer, &each.key), &each.value);
                }
                return;
            }
            (Form::One(kind), _) => return child(What::Object(kind), pointer, value),
            (Form::Security, _) => return self.security(kind, job, member),
            (Form::List(kind), Value::Array(elements)) => {
                for (at, element) in elements.iter().enumerate() {
                    child(What::Object(kind), format!("{pointer}/{at}"), element);
                }
                return;
            }
            (Form::Map(kind), Value::Object(members)) => {
                let components = job.pointer == "/components";
                for each in members {
                    if components && !self.component(job, &pointer, each) {
                        continue;
                    }
                    child(What::Object(kind), join(&pointer, &each.key), &each.value);
                }
                return;
            }
            (Form::Text, _) => "a string",
            (Form::Flag, _) => "a boolean",
            (Form::Texts, _) => "an array of strings",
            (Form::TextMap, _) => "an object of strings",
            (Form::Schema, _) => "a schema",
            (Form::List(_), _) => "an array",
            (Form::Schemas | Form::Map(_), _) => "an object",
        };
        let other = match form {
            Form::Texts => value.elements().iter().find(|each| each.as_str().is_none()),
            Form::TextMap => {
                let mut all = value.members().iter().map(|each| &each.value);
                all.find(|each| each.as_str().is_none())
            }
            _ => None,
        };
        let found = match other {
            Some(other) => format!("one that holds {}", other.kind()),
            None => value.kind().to_owned(),
        };
        let message = format!("`{}` must be {expected}, not {found}", member.key);
        let mend = match form {
            Form::Text if lenient::text(value).is_some() => "it is read as one",
            Form::Flag if lenient::flag(value).is_some() => "it is read as one",
            Form::Texts
                if kind == Kind::SecurityRequirement
                    && value.elements().is_empty()
                    && lenient::text(value).is_none() =>
            {
                "it asks for no scope"
            }
            Form::Texts if lenient::text(value).is_some() => "it is read as a list of one",
            Form::Texts if !value.elements().is_empty() => "what can be no string is left out",
            _ => "it is left out",
        };
        let mut problem = Diagnostic::error("invalid-openapi", message).at(place(job, member)).mended(mend);
        if form == Form::Text && matches!(value.value, Value::Number(_)) {
            problem = problem.help("put it in quotes");
        }
        self.problems.push(problem);
    }

    /// OpenAPI 3.1, 4.8.7: what a component may be called. False for what is none: a reference to a
    /// file of components, where each has to stand by its name.
    fn component(&mut self, job: &Job<'t>, pointer: &str, member: &Member) -> bool {
        let good = |each: char| each.is_ascii_alphanumeric() || matches!(each, '.' | '-' | '_');
        if member.key.is_empty() || !member.key.chars().all(good) {
            let message =
                format!("`{}` is no name for a component: letters, digits, `.`, `-`, `_`", member.key);
            let at = Place { source: job.source, pointer: join(pointer, &member.key), span: member.key_span };
            if member.key == "$ref" && member.value.as_str().is_some() {
                let message = "a map of components has no `$ref`".to_owned();
                self.invalid(at, message, "it is left out; what references lead to is read where they do");
                return false;
            }
            self.invalid(at, message, "it is called so all the same");
        }
        true
    }

    /// Says of a field that the version of the document has none; where a later one has, it is given.
    fn unknown_field(&mut self, kind: Kind, job: &Job<'t>, member: &Member, later: Option<&Field>) {
        let message = format!("{} has no field `{}`", kind.name(), member.key);
        let at = Place { span: member.key_span, ..place(job, member) };
        let lost = match later {
            Some(field) if kind.is_read_early(*field) => Some(("it is read all the same", None)),
            _ => kind.lost_with(&member.key, &member.value),
        };
        let mut problem = match lost {
            Some((mend, _)) => Diagnostic::error("unknown-field", message).mended(mend),
            None => Diagnostic::warning("unknown-field", message),
        };
        problem = problem.at(at);
        let near = nearest(&member.key, kind.fields().iter().map(|field| field.name));
        if let Some(later) = later {
            problem = problem.help(match later.since {
                Version::V30 | Version::V31 => "OpenAPI 3.1 has it",
                Version::V32 => "OpenAPI 3.2 has it",
            });
        } else if let Some(help) = lost.and_then(|(_, help)| help) {
            problem = problem.help(help);
        } else if let Some(near) = near {
            problem = problem.help(format!("did you mean `{near}`?"));
        }
        self.problems.push(problem);
    }

    fn absent(&mut self, kind: Kind, field: Field, job: &Job<'t>) {
        // OpenAPI 3.2, 4.17: a response need not be described any more.
        let root = self.sources.get(job.source).and_then(|source| version(&source.tree));
        if kind == Kind::Response && root.is_some_and(|version| version.starts_with("3.2")) {
            return;
        }
        let message = format!("{} must have `{}`", kind.name(), field.name);
        let problem = match field.need {
            Need::Must => Diagnostic::error("invalid-openapi", message).mended(kind.without()),
            Need::Should | Need::May => Diagnostic::warning("invalid-openapi", message),
        };
        self.problems.push(problem.at(here(job)));
    }

    fn invalid(&mut self, at: Place, message: String, mend: &str) {
        self.problems.push(Diagnostic::error("invalid-openapi", message).at(at).mended(mend));
    }

    /// The object behind references, an error when they lead nowhere or in a circle.
    pub(crate) fn behind(
        &self,
        source: SourceId,
        pointer: &str,
        tree: &'t Tree,
    ) -> Result<(SourceId, String, &'t Tree), Dead> {
        let mut at = (source, pointer.to_owned());
        let mut tree = tree;
        for _ in 0..32 {
            if tree.get("$ref").is_none() {
                return Ok((at.0, at.1, tree));
            }
            at = self.links.get(&at).ok_or(Dead::Lost)?.clone();
            let root = self.sources.get(at.0).ok_or(Dead::Lost)?;
            tree = root.tree.at(&at.1).ok_or(Dead::Lost)?;
        }
        Err(Dead::Loop)
    }

    /// Reports chains of references that lead back to themselves.
    pub(crate) fn check_links(&self) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> = Vec::new();
        for (source, pointer) in self.links.keys() {
            let Some(root) = self.sources.get(*source) else { continue };
            let Some(tree) = root.tree.at(pointer) else { continue };
            if matches!(self.behind(*source, pointer, tree), Err(Dead::Loop)) {
                let place = Place { source: *source, pointer: pointer.clone(), span: tree.span };
                if !self.counts(&place) {
                    continue;
                }
                let message = "references that lead in a circle and never to an object";
                let problem = Diagnostic::error("reference-cycle", message).at(place);
                let response = (*source, pointer.clone(), Kind::Response);
                let kind = if self.objects.contains(&response) { Kind::Response } else { Kind::PathItem };
                found.push(problem.mended(kind.lost()));
            }
        }
        found
    }
}

/// Why there is no object behind a reference; both are reported elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dead {
    Lost,
    Loop,
}

fn here(job: &Job<'_>) -> Place {
    Place { source: job.source, pointer: job.pointer.clone(), span: job.tree.span }
}

fn place(job: &Job<'_>, member: &Member) -> Place {
    Place { source: job.source, pointer: join(&job.pointer, &member.key), span: member.value.span }
}

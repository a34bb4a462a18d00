//! Converts parameters: merges those of the path item and the operation, and validates their styles.

use contract_runtime::{Json, operation::normalize_path};

use crate::{
    api::{Parameter, ParameterIn, tokens::is_token},
    diagnostics::Diagnostic,
    resolve::lenient,
    schema::SchemaId,
};

use super::{OpenApiNode, OpenApiReader, read_rust_name, split_media_types};

/// The names of header parameters that OpenAPI ignores (3.1, 4.8.12.1).
const RESERVED_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

impl<'t> OpenApiReader<'_, 't> {
    /// Returns the parameters of an operation: its own, and the parameters of its path item that the
    /// operation does not override.
    pub(super) fn merge_parameters(
        &mut self,
        shared: Option<&OpenApiNode<'t>>,
        own: Option<&OpenApiNode<'t>>,
    ) -> Vec<Parameter> {
        let mut out = shared.map(|list| self.read_parameter_list(list)).unwrap_or_default();
        for parameter in own.map(|list| self.read_parameter_list(list)).unwrap_or_default() {
            match out.iter_mut().find(|other| is_same_parameter(other, &parameter)) {
                Some(other) => *other = parameter,
                None => out.push(parameter),
            }
        }
        self.check_querystring(&mut out);
        out
    }

    /// Checks that a `querystring` parameter is not combined with other query parameters (OpenAPI 3.2,
    /// 4.12.1).
    fn check_querystring(&mut self, all: &mut Vec<Parameter>) {
        let in_query =
            |each: &Parameter| matches!(each.location, ParameterIn::Query | ParameterIn::QueryString);
        while all.iter().filter(|each| in_query(each)).count() > 1
            && let Some(at) = all.iter().rposition(|each| each.location == ParameterIn::QueryString)
        {
            let whole = all.remove(at);
            let message =
                format!("the querystring parameter `{}` must be the only query parameter", whole.name);
            let problem = Diagnostic::error("invalid-openapi", message).with_place(whole.place);
            let other = all.iter().find(|each| in_query(each)).map(|other| other.place.clone());
            let problem = problem.with_fallback("it is left out");
            self.problems.push(match other {
                Some(other) => problem.with_label(other, "another query parameter"),
                None => problem,
            });
        }
    }

    fn read_parameter_list(&mut self, list: &OpenApiNode<'t>) -> Vec<Parameter> {
        let mut out: Vec<Parameter> = Vec::new();
        for each in list.elements() {
            let Some(spot) = self.follow_references(&each) else { continue };
            let Some(parameter) = self.read_parameter(&each, &spot) else { continue };
            if let Some(first) = out.iter().find(|other| is_same_parameter(other, &parameter)) {
                let message =
                    format!("duplicate {} parameter `{}`", parameter.location.as_str(), parameter.name);
                let problem = Diagnostic::error("duplicate-parameter", message)
                    .with_place(each.place())
                    .with_fallback("the first one is used");
                self.problems.push(problem.with_label(first.place.clone(), "first here"));
                continue;
            }
            out.push(parameter);
        }
        out
    }

    /// Converts the parameter at `spot`. `each` is the entry in `parameters`, which may be a reference to
    /// `spot`. Returns `None` if OpenAPI ignores the parameter, or if it has no name or location.
    fn read_parameter(&mut self, each: &OpenApiNode<'t>, spot: &OpenApiNode<'t>) -> Option<Parameter> {
        let name = spot.string_field("name")?;
        let within = spot.get("in")?;
        let location = match &*lenient::coerce_string(within.tree)? {
            "path" => ParameterIn::Path,
            "query" => ParameterIn::Query,
            "header" => ParameterIn::Header,
            "cookie" => ParameterIn::Cookie,
            "querystring" => ParameterIn::QueryString,
            other => {
                let message = format!(
                    "`in` must be `path`, `query`, `querystring`, `header` or `cookie`, not `{other}`"
                );
                let problem = Diagnostic::error("invalid-openapi", message).with_place(within.place());
                self.problems.push(problem.with_fallback("the parameter is left out"));
                return None;
            }
        };
        if location == ParameterIn::Header
            && RESERVED_HEADERS.iter().any(|known| known.eq_ignore_ascii_case(&name))
        {
            let message =
                format!("the header parameter `{name}` is ignored: bodies and `security` describe it");
            self.problems.push(Diagnostic::note("ignored", message).with_place(spot.place()));
            return None;
        }
        let required = spot.bool_field("required");
        if location == ParameterIn::Path && !required {
            let message = format!("the path parameter `{name}` must have `required: true`");
            let problem = Diagnostic::error("invalid-openapi", message).with_place(spot.place());
            self.problems.push(problem.with_fallback("it is required"));
        }
        let style = self.parameter_style(spot, location);
        let is_literal = location == ParameterIn::Header || style == "cookie";
        // If the operation requires the parameter, the operation is later reported as one that no client can
        // send.
        if is_literal && !required && !is_token(&name) {
            let message = format!("`{name}` is not a valid name of a {} parameter", location.as_str());
            let at = spot.get("name").unwrap_or_else(|| spot.clone());
            let problem = Diagnostic::error("invalid-openapi", message).with_place(at.place());
            self.problems.push(problem.with_fallback("the parameter is left out"));
            return None;
        }
        let explode = spot.tree.get("explode").and_then(lenient::coerce_bool);
        let explode = explode.unwrap_or(matches!(&*style, "form" | "cookie"));
        let (schema, content) = self.schema_or_content(spot, "a parameter");
        if location == ParameterIn::QueryString && content.is_none() {
            let message = format!("the querystring parameter `{name}` must have `content`");
            let problem = Diagnostic::error("invalid-openapi", message).with_place(spot.place());
            self.problems.push(problem.with_fallback("it is read as a string"));
        }
        Some(Parameter {
            place: spot.place(),
            name,
            rust_name: read_rust_name(spot),
            location,
            required: required || location == ParameterIn::Path,
            deprecated: spot.bool_field("deprecated"),
            description: self.effective_description(each),
            style,
            explode,
            allow_reserved: spot.bool_field("allowReserved"),
            allow_empty: spot.bool_field("allowEmptyValue"),
            schema,
            encoding: self.content_encoding(spot),
            examples: self.read_examples(spot),
            content,
            constant: None,
        })
    }

    /// Returns the `encoding` of the first media type in the `content` of a parameter, by property name.
    fn content_encoding(&self, spot: &OpenApiNode<'t>) -> Vec<(String, Json)> {
        let media = || {
            let content = self.follow_references(&spot.get("content")?)?;
            let (_, media) = content.media_entries().find(|(name, _)| !split_media_types(name).is_empty())?;
            self.follow_references(&media)?.get("encoding")
        };
        let encoding = media();
        let each = encoding.iter().flat_map(OpenApiNode::entries);
        each.map(|(name, each)| (name.to_owned(), each.tree.to_json())).collect()
    }

    /// Returns the `style` of a parameter, or the default style of its location if there is none or an
    /// invalid one (OpenAPI 3.1, 4.8.12.2).
    fn parameter_style(&mut self, spot: &OpenApiNode<'t>, location: ParameterIn) -> String {
        let known: &[&str] = match location {
            ParameterIn::Path => &["simple", "label", "matrix"],
            ParameterIn::Query => &["form", "spaceDelimited", "pipeDelimited", "deepObject"],
            ParameterIn::Header => &["simple"],
            ParameterIn::Cookie => &["form", "cookie"],
            ParameterIn::QueryString => &["form"],
        };
        let default = known.first().copied().unwrap_or_default();
        let Some(style) = spot.get("style") else { return default.to_owned() };
        let Some(name) = lenient::coerce_string(style.tree) else { return default.to_owned() };
        if !known.contains(&&*name) {
            let list = known.join("`, `");
            let message =
                format!("the style of a {} parameter must be `{list}`, not `{name}`", location.as_str());
            let problem = Diagnostic::error("invalid-openapi", message).with_place(style.place());
            self.problems.push(problem.with_fallback(format!("it is read as `{default}`")));
            return default.to_owned();
        }
        name.into_owned()
    }

    /// Returns the schema of a parameter or header and, if it is described by `content` instead of `schema`,
    /// the media type of the first entry.
    pub(super) fn schema_or_content(
        &mut self,
        spot: &OpenApiNode<'t>,
        what: &str,
    ) -> (Option<SchemaId>, Option<String>) {
        let schema = spot.get("schema");
        let content = spot.get("content").and_then(|content| self.follow_references(&content));
        let mut fault = |at: &OpenApiNode<'t>, message: String, fallback: &str| {
            self.problems.push(
                Diagnostic::error("invalid-openapi", message).with_place(at.place()).with_fallback(fallback),
            );
        };
        let named =
            |(names, media): (&'t str, OpenApiNode<'t>)| Some((*split_media_types(names).first()?, media));
        let first = content.as_ref().and_then(|content| content.media_entries().find_map(named));
        match (&schema, &content) {
            (None, None) => {
                fault(spot, format!("{what} must have `schema` or `content`"), "it is read as a string");
            }
            (Some(_), Some(content)) => {
                fault(
                    content,
                    format!("{what} must not have both `schema` and `content`"),
                    "`schema` is used",
                );
            }
            (None, Some(content)) if content.media_entries().count() != 1 || first.is_none() => {
                let message = format!("the `content` of {what} must have exactly one entry");
                let fallback =
                    if first.is_some() { "the first one is used" } else { "it is read as a string" };
                fault(content, message, fallback);
            }
            _ => {}
        }
        match (schema, first) {
            (Some(schema), _) => (self.schema_id(&schema), None),
            (None, Some((name, media))) => {
                let media = self.follow_references(&media).unwrap_or(media);
                (media.get("schema").and_then(|schema| self.schema_id(&schema)), Some(name.to_owned()))
            }
            (None, None) => (None, None),
        }
    }
}

/// Returns the normalized path with `{}` for each placeholder, so that paths that differ only in the names of
/// placeholders are equal.
pub(super) fn path_shape(path: &str) -> String {
    let path = &*normalize_path(path);
    let mut out = String::with_capacity(path.len());
    let mut inside = false;
    for each in path.chars() {
        match each {
            '{' => {
                inside = true;
                out.push_str("{}");
            }
            '}' => inside = false,
            each if !inside => out.push(each),
            _ => {}
        }
    }
    out
}

fn is_same_parameter(left: &Parameter, right: &Parameter) -> bool {
    let names = if left.location == ParameterIn::Header {
        left.name.eq_ignore_ascii_case(&right.name)
    } else {
        left.name == right.name
    };
    names && left.location == right.location
}

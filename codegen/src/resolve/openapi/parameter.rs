//! Parameters: path and operation merged, styles, path templates.

use contract_runtime::{Json, operation::normal_path};

use crate::{
    api::{Parameter, ParameterIn},
    diagnostics::Diagnostic,
    resolve::lenient,
    schema::SchemaId,
};

use super::{Reader, Spot, media_types};

/// Headers that OpenAPI describes elsewhere (3.1, 4.8.12.1).
const DESCRIBED: [&str; 3] = ["accept", "content-type", "authorization"];

impl<'t> Reader<'_, 't> {
    /// Those of the path item, replaced or followed by those of the operation.
    pub(super) fn parameters(&mut self, shared: Option<&Spot<'t>>, own: Option<&Spot<'t>>) -> Vec<Parameter> {
        let mut out = shared.map(|list| self.parameter_list(list)).unwrap_or_default();
        for parameter in own.map(|list| self.parameter_list(list)).unwrap_or_default() {
            match out.iter_mut().find(|other| same(other, &parameter)) {
                Some(other) => *other = parameter,
                None => out.push(parameter),
            }
        }
        self.one_query(&mut out);
        out
    }

    /// OpenAPI 3.2, 4.12.1: what is the whole query stands alone in it.
    fn one_query(&mut self, all: &mut Vec<Parameter>) {
        let in_query =
            |each: &Parameter| matches!(each.location, ParameterIn::Query | ParameterIn::QueryString);
        while all.iter().filter(|each| in_query(each)).count() > 1
            && let Some(at) = all.iter().rposition(|each| each.location == ParameterIn::QueryString)
        {
            let whole = all.remove(at);
            let message = format!(
                "the querystring parameter `{}` is the whole query, and is not alone in it",
                whole.name
            );
            let problem = Diagnostic::error("invalid-openapi", message).at(whole.place);
            let other = all.iter().find(|each| in_query(each)).map(|other| other.place.clone());
            let problem = problem.mended("it is left out");
            self.problems.push(match other {
                Some(other) => problem.label(other, "this is in the query as well"),
                None => problem,
            });
        }
    }

    fn parameter_list(&mut self, list: &Spot<'t>) -> Vec<Parameter> {
        let mut out: Vec<Parameter> = Vec::new();
        for each in list.elements() {
            let Some(spot) = self.behind(&each) else { continue };
            let Some(parameter) = self.parameter(&each, &spot) else { continue };
            if let Some(first) = out.iter().find(|other| same(other, &parameter)) {
                let message = format!(
                    "the {} parameter `{}` is here twice",
                    parameter.location.as_str(),
                    parameter.name
                );
                let problem = Diagnostic::error("duplicate-parameter", message)
                    .at(each.place())
                    .mended("the first counts");
                self.problems.push(problem.label(first.place.clone(), "first here"));
                continue;
            }
            out.push(parameter);
        }
        out
    }

    /// What stands at `each`, and behind its reference at `spot`. `None` for one that is ignored or has no
    /// name or place.
    fn parameter(&mut self, each: &Spot<'t>, spot: &Spot<'t>) -> Option<Parameter> {
        let name = spot.text("name")?;
        let within = spot.get("in")?;
        let location = match &*lenient::text(within.tree)? {
            "path" => ParameterIn::Path,
            "query" => ParameterIn::Query,
            "header" => ParameterIn::Header,
            "cookie" => ParameterIn::Cookie,
            "querystring" => ParameterIn::QueryString,
            other => {
                let message =
                    format!("`in` is `path`, `query`, `querystring`, `header` or `cookie`, not `{other}`");
                let problem = Diagnostic::error("invalid-openapi", message).at(within.place());
                self.problems.push(problem.mended("the parameter is left out"));
                return None;
            }
        };
        if location == ParameterIn::Header && DESCRIBED.iter().any(|known| known.eq_ignore_ascii_case(&name))
        {
            let message = format!("the header parameter `{name}` is described by bodies and security");
            self.problems.push(Diagnostic::note("ignored", message).at(spot.place()));
            return None;
        }
        let required = spot.flag("required");
        if location == ParameterIn::Path && !required {
            let message = format!("the path parameter `{name}` must say `required: true`");
            let problem = Diagnostic::error("invalid-openapi", message).at(spot.place());
            self.problems.push(problem.mended("it is required"));
        }
        let style = self.style(spot, location);
        let explode = spot.tree.get("explode").and_then(lenient::flag);
        let explode = explode.unwrap_or(matches!(&*style, "form" | "cookie"));
        let (schema, content) = self.typed(spot, "a parameter");
        if location == ParameterIn::QueryString && content.is_none() {
            let message = format!("the querystring parameter `{name}` must have `content`");
            let problem = Diagnostic::error("invalid-openapi", message).at(spot.place());
            self.problems.push(problem.mended("it is read as text"));
        }
        Some(Parameter {
            place: spot.place(),
            name,
            location,
            required: required || location == ParameterIn::Path,
            deprecated: spot.flag("deprecated"),
            description: self.description(each),
            style,
            explode,
            allow_reserved: spot.flag("allowReserved"),
            allow_empty: spot.flag("allowEmptyValue"),
            schema,
            encoding: self.encoding(spot),
            content,
            constant: None,
        })
    }

    /// The `encoding` of the one entry of `content`, where there is one.
    fn encoding(&self, spot: &Spot<'t>) -> Vec<(String, Json)> {
        let media = || {
            let content = self.behind(&spot.get("content")?)?;
            let (_, media) = content.media().find(|(name, _)| !media_types(name).is_empty())?;
            self.behind(&media)?.get("encoding")
        };
        let encoding = media();
        let each = encoding.iter().flat_map(Spot::entries);
        each.map(|(name, each)| (name.to_owned(), each.tree.to_json())).collect()
    }

    /// OpenAPI 3.1, 4.8.12.2: which styles each place has, and its default.
    fn style(&mut self, spot: &Spot<'t>, location: ParameterIn) -> String {
        let known: &[&str] = match location {
            ParameterIn::Path => &["simple", "label", "matrix"],
            ParameterIn::Query => &["form", "spaceDelimited", "pipeDelimited", "deepObject"],
            ParameterIn::Header => &["simple"],
            ParameterIn::Cookie => &["form", "cookie"],
            ParameterIn::QueryString => &["form"],
        };
        let default = known.first().copied().unwrap_or_default();
        let Some(style) = spot.get("style") else { return default.to_owned() };
        let Some(name) = lenient::text(style.tree) else { return default.to_owned() };
        if !known.contains(&&*name) {
            let list = known.join("`, `");
            let message = format!("a {} parameter has the style `{list}`, not `{name}`", location.as_str());
            let problem = Diagnostic::error("invalid-openapi", message).at(style.place());
            self.problems.push(problem.mended(format!("it is read as `{default}`")));
            return default.to_owned();
        }
        name.into_owned()
    }

    /// `schema`, or the one entry of `content`: its schema and media type.
    pub(super) fn typed(&mut self, spot: &Spot<'t>, what: &str) -> (Option<SchemaId>, Option<String>) {
        let schema = spot.get("schema");
        let content = spot.get("content").and_then(|content| self.behind(&content));
        let mut fault = |at: &Spot<'t>, message: String, mend: &str| {
            self.problems.push(Diagnostic::error("invalid-openapi", message).at(at.place()).mended(mend));
        };
        let named = |(names, media): (&'t str, Spot<'t>)| Some((*media_types(names).first()?, media));
        let first = content.as_ref().and_then(|content| content.media().find_map(named));
        match (&schema, &content) {
            (None, None) => {
                fault(spot, format!("{what} must have `schema` or `content`"), "it is read as text");
            }
            (Some(_), Some(content)) => {
                fault(
                    content,
                    format!("{what} must not have both `schema` and `content`"),
                    "`schema` counts",
                );
            }
            (None, Some(content)) if content.media().count() != 1 || first.is_none() => {
                let message = format!("the `content` of {what} must have exactly one entry");
                let mend = if first.is_some() { "the first counts" } else { "it is read as text" };
                fault(content, message, mend);
            }
            _ => {}
        }
        match (schema, first) {
            (Some(schema), _) => (self.schema(&schema), None),
            (None, Some((name, media))) => {
                let media = self.behind(&media).unwrap_or(media);
                (media.get("schema").and_then(|schema| self.schema(&schema)), Some(name.to_owned()))
            }
            (None, None) => (None, None),
        }
    }
}

/// A template without the names of its placeholders, in the form that is sent.
pub(super) fn shape(path: &str) -> String {
    let path = &*normal_path(path);
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

fn same(left: &Parameter, right: &Parameter) -> bool {
    let names = if left.location == ParameterIn::Header {
        left.name.eq_ignore_ascii_case(&right.name)
    } else {
        left.name == right.name
    };
    names && left.location == right.location
}

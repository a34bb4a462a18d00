//! What is wrong with a `[[pages]]`: with itself, and with the operations that it names.

use super::Call;
use crate::{
    api::Api,
    config::{self, Config, OffsetBy, Selection},
    diagnostics::{Diagnostic, Diagnostics},
    plan::Plan,
    prune,
    tree::Place,
};

/// Why an operation is no list of the kind that an entry says.
#[derive(Clone, Debug)]
pub struct Unfit {
    /// The entry, by its number.
    entry: usize,
    option: &'static str,
    value: String,
    message: String,
    help: String,
    /// The operation.
    place: Option<Box<Place>>,
}

impl Unfit {
    pub(super) fn new(
        option: &'static str,
        value: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let (message, help) = (message.into(), help.into());
        Self { entry: 0, option, value: value.to_owned(), message, help, place: None }
    }

    /// Of an operation that an entry names.
    pub(super) fn of(self, call: &Call<'_>, entry: usize) -> Self {
        let message = format!("`{}` {}", call.operation.id, self.message);
        Self { entry, message, place: Some(Box::new(call.operation.place.clone())), ..self }
    }

    /// Of all operations that a glob chooses, by the first of them.
    pub(super) fn of_glob(self, call: &Call<'_>, entry: usize, selection: &Selection) -> Self {
        let message =
            format!("nothing that {selection} chooses fits: `{}` {}", call.operation.id, self.message);
        Self { entry, message, place: Some(Box::new(call.operation.place.clone())), ..self }
    }

    pub(super) fn twice(call: &Call<'_>, entry: usize) -> Self {
        let id = &call.operation.id;
        let message = "is a list by two `[[pages]]`";
        let help = "name it in `operations` of one of them: a name goes before `include`";
        Self::new("operations", id, message, help).of(call, entry)
    }

    pub(super) fn no_link(entry: &config::Pages) -> Self {
        let rel = entry.link.as_ref().map_or("", |link| link.parts().0);
        let message = "declares no header `Link` for its answer";
        Self::new("link", rel, message, "name the operations that have one in `operations`")
    }

    pub(super) fn other_items(call: &Call<'_>, other: &Call<'_>, entry: usize, pointer: &str) -> Self {
        let message =
            format!("has its items at `{pointer}`, and `{}` elsewhere in the same type", other.operation.id);
        let help = "leave one of them out: a page has one list of items";
        Self::new("items", pointer, message, help).of(call, entry)
    }

    fn diagnostic(&self, config: &Config) -> Diagnostic {
        let own = config.place_in("pages", self.entry, self.option, &self.value);
        let anchor = || {
            let (option, value) = config.pages.get(self.entry)?.anchor();
            config.place_in("pages", self.entry, option, &value)
        };
        let diagnostic = Diagnostic::error("config", format!("`[[pages]]`: {}", self.message))
            .maybe_at(own.or_else(anchor))
            .help(self.help.clone());
        match &self.place {
            Some(place) => diagnostic.label((**place).clone(), "this is the operation"),
            None => diagnostic,
        }
    }
}

impl config::Pages {
    /// Whether an entry says one way, and nothing that goes against it.
    pub(super) fn is_settled(&self) -> bool {
        self.form().is_none()
    }

    /// Where an entry is found in the file: an option, and what it holds.
    fn anchor(&self) -> (&'static str, String) {
        let chosen = || {
            let Selection { tag, path, operation, webhook } = self.include.first()?;
            [tag, path, operation, webhook].into_iter().flatten().next().cloned()
        };
        match (self.operations.first(), chosen()) {
            (Some(id), _) => ("operations", id.clone()),
            (None, Some(value)) => ("include", value),
            (None, None) => ("items", self.items.clone()),
        }
    }

    /// What is wrong with an entry whatever the contract says.
    fn form(&self) -> Option<Form> {
        let problem = |(option, value): (&'static str, String), message: String, help: &str| {
            Some(Form { option, value, message, help: help.to_owned() })
        };
        let ways = "give one of `cursor`, `last-item`, `link`, `next-url`, `offset`, `page`";
        match self.ways().as_slice() {
            [] => {
                return problem(
                    self.anchor(),
                    "does not say how one page leads to the next".to_owned(),
                    ways,
                );
            }
            [_] => {}
            [one, other, ..] => {
                return problem(self.anchor(), format!("has both `{one}` and `{other}`"), ways);
            }
        }
        if self.operations.is_empty() && self.include.is_empty() {
            let help =
                "list them in `operations`, or choose them by `include`: `include = [{ tag = \"issues\" }]`";
            return problem(self.anchor(), "chooses no operations".to_owned(), help);
        }
        let offset = self.offset.as_ref()?;
        if offset.by == OffsetBy::Limit && offset.limit.is_none() {
            return problem(
                ("offset", offset.to.clone()),
                format!("grows `{}` by a limit that it does not name", offset.to),
                "name the parameter: `limit = \"limit\"`",
            );
        }
        None
    }
}

/// What is wrong with an entry itself, and where.
struct Form {
    option: &'static str,
    value: String,
    message: String,
    help: String,
}

/// Reports entries that say nothing, or choose nothing of the whole contract.
pub(in crate::plan) fn check_entries(options: &Config, api: &Api, diagnostics: &mut Diagnostics) {
    if options.pages.is_empty() {
        return;
    }
    let called = Api { webhooks: Vec::new(), ..api.clone() };
    for (index, entry) in options.pages.iter().enumerate() {
        if let Some(Form { option, value, message, help }) = entry.form() {
            diagnostics.push(
                Diagnostic::error("config", format!("a `[[pages]]` {message}"))
                    .maybe_at(options.place_in("pages", index, option, &value))
                    .help(help),
            );
        }
        let unfitting =
            entry.include.iter().filter_map(|each| prune::unfitting(options, "pages.include", each, &called));
        diagnostics.extend(unfitting);
    }
}

/// Reports operations that are no lists as their `[[pages]]` says.
pub fn check(plan: &Plan<'_>, options: &Config, diagnostics: &mut Diagnostics) {
    diagnostics.extend(plan.unfit.iter().map(|unfit| unfit.diagnostic(options)));
}

//! Problems of `[[pages]]` entries and of the operations that they select.

use super::PlannedCall;
use crate::{
    api::OpenApiDocument,
    config::{self, Config, OffsetIncrement, OperationSelector},
    diagnostics::{Diagnostic, Diagnostics},
    plan::SidePlan,
    prune,
    tree::DocumentLocation,
};

/// The reason why an operation is not suitable for the pagination that a `[[pages]]` entry configures.
#[derive(Clone, Debug)]
pub struct PageProblem {
    /// The index of the `[[pages]]` entry.
    entry: usize,
    option: &'static str,
    value: String,
    message: String,
    help: String,
    place: Option<Box<DocumentLocation>>,
}

impl PageProblem {
    pub(super) fn new(
        option: &'static str,
        value: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let (message, help) = (message.into(), help.into());
        Self { entry: 0, option, value: value.to_owned(), message, help, place: None }
    }

    /// Sets the operation and the `[[pages]]` entry to which the problem applies: prefixes the message with the
    /// operation's id, and sets the location to that of the operation.
    pub(super) fn for_operation(self, call: &PlannedCall<'_>, entry: usize) -> Self {
        let message = format!("`{}` {}", call.operation.id, self.message);
        Self { entry, message, place: Some(Box::new(call.operation.place.clone())), ..self }
    }

    /// Adds the operation to the problem: the first operation that the glob `selection` of the entry matches.
    pub(super) fn for_glob(
        self,
        call: &PlannedCall<'_>,
        entry: usize,
        selection: &OperationSelector,
    ) -> Self {
        let message = format!(
            "no operation that {selection} selects can be paginated in this way: `{}` {}",
            call.operation.id, self.message
        );
        Self { entry, message, place: Some(Box::new(call.operation.place.clone())), ..self }
    }

    pub(super) fn two_entries(call: &PlannedCall<'_>, entry: usize) -> Self {
        let id = &call.operation.id;
        let message = "is paginated by two `[[pages]]` entries";
        let help = "name it in `operations` of one of them: a name takes precedence over `include`";
        Self::new("operations", id, message, help).for_operation(call, entry)
    }

    pub(super) fn no_link(entry: &config::PaginationConfig) -> Self {
        let rel = entry.link.as_ref().map_or("", |link| link.relation_and_scope().0);
        let message = "declares no `Link` header in its response";
        Self::new("link", rel, message, "name the operations with this header in `operations`")
    }

    pub(super) fn other_items(
        call: &PlannedCall<'_>,
        other: &PlannedCall<'_>,
        entry: usize,
        pointer: &str,
    ) -> Self {
        let message = format!(
            "has its items at `{pointer}`, but `{}` has them elsewhere in the same type",
            other.operation.id
        );
        let help = "remove one of the operations from `[[pages]]`: a page type has one list of items";
        Self::new("items", pointer, message, help).for_operation(call, entry)
    }

    fn to_diagnostic(&self, config: &Config) -> Diagnostic {
        let own = config.table_option_place("pages", self.entry, self.option, &self.value);
        let anchor = || {
            let (option, value) = config.pages.get(self.entry)?.config_anchor();
            config.table_option_place("pages", self.entry, option, &value)
        };
        let diagnostic = Diagnostic::error("config", format!("`[[pages]]`: {}", self.message))
            .with_optional_place(own.or_else(anchor))
            .help(self.help.clone());
        match &self.place {
            Some(place) => diagnostic.with_label((**place).clone(), "the operation"),
            None => diagnostic,
        }
    }
}

impl config::PaginationConfig {
    /// Returns true if an entry configures exactly one mechanism, such as `cursor` or `offset`, selects
    /// operations, and has no conflicting options.
    pub(super) fn is_well_formed(&self) -> bool {
        self.entry_problem().is_none()
    }

    /// Returns an option of the entry and its value, by which diagnostics locate the entry in the
    /// configuration file.
    fn config_anchor(&self) -> (&'static str, String) {
        let chosen = || {
            let OperationSelector { tag, path, operation, webhook } = self.include.first()?;
            [tag, path, operation, webhook].into_iter().flatten().next().cloned()
        };
        match (self.operations.first(), chosen()) {
            (Some(id), _) => ("operations", id.clone()),
            (None, Some(value)) => ("include", value),
            (None, None) => ("items", self.items.clone()),
        }
    }

    /// Returns a problem that can be found in the configured entry alone, without the contract.
    fn entry_problem(&self) -> Option<EntryProblem> {
        let problem = |(option, value): (&'static str, String), message: String, help: &str| {
            Some(EntryProblem { option, value, message, help: help.to_owned() })
        };
        let ways = "set one of `cursor`, `last-item`, `link`, `next-url`, `offset`, `page`";
        match self.strategy_names().as_slice() {
            [] => {
                return problem(
                    self.config_anchor(),
                    "does not configure how one page leads to the next".to_owned(),
                    ways,
                );
            }
            [_] => {}
            [one, other, ..] => {
                return problem(self.config_anchor(), format!("has both `{one}` and `{other}`"), ways);
            }
        }
        if self.operations.is_empty() && self.include.is_empty() {
            let help =
                "list them in `operations`, or choose them by `include`: `include = [{ tag = \"issues\" }]`";
            return problem(self.config_anchor(), "selects no operations".to_owned(), help);
        }
        let offset = self.offset.as_ref()?;
        if offset.by == OffsetIncrement::Limit && offset.limit.is_none() {
            return problem(
                ("offset", offset.to.clone()),
                format!("increments `{}` by the limit, but does not name the limit parameter", offset.to),
                "name the parameter: `limit = \"limit\"`",
            );
        }
        None
    }
}

/// A problem of an entry itself, with the name and value of the option that causes it.
struct EntryProblem {
    option: &'static str,
    value: String,
    message: String,
    help: String,
}

/// Reports malformed entries, and selections that match no operation of the whole contract.
pub(in crate::plan) fn check_entries(options: &Config, api: &OpenApiDocument, diagnostics: &mut Diagnostics) {
    if options.pages.is_empty() {
        return;
    }
    let called = OpenApiDocument { webhooks: Vec::new(), ..api.clone() };
    for (index, entry) in options.pages.iter().enumerate() {
        if let Some(EntryProblem { option, value, message, help }) = entry.entry_problem() {
            diagnostics.push(
                Diagnostic::error("config", format!("a `[[pages]]` entry {message}"))
                    .with_optional_place(options.table_option_place("pages", index, option, &value))
                    .help(help),
            );
        }
        let unfitting = entry
            .include
            .iter()
            .filter_map(|each| prune::check_selection(options, "pages.include", each, &called));
        diagnostics.extend(unfitting);
    }
}

/// Reports operations that are not suitable for their `[[pages]]` entry.
pub fn report_problems(plan: &SidePlan<'_>, options: &Config, diagnostics: &mut Diagnostics) {
    diagnostics.extend(plan.page_problems.iter().map(|unfit| unfit.to_diagnostic(options)));
}

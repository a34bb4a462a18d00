//! Reports problems of views, with the name of the view and the location in the configuration.

use std::collections::BTreeSet;

use crate::{
    config::{Config, ViewConfig},
    diagnostics::{Diagnostic, Diagnostics},
    names,
    shape::StructField,
};

/// The names that the modules of views import, in addition to reserved type names.
const RESERVED_NAMES: &[&str] = &["Call", "Clone", "Debug", "Send", "Sync"];

/// The methods that every type of a view has from the supertraits of the view. A getter with such a name
/// would be ambiguous. Functions without a `self` argument do not conflict.
const TYPE_METHODS: &[&str] = &[
    "clone",
    "eq",
    "fmt",
    "into_parts",
    "is_valid",
    "ne",
    "report_undeclared",
    "serialize",
    "to_json",
    "undeclared_members",
    "validate",
];
/// The methods that every call has from the supertraits of the view.
const CALL_METHODS: &[&str] = &["build_request", "clone"];

/// A view that is checked, and the list to which its diagnostics are added.
pub(super) struct ViewProblems<'a, 'd> {
    pub(super) config: &'a Config,
    /// The index of the view in the configuration.
    pub(super) index: usize,
    pub(super) view: &'a ViewConfig,
    pub(super) found: &'d mut Diagnostics,
}

impl ViewProblems<'_, '_> {
    /// Reports an error at the value of an option of the view. The message starts with the name of the view,
    /// such as ``the view `Page` ``, followed by `what`.
    pub(super) fn report(&mut self, (option, value): (&str, &str), what: &str, help: &str) {
        self.push((option, value), &format!("the view `{}` {what}", self.view.name), help);
    }

    fn push(&mut self, (option, value): (&str, &str), message: &str, help: &str) {
        let own = self.config.table_option_place("view", self.index, option, value);
        let place =
            own.or_else(|| self.config.table_option_place("view", self.index, "name", &self.view.name));
        self.found.push(Diagnostic::error("config", message).with_optional_place(place).help(help));
    }

    /// Checks those options of the view that can be checked without the contract. Returns false if an error
    /// was reported.
    pub(super) fn check_options(&mut self) -> bool {
        let before = self.found.len();
        self.check_name();
        let view = self.view;
        let mut over = |list: &[String], word: &str, others: [(&str, Option<&String>); 2], shared: &str| {
            if list.is_empty() {
                let help = format!("list in `{word}` the common {word} of the {shared}");
                self.report(("name", &view.name), &format!("has no {word}"), &help);
            }
            for (option, value) in others {
                if let Some(value) = value {
                    let message = format!("is over {shared}, so that `{option}` does not apply");
                    self.report((option, value), &message, &format!("remove `{option}`"));
                }
            }
        };
        match (view.types.is_empty(), view.operations.is_empty()) {
            (false, true) => {
                let others = [("parameters", view.parameters.first()), ("answer", view.answer.as_ref())];
                over(&view.members, "members", others, "types");
            }
            (true, false) => {
                let others =
                    [("members", view.members.first()), ("associated", view.associated.keys().next())];
                // A view over calls needs no parameters if it has a common response.
                let answer_options = view.answer.iter().cloned().collect::<Vec<_>>();
                let given = if view.parameters.is_empty() { &answer_options } else { &view.parameters };
                over(given, "parameters", others, "calls");
            }
            (types, _) => {
                let many = if types { "neither `types` nor" } else { "both `types` and" };
                let help = "set exactly one of `types` and `operations`: a view is over types, or over calls of operations";
                self.report(("name", &view.name), &format!("has {many} `operations`"), help);
            }
        }
        self.check_methods();
        self.found.len() == before
    }

    /// Checks that the name of the view is a valid and unique name of a trait.
    fn check_name(&mut self) {
        let name = self.view.name.as_str();
        if !names::is_model_name(name) || names::is_reserved_type(name) || RESERVED_NAMES.contains(&name) {
            let help = "choose a name such as `FeedPage`";
            self.push(("name", name), &format!("`{name}` is not a valid view name"), help);
            return;
        }
        let parts = |view: &ViewConfig| format!("{}Parts", view.name);
        let earlier = self.config.views.iter().take(self.index);
        // A struct with the name of the view and the suffix `Parts` is generated as well.
        let clash =
            |other: &ViewConfig| other.name == name || parts(other) == name || parts(self.view) == other.name;
        if let Some(other) = earlier.into_iter().find(|other| clash(other)) {
            let message = if other.name == name {
                format!("two views have the name `{name}`")
            } else {
                format!(
                    "the name of the view `{name}` conflicts with the struct of parts of another view, `{}`",
                    other.name
                )
            };
            self.push(("name", name), &message, "choose another name for one of them");
        }
    }

    /// Checks that the getters and setters of the view have unique names.
    fn check_methods(&mut self) {
        let view = self.view;
        let mut seen = BTreeSet::new();
        let members = view.members.iter().map(|member| ("members", TYPE_METHODS, member));
        let parameters = view.parameters.iter().map(|parameter| ("parameters", CALL_METHODS, parameter));
        for (option, own, wire) in members.chain(parameters) {
            let getter = names::field_name(wire);
            if own.contains(&getter.as_str()) {
                let message =
                    format!("already has a method `{getter}`, so that `{wire}` cannot have a getter");
                self.report(
                    (option, wire),
                    &message,
                    &format!("omit `{wire}`; its field remains accessible without the view"),
                );
                continue;
            }
            let setter = (option == "parameters").then(|| setter_name(&getter));
            let taken = [Some(getter), setter].into_iter().flatten().find(|name| !seen.insert(name.clone()));
            if let Some(name) = taken {
                let message = format!("has two methods with the name `{name}`, one of them for `{wire}`");
                self.report((option, wire), &message, "omit one of the two");
            }
        }
    }

    /// Reports that a schema in `types` has a type that is not a struct.
    pub(super) fn report_no_struct(&mut self, location: &str) {
        let selector = self.view.types.iter().find(|selector| location.ends_with(selector.as_str()));
        let value = selector.map_or("", String::as_str);
        let message = format!("is over `{location}`, which is not a struct");
        self.report(("types", value), &message, "list schemas of objects with declared properties");
    }

    /// Reports that the type `of` does not have the property `member`. The help lists its properties.
    pub(super) fn report_missing_member(&mut self, member: &str, of: &str, fields: &[StructField]) {
        let has = fields.iter().filter(|field| !field.omitted).map(|field| field.wire.as_str());
        let help = format!("`{of}` has {}", quoted_list(has));
        self.report(("members", member), &format!("lists `{member}`, which `{of}` does not have"), &help);
    }
}

/// The method names that getters must not have: first those for views over types, then those for views over
/// calls.
#[cfg(test)]
pub(super) const RESERVED_METHODS: [&[&str]; 2] = [TYPE_METHODS, CALL_METHODS];

/// Returns the name of the method that sets a parameter, given the name of its getter.
pub(super) fn setter_name(getter: &str) -> String {
    format!("with_{}", getter.trim_end_matches('_'))
}

/// Formats a list as `` `a`, `b` ``, or as `none` if it is empty.
pub(super) fn quoted_list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

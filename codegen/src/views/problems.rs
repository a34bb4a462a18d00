//! What can be wrong about a view: each problem names the view, and where in the file it stands.

use std::collections::BTreeSet;

use crate::{
    config::{Config, View},
    diagnostics::{Diagnostic, Diagnostics},
    names,
    shape::Field,
};

/// What the modules of views name without a path, beside what no generated type is called.
const TAKEN: &[&str] = &["Call", "Clone", "Debug", "Send", "Sync"];

/// What every type of a view can do already. A getter of such a name could not be called: the trait
/// asks for the traits that these methods are of. Functions that take no value are no obstacle.
const OF_TYPES: &[&str] = &[
    "clone",
    "eq",
    "fmt",
    "into_parts",
    "is_valid",
    "ne",
    "report_undeclared",
    "serialize",
    "to_json",
    "undeclared",
    "validate",
];
/// The same of calls.
const OF_CALLS: &[&str] = &["clone", "request"];

/// A view that is looked at, and where its problems go.
pub(super) struct Problems<'a, 'd> {
    pub(super) config: &'a Config,
    /// Its number in the file.
    pub(super) index: usize,
    pub(super) view: &'a View,
    pub(super) found: &'d mut Diagnostics,
}

impl Problems<'_, '_> {
    /// An error about a value of an option: ``the view `Page` `` and what it does.
    pub(super) fn say(&mut self, (option, value): (&str, &str), what: &str, help: &str) {
        self.push((option, value), &format!("the view `{}` {what}", self.view.name), help);
    }

    fn push(&mut self, (option, value): (&str, &str), message: &str, help: &str) {
        let own = self.config.place_in("view", self.index, option, value);
        let place = own.or_else(|| self.config.place_in("view", self.index, "name", &self.view.name));
        self.found.push(Diagnostic::error("config", message).maybe_at(place).help(help));
    }

    /// Whether the options of the view go together, whatever the contract says.
    pub(super) fn form(&mut self) -> bool {
        let before = self.found.len();
        self.name();
        let view = self.view;
        let mut over = |list: &[String], word: &str, others: [(&str, Option<&String>); 2], shared: &str| {
            if list.is_empty() {
                let help = format!("list in `{word}` what {shared} have in common");
                self.say(("name", &view.name), &format!("names no {word}"), &help);
            }
            for (option, value) in others {
                if let Some(value) = value {
                    let message = format!("is over {shared}, which `{option}` is not for");
                    self.say((option, value), &message, &format!("remove `{option}`"));
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
                // What calls answer may be all that they have in common.
                let answered = view.answer.iter().cloned().collect::<Vec<_>>();
                let given = if view.parameters.is_empty() { &answered } else { &view.parameters };
                over(given, "parameters", others, "calls");
            }
            (types, _) => {
                let many = if types { "neither `types` nor" } else { "both `types` and" };
                let help = "give one of the two lists: traits are over types, or over calls of operations";
                self.say(("name", &view.name), &format!("has {many} `operations`"), help);
            }
        }
        self.methods();
        self.found.len() == before
    }

    /// A name has to be that of a trait, for itself.
    fn name(&mut self) {
        let name = self.view.name.as_str();
        if !names::is_model_name(name) || TAKEN.contains(&name) {
            let help = "choose a name such as `FeedPage`";
            self.push(("name", name), &format!("no view can be called `{name}`"), help);
            return;
        }
        let parts = |view: &View| format!("{}Parts", view.name);
        let earlier = self.config.views.iter().take(self.index);
        // The parts of a view are a struct beside it.
        let clash =
            |other: &View| other.name == name || parts(other) == name || parts(self.view) == other.name;
        if let Some(other) = earlier.into_iter().find(|other| clash(other)) {
            let message = if other.name == name {
                format!("two views are called `{name}`")
            } else {
                format!("the view `{name}` and the parts of another have one name, beside `{}`", other.name)
            };
            self.push(("name", name), &message, "choose another name for one of them");
        }
    }

    /// Getters, and setters of calls, have names of their own.
    fn methods(&mut self) {
        let view = self.view;
        let mut seen = BTreeSet::new();
        let members = view.members.iter().map(|member| ("members", OF_TYPES, member));
        let parameters = view.parameters.iter().map(|parameter| ("parameters", OF_CALLS, parameter));
        for (option, own, wire) in members.chain(parameters) {
            let getter = names::field_name(wire);
            if own.contains(&getter.as_str()) {
                let message = format!("has a method `{getter}` already, and can have none for `{wire}`");
                self.say(
                    (option, wire),
                    &message,
                    &format!("leave `{wire}` out: its field is there without the view"),
                );
                continue;
            }
            let setter = (option == "parameters").then(|| setter(&getter));
            let taken = [Some(getter), setter].into_iter().flatten().find(|name| !seen.insert(name.clone()));
            if let Some(name) = taken {
                let message = format!("has two methods called `{name}`, one of them for `{wire}`");
                self.say((option, wire), &message, "leave out one of the two");
            }
        }
    }

    /// A schema that is listed has no struct.
    pub(super) fn no_struct(&mut self, location: &str) {
        let selector = self.view.types.iter().find(|selector| location.ends_with(selector.as_str()));
        let value = selector.map_or("", String::as_str);
        let message = format!("is over `{location}`, which is no struct");
        self.say(("types", value), &message, "list schemas of objects that declare members");
    }

    /// A type lacks a member.
    pub(super) fn no_member(&mut self, member: &str, of: &str, fields: &[Field]) {
        let has = fields.iter().filter(|field| !field.omitted).map(|field| field.wire.as_str());
        let help = format!("`{of}` has {}", list(has));
        self.say(("members", member), &format!("names `{member}`, which `{of}` does not have"), &help);
    }
}

/// The methods that views of types and of calls cannot have.
#[cfg(test)]
pub(super) const OWN: [&[&str]; 2] = [OF_TYPES, OF_CALLS];

/// The method that replaces a parameter.
pub(super) fn setter(getter: &str) -> String {
    format!("with_{}", getter.trim_end_matches('_'))
}

/// `` `a`, `b` ``, or that there is none.
pub(super) fn list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

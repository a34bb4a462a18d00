//! Groups the calls of a client by tag (`[client] by-tag`). Each group has a client of its own, which a method of
//! the main client returns: `client.issues().list(…)`.

use std::collections::{BTreeMap, BTreeSet};

use super::{PlannedCall, operation_names::RESERVED_METHODS};
use crate::names;

/// The names of modules that the files of tags use by `super::`. The file of a tag must not have one of these names.
const RESERVED_MODULES: &[&str] = &["bodies", "calls", "responses", "runtime", "types"];

/// The calls of one tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientGroup {
    /// The tag in the contract.
    pub tag: String,
    /// The name of the method that returns the group's client, and of the module with its code.
    pub accessor: String,
    /// The name of the group's client: `IssuesClient`.
    pub type_name: String,
    /// The Cargo feature of the tag, with the option `tag-features`.
    pub feature: Option<String>,
}

/// Assigns each call to the group of its first tag, and removes the tag from the names of methods that start with
/// it. Calls without a tag stay methods of the main client. Returns the groups, sorted by accessor.
pub(super) fn group_calls(calls: &mut [PlannedCall<'_>], has_features: bool) -> Vec<ClientGroup> {
    let tags: BTreeSet<String> = calls.iter().filter_map(first_tag).map(str::to_owned).collect();
    let wires: Vec<&str> = tags.iter().map(String::as_str).collect();
    let mut accessors: Vec<String> = wires.iter().map(|tag| names::field_name(tag)).collect();
    let ungrouped = calls.iter().filter(|call| first_tag(call).is_none());
    let ungrouped: BTreeSet<&String> = ungrouped.map(|call| &call.method).collect();
    for accessor in &mut accessors {
        if RESERVED_METHODS.contains(&accessor.as_str())
            || RESERVED_MODULES.contains(&accessor.as_str())
            || ungrouped.contains(accessor)
        {
            *accessor = format!("{}_operations", accessor.trim_end_matches('_'));
        }
    }
    names::make_distinct(&wires, &mut accessors);
    let groups = wires.iter().zip(&accessors).map(|(tag, accessor)| ClientGroup {
        tag: (*tag).to_owned(),
        accessor: accessor.clone(),
        type_name: format!("{}Client", names::variant_name(accessor)),
        feature: has_features.then(|| format!("tag-{}", accessor.trim_end_matches('_').replace('_', "-"))),
    });
    let mut groups: Vec<ClientGroup> = groups.collect();
    groups.sort_by(|one, other| one.accessor.cmp(&other.accessor));
    let accessors: BTreeMap<&str, &str> =
        groups.iter().map(|group| (group.tag.as_str(), group.accessor.as_str())).collect();
    for call in calls.iter_mut() {
        call.accessor =
            first_tag(call).and_then(|tag| accessors.get(tag)).map(|&accessor| accessor.to_owned());
    }
    shorten_methods(calls);
    groups
}

/// Returns the prefix of method names that repeats a tag: `issues_` for `issues`. The prefix is derived from
/// the tag and not from the accessor of the group, because the name of an accessor can depend on other tags.
pub(crate) fn method_prefix(tag: &str) -> String {
    format!("{}_", names::field_name(tag).trim_end_matches('_'))
}

/// Returns the part of an operation id after the segment that equals the tag: `list` for `calendar.events.list` and the
/// tag `events`. Returns `None` if the name of the method is configured and not derived from the operation id.
fn after_tag_segment<'o>(call: &'o PlannedCall<'_>, tag: &str) -> Option<&'o str> {
    let id = call.operation.id.as_str();
    let prefix = method_prefix(tag);
    let mut start = 0;
    let rest = id.match_indices(['.', '/']).find_map(|(end, separator)| {
        let is_tag = method_prefix(&id[start..end]) == prefix;
        start = end + separator.len();
        is_tag.then(|| &id[start..])
    });
    rest.filter(|rest| call.method.ends_with(&format!("{prefix}{}", names::snake_case(rest))))
}

/// Removes the tag, and the segments of the operation id before it, from the start of method names. A method keeps its
/// name if another method of the group has the shortened name.
fn shorten_methods(calls: &mut [PlannedCall<'_>]) {
    let shorten = |call: &PlannedCall<'_>| {
        let tag = first_tag(call)?;
        let rest = match after_tag_segment(call, tag) {
            Some(rest) => names::snake_case(rest),
            None => call.method.strip_prefix(method_prefix(tag).as_str())?.to_owned(),
        };
        let name = names::field_name(&rest);
        let is_free = !RESERVED_METHODS.contains(&name.as_str());
        (is_free && rest.starts_with(char::is_alphabetic)).then_some(name)
    };
    let shortened: Vec<Option<String>> = calls.iter().map(shorten).collect();
    let mut counts: BTreeMap<(Option<&str>, &str), usize> = BTreeMap::new();
    for (call, short) in calls.iter().zip(&shortened) {
        let name = short.as_ref().unwrap_or(&call.method);
        *counts.entry((call.accessor.as_deref(), name)).or_default() += 1;
    }
    let is_unique = |call: &PlannedCall<'_>, name: &String| {
        counts.get(&(call.accessor.as_deref(), name.as_str())).is_some_and(|count| *count == 1)
    };
    let unique: Vec<Option<String>> = calls
        .iter()
        .zip(&shortened)
        .map(|(call, short)| short.clone().filter(|name| is_unique(call, name)))
        .collect();
    for (call, short) in calls.iter_mut().zip(unique) {
        if let Some(name) = short {
            call.client_method = name;
        }
    }
}

fn first_tag<'c>(call: &'c PlannedCall<'_>) -> Option<&'c str> {
    call.operation.tags.first().map(String::as_str).filter(|tag| !tag.is_empty())
}

/// Returns the names of the main client's methods that return groups.
pub(super) fn accessor_names(groups: &[ClientGroup]) -> impl Iterator<Item = (Option<String>, String)> {
    groups.iter().map(|group| (None, group.accessor.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::OutputLayout, generate::Project, load::Sources, plan::OperationSide};

    /// A configured name is unique among the methods of its tag.
    #[test]
    fn configured_names_are_those_of_the_methods() {
        let path = |tag: &str, id: &str| {
            format!(r#"{{"get": {{"operationId": "{id}", "tags": ["{tag}"], "responses": {{}}}}}}"#)
        };
        let document = format!(
            r#"{{"openapi": "3.1.0", "info": {{"title": "", "version": "1"}}, "paths": {{"/keys": {}, "/boxes": {}}}}}"#,
            path("SSH Keys", "readAllKeys"),
            path("boxes", "boxes_all")
        );
        // The names of the last two tags are taken: one is that of a method, the other a keyword.
        let document = document.replacen(
            "\"/boxes\"",
            &format!(
                "\"/clones\": {}, \"/types\": {}, \"/boxes\"",
                path("clone", "all"),
                path("type", "every")
            ),
            1,
        );
        let mut project = Project::default();
        project.config.client.by_tag = true;
        project.config.names = BTreeMap::from(
            ["GET /keys", "GET /boxes", "GET /clones", "GET /types"]
                .map(|key| (key.to_owned(), "list".to_owned())),
        );
        let contract =
            project.analyze_sources(Sources::from_texts(&[("a.json", "", &document)]).unwrap()).unwrap();
        let plan = project.operation_plan(&contract, OperationSide::Paths);
        let names = plan.calls.iter().map(|call| (call.client_path(), call.name.as_str()));
        let expected = [
            ("ssh_keys().list", "SshKeysListCall"),
            ("clone_operations().list", "CloneListCall"),
            ("type_().list", "TypeListCall"),
            ("boxes().list", "BoxesListCall"),
        ];
        assert_eq!(names.collect::<Vec<_>>(), expected.map(|(path, name)| (path.to_owned(), name)));
        assert!(project.generate_from(contract).is_ok());
    }

    /// The file of a tag does not have the name of a module that it uses.
    #[test]
    fn files_of_tags_and_modules_have_distinct_names() {
        let paths = client_paths(&[("types/list", r#"["types"]"#), ("responses/list", r#"["responses"]"#)]);
        assert_eq!(paths, ["types_operations().list", "responses_operations().list"]);
    }

    /// In the layout with one file, the client of a tag is a module inside the module of the main client.
    #[test]
    fn a_single_file_contains_the_clients_of_tags() {
        let document = r#"{"openapi": "3.1.0", "info": {"title": "", "version": "1"}, "paths": {"/keys": {
            "get": {"operationId": "listKeys", "tags": ["keys"], "responses": {}}}}}"#;
        let mut project = Project::default();
        project.config.client.by_tag = true;
        project.config.output.layout = OutputLayout::File;
        let contract =
            project.analyze_sources(Sources::from_texts(&[("a.json", "", document)]).unwrap()).unwrap();
        let files = project.generate_from(contract).unwrap().files.0;
        let code: String = files.into_values().collect();
        let file = syn::parse_file(&code).unwrap();
        let client = find_module(&file.items, "client").expect("the module of the main client");
        let keys = find_module(client, "keys").expect("the module of the tag's client");
        let is_client = |item: &syn::Item| matches!(item, syn::Item::Struct(it) if it.ident == "KeysClient");
        assert!(keys.iter().any(is_client), "{code}");
    }

    /// Returns the items of an inline module.
    fn find_module<'f>(items: &'f [syn::Item], name: &str) -> Option<&'f [syn::Item]> {
        items.iter().find_map(|item| match item {
            syn::Item::Mod(module) if module.ident == name => {
                module.content.as_ref().map(|(_, items)| &items[..])
            }
            _ => None,
        })
    }

    /// Returns the calls of the client as `group().method`, by operation id.
    fn client_paths(operations: &[(&str, &str)]) -> Vec<String> {
        let paths = operations.iter().enumerate().map(|(at, (id, tags))| {
            format!(r#""/{at}": {{"get": {{"operationId": "{id}", "tags": {tags}, "responses": {{}}}}}}"#)
        });
        let document = format!(
            r#"{{"openapi": "3.1.0", "info": {{"title": "", "version": "1"}}, "paths": {{{}}}}}"#,
            paths.collect::<Vec<_>>().join(",")
        );
        let mut project = Project::default();
        project.config.client.by_tag = true;
        let contract =
            project.analyze_sources(Sources::from_texts(&[("a.json", "", &document)]).unwrap()).unwrap();
        let plan = project.operation_plan(&contract, OperationSide::Paths);
        plan.calls.iter().map(PlannedCall::client_path).collect()
    }

    #[test]
    fn tags_are_groups_and_prefixes_are_removed() {
        let paths = client_paths(&[
            ("issues/list-for-repo", r#"["issues"]"#),
            ("issues/move", r#"["issues", "other"]"#),
            ("listIssues", r#"["issues"]"#),
            ("issues/2fa", r#"["issues"]"#),
            ("codeScanning_get", r#"["Code Scanning"]"#),
            ("untagged/list", "[]"),
            ("calendar.events.list", r#"["events"]"#),
            ("calendar.eventTypes.list", r#"["events"]"#),
            ("calendar.list.events", r#"["events"]"#),
        ]);
        assert_eq!(
            paths,
            [
                "issues().list_for_repo",
                "issues().move_",
                "issues().list_issues",
                "issues().issues_2fa",
                "code_scanning().get",
                "untagged_list",
                "events().list",
                "events().calendar_event_types_list",
                "events().calendar_list_events",
            ]
        );
    }

    /// Methods of one group, and the methods that return groups, have distinct names. The name of a method does not
    /// depend on other groups.
    #[test]
    fn clashing_names_are_distinct() {
        let paths = client_paths(&[
            ("a/list", r#"["a"]"#),
            ("list", r#"["a"]"#),
            ("b/list", r#"["b"]"#),
            ("a/clone", r#"["a"]"#),
            ("status", "[]"),
            ("status/list", r#"["status"]"#),
            ("clone/get", r#"["clone"]"#),
            ("x/get", r#"["X"]"#),
            ("x/put", r#"["x"]"#),
        ]);
        assert_eq!(
            paths,
            [
                "a().a_list",
                "a().list",
                "b().list",
                "a().a_clone",
                "status",
                "status_operations().list",
                "clone_operations().get",
                "upper_x().get",
                "lower_x().put",
            ]
        );
    }
}

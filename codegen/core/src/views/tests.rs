//! Tests of views and their diagnostics.

use super::*;
use crate::{generate::Project, load::Sources};

const API: &str = "
openapi: 3.1.0
info: { title: Fleet, version: '1' }
paths:
  /ships:
    get:
      operationId: ships
      parameters: [{ name: cursor, in: query, schema: { type: string } }, { name: at, in: header, required: true, schema: { type: integer } }]
      responses:
        '200': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Ships' } } } }
        4XX: { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Ship' } } } }
  /docks:
    get:
      operationId: docks
      parameters: [{ name: cursor, in: query, schema: { type: string } }, { name: at, in: header, schema: { type: integer } }]
      responses:
        '200': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Docks' } } } }
        4XX: { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Ship' } } } }
  /log:
    get:
      operationId: log
      parameters: [{ name: cursor, in: query, schema: { type: string } }]
      responses: { '200': { description: '', content: { text/plain: {} } } }
  /ship:
    get:
      operationId: ship
      parameters: [{ name: id, in: query, schema: { $ref: '#/components/schemas/ShipId' } }, { name: build_request, in: query, schema: { type: string } }]
      responses:
        '200': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Ships' } } } }
        4XX: { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/ShipId' } } } }
  /dock:
    get:
      operationId: dock
      parameters: [{ name: id, in: query, schema: { $ref: '#/components/schemas/DockId' } }, { name: build_request, in: query, schema: { type: string } }]
      responses:
        '200': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Docks' } } } }
        4XX: { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/DockId' } } } }
components:
  schemas:
    Ships:
      type: object
      required: [entries, next, flag]
      properties:
        entries: { type: array, items: { $ref: '#/components/schemas/Ship' } }
        crews: { type: array, items: { type: string } }
        next: { type: string, description: Where to read on. }
        flag: { $ref: '#/components/schemas/Ship' }
        by: { type: object, additionalProperties: { type: string } }
        validate: { type: boolean }
        id: { $ref: '#/components/schemas/ShipId' }
    Docks:
      type: object
      required: [entries, flag]
      properties:
        entries: { type: array, items: { $ref: '#/components/schemas/Dock' } }
        crews: { type: array, items: { type: integer } }
        next: { type: string, description: Where to read on. }
        flag: { $ref: '#/components/schemas/Dock' }
        by: { type: array, items: { type: string } }
        validate: { type: boolean }
        id: { $ref: '#/components/schemas/DockId' }
    Ship: { type: object, properties: { name: { type: string } } }
    Dock: { type: object, properties: { place: { type: string } } }
    Name: { type: string, minLength: 1 }
    Quay: { type: object, properties: { near: { anyOf: [{ $ref: '#/components/schemas/Crane' }, { type: 'null' }] } } }
    Pier: { type: object, properties: { near: { anyOf: [{ $ref: '#/components/schemas/Crane' }, { type: 'null' }] } } }
    Crane: { type: object, properties: { of: { $ref: '#/components/schemas/Pier' } } }
    ShipId: { type: string, minLength: 2 }
    DockId: { type: string, minLength: 3 }
";

const TYPES: &str = "types = ['#/components/schemas/Ships', '#/components/schemas/Docks']";

/// The `types` of a view in which one type contains itself, so that its property `near` is boxed.
const BOXED: &str = "types = ['#/components/schemas/Quay', '#/components/schemas/Pier']";

/// Formats diagnostics as messages and help texts, because frames would wrap the lines.
fn format_problems(problems: &Diagnostics) -> String {
    let each =
        problems.iter().map(|each| format!("{}\n{}\n", each.message, each.help.as_deref().unwrap_or("")));
    each.collect()
}

/// Resolves the views that `options` configure and passes them to `check`. Returns its result, or the
/// diagnostics if there are any.
fn with_views<T>(options: &str, check: impl FnOnce(&ContractViews<'_>, &Shapes) -> T) -> Result<T, String> {
    let config: Config = toml::from_str(options).unwrap_or_else(|e| panic!("{options}: {e}"));
    let project = Project { config, ..Project::default() };
    let sources = Sources::from_texts(&[("api.yaml", "", API)]).unwrap_or_else(|e| panic!("{e}"));
    let contract = project.analyze_sources(sources).map_err(|problems| format_problems(&problems))?;
    let mut problems = Diagnostics::new();
    let plans = project.operation_plans(&contract);
    let (graph, shapes) = (&contract.graph, &contract.shapes);
    let found =
        resolve_views(&project.config, (graph, shapes), &contract.options.views, &plans.paths, &mut problems);
    if problems.is_empty() { Ok(check(&found, shapes)) } else { Err(format_problems(&problems)) }
}

/// Returns the getter and the type of each property in the first view that `options` configure.
fn list_properties(options: &str) -> Vec<(String, String)> {
    let describe = |view: &TypeView<'_>, shapes: &Shapes| {
        let display_types = |types: &[TypeRef]| {
            types.iter().map(|ty| display_type(shapes, ty)).collect::<Vec<_>>().join(" or ")
        };
        let members = view.members.iter().map(|member| {
            let type_text = match &member.holds {
                MemberType::Same(ty) => display_type(shapes, ty),
                MemberType::Each(associated) => {
                    format!("{} = {}", associated.name, display_types(&associated.types))
                }
                MemberType::ListOf(associated) => {
                    format!("[{} = {}]", associated.name, display_types(&associated.types))
                }
            };
            let type_text = if member.optional { format!("{type_text}?") } else { type_text };
            let doc = member.doc.as_deref().map(|doc| format!(" // {doc}")).unwrap_or_default();
            (member.name.clone(), type_text + &doc)
        });
        members.collect()
    };
    with_views(options, |views, shapes| describe(&views.types[0], shapes)).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn properties_have_one_type_or_an_associated_type() {
    let options = format!("[[view]]\nname = 'Page'\nmembers = ['entries', 'crews', 'next', 'flag']\n{TYPES}");
    let property = |name: &str, holds: &str| (name.to_owned(), holds.to_owned());
    let mut expect = vec![
        property("entries", "[Entry = Ship or Dock]"),
        property("crews", "[Crew = String or i64]?"),
        property("next", "String? // Where to read on."),
        property("flag", "Flag = Ship or Dock"),
    ];
    assert_eq!(list_properties(&options), expect);
    expect[0] = property("entries", "[Item = Ship or Dock]");
    assert_eq!(list_properties(&format!("{options}\nassociated = {{ entries = 'Item' }}")), expect);
    // If the types of a property differ only in a `Box`, it has an associated type only if the configuration
    // names one.
    let options =
        format!("[[view]]\nname = 'Page'\nmembers = ['near']\nassociated = {{ near = 'Near' }}\n{BOXED}");
    assert_eq!(
        list_properties(&options),
        [property("near", "Near = Nullable<Crane> or Nullable<Box<Crane>>?")]
    );
}

/// If the configuration names an associated type, the view has it in every selection of operations, even if
/// all remaining types are equal.
#[test]
fn named_associated_types_remain_in_selections() {
    let options = format!(
        "[[view]]\nname = 'Page'\nmembers = ['entries', 'next', 'flag']\n{TYPES}
         associated = {{ entries = 'Item', next = 'Next', flag = 'Flag' }}"
    );
    let names = |options: &str| -> Vec<String> {
        let holds = list_properties(options).into_iter().map(|(_, holds)| holds);
        holds
            .map(|holds| {
                holds.split_once(" = ").expect("the property must have an associated type").0.to_owned()
            })
            .collect()
    };
    let part = format!("operations.include = [{{ operation = 'ships' }}]\n{options}");
    assert_eq!(names(&options), ["[Item", "Next", "Flag"]);
    assert_eq!(names(&part), names(&options));
}

#[test]
fn element_types_have_singular_names() {
    for (wire, name) in [
        ("items", "Item"),
        ("entries", "Entry"),
        ("crew", "CrewItem"),
        ("class", "ClassItem"),
        ("s", "SItem"),
    ] {
        assert_eq!(element_name(wire), name, "{wire}");
    }
}

#[test]
fn calls_share_parameters_responses_and_errors() {
    let options = format!(
        "[[view]]\nname = 'Page'\nmembers = ['next']\n{TYPES}
         [[view]]\nname = 'Reading'\noperations = ['ships', 'docks']\nparameters = ['cursor']\nanswer = 'Page'
         [[view]]\nname = 'Any'\noperations = ['log', 'ships', 'log']\nparameters = ['cursor']"
    );
    let found = with_views(&options, |views, _| {
        let describe = |view: &CallView<'_>| {
            let calls: Vec<&str> = view.calls.iter().map(|call| call.name).collect();
            let optional = view.parameters.iter().all(|parameter| parameter.optional);
            (calls.join(" "), optional, view.error_type.is_some())
        };
        views.calls.iter().map(describe).collect::<Vec<_>>()
    });
    let expected_call = |calls: &str, has_errors| (calls.to_owned(), true, has_errors);
    assert_eq!(
        found,
        Ok(vec![expected_call("ShipsCall DocksCall", true), expected_call("ShipsCall LogCall", false)])
    );
}

/// If `replace` maps two schemas to the same path, they count as one type in a property, a parameter and an
/// error response of views.
#[test]
fn schemas_replaced_by_one_path_share_a_type() {
    let options = format!(
        "[replace]\n'#/components/schemas/ShipId' = 'crate::Id'\n'#/components/schemas/DockId' = 'crate::Id'
         [[view]]\nname = 'Page'\nmembers = ['id']\n{TYPES}
         [[view]]\nname = 'Reading'\noperations = ['ship', 'dock']\nparameters = ['id']\nanswer = 'Page'"
    );
    assert_eq!(list_properties(&options), [("id".to_owned(), "crate::Id?".to_owned())]);
    assert_eq!(with_views(&options, |views, _| views.calls[0].error_type.is_some()), Ok(true));
}

/// If only some operations are selected, a view keeps the remaining types or calls, and a view without any is
/// omitted.
#[test]
fn selections_keep_views_with_remaining_types() {
    let options = format!(
        "operations.include = [{{ operation = 'ships' }}]
         [[view]]\nname = 'Page'\nmembers = ['entries']\n{TYPES}
         [[view]]\nname = 'Reading'\noperations = ['ships', 'docks']\nparameters = ['cursor']\nanswer = 'Page'
         [[view]]\nname = 'Log'\noperations = ['log']\nparameters = ['cursor']"
    );
    let found = with_views(&options, |views, _| {
        let types = views.types.iter().map(|view| view.types.len()).collect::<Vec<_>>();
        (types, views.calls.iter().map(|view| view.calls.len()).collect::<Vec<_>>())
    });
    assert_eq!(found, Ok((vec![1], vec![1])));
}

/// The list of reserved getter names contains all methods of the runtime's traits that types and calls of
/// views implement.
#[test]
fn getters_do_not_conflict_with_methods_of_the_runtime() {
    let methods = |file: &str, name: &str| -> Vec<String> {
        let path = format!("{}/../../runtime/src/{file}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let file = syn::parse_file(&text).unwrap_or_else(|e| panic!("{path}: {e}"));
        let found = file.items.into_iter().find_map(|item| match item {
            syn::Item::Trait(found) if found.ident == name => Some(found),
            _ => None,
        });
        let items = found.unwrap_or_else(|| panic!("no trait {name} in {path}")).items;
        let methods = items.into_iter().filter_map(|item| match item {
            syn::TraitItem::Fn(method) if method.sig.receiver().is_some() => {
                Some(method.sig.ident.to_string())
            }
            _ => None,
        });
        methods.collect()
    };
    let [types, calls] = problems::RESERVED_METHODS;
    for (file, name, own, least) in [
        ("contract.rs", "Contract", types, 4),
        ("contract.rs", "ReportUndeclared", types, 1),
        ("client/call.rs", "Call", calls, 1),
    ] {
        let methods = methods(file, name);
        assert!(methods.len() >= least, "{name}: {methods:?}");
        let missing: Vec<&String> = methods.iter().filter(|method| !own.contains(&method.as_str())).collect();
        assert!(missing.is_empty(), "add {missing:?} of {name} to the reserved method names");
    }
}

#[test]
fn invalid_views_are_rejected_with_view_and_property() {
    let page = |rest: &str| format!("[[view]]\nname = 'Page'\n{rest}");
    for (options, words) in [
        (page(&format!("{TYPES}\nmembers = ['by']")), ["`Page`", "has incompatible types for `by`", "`Ships`"]),
        (
            page(&format!("{BOXED}\nmembers = ['near']")),
            ["`Nullable<Crane>` in `Quay`", "`Nullable<Box<Crane>>` in `Pier`", "in `associated`"],
        ),
        (page(&format!("{TYPES}\nmembers = ['gone']")), ["`Page`", "`gone`", "`entries`, `crews`"]),
        (page(TYPES), ["`Page`", "has no members", "the common members of the types"]),
        (page("members = ['next']"), ["`Page`", "neither `types` nor `operations`", "exactly one of"]),
        (page("types = ['#/components/schemas/Name']\nmembers = ['next']"), ["`Page`", "Name", "not a struct"]),
        (page(&format!("{TYPES}\nmembers = ['next', 'next']")), ["`Page`", "two methods", "`next`"]),
        (page(&format!("{TYPES}\nmembers = ['validate']")), ["`Page`", "already has a method `validate`", "omit"]),
        (
            page("operations = ['ship', 'dock']\nparameters = ['build_request']"),
            ["`Page`", "already has a method `build_request`", "omit"],
        ),
        (page(&format!("{TYPES}\nmembers = ['next']\nanswer = 'X'")), ["`Page`", "types", "remove `answer`"]),
        (
            page(&format!("{TYPES}\nmembers = ['next']\nassociated = {{ gone = 'Next' }}")),
            ["`Page`", "a type for `gone`", "remove it"],
        ),
        (
            page(&format!("{TYPES}\nmembers = ['entries']\nassociated = {{ entries = 'Vec' }}")),
            ["`Page`", "`Vec`", "such as `Item`"],
        ),
        (
            page(&format!("{TYPES}\nmembers = ['entries', 'flag']\nassociated = {{ flag = 'Entry' }}")),
            ["`Page`", "two associated types with the name `Entry`", "`associated`"],
        ),
        (page("operations = ['ships']"), ["`Page`", "has no parameters", "the common parameters of the calls"]),
        (page("operations = ['ships', 'docks']\nparameters = ['at']"), ["`Page`", "has incompatible types for `at`", "`docks`"]),
        (page("operations = ['ships']\nparameters = ['no']"), ["`Page`", "`no`", "`ships` has `cursor`, `at`"]),
        (page("operations = ['ships']\nanswer = 'X'"), ["`Page`", "`X`", "no view over types"]),
        (page("operations = ['gone']\nparameters = ['at']"), ["`view.operations`", "`gone`", "`operationId`"]),
        (
            page("operations = ['ships']\nparameters = ['at']\nmembers = ['next']"),
            ["`Page`", "is over calls", "remove `members`"],
        ),
        (
            format!("{}\n{}", page(&format!("{TYPES}\nmembers = ['next']")), page("operations = ['log']\nanswer = 'Page'")),
            ["two views", "have the name `Page`", "another name"],
        ),
        (
            format!("{TYPES}\nmembers = ['next']\nname = 'X'\n[[view]]\nname = 'XParts'\noperations = ['log']\nparameters = ['cursor']").replace("types =", "[[view]]\ntypes ="),
            ["`XParts`", "parts", "another name"],
        ),
        (
            format!("{}\n[[view]]\nname = 'Log'\noperations = ['log']\nanswer = 'Page'", page(&format!("{TYPES}\nmembers = ['next']"))),
            ["`Log`", "`log`, but its response (no single type)", "`Page`"],
        ),
    ] {
        let problems = with_views(&options, |_, _| ()).expect_err(&options);
        for word in words {
            assert!(problems.contains(word), "{options}: no {word} in\n{problems}");
        }
    }
}

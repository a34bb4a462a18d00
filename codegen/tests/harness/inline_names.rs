//! Tests that naming an inline schema in `[names]` changes only the name of its type.

use std::path::PathBuf;

use contract_codegen::{AnalyzedContract, Project, Sources, diagnostics::Diagnostics};
use contract_codegen_core::{
    schema::SchemaOrigin,
    shape::{Shapes, TypeBody, TypeRef, display_type},
};

use crate::{
    folder::{Case, read},
    output::project,
};

/// Formats every type of a contract as one line. The lines are sorted.
fn describe_types(shapes: &Shapes) -> String {
    let display = |ty: &TypeRef| display_type(shapes, ty);
    let describe_body = |body: &TypeBody| -> String {
        match body {
            TypeBody::Struct(body) => {
                let fields = body.fields.iter().filter(|field| !field.omitted);
                fields.map(|field| format!(" {}: {}", field.name, display(&field.ty))).collect()
            }
            TypeBody::Objects(body) => {
                body.contents().map(|(name, ty)| format!(" | {name} {}", display(ty))).collect()
            }
            TypeBody::ByKind(all) => {
                all.iter().map(|v| format!(" | {} {}", v.name, display(&v.ty))).collect()
            }
            TypeBody::Newtype(inner) => format!(" = {}", display(inner)),
            TypeBody::Enum(list) => list.values.iter().map(|(_, name, _)| format!(" | {name}")).collect(),
            TypeBody::Pending => String::new(),
        }
    };
    let lines = shapes.types.iter().map(|def| format!("{}{}\n", def.name, describe_body(&def.body)));
    let mut lines: Vec<String> = lines.collect();
    lines.sort_unstable();
    lines.concat()
}

/// Analyzes the documents of a case. The documents are passed as strings, with the names of their files.
fn analyze(case: &Case, project: &Project) -> Result<AnalyzedContract, Diagnostics> {
    let text = |(name, path): (String, PathBuf)| (name, String::from_utf8(read(&path)).unwrap());
    let texts: Vec<(String, String)> = case.files().into_iter().map(text).collect();
    let texts: Vec<(&str, &str, &str)> =
        texts.iter().map(|(name, text)| (name.as_str(), "", text.as_str())).collect();
    project.analyze_sources(Sources::from_texts(&texts)?)
}

fn sort_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// If the configuration names an inline schema, the type of the schema gets this name. The form of the type
/// and all uses of the type, including nullable ones, do not change.
#[test]
fn names_of_inline_schemas_change_only_names() {
    let mut named = 0;
    let mut problems = Vec::new();
    for case in Case::all().into_iter().filter(|case| !case.is_refused()) {
        let mut project = project(&case, Vec::new());
        let contract = analyze(&case, &project).unwrap();
        let (graph, shapes) = (&contract.graph, &contract.shapes);
        let before = describe_types(shapes);
        for def in shapes.types.iter().filter(|def| def.schema.is_none() && def.conj.chosen.is_empty()) {
            let &[id] = def.conj.ids.as_slice() else { continue };
            let is_own = match shapes.type_of_schema(id) {
                TypeRef::Named(own) => shapes.get(*own).name == def.name,
                TypeRef::Nullable(inner) => {
                    matches!(&**inner, TypeRef::Named(own) if shapes.get(*own).name == def.name)
                }
                _ => false,
            };
            // Equal schemas share a type, from which a name separates one of them.
            if !is_own || graph.schema(id).origin != SchemaOrigin::Inline || shapes.equals.contains_key(&id) {
                continue;
            }
            let selector = graph.absolute_location(id);
            project.config.names.insert(selector.clone(), "NamedHere".to_owned());
            match analyze(&case, &project) {
                Ok(renamed) => {
                    let after = describe_types(&renamed.shapes).replace("NamedHere", &def.name);
                    if sort_lines(&before) != sort_lines(&after) {
                        let new = sort_lines(&after).into_iter().filter(|line| !before.contains(*line));
                        let new: Vec<&str> = new.collect();
                        problems.push(format!(
                            "{}, {selector}: {}\n  {}",
                            case.name,
                            def.name,
                            new.join("\n  ")
                        ));
                    }
                    named += 1;
                }
                Err(error) => problems.push(format!("{}, {selector}: {}", case.name, error.render(false))),
            }
            project.config.names.remove(&selector);
        }
    }
    assert!(problems.is_empty(), "{} of {named}\n{}", problems.len(), problems.join("\n"));
    assert!(named > 100, "{named}");
}

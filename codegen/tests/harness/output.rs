//! Tests that compare the generated output of each case with the committed files, for several orders of the
//! inputs.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use contract_codegen::{
    GeneratedCode, Project, Sources,
    config::OutputLayout,
    diagnostics::{Diagnostics, FaultPolicy},
};

use crate::folder::{Case, entries, file_name, read, tests};

/// The command that updates the committed output after an intended change.
const UPDATE_COMMAND: &str = "UPDATE_CASES=1 cargo test -p contract-codegen --test cases_output";

/// Returns true if the tests write the committed output instead of comparing it.
fn is_update() -> bool {
    std::env::var_os("UPDATE_CASES").is_some()
}

/// Returns a project with the options of a case, the given inputs, and the layout `modules`.
pub(crate) fn project(case: &Case, inputs: Vec<PathBuf>) -> Project {
    let options = case.folder.join("codegen.toml");
    let mut project = if options.exists() {
        Project::from_config(&options).unwrap_or_else(|e| panic!("{e}"))
    } else {
        Project { base: case.folder.clone(), ..Project::default() }
    };
    project.config.output.layout = OutputLayout::Modules;
    project.inputs = inputs;
    project
}

/// The files with messages about a contract.
const MESSAGE_FILES: [&str; 3] = ["notes.txt", "error.txt", "strict.txt"];

/// The output by file name: the modules, and `notes.txt` or `error.txt`.
type Output = BTreeMap<String, String>;

fn collect_output(result: Result<GeneratedCode, Diagnostics>) -> Output {
    match result {
        Ok(generated) => {
            let mut out: Output = generated
                .files
                .iter()
                // Equal in all cases.
                .filter(|(name, _)| *name != ".gitattributes")
                .map(|(name, text)| (format!("expected/{name}"), text.to_owned()))
                .collect();
            if !generated.contract.diagnostics.is_empty() {
                out.insert("notes.txt".to_owned(), generated.contract.diagnostics.render(false));
            }
            out
        }
        Err(problems) => Output::from([("error.txt".to_owned(), problems.render(false))]),
    }
}

/// Returns the output. If faults were repaired, it includes `strict.txt` with the errors that
/// `faults = "deny"` reports for them.
fn collect_with_strict(
    mut project: Project,
    generate: impl Fn(&Project) -> Result<GeneratedCode, Diagnostics>,
) -> Output {
    let generated = generate(&project);
    let has_repairs =
        generated.as_ref().is_ok_and(|g| g.contract.diagnostics.iter().any(|d| d.fallback.is_some()));
    let mut out = collect_output(generated);
    if has_repairs {
        project.config.input.faults = FaultPolicy::Deny;
        let errors = generate(&project).err().map(|problems| problems.render(false));
        let folder = project.base.display();
        let errors = errors.unwrap_or_else(|| panic!("{folder}: `deny` accepts a contract with faults"));
        out.insert("strict.txt".to_owned(), errors);
    }
    out
}

fn collect_from_strings(case: &Case) -> Output {
    let project = project(case, Vec::new());
    let files = case.files();
    let texts: Vec<(String, String)> =
        files.into_iter().rev().map(|(name, path)| (name, String::from_utf8(read(&path)).unwrap())).collect();
    let texts: Vec<(&str, &str, &str)> =
        texts.iter().map(|(name, text)| (name.as_str(), "", text.as_str())).collect();
    let generate = |project: &Project| {
        let contract = project.analyze_sources(Sources::from_texts(&texts)?)?;
        project.generate_from(contract)
    };
    collect_with_strict(project, generate)
}

/// Sorts the lines of `root.rs`, because its list of inputs is the only part that depends on the order of the
/// inputs.
fn sort_inputs(mut output: Output) -> Output {
    if let Some(root) = output.get_mut("expected/root.rs") {
        let mut lines: Vec<&str> = root.lines().collect();
        lines.sort_unstable();
        *root = lines.join("\n");
    }
    output
}

fn read_committed(case: &Case) -> Output {
    let mut out = Output::new();
    read_folder(&case.folder.join("expected"), "expected", &mut out);
    for name in MESSAGE_FILES {
        if let Ok(text) = fs::read_to_string(case.folder.join(name)) {
            out.insert(name.to_owned(), text);
        }
    }
    out
}

/// Reads all files of a folder and of its subfolders.
fn read_folder(folder: &Path, name: &str, out: &mut Output) {
    for path in entries(folder) {
        let name = format!("{name}/{}", file_name(&path));
        if path.is_dir() {
            read_folder(&path, &name, out);
        } else {
            out.insert(name, String::from_utf8(read(&path)).unwrap());
        }
    }
}

fn write_output(case: &Case, output: &Output) {
    let _ = fs::remove_dir_all(case.folder.join("expected"));
    for name in MESSAGE_FILES {
        let _ = fs::remove_file(case.folder.join(name));
    }
    for (name, text) in output {
        let path = case.folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Describes the first line that differs.
fn describe_difference(want: &str, found: &str) -> String {
    let mut lines = want.lines().zip(found.lines()).enumerate();
    match lines.find(|(_, (a, b))| a != b) {
        Some((index, (a, b))) => format!("line {}\n    committed {a}\n    generated {b}", index + 1),
        None => "one file is longer".to_owned(),
    }
}

fn compare(problems: &mut String, case: &Case, variant: &str, want: &Output, found: &Output) {
    let names: std::collections::BTreeSet<&String> = want.keys().chain(found.keys()).collect();
    for name in names {
        let text = match (want.get(name), found.get(name)) {
            (Some(a), Some(b)) if a == b => continue,
            (Some(a), Some(b)) => describe_difference(a, b),
            (Some(_), None) => "not generated".to_owned(),
            (None, Some(b)) if name == "error.txt" => format!("rejected:\n{b}"),
            (None, _) => "not committed".to_owned(),
        };
        let _ = writeln!(problems, "{}/{name} ({variant}): {text}", case.name);
    }
}

#[test]
fn output_equals_committed_files_in_any_input_order() {
    let mut problems = String::new();
    compare_outputs(&mut problems);
    // These functions read the types that `compare_outputs` may have written.
    update_model_list(&mut problems);
    update_api_list(&mut problems);
}

fn compare_outputs(problems: &mut String) {
    for case in Case::all() {
        let folder = case.folder.join("input");
        let whole = if folder.is_dir() { folder } else { case.folder.join("input.json") };
        let found = collect_with_strict(project(&case, vec![whole]), Project::generate);
        if found.contains_key("error.txt") != case.is_refused() {
            let _ = writeln!(
                problems,
                "{}: rejected or accepted, contrary to its name\n{:?}",
                case.name,
                found.get("error.txt")
            );
            continue;
        }
        if is_update() {
            write_output(&case, &found);
        }
        compare(problems, &case, "as a folder", &read_committed(&case), &found);
        let reversed: Vec<PathBuf> = case.files().into_iter().rev().map(|(_, path)| path).collect();
        compare(
            problems,
            &case,
            "files reversed",
            &found,
            &collect_with_strict(project(&case, reversed), Project::generate),
        );
        compare(
            problems,
            &case,
            "strings reversed",
            &sort_inputs(found),
            &sort_inputs(collect_from_strings(&case)),
        );
    }
    assert!(problems.is_empty(), "{problems}\nif this is intended: {UPDATE_COMMAND}");
}

/// A package sets `recursion_limit` itself. For plain modules, a note states the required limit.
#[test]
fn long_chains_raise_the_recursion_limit() {
    let case = Case::all().into_iter().find(|case| case.name == "long_chain").unwrap();
    let mut project = project(&case, vec![case.folder.join("input.json")]);
    project.config.output.layout = OutputLayout::Crate;
    let generated = project.generate().unwrap();
    let root = generated.files.iter().find(|(name, _)| *name == "src/lib.rs").unwrap().1;
    assert!(root.contains("#![recursion_limit = \"800\"]"), "{root}");
    assert!(generated.contract.diagnostics.is_empty());
    let notes = collect_output({
        project.config.output.layout = OutputLayout::Modules;
        project.generate()
    });
    assert!(notes["notes.txt"].contains("recursion_limit = \"800\""));
}

/// Long lists of values become a sorted table, because a `match` with many arms is slow to compile.
#[test]
fn long_enums_use_a_lookup_table() {
    let generated = |count: usize| {
        // The values are unsorted and have different lengths.
        let values: Vec<String> =
            (0..count).rev().map(|i| format!("\"v{i}{}\"", "-".repeat(i % 3))).collect();
        let text =
            format!(r##"{{"$defs":{{"code":{{"enum":[{}]}}}},"$ref":"#/$defs/code"}}"##, values.join(","));
        let project = Project::default();
        let contract =
            project.analyze_sources(Sources::from_texts(&[("codes.json", "", &text)]).unwrap()).unwrap();
        let files = project.generate_from(contract).unwrap().files;
        files.iter().map(|(_, text)| text).filter(|text| text.contains("Code")).collect::<String>()
    };
    let few = generated(1000);
    assert!(few.contains("pub enum Code {") && few.contains("V999 = "));
    let many = generated(1001);
    assert!(many.contains("pub struct Code(") && !many.contains("V1000"), "{many}");
    let list = many.split("contract::contains_sorted(").nth(1).unwrap().split(']').next().unwrap();
    let texts: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    assert_eq!(texts.len(), 1001);
    assert!(texts.is_sorted());
}

/// Returns the type names of a case from its module `types`.
fn type_names(case: &Case) -> Vec<String> {
    let text = fs::read_to_string(case.folder.join("expected/types.rs")).unwrap_or_default();
    let lists = text.split("::{").skip(1).filter_map(|rest| rest.split_once('}'));
    let single = text
        .lines()
        .filter(|l| !l.contains('{'))
        .filter_map(|l| l.strip_prefix("pub use ")?.strip_suffix(';'));
    let single = single.filter_map(|path| path.rsplit("::").next()).map(str::to_owned);
    let listed = lists.flat_map(|(names, _)| names.split(',').map(|n| n.trim().to_owned()));
    let mut names: Vec<String> = listed.chain(single).filter(|n| !n.is_empty()).collect();
    names.sort();
    names
}

/// Writes `harness/compiled.rs`, which compiles the output of every case, or compares it with the committed
/// file.
fn update_model_list(problems: &mut String) {
    let mut text = String::from(
        "//! The expected output of every case, compiled with warnings as errors, and the types of each case.\n\
         //!\n\
         //! Generated by `UPDATE_CASES=1 cargo test -p contract-codegen --test cases_output`.\n\
         #![deny(warnings, clippy::all)]\n\
         #![allow(dead_code, reason = \"the tests do not use all generated items\")]\n\
         #![allow(clippy::redundant_comparisons, clippy::module_inception, reason = \"contracts can cause such code\")]\n\
         #![allow(unexpected_cfgs, reason = \"the features of a generated package are not defined here\")]\n\
         #![allow(deprecated, reason = \"the tests also use deprecated items\")]\n\n\
         use crate::model::{Model, models};\n\n",
    );
    let cases: Vec<Case> = Case::all().into_iter().filter(|case| !case.is_refused()).collect();
    for case in &cases {
        let _ = writeln!(text, "#[path = \"../cases/{0}/expected/root.rs\"]\npub mod {0};", case.name);
    }
    text.push_str("\n/// Returns the types of a case, or `None` if the case is not compiled.\npub fn models(case: &str) -> Option<Vec<Model>> {\n    Some(match case {\n");
    for case in &cases {
        let _ =
            writeln!(text, "        \"{0}\" => models!({0}: {1}),", case.name, type_names(case).join(", "));
    }
    text.push_str("        _ => return None,\n    })\n}\n");
    write_or_compare(problems, "harness/compiled.rs", &text);
}

/// Writes `harness/apis.rs`, or compares it with the committed file. It contains the clients and servers of
/// the cases with operations, without the feature gates of a package.
fn update_api_list(problems: &mut String) {
    let mut text = String::from(
        "//! The complete output of every case with operations, including clients and servers.\n\
         //!\n\
         //! Generated by `UPDATE_CASES=1 cargo test -p contract-codegen --test cases_output`.\n\
         #![deny(warnings, clippy::all)]\n\
         #![allow(clippy::module_inception, reason = \"one case has the name of one of its modules\")]\n\
         #![allow(clippy::duplicate_mod, reason = \"other tests compile the same files without clients and servers\")]\n\
         #![allow(dead_code, reason = \"the tests do not use all generated items\")]\n",
    );
    for case in Case::all() {
        let modules: Vec<String> = entries(&case.folder.join("expected"))
            .iter()
            .filter(|path| path.is_file())
            .map(|path| file_name(path).replace(".rs", ""))
            .collect();
        if !modules.iter().any(|module| module == "operations") {
            continue;
        }
        let _ = writeln!(text, "\n#[path = \"../cases/{0}/expected\"]\npub mod {0} {{", case.name);
        for module in modules.iter().filter(|module| *module != "root") {
            let _ = writeln!(text, "    pub mod {module};");
        }
        text.push_str("}\n");
    }
    write_or_compare(problems, "harness/apis.rs", &text);
}

/// Writes a generated file of the harness, or compares it with the committed one.
fn write_or_compare(problems: &mut String, name: &str, text: &str) {
    let path = tests().join(name);
    if is_update() {
        fs::write(&path, text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    if committed != text {
        let _ = writeln!(problems, "{name}: {}", describe_difference(&committed, text));
    }
}

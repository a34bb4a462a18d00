//! What is generated is what is committed, in whatever order the contract is read.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::PathBuf};

use contract_codegen::{
    GeneratedCode, Project, Sources,
    config::{Config, OutputLayout},
    diagnostics::{Diagnostics, FaultPolicy},
};

use crate::folder::{Case, entries, file_name, read, tests};

/// What repairs a case whose output has changed on purpose.
const REPAIR: &str = "UPDATE_CASES=1 cargo test -p contract-codegen --test cases_output";

/// Whether committed output is written instead of compared.
fn updating() -> bool {
    std::env::var_os("UPDATE_CASES").is_some()
}

/// The case's options over `inputs`, output as plain modules.
fn project(case: &Case, inputs: Vec<PathBuf>) -> Project {
    let options = case.folder.join("codegen.toml");
    let mut project = if options.exists() {
        Project::from_config(&options).unwrap_or_else(|e| panic!("{e}"))
    } else {
        Project { config: Config::default(), base: case.folder.clone(), inputs: Vec::new() }
    };
    project.config.output.layout = OutputLayout::Modules;
    project.inputs = inputs;
    project
}

/// What is said of a contract.
const NOTES: [&str; 3] = ["notes.txt", "error.txt", "strict.txt"];

/// Output by file name: the modules, and `notes.txt` or `error.txt`.
type Output = BTreeMap<String, String>;

fn output(result: Result<GeneratedCode, Diagnostics>) -> Output {
    match result {
        Ok(generated) => {
            let mut out: Output = generated
                .files
                .iter()
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

/// The output, and `strict.txt` where faults of the contract were mended: what is said of them when
/// they refuse it.
fn both(mut project: Project, generate: impl Fn(&Project) -> Result<GeneratedCode, Diagnostics>) -> Output {
    let generated = generate(&project);
    let mended =
        generated.as_ref().is_ok_and(|g| g.contract.diagnostics.iter().any(|d| d.fallback.is_some()));
    let mut out = output(generated);
    if mended {
        project.config.input.faults = FaultPolicy::Deny;
        let refused = generate(&project).err().map(|problems| problems.render(false));
        let folder = project.base.display();
        let refused = refused.unwrap_or_else(|| panic!("{folder}: faults that `deny` lets pass"));
        out.insert("strict.txt".to_owned(), refused);
    }
    out
}

fn from_texts(case: &Case) -> Output {
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
    both(project, generate)
}

/// The list of inputs stands in the order of reading; everything else does not depend on it.
fn without_inputs(mut output: Output) -> Output {
    if let Some(root) = output.get_mut("expected/root.rs") {
        let mut lines: Vec<&str> = root.lines().collect();
        lines.sort_unstable();
        *root = lines.join("\n");
    }
    output
}

fn committed(case: &Case) -> Output {
    let mut out = Output::new();
    for path in entries(&case.folder.join("expected")) {
        out.insert(format!("expected/{}", file_name(&path)), String::from_utf8(read(&path)).unwrap());
    }
    for name in NOTES {
        if let Ok(text) = fs::read_to_string(case.folder.join(name)) {
            out.insert(name.to_owned(), text);
        }
    }
    out
}

fn write(case: &Case, output: &Output) {
    let _ = fs::remove_dir_all(case.folder.join("expected"));
    for name in NOTES {
        let _ = fs::remove_file(case.folder.join(name));
    }
    for (name, text) in output {
        let path = case.folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// The first line that differs.
fn difference(want: &str, found: &str) -> String {
    let mut lines = want.lines().zip(found.lines()).enumerate();
    match lines.find(|(_, (a, b))| a != b) {
        Some((at, (a, b))) => format!("line {}\n    committed {a}\n    generated {b}", at + 1),
        None => "one is longer".to_owned(),
    }
}

fn compare(problems: &mut String, case: &Case, what: &str, want: &Output, found: &Output) {
    let names: std::collections::BTreeSet<&String> = want.keys().chain(found.keys()).collect();
    for name in names {
        let text = match (want.get(name), found.get(name)) {
            (Some(a), Some(b)) if a == b => continue,
            (Some(a), Some(b)) => difference(a, b),
            (Some(_), None) => "not generated".to_owned(),
            (None, Some(b)) if name == "error.txt" => format!("refused:\n{b}"),
            (None, _) => "not committed".to_owned(),
        };
        let _ = writeln!(problems, "{}/{name} ({what}): {text}", case.name);
    }
}

#[test]
fn output_is_what_is_committed_in_any_order_of_reading() {
    let mut problems = String::new();
    outputs(&mut problems);
    // After the outputs: they say which types there are.
    list(&mut problems);
    apis(&mut problems);
}

fn outputs(problems: &mut String) {
    for case in Case::all() {
        let folder = case.folder.join("input");
        let whole = if folder.is_dir() { folder } else { case.folder.join("input.json") };
        let found = both(project(&case, vec![whole]), Project::generate);
        if found.contains_key("error.txt") != case.is_refused() {
            let _ = writeln!(
                problems,
                "{}: refused or not, against its name\n{:?}",
                case.name,
                found.get("error.txt")
            );
            continue;
        }
        if updating() {
            write(&case, &found);
        }
        compare(problems, &case, "as a folder", &committed(&case), &found);
        let reversed: Vec<PathBuf> = case.files().into_iter().rev().map(|(_, path)| path).collect();
        compare(
            problems,
            &case,
            "files reversed",
            &found,
            &both(project(&case, reversed), Project::generate),
        );
        compare(
            problems,
            &case,
            "texts reversed",
            &without_inputs(found),
            &without_inputs(from_texts(&case)),
        );
    }
    assert!(problems.is_empty(), "{problems}\nif this is meant: {REPAIR}");
}

/// A package says itself how deep the compiler has to go; modules can only tell their owner.
#[test]
fn long_chains_raise_the_limit_of_the_compiler() {
    let case = Case::all().into_iter().find(|case| case.name == "long_chain").unwrap();
    let mut project = project(&case, vec![case.folder.join("input.json")]);
    project.config.output.layout = OutputLayout::Crate;
    let generated = project.generate().unwrap();
    let root = generated.files.iter().find(|(name, _)| *name == "src/lib.rs").unwrap().1;
    assert!(root.contains("#![recursion_limit = \"800\"]"), "{root}");
    assert!(generated.contract.diagnostics.is_empty());
    let notes = output({
        project.config.output.layout = OutputLayout::Modules;
        project.generate()
    });
    assert!(notes["notes.txt"].contains("recursion_limit = \"800\""));
}

/// Each arm of a `match` costs the compiler as much as there are others: what is long is a table.
#[test]
fn long_lists_of_values_are_looked_up() {
    let generated = |count: usize| {
        // Not in order, one value twice as long as its neighbour.
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

/// The names of the types of a case, from its module `types`.
fn types(case: &Case) -> Vec<String> {
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

/// Every case is compiled.
fn list(problems: &mut String) {
    let mut text = String::from(
        "//! Every case's output, compiled with warnings denied, and its types.\n\
         //!\n\
         //! Written by `UPDATE_CASES=1 cargo test -p contract-codegen --test cases_output`.\n\
         #![deny(warnings, clippy::all)]\n\
         #![allow(dead_code, reason = \"what a case does not ask for is part of the output all the same\")]\n\
         #![allow(clippy::redundant_comparisons, clippy::module_inception, reason = \"the contracts are like that\")]\n\
         #![allow(unexpected_cfgs, reason = \"features of the crate that output usually belongs to\")]\n\
         #![allow(deprecated, reason = \"what a contract calls deprecated is asked for all the same\")]\n\n\
         use crate::model::{Model, models};\n\n",
    );
    let cases: Vec<Case> = Case::all().into_iter().filter(|case| !case.is_refused()).collect();
    for case in &cases {
        let _ = writeln!(text, "#[path = \"../cases/{0}/expected/root.rs\"]\npub mod {0};", case.name);
    }
    text.push_str("\n/// The types of a case; `None` for a case that is not compiled.\npub fn models(case: &str) -> Option<Vec<Model>> {\n    Some(match case {\n");
    for case in &cases {
        let _ = writeln!(text, "        \"{0}\" => models!({0}: {1}),", case.name, types(case).join(", "));
    }
    text.push_str("        _ => return None,\n    })\n}\n");
    keep(problems, "harness/compiled.rs", &text);
}

/// Clients and servers of the cases that have operations: what `root.rs` declares, without the
/// features that a crate of its own would have.
fn apis(problems: &mut String) {
    let mut text = String::from(
        "//! The whole output of every case with operations, clients and servers included.\n\
         //!\n\
         //! Written by `UPDATE_CASES=1 cargo test -p contract-codegen --test cases_output`.\n\
         #![deny(warnings, clippy::all)]\n\
         #![allow(clippy::module_inception, reason = \"one case is called like a module\")]\n\
         #![allow(clippy::duplicate_mod, reason = \"the case is compiled without them as well\")]\n\
         #![allow(dead_code, reason = \"what a test does not ask for is part of the output all the same\")]\n",
    );
    for case in Case::all() {
        let modules: Vec<String> = entries(&case.folder.join("expected"))
            .iter()
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
    keep(problems, "harness/apis.rs", &text);
}

/// Writes a file of the harness, or compares it.
fn keep(problems: &mut String, name: &str, text: &str) {
    let path = tests().join(name);
    if updating() {
        fs::write(&path, text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    if committed != text {
        let _ = writeln!(problems, "{name}: {}", difference(&committed, text));
    }
}

//! Tests of the examples in the book: generated declarations, quoted code and commands.
//!
//! In the pages of `docs/book/`, and in README.md
//!
//! * a ```` ```json ```` or ```` ```yaml ```` block followed by a ```` ```rust ```` block (with options in a
//!   ```` ```toml ```` block between them) is a contract and its generated declarations;
//! * `<!-- from: path -->` above a block of Rust names the compiled file that contains the block;
//! * `<!-- file: name -->` above a block writes it to a file of the page's folder;
//! * a ```` ```console ```` block is run in that folder, and its last command prints the lines of the
//!   following ```` ```text ```` block.
//!
//! `UPDATE=1 cargo test -p contract-codegen --test book` updates the declarations.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests panic on failure")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use contract_codegen::{
    Project, Sources,
    config::{Config, OutputLayout},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A fenced code block.
#[derive(Clone, Debug)]
struct Block {
    /// The index of the first line of the content.
    line: usize,
    language: String,
    /// The HTML comment above the block, such as `file: a.json`.
    note: Option<String>,
    text: String,
}

impl Block {
    fn note_value(&self, key: &str) -> Option<&str> {
        self.note.as_deref()?.strip_prefix(key)?.strip_prefix(": ")
    }
}

/// A page of the book, with its blocks.
struct Page {
    path: PathBuf,
    text: String,
    blocks: Vec<Block>,
}

fn read_pages() -> Vec<Page> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(root().join("docs/book")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    paths.push(root().join("README.md"));
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
            Page { blocks: parse_blocks(&text), path, text }
        })
        .collect()
}

fn parse_blocks(text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    let mut note = None;
    for (line, content) in text.lines().enumerate() {
        if let Some(block) = open.as_mut() {
            if content == "```" {
                found.extend(open.take());
            } else {
                block.text.push_str(content);
                block.text.push('\n');
            }
        } else if let Some(language) = content.strip_prefix("```") {
            let (language, text) = (language.to_owned(), String::new());
            open = Some(Block { line: line + 1, language, note: note.take(), text });
        } else if let Some(comment) = content.strip_prefix("<!-- ") {
            note = comment.strip_suffix(" -->").map(str::to_owned);
        } else if !content.is_empty() {
            note = None;
        }
    }
    assert!(open.is_none(), "a block is not closed");
    found
}

/// Returns the contracts of a page, each with its options and the block that shows the declarations.
fn find_examples(page: &Page) -> Vec<(&Block, String, &Block)> {
    let mut found = Vec::new();
    for (index, block) in page.blocks.iter().enumerate() {
        if !matches!(block.language.as_str(), "json" | "yaml") {
            continue;
        }
        let mut next = page.blocks[index + 1..].iter();
        let mut follower = next.next();
        let mut options = String::new();
        if let Some(toml) = follower.filter(|block| block.language == "toml") {
            options.clone_from(&toml.text);
            follower = next.next();
        }
        if let Some(rust) = follower.filter(|block| block.language == "rust" && block.note.is_none()) {
            found.push((block, options, rust));
        }
    }
    found
}

/// Returns the generated declarations of a contract, without attributes and function bodies.
fn generate_declarations(contract: &Block, options: &str) -> String {
    let mut config: Config = toml::from_str(options).unwrap_or_else(|e| panic!("{e}\n{options}"));
    config.output.layout = OutputLayout::Modules;
    config.client.skip_unsupported = Some(true);
    let name = if contract.language == "json" { "example.schema.json" } else { "example.yaml" };
    let project = Project { config, ..Project::default() };
    let sources = Sources::from_texts(&[(name, "", &contract.text)]).unwrap_or_else(|e| panic!("{e}"));
    let read = project.analyze_sources(sources).unwrap_or_else(|e| panic!("{e}"));
    let files = project.generate_from(read).unwrap_or_else(|e| panic!("{e}")).files;
    let is_call = |name: &str| ["client.rs", "server.rs"].iter().any(|end| name.ends_with(end));
    let is_table =
        |name: &str| ["types.rs", "schemas.rs", "operations.rs", "webhooks.rs", "root.rs"].contains(&name);
    let types = files.iter().filter(|(name, _)| name.ends_with(".rs") && !is_table(name) && !is_call(name));
    let calls = files.iter().filter(|(name, _)| is_call(name));
    let mut out = Vec::new();
    for (_, text) in types.chain(calls) {
        for item in syn::parse_file(text).unwrap().items {
            out.extend(simplify_item(item));
        }
    }
    out.join("\n")
}

fn simplify_item(item: syn::Item) -> Option<String> {
    let item = match item {
        syn::Item::Struct(mut item) => {
            item.attrs.clear();
            item.fields.iter_mut().for_each(|field| field.attrs.clear());
            // The fields of clients and builders are private.
            let is_opaque = item.ident == "Client" || item.ident.to_string().ends_with("Builder");
            (!is_opaque).then_some(syn::Item::Struct(item))?
        }
        syn::Item::Enum(mut item) => {
            item.attrs.clear();
            for variant in &mut item.variants {
                variant.attrs.clear();
                variant.fields.iter_mut().for_each(|field| field.attrs.clear());
            }
            syn::Item::Enum(item)
        }
        syn::Item::Type(mut item) => {
            item.attrs.clear();
            syn::Item::Type(item)
        }
        syn::Item::Impl(mut item) if item.trait_.is_none() && is_type(&item.self_ty, "Client") => {
            let common = ["new", "with_request_checks", "base_url"];
            item.items.retain(|part| match part {
                syn::ImplItem::Fn(method) => !common.contains(&method.sig.ident.to_string().as_str()),
                _ => true,
            });
            for part in &mut item.items {
                let syn::ImplItem::Fn(method) = part else { continue };
                method.attrs.clear();
                method.block.stmts.clear();
            }
            syn::Item::Impl(item)
        }
        syn::Item::Trait(mut item) => {
            item.attrs.clear();
            for part in &mut item.items {
                let syn::TraitItem::Fn(method) = part else { continue };
                method.attrs.clear();
                method.default = None;
            }
            syn::Item::Trait(item)
        }
        _ => return None,
    };
    let file = syn::File { shebang: None, frontmatter: None, attrs: Vec::new(), items: vec![item] };
    Some(prettyplease::unparse(&file))
}

fn is_type(ty: &syn::Type, name: &str) -> bool {
    matches!(ty, syn::Type::Path(path) if path.path.is_ident(name))
}

#[test]
fn pages_show_the_generated_declarations() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut count = 0;
    for page in read_pages() {
        let mut lines: Vec<String> = page.text.lines().map(str::to_owned).collect();
        // Blocks are replaced in reverse order, so that line numbers remain valid.
        for (contract, options, rust) in find_examples(&page).into_iter().rev() {
            count += 1;
            let found = generate_declarations(contract, &options);
            if update {
                let end = rust.line + rust.text.lines().count();
                lines.splice(rust.line..end, found.lines().map(str::to_owned));
            } else {
                let place = format!("{}:{}", page.path.display(), rust.line + 1);
                assert!(found == rust.text, "{place}: {UPDATE_COMMAND}\n{found}");
            }
        }
        if update {
            fs::write(&page.path, lines.join("\n") + "\n").unwrap();
        }
    }
    assert!(count >= 8, "{count}");
}

const UPDATE_COMMAND: &str = "run UPDATE=1 cargo test -p contract-codegen --test book";

#[test]
fn quoted_code_is_compiled() {
    let normalize =
        |text: &str| text.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n");
    let mut count = 0;
    for page in read_pages() {
        for (index, block) in page.blocks.iter().enumerate() {
            let shown = find_examples(&page).iter().any(|(.., rust)| rust.line == block.line);
            if block.language != "rust" || shown {
                continue;
            }
            count += 1;
            let place = format!("{}: block {index}", page.path.display());
            let from = block.note_value("from").unwrap_or_else(|| panic!("{place} has no source file"));
            let source = fs::read_to_string(root().join(from)).unwrap_or_else(|e| panic!("{from}: {e}"));
            assert!(normalize(&source).contains(&normalize(&block.text)), "{place} is not in {from}");
        }
    }
    assert!(count > 3, "{count}");
}

#[test]
fn commands_print_the_shown_output() {
    let mut count = 0;
    for page in read_pages() {
        let (name, within) = (page.path.file_stem().unwrap(), page.path.parent().and_then(Path::file_name));
        let name = format!("{}-{}", within.unwrap_or_default().display(), name.display());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("book-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let mut printed = String::new();
        let mut has_output = false;
        for block in &page.blocks {
            if let Some(file) = block.note_value("file") {
                let path = folder.join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, &block.text).unwrap();
            }
            match block.language.as_str() {
                "console" => {
                    // The output of other programs is not checked.
                    has_output = false;
                    for command in block.text.lines().filter_map(|line| line.strip_prefix("$ ")) {
                        let expected = block.note_value("exit").map_or(0, |code| code.parse().unwrap());
                        if let Some(text) = run_command(&folder, command, expected) {
                            (printed, has_output) = (text, true);
                            count += 1;
                        }
                    }
                }
                "text" if has_output && block.note.is_none() => {
                    let missing = block.text.lines().map(str::trim).find(|line| !printed.contains(line));
                    assert!(missing.is_none(), "{name}: {missing:?} is not in\n{printed}");
                    has_output = false;
                }
                _ => {}
            }
        }
    }
    assert!(count > 10, "{count}");
}

/// Runs a command of this package. `cargo xtask tidy` checks all other commands.
fn run_command(folder: &Path, command: &str, expected: i32) -> Option<String> {
    // Every second part is an argument in single quotes.
    let parts = command.split('\'').enumerate();
    let arguments: Vec<&str> = parts
        .flat_map(|(index, part)| match index % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        })
        .collect();
    let (program, args) = arguments.split_first()?;
    if *program != "contract-codegen" {
        return None;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_contract-codegen"))
        .args(args)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(output.status.code(), Some(expected), "{command}\n{text}");
    Some(text)
}

/// The book documents every keyword that the generator supports.
#[test]
fn every_keyword_is_documented() {
    let pages: String = read_pages().into_iter().map(|page| page.text).collect();
    let source = include_str!("../core/src/schema/keywords.rs");
    let table = source.split_once("\nkeywords! {\n").unwrap().1;
    let names: Vec<&str> = table
        .lines()
        .take_while(|line| *line != "}")
        .map(str::trim)
        .filter(|line| line.starts_with('"'))
        .map(|line| line.trim_start_matches('"').split('"').next().unwrap())
        .collect();
    assert!(names.len() > 50, "{names:?}");
    // These keywords of older drafts have a current replacement.
    let older = ["$recursiveAnchor"];
    for name in names.into_iter().filter(|name| !older.contains(name)) {
        let quoted = pages.contains(&format!("`{name}`")) || pages.contains(&format!("`{name}:"));
        assert!(quoted, "`{name}` is missing in docs/book/schemas.md");
    }
}

/// Returns the rows of the feature table of a page.
fn read_feature_rows(page: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let rows = text.lines().skip_while(|line| *line != "| feature | how | shown by |").skip(2);
    rows.take_while(|line| line.starts_with('|')).map(str::to_owned).collect()
}

/// Each feature in the book's list has a case. If the list names test files for a feature, each file refers to a
/// case of this feature, by folder or by module.
#[test]
fn every_feature_has_a_case() {
    let rows = read_feature_rows("docs/book/features.md");
    assert!(rows.len() >= 8, "{rows:#?}");
    for row in &rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let [_, _, shown] = cells[..] else { panic!("{row}") };
        // Every second part is between backticks.
        let shown: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
        let (files, cases): (Vec<&str>, Vec<&str>) = shown.iter().partition(|name| name.contains('/'));
        assert!(!cases.is_empty(), "this feature has no case: {row}");
        for case in &cases {
            let folder = root().join("codegen/tests/cases").join(case);
            assert!(folder.join("expected").is_dir(), "`{case}` is not a case: {row}");
        }
        for file in files {
            let text = fs::read_to_string(root().join(file)).unwrap_or_else(|e| panic!("{file}: {e}: {row}"));
            let names = |case: &&str| {
                ["/", "\""].iter().any(|end| text.contains(&format!("cases/{case}{end}")))
                    || text.contains(&format!("::{case}::"))
            };
            assert!(cases.iter().any(names), "`{file}` does not refer to any of {cases:?}: {row}");
        }
    }
}

/// The feature table in the README of each crate equals the features in its manifest.
#[test]
fn crate_features_equal_the_readme_table() {
    for folder in ["runtime", "codegen", "dpop", "exchange/client"] {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let features = manifest["features"].as_table().unwrap().keys().map(String::as_str);
        let features: BTreeSet<&str> = features.filter(|feature| *feature != "default").collect();
        let readme = fs::read_to_string(root().join(folder).join("README.md")).unwrap();
        let is_head = |line: &&str| line.starts_with("| feature |") || *line == "## Features";
        let rows =
            readme.lines().skip_while(|line| !is_head(line)).skip_while(|line| !line.starts_with("| `"));
        let cells = rows.take_while(|line| line.starts_with('|')).map(|row| row.split('|').nth(1).unwrap());
        // Every second part is between backticks.
        let documented: BTreeSet<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        assert_eq!(
            documented, features,
            "the feature table in {folder}/README.md differs from its Cargo.toml"
        );
    }
}

//! The book does not lie: what it says comes out does, what it quotes is compiled, what it runs
//! runs.
//!
//! In the pages of `docs/book/`, and in README.md
//!
//! * a ```` ```json ```` or ```` ```yaml ```` block with a ```` ```rust ```` block behind it (options in a
//!   ```` ```toml ```` block between them) is a contract and the declarations that it becomes;
//! * `<!-- from: path -->` above a block of Rust names the compiled file that it is quoted from;
//! * `<!-- file: name -->` above a block makes it a file of the page's folder;
//! * a ```` ```console ```` block is run there, and its last command prints the lines of the ```` ```text ````
//!   block behind it.
//!
//! `UPDATE=1 cargo test -p contract-codegen --test book` writes the declarations anew.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on fails")]

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

/// A fenced block.
#[derive(Clone, Debug)]
struct Block {
    /// Number of its first line of text, from 0.
    line: usize,
    language: String,
    /// The comment above it: `file: a.json`.
    note: Option<String>,
    text: String,
}

impl Block {
    fn noted(&self, word: &str) -> Option<&str> {
        self.note.as_deref()?.strip_prefix(word)?.strip_prefix(": ")
    }
}

/// A page: its name, its text, its blocks.
struct Page {
    path: PathBuf,
    text: String,
    blocks: Vec<Block>,
}

fn pages() -> Vec<Page> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(root().join("docs/book")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    paths.push(root().join("README.md"));
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
            Page { blocks: blocks(&text), path, text }
        })
        .collect()
}

fn blocks(text: &str) -> Vec<Block> {
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

/// Contracts with their options and the declarations that the page shows.
fn examples(page: &Page) -> Vec<(&Block, String, &Block)> {
    let mut found = Vec::new();
    for (at, block) in page.blocks.iter().enumerate() {
        if !matches!(block.language.as_str(), "json" | "yaml") {
            continue;
        }
        let mut next = page.blocks[at + 1..].iter();
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

/// The declarations of a contract, without attributes and bodies.
fn declarations(contract: &Block, options: &str) -> String {
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
    let types = files.iter().filter(|(name, _)| !is_table(name) && !is_call(name));
    let calls = files.iter().filter(|(name, _)| is_call(name));
    let mut out = Vec::new();
    for (_, text) in types.chain(calls) {
        for item in syn::parse_file(text).unwrap().items {
            out.extend(declaration(item));
        }
    }
    out.join("\n")
}

fn declaration(item: syn::Item) -> Option<String> {
    let item = match item {
        syn::Item::Struct(mut item) => {
            item.attrs.clear();
            item.fields.iter_mut().for_each(|field| field.attrs.clear());
            // State of clients and builders is nobody's business.
            let own = item.ident == "Client" || item.ident.to_string().ends_with("Builder");
            (!own).then_some(syn::Item::Struct(item))?
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
        syn::Item::Impl(mut item) if item.trait_.is_none() && is(&item.self_ty, "Client") => {
            let own = ["new", "with_request_checks", "base_url"];
            item.items.retain(|part| match part {
                syn::ImplItem::Fn(method) => !own.contains(&method.sig.ident.to_string().as_str()),
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

fn is(ty: &syn::Type, name: &str) -> bool {
    matches!(ty, syn::Type::Path(path) if path.path.is_ident(name))
}

#[test]
fn contracts_become_what_the_pages_show() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut count = 0;
    for page in pages() {
        let mut lines: Vec<String> = page.text.lines().map(str::to_owned).collect();
        // From the end, so that line numbers stay.
        for (contract, options, rust) in examples(&page).into_iter().rev() {
            count += 1;
            let found = declarations(contract, &options);
            if update {
                let end = rust.line + rust.text.lines().count();
                lines.splice(rust.line..end, found.lines().map(str::to_owned));
            } else {
                let place = format!("{}:{}", page.path.display(), rust.line + 1);
                assert!(found == rust.text, "{place}: {REPAIR}\n{found}");
            }
        }
        if update {
            fs::write(&page.path, lines.join("\n") + "\n").unwrap();
        }
    }
    assert!(count >= 8, "{count}");
}

const REPAIR: &str = "run UPDATE=1 cargo test -p contract-codegen --test book";

#[test]
fn quotes_are_compiled() {
    let flat =
        |text: &str| text.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n");
    let mut count = 0;
    for page in pages() {
        for (at, block) in page.blocks.iter().enumerate() {
            let shown = examples(&page).iter().any(|(.., rust)| rust.line == block.line);
            if block.language != "rust" || shown {
                continue;
            }
            count += 1;
            let place = format!("{}: block {at}", page.path.display());
            let from = block.noted("from").unwrap_or_else(|| panic!("{place} is quoted from nowhere"));
            let source = fs::read_to_string(root().join(from)).unwrap_or_else(|e| panic!("{from}: {e}"));
            assert!(flat(&source).contains(&flat(&block.text)), "{place} does not stand in {from}");
        }
    }
    assert!(count > 3, "{count}");
}

#[test]
fn commands_run() {
    let mut count = 0;
    for page in pages() {
        let (name, within) = (page.path.file_stem().unwrap(), page.path.parent().and_then(Path::file_name));
        let name = format!("{}-{}", within.unwrap_or_default().display(), name.display());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("book-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let mut printed = String::new();
        let mut ran = false;
        for block in &page.blocks {
            if let Some(file) = block.noted("file") {
                let path = folder.join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, &block.text).unwrap();
            }
            match block.language.as_str() {
                "console" => {
                    // What others print is not looked at.
                    ran = false;
                    for command in block.text.lines().filter_map(|line| line.strip_prefix("$ ")) {
                        let expected = block.noted("exit").map_or(0, |code| code.parse().unwrap());
                        if let Some(text) = run(&folder, command, expected) {
                            (printed, ran) = (text, true);
                            count += 1;
                        }
                    }
                }
                "text" if ran && block.note.is_none() => {
                    let missing = block.text.lines().map(str::trim).find(|line| !printed.contains(line));
                    assert!(missing.is_none(), "{name}: {missing:?} is not in\n{printed}");
                    ran = false;
                }
                _ => {}
            }
        }
    }
    assert!(count > 10, "{count}");
}

/// Runs one of our own commands; others are checked by `cargo xtask tidy`.
fn run(folder: &Path, command: &str, expected: i32) -> Option<String> {
    let words: Vec<String> = command.split(' ').map(|word| word.trim_matches('\'').to_owned()).collect();
    let (program, args) = words.split_first()?;
    if program != "contract-codegen" {
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

/// Every keyword that the generator knows has its line in the book.
#[test]
fn no_keyword_is_missing() {
    let pages: String = pages().into_iter().map(|page| page.text).collect();
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
    // Older drafts' words for what has another name today.
    let older = ["$recursiveAnchor"];
    for name in names.into_iter().filter(|name| !older.contains(name)) {
        let quoted = pages.contains(&format!("`{name}`")) || pages.contains(&format!("`{name}:"));
        assert!(quoted, "`{name}` is missing in docs/book/schemas.md");
    }
}

/// The rows of the one table of a page that says what shows a feature.
fn features(page: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let rows = text.lines().skip_while(|line| *line != "| feature | how | shown by |").skip(2);
    rows.take_while(|line| line.starts_with('|')).map(str::to_owned).collect()
}

/// Each feature of the book's list names a case that shows it, and files that name the case's folder or module.
#[test]
fn every_feature_has_its_case() {
    let rows = features("docs/book/features.md");
    assert!(rows.len() >= 8, "{rows:#?}");
    for row in &rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let [_, _, shown] = cells[..] else { panic!("{row}") };
        // What stands between backticks is every second part.
        let shown: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
        let (files, cases): (Vec<&str>, Vec<&str>) = shown.iter().partition(|name| name.contains('/'));
        assert!(!cases.is_empty(), "no case shows this: {row}");
        for case in &cases {
            let folder = root().join("codegen/tests/cases").join(case);
            assert!(folder.join("expected").is_dir(), "`{case}` is no case: {row}");
        }
        for file in files {
            let text = fs::read_to_string(root().join(file)).unwrap_or_else(|e| panic!("{file}: {e}: {row}"));
            let names = |case: &&str| {
                ["/", "\""].iter().any(|end| text.contains(&format!("cases/{case}{end}")))
                    || text.contains(&format!("::{case}::"))
            };
            assert!(cases.iter().any(names), "`{file}` has nothing to do with any of {cases:?}: {row}");
        }
    }
}

/// What can be asked of a crate stands in the table of its README, and nothing else does.
#[test]
fn every_feature_of_a_crate_is_in_its_readme() {
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
        // What stands between backticks is every second part.
        let told: BTreeSet<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        assert_eq!(
            told, features,
            "the table of features in {folder}/README.md is not that of its Cargo.toml"
        );
    }
}

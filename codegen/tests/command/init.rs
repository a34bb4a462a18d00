//! `init` with many operations, with `--tag` and with `--quiet`.

use std::{fmt::Write as _, fs};

use super::Folder;

/// Returns a document with this number of operations, half of them with the tag `crews`.
fn document(count: usize) -> String {
    let mut text = String::from("openapi: 3.1.0\ninfo: { title: Fleet, version: '1' }\npaths:\n");
    for at in 0..count {
        let tag = if at % 2 == 0 { "ships" } else { "crews" };
        let _ = writeln!(
            text,
            "  /{tag}/{at}: {{ get: {{ operationId: {tag}/read{at}, tags: [{tag}], responses: {{ '200': {{ description: it }} }} }} }}"
        );
    }
    text
}

fn read_config(folder: &Folder) -> String {
    fs::read_to_string(folder.0.join("codegen.toml")).unwrap()
}

#[test]
fn init_reports_clients_for_tags() {
    let folder = Folder::new("init-by-tag");
    folder.put("api.yaml", &document(101));
    let result = folder.run(&["init", "api.yaml"]).expect_exit(0);
    let expected = "`client.ships().read0(…)` instead of `client.ships_read0(…)`";
    assert!(result.err.contains("by-tag set: ") && result.err.contains(expected), "{}", result.err);
    assert!(read_config(&folder).contains("\nby-tag = true\n"));
    folder.put("api.yaml", &document(100));
    let result = folder.run(&["init", "api.yaml", "--force"]).expect_exit(0);
    assert!(!result.err.contains("by-tag"), "{}", result.err);
    assert!(read_config(&folder).contains("\n# by-tag = false\n"));
}

#[test]
fn init_selects_operations_by_tag() {
    let folder = Folder::new("init-tag");
    folder.put("api.yaml", &document(5));
    let result = folder.run(&["init", "api.yaml", "--tag", "crews"]).expect_exit(0);
    assert!(result.err.contains("Fleet 1: 2 operations"), "{}", result.err);
    assert!(read_config(&folder).contains("\ninclude = [{ tag = \"crews\" }]\n"));
    let result = folder.run(&["generate"]).expect_exit(0);
    assert!(result.err.contains("2 of 5 operations"), "{}", result.err);
    let result = folder.run(&["init", "api.yaml", "--tag", "crew", "--force"]).expect_exit(3);
    assert!(result.err.contains("did you mean `crews`?"), "{}", result.err);
}

#[test]
fn quiet_init_prints_nothing() {
    let folder = Folder::new("init-quiet");
    folder.put("api.yaml", &document(101));
    let result = folder.run(&["init", "api.yaml", "--quiet"]).expect_exit(0);
    assert_eq!((result.out.as_str(), result.err.as_str()), ("", ""));
    let result = folder.run(&["init", "api.yaml", "--quiet"]).expect_exit(2);
    assert!(result.err.contains("already exists"), "{}", result.err);
}

#[test]
fn unsupported_schemes_of_urls_are_named() {
    let folder = Folder::new("schemes");
    for (input, help) in [
        ("ftp://a.example/api.json", "`ftp:` URLs are not supported: pass an `https:` URL with `--fetch`"),
        ("file:///tmp/api.json", "`file:` URLs are not supported: pass the path of the file"),
    ] {
        for command in ["init", "generate", "report"] {
            let result = folder.run(&[command, input]);
            assert!(result.code == 2 && result.err.contains(help), "{command} {input}: {}", result.err);
        }
        folder.put("codegen.toml", &format!("inputs = ['{input}']\n[output]\npath = 'api'\n"));
        let result = folder.run(&["generate"]);
        let words: Vec<&str> = result.err.split_whitespace().filter(|word| *word != "│").collect();
        let unwrapped = words.join(" ");
        assert!(unwrapped.contains("URLs are not supported"), "{input}: {}", result.err);
    }
}

/// The error about an unknown option names the table and the line, and suggests a similar option.
#[test]
fn unknown_options_name_their_table() {
    let folder = Folder::new("unknown-options");
    for (options, table, help) in [
        ("[server]\nauth = true\n", "in the table `[server]`", ""),
        ("[client]\nby-tags = true\n", "in the table `[client]`", "did you mean `by-tag`?"),
        ("client.by-tags = true\n", "in the table `[client]`", "did you mean `by-tag`?"),
        ("[[pages]]\nitem = ''\n", "in the table `[pages]`", "did you mean `items`?"),
    ] {
        folder.put("codegen.toml", options);
        let error = folder.run(&["generate"]).expect_exit(3).err;
        assert!(
            error.contains(table) && error.contains(help) && error.contains("line "),
            "{options}: {error}"
        );
    }
}

//! Detection of file paths in strings. Paths must not leave the machine in a file or draft (DRF-03, CLI-05).

use exchange_api::{Json, runtime::pointer};

/// Returns true if a string is the path of a file or folder. Names in the game may contain slashes, but not
/// in the forms that are detected.
pub(crate) fn is_path(text: &str) -> bool {
    let text = text.trim();
    let bytes = text.as_bytes();
    let drive = bytes.len() >= 3
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'/' | b'\\');
    let begins = ["/", "~/", "./", "../", "file:", "\\"].iter().any(|start| text.starts_with(start));
    let home = [concat!("/", "home/"), "/Users/", "\\Users\\"].iter().any(|part| text.contains(part));
    drive || begins || home || text.contains('\\')
}

/// Returns JSON Pointers of all strings that are paths, in document order.
pub(crate) fn find_paths(json: &Json) -> Vec<String> {
    let mut found = Vec::new();
    collect_paths(json, &mut String::new(), &mut found);
    found
}

fn collect_paths(json: &Json, at: &mut String, found: &mut Vec<String>) {
    let here = at.len();
    match json {
        Json::String(text) if is_path(text) => found.push(at.clone()),
        Json::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                pointer::push_index_token(at, index);
                collect_paths(element, at, found);
                at.truncate(here);
            }
        }
        Json::Object(members) => {
            for (name, member) in members {
                pointer::push_token(at, name);
                collect_paths(member, at, found);
                at.truncate(here);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_distinguished_from_names() {
        for path in [
            "/srv/ada/game.log",
            "~/logs",
            "./x",
            "../x",
            "C:\\Games",
            "c:/games",
            "\\\\server\\share",
            "file:///x",
            "logs\\game.log",
            "x /Users/ada",
        ] {
            assert!(is_path(path), "{path}");
        }
        for name in ["P4-AR \"Nightstalker\" Rifle", "FS-9/LMG", "item_Name@x", "50/50", "a: b", ".308", ""] {
            assert!(!is_path(name), "{name}");
        }
    }

    #[test]
    fn paths_are_found_at_any_depth() {
        let json = Json::parse(br#"{"a": [1, "x", "/y"], "b/c": {"~": "C:\\z"}, "d": null}"#).unwrap();
        assert_eq!(find_paths(&json), ["/a/2", "/b~1c/~0"]);
    }
}

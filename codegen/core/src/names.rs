//! The rules for converting wire names to Rust names.
//!
//! Names depend only on the contract, not on the order in which it is loaded.

use std::borrow::Cow;

use heck::{ToPascalCase, ToSnakeCase};

/// Rust keywords of all editions up to 2024.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "Self",
    "static", "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// Names with inner capitals that do not start a word, and their replacements. For example, `OAuth2` becomes
/// `oauth2`.
const CAPITALIZED_NAMES: &[(&str, &str)] = &[("OAuth", "Oauth"), ("IPv", "Ipv")];

/// The names of types that generated modules other than the models use without a path.
const RESERVED_TYPES: &[&str] = &[
    "Box",
    "Contract",
    "Err",
    "Json",
    "Map",
    "None",
    "Nullable",
    "Number",
    "Ok",
    "Option",
    "Result",
    "Secret",
    "Self",
    "Some",
    "String",
    "Validator",
    "Vec",
];

/// The names of values in Rust's prelude, which a generated tuple struct would shadow. If a type of the
/// contract has the name of any other item, generated code uses the full path of that item.
const RESERVED_MODELS: &[&str] = &["Err", "None", "Ok", "Self", "Some"];

/// Returns true for a valid Rust identifier that is not a keyword.
#[must_use]
pub fn is_rust_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first == '_' || unicode_ident::is_xid_start(first))
        && letters.all(unicode_ident::is_xid_continue)
        && name != "_"
        && !KEYWORDS.contains(&name)
}

/// Returns true if generated modules other than the models use the name for another type.
#[must_use]
pub fn is_reserved_type(name: &str) -> bool {
    RESERVED_TYPES.contains(&name)
}

/// Returns true if the name is not available for generated types.
#[must_use]
pub fn is_reserved_model(name: &str) -> bool {
    RESERVED_MODELS.contains(&name)
}

/// Returns true if the name is valid for a generated type and the lint `non_camel_case_types` accepts it: it
/// starts with an uppercase letter, and no `_` is next to a letter that has a case.
#[must_use]
pub fn is_model_name(name: &str) -> bool {
    let is_cased = |c: char| c.is_lowercase() || c.is_uppercase();
    let bare = name.trim_matches('_');
    let mut around = bare.match_indices('_').flat_map(|(at, _)| {
        let (before, after) = (bare[..at].chars().next_back(), bare[at + 1..].chars().next());
        before.into_iter().chain(after)
    });
    let is_of_types = !bare.is_empty()
        && !bare.starts_with(char::is_lowercase)
        && !around.any(|sign| is_cased(sign) || sign == '_');
    is_rust_identifier(name) && is_of_types && !is_reserved_model(name)
}

/// Returns a type or variant name: `stock-lot` becomes `StockLot`, `+1` becomes `Plus1`, and an empty name
/// becomes `Empty`.
#[must_use]
pub fn type_name(wire: &str) -> String {
    let name = pascal_case(wire);
    if RESERVED_TYPES.contains(&name.as_str()) || KEYWORDS.contains(&name.as_str()) {
        format!("{name}Value")
    } else {
        name
    }
}

/// Returns the name of a generated type, which differs from all reserved names.
#[must_use]
pub fn model_name(wire: &str) -> String {
    let name = pascal_case(wire);
    if RESERVED_MODELS.contains(&name.as_str()) { format!("{name}Value") } else { name }
}

/// Returns a variant name. Unlike for types, only `Self` is reserved for variants.
#[must_use]
pub fn variant_name(wire: &str) -> String {
    let name = pascal_case(wire);
    if name == "Self" { "SelfValue".to_owned() } else { name }
}

/// Renames `Unknown`, which is reserved for the variant of unlisted values. Closed enums also reserve it, so
/// that a change from closed to open renames no variant.
pub fn reserve_unknown(names: &mut [String]) {
    for name in names.iter_mut().filter(|name| *name == "Unknown") {
        "UnknownValue".clone_into(name);
    }
}

/// Returns a field, method or module name: `orgUnit` becomes `org_unit`, `DPoP` becomes `dpop`, `type`
/// becomes `type_`. Keywords get an underscore instead of `r#`, so that the spelling is the same in code and
/// documentation. Moreover, `self` cannot be a raw identifier.
#[must_use]
pub fn field_name(wire: &str) -> String {
    escape_keyword(&snake_case(wire))
}

/// Returns the name of a constant: `stock-lot` becomes `STOCK_LOT`. Non-ASCII characters are replaced by
/// their code points, so that no lint rejects the name: `größe` becomes `GRUF6UDFE`.
#[must_use]
pub fn constant_name(wire: &str) -> String {
    let mut name = String::new();
    for c in snake_case(wire).chars() {
        match c.is_ascii() {
            true => name.push(c.to_ascii_uppercase()),
            false => name.push_str(&format!("U{:X}", u32::from(c))),
        }
    }
    name
}

/// Returns the module name of a registry table: `OauthError` becomes `oauth_errors`.
#[must_use]
pub fn table_module(table: &str) -> String {
    format!("{}s", field_name(table).trim_end_matches('_'))
}

/// Returns the stem of a file name or URI: `…/page.schema.json` becomes `page`.
#[must_use]
pub fn file_stem(uri: &str) -> String {
    let file = uri.rsplit(['/', ':']).next().unwrap_or(uri);
    let mut stem = file;
    for ending in [".json", ".yaml", ".yml", ".schema"] {
        stem = stem.strip_suffix(ending).unwrap_or(stem);
    }
    stem.to_owned()
}

/// Makes a list of names distinct. Names that clash get a prefix for the case of their wire name (`Upper`,
/// `Lower`), and then a number if necessary.
///
/// `names` is changed in place; `wires` contains the wire name for each element. The result does not depend
/// on the order of the names.
pub fn make_distinct(wires: &[&str], names: &mut [String]) {
    let before = names.to_vec();
    let bare = |name: &str| name.trim_end_matches('_').to_owned();
    let clashes = |i: usize| before.iter().filter(|n| **n == before[i]).count() > 1;
    // Names of fields, methods and modules start with a lowercase letter; names of types and variants do not.
    let small = before.iter().all(|n| !bare(n).starts_with(char::is_uppercase));
    // Names that clash usually differ only in case, such as `a` and `A`, `low` and `LOW`, `type` and `Type`.
    for i in 0..names.len() {
        let wire = wires[i];
        if !clashes(i) {
            continue;
        }
        let word = if !wire.chars().any(char::is_lowercase) && wire.chars().any(char::is_uppercase) {
            "upper"
        } else if !wire.chars().any(char::is_uppercase) && wire.chars().any(char::is_lowercase) {
            "lower"
        } else {
            continue;
        };
        let name = bare(&before[i]);
        names[i] = match (small, word) {
            (true, word) => format!("{word}_{name}"),
            (false, "upper") => format!("Upper{name}"),
            (false, _) => format!("Lower{name}"),
        };
    }
    // The remaining clashes are numbered in the order of the wire names.
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|&i| wires[i]);
    let mut seen: std::collections::BTreeSet<String> = std::collections::BTreeSet::new();
    for i in order {
        let base = bare(&names[i]);
        let mut number = 1u32;
        while !seen.insert(names[i].clone()) {
            number += 1;
            names[i] = format!("{base}{number}");
        }
    }
}

pub(crate) fn pascal_case(wire: &str) -> String {
    let spelled = replace_symbols(wire);
    let name = normalize_plural_abbreviations(&spelled).to_pascal_case();
    if name.is_empty() {
        return if wire.is_empty() { "Empty".to_owned() } else { code_point_name(wire) };
    }
    if name.starts_with(|c: char| !unicode_ident::is_xid_start(c)) { format!("N{name}") } else { name }
}

/// Returns a name in snake case, which may be a keyword: `orgUnit` becomes `org_unit`, and `type` stays
/// `type`.
#[must_use]
pub fn snake_case(wire: &str) -> String {
    let words: Vec<String> =
        replace_symbols(wire).split([' ', '_']).map(snake_word).filter(|w| !w.is_empty()).collect();
    let name = words.join("_");
    if name.is_empty() {
        return if wire.is_empty() { "empty".to_owned() } else { code_point_name(wire).to_snake_case() };
    }
    if name.starts_with(|c: char| !unicode_ident::is_xid_start(c)) { format!("n{name}") } else { name }
}

/// Converts one word of a `camelCase` name. Alternating capitals and single lowercase letters are an
/// abbreviation, so `DPoP` is one word.
fn snake_word(word: &str) -> String {
    let snake = normalize_capitals(&normalize_plural_abbreviations(word)).to_snake_case();
    let parts: Vec<usize> = snake.split('_').map(|part| part.chars().count()).collect();
    let short = parts.iter().all(|&count| count <= 2) && parts.contains(&1);
    if parts.len() > 2 && short && snake.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
        snake.replace('_', "")
    } else {
        snake
    }
}

/// Replaces names of [`CAPITALIZED_NAMES`] by their spelling with a single capital, unless another capital
/// precedes them.
fn normalize_capitals(word: &str) -> Cow<'_, str> {
    let mut word = Cow::Borrowed(word);
    for (name, plain) in CAPITALIZED_NAMES {
        let mut from = 0;
        while let Some(at) = word[from..].find(name).map(|at| from + at) {
            from = at + name.len();
            if !word[..at].ends_with(char::is_uppercase) {
                word.to_mut().replace_range(at..from, plain);
            }
        }
    }
    word
}

/// Converts plurals of abbreviations to words: `floatingIPs` becomes `floatingIps`, and `URLsOfVPCs` becomes
/// `UrlsOfVpcs`. Such a plural has at least two capitals, and no lowercase letter after its `s`.
fn normalize_plural_abbreviations(name: &str) -> Cow<'_, str> {
    let letters: Vec<char> = name.chars().collect();
    let is_upper = |at: usize| letters.get(at).is_some_and(|c| c.is_ascii_uppercase());
    let is_plural_end = |at: usize| {
        letters[at] == 's'
            && at >= 2
            && is_upper(at - 1)
            && is_upper(at - 2)
            && !letters.get(at + 1).is_some_and(|c| c.is_lowercase())
    };
    let ends: Vec<usize> = (0..letters.len()).filter(|at| is_plural_end(*at)).collect();
    if ends.is_empty() {
        return Cow::Borrowed(name);
    }
    let mut normalized = letters.clone();
    for end in ends {
        let first = (0..end).rev().take_while(|at| is_upper(*at)).last().unwrap_or(end);
        normalized[first + 1..end].iter_mut().for_each(|c| *c = c.to_ascii_lowercase());
    }
    Cow::Owned(normalized.into_iter().collect())
}

fn escape_keyword(name: &str) -> String {
    match name {
        "_" => "__".to_owned(),
        word if KEYWORDS.contains(&word) => format!("{word}_"),
        word => word.to_owned(),
    }
}

/// Replaces meaningful symbols by words, and all other characters that identifiers cannot contain by
/// separators.
fn replace_symbols(wire: &str) -> String {
    let mut out = String::with_capacity(wire.len());
    for (i, c) in wire.char_indices() {
        let next_is_digit = wire[i + c.len_utf8()..].starts_with(|c: char| c.is_ascii_digit());
        match c {
            '+' => out.push_str(" plus "),
            '-' if i == 0 && next_is_digit => out.push_str(" minus "),
            '.' if next_is_digit && i > 0 && wire[..i].ends_with(|c: char| c.is_ascii_digit()) => {
                out.push('_');
            }
            '<' => out.push_str(" lt "),
            '>' => out.push_str(" gt "),
            '=' => out.push_str(" eq "),
            '!' if i == 0 => out.push_str(" not "),
            '*' => out.push_str(" star "),
            '/' if wire.len() == 1 => out.push_str(" slash "),
            '$' => out.push(' '),
            // The compiler normalizes identifiers to NFC, which could make two names equal.
            '\u{300}'..='\u{36f}' => {}
            // Letter-like symbols normalize to letters: for example, the Ångström sign becomes `Å`.
            '\u{2100}'..='\u{214f}' => out.push_str(&format!(" U{:X} ", u32::from(c))),
            c if unicode_ident::is_xid_continue(c) => out.push(c),
            _ => out.push(' '),
        }
    }
    out
}

/// Returns a name from the code points of a wire name that consists only of symbols, such as `U2603`.
fn code_point_name(wire: &str) -> String {
    let mut name = String::new();
    for c in wire.chars() {
        name.push_str(&format!("U{:X}", u32::from(c)));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_names_become_rust_names() {
        for (wire, ty, field) in [
            ("stock-lot", "StockLot", "stock_lot"),
            ("orgUnit", "OrgUnit", "org_unit"),
            ("SCU", "Scu", "scu"),
            ("type", "Type", "type_"),
            ("DPoP", "DPoP", "dpop"),
            ("DPoP-Nonce", "DPoPNonce", "dpop_nonce"),
            ("aOfB", "AOfB", "aofb"),
            ("OAuth2Security", "OAuth2Security", "oauth2_security"),
            ("viaOAuth", "ViaOAuth", "via_oauth"),
            ("FOOAuth", "FooAuth", "foo_auth"),
            ("IPv4Address", "IPv4Address", "ipv4_address"),
            ("isOk", "IsOk", "is_ok"),
            ("xAxis", "XAxis", "x_axis"),
            ("floatingIPs_create", "FloatingIpsCreate", "floating_ips_create"),
            ("VPCs", "Vpcs", "vpcs"),
            ("URLsOfIDs", "UrlsOfIds", "urls_of_ids"),
            ("listDNSsec", "ListDnSsec", "list_dn_ssec"),
            ("HTTPServer", "HttpServer", "http_server"),
            ("self", "SelfValue", "self_"),
            ("+1", "Plus1", "plus_1"),
            ("-1", "Minus1", "minus_1"),
            ("", "Empty", "empty"),
            ("3d", "N3d", "n3d"),
            ("1.5", "N15", "n1_5"),
            ("☃", "U2603", "u2603"),
            ("$ref", "Ref", "ref_"),
            ("Option", "OptionValue", "option"),
            ("größe", "Größe", "größe"),
            ("e\u{301}", "E", "e"),
            ("\u{212b}", "U212b", "u212b"),
            ("exchange.stock.read", "ExchangeStockRead", "exchange_stock_read"),
        ] {
            assert_eq!((type_name(wire), field_name(wire)), (ty.into(), field.into()), "{wire}");
        }
    }

    #[test]
    fn chosen_names_are_unreserved_type_names() {
        for name in ["Seat", "HTTPError", "V1_2", "_Seat", "Größe", "船", "Option", "Tag", "Contract"] {
            assert!(is_model_name(name), "{name}");
        }
        for name in ["", "seat", "_seat", "Stock_Lot", "stock-lot", "9x", "V1__2", "Some", "Self", "__"] {
            assert!(!is_model_name(name), "{name}");
        }
    }

    #[test]
    fn clashing_names_become_distinct_in_any_order() {
        let check = |wires: &[&str], expect: &[&str]| {
            let mut names: Vec<String> = wires.iter().map(|w| variant_name(w)).collect();
            make_distinct(wires, &mut names);
            assert_eq!(names, expect, "{wires:?}");
        };
        check(&["a", "A"], &["LowerA", "UpperA"]);
        check(&["A", "a"], &["UpperA", "LowerA"]);
        check(&["a-b", "a_b"], &["LowerAB", "LowerAB2"]);
        check(&["a_b", "a-b"], &["LowerAB2", "LowerAB"]);
        check(&["x", "y"], &["X", "Y"]);
        let check = |wires: &[&str], expect: &[&str]| {
            let mut names: Vec<String> = wires.iter().map(|w| field_name(w)).collect();
            make_distinct(wires, &mut names);
            assert_eq!(names, expect, "{wires:?}");
        };
        check(&["type", "Type"], &["lower_type", "type_"]);
        check(&["list", "LIST", "List"], &["lower_list", "upper_list", "list"]);
    }
}

//! Writes suggestions as a commented `codegen.toml`.

use std::fmt::{self, Write as _};

use contract_codegen_core::{
    generate::RESERVED,
    names::{field_name, is_rust_identifier},
};

use super::InitFindings;

/// The number of operations above which `by-tag` is suggested.
pub(super) const MANY_OPERATIONS: usize = 100;

/// The maximum number of entries in a list that is written as comments. A longer list is cut, and the number
/// of remaining entries is written.
const MAX_LISTED: usize = 30;

/// Returns the comment line that names the URL of the JSON Schema of this version. Editors read the names and
/// types of the options from this schema. Returns `None` if the package has no repository.
fn schema_line(repository: &str, version: &str) -> Option<String> {
    let repository = repository.trim_end_matches('/');
    (!repository.is_empty())
        .then(|| format!("#:schema {repository}/raw/v{version}/codegen/codegen.schema.json"))
}

/// Returns the content of a `codegen.toml`. Required settings are active lines; suggestions and defaults are
/// comments. The paths in `inputs` are relative to the file.
#[must_use]
pub fn codegen_toml(found: &InitFindings, inputs: &[String]) -> String {
    let mut page = TomlPage(String::new());
    if let Some(line) = schema_line(env!("CARGO_PKG_REPOSITORY"), env!("CARGO_PKG_VERSION")) {
        page.add_line(&line);
    }
    let title = if found.title.is_empty() { "the contract".to_owned() } else { one_line(&found.title) };
    page.add_comment(&format!(
        "Code generation settings for {title}, created by `contract-codegen init`. Edit as needed."
    ));
    page.add_comment(
        "Run `contract-codegen generate` to generate the code. Commented lines are suggestions or defaults.",
    );
    page.add_comment("");
    page.add_comment(
        "A selector names a schema by the end of its location: `#/components/schemas/Error`, optionally with",
    );
    page.add_comment(
        "the file name in front. An option without effect is an error; for `mounts`, `[streams]` and",
    );
    page.add_comment("`credentials` it is a warning.");

    page.start_section("Files and folders of the contract, relative to this file.");
    page.add_line(&format!("inputs = [{}]", quote_all(inputs).join(", ")));
    page.start_section("Name of the generated package.");
    page.add_comment(
        "A table [package] instead also has version, license, description, repository, authors and keywords.",
    );
    page.add_line(&format!("package = {}", TomlString(&found.package)));
    write_mounts(&mut page, found);
    write_secrets(&mut page, found);
    write_unknown_values(&mut page);
    page.add_table("input");
    page.add_comment("Faults in the contract: \"warn\" repairs or skips them and prints a warning,");
    page.add_comment("\"deny\" rejects the contract.");
    page.add_comment("faults = \"warn\"");
    write_output(&mut page, found);
    write_types(&mut page, found);
    write_operations(&mut page, found);
    page.start_section("Rust names of types by selector, of operations, and of values of enumerations.");
    page.add_comment("[names]");
    page.add_comment("\"GET /users/{id}\" = \"user\"");
    page.add_comment("\"#/components/schemas/Status/enum/on-hold\" = \"Paused\"");
    page.add_comment("\"#/components/schemas/Error\" = \"Problem\"");
    page.start_section("Your own types to use for schemas; they must implement `ReadJson` and `Serialize`.");
    page.add_comment("[replace]");
    page.add_comment("\"#/components/schemas/Money\" = \"crate::Money\"");
    page.start_section(
        "Additional traits to derive; `*` selects all types. `Default` is derived where possible.",
    );
    page.add_comment("[derives]");
    page.add_comment("\"*\" = [\"Default\"]");
    page.start_section("Attributes to add to types and fields.");
    page.add_comment("[attributes]");
    page.add_comment("\"#/components/schemas/Error\" = [\"#[doc(alias = \\\"fault\\\")]\"]");
    write_areas(&mut page, found);
    page.0
}

fn write_mounts(page: &mut TomlPage, found: &InitFindings) {
    page.start_section(
        "Local folders that resolve references by URI prefix. URLs are downloaded only with `--fetch`.",
    );
    if !found.unresolved_uris.is_empty() {
        page.add_comment("These URIs are not resolved; such a reference accepts any JSON:");
        page.add_comment_list(&found.unresolved_uris, |uri| format!("  {}", one_line(uri)));
    }
    if found.mounts.is_empty() {
        let first = found.unresolved_uris.first().map_or("https://example.com/schemas/", String::as_str);
        let prefix = first.rfind('/').and_then(|at| first.get(..=at)).unwrap_or(first);
        page.add_comment(&format!("mounts = {{ {} = \"vendor\" }}", TomlString(prefix)));
        return;
    }
    let all = found.mounts.iter().map(|(prefix, path)| {
        let path = path.to_string_lossy().replace('\\', "/");
        format!("{} = {}", TomlString(prefix), TomlString(&path))
    });
    page.add_line(&format!("mounts = {{ {} }}", all.collect::<Vec<_>>().join(", ")));
}

fn write_secrets(page: &mut TomlPage, found: &InitFindings) {
    page.start_section("Schemas with secret values: `Debug` output and error messages never show them.");
    if found.secrets.is_empty() {
        page.add_comment("secrets = []");
        return;
    }
    page.add_comment("These look like secrets:");
    page.add_comment("secrets = [");
    for (selector, why) in &found.secrets {
        page.add_comment(&format!("    {}, # {why}", TomlString(selector)));
    }
    page.add_comment("]");
}

fn write_unknown_values(page: &mut TomlPage) {
    page.start_section(
        "In responses, string enums and tagged unions keep unknown values; these reject them instead:",
    );
    page.add_comment("closed = []");
    page.start_section(
        "In types used only by requests, they reject unknown values; these keep them instead:",
    );
    page.add_comment("open = []");
    page.start_section("Schemas that also accept `null`, although the contract does not declare it.");
    page.add_comment("nullable = []");
}

fn write_output(page: &mut TomlPage, found: &InitFindings) {
    page.add_table("output");
    page.add_comment("Output path, relative to this file. The generator owns it and removes other files.");
    page.add_line(&format!("path = {}", TomlString(&found.package)));
    page.add_comment("\"crate\" is a complete package, \"modules\" source files for your package, \"file\" one source file.");
    page.add_comment("layout = \"crate\"");
    if found.operations > 0 {
        page.add_comment(&format!(
            "Generate a client for {}, and a server interface.",
            count_noun(found.operations, "operation")
        ));
        page.add_comment("client = true");
        page.add_comment("server = true");
        page.add_comment(
            "Generate a command-line program: true, or { name = \"…\", variables = \"…\", server = \"…\" }.",
        );
        page.add_comment("cli = false");
        page.add_comment("Put client and server behind Cargo features with these names.");
        page.add_comment("features = true");
    }
    page.add_comment("Implement `schemars::JsonSchema` for the types, behind the feature `schemars`.");
    page.add_comment("schemars = true");
    page.add_comment("Generate `proptest` strategies for the types, behind the feature `proptest`.");
    page.add_comment("proptest = true");
    page.add_comment("Path of contract-runtime; by default its sources are written into the package.");
    page.add_comment("runtime = \"../runtime\"");
    if found.in_workspace {
        page.add_comment(
            "The package is inside a Cargo workspace, which it and its runtime join; `false` makes them a",
        );
        page.add_comment("workspace of their own, which the `exclude` of the surrounding one must list.");
        page.add_comment("member = true");
    } else {
        page.add_comment(
            "Make the package and its runtime members of the surrounding Cargo workspace; default: if there is one.",
        );
        page.add_comment("member = false");
    }
}

fn write_types(page: &mut TomlPage, found: &InitFindings) {
    page.add_table("types");
    page.add_comment("Structs with a builder: those in \"requests\", \"all\" or \"none\".");
    page.add_comment("builders = \"requests\"");
    match found.unbounded_integers.as_slice() {
        [] => page.add_comment("Type of integers without bounds: \"i64\", or \"exact\" for any size."),
        some => {
            page.add_comment(&format!(
                "Type of {} without bounds: \"i64\", which rejects larger values, or \"exact\" for any size. Examples:",
                count_noun(some.len(), "integer")
            ));
            some.iter().take(3).for_each(|selector| page.add_comment(&format!("  {selector}")));
        }
    }
    page.add_comment("unbounded-integers = \"i64\"");
    page.add_comment(
        "Use `i32`, `u32` and `u64` for the formats `int32`, `uint32` and `uint64` of integers.",
    );
    page.add_comment("machine-integers = false");
    let implied = match found.implied_objects {
        0 => String::new(),
        count => format!("; {} here", count_noun(count, "schema")),
    };
    page.add_comment(&format!("Treat schemas with `properties` but without `type` as objects{implied}."));
    page.add_comment("implied-objects = true");
    page.add_comment("Schemas for which the opposite applies.");
    page.add_comment("implied-otherwise = []");
    page.add_comment(
        "Base schemas with a `discriminator` but no `oneOf` that become enums of their `allOf` children; by default",
    );
    page.add_comment("those that require their tag and are the schema of a value.");
    match found.families.as_slice() {
        [] => page.add_comment("families = []"),
        some => {
            page.add_comment("families = [");
            for (selector, children) in some {
                let children =
                    if *children == 1 { "1 child".to_owned() } else { format!("{children} children") };
                page.add_comment(&format!("    {}, # {children}", TomlString(selector)));
            }
            page.add_comment("]");
        }
    }
    let unknown = match found.unknown_keywords {
        0 => String::new(),
        count => format!("; {count} here"),
    };
    page.add_comment(&format!("Unknown keywords in schemas: \"deny\", \"warn\" or \"ignore\"{unknown}."));
    page.add_comment("unknown-keywords = \"warn\"");
    page.add_comment(
        "OpenAPI 3.0 `nullable` in a schema without `type`: \"or-null\" accepts `null`, \"strict\" ignores",
    );
    page.add_comment("it, as the specification requires.");
    page.add_comment("nullable = \"or-null\"");
    page.add_comment(
        "Patterns with look-around or back-references, which cannot be matched in linear time: \"deny\"",
    );
    page.add_comment("rejects them, \"keep\" leaves them unchecked with a warning. Default: as `faults`.");
    page.add_comment("unsupported = \"deny\"");
    page.add_comment("Formats that become Rust types; strings that do not parse are then violations.");
    page.add_comment("formats = { date-time = \"jiff\", uuid = \"uuid\" }");
    page.add_comment("Crates whose types the contract may use through `x-rust-type`.");
    page.add_comment("rust-types = []");
    if !found.unsupported_patterns.is_empty() {
        page.add_comment("Unsupported patterns that are left unchecked; rewrite them if you can.");
        page.add_line("unchecked = [");
        for (selector, pattern) in &found.unsupported_patterns {
            page.add_line(&format!("    {}, # {}", TomlString(selector), one_line(pattern)));
        }
        page.add_line("]");
    }
}

fn write_operations(page: &mut TomlPage, found: &InitFindings) {
    if found.operations + found.webhooks == 0 {
        return;
    }
    page.add_table("operations");
    let counts = match found.webhooks {
        0 => count_noun(found.operations, "operation"),
        some => format!("{}, {}", count_noun(found.operations, "operation"), count_noun(some, "webhook")),
    };
    page.add_comment(&format!("Selection of {counts}, with the schemas they use. Default: all."));
    if found.include.is_empty() {
        let tag = found.tags.first().map_or("name", |(tag, _)| tag.as_str());
        page.add_comment(&format!(
            "include = [{{ tag = {} }}, {{ path = \"/**\" }}, {{ operation = \"*\" }}]",
            TomlString(tag)
        ));
    } else {
        let selectors: Vec<String> = found.include.iter().map(ToString::to_string).collect();
        page.add_line(&format!("include = [{}]", selectors.join(", ")));
    }
    page.add_comment("exclude = []");
    page.add_comment(
        "Header with the idempotency key, which makes a call safe to retry. Clients add a random key if the",
    );
    page.add_comment(
        "caller passes none. `{ name, operations }` selects operations that do not declare the header.",
    );
    let header = found.idempotency_headers.first().map_or("Idempotency-Key", String::as_str);
    page.add_comment(&format!("idempotency-header = {}", TomlString(header)));
    page.add_comment(
        "Headers that middleware handles, so that server handlers do not receive or return them.",
    );
    page.add_comment("hidden-headers = []");
    page.add_comment(
        "Media types that are generated for a body that lists several. Default: JSON only, if it lists JSON.",
    );
    page.add_comment("media = [\"application/json\", \"application/xml\"]");
    page.start_section(
        "Lists and nested values in queries and forms, where OpenAPI leaves their encoding undefined.",
    );
    page.add_comment("[wire]");
    page.add_comment("Nested values: \"json\", \"brackets\" (`a[b]=x`, `items[][price]=x`) or \"indices\" (`items[0][price]=x`).");
    page.add_comment("nested = \"indices\"");
    page.add_comment("Lists: \"repeat\" (`a=x&a=y`), \"brackets\" (`a[]=x`), \"indices\" (`a[0]=x`) or \"comma\" (`a=x,y`).");
    page.add_comment("arrays = \"brackets\"");
    page.add_comment("Other settings, by selector.");
    page.add_comment("schemas = { \"#/components/schemas/Filter\" = { nested = \"json\" } }");
    page.add_table("client");
    page.add_comment("Header parameters that the transport supplies instead of the caller.");
    page.add_comment(&format!("transport-headers = [{}]", quote_all(&found.transport_headers).join(", ")));
    page.add_comment(
        "Generate credentials: a setter for each entry of `securitySchemes`, and a transport that adds them.",
    );
    page.add_comment("credentials = true");
    page.add_comment("Fields of error responses that the messages of errors show, such as a code or an id: names, or selectors.");
    page.add_comment("shown = []");
    page.add_comment("A client for the operations of each tag: `client.issues().list(…)`.");
    if found.call_by_tag.is_some() {
        page.add_line("by-tag = true");
    } else {
        page.add_comment("by-tag = false");
    }
    page.add_comment("With `by-tag`: a Cargo feature for each tag.");
    page.add_comment("tag-features = false");
    if found.unsupported_operations.is_empty() {
        page.add_comment(
            "Skip operations that the client cannot call (true), or reject the contract (false). Default: as",
        );
        page.add_comment("`faults`.");
        page.add_comment("skip-unsupported = true");
    } else {
        page.add_comment("Skipped, because the client cannot call them:");
        page.add_comment_list(&found.unsupported_operations, |message| format!("  {}", one_line(message)));
        page.add_line("skip-unsupported = true");
    }
    if !found.servers.is_empty() {
        page.add_comment("");
        page.add_comment("Servers of the contract, in the module `servers`, for `Client::new`:");
        page.add_comment_list(&found.servers, |server| format!("  {}", one_line(server)));
    }
    page.add_table("server");
    page.add_comment(
        "Generate a trait with a method for each entry of `securitySchemes`, and a router that calls it.",
    );
    page.add_comment("authentication = true");
    page.start_section(
        "Streams: events, JSON lines and binary responses, without an option; other byte bodies are listed here.",
    );
    page.add_comment("[streams]");
    page.add_comment(
        "Event data that ends a stream, names of final events, and operations with byte streams.",
    );
    page.add_comment("ends = [\"[DONE]\"]");
    page.add_comment("last-events = []");
    page.add_comment("downloads = []");
    page.add_comment("uploads = []");
    write_pages(page, found);
}

fn write_pages(page: &mut TomlPage, found: &InitFindings) {
    page.start_section(
        "Paginated operations: the client gets a stream of pages and a stream of items for each.",
    );
    if found.pages.is_empty() {
        page.add_comment("[[pages]]");
        page.add_comment("operations = [\"listNames\"]");
        page.add_comment("items = \"/items\"");
        page.add_comment("cursor = { from = \"/next\", to = \"cursor\" }");
        return;
    }
    page.add_comment("These look paginated:");
    for paged in &found.pages {
        page.add_comment("");
        page.add_comment("[[pages]]");
        page.add_comment("operations = [");
        paged.operations.iter().for_each(|id| page.add_comment(&format!("    {},", TomlString(id))));
        page.add_comment("]");
        paged.lines.iter().for_each(|line| page.add_comment(line));
    }
}

fn write_areas(page: &mut TomlPage, found: &InitFindings) {
    page.start_section(
        "Modules, one file each: types used only by operations with these tags, and schemas by selector.",
    );
    page.add_comment("All other types are in `models`.");
    let own: Vec<&(String, usize)> = found.tags.iter().filter(|(_, types)| *types > 0).collect();
    if own.is_empty() {
        page.add_comment("[[area]]");
        page.add_comment("name = \"errors\"");
        page.add_comment("schemas = [\"#/components/schemas/Error\"]");
    }
    for (tag, types) in own {
        page.add_comment("");
        page.add_comment(&format!("[[area]] # {}", count_noun(*types, "type")));
        page.add_comment(&format!("name = {}", TomlString(&module_name(tag))));
        page.add_comment(&format!("tags = [{}]", TomlString(tag)));
    }
}

/// Derives a Rust module name from a tag of the contract.
fn module_name(tag: &str) -> String {
    let name = field_name(tag);
    let name = name.trim_end_matches('_');
    if RESERVED.contains(&name) || name == "models" || !is_rust_identifier(name) {
        format!("{name}_area")
    } else {
        name.to_owned()
    }
}

fn count_noun(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

fn quote_all(list: &[String]) -> Vec<String> {
    list.iter().map(|each| TomlString(each).to_string()).collect()
}

/// A string whose `Display` form is a one-line basic string of TOML (TOML 1.0, String).
pub(super) struct TomlString<'a>(pub(super) &'a str);

impl fmt::Display for TomlString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for each in self.0.chars() {
            match each {
                '"' | '\\' => write!(f, "\\{each}")?,
                each if each.is_control() => write!(f, "\\u{:04X}", u32::from(each))?,
                each => f.write_char(each)?,
            }
        }
        f.write_char('"')
    }
}

/// Replaces control characters with spaces, so that strings of the contract cannot end a comment.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

struct TomlPage(String);

impl TomlPage {
    fn add_line(&mut self, text: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{text}");
    }

    /// Adds a comment line.
    fn add_comment(&mut self, text: &str) {
        self.add_line(format!("# {text}").trim_end());
    }

    /// Adds a blank line and a comment.
    fn start_section(&mut self, comment: &str) {
        self.add_line("");
        self.add_comment(comment);
    }

    fn add_table(&mut self, name: &str) {
        self.add_line("");
        self.add_line(&format!("[{name}]"));
    }

    /// Adds one comment line for each of the first [`MAX_LISTED`] entries, and a line with the number of
    /// remaining entries.
    fn add_comment_list<T>(&mut self, list: &[T], text: impl Fn(&T) -> String) {
        list.iter().take(MAX_LISTED).for_each(|each| self.add_comment(&text(each)));
        if let Some(more) = list.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
            self.add_comment(&format!("    # and {more} more"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::schema_line;

    #[test]
    fn schema_line_names_the_version() {
        let line = schema_line("https://git.example/a/b/", "1.2.3");
        let expected = "#:schema https://git.example/a/b/raw/v1.2.3/codegen/codegen.schema.json";
        assert_eq!(line.as_deref(), Some(expected));
        assert_eq!(schema_line("", "1.2.3"), None);
    }
}

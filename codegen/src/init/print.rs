//! Findings as a commented `codegen.toml`.

use std::fmt::{self, Write as _};

use super::Findings;
use crate::{
    generate::RESERVED,
    names::{field_name, is_name},
};

/// Lines of one list that are written; the rest is counted.
const MANY: usize = 30;

/// The file: what `generate` needs, what the contract suggests as comments, all else as comments
/// with its default. `inputs` are relative to the file.
#[must_use]
pub fn codegen_toml(found: &Findings, inputs: &[String]) -> String {
    let mut page = Page(String::new());
    let title = if found.title.is_empty() { "the contract".to_owned() } else { one_line(&found.title) };
    page.say(&format!(
        "What {title} leaves to its owner. Written by `contract-codegen init`, yours to edit;"
    ));
    page.say("`contract-codegen generate` without arguments reads this file.");
    page.say("");
    page.say(
        "A selector is the end of a schema's location: `#/components/schemas/Error`, or with the name of",
    );
    page.say("its file in front. An option that no longer applies is an error; of `mounts`, `[streams]` and");
    page.say("`credentials` it is a warning.");

    page.part("Files and folders of the contract, relative to this file.");
    page.line(&format!("inputs = [{}]", quoted(inputs).join(", ")));
    page.part("Name of the package.");
    page.line(&format!("package = {}", Quoted(&found.package)));
    mounts(&mut page, found);
    secrets(&mut page, found);
    unknown(&mut page);
    page.table("input");
    page.say("What faults of the contract do: \"warn\" reads what is meant and leaves out what cannot be;");
    page.say("\"deny\" refuses the contract.");
    page.say("faults = \"warn\"");
    output(&mut page, found);
    types(&mut page, found);
    operations(&mut page, found);
    page.part("Rust names for schemas.");
    page.say("[names]");
    page.say("\"#/components/schemas/Error\" = \"Problem\"");
    page.part("Types of your own for schemas; they implement `Read` and `Serialize`.");
    page.say("[replace]");
    page.say("\"#/components/schemas/Money\" = \"crate::Money\"");
    page.part("Traits that types derive beside their own; `*` is for all, `Default` for those that can.");
    page.say("[derives]");
    page.say("\"*\" = [\"Default\"]");
    page.part("Attributes of types, and of the fields of members.");
    page.say("[attributes]");
    page.say("\"#/components/schemas/Error\" = [\"#[doc(alias = \\\"fault\\\")]\"]");
    areas(&mut page, found);
    page.0
}

fn mounts(page: &mut Page, found: &Findings) {
    page.part("Folders that answer URI prefixes of references; nothing is fetched.");
    if !found.unanswered.is_empty() {
        page.say("Nothing answers these, so that any JSON passes there:");
        page.some(&found.unanswered, |uri| format!("  {}", one_line(uri)));
    }
    if found.mounts.is_empty() {
        let first = found.unanswered.first().map_or("https://example.com/schemas/", String::as_str);
        let prefix = first.rfind('/').and_then(|at| first.get(..=at)).unwrap_or(first);
        page.say(&format!("mounts = {{ {} = \"vendor\" }}", Quoted(prefix)));
        return;
    }
    let all = found.mounts.iter().map(|(prefix, path)| {
        let path = path.to_string_lossy().replace('\\', "/");
        format!("{} = {}", Quoted(prefix), Quoted(&path))
    });
    page.line(&format!("mounts = {{ {} }}", all.collect::<Vec<_>>().join(", ")));
}

fn secrets(page: &mut Page, found: &Findings) {
    page.part("Schemas whose values nothing prints: `Debug` hides them, violations never hold values.");
    if found.secrets.is_empty() {
        page.say("secrets = []");
        return;
    }
    page.say("These look like it:");
    page.say("secrets = [");
    for (selector, why) in &found.secrets {
        page.say(&format!("    {}, # {why}", Quoted(selector)));
    }
    page.say("]");
}

fn unknown(page: &mut Page) {
    page.part(
        "String enumerations and tagged unions keep values they do not know wherever answers hold them;",
    );
    page.say("these refuse them:");
    page.say("closed = []");
    page.part("They refuse them where requests alone hold them; these keep them:");
    page.say("open = []");
    page.part("Schemas that are `null`, too, though the contract does not say so.");
    page.say("nullable = []");
}

fn output(page: &mut Page, found: &Findings) {
    page.table("output");
    page.say("Where the code goes, relative to this file; it belongs to the generator.");
    page.line(&format!("path = {}", Quoted(&found.package)));
    page.say("\"crate\": a package; \"modules\": source files for yours; \"file\": one of them.");
    page.say("layout = \"crate\"");
    if found.operations > 0 {
        page.say(&format!("A client for {}, and a server interface.", amount(found.operations, "operation")));
        page.say("client = true");
        page.say("server = true");
        page.say(
            "Whether there is a command line: true, or { name = \"…\", variables = \"…\", server = \"…\" }.",
        );
        page.say("cli = false");
        page.say("Whether client and server stand behind features of these names.");
        page.say("features = true");
    }
    page.say("Whether the types have schemas for `schemars`, behind a feature of that name.");
    page.say("schemars = true");
    page.say("Whether the types have strategies for `proptest`, likewise.");
    page.say("proptest = true");
    page.say("Path of contract-runtime; without it the runtime is written into the package.");
    page.say("runtime = \"../runtime\"");
    if found.workspace {
        page.say(
            "There is a workspace around it. With this the package and its runtime are members of that,",
        );
        page.say("which `members` may have to name; without it they are a workspace of their own.");
        page.say("member = true");
    } else {
        page.say("Whether the package and its runtime are members of a workspace around them.");
        page.say("member = false");
    }
}

fn types(page: &mut Page, found: &Findings) {
    page.table("types");
    page.say("Which structs get a builder: \"requests\", \"all\", \"none\".");
    page.say("builders = \"requests\"");
    match found.unbounded.as_slice() {
        [] => page.say("Integers without bounds: \"i64\", or \"exact\" for any size."),
        some => {
            page.say(&format!(
                "{} without bounds: \"i64\", which refuses larger values, or \"exact\" for any size. For example",
                amount(some.len(), "integer")
            ));
            some.iter().take(3).for_each(|selector| page.say(&format!("  {selector}")));
        }
    }
    page.say("unbounded-integers = \"i64\"");
    let implied = match found.implied {
        0 => String::new(),
        count => format!("; {} without `type`", amount(count, "schema")),
    };
    page.say(&format!("Whether `properties` without `type` mean an object{implied}."));
    page.say("implied-objects = true");
    page.say("Schemas of which the opposite holds.");
    page.say("implied-otherwise = []");
    page.say(
        "Bases with a `discriminator` and no `oneOf` that become enums of what takes them in by `allOf`.",
    );
    match found.families.as_slice() {
        [] => page.say("families = []"),
        some => {
            page.say("families = [");
            for (selector, children) in some {
                let children =
                    if *children == 1 { "1 child".to_owned() } else { format!("{children} children") };
                page.say(&format!("    {}, # {children}", Quoted(selector)));
            }
            page.say("]");
        }
    }
    let unknown = match found.unknown_keywords {
        0 => String::new(),
        count => format!("; {count} here"),
    };
    page.say(&format!("Keywords that JSON Schema does not know: \"deny\", \"warn\", \"ignore\"{unknown}."));
    page.say("unknown-keywords = \"warn\"");
    page.say(
        "What OpenAPI 3.0's `nullable` means beside anything but `type`: \"or-null\", or \"strict\" for",
    );
    page.say("nothing, as its specification says.");
    page.say("nullable = \"or-null\"");
    page.say("Patterns with look-around or back-references, which cannot be matched in linear time:");
    page.say(
        "\"deny\", or \"keep\" to leave all of them unchecked with a warning; as faults are by default.",
    );
    page.say("unsupported = \"deny\"");
    page.say("Formats whose texts become types; what does not parse is then a violation.");
    page.say("formats = { date-time = \"jiff\", uuid = \"uuid\" }");
    page.say("Crates whose types the contract may name by `x-rust-type`.");
    page.say("rust-types = []");
    if !found.patterns.is_empty() {
        page.say("The patterns that are left unchecked; write them otherwise if you can.");
        page.line("unchecked = [");
        for (selector, pattern) in &found.patterns {
            page.line(&format!("    {}, # {}", Quoted(selector), one_line(pattern)));
        }
        page.line("]");
    }
}

fn operations(page: &mut Page, found: &Findings) {
    if found.operations + found.webhooks == 0 {
        return;
    }
    page.table("operations");
    let counts = match found.webhooks {
        0 => amount(found.operations, "operation"),
        some => format!("{}, {}", amount(found.operations, "operation"), amount(some, "webhook")),
    };
    page.say(&format!("Which of {counts} are generated, with what they reach; all by default."));
    let tag = found.tags.first().map_or("name", |(tag, _)| tag.as_str());
    page.say(&format!(
        "include = [{{ tag = {} }}, {{ path = \"/**\" }}, {{ operation = \"*\" }}]",
        Quoted(tag)
    ));
    page.say("exclude = []");
    page.say("The header parameter that makes a call safe to repeat.");
    let header = found.idempotency.first().map_or("Idempotency-Key", String::as_str);
    page.say(&format!("idempotency-header = {}", Quoted(header)));
    page.say("Headers that something around handlers reads and writes.");
    page.say("hidden-headers = []");
    page.table("client");
    page.say("Header parameters that the transport supplies.");
    page.say(&format!("transport-headers = [{}]", quoted(&found.transport).join(", ")));
    page.say("Whether there are credentials: a setter for each of `securitySchemes`, and a transport.");
    page.say("credentials = false");
    if found.refused.is_empty() {
        page.say(
            "Whether operations that no client can call are left out of it, or refused; as faults are by",
        );
        page.say("default.");
        page.say("skip-unsupported = true");
    } else {
        page.say("Left out, since no client can call them:");
        page.some(&found.refused, |refused| format!("  {}", one_line(refused)));
        page.line("skip-unsupported = true");
    }
    if !found.servers.is_empty() {
        page.say("");
        page.say("The contract's servers, which `Client::new` takes:");
        page.some(&found.servers, |server| format!("  {}", one_line(server)));
    }
    page.part("Events, lines of JSON and named bytes are handed on as they come, with this table alone.");
    page.say("[streams]");
    page.say("Texts of events that end a stream, and names of events behind which nothing comes.");
    page.say("ends = [\"[DONE]\"]");
    page.say("last-events = []");
    page.say("downloads = []");
    page.say("uploads = []");
    pages(page, found);
}

fn pages(page: &mut Page, found: &Findings) {
    page.part("Operations that answer page by page: a stream of pages and one of items for each.");
    if found.pages.is_empty() {
        page.say("[[pages]]");
        page.say("operations = [\"listNames\"]");
        page.say("items = \"/items\"");
        page.say("cursor = { from = \"/next\", to = \"cursor\" }");
        return;
    }
    page.say("These look like it:");
    for paged in &found.pages {
        page.say("");
        page.say("[[pages]]");
        page.say("operations = [");
        paged.operations.iter().for_each(|id| page.say(&format!("    {},", Quoted(id))));
        page.say("]");
        paged.lines.iter().for_each(|line| page.say(line));
    }
}

fn areas(page: &mut Page, found: &Findings) {
    page.part("Modules, one file each: what only operations of these tags reach, and schemas by selector.");
    page.say("What belongs to none is in `models`.");
    let own: Vec<&(String, usize)> = found.tags.iter().filter(|(_, types)| *types > 0).collect();
    if own.is_empty() {
        page.say("[[area]]");
        page.say("name = \"errors\"");
        page.say("schemas = [\"#/components/schemas/Error\"]");
    }
    for (tag, types) in own {
        page.say("");
        page.say(&format!("[[area]] # {}", amount(*types, "type")));
        page.say(&format!("name = {}", Quoted(&module(tag))));
        page.say(&format!("tags = [{}]", Quoted(tag)));
    }
}

/// A module's name from a tag.
fn module(tag: &str) -> String {
    let name = field_name(tag);
    let name = name.trim_end_matches('_');
    if RESERVED.contains(&name) || name == "models" || !is_name(name) {
        format!("{name}_area")
    } else {
        name.to_owned()
    }
}

fn amount(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

fn quoted(list: &[String]) -> Vec<String> {
    list.iter().map(|each| Quoted(each).to_string()).collect()
}

/// A string of TOML, in one line (TOML 1.0, String).
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl fmt::Display for Quoted<'_> {
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

/// Text of the contract that must not end a comment.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

struct Page(String);

impl Page {
    fn line(&mut self, text: &str) {
        // Writing into a string does not fail.
        let _ = writeln!(self.0, "{text}");
    }

    /// A comment.
    fn say(&mut self, text: &str) {
        self.line(format!("# {text}").trim_end());
    }

    /// A blank line, then what comes next.
    fn part(&mut self, about: &str) {
        self.line("");
        self.say(about);
    }

    fn table(&mut self, name: &str) {
        self.line("");
        self.line(&format!("[{name}]"));
    }

    /// The first of a list as comments, and how many more there are.
    fn some<T>(&mut self, list: &[T], text: impl Fn(&T) -> String) {
        list.iter().take(MANY).for_each(|each| self.say(&text(each)));
        if let Some(more) = list.len().checked_sub(MANY).filter(|more| *more > 0) {
            self.say(&format!("    # and {more} more"));
        }
    }
}

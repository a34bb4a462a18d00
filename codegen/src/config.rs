//! `codegen.toml`: what a contract's owner decides and the contract does not say.
//!
//! Every option names something of the contract; one that no longer applies is an error, so
//! that the file never carries what has lost its meaning. Schemas are named by *selectors*:
//! the end of their location, `problem.schema.json#/$defs/code` or `#/components/schemas/Error`.

mod overlay;
mod position;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use serde::Deserialize;

pub use self::overlay::Overlay;

use crate::{
    diagnostics::{Faults, Text, Texts},
    tree::{Place, SourceId, Span},
};

/// The whole file. Unknown keys are refused.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Files and folders of the contract, relative to this file.
    pub inputs: Vec<PathBuf>,
    /// How the contract is read.
    pub input: Input,
    /// URI prefixes and the folders that answer them: `{ "https://example.com/schemas/" = "vendor" }`.
    pub mounts: BTreeMap<String, PathBuf>,
    /// Name of the generated package.
    pub package: Option<String>,
    /// What is written.
    pub output: Output,
    /// How schemas become types.
    pub types: TypeOptions,
    /// Modules: one file each.
    #[serde(rename = "area")]
    pub areas: Vec<Area>,
    /// Rust names for schemas, by selector.
    pub names: BTreeMap<String, String>,
    /// Schemas whose values nobody may see in a log, by selector.
    pub secrets: Vec<String>,
    /// String enumerations and tagged unions that requests alone hold and whose unknown values
    /// readers keep nevertheless, by selector.
    pub open: Vec<String>,
    /// Those that answers hold and whose unknown values readers refuse, by selector.
    pub closed: Vec<String>,
    /// Schemas that are `null`, too, though the contract does not say so, by selector.
    pub nullable: Vec<String>,
    /// Schemas that a type of your own represents: selector → path of the type.
    pub replace: BTreeMap<String, String>,
    /// Traits that types derive beside their own: selector → paths; `*` stands for every type.
    pub derives: BTreeMap<String, Vec<String>>,
    /// Attributes of types, and of the fields of members: selector → attributes.
    pub attributes: BTreeMap<String, Vec<String>>,
    /// Registry tables.
    #[serde(rename = "table")]
    pub tables: Vec<Table>,
    /// Traits over types and over calls.
    #[serde(rename = "view")]
    pub views: Vec<View>,
    /// The generated client.
    pub client: ClientConfig,
    /// The operations table and the server interface.
    pub operations: OperationConfig,
    /// What is handed on as it comes; nothing without it.
    pub streams: Option<StreamConfig>,
    /// The file itself, for diagnostics.
    #[serde(skip)]
    pub file: Option<ConfigFile>,
}

/// `[input]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Input {
    /// What faults of the contract do: `warn`, or `deny` for nothing generated.
    pub faults: Faults,
    /// Overlays and JSON merge patches that mend documents, in this order.
    pub overlays: Vec<Overlay>,
}

/// The file that options were read from.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    /// Its name.
    pub name: String,
    /// What stands in it.
    pub text: Arc<str>,
}

impl Config {
    /// Where a value of an option stands. The option is a path of keys, `types.unchecked`; the
    /// value a text in its list, a key of its table, or what one of its tables holds.
    pub(crate) fn place(&self, option: &str, value: &str) -> Option<Place> {
        self.spot(|text| position::find(text, option, value))
    }

    /// The same of an option of one of the tables in a list, which are numbered from 0.
    pub(crate) fn place_in(&self, list: &str, index: usize, option: &str, value: &str) -> Option<Place> {
        self.spot(|text| position::find_in(text, (list, index), option, value))
    }

    /// Where a table of options stands, by its name.
    pub(crate) fn place_of(&self, table: &str) -> Option<Place> {
        self.spot(|text| position::find_table(text, table))
    }

    fn spot(&self, find: impl FnOnce(&str) -> Option<Span>) -> Option<Place> {
        let span = find(&self.file.as_ref()?.text)?;
        Some(Place { source: SourceId::OPTIONS, pointer: String::new(), span })
    }
}

impl Texts for ConfigFile {
    fn texts(&self) -> impl Iterator<Item = (SourceId, Text)> {
        let text = Text { name: self.name.clone(), text: Arc::clone(&self.text) };
        std::iter::once((SourceId::OPTIONS, text))
    }
}

/// `[output]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Output {
    /// Where `generate` writes, relative to this file: a folder, or a file for `layout = "file"`.
    pub path: Option<PathBuf>,
    /// `crate`: a package with its `Cargo.toml`; `modules`: source files alone; `file`: one of them.
    pub layout: Layout,
    /// Whether a client is generated.
    pub client: bool,
    /// Whether a server interface is generated.
    pub server: bool,
    /// Whether the types have schemas for `schemars`: behind a feature of this name in a package,
    /// where they are unless it is said, and elsewhere only when it is.
    pub schemars: Option<bool>,
    /// Whether client, server and schemas stand behind features of these names, for the package that they
    /// are compiled in. Unless it is said, they do in packages and modules and not in one file.
    pub features: Option<bool>,
    /// Where the runtime is when it is not written into the output: packages can share one.
    pub runtime: Option<Runtime>,
    /// Whether the package is a member of a workspace around it, and none by itself.
    pub member: bool,
}

impl Output {
    /// Whether client, server and schemas stand behind features.
    #[must_use]
    pub fn gated(&self) -> bool {
        self.features.unwrap_or(self.layout != Layout::File)
    }

    /// Whether the types have schemas for `schemars`.
    #[must_use]
    pub fn has_schemas(&self) -> bool {
        self.schemars.unwrap_or(self.layout == Layout::Crate && self.gated())
    }
}

impl Default for Output {
    fn default() -> Self {
        Self {
            path: None,
            layout: Layout::Crate,
            client: true,
            server: true,
            schemars: None,
            features: None,
            runtime: None,
            member: false,
        }
    }
}

/// A runtime that lies elsewhere: `"../runtime"`, or `{ path = "../north/runtime", package =
/// "north-runtime" }` for the one that another generated package brings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Runtime {
    /// The path of `contract-runtime` itself, as the manifest names it.
    Home(String),
    /// Another name's.
    #[serde(rename_all = "kebab-case")]
    Named {
        /// Its path, as the manifest names it.
        path: String,
        /// The name of its package.
        package: String,
    },
}

/// Shape of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// A package that compiles as it lies there.
    #[default]
    Crate,
    /// Source files for a package of your own: `root.rs` declares the others.
    Modules,
    /// One source file that holds them all, for `mod api;` or `include!`.
    File,
}

/// `[types]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TypeOptions {
    /// Which structs get a builder: those that requests hold, all, or none.
    pub builders: Builders,
    /// What an integer without a bound or an `int32`/`int64` format becomes.
    pub unbounded_integers: UnboundedIntegers,
    /// Whether a schema with `properties` but without `type` is read as an object.
    pub implied_objects: bool,
    /// Schemas of which the opposite holds, by selector.
    pub implied_otherwise: Vec<String>,
    /// Bases with a `discriminator` and no `oneOf` that become enums of what takes them in by `allOf`,
    /// by selector.
    pub families: Vec<String>,
    /// What happens to keywords that JSON Schema does not know.
    pub unknown_keywords: UnknownKeywords,
    /// What happens to what cannot be expressed, such as a look-ahead in a pattern; unless it is
    /// said, what happens to faults.
    pub unsupported: Option<Unsupported>,
    /// What `nullable: true` of OpenAPI 3.0 means beside anything but `type`.
    pub nullable: Nullable,
    /// Schemas whose `pattern`, or a key of whose `patternProperties`, cannot be run and is left
    /// unchecked, by selector.
    pub unchecked: Vec<String>,
    /// Formats whose texts become types: `{ date-time = "jiff" }` for a ready one, `{ x-sku = { type =
    /// "crate::Sku" } }` for one of your own.
    pub formats: BTreeMap<String, FormatType>,
    /// Crates whose types a contract may name by `x-rust-type`; what it says of others is passed over.
    pub rust_types: Vec<String>,
}

/// The type of a format.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum FormatType {
    /// A ready one, by its package: `jiff`, `chrono`, `time`, `uuid`, `url`, `std`, `base64`.
    Ready(String),
    /// One of the owner's.
    #[serde(rename_all = "kebab-case")]
    Own {
        /// Its path.
        #[serde(rename = "type")]
        path: String,
        /// The path of what makes it of a `&str`, a `Result`; `FromStr` unless it is said.
        read: Option<String>,
        /// The path of what makes text of a `&T`, a `String`; `Display` unless it is said.
        write: Option<String>,
    },
}

impl Default for TypeOptions {
    fn default() -> Self {
        Self {
            builders: Builders::Requests,
            unbounded_integers: UnboundedIntegers::I64,
            implied_objects: true,
            implied_otherwise: Vec::new(),
            families: Vec::new(),
            unknown_keywords: UnknownKeywords::Warn,
            unsupported: None,
            nullable: Nullable::OrNull,
            unchecked: Vec::new(),
            formats: BTreeMap::new(),
            rust_types: Vec::new(),
        }
    }
}

/// Which structs get a builder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Builders {
    /// Those reachable from a request body.
    Requests,
    /// Every struct.
    All,
    /// None.
    None,
}

/// What an unbounded integer becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnboundedIntegers {
    /// `i64`; a value beyond is refused when it is read.
    I64,
    /// `Number`, exact whatever its size.
    Exact,
}

/// What happens to keywords that JSON Schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownKeywords {
    /// An error.
    Deny,
    /// A warning.
    Warn,
    /// Nothing.
    Ignore,
}

/// What `nullable: true` of OpenAPI 3.0 means beside anything but `type`: `$ref`, `allOf`, `anyOf`,
/// `oneOf`, or an `enum` without `null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nullable {
    /// "Or null", as everybody who writes it means it.
    OrNull,
    /// Nothing, as OpenAPI 3.0.3 says; each such place is a warning.
    Strict,
}

/// What happens to what cannot be expressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unsupported {
    /// An error.
    Deny,
    /// A warning; the constraint is left unchecked, and the value keeps its plain type.
    Keep,
}

/// `[[area]]`: a module and what it holds.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Area {
    /// Module name.
    pub name: String,
    /// First line of its documentation.
    pub doc: String,
    /// Source names (without folder and `.schema.json`) or selectors of schemas.
    pub schemas: Vec<String>,
    /// Tags: what their operations reach belongs here too, unless another area reaches or names it.
    pub tags: Vec<String>,
}

/// `[[table]]`: an enum made from the rows of a JSON file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Table {
    /// Name of the enum.
    pub name: String,
    /// The file, relative to `codegen.toml`.
    pub file: PathBuf,
    /// JSON Pointer of the array of rows.
    pub rows: String,
    /// The member that names a row.
    pub key: String,
    /// Whether readers keep a value that no row has.
    pub open: bool,
    /// Documentation of the enum.
    pub doc: String,
    /// The member whose text documents a variant.
    pub describe: Option<String>,
    /// String columns that become enums of their own: column → name of the enum.
    pub enums: BTreeMap<String, String>,
    /// Columns that are left out.
    pub skip: Vec<String>,
}

/// `[[view]]`: a trait over types that have members in common, or over calls that take the same
/// parameters.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct View {
    /// Name of the trait.
    pub name: String,
    /// Documentation of the trait.
    pub doc: String,
    /// The schemas of its types, by selector.
    pub types: Vec<String>,
    /// The members that all of these types have, by their names on the wire.
    pub members: Vec<String>,
    /// Names of associated types, by member. One that is named is there whatever the types hold; one
    /// for a member that holds another type in each is called after the member unless it is named.
    pub associated: BTreeMap<String, String>,
    /// The operations whose calls it is over, by `operationId`, instead of `types`.
    pub operations: Vec<String>,
    /// The parameters that all of these operations take, by their names on the wire.
    pub parameters: Vec<String>,
    /// The view over types that all their answers have.
    pub answer: Option<String>,
}

/// `[client]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ClientConfig {
    /// Header and cookie parameters that the transport supplies: they are no arguments.
    pub transport_headers: Vec<String>,
    /// Whether operations that no client can call are left out with a warning; unless it is said,
    /// as faults are.
    pub skip_unsupported: Option<bool>,
    /// Members of refusals (`code`, an id) whose text an error's `Display` shows. None unless they
    /// are named: what a refusal holds may be secret.
    pub shown: Vec<String>,
    /// Whether there is a module of credentials: a setter for each of `securitySchemes`, and a
    /// transport that shows what an operation's `security` asks for.
    pub credentials: bool,
}

/// `[operations]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct OperationConfig {
    /// The header whose presence makes an operation idempotent.
    pub idempotency_header: Option<String>,
    /// Headers that no handler sees or writes, since something around it does: parameters of
    /// requests, headers of responses. Clients leave them to their transport.
    pub hidden_headers: Vec<String>,
    /// Operations that only read, whatever their method, by `operationId`.
    pub safe: Vec<String>,
    /// Operations of which a second sending changes nothing more, whatever their method.
    pub idempotent: Vec<String>,
    /// Operations whose bodies and successes are bytes on both sides: what has to be passed on as
    /// it is.
    pub raw: Vec<String>,
    /// The operations and webhooks that are generated, with the schemas that they reach; all of
    /// them when the list is empty.
    pub include: Vec<Selection>,
    /// Those that are not, of the ones above.
    pub exclude: Vec<Selection>,
}

impl OperationConfig {
    /// Whether no operation is left out.
    #[must_use]
    pub const fn takes_all(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }
}

/// `[streams]`: operations that answer or take events, lines of JSON or JSON text sequences do so
/// item by item.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct StreamConfig {
    /// Texts of events behind which nothing comes, and which are no events themselves: `[DONE]`.
    pub ends: Vec<String>,
    /// Names of events behind which nothing comes: `message_stop`.
    pub last_events: Vec<String>,
    /// Operations whose answers are bytes that are handed on as they come, by `operationId`.
    pub downloads: Vec<String>,
    /// Operations whose bodies are bytes that are sent and read as they come.
    pub uploads: Vec<String>,
}

/// What chooses operations: `{ tag = "issues" }`. Where several members are given, all must hold.
///
/// `*` stands for any characters, in a path for those of one segment, where `**` stands for any
/// number of segments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Selection {
    /// One of its tags.
    pub tag: Option<String>,
    /// Its path template: `/repos/**`, `/repos/*/*/issues`.
    pub path: Option<String>,
    /// Its `operationId`.
    pub operation: Option<String>,
    /// The name of a webhook.
    pub webhook: Option<String>,
}

impl std::fmt::Display for Selection {
    /// As it stands in the file: `{ tag = "issues" }`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tag, path, operation, webhook } = self;
        let members = [("tag", tag), ("path", path), ("operation", operation), ("webhook", webhook)];
        let members = members.into_iter().filter_map(|(name, value)| value.as_ref().map(|v| (name, v)));
        let members: Vec<String> = members.map(|(name, value)| format!("{name} = {value:?}")).collect();
        write!(f, "{{ {} }}", members.join(", "))
    }
}

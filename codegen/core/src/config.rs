//! The options in `codegen.toml`: decisions of a contract's owner that the contract does not contain.
//!
//! An option that matches nothing in the contract is an error, so that the file contains no obsolete options.
//! *Selectors* name schemas by the end of their location: `problem.schema.json#/$defs/code` or
//! `#/components/schemas/Error`.
//!
//! ```
//! # use contract_codegen_core as contract_codegen;
//! use contract_codegen::config::{Config, OutputLayout, UnboundedIntegerType};
//!
//! let mut config = Config::default();
//! config.output.layout = OutputLayout::File;
//! config.types.unbounded_integers = UnboundedIntegerType::Exact;
//! config.secrets.push("#/components/schemas/Token".to_owned());
//! ```

mod command_line;
mod overlay;
mod package;
mod pages;
mod position;
mod wire;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use serde::Deserialize;

pub use self::pages::{
    CursorPagination, LinkPagination, LinkPaginationTable, LinkTargetScope, NextUrlPagination, NextUrlTable,
    OffsetIncrement, OffsetPagination, PageNumberPagination, PaginationConfig,
};
pub use self::{
    command_line::CommandLineConfig,
    overlay::OverlayEntry,
    package::PackageConfig,
    wire::{ArraySetting, NestedSetting, WireConfig, WireSettings},
};

use crate::{
    diagnostics::{FaultPolicy, SourceText, SourceTextProvider},
    tree::{DocumentLocation, SourceId, Span},
};

/// The complete file. Unknown keys are errors.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// The files and folders of the contract, relative to this file.
    pub inputs: Vec<PathBuf>,
    /// Options for reading the contract.
    pub input: InputConfig,
    /// URI prefixes and the folders to which they map: `{ "https://example.com/schemas/" = "vendor" }`.
    pub mounts: BTreeMap<String, PathBuf>,
    /// The name of the generated package, or a table with more fields of its manifest.
    #[serde(deserialize_with = "package::deserialize_package")]
    pub package: PackageConfig,
    /// Options for the generated files.
    pub output: OutputConfig,
    /// Options for the translation of schemas to types.
    pub types: TypeOptions,
    /// The modules of the generated types, one file each.
    #[serde(rename = "area")]
    pub areas: Vec<AreaConfig>,
    /// Rust names for schemas: selector → name.
    pub names: BTreeMap<String, String>,
    /// Selectors of schemas with secret values, which `Debug` output and logs hide.
    pub secrets: Vec<String>,
    /// Selectors of string enumerations and tagged unions that are used only in requests. Their readers keep
    /// unknown values instead of rejecting them.
    pub open: Vec<String>,
    /// Selectors of enumerations and tagged unions of responses. Their readers reject unknown values.
    pub closed: Vec<String>,
    /// Selectors of schemas that also accept `null`, although the contract does not allow it.
    pub nullable: Vec<String>,
    /// Your own types for schemas: selector → path of the type.
    pub replace: BTreeMap<String, String>,
    /// Additional derives: selector → paths of the traits; `*` selects every type.
    pub derives: BTreeMap<String, Vec<String>>,
    /// Attributes of types and fields: selector → attributes.
    pub attributes: BTreeMap<String, Vec<String>>,
    /// Enums that are generated from the rows of JSON files.
    #[serde(rename = "table")]
    pub tables: Vec<TableConfig>,
    /// Traits over several types or over several calls.
    #[serde(rename = "view")]
    pub views: Vec<ViewConfig>,
    /// Options of the generated client.
    pub client: ClientConfig,
    /// Options of the operations table and the server interface.
    pub operations: OperationConfig,
    /// Conventions for lists and nested values in queries and forms.
    pub wire: WireConfig,
    /// Options for streamed bodies; absent: nothing is streamed.
    pub streams: Option<StreamConfig>,
    /// The paginated operations.
    pub pages: Vec<PaginationConfig>,
    /// The configuration file itself, for diagnostics.
    #[serde(skip)]
    pub file: Option<ConfigFile>,
}

/// The table `[input]`: how the contract is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct InputConfig {
    /// The treatment of faults of the contract: `warn`, or `deny` to generate nothing.
    pub faults: FaultPolicy,
    /// Overlays and JSON merge patches, applied to the documents in this order.
    pub overlays: Vec<OverlayEntry>,
}

/// The file from which the options were parsed.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    /// The name of the file, as diagnostics print it.
    pub name: String,
    /// The content of the file.
    pub text: Arc<str>,
}

impl Config {
    /// Returns the location of an option's value. `option` is a path of keys such as `types.unchecked`;
    /// `value` is a string in its list, or a key or value of its table.
    pub(crate) fn option_place(&self, option: &str, value: &str) -> Option<DocumentLocation> {
        self.place_from_span(|text| position::find_value(text, option, value))
    }

    /// Returns the location of an option's value in the table number `index` (from 0) of an array of tables.
    pub(crate) fn table_option_place(
        &self,
        list: &str,
        index: usize,
        option: &str,
        value: &str,
    ) -> Option<DocumentLocation> {
        self.place_from_span(|text| position::find_value_in_table(text, (list, index), option, value))
    }

    /// Returns true if the module `credentials` is generated.
    pub(crate) const fn has_credentials(&self) -> bool {
        self.client.credentials || self.output.cli.is_some()
    }

    /// Returns the location of the first header of a table.
    pub(crate) fn table_place(&self, table: &str) -> Option<DocumentLocation> {
        self.place_from_span(|text| position::find_table(text, table))
    }

    fn place_from_span(&self, find: impl FnOnce(&str) -> Option<Span>) -> Option<DocumentLocation> {
        let span = find(&self.file.as_ref()?.text)?;
        Some(DocumentLocation { source: SourceId::OPTIONS, pointer: String::new(), span })
    }
}

impl SourceTextProvider for ConfigFile {
    fn source_texts(&self) -> impl Iterator<Item = (SourceId, SourceText)> {
        let text = SourceText { name: self.name.clone(), text: Arc::clone(&self.text) };
        std::iter::once((SourceId::OPTIONS, text))
    }
}

/// The table `[output]`: the generated files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct OutputConfig {
    /// The output path, relative to this file: a folder, or a file for `layout = "file"`.
    pub path: Option<PathBuf>,
    /// `crate`: a package with its `Cargo.toml`; `modules`: source files only; `file`: a single source file.
    pub layout: OutputLayout,
    /// Generates a client.
    pub client: bool,
    /// Generates a server interface.
    pub server: bool,
    /// Generates `schemars` implementations, in a package behind a feature of this name. The default is
    /// `true` for packages and `false` for other layouts.
    pub schemars: Option<bool>,
    /// Generates `proptest` strategies, with the same feature and default as `schemars`.
    pub proptest: Option<bool>,
    /// Generates a command line: a module `cli` behind a feature of that name, and a binary in a package. It
    /// also generates the credentials module, as `client.credentials` does.
    #[serde(deserialize_with = "command_line::deserialize_command_line")]
    pub cli: Option<CommandLineConfig>,
    /// Places client, server and schemas behind features of the package that compiles them. The default is
    /// `true` for packages and modules, and `false` for a single file.
    pub features: Option<bool>,
    /// The location of a shared runtime. By default, the runtime is written into the output.
    pub runtime: Option<RuntimeLocation>,
    /// The generated package is a member of the enclosing workspace instead of a workspace root. The default is
    /// `true` below a Cargo workspace that does not exclude the output path, as far as the path is known.
    pub member: Option<bool>,
}

impl OutputConfig {
    /// Returns true if client, server and schemas are behind features.
    #[must_use]
    pub fn has_features(&self) -> bool {
        self.features.unwrap_or(self.layout != OutputLayout::File)
    }

    /// Returns true if `schemars` implementations are generated.
    #[must_use]
    pub fn has_schemas(&self) -> bool {
        self.schemars.unwrap_or(self.layout == OutputLayout::Crate && self.has_features())
    }

    /// Returns true if `proptest` strategies are generated.
    #[must_use]
    pub fn has_strategies(&self) -> bool {
        self.proptest.unwrap_or(self.layout == OutputLayout::Crate && self.has_features())
    }
}

impl Default for OutputConfig {
    fn default() -> Self {
        Self {
            path: None,
            layout: OutputLayout::Crate,
            client: true,
            server: true,
            schemars: None,
            proptest: None,
            cli: None,
            features: None,
            runtime: None,
            member: None,
        }
    }
}

/// The location of a shared runtime: `"../runtime"`, or `{ path = "../north/runtime", package =
/// "north-runtime" }` for the runtime of another generated package.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum RuntimeLocation {
    /// The path of the package `contract-runtime`, as written into the manifest.
    Path(String),
    /// A runtime package with a different name.
    #[serde(rename_all = "kebab-case")]
    Package {
        /// The path of the package, as written into the manifest.
        path: String,
        /// The name of the runtime package.
        package: String,
    },
}

/// The file layout of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputLayout {
    /// A package that compiles without further files.
    #[default]
    Crate,
    /// Source files for an existing package: `root.rs` declares the other modules.
    Modules,
    /// A single source file, for `mod api;` or `include!`.
    File,
}

/// The table `[types]`: how schemas become types.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TypeOptions {
    /// The structs with a builder: those in requests, all, or none.
    pub builders: BuilderScope,
    /// The type of an integer without a bound and without an `int32` or `int64` format.
    pub unbounded_integers: UnboundedIntegerType,
    /// Treats a schema with `properties` but without `type` as an object.
    pub implied_objects: bool,
    /// Selectors of schemas for which the opposite of `implied-objects` applies.
    pub implied_otherwise: Vec<String>,
    /// Selectors of base schemas with a `discriminator` and no `oneOf`. Each becomes an enum of the schemas
    /// that include it by `allOf`. By default these are the bases that require their tag and that a value has as
    /// its schema.
    pub families: Option<Vec<String>>,
    /// The treatment of keywords that JSON Schema does not define.
    pub unknown_keywords: UnknownKeywordSetting,
    /// The treatment of constraints that cannot be implemented, such as a look-ahead in a pattern. The
    /// default is that of faults.
    pub unsupported: Option<UnsupportedPolicy>,
    /// The meaning of `nullable: true` of OpenAPI 3.0 next to other keywords than `type`.
    pub nullable: NullableSetting,
    /// Selectors of schemas whose `pattern`, or a key of whose `patternProperties`, is not supported and may
    /// be left unchecked.
    pub unchecked: Vec<String>,
    /// Formats that become types: `{ date-time = "jiff" }` for a built-in mapping, `{ x-sku = { type =
    /// "crate::Sku" } }` for your own type.
    pub formats: BTreeMap<String, FormatType>,
    /// Crates whose types a contract may name by `x-rust-type`; the extension is ignored for other crates.
    pub rust_types: Vec<String>,
}

/// The Rust type of a format.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum FormatType {
    /// A built-in mapping, by package: `jiff`, `chrono`, `time`, `uuid`, `url`, `std`, `base64`.
    Builtin(String),
    /// A type of the contract's owner.
    #[serde(rename_all = "kebab-case")]
    Custom {
        /// The path of the type.
        #[serde(rename = "type")]
        path: String,
        /// The path of the function from `&str` to a `Result`; the default is `FromStr`.
        read: Option<String>,
        /// The path of the function from `&T` to a `String`; the default is `Display`.
        write: Option<String>,
    },
}

impl Default for TypeOptions {
    fn default() -> Self {
        Self {
            builders: BuilderScope::Requests,
            unbounded_integers: UnboundedIntegerType::I64,
            implied_objects: true,
            implied_otherwise: Vec::new(),
            families: None,
            unknown_keywords: UnknownKeywordSetting::Warn,
            unsupported: None,
            nullable: NullableSetting::OrNull,
            unchecked: Vec::new(),
            formats: BTreeMap::new(),
            rust_types: Vec::new(),
        }
    }
}

/// The set of structs with a builder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BuilderScope {
    /// Structs that are reachable from a request body.
    Requests,
    /// Every struct of the contract.
    All,
    /// No struct, not even in requests.
    None,
}

/// The type of an unbounded integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnboundedIntegerType {
    /// `i64`; readers reject values outside its range.
    I64,
    /// `Number`, which is exact for integers of any size.
    Exact,
}

/// The treatment of keywords that JSON Schema does not define.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownKeywordSetting {
    /// Unknown keywords are errors, and no code is generated.
    Deny,
    /// Unknown keywords are warnings.
    Warn,
    /// Unknown keywords are ignored, as JSON Schema specifies.
    Ignore,
}

/// The meaning of `nullable: true` of OpenAPI 3.0 next to other keywords than `type`: `$ref`, `allOf`,
/// `anyOf`, `oneOf`, or an `enum` without `null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NullableSetting {
    /// The value may be `null`, which is what authors intend.
    OrNull,
    /// It has no effect, as OpenAPI 3.0.3 specifies; each occurrence is a warning.
    Strict,
}

/// The treatment of constraints that cannot be implemented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnsupportedPolicy {
    /// They are errors, and no code is generated.
    Deny,
    /// They are warnings: the constraint is not checked, and the value keeps its plain type.
    Keep,
}

/// A table `[[area]]`: a module and the schemas in it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AreaConfig {
    /// The name of the module.
    pub name: String,
    /// The first line of the module's documentation.
    pub doc: String,
    /// Names of sources (without folder and `.schema.json`), or selectors of schemas.
    pub schemas: Vec<String>,
    /// Tags. Schemas that only operations with these tags reach belong to this area, too.
    pub tags: Vec<String>,
}

/// A table `[[table]]`: an enum that is generated from the rows of a JSON file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TableConfig {
    /// The name of the enum.
    pub name: String,
    /// The JSON file, relative to `codegen.toml`.
    pub file: PathBuf,
    /// The JSON Pointer of the array of rows in the file.
    pub rows: String,
    /// The member of a row that names its variant.
    pub key: String,
    /// Readers keep unknown values instead of rejecting them.
    pub open: bool,
    /// The documentation of the enum.
    pub doc: String,
    /// The member of a row that holds the documentation of its variant.
    pub describe: Option<String>,
    /// String columns that become enums of their own: column → name of the enum.
    pub enums: BTreeMap<String, String>,
    /// Columns without an accessor.
    pub skip: Vec<String>,
}

/// A table `[[view]]`: a trait over types with common members, or over calls with common parameters.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ViewConfig {
    /// The name of the trait.
    pub name: String,
    /// The documentation of the trait.
    pub doc: String,
    /// Selectors of the schemas whose types implement the trait.
    pub types: Vec<String>,
    /// The wire names of the members that all of these types have.
    pub members: Vec<String>,
    /// Names of associated types, by member. A named one is always generated. A member whose type differs
    /// between the types gets an associated type in any case, by default with a name derived from the member.
    pub associated: BTreeMap<String, String>,
    /// The operations whose calls implement the trait, by `operationId`; replaces `types`.
    pub operations: Vec<String>,
    /// The wire names of the parameters that all of these operations take.
    pub parameters: Vec<String>,
    /// The name of a view over types that all responses of these operations implement.
    pub answer: Option<String>,
}

/// The table `[client]`: the generated client.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ClientConfig {
    /// Header and cookie parameters that the transport adds; methods have no argument for them.
    pub transport_headers: Vec<String>,
    /// Skips operations that no client can call, with a warning, instead of failing. The default follows the
    /// treatment of faults.
    pub skip_unsupported: Option<bool>,
    /// Members of error responses (`code`, an id) that `Display` of an error shows. The default is none,
    /// since error responses may contain secrets.
    pub shown: Vec<String>,
    /// Generates the module `credentials`: a setter for each of `securitySchemes`, and a transport that adds
    /// the credentials that `security` of an operation requires.
    pub credentials: bool,
}

/// The table `[operations]`: the operations table and the server interface.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct OperationConfig {
    /// The header that makes an operation idempotent when it is present.
    pub idempotency_header: Option<IdempotencyHeader>,
    /// Headers that a layer around the handlers reads or writes: request parameters and response headers.
    /// Handlers have no access to them, and clients leave them to their transport.
    pub hidden_headers: Vec<String>,
    /// The `operationId`s of operations that are safe regardless of their method.
    pub safe: Vec<String>,
    /// The `operationId`s of operations that are idempotent regardless of their method.
    pub idempotent: Vec<String>,
    /// The `operationId`s of operations whose bodies and success responses are passed as raw bytes.
    pub raw: Vec<String>,
    /// The media types and ranges that are generated for a body with several. Bodies that list none of them
    /// have the default: JSON only, if they list JSON.
    pub media: Vec<String>,
    /// Selects the operations and webhooks that are generated, with the schemas that they reach; an empty
    /// list selects all.
    pub include: Vec<OperationSelector>,
    /// Removes operations from those that `include` selects.
    pub exclude: Vec<OperationSelector>,
}

/// The header with an idempotency key: `"Idempotency-Key"`, or `{ name = "Idempotency-Key", operations = [{ path =
/// "/v1/**" }] }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum IdempotencyHeader {
    /// The header of all operations that declare it.
    Declared(String),
    /// The header of selected operations, whether they declare it or not.
    #[serde(rename_all = "kebab-case")]
    Selected {
        /// The name of the header.
        name: String,
        /// The operations.
        operations: Vec<OperationSelector>,
    },
}

impl IdempotencyHeader {
    /// Returns the name of the header.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Declared(name) | Self::Selected { name, .. } => name,
        }
    }
}

impl OperationConfig {
    /// Returns true if no operation is removed.
    #[must_use]
    pub const fn selects_all(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }
}

/// The table `[streams]`: operations with server-sent events, JSON lines or JSON text sequences exchange them
/// item by item.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct StreamConfig {
    /// Event data that ends a stream and is not an event itself: `[DONE]`.
    pub ends: Vec<String>,
    /// The names of events that end a stream: `message_stop`.
    pub last_events: Vec<String>,
    /// The `operationId`s of operations whose response bytes are streamed.
    pub downloads: Vec<String>,
    /// The `operationId`s of operations whose request bytes are streamed.
    pub uploads: Vec<String>,
}

/// A selector of operations: `{ tag = "issues" }`. An operation must match all given members.
///
/// `*` matches any characters. In a path it matches within one segment, and `**` matches any number of
/// segments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct OperationSelector {
    /// A tag of the operation.
    pub tag: Option<String>,
    /// The path template: `/repos/**`, `/repos/*/*/issues`.
    pub path: Option<String>,
    /// The `operationId` of the operation.
    pub operation: Option<String>,
    /// The name of the webhook.
    pub webhook: Option<String>,
}

impl std::fmt::Display for OperationSelector {
    /// Formats the selector as TOML: `{ tag = "issues" }`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tag, path, operation, webhook } = self;
        let members = [("tag", tag), ("path", path), ("operation", operation), ("webhook", webhook)];
        let members = members.into_iter().filter_map(|(name, value)| value.as_ref().map(|v| (name, v)));
        let members: Vec<String> = members.map(|(name, value)| format!("{name} = {value:?}")).collect();
        write!(f, "{{ {} }}", members.join(", "))
    }
}

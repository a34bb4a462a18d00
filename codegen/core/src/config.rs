//! The options in `codegen.toml`: decisions about the generated code that the contract does not contain.
//!
//! An option that matches nothing in the contract is an error, so that the file contains no obsolete options.
//! A *selector* names schemas by the end of their location, such as `problem.schema.json#/$defs/code` or
//! `#/components/schemas/Error`. In the descriptions of maps, `selector → name` means that the key is a
//! selector and the value a name.
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
#[cfg(test)]
mod json_schema;
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
pub(crate) use self::position::table_at;
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

/// The content of a `codegen.toml`. Unknown keys are errors.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// The files and folders of the contract, relative to the folder of this file, and URLs, which are
    /// downloaded only with the option `--fetch`.
    pub inputs: Vec<PathBuf>,
    /// Options that determine how the contract is read.
    pub input: InputConfig,
    /// The folders from which referenced documents are loaded, by URI prefix:
    /// `{ "https://example.com/schemas/" = "vendor" }`.
    pub mounts: BTreeMap<String, PathBuf>,
    /// The name of the generated package, or a table with more fields of its manifest.
    #[serde(deserialize_with = "package::deserialize_package")]
    #[cfg_attr(test, schemars(with = "json_schema::PackageSetting"))]
    pub package: PackageConfig,
    /// Options for the generated files.
    pub output: OutputConfig,
    /// Options for the Rust types that are generated for schemas.
    pub types: TypeOptions,
    /// The modules into which the generated types are divided, one file each.
    #[serde(rename = "area")]
    pub areas: Vec<AreaConfig>,
    /// The names of the Rust types of schemas: selector → name.
    pub names: BTreeMap<String, String>,
    /// Selectors of schemas whose values are secret: they have the type `Secret`, which `Debug` output and
    /// logs hide.
    pub secrets: Vec<String>,
    /// Selectors of string enumerations and tagged unions that only requests use. Their types keep unknown
    /// values instead of rejecting them.
    pub open: Vec<String>,
    /// Selectors of string enumerations and tagged unions that responses use. Their types reject unknown
    /// values instead of keeping them.
    pub closed: Vec<String>,
    /// Selectors of schemas that accept `null` in addition to the values that the contract allows.
    pub nullable: Vec<String>,
    /// Your own types, which replace the generated types of schemas: selector → path of the type.
    pub replace: BTreeMap<String, String>,
    /// Additional traits that types derive: selector → paths of the traits. The selector `*` matches every
    /// type.
    pub derives: BTreeMap<String, Vec<String>>,
    /// Attributes that are added to types and fields: selector → attributes.
    pub attributes: BTreeMap<String, Vec<String>>,
    /// Enums that are generated from the rows of JSON files.
    #[serde(rename = "table")]
    pub tables: Vec<TableConfig>,
    /// Traits over several types or over several calls.
    #[serde(rename = "view")]
    pub views: Vec<ViewConfig>,
    /// Options of the generated client.
    pub client: ClientConfig,
    /// Options of the server interface.
    pub server: ServerConfig,
    /// Options of the operations table and the server interface.
    pub operations: OperationConfig,
    /// How lists and nested values are encoded in queries and forms.
    pub wire: WireConfig,
    /// Options for streamed bodies.
    pub streams: StreamConfig,
    /// The paginated operations, for which the client has methods that return all pages.
    pub pages: Vec<PaginationConfig>,
    /// The configuration file itself. Diagnostics show excerpts of it.
    #[serde(skip)]
    pub file: Option<ConfigFile>,
}

/// The table `[input]`: how the contract is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct InputConfig {
    /// Whether faults of the contract are accepted with a warning (`warn`), or nothing is generated (`deny`).
    pub faults: FaultPolicy,
    /// Overlays and JSON merge patches, applied to the documents in this order.
    pub overlays: Vec<OverlayEntry>,
}

/// The file from which the options were parsed.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    /// The name of the file in diagnostics.
    pub name: String,
    /// The content of the file.
    pub text: Arc<str>,
}

impl Config {
    /// Returns the location of a value in an option, or `None` if there is no file or no such value. `option`
    /// is a path of keys such as `types.unchecked`. `value` is a string in a list, or a key or value of a
    /// table.
    pub(crate) fn option_place(&self, option: &str, value: &str) -> Option<DocumentLocation> {
        self.place_from_span(|text| position::find_value(text, option, value))
    }

    /// Returns the location of a value in an option of one table in an array of tables such as `[[view]]`.
    /// `index` is the number of the table, counted from 0.
    pub(crate) fn table_option_place(
        &self,
        list: &str,
        index: usize,
        option: &str,
        value: &str,
    ) -> Option<DocumentLocation> {
        self.place_from_span(|text| position::find_value_in_table(text, (list, index), option, value))
    }

    /// Returns true if the module `credentials` is generated for a contract whose operations require
    /// credentials. The option `client.credentials` can disable it, except for a command line.
    pub(crate) const fn has_credentials(&self) -> bool {
        !matches!(self.client.credentials, Some(false)) || self.output.cli.is_some()
    }

    /// Returns true if `schemars` implementations are generated. By default, they are not if tags have Cargo
    /// features, because they refer to all types.
    #[must_use]
    pub fn has_schemas(&self) -> bool {
        self.output.has_schemas() && (self.output.schemars.is_some() || !self.client.tag_features)
    }

    /// Returns true if `proptest` strategies are generated, with the same default as `schemars`.
    #[must_use]
    pub fn has_strategies(&self) -> bool {
        self.output.has_strategies() && (self.output.proptest.is_some() || !self.client.tag_features)
    }

    /// Returns true if the server can verify credentials, in a contract whose operations require them.
    pub(crate) const fn has_authentication(&self) -> bool {
        self.output.server && self.server.authentication
    }

    /// Returns the location of the first header of a table such as `[streams]`.
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct OutputConfig {
    /// The output path, relative to the folder of this file: a folder, or a file for `layout = "file"`.
    pub path: Option<PathBuf>,
    /// `crate`: a package with its `Cargo.toml`; `modules`: source files only; `file`: a single source file.
    pub layout: OutputLayout,
    /// Whether a client is generated.
    pub client: bool,
    /// Whether a server interface is generated.
    pub server: bool,
    /// Whether `schemars` implementations are generated. In a package, they are behind the feature
    /// `schemars`. The default is `true` for packages and `false` for other layouts.
    pub schemars: Option<bool>,
    /// Whether `proptest` strategies are generated. In a package, they are behind the feature `proptest`. The
    /// default is that of `schemars`.
    pub proptest: Option<bool>,
    /// The generated command line: a module `cli` behind the feature `cli`, and a binary in a package. If
    /// absent, none is generated. The command line requires the module `credentials`, as `client.credentials`
    /// does.
    #[serde(deserialize_with = "command_line::deserialize_command_line")]
    #[cfg_attr(test, schemars(with = "json_schema::CommandLineSetting"))]
    pub cli: Option<CommandLineConfig>,
    /// Whether client, server and schemas are behind features of the package that compiles them. The default
    /// is `true` for packages and modules, and `false` for a single file.
    pub features: Option<bool>,
    /// The location of a runtime that several generated packages share. By default, the runtime is written
    /// into the output.
    pub runtime: Option<RuntimeLocation>,
    /// Whether the generated package is a member of the enclosing workspace instead of a workspace root. The
    /// default is `true` if the output path is known and below a Cargo workspace that does not exclude it.
    pub member: Option<bool>,
}

impl OutputConfig {
    /// Returns true if client, server and schemas are behind Cargo features.
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

/// The location of a shared runtime: the path of `contract-runtime`, such as `"../runtime"`, or the runtime
/// of another generated package, such as `{ path = "../north/runtime", package = "north-runtime" }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged, deny_unknown_fields)]
pub enum RuntimeLocation {
    /// The path of the package `contract-runtime`, as it is written into the manifest of the generated
    /// package.
    Path(String),
    /// A runtime package with a name other than `contract-runtime`.
    #[serde(rename_all = "kebab-case")]
    Package {
        /// The path of the package, as it is written into the manifest of the generated package.
        path: String,
        /// The name of the runtime package.
        package: String,
    },
}

/// The file layout of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OutputLayout {
    /// A package that compiles without additional files.
    #[default]
    Crate,
    /// Source files for an existing package. `root.rs` declares the modules in the other files.
    Modules,
    /// A single source file, which is used by `mod api;` or `include!`.
    File,
}

/// The table `[types]`: the Rust types that are generated for schemas.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TypeOptions {
    /// The structs that have a builder: those in requests, all, or none.
    pub builders: BuilderScope,
    /// The type of an integer without a bound and without an `int32` or `int64` format.
    pub unbounded_integers: UnboundedIntegerType,
    /// The integers that have the type of their format `int32`, `uint32` or `uint64` (`i32`, `u32`, `u64`) instead of
    /// `i64`: all, none, or those that selectors match. Values outside of the type are rejected when they are parsed.
    pub machine_integers: MachineIntegers,
    /// Whether a schema with `properties` but without `type` is treated as an object.
    pub implied_objects: bool,
    /// Selectors of schemas for which the opposite of `implied-objects` applies: they are (or are not)
    /// treated as objects.
    pub implied_otherwise: Vec<String>,
    /// Selectors of base schemas with a `discriminator` but without `oneOf` or `anyOf`. The type of each is
    /// an enum of the schemas that include it by `allOf`. The default is every base that requires its
    /// discriminator property and to which a `$ref` outside of `allOf` refers.
    pub families: Option<Vec<String>>,
    /// The treatment of keywords that JSON Schema does not define.
    pub unknown_keywords: UnknownKeywordSetting,
    /// The treatment of constraints that cannot be checked, such as a look-ahead in a pattern. By default,
    /// they are treated as faults.
    pub unsupported: Option<UnsupportedPolicy>,
    /// The meaning of `nullable: true` where OpenAPI 3.0 gives it no effect, such as next to `$ref`.
    pub nullable: NullableSetting,
    /// Selectors of schemas that may be left unchecked although their `pattern`, or a key of their
    /// `patternProperties`, is not supported.
    pub unchecked: Vec<String>,
    /// The Rust types of formats: `{ date-time = "jiff" }` for a built-in type, or
    /// `{ x-sku = { type = "crate::Sku" } }` for your own.
    pub formats: BTreeMap<String, FormatType>,
    /// The names of crates whose types a schema may select by `x-rust-type`. For other crates, the extension
    /// is ignored.
    pub rust_types: Vec<String>,
}

/// The Rust type of strings with a certain format.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged, deny_unknown_fields)]
pub enum FormatType {
    /// A built-in type of the named package: `jiff`, `chrono`, `time`, `uuid`, `url`, `std` or `base64`.
    Builtin(String),
    /// Your own type.
    #[serde(rename_all = "kebab-case")]
    Custom {
        /// The path of the Rust type.
        #[serde(rename = "type")]
        path: String,
        /// The path of the function that parses a `&str` into a `Result`. The default is `FromStr`.
        read: Option<String>,
        /// The path of the function that converts a `&T` to a `String`. The default is `Display`.
        write: Option<String>,
    },
}

impl Default for TypeOptions {
    fn default() -> Self {
        Self {
            builders: BuilderScope::Requests,
            unbounded_integers: UnboundedIntegerType::I64,
            machine_integers: MachineIntegers::All(false),
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

/// The integers whose format selects their type.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected `true`, `false` or a list of selectors")]
pub enum MachineIntegers {
    /// All integers, or none.
    All(bool),
    /// The integers that these selectors match.
    Selected(Vec<String>),
}

impl MachineIntegers {
    /// Returns the selectors. There are none if the option applies to all integers or to none.
    #[must_use]
    pub fn selectors(&self) -> &[String] {
        match self {
            Self::All(_) => &[],
            Self::Selected(selectors) => selectors,
        }
    }

    /// Returns true if the format of an integer may select its type.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        *self == Self::All(true) || !self.selectors().is_empty()
    }
}

/// The structs for which a builder is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BuilderScope {
    /// The structs that are reachable from a request body.
    Requests,
    /// Every struct of the contract.
    All,
    /// No struct, not even in requests.
    None,
}

/// The type of an integer without a bound and without an `int32` or `int64` format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum UnboundedIntegerType {
    /// The type `i64`. Values outside its range are rejected when they are parsed.
    I64,
    /// The type `Number`, which is exact for integers of any size.
    Exact,
}

/// The treatment of keywords that JSON Schema does not define.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum UnknownKeywordSetting {
    /// Unknown keywords are errors, and no code is generated.
    Deny,
    /// Unknown keywords are warnings.
    Warn,
    /// Unknown keywords are ignored, as JSON Schema specifies.
    Ignore,
}

/// The meaning of `nullable: true` where OpenAPI 3.0 gives it no effect: next to keywords other than `type`,
/// such as `$ref`, `allOf`, `anyOf` or `oneOf`, or with an `enum` that does not list `null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NullableSetting {
    /// The value may also be `null`, because authors usually intend this.
    OrNull,
    /// The keyword has no effect, as OpenAPI 3.0.3 specifies. Each such occurrence causes a warning.
    Strict,
}

/// The treatment of constraints that cannot be checked, such as a look-ahead in a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum UnsupportedPolicy {
    /// Such constraints are errors, and no code is generated.
    Deny,
    /// Such constraints are warnings: they are not checked, and the value keeps its plain type.
    Keep,
}

/// A table `[[area]]`: a module, and the schemas whose types it contains.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AreaConfig {
    /// The name of the module.
    pub name: String,
    /// The first line of the module's documentation.
    pub doc: String,
    /// The schemas whose types are in the module: names of source files (without folder and `.schema.json`),
    /// or selectors.
    pub schemas: Vec<String>,
    /// Tags of operations. If only operations with these tags use a schema, its type is in the module as
    /// well.
    pub tags: Vec<String>,
}

/// A table `[[table]]`: an enum that is generated from the rows of a JSON file.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TableConfig {
    /// The name of the enum.
    pub name: String,
    /// The JSON file, relative to `codegen.toml`.
    pub file: PathBuf,
    /// The JSON Pointer of the array of rows in the file.
    pub rows: String,
    /// The column whose value names the variant of a row.
    pub key: String,
    /// Whether the enum keeps unknown values instead of rejecting them.
    pub open: bool,
    /// The documentation of the enum.
    pub doc: String,
    /// The column with the documentation of the variants.
    pub describe: Option<String>,
    /// The columns of strings that become enums: column → name of the enum.
    pub enums: BTreeMap<String, String>,
    /// The columns for which no accessor is generated.
    pub skip: Vec<String>,
}

/// A table `[[view]]`: a trait over several types with common properties, or over several client calls with
/// common parameters.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ViewConfig {
    /// The name of the trait.
    pub name: String,
    /// The documentation of the trait.
    pub doc: String,
    /// Selectors of the schemas whose types implement the trait.
    pub types: Vec<String>,
    /// The names in JSON of the properties that all of these types have.
    pub members: Vec<String>,
    /// The names of associated types: property → name. A property whose type differs between the types always
    /// has an associated type; by default, its name is derived from the property. For a property that is
    /// listed here, an associated type is generated in any case.
    pub associated: BTreeMap<String, String>,
    /// The `operationId`s of the operations whose calls implement the trait. A view has either `operations`
    /// or `types`.
    pub operations: Vec<String>,
    /// The names in the contract of the parameters that all of these operations have.
    pub parameters: Vec<String>,
    /// The name of a view over types to which the response types of all these operations belong.
    pub answer: Option<String>,
}

/// The table `[client]`: the generated client.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ClientConfig {
    /// The names of header and cookie parameters that the transport adds. Client methods have no argument for
    /// them.
    pub transport_headers: Vec<String>,
    /// Whether an operation that no client can send is skipped with a warning instead of causing an error. By
    /// default, it is treated as a fault.
    pub skip_unsupported: Option<bool>,
    /// The properties of error responses, such as `code` or an id, that the `Display` output of an error
    /// shows: a name applies to every error response, and a selector, which contains `#`, only to the responses
    /// whose property it selects. The default is none, because error responses may contain secrets.
    pub shown: Vec<String>,
    /// Whether the module `credentials` is generated. It has a setter for each of the `securitySchemes`, and
    /// a transport that adds the credentials that the `security` of an operation requires. The default is
    /// `true` if an operation requires credentials.
    pub credentials: Option<bool>,
    /// Whether the operations of each tag have a client of their own, in a file of its own:
    /// `client.issues().list(…)` instead of `client.issues_list(…)`.
    pub by_tag: bool,
    /// Whether each tag is behind a Cargo feature such as `tag-issues`, enabled by default: its operations in
    /// client and server, and the types that only they use. Requires `by_tag`.
    pub tag_features: bool,
}

/// The table `[server]`: the server interface.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ServerConfig {
    /// Whether the trait `Authenticate` and a router that verifies credentials are generated, if operations
    /// require credentials of `securitySchemes`. The router without them is always generated.
    pub authentication: bool,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self { authentication: true }
    }
}

/// The table `[operations]`: the operations table and the server interface.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct OperationConfig {
    /// The header that makes a request idempotent, so that it can be retried.
    pub idempotency_header: Option<IdempotencyHeader>,
    /// The names of request and response headers that a layer around the handlers reads or writes. Handlers
    /// have no access to them, and in the client the transport adds them.
    pub hidden_headers: Vec<String>,
    /// The `operationId`s of operations that are safe regardless of their method.
    pub safe: Vec<String>,
    /// The `operationId`s of operations that are idempotent regardless of their method.
    pub idempotent: Vec<String>,
    /// The `operationId`s of operations whose bodies and success responses are passed as raw bytes.
    pub raw: Vec<String>,
    /// The media types and ranges that are generated for a body that lists several. For a body without any of
    /// them, the default applies: JSON and streamed media types if the body lists JSON, otherwise all.
    pub media: Vec<String>,
    /// Selects the operations and webhooks that are generated, with the schemas that they reach; an empty
    /// list selects all.
    pub include: Vec<OperationSelector>,
    /// Selectors of operations and webhooks to omit from those that `include` selects.
    pub exclude: Vec<OperationSelector>,
}

/// The header with an idempotency key: `"Idempotency-Key"`, or
/// `{ name = "Idempotency-Key", operations = [{ path = "/v1/**" }] }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged, deny_unknown_fields)]
pub enum IdempotencyHeader {
    /// The name of the header. It applies to all operations that declare it.
    Declared(String),
    /// A header that applies to selected operations, whether they declare it or not.
    #[serde(rename_all = "kebab-case")]
    Selected {
        /// The name of the header.
        name: String,
        /// The operations to which the header applies.
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
    /// Returns true if all operations are generated: neither `include` nor `exclude` contains a selector.
    #[must_use]
    pub const fn selects_all(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }
}

/// The table `[streams]`: bodies with server-sent events, JSON lines or JSON text sequences are sent and
/// received item by item.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct StreamConfig {
    /// The data of events that end a stream and are not items themselves, such as `[DONE]`.
    pub ends: Vec<String>,
    /// The names of events that end a stream, such as `message_stop`.
    pub last_events: Vec<String>,
    /// The `operationId`s of operations whose success response is streamed as bytes.
    pub downloads: Vec<String>,
    /// The `operationId`s of operations whose request body is streamed as bytes.
    pub uploads: Vec<String>,
}

/// A selector of operations, such as `{ tag = "issues" }`. An operation must match all fields that are given.
///
/// In each field, `*` matches any characters. In a path, it matches within one segment, and `**` matches any
/// number of segments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct OperationSelector {
    /// A tag of the operation.
    pub tag: Option<String>,
    /// The path template, such as `/repos/**` or `/repos/*/*/issues`.
    pub path: Option<String>,
    /// The `operationId` of the operation, such as `issues/*`.
    pub operation: Option<String>,
    /// The name of the webhook or callback.
    pub webhook: Option<String>,
}

impl std::fmt::Display for OperationSelector {
    /// Formats the selector as TOML: `{ tag = "issues" }`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tag, path, operation, webhook } = self;
        let members = [("tag", tag), ("path", path), ("operation", operation), ("webhook", webhook)];
        let members = members.into_iter().filter_map(|(name, value)| value.as_ref().map(|v| (name, v)));
        let members: Vec<String> =
            members.map(|(name, value)| format!("{name} = {}", toml::Value::from(value.as_str()))).collect();
        write!(f, "{{ {} }}", members.join(", "))
    }
}

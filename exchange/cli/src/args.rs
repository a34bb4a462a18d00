//! The command-line definition: commands, options and their help texts.
#![allow(clippy::large_enum_variant, reason = "the program parses one command line")]

pub(crate) mod ops;
pub(crate) mod raw;
pub(crate) mod values;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use exchange_client::api::types::CatalogKind;

use self::{
    ops::{BlueprintOps, OrgStockOps, ShipOps, StockOps},
    raw::RawCall,
    values::CatalogueReference,
};
use crate::{error::EXIT_CODES, output::ColorChoice};

/// The exchange in a terminal: your blueprints, stock and ships, your units' stock and demand.
#[derive(Debug, Parser)]
#[command(
    name = "exchange",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = format!("Start with:\n\n    exchange login\n    exchange sync\n    exchange stock list\n\n{EXIT_CODES}")
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct GlobalArgs {
    /// Print JSON. A long-running command prints one JSON line for each event.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colors: auto (on a terminal, unless NO_COLOR is set), always, never.
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true,
        global = true
    )]
    pub(crate) color: ColorChoice,
    /// The configuration file (TOML) with issuer, gateway, client-id and info-url.
    /// Defaults to the environment variable EXCHANGE_CONFIG.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// Print times in the time zone of this computer. JSON always has UTC.
    #[arg(long, global = true)]
    pub(crate) local_time: bool,
    /// The name of the connection; needed only if there are several.
    #[arg(long, value_name = "NAME", default_value = "default", hide_default_value = true, global = true)]
    pub(crate) profile: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Connect to the exchange: shows a code that you type on its page.
    Login(LoginArgs),
    /// Disconnect: ends the connection and deletes its local data.
    Logout(LogoutArgs),
    /// Show the local state of the connection, without contacting the exchange.
    Status,
    /// Show what this connection may do, as reported by the exchange.
    Whoami,
    /// Name this installation, as you see it among your connected applications.
    Label(LabelArgs),
    /// Check whether a game-account handle is yours; the exit code is 7 unless its data may be synchronized.
    CheckHandle(CheckHandleArgs),
    /// Look up references in the catalogue.
    Resolve(ResolveArgs),
    /// List the locations where stock and ships can be.
    Locations(LocationsArgs),
    /// List and change your blueprints.
    #[command(subcommand, arg_required_else_help = true)]
    Blueprints(BlueprintsCommand),
    /// List and change your stock.
    #[command(subcommand, arg_required_else_help = true)]
    Stock(StockCommand),
    /// List and change your ships.
    #[command(subcommand, arg_required_else_help = true)]
    Ships(ShipsCommand),
    /// List and change the shared stock of your org units.
    #[command(subcommand, arg_required_else_help = true)]
    OrgStock(OrgStockCommand),
    /// List the org units that you belong to.
    #[command(subcommand, arg_required_else_help = true)]
    OrgUnits(OrgUnitsCommand),
    /// Show the open demand of your org units.
    #[command(subcommand, arg_required_else_help = true)]
    Demand(DemandCommand),
    /// Read the changes of all areas that this connection may read.
    Sync(SyncArgs),
    /// Manage changes that were not sent yet, or that need your action.
    #[command(subcommand, arg_required_else_help = true)]
    Outbox(OutboxCommand),
    /// Stage a draft that you confirm in your browser.
    #[command(subcommand, arg_required_else_help = true)]
    Draft(DraftCommand),
    /// Write and check files of blueprints for the import on the exchange's website.
    #[command(subcommand, arg_required_else_help = true)]
    Envelope(EnvelopeCommand),
    /// Call an operation of the contract directly, with a signed request.
    Api(ApiArgs),
    /// Print the completion script of a shell.
    Completions(CompletionsArgs),
    /// Write the manual pages of all commands into a folder.
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// A capability to request in addition to those that you allowed before, such as stock.read; can be
    /// repeated. Default at the first login: read your own blueprints, stock, ships and units.
    #[arg(long = "allow", value_name = "CAPABILITY", conflicts_with = "all")]
    pub(crate) allow: Vec<CapabilityArg>,
    /// Request only the capabilities of --allow, and give up those that you allowed before.
    #[arg(long, requires = "allow", conflicts_with = "all")]
    pub(crate) only: bool,
    /// Request all capabilities.
    #[arg(long)]
    pub(crate) all: bool,
    /// Name this installation after the login; never use the name of a computer.
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Do not offer to open a browser.
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Keep the secrets in a file that only you can read, not in this computer's secret store.
    #[arg(long)]
    pub(crate) insecure_storage: bool,
}

/// A capability such as `stock.read`, which is a scope of the contract with or without its prefix
/// `exchange.`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CapabilityArg(pub(crate) exchange_client::api::scopes::Scope);

impl std::str::FromStr for CapabilityArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        use exchange_client::api::scopes::Scope;
        let full_name =
            if text.starts_with("exchange.") { text.to_owned() } else { format!("exchange.{text}") };
        let scope = Scope::from(full_name.as_str());
        let names = || {
            let names = Scope::ALL.iter().filter_map(|scope| scope.as_str().strip_prefix("exchange."));
            names.filter(|name| *name != "connect").collect::<Vec<_>>().join(", ")
        };
        if scope.is_known() { Ok(Self(scope)) } else { Err(format!("use one of {}", names())) }
    }
}

#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    /// Disconnect without asking for confirmation.
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LabelArgs {
    /// The label: 1 to 40 letters, digits, dots, underscores, hyphens and spaces; never the name of a
    /// computer.
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
}

#[derive(Debug, Args)]
pub(crate) struct CheckHandleArgs {
    /// The handle, or - to read it from the standard input. It is sent only for this check.
    #[arg(value_name = "HANDLE")]
    pub(crate) handle: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CatalogueKindArg {
    Blueprint,
    Item,
    Material,
    ShipType,
}

impl From<CatalogueKindArg> for CatalogKind {
    fn from(kind: CatalogueKindArg) -> Self {
        match kind {
            CatalogueKindArg::Blueprint => Self::Blueprint,
            CatalogueKindArg::Item => Self::Item,
            CatalogueKindArg::Material => Self::Material,
            CatalogueKindArg::ShipType => Self::ShipType,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ResolveArgs {
    /// The part of the catalogue.
    #[arg(long, value_enum)]
    pub(crate) kind: CatalogueKindArg,
    /// A name, bt:KEY, record:NAME, guid:UUID, uex:ID, loc:KEY, or a JSON object with several of these.
    #[arg(required = true, value_name = "REFERENCE")]
    pub(crate) references: Vec<CatalogueReference>,
}

#[derive(Debug, Args)]
pub(crate) struct LocationsArgs {
    /// Only list locations whose names contain PART.
    #[arg(value_name = "PART")]
    pub(crate) part: Option<String>,
}

/// The filter of the `list` commands.
#[derive(Clone, Debug, Args)]
pub(crate) struct ListArgs {
    /// Only list entries whose names contain PART.
    #[arg(value_name = "PART")]
    pub(crate) part: Option<String>,
}

/// The argument of the `show` commands.
#[derive(Clone, Debug, Args)]
pub(crate) struct ShowArgs {
    /// The key or id of the entry, as `list` shows it.
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) key: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BlueprintsCommand {
    /// List your blueprints, as of the last `sync`.
    List(ListArgs),
    /// Show one blueprint.
    Show(ShowArgs),
    #[command(flatten)]
    Op(BlueprintOps),
}

#[derive(Debug, Subcommand)]
pub(crate) enum StockCommand {
    /// List the lots of your stock, as of the last `sync`.
    List(ListArgs),
    /// Show one lot.
    Show(ShowArgs),
    #[command(flatten)]
    Op(StockOps),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ShipsCommand {
    /// List your ships, as of the last `sync`.
    List(ListArgs),
    /// Show one ship.
    Show(ShowArgs),
    #[command(flatten)]
    Op(ShipOps),
}

#[derive(Debug, Subcommand)]
pub(crate) enum OrgStockCommand {
    /// List the lots of your units, as of the last `sync`.
    List(ListArgs),
    /// Show one lot, with its entries if you may see them.
    Show(ShowArgs),
    /// List the members of a unit who can hold its stock.
    Members(UnitArgs),
    #[command(flatten)]
    Op(OrgStockOps),
}

#[derive(Debug, Args)]
pub(crate) struct UnitArgs {
    /// The unit's id, as `org-units list` shows it.
    #[arg(value_name = "UNIT", allow_hyphen_values = true)]
    pub(crate) unit: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OrgUnitsCommand {
    /// List your org units.
    List,
    /// Show one org unit.
    Show(UnitArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum DemandCommand {
    /// List the demand. It is requested at most once every five minutes; in between, the last result is
    /// shown.
    List(DemandArgs),
    /// Show the open demand for one item or material.
    Show(DemandShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DemandShowArgs {
    /// The key or the name of the item or material, as `list` shows it.
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) counted: DemandArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DemandArgs {
    /// Count orders for items as items, or as the materials that these items require.
    #[arg(long, value_enum, default_value = "items")]
    pub(crate) by: CountBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CountBy {
    /// Count ordered items, and materials that were ordered directly.
    Items,
    /// Count only materials, including those that ordered items require.
    Materials,
}

#[derive(Debug, Args)]
pub(crate) struct SyncArgs {
    /// Continue until Ctrl-C, at the interval that the exchange requires.
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OutboxCommand {
    /// List the changes in the outbox.
    List,
    /// Show one change with its ops and their results.
    Show(OutboxEntryArgs),
    /// Send one change again, or every change that can be sent.
    Retry(OptionalEntryArgs),
    /// Remove one change without sending it.
    Drop(OutboxDrop),
    /// Record whether a change was applied, after you checked it with `sync`. For a change with an unknown
    /// outcome, or one that you confirmed or discarded.
    Resolve(OutboxResolve),
    /// Open the page on which you confirm a change that the exchange holds.
    Confirm(OutboxConfirm),
}

#[derive(Debug, Args)]
pub(crate) struct OutboxDrop {
    /// The number of the change, as `list` shows it.
    #[arg(value_name = "NUMBER")]
    pub(crate) id: u64,
    /// Remove the change without asking for confirmation.
    #[arg(long, short)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OutboxConfirm {
    /// The number of the change, as `list` shows it.
    #[arg(value_name = "NUMBER")]
    pub(crate) id: u64,
    #[command(flatten)]
    pub(crate) link: LinkArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OutboxResolve {
    /// The number of the change, as `list` shows it.
    #[arg(value_name = "NUMBER")]
    pub(crate) id: u64,
    #[command(flatten)]
    pub(crate) found: ResolutionArgs,
}

/// The result of the member's check. Exactly one option is required.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct ResolutionArgs {
    /// The exchange has the requested state; the change is done.
    #[arg(long)]
    pub(crate) applied: bool,
    /// The exchange does not have the requested state; the change is sent again as a new one.
    #[arg(long)]
    pub(crate) missing: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OptionalEntryArgs {
    /// The number of the change, as `list` shows it. Without it, every change that can be sent is sent.
    #[arg(value_name = "NUMBER")]
    pub(crate) id: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct OutboxEntryArgs {
    /// The number of the change, as `list` shows it.
    #[arg(value_name = "NUMBER")]
    pub(crate) id: u64,
}

/// The options for a link that is a secret.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct LinkArgs {
    /// Open the link in your browser without a prompt.
    #[arg(long, conflicts_with = "print_link")]
    pub(crate) open: bool,
    /// Print the link, so that you can open it by hand. It is a secret; do not share it.
    #[arg(long)]
    pub(crate) print_link: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DraftCommand {
    /// Stage the blueprints of an envelope file (see `envelope`).
    Blueprints(DraftArgs),
    /// Stage a refinery order, given as JSON in the format of the contract.
    Refinery(DraftArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DraftArgs {
    /// The file, or - to read the standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) link: LinkArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnvelopeCommand {
    /// Write an envelope file of these blueprints.
    Write(EnvelopeWrite),
    /// Check whether the website would accept a file, and whether the file contains private data.
    Check(EnvelopeCheck),
}

#[derive(Debug, Args)]
pub(crate) struct EnvelopeWrite {
    /// The file, or - to write to the standard output.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// A product: its name, bt:KEY, record:NAME, guid:UUID, uex:ID, loc:KEY, or a JSON object with several of
    /// these.
    #[arg(required = true, value_name = "PRODUCT")]
    pub(crate) products: Vec<CatalogueReference>,
    /// The time at which you acquired them, such as 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "WHEN")]
    pub(crate) acquired_at: Option<String>,
    /// Replace the file if it exists.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EnvelopeCheck {
    /// The file, or - to read the standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct ApiArgs {
    #[command(subcommand)]
    pub(crate) call: RawCall,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder; it is created if it does not exist.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn command_line_definition_is_valid() {
        Cli::command().debug_assert();
    }

    /// IDP-03: no option selects a sandbox.
    #[test]
    fn no_flag_selects_a_sandbox() {
        let mut command = Cli::command();
        let help = command.render_long_help().to_string().to_lowercase();
        assert!(!help.contains("sandbox"), "{help}");
        let names = |command: &clap::Command| {
            command.get_arguments().map(|arg| arg.get_id().to_string()).collect::<Vec<_>>()
        };
        let all: Vec<String> =
            names(&command).into_iter().chain(command.get_subcommands().flat_map(names)).collect();
        assert!(all.len() > 20 && all.iter().all(|name| !name.contains("sandbox")), "{all:?}");
    }

    /// Keys and references may begin with a hyphen, and options after them are still parsed as options.
    #[test]
    fn keys_may_begin_with_a_hyphen() {
        let read = |args: &[&str]| Cli::try_parse_from([&["exchange"], args].concat());
        let entry =
            ["org-stock", "move-holder", "-e", "--unit", "-u", "--version", "1", "--quantity", "1scu"];
        for args in [
            &["stock", "show", "-Kx_1"][..],
            &["stock", "show", "--Kx", "--json"],
            &["blueprints", "remove", "--key", "-k"],
            &["ships", "link", "-s", "--external-id", "-own"],
            &[&entry[..], &["--to-unit", "-u", "--holder", "-l_hMw"]].concat(),
            &["api", "stock_read", "--cursor", "-c"],
        ] {
            assert!(read(args).is_ok(), "{args:?}: {}", read(args).unwrap_err());
        }
        assert!(read(&["stock", "show", "-Kx_1", "--json"]).unwrap().global.json);
        assert!(read(&["stock", "show", "--json"]).is_err());
    }

    /// IDP-05: short capability names are mapped to the scopes of the contract.
    #[test]
    fn capabilities_have_short_names() {
        let scope =
            |text: &str| text.parse::<CapabilityArg>().map(|capability| capability.0.as_str().to_owned());
        assert_eq!(scope("stock.read").unwrap(), "exchange.stock.read");
        assert_eq!(scope("exchange.orgstock.details").unwrap(), "exchange.orgstock.details");
        for none in ["openid", "stock", "email", ""] {
            assert!(scope(none).unwrap_err().starts_with("use one of blueprints.read, "), "{none}");
        }
    }

    /// Every command in the README can be parsed, and the README names every command and every exit code.
    #[test]
    fn readme_lists_commands_and_exit_codes() {
        let readme = include_str!("../README.md");
        let typed: Vec<_> = readme.lines().filter_map(|line| line.strip_prefix("$ exchange ")).collect();
        for line in &typed {
            // Every second part is quoted and is therefore a single word.
            let parts = line.split('"').enumerate();
            let words = parts.flat_map(|(index, part)| match index % 2 {
                0 => part.split_whitespace().collect(),
                _ => vec![part],
            });
            let read = Cli::try_parse_from(std::iter::once("exchange").chain(words));
            assert!(read.is_ok(), "{line}: {}", read.unwrap_err());
        }
        assert!(typed.len() > 15);
        for command in Cli::command().get_subcommands().map(clap::Command::get_name) {
            let is_told =
                readme.contains(&format!("`{command}")) || readme.contains(&format!("exchange {command}"));
            assert!(is_told, "{command}");
        }
        for code in [0, 1, 2, 3, 4, 5, 6, 7, 8, 130] {
            assert!(readme.contains(&format!("\n| {code} | ")), "{code}");
        }
    }
}

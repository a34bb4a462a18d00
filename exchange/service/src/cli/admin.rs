//! `exchange-service admin`: reads and changes the store of a service, whether or not the service is running.

mod audit;
mod setup;
mod undo;

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use exchange_api::types::AccountHandle;
use exchange_service::Environment;
use exchange_service::admin::{
    self, AdminContext, AdminError, ClientState, ConnectionFilter, DeletedData, LimitChanges, NewClient,
    NewMember, PasswordLink,
};
use exchange_service::config::Config;
use exchange_service::idp::DisconnectOutcome;
use exchange_service::idp::accounts::{MIN_PASSWORD_CHARS, PasswordHasher};
use exchange_service::idp::password_resets;
use exchange_service::ids::{ClientId, InstallationId, MemberId};
use exchange_service::members::RegistrationState;
use exchange_service::names::MemberName;
use exchange_service::store::{EditError, OpenError, edit_store, inspect_store};
use rusqlite::Connection;
use serde_json::{Value, json};

use self::audit::escape_controls;
use super::serve::load_config;
use super::{CommandError, ConfigArgs, print_line};

/// The maximum length of a password, in bytes.
const MAX_PASSWORD_BYTES: u64 = 1024;

#[derive(Debug, Args)]
pub(super) struct AdminArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Print one line of JSON instead of text: the result on standard output, or the error on standard error.
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// The administrator's name in the audit, for accounts that several people share. Defaults to the name of
    /// the system user who runs the command.
    #[arg(long = "as", value_name = "NAME", global = true)]
    administrator: Option<String>,
    #[command(subcommand)]
    command: AdminCommand,
}

#[derive(Debug, Subcommand)]
enum AdminCommand {
    /// Register, change and list clients.
    #[command(subcommand)]
    Client(ClientCommand),
    /// Switch the exchange on or off, or show its state.
    ///
    /// In a new store the exchange is off: every call gets 503 EXCHANGE_DISABLED until an administrator
    /// switches it on. Signing in and confirming held batches work even while it is off.
    Switch {
        /// The new state. Without it, the command shows the current state.
        to: Option<SwitchState>,
    },
    /// Add, change, delete and list members and their accounts.
    #[command(subcommand)]
    Member(MemberCommand),
    /// Import, list and remove org units.
    #[command(subcommand)]
    Unit(setup::UnitCommand),
    /// Import and export the catalogue, and the blueprints that every member has by default.
    #[command(subcommand)]
    Catalogue(setup::CatalogueCommand),
    /// Set or show the terms that members must accept before clients may act for them.
    ///
    /// A new service has no terms. Members accept a version on their profile page.
    Terms(setup::TermsArgs),
    /// List and disconnect the connected clients of members.
    #[command(subcommand)]
    Connections(ConnectionsCommand),
    /// Manage the keys that sign access tokens.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Undo a client's writes since a given time.
    ///
    /// Each entry is restored to its state before the client's first change in the time span. Entries that
    /// another author has changed since then are kept and listed. The command can be repeated, and continues
    /// after an interruption. The changes appear in the members' feeds, and the affected members are
    /// notified.
    Undo(undo::UndoArgs),
    /// Show the audit of changes.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SwitchState {
    On,
    Off,
}

#[derive(Debug, Subcommand)]
enum ClientCommand {
    /// Register a client. A client has an id and scopes that it may request, but no secret.
    #[command(
        after_help = "Example:\n\n    exchange-service admin client add stock-tool --name 'Stock Tool' \\\n        \
                            --scope exchange.connect --scope exchange.stock.read"
    )]
    Add {
        /// The id: 1 to 64 letters, digits, `-`, `.`, `_` and `~`. It never changes.
        id: ClientId,
        /// The name that members see when they connect it.
        #[arg(long)]
        name: String,
        /// A scope that the client may request; may be repeated.
        #[arg(long = "scope", value_name = "SCOPE", required = true)]
        scopes: Vec<String>,
        /// The oldest version of the client that the exchange accepts, such as 2.1.0.
        #[arg(long, value_name = "VERSION")]
        min_version: Option<String>,
    },
    /// Suspend a client: its calls are refused with 403 CLIENT_SUSPENDED. Its connections are kept until it
    /// is resumed.
    Suspend {
        /// The client's id.
        id: ClientId,
    },
    /// Activate a suspended or removed client again.
    Resume {
        /// The client's id.
        id: ClientId,
    },
    /// End a client's registration: members cannot sign in to it, and its tokens are refused.
    Remove {
        /// The client's id.
        id: ClientId,
    },
    /// Change a client's limits per member. Limits without an option are kept.
    #[command(after_help = "Example:\n\n    exchange-service admin client limits stock-tool \\\n        \
                            --requests-per-minute 300 --writes-per-day default")]
    Limits {
        /// The client's id.
        id: ClientId,
        /// The number of requests per minute and member, from 1 to 1200; `default` for the configured value.
        #[arg(long, value_name = "N", value_parser = parse_limit)]
        requests_per_minute: Option<LimitArg<u32>>,
        /// The number of writes per day and member, from 1 to 5000; `default` for the configured value.
        #[arg(long, value_name = "N", value_parser = parse_limit)]
        writes_per_day: Option<LimitArg<u32>>,
        /// The oldest version of the client that the exchange accepts, such as 2.1.0; `any` for every
        /// version.
        #[arg(long, value_name = "VERSION", value_parser = parse_min_version)]
        min_version: Option<LimitArg<String>>,
    },
    /// Replace a client's scopes.
    ///
    /// Existing grants are narrowed immediately. Before a client can use additional scopes, its members must
    /// sign in again.
    #[command(after_help = "Example:\n\n    exchange-service admin client scopes stock-tool \\\n        \
                            --scope exchange.connect --scope exchange.stock.read")]
    Scopes {
        /// The client's id.
        id: ClientId,
        /// A scope that the client may request; may be repeated. The list is complete.
        #[arg(long = "scope", value_name = "SCOPE", required = true)]
        scopes: Vec<String>,
    },
    /// List all clients.
    List,
}

#[derive(Debug, Subcommand)]
enum MemberCommand {
    /// Add a member. The member cannot sign in until `member password` sets a password.
    #[command(after_help = "Example:\n\n    exchange-service admin member add m-1 --name Ada\n    \
                            pass show exchange/ada | \\\n        \
                            exchange-service admin member password m-1 --username ada")]
    Add {
        /// The id: 1 to 128 letters, digits, `-`, `.`, `_` and `~`. It is opaque to clients and must never be
        /// reused.
        id: MemberId,
        /// The name that other members see: 1 to 200 characters.
        #[arg(long)]
        name: MemberName,
        /// The handle of the member's game account, which clients never get: 3 to 60 letters, digits, `_` and
        /// `-`.
        #[arg(long, value_parser = parse_handle)]
        handle: Option<AccountHandle>,
        /// Add the member with a registration that awaits approval: the member may sign in, but calls of
        /// clients are refused.
        #[arg(long)]
        pending: bool,
        /// Add the member without a role: calls of clients are refused.
        #[arg(long)]
        no_role: bool,
    },
    /// Create a member's account, or change its password. The password is read from standard input.
    ///
    /// The password is one line of at least 12 characters. It cannot be an argument, because other users of
    /// the machine can see arguments. The command ends the member's browser sessions and the connections that
    /// are bound to them; use `admin connections end` to end other connections.
    Password {
        /// The member's id.
        id: MemberId,
        /// The user name for sign-in; required for a new account.
        #[arg(long, value_name = "NAME")]
        username: Option<String>,
    },
    /// Create a link with which a member who forgot the password sets a new one.
    ///
    /// The link works once, within 24 hours, and replaces an earlier link of the member. Send it to the member
    /// over a channel that only the member reads: whoever opens it can take over the account. The current
    /// password works until then. Setting the new password signs out all browsers of the member.
    #[command(after_help = "Example:\n\n    exchange-service admin member reset-password m-1")]
    ResetPassword {
        /// The member's id.
        id: MemberId,
    },
    /// Set the state of a member's registration. The calls for a disabled member are refused immediately.
    State {
        /// The member's id.
        id: MemberId,
        /// The new state.
        state: MemberStateArg,
    },
    /// Change the name that other members see.
    Rename {
        /// The member's id.
        id: MemberId,
        /// The new name: 1 to 200 characters.
        #[arg(long)]
        name: MemberName,
    },
    /// Delete a member's account and data. This cannot be undone.
    ///
    /// Deletes the account, the name and the handle, blueprints, ships and stock, and disconnects all clients. Feeds
    /// show the entries as removed by the system. Stock in pools and reserved stock is kept without the member's
    /// name. The id stays, because it must never be used again. The journal keeps earlier changes until
    /// `retention.journal-days` has passed.
    #[command(after_help = "Example:\n\n    exchange-service admin member delete m-1 --force")]
    Delete {
        /// The member's id.
        id: MemberId,
        /// Confirm the deletion.
        #[arg(long, required = true)]
        force: bool,
    },
    /// Allow a member to administer the service on the web pages: to register, suspend and resume clients.
    Administrator {
        /// The member's id.
        id: MemberId,
        /// Revoke the permission.
        #[arg(long)]
        no: bool,
    },
    /// List all members.
    List,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MemberStateArg {
    /// Approved, and not disabled.
    Active,
    /// Awaiting approval.
    Pending,
    /// Disabled by an administrator.
    Disabled,
}

#[derive(Debug, Subcommand)]
enum ConnectionsCommand {
    /// List installations, and connections whose client has not called the exchange yet.
    List {
        /// List only the connections of this member.
        #[arg(long, value_name = "ID")]
        member: Option<MemberId>,
        /// List only the connections of this client.
        #[arg(long, value_name = "ID")]
        client: Option<ClientId>,
    },
    /// Disconnect one installation permanently, or disconnect a member's client on all devices.
    #[command(
        after_help = "Examples:\n\n    exchange-service admin connections end --installation Zk3…\n    \
                            exchange-service admin connections end --client stock-tool --member m-1"
    )]
    End {
        /// The installation to disconnect. Its key is refused permanently.
        #[arg(long, value_name = "ID", conflicts_with_all = ["client", "member"], required_unless_present = "client")]
        installation: Option<InstallationId>,
        /// The client to disconnect, until the member connects it again.
        #[arg(long, value_name = "ID", requires = "member")]
        client: Option<ClientId>,
        /// The member whose connections to the client are ended.
        #[arg(long, value_name = "ID", requires = "client")]
        member: Option<MemberId>,
    },
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Sign access tokens with a new key from now on.
    ///
    /// The old key stays published until its tokens have expired, so no member has to sign in again. A running service
    /// uses the new key within seconds.
    Rotate,
}

/// The value of a limit that is given for a client, or the service's default.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LimitArg<T> {
    Default,
    Value(T),
}

impl<T> LimitArg<T> {
    fn into_option(self) -> Option<T> {
        match self {
            Self::Default => None,
            Self::Value(value) => Some(value),
        }
    }
}

/// Parses the handle of a game account (SVC-13).
fn parse_handle(text: &str) -> Result<AccountHandle, &'static str> {
    text.parse().map_err(|_| "a handle must have 3 to 60 letters, digits, `_` or `-`")
}

fn parse_limit(text: &str) -> Result<LimitArg<u32>, String> {
    match text {
        "default" => Ok(LimitArg::Default),
        text => text.parse().map(LimitArg::Value).map_err(|_| "expected a number or `default`".to_owned()),
    }
}

fn parse_min_version(text: &str) -> Result<LimitArg<String>, std::convert::Infallible> {
    Ok(if text == "any" { LimitArg::Default } else { LimitArg::Value(text.to_owned()) })
}

/// The output of a command, as text for people and as JSON for programs.
struct CommandOutput {
    text: String,
    json: Value,
}

/// Runs an `admin` command.
pub(super) fn run_admin(args: AdminArgs) -> Result<(), CommandError> {
    let AdminArgs { config, json, administrator, command } = args;
    let config = load_config(&config)?;
    let name = administrator.unwrap_or_else(current_user);
    let environment = Environment::system();
    let admin = AdminContext::new(&name, environment.now()).map_err(|error| match error {
        AdminError::Invalid(message) => {
            CommandError::Configuration(format!("{message}: set your name with --as"))
        }
        error => to_command_error(&error),
    })?;
    let folder: PathBuf = config.serve.data.clone();
    let outcome = match command {
        AdminCommand::Client(command) => edit_store(&folder, |store| run_client(store, &admin, command)),
        AdminCommand::Switch { to } => edit_store(&folder, |store| run_switch(store, &admin, to)),
        AdminCommand::Member(MemberCommand::Password { id, username }) => {
            let hash = read_password_hash(&config, &environment)?;
            edit_store(&folder, |store| {
                admin::set_password(store, &admin, &id, username.as_deref(), &hash)?;
                action_output("member.password", &format!("{id} has a new password"), json!({ "member": id }))
            })
        }
        AdminCommand::Member(MemberCommand::ResetPassword { id }) => {
            let origin = config.web_origin();
            edit_store(&folder, |store| create_password_link(store, &admin, &environment, origin, &id))
        }
        AdminCommand::Member(command) => edit_store(&folder, |store| run_member(store, &admin, command)),
        AdminCommand::Unit(command) => setup::run_unit(&folder, &admin, command),
        AdminCommand::Catalogue(command) => setup::run_catalogue(&folder, &admin, &environment, command),
        AdminCommand::Terms(args) => setup::run_terms(&folder, &admin, args),
        AdminCommand::Connections(command) => {
            edit_store(&folder, |store| run_connections(store, &admin, command, config.is_external()))
        }
        AdminCommand::Keys(KeysCommand::Rotate) => edit_store(&folder, |store| {
            admin::rotate_keys(store, &admin)?;
            let text = "a new key signs tokens; the old key stays published until its tokens have expired";
            action_output("keys.rotate", text, json!({}))
        }),
        AdminCommand::Undo(args) => undo::run_undo(&folder, (&name, admin.now), &environment, args),
        AdminCommand::Audit(command) => inspect_store(&folder, |store| audit::run_audit(store, command)),
    };
    let CommandOutput { text, json: value } = outcome.map_err(|error| to_command_error(&error))?;
    let message = if json { value.to_string() } else { text };
    print_line(message.trim_end());
    Ok(())
}

fn to_command_error(error: &AdminError) -> CommandError {
    match error {
        AdminError::Invalid(_) => CommandError::Configuration(error.to_string()),
        AdminError::Edit(EditError::Version(OpenError::Database(error))) => {
            CommandError::Failed(format!("the file is not a store of this service: {error}"))
        }
        error => CommandError::Failed(error.to_string()),
    }
}

fn action_output(action: &str, text: &str, mut value: Value) -> Result<CommandOutput, AdminError> {
    value["done"] = action.into();
    Ok(CommandOutput { text: text.to_owned(), json: value })
}

fn run_client(
    store: &Connection,
    admin: &AdminContext<'_>,
    command: ClientCommand,
) -> Result<CommandOutput, AdminError> {
    let set_state = |id: ClientId, standing: ClientState, text: &str| {
        admin::set_client_state(store, admin, &id, standing)?;
        action_output("client.state", &format!("{id} {text}"), json!({ "client": id, "state": standing }))
    };
    match command {
        ClientCommand::Add { id, name, scopes, min_version } => {
            let client = NewClient { id, name, scopes: scopes.into_iter().collect(), min_version };
            admin::add_client(store, admin, &client)?;
            let (id, count) = (&client.id, client.scopes.len());
            let json = json!({ "client": id, "scopes": client.scopes });
            action_output("client.add", &format!("{id} is registered, with {count} scopes"), json)
        }
        ClientCommand::Suspend { id } => set_state(id, ClientState::Suspended, "is suspended"),
        ClientCommand::Resume { id } => set_state(id, ClientState::Active, "may call again"),
        ClientCommand::Remove { id } => set_state(id, ClientState::Disabled, "is no longer registered"),
        ClientCommand::Limits { id, requests_per_minute, writes_per_day, min_version } => {
            let changes = LimitChanges {
                requests_per_minute: requests_per_minute.map(LimitArg::into_option),
                writes_per_day: writes_per_day.map(LimitArg::into_option),
                min_version: min_version.map(LimitArg::into_option),
            };
            admin::set_limits(store, admin, &id, &changes)?;
            action_output(
                "client.limits",
                &format!("the limits of {id} are changed"),
                json!({ "client": id }),
            )
        }
        ClientCommand::Scopes { id, scopes } => {
            let scopes = scopes.into_iter().collect();
            admin::set_scopes(store, admin, &id, &scopes)?;
            let text = format!("{id} may request {} scopes", scopes.len());
            action_output("client.scopes", &text, json!({ "client": id, "scopes": scopes }))
        }
        ClientCommand::List => {
            let clients = admin::list_clients(store)?;
            let limit =
                |number: Option<u32>| number.map_or_else(|| "default".to_owned(), |limit| limit.to_string());
            let rows = clients.iter().map(|client| {
                vec![
                    client.id.to_string(),
                    json!(client.state).as_str().unwrap_or_default().to_owned(),
                    client.name.clone(),
                    limit(client.requests_per_minute),
                    limit(client.writes_per_day),
                    client.min_version.clone().unwrap_or_else(|| "any".to_owned()),
                    client.scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" "),
                ]
            });
            let head = ["client", "state", "name", "per minute", "per day", "oldest", "scopes"];
            Ok(CommandOutput { text: format_table(&head, rows), json: json!({ "clients": clients }) })
        }
    }
}

fn run_switch(
    store: &Connection,
    admin: &AdminContext<'_>,
    to: Option<SwitchState>,
) -> Result<CommandOutput, AdminError> {
    if let Some(to) = to {
        admin::set_switch(store, admin, to == SwitchState::On)?;
    }
    let on = if admin::is_on(store)? { "on" } else { "off" };
    Ok(CommandOutput { text: format!("the exchange is {on}"), json: json!({ "exchange": on }) })
}

fn run_member(
    store: &Connection,
    admin: &AdminContext<'_>,
    command: MemberCommand,
) -> Result<CommandOutput, AdminError> {
    match command {
        MemberCommand::Add { id, name, handle, pending, no_role } => {
            let state = if pending { RegistrationState::Pending } else { RegistrationState::Active };
            let member = NewMember { id, name, handle, state, has_role: !no_role };
            admin::add_member(store, admin, &member)?;
            let text = format!("{} is added, without a password", member.id);
            action_output("member.add", &text, json!({ "member": member.id }))
        }
        MemberCommand::State { id, state } => {
            let state = match state {
                MemberStateArg::Active => RegistrationState::Active,
                MemberStateArg::Pending => RegistrationState::Pending,
                MemberStateArg::Disabled => RegistrationState::Disabled,
            };
            admin::set_state(store, admin, &id, state)?;
            let text = format!("{id} is {} now", state.as_str());
            action_output("member.state", &text, json!({ "member": id, "state": state.as_str() }))
        }
        MemberCommand::Administrator { id, no } => {
            admin::set_administrator(store, admin, &id, !no)?;
            let text =
                format!("{id} {} the service", if no { "no longer administers" } else { "administers" });
            action_output("member.administrator", &text, json!({ "member": id, "administers": !no }))
        }
        MemberCommand::Rename { id, name } => {
            admin::rename_member(store, admin, &id, &name)?;
            action_output("member.rename", &format!("{id} is renamed"), json!({ "member": id }))
        }
        MemberCommand::Delete { id, .. } => {
            let deleted = admin::delete_member(store, admin, &id)?;
            let DeletedData { blueprints, stock, ships, stock_kept } = deleted;
            let text = format!(
                "{id} is deleted: {blueprints} blueprints, {stock} stock entries and {ships} ships were removed; \
                 {stock_kept} stock entries in pools or with reservations are kept"
            );
            action_output("member.delete", &text, json!({ "member": id, "deleted": deleted }))
        }
        // `run_admin` handles these commands, because they need more than the store.
        MemberCommand::Password { .. } | MemberCommand::ResetPassword { .. } => {
            Err(AdminError::Invalid("this command is handled separately".to_owned()))
        }
        MemberCommand::List => {
            let members = admin::list_members(store)?;
            let rows = members.iter().map(|member| {
                let role = if member.has_role { "yes" } else { "no" };
                let username = member.username.as_deref().unwrap_or("-");
                let administers = if member.administers { "yes" } else { "no" };
                [member.id.as_str(), &member.state, &member.name, role, administers, username]
                    .map(escape_controls)
                    .to_vec()
            });
            let text = format_table(&["member", "state", "name", "role", "administrator", "account"], rows);
            Ok(CommandOutput { text, json: json!({ "members": members }) })
        }
    }
}

fn create_password_link(
    store: &Connection,
    admin: &AdminContext<'_>,
    environment: &Environment,
    origin: &str,
    id: &MemberId,
) -> Result<CommandOutput, AdminError> {
    let PasswordLink { secret, expires_at } = admin::create_password_link(store, admin, environment, id)?;
    let url = format!("{origin}{}{secret}", password_resets::PATH);
    let text = format!("{id} can set a new password once, until {}:\n{url}", expires_at.to_the_minute());
    let json = json!({ "member": id, "url": url, "expiresAt": expires_at.to_string() });
    action_output("member.reset-password", &text, json)
}

fn run_connections(
    store: &Connection,
    admin: &AdminContext<'_>,
    command: ConnectionsCommand,
    is_external: bool,
) -> Result<CommandOutput, AdminError> {
    match command {
        ConnectionsCommand::List { member, client } => {
            let mut connections = admin::list_connections(store, &ConnectionFilter { member, client })?;
            if is_external {
                // Only the external provider knows whether the connections are active.
                connections.iter_mut().for_each(|each| each.connected = None);
            }
            let rows = connections.iter().map(|each| {
                let state = match (each.disconnected, each.connected) {
                    (true, _) => "disconnected",
                    (false, Some(true)) => "connected",
                    (false, Some(false)) => "ended",
                    (false, None) => "-",
                };
                let installation = each.installation.as_ref().map_or("-", InstallationId::as_str);
                let label = each.label.as_deref().unwrap_or("-");
                [
                    each.member.as_str(),
                    each.client.as_str(),
                    installation,
                    label,
                    state,
                    &each.first_call,
                    &each.last_call,
                ]
                .map(str::to_owned)
                .to_vec()
            });
            let head = ["member", "client", "installation", "label", "state", "since", "last"];
            Ok(CommandOutput { text: format_table(&head, rows), json: json!({ "connections": connections }) })
        }
        ConnectionsCommand::End { installation: Some(id), .. } => {
            let text = match admin::end_installation(store, admin, &id)? {
                DisconnectOutcome::AlreadyDisconnected => format!("{id} was disconnected already"),
                _ => format!("{id} is disconnected, and its key is refused permanently"),
            };
            action_output("connections.end", &text, json!({ "installation": id }))
        }
        ConnectionsCommand::End { client: Some(client), member: Some(member), .. } => {
            admin::end_client(store, admin, &client, &member)?;
            let text = format!("{client} of {member} is disconnected until {member} connects it again");
            action_output("connections.end", &text, json!({ "client": client, "member": member }))
        }
        ConnectionsCommand::End { .. } => {
            Err(AdminError::Invalid("give an installation, or a client and a member".to_owned()))
        }
    }
}

/// Reads a password from standard input and returns its hash.
fn read_password_hash(config: &Config, environment: &Environment) -> Result<String, CommandError> {
    let mut input = std::io::stdin();
    if input.is_terminal() {
        let message = "the password is read from standard input, so that it is not visible on screen: pipe it in from \
                    a password manager or a file";
        return Err(CommandError::Configuration(message.to_owned()));
    }
    let mut text = String::new();
    let read = input.by_ref().take(MAX_PASSWORD_BYTES + 3).read_to_string(&mut text);
    read.map_err(|error| CommandError::failed("cannot read the password")(&error))?;
    let password = text.strip_suffix('\n').map_or(&*text, |line| line.strip_suffix('\r').unwrap_or(line));
    if password.chars().count() < MIN_PASSWORD_CHARS
        || password.len() as u64 > MAX_PASSWORD_BYTES
        || password.contains('\n')
    {
        let message = format!(
            "a password must be one line of at least {MIN_PASSWORD_CHARS} characters and at most {MAX_PASSWORD_BYTES} bytes"
        );
        return Err(CommandError::Configuration(message));
    }
    let passwords = PasswordHasher::new(&config.idp, environment);
    let hash = passwords.and_then(|passwords| passwords.hash_password(password, environment));
    hash.map_err(|error| CommandError::failed("cannot hash the password")(&error))
}

/// Returns the name of the system user who runs the command, as the operating system reports it. Environment
/// variables are not used, because every user can set them. `sudo` sets its variable only for another user; `root`
/// could change the audit anyway.
fn current_user() -> String {
    let user = whoami::username().unwrap_or_default();
    let sudo = std::env::var("SUDO_USER").ok().filter(|name| user == "root" && !name.is_empty());
    match sudo.unwrap_or(user) {
        name if name.is_empty() => "unknown".to_owned(),
        name => name,
    }
}

/// Formats a table. Each column is as wide as its widest value; the last column is not padded.
fn format_table<const N: usize>(head: &[&str; N], rows: impl Iterator<Item = Vec<String>>) -> String {
    let rows: Vec<_> = std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let lines = rows.iter().map(|row| {
        let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

//! `admin`: what an administrator changes in the store of a service, whether it runs or not.

mod audit;
mod setup;
mod undo;

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use exchange_api::types::AccountHandle;
use exchange_service::Environment;
use exchange_service::admin::{self, AdminError, By, Changes, Filter, NewClient, NewMember, Standing};
use exchange_service::config::Config;
use exchange_service::idp::Disconnected;
use exchange_service::idp::accounts::Passwords;
use exchange_service::ids::{ClientId, InstallationId, MemberId};
use exchange_service::members::State;
use exchange_service::names::MemberName;
use exchange_service::store::{EditError, OpenError, edit, inspect};
use rusqlite::Connection;
use serde_json::{Value, json};

use super::serve::configuration;
use super::{ConfigArgs, Failure, say};

/// The fewest characters of a password.
const SHORTEST: usize = 12;
/// The longest password, in bytes.
const LONGEST: u64 = 1024;

#[derive(Debug, Args)]
pub(super) struct AdminArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Print one line of JSON in the place of text: what was done, or on standard error why it could not be.
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// The name that the audit has for whoever changes something; by default the system's name for the user.
    #[arg(long = "as", value_name = "NAME", global = true)]
    administrator: Option<String>,
    #[command(subcommand)]
    command: Area,
}

#[derive(Debug, Subcommand)]
enum Area {
    /// Clients: register, suspend, limit.
    #[command(subcommand)]
    Client(ClientCommand),
    /// Switch the exchange on or off, or say which it is.
    ///
    /// A new store is off: every call is answered 503 EXCHANGE_DISABLED until somebody switches it on.
    /// Signing in, and what is held for confirmation, goes on.
    Switch {
        /// Without it, the command says how it stands.
        to: Option<Switch>,
    },
    /// Members and their accounts.
    #[command(subcommand)]
    Member(MemberCommand),
    /// Org units, and who is in them.
    #[command(subcommand)]
    Unit(setup::UnitCommand),
    /// The catalogue, and the blueprints that every member has.
    #[command(subcommand)]
    Catalogue(setup::CatalogueCommand),
    /// The terms that members have to have accepted before clients act for them, or say which they are.
    ///
    /// A new service has none. Members accept a version on their profile's page.
    Terms(setup::TermsArgs),
    /// Connected clients of members: list, disconnect.
    #[command(subcommand)]
    Connections(ConnectionsCommand),
    /// The keys that access tokens are signed with.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Set back what a client wrote, from a moment on.
    ///
    /// Each entry becomes what it was before the client's first change of the span. One that somebody else changed
    /// since stays as it is, and is named. Run again, the command finds nothing; cut off, it goes on. The members'
    /// feeds tell of it, and each member concerned is told.
    Undo(undo::UndoArgs),
    /// Who did what.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Debug, Subcommand)]
enum ClientCommand {
    /// Register a client. It has an id and no secret; what it may ask for is its scopes.
    #[command(
        after_help = "Example:\n\n    exchange-service admin client add stock-tool --name 'Stock Tool' \\\n        \
                            --scope exchange.connect --scope exchange.stock.read"
    )]
    Add {
        /// The id: 1 to 64 letters, digits, `-`, `.`, `_` and `~`. It never changes.
        id: ClientId,
        /// What members see when they connect it.
        #[arg(long)]
        name: String,
        /// A scope that it may ask for; may be repeated.
        #[arg(long = "scope", value_name = "SCOPE", required = true)]
        scopes: Vec<String>,
        /// The oldest version of it that is served, such as 2.1.0.
        #[arg(long, value_name = "VERSION")]
        min_version: Option<String>,
    },
    /// Refuse a client's calls (403 CLIENT_SUSPENDED); its connections stay for when it is resumed.
    Suspend {
        /// The client.
        id: ClientId,
    },
    /// Take a suspended or removed client back.
    Resume {
        /// The client.
        id: ClientId,
    },
    /// End a client's registration: nobody can sign in for it, and its tokens are refused.
    Remove {
        /// The client.
        id: ClientId,
    },
    /// Change what a client may do per member. Only what is named is changed.
    #[command(after_help = "Example:\n\n    exchange-service admin client limits stock-tool \
                            --requests-per-minute 300 --writes-per-day default")]
    Limits {
        /// The client.
        id: ClientId,
        /// Requests per minute and member, 1 to 1200; `default` takes the configured number.
        #[arg(long, value_name = "N", value_parser = number)]
        requests_per_minute: Option<Own<u32>>,
        /// Writes per day and member, 1 to 5000; `default` takes the configured number.
        #[arg(long, value_name = "N", value_parser = number)]
        writes_per_day: Option<Own<u32>>,
        /// The oldest version that is served, such as 2.1.0; `any` serves every one.
        #[arg(long, value_name = "VERSION", value_parser = oldest)]
        min_version: Option<Own<String>>,
    },
    /// Give a client these scopes, in the place of those that it had.
    ///
    /// What members granted before is narrowed at once; for a scope more they sign in anew.
    Scopes {
        /// The client.
        id: ClientId,
        /// The scopes, all of them.
        #[arg(value_name = "SCOPE", required = true)]
        scopes: Vec<String>,
    },
    /// List all clients.
    List,
}

#[derive(Debug, Subcommand)]
enum MemberCommand {
    /// Add a member, who cannot sign in until `member password`.
    #[command(after_help = "Example:\n\n    exchange-service admin member add m-1 --name Ada\n    \
                            pass show exchange/ada | exchange-service admin member password m-1 --username ada")]
    Add {
        /// The id: 1 to 128 letters, digits, `-`, `.`, `_` and `~`. Opaque to others, and never used again.
        id: MemberId,
        /// The name that others see: 1 to 200 characters.
        #[arg(long)]
        name: MemberName,
        /// The game-account handle, which no client is told: 3 to 60 letters, digits, `_` and `-`.
        #[arg(long, value_parser = handle)]
        handle: Option<AccountHandle>,
        /// The registration awaits approval: the member may sign in, and the exchange refuses.
        #[arg(long)]
        pending: bool,
        /// The member holds no role yet: the exchange refuses.
        #[arg(long)]
        no_role: bool,
    },
    /// Give a member an account, or another password, which is read from the standard input.
    ///
    /// One line of at least 12 characters; never an argument, which other users of the machine could see. Browser
    /// sessions of the member end, and with them the connections that were to last no longer; the others go on
    /// (`admin connections end`).
    Password {
        /// The member.
        id: MemberId,
        /// The name to sign in by; needed the first time.
        #[arg(long, value_name = "NAME")]
        username: Option<String>,
    },
    /// Say where a member's registration stands. One who is switched off is refused at once.
    State {
        /// The member.
        id: MemberId,
        /// Where it stands.
        state: Registration,
    },
    /// Let a member administer the service on its pages: register clients, suspend them, let them call again.
    Administrator {
        /// The member.
        id: MemberId,
        /// Let them do so no longer.
        #[arg(long)]
        no: bool,
    },
    /// List all members.
    List,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Registration {
    /// In order.
    Active,
    /// Awaits approval.
    Pending,
    /// Switched off.
    Disabled,
}

#[derive(Debug, Subcommand)]
enum ConnectionsCommand {
    /// List installations, and connections that have not called yet.
    List {
        /// Those of this member.
        #[arg(long, value_name = "ID")]
        member: Option<MemberId>,
        /// Those of this client.
        #[arg(long, value_name = "ID")]
        client: Option<ClientId>,
    },
    /// Disconnect one installation for good, or a client of a member on all devices.
    #[command(
        after_help = "Examples:\n\n    exchange-service admin connections end --installation Zk3…\n    \
                            exchange-service admin connections end --client stock-tool --member m-1"
    )]
    End {
        /// This installation: its key is refused for good.
        #[arg(long, value_name = "ID", conflicts_with_all = ["client", "member"], required_unless_present = "client")]
        installation: Option<InstallationId>,
        /// This client, until the member connects it anew.
        #[arg(long, value_name = "ID", requires = "member")]
        client: Option<ClientId>,
        /// Of this member.
        #[arg(long, value_name = "ID", requires = "client")]
        member: Option<MemberId>,
    },
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Sign with a new key from now on.
    ///
    /// The one before stays published until its last tokens have ended, so nobody has to sign in anew. A running
    /// service takes it up within seconds.
    Rotate,
}

/// A value of its own, or the service's.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Own<T> {
    Default,
    Value(T),
}

impl<T> Own<T> {
    fn into_option(self) -> Option<T> {
        match self {
            Self::Default => None,
            Self::Value(value) => Some(value),
        }
    }
}

/// SVC-13
fn handle(text: &str) -> Result<AccountHandle, &'static str> {
    text.parse().map_err(|_| "a handle is 3 to 60 letters, digits, `_` and `-`")
}

fn number(text: &str) -> Result<Own<u32>, String> {
    match text {
        "default" => Ok(Own::Default),
        text => text.parse().map(Own::Value).map_err(|_| "a number or `default`".to_owned()),
    }
}

fn oldest(text: &str) -> Result<Own<String>, std::convert::Infallible> {
    Ok(if text == "any" { Own::Default } else { Own::Value(text.to_owned()) })
}

/// What a command has to say: for people, and for machines.
struct Told {
    text: String,
    json: Value,
}

/// Carries one out.
pub(super) fn run(args: AdminArgs) -> Result<(), Failure> {
    let AdminArgs { config, json, administrator, command } = args;
    let config = configuration(&config)?;
    let name = administrator.unwrap_or_else(user);
    let environment = Environment::system();
    let by = By::new(&name, environment.now()).map_err(|error| match error {
        AdminError::Wrong(said) => Failure::Configuration(format!("{said}: name yourself by --as")),
        error => failure(&error),
    })?;
    let folder: PathBuf = config.serve.data.clone();
    let told = match command {
        Area::Client(command) => edit(&folder, |store| client(store, &by, command)),
        Area::Switch { to } => edit(&folder, |store| switch(store, &by, to)),
        Area::Member(MemberCommand::Password { id, username }) => {
            let hash = hashed(&config, &environment)?;
            edit(&folder, |store| {
                admin::set_password(store, &by, &id, username.as_deref(), &hash)?;
                done("member.password", &format!("{id} has a new password"), json!({ "member": id }))
            })
        }
        Area::Member(command) => edit(&folder, |store| member(store, &by, command)),
        Area::Unit(command) => setup::unit(&folder, &by, command),
        Area::Catalogue(command) => setup::catalogue(&folder, &by, &environment, command),
        Area::Terms(args) => setup::terms(&folder, &by, args),
        Area::Connections(command) => {
            edit(&folder, |store| connections(store, &by, command, config.is_external()))
        }
        Area::Keys(KeysCommand::Rotate) => edit(&folder, |store| {
            admin::rotate_keys(store, &by)?;
            let text = "a new key signs; the one before stays published until its tokens have ended";
            done("keys.rotate", text, json!({}))
        }),
        Area::Undo(args) => undo::run(&folder, (&name, by.now), &environment, args),
        Area::Audit(command) => inspect(&folder, |store| audit::run(store, command)),
    };
    let Told { text, json: value } = told.map_err(|error| failure(&error))?;
    let said = if json { value.to_string() } else { text };
    say(said.trim_end());
    Ok(())
}

fn failure(error: &AdminError) -> Failure {
    match error {
        AdminError::Wrong(_) => Failure::Configuration(error.to_string()),
        AdminError::Edit(EditError::Version(OpenError::Database(error))) => {
            Failure::Undone(format!("the file is no store of this service: {error}"))
        }
        error => Failure::Undone(error.to_string()),
    }
}

fn done(action: &str, text: &str, mut value: Value) -> Result<Told, AdminError> {
    value["done"] = action.into();
    Ok(Told { text: text.to_owned(), json: value })
}

fn client(store: &Connection, by: &By<'_>, command: ClientCommand) -> Result<Told, AdminError> {
    let stand = |id: ClientId, standing: Standing, text: &str| {
        admin::set_standing(store, by, &id, standing)?;
        done("client.state", &format!("{id} {text}"), json!({ "client": id, "state": standing }))
    };
    match command {
        ClientCommand::Add { id, name, scopes, min_version } => {
            let client = NewClient { id, name, scopes: scopes.into_iter().collect(), min_version };
            admin::add_client(store, by, &client)?;
            let (id, count) = (&client.id, client.scopes.len());
            let json = json!({ "client": id, "scopes": client.scopes });
            done("client.add", &format!("{id} is registered, with {count} scopes"), json)
        }
        ClientCommand::Suspend { id } => stand(id, Standing::Suspended, "is suspended"),
        ClientCommand::Resume { id } => stand(id, Standing::Active, "may call again"),
        ClientCommand::Remove { id } => stand(id, Standing::Disabled, "is not registered any more"),
        ClientCommand::Limits { id, requests_per_minute, writes_per_day, min_version } => {
            let changes = Changes {
                requests_per_minute: requests_per_minute.map(Own::into_option),
                writes_per_day: writes_per_day.map(Own::into_option),
                min_version: min_version.map(Own::into_option),
            };
            admin::limit(store, by, &id, &changes)?;
            done("client.limits", &format!("{id} has other limits"), json!({ "client": id }))
        }
        ClientCommand::Scopes { id, scopes } => {
            let scopes = scopes.into_iter().collect();
            admin::set_scopes(store, by, &id, &scopes)?;
            let text = format!("{id} may ask for {} scopes", scopes.len());
            done("client.scopes", &text, json!({ "client": id, "scopes": scopes }))
        }
        ClientCommand::List => {
            let clients = admin::list_clients(store)?;
            let own =
                |number: Option<u32>| number.map_or_else(|| "default".to_owned(), |own| own.to_string());
            let rows = clients.iter().map(|client| {
                vec![
                    client.id.to_string(),
                    json!(client.state).as_str().unwrap_or_default().to_owned(),
                    client.name.clone(),
                    own(client.requests_per_minute),
                    own(client.writes_per_day),
                    client.min_version.clone().unwrap_or_else(|| "any".to_owned()),
                    client.scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" "),
                ]
            });
            let head = ["client", "state", "name", "per minute", "per day", "oldest", "scopes"];
            Ok(Told { text: table(&head, rows), json: json!({ "clients": clients }) })
        }
    }
}

fn switch(store: &Connection, by: &By<'_>, to: Option<Switch>) -> Result<Told, AdminError> {
    if let Some(to) = to {
        admin::switch(store, by, to == Switch::On)?;
    }
    let on = if admin::is_on(store)? { "on" } else { "off" };
    Ok(Told { text: format!("the exchange is {on}"), json: json!({ "exchange": on }) })
}

fn member(store: &Connection, by: &By<'_>, command: MemberCommand) -> Result<Told, AdminError> {
    match command {
        MemberCommand::Add { id, name, handle, pending, no_role } => {
            let state = if pending { State::Pending } else { State::Active };
            let member = NewMember { id, name, handle, state, has_role: !no_role };
            admin::add_member(store, by, &member)?;
            let text = format!("{} is a member, without a password yet", member.id);
            done("member.add", &text, json!({ "member": member.id }))
        }
        MemberCommand::State { id, state } => {
            let state = match state {
                Registration::Active => State::Active,
                Registration::Pending => State::Pending,
                Registration::Disabled => State::Disabled,
            };
            admin::set_state(store, by, &id, state)?;
            let text = format!("{id} is {} now", state.as_str());
            done("member.state", &text, json!({ "member": id, "state": state.as_str() }))
        }
        MemberCommand::Administrator { id, no } => {
            admin::set_administrator(store, by, &id, !no)?;
            let text =
                format!("{id} {} the service", if no { "no longer administers" } else { "administers" });
            done("member.administrator", &text, json!({ "member": id, "administers": !no }))
        }
        // Carried out by `run`: its hash is made before the store is held.
        MemberCommand::Password { .. } => Err(AdminError::Wrong("no password was read".to_owned())),
        MemberCommand::List => {
            let members = admin::list_members(store)?;
            let rows = members.iter().map(|member| {
                let role = if member.has_role { "yes" } else { "no" };
                let username = member.username.as_deref().unwrap_or("-");
                [member.id.as_str(), &member.state, &member.name, role, username].map(str::to_owned).to_vec()
            });
            let text = table(&["member", "state", "name", "role", "account"], rows);
            Ok(Told { text, json: json!({ "members": members }) })
        }
    }
}

fn connections(
    store: &Connection,
    by: &By<'_>,
    command: ConnectionsCommand,
    is_external: bool,
) -> Result<Told, AdminError> {
    match command {
        ConnectionsCommand::List { member, client } => {
            let mut connections = admin::list_connections(store, &Filter { member, client })?;
            if is_external {
                // Only the provider elsewhere knows.
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
                    &each.since,
                    &each.last,
                ]
                .map(str::to_owned)
                .to_vec()
            });
            let head = ["member", "client", "installation", "label", "state", "since", "last"];
            Ok(Told { text: table(&head, rows), json: json!({ "connections": connections }) })
        }
        ConnectionsCommand::End { installation: Some(id), .. } => {
            let text = match admin::end_installation(store, by, &id)? {
                Disconnected::Before => format!("{id} was disconnected before"),
                _ => format!("{id} is disconnected, and its key refused for good"),
            };
            done("connections.end", &text, json!({ "installation": id }))
        }
        ConnectionsCommand::End { client: Some(client), member: Some(member), .. } => {
            admin::end_client(store, by, &client, &member)?;
            let text = format!("{client} of {member} is disconnected until {member} connects it anew");
            done("connections.end", &text, json!({ "client": client, "member": member }))
        }
        ConnectionsCommand::End { .. } => {
            Err(AdminError::Wrong("name an installation, or a client and a member".to_owned()))
        }
    }
}

/// The hash of the password on the standard input.
fn hashed(config: &Config, environment: &Environment) -> Result<String, Failure> {
    let mut input = std::io::stdin();
    if input.is_terminal() {
        let said = "the password comes from the standard input, where nobody looks over a shoulder: pipe it in from \
                    a password manager or a file";
        return Err(Failure::Configuration(said.to_owned()));
    }
    let mut text = String::new();
    let read = input.by_ref().take(LONGEST + 3).read_to_string(&mut text);
    read.map_err(|error| Failure::undone("cannot read the password")(&error))?;
    let password = text.strip_suffix('\n').map_or(&*text, |line| line.strip_suffix('\r').unwrap_or(line));
    if password.chars().count() < SHORTEST || password.len() as u64 > LONGEST || password.contains('\n') {
        let said = format!("a password is one line of {SHORTEST} characters to {LONGEST} bytes");
        return Err(Failure::Configuration(said));
    }
    let passwords = Passwords::new(&config.idp, environment);
    let hash = passwords.and_then(|passwords| passwords.hash(password, environment));
    hash.map_err(|error| Failure::undone("cannot hash the password")(&error))
}

/// The system's name for whoever runs the command.
fn user() -> String {
    let named = ["SUDO_USER", "USER", "USERNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

/// Columns as wide as their widest value; the last one is not filled up.
fn table<const N: usize>(head: &[&str; N], rows: impl Iterator<Item = Vec<String>>) -> String {
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

//! The commands `login`, `logout`, `status` and `whoami`, which concern the connection of this installation.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use exchange_client::{
    BoxFuture, ComputerNames, Connection, CredentialEntry, CredentialOwner, CredentialStore,
    DisconnectReport, EndReason, Error, ErrorKind, HaltReason, InsecureFileCredentials, Label, LocalData,
    LoginProgress, Session, SessionState, StepOutcome, api::scopes::Scope, feed::Area, outbox::EntryState,
};
use exchange_client_keyring::PlatformStore;
use serde_json::json;
use tokio::sync::mpsc;

use super::{CommandContext, LocalChanges, format_timestamp, link, replica_view::AreaFreshness};
use crate::{
    args::{LoginArgs, LogoutArgs},
    config::Config,
    error::{CommandError, ExitStatus},
    output::{Output, TextStyle, read_stdin_line, sanitize},
    table::PropertyList,
};

/// The scopes of a login without `--allow`, which grant read access to the member's own data (IDP-05).
const DEFAULT_SCOPES: [Scope; 4] = [
    Scope::ExchangeBlueprintsRead,
    Scope::ExchangeStockRead,
    Scope::ExchangeHangarRead,
    Scope::ExchangeOrgunitsRead,
];

/// Returns the scopes to request: the scopes of `--allow`, and the scopes that were granted before, because a
/// new login would otherwise revoke them (IDP-05). With `--only`, the earlier scopes are left out.
fn requested_scopes(args: &LoginArgs, granted: &[Scope]) -> Vec<Scope> {
    if args.all {
        return Scope::ALL.to_vec();
    }
    let typed = args.allow.iter().map(|capability| capability.0.clone());
    let known = granted.iter().filter(|scope| !args.only && scope.is_known()).cloned();
    let wanted: Vec<Scope> = typed.chain(known).collect();
    if wanted.is_empty() { DEFAULT_SCOPES.to_vec() } else { wanted }
}

/// The folder for secrets that this login created. Dropping the guard removes the folder, unless a member
/// signed in. Drop it only after all writes to the folder have ended.
#[derive(Default)]
pub(super) struct FileStoreGuard(Option<(PathBuf, InsecureFileCredentials, CredentialOwner)>);

impl Drop for FileStoreGuard {
    fn drop(&mut self) {
        let Some((folder, files, owner)) = self.0.take() else { return };
        // A login that is interrupted at the last moment may have stored its tokens, and the member is then
        // signed in.
        if !files.has_entry(&owner, CredentialEntry::RefreshToken) {
            // A folder that cannot be removed contains no token. `status` shows that the file store is used.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Switches to a file store for the secrets before the first secret is stored (IDP-18).
async fn choose_file_store(
    context: &CommandContext,
    platform: impl CredentialStore + 'static,
) -> Result<FileStoreGuard, CommandError> {
    if context.is_insecure() {
        return Ok(FileStoreGuard(None));
    }
    // The member would stay signed in with the platform's store, but commands would no longer read that
    // store.
    match context.session_over(platform).await {
        Ok(session) if session.state() == SessionState::Active => {
            let what = format!("you are signed in, with the secrets in {}", session.credential_store_name());
            let next = "run `exchange logout`, then sign in with --insecure-storage";
            return Err(CommandError::new(ExitStatus::Conflict, what, next));
        }
        Err(error) if context.connection_summary().await?.was_connected => {
            let what =
                format!("you signed in before, and it is unknown whether you still are: {}", error.message());
            let next = "unlock the secret store, sign in with another --profile, or run `exchange logout` \
                        first (it lists the secrets that it cannot delete)";
            return Err(CommandError::new(ExitStatus::Conflict, what, next));
        }
        Ok(_) | Err(_) => {}
    }
    let folder = context.insecure_folder();
    let files = context.open_file_store()?;
    let Config { address, identity, profile, .. } = &context.config;
    Ok(FileStoreGuard(Some((folder, files, CredentialOwner::new(address, identity, profile)))))
}

/// Signs in at the member's request (CLI-03). Prints the code and the plain URL. Opens the URL only if the
/// member confirms it (IDP-11, IDP-12).
pub(super) async fn log_in(
    context: &CommandContext,
    args: &LoginArgs,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let machine = ComputerNames::detect();
    let name = args
        .label
        .as_deref()
        .map(|text| Label::new(text, &machine))
        .transpose()
        .map_err(CommandError::from_usage_error)?;
    if args.insecure_storage {
        let chosen = choose_file_store(context, PlatformStore::new()).await?;
        context.file_store_guard.replace(chosen);
    }
    if context.is_insecure() {
        output.print_warning("anyone who can read your files can act as you: a file contains the secrets");
    }
    let signed_in = sign_in(context, args, output).await;
    if let Some(session) = context.session.get() {
        session.wait_until_idle().await;
    }
    let mut chosen = context.file_store_guard.take();
    let session = signed_in?;
    chosen.0 = None;
    if output.is_json() {
        output.write_event(&json!({ "event": "signed_in" }))?;
    }
    let begun = finish_login(context, name.as_ref(), output).await;
    if begun.is_err() {
        output.print_note("you are signed in: `exchange whoami` shows the permissions of this connection");
        if let Some(name) = name.filter(|name| session.label().as_deref() != Some(name.as_str())) {
            output.print_note(format!("the label is not set yet: run exchange label \"{}\"", name.as_str()));
        }
    }
    begun
}

async fn sign_in<'a>(
    context: &'a CommandContext,
    args: &LoginArgs,
    output: &mut Output,
) -> Result<&'a Session, CommandError> {
    let session = context.session().await?;
    // If the replica cannot be opened, fail before the member signs in.
    context.replica()?;
    await_approval(session, args, output).await?;
    Ok(session)
}

/// Completes a sign-in: reads the connection, removes data that this connection may not show (OST-14), and
/// sets the label or prints a hint if there is none.
async fn finish_login(
    context: &CommandContext,
    name: Option<&Label>,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let (exchange, session) = (context.exchange().await?, context.session().await?);
    let connection = context.connection(&exchange, output).await?;
    context.start_sync(&exchange, connection, output).await?;
    if let Some(name) = name {
        exchange.set_label(name).await?;
    }
    let exit = print_connection(connection, session, output)?;
    // SVC-12: the member chooses the label, so a missing label is pointed out. In JSON, the label is then
    // `null`.
    if session.label().is_none() && !output.is_json() {
        output.print_footnote("this connection has no label yet; set one with `exchange label TEXT`")?;
    }
    Ok(exit)
}

/// Waits until the member approves the login. Displays the remaining time.
async fn await_approval(
    session: &Session,
    args: &LoginArgs,
    output: &mut Output,
) -> Result<(), CommandError> {
    let granted = match session.state() {
        SessionState::Active => session.scopes(),
        _ => Arc::default(),
    };
    let device = session.sign_in(&requested_scopes(args, &granted)).await?;
    let (code, address) = (device.user_code().to_owned(), device.verification_uri().to_owned());
    let start = tokio::time::Instant::now();
    let (left, mut next) = (device.expires_in(), device.next_check());
    if output.is_json() {
        output.write_event(&json!({
            "event": "authorization_required", "verificationUri": address, "userCode": code,
            "expiresInSeconds": left.as_secs(),
        }))?;
    } else {
        output.print_note(format!("Open   {address}"));
        output.print_note(format!("Type   {code}"));
        output.print_note("Type only a code that you see here: no one will ever ask you for one.");
    }
    let mut enter = (!args.no_browser && output.can_prompt()).then(|| {
        output.print_note("Press Enter to open the address in your browser.");
        Box::pin(async {
            match read_stdin_line().await {
                Ok(Some(line)) if line.is_empty() => link::open_address(&address).await,
                _ => Ok(()),
            }
        })
    });
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let waiting = device.finish_with(move |progress| {
        let _ = sender.send(progress);
    });
    tokio::pin!(waiting);
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut asked_at = start;
    loop {
        tokio::select! {
            done = &mut waiting => return Ok(done?),
            Some(progress) = receiver.recv() => {
                asked_at = tokio::time::Instant::now();
                next = report_progress(&progress, output)?;
            }
            _ = seconds.tick() => {
                let left = left.saturating_sub(start.elapsed()).as_secs();
                let next = next.saturating_sub(asked_at.elapsed()).as_secs();
                output.show_status(format!("waiting for you: {}:{:02} left, next check in {next} s", left / 60, left % 60));
            }
            // Opening the browser runs concurrently, because it takes time.
            opened = async { match &mut enter { Some(enter) => enter.await, None => std::future::pending().await } } => {
                enter = None;
                if opened.is_err() {
                    output.print_note("no browser could be started: open the address yourself");
                }
            }
        }
    }
}

/// Prints the progress of a login. Returns the time until the next check.
fn report_progress(progress: &LoginProgress, output: &mut Output) -> Result<Duration, CommandError> {
    let (state, next, what) = match progress {
        LoginProgress::Waiting { next, .. } => ("waiting", *next, None),
        LoginProgress::Unreachable { next, error, .. } => ("unreachable", *next, Some(error.to_string())),
        LoginProgress::ClockRunsFast => {
            output.print_warning(
                "the clock of this computer seems to run fast: synchronize it with the network",
            );
            return Ok(Duration::ZERO);
        }
        _ => ("waiting", Duration::ZERO, None),
    };
    if output.is_json() {
        output.write_event(&json!({ "event": "progress", "state": state, "nextCheckSeconds": next.as_secs(), "message": what }))?;
    } else if let Some(what) = what {
        output.print_note(what);
    }
    Ok(next)
}

/// Prints the connection as the service document describes it.
fn print_connection(
    connection: &Connection,
    session: &Session,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let id = connection.installation_id().map_or("", |id| id.as_str());
    let granted: Vec<&str> = connection.capabilities().iter().map(Scope::as_str).collect();
    let limits = connection.limits();
    if output.is_json() {
        output.write_json(&json!({
            "event": "result", "installationId": id, "label": session.label(), "capabilities": granted,
            "limits": limits, "updateNeeded": connection.required_update().map(|update| &update.minimum_version),
        }));
        return Ok(ExitStatus::Success);
    }
    let mut properties = PropertyList::default();
    properties.push_styled_property("connected", TextStyle::Good, "yes");
    properties.push_property("installation", id);
    if let Some(label) = session.label() {
        properties.push_property("label", label);
    }
    let short: Vec<&str> =
        granted.iter().map(|scope| scope.strip_prefix("exchange.").unwrap_or(scope)).collect();
    properties.push_property("may", short.join(", "));
    properties.push_property("ops in a change", connection.max_ops().to_string());
    if let Some(writes) = limits.and_then(|limits| limits.writes_per_day) {
        properties.push_property("writes a day", writes.to_string());
    }
    properties.push_property("documentation", connection.docs_url());
    properties.print(output);
    Ok(ExitStatus::Success)
}

/// SVC-07: requests the service document and prints the connection.
pub(super) async fn print_whoami(
    context: &CommandContext,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let exchange = context.exchange().await?;
    let connection = context.connection(&exchange, output).await?;
    print_connection(connection, context.session().await?, output)
}

/// Returns stable codes for a state and its reason. Programs can rely on them, because the messages may
/// change.
const fn state_codes(state: SessionState) -> (&'static str, Option<&'static str>) {
    match state {
        SessionState::Active => ("active", None),
        SessionState::SignedOut => ("signed-out", None),
        SessionState::Halted(halt) => ("halted", Some(halt_code(halt))),
        SessionState::Ended(end) => ("ended", Some(end_code(end))),
        _ => ("unknown", None),
    }
}

const fn halt_code(halt: HaltReason) -> &'static str {
    match halt {
        HaltReason::Suspended => "suspended",
        HaltReason::NotAllowed => "not-allowed",
        HaltReason::NotRegistered => "not-registered",
        HaltReason::VersionUnsupported => "version",
        HaltReason::TermsNotAccepted => "terms",
        HaltReason::PendingApproval => "approval",
        HaltReason::NoRole => "role",
        HaltReason::MemberRefused => "member",
        _ => "unknown",
    }
}

const fn end_code(end: EndReason) -> &'static str {
    match end {
        EndReason::ClientDisconnected => "client-disconnected",
        EndReason::InstallationDisconnected => "installation-disconnected",
        EndReason::GrantRevoked => "grant-over",
        EndReason::KeyLost => "key-lost",
        _ => "unknown",
    }
}

fn state_text(state: SessionState) -> (TextStyle, &'static str, &'static str) {
    match state {
        SessionState::Active => (TextStyle::Good, "connected", ""),
        SessionState::SignedOut => (TextStyle::Warning, "signed out", "exchange login"),
        SessionState::Halted(halt) => (TextStyle::Bad, halt.message(), halt.advice().message()),
        SessionState::Ended(end) => (TextStyle::Warning, end.message(), "exchange login"),
        _ => (TextStyle::Plain, "in a state that is unknown to this version", ""),
    }
}

/// The numbers of changes in the outbox.
struct OutboxCounts {
    waiting: usize,
    /// The number of decided changes with an outcome that was not printed yet.
    unreported: usize,
    unreadable: usize,
    /// The number of undecided changes of earlier connections, which are never sent.
    earlier: u64,
}

impl OutboxCounts {
    async fn read_counts(context: &CommandContext, output: &mut Output) -> Result<Self, CommandError> {
        let changes = context.read_local_changes().await?;
        changes.warn_about_earlier(output);
        let LocalChanges { entries, unreadable, earlier } = changes;
        let untold = entries.iter().filter(|entry| entry.state() == EntryState::Done).count();
        Ok(Self {
            waiting: entries.len() - untold,
            unreported: untold,
            unreadable: unreadable.len(),
            earlier,
        })
    }
}

impl fmt::Display for OutboxCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.waiting, "waiting"),
            (self.unreported, "decided, whose outcome `exchange outbox retry` prints"),
            (self.unreadable, "that this version cannot read"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
        f.write_str(if parts.is_empty() { "empty" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

/// The state of this installation, and its human-readable and JSON output.
struct ConnectionStatus {
    style: TextStyle,
    state: String,
    next: String,
    codes: (&'static str, Option<&'static str>),
    exit: ExitStatus,
}

impl ConnectionStatus {
    fn from_state(state: SessionState) -> Self {
        let (style, text, next) = state_text(state);
        let exit =
            if state == SessionState::Active { ExitStatus::Success } else { ExitStatus::SignInRequired };
        Self { style, state: text.to_owned(), next: next.to_owned(), codes: state_codes(state), exit }
    }

    /// Creates the status for an unusable secret store. It is then unknown whether the member is signed in.
    fn from_store_error(failure: &CommandError) -> Self {
        let (state, next) = failure
            .to_report()
            .map_or_else(Default::default, |report| (report.message, report.next.into_owned()));
        Self {
            style: TextStyle::Bad,
            state,
            next,
            codes: ("unknown", Some("secret-store")),
            exit: failure.exit_status(),
        }
    }
}

/// Prints the local state without contacting the exchange. The exit code is 4 if no member is signed in, and
/// 1 if the secret store is unusable. In both cases, all other properties are printed.
pub(super) async fn print_status(
    context: &CommandContext,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let (session, failure) = context.session_with_or_without_secrets().await?;
    let status = match failure {
        None => ConnectionStatus::from_state(session.state()),
        Some(error) => {
            let summary = context.connection_summary().await?;
            if !summary.was_connected && summary.installation_id.is_none() {
                // Nothing is known about a connection, so there is nothing else to print.
                return Err(error.into());
            }
            let failure = CommandError::from(error);
            ConnectionStatus::from_store_error(&if context.is_insecure() {
                failure.with_file_store_advice()
            } else {
                failure
            })
        }
    };
    let ConnectionStatus { style, state, next, codes: (token, why), exit } = status;
    let copies = context.replica_view().await?;
    let read = |area: Area| -> Result<_, CommandError> {
        Ok((area, copies.area_freshness(area)?, copies.entry_count(area)?))
    };
    let areas = Area::ALL.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let changes = OutboxCounts::read_counts(context, output).await?;
    let scopes = session.scopes();
    let granted: Vec<&str> = scopes.iter().map(Scope::as_str).collect();
    if output.is_json() {
        let areas = areas.iter().map(|(area, standing, count)| {
            let as_of =
                if let AreaFreshness::AsOf(as_of) = standing { format_timestamp(*as_of) } else { None };
            let others = *standing == AreaFreshness::OtherConnection;
            (area.name().to_owned(), json!({ "asOf": as_of, "entries": count, "ofAnother": others }))
        });
        let areas: serde_json::Map<_, _> = areas.collect();
        output.write_json(&json!({
            "state": token, "why": why, "message": state, "next": next, "issuer": context.config.address.issuer(), "gateway": context.config.address.gateway(),
            "profile": context.config.profile, "secretStore": session.credential_store_name(),
            "installationId": session.installation_id(), "label": session.label(), "scopes": granted,
            "areas": areas, "outbox": changes.waiting, "untold": changes.unreported, "unreadable": changes.unreadable,
            "ofEarlierConnections": changes.earlier,
        }));
        return Ok(exit);
    }
    let mut properties = PropertyList::default();
    properties.push_styled_property("state", style, state);
    if !next.is_empty() {
        properties.push_property("next", next);
    }
    properties.push_property("identity provider", context.config.address.issuer());
    properties.push_property("gateway", context.config.address.gateway());
    properties.push_property("profile", context.config.profile.as_str());
    let style = if context.is_insecure() { TextStyle::Warning } else { TextStyle::Plain };
    properties.push_styled_property("secrets in", style, session.credential_store_name());
    if let Some(id) = session.installation_id() {
        properties.push_property("installation", id);
    }
    if let Some(label) = session.label() {
        properties.push_property("label", label);
    }
    for (area, standing, count) in &areas {
        match standing {
            AreaFreshness::AsOf(as_of) => {
                properties.push_property(
                    area.name(),
                    format!(
                        "{count}, as of {}",
                        output.times().format(&format_timestamp(*as_of).unwrap_or_default())
                    ),
                );
            }
            AreaFreshness::Unread => properties.push_property(area.name(), "not read yet"),
            AreaFreshness::OtherConnection => {
                let what = "not read for this connection, and not shown before the next sync";
                properties.push_styled_property(area.name(), TextStyle::Warning, what);
            }
        }
    }
    properties.push_property("outbox", changes.to_string());
    properties.print(output);
    Ok(exit)
}

/// The file that contains resolved catalogue names.
struct CatalogueNames(PathBuf);

impl LocalData for CatalogueNames {
    fn name(&self) -> &str {
        "names of the catalogue"
    }

    fn delete(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async {
            match std::fs::remove_file(&self.0) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::with_source(
                    ErrorKind::Storage,
                    "cannot delete the names of the catalogue",
                    error,
                )),
                _ => Ok(()),
            }
        })
    }
}

/// IDP-24, CLI-06: revokes the connection, deletes local data, and reports each step. A failed step does not
/// prevent later steps.
pub(super) async fn log_out(
    context: &CommandContext,
    args: &LogoutArgs,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    // If the secret store is unusable, all other data is deleted, so that the next login can use another
    // store.
    let (session, _) = context.session_with_or_without_secrets().await?;
    // Counts the changes of all installations, because the changes of earlier ones are deleted as well.
    let outbox = context.outbox_store();
    let waiting = match &outbox {
        Ok(outbox) => outbox.count_undecided().await.ok(),
        Err(_) => None,
    };
    if !args.yes && output.can_prompt() {
        let lost = match waiting {
            Some(0) => String::new(),
            Some(waiting) => format!(" {waiting} unsent changes are lost."),
            None => " Unsent changes are lost; their number cannot be read.".to_owned(),
        };
        let answer = output.prompt_line(&format!("Disconnect, and delete the local data?{lost} [y/N]")).await;
        if !matches!(answer.as_deref(), Some("y" | "Y" | "yes")) {
            return Err(CommandError::new(
                ExitStatus::Cancelled,
                "nothing was changed",
                "use --yes to disconnect without a question",
            ));
        }
    } else if !args.yes && waiting != Some(0) {
        let what = match waiting {
            Some(waiting) => format!("{waiting} unsent changes would be lost"),
            None => "the outbox cannot be read, and unsent changes would be lost".to_owned(),
        };
        return Err(CommandError::new(ExitStatus::Conflict, what, "use --yes to disconnect anyway"));
    }
    let mut unusable = Vec::new();
    match context.replica() {
        Ok(replica) => session.register_local_data(replica.clone()),
        Err(failure) => unusable.push(("copies of the exchange's data", failure)),
    }
    match outbox {
        Ok(outbox) => session.register_local_data(outbox),
        Err(failure) => unusable.push(("outbox", failure)),
    }
    session.register_local_data(CatalogueNames(context.catalogue_file()));
    let mut gone = session.disconnect().await;
    for (name, failure) in unusable {
        let why = failure.to_report().map_or_else(String::new, |report| report.message);
        gone.data.push((name.to_owned(), StepOutcome::Failed(Error::new(ErrorKind::Storage, why))));
    }
    if gone.is_complete() {
        // The choice of the file store applies to one connection only.
        let _ = std::fs::remove_dir_all(context.insecure_folder());
    }
    print_disconnect_report(&gone, output)
}

fn print_disconnect_report(gone: &DisconnectReport, output: &mut Output) -> Result<ExitStatus, CommandError> {
    let fixed =
        [("connection revoked", &gone.revoked), ("tokens deleted", &gone.tokens), ("key deleted", &gone.key)];
    let steps: Vec<(String, &StepOutcome)> = fixed
        .into_iter()
        .map(|(name, step)| (name.to_owned(), step))
        .chain(gone.data.iter().map(|(name, step)| (format!("{name} deleted"), step)))
        .collect();
    let word = |step: &StepOutcome| match step {
        StepOutcome::Done => "yes".to_owned(),
        StepOutcome::NotNeeded => "nothing to do".to_owned(),
        StepOutcome::Failed(error) => format!("no: {}", sanitize(&error.to_string())),
        _ => "unknown".to_owned(),
    };
    if output.is_json() {
        let steps: Vec<_> = steps
            .iter()
            .map(|(name, step)| json!({ "step": name, "done": step.is_done(), "result": word(step) }))
            .collect();
        output.write_json(&json!({ "disconnected": gone.is_complete(), "steps": steps }));
    } else {
        for (name, step) in &steps {
            let style = if step.is_done() { TextStyle::Good } else { TextStyle::Bad };
            let word = output.apply_style(style, &word(step));
            output.write_line(format!("{name}: {word}"));
        }
    }
    Ok(if gone.is_complete() { ExitStatus::Success } else { ExitStatus::Failure })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use exchange_client::{
        ClientIdentity, CredentialError, ExchangeAddress, MemoryCredentials, SecretBytes,
        testkit::{HookedStore, ScriptedReply, ScriptedServer, VirtualEnvironment},
    };
    use exchange_service::sandbox::{Sandbox, SandboxOptions};

    use super::*;
    use crate::{
        config::ProgramFolders,
        output::{ColorChoice, OutputFormat},
    };

    /// IDP-14: the client polls at the provider's interval plus one fifth, until the provider approves or
    /// denies the login.
    #[tokio::test(start_paused = true)]
    async fn login_polls_at_the_providers_interval() {
        for (interval, expect) in [(5, [6, 12, 18]), (30, [36, 72, 108])] {
            let machine = VirtualEnvironment::new(1);
            let provider = ScriptedServer::provider(&machine);
            let origin = provider.origin().to_owned();
            provider.enqueue_reply_for(
                "oauth.discovery",
                ScriptedReply::json(
                    200,
                    json!({
                        "issuer": origin, "device_authorization_endpoint": format!("{origin}/device"),
                        "token_endpoint": format!("{origin}/token"), "revocation_endpoint": format!("{origin}/revoke"),
                    }),
                ),
            );
            provider.enqueue_reply_for(
                "oauth.device",
                ScriptedReply::json(
                    200,
                    json!({
                        "device_code": "a-code", "user_code": "BCDF-GHJK", "verification_uri": format!("{origin}/link"),
                        "expires_in": 600, "interval": interval,
                    }),
                ),
            );
            for error in ["authorization_pending", "authorization_pending", "access_denied"] {
                provider.enqueue_reply_for("oauth.token", ScriptedReply::oauth(error));
            }
            let address = ExchangeAddress::new(&origin, "https://gateway.test").unwrap();
            let identity = ClientIdentity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap();
            let session = Session::builder(&address, &identity)
                .environment(machine.environment())
                .credentials(MemoryCredentials::new())
                .transport(provider.clone());
            let session = session.open().await.unwrap();
            let args = LoginArgs {
                allow: Vec::new(),
                only: false,
                all: false,
                label: None,
                no_browser: true,
                insecure_storage: false,
            };
            let mut output = Output::new(OutputFormat::Text, ColorChoice::Never);
            let declined = await_approval(&session, &args, &mut output).await.unwrap_err();
            assert!(matches!(declined, CommandError::Client(error) if error.kind() == ErrorKind::Declined));
            let requests = provider.requests();
            let polls = requests.iter().filter(|request| request.operation == "oauth.token");
            assert_eq!(polls.map(|request| request.received_at.as_secs()).collect::<Vec<_>>(), expect);
        }
    }

    /// CLI-03, CLI-04: every pair of state and reason has a distinct code for programs.
    #[test]
    fn states_have_distinct_codes() {
        let halts = [
            HaltReason::Suspended,
            HaltReason::NotAllowed,
            HaltReason::NotRegistered,
            HaltReason::VersionUnsupported,
            HaltReason::TermsNotAccepted,
            HaltReason::PendingApproval,
            HaltReason::NoRole,
            HaltReason::MemberRefused,
        ];
        let ends = [
            EndReason::ClientDisconnected,
            EndReason::InstallationDisconnected,
            EndReason::GrantRevoked,
            EndReason::KeyLost,
        ];
        let states = [SessionState::Active, SessionState::SignedOut].into_iter();
        let states = states.chain(halts.map(SessionState::Halted)).chain(ends.map(SessionState::Ended));
        let all: BTreeSet<_> = states.map(state_codes).collect();
        assert_eq!(all.len(), 14, "{all:?}");
        let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        assert!(all.iter().all(|(state, why)| is_word(state) && why.is_none_or(is_word)), "{all:?}");
        let words: BTreeSet<_> = all.iter().map(|(state, _)| *state).collect();
        assert_eq!(words.into_iter().collect::<Vec<_>>(), ["active", "ended", "halted", "signed-out"]);
    }

    /// Creates a secret store that is locked.
    fn locked() -> HookedStore<MemoryCredentials> {
        HookedStore::new("Locked Store", MemoryCredentials::new(), async |_, _| Err(CredentialError::Locked))
    }

    /// IDP-18: a member who is signed in with the platform's store has to sign out before switching to the
    /// file store.
    #[tokio::test]
    async fn file_store_is_not_chosen_while_connected() {
        let mut numbers = exchange_service::config::Config::default();
        numbers.idp.interval_seconds = 1;
        let sandbox =
            Sandbox::with_options(SandboxOptions { config: Some(numbers), ..SandboxOptions::default() })
                .await
                .unwrap();
        let home = tempfile::tempdir().unwrap();
        let address = ExchangeAddress::from_variable(|_| Some(sandbox.origin())).unwrap().unwrap();
        let identity =
            ClientIdentity::new("sandbox-client", "desk", "1.0.0", "https://desk.example").unwrap();
        let folder = |name: &str| home.path().join(name);
        let folders = ProgramFolders { state: folder("state"), cache: folder("cache") };
        let config = Config { address, identity, folders, profile: "default".to_owned() };
        let context = CommandContext::new(config, exchange_client::RetryPolicy::INTERACTIVE);
        let platform = MemoryCredentials::new();
        let chosen = choose_file_store(&context, platform.clone()).await.unwrap();
        assert!(context.is_insecure());
        // Without a sign-in, dropping the guard removes the folder.
        drop(chosen);
        assert!(!context.is_insecure());
        // According to the summary, nobody signed in before, so the locked store does not have to be read.
        choose_file_store(&context, locked()).await.map(drop).unwrap();
        // If the member signed in before the command was interrupted, the folder and the token are kept.
        let chosen = choose_file_store(&context, platform.clone()).await.unwrap();
        let owner =
            CredentialOwner::new(&context.config.address, &context.config.identity, &context.config.profile);
        let token = SecretBytes::new(b"a token".to_vec());
        context
            .open_file_store()
            .unwrap()
            .write(&owner, CredentialEntry::RefreshToken, &token)
            .await
            .unwrap();
        drop(chosen);
        assert_eq!(
            context.open_file_store().unwrap().read(&owner, CredentialEntry::RefreshToken).await.unwrap(),
            Some(token)
        );
        std::fs::remove_dir_all(context.insecure_folder()).unwrap();
        let session = context.session_over(platform.clone()).await.unwrap();
        let login = session.sign_in(&[]).await.unwrap();
        sandbox.approve(login.user_code(), "sandbox-member").await.unwrap();
        login.finish().await.unwrap();
        let refused = choose_file_store(&context, platform.clone()).await.err().unwrap();
        assert_eq!(refused.exit_status(), ExitStatus::Conflict);
        // If the store is locked, the member may still be signed in.
        let locked = choose_file_store(&context, locked()).await.err().unwrap();
        assert_eq!(locked.exit_status(), ExitStatus::Conflict);
        assert!(!context.is_insecure());
        assert!(session.disconnect().await.is_complete());
        choose_file_store(&context, platform).await.map(drop).unwrap();
    }
}

//! `login`, `logout`, `status`, `whoami`: the connection of this installation.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use exchange_client::{
    Connection, CredentialStore, Disconnected, End, Entry, Error, ErrorKind, Halt, InsecureFile, Label,
    Later, LocalData, LoginProgress, MachineNames, Owner, Session, SessionState, StepTaken,
    api::scopes::Scope, feed::Area, outbox::State,
};
use exchange_client_keyring::PlatformStore;
use serde_json::json;
use tokio::sync::mpsc;

use super::{App, Changes, copies::Standing, link, written};
use crate::{
    args::{Login, Logout},
    config::Config,
    failure::{Exit, Failure},
    output::{Look, Output, clean, typed_line},
    table::Facts,
};

/// What is asked for when nothing else is typed: to read what is the member's own (IDP-05).
const USUAL: [Scope; 4] = [
    Scope::ExchangeBlueprintsRead,
    Scope::ExchangeStockRead,
    Scope::ExchangeHangarRead,
    Scope::ExchangeOrgunitsRead,
];

/// What is asked for: what was typed and what was granted before, which a new login would take away otherwise
/// (IDP-05), unless just that is wanted.
fn wanted(args: &Login, granted: &[Scope]) -> Vec<Scope> {
    if args.all {
        return Scope::ALL.to_vec();
    }
    let typed = args.allow.iter().map(|capability| capability.0.clone());
    let kept = granted.iter().filter(|scope| !args.only && scope.is_known()).cloned();
    let wanted: Vec<Scope> = typed.chain(kept).collect();
    if wanted.is_empty() { USUAL.to_vec() } else { wanted }
}

/// The folder of secrets that this login made: it goes again unless somebody is signed in there afterwards. To be dropped
/// when nothing writes there any more.
#[derive(Default)]
pub(super) struct Chosen(Option<(PathBuf, InsecureFile, Owner)>);

impl Drop for Chosen {
    fn drop(&mut self) {
        let Some((folder, files, owner)) = self.0.take() else { return };
        // The tokens may have come just when the login was broken off: then the member is signed in.
        if !files.holds(&owner, Entry::RefreshToken) {
            // What cannot be removed holds no token; `status` names it.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Chooses files for the secrets, before anything is kept in them (IDP-18).
async fn choose_files(app: &App, platform: impl CredentialStore + 'static) -> Result<Chosen, Failure> {
    if app.is_insecure() {
        return Ok(Chosen(None));
    }
    // Whoever is signed in there would stay so, with nobody left who knows of it.
    match app.session_over(platform).await {
        Ok(session) if session.state() == SessionState::Active => {
            let what = format!("you are signed in, with the secrets in {}", session.secret_store());
            let next = "exchange logout, then sign in with --insecure-storage";
            return Err(Failure::new(Exit::Conflict, what, next));
        }
        Err(error) if app.noted().await?.was_connected => {
            let what = format!(
                "you signed in before, and nobody can tell whether you still are: {}",
                error.message()
            );
            let next = "unlock the secret store, or `exchange logout` first, which says what stays in it, or sign in under \
                        another --profile";
            return Err(Failure::new(Exit::Conflict, what, next));
        }
        Ok(_) | Err(_) => {}
    }
    let folder = app.insecure_folder();
    let files = app.files()?;
    let Config { place, identity, profile, .. } = &app.config;
    Ok(Chosen(Some((folder, files, Owner::new(place, identity, profile)))))
}

/// Only because the member asks (CLI-03). Shows the code and the bare address, and opens that address only when
/// the member says so (IDP-11, IDP-12).
pub(super) async fn login(app: &App, args: &Login, output: &mut Output) -> Result<Exit, Failure> {
    let machine = MachineNames::of_this_computer();
    let name =
        args.label.as_deref().map(|text| Label::new(text, &machine)).transpose().map_err(Failure::usage)?;
    if args.insecure_storage {
        let chosen = choose_files(app, PlatformStore::new()).await?;
        app.chosen.replace(chosen);
    }
    if app.is_insecure() {
        output.warn("whoever can read your files can act as you: the secrets are kept in one");
    }
    let signed_in = signed_in(app, args, output).await;
    if let Some(session) = app.session.get() {
        session.settled().await;
    }
    let mut chosen = app.chosen.take();
    let session = signed_in?;
    chosen.0 = None;
    if output.is_json() {
        output.event(&json!({ "event": "signed_in" }))?;
    }
    let begun = begun(app, name.as_ref(), output).await;
    if begun.is_err() {
        output.note("you are signed in all the same: `exchange whoami` says what this connection may do");
        if let Some(name) = name.filter(|name| session.label().as_deref() != Some(name.as_str())) {
            output.note(format!("it is not called so yet: exchange label \"{}\"", name.as_str()));
        }
    }
    begun
}

async fn signed_in<'a>(app: &'a App, args: &Login, output: &mut Output) -> Result<&'a Session, Failure> {
    let session = app.session().await?;
    // Where nothing can be kept nobody has to sign in.
    app.replica()?;
    approved(session, args, output).await?;
    Ok(session)
}

/// What follows a sign-in: reads what the exchange says of the connection, forgets what is not its to see (OST-14), and
/// gives it its label, or says that it has none.
async fn begun(app: &App, name: Option<&Label>, output: &mut Output) -> Result<Exit, Failure> {
    let (exchange, session) = (app.exchange().await?, app.session().await?);
    let connection = app.connection(&exchange, output).await?;
    app.read_for(&exchange, connection, output).await?;
    if let Some(name) = name {
        exchange.label(name).await?;
    }
    let exit = tell(connection, session, output)?;
    // SVC-12: the member chooses it, and has to know of the choice. Programs see that there is none.
    if session.label().is_none() && !output.is_json() {
        output.footnote("no label was chosen for this connection yet: exchange label TEXT")?;
    }
    Ok(exit)
}

/// Waits for the member, with something to look at.
async fn approved(session: &Session, args: &Login, output: &mut Output) -> Result<(), Failure> {
    let granted = match session.state() {
        SessionState::Active => session.scopes(),
        _ => Arc::default(),
    };
    let device = session.sign_in(&wanted(args, &granted)).await?;
    let (code, address) = (device.user_code().to_owned(), device.verification_uri().to_owned());
    let begun = tokio::time::Instant::now();
    let (left, mut next) = (device.expires_in(), device.next_check());
    if output.is_json() {
        output.event(&json!({
            "event": "authorization_required", "verificationUri": address, "userCode": code,
            "expiresInSeconds": left.as_secs(),
        }))?;
    } else {
        output.note(format!("Open   {address}"));
        output.note(format!("Type   {code}"));
        output.note("Type only a code that you see here: nobody will ever ask you for one.");
    }
    let mut enter = (!args.no_browser && output.can_ask()).then(|| {
        output.note("Press Enter to open the address in your browser.");
        Box::pin(async {
            match typed_line().await {
                Ok(Some(line)) if line.is_empty() => link::open(&address).await,
                _ => Ok(()),
            }
        })
    });
    let (tell, mut told) = mpsc::unbounded_channel();
    let waiting = device.finish_with(move |progress| {
        let _ = tell.send(progress);
    });
    tokio::pin!(waiting);
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut asked_at = begun;
    loop {
        tokio::select! {
            done = &mut waiting => return Ok(done?),
            Some(progress) = told.recv() => {
                asked_at = tokio::time::Instant::now();
                next = progressed(&progress, output)?;
            }
            _ = seconds.tick() => {
                let left = left.saturating_sub(begun.elapsed()).as_secs();
                let next = next.saturating_sub(asked_at.elapsed()).as_secs();
                output.status(format!("waiting for you: {}:{:02} left, next check in {next} s", left / 60, left % 60));
            }
            // Beside the rest: a browser takes its time to start.
            opened = async { match &mut enter { Some(enter) => enter.await, None => std::future::pending().await } } => {
                enter = None;
                if opened.is_err() {
                    output.note("no browser could be started: open the address yourself");
                }
            }
        }
    }
}

/// Tells a step of a login, and when the next is due.
fn progressed(progress: &LoginProgress, output: &mut Output) -> Result<Duration, Failure> {
    let (state, next, what) = match progress {
        LoginProgress::Waiting { next, .. } => ("waiting", *next, None),
        LoginProgress::Unreachable { next, error, .. } => ("unreachable", *next, Some(error.to_string())),
        LoginProgress::ClockRunsFast => {
            output.warn("the clock of this computer seems to run fast: let it be set from the network");
            return Ok(Duration::ZERO);
        }
        _ => ("waiting", Duration::ZERO, None),
    };
    if output.is_json() {
        output.event(&json!({ "event": "progress", "state": state, "nextCheckSeconds": next.as_secs(), "message": what }))?;
    } else if let Some(what) = what {
        output.note(what);
    }
    Ok(next)
}

/// What the exchange says of this connection.
fn tell(connection: &Connection, session: &Session, output: &mut Output) -> Result<Exit, Failure> {
    let id = connection.installation_id().map_or("", |id| id.as_str());
    let granted: Vec<&str> = connection.capabilities().iter().map(Scope::as_str).collect();
    let limits = connection.limits();
    if output.is_json() {
        output.json(&json!({
            "event": "result", "installationId": id, "label": session.label(), "capabilities": granted,
            "limits": limits, "updateNeeded": connection.update_needed().map(|update| &update.least),
        }));
        return Ok(Exit::Done);
    }
    let mut facts = Facts::default();
    facts.look("connected", Look::Good, "yes");
    facts.say("installation", id);
    if let Some(label) = session.label() {
        facts.say("label", label);
    }
    let short: Vec<&str> =
        granted.iter().map(|scope| scope.strip_prefix("exchange.").unwrap_or(scope)).collect();
    facts.say("may", short.join(", "));
    facts.say("ops in a change", connection.most_ops().to_string());
    if let Some(writes) = limits.writes_per_day {
        facts.say("writes a day", writes.to_string());
    }
    facts.say("documentation", connection.docs_url());
    facts.print(output);
    Ok(Exit::Done)
}

/// SVC-07: asks the exchange.
pub(super) async fn whoami(app: &App, output: &mut Output) -> Result<Exit, Failure> {
    let exchange = app.exchange().await?;
    let connection = app.connection(&exchange, output).await?;
    tell(connection, app.session().await?, output)
}

/// What a state, and the reason for it, are called for programs: other words for people change nothing of that.
const fn called(state: SessionState) -> (&'static str, Option<&'static str>) {
    match state {
        SessionState::Active => ("active", None),
        SessionState::SignedOut => ("signed-out", None),
        SessionState::Halted(halt) => ("halted", Some(halted(halt))),
        SessionState::Ended(end) => ("ended", Some(ended(end))),
        _ => ("unknown", None),
    }
}

const fn halted(halt: Halt) -> &'static str {
    match halt {
        Halt::Suspended => "suspended",
        Halt::NotAllowed => "not-allowed",
        Halt::NotRegistered => "not-registered",
        Halt::Version => "version",
        Halt::Terms => "terms",
        Halt::Approval => "approval",
        Halt::Role => "role",
        Halt::Member => "member",
        _ => "unknown",
    }
}

const fn ended(end: End) -> &'static str {
    match end {
        End::Client => "client-disconnected",
        End::Installation => "installation-disconnected",
        End::Grant => "grant-over",
        End::KeyLost => "key-lost",
        _ => "unknown",
    }
}

fn stated(state: SessionState) -> (Look, &'static str, &'static str) {
    match state {
        SessionState::Active => (Look::Good, "connected", ""),
        SessionState::SignedOut => (Look::Warning, "signed out", "exchange login"),
        SessionState::Halted(halt) => (Look::Bad, halt.text(), halt.advice().text()),
        SessionState::Ended(end) => (Look::Warning, end.text(), "exchange login"),
        _ => (Look::Plain, "in a state that this version does not know", ""),
    }
}

/// The changes of the outbox, counted.
struct Waiting {
    waiting: usize,
    /// Decided, and nobody read what became of them.
    untold: usize,
    unreadable: usize,
    /// Of earlier connections, whose changes nothing sends.
    earlier: u64,
}

impl Waiting {
    async fn of(app: &App, output: &mut Output) -> Result<Self, Failure> {
        let changes = app.changes_here().await?;
        changes.tell_of_earlier(output);
        let Changes { entries, unreadable, earlier } = changes;
        let untold = entries.iter().filter(|entry| entry.state() == State::Done).count();
        Ok(Self { waiting: entries.len() - untold, untold, unreadable: unreadable.len(), earlier })
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.waiting, "waiting"),
            (self.untold, "decided, which `exchange outbox retry` tells"),
            (self.unreadable, "that cannot be read here"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
        f.write_str(if parts.is_empty() { "empty" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

/// How this installation stands, for people and for programs.
struct Stand {
    look: Look,
    state: String,
    next: String,
    called: (&'static str, Option<&'static str>),
    exit: Exit,
}

impl Stand {
    fn of(state: SessionState) -> Self {
        let (look, text, next) = stated(state);
        let exit = if state == SessionState::Active { Exit::Done } else { Exit::SignIn };
        Self { look, state: text.to_owned(), next: next.to_owned(), called: called(state), exit }
    }

    /// Nobody can tell whether somebody is signed in: the secret store does not say.
    fn unknown(failure: &Failure) -> Self {
        let (state, next) =
            failure.envelope().map_or_else(Default::default, |told| (told.message, told.next.into_owned()));
        Self { look: Look::Bad, state, next, called: ("unknown", Some("secret-store")), exit: failure.exit() }
    }
}

/// What is known here, without asking. Nobody signed in is exit code 4, and a secret store that cannot be used is 1, with
/// everything else said all the same.
pub(super) async fn status(app: &App, output: &mut Output) -> Result<Exit, Failure> {
    let (session, trouble) = app.session_or_notes().await?;
    let stand = match trouble {
        None => Stand::of(session.state()),
        Some(error) => {
            let noted = app.noted().await?;
            if !noted.was_connected && noted.installation_id.is_none() {
                // There is nothing else to say.
                return Err(error.into());
            }
            let failure = Failure::from(error);
            Stand::unknown(&if app.is_insecure() { failure.with_files() } else { failure })
        }
    };
    let Stand { look, state, next, called: (token, why), exit } = stand;
    let copies = app.copies().await?;
    let read = |area: Area| -> Result<_, Failure> { Ok((area, copies.standing(area)?, copies.count(area)?)) };
    let areas = Area::ALL.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let changes = Waiting::of(app, output).await?;
    let scopes = session.scopes();
    let granted: Vec<&str> = scopes.iter().map(Scope::as_str).collect();
    if output.is_json() {
        let areas = areas.iter().map(|(area, standing, count)| {
            let as_of = if let Standing::AsOf(as_of) = standing { written(*as_of) } else { None };
            let others = *standing == Standing::Others;
            (area.name().to_owned(), json!({ "asOf": as_of, "entries": count, "ofAnother": others }))
        });
        let areas: serde_json::Map<_, _> = areas.collect();
        output.json(&json!({
            "state": token, "why": why, "message": state, "next": next, "issuer": app.config.place.issuer(), "gateway": app.config.place.gateway(),
            "profile": app.config.profile, "secretStore": session.secret_store(),
            "installationId": session.installation_id(), "label": session.label(), "scopes": granted,
            "areas": areas, "outbox": changes.waiting, "untold": changes.untold, "unreadable": changes.unreadable,
            "ofEarlierConnections": changes.earlier,
        }));
        return Ok(exit);
    }
    let mut facts = Facts::default();
    facts.look("state", look, state);
    if !next.is_empty() {
        facts.say("next", next);
    }
    facts.say("identity provider", app.config.place.issuer());
    facts.say("gateway", app.config.place.gateway());
    facts.say("profile", app.config.profile.as_str());
    let kept = if app.is_insecure() { Look::Warning } else { Look::Plain };
    facts.look("secrets in", kept, session.secret_store());
    if let Some(id) = session.installation_id() {
        facts.say("installation", id);
    }
    if let Some(label) = session.label() {
        facts.say("label", label);
    }
    for (area, standing, count) in &areas {
        match standing {
            Standing::AsOf(as_of) => {
                facts.say(area.name(), format!("{count}, as of {}", written(*as_of).unwrap_or_default()));
            }
            Standing::Unread => facts.say(area.name(), "not read yet"),
            Standing::Others => {
                let what = "not read for this connection, and not shown before the next sync";
                facts.look(area.name(), Look::Warning, what);
            }
        }
    }
    facts.say("outbox", changes.to_string());
    facts.print(output);
    Ok(exit)
}

/// The names of the catalogue that were looked up.
struct Names(PathBuf);

impl LocalData for Names {
    fn name(&self) -> &str {
        "names of the catalogue"
    }

    fn delete(&self) -> Later<'_, Result<(), Error>> {
        Box::pin(async {
            match std::fs::remove_file(&self.0) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::caused(
                    ErrorKind::Storage,
                    "the names of the catalogue are not deleted",
                    error,
                )),
                _ => Ok(()),
            }
        })
    }
}

/// IDP-24, CLI-06: revokes, deletes, and says what became of each step, whatever became of the one before.
pub(super) async fn logout(app: &App, args: &Logout, output: &mut Output) -> Result<Exit, Failure> {
    // Where the secret store is gone, all else goes nevertheless: whoever signs in next may choose another one.
    let (session, _) = app.session_or_notes().await?;
    // Whosever they are: of an installation that is gone nobody else asks.
    let outbox = app.outbox_store();
    let waiting = match &outbox {
        Ok(outbox) => outbox.waiting().await.ok(),
        Err(_) => None,
    };
    if !args.yes && output.can_ask() {
        let lost = match waiting {
            Some(0) => String::new(),
            Some(waiting) => format!(" {waiting} changes that were not sent are lost."),
            None => " Changes that were not sent are lost, and how many cannot be read.".to_owned(),
        };
        let answer = output.ask(&format!("Disconnect, and delete what is kept here?{lost} [y/N]")).await;
        if !matches!(answer.as_deref(), Some("y" | "Y" | "yes")) {
            return Err(Failure::new(
                Exit::Cancelled,
                "nothing was changed",
                "use --yes to disconnect without a question",
            ));
        }
    } else if !args.yes && waiting != Some(0) {
        let what = match waiting {
            Some(waiting) => format!("{waiting} changes that were not sent would be lost"),
            None => "the outbox cannot be read, and changes that were not sent would be lost".to_owned(),
        };
        return Err(Failure::new(Exit::Conflict, what, "use --yes to disconnect all the same"));
    }
    let mut unusable = Vec::new();
    match app.replica() {
        Ok(replica) => session.keeps(replica.clone()),
        Err(failure) => unusable.push(("copies of what the exchange has", failure)),
    }
    match outbox {
        Ok(outbox) => session.keeps(outbox),
        Err(failure) => unusable.push(("outbox", failure)),
    }
    session.keeps(Names(app.catalogue_file()));
    let mut gone = session.disconnect().await;
    for (name, failure) in unusable {
        let why = failure.envelope().map_or_else(String::new, |told| told.message);
        gone.data.push((name.to_owned(), StepTaken::Failed(Error::new(ErrorKind::Storage, why))));
    }
    if gone.is_gone() {
        // The member chose it for this connection; the next one is asked for anew.
        let _ = std::fs::remove_dir_all(app.insecure_folder());
    }
    tell_disconnected(&gone, output)
}

fn tell_disconnected(gone: &Disconnected, output: &mut Output) -> Result<Exit, Failure> {
    let fixed =
        [("connection revoked", &gone.revoked), ("tokens deleted", &gone.tokens), ("key deleted", &gone.key)];
    let steps: Vec<(String, &StepTaken)> = fixed
        .into_iter()
        .map(|(name, step)| (name.to_owned(), step))
        .chain(gone.data.iter().map(|(name, step)| (format!("{name} deleted"), step)))
        .collect();
    let word = |step: &StepTaken| match step {
        StepTaken::Done => "yes".to_owned(),
        StepTaken::NotNeeded => "nothing to do".to_owned(),
        StepTaken::Failed(error) => format!("no: {}", clean(&error.to_string())),
        _ => "unknown".to_owned(),
    };
    if output.is_json() {
        let steps: Vec<_> = steps
            .iter()
            .map(|(name, step)| json!({ "step": name, "done": step.is_done(), "result": word(step) }))
            .collect();
        output.json(&json!({ "disconnected": gone.is_gone(), "steps": steps }));
    } else {
        for (name, step) in &steps {
            let look = if step.is_done() { Look::Good } else { Look::Bad };
            let word = output.paint(look, &word(step));
            output.line(format!("{name}: {word}"));
        }
    }
    Ok(if gone.is_gone() { Exit::Done } else { Exit::Failed })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use exchange_client::{
        CredentialError, Identity, InMemory, Place, SecretBytes,
        testkit::{Hooked, Reply, ScriptedServer, VirtualEnvironment},
    };
    use exchange_service::sandbox::{Options, Sandbox};

    use super::*;
    use crate::{
        config::Folders,
        output::{Color, Form},
    };

    /// IDP-14: the provider is asked every so many seconds as it says itself, and a fifth longer, until it decided.
    #[tokio::test(start_paused = true)]
    async fn a_login_asks_as_often_as_the_provider_says() {
        for (interval, expect) in [(5, [6, 12, 18]), (30, [36, 72, 108])] {
            let machine = VirtualEnvironment::new(1);
            let provider = ScriptedServer::provider(&machine);
            let origin = provider.origin().to_owned();
            provider.then_for(
                "oauth.discovery",
                Reply::json(
                    200,
                    json!({
                        "issuer": origin, "device_authorization_endpoint": format!("{origin}/device"),
                        "token_endpoint": format!("{origin}/token"), "revocation_endpoint": format!("{origin}/revoke"),
                    }),
                ),
            );
            provider.then_for(
                "oauth.device",
                Reply::json(
                    200,
                    json!({
                        "device_code": "a-code", "user_code": "BCDF-GHJK", "verification_uri": format!("{origin}/link"),
                        "expires_in": 600, "interval": interval,
                    }),
                ),
            );
            for error in ["authorization_pending", "authorization_pending", "access_denied"] {
                provider.then_for("oauth.token", Reply::oauth(error));
            }
            let place = Place::new(&origin, "https://gateway.test").unwrap();
            let identity = Identity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap();
            let session = Session::builder(&place, &identity)
                .environment(machine.environment())
                .credentials(InMemory::new())
                .transport(provider.clone());
            let session = session.open().await.unwrap();
            let args = Login {
                allow: Vec::new(),
                only: false,
                all: false,
                label: None,
                no_browser: true,
                insecure_storage: false,
            };
            let mut output = Output::new(Form::People, Color::Never);
            let declined = approved(&session, &args, &mut output).await.unwrap_err();
            assert!(matches!(declined, Failure::Client(error) if error.kind() == ErrorKind::Declined));
            let requests = provider.requests();
            let polls = requests.iter().filter(|request| request.operation == "oauth.token");
            assert_eq!(polls.map(|request| request.at.as_secs()).collect::<Vec<_>>(), expect);
        }
    }

    /// CLI-03, CLI-04: programs tell every state and every reason from all others, by a word and not by a sentence.
    #[test]
    fn states_have_words_for_programs() {
        let halts = [
            Halt::Suspended,
            Halt::NotAllowed,
            Halt::NotRegistered,
            Halt::Version,
            Halt::Terms,
            Halt::Approval,
            Halt::Role,
            Halt::Member,
        ];
        let ends = [End::Client, End::Installation, End::Grant, End::KeyLost];
        let states = [SessionState::Active, SessionState::SignedOut].into_iter();
        let states = states.chain(halts.map(SessionState::Halted)).chain(ends.map(SessionState::Ended));
        let all: BTreeSet<_> = states.map(called).collect();
        assert_eq!(all.len(), 14, "{all:?}");
        let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        assert!(all.iter().all(|(state, why)| is_word(state) && why.is_none_or(is_word)), "{all:?}");
        let words: BTreeSet<_> = all.iter().map(|(state, _)| *state).collect();
        assert_eq!(words.into_iter().collect::<Vec<_>>(), ["active", "ended", "halted", "signed-out"]);
    }

    /// A store that is locked.
    fn locked() -> Hooked<InMemory> {
        Hooked::new("Locked Store", InMemory::new(), async |_, _| Err(CredentialError::Locked))
    }

    /// IDP-18: who is signed in by the platform's store stays there until a logout; whoever is not may choose files.
    #[tokio::test]
    async fn files_are_not_chosen_beside_a_connection() {
        let mut numbers = exchange_service::config::Config::default();
        numbers.idp.interval_seconds = 1;
        let sandbox = Sandbox::with(Options { config: Some(numbers), ..Options::default() }).await.unwrap();
        let home = tempfile::tempdir().unwrap();
        let place = Place::of_developer(|_| Some(sandbox.origin())).unwrap().unwrap();
        let identity = Identity::new("sandbox-client", "desk", "1.0.0", "https://desk.example").unwrap();
        let folder = |name: &str| home.path().join(name);
        let folders = Folders { state: folder("state"), cache: folder("cache") };
        let config = Config { place, identity, folders, profile: "default".to_owned() };
        let app = App::new(config, exchange_client::Patience::INTERACTIVE);
        let platform = InMemory::new();
        let chosen = choose_files(&app, platform.clone()).await.unwrap();
        assert!(app.is_insecure());
        // Nobody signed in.
        drop(chosen);
        assert!(!app.is_insecure());
        // Nor did anybody before, as far as is noted, so that no store has to be asked.
        choose_files(&app, locked()).await.map(drop).unwrap();
        // Somebody did, just when it was broken off: nothing of that is taken away.
        let chosen = choose_files(&app, platform.clone()).await.unwrap();
        let owner = Owner::new(&app.config.place, &app.config.identity, &app.config.profile);
        let token = SecretBytes::new(b"a token".to_vec());
        app.files().unwrap().write(&owner, Entry::RefreshToken, &token).await.unwrap();
        drop(chosen);
        assert_eq!(app.files().unwrap().read(&owner, Entry::RefreshToken).await.unwrap(), Some(token));
        std::fs::remove_dir_all(app.insecure_folder()).unwrap();
        let session = app.session_over(platform.clone()).await.unwrap();
        let login = session.sign_in(&[]).await.unwrap();
        sandbox.approve(login.user_code(), "sandbox-member").await.unwrap();
        login.finish().await.unwrap();
        let refused = choose_files(&app, platform.clone()).await.err().unwrap();
        assert_eq!(refused.exit(), Exit::Conflict);
        // A store that is locked is no store in which nobody is signed in.
        let locked = choose_files(&app, locked()).await.err().unwrap();
        assert_eq!(locked.exit(), Exit::Conflict);
        assert!(!app.is_insecure());
        assert!(session.disconnect().await.is_gone());
        choose_files(&app, platform).await.map(drop).unwrap();
    }
}

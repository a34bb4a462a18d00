//! Signing in and out.

use axum::Router;
use axum::extract::{Form, Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::header::RETRY_AFTER;
use http::{HeaderMap, Method, StatusCode};
use maud::html;
use serde::Deserialize;
use std::time::Duration;

use super::csrf::Csrf;
use super::session::{self, Cookie, SignedIn};
use super::{Web, page};
use crate::idp::accounts::{self, PasswordError};
use crate::idp::guesses::{Attempt, TooMany, give_back, take_all};
use crate::idp::sessions;
use crate::members::{self, State as Registration};
use crate::peer::Peer;
use crate::records::Actor;
use crate::store::StoreError;
use crate::time::retry_after;

pub(super) fn routes() -> Router<Web> {
    // Whoever was signed out already is asked to sign in, and then comes back to this address.
    let again = get(async || Redirect::to("/"));
    Router::new().route("/sign-in", get(form).post(sign_in)).route("/sign-out", again.post(sign_out))
}

#[derive(Deserialize)]
struct Target {
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
struct Given {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    next: String,
}

async fn form(State(web): State<Web>, headers: HeaderMap, Query(target): Query<Target>) -> Response {
    match session::of_cookie(&web, &headers).await {
        Ok(Some(_)) => Redirect::to(here(&target.next)).into_response(),
        Ok(None) => show(&web, &headers, &target.next, "", None, StatusCode::OK),
        Err(error) => session::failed(&error),
    }
}

/// The sign-in page. The secret behind its form is the browser's own, so that nobody else can sign it in.
fn show(
    web: &Web,
    headers: &HeaderMap,
    next: &str,
    username: &str,
    error: Option<&str>,
    status: StatusCode,
) -> Response {
    let found = Cookie::Form.find(web, headers);
    let secret = match found.clone().map_or_else(|| web.provider().environment().token::<32>(), Ok) {
        Ok(secret) => secret,
        Err(error) => return session::failed(&error),
    };
    let body = html! {
        @if let Some(error) = error {
            p .error role="alert" { (error) }
        }
        form method="post" action="/sign-in" {
            (Csrf::of(&secret).field())
            input type="hidden" name="next" value=(here(next));
            label for="username" { "User name" }
            input #username type="text" name="username" value=(username) required
                autofocus[username.is_empty()] autocomplete="username" autocapitalize="none" spellcheck="false"
                maxlength="128";
            label for="password" { "Password" }
            input #password type="password" name="password" required autofocus[!username.is_empty()]
                autocomplete="current-password" maxlength="1024";
            p .actions { button type="submit" { "Sign in" } }
        }
    };
    let mut answer = page(status, "Sign in", None, &body);
    if found.is_none() {
        Cookie::Form.set(web, Some(&secret), answer.headers_mut());
    }
    answer
}

async fn sign_in(
    State(web): State<Web>,
    peer: Peer,
    method: Method,
    headers: HeaderMap,
    Form(given): Form<Given>,
) -> Response {
    let is_ours = Cookie::Form.find(&web, &headers).is_some_and(|secret| Csrf::of(&secret).is(&given.csrf));
    if !is_ours || session::is_from_elsewhere(&method, &headers) {
        let text = "The page was open for too long. Please sign in again.";
        return show(&web, &headers, &given.next, "", Some(text), StatusCode::FORBIDDEN);
    }
    let again = |text: &str, status| show(&web, &headers, &given.next, &given.username, Some(text), status);
    let before = Cookie::Session.find(&web, &headers);
    match check(&web, peer, &given, before).await {
        Ok(secret) => {
            let mut answer = Redirect::to(here(&given.next)).into_response();
            // A new secret for a new session: whoever knew one before knows nothing of it.
            Cookie::Session.set(&web, Some(&secret), answer.headers_mut());
            Cookie::Form.set(&web, None, answer.headers_mut());
            answer
        }
        Err(Refused::Wrong) => {
            again("The user name or the password is wrong.", StatusCode::UNPROCESSABLE_ENTITY)
        }
        Err(Refused::Wait(wait)) => {
            let seconds = retry_after(wait);
            let text = format!("Too many attempts. Try again in {seconds} seconds.");
            let mut answer = again(&text, StatusCode::TOO_MANY_REQUESTS);
            answer.headers_mut().insert(RETRY_AFTER, seconds.into());
            answer
        }
        Err(Refused::Unknown(why)) => session::failed(&*why),
    }
}

enum Refused {
    Wrong,
    Wait(Duration),
    /// Nobody can tell.
    Unknown(Box<dyn std::error::Error + Send + Sync>),
}

impl From<TooMany> for Refused {
    fn from(refusal: TooMany) -> Self {
        match refusal {
            TooMany::Wait(wait) => Self::Wait(wait),
            TooMany::Unavailable => Self::Unknown(refusal.into()),
        }
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Unknown(error.into())
    }
}

impl From<PasswordError> for Refused {
    fn from(error: PasswordError) -> Self {
        match error {
            PasswordError::Busy(wait) => Self::Wait(wait),
            PasswordError::Failed => Self::Unknown(error.into()),
        }
    }
}

/// Counts the attempt, then checks name and password and begins a session in the place of the browser's former
/// one. The secret of the new one comes back.
///
/// Whatever turns out to be no wrong guess gives its own attempt back, and nothing else: a success in between
/// makes no room for more guesses.
async fn check(web: &Web, peer: Peer, given: &Given, before: Option<String>) -> Result<String, Refused> {
    let (guesses, now) = (web.provider().guesses(), web.provider().environment().now());
    let (address, username) = (peer.network().to_string(), accounts::normal(&given.username));
    let attempts = [
        (Attempt::PasswordAt, address.clone()),
        // A stranger elsewhere does not use up what its owner may try.
        (Attempt::PasswordOf, format!("{address} {username}")),
        (Attempt::PasswordAnywhere, username.clone()),
    ];
    take_all(guesses, &attempts, now).await?;
    let checked = begin(web, &username, given.password.clone(), before).await;
    if !matches!(checked, Err(Refused::Wrong)) {
        give_back(guesses, &attempts).await;
    }
    checked
}

async fn begin(
    web: &Web,
    username: &str,
    password: String,
    before: Option<String>,
) -> Result<String, Refused> {
    let (provider, environment) = (web.provider(), web.provider().environment().clone());
    let name = username.to_owned();
    let account = provider.store().read(move |database| accounts::find(database, &name)).await?;
    let (member, hash) = account.unzip();
    let right = web.passwords().check(password, hash).await?;
    let Some(member) = member.filter(|_| right) else { return Err(Refused::Wrong) };
    let life = Duration::from_secs(provider.config().idp.session_seconds);
    let work = move |database: &rusqlite::Connection| {
        let found = members::find(database, &member)?;
        // Who is switched off or gone is told nothing else than who has a wrong password.
        let Some(Registration::Active | Registration::Pending) = found.map(|found| found.state) else {
            return Ok::<_, StoreError>(None);
        };
        // The browser forgets the former session's secret, so nobody could sign out of it any more (IDP-08).
        if let Some(before) = before
            && let Some(session) = sessions::find(database, &before, environment.now())?
        {
            sessions::end(database, &session, Actor::Member(&session.member), environment.now())?;
        }
        Ok(Some(sessions::begin(database, &environment, &member, life)?.0))
    };
    provider.store().write(work).await?.ok_or(Refused::Wrong)
}

#[derive(Deserialize)]
struct Confirmed {
    #[serde(default)]
    csrf: String,
}

async fn sign_out(State(web): State<Web>, member: SignedIn, Form(given): Form<Confirmed>) -> Response {
    if let Err(answer) = member.check(&given.csrf) {
        return *answer;
    }
    let (session, now) = (member.session().clone(), web.provider().environment().now());
    let end = move |database: &rusqlite::Connection| {
        sessions::end(database, &session, Actor::Member(&session.member), now)
    };
    let ended = web.provider().store().write(end).await;
    if let Err(error) = ended {
        return session::failed(&error);
    }
    let text = "Clients that were to stay connected only until you sign out are disconnected, too.";
    let next = Some(("/sign-in", "Sign in again"));
    let mut answer = super::message(StatusCode::OK, "You are signed out", None, text, next);
    Cookie::Session.set(&web, None, answer.headers_mut());
    answer
}

/// Where to go on: a path of ours, whatever a link says.
fn here(next: &str) -> &str {
    let is_path = next.starts_with('/')
        && !next.starts_with("//")
        && next.len() <= 512
        && next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_path { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::here;

    #[test]
    fn nobody_is_sent_elsewhere() {
        for path in ["/device", "/device?user_code=WDJB-MJHT", "/confirm/a"] {
            assert_eq!(here(path), path);
        }
        let elsewhere =
            ["", "https://other.example", "//other.example", "/\\other.example", "device", "/a\r\nb", "/ä"];
        for other in elsewhere {
            assert_eq!(here(other), "/", "{other:?}");
        }
    }
}

//! Signing in and out.

use axum::Router;
use axum::extract::{Form, Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use http::header::RETRY_AFTER;
use http::{HeaderMap, Method, StatusCode};
use maud::html;
use serde::Deserialize;
use std::time::Duration;

use super::csrf::Csrf;
use super::session::{self, Cookie, SignedIn};
use super::{Web, page};
use crate::idp::accounts::{self, PasswordError};
use crate::idp::guesses::{Attempt, TooMany};
use crate::idp::{sessions, whole_seconds};
use crate::members::{self, State as Registration};
use crate::peer::Peer;
use crate::store::StoreError;

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/sign-in", get(form).post(sign_in)).route("/sign-out", post(sign_out))
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
        Err(error) => return session::failed(&error.into()),
    };
    let body = html! {
        @if let Some(error) = error {
            p .error role="alert" { (error) }
        }
        form method="post" action="/sign-in" {
            (Csrf::of(&secret).field())
            input type="hidden" name="next" value=(here(next));
            label for="username" { "User name" }
            input #username type="text" name="username" value=(username) required autofocus
                autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="128";
            label for="password" { "Password" }
            input #password type="password" name="password" required autocomplete="current-password"
                maxlength="1024";
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
    match check(&web, peer, &given).await {
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
            let seconds = whole_seconds(wait);
            let text = format!("Too many attempts. Try again in {seconds} seconds.");
            let mut answer = again(&text, StatusCode::TOO_MANY_REQUESTS);
            answer.headers_mut().insert(RETRY_AFTER, seconds.into());
            answer
        }
        Err(Refused::Store(error)) => session::failed(&error),
    }
}

enum Refused {
    Wrong,
    Wait(Duration),
    Store(StoreError),
}

impl From<TooMany> for Refused {
    fn from(refusal: TooMany) -> Self {
        match refusal {
            TooMany::Wait(wait) => Self::Wait(wait),
            TooMany::Unavailable => Self::Wait(Duration::from_secs(60)),
        }
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Checks name and password, and begins a session. Its secret comes back.
async fn check(web: &Web, peer: Peer, given: &Given) -> Result<String, Refused> {
    let (provider, environment) = (web.provider(), web.provider().environment().clone());
    let now = environment.now();
    let (address, username) = (peer.network().to_string(), given.username.trim().to_lowercase());
    let guesses = provider.guesses();
    guesses.take(Attempt::PasswordAt, &address, now).await?;
    guesses.take(Attempt::PasswordOf, &username, now).await?;
    let account = provider.store().read(move |database| accounts::find(database, &username)).await?;
    let (member, hash) = account.unzip();
    let right = match web.passwords().check(given.password.clone(), hash).await {
        Ok(right) => right,
        Err(PasswordError::Busy(wait)) => return Err(Refused::Wait(wait)),
        Err(PasswordError::Failed) => return Err(Refused::Wait(Duration::from_secs(60))),
    };
    let Some(member) = member.filter(|_| right) else { return Err(Refused::Wrong) };
    let life = Duration::from_secs(provider.config().idp.session_seconds);
    let work = move |database: &rusqlite::Connection| {
        let found = members::find(database, &member)?;
        // Who is switched off or gone is told nothing else than who has a wrong password.
        match found.map(|found| found.state) {
            Some(Registration::Active | Registration::Pending) => {
                Ok(Some(sessions::begin(database, &environment, &member, life)?.0))
            }
            _ => Ok::<_, StoreError>(None),
        }
    };
    let secret = provider.store().write(work).await?.ok_or(Refused::Wrong)?;
    // Only its own attempt is given back: a success in between makes no room for more guesses.
    guesses.give_back(Attempt::PasswordAt, &address).await?;
    guesses.give_back(Attempt::PasswordOf, &given.username.trim().to_lowercase()).await?;
    Ok(secret)
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
    let ended = web.provider().store().write(move |database| sessions::end(database, &session, now)).await;
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

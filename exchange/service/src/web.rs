//! The member's pages: plain HTML from the server, usable without a script, and without one in them.
//!
//! [`page`] makes every page and its headers; [`SignedIn`] is the member behind a request. Whoever
//! changes something takes a form with the session's [`Csrf`] token in it.
//!
//! Sign-in is by the accounts of this service, also where tokens are those of a provider elsewhere.

mod applications;
mod clients;
mod confirm;
mod csrf;
mod device;
mod drafts;
mod layout;
mod notices;
mod profile;
mod reservations;
mod session;
mod sign_in;
mod undo;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRef, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::{HeaderMap, StatusCode};

pub use confirm::confirmations;
pub use csrf::Csrf;
pub use drafts::drafts;
pub use layout::{message, page};
pub use session::SignedIn;
pub(crate) use session::is_from_elsewhere;

use crate::backend::Backend;
use crate::idp::Provider;
use crate::idp::accounts::{PasswordError, Passwords};
use crate::observed::observed;

/// Where a member finds what is theirs.
const PAGES: [(&str, &str); 6] = [
    (notices::PATH, "Notices"),
    (applications::PATH, "Connected applications"),
    (drafts::import::PATH, "Import blueprints"),
    (drafts::refinery::PATH, "Refinery orders"),
    (reservations::PATH, "Reserved stock"),
    (profile::PATH, "Profile"),
];
/// What those find beside it who administer the service.
const ADMINISTRATORS: [(&str, &str); 1] = [(clients::PATH, "Clients")];

/// What the pages stand on. A handle: clones are the same.
#[derive(Clone, Debug)]
pub struct Web(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    provider: Provider,
    passwords: Passwords,
}

impl Web {
    /// The pages of a provider.
    ///
    /// # Errors
    /// When passwords cannot be hashed as it is configured.
    pub fn new(provider: Provider) -> Result<Self, PasswordError> {
        let passwords = Passwords::new(&provider.config().idp, provider.environment())?;
        Ok(Self(Arc::new(Inner { provider, passwords })))
    }

    /// The provider.
    #[must_use]
    pub fn provider(&self) -> &Provider {
        &self.0.provider
    }

    /// What makes and checks hashes of passwords.
    #[must_use]
    pub fn passwords(&self) -> &Passwords {
        &self.0.passwords
    }
}

/// What the pages stand on that show or change what a member has.
#[derive(Clone)]
struct Backed {
    web: Web,
    backend: Backend,
}

impl FromRef<Backed> for Web {
    fn from_ref(pages: &Backed) -> Self {
        pages.web.clone()
    }
}

/// Sign-in, sign-out and the device page, which is the other provider's where there is one, and the page for whatever
/// has none.
pub fn router(web: Web) -> Router {
    let pages = if web.provider().config().is_external() {
        Router::new().route("/", get(home))
    } else {
        Router::new().route("/", get(async || Redirect::to("/device"))).merge(device::routes())
    };
    let pages = pages
        .route("/style.css", get(style))
        .merge(applications::routes())
        .merge(clients::routes())
        .merge(notices::routes())
        .merge(sign_in::routes())
        .fallback(nowhere)
        .layer(DefaultBodyLimit::max(16 << 10));
    framed(pages, &web).with_state(web)
}

/// What members see and say of themselves, to be merged with the others.
pub fn own(web: Web, backend: Backend) -> Router {
    let pages = Router::new()
        .merge(profile::routes())
        .merge(reservations::routes())
        .merge(undo::routes())
        .layer(DefaultBodyLimit::max(16 << 10));
    framed(pages, &web).with_state(Backed { web, backend })
}

/// What all pages have in common.
fn framed<S: Clone + Send + Sync + 'static>(pages: Router<S>, web: &Web) -> Router<S> {
    let pages = pages.layer(axum::middleware::map_response(layout::guarded));
    observed(pages, web.provider().environment(), web.provider().config().web_origin())
}

/// Where a member comes to who follows no link.
async fn home(member: SignedIn) -> Response {
    let text =
        "Applications that you connected send you here when they need your word. There is nothing to do now.";
    message(StatusCode::OK, "You are signed in", Some(&member), text, None)
}

async fn nowhere(State(web): State<Web>, headers: HeaderMap) -> Response {
    // Whoever cannot be found is shown the page as a stranger.
    absent(session::of_cookie(&web, &headers).await.ok().flatten().as_ref())
}

/// The page for an address that has none, or none for this member: which of both it is, nobody learns.
fn absent(member: Option<&SignedIn>) -> Response {
    let text = "There is no page at this address, or it is not for you.";
    message(StatusCode::NOT_FOUND, "No such page", member, text, Some(("/", "Go on")))
}

async fn style() -> Response {
    layout::style().into_response()
}

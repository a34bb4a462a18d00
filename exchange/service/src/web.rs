//! The web pages for members: plain HTML that the server renders, without scripts.
//!
//! [`render_page`] renders every page with its headers, the navigation and the message of the last action.
//! A form that succeeded redirects (`SignedInMember::redirect_with`), so that Back and Reload never send it
//! again. What cannot be undone has a page that asks first.
//! Handlers use the extractor [`SignedInMember`] to get
//! the signed-in member. Every form that changes something must contain the [`CsrfToken`] of the session.
//!
//! Members sign in with accounts of this service, even if an external provider issues the tokens.

mod account;
mod applications;
mod browser_name;
mod clients;
mod confirm;
mod csrf;
mod device;
mod drafts;
mod flash;
mod form;
mod layout;
mod notices;
mod overview;
mod profile;
mod reservations;
mod reset;
mod session;
mod sign_in;
mod terms;
mod text;
mod undo;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRef, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::{HeaderMap, StatusCode, Uri};

pub use confirm::confirmation_routes;
pub use csrf::CsrfToken;
pub use drafts::draft_routes;
pub use layout::{render_message, render_page};
pub use session::SignedInMember;
pub(crate) use session::is_cross_site;

use crate::backend::Backend;
use crate::idp::IdentityProvider;
use crate::idp::accounts::{PasswordError, PasswordHasher};
use crate::telemetry::with_telemetry;
use layout::NavigationItem;

/// The pages in the navigation. They fit into one line of 1280 pixels.
const MEMBER_PAGES: [NavigationItem; 7] = [
    page(overview::PATH, "Overview", &["/device", "/held/", "/review/"]),
    page(notices::PATH, "Notices", &[]),
    page(applications::PATH, "Applications", &["/applications/", undo::PATH]),
    page(drafts::import::PATH, "Import", &[]),
    page(drafts::refinery::PATH, "Refinery orders", &["/refinery-orders/"]),
    page(reservations::PATH, "Reserved stock", &["/reservations/"]),
    page(profile::PATH, "Account", &["/account", "/terms"]),
];
/// The additional pages for members who administer the service.
const ADMIN_PAGES: [NavigationItem; 1] = [page(clients::PATH, "Clients", &["/clients/"])];

const fn page(path: &'static str, label: &'static str, section: &'static [&'static str]) -> NavigationItem {
    NavigationItem { path, label, section }
}

/// The state that the handlers of the pages share. Clones share it as well.
#[derive(Clone, Debug)]
pub struct WebState(Arc<WebInner>);

#[derive(Debug)]
struct WebInner {
    provider: IdentityProvider,
    passwords: PasswordHasher,
}

impl WebState {
    /// Creates the state of the web pages for a provider.
    ///
    /// # Errors
    /// Returns a [`PasswordError`] if the configured cost of password hashing is invalid.
    pub fn new(provider: IdentityProvider) -> Result<Self, PasswordError> {
        let passwords = PasswordHasher::new(&provider.config().idp, provider.environment())?;
        Ok(Self(Arc::new(WebInner { provider, passwords })))
    }

    /// Returns the identity provider.
    #[must_use]
    pub fn provider(&self) -> &IdentityProvider {
        &self.0.provider
    }

    /// Returns the password hasher.
    #[must_use]
    pub fn passwords(&self) -> &PasswordHasher {
        &self.0.passwords
    }
}

/// The state of the handlers that use the backend.
#[derive(Clone)]
struct BackendState {
    web: WebState,
    backend: Backend,
}

impl FromRef<BackendState> for WebState {
    fn from_ref(pages: &BackendState) -> Self {
        pages.web.clone()
    }
}

/// Returns a router with the pages for signing in and out, applications, notices and clients, and with the
/// page for unknown addresses. Unless the provider is external, it also has the device page.
pub fn router(web: WebState) -> Router {
    let pages = if web.provider().config().is_external() { Router::new() } else { device::routes() };
    let pages = pages
        .route("/style.css", get(serve_style))
        .merge(account::routes())
        .merge(applications::routes())
        .merge(clients::routes())
        .merge(notices::routes())
        .merge(overview::routes())
        .merge(reset::routes())
        .merge(sign_in::routes())
        .fallback(show_not_found)
        .layer(DefaultBodyLimit::max(16 << 10));
    with_page_layers(pages, &web).with_state(web)
}

/// Returns a router with the pages for profile, reservations and undo. The router must be merged with the
/// result of [`router`].
pub fn member_routes(web: WebState, backend: Backend) -> Router {
    let pages = Router::new()
        .merge(profile::routes())
        .merge(reservations::routes())
        .merge(terms::routes())
        .merge(undo::routes())
        .layer(DefaultBodyLimit::max(16 << 10));
    with_page_layers(pages, &web).with_state(BackendState { web, backend })
}

/// Adds the layers that all pages have in common.
fn with_page_layers<S: Clone + Send + Sync + 'static>(pages: Router<S>, web: &WebState) -> Router<S> {
    let pages = pages.layer(axum::middleware::map_response(layout::add_default_headers));
    with_telemetry(pages, web.provider().environment())
}

async fn show_not_found(State(web): State<WebState>, headers: HeaderMap, uri: Uri) -> Response {
    // If the session cannot be loaded, the page is rendered without a signed-in member.
    not_found_page(session::find_signed_in(&web, &headers, uri.path()).await.ok().flatten().as_ref())
}

/// Renders the page for an unknown address. A member who may not see a page gets the same response, so that
/// the two cases cannot be distinguished.
fn not_found_page(member: Option<&SignedInMember>) -> Response {
    let text = "There is no page at this address, or you may not see it.";
    render_message(StatusCode::NOT_FOUND, "No such page", member, text, Some(("/", "Go to the overview")))
}

async fn serve_style() -> Response {
    layout::style_response().into_response()
}

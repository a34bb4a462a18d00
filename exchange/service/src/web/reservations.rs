//! What is reserved of the member's stock, and how it is released (WEB-12, STK-13).

use axum::Router;
use axum::extract::{Form, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::session::{self, SignedIn};
use super::{Backed, page};
use crate::backend::{Purpose, Reservation};

/// Where the page is.
pub(super) const PATH: &str = "/reservations";

/// The page.
pub(super) fn routes() -> Router<Backed> {
    Router::new().route(PATH, get(show).post(release))
}

#[derive(Deserialize)]
struct Given {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    row: String,
    purpose: Option<Purpose>,
    #[serde(default)]
    target: String,
}

async fn show(State(pages): State<Backed>, member: SignedIn) -> Response {
    match pages.backend.reservations(member.member()).await {
        Ok(all) => page(StatusCode::OK, "Reserved stock", Some(&member), &list(&all, &member.csrf().field())),
        Err(error) => session::failed(&error),
    }
}

fn list(all: &[Reservation], csrf: &Markup) -> Markup {
    html! {
        @if all.is_empty() {
            p { "Nothing of your stock is reserved." }
        } @else {
            p { "Applications take nothing of what is reserved. What you release is free for anything else." }
            ul {
                @for Reservation { row, what, amount, purpose, target, called } in all {
                    li {
                        form method="post" action=(PATH) {
                            (csrf)
                            p { strong { (amount) } " of " (what) ", for " (called) }
                            input type="hidden" name="row" value=(row);
                            input type="hidden" name="purpose" value=(purpose.as_str());
                            input type="hidden" name="target" value=(target);
                            p .actions {
                                button .plain type="submit"
                                    aria-label={ "Release " (amount) " of " (what) ", for " (called) } { "Release" }
                            }
                        }
                    }
                }
            }
            @if all.len() >= Reservation::MOST {
                p .hint { "No more than " (Reservation::MOST) " are shown: release some to see others." }
            }
        }
    }
}

async fn release(State(pages): State<Backed>, member: SignedIn, Form(given): Form<Given>) -> Response {
    if let Err(answer) = member.check(&given.csrf) {
        return *answer;
    }
    let Some(purpose) = given.purpose else { return session::forged(Some(&member)) };
    match pages.backend.release_stock(member.member(), &given.row, (purpose, &given.target)).await {
        // What was released before is not on the page that follows.
        Ok(_) => Redirect::to(PATH).into_response(),
        Err(error) => session::failed(&error),
    }
}

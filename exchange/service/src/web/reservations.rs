//! The page that lists the member's reserved stock and releases reservations (WEB-12, STK-13).

use axum::Router;
use axum::extract::{Form, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::session::{self, SignedInMember};
use super::{BackendState, render_page};
use crate::backend::{EarmarkPurpose, StockReservation};

pub(super) const PATH: &str = "/reservations";

pub(super) fn routes() -> Router<BackendState> {
    Router::new().route(PATH, get(show_reservations).post(release_stock))
}

#[derive(Deserialize)]
struct ReleaseForm {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    row: String,
    purpose: Option<EarmarkPurpose>,
    #[serde(default)]
    target: String,
}

async fn show_reservations(State(pages): State<BackendState>, member: SignedInMember) -> Response {
    match pages.backend.list_reservations(member.member()).await {
        Ok(all) => render_page(
            StatusCode::OK,
            "Reserved stock",
            Some(&member),
            &render_list(&all, &member.csrf().hidden_field()),
        ),
        Err(error) => session::error_page(&error),
    }
}

fn render_list(all: &[StockReservation], csrf: &Markup) -> Markup {
    html! {
        @if all.is_empty() {
            p { "None of your stock is reserved." }
        } @else {
            p { "Applications cannot use reserved stock. Released stock can be used for anything." }
            ul {
                @for StockReservation { row, stock_name, amount, purpose, target, target_name } in all {
                    li {
                        form method="post" action=(PATH) {
                            (csrf)
                            p { strong { (amount) } " of " (stock_name) ", for " (target_name) }
                            input type="hidden" name="row" value=(row);
                            input type="hidden" name="purpose" value=(purpose.as_str());
                            input type="hidden" name="target" value=(target);
                            p .actions {
                                button .plain type="submit"
                                    aria-label={ "Release " (amount) " of " (stock_name) ", for " (target_name) } { "Release" }
                            }
                        }
                    }
                }
            }
            @if all.len() >= StockReservation::MAX_LISTED {
                p .hint { "No more than " (StockReservation::MAX_LISTED) " are shown. Release some to see others." }
            }
        }
    }
}

async fn release_stock(
    State(pages): State<BackendState>,
    member: SignedInMember,
    Form(form): Form<ReleaseForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&form.csrf) {
        return *response;
    }
    let Some(purpose) = form.purpose else { return session::forged_form_page(Some(&member)) };
    match pages.backend.release_stock(member.member(), &form.row, (purpose, &form.target)).await {
        // If the reservation was already released, the next page does not list it.
        Ok(_) => Redirect::to(PATH).into_response(),
        Err(error) => session::error_page(&error),
    }
}

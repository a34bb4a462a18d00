//! The page that lists the member's reserved stock and releases reservations (WEB-12, STK-13).

use axum::Router;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::form::PageForm;
use super::session::{self, SignedInMember};
use super::{BackendState, render_page, text};
use crate::backend::{EarmarkPurpose, StockReservation};

pub(super) const PATH: &str = "/reservations";
const RELEASE_PATH: &str = "/reservations/release";

pub(super) fn routes() -> Router<BackendState> {
    Router::new()
        .route(PATH, get(show_reservations).post(release_stock))
        .route(RELEASE_PATH, get(show_question))
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
        Ok(all) => render_page(StatusCode::OK, "Reserved stock", Some(&member), &render_list(&all)),
        Err(error) => session::error_page(&error),
    }
}

fn render_list(all: &[StockReservation]) -> Markup {
    html! {
        @if all.is_empty() {
            p { "None of your stock is reserved." }
        } @else {
            p { "Applications cannot use reserved stock. Released stock can be used for anything." }
            div .card {
                ul .list {
                    @for reserved in all {
                        li .split {
                            p { (render_reservation(reserved)) }
                            a .button.danger.small href=(question_path(reserved)) {
                                "Release" span .visually-hidden { " " (render_reservation(reserved)) }
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

fn render_reservation(reserved: &StockReservation) -> Markup {
    let StockReservation { stock_name, amount, target_name, .. } = reserved;
    html! { strong { (amount) } " of " (text::name(stock_name)) ", for " (text::sanitize(target_name)) }
}

fn question_path(reserved: &StockReservation) -> String {
    let StockReservation { row, purpose, target, .. } = reserved;
    let (row, target) = (session::percent_encode(row), session::percent_encode(target));
    format!("{RELEASE_PATH}?row={row}&purpose={}&target={target}", purpose.as_str())
}

/// Renders the question before stock is released, which cannot be undone.
async fn show_question(
    State(pages): State<BackendState>,
    member: SignedInMember,
    Query(query): Query<ReleaseForm>,
) -> Response {
    let all = match pages.backend.list_reservations(member.member()).await {
        Ok(all) => all,
        Err(error) => return session::error_page(&error),
    };
    let is_it = |reserved: &&StockReservation| {
        reserved.row == query.row
            && Some(reserved.purpose) == query.purpose
            && reserved.target == query.target
    };
    // In the meantime, the stock was released, for example in another tab.
    let Some(reserved) = all.iter().find(is_it) else { return Redirect::to(PATH).into_response() };
    let body = html! {
        form .card method="post" action=(PATH) {
            (member.csrf().hidden_field())
            input type="hidden" name="row" value=(reserved.row);
            input type="hidden" name="purpose" value=(reserved.purpose.as_str());
            input type="hidden" name="target" value=(reserved.target);
            p { (render_reservation(reserved)) }
            p { "Released stock is no longer kept for this purpose. You cannot reserve it again here." }
            p .actions {
                button .danger type="submit" { "Release this stock" }
                a .button.plain href=(PATH) { "Keep it reserved" }
            }
        }
    };
    render_page(StatusCode::OK, "Release this stock?", Some(&member), &body)
}

async fn release_stock(
    State(pages): State<BackendState>,
    member: SignedInMember,
    PageForm(form): PageForm<ReleaseForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&form.csrf) {
        return *response;
    }
    let Some(purpose) = form.purpose else { return session::forged_form_page(Some(&member)) };
    match pages.backend.release_stock(member.member(), &form.row, (purpose, &form.target)).await {
        // If the reservation was already released, the next page does not list it.
        Ok(_) => member.redirect_with(PATH, "The stock is released."),
        Err(error) => session::error_page(&error),
    }
}

//! The form of a refinery review, and the page of the member's saved orders (WEB-10).

use axum::Router;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::super::form::PageForm;
use super::super::session::{self, SignedInMember};
use super::super::{BackendState, render_message, render_page, text};
use super::ReviewFields;
use crate::backend::drafts::{
    FurtherOrder, PanelRow, RefineryGood, RefineryOrder, RefineryPanel, SavedOrder, format_thousandths,
};

/// The maximum number of rows in an order (LIM-36).
const MAX_ROWS: usize = 100;

/// The path of the page of saved orders.
pub(in crate::web) const PATH: &str = "/refinery-orders";
const DELETE_PATH: &str = "/refinery-orders/delete";

pub(super) fn routes() -> Router<BackendState> {
    Router::new().route(PATH, get(list_orders).post(delete_order)).route(DELETE_PATH, get(show_question))
}

/// Renders the form fields with their current values.
pub(super) fn render_fields(panel: &RefineryPanel, materials: &[String], places: &[String]) -> Markup {
    let RefineryPanel { location, read_location, method, minutes, expenses, goods, further } = panel;
    html! {
        @if !further.is_empty() {
            div .note.warning role="note" {
                p { "Only the first order can be saved. These are left out:" }
                ul {
                    @for FurtherOrder { panel, location, goods } in further {
                        li { (text::sanitize(panel)) @if !location.is_empty() { ", " (text::sanitize(location)) } ", " (count_rows(*goods)) }
                    }
                }
            }
        }
        label for="location" { "Place" }
        input #location type="text" name="location" value=(location) list="places" maxlength="255" autocomplete="off"
            aria-describedby=[read_location.as_ref().map(|_| "read-location")];
        @if let Some(read) = read_location {
            p #read-location .hint {
                "The application read " (text::quoted(read)) ", which is not a place of the warehouse. Select one, or leave it empty."
            }
        }
        label for="method" { "Method" }
        input #method type="text" name="method" value=(method) maxlength="255" autocomplete="off";
        div .row {
            div {
                label for="minutes" { "Duration in minutes" }
                input #minutes type="text" name="minutes" value=(minutes) inputmode="numeric" maxlength="64" autocomplete="off";
            }
            div {
                label for="expenses" { "Expenses in aUEC" }
                input #expenses type="text" name="expenses" value=(expenses) inputmode="numeric" maxlength="64" autocomplete="off";
            }
        }
        @for (index, good) in goods.iter().enumerate() { (render_row(index, good)) }
        p .hint { "Rows without a material are skipped." }
        datalist id="places" { @for name in places { option value=(name); } }
        datalist id="materials" { @for name in materials { option value=(name); } }
    }
}

fn count_rows(count: usize) -> String {
    if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }
}

fn render_row(index: usize, good: &PanelRow) -> Markup {
    let PanelRow { material, input, output, quality, refine } = good;
    let id = |name: &str| format!("{name}-{index}");
    let number = |name: &str, label: &str, value: &str| {
        html! {
            div {
                label for=(id(name)) { (label) }
                input id=(id(name)) type="text" name=(id(name)) value=(value) inputmode="decimal" maxlength="64"
                    autocomplete="off";
            }
        }
    };
    html! {
        fieldset {
            legend { "Row " (index + 1) }
            label for=(id("material")) { "Material" }
            input id=(id("material")) type="text" name=(id("material")) value=(material) list="materials"
                maxlength="255" autocomplete="off";
            div .row {
                (number("input", "Input", input))
                (number("output", "Output", output))
                (number("quality", "Quality", quality))
            }
            @if let Some(remark) = good.quality_remark() {
                p .warning role="note" { (remark) }
            }
            label .check {
                input type="checkbox" name=(id("refine")) value="yes" checked[*refine];
                span { "Refine it" }
            }
        }
    }
}

pub(super) fn parse_panel(fields: &ReviewFields) -> RefineryPanel {
    let mut panel = RefineryPanel::default();
    for (name, value) in fields {
        let value = value.clone();
        let Some((name, at)) = name.rsplit_once('-') else {
            match name.as_str() {
                "location" => panel.location = value,
                "method" => panel.method = value,
                "minutes" => panel.minutes = value,
                "expenses" => panel.expenses = value,
                _ => {}
            }
            continue;
        };
        let Some(at) = at.parse().ok().filter(|at| *at < MAX_ROWS) else { continue };
        if panel.goods.len() <= at {
            panel.goods.resize_with(at + 1, PanelRow::default);
        }
        let Some(good) = panel.goods.get_mut(at) else { continue };
        match name {
            "material" => good.material = value,
            "input" => good.input = value,
            "output" => good.output = value,
            "quality" => good.quality = value,
            "refine" => good.refine = true,
            _ => {}
        }
    }
    panel
}

async fn list_orders(State(pages): State<BackendState>, member: SignedInMember) -> Response {
    let orders = match pages.backend.refinery_orders(member.member()).await {
        Ok(orders) => orders,
        Err(error) => return session::error_page(&error),
    };
    if orders.is_empty() {
        let text = "You have no refinery orders. Connected applications can prepare one for you to review.";
        return render_message(StatusCode::OK, "Your refinery orders", Some(&member), text, None);
    }
    let body = html! {
        @for order in &orders {
            article .card {
                (render_order(order))
                p .actions {
                    a .button.danger.small href={ (DELETE_PATH) "?order=" (session::percent_encode(&order.id)) } {
                        "Delete" span .visually-hidden { " the order of " (text::time(order.saved_at)) }
                    }
                }
            }
        }
    };
    render_page(StatusCode::OK, "Your refinery orders", Some(&member), &body)
}

fn render_order(saved: &SavedOrder) -> Markup {
    let SavedOrder { saved_at, location, order, names, .. } = saved;
    let RefineryOrder { method, minutes, expenses, goods, .. } = order;
    html! {
        h2 { @match location { Some(name) => (text::name(name)), None => "Without a place" } }
        p .hint { "Saved " (text::time(*saved_at)) }
        dl .facts {
            @if let Some(method) = method { dt { "Method" } dd { (text::sanitize(method)) } }
            @if let Some(minutes) = minutes { dt { "Duration" } dd { (minutes) " minutes" } }
            @if let Some(expenses) = expenses { dt { "Expenses" } dd { (expenses) " aUEC" } }
        }
        ul {
            @for (name, good) in names.iter().zip(goods) { li { (render_good(name, good)) } }
        }
    }
}

#[derive(Deserialize)]
struct DeleteQuery {
    #[serde(default)]
    order: String,
}

/// Renders the question before an order is deleted, which cannot be undone.
async fn show_question(
    State(pages): State<BackendState>,
    member: SignedInMember,
    Query(query): Query<DeleteQuery>,
) -> Response {
    let orders = match pages.backend.refinery_orders(member.member()).await {
        Ok(orders) => orders,
        Err(error) => return session::error_page(&error),
    };
    // In the meantime, the order was deleted, for example in another tab.
    let Some(order) = orders.iter().find(|order| order.id == query.order) else {
        return Redirect::to(PATH).into_response();
    };
    let body = html! {
        form .card method="post" action=(PATH) {
            (member.csrf().hidden_field())
            (render_order(order))
            p .actions {
                button .danger type="submit" name="delete" value=(order.id) { "Delete this order" }
                a .button.plain href=(PATH) { "Keep it" }
            }
        }
    };
    render_page(StatusCode::OK, "Delete this refinery order?", Some(&member), &body)
}

fn render_good(name: &str, good: &RefineryGood) -> Markup {
    let RefineryGood { input, output, quality, refine, .. } = good;
    html! {
        (text::name(name)) ": " (format_thousandths(*input))
        @if let Some(output) = output { " into " (format_thousandths(*output)) }
        @if let Some(quality) = quality { ", quality " (quality) }
        @if !refine { ", not refined" }
    }
}

#[derive(Deserialize)]
struct DeleteOrderForm {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    delete: String,
}

async fn delete_order(
    State(pages): State<BackendState>,
    member: SignedInMember,
    PageForm(form): PageForm<DeleteOrderForm>,
) -> Response {
    if let Err(response) = member.check_csrf(&form.csrf) {
        return *response;
    }
    match pages.backend.delete_refinery_order(member.member(), &form.delete).await {
        // If the order was already deleted, the next page does not list it.
        Ok(_) => member.redirect_with(PATH, "The refinery order is deleted."),
        Err(error) => session::error_page(&error),
    }
}

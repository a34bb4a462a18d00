//! Refinery orders: the form of a review, filled in, and the orders that the member kept (WEB-10).

use axum::Router;
use axum::extract::{Form, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::super::session::{self, SignedIn};
use super::super::{Backed, message, page};
use super::Fields;
use crate::backend::drafts::{Further, Good, Panel, RefineryGood, RefineryOrder, SavedOrder, thousandths};

/// Rows of one order (LIM-36).
const ROWS: usize = 100;

/// Where the orders are that a member kept.
pub(in crate::web) const PATH: &str = "/refinery-orders";

pub(super) fn routes() -> Router<Backed> {
    Router::new().route(PATH, get(list).post(delete))
}

/// The form, filled in.
pub(super) fn fields(panel: &Panel, materials: &[String], places: &[String]) -> Markup {
    let Panel { location, read_location, method, minutes, expenses, goods, further } = panel;
    html! {
        @if !further.is_empty() {
            div .warning role="note" {
                p { "Only the first order can be kept. These came along and are left out:" }
                ul {
                    @for Further { panel, location, goods } in further {
                        li { (panel) @if !location.is_empty() { ", " (location) } ", " (rows(*goods)) }
                    }
                }
            }
        }
        label for="location" { "Place" }
        input #location type="text" name="location" value=(location) list="places" maxlength="255" autocomplete="off"
            aria-describedby=[read_location.as_ref().map(|_| "read-location")];
        @if let Some(read) = read_location {
            p #read-location .hint {
                "It was read as “" (read) "”, which is no place of the warehouse: pick one, or leave it empty."
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
        @for (at, good) in goods.iter().enumerate() { (row(at, good)) }
        p .hint { "A row without a material is left out." }
        datalist id="places" { @for name in places { option value=(name); } }
        datalist id="materials" { @for name in materials { option value=(name); } }
    }
}

fn rows(count: usize) -> String {
    if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }
}

fn row(at: usize, good: &Good) -> Markup {
    let Good { material, input, output, quality, refine } = good;
    let id = |name: &str| format!("{name}-{at}");
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
            legend { "Row " (at + 1) }
            label for=(id("material")) { "Material" }
            input id=(id("material")) type="text" name=(id("material")) value=(material) list="materials"
                maxlength="255" autocomplete="off";
            div .row {
                (number("input", "Goes in", input))
                (number("output", "Comes out", output))
                (number("quality", "Quality", quality))
            }
            label .check {
                input type="checkbox" name=(id("refine")) value="yes" checked[*refine];
                span { "Refine it" }
            }
        }
    }
}

/// The form as it came back.
pub(super) fn panel(fields: &Fields) -> Panel {
    let mut panel = Panel::default();
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
        let Some(at) = at.parse().ok().filter(|at| *at < ROWS) else { continue };
        if panel.goods.len() <= at {
            panel.goods.resize_with(at + 1, Good::default);
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

async fn list(State(pages): State<Backed>, member: SignedIn) -> Response {
    let orders = match pages.backend.refinery_orders(member.member()).await {
        Ok(orders) => orders,
        Err(error) => return session::failed(&error),
    };
    if orders.is_empty() {
        let text = "You have none. Applications that you connected can prepare one for you to review.";
        return message(StatusCode::OK, "Your refinery orders", Some(&member), text, None);
    }
    let body = html! { @for order in &orders { (kept(order, member.csrf().field())) } };
    page(StatusCode::OK, "Your refinery orders", Some(&member), &body)
}

fn kept(saved: &SavedOrder, csrf: Markup) -> Markup {
    let SavedOrder { id, saved_at, location, order, names } = saved;
    let RefineryOrder { method, minutes, expenses, goods, .. } = order;
    html! {
        article {
            h2 { (location.as_deref().unwrap_or("Without a place")) }
            p .hint { "Kept " time datetime=(saved_at) { (saved_at.to_the_minute()) } }
            ul {
                @if let Some(method) = method { li { "Method: " (method) } }
                @if let Some(minutes) = minutes { li { "Duration: " (minutes) " minutes" } }
                @if let Some(expenses) = expenses { li { "Expenses: " (expenses) " aUEC" } }
            }
            ul {
                @for (name, good) in names.iter().zip(goods) { li { (line(name, good)) } }
            }
            form method="post" action=(PATH) {
                (csrf)
                button .plain type="submit" name="delete" value=(id) { "Delete it" }
            }
        }
    }
}

fn line(name: &str, good: &RefineryGood) -> Markup {
    let RefineryGood { input, output, quality, refine, .. } = good;
    html! {
        strong { (name) } ": " (thousandths(*input))
        @if let Some(output) = output { " into " (thousandths(*output)) }
        @if let Some(quality) = quality { ", quality " (quality) }
        @if !refine { ", not refined" }
    }
}

#[derive(Deserialize)]
struct Given {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    delete: String,
}

async fn delete(State(pages): State<Backed>, member: SignedIn, Form(given): Form<Given>) -> Response {
    if let Err(answer) = member.check(&given.csrf) {
        return *answer;
    }
    match pages.backend.delete_refinery_order(member.member(), &given.delete).await {
        // Whether it was there or not, it is not there any more.
        Ok(_) => Redirect::to(PATH).into_response(),
        Err(error) => session::failed(&error),
    }
}

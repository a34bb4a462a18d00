//! Renders the rows of a blueprint review: new blueprints, blueprints that the member already holds, and
//! names without a match.

use maud::{Markup, html};

use super::super::text;
use crate::backend::drafts::{BlueprintChoice, MatchedBlueprint, UnmatchedBlueprint};
use crate::time::Moment;

pub(super) fn render_rows(
    new: &[MatchedBlueprint],
    held: &[String],
    unmatched: &[UnmatchedBlueprint],
    products: &[String],
    choice: Option<&BlueprintChoice>,
) -> Markup {
    let is_taken = |number: usize| choice.is_none_or(|choice| choice.take.contains(&number));
    let picked = |number: usize| choice.and_then(|choice| choice.picks.get(&number)).map(String::as_str);
    html! {
        @if new.is_empty() && unmatched.is_empty() {
            p { "There is nothing to add." }
        }
        @if !new.is_empty() {
            h2 { "New (" (new.len()) ")" }
            ul .list {
                @for MatchedBlueprint { number, name, acquired_at } in new {
                    li {
                        label .check {
                            input type="checkbox" name="take" value=(number) checked[is_taken(*number)];
                            span { (text::name(name)) (render_since(*acquired_at)) }
                        }
                    }
                }
            }
        }
        @if !unmatched.is_empty() {
            h2 { "Not recognized (" (unmatched.len()) ")" }
            p .hint { "Select the blueprint for each name. Rows without a selection are skipped." }
            ul .list {
                @for row in unmatched { li { (render_pick(row, picked(row.number))) } }
            }
            @if !products.is_empty() {
                datalist id="products" { @for name in products { option value=(text::sanitize(name)); } }
            }
        }
        @if !held.is_empty() {
            details {
                summary { "You already have " (held.len()) " of them" }
                ul { @for name in held { li { (text::sanitize(name)) } } }
            }
        }
    }
}

fn render_pick(row: &UnmatchedBlueprint, picked: Option<&str>) -> Markup {
    let UnmatchedBlueprint { number, name, acquired_at, suggestions } = row;
    let field = format!("pick-{number}");
    html! {
        label for=(field) { (text::name(name)) (render_since(*acquired_at)) }
        @if suggestions.is_empty() {
            input id=(field) type="text" name=(field) value=[picked] list="products" maxlength="200"
                autocomplete="off" placeholder="Name, or empty to skip";
        } @else {
            select id=(field) name=(field) {
                option value="" { "Skip" }
                @for (key, name) in suggestions {
                    option value=(key) selected[picked == Some(key)] { (name) }
                }
            }
        }
    }
}

fn render_since(acquired_at: Option<Moment>) -> Markup {
    let day = acquired_at.map(|moment| moment.to_string()).and_then(|text| Some(text.get(..10)?.to_owned()));
    html! {
        @if let Some(day) = day { " " span .soft { "since " time datetime=(day) { (day) } } }
    }
}

/// Describes the result to the member in sentences.
pub(super) fn describe_counts(applied: i64, unchanged: i64, not_applied: i64) -> String {
    let mut message = match applied {
        1 => "1 blueprint was added.".to_owned(),
        applied => format!("{applied} blueprints were added."),
    };
    if unchanged > 0 {
        message.push_str(&format!(" You already had {unchanged} more."));
    }
    if not_applied > 0 {
        message.push_str(&format!(
            " {not_applied} could not be added because they are no longer in the catalogue."
        ));
    }
    message
}

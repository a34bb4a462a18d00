//! The rows of blueprints in a review: those that are new, those that the member has, and those that nothing was
//! found for.

use exchange_api::types::ChangeResult;
use maud::{Markup, html};

use crate::backend::drafts::{Choice, Named, Unmatched};
use crate::time::Moment;

pub(super) fn rows(
    new: &[Named],
    held: &[String],
    unmatched: &[Unmatched],
    products: &[String],
    choice: Option<&Choice>,
) -> Markup {
    let is_taken = |number: usize| choice.is_none_or(|choice| choice.take.contains(&number));
    let picked = |number: usize| choice.and_then(|choice| choice.picks.get(&number)).map(String::as_str);
    html! {
        @if new.is_empty() && unmatched.is_empty() {
            p { "There is nothing to add." }
        }
        @if !new.is_empty() {
            h2 { "New (" (new.len()) ")" }
            ul .rows {
                @for Named { number, name, acquired_at } in new {
                    li {
                        label .check {
                            input type="checkbox" name="take" value=(number) checked[is_taken(*number)];
                            span { (name) (since(*acquired_at)) }
                        }
                    }
                }
            }
        }
        @if !unmatched.is_empty() {
            h2 { "Not recognised (" (unmatched.len()) ")" }
            p .hint { "Pick what is meant. A row that you leave as it is, is left out." }
            ul .rows {
                @for row in unmatched { li { (pick(row, picked(row.number))) } }
            }
            @if !products.is_empty() {
                datalist id="products" { @for name in products { option value=(name); } }
            }
        }
        @if !held.is_empty() {
            details {
                summary { "You have " (held.len()) " of them already" }
                ul { @for name in held { li { (name) } } }
            }
        }
    }
}

fn pick(row: &Unmatched, picked: Option<&str>) -> Markup {
    let Unmatched { number, name, acquired_at, suggestions } = row;
    let field = format!("pick-{number}");
    html! {
        label for=(field) { (name) (since(*acquired_at)) }
        @if suggestions.is_empty() {
            input id=(field) type="text" name=(field) value=[picked] list="products" maxlength="200"
                autocomplete="off" placeholder="Leave out, or a name";
        } @else {
            select id=(field) name=(field) {
                option value="" { "Leave out" }
                @for (key, name) in suggestions {
                    option value=(key) selected[picked == Some(key)] { (name) }
                }
            }
        }
    }
}

fn since(acquired_at: Option<Moment>) -> Markup {
    let day = acquired_at.map(|at| at.to_string()).and_then(|text| Some(text.get(..10)?.to_owned()));
    html! {
        @if let Some(day) = day { " " span .soft { "since " time datetime=(day) { (day) } } }
    }
}

/// What came of it, in words.
pub(super) fn told(result: &ChangeResult) -> String {
    let ChangeResult { applied, unchanged, not_applied, .. } = result;
    let mut said = match applied {
        1 => "1 blueprint was added.".to_owned(),
        applied => format!("{applied} blueprints were added."),
    };
    if *unchanged > 0 {
        said.push_str(&format!(" You had {unchanged} more already."));
    }
    if *not_applied > 0 {
        said.push_str(&format!(" {not_applied} could not be added: they are not known any more."));
    }
    said
}

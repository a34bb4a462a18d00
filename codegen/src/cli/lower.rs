//! `lower`: the contract in the words of OpenAPI 3.0.3, or of draft-07.

use contract_codegen::engines::{Document, draft_07, openapi_30};
use serde_json::json;

use super::{args::LowerArgs, failure::Failure, project, screen::Screen};

/// Prints the document, and what it cannot say.
pub(crate) fn lower(args: &LowerArgs, screen: &Screen) -> Result<u8, Failure> {
    let project = project::selected(&args.inputs, &args.selected, args.reading)?;
    let contract = project.read_with(&|what| screen.step(what))?;
    if args.draft_07 {
        let document = draft_07(&contract);
        screen.result(&format!("{}\n", serde_json::to_string_pretty(&document).unwrap_or_default()))?;
        screen.diagnostics(&contract.diagnostics);
        screen.summary(json!({ "command": "lower", "exit": 0, "document": document }));
        return Ok(0);
    }
    let document = openapi_30(&contract);
    let text = serde_json::to_string_pretty(&document.value).unwrap_or_default();
    screen.result(&format!("{text}\n"))?;
    if args.losses {
        for loss in &document.losses {
            let place = contract.whereabouts(&loss.place);
            screen.line(&format!("{place}\n  {}: {}\n  → {}", loss.engine, loss.what, loss.enforced));
        }
    }
    screen.diagnostics(&contract.diagnostics);
    let Document { operations, left_out, .. } = document;
    if !document.losses.is_empty() {
        let others = document.losses.len() - left_out;
        let list = if args.losses { "" } else { "; `--losses` lists them" };
        screen.line(&format!(
            "OpenAPI 3.0 has no words for {left_out} of {operations} operations and webhooks, and for {others} other things{list}"
        ));
    }
    let losses = document.losses.iter().map(|loss| {
        json!({ "engine": loss.engine, "what": loss.what, "enforced": loss.enforced, "place": contract.whereabouts(&loss.place) })
    });
    screen.summary(json!({
        "command": "lower", "exit": 0, "document": document.value, "operations": operations, "leftOut": left_out,
        "losses": losses.collect::<Vec<_>>(),
    }));
    Ok(0)
}

//! `lower`: converts the contract to OpenAPI 3.0.3, or its schemas to JSON Schema draft-07.

use contract_codegen::lower::{Document, draft_07, openapi_30};
use serde_json::json;

use super::{args::LowerArgs, console::Console, error::CommandError, project};

/// Prints the converted document and, on standard error, the features that the older version lacks.
pub(crate) fn run_lower(args: &LowerArgs, console: &Console) -> Result<u8, CommandError> {
    let project = project::open_selected_project(&args.inputs, &args.selection, args.reading)?;
    let contract = project.read_contract_with(&|what| console.show_step(what))?;
    if args.draft_07 {
        let document = draft_07(&contract);
        console
            .print_result(&format!("{}\n", serde_json::to_string_pretty(&document).unwrap_or_default()))?;
        console.print_diagnostics(&contract.diagnostics);
        console.print_summary(json!({ "command": "lower", "exit": 0, "document": document }));
        return Ok(0);
    }
    let document = openapi_30(&contract);
    let text = serde_json::to_string_pretty(&document.value).unwrap_or_default();
    console.print_result(&format!("{text}\n"))?;
    if args.losses {
        for loss in &document.losses {
            let place = contract.format_location(&loss.place);
            console.print_line(&format!("{place}\n  {}: {}\n  → {}", loss.engine, loss.what, loss.enforced));
        }
    }
    console.print_diagnostics(&contract.diagnostics);
    let Document { operations, left_out, .. } = document;
    if !document.losses.is_empty() {
        let others = document.losses.len() - left_out;
        let list = if args.losses { "" } else { "; `--losses` lists them" };
        console.print_line(&format!(
            "omitted, since OpenAPI 3.0 lacks them: {left_out} of {operations} operations and webhooks, {others} other features{list}"
        ));
    }
    let losses = document.losses.iter().map(|loss| {
        json!({ "engine": loss.engine, "what": loss.what, "enforced": loss.enforced, "place": contract.format_location(&loss.place) })
    });
    console.print_summary(json!({
        "command": "lower", "exit": 0, "document": document.value, "operations": operations, "leftOut": left_out,
        "losses": losses.collect::<Vec<_>>(),
    }));
    Ok(0)
}

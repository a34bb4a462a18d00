//! `lower`: converts the contract to OpenAPI 3.0.3, or its schemas to JSON Schema draft-07.

use contract_codegen::lower::{LoweredDocument, to_draft_07, to_openapi_30};
use serde_json::json;

use super::{args::LowerArgs, console::Console, error::CommandError, project};

/// Prints the converted document and, on standard error, the features that the older version lacks.
pub(crate) fn run_lower(args: &LowerArgs, console: &Console) -> Result<u8, CommandError> {
    let project = project::open_selected_project(&args.inputs, &args.selection, args.reading)?;
    let contract = project.read_contract_with(&|what| console.show_step(what))?;
    if args.draft_07 {
        let document = to_draft_07(&contract);
        console
            .print_result(&format!("{}\n", serde_json::to_string_pretty(&document).unwrap_or_default()))?;
        console.print_diagnostics(&contract.diagnostics);
        console.print_summary(json!({ "command": "lower", "exit": 0, "document": document }));
        return Ok(0);
    }
    let document = to_openapi_30(&contract);
    let text = serde_json::to_string_pretty(&document.value).unwrap_or_default();
    console.print_result(&format!("{text}\n"))?;
    if args.losses {
        for loss in &document.losses {
            let location = contract.format_location(&loss.location);
            console.print_line(&format!(
                "{location}\n  {}: {}\n  → {}",
                loss.format, loss.construct, loss.enforcement
            ));
        }
    }
    console.print_diagnostics(&contract.diagnostics);
    let LoweredDocument { operations, omitted, .. } = document;
    if !document.losses.is_empty() {
        let other_losses = document.losses.len() - omitted;
        let hint = if args.losses { "" } else { "; `--losses` lists them" };
        console.print_line(&format!(
            "omitted, since OpenAPI 3.0 lacks them: {omitted} of {operations} operations and webhooks, {other_losses} other features{hint}"
        ));
    }
    let losses = document.losses.iter().map(|loss| {
        json!({ "engine": loss.format, "what": loss.construct, "enforced": loss.enforcement, "place": contract.format_location(&loss.location) })
    });
    console.print_summary(json!({
        "command": "lower", "exit": 0, "document": document.value, "operations": operations, "leftOut": omitted,
        "losses": losses.collect::<Vec<_>>(),
    }));
    Ok(0)
}

//! `lower`: the contract in the words of OpenAPI 3.0.3, or of draft-07.

use contract_codegen::engines::{draft_07, lowered};
use serde_json::json;

use super::{
    args::LowerArgs,
    engines,
    failure::{Failure, REFUSED},
    project,
    screen::Screen,
};

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
    let (lowered, diagnostics) = lowered(&project, &contract, &engines());
    let text = serde_json::to_string_pretty(&lowered.document).unwrap_or_default();
    screen.result(&format!("{text}\n"))?;
    if args.losses {
        for loss in &lowered.losses {
            screen.line(&format!(
                "{}\n  {}: {}\n  → {}",
                contract.whereabouts(&loss.place),
                loss.engine,
                loss.what,
                loss.enforced
            ));
        }
    }
    screen.diagnostics(&contract.diagnostics);
    screen.diagnostics(&diagnostics);
    let exit = if diagnostics.has_errors() { REFUSED } else { 0 };
    let losses = lowered.losses.iter().map(|loss| {
        json!({ "engine": loss.engine, "what": loss.what, "enforced": loss.enforced, "place": contract.whereabouts(&loss.place) })
    });
    screen.summary(json!({
        "command": "lower", "exit": exit, "document": lowered.document, "losses": losses.collect::<Vec<_>>(),
    }));
    Ok(exit)
}

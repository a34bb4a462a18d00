//! `explain`: shows where a name is defined, why its type has its form, and which code enforces its rules.

use contract_codegen::explain as explaining;
use serde_json::json;

use super::{args::ExplainArgs, console::Console, error::CommandError, project};

/// Prints an explanation of each item with the given name.
pub(crate) fn run_explain(args: &ExplainArgs, console: &Console) -> Result<u8, CommandError> {
    let inputs = project::resolve_inputs(&args.inputs, " after the NAME")?;
    let project = project::open_selected_project(&inputs, &args.selection, args.reading)?;
    let contract = project.read_contract_with(&|what| console.show_step(what))?;
    match explaining::explain_name(&project, &contract, &args.name) {
        Ok(found) => {
            let texts: Vec<String> = found.iter().map(explaining::Explanation::to_text).collect();
            console.print_result(&texts.join("\n"))?;
            let found: Vec<_> = found.iter().map(explaining::Explanation::to_json).collect();
            console.print_summary(json!({ "command": "explain", "exit": 0, "found": found }));
            Ok(0)
        }
        Err(near) => {
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            Err(CommandError::Usage(format!(
                "the contract has no type, field, schema or operation `{}`{near}",
                args.name
            )))
        }
    }
}

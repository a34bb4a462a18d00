//! `explain`: where something came from and why it looks that way.

use contract_codegen::explain as explaining;
use serde_json::json;

use super::{args::ExplainArgs, failure::Failure, project, screen::Screen};

/// Prints everything of that name.
pub(crate) fn explain(args: &ExplainArgs, screen: &Screen) -> Result<u8, Failure> {
    let inputs = project::inputs(&args.inputs, " after the NAME")?;
    let project = project::selected(&inputs, &args.selected, args.reading)?;
    let contract = project.read_with(&|what| screen.step(what))?;
    match explaining::explain(&project, &contract, &args.name) {
        Ok(found) => {
            let texts: Vec<String> = found.iter().map(explaining::Explanation::text).collect();
            screen.result(&texts.join("\n"))?;
            let found: Vec<_> = found.iter().map(explaining::Explanation::json).collect();
            screen.summary(json!({ "command": "explain", "exit": 0, "found": found }));
            Ok(0)
        }
        Err(near) => {
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            Err(Failure::Usage(format!(
                "the contract has no type, member, schema or operation `{}`{near}",
                args.name
            )))
        }
    }
}

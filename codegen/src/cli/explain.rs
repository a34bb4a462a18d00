//! `explain`: where something came from and why it looks that way.

use contract_codegen::explain as explaining;
use serde_json::json;

use super::{args::ExplainArgs, failure::Failure, project, screen::Screen};

/// Prints everything of that name.
pub(crate) fn explain(args: &ExplainArgs, screen: &Screen) -> Result<u8, Failure> {
    let mut inputs = args.inputs.clone();
    if inputs.is_empty() {
        let usual = project::usual().ok_or_else(|| {
            Failure::Usage(
                "neither codegen.toml nor schemas/codegen.toml is here: name the contract after the NAME"
                    .to_owned(),
            )
        })?;
        inputs.push(usual);
    }
    screen.step("reading the contract");
    let contract = project::project(&inputs)?.read()?;
    match explaining::explain(&contract, &args.name) {
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

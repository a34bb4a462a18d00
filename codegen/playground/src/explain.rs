//! `explain`: explains a generated item, or the schema at a position of a document.

use contract_codegen::{
    AnalyzedContract, Project,
    explain::{Explanation, explain_name},
};
use contract_codegen_core::{
    schema::SchemaId,
    tree::{DocumentNode, Span},
};
use contract_runtime::text::LineStarts;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::positions;

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum ExplainRequest {
    Name { name: String },
    Position { file: String, line: usize, column: usize },
}

/// Returns the explanations in `found`; if there are none, the most similar name in `near`.
pub(crate) fn explain_item(
    project: &Project,
    contract: &AnalyzedContract,
    request: &ExplainRequest,
) -> Value {
    let name = match request {
        ExplainRequest::Name { name } => Some(name.clone()),
        ExplainRequest::Position { file, line, column } => {
            schema_at(contract, file, (*line, *column)).map(|id| contract.graph.absolute_location(id))
        }
    };
    let result = name.as_deref().map_or(Err(None), |name| explain_name(project, contract, name));
    match result {
        Ok(found) => {
            let found: Vec<Value> = found.iter().map(Explanation::to_json).collect();
            json!({ "found": found })
        }
        Err(near) => json!({ "found": [], "near": near }),
    }
}

/// Returns the innermost schema at a position. A key belongs to its value, and the space before a key to the
/// key.
fn schema_at(contract: &AnalyzedContract, file: &str, position: (usize, usize)) -> Option<SchemaId> {
    let mut documents = contract.sources.ids().zip(&contract.sources.sources);
    let (source, document) = documents.find(|(_, document)| document.name == file)?;
    let lines = LineStarts::new(&document.text);
    let offset = positions::offset_at(&document.text, &lines, position)?;
    let space = document.text.get(offset..)?.chars().take_while(|character| *character == ' ').count();
    let offset = u32::try_from(offset + space).ok()?;
    let spans = spans_at(&document.tree, offset);
    let at_span = |span: &Span| {
        contract.graph.ids().find(|id| {
            let place = &contract.graph.schema(*id).place;
            place.source == source && place.span == *span
        })
    };
    spans.iter().rev().find_map(at_span)
}

/// Returns the spans of the values at an offset, from the document to the innermost value.
fn spans_at(document: &DocumentNode, offset: u32) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut next = Some(document);
    while let Some(node) = next {
        spans.push(node.span);
        let contains = |start: u32, end: u32| start <= offset && offset <= end;
        let member =
            node.members().iter().find(|member| contains(member.key_span.start, member.value.span.end));
        let element = || node.elements().iter().find(|each| contains(each.span.start, each.span.end));
        next = member.map(|member| &member.value).or_else(element);
    }
    spans
}

//! Finds the target of a reference: first the resource by URI, then the value by JSON Pointer or anchor.

use crate::{
    diagnostics::Diagnostic,
    load::{FileAboveRoot, uri, uri::without_file_scheme},
    tree::{DocumentNode, SourceId, join_token, unescape_token},
};

use super::{
    discover::{Discovery, ExpectedTarget, PendingReference},
    suggest::nearest_match,
};

#[cfg(test)]
thread_local! {
    /// The number of pointer tokens that were searched for, so that tests can check the complexity without
    /// measuring time.
    pub(super) static SEARCHED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The maximum number of references that are followed to resolve one pointer.
const MAX_HOPS: usize = 32;

/// The target of a reference: a value in a document.
#[derive(Clone, Debug)]
pub(crate) struct ReferenceTarget<'t> {
    pub(crate) source: SourceId,
    /// The JSON Pointer of the target in its source.
    pub(crate) pointer: String,
    pub(crate) tree: &'t DocumentNode,
    /// The name of the anchor, if the fragment of the reference is a dynamic anchor.
    pub(crate) anchor: Option<String>,
    /// True if the pointer passes through an object with a `$ref`. The target is then outside the object that
    /// the pointer literally names.
    pub(crate) hopped: bool,
}

/// The reason why a reference has no target.
#[derive(Clone, Debug)]
pub(crate) enum ReferenceError {
    Malformed(String),
    /// A malformed reference that would be valid if its special characters were percent-encoded; `uri` is the
    /// encoded form. The reference is accepted if a document has this URI.
    Unescaped {
        reason: String,
        uri: String,
    },
    Unknown(String),
    /// The URL of a document that could not be downloaded.
    Unfetched(String),
    FileAboveRoot(FileAboveRoot),
    /// A file that does not exist in a mounted folder. `prefix` is the URI prefix of the mount.
    Unmounted {
        file: String,
        folder: String,
        prefix: String,
    },
    Anchor {
        uri: String,
        name: String,
        near: Option<String>,
    },
    Pointer {
        uri: String,
        token: String,
        parent: String,
        near: Option<String>,
    },
    Loop,
    NotASchema(&'static str),
}

impl ReferenceError {
    /// Converts the error to a diagnostic at the location of the reference.
    pub(crate) fn diagnostic(&self, pending: &PendingReference<'_>) -> Diagnostic {
        let reference = pending.reference;
        let place = pending.place.clone();
        let unresolved =
            |message: String| Diagnostic::error("unresolved-reference", message).with_place(place.clone());
        match self {
            Self::Malformed(reason) | Self::Unescaped { reason, .. } => malformed_reference(pending, reason),
            Self::Unknown(uri) if uri::strip_http_scheme(uri).is_some() => {
                let prefix = uri.rfind('/').map_or(uri.as_str(), |at| uri.get(..=at).unwrap_or(uri));
                unresolved(format!(
                    "no input has the `$id` `{uri}`, no mount matches it, and documents are downloaded only with `--fetch`"
                ))
                .help(format!(
                    "add the file to the inputs, use `--fetch`, or mount a folder: \"{prefix}\" = \"path/to/folder\""
                ))
            }
            Self::Unfetched(url) => unresolved(format!("`{url}` could not be downloaded"))
                .help("correct the reference, or add the file to the inputs"),
            Self::FileAboveRoot(FileAboveRoot { folder, uri, path }) => unresolved(format!(
                "`{reference}` refers to a file above the input folder, where no files are read"
            ))
            .help(format!(
                "use `{folder}` as the input, or add the mount \"{uri}\" = \"{path}\" in `[mounts]`"
            )),
            Self::Unmounted { file, folder, prefix } => {
                unresolved(format!("`{file}` is not in `{folder}`, which is mounted at `{prefix}`"))
                    .help("add the file to the folder, or correct the mount")
            }
            Self::Unknown(uri) => {
                let shown = without_file_scheme(uri);
                unresolved(format!("`{reference}` refers to `{shown}`, which does not exist"))
                    .help("only files below the inputs' folder are read; add the file or mount its folder")
            }
            Self::Anchor { uri, name, near } => suggest(
                unresolved(format!("`{}` has no anchor `{name}`", without_file_scheme(uri))),
                near.as_deref().map(|near| format!("#{near}")),
            ),
            Self::Pointer { uri, token, parent, near } => suggest(
                unresolved(format!("`{}` has no `{token}` in `#{parent}`", without_file_scheme(uri))),
                near.as_deref().map(|near| format!("#{}", join_token(parent, near))),
            ),
            Self::Loop => Diagnostic::error(
                "reference-cycle",
                format!("the pointer `{reference}` leads through a cycle of references"),
            )
            .with_place(place),
            Self::NotASchema(kind) => {
                let message =
                    format!("`{reference}` refers to {kind}, but a schema must be an object or a boolean");
                Diagnostic::error("invalid-schema", message).with_place(place)
            }
        }
    }
}

/// Returns the diagnostic for a reference that is not a valid URI reference.
pub(crate) fn malformed_reference(pending: &PendingReference<'_>, reason: &str) -> Diagnostic {
    let code = if matches!(pending.expect, ExpectedTarget::Object(_)) {
        "invalid-openapi"
    } else {
        "invalid-schema"
    };
    Diagnostic::error(code, format!("the reference `{}` is malformed: {reason}", pending.reference))
        .with_place(pending.place.clone())
}

fn suggest(problem: Diagnostic, near: Option<String>) -> Diagnostic {
    match near {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem,
    }
}

impl<'t> Discovery<'t> {
    /// Finds the target of `reference`, which is resolved against the URI of `resource`. `hops` is the number
    /// of references that the search has already followed.
    pub(crate) fn locate_reference(
        &self,
        resource: usize,
        reference: &str,
        hops: usize,
    ) -> Result<ReferenceTarget<'t>, ReferenceError> {
        if hops > MAX_HOPS {
            return Err(ReferenceError::Loop);
        }
        let base = self.resources.get(resource).ok_or(ReferenceError::Loop)?;
        let absolute = uri::resolve_reference(&base.uri, reference).or_else(|reason| {
            let corrected = uri::escape_file_reference(reference)
                .and_then(|corrected| uri::resolve_reference(&base.uri, &corrected).ok());
            match corrected {
                Some(corrected) if self.uris.contains_key(&uri::normalized_key(&corrected.uri)) => {
                    Ok(corrected)
                }
                Some(corrected) => Err(ReferenceError::Unescaped { reason, uri: corrected.uri }),
                None => Err(ReferenceError::Malformed(reason)),
            }
        })?;
        let index = if absolute.uri == base.uri {
            resource
        } else {
            match self.uris.get(&uri::normalized_key(&absolute.uri)) {
                Some(index) => *index,
                None => return Err(ReferenceError::Unknown(absolute.uri)),
            }
        };
        let fragment = absolute.fragment.unwrap_or_default();
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.walk_pointer(index, &fragment, hops);
        }
        let held = self.resources.get(index).ok_or(ReferenceError::Loop)?;
        match self.anchors.get(&(index, fragment.clone())) {
            Some((node, dynamic)) => {
                let node = self.nodes.get(*node).ok_or(ReferenceError::Loop)?;
                Ok(ReferenceTarget {
                    source: node.source,
                    pointer: node.pointer.clone(),
                    tree: node.tree,
                    anchor: dynamic.then_some(fragment),
                    hopped: false,
                })
            }
            None => {
                let mut names: Vec<&str> = self
                    .anchors
                    .keys()
                    .filter(|(at, _)| *at == index)
                    .map(|(_, name)| name.as_str())
                    .collect();
                names.sort_unstable();
                let near = nearest_match(&fragment, names).map(str::to_owned);
                Err(ReferenceError::Anchor { uri: held.uri.clone(), name: fragment, near })
            }
        }
    }

    fn walk_pointer(
        &self,
        resource: usize,
        fragment: &str,
        hops: usize,
    ) -> Result<ReferenceTarget<'t>, ReferenceError> {
        let held = self.resources.get(resource).ok_or(ReferenceError::Loop)?;
        let whole = format!("{}{fragment}", held.pointer);
        let target = |pointer, tree| ReferenceTarget {
            source: held.source,
            pointer,
            tree,
            anchor: None,
            hopped: false,
        };
        // Most references refer to a schema that was already visited. This lookup avoids a search in large
        // objects.
        let known = self.schemas.get(held.source.0 as usize).and_then(|known| known.get(&whole));
        if let Some(node) = known.and_then(|node| self.nodes.get(*node)) {
            return Ok(target(whole, node.tree));
        }
        let Some(tokens) = fragment.strip_prefix('/') else { return Ok(target(whole, held.tree)) };
        let mut here = held.tree;
        let mut pointer = held.pointer.clone();
        let mut rest = Some(tokens);
        while let Some(tokens) = rest {
            let (token, after) = match tokens.split_once('/') {
                Some((token, after)) => (token, Some(after)),
                None => (tokens, None),
            };
            // An invalid token matches no member.
            let token = unescape_token(token);
            #[cfg(test)]
            SEARCHED.set(SEARCHED.get() + 1);
            if let Some(next) = here.child_by_token(&token) {
                here = next;
                pointer = join_token(&pointer, &token);
                rest = after;
                continue;
            }
            if let Some(reference) = here.get("$ref").and_then(crate::tree::DocumentNode::as_str) {
                let (context, _) = self.position_context(
                    held.source,
                    &join_token(&pointer, "$ref"),
                    super::dialect::SchemaDialect::LATEST,
                );
                let through = self.locate_reference(context, reference, hops + 1)?;
                let onward = format!("{}/{tokens}", through.pointer);
                let mut found = self.walk_pointer(through.source.0 as usize, &onward, hops + 1)?;
                found.hopped = true;
                return Ok(found);
            }
            let near = nearest_match(&token, here.members().iter().map(|member| member.key.as_str()));
            let parent = pointer.strip_prefix(held.pointer.as_str()).unwrap_or(&pointer).to_owned();
            return Err(ReferenceError::Pointer {
                uri: held.uri.clone(),
                token: token.into_owned(),
                parent,
                near: near.map(str::to_owned),
            });
        }
        Ok(target(pointer, here))
    }
}

#[cfg(test)]
mod tests;

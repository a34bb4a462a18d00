//! What a reference names: by URI, then JSON Pointer or anchor.

use crate::{
    diagnostics::Diagnostic,
    load::{Above, uri},
    tree::{SourceId, Tree, join, name_of},
};

use super::{
    discover::{Discovery, Expect, Pending},
    suggest::nearest,
};

#[cfg(test)]
thread_local! {
    /// Members that were searched for: what tests count instead of time.
    pub(super) static SEARCHED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// References that one pointer may lead through.
const MAX_HOPS: usize = 32;

/// A position that a reference names.
#[derive(Clone, Debug)]
pub(crate) struct Target<'t> {
    pub(crate) source: SourceId,
    /// From the root of the source.
    pub(crate) pointer: String,
    pub(crate) tree: &'t Tree,
    /// The fragment, when it is a dynamic anchor.
    pub(crate) anchor: Option<String>,
    /// Whether the pointer went through another reference.
    pub(crate) hopped: bool,
}

/// Why a reference has no target.
#[derive(Clone, Debug)]
pub(crate) enum Lost {
    Malformed(String),
    /// As malformed; read as the URI that it means where a document has that.
    Unescaped {
        reason: String,
        uri: String,
    },
    Unknown(String),
    Above(Above),
    /// A file that a mounted folder does not hold.
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

impl Lost {
    /// The problem, for people.
    pub(crate) fn diagnostic(&self, pending: &Pending<'_>) -> Diagnostic {
        let reference = pending.reference;
        let place = pending.place.clone();
        let unresolved =
            |message: String| Diagnostic::error("unresolved-reference", message).at(place.clone());
        match self {
            Self::Malformed(reason) | Self::Unescaped { reason, .. } => malformed(pending, reason),
            Self::Unknown(uri) if uri.starts_with("http://") || uri.starts_with("https://") => {
                let prefix = uri.rfind('/').map_or(uri.as_str(), |at| uri.get(..=at).unwrap_or(uri));
                unresolved(format!(
                    "no input has the `$id` `{uri}`, no mount answers it, and nothing is fetched"
                ))
                .help(format!(
                    "add the file to the inputs, or mount a folder: \"{prefix}\" = \"path/to/folder\""
                ))
            }
            Self::Above(Above { folder, uri, path }) => unresolved(format!(
                "`{reference}` leads to a file above the folder of the input, and nothing is read there"
            ))
            .help(format!(
                "give `{folder}` as the input, or mount what is meant: \"{uri}\" = \"{path}\" in `[mounts]`"
            )),
            Self::Unmounted { file, folder, prefix } => {
                unresolved(format!("`{file}` is not in `{folder}`, which is mounted at `{prefix}`"))
                    .help("add the file to the folder, or correct what is mounted")
            }
            Self::Unknown(uri) => {
                let shown = uri.strip_prefix("file:///").unwrap_or(uri);
                unresolved(format!("`{reference}` leads to `{shown}`, which is not there"))
                    .help("only files below the inputs' folder are read; add the file or mount its folder")
            }
            Self::Anchor { uri, name, near } => suggest(
                unresolved(format!("`{uri}` has no anchor `{name}`")),
                near.as_deref().map(|near| format!("#{near}")),
            ),
            Self::Pointer { uri, token, parent, near } => suggest(
                unresolved(format!("`{uri}` has no `{token}` in `#{parent}`")),
                near.as_deref().map(|near| format!("#{}", join(parent, near))),
            ),
            Self::Loop => Diagnostic::error(
                "reference-cycle",
                format!("the pointer `{reference}` leads through references that lead back to it"),
            )
            .at(place),
            Self::NotASchema(kind) => {
                let message =
                    format!("`{reference}` leads to {kind}, and a schema is an object or a boolean");
                Diagnostic::error("invalid-schema", message).at(place)
            }
        }
    }
}

/// A reference that is no URI reference.
pub(crate) fn malformed(pending: &Pending<'_>, reason: &str) -> Diagnostic {
    let code = if matches!(pending.expect, Expect::Object(_)) { "invalid-openapi" } else { "invalid-schema" };
    Diagnostic::error(code, format!("the reference `{}` is malformed: {reason}", pending.reference))
        .at(pending.place.clone())
}

fn suggest(problem: Diagnostic, near: Option<String>) -> Diagnostic {
    match near {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem,
    }
}

impl<'t> Discovery<'t> {
    /// What `reference` means in a resource.
    pub(crate) fn locate(&self, resource: usize, reference: &str, hops: usize) -> Result<Target<'t>, Lost> {
        if hops > MAX_HOPS {
            return Err(Lost::Loop);
        }
        let base = self.resources.get(resource).ok_or(Lost::Loop)?;
        let absolute = uri::resolve(&base.uri, reference).or_else(|reason| {
            let meant = uri::escaped(reference).and_then(|meant| uri::resolve(&base.uri, &meant).ok());
            match meant {
                Some(meant) if self.uris.contains_key(&uri::key(&meant.uri)) => Ok(meant),
                Some(meant) => Err(Lost::Unescaped { reason, uri: meant.uri }),
                None => Err(Lost::Malformed(reason)),
            }
        })?;
        let index = if absolute.uri == base.uri {
            resource
        } else {
            match self.uris.get(&uri::key(&absolute.uri)) {
                Some(index) => *index,
                None => return Err(Lost::Unknown(absolute.uri)),
            }
        };
        let fragment = absolute.fragment.unwrap_or_default();
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.walk_pointer(index, &fragment, hops);
        }
        let held = self.resources.get(index).ok_or(Lost::Loop)?;
        match self.anchors.get(&(index, fragment.clone())) {
            Some((node, dynamic)) => {
                let node = self.nodes.get(*node).ok_or(Lost::Loop)?;
                Ok(Target {
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
                let near = nearest(&fragment, names).map(str::to_owned);
                Err(Lost::Anchor { uri: held.uri.clone(), name: fragment, near })
            }
        }
    }

    fn walk_pointer(&self, resource: usize, fragment: &str, hops: usize) -> Result<Target<'t>, Lost> {
        let held = self.resources.get(resource).ok_or(Lost::Loop)?;
        let whole = format!("{}{fragment}", held.pointer);
        let target =
            |pointer, tree| Target { source: held.source, pointer, tree, anchor: None, hopped: false };
        // Nearly every reference names a schema that was walked already: no search in wide objects.
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
            // What is no token of a pointer names nothing.
            let token = name_of(token);
            #[cfg(test)]
            SEARCHED.set(SEARCHED.get() + 1);
            if let Some(next) = here.step(&token) {
                here = next;
                pointer = join(&pointer, &token);
                rest = after;
                continue;
            }
            if let Some(reference) = here.get("$ref").and_then(crate::tree::Tree::as_str) {
                let (context, _) =
                    self.context(held.source, &join(&pointer, "$ref"), super::dialect::Dialect::LATEST);
                let through = self.locate(context, reference, hops + 1)?;
                let onward = format!("{}/{tokens}", through.pointer);
                let mut found = self.walk_pointer(through.source.0 as usize, &onward, hops + 1)?;
                found.hopped = true;
                return Ok(found);
            }
            let near = nearest(&token, here.members().iter().map(|member| member.key.as_str()));
            let parent = pointer.strip_prefix(held.pointer.as_str()).unwrap_or(&pointer).to_owned();
            return Err(Lost::Pointer {
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

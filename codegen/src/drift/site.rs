//! The site of a comparison: its path, the direction of its values, and their wire encoding.

use std::rc::Rc;

use contract_codegen_core::schema::{SchemaId, TypeSet};

use super::proof::VersionSide;

/// The direction in which values of a schema are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum ValueUse {
    /// The service sends the values, and clients read them.
    Read,
    /// Clients send the values, and the service reads them.
    Write,
}

impl ValueUse {
    pub(super) const fn reversed(self) -> Self {
        match self {
            Self::Read => Self::Write,
            Self::Write => Self::Read,
        }
    }
}

/// The location at which schemas are compared, and the properties of the values at this location.
#[derive(Clone, Debug)]
pub(super) struct ComparisonSite {
    /// The part of an operation, such as `GET /me/ships 200 body`.
    pub(super) base: Rc<str>,
    /// The graph node from which the path starts; `None` if it starts from the base.
    pub(super) node: Option<usize>,
    /// The path to the site from `node` or, without a node, from `base`, such as `/items/*/name`.
    pub(super) path: String,
    /// The steps of `path`.
    pub(super) steps: Vec<SiteStep>,
    pub(super) value_use: ValueUse,
    /// The JSON types that the values can have. Property names, for example, can only be strings.
    pub(super) types: TypeSet,
    /// Whether differences at this site are harmless because of the surrounding schemas. If so, no finding at
    /// the site is breaking.
    pub(super) is_harmless: bool,
    /// Whether the schemas at the site are only a part of a schema, such as a branch, and do not describe
    /// whole values.
    pub(super) is_part: bool,
    pub(super) string_scope: StringScope,
    pub(super) annotations: AnnotationSource,
}

/// The schemas that contribute the annotations of a site.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum AnnotationSource {
    /// The schemas of the site.
    Site,
    /// The schemas of the site and, in one version, the schemas that contain a union of which the site is a
    /// branch.
    EnclosingUnion(VersionSide, Rc<[SchemaId]>),
    /// No schemas. In both versions, the site is the only branch other than `null` of a union, and its
    /// annotations were already compared together with those of the union.
    AlreadyCompared,
}

/// The relation between a schema and a subschema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    /// The step to a subschema for a property of an object.
    Member,
    /// The step to a subschema for the elements of an array.
    Element,
    /// The step to a subschema that applies to the same value, such as a branch or a condition, or to a
    /// subschema for property names.
    Part,
}

/// A step of the path to a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SiteStep {
    pub(super) kind: StepKind,
    /// The path segment: an escaped property name, an index, `*`, or a label in braces.
    pub(super) token: String,
}

/// The nesting depth to which scalars are sent as plain strings and not as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum StringScope {
    /// Scalars are sent as plain strings at three levels: the value itself, its properties, and the elements
    /// of its properties. This applies to parameters and forms.
    Members,
    /// Like `Members`, and an array is sent as one string for each element, under a repeated name. This
    /// applies to query parameters.
    RepeatedParameter,
    /// Like `Members`, and arrays in properties are sent under repeated names. This applies to forms.
    RepeatedMembers,
    /// Scalars are sent as plain strings at two levels: the value itself and its elements. This applies to a
    /// property of a form.
    Elements,
    /// Like `Elements`, and an array is sent as one string for each element, under a repeated name.
    RepeatedElements,
    /// Only the value itself is sent as a plain string if it is a scalar.
    Value,
    /// Nothing is sent as a plain string, because the value is JSON or a part of JSON.
    None,
}

impl StringScope {
    const fn below(self, step: StepKind) -> Self {
        match (self, step) {
            (sent, StepKind::Part) => sent,
            (Self::Members | Self::RepeatedParameter, StepKind::Member) => Self::Elements,
            (Self::RepeatedMembers, StepKind::Member) => Self::RepeatedElements,
            (Self::Value | Self::None, _) | (Self::Elements | Self::RepeatedElements, StepKind::Member) => {
                Self::None
            }
            (_, StepKind::Element) => Self::Value,
        }
    }
}

impl ComparisonSite {
    pub(super) fn new(base: impl Into<Rc<str>>, usage: ValueUse) -> Self {
        let base = base.into();
        let within = TypeSet::ALL;
        let (node, path, sent) = (None, String::new(), StringScope::None);
        Self {
            base,
            node,
            path,
            steps: Vec::new(),
            value_use: usage,
            types: within,
            is_harmless: false,
            is_part: false,
            string_scope: sent,
            annotations: AnnotationSource::Site,
        }
    }

    pub(super) fn below(&self, step: StepKind, token: &str) -> Self {
        let further = SiteStep { kind: step, token: token.to_owned() };
        Self {
            steps: self.steps.iter().cloned().chain([further]).collect(),
            path: format!("{}/{token}", self.path),
            types: TypeSet::ALL,
            is_part: step == StepKind::Part,
            string_scope: self.string_scope.below(step),
            annotations: AnnotationSource::Site,
            ..self.clone()
        }
    }

    /// Returns the site with the given node, from which its path starts.
    pub(super) fn at_node(&self, node: Option<usize>) -> Self {
        Self { node, path: String::new(), steps: Vec::new(), ..self.clone() }
    }

    /// Returns the site, restricted to values of the given types.
    pub(super) fn restricted_to(self, within: TypeSet) -> Self {
        Self { types: within, ..self }
    }

    /// Returns the site with the given scope of plain strings.
    pub(super) fn with_string_scope(self, scope: StringScope) -> Self {
        Self { string_scope: scope, ..self }
    }

    /// Returns true if an array with one element is sent like the element.
    pub(super) fn sends_element_as_value(&self) -> bool {
        matches!(self.string_scope, StringScope::RepeatedParameter | StringScope::RepeatedElements)
    }

    /// Returns true if scalars are sent as plain strings at this site.
    pub(super) fn is_plain_string(&self) -> bool {
        self.string_scope != StringScope::None
    }

    /// Returns the site with the given source of annotations.
    pub(super) fn with_annotations(self, source: AnnotationSource) -> Self {
        Self { annotations: source, ..self }
    }

    /// Returns the site with all differences marked as harmless. No finding at such a site is breaking.
    pub(super) fn with_harmless_differences(self) -> Self {
        Self { is_harmless: true, ..self }
    }
}

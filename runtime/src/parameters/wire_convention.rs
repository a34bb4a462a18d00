//! Conventions for nested values and lists in queries and forms. OpenAPI does not define these encodings.

/// The encoding of lists and nested values in a query parameter or a form field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WireConvention {
    /// The encoding of objects, and of lists that contain lists or objects.
    pub nested: NestedNotation,
    /// The encoding of lists of scalars.
    pub arrays: ArrayNotation,
}

/// The encoding of objects, and of lists that contain lists or objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NestedNotation {
    /// As JSON inside the outermost object: `filter[range]={"from":1}`.
    Json,
    /// Members in brackets, and lists as [`ArrayNotation`] defines: `items[][price]=1`. In such a list, a
    /// name that occurs again starts the next element. With [`ArrayNotation::Comma`] the elements have
    /// indices.
    Brackets,
    /// Members in brackets, and list elements with their index: `items[0][price]=1`.
    Indices,
}

/// The encoding of lists of scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArrayNotation {
    /// `tags=a&tags=b`.
    Repeat,
    /// `tags[]=a&tags[]=b`.
    Brackets,
    /// `tags[0]=a&tags[1]=b`.
    Indices,
    /// `tags=a,b`. Commas in elements are percent-encoded.
    Comma,
}

impl WireConvention {
    /// The convention for `deepObject` parameters: `filter[range][from]=1`, `filter[tags][]=a`,
    /// `items[0][price]=1`.
    pub const DEEP_OBJECT: Self = Self { nested: NestedNotation::Indices, arrays: ArrayNotation::Brackets };
}

//! What is being compared: a way to it, how its values are used, and how they are sent.

use std::rc::Rc;

use super::proof::Side;
use crate::schema::{SchemaId, Types};

/// How a schema is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Use {
    /// The service sends such values, clients read them.
    Read,
    /// Clients send such values, the service reads them.
    Write,
}

impl Use {
    pub(super) const fn reversed(self) -> Self {
        match self {
            Self::Read => Self::Write,
            Self::Write => Self::Read,
        }
    }
}

/// What is being compared: a way to it, and how its values are used.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    /// `GET /me/ships 200 body`
    pub(super) base: Rc<str>,
    /// The pair of schemas that the path begins at; `None` for the base.
    pub(super) node: Option<usize>,
    /// `/items/*/name`
    pub(super) path: String,
    pub(super) usage: Use,
    /// Which JSON types there can be: names of members are strings.
    pub(super) within: Types,
    /// Whether it was shown of what surrounds it that other values here break nobody.
    pub(super) harmless: bool,
    /// Whether the path ends at a part of a value, and no value stands there by itself.
    pub(super) is_part: bool,
    pub(super) sent: Sent,
    pub(super) words: Words,
}

/// Where what is said to people stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Words {
    /// There.
    Here,
    /// There, and on one side in the schemas around, of which it is a form.
    Around(Side, Rc<[SchemaId]>),
    /// It was compared where the union stands that it is the one form of.
    Told,
}

/// A step to a schema that another one holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// To what some members of an object must satisfy.
    Member,
    /// To what some elements of an array must satisfy.
    Element,
    /// To what holds of the same value, or of names: branches, conditions.
    Part,
}

/// What of a value is sent as plain texts, as far as it is scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Sent {
    /// The value, its members, their elements and its own: a parameter, a form.
    Whole,
    /// The value and its elements: a member of these.
    Listed,
    /// The value alone.
    Alone,
    /// Nothing: it is JSON, or a part of it.
    Json,
}

impl Sent {
    const fn step(self, step: Step) -> Self {
        match (self, step) {
            (sent, Step::Part) => sent,
            (Self::Whole, Step::Member) => Self::Listed,
            (Self::Whole | Self::Listed, Step::Element) => Self::Alone,
            _ => Self::Json,
        }
    }
}

impl Subject {
    pub(super) fn new(base: impl Into<Rc<str>>, usage: Use) -> Self {
        let base = base.into();
        let within = Types::ALL;
        let (node, path, sent) = (None, String::new(), Sent::Json);
        Self { base, node, path, usage, within, harmless: false, is_part: false, sent, words: Words::Here }
    }

    pub(super) fn step(&self, step: Step, token: &str) -> Self {
        Self {
            path: format!("{}/{token}", self.path),
            within: Types::ALL,
            is_part: step == Step::Part,
            sent: self.sent.step(step),
            words: Words::Here,
            ..self.clone()
        }
    }

    /// The same where only values of some types can be.
    pub(super) fn within(self, within: Types) -> Self {
        Self { within, ..self }
    }

    /// The same where scalars, and those that are members or elements, are sent as plain texts.
    pub(super) fn sent_as_texts(self) -> Self {
        Self { sent: Sent::Whole, ..self }
    }

    /// The same where the value is sent as a plain text, if it is scalar.
    pub(super) fn sent_as_text(self) -> Self {
        Self { sent: Sent::Alone, ..self }
    }

    /// Whether a scalar is sent as a plain text here.
    pub(super) fn is_text(&self) -> bool {
        self.sent != Sent::Json
    }

    /// The same where words stand elsewhere.
    pub(super) fn with(self, words: Words) -> Self {
        Self { words, ..self }
    }

    /// The same where other values break nobody.
    pub(super) fn harmless(self) -> Self {
        Self { harmless: true, ..self }
    }
}

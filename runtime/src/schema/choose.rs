//! `anyOf` and `oneOf`, and which of their branches a refused value meant.

use super::Certainty;
use super::Choice;
use super::Keyword;
use super::Literal;
use super::SchemaId;
use super::evaluate::At;
use super::evaluate::Run;
use super::seen::Seen;
use super::sink::Sink;
use crate::Json;

/// Which of the two keywords.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Union {
    AnyOf,
    OneOf,
}

impl Union {
    fn name(self) -> &'static str {
        match self {
            Union::AnyOf => "anyOf",
            Union::OneOf => "oneOf",
        }
    }
}

/// What counts when a branch refuses the value outright.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outright {
    /// The value has none of the types that `type`, `const` or `enum` allow.
    Type,
    /// The same, or the value itself is none that `const` or `enum` allow.
    TypeOrValue,
}

/// How many references [`Run::refuses`] follows; deeper branches count as meant.
const FOLLOWED: u32 = 16;

type Branches<'b> = (&'b [SchemaId], Option<&'b Choice<'b>>);

impl Run<'_> {
    #[inline(never)]
    pub(super) fn choose<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        union: Union,
        (branches, choice): Branches<'_>,
        mut seen: Option<&mut Seen>,
    ) -> bool {
        // Whether its only branch matches is the whole answer, unless somebody asks why it does not.
        if let ([only], false) = (branches, S::COLLECTS) {
            return self.in_place(sink, at, *only, seen);
        }
        let proven = choice.filter(|choice| choice.certainty != Certainty::Meant);
        if let Some(branch) = proven.and_then(|choice| choice.branch(at.value, branches)) {
            return self.in_place(sink, at, branch, seen);
        }
        let mut matches = 0;
        for id in branches {
            if self.probe(at, *id, seen.as_deref_mut()) {
                matches += 1;
                let settled = match union {
                    // Every matching branch evaluates (Core 10.2.1.2).
                    Union::AnyOf => seen.is_none(),
                    Union::OneOf => matches > 1,
                };
                if settled {
                    break;
                }
            }
        }
        let held = match union {
            Union::AnyOf => matches > 0,
            Union::OneOf => matches == 1,
        };
        if !held && S::COLLECTS && !self.gave_up() {
            if matches == 0 {
                self.report(sink, at, union, (branches, choice), seen);
            } else {
                sink.record(at.path, union.name(), at.schema);
            }
        }
        held
    }

    /// Says why no branch matched.
    #[cold]
    #[inline(never)]
    fn report<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        union: Union,
        (branches, choice): Branches<'_>,
        mut seen: Option<&mut Seen>,
    ) {
        if let Some(id) = choice.and_then(|choice| choice.branch(at.value, branches)) {
            let _ = self.in_place(sink, at, id, seen.as_deref_mut());
        } else {
            self.report_all(sink, at, union, (branches, choice), seen.as_deref_mut());
        }
        // What the branch would have evaluated is unknown; its members are not
        // to be reported as unevaluated on top.
        if let Some(seen) = seen {
            seen.mark_all();
        }
    }

    /// The same where no tag names the branch.
    fn report_all<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        union: Union,
        (branches, choice): Branches<'_>,
        seen: Option<&mut Seen>,
    ) {
        let refusing = |id: &&SchemaId, by| self.refuses(at, **id, by, FOLLOWED);
        let missing =
            |choice: &Choice<'_>| at.value.as_object().is_some_and(|all| !all.contains_key(choice.tag));
        // Without a tag that may be missing, and by one that proves nothing, no branch is ruled out.
        let choice = choice.filter(|choice| match choice.certainty {
            Certainty::Required => true,
            Certainty::Present => !missing(choice),
            Certainty::Meant => false,
        });
        match (choice, at.value) {
            (Some(choice), Json::Object(_)) => {
                let keyword = if missing(choice) { "required" } else { union.name() };
                sink.record(&at.path.key(choice.tag), keyword, at.schema);
            }
            (Some(_), _) => {
                let every = branches.iter().all(|id| refusing(&id, Outright::Type));
                sink.record(at.path, if every { "type" } else { union.name() }, at.schema);
            }
            (None, _) => {
                let only = |by| {
                    let mut open = branches.iter().filter(|id| !refusing(id, by));
                    open.next().filter(|_| open.next().is_none())
                };
                let single = if let [single] = branches { Some(single) } else { None };
                // An unknown value of an enumeration beside `null` is of the right
                // type, so that types are asked first.
                let meant = single.or_else(|| only(Outright::Type)).or_else(|| only(Outright::TypeOrValue));
                match meant.copied() {
                    Some(id) => drop(self.in_place(sink, at, id, seen)),
                    None => sink.record(at.path, union.name(), at.schema),
                }
            }
        }
    }

    /// Whether the schema refuses this very value by `type`, `const` or `enum`,
    /// whatever is inside the value.
    fn refuses(&self, at: &At<'_>, id: SchemaId, by: Outright, follow: u32) -> bool {
        let Some(follow) = follow.checked_sub(1) else {
            return false;
        };
        let refuses = |id: SchemaId| self.refuses(at, id, by, follow);
        self.tables.schema(id).keywords.iter().any(|keyword| match keyword {
            Keyword::False => true,
            Keyword::Type(types) => !types.contains(at.value),
            Keyword::Const(literal) => !by.allows(literal, at.value),
            Keyword::Enum(literals) => !literals.iter().any(|one| by.allows(one, at.value)),
            Keyword::Ref(id) => refuses(*id),
            Keyword::DynamicRef { anchor, initial } => {
                refuses(self.dynamic_target(anchor, *initial, at.scope))
            }
            Keyword::AllOf(branches) => branches.iter().any(|id| refuses(*id)),
            Keyword::AnyOf(branches, _) | Keyword::OneOf(branches, _) => {
                branches.iter().all(|id| refuses(*id))
            }
            _ => false,
        })
    }
}

impl Outright {
    fn allows(self, literal: &Literal<'_>, value: &Json) -> bool {
        match self {
            Outright::Type => literal.same_type(value),
            Outright::TypeOrValue => literal.equals(value),
        }
    }
}

impl Choice<'_> {
    /// The branch that the value's tag names.
    fn branch(&self, value: &Json, branches: &[SchemaId]) -> Option<SchemaId> {
        let Json::Object(members) = value else {
            return None;
        };
        let tag = members.get(self.tag)?;
        let (_, index) = self.branches.iter().find(|(literal, _)| literal.equals(tag))?;
        branches.get(*index).copied()
    }
}

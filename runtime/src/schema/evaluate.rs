//! Applying one schema to one value: dispatch over its keywords, references,
//! and the limits that keep any value cheap.

use super::Keyword;
use super::Limits;
use super::ResourceId;
use super::Schema;
use super::SchemaId;
use super::Tables;
use super::Types;
use super::Validator;
use super::assert::Said;
use super::assert::assertion;
use super::assert::of_any;
use super::assert::of_items;
use super::assert::of_members;
use super::assert::of_number;
use super::assert::of_text;
use super::choose::Union;
use super::seen::Seen;
use super::sink::Collect;
use super::sink::Probe;
use super::sink::Sink;
use crate::Json;
use crate::depth;
use crate::violation::Path;
use crate::violation::Violation;
use crate::violation::Violations;

/// So many schemas inside each other are applied on whatever stack there is; 2 MiB hold them.
const SHALLOW: usize = 512;

/// What one of them takes of a stack at most, in a build without optimisation.
const BYTES_AN_APPLICATION: usize = 8 << 10;

pub(super) fn is_valid(validator: &Validator<'_>, value: &Json, limits: &Limits) -> bool {
    let check = |run: &mut Run<'_>| run.start(&mut Probe, validator.root, value) && run.gave_up.is_none();
    check_within(validator, limits, check).unwrap_or(false)
}

pub(super) fn validate(validator: &Validator<'_>, value: &Json, limits: &Limits) -> Result<(), Violations> {
    let check = |run: &mut Run<'_>| {
        let cap = limits.violations.max(1);
        let mut sink = Collect::new(validator.tables, cap);
        run.start(&mut sink, validator.root, value);
        Violations::check(sink.into_violations())
    };
    // What was recorded after giving up may be a consequence of it.
    check_within(validator, limits, check).unwrap_or_else(|violation| Err(Violations::one(violation)))
}

/// Checks within the limits; fails with the one that was reached.
///
/// First on this stack, and again on one that holds all that the limits allow when it turns out to
/// be too small.
fn check_within<T: Send>(
    validator: &Validator<'_>,
    limits: &Limits,
    check: impl Fn(&mut Run<'_>) -> T + Sync,
) -> Result<T, Violation> {
    let checked = |depth: usize| {
        let mut run = Run::new(validator.tables, &Limits { depth, ..*limits });
        let answer = check(&mut run);
        run.gave_up.map_or(Ok(answer), Err)
    };
    checked(limits.depth.min(SHALLOW)).or_else(|gave_up| {
        if gave_up.keyword != "depth" || limits.depth <= SHALLOW {
            return Err(gave_up);
        }
        let bytes = limits.depth.saturating_mul(BYTES_AN_APPLICATION);
        depth::on_stack(bytes, || checked(limits.depth)).unwrap_or(Err(gave_up))
    })
}

/// The schema resources entered on the way here (Core 7.1), the latest first, as far as they have
/// anchors that a `$dynamicRef` could look for.
pub(super) struct Scope<'a> {
    resource: ResourceId,
    outer: Option<&'a Scope<'a>>,
}

/// One value under one schema.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) schema: &'a Schema<'a>,
    pub(super) value: &'a Json,
    pub(super) path: &'a Path<'a>,
    pub(super) scope: &'a Scope<'a>,
}

/// The state of one check.
pub(super) struct Run<'t> {
    pub(super) tables: &'t Tables<'t>,
    depth: usize,
    effort: u64,
    gave_up: Option<Violation>,
}

impl<'t> Run<'t> {
    fn new(tables: &'t Tables<'t>, limits: &Limits) -> Self {
        Self { tables, depth: limits.depth, effort: limits.effort, gave_up: None }
    }

    fn start<S: Sink>(&mut self, sink: &mut S, root: SchemaId, value: &Json) -> bool {
        let scope = Scope { resource: self.tables.schema(root).resource, outer: None };
        self.apply(sink, root, value, &Path::Root, &scope, None)
    }

    /// Whether the remaining work cannot change the answer.
    #[inline]
    pub(super) fn over<S: Sink>(&self, sink: &S) -> bool {
        sink.done() || self.gave_up.is_some()
    }

    /// Whether a limit was reached, so that no answer counts any more.
    pub(super) fn gave_up(&self) -> bool {
        self.gave_up.is_some()
    }

    /// Applies a schema; what it evaluates of the value is added to `seen`.
    #[inline]
    pub(super) fn apply<S: Sink>(
        &mut self,
        sink: &mut S,
        id: SchemaId,
        value: &Json,
        path: &Path<'_>,
        scope: &Scope<'_>,
        seen: Option<&mut Seen>,
    ) -> bool {
        self.apply_schema(sink, self.tables.schema(id), (value, path), scope, seen)
    }

    #[inline]
    fn apply_schema<S: Sink>(
        &mut self,
        sink: &mut S,
        schema: &'t Schema<'t>,
        (value, path): (&Json, &Path<'_>),
        scope: &Scope<'_>,
        seen: Option<&mut Seen>,
    ) -> bool {
        match self.plain::<S>(schema, value) {
            Some(held) => held,
            None => self.apply_row(sink, schema, (value, path), scope, seen),
        }
    }

    /// The answer, if it takes a glance and there is nothing else to say.
    #[inline]
    pub(super) fn plain<S: Sink>(&mut self, schema: &'t Schema<'t>, value: &Json) -> Option<bool> {
        if !may_be_plain(schema, value) {
            return None;
        }
        // Why it does not hold, only some ask.
        self.glance::<true>(schema, value, self.depth).filter(|held| *held || !S::COLLECTS)
    }

    /// Whether a value obeys a schema, if the answer takes no look inside the value, as for most
    /// texts, numbers and words. Of depth and effort it takes as much as applying does; whatever
    /// else there is to say, such as what is wrong, is for [`apply_row`](Self::apply_row).
    ///
    /// `IN_PLACE`: also through what applies other schemas to the value itself, but not through such
    /// as those have in turn, so that what was in vain is little.
    #[inline(never)]
    fn glance<const IN_PLACE: bool>(
        &mut self,
        schema: &'t Schema<'t>,
        value: &Json,
        depth: usize,
    ) -> Option<bool> {
        // What the value is decides all that follows.
        match value {
            Json::Null | Json::Bool(_) => {
                self.look::<IN_PLACE>(schema, value, (depth, 1), |keyword| of_any(keyword, value))
            }
            Json::Number(number) => {
                self.look::<IN_PLACE>(schema, value, (depth, 1), |keyword| of_number(keyword, value, number))
            }
            Json::String(text) => {
                let taken = (depth, weight_of_text(text));
                self.look::<IN_PLACE>(schema, value, taken, |keyword| of_text(keyword, value, text))
            }
            Json::Array(items) => {
                let taken = (depth, weight_of_parts(items.len()));
                self.look::<false>(schema, value, taken, |keyword| of_items(keyword, value, items))
            }
            Json::Object(members) => {
                let taken = (depth, weight_of_parts(members.len()));
                self.look::<false>(schema, value, taken, |keyword| match keyword {
                    Keyword::Required(names) => {
                        Some(("required", names.iter().all(|name| members.contains_key(name))))
                    }
                    keyword => of_members(keyword, value, members),
                })
            }
        }
    }

    /// The same, where it is known what a keyword `says` of the value.
    #[inline(always)]
    fn look<const IN_PLACE: bool>(
        &mut self,
        mut schema: &'t Schema<'t>,
        value: &Json,
        (mut depth, effort): (usize, u64),
        says: impl Fn(&Keyword<'t>) -> Said,
    ) -> Option<bool> {
        loop {
            depth = depth.checked_sub(1)?;
            self.effort = self.effort.checked_sub(effort)?;
            let keywords = match schema.keywords {
                [Keyword::Ref(target)] => {
                    schema = self.tables.schema(*target);
                    continue;
                }
                keywords => keywords,
            };
            for keyword in keywords {
                match says(keyword) {
                    Some((_, true)) => {}
                    Some((_, false)) => return Some(false),
                    None if IN_PLACE => return self.glance_in_place(keywords, value, depth),
                    None => return None,
                }
            }
            return Some(true);
        }
    }

    /// The same of keywords that apply other schemas to the value: where that has no parts, nothing
    /// is evaluated by one that another might ask for.
    #[inline(never)]
    fn glance_in_place(&mut self, keywords: &'t [Keyword<'t>], value: &Json, depth: usize) -> Option<bool> {
        for keyword in keywords {
            let held = match keyword {
                Keyword::Ref(id) => self.glance::<false>(self.tables.schema(*id), value, depth)?,
                Keyword::AllOf(ids) => {
                    let mut held = true;
                    for id in *ids {
                        held = held && self.glance::<false>(self.tables.schema(*id), value, depth)?;
                    }
                    held
                }
                Keyword::AnyOf(ids, _) => {
                    let mut held = false;
                    for id in *ids {
                        held = held || self.glance::<false>(self.tables.schema(*id), value, depth)?;
                    }
                    held
                }
                keyword => assertion(keyword, value)?.1,
            };
            if !held {
                return Some(false);
            }
        }
        Some(true)
    }

    #[inline(never)]
    pub(super) fn apply_row<S: Sink>(
        &mut self,
        sink: &mut S,
        mut schema: &'t Schema<'t>,
        (value, path): (&Json, &Path<'_>),
        scope: &Scope<'_>,
        seen: Option<&mut Seen>,
    ) -> bool {
        let depth = self.depth;
        let effort = weight(value);
        let entered;
        let mut scope = scope;
        let held = loop {
            // What nobody would hear of need not be looked at: the value is refused as it is.
            if schema.keywords.is_empty() || sink.is_deaf_to(path) {
                break true;
            }
            // One level of depth, and effort by the size of the value.
            if self.depth == 0 || self.effort < effort {
                return self.give_up(schema, path);
            }
            self.depth -= 1;
            self.effort -= effort;
            if self.is_seen_in_scope(schema, scope) {
                entered = Scope { resource: schema.resource, outer: Some(scope) };
                scope = &entered;
            } else if let [Keyword::Ref(target)] = schema.keywords {
                // Most references are all that their schema says: no frame for each.
                schema = self.tables.schema(*target);
                continue;
            }
            let at = &At { schema, value, path, scope };
            break if watches(at) { self.watched(sink, at, seen) } else { self.keywords(sink, at, seen) };
        };
        self.depth = depth;
        held
    }

    /// Whether the schema enters another resource that a `$dynamicRef` could look for.
    #[inline]
    fn is_seen_in_scope(&self, schema: &Schema<'_>, scope: &Scope<'_>) -> bool {
        schema.resource != scope.resource
            && self.tables.resource(schema.resource).is_some_and(|own| !own.dynamic_anchors.is_empty())
    }

    /// Applies a schema to the same value.
    #[inline]
    pub(super) fn in_place<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        id: SchemaId,
        seen: Option<&mut Seen>,
    ) -> bool {
        self.apply(sink, id, at.value, at.path, at.scope, seen)
    }

    /// Applies a schema to a member or element; when the schema is `false` the
    /// refusal carries the name of the applicator.
    #[inline]
    pub(super) fn below<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        schema: &'t Schema<'t>,
        (value, path): (&Json, &Path<'_>),
        applicator: &'static str,
    ) -> bool {
        if let [Keyword::False] = schema.keywords {
            sink.record(path, applicator, at.schema);
            return false;
        }
        self.apply_schema(sink, schema, (value, path), at.scope, None)
    }

    /// Keeps why, and leaves no effort for anything that is still to be applied.
    #[cold]
    #[inline(never)]
    fn give_up(&mut self, schema: &Schema<'_>, path: &Path<'_>) -> bool {
        if self.gave_up.is_none() {
            let keyword = if self.depth == 0 { "depth" } else { "effort" };
            let schema = self.tables.location(schema).into();
            self.gave_up = Some(Violation { pointer: path.pointer(), keyword, schema });
            self.effort = 0;
        }
        false
    }

    /// Evaluates a schema object with an unevaluated keyword, which sees what
    /// the keywords beside it evaluated and nothing from further up (Core 11.1).
    #[inline(never)]
    fn watched<S: Sink>(&mut self, sink: &mut S, at: &At<'_>, seen: Option<&mut Seen>) -> bool {
        let mut own = Seen::nothing_of(at.value);
        let mut held = self.keywords(sink, at, Some(&mut own));
        if !held && self.over(sink) {
            return false;
        }
        for keyword in at.schema.keywords {
            held &= match (keyword, at.value) {
                (Keyword::UnevaluatedItems(id), Json::Array(items)) => {
                    self.unevaluated_items(sink, at, items, *id, &mut own)
                }
                (Keyword::UnevaluatedProperties(id), Json::Object(members)) => {
                    self.unevaluated_properties(sink, at, members, *id, &mut own)
                }
                _ => true,
            };
        }
        if let Some(seen) = seen {
            seen.merge(&own);
        }
        held
    }

    /// All keywords but the unevaluated ones, each told apart once. Part of its only two callers:
    /// a call for each schema costs as much as a keyword.
    #[inline(always)]
    fn keywords<S: Sink>(&mut self, sink: &mut S, at: &At<'_>, mut seen: Option<&mut Seen>) -> bool {
        let mut held = true;
        for keyword in at.schema.keywords {
            let seen = seen.as_deref_mut();
            let passed = match (keyword, at.value) {
                (Keyword::Type(types), value) => {
                    if match value {
                        Json::Object(_) => types.has(Types::OBJECT),
                        value => types.contains(value),
                    } {
                        continue;
                    }
                    sink.record(at.path, "type", at.schema);
                    // Nothing else is worth saying about a value of another type.
                    if let Some(seen) = seen {
                        seen.mark_all();
                    }
                    return false;
                }
                (Keyword::Required(names), Json::Object(members)) => {
                    self.all_present(sink, at, members, names, "required")
                }
                (Keyword::Properties(declared, required), Json::Object(members)) => {
                    self.properties(sink, at, members, (declared, *required), seen)
                }
                (Keyword::Ref(id), _) => self.in_place(sink, at, *id, seen),
                (Keyword::DynamicRef { anchor, initial }, _) => {
                    let target = self.dynamic_target(anchor, *initial, at.scope);
                    self.in_place(sink, at, target, seen)
                }
                (Keyword::AllOf([one]), _) => self.in_place(sink, at, *one, seen),
                (Keyword::AllOf(branches), _) => self.all_of(sink, at, branches, seen),
                (Keyword::AnyOf(branches, choice), _) => {
                    self.choose(sink, at, Union::AnyOf, (branches, *choice), seen)
                }
                (Keyword::OneOf(branches, choice), _) => {
                    self.choose(sink, at, Union::OneOf, (branches, *choice), seen)
                }
                (Keyword::Not(id), _) => {
                    let held = !self.probe(at, *id, None);
                    if !held {
                        sink.record(at.path, "not", at.schema);
                    }
                    held
                }
                (Keyword::If { condition, then, otherwise }, _) => {
                    self.condition(sink, at, *condition, (*then, *otherwise), seen)
                }
                (
                    Keyword::PrefixItems(_)
                    | Keyword::Items { .. }
                    | Keyword::Contains { .. }
                    | Keyword::UniqueItems,
                    Json::Array(items),
                ) => self.array(sink, at, items, keyword, seen),
                (
                    Keyword::DependentRequired(_)
                    | Keyword::DependentSchemas(_)
                    | Keyword::PatternProperties(_)
                    | Keyword::AdditionalProperties { .. }
                    | Keyword::PropertyNames(_),
                    Json::Object(members),
                ) => self.object(sink, at, members, keyword, seen),
                _ => match assertion(keyword, at.value) {
                    Some((name, false)) => {
                        sink.record(at.path, name, at.schema);
                        false
                    }
                    _ => true,
                },
            };
            if !passed {
                held = false;
                if self.over(sink) {
                    return false;
                }
            }
        }
        held
    }

    #[inline(never)]
    fn all_of<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        branches: &[SchemaId],
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let mut held = true;
        for id in branches {
            if !self.in_place(sink, at, *id, seen.as_deref_mut()) {
                held = false;
                if self.over(sink) {
                    break;
                }
            }
        }
        held
    }

    /// `if` is silent, and contributes what it evaluated when it holds (Core
    /// 10.2.2.1).
    #[inline(never)]
    fn condition<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        condition: SchemaId,
        (then, otherwise): (Option<SchemaId>, Option<SchemaId>),
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let next = if self.probe(at, condition, seen.as_deref_mut()) { then } else { otherwise };
        next.is_none_or(|id| self.in_place(sink, at, id, seen))
    }

    /// Whether the value matches; only then `seen` learns what was evaluated.
    #[inline]
    pub(super) fn probe(&mut self, at: &At<'_>, id: SchemaId, seen: Option<&mut Seen>) -> bool {
        match seen {
            Some(seen) => self.probe_watched(at, id, seen),
            None => {
                let schema = self.tables.schema(id);
                match self.probe_member(schema, (at.value, at.path), at.scope) {
                    Some(held) => held,
                    None => self.apply_schema(&mut Probe, schema, (at.value, at.path), at.scope, None),
                }
            }
        }
    }

    /// The answer of a schema that asks for one member and no more, as most conditions do and most
    /// branches of an `anyOf` that wants one of several members. `None` of any other schema, and then
    /// nothing was taken of depth and effort.
    #[inline]
    fn probe_member(
        &mut self,
        schema: &'t Schema<'t>,
        (value, path): (&Json, &Path<'_>),
        scope: &Scope<'_>,
    ) -> Option<bool> {
        let Json::Object(members) = value else { return None };
        let (name, required, obeys) = match schema.keywords {
            [Keyword::Required([name])] => (name, true, None),
            [Keyword::Properties([(name, id)], required)] => (name, *required != 0, Some(*id)),
            _ => return None,
        };
        if self.is_seen_in_scope(schema, scope) {
            return None;
        }
        let depth = self.depth;
        let below = depth.checked_sub(1)?;
        self.effort = self.effort.checked_sub(weight(value))?;
        let Some((_, member)) = members.get_full(name) else { return Some(!required) };
        let Some(id) = obeys else { return Some(true) };
        let schema = self.tables.schema(id);
        self.depth = below;
        let held = match self.plain::<Probe>(schema, member) {
            Some(held) => held,
            None => self.probe_inside(schema, (member, &path.key(name)), scope),
        };
        self.depth = depth;
        Some(held)
    }

    /// Whether that member matches, whose schema is often another of one member.
    #[inline(never)]
    fn probe_inside(
        &mut self,
        schema: &'t Schema<'t>,
        (value, path): (&Json, &Path<'_>),
        scope: &Scope<'_>,
    ) -> bool {
        match self.probe_member(schema, (value, path), scope) {
            Some(held) => held,
            None => self.apply_row(&mut Probe, schema, (value, path), scope, None),
        }
    }

    #[inline(never)]
    fn probe_watched(&mut self, at: &At<'_>, id: SchemaId, seen: &mut Seen) -> bool {
        let mut own = Seen::nothing_of(at.value);
        let held = self.in_place(&mut Probe, at, id, Some(&mut own));
        if held {
            seen.merge(&own);
        }
        held
    }

    /// Core 8.2.3.2: the outermost resource of the dynamic scope that has the
    /// anchor, provided that the reference leads to such an anchor at first.
    pub(super) fn dynamic_target(&self, anchor: &str, initial: SchemaId, scope: &Scope<'_>) -> SchemaId {
        let resource = self.tables.schema(initial).resource;
        if self.tables.dynamic_anchor(resource, anchor) != Some(initial) {
            return initial;
        }
        let mut target = initial;
        let mut next = Some(scope);
        while let Some(here) = next {
            if let Some(found) = self.tables.dynamic_anchor(here.resource, anchor) {
                target = found;
            }
            next = here.outer;
        }
        target
    }
}

/// The effort that an application takes, by the size of the value.
#[inline]
fn weight(value: &Json) -> u64 {
    match value {
        Json::Array(items) => weight_of_parts(items.len()),
        Json::Object(members) => weight_of_parts(members.len()),
        Json::String(text) => weight_of_text(text),
        _ => 1,
    }
}

#[inline]
const fn weight_of_parts(count: usize) -> u64 {
    1 + count as u64 / 4
}

#[inline]
const fn weight_of_text(text: &str) -> u64 {
    1 + text.len() as u64 / 16
}

#[inline]
fn is_scalar(value: &Json) -> bool {
    !matches!(value, Json::Array(_) | Json::Object(_))
}

/// Whether it is worth a glance: of a value with parts, most schemas want to see those.
#[inline]
fn may_be_plain(schema: &Schema<'_>, value: &Json) -> bool {
    is_scalar(value) || matches!(schema.keywords, [.., Keyword::Type(_) | Keyword::Required(_)])
}

/// Whether the schema has an unevaluated keyword for this value; those keywords stand last.
#[inline]
fn watches(at: &At<'_>) -> bool {
    match at.schema.keywords {
        [.., Keyword::UnevaluatedItems(_)] => matches!(at.value, Json::Array(_)),
        [.., before, Keyword::UnevaluatedProperties(_)] => match at.value {
            Json::Object(_) => true,
            Json::Array(_) => matches!(before, Keyword::UnevaluatedItems(_)),
            _ => false,
        },
        [Keyword::UnevaluatedProperties(_)] => matches!(at.value, Json::Object(_)),
        _ => false,
    }
}

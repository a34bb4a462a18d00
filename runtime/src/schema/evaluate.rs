//! [`Evaluation`]: applies a schema to a value. Contains the dispatch over keywords, the resolution of
//! references, and the limits that bound the cost for any value.

use super::Keyword;
use super::ResourceId;
use super::Schema;
use super::SchemaId;
use super::SchemaTables;
use super::TypeSet;
use super::ValidationLimits;
use super::Validator;
use super::assertion::AssertionResult;
use super::assertion::assert_any;
use super::assertion::assert_array;
use super::assertion::assert_number;
use super::assertion::assert_object;
use super::assertion::assert_string;
use super::assertion::evaluate_assertion;
use super::evaluated::EvaluatedSet;
use super::sink::ProbeSink;
use super::sink::ViolationCollector;
use super::sink::ViolationSink;
use super::union_keyword::UnionKeyword;
use crate::Json;
use crate::depth;
use crate::violation::InstancePath;
use crate::violation::Violation;
use crate::violation::Violations;

/// The nesting depth of schema applications that the usual 2 MiB stack of a thread can hold.
const MAX_DEPTH_ON_CURRENT_STACK: usize = 512;

/// The number of stack bytes of one schema application, as an upper bound for unoptimized builds.
const STACK_BYTES_PER_APPLICATION: usize = 8 << 10;

pub(super) fn is_valid(validator: &Validator<'_>, value: &Json, limits: &ValidationLimits) -> bool {
    let check = |evaluation: &mut Evaluation<'_>| {
        evaluation.apply_root(&mut ProbeSink, validator.root, value) && evaluation.exceeded_limit.is_none()
    };
    check_with_limits(validator, limits, check).unwrap_or(false)
}

pub(super) fn validate(
    validator: &Validator<'_>,
    value: &Json,
    limits: &ValidationLimits,
) -> Result<(), Violations> {
    let check = |evaluation: &mut Evaluation<'_>| {
        let cap = limits.violations.max(1);
        let mut sink = ViolationCollector::new(validator.tables, cap);
        evaluation.apply_root(&mut sink, validator.root, value);
        Violations::ensure_empty(sink.into_violations())
    };
    // Violations that were recorded after a limit was reached may be consequences of it, so only the limit is
    // returned.
    check_with_limits(validator, limits, check)
        .unwrap_or_else(|violation| Err(Violations::from_violation(violation)))
}

/// Runs `check` within the limits. Fails with the violation of the limit that was exceeded.
///
/// The check first runs on the current stack. If that stack is too small, it runs again on a new stack that
/// is large enough for the depth limit.
fn check_with_limits<T: Send>(
    validator: &Validator<'_>,
    limits: &ValidationLimits,
    check: impl Fn(&mut Evaluation<'_>) -> T + Sync,
) -> Result<T, Violation> {
    let checked = |depth: usize| {
        let mut evaluation = Evaluation::new(validator.tables, &ValidationLimits { depth, ..*limits });
        let response = check(&mut evaluation);
        evaluation.exceeded_limit.map_or(Ok(response), Err)
    };
    checked(limits.depth.min(MAX_DEPTH_ON_CURRENT_STACK)).or_else(|exceeded| {
        if exceeded.keyword != "depth" || limits.depth <= MAX_DEPTH_ON_CURRENT_STACK {
            return Err(exceeded);
        }
        let bytes = limits.depth.saturating_mul(STACK_BYTES_PER_APPLICATION);
        depth::run_on_stack(bytes, || checked(limits.depth)).unwrap_or(Err(exceeded))
    })
}

/// The dynamic scope (Core 7.1) as a linked list, innermost resource first. Contains only resources with
/// anchors that a `$dynamicRef` can refer to.
pub(super) struct DynamicScope<'a> {
    resource: ResourceId,
    outer: Option<&'a DynamicScope<'a>>,
}

/// The application of one schema to one value.
#[derive(Clone, Copy)]
pub(super) struct SchemaApplication<'a> {
    pub(super) schema: &'a Schema<'a>,
    pub(super) value: &'a Json,
    pub(super) path: &'a InstancePath<'a>,
    pub(super) scope: &'a DynamicScope<'a>,
}

/// The state of one validation.
pub(super) struct Evaluation<'t> {
    pub(super) tables: &'t SchemaTables<'t>,
    depth: usize,
    pub(super) effort: u64,
    /// The effort that remains for the comparison of branches.
    pub(super) comparison_effort: u64,
    pub(super) exceeded_limit: Option<Violation>,
}

impl<'t> Evaluation<'t> {
    fn new(tables: &'t SchemaTables<'t>, limits: &ValidationLimits) -> Self {
        let ValidationLimits { depth, effort, .. } = *limits;
        Self { tables, depth, effort, comparison_effort: effort, exceeded_limit: None }
    }

    fn apply_root<S: ViolationSink>(&mut self, sink: &mut S, root: SchemaId, value: &Json) -> bool {
        let scope = DynamicScope { resource: self.tables.schema(root).resource, outer: None };
        self.apply_id(sink, root, value, &InstancePath::Root, &scope, None)
    }

    /// Returns true if the remaining work cannot change the result.
    #[inline]
    pub(super) fn is_finished<S: ViolationSink>(&self, sink: &S) -> bool {
        sink.is_done() || self.exceeded_limit.is_some()
    }

    /// Returns true if a limit was exceeded, which makes all results invalid.
    pub(super) fn is_exhausted(&self) -> bool {
        self.exceeded_limit.is_some()
    }

    /// Applies a schema and adds the parts of the value that it evaluates to `evaluated`.
    #[inline]
    pub(super) fn apply_id<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        id: SchemaId,
        value: &Json,
        path: &InstancePath<'_>,
        scope: &DynamicScope<'_>,
        evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        self.apply_schema(sink, self.tables.schema(id), (value, path), scope, evaluated)
    }

    #[inline]
    fn apply_schema<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        schema: &'t Schema<'t>,
        (value, path): (&Json, &InstancePath<'_>),
        scope: &DynamicScope<'_>,
        evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        match self.try_shallow::<S>(schema, value) {
            Some(valid) => valid,
            None => self.apply_full(sink, schema, (value, path), scope, evaluated),
        }
    }

    /// Returns the result if it can be determined without inspecting the content of the value and if no
    /// violation needs to be recorded.
    #[inline]
    pub(super) fn try_shallow<S: ViolationSink>(
        &mut self,
        schema: &'t Schema<'t>,
        value: &Json,
    ) -> Option<bool> {
        if !allows_shallow(schema, value) {
            return None;
        }
        // A collecting sink needs the reason of a failure, which only the full evaluation determines.
        self.evaluate_shallow::<true>(schema, value, self.depth).filter(|valid| *valid || !S::COLLECTS)
    }

    /// Evaluates a schema without inspecting the content of the value, which is sufficient for most strings,
    /// numbers and literals. Consumes the same depth and effort as the full evaluation. Returns `None` if the
    /// full evaluation ([`apply_full`](Self::apply_full)) is required.
    ///
    /// With `IN_PLACE`, also evaluates schemas that are applied in place to the same value, but only one
    /// level deep, so that little work is lost if the attempt fails.
    #[inline(never)]
    fn evaluate_shallow<const IN_PLACE: bool>(
        &mut self,
        schema: &'t Schema<'t>,
        value: &Json,
        depth: usize,
    ) -> Option<bool> {
        // The type of the value determines which assertions apply.
        match value {
            Json::Null | Json::Bool(_) => {
                self.evaluate_shallow_with::<IN_PLACE>(schema, value, (depth, 1), |keyword| {
                    assert_any(keyword, value)
                })
            }
            Json::Number(number) => {
                self.evaluate_shallow_with::<IN_PLACE>(schema, value, (depth, 1), |keyword| {
                    assert_number(keyword, value, number)
                })
            }
            Json::String(text) => {
                let taken = (depth, string_effort(text));
                self.evaluate_shallow_with::<IN_PLACE>(schema, value, taken, |keyword| {
                    assert_string(keyword, value, text)
                })
            }
            Json::Array(items) => {
                let taken = (depth, container_effort(items.len()));
                self.evaluate_shallow_with::<false>(schema, value, taken, |keyword| {
                    assert_array(keyword, value, items)
                })
            }
            Json::Object(members) => {
                let taken = (depth, container_effort(members.len()));
                self.evaluate_shallow_with::<false>(schema, value, taken, |keyword| match keyword {
                    Keyword::Required(names) => {
                        Some(("required", names.iter().all(|name| members.contains_key(name))))
                    }
                    keyword => assert_object(keyword, value, members),
                })
            }
        }
    }

    /// Evaluates a schema like [`evaluate_shallow`](Self::evaluate_shallow), with the assertions for the type
    /// of the value.
    #[inline(always)]
    fn evaluate_shallow_with<const IN_PLACE: bool>(
        &mut self,
        mut schema: &'t Schema<'t>,
        value: &Json,
        (mut depth, effort): (usize, u64),
        assert: impl Fn(&Keyword<'t>) -> AssertionResult,
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
                match assert(keyword) {
                    Some((_, true)) => {}
                    Some((_, false)) => return Some(false),
                    None if IN_PLACE => return self.evaluate_shallow_in_place(keywords, value, depth),
                    None => return None,
                }
            }
            return Some(true);
        }
    }

    /// Evaluates keywords that apply other schemas in place. The value has no members or elements, so there
    /// is nothing to mark as evaluated.
    #[inline(never)]
    fn evaluate_shallow_in_place(
        &mut self,
        keywords: &'t [Keyword<'t>],
        value: &Json,
        depth: usize,
    ) -> Option<bool> {
        for keyword in keywords {
            let valid = match keyword {
                Keyword::Ref(id) => self.evaluate_shallow::<false>(self.tables.schema(*id), value, depth)?,
                Keyword::AllOf(ids) => {
                    let mut valid = true;
                    for id in *ids {
                        valid =
                            valid && self.evaluate_shallow::<false>(self.tables.schema(*id), value, depth)?;
                    }
                    valid
                }
                Keyword::AnyOf(ids, _) => {
                    let mut valid = false;
                    for id in *ids {
                        valid =
                            valid || self.evaluate_shallow::<false>(self.tables.schema(*id), value, depth)?;
                    }
                    valid
                }
                keyword => evaluate_assertion(keyword, value)?.1,
            };
            if !valid {
                return Some(false);
            }
        }
        Some(true)
    }

    #[inline(never)]
    pub(super) fn apply_full<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        mut schema: &'t Schema<'t>,
        (value, path): (&Json, &InstancePath<'_>),
        scope: &DynamicScope<'_>,
        evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        let depth = self.depth;
        let effort = application_effort(value);
        let entered;
        let mut scope = scope;
        let valid = loop {
            // An empty schema accepts every value. If the sink ignores this path, the value is already
            // rejected and further failures have no effect.
            if schema.keywords.is_empty() || sink.ignores_path(path) {
                break true;
            }
            // Each application consumes one level of depth, and effort according to the size of the value.
            if self.depth == 0 || self.effort < effort {
                return self.stop_at_limit(schema, path);
            }
            self.depth -= 1;
            self.effort -= effort;
            if self.extends_dynamic_scope(schema, scope) {
                entered = DynamicScope { resource: schema.resource, outer: Some(scope) };
                scope = &entered;
            } else if let [Keyword::Ref(target)] = schema.keywords {
                // Most references are the only keyword of their schema, so they are followed without another
                // stack frame.
                schema = self.tables.schema(*target);
                continue;
            }
            let at = &SchemaApplication { schema, value, path, scope };
            break if has_unevaluated_keyword(at) {
                self.apply_with_unevaluated(sink, at, evaluated)
            } else {
                self.apply_keywords(sink, at, evaluated)
            };
        };
        self.depth = depth;
        valid
    }

    /// Returns true if the schema belongs to a different resource that a `$dynamicRef` can refer to.
    #[inline]
    fn extends_dynamic_scope(&self, schema: &Schema<'_>, scope: &DynamicScope<'_>) -> bool {
        schema.resource != scope.resource
            && self
                .tables
                .resource(schema.resource)
                .is_some_and(|resource| !resource.dynamic_anchors.is_empty())
    }

    /// Applies another schema to the same value.
    #[inline]
    pub(super) fn apply_in_place<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        id: SchemaId,
        evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        self.apply_id(sink, id, at.value, at.path, at.scope, evaluated)
    }

    /// Applies a schema to a member or element. If the schema is `false`, the failure is recorded under the
    /// name of the applicator.
    #[inline]
    pub(super) fn apply_to_child<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        schema: &'t Schema<'t>,
        (value, path): (&Json, &InstancePath<'_>),
        applicator: &'static str,
    ) -> bool {
        if let [Keyword::False] = schema.keywords {
            sink.record_violation(path, applicator, at.schema);
            return false;
        }
        self.apply_schema(sink, schema, (value, path), at.scope, None)
    }

    /// Records which limit was exceeded. No effort is left for further applications.
    #[cold]
    #[inline(never)]
    fn stop_at_limit(&mut self, schema: &Schema<'_>, path: &InstancePath<'_>) -> bool {
        if self.exceeded_limit.is_none() {
            let keyword = if self.depth == 0 { "depth" } else { "effort" };
            let schema = self.tables.schema_location(schema);
            self.exceeded_limit = Some(Violation::new(path.to_pointer(), keyword, schema));
            self.effort = 0;
        }
        false
    }

    /// Evaluates a schema object with `unevaluatedItems` or `unevaluatedProperties`. These keywords consider
    /// the parts that adjacent keywords evaluated, but not the parts that enclosing schemas evaluated (Core
    /// 11.1).
    #[inline(never)]
    fn apply_with_unevaluated<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        let mut own_evaluated = EvaluatedSet::empty_for(at.value);
        let mut valid = self.apply_keywords(sink, at, Some(&mut own_evaluated));
        if !valid && self.is_finished(sink) {
            return false;
        }
        for keyword in at.schema.keywords {
            valid &= match (keyword, at.value) {
                (Keyword::UnevaluatedItems(id), Json::Array(items)) => {
                    self.apply_unevaluated_items(sink, at, items, *id, &mut own_evaluated)
                }
                (Keyword::UnevaluatedProperties(id), Json::Object(members)) => {
                    self.apply_unevaluated_properties(sink, at, members, *id, &mut own_evaluated)
                }
                _ => true,
            };
        }
        if let Some(evaluated) = evaluated {
            evaluated.merge(&own_evaluated);
        }
        valid
    }

    /// Evaluates all keywords except `unevaluatedItems` and `unevaluatedProperties`. Inlined into both
    /// callers, because a call for each schema would cost as much as a keyword.
    #[inline(always)]
    fn apply_keywords<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        mut evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        let mut valid = true;
        for keyword in at.schema.keywords {
            let evaluated = evaluated.as_deref_mut();
            let passed = match (keyword, at.value) {
                (Keyword::Type(types), value) => {
                    if match value {
                        Json::Object(_) => types.is_superset(TypeSet::OBJECT),
                        value => types.contains(value),
                    } {
                        continue;
                    }
                    sink.record_violation(at.path, "type", at.schema);
                    // For a value of the wrong type, violations of the other keywords would not be useful.
                    if let Some(evaluated) = evaluated {
                        evaluated.mark_all();
                    }
                    return false;
                }
                (Keyword::Required(names), Json::Object(members)) => {
                    self.check_required(sink, at, members, names, "required")
                }
                (Keyword::Properties(declared, required), Json::Object(members)) => {
                    self.apply_properties(sink, at, members, (declared, *required), evaluated)
                }
                (Keyword::Ref(id), _) => self.apply_in_place(sink, at, *id, evaluated),
                (Keyword::DynamicRef { anchor, initial }, _) => {
                    let target = self.resolve_dynamic_ref(anchor, *initial, at.scope);
                    self.apply_in_place(sink, at, target, evaluated)
                }
                (Keyword::AllOf([one]), _) => self.apply_in_place(sink, at, *one, evaluated),
                (Keyword::AllOf(branches), _) => self.apply_all_of(sink, at, branches, evaluated),
                (Keyword::AnyOf(branches, choice), _) => {
                    self.apply_union(sink, at, UnionKeyword::AnyOf, (branches, *choice), evaluated)
                }
                (Keyword::OneOf(branches, choice), _) => {
                    self.apply_union(sink, at, UnionKeyword::OneOf, (branches, *choice), evaluated)
                }
                (Keyword::Not(id), _) => {
                    let valid = !self.probe_schema(at, *id, None);
                    if !valid {
                        sink.record_violation(at.path, "not", at.schema);
                    }
                    valid
                }
                (Keyword::If { condition, then, otherwise }, _) => {
                    self.apply_condition(sink, at, *condition, (*then, *otherwise), evaluated)
                }
                (
                    Keyword::PrefixItems(_)
                    | Keyword::Items { .. }
                    | Keyword::Contains { .. }
                    | Keyword::UniqueItems,
                    Json::Array(items),
                ) => self.apply_array_keyword(sink, at, items, keyword, evaluated),
                (
                    Keyword::DependentRequired(_)
                    | Keyword::DependentSchemas(_)
                    | Keyword::PatternProperties(_)
                    | Keyword::AdditionalProperties { .. }
                    | Keyword::PropertyNames(_),
                    Json::Object(members),
                ) => self.apply_object_keyword(sink, at, members, keyword, evaluated),
                _ => match evaluate_assertion(keyword, at.value) {
                    Some((name, false)) => {
                        sink.record_violation(at.path, name, at.schema);
                        false
                    }
                    _ => true,
                },
            };
            if !passed {
                valid = false;
                if self.is_finished(sink) {
                    return false;
                }
            }
        }
        valid
    }

    #[inline(never)]
    fn apply_all_of<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        branches: &[SchemaId],
        mut evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        let mut valid = true;
        for id in branches {
            if !self.apply_in_place(sink, at, *id, evaluated.as_deref_mut()) {
                valid = false;
                if self.is_finished(sink) {
                    break;
                }
            }
        }
        valid
    }

    /// Evaluates `if` without recording violations, then applies `then` or `else`. The parts that `if`
    /// evaluated count only if the value matches it (Core 10.2.2.1).
    #[inline(never)]
    fn apply_condition<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        condition: SchemaId,
        (then, otherwise): (Option<SchemaId>, Option<SchemaId>),
        mut evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        let next = if self.probe_schema(at, condition, evaluated.as_deref_mut()) { then } else { otherwise };
        next.is_none_or(|id| self.apply_in_place(sink, at, id, evaluated))
    }

    /// Returns true if the value matches the schema. Only in that case are the evaluated parts added to
    /// `evaluated`.
    #[inline]
    pub(super) fn probe_schema(
        &mut self,
        at: &SchemaApplication<'_>,
        id: SchemaId,
        evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        match evaluated {
            Some(evaluated) => self.probe_evaluated(at, id, evaluated),
            None => {
                let schema = self.tables.schema(id);
                match self.probe_member(schema, (at.value, at.path), at.scope) {
                    Some(valid) => valid,
                    None => self.apply_schema(&mut ProbeSink, schema, (at.value, at.path), at.scope, None),
                }
            }
        }
    }

    /// Evaluates a schema that constrains a single member. This is the most common form of conditions, and of
    /// `anyOf` branches that require one of several members. Returns `None` for any other schema, without
    /// consuming depth or effort.
    #[inline]
    fn probe_member(
        &mut self,
        schema: &'t Schema<'t>,
        (value, path): (&Json, &InstancePath<'_>),
        scope: &DynamicScope<'_>,
    ) -> Option<bool> {
        let Json::Object(members) = value else { return None };
        let (name, required, obeys) = match schema.keywords {
            [Keyword::Required([name])] => (name, true, None),
            [Keyword::Properties([(name, id)], required)] => (name, *required != 0, Some(*id)),
            _ => return None,
        };
        if self.extends_dynamic_scope(schema, scope) {
            return None;
        }
        let depth = self.depth;
        let below = depth.checked_sub(1)?;
        self.effort = self.effort.checked_sub(application_effort(value))?;
        let Some((_, member)) = members.get_full(name) else { return Some(!required) };
        let Some(id) = obeys else { return Some(true) };
        let schema = self.tables.schema(id);
        self.depth = below;
        let valid = match self.try_shallow::<ProbeSink>(schema, member) {
            Some(valid) => valid,
            None => self.probe_child(schema, (member, &path.key(name)), scope),
        };
        self.depth = depth;
        Some(valid)
    }

    /// Evaluates the schema of the member that [`probe_member`](Self::probe_member) found. This schema often
    /// constrains only one member itself, so `probe_member` is tried first.
    #[inline(never)]
    fn probe_child(
        &mut self,
        schema: &'t Schema<'t>,
        (value, path): (&Json, &InstancePath<'_>),
        scope: &DynamicScope<'_>,
    ) -> bool {
        match self.probe_member(schema, (value, path), scope) {
            Some(valid) => valid,
            None => self.apply_full(&mut ProbeSink, schema, (value, path), scope, None),
        }
    }

    #[inline(never)]
    fn probe_evaluated(
        &mut self,
        at: &SchemaApplication<'_>,
        id: SchemaId,
        evaluated: &mut EvaluatedSet,
    ) -> bool {
        let mut own_evaluated = EvaluatedSet::empty_for(at.value);
        let valid = self.apply_in_place(&mut ProbeSink, at, id, Some(&mut own_evaluated));
        if valid {
            evaluated.merge(&own_evaluated);
        }
        valid
    }

    /// Resolves a `$dynamicRef` (Core 8.2.3.2). If the initial target is a `$dynamicAnchor` of this name,
    /// returns the schema with this anchor in the outermost resource of the dynamic scope that has one.
    /// Otherwise, returns the initial target.
    pub(super) fn resolve_dynamic_ref(
        &self,
        anchor: &str,
        initial: SchemaId,
        scope: &DynamicScope<'_>,
    ) -> SchemaId {
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

/// Returns the effort of one schema application, according to the size of the value.
#[inline]
fn application_effort(value: &Json) -> u64 {
    match value {
        Json::Array(items) => container_effort(items.len()),
        Json::Object(members) => container_effort(members.len()),
        Json::String(text) => string_effort(text),
        _ => 1,
    }
}

#[inline]
const fn container_effort(count: usize) -> u64 {
    1 + count as u64 / 4
}

#[inline]
const fn string_effort(text: &str) -> u64 {
    1 + text.len() as u64 / 16
}

#[inline]
fn is_scalar(value: &Json) -> bool {
    !matches!(value, Json::Array(_) | Json::Object(_))
}

/// Returns true if a shallow evaluation is worthwhile. For arrays and objects, most schemas inspect the
/// content.
#[inline]
fn allows_shallow(schema: &Schema<'_>, value: &Json) -> bool {
    is_scalar(value) || matches!(schema.keywords, [.., Keyword::Type(_) | Keyword::Required(_)])
}

/// Returns true if the schema has `unevaluatedItems` or `unevaluatedProperties`, and the keyword applies to
/// this value. These keywords come last.
#[inline]
fn has_unevaluated_keyword(at: &SchemaApplication<'_>) -> bool {
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

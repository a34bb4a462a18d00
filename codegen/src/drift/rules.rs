//! The rules of the comparison: for each kind of change, the levels for readers and writers, and the reason.

mod webhooks;

pub(crate) use self::webhooks::webhook_levels;
use super::ChangeLevel;

/// A rule for one kind of change.
#[derive(Clone, Copy, Debug)]
pub struct DriftRule {
    /// The stable id of the rule, used in reports.
    pub id: &'static str,
    /// A short description of the change.
    pub title: &'static str,
    /// The level for readers, unless a proof lowers it.
    pub readers: ChangeLevel,
    /// The level for writers, unless a proof lowers it.
    pub writers: ChangeLevel,
    /// The effect of the change on readers, writers and the service, which explains the levels.
    pub reason: &'static str,
    /// Whether the change removes an element that must remain available within a major version. If both
    /// versions belong to one major version, such a change is breaking (Semantic Versioning, item 8).
    pub is_breaking_within_major: bool,
    /// Whether the change removes an element. For such a change, reports show the location in the old
    /// version.
    pub is_removal: bool,
}

const S: ChangeLevel = ChangeLevel::Same;
const A: ChangeLevel = ChangeLevel::Additive;
const R: ChangeLevel = ChangeLevel::Renamed;
const B: ChangeLevel = ChangeLevel::Breaking;

const fn new_rule(
    id: &'static str,
    title: &'static str,
    readers: ChangeLevel,
    writers: ChangeLevel,
    why: &'static str,
) -> DriftRule {
    DriftRule { id, title, readers, writers, reason: why, is_breaking_within_major: false, is_removal: false }
}

const fn breaking_within_major_rule(
    id: &'static str,
    title: &'static str,
    readers: ChangeLevel,
    writers: ChangeLevel,
    why: &'static str,
) -> DriftRule {
    DriftRule { id, title, readers, writers, reason: why, is_breaking_within_major: true, is_removal: false }
}

const fn removal_rule(rule: DriftRule) -> DriftRule {
    DriftRule { is_removal: true, ..rule }
}

const NARROWED: &str = "Fewer values are valid: readers already handle all of them; writers may send \
a value that is now rejected.";
const WIDENED: &str =
    "More values are valid: writers are not affected; readers may receive a value that they do not expect.";
const UNDECIDED: &str = "Neither version is known to accept every value of the other: readers and writers \
may be affected unless a proof shows otherwise.";
const UNREAD: &str = "The service ignores it when clients send it.";

/// Returns the rule with the given id, or `None` if there is none.
#[must_use]
pub fn find_rule(id: &str) -> Option<&'static DriftRule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// The ids of the rules whose changes do not affect which values are valid.
pub(super) const VALUE_NEUTRAL: &[&str] = &[
    DISCRIMINATOR_ADDED.id,
    DISCRIMINATOR_REMOVED.id,
    DISCRIMINATOR_CHANGED.id,
    DISCRIMINATOR_VALUE_ADDED.id,
    DISCRIMINATOR_VALUE_REMOVED.id,
    ENUM_VALUE_ADDED_OPEN.id,
    ENUM_VALUE_REMOVED_OPEN.id,
    DEFAULT_ADDED.id,
    DEFAULT_CHANGED.id,
    EXTENSION_CHANGED.id,
    DEPRECATED_SET.id,
    DEPRECATED_UNSET.id,
    EDITORIAL.id,
];

/// Declares a constant for each rule, and the list of all rules.
macro_rules! rules {
    ($($name:ident = $rule:expr;)*) => {
        $(pub(crate) const $name: &DriftRule = &$rule;)*

        /// All rules, grouped by operations, sign-in, parameters, bodies, responses and schemas.
        pub const RULES: &[DriftRule] = &[$(*$name,)*];
    };
}

rules! {
    OPERATION_ADDED = new_rule("operation-added", "operation added", A, A, "Clients of the old version do not call it.");
    OPERATION_REMOVED = removal_rule(new_rule("operation-removed", "operation removed", B, B, "Clients that call it receive an error."));
    OPERATION_MOVED = new_rule(
        "operation-moved",
        "method, path or callback address changed",
        B,
        B,
        "Clients that call the old method or path receive an error; receivers of a callback no longer \
        receive it where they expect it.",
    );
    OPERATION_RENAMED = new_rule(
        "operation-renamed",
        "operationId changed",
        R,
        R,
        "The wire format is the same; code that calls the operation by its generated name must change.",
    );
    OPERATION_DEPRECATED = new_rule(
        "operation-deprecated",
        "operation deprecated",
        A,
        A,
        "Clients can still call it, but should plan to replace it.",
    );
    OPERATION_UNDEPRECATED = new_rule("operation-undeprecated", "operation no longer deprecated", A, A, "Clients can continue to call it.");
    OPERATION_EDITORIAL = new_rule("operation-editorial", "summary, description or tags changed", S, S, "Only documentation changed.");
    EXTENSION_CHANGED = new_rule(
        "extension-changed",
        "an `x-` extension changed",
        A,
        A,
        "Neither OpenAPI nor JSON Schema defines its meaning: check the effect of the change on clients.",
    );
    WEBHOOK_ADDED = new_rule(
        "webhook-added",
        "webhook added",
        A,
        A,
        "Receivers that do not know it must ignore it or not subscribe to it.",
    );
    WEBHOOK_REMOVED = removal_rule(new_rule("webhook-removed", "webhook removed", B, B, "The service no longer sends it to receivers."));
    SERVER_ADDED = new_rule(
        "server-added",
        "server or value of a server variable added",
        A,
        A,
        "Clients can use it; removed servers and values are reported separately.",
    );
    SERVER_REMOVED = removal_rule(new_rule(
        "server-removed",
        "server or value of a server variable removed",
        B,
        B,
        "Calls to it may fail; clients must use another server or value.",
    ));
    SERVER_CHANGED = new_rule(
        "server-changed",
        "the first server changed",
        A,
        A,
        "Clients that select no server use the first one; the former first server is still listed.",
    );
    // Rules about sign-in.
    SIGN_IN_REQUIRED = new_rule(
        "sign-in-required",
        "sign-in became required",
        B,
        B,
        "Calls without credentials are rejected.",
    );
    SIGN_IN_DROPPED = removal_rule(new_rule(
        "sign-in-dropped",
        "sign-in is no longer required",
        A,
        A,
        "Clients can call the operation without credentials.",
    ));
    SCOPE_REQUIRED = new_rule("scope-required", "another scope is required", B, B, "Tokens without the scope are rejected; clients must request it.");
    SCOPE_RELEASED = new_rule(
        "scope-released",
        "a scope is no longer required",
        A,
        A,
        "Clients need not request it; tokens with the scope are still accepted.",
    );
    SECURITY_CHANGED = new_rule(
        "security-changed",
        "another way to sign in is required",
        B,
        B,
        "Credentials that the old version accepted are rejected; clients must sign in another way.",
    );
    SECURITY_ALTERNATIVE_REMOVED = removal_rule(new_rule(
        "security-alternative-removed",
        "one of several ways to sign in removed",
        B,
        B,
        "Credentials of the removed way are rejected; clients must use one of the other ways.",
    ));
    SECURITY_ALTERNATIVE_ADDED = new_rule(
        "security-alternative-added",
        "another way to sign in added",
        A,
        A,
        "Clients can use it; removed ways are reported separately.",
    );
    SECURITY_SCHEME_CHANGED = new_rule(
        "security-scheme-changed",
        "security scheme changed",
        B,
        B,
        "Clients obtain credentials through it: check whether existing credentials are still accepted.",
    );
    SECURITY_SCHEME_RENAMED = new_rule(
        "security-scheme-renamed",
        "security scheme renamed",
        R,
        R,
        "The wire format is the same; code that uses the name of the scheme must change.",
    );
    SECURITY_SCHEME_CHANGED_UNUSED = new_rule(
        "security-scheme-changed-unused",
        "unused security scheme changed",
        A,
        A,
        "No operation of the old version requires its credentials, so clients are not affected.",
    );
    SCOPE_ADDED = new_rule("scope-added", "scope added to the contract", A, A, "Clients of the old version do not request it.");
    SCOPE_REMOVED = removal_rule(new_rule(
        "scope-removed",
        "scope removed from the contract",
        B,
        B,
        "Sign-in may fail for clients that still request it.",
    ));
    // Rules about parameters.
    PARAMETER_ADDED_OPTIONAL = new_rule(
        "parameter-added-optional",
        "optional parameter added",
        S,
        A,
        "Calls without it have the same meaning.",
    );
    PARAMETER_ADDED_REQUIRED = new_rule("parameter-added-required", "required parameter added", S, B, "Calls without it are rejected.");
    PARAMETER_REMOVED = removal_rule(new_rule("parameter-removed", "parameter removed", S, B, UNREAD));
    PARAMETER_MOVED = new_rule(
        "parameter-moved",
        "parameter moved to another part of the request",
        S,
        B,
        "The service no longer reads it at the location where clients send it.",
    );
    PARAMETER_REQUIRED = new_rule("parameter-required", "parameter became required", S, B, "Calls without it are rejected.");
    PARAMETER_OPTIONAL = new_rule("parameter-optional", "parameter became optional", S, A, "Clients can omit it; calls with it have the same meaning.");
    PARAMETER_STYLE_CHANGED = new_rule(
        "parameter-style-changed",
        "serialization of a parameter changed",
        S,
        B,
        "The service may misread or reject values that clients send in the old form.",
    );
    SERIALIZATION_REWRITTEN = new_rule(
        "serialization-rewritten",
        "`style`, `explode`, `allowReserved` or `encoding` changed without effect",
        S,
        S,
        "Values are decoded as before.",
    );
    PARAMETER_DEPRECATED = new_rule(
        "parameter-deprecated",
        "parameter deprecated or no longer deprecated",
        A,
        A,
        "It still works; clients should plan to replace it if it is deprecated.",
    );
    PATH_PARAMETER_RENAMED = new_rule(
        "path-parameter-renamed",
        "path parameter renamed",
        S,
        R,
        "The wire format is the same; code that uses the generated name of the argument may have to change.",
    );
    // Rules about requests.
    REQUEST_BODY_ADDED_OPTIONAL = new_rule(
        "request-body-added-optional",
        "optional request body added",
        S,
        A,
        "Calls without it have the same meaning.",
    );
    REQUEST_BODY_ADDED_REQUIRED = new_rule("request-body-added-required", "required request body added", S, B, "Calls without it are rejected.");
    REQUEST_BODY_REMOVED = removal_rule(new_rule("request-body-removed", "request body removed", S, B, UNREAD));
    REQUEST_BODY_REQUIRED = new_rule("request-body-required", "request body became required", S, B, "Calls without it are rejected.");
    REQUEST_BODY_OPTIONAL = new_rule(
        "request-body-optional",
        "request body became optional",
        S,
        A,
        "Clients can omit it; calls with it have the same meaning.",
    );
    REQUEST_MEDIA_TYPE_ADDED = new_rule(
        "request-media-type-added",
        "request media type added",
        S,
        A,
        "Clients can send it; removed media types are reported separately.",
    );
    REQUEST_MEDIA_TYPE_REMOVED = removal_rule(new_rule(
        "request-media-type-removed",
        "request media type removed",
        S,
        B,
        "Bodies of this media type are rejected; clients must send another one.",
    ));
    ENCODING_CHANGED = new_rule(
        "encoding-changed",
        "`encoding` of a form changed",
        B,
        B,
        "The same value has another form on the wire; readers and the service may misread it.",
    );
    // Rules about responses.
    RESPONSE_ADDED = new_rule("response-added", "response status added", A, S, "Clients handle an unknown status by its class, such as 4XX.");
    RESPONSE_ADDED_SUCCESS = new_rule(
        "response-added-success",
        "success status with a new body added",
        B,
        S,
        "Clients treat it as a success, but cannot read its body.",
    );
    RESPONSE_NAMED = new_rule(
        "response-named",
        "response status now has its own entry",
        A,
        S,
        "Clients of the old version handle this status by the range or `default` entry, so the new entry \
        is compared with that entry.",
    );
    RESPONSE_FOLDED = new_rule(
        "response-folded",
        "response status no longer has its own entry",
        A,
        S,
        "The service may still send this status under the range or `default` entry, so that entry is \
        compared with the removed one.",
    );
    RESPONSE_NARROWED = removal_rule(new_rule(
        "response-narrowed",
        "entry for several statuses or media types narrowed",
        A,
        S,
        "Clients already handle the remaining statuses or media types; each is compared with the old entry.",
    ));
    RESPONSE_REMOVED = removal_rule(new_rule(
        "response-removed",
        "response status below 400 removed",
        B,
        S,
        "Clients that expect it receive another response.",
    ));
    ERROR_RESPONSE_REMOVED = removal_rule(new_rule("error-response-removed", "error status removed", A, S, "Clients have one status less to handle."));
    RESPONSE_MEDIA_TYPE_ADDED = new_rule(
        "response-media-type-added",
        "response media type added",
        A,
        S,
        "Clients that request one of the old media types still receive that type.",
    );
    RESPONSE_MEDIA_TYPE_REMOVED = removal_rule(new_rule(
        "response-media-type-removed",
        "response media type removed",
        B,
        S,
        "Clients that request it receive another media type or an error.",
    ));
    RESPONSE_HEADER_ADDED = new_rule("response-header-added", "response header added", A, S, "Readers ignore unknown headers.");
    RESPONSE_HEADER_REMOVED = removal_rule(new_rule(
        "response-header-removed",
        "required response header removed",
        B,
        S,
        "Readers that depend on it may fail.",
    ));
    RESPONSE_HEADER_REMOVED_OPTIONAL = removal_rule(breaking_within_major_rule(
        "response-header-removed-optional",
        "optional response header removed",
        A,
        S,
        "Readers handle its absence.",
    ));
    RESPONSE_HEADER_REQUIRED = new_rule("response-header-required", "response header became required", A, S, "Readers can depend on it.");
    RESPONSE_HEADER_STYLE_CHANGED = new_rule(
        "response-header-style-changed",
        "serialization of a response header changed",
        B,
        S,
        "Readers may misread the value, because it has another form on the wire.",
    );
    RESPONSE_HEADER_OPTIONAL = new_rule(
        "response-header-optional",
        "response header became optional",
        B,
        S,
        "Readers depend on it, but it may be missing.",
    );
    // Rules about objects.
    PROPERTY_ADDED = new_rule(
        "property-added",
        "optional property added",
        A,
        A,
        "Readers ignore unknown properties; writers can omit it.",
    );
    PROPERTY_ADDED_CLOSED = new_rule(
        "property-added-closed",
        "property added to a closed object",
        B,
        A,
        "The old version allows no undeclared properties, so readers may reject the object.",
    );
    PROPERTY_ADDED_REQUIRED = new_rule(
        "property-added-required",
        "required property added",
        A,
        B,
        "Values that writers send without it are rejected.",
    );
    PROPERTY_REMOVED_REQUIRED = removal_rule(new_rule(
        "property-removed-required",
        "required property removed",
        B,
        B,
        "Readers depend on it, and the service ignores or rejects it when writers send it.",
    ));
    PROPERTY_REMOVED = removal_rule(breaking_within_major_rule(
        "property-removed",
        "optional property removed",
        A,
        B,
        "Readers handle its absence, but the service ignores or rejects it when writers send it.",
    ));
    PROPERTY_RESERVED_REMOVED = removal_rule(new_rule(
        "property-reserved-removed",
        "deprecated property removed",
        B,
        B,
        "Clients may still use it, and a deprecated name must stay declared, so that it is not reused with \
        another meaning.",
    ));
    PROPERTY_REQUIRED = new_rule(
        "property-required",
        "property became required",
        A,
        B,
        "Readers can depend on it; values that writers send without it are rejected.",
    );
    PROPERTY_OPTIONAL = new_rule(
        "property-optional",
        "property became optional",
        B,
        A,
        "Readers depend on it, but it may be missing; writers can omit it.",
    );
    PROPERTY_DECLARED_ALWAYS = new_rule(
        "property-declared-always",
        "property of some branches declared for all branches",
        A,
        B,
        "In the other branches, writers may send a value that the new declaration rejects.",
    );
    PROPERTY_DECLARED_SOMETIMES = new_rule(
        "property-declared-sometimes",
        "property of all branches declared for some branches",
        B,
        A,
        "In the other branches, readers may receive a value that the old declaration did not allow.",
    );
    OBJECT_CLOSED = new_rule("object-closed", "undeclared properties forbidden", A, B, "Undeclared properties that writers send are rejected.");
    OBJECT_OPENED = new_rule(
        "object-opened",
        "undeclared properties allowed",
        B,
        A,
        "The old version forbids them, so readers may reject the object.",
    );
    PATTERN_PROPERTIES_ADDED = new_rule("pattern-properties-added", "properties that match a pattern are now allowed", B, A, WIDENED);
    PATTERN_PROPERTIES_REMOVED = removal_rule(new_rule(
        "pattern-properties-removed",
        "properties that match a pattern are no longer allowed",
        A,
        B,
        NARROWED,
    ));
    PROPERTY_COUNT_NARROWED = new_rule("property-count-narrowed", "`minProperties` or `maxProperties` narrowed", A, B, NARROWED);
    PROPERTY_COUNT_WIDENED = new_rule("property-count-widened", "`minProperties` or `maxProperties` widened", B, A, WIDENED);
    // Rules about types and values.
    TYPE_CHANGED = new_rule(
        "type-changed",
        "type changed",
        B,
        B,
        "Neither version accepts all types of the other: writers may send a value that is now rejected, \
        and readers may receive a value that they do not expect.",
    );
    TYPE_WIDENED = new_rule("type-widened", "more types are valid", B, A, WIDENED);
    TYPE_NARROWED = new_rule("type-narrowed", "fewer types are valid", A, B, NARROWED);
    NULL_ADDED = new_rule("null-added", "`null` became valid", B, A, "Readers may receive `null`, which they do not expect.");
    NULL_REMOVED = removal_rule(new_rule("null-removed", "`null` is no longer valid", A, B, "`null` is rejected when writers send it."));
    CONST_CHANGED = new_rule(
        "const-changed",
        "the one valid value changed",
        B,
        B,
        "The old value is rejected when writers send it, and readers do not expect the new value.",
    );
    ENUM_ADDED = new_rule("enum-added", "values restricted to a list", A, B, NARROWED);
    ENUM_DROPPED = removal_rule(new_rule("enum-dropped", "values no longer restricted to a list", B, A, WIDENED));
    ENUM_VALUE_ADDED = new_rule(
        "enum-value-added",
        "value added to a closed enumeration",
        B,
        A,
        "Readers expect only the values that the old version lists.",
    );
    ENUM_VALUE_ADDED_OPEN = new_rule(
        "enum-value-added-open",
        "value added to an open enumeration",
        A,
        A,
        "Readers of an open enumeration expect unknown values.",
    );
    ENUM_VALUE_REMOVED = removal_rule(new_rule(
        "enum-value-removed",
        "value removed from an enumeration",
        A,
        B,
        "The value is rejected when writers send it.",
    ));
    ENUM_VALUE_REMOVED_OPEN = removal_rule(new_rule(
        "enum-value-removed-open",
        "value removed from an open enumeration",
        A,
        B,
        "Writers can still send it, but its meaning is no longer defined: the service may treat it as an \
        unknown value.",
    ));
    ENUM_OPENED = new_rule("enum-opened", "enumeration opened to unlisted values", B, A, "Readers expect only the values that the old version lists.");
    ENUM_CLOSED = new_rule("enum-closed", "enumeration closed to unlisted values", A, B, "Unlisted values that writers send are rejected.");
    LENGTH_NARROWED = new_rule("length-narrowed", "`minLength` or `maxLength` narrowed", A, B, NARROWED);
    LENGTH_WIDENED = new_rule("length-widened", "`minLength` or `maxLength` widened", B, A, WIDENED);
    PATTERN_ADDED = new_rule("pattern-added", "`pattern` added", A, B, NARROWED);
    PATTERN_REMOVED = removal_rule(new_rule("pattern-removed", "`pattern` removed", B, A, WIDENED));
    PATTERN_NARROWED = new_rule("pattern-narrowed", "`pattern` matches fewer strings", A, B, NARROWED);
    PATTERN_WIDENED = new_rule("pattern-widened", "`pattern` matches more strings", B, A, WIDENED);
    PATTERN_REWRITTEN = new_rule(
        "pattern-rewritten",
        "`pattern` rewritten",
        S,
        S,
        "Both patterns are proven to match the same strings of valid length.",
    );
    PATTERN_CHANGED = new_rule("pattern-changed", "`pattern` changed", B, B, UNDECIDED);
    RANGE_NARROWED = new_rule("range-narrowed", "range of numbers narrowed", A, B, NARROWED);
    RANGE_WIDENED = new_rule("range-widened", "range of numbers widened", B, A, WIDENED);
    MULTIPLE_OF_NARROWED = new_rule("multiple-of-narrowed", "`multipleOf` narrowed", A, B, NARROWED);
    MULTIPLE_OF_WIDENED = new_rule("multiple-of-widened", "`multipleOf` widened", B, A, WIDENED);
    MULTIPLE_OF_CHANGED = new_rule("multiple-of-changed", "`multipleOf` changed", B, B, UNDECIDED);
    ITEM_COUNT_NARROWED = new_rule("item-count-narrowed", "`minItems` or `maxItems` narrowed", A, B, NARROWED);
    ITEM_COUNT_WIDENED = new_rule("item-count-widened", "`minItems` or `maxItems` widened", B, A, WIDENED);
    UNIQUE_ITEMS_SET = new_rule("unique-items-set", "array elements must differ", A, B, NARROWED);
    UNIQUE_ITEMS_UNSET = removal_rule(new_rule("unique-items-unset", "array elements may be equal", B, A, WIDENED));
    ITEMS_CLOSED = new_rule("items-closed", "further array elements forbidden", A, B, NARROWED);
    ITEMS_OPENED = new_rule("items-opened", "further array elements allowed", B, A, WIDENED);
    CONTAINS_ADDED = new_rule("contains-added", "`contains` added", A, B, NARROWED);
    CONTAINS_REMOVED = removal_rule(new_rule("contains-removed", "`contains` removed", B, A, WIDENED));
    CONTAINS_NARROWED = new_rule("contains-narrowed", "`minContains` or `maxContains` narrowed", A, B, NARROWED);
    CONTAINS_WIDENED = new_rule("contains-widened", "`minContains` or `maxContains` widened", B, A, WIDENED);
    CONTAINS_CHANGED = new_rule("contains-changed", "`contains` changed", B, B, UNDECIDED);
    // Rules about combinations of schemas.
    BRANCH_ADDED = new_rule("branch-added", "branch added to a union", B, A, "Readers expect only the branches of the old version.");
    BRANCH_REMOVED = removal_rule(new_rule(
        "branch-removed",
        "branch removed from a union",
        A,
        B,
        "Values of the branch are rejected when writers send them.",
    ));
    UNION_ADDED = new_rule("union-added", "`oneOf` or `anyOf` added", A, B, NARROWED);
    UNION_ADDED_NEW_MEMBER = new_rule(
        "union-added-new-member",
        "`anyOf` added that tests a new property or value",
        A,
        A,
        "Values of the old version lack the new property or value, and match one of the branches.",
    );
    UNION_REMOVED = removal_rule(new_rule("union-removed", "`oneOf` or `anyOf` removed", B, A, WIDENED));
    UNION_NARROWED = new_rule(
        "union-narrowed",
        "`anyOf` became `oneOf`, or more values match two branches of `oneOf`",
        A,
        B,
        "Values that match two branches are rejected when writers send them.",
    );
    UNION_WIDENED = new_rule(
        "union-widened",
        "`oneOf` became `anyOf`, or fewer values match two branches of `oneOf`",
        B,
        A,
        "Values that match two branches of the old version are now valid; readers may not expect them.",
    );
    CONDITION_ADDED = new_rule("condition-added", "`if` added", A, B, NARROWED);
    CONDITION_ADDED_NEW_MEMBER = new_rule(
        "condition-added-new-member",
        "`if` added that tests a new property or value",
        A,
        A,
        "Values of the old version never match the condition, so clients are not affected.",
    );
    CONDITION_REMOVED = removal_rule(new_rule("condition-removed", "`if` removed", B, A, WIDENED));
    CONDITION_CHANGED = new_rule("condition-changed", "`if` changed", B, B, UNDECIDED);
    DEPENDENCY_ADDED = new_rule("dependency-added", "entry of `dependentRequired` or `dependentSchemas` added", A, B, NARROWED);
    DEPENDENCY_ADDED_NEW_MEMBER = new_rule(
        "dependency-added-new-member",
        "dependency on a new property added",
        A,
        A,
        "Values of the old version lack the property, so clients are not affected.",
    );
    DEPENDENCY_REMOVED = removal_rule(new_rule("dependency-removed", "entry of `dependentRequired` or `dependentSchemas` removed", B, A, WIDENED));
    NOT_ADDED = new_rule("not-added", "`not` added", A, B, NARROWED);
    NOT_ADDED_NEW_MEMBER = new_rule(
        "not-added-new-member",
        "`not` added that tests a new property or value",
        A,
        A,
        "Values of the old version never match it, so clients are not affected.",
    );
    NOT_REMOVED = removal_rule(new_rule("not-removed", "`not` removed", B, A, WIDENED));
    UNEVALUATED_ADDED = new_rule("unevaluated-added", "`unevaluatedProperties` or `unevaluatedItems` added", A, B, NARROWED);
    UNEVALUATED_REMOVED = removal_rule(new_rule("unevaluated-removed", "`unevaluatedProperties` or `unevaluatedItems` removed", B, A, WIDENED));
    FORMAT_NARROWED = new_rule("format-narrowed", "a `format` is now asserted, or a narrower one than before", A, B, NARROWED);
    FORMAT_WIDENED = new_rule("format-widened", "a `format` is no longer asserted, or a wider one than before is", B, A, WIDENED);
    FORMAT_REPLACED = new_rule("format-replaced", "another `format` is asserted", B, B, UNDECIDED);
    VALUES_CHANGED = new_rule(
        "values-changed",
        "the schema as a whole accepts other values",
        B,
        B,
        "No single keyword explains the difference, but one version accepts a value that the other \
        rejects: readers may receive it, or writers may send it.",
    );
    // Rules about annotations.
    FORMAT_ADDED = new_rule("format-added", "`format` added", A, B, "Values that writers send may not have the format; the service may reject them.");
    FORMAT_REMOVED = removal_rule(new_rule("format-removed", "`format` removed", B, A, "Readers may receive values that do not have the format."));
    FORMAT_CHANGED = new_rule(
        "format-changed",
        "`format` changed",
        B,
        B,
        "The value has another meaning or notation; readers and the service may misread it.",
    );
    NUMBER_FORMAT_NARROWED = new_rule(
        "number-format-narrowed",
        "numeric `format` narrowed",
        A,
        B,
        "The new format holds fewer numbers than the old one; writers may send one that it cannot hold.",
    );
    NUMBER_FORMAT_WIDENED = new_rule(
        "number-format-widened",
        "numeric `format` widened",
        B,
        A,
        "The new format holds more numbers than the old one; readers may receive one that they cannot hold.",
    );
    NUMBER_FORMAT_REWRITTEN = new_rule(
        "number-format-rewritten",
        "numeric `format` changed without effect",
        S,
        S,
        "The formats of both versions hold every valid number.",
    );
    XML_CHANGED = new_rule(
        "xml-changed",
        "`xml` changed in an XML body",
        B,
        B,
        "The value is written as another element or attribute; readers and the service may not find it.",
    );
    CONTENT_CHANGED = new_rule(
        "content-changed",
        "`contentEncoding` or `contentMediaType` changed",
        B,
        B,
        "The string has content of another type or encoding; readers and the service may fail to decode it.",
    );
    DISCRIMINATOR_ADDED = new_rule(
        "discriminator-added",
        "`discriminator` added",
        A,
        B,
        "A value that writers send in the property may select no branch or the wrong branch.",
    );
    DISCRIMINATOR_REMOVED = removal_rule(new_rule(
        "discriminator-removed",
        "`discriminator` removed",
        B,
        A,
        "Readers that select the branch by it may fail.",
    ));
    DISCRIMINATOR_CHANGED = new_rule(
        "discriminator-changed",
        "a value of a `discriminator` selects another branch",
        B,
        B,
        "The same values are valid, but clients and the service may select different branches for them.",
    );
    DISCRIMINATOR_VALUE_ADDED = new_rule(
        "discriminator-value-added",
        "another value of a `discriminator` selects a known branch",
        B,
        A,
        "Readers do not know which branch it selects.",
    );
    DISCRIMINATOR_VALUE_REMOVED = removal_rule(new_rule(
        "discriminator-value-removed",
        "a value of a `discriminator` selects no branch any more",
        A,
        B,
        "Values that writers send with it select no branch; readers no longer receive it.",
    ));
    DEFAULT_ADDED = new_rule(
        "default-added",
        "`default` added",
        A,
        A,
        "The meaning of a missing value is now defined: check that clients assume the same meaning.",
    );
    DEFAULT_CHANGED = new_rule(
        "default-changed",
        "`default` changed or removed",
        B,
        B,
        "A missing value has another meaning: check the readers that do not receive the value and the \
        writers that omit it.",
    );
    READ_ONLY_SET = new_rule("read-only-set", "value became read-only", A, B, "The service ignores or rejects the value when writers send it.");
    READ_ONLY_UNSET = removal_rule(new_rule("read-only-unset", "value no longer read-only", A, A, "Writers can send it."));
    WRITE_ONLY_SET = new_rule("write-only-set", "value became write-only", B, A, "Readers no longer receive it.");
    WRITE_ONLY_UNSET = removal_rule(new_rule("write-only-unset", "value no longer write-only", A, A, "Readers may receive it."));
    DEPRECATED_SET = new_rule("deprecated-set", "property or schema deprecated", A, A, "Clients can still use it, but should plan to replace it.");
    DEPRECATED_UNSET = removal_rule(new_rule("deprecated-unset", "property or schema no longer deprecated", A, A, "Clients can continue to use it."));
    EDITORIAL = new_rule("editorial", "title, description or examples changed", S, S, "Only documentation changed.");
    // Rules about schemas as a whole.
    ID_CHANGED = new_rule(
        "id-changed",
        "`$id` of a schema changed",
        B,
        B,
        "References and links to the old identifier no longer resolve; clients must use the new one.",
    );
    ID_REMOVED = removal_rule(new_rule(
        "id-removed",
        "identifier of a schema removed",
        A,
        A,
        "Check that no client retrieves the schema by its identifier.",
    ));
    SCHEMA_RENAMED = new_rule(
        "schema-renamed",
        "named schema or its file renamed",
        R,
        R,
        "The wire format is the same; code that uses its generated type or its file must change.",
    );
    SCHEMA_ADDED = new_rule("schema-added", "named schema added", A, A, "Clients of the old version do not use it.");
    SCHEMA_REMOVED = removal_rule(new_rule("schema-removed", "named schema removed", B, B, "Clients that use it by name no longer find it."));
    VERSION_CHANGED = new_rule("version-changed", "`info.version` changed", S, S, "The report compares it with the increment that the changes require.");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_distinct_kebab_case() {
        let mut ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
        assert!(ids.iter().all(|id| id.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}

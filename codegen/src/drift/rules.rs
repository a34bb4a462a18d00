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
    /// Why the rule has these levels.
    pub reason: &'static str,
    /// Whether the change removes something that must remain available within a major version. If only
    /// versions within a major version are compared, the level of such a change is raised to breaking
    /// (Semantic Versioning, item 8).
    pub is_breaking_within_major: bool,
    /// Whether the change removes an element, so that reports show the old location.
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

const NARROWED: &str =
    "Fewer values are valid: readers handle all of them already, writers may send one that is now refused.";
const WIDENED: &str =
    "More values are valid: writers are not affected, readers may receive one that they do not expect.";
const UNDECIDED: &str =
    "Neither version is known to include the other; only a proof can show who is affected.";
const UNREAD: &str = "It no longer has an effect when clients send it.";

/// Returns the rule with the given id, or `None` if there is none.
#[must_use]
pub fn find_rule(id: &str) -> Option<&'static DriftRule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// Declares a constant for each rule, and the list of all rules.
macro_rules! rules {
    ($($name:ident = $rule:expr;)*) => {
        $(pub(crate) const $name: &DriftRule = &$rule;)*

        /// All rules, grouped by operations, sign-in, parameters, bodies, responses and schemas.
        pub const RULES: &[DriftRule] = &[$(*$name,)*];
    };
}

rules! {
    OPERATION_ADDED = new_rule("operation-added", "operation added", A, A, "No client used it before.");
    OPERATION_REMOVED = removal_rule(new_rule("operation-removed", "operation removed", B, B, "Calls to it fail."));
    OPERATION_MOVED = new_rule(
        "operation-moved",
        "method or path changed",
        B,
        B,
        "Calls to the old route fail.",
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
        "It still works; plan to replace it.",
    );
    OPERATION_UNDEPRECATED = new_rule("operation-undeprecated", "operation no longer deprecated", A, A, "It is supported again.");
    OPERATION_EDITORIAL = new_rule("operation-editorial", "summary, description or tags changed", S, S, "Only documentation changed.");
    EXTENSION_CHANGED = new_rule(
        "extension-changed",
        "an `x-` member changed",
        A,
        A,
        "Its meaning is defined outside of OpenAPI: check it.",
    );
    WEBHOOK_ADDED = new_rule(
        "webhook-added",
        "webhook added",
        A,
        A,
        "Receivers must ignore unknown events or not subscribe to them.",
    );
    WEBHOOK_REMOVED = removal_rule(new_rule("webhook-removed", "webhook removed", B, B, "Receivers no longer get it."));
    SERVER_ADDED = new_rule("server-added", "server added", A, A, "Clients can continue to use the old one.");
    SERVER_REMOVED = removal_rule(new_rule("server-removed", "server removed", B, B, "Calls to it may fail."));
    SERVER_CHANGED = new_rule(
        "server-changed",
        "the first server changed",
        A,
        A,
        "Clients that select no server use the first one; the old one is still listed.",
    );
    // Rules about sign-in.
    SIGN_IN_REQUIRED = new_rule(
        "sign-in-required",
        "sign-in became required",
        B,
        B,
        "Calls without credentials are refused.",
    );
    SIGN_IN_DROPPED = removal_rule(new_rule("sign-in-dropped", "sign-in is no longer required", A, A, "Credentials are no longer required."));
    SCOPE_REQUIRED = new_rule("scope-required", "another scope is required", B, B, "Tokens without the scope are refused.");
    SCOPE_RELEASED = new_rule("scope-released", "a scope is no longer required", A, A, "Tokens with the scope are still accepted.");
    SECURITY_CHANGED = new_rule(
        "security-changed",
        "another way to sign in is required",
        B,
        B,
        "Credentials that were accepted are refused.",
    );
    SECURITY_ALTERNATIVE_REMOVED = removal_rule(new_rule(
        "security-alternative-removed",
        "one of several ways to sign in removed",
        B,
        B,
        "Credentials that were accepted are refused; the other ways are still accepted.",
    ));
    SECURITY_ALTERNATIVE_ADDED = new_rule(
        "security-alternative-added",
        "another way to sign in added",
        A,
        A,
        "The other ways are still accepted.",
    );
    SECURITY_SCHEME_CHANGED = new_rule(
        "security-scheme-changed",
        "security scheme changed",
        B,
        B,
        "Clients obtain credentials by it: check whether the old ones are still accepted.",
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
        "security scheme changed that no operation requires",
        A,
        A,
        "No operation of the old version required its credentials.",
    );
    SCOPE_ADDED = new_rule("scope-added", "scope added to the contract", A, A, "No client requested it before.");
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
    PARAMETER_ADDED_REQUIRED = new_rule("parameter-added-required", "required parameter added", S, B, "Calls without it are refused.");
    PARAMETER_REMOVED = removal_rule(new_rule("parameter-removed", "parameter removed", S, B, UNREAD));
    PARAMETER_MOVED = new_rule(
        "parameter-moved",
        "parameter moved to another part of the request",
        S,
        B,
        "The service does not read it where clients send it.",
    );
    PARAMETER_REQUIRED = new_rule("parameter-required", "parameter became required", S, B, "Calls without it are refused.");
    PARAMETER_OPTIONAL = new_rule("parameter-optional", "parameter became optional", S, A, "Calls with it have the same meaning.");
    PARAMETER_STYLE_CHANGED = new_rule(
        "parameter-style-changed",
        "parameter serialized differently",
        S,
        B,
        "The same value has another form on the wire.",
    );
    SERIALIZATION_REWRITTEN = new_rule(
        "serialization-rewritten",
        "`style`, `explode`, `allowReserved` or `encoding` changed without effect",
        S,
        S,
        "Values are decoded as before.",
    );
    PARAMETER_DEPRECATED = new_rule("parameter-deprecated", "parameter deprecated or no longer so", A, A, "It still works.");
    PATH_PARAMETER_RENAMED = new_rule(
        "path-parameter-renamed",
        "path parameter renamed",
        S,
        R,
        "The wire format is the same; generated code may rename the argument.",
    );
    // Rules about requests.
    REQUEST_BODY_ADDED_OPTIONAL = new_rule(
        "request-body-added-optional",
        "optional request body added",
        S,
        A,
        "Calls without it have the same meaning.",
    );
    REQUEST_BODY_ADDED_REQUIRED = new_rule("request-body-added-required", "required request body added", S, B, "Calls without it are refused.");
    REQUEST_BODY_REMOVED = removal_rule(new_rule("request-body-removed", "request body removed", S, B, UNREAD));
    REQUEST_BODY_REQUIRED = new_rule("request-body-required", "request body became required", S, B, "Calls without it are refused.");
    REQUEST_BODY_OPTIONAL = new_rule(
        "request-body-optional",
        "request body became optional",
        S,
        A,
        "Calls with it have the same meaning.",
    );
    REQUEST_MEDIA_TYPE_ADDED = new_rule("request-media-type-added", "request media type added", S, A, "The old ones are still accepted.");
    REQUEST_MEDIA_TYPE_REMOVED = removal_rule(new_rule(
        "request-media-type-removed",
        "request media type removed",
        S,
        B,
        "Bodies of that type are refused.",
    ));
    ENCODING_CHANGED = new_rule(
        "encoding-changed",
        "`encoding` of a form changed",
        B,
        B,
        "The same value has another form on the wire.",
    );
    // Rules about responses.
    RESPONSE_ADDED = new_rule("response-added", "response status added", A, S, "Clients handle an unknown status by its class.");
    RESPONSE_ADDED_SUCCESS = new_rule(
        "response-added-success",
        "success status with a new body added",
        B,
        S,
        "Clients treat it as a success and cannot read its body.",
    );
    RESPONSE_NAMED = new_rule(
        "response-named",
        "response status got its own entry",
        A,
        S,
        "Clients handled it by the wider entry, which it is compared with.",
    );
    RESPONSE_FOLDED = new_rule(
        "response-folded",
        "response status lost its own entry",
        A,
        S,
        "It may still be sent by the wider entry, which it is compared with.",
    );
    RESPONSE_NARROWED = removal_rule(new_rule(
        "response-narrowed",
        "entry for several statuses or media types narrowed",
        A,
        S,
        "Clients that handle all of them handle the remaining ones, which are compared with it.",
    ));
    RESPONSE_REMOVED = removal_rule(new_rule(
        "response-removed",
        "success status removed",
        B,
        S,
        "Clients that expect it get another response.",
    ));
    ERROR_RESPONSE_REMOVED = removal_rule(new_rule("error-response-removed", "error status removed", A, S, "There is less to handle."));
    RESPONSE_MEDIA_TYPE_ADDED = new_rule(
        "response-media-type-added",
        "response media type added",
        A,
        S,
        "Clients that request the old one still get it.",
    );
    RESPONSE_MEDIA_TYPE_REMOVED = removal_rule(new_rule(
        "response-media-type-removed",
        "response media type removed",
        B,
        S,
        "Clients that request it get another media type.",
    ));
    RESPONSE_HEADER_ADDED = new_rule("response-header-added", "response header added", A, S, "Unknown headers are ignored.");
    RESPONSE_HEADER_REMOVED = removal_rule(new_rule("response-header-removed", "required response header removed", B, S, "Readers depend on it."));
    RESPONSE_HEADER_REMOVED_OPTIONAL = removal_rule(breaking_within_major_rule(
        "response-header-removed-optional",
        "optional response header removed",
        A,
        S,
        "Readers handle its absence; within a major version declared elements must stay.",
    ));
    RESPONSE_HEADER_REQUIRED = new_rule("response-header-required", "response header became required", A, S, "Readers can depend on it.");
    RESPONSE_HEADER_STYLE_CHANGED = new_rule(
        "response-header-style-changed",
        "response header serialized differently",
        B,
        S,
        "The same value has another form on the wire.",
    );
    RESPONSE_HEADER_OPTIONAL = new_rule("response-header-optional", "response header became optional", B, S, "Readers depend on it.");
    // Rules about objects.
    PROPERTY_ADDED = new_rule(
        "property-added",
        "optional property added",
        A,
        A,
        "Readers ignore unknown properties, writers omit it.",
    );
    PROPERTY_ADDED_CLOSED = new_rule(
        "property-added-closed",
        "property added to a closed object",
        B,
        A,
        "The object allowed no other properties, so readers may refuse it.",
    );
    PROPERTY_ADDED_REQUIRED = new_rule(
        "property-added-required",
        "required property added",
        A,
        B,
        "Writers that do not send it are refused.",
    );
    PROPERTY_REMOVED_REQUIRED = removal_rule(new_rule(
        "property-removed-required",
        "required property removed",
        B,
        B,
        "Readers depend on it, and its values have no effect when writers send them.",
    ));
    PROPERTY_REMOVED = removal_rule(breaking_within_major_rule(
        "property-removed",
        "optional property removed",
        A,
        B,
        "Readers handle its absence, but its values have no effect when writers send them; within a major version declared elements must stay.",
    ));
    PROPERTY_RESERVED_REMOVED = removal_rule(new_rule(
        "property-reserved-removed",
        "reserved or deprecated property removed",
        B,
        B,
        "A deprecated name must stay declared, so that it is not reused with another meaning.",
    ));
    PROPERTY_REQUIRED = new_rule(
        "property-required",
        "property became required",
        A,
        B,
        "Readers can depend on it, writers that omit it are refused.",
    );
    PROPERTY_OPTIONAL = new_rule(
        "property-optional",
        "property became optional",
        B,
        A,
        "Readers depend on it, writers may omit it.",
    );
    PROPERTY_DECLARED_ALWAYS = new_rule(
        "property-declared-always",
        "property of some branches declared for all",
        A,
        B,
        "Writers may send another value in other branches.",
    );
    PROPERTY_DECLARED_SOMETIMES = new_rule(
        "property-declared-sometimes",
        "property of all branches declared for some",
        B,
        A,
        "Readers may receive another value in other branches.",
    );
    OBJECT_CLOSED = new_rule("object-closed", "other properties forbidden", A, B, "Writers that send other properties are refused.");
    OBJECT_OPENED = new_rule(
        "object-opened",
        "other properties allowed",
        B,
        A,
        "The object allowed no other properties, so readers may refuse it.",
    );
    PATTERN_PROPERTIES_ADDED = new_rule("pattern-properties-added", "properties allowed by pattern", B, A, WIDENED);
    PATTERN_PROPERTIES_REMOVED = removal_rule(new_rule("pattern-properties-removed", "properties by pattern forbidden", A, B, NARROWED));
    PROPERTY_COUNT_NARROWED = new_rule("property-count-narrowed", "`minProperties` or `maxProperties` narrowed", A, B, NARROWED);
    PROPERTY_COUNT_WIDENED = new_rule("property-count-widened", "`minProperties` or `maxProperties` widened", B, A, WIDENED);
    // Rules about types and values.
    TYPE_CHANGED = new_rule("type-changed", "type changed", B, B, "Values of the old type do not have the new type.");
    TYPE_WIDENED = new_rule("type-widened", "more types are valid", B, A, WIDENED);
    TYPE_NARROWED = new_rule("type-narrowed", "fewer types are valid", A, B, NARROWED);
    NULL_ADDED = new_rule("null-added", "`null` became valid", B, A, "Readers do not expect `null`.");
    NULL_REMOVED = removal_rule(new_rule("null-removed", "`null` is no longer valid", A, B, "Writers that send `null` are refused."));
    CONST_CHANGED = new_rule(
        "const-changed",
        "the one valid value changed",
        B,
        B,
        "The old value is refused, the new one is unknown to readers.",
    );
    ENUM_ADDED = new_rule("enum-added", "restricted to listed values", A, B, NARROWED);
    ENUM_DROPPED = removal_rule(new_rule("enum-dropped", "no longer restricted to listed values", B, A, WIDENED));
    ENUM_VALUE_ADDED = new_rule(
        "enum-value-added",
        "value added to a closed enumeration",
        B,
        A,
        "Readers were promised a complete list.",
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
        "Writers that send it are refused.",
    ));
    ENUM_VALUE_REMOVED_OPEN = removal_rule(new_rule(
        "enum-value-removed-open",
        "value removed from an open enumeration",
        A,
        B,
        "It is still valid, but its meaning is no longer defined.",
    ));
    ENUM_OPENED = new_rule("enum-opened", "enumeration opened", B, A, "Readers were promised a complete list.");
    ENUM_CLOSED = new_rule("enum-closed", "enumeration closed", A, B, "Writers that send an unlisted value are refused.");
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
        "Both are proven to match the same strings of valid length.",
    );
    PATTERN_CHANGED = new_rule("pattern-changed", "`pattern` changed", B, B, UNDECIDED);
    RANGE_NARROWED = new_rule("range-narrowed", "a bound of numbers narrowed", A, B, NARROWED);
    RANGE_WIDENED = new_rule("range-widened", "a bound of numbers widened", B, A, WIDENED);
    MULTIPLE_OF_NARROWED = new_rule("multiple-of-narrowed", "`multipleOf` narrowed", A, B, NARROWED);
    MULTIPLE_OF_WIDENED = new_rule("multiple-of-widened", "`multipleOf` widened", B, A, WIDENED);
    MULTIPLE_OF_CHANGED = new_rule("multiple-of-changed", "`multipleOf` changed", B, B, UNDECIDED);
    ITEM_COUNT_NARROWED = new_rule("item-count-narrowed", "`minItems` or `maxItems` narrowed", A, B, NARROWED);
    ITEM_COUNT_WIDENED = new_rule("item-count-widened", "`minItems` or `maxItems` widened", B, A, WIDENED);
    UNIQUE_ITEMS_SET = new_rule("unique-items-set", "elements must differ", A, B, NARROWED);
    UNIQUE_ITEMS_UNSET = removal_rule(new_rule("unique-items-unset", "elements may repeat", B, A, WIDENED));
    ITEMS_CLOSED = new_rule("items-closed", "further elements forbidden", A, B, NARROWED);
    ITEMS_OPENED = new_rule("items-opened", "further elements allowed", B, A, WIDENED);
    CONTAINS_ADDED = new_rule("contains-added", "`contains` added", A, B, NARROWED);
    CONTAINS_REMOVED = removal_rule(new_rule("contains-removed", "`contains` removed", B, A, WIDENED));
    CONTAINS_NARROWED = new_rule("contains-narrowed", "`minContains` or `maxContains` narrowed", A, B, NARROWED);
    CONTAINS_WIDENED = new_rule("contains-widened", "`minContains` or `maxContains` widened", B, A, WIDENED);
    CONTAINS_CHANGED = new_rule("contains-changed", "`contains` changed", B, B, UNDECIDED);
    // Rules about combinations of schemas.
    BRANCH_ADDED = new_rule("branch-added", "branch added to a union", B, A, "Readers were promised a complete list of branches.");
    BRANCH_REMOVED = removal_rule(new_rule("branch-removed", "branch removed from a union", A, B, "Writers that send values of that branch are refused."));
    UNION_ADDED = new_rule("union-added", "`oneOf` or `anyOf` added", A, B, NARROWED);
    UNION_ADDED_NEW_MEMBER = new_rule(
        "union-added-new-member",
        "`anyOf` over a new property or value added",
        A,
        A,
        "Values without the property or value match one of the branches.",
    );
    UNION_REMOVED = removal_rule(new_rule("union-removed", "`oneOf` or `anyOf` removed", B, A, WIDENED));
    UNION_NARROWED = new_rule("union-narrowed", "`anyOf` became `oneOf`", A, B, "Values that match two branches are no longer valid.");
    UNION_WIDENED = new_rule("union-widened", "`oneOf` became `anyOf`", B, A, "Values that match two branches are valid.");
    CONDITION_ADDED = new_rule("condition-added", "`if` added", A, B, NARROWED);
    CONDITION_ADDED_NEW_MEMBER = new_rule(
        "condition-added-new-member",
        "`if` over a new property or value added",
        A,
        A,
        "Values of the old version never match the condition.",
    );
    CONDITION_REMOVED = removal_rule(new_rule("condition-removed", "`if` removed", B, A, WIDENED));
    CONDITION_CHANGED = new_rule("condition-changed", "`if` changed", B, B, UNDECIDED);
    DEPENDENCY_ADDED = new_rule("dependency-added", "`dependentRequired` or `dependentSchemas` narrowed", A, B, NARROWED);
    DEPENDENCY_ADDED_NEW_MEMBER = new_rule(
        "dependency-added-new-member",
        "dependency on a new property added",
        A,
        A,
        "Values without the property are not affected.",
    );
    DEPENDENCY_REMOVED = removal_rule(new_rule("dependency-removed", "`dependentRequired` or `dependentSchemas` widened", B, A, WIDENED));
    NOT_ADDED = new_rule("not-added", "`not` added", A, B, NARROWED);
    NOT_ADDED_NEW_MEMBER = new_rule(
        "not-added-new-member",
        "`not` over a new property or value added",
        A,
        A,
        "Values of the old version never match it.",
    );
    NOT_REMOVED = removal_rule(new_rule("not-removed", "`not` removed", B, A, WIDENED));
    UNEVALUATED_ADDED = new_rule("unevaluated-added", "`unevaluatedProperties` or `unevaluatedItems` added", A, B, NARROWED);
    UNEVALUATED_REMOVED = removal_rule(new_rule("unevaluated-removed", "`unevaluatedProperties` or `unevaluatedItems` removed", B, A, WIDENED));
    FORMAT_NARROWED = new_rule("format-narrowed", "a `format` is asserted, or a narrower one", A, B, NARROWED);
    FORMAT_WIDENED = new_rule("format-widened", "a `format` is no longer asserted, or a wider one", B, A, WIDENED);
    FORMAT_REPLACED = new_rule("format-replaced", "another `format` is asserted", B, B, UNDECIDED);
    VALUES_CHANGED = new_rule(
        "values-changed",
        "other values are valid in total",
        B,
        B,
        "No single keyword shows it, but one version accepts a value that the other refuses.",
    );
    // Rules about annotations.
    FORMAT_ADDED = new_rule("format-added", "`format` added", A, B, "Values that writers send may not have the format.");
    FORMAT_REMOVED = removal_rule(new_rule("format-removed", "`format` removed", B, A, "Readers depend on the format."));
    FORMAT_CHANGED = new_rule("format-changed", "`format` changed", B, B, "The string has another meaning or notation.");
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
        "The same value is another element or attribute.",
    );
    CONTENT_CHANGED = new_rule(
        "content-changed",
        "`contentEncoding` or `contentMediaType` changed",
        B,
        B,
        "The string has other content.",
    );
    DISCRIMINATOR_ADDED = new_rule(
        "discriminator-added",
        "`discriminator` added",
        A,
        B,
        "Values that writers send in the property may select no branch, or another one.",
    );
    DISCRIMINATOR_REMOVED = removal_rule(new_rule(
        "discriminator-removed",
        "`discriminator` removed",
        B,
        A,
        "Readers select the branch by it.",
    ));
    DISCRIMINATOR_CHANGED = new_rule(
        "discriminator-changed",
        "a value of a `discriminator` selects another branch",
        B,
        B,
        "The same values are valid but belong to another branch.",
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
        "Values that writers send with it belong to no branch; readers no longer receive it.",
    ));
    DEFAULT_ADDED = new_rule("default-added", "`default` added", A, A, "The meaning of a missing value is now defined.");
    DEFAULT_CHANGED = new_rule("default-changed", "`default` changed or removed", B, B, "A missing value now has another meaning.");
    READ_ONLY_SET = new_rule("read-only-set", "became read-only", A, B, "Values that writers send in it have no effect or are refused.");
    READ_ONLY_UNSET = removal_rule(new_rule("read-only-unset", "no longer read-only", A, A, "Writers may send it."));
    WRITE_ONLY_SET = new_rule("write-only-set", "became write-only", B, A, "Readers no longer get it.");
    WRITE_ONLY_UNSET = removal_rule(new_rule("write-only-unset", "no longer write-only", A, A, "Readers may get it."));
    DEPRECATED_SET = new_rule("deprecated-set", "deprecated", A, A, "It still works; plan to replace it.");
    DEPRECATED_UNSET = removal_rule(new_rule("deprecated-unset", "no longer deprecated", A, A, "It is supported again."));
    EDITORIAL = new_rule("editorial", "title, description or examples changed", S, S, "Only documentation changed.");
    // Rules about schemas as a whole.
    ID_CHANGED = new_rule(
        "id-changed",
        "`$id` of a schema changed",
        B,
        B,
        "References and links to the old identifier are broken.",
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
    SCHEMA_ADDED = new_rule("schema-added", "named schema added", A, A, "No client used it before.");
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

//! The rules: what each kind of change means for readers and for writers, and why.

mod hooks;

pub(crate) use self::hooks::hook;
use super::Level;

/// One kind of change.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name in reports; stable.
    pub id: &'static str,
    /// What happened, in a few words.
    pub title: &'static str,
    /// What it means for those who read what the service sends, unless a proof says less.
    pub readers: Level,
    /// What it means for those who send what the service takes, unless a proof says less.
    pub writers: Level,
    /// Why.
    pub why: &'static str,
    /// Whether it takes away something declared, which breaks both within a major version.
    pub forever: bool,
    /// Whether something is gone, which is shown where it stood.
    pub removes: bool,
}

const S: Level = Level::Same;
const A: Level = Level::Additive;
const R: Level = Level::Renamed;
const B: Level = Level::Breaking;

const fn rule(
    id: &'static str,
    title: &'static str,
    readers: Level,
    writers: Level,
    why: &'static str,
) -> Rule {
    Rule { id, title, readers, writers, why, forever: false, removes: false }
}

const fn forever(
    id: &'static str,
    title: &'static str,
    readers: Level,
    writers: Level,
    why: &'static str,
) -> Rule {
    Rule { id, title, readers, writers, why, forever: true, removes: false }
}

const fn gone(rule: Rule) -> Rule {
    Rule { removes: true, ..rule }
}

const NARROWED: &str =
    "Fewer values are valid: readers expected them all, writers may have sent one that is now refused.";
const WIDENED: &str =
    "More values are valid: writers lose nothing, readers may meet one that they did not have to expect.";
const UNDECIDED: &str = "Neither version is known to hold the other; only a proof tells whom it breaks.";
const UNREAD: &str = "What clients go on sending has no effect any more.";

/// The rule with an id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// Makes a constant of each rule, so that code names none that there is not, and the list of all.
macro_rules! rules {
    ($($name:ident = $rule:expr;)*) => {
        $(pub(crate) const $name: &Rule = &$rule;)*

        /// Every rule, grouped: operations, sign-in, parameters, bodies, answers, schemas.
        pub const RULES: &[Rule] = &[$(*$name,)*];
    };
}

rules! {
    OPERATION_ADDED = rule("operation-added", "operation added", A, A, "Nobody called it before.");
    OPERATION_REMOVED = gone(rule("operation-removed", "operation removed", B, B, "Calls to it are answered with an error."));
    OPERATION_MOVED = rule(
        "operation-moved",
        "method or path changed",
        B,
        B,
        "Calls to the old route are answered with an error.",
    );
    OPERATION_RENAMED = rule(
        "operation-renamed",
        "operationId changed",
        R,
        R,
        "The wire is the same; who calls the operation by its id in generated code writes the new one.",
    );
    OPERATION_DEPRECATED = rule(
        "operation-deprecated",
        "operation deprecated",
        A,
        A,
        "It still works; it is time to look for another.",
    );
    OPERATION_UNDEPRECATED = rule("operation-undeprecated", "operation no longer deprecated", A, A, "It stays.");
    OPERATION_EDITORIAL = rule("operation-editorial", "summary, description or tags changed", S, S, "Words for people.");
    EXTENSION_CHANGED = rule(
        "extension-changed",
        "an `x-` member changed",
        A,
        A,
        "Only its authors know what it means: check it.",
    );
    WEBHOOK_ADDED = rule(
        "webhook-added",
        "webhook added",
        A,
        A,
        "Receivers that do not know it were told to expect unknown events or not to subscribe.",
    );
    WEBHOOK_REMOVED = gone(rule("webhook-removed", "webhook removed", B, B, "Receivers wait for it in vain."));
    SERVER_ADDED = rule("server-added", "server added", A, A, "Clients may go on with the one that they know.");
    SERVER_REMOVED = gone(rule("server-removed", "server removed", B, B, "Nobody promises any more that it answers those who call it."));
    SERVER_CHANGED = rule(
        "server-changed",
        "another server is the first",
        A,
        A,
        "Clients that choose none call the first; the old one is still among them.",
    );
    // Sign-in.
    SIGN_IN_REQUIRED = rule(
        "sign-in-required",
        "anonymous before, signed in now",
        B,
        B,
        "Calls without credentials are refused.",
    );
    SIGN_IN_DROPPED = gone(rule("sign-in-dropped", "signed in before, anonymous now", A, A, "Credentials are no longer needed."));
    SCOPE_REQUIRED = rule("scope-required", "another scope is needed", B, B, "Tokens without the scope are refused.");
    SCOPE_RELEASED = rule("scope-released", "a scope is no longer needed", A, A, "Tokens with the scope still pass.");
    SECURITY_CHANGED = rule(
        "security-changed",
        "another way to sign in is needed",
        B,
        B,
        "Credentials that sufficed are refused.",
    );
    SECURITY_ALTERNATIVE_REMOVED = gone(rule(
        "security-alternative-removed",
        "one of several ways to sign in is gone",
        B,
        B,
        "Credentials that sufficed are refused; the other ways still suffice.",
    ));
    SECURITY_ALTERNATIVE_ADDED = rule(
        "security-alternative-added",
        "another way to sign in suffices",
        A,
        A,
        "The ways that were there still suffice.",
    );
    SECURITY_SCHEME_CHANGED = rule(
        "security-scheme-changed",
        "security scheme changed",
        B,
        B,
        "Clients prepare credentials by it: check whether the old ones still pass.",
    );
    SECURITY_SCHEME_RENAMED = rule(
        "security-scheme-renamed",
        "security scheme renamed",
        R,
        R,
        "The wire is the same; who names the scheme, as generated code may, writes the new name.",
    );
    SECURITY_SCHEME_UNASKED = rule(
        "security-scheme-unasked",
        "security scheme changed that nothing asks for",
        A,
        A,
        "No operation of the old version was called with its credentials.",
    );
    SCOPE_NEW = rule("scope-new", "scope new in the contract", A, A, "Nobody asked for it before.");
    SCOPE_GONE = gone(rule(
        "scope-gone",
        "scope gone from the contract",
        B,
        B,
        "Sign-in may refuse those who still ask for it.",
    ));
    // Parameters.
    PARAMETER_ADDED_OPTIONAL = rule(
        "parameter-added-optional",
        "optional parameter added",
        S,
        A,
        "Calls without it mean what they meant.",
    );
    PARAMETER_ADDED_REQUIRED = rule("parameter-added-required", "required parameter added", S, B, "Calls without it are refused.");
    PARAMETER_REMOVED = gone(rule("parameter-removed", "parameter removed", S, B, UNREAD));
    PARAMETER_MOVED = rule(
        "parameter-moved",
        "parameter moved to another part of the request",
        S,
        B,
        "It is no longer read where clients put it.",
    );
    PARAMETER_REQUIRED = rule("parameter-required", "parameter became required", S, B, "Calls without it are refused.");
    PARAMETER_OPTIONAL = rule("parameter-optional", "parameter became optional", S, A, "Calls with it mean what they meant.");
    PARAMETER_STYLE_CHANGED = rule(
        "parameter-style-changed",
        "parameter written differently",
        S,
        B,
        "The same value has another text on the wire.",
    );
    SERIALIZATION_REWRITTEN = rule(
        "serialization-rewritten",
        "`style`, `explode`, `allowReserved` or `encoding` written differently",
        S,
        S,
        "What is sent is read as before.",
    );
    PARAMETER_DEPRECATED = rule("parameter-deprecated", "parameter deprecated or no longer so", A, A, "It still works.");
    PATH_PARAMETER_RENAMED = rule(
        "path-parameter-renamed",
        "placeholder of the path renamed",
        S,
        R,
        "The wire is the same; generated code may name its argument anew.",
    );
    // Requests.
    REQUEST_BODY_ADDED_OPTIONAL = rule(
        "request-body-added-optional",
        "optional request body added",
        S,
        A,
        "Calls without it mean what they meant.",
    );
    REQUEST_BODY_ADDED_REQUIRED = rule("request-body-added-required", "required request body added", S, B, "Calls without it are refused.");
    REQUEST_BODY_REMOVED = gone(rule("request-body-removed", "request body removed", S, B, UNREAD));
    REQUEST_BODY_REQUIRED = rule("request-body-required", "request body became required", S, B, "Calls without it are refused.");
    REQUEST_BODY_OPTIONAL = rule(
        "request-body-optional",
        "request body became optional",
        S,
        A,
        "Calls with it mean what they meant.",
    );
    REQUEST_MEDIA_TYPE_ADDED = rule("request-media-type-added", "request media type added", S, A, "The old ones are still read.");
    REQUEST_MEDIA_TYPE_REMOVED = gone(rule(
        "request-media-type-removed",
        "request media type removed",
        S,
        B,
        "Bodies of that type are refused.",
    ));
    ENCODING_CHANGED = rule(
        "encoding-changed",
        "`encoding` of a form changed",
        B,
        B,
        "The same value has another text on the wire.",
    );
    // Answers.
    RESPONSE_ADDED = rule("response-added", "status added", A, S, "Clients handle an unknown status by its class.");
    RESPONSE_ADDED_SUCCESS = rule(
        "response-added-success",
        "status of success added with a body of its own",
        B,
        S,
        "Clients take it for a success, and cannot read it as any that they know.",
    );
    RESPONSE_NAMED = rule(
        "response-named",
        "status named that fell under a wider entry",
        A,
        S,
        "Clients handled it as the wider entry says, with which it is compared.",
    );
    RESPONSE_FOLDED = rule(
        "response-folded",
        "status falls under a wider entry",
        A,
        S,
        "It may still be sent, as the wider entry says, with which it is compared.",
    );
    RESPONSE_NARROWED = gone(rule(
        "response-narrowed",
        "of a wider entry a part is left",
        A,
        S,
        "Whoever handled them all handles those that are left, which are compared with it.",
    ));
    RESPONSE_REMOVED = gone(rule(
        "response-removed",
        "status of success removed",
        B,
        S,
        "Those who waited for it get something else.",
    ));
    REFUSAL_REMOVED = gone(rule("refusal-removed", "status of refusal removed", A, S, "There is less to handle."));
    RESPONSE_MEDIA_TYPE_ADDED = rule(
        "response-media-type-added",
        "response media type added",
        A,
        S,
        "Clients that ask for the old one still get it.",
    );
    RESPONSE_MEDIA_TYPE_REMOVED = gone(rule(
        "response-media-type-removed",
        "response media type removed",
        B,
        S,
        "Clients that ask for it get something else.",
    ));
    RESPONSE_HEADER_ADDED = rule("response-header-added", "response header added", A, S, "Unknown headers are ignored.");
    RESPONSE_HEADER_REMOVED = gone(rule("response-header-removed", "required response header removed", B, S, "Readers relied on it."));
    RESPONSE_HEADER_REMOVED_OPTIONAL = gone(forever(
        "response-header-removed-optional",
        "optional response header removed",
        A,
        S,
        "Readers had to do without it at times; within a major version nothing declared goes.",
    ));
    RESPONSE_HEADER_REQUIRED = rule("response-header-required", "response header became required", A, S, "There is more to rely on.");
    RESPONSE_HEADER_STYLE_CHANGED = rule(
        "response-header-style-changed",
        "response header written differently",
        B,
        S,
        "The same value has another text on the wire.",
    );
    RESPONSE_HEADER_OPTIONAL = rule("response-header-optional", "response header became optional", B, S, "Readers relied on it.");
    // Objects.
    PROPERTY_ADDED = rule(
        "property-added",
        "optional property added",
        A,
        A,
        "Readers ignore what they do not know, writers leave it out.",
    );
    PROPERTY_ADDED_CLOSED = rule(
        "property-added-closed",
        "property added to a closed object",
        B,
        A,
        "The object allowed no others, so readers may refuse it.",
    );
    PROPERTY_ADDED_REQUIRED = rule(
        "property-added-required",
        "required property added",
        A,
        B,
        "What writers sent lacks it and is refused.",
    );
    PROPERTY_REMOVED_REQUIRED = gone(rule(
        "property-removed-required",
        "required property removed",
        B,
        B,
        "Readers relied on it, and what writers send in it has no effect.",
    ));
    PROPERTY_REMOVED = gone(forever(
        "property-removed",
        "optional property removed",
        A,
        B,
        "Readers had to do without it at times, but what writers send in it has no effect; within a major version nothing declared goes.",
    ));
    PROPERTY_RESERVED_REMOVED = gone(rule(
        "property-reserved-removed",
        "reserved or deprecated property removed",
        B,
        B,
        "A retired name stays declared forever, so that it never comes back with another meaning.",
    ));
    PROPERTY_REQUIRED = rule(
        "property-required",
        "property became required",
        A,
        B,
        "Readers may rely on it, what writers sent without it is refused.",
    );
    PROPERTY_OPTIONAL = rule(
        "property-optional",
        "property became optional",
        B,
        A,
        "Readers relied on it, writers may leave it out.",
    );
    PROPERTY_DECLARED_ALWAYS = rule(
        "property-declared-always",
        "property of some forms declared for all",
        A,
        B,
        "In other forms, or by their own rules, writers may have sent another value in it.",
    );
    PROPERTY_DECLARED_SOMETIMES = rule(
        "property-declared-sometimes",
        "property of all forms declared for some",
        B,
        A,
        "In other forms, or by their own rules, readers may meet another value in it.",
    );
    OBJECT_CLOSED = rule("object-closed", "other properties forbidden", A, B, "Writers that sent others are refused.");
    OBJECT_OPENED = rule(
        "object-opened",
        "other properties allowed",
        B,
        A,
        "The object allowed no others, so readers may refuse it.",
    );
    PATTERN_PROPERTIES_ADDED = rule("pattern-properties-added", "properties allowed by pattern", B, A, WIDENED);
    PATTERN_PROPERTIES_REMOVED = gone(rule("pattern-properties-removed", "properties by pattern forbidden", A, B, NARROWED));
    PROPERTY_COUNT_NARROWED = rule("property-count-narrowed", "`minProperties` or `maxProperties` narrowed", A, B, NARROWED);
    PROPERTY_COUNT_WIDENED = rule("property-count-widened", "`minProperties` or `maxProperties` widened", B, A, WIDENED);
    // Types and values.
    TYPE_CHANGED = rule("type-changed", "type changed", B, B, "A value of the old type is none of the new.");
    TYPE_WIDENED = rule("type-widened", "more types are valid", B, A, WIDENED);
    TYPE_NARROWED = rule("type-narrowed", "fewer types are valid", A, B, NARROWED);
    NULL_ADDED = rule("null-added", "`null` became valid", B, A, "Readers had no reason to expect `null`.");
    NULL_REMOVED = gone(rule("null-removed", "`null` is no longer valid", A, B, "Writers that sent `null` are refused."));
    CONST_CHANGED = rule(
        "const-changed",
        "the one valid value changed",
        B,
        B,
        "The old value is refused, the new one unknown.",
    );
    ENUM_ADDED = rule("enum-added", "restricted to listed values", A, B, NARROWED);
    ENUM_DROPPED = gone(rule("enum-dropped", "no longer restricted to listed values", B, A, WIDENED));
    ENUM_VALUE_ADDED = rule(
        "enum-value-added",
        "value added to a closed enumeration",
        B,
        A,
        "Readers were promised a complete list.",
    );
    ENUM_VALUE_ADDED_OPEN = rule(
        "enum-value-added-open",
        "value added to an open enumeration",
        A,
        A,
        "Readers were told to expect unknown values.",
    );
    ENUM_VALUE_REMOVED = gone(rule(
        "enum-value-removed",
        "value removed from an enumeration",
        A,
        B,
        "Writers that send it are refused.",
    ));
    ENUM_VALUE_REMOVED_OPEN = gone(rule(
        "enum-value-removed-open",
        "value removed from an open enumeration",
        A,
        B,
        "It is still valid, but what it means is no longer promised.",
    ));
    ENUM_OPENED = rule("enum-opened", "enumeration opened", B, A, "Readers were promised a complete list.");
    ENUM_CLOSED = rule("enum-closed", "enumeration closed", A, B, "Writers that send an unlisted value are refused.");
    LENGTH_NARROWED = rule("length-narrowed", "`minLength` or `maxLength` narrowed", A, B, NARROWED);
    LENGTH_WIDENED = rule("length-widened", "`minLength` or `maxLength` widened", B, A, WIDENED);
    PATTERN_ADDED = rule("pattern-added", "`pattern` added", A, B, NARROWED);
    PATTERN_REMOVED = gone(rule("pattern-removed", "`pattern` removed", B, A, WIDENED));
    PATTERN_NARROWED = rule("pattern-narrowed", "`pattern` matches fewer texts", A, B, NARROWED);
    PATTERN_WIDENED = rule("pattern-widened", "`pattern` matches more texts", B, A, WIDENED);
    PATTERN_REWRITTEN = rule(
        "pattern-rewritten",
        "`pattern` written differently",
        S,
        S,
        "It is proven that both match the same texts, as far as the lengths are valid.",
    );
    PATTERN_CHANGED = rule("pattern-changed", "`pattern` changed", B, B, UNDECIDED);
    RANGE_NARROWED = rule("range-narrowed", "a bound of numbers narrowed", A, B, NARROWED);
    RANGE_WIDENED = rule("range-widened", "a bound of numbers widened", B, A, WIDENED);
    MULTIPLE_OF_NARROWED = rule("multiple-of-narrowed", "`multipleOf` narrowed", A, B, NARROWED);
    MULTIPLE_OF_WIDENED = rule("multiple-of-widened", "`multipleOf` widened", B, A, WIDENED);
    MULTIPLE_OF_CHANGED = rule("multiple-of-changed", "`multipleOf` changed", B, B, UNDECIDED);
    ITEM_COUNT_NARROWED = rule("item-count-narrowed", "`minItems` or `maxItems` narrowed", A, B, NARROWED);
    ITEM_COUNT_WIDENED = rule("item-count-widened", "`minItems` or `maxItems` widened", B, A, WIDENED);
    UNIQUE_ITEMS_SET = rule("unique-items-set", "elements must differ", A, B, NARROWED);
    UNIQUE_ITEMS_UNSET = gone(rule("unique-items-unset", "elements may repeat", B, A, WIDENED));
    ITEMS_CLOSED = rule("items-closed", "further elements forbidden", A, B, NARROWED);
    ITEMS_OPENED = rule("items-opened", "further elements allowed", B, A, WIDENED);
    CONTAINS_ADDED = rule("contains-added", "`contains` added", A, B, NARROWED);
    CONTAINS_REMOVED = gone(rule("contains-removed", "`contains` removed", B, A, WIDENED));
    CONTAINS_NARROWED = rule("contains-narrowed", "`minContains` or `maxContains` narrowed", A, B, NARROWED);
    CONTAINS_WIDENED = rule("contains-widened", "`minContains` or `maxContains` widened", B, A, WIDENED);
    CONTAINS_CHANGED = rule("contains-changed", "`contains` changed", B, B, UNDECIDED);
    // Combinations.
    BRANCH_ADDED = rule("branch-added", "branch added to a union", B, A, "Readers were promised a complete list of forms.");
    BRANCH_REMOVED = gone(rule("branch-removed", "branch removed from a union", A, B, "Writers that send that form are refused."));
    UNION_ADDED = rule("union-added", "`oneOf` or `anyOf` added", A, B, NARROWED);
    UNION_ADDED_NEW_MEMBER = rule(
        "union-added-new-member",
        "`anyOf` over a new member or value added",
        A,
        A,
        "What does not have the member or value is one of the forms.",
    );
    UNION_REMOVED = gone(rule("union-removed", "`oneOf` or `anyOf` removed", B, A, WIDENED));
    UNION_NARROWED = rule("union-narrowed", "`anyOf` became `oneOf`", A, B, "What fits two forms is no longer valid.");
    UNION_WIDENED = rule("union-widened", "`oneOf` became `anyOf`", B, A, "What fits two forms is valid.");
    CONDITION_ADDED = rule("condition-added", "`if` added", A, B, NARROWED);
    CONDITION_ADDED_NEW_MEMBER = rule(
        "condition-added-new-member",
        "`if` over a new member or value added",
        A,
        A,
        "Who does not know the member or value never meets the condition.",
    );
    CONDITION_REMOVED = gone(rule("condition-removed", "`if` removed", B, A, WIDENED));
    CONDITION_CHANGED = rule("condition-changed", "`if` changed", B, B, UNDECIDED);
    DEPENDENCY_ADDED = rule("dependency-added", "`dependentRequired` or `dependentSchemas` asks for more", A, B, NARROWED);
    DEPENDENCY_ADDED_NEW_MEMBER = rule(
        "dependency-added-new-member",
        "more is asked beside a new member",
        A,
        A,
        "Who does not know the member is asked for nothing.",
    );
    DEPENDENCY_REMOVED = gone(rule("dependency-removed", "`dependentRequired` or `dependentSchemas` asks for less", B, A, WIDENED));
    NOT_ADDED = rule("not-added", "`not` added", A, B, NARROWED);
    NOT_ADDED_NEW_MEMBER = rule(
        "not-added-new-member",
        "`not` over a new member or value added",
        A,
        A,
        "Who does not know the member or value never sends what is forbidden.",
    );
    NOT_REMOVED = gone(rule("not-removed", "`not` removed", B, A, WIDENED));
    UNEVALUATED_ADDED = rule("unevaluated-added", "`unevaluatedProperties` or `unevaluatedItems` added", A, B, NARROWED);
    UNEVALUATED_REMOVED = gone(rule("unevaluated-removed", "`unevaluatedProperties` or `unevaluatedItems` removed", B, A, WIDENED));
    FORMAT_NARROWED = rule("format-narrowed", "a `format` is asserted, or a narrower one", A, B, NARROWED);
    FORMAT_WIDENED = rule("format-widened", "a `format` is no longer asserted, or a wider one", B, A, WIDENED);
    FORMAT_REPLACED = rule("format-replaced", "another `format` is asserted", B, B, UNDECIDED);
    VALUES_CHANGED = rule(
        "values-changed",
        "other values are valid, all in all",
        B,
        B,
        "No keyword says it alone, but a value that one version takes is refused by the other.",
    );
    // Annotations.
    FORMAT_ADDED = rule("format-added", "`format` added", A, B, "What writers sent may not have that form.");
    FORMAT_REMOVED = gone(rule("format-removed", "`format` removed", B, A, "Readers relied on the form."));
    FORMAT_CHANGED = rule("format-changed", "`format` changed", B, B, "The text means something else, or is another one.");
    NUMBER_FORMAT_NARROWED = rule(
        "number-format-narrowed",
        "`format` with room for fewer numbers",
        A,
        B,
        "Every number of the new format is one of the old; writers may send one that has no room any more.",
    );
    NUMBER_FORMAT_WIDENED = rule(
        "number-format-widened",
        "`format` with room for more numbers",
        B,
        A,
        "Every number of the old format is one of the new; readers may meet one that they have no room for.",
    );
    NUMBER_FORMAT_REWRITTEN = rule(
        "number-format-rewritten",
        "`format` of numbers that has room for all that are valid",
        S,
        S,
        "No number is valid that the formats of both versions have no room for.",
    );
    XML_CHANGED = rule(
        "xml-changed",
        "`xml` changed in a body of XML",
        B,
        B,
        "The same value is another element or attribute.",
    );
    CONTENT_CHANGED = rule(
        "content-changed",
        "`contentEncoding` or `contentMediaType` changed",
        B,
        B,
        "The text holds something else.",
    );
    DISCRIMINATOR_ADDED = rule(
        "discriminator-added",
        "`discriminator` added",
        A,
        B,
        "What writers sent in the member may mean no form, or another one.",
    );
    DISCRIMINATOR_REMOVED = gone(rule(
        "discriminator-removed",
        "`discriminator` removed",
        B,
        A,
        "Readers chose the form by it.",
    ));
    DISCRIMINATOR_CHANGED = rule(
        "discriminator-changed",
        "a value of a `discriminator` means something else",
        B,
        B,
        "What is valid stays as it was, and is taken for another form.",
    );
    DISCRIMINATOR_VALUE_ADDED = rule(
        "discriminator-value-added",
        "another value of a `discriminator` means a known form",
        B,
        A,
        "Readers do not know which form is meant by it.",
    );
    DISCRIMINATOR_VALUE_REMOVED = gone(rule(
        "discriminator-value-removed",
        "a value of a `discriminator` means nothing any more",
        A,
        B,
        "What writers send with it is taken for no form; readers do not meet it any more.",
    ));
    DEFAULT_ADDED = rule("default-added", "`default` added", A, A, "What leaving it out means is now said.");
    DEFAULT_CHANGED = rule("default-changed", "`default` changed or removed", B, B, "Leaving it out now means something else.");
    READ_ONLY_SET = rule("read-only-set", "became read-only", A, B, "What writers send in it has no effect or is refused.");
    READ_ONLY_UNSET = gone(rule("read-only-unset", "no longer read-only", A, A, "Writers may send it."));
    WRITE_ONLY_SET = rule("write-only-set", "became write-only", B, A, "Readers no longer get it.");
    WRITE_ONLY_UNSET = gone(rule("write-only-unset", "no longer write-only", A, A, "Readers may get it."));
    DEPRECATED_SET = rule("deprecated-set", "deprecated", A, A, "It still works; it is time to look for another.");
    DEPRECATED_UNSET = gone(rule("deprecated-unset", "no longer deprecated", A, A, "It stays."));
    EDITORIAL = rule("editorial", "title, description or examples changed", S, S, "Words for people.");
    // Schemas as a whole.
    ID_CHANGED = rule(
        "id-changed",
        "`$id` of a schema changed",
        B,
        B,
        "References and links to the old address lead nowhere.",
    );
    ID_GONE = gone(rule(
        "id-gone",
        "schema no longer at its address",
        A,
        A,
        "What it said is said elsewhere: check that nobody fetches it by its address.",
    ));
    SCHEMA_RENAMED = rule(
        "schema-renamed",
        "named schema or its file renamed",
        R,
        R,
        "The wire is the same; who uses its type in generated code, or its file, writes the new name.",
    );
    SCHEMA_ADDED = rule("schema-added", "named schema added", A, A, "Nobody used it before.");
    SCHEMA_REMOVED = gone(rule("schema-removed", "named schema removed", B, B, "Those who used it by name find it no more."));
    VERSION_CHANGED = rule("version-changed", "`info.version` changed", S, S, "It is compared with what the changes ask for.");
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

//! Selects the wire convention of query parameters and form fields. A convention defines how lists and nested
//! values are encoded, such as `items[0][price]=1`. Also reports values whose encoding neither OpenAPI nor an
//! option defines.

mod examples;

use std::{
    collections::{BTreeSet, HashMap},
    rc::Rc,
};

use contract_runtime::parameters::{ArrayNotation, NestedNotation, WireConvention};

use examples::settings_from_examples;

use super::{
    BodyFormat, ContractPlan, ParameterRow, PlanInput, PlannedCall,
    text_shape::{DeclaredMember, TextScalar, TextShape},
};
use crate::{
    api::{Example, ParameterIn},
    config::{Config, WireSettings},
    conjunction::SchemaConjunction,
    diagnostics::{Diagnostic, Diagnostics},
    schema::SchemaId,
    tree::DocumentLocation,
};

/// The encoding that OpenAPI defines for exploded lists of the style `form`.
const FORM: WireConvention = WireConvention { nested: NestedNotation::Json, arrays: ArrayNotation::Repeat };

/// A query parameter or form field for which the convention is selected.
pub(super) struct WireSite<'a> {
    /// The name of the parameter or field.
    pub(super) name: &'a str,
    /// The examples of the parameter or form.
    pub(super) examples: &'a [Example],
    /// The schemas of the value.
    pub(super) places: &'a [SchemaConjunction],
    /// True for a field of a form.
    pub(super) in_form: bool,
    /// The settings that `wire.schemas` selects for the form that contains the field.
    pub(super) form: WireSettings,
    pub(super) style: &'a str,
    pub(super) explode: bool,
    /// The shape of the value if no [`WireConvention`] applies.
    pub(super) usual: TextShape,
}

impl PlanInput<'_> {
    /// Returns the shape of a value, and its convention if that differs from the default of the style. The
    /// shape is `site.usual` or, if nested values are not encoded as JSON, the result of `nested_shape`.
    pub(super) fn wire_shape(
        &self,
        site: WireSite<'_>,
        nested_shape: impl Fn() -> TextShape,
    ) -> (TextShape, Option<WireConvention>) {
        let deep = site.style == "deepObject";
        let (settings, selected) = self.wire_settings(&site);
        if !deep && (settings.is_empty() || site.style != "form" || !site.explode) {
            return (site.usual, None);
        }
        let base = if deep { WireConvention::DEEP_OBJECT } else { FORM };
        let convention = WireConvention {
            nested: settings.nested.map_or(base.nested, Into::into),
            arrays: settings.arrays.map_or(base.arrays, Into::into),
        };
        let in_brackets = convention.nested != NestedNotation::Json;
        if deep {
            let shape = if in_brackets { nested_shape() } else { site.usual };
            return (shape, (!settings.is_empty()).then_some(convention));
        }
        let lists_change = convention.arrays != FORM.arrays;
        if !in_brackets {
            let applies = lists_change && site.usual.has_list() && !site.usual.has_object();
            return (site.usual, applies.then_some(convention));
        }
        let whole = nested_shape();
        // OpenAPI defines the encoding of flat objects in parameters (`R=100&G=200`), so a contract-wide
        // option does not change it. A selector or an example does.
        let may_change = selected || site.in_form || whole.has_list() || whole.is_nested();
        let changes = lists_change || whole.is_nested() || whole.has_object();
        if whole.has_structure() && may_change && changes {
            (whole, Some(convention))
        } else {
            (site.usual, None)
        }
    }

    /// Returns the settings for the encoding of a value, from the selectors in `wire.schemas`, the other
    /// options in `[wire]`, and examples, in this order of precedence. The second result is true if a
    /// selector applies, or if examples apply and `[wire]` has no other options.
    fn wire_settings(&self, site: &WireSite<'_>) -> (WireSettings, bool) {
        let whole = self.wire.settings();
        let shown = settings_from_examples(site.name, site.style, site.examples);
        if self.wire_schemas.is_empty() {
            return (whole.or(shown), whole.is_empty() && !shown.is_empty());
        }
        let own = self.selected_settings(&self.schema_ids(site.places));
        let selected = own.or(site.form);
        let is_shown = whole.is_empty() && !shown.is_empty();
        (selected.or(whole).or(shown), !selected.is_empty() || is_shown)
    }

    /// Returns the settings that `wire.schemas` selects for a form and all its fields.
    pub(super) fn form_settings(&self, form: SchemaId) -> WireSettings {
        if self.wire_schemas.is_empty() {
            return WireSettings::default();
        }
        self.selected_settings(&self.schema_ids(&[SchemaConjunction::from_schema(form)]))
    }

    fn selected_settings(&self, ids: &[SchemaId]) -> WireSettings {
        let selected = ids.iter().filter_map(|id| self.wire_schemas.get(id));
        selected.fold(WireSettings::default(), |all, each| all.or(*each))
    }

    /// Returns the schemas by which `wire.schemas` can select a value: its own schemas and those that they
    /// include.
    fn schema_ids(&self, places: &[SchemaConjunction]) -> Vec<SchemaId> {
        let all = |place: &SchemaConjunction| {
            place.ids.iter().copied().chain(self.facts_of(place).unconditional).collect::<Vec<_>>()
        };
        places.iter().flat_map(all).collect()
    }
}

impl TextShape {
    /// Returns true if the value may be a list.
    fn has_list(&self) -> bool {
        match self {
            Self::Array(_) | Self::List(_) => true,
            Self::OneOf(shapes) => shapes.iter().any(Self::has_list),
            _ => false,
        }
    }

    /// Returns true if the value may be an object.
    fn has_object(&self) -> bool {
        match self {
            Self::Object(..) | Self::MapOf(..) => true,
            Self::OneOf(shapes) => shapes.iter().any(Self::has_object),
            _ => false,
        }
    }

    fn has_structure(&self) -> bool {
        self.has_list() || self.has_object()
    }

    /// Returns true if the value is a list or an object that may contain further lists or objects.
    fn is_nested(&self) -> bool {
        let inner = |shape: &Self| shape.has_structure() || matches!(shape, Self::Json);
        match self {
            Self::Array(scalar) => *scalar == TextScalar::Json,
            Self::List(_) => true,
            Self::Object(fields, others) => {
                *others == Some(TextScalar::Json) || fields.iter().any(|(_, shape)| inner(shape))
            }
            Self::MapOf(..) => true,
            Self::OneOf(shapes) => shapes.iter().any(Self::is_nested),
            Self::Scalar(_) | Self::Json | Self::Form(..) => false,
        }
    }
}

/// A kind of value whose encoding OpenAPI does not define.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum UndefinedEncoding {
    /// A list of the style `deepObject`.
    DeepList,
    /// A list or an object inside a `deepObject` value.
    DeepNested,
    /// A list or an object inside a query parameter of the style `form`.
    FormNested,
}

impl UndefinedEncoding {
    const ALL: [Self; 3] = [Self::DeepList, Self::DeepNested, Self::FormNested];

    /// Returns the kind of undefined encoding that a row has, or `None` if OpenAPI or an option defines its
    /// encoding.
    fn of_row(row: &ParameterRow, in_body: bool) -> Option<Self> {
        if row.wire.is_some() || row.location != ParameterIn::Query {
            return None;
        }
        match row.style.as_str() {
            "deepObject" if row.shape.has_list() => Some(Self::DeepList),
            "deepObject" if row.shape.is_nested() => Some(Self::DeepNested),
            // In a form body, OpenAPI defines the encoding of nested lists: each element becomes one encoded
            // value (OpenAPI 3.1, 4.8.15).
            "form" if row.explode && row.shape.is_nested() && !(in_body && row.shape.has_list()) => {
                Some(Self::FormNested)
            }
            _ => None,
        }
    }

    const fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::DeepList => (
                "OpenAPI does not define the encoding of a list with the style `deepObject`",
                "`x[]=a` is sent, and `x[0][y]=a` for a list of objects",
            ),
            Self::DeepNested => (
                "OpenAPI does not define the encoding of lists and objects inside of a `deepObject` value",
                "`x[y][z]=a`, `x[y][]=a` and `x[y][0][z]=a` are sent",
            ),
            Self::FormNested => (
                "OpenAPI does not define the encoding of lists and objects inside of a value with the style `form`",
                "they are sent as JSON",
            ),
        }
    }
}

const HELP: &str = "set `nested` and `arrays` in `[wire]` to the convention of the API, for the whole contract or \
                    by selector in `wire.schemas`";

/// Reports values whose encoding is undefined, with one warning for each kind, and selectors in
/// `wire.schemas` that have no effect.
pub fn check_wire(
    given: PlanInput<'_>,
    config: &Config,
    plans: &ContractPlan<'_>,
    diagnostics: &mut Diagnostics,
) {
    let calls = || plans.iter().flat_map(|plan| &plan.calls);
    let rows: Vec<WireRow<'_>> = calls().flat_map(|call| wire_rows(given, call)).collect();
    for kind in UndefinedEncoding::ALL {
        let mut found =
            rows.iter().filter(|row| UndefinedEncoding::of_row(row.row, row.in_body) == Some(kind));
        let Some(first) = found.next() else { continue };
        let (problem, sent) = kind.describe();
        let more = match found.count() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        let message = format!("{problem}: `{}`{more}; {sent}", first.row.name);
        diagnostics.push(
            Diagnostic::warning("undefined-encoding", message).with_place(first.place.clone()).help(HELP),
        );
    }
    let with_wire = rows.iter().filter(|row| row.row.wire.is_some());
    let used: BTreeSet<SchemaId> =
        with_wire.flat_map(|row| row.ids.iter().chain(row.form_ids.iter()).copied()).collect();
    for (selector, ids) in given.wire_selectors {
        if !ids.is_empty() && ids.iter().all(|id| !used.contains(id)) {
            let option = "wire.schemas";
            let message = format!("`{option}` does nothing for `{selector}`");
            diagnostics.push(
                Diagnostic::error("config", message)
                    .with_optional_place(config.option_place(option, selector))
                    .help("select the schema of a list or object that is a query parameter with the style `form` or `deepObject`, a field of a form, or a form; remove the option if there is none"),
            );
        }
    }
}

/// A row of a query parameter or form field, with its location in the contract.
struct WireRow<'a> {
    row: &'a ParameterRow,
    place: DocumentLocation,
    in_body: bool,
    /// The schemas by which `wire.schemas` can select the row.
    ids: Vec<SchemaId>,
    /// The schemas by which `wire.schemas` can select the form that contains the row.
    form_ids: Rc<[SchemaId]>,
}

/// Returns the rows of the query parameters and form fields of a call.
fn wire_rows<'a>(given: PlanInput<'_>, call: &'a PlannedCall<'_>) -> Vec<WireRow<'a>> {
    let mut rows = Vec::new();
    for parameter in call.parameters.iter().filter(|each| each.row.location == ParameterIn::Query) {
        let place = parameter.parameter.schema.map(SchemaConjunction::from_schema);
        rows.push(WireRow {
            row: &parameter.row,
            place: parameter.parameter.place.clone(),
            in_body: false,
            ids: given.schema_ids(place.as_slice()),
            form_ids: Rc::default(),
        });
    }
    for content in call.body.iter().flat_map(|body| &body.contents) {
        let (BodyFormat::Form(fields, _), Some(schema)) = (&content.format, content.media.schema) else {
            continue;
        };
        let form = SchemaConjunction::from_schema(schema);
        let members = given.members_of(&given.facts_of(&form));
        let by_name: HashMap<&str, &DeclaredMember> =
            members.iter().map(|member| (member.name.as_str(), member)).collect();
        let form_ids: Rc<[SchemaId]> = given.schema_ids(&[form]).into();
        for row in fields {
            let member = by_name.get(row.name.as_str()).copied();
            let places: &[SchemaConjunction] = member.map_or(&[], |member| &member.places);
            rows.push(WireRow {
                row,
                place: given.graph.schema(member.and_then(first_schema).unwrap_or(schema)).place.clone(),
                in_body: true,
                ids: given.schema_ids(places),
                form_ids: Rc::clone(&form_ids),
            });
        }
    }
    rows
}

fn first_schema(member: &DeclaredMember) -> Option<SchemaId> {
    member.places.first()?.ids.first().copied()
}

#[cfg(test)]
mod tests;

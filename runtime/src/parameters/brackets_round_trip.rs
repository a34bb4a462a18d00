//! Tests that decoding is the inverse of encoding under every convention, and that servers read lists in
//! every notation.

use std::time::{Duration, Instant};

use super::{
    ArrayNotation, NestedNotation, Parameter, ParameterReader, ParameterStyle, QueryPairs, ScalarType,
    ValueShape, WireConvention, encode, read_form,
};
use crate::{Json, Map, Number, depth};

const NESTED: [NestedNotation; 3] = [NestedNotation::Json, NestedNotation::Brackets, NestedNotation::Indices];
const ARRAYS: [ArrayNotation; 4] =
    [ArrayNotation::Repeat, ArrayNotation::Brackets, ArrayNotation::Indices, ArrayNotation::Comma];

const TEXT: ValueShape = ValueShape::Scalar(ScalarType::Text);
const WHOLE: ValueShape = ValueShape::Scalar(ScalarType::Integer(None));
const ITEM: ValueShape = ValueShape::Object(&[("price", TEXT), ("quantity", WHOLE)]);
const TEXTS: ValueShape = ValueShape::Array(ScalarType::Text);
const ITEMS: ValueShape = ValueShape::List(&ITEM);

fn conventions() -> impl Iterator<Item = WireConvention> {
    NESTED
        .into_iter()
        .flat_map(|nested| ARRAYS.into_iter().map(move |arrays| WireConvention { nested, arrays }))
}

fn row(wire: WireConvention, shape: ValueShape) -> Parameter {
    Parameter { name: "a b", wire: Some(wire), shape, required: true, ..Parameter::QUERY }
}

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

/// Returns the query of a value, or the pointer of the error.
fn sent(row: &Parameter, value: &Json) -> Result<String, String> {
    let pairs = encode::write_pairs(row, value).map_err(|error| error.pointer)?;
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Ok(pairs.join("&"))
}

/// Returns the value that a query decodes to, or `None` if there is none.
fn read(row: &Parameter, query: &str) -> Option<Json> {
    let (parts, ()) = http::Request::get("/").body(()).unwrap().into_parts();
    let pairs = QueryPairs::parse(query).unwrap();
    let row = Parameter { required: false, ..*row };
    let reader = ParameterReader { template: "/", parameters: &[row], parts: &parts, query: &pairs };
    let mut values = reader
        .read_all()
        .unwrap_or_else(|faults| panic!("{query}: {faults:?} {:?} {:?}", row.shape, row.wire));
    values.remove(0)
}

/// Decodes the percent-encoded brackets, for shorter expectations.
fn shown(query: &str) -> String {
    query.replace("%5B", "[").replace("%5D", "]")
}

#[test]
fn each_convention_has_its_notation() {
    let check = |nested, arrays, shape, value: &str, expect: &str| {
        let row = Parameter { name: "x", ..row(WireConvention { nested, arrays }, shape) };
        let query = sent(&row, &json(value)).unwrap();
        assert_eq!(shown(&query), expect, "{nested:?} {arrays:?}");
        assert_eq!(read(&row, &query), Some(json(value)), "{query}");
    };
    let texts = r#"["a","b,c"]"#;
    check(NestedNotation::Json, ArrayNotation::Repeat, TEXTS, texts, "x=a&x=b%2Cc");
    check(NestedNotation::Json, ArrayNotation::Brackets, TEXTS, texts, "x[]=a&x[]=b%2Cc");
    check(NestedNotation::Json, ArrayNotation::Indices, TEXTS, texts, "x[0]=a&x[1]=b%2Cc");
    check(NestedNotation::Json, ArrayNotation::Comma, TEXTS, texts, "x=a,b%2Cc");
    let items = r#"[{"price":"p","quantity":1},{"price":"q","quantity":2}]"#;
    let indices = "x[0][price]=p&x[0][quantity]=1&x[1][price]=q&x[1][quantity]=2";
    let brackets = "x[][price]=p&x[][quantity]=1&x[][price]=q&x[][quantity]=2";
    let repeated = "x[price]=p&x[quantity]=1&x[price]=q&x[quantity]=2";
    check(NestedNotation::Indices, ArrayNotation::Brackets, ITEMS, items, indices);
    check(NestedNotation::Brackets, ArrayNotation::Brackets, ITEMS, items, brackets);
    check(NestedNotation::Brackets, ArrayNotation::Repeat, ITEMS, items, repeated);
    check(NestedNotation::Brackets, ArrayNotation::Indices, ITEMS, items, indices);
    check(NestedNotation::Brackets, ArrayNotation::Comma, ITEMS, items, indices);
    const DEEP: ValueShape = ValueShape::Object(&[("b", ValueShape::Object(&[("c", TEXT), ("l", TEXTS)]))]);
    let value = r#"{"b":{"c":"d","l":["e"]}}"#;
    check(NestedNotation::Brackets, ArrayNotation::Brackets, DEEP, value, "x[b][c]=d&x[b][l][]=e");
    const FLAT: ValueShape = ValueShape::Object(&[("b", ValueShape::Json)]);
    let text = "x[b]=%7B%22c%22%3A%22d%22%2C%22l%22%3A%5B%22e%22]%7D";
    let query = text.replace(']', "%5D");
    let row = Parameter {
        name: "x",
        ..row(WireConvention { nested: NestedNotation::Json, arrays: ArrayNotation::Brackets }, FLAT)
    };
    assert_eq!(shown(&sent(&row, &json(value)).unwrap()), shown(&query));
    assert_eq!(read(&row, &query.replace("x[", "x%5B")), Some(json(value)));
}

/// The style `deepObject` uses brackets for lists of scalars and indices for lists of objects, even without a
/// configured convention.
#[test]
fn deep_object_sends_lists_in_brackets_and_objects_in_lists_with_indices() {
    let row = |shape| Parameter { name: "x", style: ParameterStyle::DeepObject, shape, ..Parameter::QUERY };
    let check = |shape, value: &str, expect: &str| {
        let query = sent(&row(shape), &json(value)).unwrap();
        assert_eq!(shown(&query), expect);
        assert_eq!(read(&row(shape), &query), Some(json(value)));
    };
    const SINCE: ValueShape = ValueShape::OneOf(&[WHOLE, ValueShape::Object(&[("gte", WHOLE)])]);
    check(TEXTS, r#"["a","b"]"#, "x[]=a&x[]=b");
    check(TEXTS, r#"["a"]"#, "x[]=a");
    check(
        ITEMS,
        r#"[{"price":"p","quantity":1},{"quantity":2}]"#,
        "x[0][price]=p&x[0][quantity]=1&x[1][quantity]=2",
    );
    check(SINCE, "7", "x=7");
    check(SINCE, r#"{"gte":7}"#, "x[gte]=7");
    check(
        ValueShape::Map(&[], ScalarType::Text),
        r#"{"order id":"6 7","0":"a"}"#,
        "x[order%20id]=6%207&x[0]=a",
    );
}

#[test]
fn servers_read_lists_in_every_notation() {
    let deep = Parameter { name: "x", style: ParameterStyle::DeepObject, ..Parameter::QUERY };
    let check = |row: &Parameter, query: &str, expect: &str| {
        assert_eq!(read(row, query), Some(json(expect)), "{query}");
    };
    let plain = Parameter { name: "x", shape: TEXTS, ..Parameter::QUERY };
    for row in [plain, Parameter { shape: TEXTS, ..deep }] {
        check(&row, "x=a&x=b", r#"["a","b"]"#);
        check(&row, "x[]=a&x[]=b", r#"["a","b"]"#);
        check(&row, "x[1]=b&x[0]=a", r#"["a","b"]"#);
    }
    let items = Parameter { shape: ITEMS, ..deep };
    for query in ["x[0][price]=p&x[1][price]=q", "x[][price]=p&x[][price]=q", "x[price]=p&x[price]=q"] {
        check(&items, query, r#"[{"price":"p"},{"price":"q"}]"#);
    }
    // JSON, which earlier versions sent, can still be read.
    check(&items, "x=%5B%7B%22price%22:%22p%22%7D%5D", r#"[{"price":"p"}]"#);
    check(&items, "x=%7B%22price%22:%22p%22%7D", r#"[{"price":"p"}]"#);
    check(&Parameter { shape: ITEM, ..deep }, "x=%7B%22price%22:%22p%22%7D", r#"{"price":"p"}"#);
    // A comma in JSON separates no elements.
    let comma = WireConvention { nested: NestedNotation::Brackets, arrays: ArrayNotation::Comma };
    let comma = Parameter { shape: ITEMS, wire: Some(comma), ..deep };
    check(&comma, r#"x=[{"price":"p"},{"price":"q"}]"#, r#"[{"price":"p"},{"price":"q"}]"#);
    check(&comma, r#"x={"price":"p"}"#, r#"[{"price":"p"}]"#);
}

/// A name with brackets belongs to the parameter that has exactly this name.
#[test]
fn literal_names_with_brackets_belong_to_their_parameters() {
    let parameters: &'static [Parameter] = Box::leak(Box::new([
        Parameter { name: "ids", shape: TEXTS, ..Parameter::QUERY },
        Parameter { name: "ids[]", shape: TEXTS, ..Parameter::QUERY },
        Parameter {
            name: "filter",
            style: ParameterStyle::DeepObject,
            shape: ValueShape::Map(&[], ScalarType::Text),
            ..Parameter::QUERY
        },
        Parameter { name: "filter[state]", shape: TEXTS, ..Parameter::QUERY },
    ]));
    let query = "ids=a&ids[]=b&filter[age]=1&filter[state]=x&filter[state]=y";
    let (parts, ()) = http::Request::get(format!("/?{query}")).body(()).unwrap().into_parts();
    let pairs = QueryPairs::parse(query).unwrap();
    let reader = ParameterReader { template: "/", parameters, parts: &parts, query: &pairs };
    let values = reader.read_all().unwrap().into_iter().map(|value| value.unwrap().to_string());
    assert_eq!(values.collect::<Vec<_>>(), [r#"["a"]"#, r#"["b"]"#, r#"{"age":"1"}"#, r#"["x","y"]"#]);
}

/// Of two names that could own a pair, the longer one owns it, in queries and in forms.
#[test]
fn pairs_belong_to_the_longest_name() {
    const MAP: ValueShape = ValueShape::MapOf(&[], &ValueShape::Json);
    const DEEP: Parameter = Parameter { style: ParameterStyle::DeepObject, shape: MAP, ..Parameter::QUERY };
    const FLAT: ValueShape = ValueShape::Object(&[("a[flat]", TEXT)]);
    let check = |parameters: &'static [Parameter], query: &str, expect: &[(&str, &str)]| {
        let (parts, ()) = http::Request::get(format!("/?{query}")).body(()).unwrap().into_parts();
        let pairs = QueryPairs::parse(query).unwrap();
        let reader = ParameterReader { template: "/", parameters, parts: &parts, query: &pairs };
        let values = reader.read_all().unwrap();
        let named = parameters.iter().zip(&values);
        let found: Vec<(&str, String)> =
            named.filter_map(|(row, value)| Some((row.name, value.as_ref()?.to_string()))).collect();
        let expect: Vec<(&str, String)> =
            expect.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        assert_eq!(found, expect, "{query}");
        let form = expect.iter().map(|(name, value)| ((*name).to_owned(), json(value)));
        assert_eq!(
            read_form(parameters, ScalarType::Text, query),
            Some(Json::Object(form.collect())),
            "{query}"
        );
    };
    const NESTED: &[Parameter] = &[
        Parameter { name: "a", ..DEEP },
        Parameter { name: "a[b]", ..DEEP },
        Parameter { name: "a[b][c]", ..DEEP },
    ];
    let query = "a[b][x]=1&a[b][c][d]=2&a[y]=3&a[bc]=4";
    let expect = [("a", r#"{"y":3,"bc":4}"#), ("a[b]", r#"{"x":1}"#), ("a[b][c]", r#"{"d":2}"#)];
    check(NESTED, query, &expect);
    const LIST: &[Parameter] =
        &[Parameter { name: "a[b]", shape: TEXTS, ..Parameter::QUERY }, Parameter { name: "a", ..DEEP }];
    check(LIST, "a[b][]=x&a[c]=1&a[b]=y", &[("a[b]", r#"["x","y"]"#), ("a", r#"{"c":1}"#)]);
    // The members of an exploded object are names of their own, also if the object is one of several shapes.
    const MEMBERS: &[Parameter] = &[
        Parameter { name: "o", shape: ValueShape::OneOf(&[FLAT, WHOLE]), ..Parameter::QUERY },
        Parameter { name: "a", ..DEEP },
    ];
    check(MEMBERS, "a[flat]=x&a[c]=1", &[("o", r#"{"a[flat]":"x"}"#), ("a", r#"{"c":1}"#)]);
}

#[test]
fn ambiguous_values_are_rejected() {
    let brackets = |arrays, shape| row(WireConvention { nested: NestedNotation::Brackets, arrays }, shape);
    let check = |row: &Parameter, value: &str, expect: &str| {
        assert_eq!(sent(row, &json(value)), Err(expect.to_owned()), "{value}");
    };
    let map = ValueShape::Map(&[], ScalarType::Text);
    for arrays in ARRAYS {
        check(&brackets(arrays, map), r#"{"a[b":"1"}"#, "/a[b");
        check(&brackets(arrays, map), r#"{"":"1"}"#, "/");
        check(&brackets(arrays, TEXTS), "[null]", "/0");
        check(&brackets(arrays, ValueShape::Json), r#"{"0":"a","1":"b"}"#, "");
    }
    check(&brackets(ArrayNotation::Repeat, TEXTS), "[]", "");
    check(&brackets(ArrayNotation::Comma, TEXTS), r#"[""]"#, "/0");
    const EITHER: ValueShape = ValueShape::OneOf(&[TEXT, ValueShape::Array(ScalarType::Text)]);
    check(&brackets(ArrayNotation::Brackets, EITHER), "[]", "");
    // The elements would be read as one JSON list.
    const TEXT_OR_OBJECT: ValueShape = ValueShape::OneOf(&[TEXT, ITEM]);
    const CHOICES: ValueShape = ValueShape::List(&TEXT_OR_OBJECT);
    const NUMBER_OR_CHOICES: ValueShape = ValueShape::OneOf(&[WHOLE, CHOICES]);
    for shape in [CHOICES, NUMBER_OR_CHOICES] {
        for arrays in [ArrayNotation::Repeat, ArrayNotation::Comma] {
            check(&brackets(arrays, shape), r#"["[]"]"#, "");
            check(&brackets(arrays, shape), r#"["[1]"]"#, "");
        }
        check(&brackets(ArrayNotation::Comma, shape), r#"["[1","2]"]"#, "");
        check(&brackets(ArrayNotation::Comma, shape), r#"["{\"a\":1","\"b\":2}"]"#, "");
    }
    // The second element could not be distinguished from a part of the first.
    for arrays in [ArrayNotation::Brackets, ArrayNotation::Repeat] {
        check(&brackets(arrays, ITEMS), r#"[{"price":"p"},{"quantity":1}]"#, "");
        check(&brackets(arrays, ITEMS), r#"[{"price":"p"},{}]"#, "/1");
    }
}

/// A field of a form is sent even if its value is empty.
#[test]
fn forms_distinguish_empty_and_absent_fields() {
    const DEEP: Parameter = Parameter { style: ParameterStyle::DeepObject, ..Parameter::QUERY };
    const FIELDS: &[Parameter] = &[
        Parameter { name: "items", shape: ITEMS, ..DEEP },
        Parameter { name: "expand", shape: TEXTS, ..DEEP },
        Parameter { name: "metadata", shape: ValueShape::Map(&[], ScalarType::Text), ..DEEP },
    ];
    for value in [
        "{}",
        r#"{"items":[],"expand":[],"metadata":{}}"#,
        r#"{"items":[{}],"expand":[""],"metadata":{"a":""}}"#,
        r#"{"items":[{"price":"p"}],"expand":["a","b"],"other":"x"}"#,
    ] {
        let Json::Object(members) = json(value) else { panic!("no object") };
        let pairs =
            members.iter().flat_map(|(name, value)| encode::write_field(FIELDS, name, value).unwrap());
        let body: Vec<String> = pairs.map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(read_form(FIELDS, ScalarType::Text, &body.join("&")), Some(json(value)), "{body:?}");
    }
}

/// A random generator of shapes and values.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        let at = self.below(all.len() as u64);
        all[usize::try_from(at).unwrap()]
    }

    fn text(&mut self) -> String {
        let texts = [
            "", "a", "a,b", "[x]", "[]", "[1]", "[1", "2]", "é 漢", "a&b=c", "+%2B", "7", "true", "{", "null",
        ];
        self.pick(&texts).to_owned()
    }

    fn scalar(&mut self) -> ScalarType {
        self.pick(&[ScalarType::Text, ScalarType::Integer(None), ScalarType::Number, ScalarType::Boolean])
    }

    fn list(&mut self, depth: u64) -> ValueShape {
        if depth == 0 || self.below(2) == 0 {
            return ValueShape::Array(self.scalar());
        }
        let element = self.shape(depth - 1);
        match element {
            ValueShape::Scalar(scalar) => ValueShape::Array(scalar),
            element => ValueShape::List(Box::leak(Box::new(element))),
        }
    }

    fn object(&mut self, depth: u64) -> ValueShape {
        let names = ["a", "b c", "0", "é%5B&"];
        let fields: Vec<(&'static str, ValueShape)> = names
            .into_iter()
            .take(self.below(4) as usize)
            .map(|name| (name, self.shape(depth - 1)))
            .collect();
        let fields = fields.leak();
        match self.below(3) {
            0 => ValueShape::Object(fields),
            1 => ValueShape::Map(fields, self.scalar()),
            _ => ValueShape::MapOf(fields, Box::leak(Box::new(self.shape(depth - 1)))),
        }
    }

    fn shape(&mut self, depth: u64) -> ValueShape {
        match self.below(if depth == 0 { 2 } else { 5 }) {
            0 => ValueShape::Scalar(self.scalar()),
            1 => self.list(depth),
            2 | 3 => self.object(depth),
            _ => {
                let mut shapes = vec![ValueShape::Scalar(self.scalar())];
                if self.below(2) == 0 {
                    shapes.push(self.list(depth - 1));
                }
                if shapes.len() == 1 || self.below(2) == 0 {
                    shapes.push(self.object(depth));
                }
                ValueShape::OneOf(shapes.leak())
            }
        }
    }

    fn scalar_value(&mut self, scalar: ScalarType) -> Json {
        match scalar {
            ScalarType::Text => Json::String(self.text()),
            ScalarType::Boolean => Json::Bool(self.below(2) == 0),
            ScalarType::Number => Json::Number(Number::from_literal("-1.50")),
            _ => json(&self.below(100).to_string()),
        }
    }

    fn value(&mut self, shape: ValueShape) -> Json {
        let count = self.below(4);
        match shape {
            ValueShape::Scalar(scalar) => self.scalar_value(scalar),
            ValueShape::Array(_) | ValueShape::List(_) => {
                Json::Array((0..count).map(|_| self.value(shape.element())).collect())
            }
            ValueShape::OneOf(shapes) => {
                let shape = self.pick(shapes);
                match self.value(shape) {
                    // A list of one element may decode as that element.
                    Json::Array(items) if items.len() == 1 => {
                        Json::Array(vec![items[0].clone(), items[0].clone()])
                    }
                    value => value,
                }
            }
            _ => {
                let mut members = Map::new();
                for name in ["a", "b c", "0", "é%5B&", "other", "[]", "x y"] {
                    let Some(member) = shape.member(name) else { continue };
                    match self.below(8) {
                        0 => drop(members.insert(name.to_owned(), Json::Null)),
                        1..4 => drop(members.insert(name.to_owned(), self.value(member))),
                        _ => {}
                    }
                }
                Json::Object(members)
            }
        }
    }
}

/// Removes members that are `null`, because these are not sent.
fn without_nulls(value: &Json) -> Json {
    match value {
        Json::Array(items) => Json::Array(items.iter().map(without_nulls).collect()),
        Json::Object(members) => {
            let present = members.iter().filter(|(_, value)| !value.is_null());
            Json::Object(present.map(|(name, value)| (name.to_owned(), without_nulls(value))).collect())
        }
        other => other.clone(),
    }
}

/// Replaces nested shapes below the outermost value by JSON, as the generator does for `nested = "json"`.
fn with_json_below(shape: ValueShape, outermost: bool) -> ValueShape {
    match shape {
        ValueShape::Scalar(_) => shape,
        ValueShape::Array(_) if outermost => shape,
        ValueShape::List(_) if outermost => ValueShape::Array(ScalarType::Json),
        ValueShape::Array(_) => shape,
        ValueShape::Object(fields) | ValueShape::Map(fields, _) | ValueShape::MapOf(fields, _)
            if outermost =>
        {
            let fields: Vec<(&'static str, ValueShape)> =
                fields.iter().map(|(name, shape)| (*name, with_json_below(*shape, false))).collect();
            match shape {
                ValueShape::Map(_, others) => ValueShape::Map(fields.leak(), others),
                ValueShape::MapOf(_, others) => match with_json_below(*others, false) {
                    ValueShape::Scalar(scalar) => ValueShape::Map(fields.leak(), scalar),
                    _ => ValueShape::Map(fields.leak(), ScalarType::Json),
                },
                _ => ValueShape::Object(fields.leak()),
            }
        }
        ValueShape::OneOf(shapes) if outermost => ValueShape::OneOf(
            shapes.iter().map(|shape| with_json_below(*shape, true)).collect::<Vec<_>>().leak(),
        ),
        _ => ValueShape::Json,
    }
}

/// Returns true if the value contains untyped JSON with a string that looks like another scalar, and would
/// therefore be decoded as a different type. In a contract, the schema resolves this ambiguity.
fn has_untyped_text(shape: ValueShape, value: &Json) -> bool {
    match value {
        Json::Array(items) => items.iter().any(|item| has_untyped_text(shape.element(), item)),
        Json::Object(members) => members
            .iter()
            .any(|(name, value)| has_untyped_text(shape.member(name).unwrap_or(ValueShape::Json), value)),
        Json::String(_) => shape.is_untyped(),
        _ => false,
    }
}

#[test]
fn random_values_round_trip_under_every_convention() {
    let mut random = Random(7);
    let (mut carried, mut tried) = (0, 0);
    for _ in 0..3_000 {
        let typed = random.shape(3);
        let value = random.value(typed);
        for wire in conventions() {
            let shape =
                if wire.nested == NestedNotation::Json { with_json_below(typed, true) } else { typed };
            if has_untyped_text(shape, &value) {
                continue;
            }
            tried += 1;
            let row = row(wire, shape);
            let Ok(query) = sent(&row, &value) else { continue };
            carried += 1;
            let found = read(&row, &query).map(|found| without_nulls(&found));
            assert_eq!(found, Some(without_nulls(&value)), "{wire:?} {shape:?} {value} {}", shown(&query));
        }
    }
    assert!(carried * 10 > tried * 7, "{carried} of {tried}");
}

/// Reading takes linear time: with quadratic time, the test would take minutes.
#[test]
fn reading_many_pairs_takes_linear_time() {
    const COUNT: usize = 100_000;
    const LIMIT: Duration = Duration::from_secs(20);
    let row = |shape| Parameter { name: "x", ..row(WireConvention::DEEP_OBJECT, shape) };
    let check = |shape, pair: &dyn Fn(usize) -> String, expect: &dyn Fn(&Json) -> usize| {
        let query = (0..COUNT).map(pair).collect::<Vec<_>>().join("&");
        let start = Instant::now();
        let found = read(&row(shape), &query).unwrap();
        assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
        assert_eq!(expect(&found), COUNT);
    };
    let elements = |list: &Json| match list {
        Json::Array(items) => items.len(),
        _ => 0,
    };
    let members = |object: &Json| match object {
        Json::Object(members) => members.len(),
        _ => 0,
    };
    let members_of_first = |list: &Json| match list {
        Json::Array(items) => items.first().map_or(0, members),
        _ => 0,
    };
    check(ITEMS, &|at| format!("x[][k{at}]=1"), &members_of_first);
    check(ITEMS, &|at| format!("x[{at}][k]=1"), &elements);
    check(ITEMS, &|_| "x[][k]=1".to_owned(), &elements);
    check(ValueShape::Map(&[], ScalarType::Text), &|at| format!("x[k{at}]=1"), &members);
}

/// A path with more steps than the maximum nesting of documents is rejected.
#[test]
fn deep_paths_are_rejected() {
    let row = Parameter { name: "x", ..row(WireConvention::DEEP_OBJECT, ITEMS) };
    let is_accepted = |steps: usize| {
        let query = format!("x[0]{}=1", "[a]".repeat(steps - 1));
        let pairs = QueryPairs::parse(&query).unwrap();
        let (parts, ()) = http::Request::get("/").body(()).unwrap().into_parts();
        let reader = ParameterReader { template: "/", parameters: &[row], parts: &parts, query: &pairs };
        reader.read_all().is_ok()
    };
    assert!(is_accepted(depth::DEFAULT_DEPTH - 1));
    assert!(!is_accepted(depth::DEFAULT_DEPTH));
}

//! A model of generated types: their declarations, their serde attributes and the checks in their
//! conversions. Written against the output of typify 0.8; an unrecognized type becomes [`Type::Unknown`].

use std::collections::HashMap;

use contract_runtime::format::StringFormat;
use serde_json::Value;
use syn::{
    Attribute, Expr, ExprBinary, ExprCall, ExprMacro, ExprMethodCall, Fields, GenericArgument, Item,
    ItemImpl, Lit, PathArguments, visit, visit::Visit,
};

/// Declared types by name.
#[derive(Debug, Default)]
pub(super) struct Types(HashMap<String, Declared>);

/// The type of a field.
#[derive(Debug)]
pub(super) enum Type {
    Json,
    Bool,
    Text,
    /// A machine integer, with its minimum and maximum.
    Int(i128, i128),
    Float,
    Unit,
    /// A string in a format that a library parses.
    Formatted(StringFormat),
    /// A string that is an IPv4 or IPv6 address.
    Address,
    Option(Box<Self>),
    List(Box<Self>),
    /// A fixed number of elements, each of its own type.
    Tuple(Vec<Self>),
    Array(Box<Self>, usize),
    Map(Box<Self>, Box<Self>),
    Named(String),
    /// An unrecognized type, which accepts no value.
    Unknown,
}

/// A type declaration.
#[derive(Debug)]
pub(super) enum Declared {
    Record(Record),
    Enum(Tagging, Vec<Variant>),
    Newtype(Type, Vec<Rule>),
}

/// A struct or a struct-like enum variant.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) fields: Vec<Field>,
    /// Rejects undeclared properties.
    pub(super) closed: bool,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) wire: String,
    pub(super) ty: Type,
    /// Treatment of an absent property.
    pub(super) absent: Absent,
    /// Omits empty values when serializing.
    pub(super) skips_empty: bool,
    /// Collects the properties without a field of their own.
    pub(super) rest: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absent {
    Refused,
    /// The empty value of the type.
    Empty,
    /// `None`, for properties only: an array element must be present.
    Null,
    /// A default value from the contract.
    Given,
}

#[derive(Debug)]
pub(super) enum Tagging {
    External,
    Internal(String),
    Adjacent(String, String),
    Untagged,
}

#[derive(Debug)]
pub(super) struct Variant {
    pub(super) wire: String,
    pub(super) holds: Holds,
}

#[derive(Debug)]
pub(super) enum Holds {
    Nothing,
    One(Type),
    Several(Vec<Type>),
    Record(Record),
}

/// A check in a conversion.
#[derive(Debug)]
pub(super) enum Rule {
    /// Maximum length in code points.
    Longest(usize),
    /// Minimum length in code points.
    Shortest(usize),
    Pattern(Box<regress::Regex>),
    /// One of these values.
    Listed(Vec<Value>),
    /// None of these values.
    Excluded(Vec<Value>),
}

impl Types {
    /// Parses the declarations in generated code.
    ///
    /// # Errors
    /// Returns an error if the code is not valid Rust.
    pub(super) fn of(code: &str) -> Result<Self, String> {
        let file: syn::File =
            syn::parse_str(code).map_err(|error| format!("its output is no Rust: {error}"))?;
        let mut checks = HashMap::new();
        for block in file.items.iter().filter_map(|item| match item {
            Item::Impl(block) => Some(block),
            _ => None,
        }) {
            if let Some((name, rules)) = conversion(block) {
                checks.entry(name).or_insert_with(Vec::new).extend(rules);
            }
        }
        let mut types = HashMap::new();
        for item in &file.items {
            match item {
                Item::Struct(declared) => {
                    let name = declared.ident.to_string();
                    let serde = Serde::of(&declared.attrs);
                    // A type with derived deserialization has no further checks.
                    let rules = if derives_reading(&declared.attrs) { None } else { checks.remove(&name) };
                    types.insert(name, structure(&declared.fields, &serde, rules.unwrap_or_default()));
                }
                Item::Enum(declared) => {
                    let serde = Serde::of(&declared.attrs);
                    let variants = declared.variants.iter().map(|each| variant(each, &serde)).collect();
                    types.insert(declared.ident.to_string(), Declared::Enum(serde.tagging(), variants));
                }
                _ => {}
            }
        }
        Ok(Self(types))
    }

    pub(super) fn get(&self, name: &str) -> Option<&Declared> {
        self.0.get(name)
    }
}

fn structure(fields: &Fields, serde: &Serde, rules: Vec<Rule>) -> Declared {
    match fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
            Declared::Newtype(fields.unnamed.first().map_or(Type::Unit, |field| ty(&field.ty)), rules)
        }
        fields => Declared::Record(record(fields, serde.closed)),
    }
}

fn record(fields: &Fields, closed: bool) -> Record {
    let field = |field: &syn::Field| {
        let serde = Serde::of(&field.attrs);
        let name = field.ident.as_ref().map(|name| name.to_string().trim_start_matches("r#").to_owned());
        let ty = ty(&field.ty);
        let absent = match serde.default {
            Some(Some(_)) => Absent::Given,
            Some(None) => Absent::Empty,
            None if matches!(ty, Type::Option(_)) => Absent::Null,
            None => Absent::Refused,
        };
        let (skips_empty, rest) = (serde.skips, serde.flatten);
        Field { wire: serde.rename.or(name).unwrap_or_default(), ty, absent, skips_empty, rest }
    };
    Record { fields: fields.iter().map(field).collect(), closed }
}

fn variant(variant: &syn::Variant, around: &Serde) -> Variant {
    let serde = Serde::of(&variant.attrs);
    let holds = match &variant.fields {
        Fields::Unit => Holds::Nothing,
        Fields::Unnamed(fields) => {
            let mut all: Vec<Type> = fields.unnamed.iter().map(|field| ty(&field.ty)).collect();
            match (all.pop(), all.is_empty()) {
                (Some(one), true) => Holds::One(one),
                (last, _) => Holds::Several(all.into_iter().chain(last).collect()),
            }
        }
        fields => Holds::Record(record(fields, around.closed || serde.closed)),
    };
    let wire = serde.rename.unwrap_or_else(|| variant.ident.to_string());
    Variant { wire, holds }
}

fn ty(of: &syn::Type) -> Type {
    match of {
        syn::Type::Path(path) => named(&path.path),
        syn::Type::Tuple(tuple) if tuple.elems.is_empty() => Type::Unit,
        syn::Type::Tuple(tuple) => Type::Tuple(tuple.elems.iter().map(ty).collect()),
        syn::Type::Array(array) => match literal(&array.len).as_ref().and_then(Value::as_u64) {
            Some(count) => Type::Array(Box::new(ty(&array.elem)), usize::try_from(count).unwrap_or(0)),
            None => Type::Unknown,
        },
        _ => Type::Unknown,
    }
}

fn named(path: &syn::Path) -> Type {
    let Some(last) = path.segments.last() else { return Type::Unknown };
    let mut inside = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => arguments
            .args
            .iter()
            .filter_map(|argument| match argument {
                GenericArgument::Type(inside) => Some(ty(inside)),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    let name = last.ident.to_string();
    let first = (!inside.is_empty()).then(|| Box::new(inside.remove(0)));
    match (name.as_str(), first) {
        ("bool", _) => Type::Bool,
        ("String", _) => Type::Text,
        ("Value", _) => Type::Json,
        ("f64" | "f32", _) => Type::Float,
        ("i8", _) => Type::Int(i8::MIN.into(), i8::MAX.into()),
        ("i16", _) => Type::Int(i16::MIN.into(), i16::MAX.into()),
        ("i32", _) => Type::Int(i32::MIN.into(), i32::MAX.into()),
        ("i64", _) => Type::Int(i64::MIN.into(), i64::MAX.into()),
        ("u8", _) => Type::Int(0, u8::MAX.into()),
        ("u16", _) => Type::Int(0, u16::MAX.into()),
        ("u32", _) => Type::Int(0, u32::MAX.into()),
        ("u64", _) => Type::Int(0, u64::MAX.into()),
        ("NonZeroU8", _) => Type::Int(1, u8::MAX.into()),
        ("NonZeroU16", _) => Type::Int(1, u16::MAX.into()),
        ("NonZeroU32", _) => Type::Int(1, u32::MAX.into()),
        ("NonZeroU64", _) => Type::Int(1, u64::MAX.into()),
        ("Uuid", _) => Type::Formatted(StringFormat::Uuid),
        ("DateTime", _) => Type::Formatted(StringFormat::DateTime),
        ("NaiveDate", _) => Type::Formatted(StringFormat::Date),
        ("Ipv4Addr", _) => Type::Formatted(StringFormat::Ipv4),
        ("Ipv6Addr", _) => Type::Formatted(StringFormat::Ipv6),
        ("IpAddr", _) => Type::Address,
        ("Option", Some(inner)) => Type::Option(inner),
        ("Vec", Some(inner)) => Type::List(inner),
        ("Box", Some(inner)) => *inner,
        ("HashMap" | "BTreeMap" | "Map", Some(key)) => {
            Type::Map(key, Box::new(inside.pop().unwrap_or(Type::Json)))
        }
        (_, None) if path.segments.len() == 1 => Type::Named(name),
        _ => Type::Unknown,
    }
}

/// The serde attributes of an item.
#[derive(Debug, Default)]
struct Serde {
    rename: Option<String>,
    tag: Option<String>,
    content: Option<String>,
    untagged: bool,
    closed: bool,
    flatten: bool,
    skips: bool,
    /// The default, with the function that returns it, if any.
    default: Option<Option<String>>,
}

impl Serde {
    fn of(attributes: &[Attribute]) -> Self {
        let mut serde = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            // An unrecognized attribute has no effect on values.
            let _ = attribute.parse_nested_meta(|meta| {
                let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                let text = match meta.value() {
                    Ok(value) => Some(value.parse::<syn::LitStr>()?.value()),
                    Err(_) => None,
                };
                match name.as_str() {
                    "rename" => serde.rename = text,
                    "tag" => serde.tag = text,
                    "content" => serde.content = text,
                    "untagged" => serde.untagged = true,
                    "deny_unknown_fields" => serde.closed = true,
                    "flatten" => serde.flatten = true,
                    "skip_serializing_if" => serde.skips = true,
                    "default" => serde.default = Some(text),
                    _ => {}
                }
                Ok(())
            });
        }
        serde
    }

    fn tagging(&self) -> Tagging {
        match (&self.tag, &self.content) {
            _ if self.untagged => Tagging::Untagged,
            (Some(tag), Some(content)) => Tagging::Adjacent(tag.clone(), content.clone()),
            (Some(tag), None) => Tagging::Internal(tag.clone()),
            (None, _) => Tagging::External,
        }
    }
}

fn derives_reading(attributes: &[Attribute]) -> bool {
    let mut found = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        let _ = attribute.parse_nested_meta(|meta| {
            found |= meta.path.segments.last().is_some_and(|last| last.ident == "Deserialize");
            Ok(())
        });
    }
    found
}

/// Extracts the checks of a `FromStr` implementation, or of a `TryFrom` implementation that compares the
/// value with a list.
fn conversion(block: &ItemImpl) -> Option<(String, Vec<Rule>)> {
    let (path, _) = block.trait_.as_ref()?;
    let last = path.segments.last()?;
    let syn::Type::Path(own) = &*block.self_ty else { return None };
    if last.ident != "FromStr" && last.ident != "TryFrom" {
        return None;
    }
    let mut reader = Checks::default();
    reader.visit_item_impl(block);
    Some((own.path.segments.last()?.ident.to_string(), reader.rules)).filter(|(_, rules)| !rules.is_empty())
}

#[derive(Default)]
struct Checks {
    rules: Vec<Rule>,
}

impl<'ast> Visit<'ast> for Checks {
    /// `value.chars().count() > 10usize`
    fn visit_expr_binary(&mut self, node: &'ast ExprBinary) {
        let counts = matches!(&*node.left, Expr::MethodCall(call) if call.method == "count");
        let limit = literal(&node.right).as_ref().and_then(Value::as_u64);
        if let Some(limit) = limit.filter(|_| counts).and_then(|limit| usize::try_from(limit).ok()) {
            match node.op {
                syn::BinOp::Gt(_) => self.rules.push(Rule::Longest(limit)),
                syn::BinOp::Lt(_) => self.rules.push(Rule::Shortest(limit)),
                _ => {}
            }
        }
        visit::visit_expr_binary(self, node);
    }

    /// `::regress::Regex::new("…")`
    fn visit_expr_call(&mut self, node: &'ast ExprCall) {
        let is_regex = matches!(&*node.func, Expr::Path(path)
            if path.path.segments.iter().any(|segment| segment.ident == "Regex"));
        if let Some(Value::String(pattern)) = node.args.first().and_then(literal).filter(|_| is_regex)
            && let Ok(pattern) = regress::Regex::new(&pattern)
        {
            self.rules.push(Rule::Pattern(Box::new(pattern)));
        }
        visit::visit_expr_call(self, node);
    }

    /// `if ![…].contains(&value)`
    fn visit_expr_if(&mut self, node: &'ast syn::ExprIf) {
        let (call, listed) = match &*node.cond {
            Expr::Unary(unary) => (&*unary.expr, true),
            other => (other, false),
        };
        if let Expr::MethodCall(call) = call
            && call.method == "contains"
            && let Some(values) = list(&call.receiver)
        {
            self.rules.push(if listed { Rule::Listed(values) } else { Rule::Excluded(values) });
        }
        visit::visit_expr_if(self, node);
    }
}

fn list(of: &Expr) -> Option<Vec<Value>> {
    match of {
        Expr::Array(array) => array.elems.iter().map(literal).collect(),
        Expr::Paren(inner) => list(&inner.expr),
        _ => None,
    }
}

/// Returns a literal, including one inside of `to_string()`, a conversion or a macro.
fn literal(of: &Expr) -> Option<Value> {
    match of {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(Value::String(text.value())),
            Lit::Bool(value) => Some(Value::Bool(value.value())),
            Lit::Int(number) => number.base10_parse::<i64>().ok().map(Value::from),
            Lit::Float(number) => number.base10_parse::<f64>().ok().map(Value::from),
            _ => None,
        },
        Expr::Unary(unary) => match (unary.op, literal(&unary.expr)?) {
            (syn::UnOp::Neg(_), Value::Number(number)) => match number.as_i64() {
                Some(whole) => Some(Value::from(-whole)),
                None => number.as_f64().map(|value| Value::from(-value)),
            },
            _ => None,
        },
        Expr::MethodCall(ExprMethodCall { receiver, .. }) => literal(receiver),
        Expr::Call(call) if call.args.len() == 1 => literal(call.args.first()?),
        Expr::Macro(ExprMacro { mac, .. }) => mac.parse_body::<Expr>().ok().and_then(|inner| literal(&inner)),
        Expr::Paren(inner) => literal(&inner.expr),
        Expr::Group(inner) => literal(&inner.expr),
        _ => None,
    }
}

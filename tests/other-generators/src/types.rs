//! A model of generated types: their declarations, their serde attributes and the checks in their
//! conversions. Written against the output of typify 0.8; an unrecognized type becomes [`FieldType::Unknown`].

use std::collections::HashMap;

use contract_runtime::format::StringFormat;
use serde_json::Value;
use syn::{
    Attribute, Expr, ExprBinary, ExprCall, ExprMacro, ExprMethodCall, Fields, GenericArgument, Item,
    ItemImpl, Lit, PathArguments, visit, visit::Visit,
};

/// The type declarations of generated code, by name.
#[derive(Debug, Default)]
pub(super) struct TypeModel(HashMap<String, TypeDeclaration>);

/// The type of a field.
#[derive(Debug)]
pub(super) enum FieldType {
    Json,
    Bool,
    String,
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
pub(super) enum TypeDeclaration {
    Record(RecordType),
    Enum(EnumTagging, Vec<EnumVariant>),
    Newtype(FieldType, Vec<ValueCheck>),
}

/// A struct or a struct-like enum variant.
#[derive(Debug)]
pub(super) struct RecordType {
    pub(super) fields: Vec<RecordField>,
    /// Rejects undeclared properties.
    pub(super) closed: bool,
}

#[derive(Debug)]
pub(super) struct RecordField {
    pub(super) wire: String,
    pub(super) ty: FieldType,
    pub(super) absent: AbsentField,
    /// Omits empty values when serializing.
    pub(super) skips_empty: bool,
    /// Collects the properties for which the struct has no other field.
    pub(super) rest: bool,
}

/// The treatment of an absent property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AbsentField {
    Rejected,
    /// The empty value of the type.
    Empty,
    /// `None`. This applies only to properties; an element of an array must be present.
    Null,
    /// A default value from the contract.
    DefaultValue,
}

#[derive(Debug)]
pub(super) enum EnumTagging {
    External,
    Internal(String),
    Adjacent(String, String),
    Untagged,
}

#[derive(Debug)]
pub(super) struct EnumVariant {
    pub(super) wire: String,
    pub(super) content: VariantContent,
}

#[derive(Debug)]
pub(super) enum VariantContent {
    Unit,
    Single(FieldType),
    Tuple(Vec<FieldType>),
    Record(RecordType),
}

/// A check that a generated `TryFrom` or `FromStr` implementation performs.
#[derive(Debug)]
pub(super) enum ValueCheck {
    /// Maximum length in code points.
    MaxLength(usize),
    /// Minimum length in code points.
    MinLength(usize),
    Pattern(Box<regress::Regex>),
    /// One of these values.
    AllowedValues(Vec<Value>),
    /// None of these values.
    ForbiddenValues(Vec<Value>),
}

impl TypeModel {
    /// Parses the declarations in generated code.
    ///
    /// # Errors
    /// Returns an error if the code is not valid Rust.
    pub(super) fn parse(code: &str) -> Result<Self, String> {
        let file: syn::File =
            syn::parse_str(code).map_err(|error| format!("invalid Rust output: {error}"))?;
        let mut checks = HashMap::new();
        for block in file.items.iter().filter_map(|item| match item {
            Item::Impl(block) => Some(block),
            _ => None,
        }) {
            if let Some((name, found)) = conversion_checks(block) {
                checks.entry(name).or_insert_with(Vec::new).extend(found);
            }
        }
        let mut types = HashMap::new();
        for item in &file.items {
            match item {
                Item::Struct(declared) => {
                    let name = declared.ident.to_string();
                    let serde = SerdeAttributes::parse(&declared.attrs);
                    // A type with derived deserialization has no further checks.
                    let type_checks =
                        if derives_deserialize(&declared.attrs) { None } else { checks.remove(&name) };
                    types.insert(
                        name,
                        parse_struct(&declared.fields, &serde, type_checks.unwrap_or_default()),
                    );
                }
                Item::Enum(declared) => {
                    let serde = SerdeAttributes::parse(&declared.attrs);
                    let variants = declared.variants.iter().map(|item| parse_variant(item, &serde)).collect();
                    types
                        .insert(declared.ident.to_string(), TypeDeclaration::Enum(serde.tagging(), variants));
                }
                _ => {}
            }
        }
        Ok(Self(types))
    }

    pub(super) fn get(&self, name: &str) -> Option<&TypeDeclaration> {
        self.0.get(name)
    }
}

fn parse_struct(fields: &Fields, serde: &SerdeAttributes, checks: Vec<ValueCheck>) -> TypeDeclaration {
    match fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => TypeDeclaration::Newtype(
            fields.unnamed.first().map_or(FieldType::Unit, |field| parse_type(&field.ty)),
            checks,
        ),
        fields => TypeDeclaration::Record(parse_record(fields, serde.closed)),
    }
}

fn parse_record(fields: &Fields, closed: bool) -> RecordType {
    let field = |field: &syn::Field| {
        let serde = SerdeAttributes::parse(&field.attrs);
        let name = field.ident.as_ref().map(|name| name.to_string().trim_start_matches("r#").to_owned());
        let ty = parse_type(&field.ty);
        let absent = match serde.default {
            Some(Some(_)) => AbsentField::DefaultValue,
            Some(None) => AbsentField::Empty,
            None if matches!(ty, FieldType::Option(_)) => AbsentField::Null,
            None => AbsentField::Rejected,
        };
        let (skips_empty, rest) = (serde.skips, serde.flatten);
        RecordField { wire: serde.rename.or(name).unwrap_or_default(), ty, absent, skips_empty, rest }
    };
    RecordType { fields: fields.iter().map(field).collect(), closed }
}

fn parse_variant(variant: &syn::Variant, enum_attributes: &SerdeAttributes) -> EnumVariant {
    let serde = SerdeAttributes::parse(&variant.attrs);
    let content = match &variant.fields {
        Fields::Unit => VariantContent::Unit,
        Fields::Unnamed(fields) => {
            let mut types: Vec<FieldType> =
                fields.unnamed.iter().map(|field| parse_type(&field.ty)).collect();
            match (types.pop(), types.is_empty()) {
                (Some(one), true) => VariantContent::Single(one),
                (last, _) => VariantContent::Tuple(types.into_iter().chain(last).collect()),
            }
        }
        fields => VariantContent::Record(parse_record(fields, enum_attributes.closed || serde.closed)),
    };
    let wire = serde.rename.unwrap_or_else(|| variant.ident.to_string());
    EnumVariant { wire, content }
}

fn parse_type(source: &syn::Type) -> FieldType {
    match source {
        syn::Type::Path(path) => parse_path(&path.path),
        syn::Type::Tuple(tuple) if tuple.elems.is_empty() => FieldType::Unit,
        syn::Type::Tuple(tuple) => FieldType::Tuple(tuple.elems.iter().map(parse_type).collect()),
        syn::Type::Array(array) => match literal(&array.len).as_ref().and_then(Value::as_u64) {
            Some(count) => {
                FieldType::Array(Box::new(parse_type(&array.elem)), usize::try_from(count).unwrap_or(0))
            }
            None => FieldType::Unknown,
        },
        _ => FieldType::Unknown,
    }
}

fn parse_path(path: &syn::Path) -> FieldType {
    let Some(last) = path.segments.last() else { return FieldType::Unknown };
    let mut type_arguments = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => arguments
            .args
            .iter()
            .filter_map(|argument| match argument {
                GenericArgument::Type(argument) => Some(parse_type(argument)),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    let name = last.ident.to_string();
    let first = (!type_arguments.is_empty()).then(|| Box::new(type_arguments.remove(0)));
    match (name.as_str(), first) {
        ("bool", _) => FieldType::Bool,
        ("String", _) => FieldType::String,
        ("Value", _) => FieldType::Json,
        ("f64" | "f32", _) => FieldType::Float,
        ("i8", _) => FieldType::Int(i8::MIN.into(), i8::MAX.into()),
        ("i16", _) => FieldType::Int(i16::MIN.into(), i16::MAX.into()),
        ("i32", _) => FieldType::Int(i32::MIN.into(), i32::MAX.into()),
        ("i64", _) => FieldType::Int(i64::MIN.into(), i64::MAX.into()),
        ("u8", _) => FieldType::Int(0, u8::MAX.into()),
        ("u16", _) => FieldType::Int(0, u16::MAX.into()),
        ("u32", _) => FieldType::Int(0, u32::MAX.into()),
        ("u64", _) => FieldType::Int(0, u64::MAX.into()),
        ("NonZeroU8", _) => FieldType::Int(1, u8::MAX.into()),
        ("NonZeroU16", _) => FieldType::Int(1, u16::MAX.into()),
        ("NonZeroU32", _) => FieldType::Int(1, u32::MAX.into()),
        ("NonZeroU64", _) => FieldType::Int(1, u64::MAX.into()),
        ("Uuid", _) => FieldType::Formatted(StringFormat::Uuid),
        ("DateTime", _) => FieldType::Formatted(StringFormat::DateTime),
        ("NaiveDate", _) => FieldType::Formatted(StringFormat::Date),
        ("Ipv4Addr", _) => FieldType::Formatted(StringFormat::Ipv4),
        ("Ipv6Addr", _) => FieldType::Formatted(StringFormat::Ipv6),
        ("IpAddr", _) => FieldType::Address,
        ("Option", Some(inner)) => FieldType::Option(inner),
        ("Vec", Some(inner)) => FieldType::List(inner),
        ("Box", Some(inner)) => *inner,
        ("HashMap" | "BTreeMap" | "Map", Some(key)) => {
            FieldType::Map(key, Box::new(type_arguments.pop().unwrap_or(FieldType::Json)))
        }
        (_, None) if path.segments.len() == 1 => FieldType::Named(name),
        _ => FieldType::Unknown,
    }
}

/// The serde attributes of an item that affect its JSON form.
#[derive(Debug, Default)]
struct SerdeAttributes {
    rename: Option<String>,
    tag: Option<String>,
    content: Option<String>,
    untagged: bool,
    closed: bool,
    flatten: bool,
    skips: bool,
    /// The attribute `default`, with its function: `Some(None)` if it names no function, `None` if there is
    /// no such attribute.
    default: Option<Option<String>>,
}

impl SerdeAttributes {
    fn parse(attributes: &[Attribute]) -> Self {
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

    fn tagging(&self) -> EnumTagging {
        match (&self.tag, &self.content) {
            _ if self.untagged => EnumTagging::Untagged,
            (Some(tag), Some(content)) => EnumTagging::Adjacent(tag.clone(), content.clone()),
            (Some(tag), None) => EnumTagging::Internal(tag.clone()),
            (None, _) => EnumTagging::External,
        }
    }
}

fn derives_deserialize(attributes: &[Attribute]) -> bool {
    let mut is_derived = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        let _ = attribute.parse_nested_meta(|meta| {
            is_derived |= meta.path.segments.last().is_some_and(|last| last.ident == "Deserialize");
            Ok(())
        });
    }
    is_derived
}

/// Extracts the checks of a `FromStr` implementation, or of a `TryFrom` implementation that compares the
/// value with a list.
fn conversion_checks(block: &ItemImpl) -> Option<(String, Vec<ValueCheck>)> {
    let (path, _) = block.trait_.as_ref()?;
    let last = path.segments.last()?;
    let syn::Type::Path(self_type) = &*block.self_ty else { return None };
    if last.ident != "FromStr" && last.ident != "TryFrom" {
        return None;
    }
    let mut collector = CheckCollector::default();
    collector.visit_item_impl(block);
    Some((self_type.path.segments.last()?.ident.to_string(), collector.checks))
        .filter(|(_, checks)| !checks.is_empty())
}

#[derive(Default)]
struct CheckCollector {
    checks: Vec<ValueCheck>,
}

impl<'ast> Visit<'ast> for CheckCollector {
    /// `value.chars().count() > 10usize`
    fn visit_expr_binary(&mut self, node: &'ast ExprBinary) {
        let is_count = matches!(&*node.left, Expr::MethodCall(call) if call.method == "count");
        let limit = literal(&node.right).as_ref().and_then(Value::as_u64);
        if let Some(limit) = limit.filter(|_| is_count).and_then(|limit| usize::try_from(limit).ok()) {
            match node.op {
                syn::BinOp::Gt(_) => self.checks.push(ValueCheck::MaxLength(limit)),
                syn::BinOp::Lt(_) => self.checks.push(ValueCheck::MinLength(limit)),
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
            self.checks.push(ValueCheck::Pattern(Box::new(pattern)));
        }
        visit::visit_expr_call(self, node);
    }

    /// `if ![…].contains(&value)`
    fn visit_expr_if(&mut self, node: &'ast syn::ExprIf) {
        let (call, is_allow_list) = match &*node.cond {
            Expr::Unary(unary) => (&*unary.expr, true),
            other => (other, false),
        };
        if let Expr::MethodCall(call) = call
            && call.method == "contains"
            && let Some(values) = literal_list(&call.receiver)
        {
            self.checks.push(if is_allow_list {
                ValueCheck::AllowedValues(values)
            } else {
                ValueCheck::ForbiddenValues(values)
            });
        }
        visit::visit_expr_if(self, node);
    }
}

fn literal_list(source: &Expr) -> Option<Vec<Value>> {
    match source {
        Expr::Array(array) => array.elems.iter().map(literal).collect(),
        Expr::Paren(inner) => literal_list(&inner.expr),
        _ => None,
    }
}

/// Returns the value of a literal, including one inside of `to_string()`, a conversion or a macro.
fn literal(source: &Expr) -> Option<Value> {
    match source {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(Value::String(text.value())),
            Lit::Bool(value) => Some(Value::Bool(value.value())),
            Lit::Int(number) => number.base10_parse::<i64>().ok().map(Value::from),
            Lit::Float(number) => number.base10_parse::<f64>().ok().map(Value::from),
            _ => None,
        },
        Expr::Unary(unary) => match (unary.op, literal(&unary.expr)?) {
            (syn::UnOp::Neg(_), Value::Number(number)) => match number.as_i64() {
                Some(integer) => Some(Value::from(-integer)),
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

//! Makes JSON of the text that was found for a parameter.

use std::borrow::Cow;

use super::query::{decode, decode_percent};
use super::read::read_form;
use super::split::{elements, members, value};
use super::{Location, Parameter, Query, Scalar, Shape, Style};
use crate::{Json, Map, depth};

/// A text that cannot be read as its style wants.
pub(super) struct Unreadable;

/// `None`: it is not there.
pub(super) type Found = Result<Option<Json>, Unreadable>;

/// One way of reading a text that can be read in several.
#[derive(Clone, Copy)]
pub(super) struct Attempt {
    /// Never [`Shape::OneOf`].
    pub(super) shape: Shape,
    /// Whether scalars of several types are read as strings, whatever they look like.
    text: bool,
    /// Whether a list is among the other shapes, so that a separator means one.
    or_list: bool,
}

type Decode = fn(&str) -> Option<Cow<'_, str>>;

/// Headers are taken as they stand.
fn plain(raw: &str) -> Option<Cow<'_, str>> {
    Some(Cow::Borrowed(raw.trim()))
}

impl Parameter {
    /// The ways of reading it, the likelier first. One for most.
    pub(super) fn attempts(&self) -> impl Iterator<Item = Attempt> + use<> {
        let alone = [self.shape];
        let shapes = match self.shape {
            Shape::OneOf(shapes) => shapes.to_vec(),
            _ => alone.to_vec(),
        };
        let or_list = shapes.len() > 1 && shapes.iter().any(|shape| matches!(shape, Shape::Array(_)));
        shapes.into_iter().flat_map(move |shape| {
            let texts: &[bool] = if is_mixed(shape) { &[false, true] } else { &[false] };
            texts.iter().map(move |&text| Attempt { shape, text, or_list })
        })
    }

    const fn decode(&self) -> Decode {
        match (self.location, self.style) {
            (Location::Header, _) | (_, Style::Cookie) => plain,
            (Location::Path | Location::Cookie | Location::QueryString, _) => decode_percent,
            (Location::Query, _) => decode,
        }
    }
}

/// Whether a scalar of the shape may be one of several types.
fn is_mixed(shape: Shape) -> bool {
    let mixed = |scalar| matches!(scalar, Scalar::Any | Scalar::Of(_));
    match shape {
        Shape::Scalar(scalar) | Shape::Array(scalar) => mixed(scalar),
        Shape::Object(members) => {
            members.iter().any(|(_, shape)| matches!(shape, Shape::Json) || is_mixed(*shape))
        }
        Shape::Map(members, others) => {
            mixed(others) || others == Scalar::Json || is_mixed(Shape::Object(members))
        }
        Shape::OneOf(_) | Shape::Json | Shape::Form(..) => false,
    }
}

impl Attempt {
    /// Reads it from the pairs of a query, a form or cookies. `claimed` are names that belong
    /// to other parameters.
    pub(super) fn in_pairs(
        self,
        parameter: &Parameter,
        pairs: &Query<'_>,
        claimed: &dyn Fn(&str) -> bool,
    ) -> Found {
        let decode = parameter.decode();
        match (self.shape, parameter.style) {
            (Shape::Object(fields), Style::DeepObject) => {
                self.deep(fields, Scalar::Text, pairs.pairs(), parameter.name)
            }
            (Shape::Map(fields, others), Style::DeepObject) => {
                self.deep(fields, others, pairs.pairs(), parameter.name)
            }
            (Shape::Object(fields), _) if parameter.explode => {
                let declared = |name: &str| fields.iter().any(|(field, _)| *field == name);
                let own = pairs.pairs().filter(|(name, _)| declared(name));
                present(self.object(fields, Scalar::Text, own, decode, true)?)
            }
            (Shape::Map(fields, others), _) if parameter.explode => {
                let declared = |name: &str| fields.iter().any(|(field, _)| *field == name);
                let own = pairs.pairs().filter(|(name, _)| declared(name) || !claimed(name));
                present(self.object(fields, others, own, decode, true)?)
            }
            (Shape::Array(scalar), _) if parameter.explode => {
                let mut values = pairs.values(parameter.name).peekable();
                if values.peek().is_none() {
                    return Ok(None);
                }
                self.list(scalar, values, decode).map(Some)
            }
            // What may be anything is a list where its name is repeated.
            (Shape::Scalar(scalar @ Scalar::Any), _)
                if parameter.explode && pairs.values(parameter.name).nth(1).is_some() =>
            {
                self.list(scalar, pairs.values(parameter.name), decode).map(Some)
            }
            _ => {
                let mut values = pairs.values(parameter.name);
                match (values.next(), values.next()) {
                    (None, _) => Ok(None),
                    (Some(raw), None) => self.one_piece(parameter, raw).map(Some),
                    // Which of the two is meant nobody can know.
                    (Some(_), Some(_)) => Err(Unreadable),
                }
            }
        }
    }

    /// Reads it from a whole query.
    pub(super) fn whole(self, raw: &str) -> Found {
        if raw.is_empty() {
            return Ok(None);
        }
        let found = match self.shape {
            Shape::Form(fields, others) => read_form(fields, others, raw).ok_or(Unreadable),
            Shape::Json => json(&decode_percent(raw).ok_or(Unreadable)?),
            Shape::Scalar(scalar) => self.scalar(scalar, raw, decode_percent),
            Shape::Array(_) | Shape::Object(_) | Shape::Map(..) | Shape::OneOf(_) => Err(Unreadable),
        };
        found.map(Some)
    }

    /// Reads it from one text.
    pub(super) fn one_piece(self, parameter: &Parameter, raw: &str) -> Result<Json, Unreadable> {
        let decode = parameter.decode();
        match self.shape {
            Shape::Scalar(scalar) => {
                let raw = value(raw, parameter).ok_or(Unreadable)?;
                if self.or_list && separates(parameter, raw) {
                    return Err(Unreadable);
                }
                self.scalar(scalar, raw, decode)
            }
            Shape::Array(scalar) => {
                let items = elements(raw, parameter).ok_or(Unreadable)?;
                self.list(scalar, items.into_iter(), decode)
            }
            Shape::Object(fields) => {
                let pairs = members(raw, parameter).ok_or(Unreadable)?;
                self.object(fields, Scalar::Text, pairs.into_iter(), decode, false).map(Json::Object)
            }
            Shape::Map(fields, others) => {
                let pairs = members(raw, parameter).ok_or(Unreadable)?;
                self.object(fields, others, pairs.into_iter(), decode, false).map(Json::Object)
            }
            Shape::OneOf(_) | Shape::Form(..) => Err(Unreadable),
            Shape::Json => json(&decode(value(raw, parameter).ok_or(Unreadable)?).ok_or(Unreadable)?),
        }
    }

    fn list<'a>(
        self,
        scalar: Scalar,
        items: impl Iterator<Item = &'a str>,
        decode: Decode,
    ) -> Result<Json, Unreadable> {
        items.map(|item| self.inner(scalar, item, decode)).collect::<Result<_, _>>().map(Json::Array)
    }

    /// `decoded`: the names are, values never.
    fn object<'a>(
        self,
        fields: &[(&'static str, Shape)],
        others: Scalar,
        pairs: impl Iterator<Item = (&'a str, &'a str)>,
        decode: Decode,
        decoded: bool,
    ) -> Result<Map<Json>, Unreadable> {
        let mut object = Map::new();
        for (name, raw) in pairs {
            let name = if decoded { Cow::Borrowed(name) } else { decode(name).ok_or(Unreadable)? };
            let shape = shape_of(fields, others, &name);
            let scalar = match shape {
                Shape::Scalar(scalar) => scalar,
                _ => Scalar::Json,
            };
            let value = self.inner(scalar, raw, decode)?;
            add(&mut object, &name, value, decoded && may_repeat(fields, shape, &name))?;
        }
        Ok(object)
    }

    /// `name[a]=1`, `name[a][b]=2`, `name[c]=3&name[c]=4`.
    fn deep<'a>(
        self,
        fields: &'static [(&'static str, Shape)],
        others: Scalar,
        pairs: impl Iterator<Item = (&'a str, &'a str)>,
        name: &str,
    ) -> Found {
        let mut object = Map::new();
        for (key, raw) in pairs {
            let Some(path) = key.strip_prefix(name).filter(|path| path.starts_with('[')) else { continue };
            let steps: Option<Vec<&str>> =
                path.split_inclusive(']').map(|step| step.strip_prefix('[')?.strip_suffix(']')).collect();
            let steps = steps.ok_or(Unreadable)?;
            // Each is a level of the value, and the object around them another.
            if steps.len() >= depth::DEFAULT {
                return Err(Unreadable);
            }
            self.put(&mut object, (fields, others), &steps, raw)?;
        }
        present(object)
    }

    fn put(
        self,
        object: &mut Map<Json>,
        (fields, others): (&'static [(&'static str, Shape)], Scalar),
        steps: &[&str],
        raw: &str,
    ) -> Result<(), Unreadable> {
        let [name, below @ ..] = steps else { return Err(Unreadable) };
        let shape = shape_of(fields, others, name);
        let inner = match shape {
            Shape::Object(fields) => Some((fields, Scalar::Text)),
            Shape::Map(fields, others) => Some((fields, others)),
            _ => None,
        };
        match (shape, below) {
            // `a[]=1` and `a[0]=1` are other spellings of a repeated name.
            (Shape::Array(scalar), []) => self.push(object, name, scalar, raw),
            (Shape::Array(scalar), [index]) if index.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.push(object, name, scalar, raw)
            }
            (Shape::Scalar(scalar), []) => {
                let value = self.inner(scalar, raw, decode)?;
                add(object, name, value, may_repeat(fields, shape, name))
            }
            (_, []) => {
                let value = self.inner(Scalar::Json, raw, decode)?;
                add(object, name, value, may_repeat(fields, shape, name))
            }
            (_, below) => {
                let anything = matches!(shape, Shape::Scalar(Scalar::Any | Scalar::Json) | Shape::Json);
                let inner = inner.unwrap_or((&[], if anything { Scalar::Any } else { Scalar::Text }));
                if !object.contains_key(name) {
                    object.insert((*name).to_owned(), Json::Object(Map::new()));
                }
                match object.get_mut(name) {
                    Some(Json::Object(members)) => self.put(members, inner, below, raw),
                    _ => Err(Unreadable),
                }
            }
        }
    }

    fn push(self, object: &mut Map<Json>, name: &str, scalar: Scalar, raw: &str) -> Result<(), Unreadable> {
        let item = self.scalar(scalar, raw, decode)?;
        match object.get_mut(name) {
            Some(Json::Array(items)) => {
                items.push(item);
                Ok(())
            }
            _ => add(object, name, Json::Array(vec![item]), false),
        }
    }

    /// One value inside of a list or an object, where lists and objects are JSON text. What may be JSON
    /// and is none is a string.
    fn inner(self, scalar: Scalar, raw: &str, decode: Decode) -> Result<Json, Unreadable> {
        let text = decode(raw).ok_or(Unreadable)?;
        let may_be_json = match scalar {
            Scalar::Json => true,
            Scalar::Any => text.starts_with(['[', '{']),
            _ => false,
        };
        if may_be_json
            && !self.text
            && let Ok(value) = json(&text)
        {
            return Ok(value);
        }
        Ok(match scalar {
            Scalar::Text | Scalar::Json => Json::String(text.into_owned()),
            scalar => scalar.value(&text, self.text),
        })
    }

    fn scalar(self, scalar: Scalar, raw: &str, decode: Decode) -> Result<Json, Unreadable> {
        let text = decode(raw).ok_or(Unreadable)?;
        match scalar {
            Scalar::Text => Ok(Json::String(text.into_owned())),
            Scalar::Json => json(&text),
            scalar => Ok(scalar.value(&text, self.text)),
        }
    }
}

/// Whether a text holds a separator of lists that is not encoded.
fn separates(parameter: &Parameter, raw: &str) -> bool {
    match parameter.style {
        Style::Matrix if parameter.explode => raw.contains(';'),
        Style::Label if parameter.explode => false,
        Style::Form | Style::DeepObject if parameter.explode => false,
        _ => raw.contains(','),
    }
}

/// An object without members is not there.
fn present(object: Map<Json>) -> Found {
    Ok((!object.is_empty()).then_some(Json::Object(object)))
}

fn shape_of(fields: &[(&'static str, Shape)], others: Scalar, name: &str) -> Shape {
    let declared = fields.iter().find(|(field, _)| *field == name);
    declared.map_or(Shape::Scalar(others), |(_, shape)| *shape)
}

/// Whether a name that is repeated is a list: of what nobody declared, and of what may be anything.
fn may_repeat(fields: &[(&'static str, Shape)], shape: Shape, name: &str) -> bool {
    matches!(shape, Shape::Scalar(Scalar::Any) | Shape::Json)
        || !fields.iter().any(|(field, _)| *field == name)
}

fn add(object: &mut Map<Json>, name: &str, value: Json, repeats: bool) -> Result<(), Unreadable> {
    match object.get_mut(name) {
        None => drop(object.insert(name.to_owned(), value)),
        Some(_) if !repeats => return Err(Unreadable),
        Some(Json::Array(items)) => items.push(value),
        Some(first) => *first = Json::Array(vec![std::mem::take(first), value]),
    }
    Ok(())
}

fn json(text: &str) -> Result<Json, Unreadable> {
    Json::parse(text.as_bytes()).map_err(|_| Unreadable)
}

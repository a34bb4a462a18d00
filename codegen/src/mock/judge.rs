//! Judges a request by the document: credentials that have to be there, the media type of the body,
//! parameters and body together.

use std::{collections::HashMap, sync::Arc};

use contract_runtime::{
    Json,
    multipart::Field,
    operation::{Format, Operation},
    parameters::Query,
    sequence::{Decoder, Fault},
    server::{self, Bytes, Context, Rejection, media},
    violation::Violations,
};
use http::{StatusCode, header, request::Parts};

use super::{
    Mock,
    refusal::{Broken, Refusal, message},
};
use crate::{
    credentials::Kind,
    explain::{Whereabouts, constraint},
    plan::{Call, Item},
    schema::{SchemaId, Types},
    together::{Conj, Facts},
};

impl Mock {
    /// Refuses what the contract does not take.
    pub(super) fn judge(&self, at: usize, parts: &Arc<Parts>, body: &Bytes) -> Result<(), Refusal> {
        let call = &self.plan.calls[at];
        let (Some(operation), Some(of_body)) = (self.operations.all().get(at), self.bodies.get(at)) else {
            return Ok(());
        };
        self.shown(call, parts)?;
        let missing = body.is_empty() && !parts.headers.contains_key(header::CONTENT_TYPE);
        if let Some(expected) = &operation.body
            && !missing
            && !media::accepts(expected, &parts.headers)
        {
            let known: Vec<&str> = expected.content.iter().map(|content| content.media_type).collect();
            let detail = format!("the body has to be {}", known.join(" or "));
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
                .with(header::ACCEPT, &known.join(", ")));
        }
        let context = |operation| Context::new(Arc::clone(parts), Some(operation), body.clone());
        let mut broken = match server::Call::new(operation, context(operation)) {
            Ok(_) => Vec::new(),
            Err(rejection) => self.of_parameters(call, &rejection),
        };
        broken.extend(self.of_body(call, of_body, context(of_body)));
        if broken.is_empty() {
            return Ok(());
        }
        let detail = match broken.len() {
            1 => "the request breaks a rule of the contract".to_owned(),
            count => format!("the request breaks {count} rules of the contract"),
        };
        Err(Refusal { broken, ..Refusal::new(StatusCode::BAD_REQUEST, detail) })
    }

    /// Whether the request shows what one of the alternatives asks for. Nobody looks what it is worth.
    fn shown(&self, call: &Call<'_>, parts: &Parts) -> Result<(), Refusal> {
        let security = &call.operation.security;
        let met = |scheme: &str| {
            let kind = self.schemes.iter().find(|each| each.name == scheme).map(|each| &each.kind);
            // What nobody declares has nothing that could be seen.
            kind.is_none_or(|kind| is_shown(kind, parts))
        };
        if security.is_empty() || security.iter().any(|all| all.iter().all(|(scheme, _)| met(scheme))) {
            return Ok(());
        }
        let names = |all: &Vec<(String, Vec<String>)>| {
            all.iter().map(|(scheme, _)| format!("`{scheme}`")).collect::<Vec<_>>().join(" with ")
        };
        let asked: Vec<String> = security.iter().map(names).collect();
        let refusal = Refusal::new(
            StatusCode::UNAUTHORIZED,
            format!("the request has to show credentials: {}; any value will do", asked.join(", or ")),
        );
        let mut challenges = security.iter().flatten().filter_map(|(scheme, _)| {
            let kind = &self.schemes.iter().find(|each| each.name == *scheme)?.kind;
            match kind {
                Kind::Basic => Some("Basic realm=\"mock\"".to_owned()),
                Kind::Token { .. } => Some("Bearer".to_owned()),
                Kind::Authorization(word) => Some(word.clone()),
                _ => None,
            }
        });
        Err(match challenges.next() {
            Some(challenge) => refusal.with(header::WWW_AUTHENTICATE, &challenge),
            None => refusal,
        })
    }

    fn of_parameters(&self, call: &Call<'_>, rejection: &Rejection) -> Vec<Broken> {
        let places = Whereabouts::new(self.contract);
        let Rejection::Parameters(faults) = rejection else {
            return vec![Broken {
                place: "query",
                pointer: String::new(),
                keyword: "propertyNames".to_owned(),
                message: "a name is empty, or a percent sign stands before no two digits".to_owned(),
                origin: places.of(&call.operation.place),
            }];
        };
        let broken = faults.iter().map(|fault| {
            let own = call.parameters.iter().find(|parameter| {
                parameter.row.name == fault.name && parameter.row.location == fault.location
            });
            // Of what stands within a value, the place of the value alone is known.
            let whole = !fault.pointer.get(1..).unwrap_or_default().contains('/');
            let said = own.and_then(|own| own.row.schema).filter(|_| whole);
            let said = said.and_then(|schema| self.said(schema, fault.keyword));
            Broken {
                place: fault.location.as_str(),
                pointer: fault.pointer.clone(),
                keyword: fault.keyword.to_owned(),
                message: message(fault.keyword, said.as_deref()),
                origin: places.of(own.map_or(&call.operation.place, |own| &own.parameter.place)),
            }
        });
        broken.collect()
    }

    fn of_body(&self, call: &Call<'_>, operation: &'static Operation, context: Context) -> Vec<Broken> {
        let (Some(expected), Some(body)) = (&operation.body, &call.body) else { return Vec::new() };
        let at = |pointer: String, keyword: &str, message: String| Broken {
            place: "body",
            pointer,
            keyword: keyword.to_owned(),
            message,
            origin: Whereabouts::new(self.contract).of(&body.body.place),
        };
        let one = |keyword: &str, message: String| vec![at(String::new(), keyword, message)];
        if context.body().is_empty() {
            return if expected.required { one("required", message("required", None)) } else { Vec::new() };
        }
        let named = context.header(header::CONTENT_TYPE.as_str()).and_then(|line| expected.of(line));
        let Some(content) = named.or(expected.content.first()) else { return Vec::new() };
        let own = expected.content.iter().position(|each| each.media_type == content.media_type);
        let media = own.and_then(|own| Some(body.contents.get(own)?.media));
        if let Some(item) = media.and_then(|media| self.item(media)) {
            let mut broken = Vec::new();
            for (index, read) in self.items(&item, context.body()) {
                match read {
                    Ok(value) => {
                        let valid = item.schema.map_or(Ok(()), |schema| self.tables.validate(schema, &value));
                        let violations = valid.err().into_iter();
                        broken.extend(
                            violations.flat_map(|all| self.of_violations(&format!("/{index}"), &all)),
                        );
                    }
                    Err(why) => broken.push(at(format!("/{index}"), "contentMediaType", why)),
                }
            }
            return broken;
        }
        let text = context.body().clone();
        let Ok(read) = server::Call::new(operation, context) else { return Vec::new() };
        let judged = match content.format {
            Format::Json | Format::Form(..) => read.value::<Json>().map(drop),
            Format::Multipart(_) => read.multipart::<Vec<Field>>().map(drop),
            Format::Text => read.text().and_then(|text| {
                let schema = media.and_then(|media| media.schema);
                let validator = content.validator.filter(|_| schema.is_some_and(|id| self.is_text(id)));
                let valid = validator.map_or(Ok(()), |validator| validator.validate(&Json::from(text)));
                valid.map_err(Rejection::Invalid)
            }),
            Format::Bytes | Format::Pieces | Format::Items(_) => Ok(()),
        };
        match judged {
            Ok(()) => Vec::new(),
            Err(Rejection::Invalid(violations)) => self.of_violations("", &violations),
            Err(Rejection::NotJson) if matches!(content.format, Format::Json) => {
                let why = Json::parse(&text).err().map(|error| format!(": {error}")).unwrap_or_default();
                one("contentMediaType", format!("is no JSON document{why}"))
            }
            Err(rejection) => one("contentMediaType", rejection.to_string()),
        }
    }

    /// The items of a body, each as what it stands for or with why it cannot be read, and with how
    /// many stand before it.
    pub(super) fn items(&self, own: &Item, body: &[u8]) -> Vec<(u64, Result<Json, String>)> {
        let row = self.row(own);
        // A byte that is no UTF-8 becomes three.
        let mut decoder = Decoder::new(own.framing, body.len().saturating_mul(3));
        decoder.push(body);
        decoder.finish();
        let mut items = Vec::new();
        while let Some(item) = decoder.pop() {
            let item = match item {
                Ok(item) => item,
                Err(fault) => {
                    let why = match fault {
                        Fault::TooLarge(_) => "is too large",
                        _ => "was cut off",
                    };
                    items.push((fault.place().index, Err(why.to_owned())));
                    continue;
                }
            };
            if row.is_end(&item) {
                break;
            }
            let read = Json::parse(&own.form.document(&item));
            items.push((item.place.index, read.map_err(|error| format!("is no JSON document: {error}"))));
            if row.is_last(item.event.as_deref()) {
                break;
            }
        }
        items
    }

    /// What is broken of a body, or of what stands in it at a place.
    fn of_violations(&self, within: &str, violations: &Violations) -> Vec<Broken> {
        let places = Whereabouts::new(self.contract);
        let graph = &self.contract.graph;
        let located = self.located.get_or_init(|| {
            graph.ids().map(|id| (graph.location(id), id)).collect::<HashMap<String, SchemaId>>()
        });
        let broken = violations.iter().map(|violation| {
            let schema = located.get(&*violation.schema).map(|id| graph.schema(*id));
            let said = schema.and_then(|schema| constraint::said(schema, violation.keyword));
            Broken {
                place: "body",
                pointer: format!("{within}{}", violation.pointer),
                keyword: violation.keyword.to_owned(),
                message: message(violation.keyword, said.as_deref()),
                origin: schema
                    .map_or_else(|| violation.schema.to_string(), |schema| places.of(&schema.place)),
            }
        });
        broken.collect()
    }

    /// What the schemas of a place say by a keyword.
    fn said(&self, schema: SchemaId, keyword: &str) -> Option<String> {
        let facts = self.facts(schema);
        facts.schemas(&self.contract.graph).find_map(|schema| constraint::said(schema, keyword))
    }

    pub(super) fn facts(&self, schema: SchemaId) -> Facts {
        Facts::of(&self.contract.graph, &Conj::one(schema), self.contract.options.implied_objects)
    }

    /// Whether a text may be a value of a schema.
    pub(super) fn is_text(&self, schema: SchemaId) -> bool {
        self.facts(schema).types.contains(Types::STRING)
    }
}

fn is_shown(kind: &Kind, parts: &Parts) -> bool {
    let authorization = || parts.headers.get(header::AUTHORIZATION).and_then(|line| line.to_str().ok());
    let is = |words: &[&str]| {
        authorization().and_then(|line| line.split_once(' ')).is_some_and(|(word, secret)| {
            !secret.trim().is_empty() && words.iter().any(|known| known.eq_ignore_ascii_case(word))
        })
    };
    match kind {
        Kind::Header(name) => parts.headers.contains_key(name.as_str()),
        Kind::Query(name) => {
            let query = Query::parse(parts.uri.query().unwrap_or_default());
            query.is_ok_and(|query| query.values(name).next().is_some())
        }
        Kind::Cookie(name) => {
            let lines = parts.headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
            let mut pairs = lines.flat_map(|line| line.split(';'));
            pairs.any(|pair| pair.split_once('=').is_some_and(|(own, _)| own.trim() == name))
        }
        Kind::Basic => is(&["Basic"]),
        // A token may be bound to a key (RFC 9449, 7.1).
        Kind::Token { .. } => is(&["Bearer", "DPoP"]),
        Kind::Authorization(word) => is(&[word]),
        // What the connection shows nobody sees here.
        Kind::Connection => true,
    }
}

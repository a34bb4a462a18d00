//! The offline file of blueprints (envelope). It is built only from permitted fields and written atomically.
//! The check of a file reports each problem with its JSON Pointer (DRF-01, DRF-02, DRF-03).

mod check;
mod privacy;

use std::path::Path;

use dpop_bound::UnixTime;
use exchange_api::{
    Contract as _, Map,
    runtime::timestamp,
    types::{
        BlueprintDraft, Envelope, EnvelopeFormat, EnvelopeItem, GeneratorInfo, ItemRef, Provenance,
        ProvenanceSource, Timestamp,
    },
};

pub use self::check::{CheckedEnvelope, EnvelopeFault, MAX_BYTES, check_envelope};
pub(crate) use self::privacy::{find_paths, is_path};
use crate::{
    error::{Error, ErrorKind},
    exchange::Exchange,
    identity::ClientIdentity,
    state_folder::durable,
};

/// The maximum number of blueprints in an envelope (DRF-01).
pub const MAX_BLUEPRINTS: usize = 2000;

/// The format version of new envelopes (DRF-01).
const FORMAT_VERSION: &str = "1.0";

/// An envelope under construction. It has no field for a handle, a player name, a folder or a path (DRF-03):
/// its generator is the program's own identity, and its references contain only fields of the catalog.
#[derive(Clone, Debug)]
pub struct EnvelopeBuilder {
    generator: GeneratorInfo,
    generated_at: Option<Timestamp>,
    items: Vec<EnvelopeItem>,
}

/// A complete envelope, to be written to a file or staged as a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedEnvelope(BlueprintDraft);

/// A blueprint of an envelope.
#[derive(Clone, Debug)]
pub struct EnvelopeBlueprint {
    reference: ItemRef,
    acquired_at: Option<Timestamp>,
    provenance: Option<Provenance>,
}

/// The reason data cannot be part of an envelope. The error contains no values of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvelopeError {
    /// The envelope already contains [`MAX_BLUEPRINTS`] blueprints.
    #[error("an envelope holds at most 2000 blueprints")]
    Full,
    /// The reference violates the contract.
    #[error(
        "the reference does not match the schema item-ref: it needs an identifying field, and every field must \
         be within its limits"
    )]
    Reference,
    /// The data contains undeclared properties or third-party extensions.
    #[error("the data contains members that the contract does not declare")]
    Undeclared,
    /// A string is a file path.
    #[error("{0} must not contain the path of a file")]
    Path(&'static str),
    /// The source is not one of the values in the contract.
    #[error("the source of a blueprint must be log, manual, import, default or other")]
    Source,
    /// The timestamp is invalid.
    #[error("a timestamp must have the form 2026-01-31T12:00:00Z")]
    Timestamp,
    /// The name or version of the program is invalid.
    #[error(
        "the program's name is limited to 100 characters and its version to 50, and neither may be a path"
    )]
    Generator,
}

impl EnvelopeBlueprint {
    /// Creates a blueprint from a reference to its product. The reference may contain only the fields by
    /// which the catalog finds the product: extensions and undeclared properties must not be part of an
    /// envelope (DRF-03).
    ///
    /// # Errors
    /// Returns an error if the reference violates the contract, contains other fields, or contains a string
    /// that is a file path.
    pub fn new(reference: &ItemRef) -> Result<Self, EnvelopeError> {
        if reference.extensions.is_some() || !reference.extra.is_empty() {
            return Err(EnvelopeError::Undeclared);
        }
        let mut reference = reference.clone();
        if let Some(key) = &mut reference.loc_key {
            *key = key.trim_start_matches('@').to_owned();
        }
        let texts = [
            ("scRecord", &reference.sc_record),
            ("locKey", &reference.loc_key),
            ("name", &reference.name),
            ("nameLocale", &reference.name_locale),
        ];
        if let Some((field, _)) = texts.iter().find(|(_, text)| text.as_deref().is_some_and(is_path)) {
            return Err(EnvelopeError::Path(field));
        }
        if reference.bt.as_ref().is_some_and(|bt| is_path(bt.as_str())) {
            return Err(EnvelopeError::Path("bt"));
        }
        if !reference.is_valid() {
            return Err(EnvelopeError::Reference);
        }
        Ok(Self { reference, acquired_at: None, provenance: None })
    }

    /// Sets the time at which the member acquired the blueprint.
    ///
    /// # Errors
    /// Returns an error if it is not a valid UTC timestamp.
    pub fn with_acquired_at(mut self, at: Timestamp) -> Result<Self, EnvelopeError> {
        self.acquired_at = Some(check_timestamp(at)?);
        Ok(self)
    }

    /// Sets the source of this information and the time of its observation.
    ///
    /// # Errors
    /// Returns an error if the source is not one of the values in the contract, because another string could
    /// contain anything (DRF-03).
    pub fn with_provenance(
        mut self,
        source: ProvenanceSource,
        observed_at: Option<Timestamp>,
    ) -> Result<Self, EnvelopeError> {
        if !source.is_known() {
            return Err(EnvelopeError::Source);
        }
        let observed_at = observed_at.map(check_timestamp).transpose()?;
        self.provenance = Some(Provenance { source, observed_at, extra: Map::new() });
        Ok(self)
    }
}

fn check_timestamp(at: Timestamp) -> Result<Timestamp, EnvelopeError> {
    if at.is_valid() && at.timestamp().is_some() { Ok(at) } else { Err(EnvelopeError::Timestamp) }
}

impl Exchange {
    /// Starts an envelope of blueprints. Its generator is this program, and its creation time is now.
    ///
    /// ```
    /// # use exchange_client::{EnvelopeBlueprint, Error, Exchange, changes::known::KnownItem};
    /// # async fn example(exchange: Exchange) -> Result<(), Box<dyn std::error::Error>> {
    /// let knife = KnownItem { name: Some("Sandbox Knife".to_owned()), ..KnownItem::default() }.item_ref()?;
    /// let mut envelope = exchange.envelope()?;
    /// envelope.add(EnvelopeBlueprint::new(&knife)?)?;
    /// let handoff = exchange.drafts().blueprints(envelope.seal()).stage().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the name or version of the program is invalid (DRF-01).
    pub fn envelope(&self) -> Result<EnvelopeBuilder, EnvelopeError> {
        EnvelopeBuilder::new(self.identity(), self.environment().now().wall)
    }
}

impl EnvelopeBuilder {
    /// Starts an envelope with this program as its generator and this creation time.
    ///
    /// # Errors
    /// Returns an error if the name or version of the program is invalid (DRF-01).
    pub fn new(program: &ClientIdentity, at: UnixTime) -> Result<Self, EnvelopeError> {
        let generator = GeneratorInfo {
            name: program.name().to_owned(),
            version: program.version().to_owned(),
            extra: Map::new(),
        };
        if !generator.is_valid() || is_path(&generator.name) || is_path(&generator.version) {
            return Err(EnvelopeError::Generator);
        }
        let seconds = i64::try_from(at.as_secs()).ok();
        let generated_at =
            seconds.and_then(timestamp::format_unix_seconds).and_then(|text| Timestamp::new(text).ok());
        Ok(Self { generator, generated_at, items: Vec::new() })
    }

    /// Adds a blueprint.
    ///
    /// # Errors
    /// Returns [`EnvelopeError::Full`] if the envelope already contains [`MAX_BLUEPRINTS`] blueprints.
    pub fn add(&mut self, blueprint: EnvelopeBlueprint) -> Result<(), EnvelopeError> {
        if self.items.len() >= MAX_BLUEPRINTS {
            return Err(EnvelopeError::Full);
        }
        let EnvelopeBlueprint { reference, acquired_at, provenance } = blueprint;
        self.items.push(EnvelopeItem {
            ref_: reference,
            acquired_at,
            provenance,
            extensions: None,
            extra: Map::new(),
        });
        Ok(())
    }

    /// Completes the envelope.
    #[must_use]
    pub fn seal(self) -> SealedEnvelope {
        SealedEnvelope(BlueprintDraft {
            format: EnvelopeFormat::SvcBlueprints,
            format_version: FORMAT_VERSION.to_owned(),
            generator: Some(self.generator),
            generated_at: self.generated_at,
            items: self.items,
            extensions: None,
            extra: Map::new(),
        })
    }
}

impl SealedEnvelope {
    /// Converts a checked envelope so that it can be staged, provided that the check found no private data in
    /// it (DRF-03). Each version 1.x is accepted and keeps its version; a missing version means 1.0 (DRF-02).
    ///
    /// Extensions are removed, because their content is unknown and the import ignores them (DRF-04).
    ///
    /// # Errors
    /// Returns an error if [`CheckedEnvelope::private`] or [`CheckedEnvelope::undeclared_pointers`] is not
    /// empty.
    pub fn from_checked(checked: CheckedEnvelope) -> Result<Self, EnvelopeError> {
        if !checked.private().is_empty() {
            return Err(EnvelopeError::Path("a member"));
        }
        if !checked.undeclared_pointers().is_empty() {
            return Err(EnvelopeError::Undeclared);
        }
        let Envelope { format, format_version, generator, generated_at, mut items, extensions: _, extra } =
            checked.into_envelope();
        for item in &mut items {
            (item.extensions, item.ref_.extensions) = (None, None);
        }
        let format_version = format_version.unwrap_or_else(|| FORMAT_VERSION.to_owned());
        let draft = BlueprintDraft {
            format,
            format_version,
            generator,
            generated_at,
            items,
            extensions: None,
            extra,
        };
        Ok(Self(draft))
    }

    /// Returns the request body for staging the envelope as a draft.
    #[must_use]
    pub const fn as_draft(&self) -> &BlueprintDraft {
        &self.0
    }

    /// Returns the number of blueprints.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.items.len()
    }

    /// Returns true if there are no blueprints.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.items.is_empty()
    }

    /// Serializes the envelope as indented JSON.
    ///
    /// # Errors
    /// Returns [`ErrorKind::TooLarge`] if the JSON exceeds the limit of the web import (8 MiB).
    pub fn to_json_text(&self) -> Result<String, Error> {
        let text = serde_json::to_string_pretty(&self.0)
            .map_err(|error| Error::with_source(ErrorKind::Bug, "the envelope cannot be written", error))?;
        if text.len() >= MAX_BYTES {
            return Err(Error::new(ErrorKind::TooLarge, "the envelope is larger than 8 MiB"));
        }
        Ok(text + "\n")
    }

    /// Writes the envelope to a file atomically. Only the file's owner can read it. An existing file remains
    /// until the new one is on the disk.
    ///
    /// # Errors
    /// Returns [`ErrorKind::TooLarge`], or [`ErrorKind::Storage`] with the I/O error.
    pub fn write_to(&self, path: &Path) -> Result<(), Error> {
        let text = self.to_json_text()?;
        std::path::absolute(path)
            .and_then(|path| durable::replace_file(&path, text.as_bytes()))
            .map_err(|error| Error::with_source(ErrorKind::Storage, "the envelope cannot be written", error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> ClientIdentity {
        ClientIdentity::new("desk", "Desk", "1.4.0", "https://desk.example").unwrap()
    }

    fn reference(json: &str) -> ItemRef {
        ItemRef::parse(json.as_bytes()).unwrap()
    }

    fn builder() -> EnvelopeBuilder {
        EnvelopeBuilder::new(&program(), UnixTime::from_secs(1_767_225_600)).unwrap()
    }

    /// DRF-01: the builder creates a valid envelope of version 1.0.
    #[test]
    fn envelope_matches_the_contract() {
        let mut envelope = builder();
        let blueprint =
            EnvelopeBlueprint::new(&reference(r#"{"name": "P4-AR", "locKey": "@item_p4"}"#)).unwrap();
        let blueprint = blueprint.with_acquired_at(Timestamp::new("2025-12-24T18:00:00Z").unwrap()).unwrap();
        envelope.add(blueprint.with_provenance(ProvenanceSource::Log, None).unwrap()).unwrap();
        let envelope = envelope.seal();
        let text = envelope.to_json_text().unwrap();
        let expected = r#"{
  "format": "svc.blueprints",
  "formatVersion": "1.0",
  "items": [
    {
      "ref": {
        "locKey": "item_p4",
        "name": "P4-AR"
      },
      "acquiredAt": "2025-12-24T18:00:00Z",
      "provenance": {
        "source": "log"
      }
    }
  ],
  "generator": {
    "name": "Desk",
    "version": "1.4.0"
  },
  "generatedAt": "2026-01-01T00:00:00Z"
}
"#;
        assert_eq!(text, expected);
        assert!(Envelope::parse_valid(text.as_bytes()).is_ok() && envelope.as_draft().is_valid());
        assert_eq!((envelope.len(), envelope.is_empty(), builder().seal().is_empty()), (1, false, true));
    }

    /// DRF-03, CLI-05: data that could contain a handle, a name or a path is rejected.
    #[test]
    fn private_data_is_rejected() {
        let refused = |json: &str| EnvelopeBlueprint::new(&reference(json)).unwrap_err();
        assert_eq!(refused(r#"{"name": "x", "player": "hush"}"#), EnvelopeError::Undeclared);
        assert_eq!(
            refused(r#"{"name": "x", "extensions": {"org.example": {"handle": "hush"}}}"#),
            EnvelopeError::Undeclared
        );
        assert_eq!(refused(r#"{"name": "C:\\Users\\hush\\game.log"}"#), EnvelopeError::Path("name"));
        assert_eq!(refused(r#"{"scRecord": "/srv/hush/x"}"#), EnvelopeError::Path("scRecord"));
        assert_eq!(refused(r#"{"locKey": "@~/x"}"#), EnvelopeError::Path("locKey"));
        assert_eq!(refused(r#"{"bt": "file:///x"}"#), EnvelopeError::Path("bt"));
        assert_eq!(refused("{}"), EnvelopeError::Reference);
        let blueprint = EnvelopeBlueprint::new(&reference(r#"{"name": "x"}"#)).unwrap();
        let free = ProvenanceSource::from("hush");
        assert_eq!(blueprint.clone().with_provenance(free, None).unwrap_err(), EnvelopeError::Source);
        let later = Timestamp::parse(br#""2026-02-30T00:00:00Z""#).unwrap();
        assert_eq!(blueprint.with_acquired_at(later).unwrap_err(), EnvelopeError::Timestamp);
    }

    /// DRF-01: an envelope accepts 2000 blueprints and rejects the next.
    #[test]
    fn envelope_limits_are_enforced() {
        let mut envelope = builder();
        let blueprint = EnvelopeBlueprint::new(&reference(r#"{"name": "x"}"#)).unwrap();
        for _ in 0..2000 {
            envelope.add(blueprint.clone()).unwrap();
        }
        assert_eq!(envelope.add(blueprint), Err(EnvelopeError::Full));
        assert!(envelope.seal().as_draft().is_valid());
        let program = ClientIdentity::new("d", &"x".repeat(101), "1.0.0", "https://desk.example").unwrap();
        let refused = EnvelopeBuilder::new(&program, UnixTime::from_secs(0)).unwrap_err();
        assert_eq!(refused, EnvelopeError::Generator);
    }

    /// DRF-02: a checked envelope is staged unchanged. DRF-03: it is rejected if it contains private data.
    #[test]
    fn checked_envelope_without_private_data_is_sealed() {
        let seal = |json: &str| SealedEnvelope::from_checked(check_envelope(json.as_bytes()).unwrap());
        let sealed = seal(r#"{"format": "svc.blueprints", "items": [{"ref": {"name": "x"}}]}"#).unwrap();
        assert_eq!((sealed.as_draft().format_version.as_str(), sealed.len()), ("1.0", 1));
        let later = seal(r#"{"format": "svc.blueprints", "formatVersion": "1.7", "items": []}"#).unwrap();
        assert_eq!(later.as_draft().format_version, "1.7");
        let path = r#"{"format": "svc.blueprints", "items": [{"ref": {"name": "D:\\logs\\a"}}]}"#;
        assert_eq!(seal(path).unwrap_err(), EnvelopeError::Path("a member"));
        let others = r#"{"format": "svc.blueprints", "extensions": {"org.example.tool": {"handle": "hush"}}, "items": [
            {"ref": {"name": "x", "extensions": {"org.example.tool": {"player": "hush"}}},
             "extensions": {"org.example.tool": {"seen": "hush"}}}]}"#;
        assert!(!seal(others).unwrap().to_json_text().unwrap().contains("hush"));
        let player = r#"{"format": "svc.blueprints", "player": "hush", "items": []}"#;
        assert_eq!(seal(player).unwrap_err(), EnvelopeError::Undeclared);
    }
}

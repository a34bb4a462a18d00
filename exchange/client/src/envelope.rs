//! The offline file of blueprints: made of what may be in it and nothing else, written whole or not at all, and
//! checked with pointers (DRF-01, DRF-02, DRF-03).

mod check;
mod privacy;

use std::path::Path;

use dpop_bound::UnixTime;
use exchange_api::{
    Contract as _, Map,
    runtime::moment,
    types::{
        BlueprintDraft, Envelope, EnvelopeFormat, EnvelopeItem, GeneratorInfo, ItemRef, Provenance,
        ProvenanceSource, Timestamp,
    },
};

pub use self::check::{CheckedEnvelope, EnvelopeFault, MOST_BYTES, check_envelope};
pub(crate) use self::privacy::{is_path, paths};
use crate::{
    error::{Error, ErrorKind},
    exchange::Exchange,
    identity::Identity,
    lock::durable,
};

/// How many blueprints an envelope holds (DRF-01).
pub const MOST_BLUEPRINTS: usize = 2000;

/// What is written (DRF-01).
const FORMAT_VERSION: &str = "1.0";

/// An envelope under construction. There is no place in it for a handle, a player's name, a folder or a path
/// (DRF-03): the generator is the program's own identity, and of a reference only what the catalogue knows is
/// taken.
#[derive(Clone, Debug)]
pub struct EnvelopeBuilder {
    generator: GeneratorInfo,
    generated_at: Option<Timestamp>,
    items: Vec<EnvelopeItem>,
}

/// An envelope that may be written to a file or staged as a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedEnvelope(BlueprintDraft);

/// One blueprint of an envelope.
#[derive(Clone, Debug)]
pub struct EnvelopeBlueprint {
    reference: ItemRef,
    acquired_at: Option<Timestamp>,
    provenance: Option<Provenance>,
}

/// Why something cannot be in an envelope. Names no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnusableEnvelope {
    /// It is full.
    #[error("an envelope holds at most 2000 blueprints")]
    Full,
    /// The reference breaks the contract.
    #[error("the reference names nothing, or a field of it is too long")]
    Reference,
    /// It holds what the contract does not declare, or data of others.
    #[error("it holds members that the contract does not declare, which could be anything")]
    Undeclared,
    /// A text is a file's path.
    #[error("{0} holds the path of a file")]
    Path(&'static str),
    /// The source is none of the contract's.
    #[error("the source of a blueprint is log, manual, import, default or other")]
    Source,
    /// The moment is none.
    #[error("a moment is written like 2026-01-31T12:00:00Z")]
    Moment,
    /// The program's name or version does not fit.
    #[error("the program's name has at most 100 characters, its version at most 50, and neither is a path")]
    Generator,
}

impl EnvelopeBlueprint {
    /// A blueprint by its product: the fields by which the catalogue finds it. What else a reference can hold
    /// (extensions, undeclared members) does not belong into a file that leaves the exchange (DRF-03).
    ///
    /// # Errors
    /// When it breaks the contract, holds more than that, or a text of it is a path.
    pub fn new(reference: &ItemRef) -> Result<Self, UnusableEnvelope> {
        if reference.extensions.is_some() || !reference.extra.is_empty() {
            return Err(UnusableEnvelope::Undeclared);
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
            return Err(UnusableEnvelope::Path(field));
        }
        if reference.bt.as_ref().is_some_and(|bt| is_path(bt.as_str())) {
            return Err(UnusableEnvelope::Path("bt"));
        }
        if !reference.is_valid() {
            return Err(UnusableEnvelope::Reference);
        }
        Ok(Self { reference, acquired_at: None, provenance: None })
    }

    /// When the member got it.
    ///
    /// # Errors
    /// When it is no moment of UTC.
    pub fn acquired_at(mut self, at: Timestamp) -> Result<Self, UnusableEnvelope> {
        self.acquired_at = Some(moment_of(at)?);
        Ok(self)
    }

    /// Where that is known from, and when it was seen there.
    ///
    /// # Errors
    /// When the source is none of the contract's: a text of one's own could be anything (DRF-03).
    pub fn known_from(
        mut self,
        source: ProvenanceSource,
        observed_at: Option<Timestamp>,
    ) -> Result<Self, UnusableEnvelope> {
        if !source.is_known() {
            return Err(UnusableEnvelope::Source);
        }
        let observed_at = observed_at.map(moment_of).transpose()?;
        self.provenance = Some(Provenance { source, observed_at, extra: Map::new() });
        Ok(self)
    }
}

fn moment_of(at: Timestamp) -> Result<Timestamp, UnusableEnvelope> {
    if at.is_valid() && at.moment().is_some() { Ok(at) } else { Err(UnusableEnvelope::Moment) }
}

impl Exchange {
    /// Begins a file or a draft of blueprints, written by this program now.
    ///
    /// ```
    /// # use exchange_client::{EnvelopeBlueprint, Error, Exchange, changes::known::Known};
    /// # async fn example(exchange: Exchange) -> Result<(), Box<dyn std::error::Error>> {
    /// let knife = Known { name: Some("Sandbox Knife".to_owned()), ..Known::default() }.item_ref()?;
    /// let mut envelope = exchange.envelope()?;
    /// envelope.add(EnvelopeBlueprint::new(&knife)?)?;
    /// let handoff = exchange.drafts().blueprints(envelope.seal()).stage().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When name and version of the program do not fit (DRF-01).
    pub fn envelope(&self) -> Result<EnvelopeBuilder, UnusableEnvelope> {
        EnvelopeBuilder::new(self.identity(), self.environment().now().wall)
    }
}

impl EnvelopeBuilder {
    /// Begins one, written by this program at this moment.
    ///
    /// # Errors
    /// When name and version of the program do not fit (DRF-01).
    pub fn new(program: &Identity, at: UnixTime) -> Result<Self, UnusableEnvelope> {
        let generator = GeneratorInfo {
            name: program.name().to_owned(),
            version: program.version().to_owned(),
            extra: Map::new(),
        };
        if !generator.is_valid() || is_path(&generator.name) || is_path(&generator.version) {
            return Err(UnusableEnvelope::Generator);
        }
        let seconds = i64::try_from(at.as_secs()).ok();
        let generated_at = seconds.and_then(moment::text_of).and_then(|text| Timestamp::new(text).ok());
        Ok(Self { generator, generated_at, items: Vec::new() })
    }

    /// Adds a blueprint.
    ///
    /// # Errors
    /// When there are as many as there may be.
    pub fn add(&mut self, blueprint: EnvelopeBlueprint) -> Result<(), UnusableEnvelope> {
        if self.items.len() >= MOST_BLUEPRINTS {
            return Err(UnusableEnvelope::Full);
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

    /// The envelope.
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
    /// An envelope that was read, to be staged: only when nothing private was found in it (DRF-03). Every 1.x
    /// is read alike, and is staged as what it is; one without a version is a 1.0 (DRF-02).
    ///
    /// Extensions stay behind: nobody here can tell what they hold, and the import does not look at them (DRF-04).
    ///
    /// # Errors
    /// When [`CheckedEnvelope::private`] or [`CheckedEnvelope::undeclared`] is not empty.
    pub fn of_checked(checked: CheckedEnvelope) -> Result<Self, UnusableEnvelope> {
        if !checked.private().is_empty() {
            return Err(UnusableEnvelope::Path("a member"));
        }
        if !checked.undeclared().is_empty() {
            return Err(UnusableEnvelope::Undeclared);
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

    /// As the draft route takes it.
    #[must_use]
    pub const fn as_draft(&self) -> &BlueprintDraft {
        &self.0
    }

    /// How many blueprints it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.items.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.items.is_empty()
    }

    /// The file's text: JSON for people, with a line for each member.
    ///
    /// # Errors
    /// [`ErrorKind::TooLarge`] beyond what the web import takes (8 MiB).
    pub fn to_text(&self) -> Result<String, Error> {
        let text = serde_json::to_string_pretty(&self.0)
            .map_err(|error| Error::caused(ErrorKind::Bug, "the envelope cannot be written", error))?;
        if text.len() >= MOST_BYTES {
            return Err(Error::new(ErrorKind::TooLarge, "the envelope is larger than 8 MiB"));
        }
        Ok(text + "\n")
    }

    /// Writes the file whole or not at all, for its owner alone: what was there before stays until the new one is
    /// on the disk.
    ///
    /// # Errors
    /// [`ErrorKind::TooLarge`], or [`ErrorKind::Storage`] with what the system says.
    pub fn write_to(&self, path: &Path) -> Result<(), Error> {
        let text = self.to_text()?;
        std::path::absolute(path)
            .and_then(|path| durable::write(&path, text.as_bytes()))
            .map_err(|error| Error::caused(ErrorKind::Storage, "the envelope cannot be written", error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Identity {
        Identity::new("desk", "Desk", "1.4.0", "https://desk.example").unwrap()
    }

    fn reference(json: &str) -> ItemRef {
        ItemRef::parse(json.as_bytes()).unwrap()
    }

    fn builder() -> EnvelopeBuilder {
        EnvelopeBuilder::new(&program(), UnixTime::from_secs(1_767_225_600)).unwrap()
    }

    /// DRF-01: what is written is an envelope of the contract, version 1.0.
    #[test]
    fn an_envelope_is_what_the_contract_says() {
        let mut envelope = builder();
        let blueprint =
            EnvelopeBlueprint::new(&reference(r#"{"name": "P4-AR", "locKey": "@item_p4"}"#)).unwrap();
        let blueprint = blueprint.acquired_at(Timestamp::new("2025-12-24T18:00:00Z").unwrap()).unwrap();
        envelope.add(blueprint.known_from(ProvenanceSource::Log, None).unwrap()).unwrap();
        let envelope = envelope.seal();
        let text = envelope.to_text().unwrap();
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

    /// DRF-03, CLI-05: what could hold a handle, a name or a path finds no way in.
    #[test]
    fn nothing_private_finds_its_way_into_an_envelope() {
        let refused = |json: &str| EnvelopeBlueprint::new(&reference(json)).unwrap_err();
        assert_eq!(refused(r#"{"name": "x", "player": "hush"}"#), UnusableEnvelope::Undeclared);
        assert_eq!(
            refused(r#"{"name": "x", "extensions": {"org.example": {"handle": "hush"}}}"#),
            UnusableEnvelope::Undeclared
        );
        assert_eq!(refused(r#"{"name": "C:\\Users\\hush\\game.log"}"#), UnusableEnvelope::Path("name"));
        assert_eq!(refused(r#"{"scRecord": "/srv/hush/x"}"#), UnusableEnvelope::Path("scRecord"));
        assert_eq!(refused(r#"{"locKey": "@~/x"}"#), UnusableEnvelope::Path("locKey"));
        assert_eq!(refused(r#"{"bt": "file:///x"}"#), UnusableEnvelope::Path("bt"));
        assert_eq!(refused("{}"), UnusableEnvelope::Reference);
        let blueprint = EnvelopeBlueprint::new(&reference(r#"{"name": "x"}"#)).unwrap();
        let free = ProvenanceSource::from("hush");
        assert_eq!(blueprint.clone().known_from(free, None).unwrap_err(), UnusableEnvelope::Source);
        let later = Timestamp::parse(br#""2026-02-30T00:00:00Z""#).unwrap();
        assert_eq!(blueprint.acquired_at(later).unwrap_err(), UnusableEnvelope::Moment);
    }

    /// DRF-01: 2000 fit, and one more does not.
    #[test]
    fn an_envelope_has_its_bounds() {
        let mut envelope = builder();
        let blueprint = EnvelopeBlueprint::new(&reference(r#"{"name": "x"}"#)).unwrap();
        for _ in 0..2000 {
            envelope.add(blueprint.clone()).unwrap();
        }
        assert_eq!(envelope.add(blueprint), Err(UnusableEnvelope::Full));
        assert!(envelope.seal().as_draft().is_valid());
        let program = Identity::new("d", &"x".repeat(101), "1.0.0", "https://desk.example").unwrap();
        let refused = EnvelopeBuilder::new(&program, UnixTime::from_secs(0)).unwrap_err();
        assert_eq!(refused, UnusableEnvelope::Generator);
    }

    /// DRF-02: what was read is staged as it is; DRF-03: not when something private is in it.
    #[test]
    fn a_checked_envelope_is_staged_when_it_is_clean() {
        let seal = |json: &str| SealedEnvelope::of_checked(check_envelope(json.as_bytes()).unwrap());
        let sealed = seal(r#"{"format": "svc.blueprints", "items": [{"ref": {"name": "x"}}]}"#).unwrap();
        assert_eq!((sealed.as_draft().format_version.as_str(), sealed.len()), ("1.0", 1));
        let later = seal(r#"{"format": "svc.blueprints", "formatVersion": "1.7", "items": []}"#).unwrap();
        assert_eq!(later.as_draft().format_version, "1.7");
        let path = r#"{"format": "svc.blueprints", "items": [{"ref": {"name": "D:\\logs\\a"}}]}"#;
        assert_eq!(seal(path).unwrap_err(), UnusableEnvelope::Path("a member"));
        let others = r#"{"format": "svc.blueprints", "extensions": {"org.example.tool": {"handle": "hush"}}, "items": [
            {"ref": {"name": "x", "extensions": {"org.example.tool": {"player": "hush"}}},
             "extensions": {"org.example.tool": {"seen": "hush"}}}]}"#;
        assert!(!seal(others).unwrap().to_text().unwrap().contains("hush"));
        let player = r#"{"format": "svc.blueprints", "player": "hush", "items": []}"#;
        assert_eq!(seal(player).unwrap_err(), UnusableEnvelope::Undeclared);
    }
}

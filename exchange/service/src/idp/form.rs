//! The parameters of a request to one of the provider's endpoints: each once, an empty one as if it were
//! not there (RFC 6749, 3.2).

use std::fmt;

use exchange_api::oauth_errors::OauthError;

use super::refusal::Refusal;

/// How many there may be.
const MOST: usize = 32;

/// Parameters of a form.
pub(super) struct Fields(Vec<(String, String)>);

/// Shows the names alone: most values are secrets.
impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Fields {
    /// Takes what the form holds.
    pub(super) fn new(fields: Vec<(String, String)>) -> Result<Self, Refusal> {
        if fields.len() > MOST {
            return Err(Refusal::new(OauthError::InvalidRequest, "there are too many parameters"));
        }
        let repeated = |(at, (name, _)): (usize, &(String, String))| {
            fields.iter().take(at).any(|(other, _)| other == name)
        };
        if fields.iter().enumerate().any(repeated) {
            return Err(Refusal::new(OauthError::InvalidRequest, "a parameter is repeated"));
        }
        Ok(Self(fields))
    }

    /// A parameter that may be there.
    pub(super) fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(each, value)| each == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// A parameter that has to be there.
    pub(super) fn need(&self, name: &'static str) -> Result<&str, Refusal> {
        let missing = || Refusal::new(OauthError::InvalidRequest, format!("`{name}` is missing"));
        self.find(name).ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Result<Fields, Refusal> {
        Fields::new(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    /// ERR-49
    #[test]
    fn each_parameter_stands_once() {
        let some = fields(&[("a", "1"), ("b", "")]).unwrap();
        assert_eq!((some.find("a"), some.find("b"), some.find("c")), (Some("1"), None, None));
        assert_eq!(some.need("b").unwrap_err().code(), "invalid_request");
        assert_eq!(fields(&[("a", "1"), ("a", "1")]).unwrap_err().code(), "invalid_request");
        assert_eq!(fields(&[("a", ""), ("a", "1")]).unwrap_err().code(), "invalid_request");
        assert_eq!(format!("{some:?}"), r#"["a", "b"]"#);
    }
}

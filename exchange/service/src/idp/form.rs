//! The form parameters of the provider's endpoints. A parameter must not be repeated, and an empty one counts
//! as absent (RFC 6749, section 3.2).

use std::fmt;

use exchange_api::oauth_errors::OauthError;

use super::oauth_error_response::OauthErrorResponse;

const MAX_FIELDS: usize = 32;

pub(super) struct FormFields(Vec<(String, String)>);

/// Only the names are printed, because most values are secrets.
impl fmt::Debug for FormFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl FormFields {
    pub(super) fn new(fields: Vec<(String, String)>) -> Result<Self, OauthErrorResponse> {
        if fields.len() > MAX_FIELDS {
            return Err(OauthErrorResponse::new(OauthError::InvalidRequest, "too many parameters"));
        }
        let repeated = |(index, (name, _)): (usize, &(String, String))| {
            fields.iter().take(index).any(|(other, _)| other == name)
        };
        if fields.iter().enumerate().any(repeated) {
            return Err(OauthErrorResponse::new(OauthError::InvalidRequest, "a parameter is repeated"));
        }
        Ok(Self(fields))
    }

    pub(super) fn find_field(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(each, value)| each == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    pub(super) fn require_field(&self, name: &'static str) -> Result<&str, OauthErrorResponse> {
        let missing = || OauthErrorResponse::new(OauthError::InvalidRequest, format!("`{name}` is missing"));
        self.find_field(name).ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Result<FormFields, OauthErrorResponse> {
        FormFields::new(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    /// ERR-49: a repeated parameter is rejected, and an empty parameter counts as absent.
    #[test]
    fn repeated_parameters_are_rejected() {
        let some = fields(&[("a", "1"), ("b", "")]).unwrap();
        assert_eq!(
            (some.find_field("a"), some.find_field("b"), some.find_field("c")),
            (Some("1"), None, None)
        );
        assert_eq!(some.require_field("b").unwrap_err().error_code(), "invalid_request");
        assert_eq!(fields(&[("a", "1"), ("a", "1")]).unwrap_err().error_code(), "invalid_request");
        assert_eq!(fields(&[("a", ""), ("a", "1")]).unwrap_err().error_code(), "invalid_request");
        assert_eq!(format!("{some:?}"), r#"["a", "b"]"#);
    }
}

//! The scopes that a device login requests and the scopes of a token response (IDP-05, IDP-06).

use exchange_api::scopes::Scope;

use crate::error::{Error, ErrorKind};

/// The scope that keeps the connection when the member signs out in the browser. It is not a scope of the
/// exchange.
const OFFLINE_ACCESS: &str = "offline_access";

/// Returns the `scope` parameter: these capabilities and the scopes that every connection needs, without
/// duplicates.
///
/// Fails for a scope that the exchange does not define, because scopes that identify the member must never be
/// requested (IDP-06).
pub(crate) fn build_scope(scopes: &[Scope]) -> Result<String, Error> {
    if let Some(other) = scopes.iter().find(|scope| !scope.is_known()) {
        let what = format!("{:?} is not a scope of the exchange", other.as_str());
        return Err(Error::new(ErrorKind::Invalid, what));
    }
    let needed = |scope: &&Scope| **scope == Scope::ExchangeConnect || scopes.contains(scope);
    let mut text = Scope::ALL.iter().filter(needed).map(Scope::as_str).collect::<Vec<_>>();
    text.push(OFFLINE_ACCESS);
    Ok(text.join(" "))
}

/// Parses the capabilities in the `scope` of a token response, without duplicates.
pub(crate) fn parse_scopes(text: &str) -> Vec<Scope> {
    let names = text.split_ascii_whitespace().filter(|name| *name != OFFLINE_ACCESS);
    let mut scopes: Vec<Scope> = Vec::new();
    for scope in names.map(Scope::from) {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    scopes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IDP-05, IDP-06: a login requests the given scopes and those that every connection needs, and rejects
    /// unknown scopes.
    #[test]
    fn requested_scopes() {
        assert_eq!(build_scope(&[]).unwrap(), "exchange.connect offline_access");
        let scopes = [Scope::ExchangeStockWrite, Scope::ExchangeStockRead, Scope::ExchangeStockRead];
        assert_eq!(
            build_scope(&scopes).unwrap(),
            "exchange.connect exchange.stock.read exchange.stock.write offline_access"
        );
        for other in ["openid", "profile", "email", "offline_access", "exchange.all", ""] {
            let error = build_scope(&[Scope::from(other)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{other}");
        }
    }

    #[test]
    fn granted_scopes() {
        assert_eq!(
            parse_scopes(
                " exchange.connect  offline_access exchange.stock.read exchange.stock.read exchange.new"
            ),
            [Scope::ExchangeConnect, Scope::ExchangeStockRead, Scope::from("exchange.new")]
        );
        assert!(parse_scopes("").is_empty());
    }
}

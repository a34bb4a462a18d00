//! Which scopes a device login asks for, and which were granted (IDP-05, IDP-06).

use exchange_api::scopes::Scope;

use crate::error::{Error, ErrorKind};

/// Keeps the connection when the member signs out of the browser. No scope of the exchange's table.
const OFFLINE_ACCESS: &str = "offline_access";

/// What a device login asks for: these capabilities and what every connection needs, each once.
///
/// Fails when one is none of the exchange's: those that tell who the member is are never asked for (IDP-06).
pub(crate) fn asked(scopes: &[Scope]) -> Result<String, Error> {
    if let Some(other) = scopes.iter().find(|scope| !scope.is_known()) {
        let what = format!("{:?} is no capability of the exchange", other.as_str());
        return Err(Error::new(ErrorKind::Invalid, what));
    }
    let needed = |scope: &&Scope| **scope == Scope::ExchangeConnect || scopes.contains(scope);
    let mut text = Scope::ALL.iter().filter(needed).map(Scope::as_str).collect::<Vec<_>>();
    text.push(OFFLINE_ACCESS);
    Ok(text.join(" "))
}

/// The capabilities that an answer's `scope` names.
pub(crate) fn granted(text: &str) -> Vec<Scope> {
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

    /// IDP-05, IDP-06
    #[test]
    fn what_is_asked_for() {
        assert_eq!(asked(&[]).unwrap(), "exchange.connect offline_access");
        let scopes = [Scope::ExchangeStockWrite, Scope::ExchangeStockRead, Scope::ExchangeStockRead];
        assert_eq!(
            asked(&scopes).unwrap(),
            "exchange.connect exchange.stock.read exchange.stock.write offline_access"
        );
        for other in ["openid", "profile", "email", "offline_access", "exchange.all", ""] {
            let error = asked(&[Scope::from(other)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{other}");
        }
    }

    #[test]
    fn what_is_granted() {
        assert_eq!(
            granted(" exchange.connect  offline_access exchange.stock.read exchange.stock.read exchange.new"),
            [Scope::ExchangeConnect, Scope::ExchangeStockRead, Scope::from("exchange.new")]
        );
        assert!(granted("").is_empty());
    }
}

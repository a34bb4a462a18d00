//! TLS without a proxy in front. The certificate chain and its key are read from PEM files.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::ServeError;

/// Builds an acceptor for TLS 1.2 and 1.3. Returns `None` if no certificate is configured.
pub(super) fn build_acceptor(
    certificate: Option<&Path>,
    private_key: Option<&Path>,
) -> Result<Option<TlsAcceptor>, ServeError> {
    let (certificate, private_key) = match (certificate, private_key) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(private_key)) => (certificate, private_key),
        _ => return Err(ServeError::IncompleteTls),
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| file_error(certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(file_error(certificate, "the file contains no certificate".to_owned()));
    }
    let key = PrivateKeyDer::from_pem_file(private_key)
        .map_err(|error| file_error(private_key, error.to_string()))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
}

fn file_error(path: &Path, reason: String) -> ServeError {
    ServeError::File { path: path.to_owned(), reason }
}

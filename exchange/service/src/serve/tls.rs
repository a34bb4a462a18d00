//! TLS without a proxy in front. The certificate chain and its key are read from PEM files. They are read again
//! when the files change, and when the service is told to reload: open connections keep their certificate, and new
//! ones get the new certificate.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

use super::ServeError;

/// The interval at which the files are compared with the certificate in use.
const WATCH_INTERVAL: Duration = Duration::from_secs(10);

/// The certificate of a server, which can be replaced while the server runs. Clones share it.
#[derive(Clone)]
pub struct ServerCertificate(Arc<CertificateInner>);

struct CertificateInner {
    current: Arc<CurrentKey>,
    loaded: Mutex<LoadedFiles>,
}

/// The files that were read last, whether or not they could be used.
struct LoadedFiles {
    paths: (PathBuf, PathBuf),
    contents: (Vec<u8>, Vec<u8>),
}

#[derive(Debug)]
struct CurrentKey(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for CurrentKey {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

impl fmt::Debug for ServerCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCertificate").finish_non_exhaustive()
    }
}

impl ServerCertificate {
    /// Reads a certificate chain and its key.
    fn read(paths: (PathBuf, PathBuf)) -> Result<Self, ServeError> {
        let contents = read_files(&paths)?;
        let key = parse_key(&paths, &contents)?;
        let current = Arc::new(CurrentKey(ArcSwap::from_pointee(key)));
        let loaded = Mutex::new(LoadedFiles { paths, contents });
        Ok(Self(Arc::new(CertificateInner { current, loaded })))
    }

    /// Reads the files at these paths, and uses them for new connections. Returns false if the files are those
    /// that were read last.
    ///
    /// # Errors
    /// Returns a [`ServeError`] if the files cannot be used. The previous certificate remains in use.
    pub fn reload_from(&self, certificate: &Path, private_key: &Path) -> Result<bool, ServeError> {
        let paths = (certificate.to_owned(), private_key.to_owned());
        let mut loaded = self.0.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        self.replace(&mut loaded, paths)
    }

    /// Reads the same files again, and uses them if they have changed.
    ///
    /// # Errors
    /// Returns a [`ServeError`] if the files cannot be used. The previous certificate remains in use.
    pub fn reload(&self) -> Result<bool, ServeError> {
        let mut loaded = self.0.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let paths = loaded.paths.clone();
        self.replace(&mut loaded, paths)
    }

    fn replace(&self, loaded: &mut LoadedFiles, paths: (PathBuf, PathBuf)) -> Result<bool, ServeError> {
        let contents = read_files(&paths)?;
        if contents == loaded.contents {
            loaded.paths = paths;
            return Ok(false);
        }
        // Invalid files are remembered too, so that they are reported only once.
        *loaded = LoadedFiles { paths, contents };
        let key = parse_key(&loaded.paths, &loaded.contents)?;
        self.0.current.0.store(Arc::new(key));
        Ok(true)
    }

    /// Reloads the certificate whenever its files change, without end.
    pub async fn watch(self) {
        loop {
            tokio::time::sleep(WATCH_INTERVAL).await;
            let certificate = self.clone();
            let reloaded = tokio::task::spawn_blocking(move || certificate.reload()).await;
            if let Ok(reloaded) = reloaded {
                log_reload(&reloaded);
            }
        }
    }
}

/// Logs the outcome of a reload, unless nothing has changed.
pub fn log_reload(outcome: &Result<bool, ServeError>) {
    match outcome {
        Ok(true) => tracing::info!("certificate.reloaded"),
        Ok(false) => {}
        Err(error) => tracing::warn!(%error, "certificate.reload_failed"),
    }
}

/// Builds an acceptor for TLS 1.2 and 1.3. Returns `None` if no certificate is configured.
pub(super) fn build_acceptor(
    certificate: Option<&Path>,
    private_key: Option<&Path>,
) -> Result<Option<(TlsAcceptor, ServerCertificate)>, ServeError> {
    let paths = match (certificate, private_key) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(private_key)) => (certificate.to_owned(), private_key.to_owned()),
        _ => return Err(ServeError::IncompleteTls),
    };
    let certificate = ServerCertificate::read(paths)?;
    let resolver = Arc::clone(&certificate.0.current);
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(resolver);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some((TlsAcceptor::from(Arc::new(config)), certificate)))
}

fn read_files((certificate, private_key): &(PathBuf, PathBuf)) -> Result<(Vec<u8>, Vec<u8>), ServeError> {
    let read = |path: &Path| fs::read(path).map_err(|error| file_error(path, error.to_string()));
    Ok((read(certificate)?, read(private_key)?))
}

fn parse_key(
    (certificate, private_key): &(PathBuf, PathBuf),
    (chain, key): &(Vec<u8>, Vec<u8>),
) -> Result<CertifiedKey, ServeError> {
    let chain = CertificateDer::pem_slice_iter(chain)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| file_error(certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(file_error(certificate, "the file contains no certificate".to_owned()));
    }
    let key =
        PrivateKeyDer::from_pem_slice(key).map_err(|error| file_error(private_key, error.to_string()))?;
    Ok(CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider())?)
}

fn file_error(path: &Path, reason: String) -> ServeError {
    ServeError::File { path: path.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a new certificate with its key, and returns the certificate.
    fn write_pair(folder: &Path) -> Vec<u8> {
        let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(folder.join("chain.pem"), pair.cert.pem()).unwrap();
        fs::write(folder.join("key.pem"), pair.signing_key.serialize_pem()).unwrap();
        pair.cert.der().to_vec()
    }

    /// A changed certificate is used. An unusable one is reported once, and the previous one stays in use.
    #[test]
    fn certificate_is_replaced_only_by_a_usable_one() {
        let folder = tempfile::tempdir().unwrap();
        let first = write_pair(folder.path());
        let (chain, key) = (folder.path().join("chain.pem"), folder.path().join("key.pem"));
        let certificate = ServerCertificate::read((chain.clone(), key.clone())).unwrap();
        let current = || certificate.0.current.0.load().cert[0].to_vec();
        assert_eq!(current(), first);
        assert!(!certificate.reload().unwrap(), "nothing has changed");

        // A renewal has replaced the chain, but not the key yet.
        let old_key = fs::read(&key).unwrap();
        let second = write_pair(folder.path());
        let new_key = fs::read(&key).unwrap();
        fs::write(&key, old_key).unwrap();
        assert!(matches!(certificate.reload(), Err(ServeError::Certificate(_))));
        assert!(!certificate.reload().unwrap(), "the same files are not reported again");
        assert_eq!(current(), first);
        fs::write(&key, new_key).unwrap();
        assert!(certificate.reload().unwrap());
        assert_eq!(current(), second);

        fs::remove_file(&key).unwrap();
        assert!(matches!(certificate.reload(), Err(ServeError::File { .. })));
        fs::write(&key, "no key").unwrap();
        assert!(matches!(certificate.reload(), Err(ServeError::File { path, .. }) if path == key));
        assert_eq!(current(), second);

        let elsewhere = tempfile::tempdir().unwrap();
        let third = write_pair(elsewhere.path());
        let reloaded =
            certificate.reload_from(&elsewhere.path().join("chain.pem"), &elsewhere.path().join("key.pem"));
        assert!(reloaded.unwrap());
        assert_eq!(current(), third);
    }
}

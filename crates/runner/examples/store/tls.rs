//! The store's TLS.

use std::{error::Error, fs, sync::Arc};

use tokio_rustls::TlsAcceptor;
use waggle_testkit::tls::{Authority, ClientAuth, Signed, server_config};

/// `CERTIFICATE,KEY[,AUTHORITY]`.
pub(crate) fn of_files(files: &str) -> Result<TlsAcceptor, Box<dyn Error>> {
    let mut files = files.split(',').map(fs::read_to_string);
    let mut next = || files.next().transpose();
    let certificate = next()?.ok_or("a certificate is needed")?;
    let key = next()?.ok_or("a key is needed")?;
    let authority = next()?;
    let config = server_config(&Signed::from_pem(certificate, key), authority.as_deref());
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Writes the authority's certificate into the file.
pub(crate) fn of_own_authority(file: &str) -> Result<TlsAcceptor, Box<dyn Error>> {
    let authority = Authority::new("store");
    let config = authority.server_with(&authority.sign("127.0.0.1", 2090), ClientAuth::None);
    fs::write(file, &authority.pem)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

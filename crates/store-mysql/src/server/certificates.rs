//! Certificates for one local server: a new certificate authority, and the server's certificate.

use std::fs;
use std::io;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// Writes `authority.pem`, `server.pem` and `server.key`.
pub(super) fn write(folder: &Path) -> io::Result<()> {
    let (authority, server, key) = make().map_err(io::Error::other)?;
    fs::write(folder.join("authority.pem"), authority)?;
    fs::write(folder.join("server.pem"), server)?;
    fs::write(folder.join("server.key"), key)
}

fn make() -> Result<(String, String, String), rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let server = CertificateParams::new(names)?.signed_by(&key, &authority)?;
    Ok((authority.pem(), server.pem(), key.serialize_pem()))
}

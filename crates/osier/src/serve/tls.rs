//! The certificate and the key of a gateway.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::layout::sanitize_line;

pub(super) fn server_config(cert: &Path, key: &Path) -> Result<Arc<ServerConfig>> {
    let name = |path: &Path| sanitize_line(&path.to_string_lossy());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect)
        .with_context(|| format!("cannot read the certificate {}", name(cert)))?;
    let secret =
        PrivateKeyDer::from_pem_file(key).with_context(|| format!("cannot read the key {}", name(key)))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .with_context(|| format!("{} and {} do not fit together", name(cert), name(key)))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

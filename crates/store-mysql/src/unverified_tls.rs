//! TLS for `ssl-mode` `PREFERRED` and `REQUIRED`: traffic is encrypted, but the server's identity is not verified.

use std::fs;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use sqlx::ConnectOptions;
use sqlx::mysql::MySqlConnectOptions;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::attempt_error::AttemptError;

/// The TLS configuration, and the server name to send.
pub(crate) struct UnverifiedConnector {
    config: ClientConfig,
    name: ServerName<'static>,
}

impl UnverifiedConnector {
    pub(crate) fn new(options: &MySqlConnectOptions) -> Result<UnverifiedConnector, AttemptError> {
        let host = options.get_host().trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(host).map_err(tls_error)?;
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider.clone());
        let config = config.with_safe_default_protocol_versions().map_err(tls_error)?.dangerous();
        let config = config.with_custom_certificate_verifier(Arc::new(AcceptAnyCertificate(provider)));
        let config = match client_certificate(options)? {
            Some((certificates, key)) => {
                config.with_client_auth_cert(certificates, key).map_err(tls_error)?
            }
            None => config.with_no_client_auth(),
        };
        Ok(UnverifiedConnector { config, name })
    }

    pub(crate) async fn connect(self, server: TcpStream) -> Result<TlsStream<TcpStream>, AttemptError> {
        let connector = TlsConnector::from(Arc::new(self.config));
        Ok(connector.connect(self.name, server).await.map_err(sqlx::Error::Io)?)
    }
}

type ClientCertificate = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The client certificate from `ssl-cert` and `ssl-key`. The driver exposes these options only as part of a URL.
fn client_certificate(options: &MySqlConnectOptions) -> Result<Option<ClientCertificate>, AttemptError> {
    let url = options.to_url_lossy();
    let read = |name: &str| match url.query_pairs().find(|(key, _)| key == name) {
        Some((_, path)) => fs::read(&*path).map(Some).map_err(sqlx::Error::Io),
        None => Ok(None),
    };
    match (read("ssl-cert")?, read("ssl-key")?) {
        (None, None) => Ok(None),
        (Some(certificates), Some(key)) => {
            let certificates = CertificateDer::pem_slice_iter(&certificates).collect::<Result<_, _>>();
            Ok(Some((
                certificates.map_err(tls_error)?,
                PrivateKeyDer::from_pem_slice(&key).map_err(tls_error)?,
            )))
        }
        _ => Err(sqlx::Error::Configuration("ssl-cert and ssl-key must be given together".into()).into()),
    }
}

fn tls_error(error: impl std::error::Error + Send + Sync + 'static) -> AttemptError {
    AttemptError::Sql(sqlx::Error::Tls(Box::new(error)))
}

/// Accepts every certificate, but checks that the server has its private key.
#[derive(Debug)]
struct AcceptAnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

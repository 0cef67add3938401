//! Certificates made while a test runs: an authority, and certificates that it signs.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, RevokedCertParams,
    SanType, date_time_ymd,
};
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};

/// A certificate authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub pem: String,
    /// Serial number of the next certificate.
    next: AtomicU64,
}

/// Whether a server wants a certificate of the same authority from its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAuth {
    None,
    Required,
}

/// A certificate with its key, both in PEM.
#[derive(Debug)]
pub struct Signed {
    pub certificate: String,
    pub key: String,
    serial: u64,
}

impl Signed {
    /// One that was made elsewhere.
    pub fn from_pem(certificate: String, key: String) -> Self {
        Self {
            certificate,
            key,
            serial: 0,
        }
    }
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a certificate");
        Self {
            pem: certificate.pem(),
            issuer: Issuer::new(params, key),
            next: AtomicU64::new(1),
        }
    }

    /// Signs a certificate for a name, valid until the end of a year.
    pub fn sign(&self, name: &str, until_year: i32) -> Signed {
        self.sign_with(name, 2020, until_year, IsCa::NoCa)
    }

    /// Signs a certificate for a name that is itself that of an authority.
    pub fn sign_authority(&self, name: &str) -> Signed {
        self.sign_with(name, 2020, 2090, IsCa::Ca(BasicConstraints::Unconstrained))
    }

    /// Signs a certificate for a name that is not valid yet.
    pub fn sign_for_later(&self, name: &str) -> Signed {
        self.sign_with(name, 2089, 2090, IsCa::NoCa)
    }

    /// Signs a certificate for a URI, as services have them (SPIFFE).
    ///
    /// # Panics
    /// If it is not ASCII.
    pub fn sign_uri(&self, uri: &str) -> Signed {
        let mut params = CertificateParams::default();
        let uri = SanType::URI(uri.try_into().expect("ASCII"));
        params.subject_alt_names.push(uri);
        params.not_after = date_time_ymd(2090, 12, 31);
        self.sign_params(params)
    }

    /// The list of these certificates as revoked, in PEM; a newer one is due at the begin of the year.
    pub fn revoke(&self, revoked: &[&Signed], next_year: i32) -> String {
        let entry = |signed: &&Signed| RevokedCertParams {
            serial_number: signed.serial.into(),
            revocation_time: date_time_ymd(2021, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(next_year, 1, 1),
            crl_number: 1_u64.into(),
            issuing_distribution_point: None,
            revoked_certs: revoked.iter().map(entry).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = params.signed_by(&self.issuer).expect("a list");
        list.pem().expect("PEM")
    }

    fn sign_with(&self, name: &str, from_year: i32, until_year: i32, is_ca: IsCa) -> Signed {
        let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
        params.is_ca = is_ca;
        params.not_before = date_time_ymd(from_year, 1, 1);
        params.not_after = date_time_ymd(until_year, 12, 31);
        self.sign_params(params)
    }

    fn sign_params(&self, mut params: CertificateParams) -> Signed {
        let key = KeyPair::generate().expect("a key");
        let serial = self.next.fetch_add(1, Ordering::Relaxed);
        params.serial_number = Some(serial.into());
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Signed {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            serial,
        }
    }

    /// Settings of a server with a valid certificate for "localhost".
    pub fn server(&self) -> ServerConfig {
        self.server_with(&self.sign("localhost", 2090), ClientAuth::None)
    }

    /// Settings of a server with this certificate.
    pub fn server_with(&self, signed: &Signed, client_auth: ClientAuth) -> ServerConfig {
        let authority = match client_auth {
            ClientAuth::None => None,
            ClientAuth::Required => Some(self.pem.as_str()),
        };
        server_config(signed, authority)
    }
}

/// Settings of a server with this certificate; if an authority is given, in PEM, its clients need a certificate of it.
pub fn server_config(signed: &Signed, authority: Option<&str>) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the provider knows all versions");
    let builder = match authority {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots
                .add(certificate(authority))
                .expect("a certificate of an authority");
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.expect("a root"))
        }
    };
    let key = PrivateKeyDer::from_pem_slice(signed.key.as_bytes()).expect("a key in PEM");
    builder
        .with_single_cert(vec![certificate(&signed.certificate)], key)
        .expect("a key that fits the certificate")
}

fn certificate(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).expect("a certificate in PEM")
}

//! The certificates of one system that is up: an authority that exists only while they are made, and what it signed, as files in PEM.
//!
//! Keys are of ECDSA with P-256, which every client knows and which takes microseconds to make. The authority's own key is in no file.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use jiff::{ToSpan, Zoned, civil::Date};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use waggle_results::private_file;
use waggle_study::Certificate;

/// The folder of the files, below that of the system.
const FOLDER: &str = "certificates";
const AUTHORITY_FILE: &str = "ca.pem";
/// Hosts of every certificate.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
/// How long certificates are valid, before and after they are made.
const VALID_DAYS: (i32, i32) = (1, 60);

/// Why a system has no certificates.
#[derive(Debug, thiserror::Error)]
pub(super) enum CertificateError {
    #[error("cannot write {}: {problem}", file.display())]
    Write { file: PathBuf, problem: io::Error },
    #[error("certificate {name} cannot be made: {problem}")]
    Make { name: String, problem: rcgen::Error },
}

/// The certificates of a system.
#[derive(Debug)]
pub(super) struct Certificates {
    folder: PathBuf,
    authority: String,
    /// Certificate and key of each, by its name.
    signed: BTreeMap<String, Signed>,
}

/// A certificate and its key, in PEM.
struct Signed {
    certificate: String,
    key: String,
}

impl std::fmt::Debug for Signed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signed")
    }
}

impl Certificates {
    /// Makes certificates and writes their files below the system's folder; those of an earlier system there are replaced.
    pub(super) fn make(
        asked: &[Certificate],
        system_folder: &Path,
    ) -> Result<Self, CertificateError> {
        let folder = system_folder.join(FOLDER);
        let failed = |problem| CertificateError::Write {
            file: folder.clone(),
            problem,
        };
        private_file::create_folder(&folder).map_err(failed)?;
        let (issuer, authority) = authority().map_err(|problem| CertificateError::Make {
            name: "ca".to_owned(),
            problem,
        })?;
        write(&folder.join(AUTHORITY_FILE), &authority)?;
        let mut signed = BTreeMap::new();
        for certificate in asked {
            let pair = sign(certificate, &issuer).map_err(|problem| CertificateError::Make {
                name: certificate.name.clone(),
                problem,
            })?;
            write(
                &folder.join(certificate_file(&certificate.name)),
                &pair.certificate,
            )?;
            write(&folder.join(key_file(&certificate.name)), &pair.key)?;
            signed.insert(certificate.name.clone(), pair);
        }
        Ok(Self {
            folder,
            authority,
            signed,
        })
    }

    /// The folder of the files.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The value of `${ca.cert}`, `${certificate.NAME.cert}` or `${certificate.NAME.key}`; `None` for another name.
    pub(super) fn placeholder(&self, name: &str) -> Option<String> {
        let path = |file: &str| Some(self.folder.join(file).display().to_string());
        if name == "ca.cert" {
            return path(AUTHORITY_FILE);
        }
        let (name, file) = name.strip_prefix("certificate.")?.rsplit_once('.')?;
        self.signed.get(name)?;
        match file {
            "cert" => path(&certificate_file(name)),
            "key" => path(&key_file(name)),
            _ => None,
        }
    }

    /// The authority's certificate, in PEM.
    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    /// A certificate and its key, in PEM.
    pub(super) fn pair(&self, name: &str) -> Option<(&str, &str)> {
        let signed = self.signed.get(name)?;
        Some((&signed.certificate, &signed.key))
    }
}

fn certificate_file(name: &str) -> String {
    format!("{name}.pem")
}

fn key_file(name: &str) -> String {
    format!("{name}.key")
}

fn write(file: &Path, text: &str) -> Result<(), CertificateError> {
    private_file::write_file(file, text).map_err(|problem| CertificateError::Write {
        file: file.to_path_buf(),
        problem,
    })
}

fn authority() -> Result<(Issuer<'static, KeyPair>, String), rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.distinguished_name = subject("waggle", &[]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    set_validity(&mut params);
    let certificate = params.self_signed(&key)?.pem();
    Ok((Issuer::new(params, key), certificate))
}

fn sign(asked: &Certificate, issuer: &Issuer<'static, KeyPair>) -> Result<Signed, rcgen::Error> {
    let key = KeyPair::generate()?;
    let hosts = LOOPBACK.iter().copied().map(str::to_owned);
    let hosts: Vec<String> = hosts.chain(asked.hosts.iter().cloned()).collect();
    let mut params = CertificateParams::new(hosts)?;
    params.distinguished_name = subject(&asked.common_name, &asked.organizations);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    set_validity(&mut params);
    let certificate = params.signed_by(&key, issuer)?.pem();
    Ok(Signed {
        certificate,
        key: key.serialize_pem(),
    })
}

fn subject(common_name: &str, organizations: &[String]) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, common_name);
    for organization in organizations {
        subject.push(DnType::OrganizationName, organization.as_str());
    }
    subject
}

fn set_validity(params: &mut CertificateParams) {
    let today = Zoned::now().date();
    let (before, after) = VALID_DAYS;
    let midnight =
        |date: Date| date_time_ymd(date.year().into(), date.month() as u8, date.day() as u8);
    params.not_before = midnight(today.saturating_sub(before.days()));
    params.not_after = midnight(today.saturating_add(after.days()));
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use waggle_load::{Roots, Tls, TlsOptions};
    use waggle_study::Certificate;

    use super::Certificates;

    fn certificate(name: &str) -> Certificate {
        Certificate {
            name: name.to_owned(),
            common_name: name.to_owned(),
            organizations: vec!["a".to_owned(), "b".to_owned()],
            hosts: vec!["api.test".to_owned(), "10.0.0.1".to_owned()],
        }
    }

    #[test]
    fn files_are_written_for_their_owner_and_usable() {
        let folder = tempfile::tempdir().unwrap();
        let asked = [certificate("server"), certificate("admin")];
        let first = Certificates::make(&asked, folder.path()).unwrap();
        let path = first.placeholder("certificate.admin.key").unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let (certificate, key) = first.pair("admin").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), key);
        let ca = first.placeholder("ca.cert").unwrap();
        assert_eq!(fs::read_to_string(ca).unwrap(), first.authority());
        Tls::new(TlsOptions {
            roots: Roots::Pem(first.authority().as_bytes().to_vec()),
            client: Some((certificate.as_bytes().to_vec(), key.as_bytes().to_vec())),
            ..TlsOptions::default()
        })
        .unwrap();
        for unknown in ["certificate.other.key", "certificate.admin.pem", "ca.key"] {
            assert_eq!(first.placeholder(unknown), None, "{unknown}");
        }
        assert!(!format!("{first:?}").contains("PRIVATE"));
        // The next system there has others.
        let second = Certificates::make(&asked, folder.path()).unwrap();
        assert_ne!(second.authority(), first.authority());
        assert_eq!(
            fs::read_to_string(path).unwrap(),
            second.pair("admin").unwrap().1
        );
    }
}

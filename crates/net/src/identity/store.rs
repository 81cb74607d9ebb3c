//! The authority's folder, with all issued and revoked identities.
//!
//! | file | |
//! |---|---|
//! | `ca.pem`, `ca.key` | the authority; a person with the key can make devices |
//! | `revoked.pem` | the list of revoked certificates, for servers |
//! | `revoked.json` | the names of revoked devices, for servers: certificates are revoked by number |
//! | `issued.json` | every identity ever issued, by name |
//! | `server/` | `cert.pem`, `key.pem`, `ca.pem` |
//! | `devices/NAME/` | `cert.pem`, `key.pem`, `coin.key`, `ca.pem`: to be copied to the device |
//! | `.lock` | held by the process that changes it |
//!
//! An identity's folder exists completely or not at all, and is listed before it exists: an identity that is not listed
//! could not be revoked.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files::{locked, make_folder, remove_folder, write, write_secret};
use super::hosts::hosts_of;
use super::mint::{self, Identity, SERIAL_BYTES, Signer, Validity, hex, unhex};
use super::name::DeviceName;
use crate::coin::CoinKey;
use crate::error::{CANNOT_BE_READ, NetError};

const CERTIFICATE: &str = "cert.pem";
const KEY: &str = "key.pem";
const COIN: &str = "coin.key";
const AUTHORITY: &str = "ca.pem";
/// The authority exists if this file does.
pub const AUTHORITY_KEY: &str = "ca.key";
const REVOKED: &str = "revoked.pem";
pub(crate) const REVOKED_NAMES: &str = "revoked.json";
const ISSUED: &str = "issued.json";

/// A device's identity, as it was issued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    pub name: String,
    /// The serial number of the certificate, in hexadecimal digits.
    pub serial: String,
    /// The public half of its coin, in hexadecimal digits.
    pub coin: String,
    pub not_after_unix_secs: i64,
    pub revoked_unix_secs: Option<i64>,
    /// The serial numbers of certificates before a renewal: they are revoked with the last one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_serials: Vec<String>,
}

/// An authority's folder, locked against changes by other processes.
pub struct Store {
    folder: PathBuf,
    signer: Signer,
    issued: Vec<Issued>,
    _lock: File,
}

impl Store {
    /// Makes an authority and the identity of its server.
    pub fn create(folder: &Path, hosts: &[String], validity: Validity) -> Result<Self, NetError> {
        if folder.join(AUTHORITY_KEY).exists() {
            return Err(NetError::Exists { path: folder.join(AUTHORITY_KEY).display().to_string() });
        }
        let authority = mint::authority(validity.now_unix_secs)?;
        let signer = Signer::new(&authority)?;
        // Before anything is written, so that a wrong name leaves nothing behind.
        let server = signer.server(hosts, validity)?;
        make_folder(folder)?;
        let lock = locked(folder)?;
        let store = Self { folder: folder.to_owned(), signer, issued: Vec::new(), _lock: lock };
        store.hand_out("server", &server, &authority.certificate_pem, None)?;
        store.write_revocations(validity.now_unix_secs)?;
        store.note()?;
        write(&folder.join(AUTHORITY), authority.certificate_pem.as_bytes())?;
        // Last, because the authority exists with this file.
        write_secret(&folder.join(AUTHORITY_KEY), authority.key_pem.as_bytes())?;
        Ok(store)
    }

    pub fn open(folder: &Path) -> Result<Self, NetError> {
        if !folder.join(AUTHORITY_KEY).is_file() {
            return Err(NetError::NoAuthority { folder: folder.display().to_string() });
        }
        let lock = locked(folder)?;
        let certificate_pem = read(folder, AUTHORITY)?;
        let authority = Identity { certificate_pem, key_pem: read(folder, AUTHORITY_KEY)? };
        let issued = serde_json::from_str(&read(folder, ISSUED)?)
            .map_err(|error| NetError::damaged(folder.join(ISSUED), error.to_string()))?;
        let signer = Signer::new(&authority)
            .map_err(|error| NetError::damaged(folder.join(AUTHORITY_KEY), error.to_string()))?;
        let store = Self { folder: folder.to_owned(), signer, issued, _lock: lock };
        // An authority of an earlier version has no such file.
        if !folder.join(REVOKED_NAMES).exists() {
            store.write_revoked_names()?;
        }
        Ok(store)
    }

    /// Replaces the server's identity by a new one, which a running server takes over by itself.
    pub fn renew_server(&mut self, hosts: &[String], validity: Validity) -> Result<PathBuf, NetError> {
        let server = self.signer.server(hosts, validity)?;
        let authority = read(&self.folder, AUTHORITY)?;
        let (place, before) = (self.folder.join("server"), self.folder.join(".old"));
        remove_folder(&before)?;
        // For a moment there is no identity: a server that reads the files just then keeps the old one.
        if place.exists() {
            fs::rename(&place, &before).map_err(NetError::io(&place, "cannot be moved"))?;
        }
        let folder = self.hand_out("server", &server, &authority, None)?;
        remove_folder(&before)?;
        Ok(folder)
    }

    /// The host names in the server's present certificate.
    pub fn server_hosts(&self) -> Result<Vec<String>, NetError> {
        let folder = self.folder.join("server");
        hosts_of(read(&folder, CERTIFICATE)?.as_bytes())
            .ok_or_else(|| NetError::damaged(folder.join(CERTIFICATE), "names no host"))
    }

    /// Refuses names that were used before, or are asked for twice.
    pub fn check_new(&self, names: &[DeviceName]) -> Result<(), NetError> {
        for (n, name) in names.iter().enumerate() {
            if names[..n].contains(name) {
                return Err(NetError::Exists { path: self.place_of(name).display().to_string() });
            }
            self.check_one(name)?;
        }
        Ok(())
    }

    fn check_one(&self, name: &DeviceName) -> Result<(), NetError> {
        let place = self.place_of(name);
        // A name is used once: records and logs contain it for ever.
        if self.issued.iter().any(|issued| issued.name == name.as_str()) || place.exists() {
            return Err(NetError::Exists { path: place.display().to_string() });
        }
        Ok(())
    }

    fn place_of(&self, name: &DeviceName) -> PathBuf {
        self.folder.join("devices").join(name.as_str())
    }

    /// All identities, in the order in which they were issued.
    pub fn issued(&self) -> &[Issued] {
        &self.issued
    }

    /// Issues an identity. Returns its folder.
    pub fn device(&mut self, name: &DeviceName, validity: Validity) -> Result<PathBuf, NetError> {
        self.check_one(name)?;
        let (coin, serial) = (CoinKey::generate(), mint::serial());
        let identity = self.signer.device(name, &coin.public(), serial, validity)?;
        self.issued.push(Issued {
            name: name.to_string(),
            serial: hex(&serial),
            coin: hex(&coin.public().to_bytes()),
            not_after_unix_secs: validity.until_unix_secs(),
            revoked_unix_secs: None,
            earlier_serials: Vec::new(),
        });
        self.note()?;
        let authority = read(&self.folder, AUTHORITY)?;
        self.hand_out(&format!("devices/{name}"), &identity, &authority, Some(&coin))
    }

    /// Gives an identity a new certificate for the same name, key and coin. Returns the file, the only one that changes.
    /// The certificate before it stays valid until its own end, so that the device can stay connected.
    pub fn renew(&mut self, name: &DeviceName, validity: Validity) -> Result<PathBuf, NetError> {
        let path = self.place_of(name).join(CERTIFICATE);
        self.check_renewable(std::slice::from_ref(name))?;
        let place = self.position(name.as_str())?;
        let issued = &self.issued[place];
        let damaged =
            || NetError::damaged(self.folder.join(ISSUED), format!("the coin of {name} is not valid"));
        let (coin, serial) = (unhex(&issued.coin).ok_or_else(damaged)?, mint::serial());
        let last = fs::read_to_string(&path).map_err(NetError::io(&path, CANNOT_BE_READ))?;
        let certificate = self.signer.renewed(name, &coin, &last, serial, validity)?;
        let issued = &mut self.issued[place];
        let last_serial = std::mem::replace(&mut issued.serial, hex(&serial));
        issued.earlier_serials.push(last_serial);
        issued.not_after_unix_secs = validity.until_unix_secs();
        // Before the certificate exists, so that it can be revoked.
        self.note()?;
        write(&path, certificate.as_bytes())?;
        Ok(path)
    }

    /// Refuses names that were not issued, and revoked ones.
    pub fn check_renewable(&self, names: &[DeviceName]) -> Result<(), NetError> {
        for name in names {
            if self.issued[self.position(name.as_str())?].revoked_unix_secs.is_some() {
                return Err(NetError::Revoked { name: name.to_string() });
            }
        }
        Ok(())
    }

    fn position(&self, name: &str) -> Result<usize, NetError> {
        self.issued.iter().position(|issued| issued.name == name).ok_or_else(|| {
            let names = self.issued.iter().map(|issued| issued.name.as_str());
            let nearest = fedflip_fleet::nearest(name, names).map(str::to_owned);
            NetError::Unknown { name: name.to_owned(), nearest }
        })
    }

    /// Revokes an identity: servers with the new list refuse it.
    pub fn revoke(&mut self, name: &str, now_unix_secs: i64) -> Result<(), NetError> {
        let place = self.position(name)?;
        self.issued[place].revoked_unix_secs.get_or_insert(now_unix_secs);
        self.note()?;
        self.write_revocations(now_unix_secs)
    }

    fn write_revocations(&self, now_unix_secs: i64) -> Result<(), NetError> {
        let mut revoked = Vec::new();
        for issued in &self.issued {
            if let Some(unix_secs) = issued.revoked_unix_secs {
                let damaged = |problem| NetError::damaged(self.folder.join(ISSUED), problem);
                if !mint::is_moment(unix_secs) {
                    let Issued { name, .. } = issued;
                    return Err(damaged(format!(
                        "{name} was revoked {unix_secs} s after 1970: this time is out of range"
                    )));
                }
                for text in issued.earlier_serials.iter().chain([&issued.serial]) {
                    let serial: Option<[u8; SERIAL_BYTES]> = unhex(text);
                    let serial = serial.ok_or_else(|| damaged(format!("{text:?} is no serial number")))?;
                    revoked.push((serial, unix_secs));
                }
            }
        }
        let list = self.signer.revocations(&revoked, 1 + revoked.len() as u64, now_unix_secs)?;
        // The names first: whoever sees the new list finds them.
        self.write_revoked_names()?;
        write(&self.folder.join(REVOKED), list.as_bytes())
    }

    fn write_revoked_names(&self) -> Result<(), NetError> {
        let revoked = self.issued.iter().filter(|issued| issued.revoked_unix_secs.is_some());
        let names: Vec<&str> = revoked.map(|issued| issued.name.as_str()).collect();
        let mut text = serde_json::to_vec_pretty(&names).unwrap_or_default();
        text.push(b'\n');
        write(&self.folder.join(REVOKED_NAMES), &text)
    }

    fn note(&self) -> Result<(), NetError> {
        let mut text = serde_json::to_vec_pretty(&self.issued).unwrap_or_default();
        text.push(b'\n');
        write(&self.folder.join(ISSUED), &text)
    }

    /// Writes an identity's folder under another name, and renames it.
    fn hand_out(
        &self,
        place: &str,
        identity: &Identity,
        authority_pem: &str,
        coin: Option<&CoinKey>,
    ) -> Result<PathBuf, NetError> {
        let folder = self.folder.join(place);
        let beside = self.folder.join(".new");
        let failed = NetError::io;
        remove_folder(&beside)?;
        make_folder(&beside)?;
        write(&beside.join(CERTIFICATE), identity.certificate_pem.as_bytes())?;
        write(&beside.join(AUTHORITY), authority_pem.as_bytes())?;
        write_secret(&beside.join(KEY), identity.key_pem.as_bytes())?;
        if let Some(coin) = coin {
            write_secret(&beside.join(COIN), format!("{}\n", hex(&coin.to_bytes())).as_bytes())?;
        }
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(failed(parent, "cannot be made"))?;
        }
        fs::rename(&beside, &folder).map_err(failed(&folder, "cannot be made"))?;
        Ok(folder)
    }
}

/// The names of revoked identities, in the authority's folder or in a server's part of it.
pub(crate) fn revoked_names(folder: &Path) -> Result<Vec<String>, NetError> {
    serde_json::from_str(&read(folder, REVOKED_NAMES)?)
        .map_err(|error| NetError::damaged(folder.join(REVOKED_NAMES), error.to_string()))
}

fn read(folder: &Path, name: &str) -> Result<String, NetError> {
    let path = folder.join(name);
    fs::read_to_string(&path).map_err(NetError::io(&path, CANNOT_BE_READ))
}

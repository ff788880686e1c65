//! Makes folders in which a dry run of publishing sees the crates of today.
//!
//! A dry run builds each crate against its siblings as if they had come from the registry. Cargo takes what comes from
//! there for unchanging: it unpacks a version once, under `CARGO_HOME`, and compiles it once. A second dry run of one version would
//! build against the siblings of the first, and leave its unpublished sources where `cargo install` finds them later.

use crate::target_dir;
use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// Where a dry run unpacks and compiles; nothing of an earlier one is left in them.
pub struct Folders {
    pub home: String,
    pub target: String,
}

impl Folders {
    /// Makes them under `target/publish`; which registry is asked is read from the user's settings.
    pub fn fresh() -> Result<Folders, String> {
        let folder = target_dir().join("publish");
        let made = make(&folder, users_home().as_deref());
        made.map_err(|error| format!("{}: {error}", folder.display()))
    }
}

/// The home of the cargo that runs this program.
fn users_home() -> Option<PathBuf> {
    let said = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    said.or_else(|| Some(std::env::home_dir()?.join(".cargo")))
}

fn make(folder: &Path, users: Option<&Path>) -> std::io::Result<Folders> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let (home, target) = (folder.join("home"), folder.join("target"));
    fs::create_dir_all(&home)?;
    fs::create_dir_all(&target)?;
    for name in ["config.toml", "config"] {
        match users.map(|users| fs::copy(users.join(name), home.join(name))) {
            Some(Err(error)) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let text = |path: PathBuf| {
        let text = path.into_os_string().into_string();
        text.map_err(|_| Error::new(ErrorKind::InvalidInput, "the path is not UTF-8"))
    };
    Ok(Folders {
        home: text(home)?,
        target: text(target)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dry_run_finds_the_users_registry_and_nothing_of_an_earlier_run() {
        let id = std::process::id();
        let place = std::env::temp_dir().join(format!("foldglass-publish-{id}"));
        let users = place.join("users");
        fs::create_dir_all(&users).unwrap();
        fs::write(users.join("config.toml"), "[net]\n").unwrap();
        let folder = place.join("publish");
        let first = make(&folder, Some(&users)).unwrap();
        let unpacked = Path::new(&first.home).join("registry/src/foldglass-0.1.0");
        let compiled = Path::new(&first.target).join("debug");
        fs::create_dir_all(&unpacked).unwrap();
        fs::create_dir_all(&compiled).unwrap();
        let second = make(&folder, Some(&users)).unwrap();
        let settings = fs::read_to_string(Path::new(&second.home).join("config.toml"));
        let left = (unpacked.exists(), compiled.exists());
        let _ = fs::remove_dir_all(&place);
        assert_eq!(settings.unwrap(), "[net]\n");
        assert_eq!(left, (false, false));
    }
}

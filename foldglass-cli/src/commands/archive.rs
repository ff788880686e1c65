//! Puts a reproduction into one file that can be kept for good: records, certificates, figures, report, verdicts on the
//! statements, and a manifest with versions and SHA-256 sums.

mod tar;

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use foldglass_study::disk::Whole;
use foldglass_study::files::note_sum;
use foldglass_study::{StudyError, seal, unseal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::report;
use crate::claims::{Probes, ReproductionFacts, rows};
use crate::cli::GlobalArgs;
use crate::error::Error;
use crate::output::Report;
use crate::report::Cell;
use crate::reproduce::{Records, ReproductionManifest, Scale, compare, items};
use crate::sums::{Hashed, sum_of};
use tar::{TarReader, TarWriter};

/// The flags of `archive`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass archive reproduction --out reproduction.tar
      All that the reproduction in this directory consists of, in one file; the same bytes each time.
  foldglass archive --check reproduction.tar
      Whether every byte is as it was written; exit code 1 where one is not.")]
pub struct ArchiveArgs {
    /// The directory that `reproduce` wrote [default: reproduction, or where there is none
    /// reproduction-quick or reproduction-smoke]
    #[arg(value_name = "DIR", conflicts_with = "check")]
    directory: Option<PathBuf>,
    /// The archive, in the format of tar
    #[arg(short, long, value_name = "FILE", required_unless_present = "check")]
    #[arg(conflicts_with = "check")]
    out: Option<PathBuf>,
    /// Verify an archive: the sums of its files, and that nothing else is in it
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
}

/// What the manifest of an archive is called, and the form of its content.
const MANIFEST: &str = "manifest.json";
const FORMAT: &str = "foldglass-archive/1";

/// The folder in which an archive unpacks.
const FOLDER: &str = "foldglass-reproduction";

/// Directories of a reproduction that are of use to unfinished runs only, and the end of unfinished files.
const UNFINISHED: [&str; 2] = ["checkpoints", ".tmp"];

/// The manifest of an archive: what it is and what is in it.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchiveManifest {
    #[schemars(extend("const" = FORMAT))]
    format: String,
    /// The version that wrote the archive.
    version: String,
    /// The version that began the reproduction.
    reproduced_by: String,
    scale: Scale,
    seed: u64,
    /// All files, in their order.
    files: Vec<ArchivedFile>,
}

/// A file of an archive.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchivedFile {
    path: String,
    bytes: u64,
    sha256: String,
}

/// An archive that was written, or verified.
#[derive(JsonSchema, Serialize)]
pub struct Archive {
    archive: PathBuf,
    /// Its files, without the manifest.
    files: usize,
    /// Of all files together.
    bytes: u64,
    /// What is not as it was written, where it was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<String>,
    verified: bool,
    #[serde(skip)]
    seed: u64,
}

/// Where the bytes of a file are.
enum Content {
    File(PathBuf),
    Bytes(Vec<u8>),
}

impl Content {
    fn open(&self) -> Result<Box<dyn Read + '_>, Error> {
        Ok(match self {
            Content::Bytes(bytes) => Box::new(&bytes[..]),
            Content::File(path) => {
                let file = File::open(path).map_err(|source| StudyError::read(path, source))?;
                Box::new(BufReader::new(file))
            }
        })
    }
}

impl ArchiveArgs {
    /// Writes an archive, or verifies one.
    pub fn run(&self, _: &GlobalArgs) -> Result<Archive, Error> {
        match (&self.check, &self.out) {
            (Some(path), _) => check(path),
            (None, Some(out)) => {
                let directory = self.directory.clone();
                write(
                    &directory.unwrap_or_else(ReproductionManifest::default_directory),
                    out,
                )
            }
            (None, None) => Err(Error::Usage(
                "--out FILE is needed, or --check FILE".to_owned(),
            )),
        }
    }
}

fn write(directory: &Path, out: &Path) -> Result<Archive, Error> {
    let manifest = ReproductionManifest::read(directory)?;
    check_place(out, directory)?;
    let contents = contents(directory)?;
    let mut files = Vec::new();
    for (path, content) in &contents {
        let (bytes, sha256) = sum_of(&mut content.open()?).map_err(Error::Output)?;
        if let Content::File(file) = content {
            note_sum(file, &sha256);
        }
        files.push(ArchivedFile {
            path: path.clone(),
            bytes,
            sha256,
        });
    }
    let bytes = files.iter().map(|file| file.bytes).sum();
    let mut sealed = seal(&ArchiveManifest {
        format: FORMAT.to_owned(),
        version: foldglass_study::VERSION.to_owned(),
        reproduced_by: manifest.version,
        scale: manifest.scale,
        seed: manifest.seed,
        files: files.clone(),
    });
    sealed.push(b'\n');
    let failed = |source| StudyError::write(out, source);
    let whole = Whole::create(out, "archive").map_err(failed)?;
    let mut tar = TarWriter::new(whole);
    let place = |path: &str| format!("{FOLDER}/{path}");
    tar.append(&place(MANIFEST), sealed.len() as u64, &sealed[..])
        .map_err(failed)?;
    for (file, (path, content)) in files.iter().zip(&contents) {
        tar.append(&place(path), file.bytes, content.open()?)
            .map_err(failed)?;
    }
    tar.finish().and_then(Whole::finish).map_err(failed)?;
    Ok(Archive {
        archive: out.to_owned(),
        files: files.len(),
        bytes,
        damage: None,
        verified: false,
        seed: manifest.seed,
    })
}

/// All files of an archive by their paths, in order: those of the directory, with its report as the records say now, and
/// the verdicts on the statements.
fn contents(directory: &Path) -> Result<Vec<(String, Content)>, Error> {
    let records = Records::read(directory, items::all())?;
    let mut comparison = compare(&records, &[])?;
    comparison.draw(&records);
    report::write(&comparison, &records, None)?;
    let probes = Probes::read(directory)?;
    let facts = ReproductionFacts {
        records: &records,
        comparison: &comparison,
        probes: &probes,
    };
    let claims = serde_json::to_vec_pretty(&rows(&facts)?).expect("plain data");
    let mut found = vec![("claims.json".to_owned(), Content::Bytes(claims))];
    list(directory, "", &mut found)?;
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found)
}

/// Adds the files below a folder, `prefix` before their names.
fn list(folder: &Path, prefix: &str, found: &mut Vec<(String, Content)>) -> Result<(), Error> {
    let failed = |source| StudyError::read(folder, source);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name
            .to_str()
            .ok_or_else(|| refused(&path, "its name is not UTF-8"))?;
        if UNFINISHED.iter().any(|end| name.ends_with(end)) {
            continue;
        }
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            list(&path, &format!("{prefix}{name}/"), found)?;
        } else if kind.is_file() {
            found.push((format!("{prefix}{name}"), Content::File(path)));
        } else {
            return Err(refused(&path, "it is neither a file nor a directory"));
        }
    }
    Ok(())
}

fn refused(path: &Path, problem: &str) -> Error {
    Error::Usage(format!(
        "{}: {problem}, which an archive cannot hold",
        path.display()
    ))
}

/// Refuses an archive in the directory that it is made of: the next one would contain it.
fn check_place(out: &Path, directory: &Path) -> Result<(), Error> {
    let parent = out.parent().filter(|parent| *parent != Path::new(""));
    let parent = parent.unwrap_or(Path::new(".")).canonicalize();
    match (parent, directory.canonicalize()) {
        (Ok(parent), Ok(directory)) if parent.starts_with(&directory) => {
            Err(Error::Usage(format!(
                "--out {}: it is in the directory that is archived; name a file elsewhere",
                out.display()
            )))
        }
        _ => Ok(()),
    }
}

/// Reads an archive to its end. Every byte has one value that it may have.
fn check(path: &Path) -> Result<Archive, Error> {
    let failed = |source| StudyError::read(path, source);
    let (_, sha256) = sum_of(&mut File::open(path).map_err(failed)?).map_err(failed)?;
    note_sum(path, &sha256);
    let file = File::open(path).map_err(failed)?;
    let mut tar = TarReader::new(BufReader::new(file));
    let mut archive = Archive {
        archive: path.to_owned(),
        files: 0,
        bytes: 0,
        damage: None,
        verified: true,
        seed: 0,
    };
    if let Err(problem) = verify(&mut tar, &mut archive) {
        archive.damage = Some(problem);
        archive.verified = false;
    }
    Ok(archive)
}

fn verify(tar: &mut TarReader<impl Read>, archive: &mut Archive) -> Result<(), String> {
    let mut sealed = Vec::new();
    tar.read(&format!("{FOLDER}/{MANIFEST}"), &mut sealed)?;
    let manifest = unseal(sealed.trim_ascii_end())
        .filter(|_| sealed.ends_with(b"}\n"))
        .and_then(|content| serde_json::from_slice::<ArchiveManifest>(&content).ok())
        .filter(|manifest| manifest.format == FORMAT)
        .ok_or_else(|| format!("{MANIFEST} is damaged, or of another format than {FORMAT}"))?;
    archive.seed = manifest.seed;
    for file in &manifest.files {
        let mut hash = Hashed::default();
        let bytes = tar.read(&format!("{FOLDER}/{}", file.path), &mut hash)?;
        if (bytes, hash.sum()) != (file.bytes, file.sha256.clone()) {
            return Err(format!("{} is not what was archived", file.path));
        }
        archive.files += 1;
        archive.bytes += bytes;
    }
    tar.end()
}

impl Report for Archive {
    fn seed(&self) -> Option<u64> {
        Some(self.seed)
    }

    fn failure(&self) -> Option<String> {
        let damage = self.damage.as_ref()?;
        Some(format!("{}: {damage}", self.archive.display()))
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Archive {
            archive,
            files,
            bytes,
            ..
        } = self;
        let said = match (self.verified, &self.damage) {
            (_, Some(_)) => "before the damage",
            (true, None) => "all as archived",
            (false, None) => "written",
        };
        let bytes = Cell::Large((*bytes).into()).text();
        writeln!(
            out,
            "{}: {files} files, {bytes} bytes, {said}",
            archive.display()
        )
    }
}

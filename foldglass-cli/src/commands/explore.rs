//! Opens the landscape in a browser: a code to change cell by cell, dynamics, ways out, records.

use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use foldglass::{Allowance, ClassSpec};
use foldglass_explore::server::{Server, ServerEnd, Timeouts};
use foldglass_explore::{
    Directory, DirectoryKind, Explorer, Given, KnownClass, MEMORY, check_cells,
};
use foldglass_study::Folder;
use foldglass_study::tables::Source;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::Invocation;
use crate::error::Error;
use crate::flags::table::one_code;
use crate::flags::{ClassArgs, seconds};
use crate::output::{Report, write};
use crate::progress::say;
use crate::reproduce::ReproductionManifest;

/// The flags of `explore`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass explore
      Open the landscape in a browser.
  foldglass explore runs/mine
      Open the runs of a study.")]
pub struct ExploreArgs {
    /// Show the records in this directory: of a study, as `run` writes it, of a reproduction, as
    /// `reproduce` writes it, or of a fleet, also while `train --out` trains it
    #[arg(value_name = "DIR", conflicts_with = "code")]
    directory: Option<PathBuf>,
    /// Begin with this code: a code file, FILE#N for one of several, - for stdin
    #[arg(short, long, value_name = "FILE")]
    code: Option<Source>,
    /// The port to listen at, on 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "N", value_parser = port, allow_negative_numbers = true)]
    port: Option<u16>,
    /// Print the address and do not open a browser
    #[arg(long)]
    no_open: bool,
    /// End when no page has been open for this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    #[arg(allow_negative_numbers = true)]
    idle: Duration,
    /// Keep running without open pages, until Ctrl-C
    #[arg(long, conflicts_with = "idle")]
    stay: bool,
    /// Stop a computation of a page after this many seconds
    #[arg(long, alias = "longest", value_name = "SECONDS", default_value = "10")]
    #[arg(value_parser = seconds, allow_negative_numbers = true)]
    time_limit: Duration,
    /// Refuse a request whose head or body has not arrived after this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    #[arg(allow_negative_numbers = true)]
    patience: Duration,
    #[command(flatten)]
    class: ClassArgs,
}

fn port(text: &str) -> Result<u16, String> {
    let number = crate::flags::whole(text).filter(|&port: &u16| port > 0);
    number.ok_or(format!("a port from 1 to {} is needed", u16::MAX))
}

/// Where the page is.
#[derive(JsonSchema, Serialize)]
pub struct Address {
    address: String,
    port: u16,
    #[serde(skip)]
    class: Option<ClassSpec>,
}

impl Report for Address {
    fn class(&self) -> Option<ClassSpec> {
        self.class.clone()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.address)
    }
}

impl ExploreArgs {
    /// Prints the address, opens it, and answers until it is over.
    pub fn run(&self, invocation: &Invocation, out: &mut dyn Write) -> Result<(), Error> {
        let given = self.given()?;
        let class = given.class.as_ref().map(|known| known.class.spec());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port.unwrap_or(0)));
        let listener = listener.map_err(|error| match self.port {
            Some(port) => Error::Usage(format!(
                "--port {port}: {error}; without it a free one is taken"
            )),
            None => Error::Failed(format!("no port of 127.0.0.1 can be listened at: {error}")),
        })?;
        let times = Timeouts {
            idle: self.idle,
            stay: self.stay,
            reading: self.patience,
        };
        let explorer = Explorer::new(given, self.memory(), self.time_limit);
        let server = Server::new(listener, explorer, times)?;
        let address = Address {
            address: server.address(),
            port: server.port(),
            class,
        };
        write(&address, invocation, out)?;
        if !self.no_open && !open(&address.address) {
            let port = server.port();
            say(&format!(
                "open the address in a browser of this machine, or of another after \
                 `ssh -L {port}:127.0.0.1:{port} HOST` there"
            ));
        }
        say(match server.serve()? {
            ServerEnd::Interrupted => "explore ended: stopped by Ctrl-C",
            ServerEnd::NoPage => {
                "explore ended: no page was open any more (--stay keeps it running)"
            }
            ServerEnd::NeverOpened => "explore ended: no page was opened (--stay keeps it running)",
        });
        Ok(())
    }

    /// The memory of one computation.
    fn memory(&self) -> Allowance {
        let Allowance(free) = self.class.allowance();
        let usual = Allowance(MEMORY.min(free));
        self.class.most_memory().unwrap_or(usual)
    }

    /// What the page begins with.
    fn given(&self) -> Result<Given, Error> {
        let mut given = Given::default();
        if let Some(path) = &self.directory {
            given.directory = Some(directory(path)?);
        }
        if let Some(source) = &self.code {
            let (class, code) = one_code(source, &self.class)?;
            let file = source.path.display().to_string();
            given.class = Some(KnownClass::of(class, &file));
            given.code = Some(code);
        } else if self.class.is_given() {
            let words = self.class.words()?;
            given.class = Some(KnownClass::new(self.class.class()?, words));
        }
        if let Some(known) = &given.class {
            check_cells(&known.class).map_err(|refusal| Error::Usage(refusal.to_string()))?;
        }
        Ok(given)
    }
}

/// The directory of a study, a fleet or a reproduction.
fn directory(path: &Path) -> Result<Directory, Error> {
    let folder = Folder::on_disk(path);
    if let Some(directory) = Directory::find(&folder) {
        return Ok(directory);
    }
    match ReproductionManifest::find(path)? {
        Some(_) => Ok(Directory {
            folder,
            kind: DirectoryKind::Reproduction,
        }),
        None => Err(Error::Usage(format!(
            "{} holds no records: accepted are the directories that `run`, `reproduce` and `train --out` write; a class is \
             stated by flags, such as --task quasigroup --lengths 8",
            path.display()
        ))),
    }
}

/// Opens the address in the user's browser; says whether there is a way to.
fn open(address: &str) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let (program, seen) = if cfg!(target_os = "macos") {
        ("open", true)
    } else {
        ("xdg-open", set("DISPLAY") || set("WAYLAND_DISPLAY"))
    };
    if !seen {
        return false;
    }
    let mut command = Command::new(program);
    command
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else {
        return false;
    };
    // It may stay as long as the browser does.
    std::thread::spawn(move || child.wait());
    true
}

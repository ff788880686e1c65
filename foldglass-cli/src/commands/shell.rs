//! Writes shell completions and man pages from the definition of the command line.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;
use foldglass_study::StudyError;
use foldglass_study::claims::LABEL;
use foldglass_study::disk::replace;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::Invocation;
use crate::error::Error;
use crate::output::{self, Report};

/// The flags of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass completions bash > foldglass.bash
      Completions for bash.
  foldglass completions zsh > _foldglass
      Completions for zsh.")]
pub struct CompletionsArgs {
    /// The shell: bash, elvish, fish, powershell or zsh
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// A script for a shell.
#[derive(JsonSchema, Serialize)]
pub struct Completions {
    shell: String,
    script: String,
}

impl CompletionsArgs {
    /// Writes the script.
    pub fn run(&self, invocation: &Invocation, out: &mut dyn Write) -> Result<(), Error> {
        let script = self.script(invocation.program.clone());
        output::write(&script, invocation, out)
    }

    fn script(&self, mut program: clap::Command) -> Completions {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, "foldglass", &mut script);
        Completions {
            shell: self.shell.to_string(),
            script: String::from_utf8_lossy(&script).into_owned(),
        }
    }
}

impl Report for Completions {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.script.as_bytes())
    }
}

/// The flags of `man`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  foldglass man man1
      Man pages into the folder man1, one per command.
  man -l man1/foldglass-cavi.1
      Read one of them.")]
pub struct ManArgs {
    /// The directory to write them to, one page per command
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
}

/// Pages that were written.
#[derive(JsonSchema, Serialize)]
pub struct Pages {
    pages: Vec<PathBuf>,
}

impl ManArgs {
    /// Writes the pages, and which ones they are.
    pub fn run(&self, invocation: &Invocation, out: &mut dyn Write) -> Result<(), Error> {
        let pages = self.pages(invocation.program.clone())?;
        output::write(&pages, invocation, out)
    }

    fn pages(&self, mut program: clap::Command) -> Result<Pages, Error> {
        let directory = &self.directory;
        std::fs::create_dir_all(directory)
            .map_err(|source| StudyError::write(directory, source))?;
        program.build();
        let mut commands = vec![("foldglass".to_owned(), program.clone())];
        let own = program
            .get_subcommands()
            .filter(|command| command.get_name() != "help");
        commands.extend(own.map(|command| {
            let name = format!("foldglass-{}", command.get_name());
            (name, command.clone())
        }));
        let mut pages = Vec::new();
        for (name, command) in commands {
            let path = directory.join(format!("{name}.1"));
            let mut page = Vec::new();
            let man = clap_mangen::Man::new(command).title(name);
            let rendered = man.render(&mut page);
            rendered
                .and_then(|()| replace(&path, LABEL, &page))
                .map_err(|source| StudyError::write(&path, source))?;
            pages.push(path);
        }
        Ok(Pages { pages })
    }
}

impl Report for Pages {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut pages = self.pages.iter();
        pages.try_for_each(|page| writeln!(out, "{}", page.display()))
    }
}

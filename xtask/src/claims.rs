//! Writes documentation that is made of data: the table of all statements, the numbers of the errata, tables of pages.
//!
//! The full table takes a reproduction at the default scale, which CI does not make: what `claims` found in one
//! is committed as data, and the documentation is made of it. A test of the command line compares the two.

use crate::{Failure, root};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Where the table stands in docs/claims.md.
const BEGIN: &str = "<!-- the table: `cargo xtask claims DIR` writes what follows -->";

/// The directory of a reproduction, and the program that reads it; none is the one of this tree.
struct Source<'a> {
    directory: &'a str,
    program: Option<&'a str>,
}

impl<'a> Source<'a> {
    fn parse(command: &str, args: &'a [String]) -> Result<Source<'a>, Failure> {
        match args {
            [directory] => Ok(Source {
                directory,
                program: None,
            }),
            [directory, flag, program] if flag == "--program" => Ok(Source {
                directory,
                program: Some(program),
            }),
            _ => Err(Failure::Usage(format!(
                "{command} takes the directory of a reproduction, and --program FILE"
            ))),
        }
    }

    /// What the program prints.
    fn ask(&self, flags: &[&str]) -> Result<String, Failure> {
        let mut command = match self.program {
            Some(program) => Command::new(program),
            None => {
                let mut command =
                    crate::cargo(&["run", "--quiet", "--package", "foldglass-cli", "--"]);
                command.current_dir(root());
                command
            }
        };
        let asked = flags[0];
        let output = command
            .args(flags)
            .args(["--from", self.directory])
            .output();
        let output = output.map_err(|error| Failure::Failed(format!("{asked}: {error}")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(Failure::Failed(format!("{asked}: {said}")));
        }
        String::from_utf8(output.stdout)
            .map_err(|error| Failure::Failed(format!("{asked}: {error}")))
    }
}

/// Runs `cargo xtask claims DIR [--program FILE]`.
pub fn run(args: &[String]) -> Result<(), Failure> {
    let source = Source::parse("claims", args)?;
    let json = source.ask(&["claims", "--records-only", "--json"])?;
    let table = source.ask(&["claims", "--records-only", "--format", "markdown"])?;
    write(&root().join("results/claims.json"), &of(&json)?)?;
    let docs = root().join("docs/claims.md");
    let text = fs::read_to_string(&docs).map_err(|error| failed(&docs, &error))?;
    let Some((head, _)) = text.split_once(BEGIN) else {
        return Err(Failure::Failed(format!(
            "{}: no line {BEGIN}",
            docs.display()
        )));
    };
    let tally = tally(&json)?;
    write(&docs, &format!("{head}{BEGIN}\n\n{tally}\n\n{table}"))
}

/// Runs `cargo xtask sampled DIR [--program FILE]`: keeps the numbers of sampled training, and has the test that compares
/// the tables of docs/sampled.md with them write these.
pub fn sampled(args: &[String]) -> Result<(), Failure> {
    let source = Source::parse("sampled", args)?;
    let json = source.ask(&["reproduce", "ext:sampled", "ext:objectives", "--json"])?;
    let report: serde_json::Value = serde_json::from_str(&json)
        .map_err(|error| Failure::Failed(format!("sampled: {error}")))?;
    let items = report["items"].as_array().into_iter().flatten();
    let rows = items.flat_map(|item| item["rows"].as_array().into_iter().flatten());
    let kept = |row: &serde_json::Value| {
        let keys = ["row", "quantity", "ours", "interval", "n"];
        let fields = keys.map(|key| (key.to_owned(), row[key].clone()));
        serde_json::Value::Object(fields.into_iter().collect()).to_string()
    };
    let rows: Vec<String> = rows.map(kept).collect();
    let text = format!(
        "{{\"scale\":{},\"seed\":{},\"rows\":[\n{}\n]}}\n",
        report["scale"],
        report["seed"],
        rows.join(",\n")
    );
    write(&root().join("results/sampled.json"), &text)?;
    let test = "the_tables_of_the_page_on_sampled_training";
    written_by_test("sampled", test, ("FOLDGLASS_SAMPLED", "write"))
}

/// Runs `cargo xtask errata [--long]`: the test that compares the errata with their sources writes them, and with
/// `--long` runs the commands that take minutes again.
pub fn errata(args: &[String]) -> Result<(), Failure> {
    let asked = match args {
        [] => "write",
        [flag] if flag == "--long" => "long",
        _ => return Err(Failure::Usage("errata takes --long".to_owned())),
    };
    let test = "the_numbers_of_the_errata";
    written_by_test("errata", test, ("FOLDGLASS_ERRATA", asked))
}

/// Runs `cargo xtask process`: the test that compares the tables of docs/process.md with `reproduce` writes them.
pub fn process() -> Result<(), Failure> {
    let test = "process::minutes::the_tables_of_the_page";
    written_by_test("process", test, ("FOLDGLASS_PROCESS", "write"))
}

/// Runs `cargo xtask reference`: the test that compares docs/reference.md with the help of the program writes it.
pub fn reference() -> Result<(), Failure> {
    let test = "the_reference_in_the_book";
    written_by_test("reference", test, ("FOLDGLASS_REFERENCE", "write"))
}

/// Runs a test of the command line, which writes what it else compares.
fn written_by_test(
    command: &str,
    test: &str,
    (variable, asked): (&str, &str),
) -> Result<(), Failure> {
    let mut run = crate::cargo(&["test", "--workspace", "--test", "cli"]);
    run.args([test, "--", "--nocapture", "--include-ignored"]);
    let status = run.env(variable, asked).status();
    let status = status.map_err(|error| Failure::Failed(format!("{command}: {error}")))?;
    if !status.success() {
        return Err(Failure::Failed(format!("{command}: see above")));
    }
    Ok(())
}

/// The statements of a report, without what differs from machine to machine.
fn of(json: &str) -> Result<String, Failure> {
    let object: serde_json::Value =
        serde_json::from_str(json).map_err(|error| Failure::Failed(format!("claims: {error}")))?;
    let kept = serde_json::json!({
        "scale": object["scale"], "seed": object["seed"], "claims": object["claims"],
    });
    Ok(serde_json::to_string_pretty(&kept).expect("plain data") + "\n")
}

/// How many statements have each verdict, in words; those that the same evidence decides count once.
fn tally(json: &str) -> Result<String, Failure> {
    let object: serde_json::Value =
        serde_json::from_str(json).map_err(|error| Failure::Failed(format!("claims: {error}")))?;
    let count = |verdict: &str| {
        let rows = object["claims"].as_array().into_iter().flatten();
        let own = rows.filter(|row| row["verdict"] == verdict && row["same_as"].is_null());
        own.count()
    };
    Ok(format!(
        "{} hold, {} hold in part, {} are contradicted, {} are undecided.",
        count("holds"),
        count("in-part"),
        count("contradicted"),
        count("undecided")
    ))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}

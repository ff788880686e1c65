//! Builds the Python package into a virtual environment under `target/` and runs its tests.
//!
//! What Python needs is fetched while Rust is compiled. Where there is no Python, or nothing can be
//! installed, the tests are skipped and it is said why; with `FOLDGLASS_CI` set that is a failure.

use crate::{Failure, root, target_dir};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;
use std::time::Instant;

/// The oldest Python that the package is for.
const OLDEST: [u32; 2] = [3, 10];

/// A virtual environment with all that tests need, or why there is none.
pub struct Environment(Result<PathBuf, String>);

/// Makes the environment on another thread.
pub fn prepare() -> JoinHandle<Environment> {
    std::thread::spawn(|| Environment(environment()))
}

/// Runs `cargo xtask python`: installs the package as a user does, then tests it; `args` go to pytest.
pub fn run(args: &[String]) -> Result<(), Failure> {
    let package = root().join("foldglass-py");
    test(
        Environment(environment()),
        "pip install ./foldglass-py, pytest",
        |python| pip(python, ["--force-reinstall".as_ref(), package.as_os_str()]),
        args,
    )
}

/// Tests the package with the extension that the tests of the workspace have built.
pub fn after_tests(environment: Environment) -> Result<(), Failure> {
    test(environment, "the extension as built, pytest", stage, &[])
}

/// Installs the package and runs its tests.
fn test(
    environment: Environment,
    how: &str,
    install: impl FnOnce(&Path) -> Result<(), String>,
    args: &[String],
) -> Result<(), Failure> {
    let start = Instant::now();
    let python = match environment.0 {
        Ok(python) => python,
        Err(why) if std::env::var_os("FOLDGLASS_CI").is_some() => {
            return Err(Failure::Failed(format!("python: {why}")));
        }
        Err(why) => {
            eprintln!("== python: SKIPPED: {why}");
            return Ok(());
        }
    };
    eprintln!("== python: {how}");
    let tested = install(&python).and_then(|()| {
        let mut pytest = Command::new(&python);
        pytest.current_dir(root().join("foldglass-py"));
        pytest.args(["-m", "pytest", "-p", "no:cacheprovider", "--durations=5"]);
        pytest.args(["--pyargs", "foldglass", "tests"]);
        done(pytest.args(args), false)
    });
    let seconds = start.elapsed().as_secs_f64();
    tested.map_err(|why| Failure::Failed(format!("python FAILED after {seconds:.1} s: {why}")))?;
    eprintln!("== python passed in {seconds:.1} s");
    Ok(())
}

fn environment() -> Result<PathBuf, String> {
    let system = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let told = "import sys; print(*sys.version_info[:2])";
    let output = Command::new(&system).args(["-c", told]).output();
    let output = output.map_err(|error| format!("{}: {error}", system.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version: Vec<u32> = text
        .split_whitespace()
        .filter_map(|part| part.parse().ok())
        .collect();
    if version[..] < OLDEST[..] {
        let (found, [major, minor]) = (text.trim().replace(' ', "."), OLDEST);
        return Err(format!("Python {found} is older than {major}.{minor}"));
    }
    let place = target_dir().join("python");
    let python = place.join("bin/python");
    if !python.exists() {
        let mut venv = Command::new(&system);
        done(venv.args(["-m", "venv", "--clear"]).arg(&place), true)?;
    }
    let requirements = root().join("foldglass-py/tests/requirements.txt");
    let wanted = fs::read(&requirements).map_err(|error| error.to_string())?;
    let stamp = place.join("installed.txt");
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    pip(&python, ["-r".as_ref(), requirements.as_os_str()])?;
    fs::write(stamp, wanted).map_err(|error| error.to_string())?;
    Ok(python)
}

/// Puts the package where the environment finds it, and its command where the shell does.
fn stage(python: &Path) -> Result<(), String> {
    let told = "import sysconfig; print(sysconfig.get_path('platlib'))";
    let output = Command::new(python).args(["-c", told]).output();
    let output = output.map_err(|error| error.to_string())?;
    let place = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()).join("foldglass");
    let copied = copy_package(&place);
    copied.map_err(|error| format!("{}: {error}", place.display()))?;
    let program = python.with_file_name("foldglass");
    let text = format!(
        "#!{}\nfrom foldglass._program import main\nraise SystemExit(main())\n",
        python.display()
    );
    let written = fs::write(&program, text).and_then(|()| make_executable(&program));
    written.map_err(|error| format!("{}: {error}", program.display()))
}

fn copy_package(place: &Path) -> std::io::Result<()> {
    let (before, after) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let extension = target_dir().join(format!("debug/deps/{before}_native{after}"));
    // What an earlier state had and this one has not would still be imported.
    let _ = fs::remove_dir_all(place);
    fs::create_dir_all(place)?;
    fs::copy(extension, place.join("_native.abi3.so"))?;
    for entry in fs::read_dir(root().join("foldglass-py/python/foldglass"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        let kind = path.extension().and_then(OsStr::to_str);
        if matches!(kind, Some("py" | "pyi" | "typed")) {
            fs::copy(&path, place.join(name))?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

fn pip<'a>(python: &Path, args: impl IntoIterator<Item = &'a OsStr>) -> Result<(), String> {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "--disable-pip-version-check", "install", "-q"]);
    done(pip.args(args), true)
}

/// Runs it to its end; `quiet` keeps what it prints for the message of a failure.
fn done(command: &mut Command, quiet: bool) -> Result<(), String> {
    let line = format!("{command:?}");
    let failed = |error: std::io::Error| format!("{line}: {error}");
    let (status, said) = if quiet {
        let output = command.output().map_err(failed)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status, said)
    } else {
        (command.status().map_err(failed)?, String::new())
    };
    if status.success() {
        return Ok(());
    }
    Err(format!("{line}: {status} {}", said.trim()))
}

//! Builds the Python package into a virtual environment under `target/` and runs its tests.
//!
//! What Python needs is fetched while Rust is compiled. Where there is no Python, or nothing can be
//! installed, the tests are skipped and it is said why; with `FOLDGLASS_CI` set that is a failure.

use crate::venv::{Venv, succeed};
use crate::{Failure, root, skip, skipped_list, target_dir, tools};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;
use std::time::Instant;

/// What is installed, and with it which tests are run.
#[derive(Clone, Copy)]
pub enum Packages {
    /// NumPy and pytest.
    Few,
    /// Also data frames, figures, notebooks, mypy, JAX and Ray, of which the tests in `tests/full` need one each.
    Full,
    /// Also PyTorch and what is built on it, which the tests in `tests/large` need: gigabytes.
    Large,
}

impl Packages {
    /// The environment, and the files of requirements in the folder of the tests.
    fn environment(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Packages::Few => ("python-few", &["requirements.txt"]),
            Packages::Full => ("python", &["full/requirements.txt"]),
            Packages::Large => (
                "python-large",
                &["full/requirements.txt", "large/requirements.txt"],
            ),
        }
    }

    /// The folders of tests that need more.
    fn left_out(self) -> &'static [&'static str] {
        match self {
            Packages::Few => &["tests/full", "tests/large"],
            Packages::Full => &["tests/large"],
            Packages::Large => &[],
        }
    }
}

/// A virtual environment with the packages of its tests, or why there is none.
pub struct Environment {
    packages: Packages,
    venv: Result<Venv, String>,
}

/// Makes the environment on another thread.
pub fn prepare(packages: Packages) -> JoinHandle<Environment> {
    std::thread::spawn(move || environment(packages))
}

/// Runs `cargo xtask python`: installs the package as a user does, then tests it; `args` go to pytest.
pub fn run(packages: Packages, args: &[String]) -> Result<(), Failure> {
    let package = root().join("foldglass-py");
    test(
        environment(packages),
        "pip install ./foldglass-py, pytest",
        |venv| venv.install(["--force-reinstall".as_ref(), package.as_os_str()]),
        (args, Output::AsItComes),
    )
}

/// Tests the package with the extension that the tests of the workspace have built.
pub fn as_built(environment: Environment) -> Result<(), Failure> {
    let how = "the extension as built, pytest";
    test(environment, how, stage, (&[], Output::InOnePiece))
}

/// When what pytest says is shown: other steps may write meanwhile.
enum Output {
    AsItComes,
    InOnePiece,
}

/// Installs the package and runs its tests.
fn test(
    environment: Environment,
    how: &str,
    install: impl FnOnce(&Venv) -> Result<(), String>,
    (args, output): (&[String], Output),
) -> Result<(), Failure> {
    let start = Instant::now();
    let venv = match environment.venv {
        Ok(venv) => venv,
        Err(why) => return skip("python", &format!("Python with what its tests need: {why}")),
    };
    eprintln!("== python: {how}");
    let tested = install(&venv).and_then(|()| {
        let mut pytest = pytest(&venv.python, environment.packages);
        let status = match output {
            Output::AsItComes => pytest.args(args).status(),
            Output::InOnePiece => pytest.args(args).output().map(|output| {
                eprint!("{}", String::from_utf8_lossy(&output.stdout));
                eprint!("{}", String::from_utf8_lossy(&output.stderr));
                output.status
            }),
        };
        match status.map_err(|error| error.to_string())? {
            status if status.success() => Ok(()),
            status => Err(format!("pytest: {status}")),
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    tested.map_err(|why| Failure::Failed(format!("python FAILED after {seconds:.1} s: {why}")))?;
    eprintln!("== python passed in {seconds:.1} s");
    Ok(())
}

/// The tests of the installed package; all but those that need more than `packages`.
pub fn pytest(python: &Path, packages: Packages) -> Command {
    let mut pytest = Command::new(python);
    pytest.current_dir(root().join("foldglass-py"));
    pytest.args(["-m", "pytest", "-p", "no:cacheprovider", "--durations=5"]);
    pytest.args(["--pyargs", "foldglass", "tests"]);
    for folder in packages.left_out() {
        pytest.arg(format!("--ignore={folder}"));
    }
    pytest.env(tools::SKIPPED, skipped_list());
    pytest
}

fn environment(packages: Packages) -> Environment {
    let (name, files) = packages.environment();
    let tests = root().join("foldglass-py/tests");
    let files: Vec<PathBuf> = files.iter().map(|file| tests.join(file)).collect();
    let venv = Venv::prepare(name, &files).and_then(|venv| {
        if let Packages::Large = packages {
            // Its dependencies need CUDA; the tests call what works without them.
            venv.install(["--no-deps", "openrlhf==0.11.2"].map(OsStr::new))?;
        }
        Ok(venv)
    });
    Environment { packages, venv }
}

/// Puts the package where the environment finds it, and its command where the shell does.
fn stage(venv: &Venv) -> Result<(), String> {
    let python = &venv.python;
    let told = "import sysconfig; print(sysconfig.get_path('platlib'))";
    let output = succeed("python", Command::new(python).args(["-c", told]))?;
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

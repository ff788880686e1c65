//! Builds the Python package as it is published, and tests it where there is no Rust.
//!
//! The sdist is built from the workspace, the wheel from the sdist in a folder of its own, and the wheel is installed into a
//! fresh environment. What lies in the workspace but not in the sdist is missed here, as users would miss it.

use crate::venv::{Venv, succeed};
use crate::{Failure, python, root, skip, target_dir};
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The largest wheel: a package that is installed on a whim stays small.
const LARGEST: u64 = 15_000_000;

/// Runs `cargo xtask wheel`.
pub fn run() -> Result<(), Failure> {
    let start = Instant::now();
    let requirements = [root().join("xtask/wheel-requirements.txt")];
    let tools = match Venv::prepare("wheel-tools", &requirements) {
        Ok(tools) => tools,
        Err(why) => return skip("wheel", &format!("Python with maturin and twine: {why}")),
    };
    eprintln!("== wheel: sdist, wheel from the sdist, twine, pytest without Rust");
    let wheel = build(&tools).and_then(|wheel| test(&wheel).map(|()| wheel));
    let wheel = wheel.and_then(|wheel| taskset(&tools).map(|()| wheel));
    let seconds = start.elapsed().as_secs_f64();
    let wheel = wheel
        .map_err(|why| Failure::Failed(format!("wheel FAILED after {seconds:.1} s: {why}")))?;
    eprintln!("== wheel passed in {seconds:.1} s: {}", wheel.display());
    Ok(())
}

/// The wheel, checked but not tested.
fn build(tools: &Venv) -> Result<PathBuf, String> {
    let folder = target_dir().join("wheel");
    // The files of an sdist all have one date, so cargo would not see that they have changed.
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(format!("{}: {error}", folder.display()));
        }
        _ => {}
    }
    let (sdists, wheels, clean) = (
        folder.join("sdist"),
        folder.join("dist"),
        folder.join("clean"),
    );
    let tool = |name: &str| Command::new(tools.python.with_file_name(name));
    let mut sdist = tool("maturin");
    sdist.current_dir(root().join("foldglass-py"));
    timed("maturin sdist", sdist.args(["sdist", "--out"]).arg(&sdists))?;
    let archive = only(&sdists, ".tar.gz")?;
    let mut unpack = Command::new(&tools.python);
    unpack.args(["-m", "tarfile", "-e"]).arg(&archive);
    succeed("tarfile", unpack.arg(&clean))?;
    let mut build = tool("maturin");
    build.args(["build", "--release", "--locked"]);
    if cfg!(target_os = "linux") {
        // glibc 2.17, the oldest that Rust supports; else zig takes that of this machine.
        build.args(["--zig", "--compatibility", "manylinux2014"]);
        // maturin asks the first Python on the path for zig.
        build.env("PATH", first_on_path(&tools.python.with_file_name(""))?);
    }
    build.arg("--out").arg(&wheels);
    build.current_dir(only(&clean, "")?);
    build.env("CARGO_TARGET_DIR", folder.join("build"));
    timed("maturin build", &mut build)?;
    let wheel = only(&wheels, ".whl")?;
    let mut twine = Command::new(&tools.python);
    twine.args(["-m", "twine", "check", "--strict"]);
    timed("twine check", twine.arg(&archive).arg(&wheel))?;
    for file in [&archive, &wheel] {
        let size = fs::metadata(file).map_err(|error| error.to_string())?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        eprintln!("== wheel: {name}, {:.1} MB", size.len() as f64 / 1e6);
        if file == &wheel {
            check(&name, size.len())?;
        }
    }
    Ok(wheel)
}

/// Runs a command to its end and prints how long that took.
fn timed(what: &str, command: &mut Command) -> Result<(), String> {
    let start = Instant::now();
    succeed(what, command)?;
    eprintln!("== wheel: {what}, {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Builds the wheel of `foldglass-fold`, the taskset for verifiers. `tests/large` installs and loads it.
fn taskset(tools: &Venv) -> Result<(), String> {
    let folder = target_dir().join("wheel/taskset");
    let mut pip = Command::new(&tools.python);
    pip.args(["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]);
    pip.arg(&folder);
    let source = root().join("foldglass-py/environments/foldglass_fold");
    succeed("pip wheel", pip.arg(source))?;
    let mut twine = Command::new(&tools.python);
    twine.args(["-m", "twine", "check", "--strict"]);
    succeed("twine check", twine.arg(only(&folder, ".whl")?)).map(drop)
}

/// Refuses a wheel that is too large, or for one version of Python only.
fn check(name: &str, size: u64) -> Result<(), String> {
    if !name.contains("-cp310-abi3-") {
        return Err(format!("{name} is not for Python 3.10 and later (abi3)"));
    }
    if cfg!(target_os = "linux") && !name.contains("-manylinux") {
        return Err(format!("{name} is not a manylinux wheel"));
    }
    if size > LARGEST {
        return Err(format!("{name} has {size} bytes, more than {LARGEST}"));
    }
    Ok(())
}

/// Installs the wheel into a fresh environment and runs the Python tests where no other program is found.
fn test(wheel: &Path) -> Result<(), String> {
    let requirements = [root().join("foldglass-py/tests/requirements.txt")];
    let venv = Venv::prepare("wheel/venv", &requirements)?;
    venv.install([wheel.as_os_str()])?;
    let programs = venv.python.with_file_name("");
    let mut version = Command::new(venv.python.with_file_name("foldglass"));
    succeed(
        "foldglass --version",
        version.arg("--version").env("PATH", &programs),
    )?;
    let mut pytest = python::pytest(&venv.python, python::Packages::Few);
    pytest.env("PATH", &programs);
    match pytest.status().map_err(|error| error.to_string())? {
        status if status.success() => Ok(()),
        status => Err(format!("pytest: {status}")),
    }
}

/// The path on which programs are found, with this folder before all others.
fn first_on_path(folder: &Path) -> Result<OsString, String> {
    let others = std::env::var_os("PATH").unwrap_or_default();
    let folders = [folder.to_owned()].into_iter();
    let folders = folders.chain(std::env::split_paths(&others));
    std::env::join_paths(folders).map_err(|error| error.to_string())
}

/// The only entry of a folder whose name ends so.
fn only(folder: &Path, end: &str) -> Result<PathBuf, String> {
    let problem = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(problem)? {
        let path = entry.map_err(problem)?.path();
        if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
    match <[PathBuf; 1]>::try_from(found) {
        Ok([path]) => Ok(path),
        Err(found) => Err(format!(
            "{} has {} entries *{end}, not one",
            folder.display(),
            found.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_is_refused_if_it_is_large_or_for_one_python_only() {
        let good = "foldglass-0.1.0-cp310-abi3-manylinux_2_17_x86_64.whl";
        assert_eq!(check(good, LARGEST), Ok(()));
        assert!(check(good, LARGEST + 1).unwrap_err().contains("15000001"));
        let one = "foldglass-0.1.0-cp311-cp311-manylinux_2_17_x86_64.whl";
        assert!(check(one, 1).unwrap_err().contains("abi3"));
    }
}

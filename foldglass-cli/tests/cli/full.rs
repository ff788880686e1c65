//! Tests that need a large tool, such as a browser or Slurm: `cargo xtask test --full` runs them.

mod chromium;
#[cfg(unix)]
mod explore_page;
mod report_page;
#[cfg(target_os = "linux")]
mod slurm;

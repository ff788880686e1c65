//! Tests that need a large tool, such as a browser or Slurm, or a minute: `cargo xtask test --full` runs them.

#[cfg(unix)]
mod axe;
#[cfg(unix)]
mod book_page;
mod browser;
mod chromium;
#[cfg(unix)]
mod explore_page;
#[cfg(unix)]
mod firefox;
mod report_page;
mod reproduction;
#[cfg(unix)]
mod second_browser;
#[cfg(unix)]
mod site_page;
#[cfg(target_os = "linux")]
mod slurm;
#[cfg(unix)]
mod static_page;

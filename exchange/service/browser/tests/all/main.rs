//! The members' pages in Chromium, at the widths of a phone and of a laptop, in both color schemes.
//!
//! `cargo xtask browser` starts ChromeDriver and runs these tests. Without it, each test reports that it was
//! skipped, so that `cargo test` needs no browser.

mod browser;
mod fixture;
mod flows;
mod names;
mod pages;

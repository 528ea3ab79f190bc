//! Migrations and templates are embedded at compile time; cargo does not see by itself that one was added.

fn main() {
    println!("cargo::rerun-if-changed=../migrations");
    println!("cargo::rerun-if-changed=../templates");
}

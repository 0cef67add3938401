//! Has the linker write a build id into waggle, by which agents are compared with their runner: many compilers do so by themselves, and
//! not all.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bins=-Wl,--build-id=sha1");
}

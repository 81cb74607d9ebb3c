//! Makes Rust of the protocol, without a `protoc` on the machine.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let protocol = protox::compile(["proto/fedflip.proto"], ["proto"])?;
    tonic_prost_build::configure().bytes(".").compile_fds(protocol)?;
    println!("cargo:rerun-if-changed=proto/fedflip.proto");
    Ok(())
}

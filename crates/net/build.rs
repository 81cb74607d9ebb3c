//! Makes Rust of the protocol, without a `protoc` on the machine.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let protocol = protox::compile(["proto/fedflip.proto"], ["proto"])?;
    let codec = "crate::wire::codec::SmallCodec";
    tonic_prost_build::configure().bytes(".").codec_path(codec).compile_fds(protocol)?;
    println!("cargo:rerun-if-changed=proto/fedflip.proto");
    Ok(())
}

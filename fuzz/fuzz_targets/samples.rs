#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fedflip_fuzz::samples::check(bytes));

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| sanskube_fuzzing::proxies(input));

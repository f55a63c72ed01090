//! Damaged modules: the reader says what is wrong, or reads on, and never fails.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::path::PathBuf;

use standstill_kernel_ir::{FunctionId, Program as _};
use standstill_shader::{Shader, spirv, spirv_listing};

fn all_is_whole(shader: &Shader) {
    for id in 0..shader.module().functions.len() {
        if let Some(function) = shader.function(FunctionId(id as u32)) {
            assert_eq!(function.flaw(), None);
        }
    }
}

fn modules() -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/spirv");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "spv"));
    paths.sort();
    assert!(!paths.is_empty());
    paths.into_iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn whole_modules_are_read_in_either_byte_order() {
    for module in modules() {
        let turned: Vec<u8> =
            module.chunks_exact(4).flat_map(|word| word.iter().rev().copied().collect::<Vec<_>>()).collect();
        for bytes in [&module, &turned] {
            let shader = spirv(bytes, "a.spv").unwrap();
            assert_eq!(shader.problems(), []);
            assert_eq!(shader.module().functions.len(), 1);
        }
        assert_eq!(spirv_listing(&module), spirv_listing(&turned));
    }
}

#[test]
fn cut_modules() {
    for module in modules() {
        for length in 0..module.len() {
            let cut = &module[..length];
            // Where an instruction ends, the rest is read.
            if let Ok(shader) = spirv(cut, "a.spv") {
                assert_eq!(length % 4, 0);
                assert!(shader.module().functions.len() + shader.problems().len() <= 1);
                all_is_whole(&shader);
            }
        }
    }
}

#[test]
fn changed_words() {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % below
    };
    let rounds = std::env::var("STANDSTILL_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    for module in modules() {
        for _ in 0..rounds {
            let mut changed = module.clone();
            for _ in 0..=random(4) {
                let at = random(changed.len() / 4) * 4;
                let word: [u8; 4] = match random(4) {
                    // Another id, an extreme, a small number, another word of the module.
                    0 => (random(300) as u32).to_le_bytes(),
                    1 => [u32::MAX, i32::MAX as u32, 1 << 16, 0][random(4)].to_le_bytes(),
                    2 => (u32::from_le_bytes(changed[at..at + 4].try_into().unwrap()) ^ 1 << random(32))
                        .to_le_bytes(),
                    _ => {
                        let from = random(module.len() / 4) * 4;
                        module[from..from + 4].try_into().unwrap()
                    }
                };
                changed[at..at + 4].copy_from_slice(&word);
            }
            spirv_listing(&changed);
            if let Ok(shader) = spirv(&changed, "a.spv") {
                all_is_whole(&shader);
            }
        }
    }
}

//! Every form of arithmetic, conversion, warp operation, atomic and matrix product that was recorded on a
//! real card (`tests/instruction-truth`), computed by the kernel IR's semantics and compared bit for bit.
//! Approximate functions may differ by their bound (`evaluate::approximate::error`).

#![allow(clippy::unwrap_used, clippy::panic, clippy::needless_range_loop, reason = "a test")]

mod truth {
    pub(crate) mod machine;
    pub(crate) mod values;
}

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::PathBuf;

use standstill_kernel_ir::evaluate::approximate::{Error, error};
use standstill_kernel_ir::{Arithmetic, Program, Type};
use truth::machine::{LANES, Warp};
use truth::values::{Specials, draw, seed_of};

const THREADS: usize = 160;

struct Form<'a> {
    name: &'a str,
    results: Vec<&'a str>,
    sources: Vec<(&'a str, &'a str)>,
    text: &'a str,
}

impl<'a> Form<'a> {
    fn of(line: &'a str) -> Form<'a> {
        let mut columns = line.split('\t');
        let mut next = || columns.next().unwrap();
        let (name, results, sources, text) = (next(), next(), next(), next());
        let sources = sources.split(' ').map(|source| source.split_once(':').unwrap()).collect();
        Form { name, results: results.split(' ').collect(), sources, text }
    }

    fn ptx(&self) -> String {
        let mut text = ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n".to_owned();
        text += ".reg .b64 %ga; .reg .b32 %lane, %sa, %ta;\n";
        for (ty, number) in self.results.iter().zip(0..) {
            let _ = writeln!(text, ".reg .{ty} %d{number};");
        }
        for ((ty, _), number) in self.sources.iter().zip(0..) {
            let _ = writeln!(text, ".reg .{ty} %s{number};");
        }
        text + self.text + "\nret;\n}\n"
    }
}

fn bytes_of(register: &str) -> usize {
    if register == "pred" { 1 } else { register[1..].parse::<usize>().unwrap() / 8 }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/instruction-truth")
}

fn recording() -> Vec<u8> {
    let file = std::fs::File::open(folder().join("h200.bin.zst")).unwrap();
    let mut bytes = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(file).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

/// What a form gives here, as the card's recording has it; or why there is no value.
fn compute(form: &Form<'_>, specials: &Specials) -> Result<(Vec<Vec<u64>>, Option<Arithmetic>), String> {
    let ptx = form.ptx();
    let module = standstill_ptx::parse(&ptx);
    assert_eq!(module.errors.kept().len(), 0, "{}: {:?}", form.name, module.errors.kept());
    let lowering = standstill_ptx::Lowering::new(&module);
    let function = lowering.function(standstill_kernel_ir::FunctionId(0)).unwrap();
    let seed = seed_of(form.name);
    let mut results = vec![Vec::new(); form.results.len()];
    let mut approximate = None;
    for warp in 0..THREADS / LANES {
        let mut machine = Warp::new(&function);
        let first = (warp * LANES) as u64;
        machine.set(0, std::array::from_fn(|lane| 64 * lane as u64));
        machine.set(1, std::array::from_fn(|lane| lane as u64));
        machine.set(3, std::array::from_fn(|lane| 64 * lane as u64));
        let base = 4 + form.results.len() as u32;
        for (&(register, kind), source) in form.sources.iter().zip(0u32..) {
            let bytes = bytes_of(register);
            let mask = if register == "pred" { 1 } else { u64::MAX >> (64 - 8 * bytes) };
            machine.set(
                base + source,
                std::array::from_fn(|lane| {
                    draw(specials, kind, seed, source.into(), first + lane as u64) & mask
                }),
            );
        }
        machine.run()?;
        approximate = approximate.or(machine.approximate);
        for (result, number) in results.iter_mut().zip(4u32..) {
            result.extend(machine.get(number));
        }
    }
    Ok((results, approximate))
}

/// The numbers in a value of an approximate function's type.
fn numbers(ty: Type, bits: u64) -> Vec<(f64, u64)> {
    let single = |bits: u64| (f64::from(f32::from_bits(bits as u32)), bits);
    let half = |bits: u64| {
        let magnitude = bits & 0x7fff;
        let (field, fraction) = ((magnitude >> 10) as i32, (magnitude & 0x3ff) as f64);
        let value = match field {
            31 if fraction == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            0 => fraction * 2f64.powi(-24),
            _ => (1024.0 + fraction) * 2f64.powi(field - 25),
        };
        (if bits >> 15 & 1 == 1 { -value } else { value }, bits)
    };
    match ty {
        Type::F32 => vec![single(bits)],
        Type::F64 => vec![(f64::from_bits(bits), bits)],
        Type::F16 => vec![half(bits)],
        Type::F16x2 => vec![half(bits & 0xffff), half(bits >> 16)],
        Type::Bf16 => vec![single(bits << 16)],
        Type::Bf16x2 => vec![single(bits << 16 & 0xffff_ffff), single(bits & 0xffff_0000)],
        other => panic!("{other:?}"),
    }
}

/// Whether the card's value is within the bound of ours.
fn within(arithmetic: &Arithmetic, ours: u64, card: u64) -> bool {
    let Some(bound) = error(arithmetic) else { return false };
    numbers(arithmetic.ty, ours).into_iter().zip(numbers(arithmetic.ty, card)).all(|((x, a), (y, b))| {
        if a == b {
            return true;
        }
        if !x.is_finite() || !y.is_finite() {
            return false;
        }
        let difference = (x - y).abs();
        match bound {
            Error::Places(places) => a.abs_diff(b) as f64 <= places,
            Error::Relative(relative) => difference <= relative * x.abs(),
            Error::Absolute(absolute) => difference <= absolute,
            Error::RelativeOrAbsolute(relative, absolute) => difference <= (relative * x.abs()).max(absolute),
        }
    })
}

/// Forms where the recording is not followed, since the assembler of CUDA 13.0 does not do what the PTX ISA says:
/// it adds +0 to the upper half in shared memory whatever the operand's upper half is, and it leaves `.sat`
/// out of an unsigned sum. What the card gives is then known, too.
fn is_assembler_fault(name: &str, inputs: &[u64], ours: u64, card: u64) -> bool {
    match name {
        "atom.shared.add.noftz.f16x2"
        | "red.shared.add.noftz.f16x2"
        | "atom.shared.add.noftz.bf16x2"
        | "red.shared.add.noftz.bf16x2" => ours as u16 == card as u16,
        "vadd.u32.u32.u32.sat" => {
            ours == u64::from(u32::MAX) && card == inputs[0].wrapping_add(inputs[1]) & u64::from(u32::MAX)
        }
        _ => false,
    }
}

/// Forms without a value model, by the beginning of their name: their results are unknown, never wrong.
const UNKNOWN: &[&str] = &[];

#[test]
fn everything_recorded_on_the_card() {
    let list = std::fs::read_to_string(folder().join("forms.tsv")).unwrap();
    let mut specials = Specials::new();
    for line in list.lines().filter_map(|line| line.strip_prefix('!')) {
        let (kind, values) = line.split_once('\t').unwrap();
        let values = values.split(' ').map(|value| u64::from_str_radix(value, 16).unwrap()).collect();
        specials.insert(kind.to_owned(), values);
    }
    let recording = recording();
    let mut at = 0;
    let mut wrong = BTreeMap::new();
    let mut report = String::new();
    let (mut forms, mut values, mut inexact, mut unknown) = (0, 0, 0, 0);
    let only = std::env::var("TRUTH_ONLY").unwrap_or_default();
    for line in list.lines().filter(|line| !line.starts_with('!')) {
        let form = Form::of(line);
        let start = at;
        at += form.results.iter().map(|result| bytes_of(result) * THREADS).sum::<usize>();
        if !form.name.starts_with(&only) {
            continue;
        }
        forms += 1;
        let (ours, approximate) = match compute(&form, &specials) {
            Ok(found) => found,
            Err(op) => {
                unknown += 1;
                if !UNKNOWN.iter().any(|prefix| form.name.starts_with(prefix)) {
                    let _ = writeln!(report, "{}: no value of {op}", form.name);
                    wrong.insert(form.name, THREADS);
                }
                continue;
            }
        };
        let mut from = start;
        let mut shown = 0;
        for (ours, register) in ours.iter().zip(&form.results) {
            let bytes = bytes_of(register);
            for (thread, &ours) in ours.iter().enumerate() {
                let card = recording[from..from + bytes]
                    .iter()
                    .rev()
                    .fold(0u64, |value, &byte| value << 8 | u64::from(byte));
                from += bytes;
                values += 1;
                if ours == card {
                    continue;
                }
                let inputs = || -> Vec<u64> {
                    (form.sources.iter().zip(0u64..))
                        .map(|(&(_, kind), source)| {
                            draw(&specials, kind, seed_of(form.name), source, thread as u64)
                        })
                        .collect()
                };
                if is_assembler_fault(form.name, &inputs(), ours, card) {
                    continue;
                }
                if approximate.is_some_and(|arithmetic| within(&arithmetic, ours, card)) {
                    inexact += 1;
                    continue;
                }
                *wrong.entry(form.name).or_insert(0) += 1;
                shown += 1;
                if shown <= 4 {
                    let inputs: Vec<String> =
                        inputs().iter().take(6).map(|value| format!("{value:x}")).collect();
                    let inputs = inputs.join(" ");
                    let _ = writeln!(report, "{} of {inputs}: {ours:x}, card {card:x}", form.name);
                }
            }
        }
    }
    assert!(!only.is_empty() || at == recording.len());
    let summary = format!(
        "{forms} forms, {values} values compared, {inexact} within a bound, {unknown} forms unknown, {} forms differ",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{summary}\n{report}");
    println!("{summary}");
}

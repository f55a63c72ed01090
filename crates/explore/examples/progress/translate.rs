//! Small programs of atomic instructions as PTX kernels.
//!
//! A kernel can run its program many times at once: each instance has 128 bytes of memory of its own. The threads of a launch are
//! numbered through all blocks, and `stride` threads with one role follow each other: with 1, an instance is made of neighbours;
//! with half of all threads, its first thread stands in the first half of the launch and its second in the other.

use std::fmt::Write as _;

use standstill_explore::Argument;

/// What stands before the kernels of a module.
pub(crate) const HEADER: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// A program as a module with a kernel called `program`, with its numbers of threads and locations.
pub(crate) fn translate(program: &str) -> Result<(String, u32, u32), String> {
    let (kernel, threads, locations) = entry("program", program)?;
    Ok((format!("{HEADER}{kernel}"), threads, locations))
}

/// The arguments for one instance.
pub(crate) fn arguments(locations: u32) -> [Argument; 2] {
    [Argument::Buffer { bytes: vec![0; 4 * locations as usize], element: 4 }, Argument::Value(1)]
}

/// A program as a kernel of this name, with its numbers of threads and locations.
pub(crate) fn entry(name: &str, program: &str) -> Result<(String, u32, u32), String> {
    let mut body = String::new();
    let (mut threads, mut locations) = (0, 1);
    for (thread, code) in (0..).zip(program.split(" | ")) {
        threads = thread + 1;
        let _ = writeln!(body, "T{thread}:");
        let instructions: Vec<&str> = code.split(" ; ").map(str::trim).collect();
        for (at, instruction) in instructions.iter().enumerate() {
            let _ = writeln!(body, "T{thread}_{at}:");
            let (name, rest) =
                instruction.split_once('(').ok_or(format!("not an instruction: {instruction}"))?;
            let operands: Vec<&str> = rest.trim_end_matches(')').split(',').map(str::trim).collect();
            let number = |index: usize| -> Result<u32, String> {
                let text = operands.get(index).ok_or(format!("an operand is missing: {instruction}"))?;
                text.parse().map_err(|_| format!("not a number: {text}"))
            };
            let location = number(0)?;
            locations = locations.max(location + 1);
            let place = format!("[%rd0+{}]", location * 4);
            let target = || match operands.last() {
                Some(&"END") => format!("T{thread}_{}", instructions.len()),
                Some(target) => format!("T{thread}_{target}"),
                None => String::new(),
            };
            let branch = |value: u32| format!("setp.eq.u32 %p0, %r1, {value};\n@%p0 bra {};\n", target());
            match name {
                "atomic_store" => {
                    let _ = writeln!(body, "st.relaxed.gpu.global.u32 {place}, {};", number(1)?);
                }
                "atomic_chk_branch" => {
                    let _ = writeln!(body, "ld.relaxed.gpu.global.u32 %r1, {place};\n{}", branch(number(1)?));
                }
                "atomic_exch_branch" => {
                    let _ = writeln!(
                        body,
                        "atom.relaxed.gpu.global.exch.b32 %r1, {place}, {};\n{}",
                        number(2)?,
                        branch(number(1)?)
                    );
                }
                // Not in published files: accesses that are no atomics.
                "plain_store" => {
                    let _ = writeln!(body, "st.global.u32 {place}, {};", number(1)?);
                }
                "plain_add" => {
                    let _ = writeln!(
                        body,
                        "ld.global.u32 %r1, {place};\nadd.u32 %r1, %r1, 1;\nst.global.u32 {place}, %r1;"
                    );
                }
                // Nor: a trap where the location holds the value.
                "check_trap" => {
                    let _ = writeln!(
                        body,
                        "ld.relaxed.gpu.global.u32 %r1, {place};\nsetp.eq.u32 %p0, %r1, {};\n@%p0 trap;",
                        number(1)?
                    );
                }
                _ => return Err(format!("not an instruction: {name}")),
            }
        }
        let _ = writeln!(body, "T{thread}_{}:\nret;", instructions.len());
    }
    let mut dispatch = String::new();
    for thread in 0..threads {
        let _ = writeln!(dispatch, "setp.eq.u32 %p0, %r0, {thread};\n@%p0 bra T{thread};");
    }
    let kernel = format!(
        ".visible .entry {name}(.param .u64 memory, .param .u32 stride)\n{{\n\
         .reg .pred %p<2>;\n.reg .b32 %r<5>;\n.reg .b64 %rd<2>;\n\
         ld.param.u64 %rd0, [memory];\nld.param.u32 %r3, [stride];\n\
         mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ntid.x;\nmov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r0, %r2, %r1, %r0;\n\
         mul.lo.u32 %r1, %r3, {threads};\ndiv.u32 %r2, %r0, %r1;\nmul.lo.u32 %r2, %r2, %r3;\n\
         rem.u32 %r0, %r0, %r1;\nrem.u32 %r4, %r0, %r3;\nadd.u32 %r2, %r2, %r4;\n\
         mul.wide.u32 %rd1, %r2, 128;\nadd.u64 %rd0, %rd0, %rd1;\ndiv.u32 %r0, %r0, %r3;\n\
         {dispatch}ret;\n{body}}}\n"
    );
    Ok((kernel, threads, locations))
}

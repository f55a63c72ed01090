//! Kernel IR back to PTX, for compilers and drivers.
//!
//! What the text of an instruction needs and kernel IR does not keep (cache hints are dropped, the direction of `cvta` is taken from the input) cannot be
//! written; neither can what is not understood. Such an instruction is an error with its place, never left out.

mod arithmetic;
mod body;
mod instruction;
mod words;

use std::fmt::Write as _;

use standstill_kernel_ir::{
    Function, FunctionHeader, FunctionId, FunctionKind, LaunchBounds, Parameter, Piece, Program, Space,
    Variable, VariableImage,
};

pub use words::identifier;

/// Why a program cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{function}: {what} cannot be written as PTX")]
pub struct WriteError {
    /// The function.
    pub function: String,
    /// What cannot be written.
    pub what: String,
    /// Line of the source that it comes from; 0 when unknown.
    pub line: u32,
    /// Byte offset in the input.
    pub offset: u32,
}

/// Writes a whole program for a target such as `sm_90`. `images` are the first values of variables.
///
/// Registers keep their numbers (`%v12`), and blocks are labelled by theirs (`B3`), so that a text can be held against the IR.
pub fn write(program: &dyn Program, target: &str, images: &[VariableImage]) -> Result<String, WriteError> {
    let module = program.module();
    let mut text = format!(".version {}\n.target {target}\n.address_size 64\n\n", version(target));
    for (index, file) in module.files.iter().enumerate().skip(1) {
        let quoted = file.replace('\\', "\\\\").replace('"', "\\\"");
        let _ = writeln!(text, ".file {index} \"{quoted}\"");
    }
    for (variable, index) in module.variables.iter().zip(0u32..) {
        let image = images.iter().find(|image| image.variable == index);
        declare_variable(&mut text, variable, image)?;
    }
    let functions = || module.functions.iter().zip(0u32..);
    // What is called must be declared before.
    let mut bodies = Vec::new();
    for (header, id) in functions() {
        let function = program.function(FunctionId(id));
        if header.kind == FunctionKind::Device {
            let _ = writeln!(text, "{};", signature(header, function.as_ref()));
        }
        bodies.push(function);
    }
    for ((header, _), function) in functions().zip(&bodies) {
        let Some(function) = function else { continue };
        let _ = write!(text, "\n{}{}\n{{\n", signature(header, Some(function)), bounds(&header.bounds));
        text.push_str(&body::write(program, header, function)?);
        text.push_str("}\n");
    }
    Ok(text)
}

/// The oldest PTX version that has a target, and all forms that are written here.
fn version(target: &str) -> &'static str {
    let number: u32 = target.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
    match number {
        0..=90 => "8.0",
        100 | 101 => "8.6",
        120 => "8.7",
        103 | 121 => "8.8",
        _ => "9.0",
    }
}

fn declare_variable(
    text: &mut String,
    variable: &Variable,
    image: Option<&VariableImage>,
) -> Result<(), WriteError> {
    let name = identifier(&variable.name);
    let fault = |what: &str| WriteError { function: name.clone(), what: what.to_owned(), line: 0, offset: 0 };
    let Some(space) = words::space_word(variable.space).filter(|space| !space.is_empty()) else {
        return Err(fault("a variable without a space"));
    };
    let align = variable.align.max(variable.ty.bytes()).max(1);
    if variable.bytes == 0 {
        let _ = writeln!(text, ".extern {space} .align {align} .b8 {name}[];");
        return Ok(());
    }
    // Without a linkage directive it is the module's own.
    let _ = write!(text, "{space} .align {align} .b8 {name}[{}]", variable.bytes);
    match image {
        Some(image) if !image.pointers.is_empty() => return Err(fault("a first value that is an address")),
        Some(image) if matches!(variable.space, Space::Global | Space::Const) => {
            let bytes: Vec<String> = image.bytes.iter().map(u8::to_string).collect();
            let _ = write!(text, " = {{{}}}", bytes.join(", "));
        }
        _ => {}
    }
    text.push_str(";\n");
    Ok(())
}

/// Everything up to the body. A function of which nothing is known takes and gives nothing.
fn signature(header: &FunctionHeader, function: Option<&Function>) -> String {
    let name = identifier(&header.name);
    let kernel = header.kind == FunctionKind::Kernel;
    let parameters: Vec<String> = function.map_or(Vec::new(), |function| {
        function
            .parameters
            .iter()
            .enumerate()
            .map(|(index, parameter)| declare_parameter(parameter, &parameter_name(index)))
            .collect()
    });
    let results = function.map_or(String::new(), |function| results(&function.result_pieces));
    let linkage = match (kernel, function) {
        (true, _) => ".visible .entry ",
        (_, Some(_)) => ".func ",
        (_, None) => ".extern .func ",
    };
    format!("{linkage}{results}{name}({})", parameters.join(", "))
}

/// The name of a parameter inside its function.
fn parameter_name(index: usize) -> String {
    format!("P{index}")
}

fn declare_parameter(parameter: &Parameter, name: &str) -> String {
    match words::bits_name(parameter.ty.bits()) {
        Some(bits) if parameter.bytes == parameter.ty.bytes() => format!(".param .{bits} {name}"),
        _ => format!(".param .align {} .b8 {name}[{}]", parameter.align.max(1), parameter.bytes.max(1)),
    }
}

/// The result of a device function, as so many bytes as its pieces need.
fn results(pieces: &[Piece]) -> String {
    match pieces.iter().map(|piece| piece.offset + 8).max() {
        Some(bytes) => format!("(.param .align 8 .b8 R[{bytes}]) "),
        None => String::new(),
    }
}

fn bounds(bounds: &LaunchBounds) -> String {
    let mut text = String::new();
    let mut shape = |name: &str, extents: Option<[u32; 3]>| {
        if let Some([x, y, z]) = extents {
            let _ = write!(text, "\n.{name} {x}, {y}, {z}");
        }
    };
    shape("reqntid", bounds.required_block);
    shape("maxntid", bounds.maximum_block);
    shape("reqnctapercluster", bounds.required_cluster);
    let numbers = [
        ("minnctapersm", bounds.minimum_blocks_per_multiprocessor),
        ("maxnreg", bounds.maximum_registers),
        ("maxclusterrank", bounds.maximum_cluster_rank),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            let _ = write!(text, "\n.{name} {number}");
        }
    }
    if bounds.explicit_cluster {
        text.push_str("\n.explicitcluster");
    }
    text
}

//! What is explored: a kernel of a file with given arguments, or a launch as a program was about to make it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use standstill_cuda_driver::capture::{Contents, LaunchImage};
use standstill_explore::{Argument, Found, Launch, MOST_THREADS};
use standstill_findings::Finding;
use standstill_kernel_ir::{Function, FunctionKind, Program};
use standstill_ptx::Lowering;
use standstill_report::{Input, InputError, Report, display_name};
use standstill_toolchain::Compiled;

use super::ExploreArgs;
use crate::check::{readers_path, rename_files};
use crate::comments;
use crate::compile::Toolchain;
use crate::input::{self, Loaded, PtxText};
use crate::launch::{names_kernel, show_shape, volume};
use crate::run::{Wanted, capture};

/// Bytes of the buffer behind a pointer that was given no argument.
const DEFAULT_BUFFER: usize = 256;

/// What is explored.
pub(super) struct Subject {
    /// The input, as the user named it.
    pub(super) path: PathBuf,
    /// Of its bytes.
    pub(super) sha256: String,
    /// The same for reports.
    pub(super) shown: String,
    pub(super) text: PtxText,
    /// The kernel's mangled name.
    pub(super) symbol: String,
    /// The source, whose comments may describe the launch.
    source: Option<String>,
    compiled: Option<Compiled>,
    /// The launch that a program was about to make.
    image: Option<LaunchImage>,
}

pub(super) fn problem(shown: &str, message: String) -> InputError {
    InputError { file: shown.to_owned(), line: 0, column: 0, message }
}

impl Subject {
    /// Reads the input, or runs it up to the launch. What is wrong, and what was read, stands in the report.
    pub(super) fn find(arguments: &ExploreArgs, report: &mut Report) -> Option<Subject> {
        let found = match command(arguments) {
            Ok(Some(command)) => Subject::captured(&command, arguments, report).map_err(|message| {
                let hint =
                    arguments.file.as_ref().map(|_| " (--no-run explores a kernel without the program)");
                format!("{message}{}", hint.unwrap_or_default())
            }),
            Ok(None) => return Subject::read(arguments.file.as_deref()?, arguments, report),
            Err(message) => Err(message),
        };
        let named = arguments.file.clone().or_else(|| arguments.program.first().map(PathBuf::from));
        let shown = input::shown(&named.unwrap_or_default());
        found.map_err(|message| report.errors.push(problem(&shown, message))).ok()
    }

    /// A kernel of a file.
    fn read(path: &Path, arguments: &ExploreArgs, report: &mut Report) -> Option<Subject> {
        let shown = input::shown(path);
        let mut loaded = input::load(path, &Toolchain::new(&arguments.compiler), true);
        report.errors.append(&mut loaded.errors);
        report.evidence.inputs = vec![Input { path: shown.clone(), sha256: loaded.sha256.clone() }];
        report.evidence.compiler =
            loaded.compiled.as_ref().map_or(String::new(), |compiled| compiled.compiler.clone());
        match choose(&mut loaded, arguments) {
            Ok((text, symbol)) => Some(Subject {
                path: path.to_owned(),
                sha256: loaded.sha256,
                shown,
                text,
                symbol,
                source: loaded.source,
                compiled: loaded.compiled,
                image: None,
            }),
            Err(message) => {
                if report.errors.is_empty() {
                    report.errors.push(problem(&shown, message));
                }
                None
            }
        }
    }

    /// A launch of a program.
    fn captured(
        command: &[OsString],
        arguments: &ExploreArgs,
        report: &mut Report,
    ) -> Result<Subject, String> {
        let wanted = Wanted {
            command,
            compiler: &arguments.compiler,
            entry: arguments.entry.as_deref(),
            launch: arguments.launch,
        };
        let captured = capture(&wanted)?;
        let mut image = captured.image;
        let sha256 = captured.evidence.inputs.first().map(|input| input.sha256.clone());
        report.evidence.inputs = captured.evidence.inputs;
        report.evidence.compiler = captured.evidence.compiler;
        let path = command.first().map(PathBuf::from).unwrap_or_default();
        let shown = input::shown(&path);
        Ok(Subject {
            text: PtxText { name: format!("{shown}!ptx"), text: std::mem::take(&mut image.text) },
            symbol: image.kernel.clone(),
            source: None,
            compiled: None,
            image: Some(image),
            sha256: sha256.unwrap_or_default(),
            path,
            shown,
        })
    }

    /// The launch, with what the arguments say in the place of what is known.
    pub(super) fn launch(
        &self,
        lowering: &Lowering<'_, '_>,
        arguments: &ExploreArgs,
    ) -> Result<Launch, String> {
        let mut launch = Launch::new(lowering, &self.symbol).map_err(|error| error.to_string())?;
        let function = lowering.function(launch.kernel).ok_or("the kernel has no body")?;
        let count = function.parameters.len();
        if let Some(beyond) = arguments.param.iter().find(|parameter| parameter.position >= count) {
            return Err(format!("--param {}: the kernel has {count} parameters", beyond.position));
        }
        let Some(image) = &self.image else {
            let source = self.source.as_deref().unwrap_or(&self.text.text);
            let (comments, _) = comments::launches(source);
            let comment = comments.into_iter().find(|comment| names_kernel(&comment.kernel, &self.symbol));
            let shape = comment.map(|comment| comment.shape).unwrap_or_default();
            launch.grid = arguments.grid.or(shape.grid).unwrap_or([1; 3]);
            launch.block = arguments.block.or(shape.block).unwrap_or([1; 3]);
            let header = lowering.module().functions.get(launch.kernel.0 as usize);
            let required = header.and_then(|header| header.bounds.required_cluster);
            launch.cluster = arguments.cluster.or(shape.cluster).or(required).unwrap_or([1; 3]);
            launch.dynamic_shared = arguments.shared.unwrap_or(0);
            launch.set_first_values(&lowering.first_values());
            let passed = passed(&function, arguments, &shape.parameters);
            launch.set_arguments(&function, &passed).map_err(|error| error.to_string())?;
            return Ok(launch);
        };
        launch.grid = arguments.grid.unwrap_or(image.grid);
        launch.block = arguments.block.unwrap_or(image.block);
        launch.cluster = arguments.cluster.unwrap_or(image.cluster);
        launch.dynamic_shared = arguments.shared.unwrap_or(image.dynamic_shared);
        let bytes = |Contents(bytes): &Contents| bytes.clone();
        launch.set_found(Found {
            parameters: bytes(&image.parameters),
            variables: image.variables.clone(),
            memory: image.memory.iter().map(|region| (region.address, bytes(&region.contents))).collect(),
        });
        for given in &arguments.param {
            let set = launch.set_argument(&function, given.position, &given.argument);
            set.map_err(|error| error.to_string())?;
        }
        launch.name_buffers(&function, &self.symbol);
        Ok(launch)
    }

    /// Where the launch comes from, when a program made it.
    pub(super) fn origin(&self, arguments: &ExploreArgs) -> Option<String> {
        let image = self.image.as_ref()?;
        let of = arguments.entry.as_ref().map(|_| format!(" of {}", display_name(&self.symbol)));
        let (grid, block) = (show_shape(image.grid), show_shape(image.block));
        let changed = arguments.grid.is_some_and(|given| given != image.grid)
            || arguments.block.is_some_and(|given| given != image.block)
            || !arguments.param.is_empty();
        Some(format!(
            "launch {}{} as {} makes it, <<<{grid}, {block}>>>{}",
            arguments.launch,
            of.unwrap_or_default(),
            self.shown,
            if changed { ", changed by what was given" } else { "" }
        ))
    }

    /// How to explore less, where a program made the launch so large.
    pub(super) fn smaller(&self, launch: &Launch) -> String {
        let threads = volume(launch.grid).saturating_mul(volume(launch.block));
        match &self.image {
            Some(image) if (image.grid, image.block) == (launch.grid, launch.block) => format!(
                "; the program launches {} blocks of {} threads: explore a smaller launch with --grid and --block, and \
                 --param where the kernel counts its threads",
                volume(launch.grid),
                volume(launch.block)
            ),
            _ if threads > u128::from(MOST_THREADS) => "; make --grid or --block smaller".to_owned(),
            _ => String::new(),
        }
    }

    /// Files in a finding as the reader knows them.
    pub(super) fn name_files(&self, finding: &mut Finding) {
        rename_files(std::slice::from_mut(finding), |file| Some(self.readers_file(file)));
    }

    /// A file as the reader knows it.
    pub(super) fn readers_file(&self, file: &str) -> String {
        let typed = self.compiled.as_ref().map_or(file.into(), |compiled| compiled.as_typed(file));
        let here = std::env::current_dir().ok();
        let absolute = std::fs::canonicalize(&self.path).ok();
        let known = readers_path(&typed, &self.path, here.as_deref(), absolute.as_deref());
        known.unwrap_or_else(|| typed.into_owned())
    }
}

/// The program to run up to a launch, with its arguments, where there is one.
fn command(arguments: &ExploreArgs) -> Result<Option<Vec<OsString>>, String> {
    let program = arguments.program.iter().cloned();
    let Some(file) = &arguments.file else { return Ok(Some(program.collect())) };
    let is_source = file.extension().and_then(OsStr::to_str) == Some("cu");
    let main = || std::fs::read(file).is_ok_and(|text| has_main(&String::from_utf8_lossy(&text)));
    if is_source && !arguments.no_run && main() {
        return Ok(Some(std::iter::once(file.clone().into_os_string()).chain(program).collect()));
    }
    match arguments.program.is_empty() {
        true if arguments.launch > 1 => {
            Err("--launch counts the launches of a program, and none is run: the file has no `main`".to_owned())
        }
        true => Ok(None),
        false => Err("it is not run, so that it has no arguments: behind -- stands a program, or what a source with a \
                      `main` gets"
            .to_owned()),
    }
}

/// Whether a source defines `main`, as far as its text shows it.
fn has_main(source: &str) -> bool {
    let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    source.lines().any(|line| {
        let code = line.split_once("//").map_or(line, |(code, _)| code);
        code.match_indices("main").any(|(at, name)| {
            let (before, after) = (code.get(..at), code.get(at + name.len()..));
            before.is_some_and(|before| before.contains("int") && !before.ends_with(of_name))
                && after.is_some_and(|after| after.trim_start().starts_with('('))
        })
    })
}

/// The text with the kernel that is asked for, and its mangled name.
fn choose(loaded: &mut Loaded, arguments: &ExploreArgs) -> Result<(PtxText, String), String> {
    let mut kernels: Vec<(usize, String)> = Vec::new();
    for (text, index) in loaded.texts.iter().zip(0..) {
        let module = standstill_ptx::parse(&text.text);
        let lowering = Lowering::new(&module);
        let of_text = lowering.module().functions.iter();
        let of_text = of_text.filter(|function| function.kind == FunctionKind::Kernel && function.defined);
        kernels.extend(of_text.map(|function| (index, function.name.clone())));
    }
    let list = |kernels: &[(usize, String)]| {
        kernels.iter().map(|(_, name)| display_name(name)).collect::<Vec<_>>().join(", ")
    };
    let (index, symbol) = match (&arguments.entry, &kernels[..]) {
        (_, []) => return Err("there is no kernel in it".to_owned()),
        (None, [(index, symbol)]) => (*index, symbol.clone()),
        (None, several) => return Err(format!("name one of its kernels with --entry: {}", list(several))),
        (Some(wanted), there) => match there.iter().find(|(_, symbol)| names_kernel(wanted, symbol)) {
            Some((index, symbol)) => (*index, symbol.clone()),
            None => return Err(format!("no kernel is named {wanted}; there are {}", list(there))),
        },
    };
    Ok((loaded.texts.swap_remove(index), symbol))
}

/// What each parameter gets: by a flag, by a launch comment, else zeros.
fn passed(
    function: &Function,
    arguments: &ExploreArgs,
    comment: &std::collections::BTreeMap<usize, i64>,
) -> Vec<Argument> {
    let argument = |(parameter, position): (&standstill_kernel_ir::Parameter, usize)| {
        let given = arguments.param.iter().rev().find(|given| given.position == position);
        match (given, comment.get(&position)) {
            (Some(given), _) => given.argument.clone(),
            (None, Some(&value)) => Argument::Value(value as u64),
            (None, None) if parameter.bytes == 8 => {
                Argument::Buffer { bytes: vec![0; DEFAULT_BUFFER], element: 4 }
            }
            (None, None) => Argument::Value(0),
        }
    };
    function.parameters.iter().zip(0..).map(argument).collect()
}

#[cfg(test)]
mod tests {
    use super::has_main;

    #[test]
    fn a_main_is_seen() {
        for source in
            ["int main()\n{", "static int f();\nint main (int argc, char **argv) {", "  int  main()"]
        {
            assert!(has_main(source), "{source}");
        }
        for source in ["// int main()\n", "int domain();", "int main_loop()", "main();", "int x = remain();"]
        {
            assert!(!has_main(source), "{source}");
        }
    }
}

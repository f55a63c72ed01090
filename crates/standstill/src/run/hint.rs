//! Options of ours that stand behind the file: they are the program's, and are easily meant for us.

use std::ffi::OsString;

use clap::Args;

use super::RunArgs;
use crate::output::say;

/// Tells of arguments of the program that are spelt like options of `run`.
pub(super) fn tell(arguments: &RunArgs) {
    let Some((file, rest)) = arguments.command.split_first() else { return };
    if arguments.output.quiet || says_so(file) {
        return;
    }
    let known = RunArgs::augment_args(clap::Command::new("run"));
    let options: Vec<String> = known
        .get_arguments()
        .filter_map(|option| option.get_long())
        .map(|long| format!("--{long}"))
        .collect();
    let spelt: Vec<&str> = rest
        .iter()
        .filter_map(|argument| argument.to_str()?.split('=').next())
        .filter(|argument| options.iter().any(|option| option == argument))
        .collect();
    let Some(first) = spelt.first() else { return };
    let file = file.to_string_lossy();
    say(&format!(
        "standstill: `{first}` stands behind {file} and went to the program; options of standstill go before the file"
    ));
}

/// Whether a `--` before the program says that all behind it is the program's.
fn says_so(file: &OsString) -> bool {
    let mut arguments = std::env::args_os().skip_while(|argument| argument != "--").skip(1);
    arguments.next().as_ref() == Some(file)
}

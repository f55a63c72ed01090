//! Launch options that contradict each other, that a kernel forbids, or that no kernel has a use for.

use standstill_kernel_ir::LaunchBounds;
use standstill_kernel_ir::launch::{Expression, LaunchShape, Variable};
use standstill_report::{InputError, display_name};

use crate::args::LaunchArgs;
use crate::launch::{names_kernel, show_shape, volume};

/// What options are held against of one kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KernelFacts {
    /// Its name in the input.
    pub(crate) symbol: String,
    /// How many parameters it has.
    pub(crate) parameters: usize,
    /// What it promises of its launches.
    pub(crate) bounds: LaunchBounds,
}

/// What is impossible about the options alone, whatever the inputs are.
pub(crate) fn contradiction(flags: &LaunchArgs) -> Option<String> {
    if let (Some(grid), Some(cluster)) = (flags.grid, flags.cluster)
        && grid.iter().zip(&cluster).any(|(grid, cluster)| !grid.is_multiple_of(*cluster))
    {
        let (grid, cluster) = (show_shape(grid), show_shape(cluster));
        return Some(format!("--grid {grid} is not a multiple of --cluster {cluster}: such a launch fails"));
    }
    for (index, one) in flags.param.iter().enumerate() {
        let earlier = flags.param.iter().take(index);
        let mut same = earlier.filter(|p| (&p.kernel, p.position) == (&one.kernel, one.position));
        if let Some(other) = same.find(|p| p.value != one.value) {
            return Some(format!(
                "--param gives parameter {} two values, {} and {}",
                one.position, other.value, one.value
            ));
        }
    }
    let known = LaunchShape {
        block: flags.block,
        grid: flags.grid,
        cluster: flags.cluster,
        // Values for one kernel may replace those for all.
        parameters: flags
            .param
            .iter()
            .filter(|one| flags.param.iter().all(|p| p.position != one.position || p.kernel.is_none()))
            .map(|one| (one.position, one.value))
            .collect(),
        ..LaunchShape::default()
    };
    let assumptions = flags.assume.iter().flat_map(|conjunction| &conjunction.0);
    let mut wrong = assumptions.filter(|one| one.holds(&|variable| known.value(variable)) == Some(false));
    wrong.next().map(|one| format!("--assume '{}' contradicts the other options", one.text))
}

/// The options that none of the kernels of all inputs has a use for.
pub(crate) fn unused(flags: &LaunchArgs, kernels: &[KernelFacts]) -> Vec<InputError> {
    let mut errors = Vec::new();
    let mut say = |option: &str, message: String| {
        errors.push(InputError { file: option.to_owned(), line: 0, column: 0, message });
    };
    if kernels.is_empty() {
        return errors;
    }
    for one in &flags.param {
        let wanted = one.kernel.as_deref();
        let named: Vec<_> =
            kernels.iter().filter(|k| wanted.is_none_or(|name| names_kernel(name, &k.symbol))).collect();
        let most = named.iter().map(|kernel| kernel.parameters).max();
        match (most, wanted) {
            (None, Some(name)) => say("--param", format!("no kernel in the inputs is named {name}")),
            (Some(most), _) if one.position >= most => say("--param", no_such_parameter(one.position, most)),
            _ => {}
        }
    }
    let most = kernels.iter().map(|kernel| kernel.parameters).max().unwrap_or(0);
    for assumption in flags.assume.iter().flat_map(|conjunction| &conjunction.0) {
        let position = highest(&assumption.left).max(highest(&assumption.right));
        if let Some(position) = position.filter(|position| *position >= most) {
            say("--assume", no_such_parameter(position, most));
        }
    }
    errors
}

fn no_such_parameter(position: usize, most: usize) -> String {
    let have = match most {
        0 => "there are none".to_owned(),
        1 => "the only one has position 0".to_owned(),
        most => format!("positions are 0 to {}", most - 1),
    };
    format!("no kernel has a parameter at position {position}; {have}")
}

/// The highest position of a parameter that an expression names.
fn highest(expression: &Expression) -> Option<usize> {
    match expression {
        Expression::Variable(Variable::Parameter(position)) => Some(*position),
        Expression::Binary(_, left, right) => highest(left).max(highest(right)),
        Expression::Number(_) | Expression::Variable(_) => None,
    }
}

/// Which kernels cannot be launched with the blocks that they are checked for; one line for each reason.
pub(crate) fn forbidden<'k>(launches: impl Iterator<Item = (&'k KernelFacts, [u32; 3])>) -> Vec<String> {
    let mut reasons: Vec<(String, &str, usize)> = Vec::new();
    for (kernel, block) in launches {
        let Some(reason) = forbids(&kernel.bounds, block) else { continue };
        match reasons.iter_mut().find(|(known, _, _)| *known == reason) {
            Some((_, _, more)) => *more += 1,
            None => reasons.push((reason, &kernel.symbol, 0)),
        }
    }
    let line = |(reason, symbol, more): (String, &str, usize)| {
        let others = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("{}{others}: {reason}", display_name(symbol))
    };
    reasons.into_iter().map(line).collect()
}

fn forbids(bounds: &LaunchBounds, block: [u32; 3]) -> Option<String> {
    let shown = show_shape(block);
    if let Some(required) = bounds.required_block {
        let required_shown = show_shape(required);
        return (required != block).then(|| {
            format!("the code requires blocks of {required_shown} (.reqntid), and was checked for that, not for {shown}")
        });
    }
    let most = volume(bounds.maximum_block?);
    (volume(block) > most).then(|| {
        format!("a launch with blocks of {shown} fails: the code allows {most} threads (__launch_bounds__)")
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn flags(text: &str) -> LaunchArgs {
        let arguments = ["standstill", "check", "x.ptx"].into_iter().chain(text.split_whitespace());
        match Cli::try_parse_from(arguments).unwrap().command {
            Command::Check(arguments) => arguments.launch,
            _ => unreachable!(),
        }
    }

    #[test]
    fn contradictions_are_named() {
        let check = |text: &str, part: &str| {
            let found = contradiction(&flags(text)).unwrap_or_default();
            assert!(found.contains(part) && found.is_empty() == part.is_empty(), "{text}: {found}");
        };
        check("--grid 4 --cluster 2 --block 256 --assume block.x==256 --param 1=2 --param 1=2", "");
        check("--grid 5 --cluster 2", "not a multiple");
        check("--param 1=2 --param 1=3", "two values, 2 and 3");
        check("--param 1=2 --param k:1=3", "");
        check("--block 256 --assume block.x==128", "contradicts");
        check("--param 1=2 --assume p1>2", "contradicts");
        check("--param 1=2 --param k:1=3 --assume p1>2", "");
        check("--assume p1>2", "");
    }

    #[test]
    fn what_no_kernel_uses_is_named() {
        let kernel = |symbol: &str, parameters| KernelFacts {
            symbol: symbol.to_owned(),
            parameters,
            bounds: LaunchBounds::default(),
        };
        let kernels = [kernel("_Z4scanPi", 1), kernel("_Z3addPii", 2)];
        let check = |text: &str, parts: &[&str]| {
            let found = unused(&flags(text), &kernels);
            assert_eq!(found.len(), parts.len(), "{text}: {found:?}");
            assert!(found.iter().zip(parts).all(|(e, part)| e.message.contains(part)), "{text}: {found:?}");
        };
        check("--param 1=2 --param scan:0=1 --assume p1>0", &[]);
        check("--param 99=1", &["position 99; positions are 0 to 1"]);
        check("--param scan:1=1", &["position 1; the only one has position 0"]);
        check("--param nope:1=1", &["no kernel in the inputs is named nope"]);
        check("--assume p0+p9>1", &["position 9"]);
    }

    #[test]
    fn launch_bounds_forbid_blocks() {
        let kernel = |required_block, maximum_block| KernelFacts {
            symbol: "k".to_owned(),
            parameters: 0,
            bounds: LaunchBounds { required_block, maximum_block, ..LaunchBounds::default() },
        };
        let kernels = [
            kernel(None, Some([256, 1, 1])),
            kernel(None, Some([256, 1, 1])),
            kernel(None, None),
            kernel(Some([64, 1, 1]), None),
        ];
        let lines = |block| forbidden(kernels.iter().map(|kernel| (kernel, block)));
        assert_eq!(lines([64, 1, 1]), Vec::<String>::new());
        let lines = lines([32, 32, 1]);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines.iter().any(|line| line.starts_with("k and 1 more: ") && line.contains("256 threads")));
        assert!(lines.iter().any(|line| line.starts_with("k: ") && line.contains("blocks of 64")));
    }
}

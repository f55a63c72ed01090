//! Whether a schedule fits the program that it is of: each access must be what its thread does there.

use standstill_explore::{Launch, Region, retrace};
use standstill_kernel_ir::FunctionId;
use standstill_ptx::Lowering;

use super::file::{SavedStep, ScheduleFile, saved_stand, saved_step};

/// The launch of a schedule.
pub(super) fn launch(file: &ScheduleFile, kernel: FunctionId) -> Launch {
    let region =
        |(name, region): (&super::file::SavedName, &standstill_cuda_driver::capture::RegionImage)| {
            let (address, bytes) = (region.address, region.contents.0.clone());
            Region { address, bytes, name: name.name.clone(), element: name.element }
        };
    let image = &file.launch;
    Launch {
        kernel,
        grid: image.grid,
        block: image.block,
        cluster: image.cluster,
        parameters: image.parameters.0.clone(),
        memory: file.names.iter().zip(&image.memory).map(region).collect(),
        variables: image.variables.clone(),
        dynamic_shared: image.dynamic_shared,
    }
}

/// Compares each access of a schedule with what its thread does there, and where threads stand behind the last one.
pub(super) fn check(file: &ScheduleFile) -> Result<(), String> {
    let image = &file.launch;
    let alike = file.names.len() == image.memory.len()
        && file.names.iter().zip(&image.memory).all(|(name, region)| name.address == region.address);
    if !alike {
        return Err("the schedule is damaged: its names are not those of its memory".to_owned());
    }
    let module = standstill_ptx::parse(&image.text);
    let program = Lowering::new(&module);
    let kernel = Launch::new(&program, &image.kernel).map_err(|error| error.to_string())?.kernel;
    let order = file.steps.iter().map(|step| (step.block, step.thread));
    let track = retrace(&program, &launch(file, kernel), order).map_err(|error| error.to_string())?;
    let mut made = track.accesses.iter().map(saved_step);
    for (step, number) in file.steps.iter().zip(1..) {
        let does = made.next();
        if does.as_ref() != Some(step) {
            return Err(differs(step, number, does.as_ref()));
        }
    }
    if !track.stands.iter().map(saved_stand).eq(file.stands.iter().copied()) {
        return Err(
            "the schedule does not fit the program: threads stand elsewhere behind the last step".to_owned()
        );
    }
    Ok(())
}

/// What a step says, and what its thread does instead.
fn differs(step: &SavedStep, number: usize, does: Option<&SavedStep>) -> String {
    let at = |step: &SavedStep| match step.line {
        0 => format!("at byte {} of the PTX", step.offset),
        line => format!("on line {line}"),
    };
    let instead = match does {
        None => "makes no access there".to_owned(),
        Some(does) if (does.line, does.offset, &does.does) == (step.line, step.offset, &step.does) => {
            "touches other bytes, or finds or leaves other values".to_owned()
        }
        Some(does) => format!("{} {}", does.does, at(does)),
    };
    format!(
        "the schedule does not fit the program at step {number}, thread {} of block {} {} {}: the thread {instead}",
        step.thread,
        step.block,
        step.does,
        at(step)
    )
}

//! What the machine offers, and what a process takes of it: cores, open files, processor time, memory.
//!
//! All of it is Linux's own; elsewhere nothing is pinned and nothing of a process is known.

use std::time::Duration;

/// The core that the service has to itself.
pub(crate) const SERVICE: usize = 0;
/// The core that requests come from.
pub(crate) const CALLERS: usize = 1;

/// What a process takes of memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// All of it that is in memory, in bytes.
    pub(crate) resident: u64,
    /// What no file stands behind, in bytes.
    pub(crate) own: u64,
}

/// Lets this thread, and what it starts, run on one core alone. Says whether it could.
#[cfg(target_os = "linux")]
pub(crate) fn pin(core: usize) -> bool {
    let mut cores = rustix::thread::CpuSet::new();
    cores.set(core);
    rustix::thread::sched_setaffinity(None, &cores).is_ok()
}

/// As many open files as the system allows; says how many.
#[cfg(target_os = "linux")]
pub(crate) fn raise_open_files() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).ok()?;
    maximum
}

/// Processor time of a process since it began, over all its threads, to the nanosecond.
#[cfg(target_os = "linux")]
pub(crate) fn processor_time(process: u32) -> Option<Duration> {
    let mut all = 0;
    for task in std::fs::read_dir(format!("/proc/{process}/task")).ok()? {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        all += text.split(' ').next()?.parse::<u64>().ok()?;
    }
    Some(Duration::from_nanos(all))
}

/// Processor time of this thread.
#[cfg(target_os = "linux")]
pub(crate) fn own_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

/// Memory of a process.
#[cfg(target_os = "linux")]
pub(crate) fn memory(process: u32) -> Option<Memory> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let kib = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    Some(Memory { resident: kib("VmRSS")? << 10, own: kib("RssAnon")? << 10 })
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::{Duration, Memory};

    pub(crate) fn pin(_: usize) -> bool {
        false
    }

    pub(crate) fn raise_open_files() -> Option<u64> {
        None
    }

    pub(crate) fn processor_time(_: u32) -> Option<Duration> {
        None
    }

    pub(crate) fn own_time() -> Option<Duration> {
        None
    }

    pub(crate) fn memory(_: u32) -> Option<Memory> {
        None
    }
}
#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{memory, own_time, pin, processor_time, raise_open_files};

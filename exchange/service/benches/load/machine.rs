//! Resources of the machine and of a process: cores, open files, CPU time, memory.
//!
//! This module uses interfaces of Linux. On other systems, threads are not pinned and processes are not
//! measured.

use std::time::Duration;

/// The core that only the service uses.
pub(crate) const SERVICE: usize = 0;
/// The core that sends requests.
pub(crate) const CALLERS: usize = 1;

/// The memory of a process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// The resident memory, in bytes.
    pub(crate) resident: u64,
    /// The anonymous resident memory, in bytes.
    pub(crate) anonymous: u64,
}

/// Pins this thread and its children to one core. Returns false if that is not possible.
#[cfg(target_os = "linux")]
pub(crate) fn pin(core: usize) -> bool {
    let mut cores = rustix::thread::CpuSet::new();
    cores.set(core);
    rustix::thread::sched_setaffinity(None, &cores).is_ok()
}

/// Raises the limit of open files to the maximum and returns it.
#[cfg(target_os = "linux")]
pub(crate) fn raise_open_files() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).ok()?;
    maximum
}

/// Returns the CPU time of all threads of a process.
#[cfg(target_os = "linux")]
pub(crate) fn processor_time(process: u32) -> Option<Duration> {
    let mut all = 0;
    for task in std::fs::read_dir(format!("/proc/{process}/task")).ok()? {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        all += text.split(' ').next()?.parse::<u64>().ok()?;
    }
    Some(Duration::from_nanos(all))
}

/// Returns the CPU time of the current thread.
#[cfg(target_os = "linux")]
pub(crate) fn thread_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

/// Returns the memory of a process.
#[cfg(target_os = "linux")]
pub(crate) fn memory(process: u32) -> Option<Memory> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let kib = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    Some(Memory { resident: kib("VmRSS")? << 10, anonymous: kib("RssAnon")? << 10 })
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

    pub(crate) fn thread_time() -> Option<Duration> {
        None
    }

    pub(crate) fn memory(_: u32) -> Option<Memory> {
        None
    }
}
#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{memory, pin, processor_time, raise_open_files, thread_time};

"""What Linux says about processes and the machine: CPU time and memory, from /proc; and control groups with little memory."""
import os
import pathlib
import time

TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """User and system time of a process with all its threads."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory_bytes(pid, field):
    """`VmRSS`: resident now; `VmHWM`: its peak."""
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return 0


def machine_seconds():
    """Busy and total time of all cores since the machine started."""
    with open("/proc/stat") as file:
        user, nice, system, idle, wait, irq, soft, steal = (int(x) / TICK for x in file.readline().split()[1:9])
    busy = user + nice + system + irq + soft + steal
    return busy, busy + idle + wait


def file_system(folder):
    """The type of the file system that a folder is on."""
    folder = os.path.realpath(folder)
    best, kind = "", "unknown"
    with open("/proc/mounts") as file:
        for line in file:
            _, point, this, *_ = line.split()
            inside = folder == point or folder.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best):
                best, kind = point, this
    return kind


class MemoryGroup:
    """A control group with a limit of memory, version 1 or 2; a context manager. Without `path` where none can be made."""

    KINDS = (("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"),
             ("/sys/fs/cgroup", "memory.max", "memory.peak"))

    def __init__(self, limit):
        self.limit, self.path, self.peak_file = limit, None, None

    def __enter__(self):
        for base, limit, peak in self.KINDS:
            path = pathlib.Path(base) / f"herald-{os.getpid()}"
            try:
                path.mkdir()
            except OSError:
                continue
            try:
                (path / limit).write_text(str(self.limit))
            except OSError:
                path.rmdir()
                continue
            self.path, self.peak_file = path, path / peak
            break
        return self

    def __exit__(self, *_):
        deadline = time.monotonic() + 10
        # Its processes have just ended.
        while self.path and (self.path / "cgroup.procs").read_text() and time.monotonic() < deadline:
            time.sleep(0.02)
        if self.path:
            self.path.rmdir()

    @property
    def prefix(self):
        """Runs a command in the group."""
        return ("sh", "-c", f'echo $$ >{self.path}/cgroup.procs && exec "$0" "$@"') if self.path else ()

    @property
    def peak(self):
        """Of the group, with the pages of its files; `None` where the kernel does not count it."""
        return int(self.peak_file.read_text()) if self.path and self.peak_file.exists() else None


class Patience:
    """Waits until others leave the machine alone, for a limited time in all."""

    CALM = 0.10

    def __init__(self, seconds):
        self.left = seconds

    def wait(self):
        while self.left > 0:
            began = time.monotonic()
            busy, total = machine_seconds()
            time.sleep(0.25)
            now_busy, now_total = machine_seconds()
            if now_busy - busy <= self.CALM * (now_total - total):
                return
            time.sleep(0.5)
            self.left -= time.monotonic() - began


def written_bytes(pid):
    """What a process has had written to disks so far, whole pages."""
    with open(f"/proc/{pid}/io") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("write_bytes:"))

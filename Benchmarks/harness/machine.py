"""What Linux says about processes and the machine: CPU time and memory, from /proc."""
import os
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

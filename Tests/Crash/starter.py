"""Starts the binary thousands of times for a third of what that costs the kernel and the loader: see starter.c."""

import json
import os
import select
import signal
import subprocess
import time

import herald


class Starter:
    """Runs one command of the binary again and again, each time in a process of its own and another folder. One at a time."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [herald.BINARY, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0,
            env={**os.environ, "LD_PRELOAD": str(herald.library("starter"))})
        self.rest, self.pid, self.status = b"", None, None

    def start(self, folder):
        self.process.stdin.write(os.fsencode(folder) + b"\n")
        self.status, line = None, self.line()
        if line is None or not line.startswith(b"started "):
            raise herald.Failure(f"it did not start: {line}")
        self.pid = int(line.split()[1])

    def line(self, seconds=herald.PATIENCE):
        """The next line that the process writes; `None` once it has ended."""
        end = time.monotonic() + seconds
        while True:
            line, found, rest = self.rest.partition(b"\n")
            if found:
                self.rest = rest
                if line.startswith(b"ended "):
                    self.status, self.pid = int(line.split()[1]), None
                    return None
                if line:
                    return line
                continue
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                self.kill()
                raise herald.Failure(f"it wrote nothing for {seconds} s, and has not ended")
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                raise herald.Failure("the process that starts the others is gone")
            self.rest += more

    def run(self, folder):
        """Runs it to its end: status and text."""
        self.start(folder)
        lines = []
        while (line := self.line()) is not None:
            lines.append(line.decode("utf-8", "replace"))
        return self.status, "\n".join(lines)

    def kill(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)

    def close(self):
        self.kill()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Started(herald.Herald):
    """A server that a starter has started."""

    def __init__(self, starter, folder):
        self.starter, self.data, self.lines, self.port = starter, folder, [], None
        starter.start(folder)
        while self.port is None and (line := starter.line()) is not None:
            self.note(line)

    def ended(self, seconds=herald.PATIENCE):
        while self.starter.status is None and (line := self.starter.line(seconds)) is not None:
            self.note(line)
        return self.starter.status

    def kill(self):
        self.starter.kill()
        return self.ended()

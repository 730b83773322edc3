"""Receivers that are reached through TLS, by HTTP/1.1 and by HTTP/2. They are `herald receiver`: the reference's receiver speaks
neither. It is slower, so only the CPU time of who delivers is compared, and only with receivers of the same kind."""
import contextlib
import os
import re
import shutil
import time

from programs import HERALD, Failed, Herald, Program, free_port
from report import Goal
from sampling import complete, sample, take_turns

IN_FLIGHT = 64


class PrintingReceiver(Program):
    """Prints a line for each callback, into a file, and that is how they are counted."""

    def __init__(self, folder, tls):
        self.scheme = "https" if tls else "http"
        port = free_port()
        self._path = os.path.join(folder, f"received-{port}")
        self._counted_from = 0
        command = [HERALD, "receiver", "--brief", "--port", str(port)] + (["--tls"] if tls else [])
        super().__init__(command, port, output=self._path)

    def authority(self):
        """The file with the certificate that its own is signed by."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with open(self._path) as file:
                if found := re.search(r"signed by (\S+)\n", file.read()):
                    return found[1]
            time.sleep(0.02)
        raise Failed("the receiver did not say which authority signed its certificate")

    def reset(self):
        with open(self._path, "rb") as file:
            self._counted_from = file.seek(0, os.SEEK_END)

    def stats(self):
        with open(self._path, "rb") as file:
            file.seek(self._counted_from)
            ids = re.findall(rb"^POST \S+ (\S+) .*\n", file.read(), re.MULTILINE)
        return {"received": len(ids), "unique": len(set(ids)), "seconds": 0, "latency_us": {}}

    wait = Program.wait_for_arrivals


def tls(bench):
    folder, title = bench.folder(), "1 delegate behind TLS"
    with contextlib.ExitStack() as stack:
        servers = {}
        for name, secure, version in (("plain", False, "1.1"), ("TLS", True, "1.1"), ("HTTP/2", True, "2")):
            receiver = stack.enter_context(PrintingReceiver(folder, secure))
            delegate = {"url": f"{receiver.scheme}://127.0.0.1:{receiver.port}/hook/1", "max_in_flight": IN_FLIGHT,
                        "http_version": version}
            settings = ["--certificate-authorities", receiver.authority()] if secure else []
            servers[name] = stack.enter_context(Herald(folder, [delegate], settings)), receiver
        rounds = take_turns(
            bench, servers,
            lambda pair: complete(sample(*pair, 1, c=64, d=bench.seconds * 8, n=5_000 if bench.quick else 10_000)))
    shutil.rmtree(folder, ignore_errors=True)
    bench.keep(title, rounds)
    bench.compare(title, "CPU µs per delivery, HTTP/1.1", rounds, "cpu_us_per_delivery", "plain",
                  Goal(most=1.6, aim=1.4, of=14), herald="TLS", reference="itself without TLS")
    bench.compare(title, "CPU µs per delivery, HTTP/2", rounds, "cpu_us_per_delivery", "plain",
                  herald="HTTP/2", reference="itself without TLS")

"""The programs that are measured, and those that help: each started with a port and a folder of its own, and stopped by
its process id."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

from machine import cpu_seconds, memory_bytes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BUILD = os.path.join(ROOT, "Benchmarks", "build")


class Failed(Exception):
    """Something that makes the measurement worthless."""


def built(product, package=ROOT):
    """A benchmark, built as `script/build` builds the service, so that those of its package share what they have in common."""
    command = ["swift", "build", "--package-path", package, "-c", "release", "--static-swift-stdlib", "--product", product]
    subprocess.run(command, stdout=sys.stderr, check=True)
    return program(product, package)


def program(product, package=ROOT):
    """Where a product of a package lies once it is built."""
    return os.path.join(package, ".build", "release", product)


HERALD = program("herald")


def free_ports(count):
    """All different: they are held until the last one is known."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def free_port():
    return free_ports(1)[0]


class Program:
    """A server on 127.0.0.1; a context manager that stops it."""

    def __init__(self, command, port, environment=None, output=os.devnull):
        self.command, self.port, self.process = command, port, None
        self.environment, self.output = environment or {}, output

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HERALD_")}
        with open(self.output, "w") as output:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, text=True,
                start_new_session=True,  # Ctrl-C is for us, who then stop it.
                env=environment | self.environment)
        try:
            deadline = time.monotonic() + 30
            while not self.is_ready():
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise Failed(f"{os.path.basename(self.command[0])} did not start")
                time.sleep(0.002)
        except BaseException:
            self.stop()
            raise

    def is_ready(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            _, said = self.process.communicate(timeout=40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, said = self.process.communicate()
        if self.process.returncode not in (0, -signal.SIGTERM):
            raise Failed(f"{os.path.basename(self.command[0])} ended with {self.process.returncode}: {said[-500:]}")

    def cpu(self):
        return cpu_seconds(self.process.pid)

    def memory(self):
        return memory_bytes(self.process.pid, "VmRSS")

    def peak_memory(self):
        return memory_bytes(self.process.pid, "VmHWM")

    def wait_for_arrivals(self, wanted, seconds):
        """Of a program with `stats`: waits until so many different deliveries have arrived, or until the time is over."""
        deadline = time.monotonic() + seconds
        while (stats := self.stats())["unique"] < wanted and time.monotonic() < deadline:
            time.sleep(0.05)
        return stats

    def request(self, method, path, body=None, connection=None):
        connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Content-Type": "application/json"} if body else {}
        connection.request(method, path, body and json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


class Ingest(Program):
    """The reference that accepts events; with a database, durably."""

    def __init__(self, folder, durable):
        port = free_port()
        command = [os.path.join(BUILD, "ingest"), str(port)]
        super().__init__(command + ([os.path.join(fresh(folder), "events.db")] if durable else []), port)


class Unstored(Program):
    """The service without its log: events are read, checked, routed and answered, and go nowhere."""

    PRODUCT = "PublishingBenchmark"

    def __init__(self, _):
        port = free_port()
        super().__init__([program(self.PRODUCT), str(port)], port)


class Pipeline(Program):
    """The reference of the whole path."""

    def __init__(self, folder, receiver):
        """Each port of the receiver is a delegate."""
        port = free_port()
        database = os.path.join(fresh(folder), "events.db")
        super().__init__([os.path.join(BUILD, "pipeline"), str(port), database, *map(str, receiver.ports)], port)


class Herald(Program):
    """The server under test, with default settings; `delegates` are registered as soon as it runs."""

    def __init__(self, folder, delegates=(), settings=(), prefix=(), environment=None):
        port = free_port()
        command = [HERALD, "serve", "--listen", f"127.0.0.1:{port}", "--data", fresh(folder), "--grace", "1"]
        super().__init__([*prefix, *command, *settings], port, environment)
        self.delegates = delegates

    def start(self):
        self.start_again()
        (self.register if len(self.delegates) < 50 else self.register_many)(self.delegates)

    def start_again(self):
        """With the delegates that it already knows."""
        super().start()

    def is_ready(self):
        try:
            return self.request("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def register(self, delegates, connection=None):
        for delegate in delegates:
            status, answer = self.request("POST", "/v1/delegates", delegate, connection)
            if status != 201:
                raise Failed(f"registering a delegate was answered {status}: {answer[:300]}")

    def register_paused(self, delegate):
        """Events are kept for it and not sent; returns its id."""
        status, answer = self.request("POST", "/v1/delegates", delegate)
        if status != 201:
            raise Failed(f"registering a delegate was answered {status}: {answer[:300]}")
        identity = json.loads(answer)["id"]
        self.request("POST", f"/v1/delegates/{identity}/pause")
        return identity

    def register_many(self, delegates):
        """The same over several connections, so that commits are shared."""
        lanes = 16
        with concurrent.futures.ThreadPoolExecutor(lanes) as pool:
            connections = [http.client.HTTPConnection("127.0.0.1", self.port, timeout=30) for _ in range(lanes)]
            parts = [delegates[lane::lanes] for lane in range(lanes)]
            list(pool.map(self.register, parts, connections))


class StoringHerald(Herald):
    """With one delegate that wants every event and is paused: what is accepted is kept for it, and nothing is sent."""

    def start(self):
        super().start()
        self.register_paused({"url": "http://127.0.0.1:9/hook/1"})


class Receiver(Program):
    """Answers callbacks and counts them. Several ports are several hosts to who sends them."""

    def __init__(self, ports=1):
        self.ports = free_ports(ports)
        super().__init__([os.path.join(BUILD, "receiver"), *map(str, self.ports)], self.ports[0])

    def stats(self, connection=None):
        return json.loads(self.request("GET", "/stats", connection=connection)[1])

    def reset(self):
        self.request("GET", "/reset")

    def url(self, number, query=""):
        return f"http://127.0.0.1:{self.ports[(number - 1) % len(self.ports)]}/hook/{number}{query}"

    wait = Program.wait_for_arrivals


def publish(server, **options):
    """Runs the load generator: `c` connections, `d` seconds, `n` events, `r` per second. Posts to all ports of the server."""
    command = [os.path.join(BUILD, "publish")]
    for port in getattr(server, "ports", [server.port]):
        command += ["-p", str(port)]
    for name, value in options.items():
        command += ["-" + name, str(value)]
    run = subprocess.run(command, capture_output=True, text=True, check=False,
                         timeout=options.get("d", 0) + 120)
    if run.returncode != 0:
        raise Failed(f"publish: {run.stderr.strip()}")
    result = json.loads(run.stdout)
    if result["refused"] or not result["accepted"]:
        raise Failed(f"publish: {result['refused']} events were refused, {result['accepted']} accepted")
    return result


def fresh(folder):
    return tempfile.mkdtemp(dir=folder)

"""What users would write themselves instead: FastAPI with httpx, and Node's http with fetch. They accept, answer 202, and post
signed events, with the same number in flight; unlike Herald they keep nothing, retry nothing and check little."""
import filecmp
import os
import shutil
import subprocess
import sys

from loads import wanted_by
from programs import ROOT, Herald, Program, Receiver, free_port
from report import Goal
from sampling import complete, interleave, sample

FOLDER = os.path.join(ROOT, "Benchmarks", "others")
VENV = os.path.join(ROOT, ".build", "benchmark-venv")
DELEGATES = 10
# Events of each round: some seconds' worth.
EVENTS = {"herald": 6_000, "Node": 1_000, "FastAPI": 100}


def others(bench):
    commands = {"Node": node(), "FastAPI": fastapi(bench)}
    with Receiver(DELEGATES) as receiver:
        urls = [delegate["url"] for delegate in wanted_by(receiver, DELEGATES)]
        variants = {
            name: lambda folder, command=command: Other(command, urls)
            for name, command in commands.items() if command}
        if not variants:
            return
        variants["herald"] = lambda folder: Herald(folder, wanted_by(receiver, DELEGATES))
        rounds = interleave(
            bench, variants,
            lambda server, name: complete(sample(
                server, receiver, DELEGATES, warm_events=EVENTS[name] // 5, c=64, d=60,
                n=EVENTS[name] // (3 if bench.quick else 1))))
    title = f"others, {DELEGATES} delegates"
    bench.keep(title, rounds)
    best = min((name for name in variants if name != "herald"), key=lambda name: rounds.median(name, "cpu_us_per_delivery"))
    for name in commands:
        if name in variants:
            bench.compare(title, "CPU µs per delivery", rounds, "cpu_us_per_delivery", name,
                          Goal(most=0.4, aim=0.2, of=18) if name == best else None)
            bench.compare(title, "deliveries per second", rounds, "deliveries_per_s", name)
            bench.compare(title, "peak memory, MiB", rounds, "peak_memory", name, scale=1 << 20)


class Other(Program):
    def __init__(self, command, urls):
        port = free_port()
        super().__init__([*command, str(port), *urls], port)


def node():
    """How to run Node's server; None if there is no Node with fetch."""
    found = shutil.which("node") or shutil.which("nodejs")
    if not found and os.geteuid() == 0 and shutil.which("apt-get"):
        install = ["apt-get", "-q", "-y", "install", "--no-install-recommends", "nodejs"]
        subprocess.run(install, capture_output=True, check=False, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})
        found = shutil.which("node") or shutil.which("nodejs")
    version = found and subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    if version and int(version.strip("v\n").partition(".")[0]) >= 18:
        return [found, os.path.join(FOLDER, "server.mjs")]
    skip("Node", "nodejs 18 or newer")
    return None


def fastapi(bench):
    """How to run FastAPI's server; None if PyPI can't be reached."""
    bench.progress("others: installing FastAPI")
    python, wanted = os.path.join(VENV, "bin", "python"), os.path.join(FOLDER, "requirements.txt")
    installed = os.path.join(VENV, "requirements.txt")
    if not (os.path.exists(installed) and filecmp.cmp(wanted, installed, shallow=False)):
        shutil.rmtree(VENV, ignore_errors=True)
        commands = ([sys.executable, "-m", "venv", VENV],
                    [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", wanted])
        if any(subprocess.run(command, capture_output=True, check=False).returncode for command in commands):
            skip("FastAPI", "packages of Benchmarks/others/requirements.txt from PyPI")
            return None
        shutil.copy(wanted, installed)
    return [python, os.path.join(FOLDER, "server.py")]


def skip(name, lacking):
    print(f"Benchmarks/run: {name} is left out: it needs {lacking}", file=sys.stderr)

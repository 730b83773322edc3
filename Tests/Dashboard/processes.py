"""Servers and receivers that end with the block that uses them."""

import contextlib
import subprocess
import tempfile


@contextlib.contextmanager
def _started(command, stream):
    """The address that a program prints; later lines are read, so that they do not fill the pipe."""
    process = subprocess.Popen(command, text=True, **{stream: subprocess.PIPE})
    try:
        pipe = getattr(process, stream)
        address = next(word.split("=")[-1].rstrip("/") for line in pipe for word in line.split() if "http://" in word)
        subprocess.Popen(["cat"], stdin=pipe, stdout=subprocess.DEVNULL)
        yield address
    finally:
        process.terminate()
        process.wait()


def serving(binary, folder):
    return _started([binary, "serve", "--listen", "127.0.0.1:0", "--data", folder, "--log-format", "human"], "stderr")


def receiving(binary):
    return _started([binary, "receiver", "--port", "0", "--brief"], "stdout")


@contextlib.contextmanager
def running(binary):
    """The addresses of a server, with an empty folder, and of a receiver."""
    with tempfile.TemporaryDirectory() as folder, serving(binary, folder) as server, receiving(binary) as receiver:
        yield server, receiver

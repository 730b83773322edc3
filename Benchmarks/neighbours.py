"""Attacks of Benchmarks/hostile by hosts that cannot be reached: ports that drop packets, and names that no server resolves."""

import contextlib
import dataclasses
import pathlib
import socket
import struct
import threading
import time

# A name server of its own, in a mount namespace with a resolv.conf of its own. Needs root.
NAME_SERVER = "127.53.0.1"
SLOW_SECONDS = 3


@contextlib.contextmanager
def name_server():
    """Resolves `good.test` to 127.0.0.1, and `twice.test` to an address that drops packets and 127.0.0.1. Is silent for names of
    `silent.test`, late for those of `slow.test`, and fails for those of `failing.test`."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((NAME_SERVER, 53))

    def respond(query, client):
        end = query.index(b"\0", 12)
        name, (kind,) = query[12:end], struct.unpack_from(">H", query, end + 1)
        if b"silent" in name:
            return
        addresses = {b"good": ["127.0.0.1"], b"slow": ["127.0.0.1"], b"twice": ["127.0.0.3", "127.0.0.1"]}
        found = next((known for label, known in addresses.items() if label in name), None)
        records = [b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(address) for address in found or [] if kind == 1]
        code = 0x8180 if found else 0x8182
        reply = query[:2] + struct.pack(">HHHHH", code, 1, len(records), 0, 0) + query[12:end + 5] + b"".join(records)
        if b"slow" in name:
            threading.Timer(SLOW_SECONDS, send, (reply, client)).start()
        else:
            send(reply, client)

    def send(reply, client):
        # The benchmark may have ended.
        with contextlib.suppress(OSError):
            server.sendto(reply, client)

    def serve():
        while True:
            query, client = server.recvfrom(4096)
            if not query:
                return
            respond(query, client)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        # A thread that waits for packets would keep the port.
        server.sendto(b"", (NAME_SERVER, 53))
        thread.join()
        server.close()


def dropping(address="127.0.0.1", port=0):
    """A port that drops packets: the system's queue for new connections is full."""
    listener = socket.create_server((address, port), backlog=0)
    clients = [listener]
    for _ in range(4):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(listener.getsockname())
        clients.append(client)
    time.sleep(0.1)
    return listener.getsockname()[1], clients


@dataclasses.dataclass(frozen=True)
class Neighbours:
    """`urls`: of a number, and of a port that drops packets. `good`: host and path of the delegate that is measured."""
    count: int
    urls: object
    good: str = "good.test/"
    # The p99 of the delivery, in times of what it is alone.
    times: float = 3


NEIGHBOURS = {
    "dropped packets": Neighbours(100, lambda number, port: f"http://127.0.0.1:{port}/{number}"),
    "names": Neighbours(
        1_000, lambda number, port: f"http://n{number}.{('silent', 'slow', 'failing')[number % 3]}.test:{port}/", times=2),
    # Each delivery makes a connection.
    "dead address": Neighbours(100, lambda number, port: f"http://127.0.0.1:{port}/{number}", good="twice.test/last"),
}


def prefix(folder):
    """Starts a program whose name server is this one."""
    file = pathlib.Path(folder, "resolv.conf")
    file.write_text(f"nameserver {NAME_SERVER}\n")
    script = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, file]

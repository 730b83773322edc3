"""A proxy for tests, with the standard library alone: CONNECT of HTTP, and SOCKS5 with names resolved here. Prints its port, and then a line
for each connection: the scheme, the target as the client names it, and its credentials.

    proxy.py [refuse]    with `refuse` every target is refused
"""
import base64
import socket
import struct
import sys
import threading

refuses = sys.argv[1:] == ["refuse"]


output = threading.Lock()


def say(*words):
    with output:
        print(*words, flush=True)


def read(client, count):
    data = b""
    while len(data) < count:
        part = client.recv(count - len(data))
        if not part:
            raise ConnectionError("closed")
        data += part
    return data


def connect(client, first):
    """The head of CONNECT. Returns the target's socket."""
    head = first
    while b"\r\n\r\n" not in head:
        part = client.recv(4096)
        if not part:
            raise ConnectionError("closed")
        head += part
    lines = head.decode("latin-1").split("\r\n")
    method, target, _ = lines[0].split(" ")
    assert method == "CONNECT", lines[0]
    fields = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    given = [line.split(" ")[-1] for line in lines if line.lower().startswith("proxy-authorization: basic ")]
    say("CONNECT", target, base64.b64decode(given[0]).decode() if given else "-")
    assert "webhook-id" not in fields, "the proxy must not see the request"
    if refuses:
        client.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        raise ConnectionError("refused")
    host, port = target.rsplit(":", 1)
    peer = socket.create_connection((host.strip("[]"), int(port)))
    client.sendall(b"HTTP/1.1 200 OK\r\nX-Proxy: 1\r\n\r\n")
    return peer


def socks(client):
    methods = read(client, read(client, 1)[0])
    user = "-"
    if 2 in methods:
        client.sendall(b"\x05\x02")
        read(client, 1)
        name = read(client, read(client, 1)[0]).decode()
        user = name + ":" + read(client, read(client, 1)[0]).decode()
        client.sendall(b"\x01\x00")
    else:
        client.sendall(b"\x05\x00")
    _, _, _, kind = read(client, 4)
    if kind == 1:
        host = socket.inet_ntop(socket.AF_INET, read(client, 4))
    elif kind == 4:
        host = socket.inet_ntop(socket.AF_INET6, read(client, 16))
    else:
        host = read(client, read(client, 1)[0]).decode()
    (port,) = struct.unpack(">H", read(client, 2))
    say("SOCKS5", f"{host}:{port}", user)
    if refuses:
        client.sendall(b"\x05\x02\x00\x01" + bytes(6))
        raise ConnectionError("refused")
    peer = socket.create_connection((host, port))
    client.sendall(b"\x05\x00\x00\x01" + bytes(6))
    return peer


def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(client):
    try:
        first = read(client, 1)
        peer = socks(client) if first == b"\x05" else connect(client, first)
    except OSError:
        client.close()
        return
    threading.Thread(target=copy, args=(peer, client), daemon=True).start()
    copy(client, peer)


listener = socket.create_server(("127.0.0.1", 0))
say(listener.getsockname()[1])
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

"""A network of its own in which every address is this machine, and everything that is dialled is written down."""

import ipaddress
import socket
import struct
import threading


class Dials:
    """Listens on every address, on the ports given, and remembers which were dialled. Answers 204, or 307 for /redirect."""

    def __init__(self, ports):
        self.seen = []
        self.lock = threading.Lock()
        for port in ports:
            for family, host in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
                listener = socket.socket(family)
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                listener.bind((host, port))
                listener.listen(128)
                threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def accept(self, listener):
        while True:
            client, _ = listener.accept()
            with self.lock:
                self.seen.append((str(ipaddress.ip_address(client.getsockname()[0])), client.getsockname()[1]))
            threading.Thread(target=self.answer, args=(client,), daemon=True).start()

    @staticmethod
    def answer(client):
        client.settimeout(2)
        try:
            request = client.recv(65536)
            if b" /redirect " in request:
                head = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://169.254.169.254/\r\n"
            else:
                head = b"HTTP/1.1 204 No Content\r\n"
            client.sendall(head + b"Content-Length: 0\r\nConnection: close\r\n\r\n")
        except OSError:
            pass
        client.close()

    def take(self):
        """What was dialled since the last call."""
        with self.lock:
            seen, self.seen = self.seen, []
        return seen


class Names:
    """A DNS server. `answers` has, for a name, the lists of addresses that it answers one after the other; the last one
    for ever. Names that spell an address (`v4-10-0-0-1.test`, `v6-…32 digits….test`) are that address. Others don't exist."""

    def __init__(self):
        self.answers = {}
        self.asked = {}
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            query, client = self.socket.recvfrom(512)
            end = 12
            labels = []
            while query[end]:
                labels.append(query[end + 1 : end + 1 + query[end]].decode())
                end += query[end] + 1
            (kind,) = struct.unpack(">H", query[end + 1 : end + 3])
            addresses = self.addresses(".".join(labels).lower(), kind)
            question = query[12 : end + 5]
            records = [a for a in addresses or [] if a.version == (4 if kind == 1 else 6) and kind in (1, 28)]
            body = b"".join(
                b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(a.packed)) + a.packed for a in records
            )
            code = 0x8180 if addresses is not None else 0x8183
            self.socket.sendto(query[:2] + struct.pack(">HHHHH", code, 1, len(records), 0, 0) + question + body, client)

    def addresses(self, name, kind):
        if name.startswith("v4-") and name.endswith(".test"):
            return [ipaddress.ip_address(name[3:-5].replace("-", "."))]
        if name.startswith("v6-") and name.endswith(".test"):
            return [ipaddress.ip_address(bytes.fromhex(name[3:-5]))]
        if name not in self.answers:
            return None
        turns = self.answers[name]
        # One turn for each pair of questions, for IPv4 and for IPv6.
        turn = self.asked.get((name, kind), 0)
        self.asked[(name, kind)] = turn + 1
        return [ipaddress.ip_address(text) for text in turns[min(turn, len(turns) - 1)]]


def name_of(address):
    """The name that is this address."""
    address = ipaddress.ip_address(address)
    if address.version == 4:
        return "v4-" + str(address).replace(".", "-") + ".test"
    return "v6-" + address.packed.hex() + ".test"

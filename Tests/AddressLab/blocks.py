"""Every block of addresses that callbacks must not reach, and every way to write an address."""

import ipaddress

# As in the safety contract.
REFUSED_V4 = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
""".split()
REFUSED_V6 = """
::/128 ::1/128 100::/64 64:ff9b:1::/48 2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10
ff00::/8 4000::/3 8000::/1
""".split()
METADATA = ["169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::23", "168.63.129.16", "192.0.0.192", "100.100.100.200", "fd00:ec2::254", "fd20:ce::254", "169.254.0.23", "169.254.42.42", "100.96.0.96", "fd00:c1::a9fe:a9fe", "fd00:100::100:200", "fd00:a9fe:a9fe::1", "fd00:42::42"]
# What lies beside the blocks, and is the internet.
ALLOWED = """
1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15 168.63.129.17
169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0 192.88.98.255 192.88.100.0
192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0
223.255.255.255 2000::1 2001:200::1 2001:db7:ffff::1 2001:db9::1 2003::1 3ffe::1 2600::1
""".split()


def edges(network):
    """The first address of a block, the last one, and one between."""
    network = ipaddress.ip_network(network)
    first, last = network[0], network[-1]
    return {str(first), str(last), str(network[network.num_addresses // 2])}


def spellings(text):
    """URLs' hosts that mean an IPv4 address, to one parser or another."""
    address = ipaddress.IPv4Address(text)
    number = int(address)
    parts = [int(part) for part in text.split(".")]
    high, low = number >> 16, number & 0xFFFF
    return [
        text,
        text + ".",
        str(number),
        hex(number),
        "0" + oct(number)[2:],
        ".".join(hex(part) for part in parts),
        ".".join("0" + oct(part)[2:] for part in parts),
        ".".join(f"{part:03o}".rjust(4, "0") for part in parts),
        f"{parts[0]}.{number & 0xFFFFFF}",
        f"{parts[0]}.{parts[1]}.{low}",
        f"{hex(parts[0])}.{parts[1]}.0{oct(parts[2])[2:]}.{parts[3]}",
        "".join(f"%{byte:02x}" for byte in text.encode()),
        text.replace(".", "%2e"),
        text.replace(".", "。"),
        "".join(chr(0xFF10 + int(c)) if c.isdigit() else c for c in text),
        f"user@{text}",
        f"8.8.4.4@{text}",
        f"{text}#@8.8.4.4",
        f"{text}\\@8.8.4.4",
        f"[::ffff:{text}]",
        f"[::ffff:{high:x}:{low:x}]",
        f"[0:0:0:0:0:ffff:{high:x}:{low:x}]",
        f"[::{text}]",
        f"[::ffff:0:{high:x}:{low:x}]",
        f"[64:ff9b::{text}]",
        f"[64:ff9b::{high:x}:{low:x}]",
        f"[2002:{high:x}:{low:x}::]",
        f"[2600::5efe:{high:x}:{low:x}]",
        f"[2600::200:5efe:{high:x}:{low:x}]",
    ]


def embeddings(text):
    """IPv6 addresses that stand for an IPv4 address."""
    number = int(ipaddress.IPv4Address(text))
    high, low = number >> 16, number & 0xFFFF
    forms = [
        "::ffff:{}:{}", "::{}:{}", "::ffff:0:{}:{}", "64:ff9b::{}:{}", "2002:{}:{}::", "2600::5efe:{}:{}",
        "2600::200:5efe:{}:{}",
    ]
    return [form.format(f"{high:x}", f"{low:x}") for form in forms]

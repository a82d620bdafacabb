"""Which addresses are public: everything else belongs to somebody's own network."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

# The registries of special-purpose addresses (IANA), spelled out: what the standard library calls
# global differs between releases of Python.
_SPECIAL_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
            "168.63.129.16/32",  # looks public, and is the host of every machine in Azure
        ),
    )
)

_GLOBAL_6 = IPv6Network("2000::/3")
"""All that the world routes lies in here; loopback, link-local and private networks don't."""

_SPECIAL_6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocols, Teredo among them: an IPv4 address hides in it
            "2001:db8::/32",
            "2002::/16",  # 6to4: an IPv4 address hides in it
            "3fff::/20",
        ),
    )
)

_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")

_DISGUISES = (
    _MAPPED,
    _NAT64,
    *map(
        IPv6Network,
        (
            "::/96",  # IPv4-compatible
            "::ffff:0:0:0/96",  # IPv4-translated
            "64:ff9b:1::/48",  # NAT64 of a network's own
            "2001::/32",  # Teredo
            "2002::/16",  # 6to4
        ),
    ),
)


def hides_ipv4(address: IPv6Address) -> bool:
    """Whether it is another form of an IPv4 address, under which no list has that."""
    return not address.is_loopback and any(address in network for network in _DISGUISES)


def is_public(address: str) -> bool:
    """Whether an address is one that anybody in the world may reach."""
    try:
        return _is_public(ip_address(address))
    except ValueError:
        return False


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in _SPECIAL_4)
    if address in _MAPPED or address in _NAT64:
        return _is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    special = address.scope_id is not None or any(address in network for network in _SPECIAL_6)
    return address in _GLOBAL_6 and address.is_global and not special

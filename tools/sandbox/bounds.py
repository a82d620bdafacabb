"""How much a sandboxed call may use."""

from typing import NamedTuple


class Bounds(NamedTuple):
    """
    Limits of one call; sizes are in bytes.

    `memory` is what one process may map, `memory_together` what all of them may hold, where pages
    that forked processes share count for each. `locked` also bounds what a process lends to the
    kernel for sending, where each byte keeps a huge page that no process counts. `scratch` is the
    size of /tmp and of /dev/shm, `scratch_files` how many files each may have. A socket holds up
    to a fifth of a megabyte that no process counts, but one of TCP many: while those of all that
    run on the machine hold more than `tcp_memory`, a share of its own, a call has so many
    `tcp_sockets` at most; beyond one and a half times that the kernel makes all wait. `waits` is
    what may be waited for with epoll where the worker's user has no more of that. A call is ended
    when less than `free_disk` is left to the worker: no limit of the kernel counts all files of a
    process.
    """

    memory: int = 512 * 2**20
    memory_together: int = 2 * 2**30
    processes: int = 64
    open_files: int = 256
    file: int = 100 * 10**6
    locked: int = 64 * 2**10
    scratch: int = 64 * 2**20
    scratch_files: int = 50_000
    sockets: int = 2_000
    tcp_sockets: int = 20
    tcp_memory: float = 0.04
    waits: int = 10_000
    free_disk: int = 10**9


BOUNDS = Bounds()

"""The filter of system calls that closes what namespaces leave open, as the kernel reads it."""

import platform
import struct
from collections.abc import Mapping
from errno import EAFNOSUPPORT, ENOSYS, EOPNOTSUPP, EPERM
from typing import NamedTuple

NEWEST_SYSCALL = 462
"""What is newer than this list doesn't exist in a sandbox; libraries are used to older kernels."""


class _Machine(NamedTuple):
    audit: int
    clone: int
    sockets: tuple[int, int]
    ioctl: int
    mmap: int
    seccomp: int
    fallocate: int
    attributes: tuple[int, ...]
    denied: tuple[int, ...]


# Numbers since 2019 are the same everywhere: io_uring_*, open_tree to fspick, pidfd_getfd,
# process_madvise, mount_setattr, quotactl_fd, landlock_create_ruleset (its rules are memory that
# no limit counts), memfd_secret and set_mempolicy_home_node.
_EVERYWHERE = (425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 440, 442, 443, 444, 447, 450)
_CLONE3 = 435

# In order: namespaces and mounts (unshare setns mount umount2 pivot_root open_by_handle_at
# name_to_handle_at), other processes (ptrace process_vm_readv process_vm_writev kcmp), the
# worker's keys (add_key request_key keyctl), the kernel (bpf perf_event_open userfaultfd
# init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff acct
# quotactl syslog fanotify_init vhangup), memory that no limit counts (memfd_create shmget msgget
# semget mq_open; io_setup; vmsplice, whose pipe keeps a huge page for each byte; inotify_init1,
# whose queues hold names; mbind set_mempolicy migrate_pages move_pages, whose policies stay with
# a file), and for x86-64 inotify_init, iopl, ioperm and modify_ldt.
_MACHINES: Mapping[str, _Machine] = {
    "x86_64": _Machine(
        audit=0xC000_003E,
        clone=56,
        sockets=(41, 53),
        ioctl=16,
        mmap=9,
        seccomp=317,
        fallocate=285,
        attributes=(188, 189, 190),
        denied=(
            *(272, 308, 165, 166, 155, 304, 303),
            *(101, 310, 311, 312),
            *(248, 249, 250),
            *(321, 298, 323, 175, 313, 176, 246, 320, 169, 167, 168, 163, 179, 103, 300, 153),
            *(319, 29, 68, 64, 240, 206, 278, 294, 237, 238, 256, 279),
            *(253, 172, 173, 154),
        ),
    ),
    "aarch64": _Machine(
        audit=0xC000_00B7,
        clone=220,
        sockets=(198, 199),
        ioctl=29,
        mmap=222,
        seccomp=277,
        fallocate=47,
        attributes=(5, 6, 7),
        denied=(
            *(97, 268, 40, 39, 41, 265, 264),
            *(117, 270, 271, 272),
            *(217, 218, 219),
            *(280, 241, 282, 105, 273, 106, 104, 294, 142, 224, 225, 89, 60, 116, 262, 58),
            *(279, 194, 186, 190, 180, 0, 75, 26, 235, 237, 238, 239),
        ),
    ),
}

# Mount, cgroup, UTS, IPC, user, PID and network namespaces.
_NEW_NAMESPACES = 0x7E02_0000

# Unix, IPv4 and IPv6. Others, such as vsock, reach past the network namespace.
_FAMILIES = (1, 2, 10)

# TIOCSTI and TIOCLINUX put words into a terminal's mouth.
_TERMINAL = (0x5412, 0x541C)

# FS_IOC_RESVSP, its 64-bit form and FS_IOC_ZERO_RANGE reserve space, as fallocate does: a hundred
# gigabytes a second, before anybody sees that the disk is full. FS_IOC_FSSETXATTR and
# FS_IOC_SETFLAGS say how much of it each write takes, and whose quota it counts for.
_SPACE = (0x4030_5828, 0x4030_582A, 0x4030_5839, 0x401C_5820, 0x4008_6602)

# MAP_SHARED, also as a bit of MAP_SHARED_VALIDATE, and MAP_ANONYMOUS: together, memory that the
# kernel keeps where no process counts it. What is forked shares files of /dev/shm instead.
_SHARED, _ANONYMOUS = 0x01, 0x20

# SECCOMP_FILTER_FLAG_NEW_LISTENER: a file that keeps the filters of a process that has ended.
_LISTENER = 0x08

_LOAD, _EQUAL, _GREATER, _ANY_OF, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _FOURTH = 0, 4, 16, 24, 40
_ALLOW, _KILL, _FAIL = 0x7FFF_0000, 0x8000_0000, 0x0005_0000


def has_filter() -> bool:
    """Whether the numbers of this machine's system calls are known."""
    return platform.machine() in _MACHINES


def syscall_filter() -> bytes:
    """Return the filter for this machine, as `bwrap --seccomp` takes it."""
    machine = _MACHINES[platform.machine()]
    program = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, machine.audit, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
        # Also the second set of numbers that x86-64 has for 32-bit pointers.
        *_when(_GREATER, NEWEST_SYSCALL, _FAIL | ENOSYS),
        # Its flags are in memory, where no filter can read them; libraries fall back to clone.
        *_when(_EQUAL, _CLONE3, _FAIL | ENOSYS),
    ]
    for number in (*machine.denied, *_EVERYWHERE):
        program += _when(_EQUAL, number, _FAIL | EPERM)
    # setxattr and its like, as if the file system had no attributes: lists of who may do what
    # (system.posix_acl_*) lie beside the files of a tmpfs, and count against no limit of it.
    # And as if it reserved no space for a file: libraries write zeros then.
    for number in (*machine.attributes, machine.fallocate):
        program += _when(_EQUAL, number, _FAIL | EOPNOTSUPP)
    program += _arguments(
        machine.clone, _FIRST, [*_when(_ANY_OF, _NEW_NAMESPACES, _FAIL | EPERM)], _ALLOW
    )
    families = [step for family in _FAMILIES for step in _when(_EQUAL, family, _ALLOW)]
    # socket and socketpair, which has the kernel load what it needs for a family, too.
    for number in machine.sockets:
        program += _arguments(number, _FIRST, families, _FAIL | EAFNOSUPPORT)
    requests = [step for request in _TERMINAL for step in _when(_EQUAL, request, _FAIL | EPERM)]
    for request in _SPACE:
        requests += _when(_EQUAL, request, _FAIL | EOPNOTSUPP)
    program += _arguments(machine.ioctl, _SECOND, requests, _ALLOW)
    listener = [*_when(_ANY_OF, _LISTENER, _FAIL | EPERM)]
    program += _arguments(machine.seccomp, _SECOND, listener, _ALLOW)
    shared = [_step(_ANY_OF, _SHARED, 0, 2), *_when(_ANY_OF, _ANONYMOUS, _FAIL | EPERM)]
    program += _arguments(machine.mmap, _FOURTH, shared, _ALLOW)
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def _arguments(number: int, argument: int, checks: list[bytes], otherwise: int) -> list[bytes]:
    """Decide a system call by one of its arguments."""
    decided = [_step(_LOAD, argument), *checks, _step(_RETURN, otherwise)]
    return [_step(_EQUAL, number, 0, len(decided)), *decided]


def _when(comparison: int, value: int, result: int) -> list[bytes]:
    return [_step(comparison, value, 0, 1), _step(_RETURN, result)]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)

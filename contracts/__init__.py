"""The words that every part of Holdfast shares: frozen values, no behaviour beyond arithmetic."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

if __name__ != "holdfast.contracts":
    raise ImportError(
        "import it as holdfast.contracts; a folder contracts/ of your own has an __init__.py"
    )


def exports(
    package: str, homes: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """
    Return a package's `__getattr__` and `__dir__`: who needs a contract doesn't load the platform.

    *homes* has the modules that the names live in (PEP 562).
    """
    home_of = {name: module for module, names in homes.items() for name in names}

    def find(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(home_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return find, lambda: sorted(home_of)

"""The command line. What is here isn't loaded before it is used: most commands never use it."""

from typing import TYPE_CHECKING

from holdfast.contracts import exports

if TYPE_CHECKING:
    from holdfast.app import load_app
    from holdfast.cli.screen import tell, warn
    from holdfast.contracts.errors import HoldfastError
    from holdfast.excepthooks import capture

__all__ = ["HoldfastError", "capture", "load_app", "tell", "warn"]

__getattr__, __dir__ = exports(
    __name__,
    {
        "holdfast.app": ("load_app",),
        "holdfast.cli.screen": ("tell", "warn"),
        "holdfast.contracts.errors": ("HoldfastError",),
        "holdfast.excepthooks": ("capture",),
    },
)

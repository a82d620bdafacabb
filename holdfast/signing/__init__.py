"""What signs decisions of a person: who signs nothing loads no cryptography."""

from typing import TYPE_CHECKING

from holdfast.contracts import exports

if TYPE_CHECKING:
    from holdfast.signing.keys import (
        OwnKey,
        choose,
        keys_in,
        make,
        sign_decision,
        sign_signal,
    )

__all__ = [
    "OwnKey",
    "choose",
    "keys_in",
    "make",
    "sign_decision",
    "sign_signal",
]

__getattr__, __dir__ = exports(__name__, {"holdfast.signing.keys": tuple(__all__)})

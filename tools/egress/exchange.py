"""One HTTP request of a sandboxed tool, and its answer."""

import base64
import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ToolError

MAX_BODY_BYTES = 1_000_000
"""Bytes, of a request and of an answer."""

MAX_URL_CHARS = 8_000
MAX_HEADERS = 50

_CHARSETS = frozenset(
    {
        *("ascii", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"),
        *("utf-32", "utf-32-le", "utf-32-be", "koi8-r", "koi8-u", "mac-roman", "tis-620", "cp874"),
        *("shift_jis", "cp932", "euc_jp", "iso2022_jp", "euc_kr", "cp949"),
        *("gb2312", "gbk", "gb18030", "big5", "big5hkscs"),
        *(f"iso8859-{part}" for part in range(1, 17)),
        *(f"cp125{part}" for part in range(9)),
    }
)
"""As Python calls them: sets of characters. Of its other codecs some evaluate what they read."""


@dataclass(frozen=True)
class HttpRequest:
    """What a tool asks of a server."""

    __pydantic_config__: ClassVar = ConfigDict(val_json_bytes="base64")

    method: Annotated[str, Field(max_length=20)]
    url: Annotated[str, Field(max_length=MAX_URL_CHARS)]
    headers: Annotated[dict[str, str], Field(max_length=MAX_HEADERS)] = field(
        default_factory=dict[str, str]
    )
    body: Annotated[bytes, Field(max_length=MAX_BODY_BYTES)] = b""


@dataclass(frozen=True)
class HttpAnswer:
    """
    What the server answered: names of headers in lower case, the body as it came.

    A body that is `truncated` was longer than 1 MB.
    """

    status: int
    headers: dict[str, str]
    body: bytes
    truncated: bool = False

    @classmethod
    def read(cls, said: JsonObject) -> "HttpAnswer":
        """Read an answer as it comes through the pipe."""
        return cls(**{**said, "body": base64.urlsafe_b64decode(str(said["body"]))})  # pyright: ignore[reportArgumentType] -- the worker wrote it

    @property
    def text(self) -> str:
        """The body as text, in the character set that the server names, or else in UTF-8."""
        said = self.headers.get("content-type", "").lower().partition("charset=")[2]
        return self.body.decode(_find_charset(said.split(";")[0].strip("\"' ")), "replace")


def request(
    method: str,
    url: str,
    headers: Mapping[str, str] | None = None,
    body: bytes | str | None = None,
) -> HttpRequest:
    """Put a request together; raises ToolError where it is too large."""
    content = body.encode() if isinstance(body, str) else body or b""
    found = HttpRequest(method.upper(), url, dict(headers or {}), content)
    for large, what in (
        (len(url) > MAX_URL_CHARS, f"its address has more than {MAX_URL_CHARS:,} characters"),
        (len(found.headers) > MAX_HEADERS, f"it has more than {MAX_HEADERS} headers"),
        (len(content) > MAX_BODY_BYTES, f"its body has more than {MAX_BODY_BYTES:,} bytes"),
    ):
        if large:
            raise ToolError(
                "invalid_arguments", f"the request is too large: {what}", ("ask less",)
            )
    return found


def _find_charset(name: str) -> str:
    try:
        charset = codecs.lookup(name).name
    except (LookupError, ValueError):
        return "utf-8"
    return charset if charset in _CHARSETS else "utf-8"

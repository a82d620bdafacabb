"""Tools that give a secret away, each in its own way."""

import asyncio
import base64
import json
from pathlib import Path
from urllib.parse import quote

from pydantic import JsonValue

from holdfast import Risk, ToolContext, ToolError, tool


class Refused(Exception):
    """Something else refused, and quotes what it got."""


@tool(risk=Risk.READ_ONLY)
async def tell(ctx: ToolContext) -> str:
    """Return the secret as it is."""
    return f"the password is {ctx.secret('db')}, don't tell"


@tool(risk=Risk.READ_ONLY, local=True, timeout=5)
async def tell_nearby(ctx: ToolContext) -> list[str]:
    """Return the secret from inside of the workflow task."""
    return [ctx.secret("db")]


@tool(risk=Risk.READ_ONLY)
async def encode(ctx: ToolContext) -> dict[str, str]:
    """Return the secret in many forms."""
    secret = ctx.secret("db")
    content = secret.encode()
    return {
        "base64": base64.b64encode(content).decode(),
        "shifted": base64.b64encode(b"a" + content + b"z").decode(),
        "again": base64.b64encode(b"ab" + content + b"zy").decode(),
        "for addresses": base64.urlsafe_b64encode(b"user:" + content).decode(),
        "in lines": base64.encodebytes(b"." * 40 + content * 3).decode(),
        "hex": content.hex(),
        "address": f"https://x.org/?password={quote(secret)}",
        "form": f"password={quote(secret, safe='')}",
        "json": json.dumps({"password": secret}),
        "readable": json.dumps({"password": secret}, ensure_ascii=False),
        "twice": json.dumps({"log": json.dumps({"password": secret})}),
        "python": repr({"password": secret}),
        "bytes": repr(content),
    }


@tool(risk=Risk.READ_ONLY)
async def name_it(ctx: ToolContext) -> dict[str, int]:
    """Return the secret as the name of a field."""
    return {ctx.secret("db"): 1, f"not {ctx.secret('db')}": 2}


@tool(risk=Risk.READ_ONLY)
async def bury(ctx: ToolContext) -> list[str]:
    """Return the secret deep in 5 MB, most of which no model sees."""
    return [*("." * 500_000 for _ in range(5)), ctx.secret("db"), *["," * 500_000] * 5]


@tool(risk=Risk.READ_ONLY, max_retries=1, retry_backoff=0.01)
async def raise_it(ctx: ToolContext) -> None:
    """Raise the secret, with a cause that has it too."""
    cause = Refused(ctx.secret("db"))
    error = ConnectionError(f"no way in with {ctx.secret('db')!r}")
    error.add_note(ctx.secret("db"))
    raise error from cause


@tool(risk=Risk.READ_ONLY)
async def refuse(ctx: ToolContext) -> None:
    """Refuse, and say with what."""
    secret = ctx.secret("db")
    raise ToolError("auth_expired", f"{secret} is no good", (f"try another than {secret}",))


@tool(risk=Risk.READ_ONLY, timeout=0.5)
async def report(ctx: ToolContext) -> None:
    """Report the secret as progress, and take too long."""
    ctx.heartbeat({"tried": ctx.secret("db")})
    await asyncio.Event().wait()


@tool(risk=Risk.READ_ONLY)
async def report_and_wait(go: str, ctx: ToolContext) -> str:
    """Report the secret as progress, and wait."""
    ctx.heartbeat(["trying", ctx.secret("db")])
    while not Path(go).exists():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.01)
    return "went on"


@tool(risk=Risk.READ_ONLY)
def tell_from_afar(file: str, ctx: ToolContext) -> dict[str, JsonValue]:
    """Report and return what is in a file, from a process of its own."""
    secret = Path(file).read_text(encoding="utf-8").strip()
    ctx.heartbeat(secret)
    return {"found": secret, secret: True}


@tool(risk=Risk.READ_ONLY, max_retries=0)
def raise_from_afar(file: str) -> None:
    """Raise what is in a file, from a process of its own."""
    raise ConnectionError(Path(file).read_text(encoding="utf-8"))


@tool(risk=Risk.IDENTITY_ACCESS)
async def rotate() -> dict[str, JsonValue]:
    """Make a password that nobody knows yet."""
    return {"password": "made-a-moment-ago", "length": 17, "expires": True}

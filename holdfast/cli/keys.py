"""Commands about keys: one's own, with which one signs, and those whose signatures count."""

import sys
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from holdfast import approvers, signing
from holdfast.cli import deciding, options, render, screen, seeing
from holdfast.cli.options import blocking
from holdfast.cli.screen import Screen
from holdfast.contracts.approvals import ApprovalRequest, Review
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import HoldfastError
from holdfast.settings import Settings

app = typer.Typer(help="Keys that sign approvals, and whose count.", rich_markup_mode=None)

Key: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="The key to sign with; yours unless given.")
]


@app.command("new")
def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Whose key it is, as approvals shall say it.")
    ],
    passphrase: Annotated[
        bool | None,
        typer.Option(
            "--passphrase/--no-passphrase",
            help="Whether signing shall take a passphrase; it does unless said otherwise.",
        ),
    ] = None,
) -> None:
    """Make a key on this machine, and print its public part, which others may know."""
    folder = Settings.load().keys
    key = signing.make(folder, name, None if passphrase is False else _new_passphrase())
    render.show_json(key.public)
    screen.warn(
        f"kept in {folder / f'{name}.json'}; have the public part above trusted where the worker "
        "runs: holdfast keys trust FILE"
    )


# A PEM that somebody gives in place of a file looks like an option.
@app.command("trust", context_settings={"ignore_unknown_options": True})
def trust(
    key: Annotated[
        str,
        typer.Argument(
            metavar="KEY",
            help="A file with a public key, the key itself, or - for standard input.",
        ),
    ],
) -> None:
    """Let the signatures of a public key count, on the worker that uses this folder."""
    found = Settings.load()
    added = approvers.trust(found.approvers, _read_key_text(key))
    screen.warn(f"{added['sub']}'s key {added['kid']} counts from now on ({found.approvers})")


@app.command("revoke")
def revoke(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A person, for all their keys, or a key's id.")
    ],
) -> None:
    """Let the signatures of somebody's keys count no more, from this moment on."""
    found = Settings.load()
    for key in approvers.revoke(found.approvers, name):
        screen.warn(f"{key.get('sub')}'s key {key.get('kid')} counts no more ({found.approvers})")


@app.command("list")
def list_(as_json: options.Json = False) -> None:
    """Show your own keys, and those whose signatures count here."""
    keys = _all_keys()
    if as_json:
        render.show_json(list(keys))
        return
    if not keys:
        screen.warn("there are no keys: make one with 'holdfast keys new NAME'")
        return
    rows = [
        (
            str(key["name"]),
            str(key["kid"]),
            ("with passphrase" if key["passphrase"] else "yes") if key["own"] else "no",
            "yes" if key["trusted"] else "no",
        )
        for key in keys
    ]
    render.show_table(Screen(), ("NAME", "KEY", "OWN", "TRUSTED"), rows)


@app.command("sign")
@blocking
async def sign(
    run: options.RunId,
    request: options.OneRequest = None,
    digest: options.Digest = None,
    key: Key = None,
    decision: Annotated[
        Literal["approve", "reject"], typer.Option(help="What the token shall say.")
    ] = "approve",
) -> None:
    """Print a token that decides one request of a run, for whatever sends it within minutes."""
    asked = (await options.connect()).run(run)
    kinds = (ApprovalRequest, Review)
    found = await seeing.confirm_request(
        asked, request, kinds, digest=digest, question=f"sign: {decision}?"
    )
    own = deciding.own_key(key)
    about = asked.find_asking(found).id
    token = deciding.sign_decision(own, deciding.passphrase_of(own), about, found, decision)
    Screen().line(token, hang=None)


def _new_passphrase() -> str:
    if not sys.stdin.isatty():
        raise HoldfastError("a passphrase is needed: run this on a terminal, or --no-passphrase")
    first = deciding.ask_passphrase("passphrase for the new key: ")
    if first != deciding.ask_passphrase("the same again: "):
        raise HoldfastError("the passphrases differ: no key was made")
    return first


def _read_key_text(key: str) -> str:
    if key.lstrip().startswith("{") or approvers.PEM in key:
        return key
    if key == "-":
        return sys.stdin.read()
    try:
        return Path(key).read_text(encoding="utf-8")
    except OSError as error:
        raise HoldfastError(f"{key}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise HoldfastError(f"{key} is no text: give a file with a public key (JWK)") from None


def _all_keys() -> tuple[JsonObject, ...]:
    """Return every key that is known here, one's own first."""
    found = Settings.load()
    own = {str(key.public["kid"]): key for key in signing.keys_in(found.keys)}
    trusted = {str(key.get("kid")): key for key in approvers.read_keys(found.approvers)}
    publics = {**trusted, **{kid: key.public for kid, key in own.items()}}
    return tuple(
        {
            "name": publics[kid].get("sub"),
            "kid": kid,
            "own": kid in own,
            "passphrase": own[kid].has_passphrase if kid in own else None,
            "trusted": kid in trusted,
            "public": publics[kid],
        }
        for kid in (*own, *(kid for kid in trusted if kid not in own))
    )

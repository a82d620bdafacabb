"""The page of the command line says what the commands say."""

from tests.holdfast.cli_page import PAGE, written


def test_the_page_is_what_the_commands_say() -> None:
    """After a change of a command: python -m tests.holdfast.cli_page."""
    assert PAGE.read_text(encoding="utf-8") == written()

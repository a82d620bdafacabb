"""Files of authorities that are cut or say something odd, and clocks: none stands for more."""

from datetime import timedelta
from pathlib import Path

import pytest

from holdfast.activities.authority.authorities import MAX_FILE_CHARS, AuthorityFile
from holdfast.contracts.errors import PolicyRefused
from holdfast.policy.document import parse_authorities
from tests.builders import NOW

STANDS = "version: 1\nauthorities:\n  autumn: {version: 3, expires: 2999-01-01T00:00:00Z}\n"
SOON = STANDS.replace("2999-01-01T00:00:00Z", f"'{(NOW + timedelta(hours=1)).isoformat()}'")


async def test_a_file_that_is_too_long_is_not_read_in_part(tmp_path: Path) -> None:
    """Of an authority that is cut the first half, for one tenant, would be for all of them."""
    # BY-74
    begins = "version: 1\nauthorities:\n  a:\n    version: 1\n    expires: 2999-01-01T00:00:00Z\n"
    comment = "#" * (MAX_FILE_CHARS - len(begins) - 1)
    file = tmp_path / "authorities.yaml"
    file.write_text(f"{begins}{comment}\n    tenants: [acme]\n")

    assert await AuthorityFile(file).find_standing(NOW) == ()


async def test_what_has_expired_stands_no_more_when_the_clock_is_set_back(tmp_path: Path) -> None:
    """It isn't forgotten while the file can't be read; who gives it anew names another end."""
    # BY-74
    path = tmp_path / "authorities.yaml"
    path.write_text(SOON)
    file = AuthorityFile(path)
    before = await file.find_standing(NOW)
    late = await file.find_standing(NOW + timedelta(hours=2))
    back = await file.find_standing(NOW)
    path.unlink()
    gone = await file.find_standing(NOW)
    path.write_text(SOON)
    again = await file.find_standing(NOW)
    path.write_text(STANDS)

    assert [len(one) for one in (before, late, back, gone, again)] == [1, 0, 0, 0, 0]
    assert len(await file.find_standing(NOW)) == 1


@pytest.mark.parametrize("written", ["20291231235959", "'20291231235959'", "1e12", "1893456000"])
def test_a_time_is_no_number(written: str) -> None:
    """Read as milliseconds since 1970, a date without its marks ends in the year 2613."""
    # BY-74
    text = f"version: 1\nauthorities: {{a: {{version: 1, expires: {written}}}}}\n"

    with pytest.raises(PolicyRefused, match="write a time as 2026-12-01T00:00:00Z"):
        parse_authorities(text, "a.yaml")

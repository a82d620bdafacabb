"""Dividing an amount among people."""


def shares(cents: int, people: int) -> list[int]:
    """Divide an amount into shares that add up to it, none of them a cent more than another."""
    return [cents // people] * people

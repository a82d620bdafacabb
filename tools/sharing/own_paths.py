"""Where paths lead that the worker itself goes by, whatever somebody wrote there."""

from pathlib import Path


def resolve(path: Path) -> Path:
    """Return where it leads; of one that leads in a circle, where it lies."""
    try:
        return path.resolve()
    except RuntimeError:  # as pathlib has it
        return path.absolute()


def keep_links(path: Path) -> Path:
    """Make it absolute, without folders that it goes into and out of, save through links."""
    kept = Path()
    try:
        for part in path.absolute().parts:
            is_way_back = part == ".." and kept.name != ".." and not kept.is_symlink()
            kept = kept.parent if is_way_back else kept / part
    except OSError:  # nobody here may look whether it is a link
        return path.absolute()
    return kept

"""What the design promises of a step, against the floor; and the lines that say how it stands."""

from typing import NamedTuple

from bench.samples import Sample

HEAD = (
    f"{'':>12}  {'':24}{'ms/step':>9}{'':8}{'bytes/step':>11}{'':8}"
    f"{'events':>7}{'CPU ms/step':>13}{'':8}  goals"
)


class Goals(NamedTuple):
    """The most that a step may take: so many times what it takes the floor."""

    ms: float
    size: float = 2.0
    cpu: float = 2.0


GOALS = {"ours": Goals(ms=1.25), "ours, local reads": Goals(ms=0.8)}
"""By the name of the subject; for any other, figures are shown and not judged."""


class Tally:
    """Prints lines of figures, and keeps which goals were missed."""

    def __init__(self) -> None:
        self.kept = 0
        self.missed: list[str] = []

    def floor(self, label: str, sample: Sample, name: str = "raw loop") -> None:
        """Print what the floor took."""
        figures = (
            f"{sample.ms:9.1f}{'':8}{sample.size:11,.0f}{'':8}"
            f"{sample.events:7.1f}{sample.cpu_ms:13.2f}"
        )
        print(f"{label:>12}  {name:24}{figures}", flush=True)

    def ours(
        self, label: str, name: str, sample: Sample, floor: Sample, goals: Goals | None
    ) -> None:
        """Print what we took, as times of the floor, and whether that keeps the goals, if any."""
        ms, size, cpu = (
            sample.ms / floor.ms,
            sample.size / floor.size,
            sample.cpu_ms / floor.cpu_ms,
        )
        figures = (
            f"{sample.ms:9.1f} {ms:6.2f}x{sample.size:11,.0f} {size:6.2f}x"
            f"{sample.events:7.1f}{sample.cpu_ms:13.2f} {cpu:6.2f}x"
        )
        verdict = ""
        if goals is not None:
            said = (
                self.judge(f"{label}, {name}: ms", ms, goals.ms),
                self.judge(f"{label}, {name}: bytes", size, goals.size),
                self.judge(f"{label}, {name}: CPU", cpu, goals.cpu),
            )
            verdict = "; ".join(filter(None, said)) or "kept"
        print(f"{'':>12}  {name:24}{figures}  {verdict}".rstrip(), flush=True)

    def judge(self, what: str, value: float, most: float, unit: str = "x") -> str:
        """Count a goal as kept or missed; say which was missed, or nothing."""
        if value <= most:
            self.kept += 1
            return ""
        self.missed.append(f"{what} {value:.2f}{unit}, goal at most {most:g}{unit}")
        return f"{what.rpartition(': ')[2]} missed"

    def close(self) -> None:
        """Print how many goals were kept, and each that was missed."""
        if not self.kept and not self.missed:
            return
        print(f"\n{self.kept} of {self.kept + len(self.missed)} goals kept")
        for line in self.missed:
            print(f"  missed: {line}")

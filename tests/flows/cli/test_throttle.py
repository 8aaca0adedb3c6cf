from __future__ import annotations

from itertools import pairwise

from turngraph.flows.cli.throttle import Throttle


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_thousand_crumbs_in_a_second_are_written_at_most_every_tenth() -> None:
    clock = Clock()
    written: list[tuple[float, str]] = []
    throttle = Throttle(lambda text: written.append((clock.now, text)), clock=clock)
    for number in range(1000):
        throttle.add(f"{number} ")
        clock.now += 0.001
    throttle.flush()
    times = [at for at, _ in written]
    assert 10 <= len(written) <= 11
    assert all(later - earlier >= 0.099 for earlier, later in pairwise(times[:-1]))
    assert "".join(text for _, text in written) == "".join(f"{n} " for n in range(1000))


def test_the_first_crumb_shows_at_once_and_waiting_text_when_due() -> None:
    clock = Clock()
    written: list[str] = []
    throttle = Throttle(written.append, clock=clock)
    throttle.add("a")
    throttle.add("b")
    assert written == ["a"]
    throttle.flush_if_due()
    assert written == ["a"]
    clock.now = 0.1
    throttle.flush_if_due()
    assert written == ["a", "b"]


def test_flushing_nothing_writes_nothing() -> None:
    written: list[str] = []
    throttle = Throttle(written.append)
    throttle.flush()
    assert written == []

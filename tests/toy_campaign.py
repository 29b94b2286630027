"""A campaign with every way in which a case can end, for tests of the runner."""

import os
import time

from hostile.outcome import Outcome

CASES = 7
SECONDS = 3.0
MEMORY = 4 * 2**30


def run(number, folder):
    assert list(folder.iterdir()) == []
    (folder / "left.txt").write_text("left", encoding="utf-8")
    if number == 1:
        return Outcome("plain", "answered", ("the sum is 3, not 4",))
    if number == 2:
        raise ValueError("no such problem")
    if number == 3:
        time.sleep(60)
    if number == 4:
        os._exit(9)
    if number == 5:
        bytearray(5 * 2**30)
    kind, answer = ("plain", "answered") if number == 0 else ("odd", "refused")
    return Outcome(kind, answer)

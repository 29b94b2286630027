"""Numbers as the page about scale writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = [
    "count_text",
    "duration_text",
    "error_text",
    "gigabytes",
    "grouped",
    "megabytes",
    "most_text",
    "rate_text",
    "seconds_text",
    "table",
    "unit_text",
]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def count_text(n_rows: int) -> str:
    """A number of rows: 10⁶, 3·10⁵, or with spaces."""
    digits = str(n_rows)
    zeros = len(digits) - len(digits.rstrip("0"))
    rest = digits[: len(digits) - zeros]
    if zeros < 3 or len(rest) > 2:
        return grouped(n_rows)
    power = "10" + str(zeros).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return power if rest == "1" else f"{rest}·{power}"


def grouped(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ")


def unit_text(value: float, unit: str) -> str:
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {prefix}{unit}" if unit[0] != "/" else _per(value, size)
    return f"{value:.3g} {unit}"


def _per(value: float, size: float) -> str:
    return f"{value / size:.3g}·{({1e12: '10¹²', 1e9: '10⁹', 1e6: '10⁶', 1e3: '10³'})[size]}/s"


def rate_text(rows_per_second: float) -> str:
    return grouped(float(f"{rows_per_second:.3g}"))


def seconds_text(seconds: float) -> str:
    if seconds < 0.1:
        return f"{1e3 * seconds:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"


def duration_text(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.2g} min" if seconds < 5940 else f"{seconds / 3600:.2g} h"


def megabytes(size: float) -> str:
    return f"{size / 1e6:.0f} MB" if size >= 1e7 else f"{size / 1e6:.1f} MB"


def gigabytes(size: float) -> str:
    return f"{size / 1e9:.0f} GB" if size >= 1e10 else f"{size / 1e9:.2g} GB"


def error_text(share: float) -> str:
    return f"{round(100 * share):+d} %".replace("-", "−")


def most_text(errors: Sequence[float]) -> str:
    return f"{100 * max(map(abs, errors)):.0f} %"

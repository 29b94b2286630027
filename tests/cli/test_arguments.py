import pytest

from negcorr.cli.arguments import UsageError, check_choice, columns_named, parts_of


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["a"], ["a"]),
        (["a,b"], ["a", "b"]),
        (["a", "b", "a"], ["a", "b"]),
        (["a, b"], ["a", "b"]),
        (["c,d"], ["c,d"]),
        (['a,"c,d"'], ["a", "c,d"]),
        (["two\nlines"], ["two\nlines"]),
        (["padded,a"], [" padded ", "a"]),
        (["gone,a"], ["gone", "a"]),
        ([], []),
        ([" , "], []),
    ],
)
def test_columns(given, found):
    assert columns_named(given, ["a", "b", "c,d", "two\nlines", " padded "]) == found


def test_parts():
    assert parts_of("x\ny, z") == ["x", "y", "z"]
    assert parts_of("") == []


def test_choices():
    check_choice("--basis", "trees", ("fourier", "trees"))
    with pytest.raises(UsageError, match=r"^--basis tree: allowed are fourier, trees\. Did you"):
        check_choice("--basis", "tree", ("fourier", "trees"))
    with pytest.raises(UsageError, match=r"allowed are fourier\.$"):
        check_choice("--basis", "zzz", ("fourier",))

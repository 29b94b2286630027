"""Claims say in one line what was found."""

import dataclasses

import pytest

from negcorr.experiments import Claim


@pytest.mark.parametrize(("holds", "mark"), [(True, "✓"), (False, "✗")])
def test_a_claim_is_a_mark_a_statement_and_its_evidence(holds, mark):
    assert str(Claim("It is so.", holds, "3 of 4")) == f"{mark} It is so. (3 of 4)"


def test_claims_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Claim("It is so.", False, "").holds = True

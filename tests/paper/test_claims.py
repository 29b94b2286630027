"""Claims say in one line what was found."""

import dataclasses

import numpy as np
import pytest

from negcorr.paper.claims import Claim


@pytest.mark.parametrize(("holds", "mark"), [(True, "✓"), (False, "✗")])
def test_a_claim_is_a_mark_a_statement_and_its_evidence(holds, mark):
    assert str(Claim("It is so.", holds, "3 of 4")) == f"{mark} It is so. (3 of 4)"


def test_claims_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Claim("It is so.", False, "").holds = True


def test_a_claim_is_a_finding_of_ours_unless_it_says_otherwise():
    claim = Claim("It is so.", True, "")
    assert (claim.nature, claim.about_paper) == ("finding", False)
    assert Claim("It is so.", True, "", nature="theorem").nature == "theorem"
    assert Claim("It is so.", True, "", about_paper=True).about_paper


@pytest.mark.parametrize("holds", [True, False])
def test_verdicts_of_numpy_become_pythons(holds):
    assert Claim("It is so.", np.bool_(holds), "").holds is holds

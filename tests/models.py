"""Models of plain features that tests build again and again."""

from negcorr import NCLRegressor
from negcorr.bases import AutoBasis, Basis, ClonedFeatures
from negcorr.bases.named import BASES, named_basis


def ncl(n_members=None, n_components=None, *, basis="fourier", **given):
    """NCLRegressor with a basis by its name: parameters of features and estimator side by side.

    Without ``gamma="auto"`` features are given, as the heuristics make them; with it, or with
    ``basis="auto"``, they are searched for. Of a transformer there are ``n_members`` clones.
    """
    sizes = {"n_members": n_members, "n_components": n_components}
    given |= {name: size for name, size in sizes.items() if size is not None}
    own = NCLRegressor._get_param_names()
    estimator = {name: given.pop(name) for name in list(given) if name in own}
    if isinstance(basis, str):
        if basis == "auto" or given.get("gamma") == "auto" or estimator.get("alpha") == "auto":
            if "kernel" in given:
                given["kernels"] = given.pop("kernel")
            searched = AutoBasis(**given) if basis == "auto" else AutoBasis(basis, **given)
            return NCLRegressor(searched, **estimator)
        known = BASES.get(basis)
        if known is not None:
            unknown = set(given) - set(known._get_param_names())
            assert not unknown, f"{basis} has no {unknown}"
            basis = named_basis(basis, **given)
    elif hasattr(basis, "fit") and not isinstance(basis, (type, Basis, AutoBasis)):
        basis = ClonedFeatures(basis, given.get("n_members", 100))
    return NCLRegressor(basis, **estimator)


def auto(**given):
    """NCLRegressor whose ten members of five features are chosen by the rows."""
    return ncl(**{"basis": "auto", "n_members": 10, "n_components": 5} | given)


def deep_ncl(**given):
    """DeepNCLRegressor, with the parameters of its training among the others."""
    from negcorr.deep.regressor import DeepNCLRegressor
    from negcorr.deep.training.loop import Training

    training = {name: given.pop(name) for name in Training().get_params() if name in given}
    return DeepNCLRegressor(**({"training": Training(**training)} if training else {}) | given)

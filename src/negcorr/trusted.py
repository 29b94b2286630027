"""Types that a file of a model may name: each is written out here, nothing is trusted by pattern.

skops trusts scikit-learn's estimators, NumPy's arrays and ufuncs itself. Every other type in a file
must be in this list, or be named by whoever loads the file.
"""

from __future__ import annotations

__all__ = ["OURS", "THEIRS", "TRUSTED"]

#: Types of this package that a fitted model is made of.
OURS = frozenset(
    {
        "negcorr.banded.BandedSpectrum",
        "negcorr.bases.fourier.FourierFeatures",
        "negcorr.bases.fourier.OrthogonalFourierFeatures",
        "negcorr.bases.inputs.InputMap",
        "negcorr.bases.kernel.KernelFeatures",
        "negcorr.bases.kernel.Stage",
        "negcorr.bases.linear.LinearFeatures",
        "negcorr.bases.mapped.MappedFeatures",
        "negcorr.bases.nested.NestedFeatures",
        "negcorr.bases.nested.Nesting",
        "negcorr.bases.nystroem.NystroemFeatures",
        "negcorr.bases.transformers.BlockFeatures",
        "negcorr.bases.transformers.ClonedFeatures",
        "negcorr.bases.trees.TreeFeatures",
        "negcorr.bending.Bending",
        "negcorr.candidates.Candidate",
        "negcorr.choosing.Choice",
        "negcorr.choosing.Chosen",
        "negcorr.fitted.LazyAttributes",
        "negcorr.folds.ContentKFold",
        "negcorr.folds.Folds",
        "negcorr.intervals.CalibrationRows",
        "negcorr.intervals.Residuals",
        "negcorr.loo.LeaveOneOut",
        "negcorr.modes.DenseModes",
        "negcorr.modes.Tridiagonal",
        "negcorr.moments.FactorMoments",
        "negcorr.moments.GramMoments",
        "negcorr.nesting.NestedWhitening",
        "negcorr.path.NCLPath",
        "negcorr.proving.Trial",
        "negcorr.regressor.NCLRegressor",
        "negcorr.rows.Rows",
        "negcorr.settings.PathSettings",
        "negcorr.spectrum.DenseSpectrum",
        "negcorr.stand_ins.StoredDeep",
        "negcorr.stand_ins.StoredFrame",
        "negcorr.stand_ins.StoredSpline",
        "negcorr.streaming.Stream",
        "negcorr.sure_search.SURESearch",
        "negcorr.tabulated.ErrorTable",
        "negcorr.tabular.date_parts.DateParts",
        "negcorr.tabular.tamed.TamedScaler",
        "negcorr.tabular.typed_columns.TypedColumns",
        "negcorr.whitening.Whitening",
    }
)

#: Of other libraries: plain holders of data that are no estimators, and sparse matrices and trees,
#: whose contents are checked once they are built (:mod:`negcorr.portable`).
THEIRS = frozenset(
    {
        "numpy.dtype",
        "scipy.sparse._csr.csr_array",
        "scipy.sparse._csr.csr_matrix",
        "sklearn.compose._column_transformer.make_column_selector",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.model_selection._split.GroupKFold",
        "sklearn.model_selection._split.GroupShuffleSplit",
        "sklearn.model_selection._split.KFold",
        "sklearn.model_selection._split.LeaveOneGroupOut",
        "sklearn.model_selection._split.LeaveOneOut",
        "sklearn.model_selection._split.PredefinedSplit",
        "sklearn.model_selection._split.RepeatedKFold",
        "sklearn.model_selection._split.ShuffleSplit",
        "sklearn.model_selection._split.TimeSeriesSplit",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._metadata_requests.MetadataRequest",
        "sklearn.utils._metadata_requests.MethodMetadataRequest",
    }
)

TRUSTED = OURS | THEIRS

"""Types that a file of a model may name: each is written out here, nothing is trusted by pattern.

skops trusts scikit-learn's estimators, NumPy's arrays and ufuncs itself. Every other type in a file
must be in this list, or be named by whoever loads the file.
"""

from __future__ import annotations

__all__ = ["OURS", "THEIRS", "TRUSTED"]

#: Types of this package that a fitted model is made of.
OURS = frozenset(
    {
        "negcorr.spectrum.tridiagonal.BandedSpectrum",
        "negcorr.bases.fourier.FourierFeatures",
        "negcorr.bases.fourier.OrthogonalFourierFeatures",
        "negcorr.bases.input_maps.InputMap",
        "negcorr.bases.kernel_features.KernelFeatures",
        "negcorr.bases.kernel_features.Stage",
        "negcorr.bases.linear.LinearFeatures",
        "negcorr.bases.input_maps.MappedFeatures",
        "negcorr.bases.nested.NestedFeatures",
        "negcorr.bases.nested.Nesting",
        "negcorr.bases.nystroem.NystroemFeatures",
        "negcorr.bases.transformers.BlockFeatures",
        "negcorr.bases.transformers.ClonedFeatures",
        "negcorr.bases.trees.TreeFeatures",
        "negcorr.ensemble.huber.Bending",
        "negcorr.selection.candidates.Candidate",
        "negcorr.selection.choose.Choice",
        "negcorr.selection.choose.Chosen",
        "negcorr.ensemble.fitted.LazyAttributes",
        "negcorr.rows.folds.ContentKFold",
        "negcorr.rows.folds.Folds",
        "negcorr.ensemble.intervals.CalibrationRows",
        "negcorr.ensemble.intervals.Residuals",
        "negcorr.criteria.leave_one_out.LeaveOneOut",
        "negcorr.spectrum.modes.DenseModes",
        "negcorr.spectrum.modes.Tridiagonal",
        "negcorr.moments.moments.FactorMoments",
        "negcorr.moments.moments.GramMoments",
        "negcorr.spectrum.nested_whitening.NestedWhitening",
        "negcorr.path.path.NCLPath",
        "negcorr.selection.sample.Trial",
        "negcorr.ensemble.regressor.NCLRegressor",
        "negcorr.rows.rows.Rows",
        "negcorr.path.settings.PathSettings",
        "negcorr.spectrum.spectrum.DenseSpectrum",
        "negcorr.storage.stored_types.StoredDeep",
        "negcorr.storage.stored_types.StoredFrame",
        "negcorr.storage.stored_types.StoredSpline",
        "negcorr.ensemble.stream.Stream",
        "negcorr.optimism.sure_search.SURESearch",
        "negcorr.criteria.tabulated.ErrorTable",
        "negcorr.columns.date_parts.DateParts",
        "negcorr.columns.encoder.SquashingScaler",
        "negcorr.columns.typed_columns.TypedColumns",
        "negcorr.spectrum.whitening.Whitening",
    }
)

#: Of other libraries: plain holders of data that are no estimators, and sparse matrices and trees,
#: whose contents are checked once they are built (:mod:`negcorr.storage.encoding`).
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

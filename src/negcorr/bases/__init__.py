"""Bases: fixed feature maps in M blocks, one per member; they may see X but never y."""

from negcorr.bases.basis import Basis
from negcorr.bases.fourier import FourierFeatures, OrthogonalFourierFeatures
from negcorr.bases.input_maps import MappedFeatures
from negcorr.bases.kernel_features import KernelFeatures
from negcorr.bases.kernel_functions import kwok_tsang_gamma
from negcorr.bases.linear import LinearFeatures
from negcorr.bases.nested import NestedFeatures
from negcorr.bases.nystroem import NystroemFeatures
from negcorr.bases.transformers import BlockFeatures, ClonedFeatures
from negcorr.bases.trees import TreeFeatures

__all__ = [
    "Basis",
    "BlockFeatures",
    "ClonedFeatures",
    "FourierFeatures",
    "KernelFeatures",
    "LinearFeatures",
    "MappedFeatures",
    "NestedFeatures",
    "NystroemFeatures",
    "OrthogonalFourierFeatures",
    "TreeFeatures",
    "kwok_tsang_gamma",
]

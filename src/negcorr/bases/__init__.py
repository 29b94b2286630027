"""Bases: fixed feature maps in M blocks, one per member; they may see X but never y."""

from negcorr.bases._base import Basis
from negcorr.bases.fourier import FourierFeatures, OrthogonalFourierFeatures
from negcorr.bases.kernel import KernelFeatures
from negcorr.bases.kernels import kwok_tsang_gamma
from negcorr.bases.linear import LinearFeatures
from negcorr.bases.mapped import MappedFeatures
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

"""Bases: fixed feature maps in M blocks, one per member; they may see X but never y."""

from negcorr.bases.auto import AutoBasis
from negcorr.bases.basis import Basis
from negcorr.bases.fourier import FourierFeatures
from negcorr.bases.kernel_features import KernelFeatures
from negcorr.bases.kernel_functions import kwok_tsang_gamma
from negcorr.bases.linear import LinearFeatures
from negcorr.bases.nested import NestedFeatures
from negcorr.bases.nystroem import NystroemFeatures
from negcorr.bases.transformers import BlockFeatures, ClonedFeatures
from negcorr.bases.trees import TreeFeatures

__all__ = [
    "AutoBasis",
    "Basis",
    "BlockFeatures",
    "ClonedFeatures",
    "FourierFeatures",
    "KernelFeatures",
    "LinearFeatures",
    "NestedFeatures",
    "NystroemFeatures",
    "TreeFeatures",
    "kwok_tsang_gamma",
]

"""One factorisation that serves every λ: whitening, modes, the curves in the gap 1 − λ."""

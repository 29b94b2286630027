"""What chooses λ: closed-form criteria, K-fold, leave-one-out, noise variance, the search."""

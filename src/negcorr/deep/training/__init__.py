"""Training of deep ensembles: networks, the loss, the loop, perturbed copies."""

"""Monte-Carlo degrees of freedom: probes, refits, step sizes, standard errors."""

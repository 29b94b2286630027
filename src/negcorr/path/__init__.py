"""The path over λ: every curve, the chosen λ, and how a path is made from rows."""

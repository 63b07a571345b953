"""Model families, one readable file each; their variants are data."""

"""The texts of the product: found in the code, checked, listed, and written into catalogs."""

"""How dates are written: the same in every language, so that a page never holds two kinds."""

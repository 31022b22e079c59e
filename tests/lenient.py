"""`narrator` for models of random weights, as a program: see small_model."""

from __future__ import annotations

from narrator.__main__ import main
from tests import small_model

if __name__ == "__main__":
    with small_model.lenient():
        main()

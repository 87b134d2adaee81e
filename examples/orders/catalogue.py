"""What the shop sells."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Product:
    price_cents: int
    #: Pieces on the shelf when the shop opens.
    stock: int


def _read() -> dict[str, Product]:
    with Path(__file__).with_suffix(".csv").open(newline="") as file:
        return {
            row["product"]: Product(int(row["price_cents"]), int(row["stock"]))
            for row in csv.DictReader(file)
        }


CATALOGUE = _read()

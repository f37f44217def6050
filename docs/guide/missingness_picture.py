"""Draw missingness.png: the report of the page as a picture.

Run ``python docs/guide/missingness_picture.py``; it needs the ``plot`` extra.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from sklearn.datasets import load_wine

from absentia import amputation, describe_missingness


def main() -> None:
    """Draw the report on wine, from which two groups of sensors drop out."""
    table = load_wine(as_frame=True).data
    sensors = [["ash", "magnesium"], ["hue", "proline", "alcohol"]]
    figure = describe_missingness(amputation.views(table, 0.1, sensors, random_state=0)).plot()
    target = Path(__file__).with_name("missingness.png")
    figure.savefig(target, dpi=70, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()

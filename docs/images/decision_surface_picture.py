"""Draw decision_surface.png: what a machine decides, with incomplete rows as segments.

Run ``PYTHONPATH=. python docs/images/decision_surface_picture.py`` in a checkout; it needs the
``plot`` extra.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons

from absentia import LogisticRegression, MixtureDensity, amputation
from lab.decision_surface import plot_decision_surface

X, y = make_moons(120, noise=0.18, random_state=0)
X = amputation.mcar(X, 0.15, random_state=1)
labels = np.where(y == 1, "ill", "healthy")
machine = LogisticRegression(C=30.0, density=MixtureDensity(4, random_state=0)).fit(X, labels)
figure = plot_decision_surface(machine, X, labels)
figure.axes[0].set(xlabel="first measurement", ylabel="second measurement")
figure.axes[0].set_title("A complete row is a point, a row with a missing value a segment")
figure.savefig(Path(__file__).with_name("decision_surface.png"), dpi=100)

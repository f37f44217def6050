"""Colours that can be read: the contrast of text and marks, by the formula of WCAG 2.1."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

import absentia

_SOURCE = Path(absentia.__file__).parent
#: Style sheet, colours of text, what they stand on.
_TEXTS = {
    "studio/static/studio.css": (
        ("ink", "soft", "accent", "missing", "error"),
        ("paper", "ground"),
    ),
    "reports/templates/page.css": (("ink", "soft", "accent"), ("paper", "ground", "hover")),
}
#: Foreground, background and the least ratio: 4.5 for text, 3 for marks that carry meaning.
PAIRS = [
    *(
        (sheet, front, back, 4.5)
        for sheet, (fronts, backs) in _TEXTS.items()
        for front, back in itertools.product(fronts, backs)
    ),
    ("studio/static/studio.css", "on-accent", "accent", 4.5),
    ("studio/static/studio.css", "missing", "known", 3.0),
]


def luminance(colour: str) -> float:
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("sheet", "front", "back", "least"), PAIRS)
def test_contrast(scheme, sheet, front, back, least):
    # The first two; a third may serve paper.
    light, dark, *_ = re.findall(r":root \{(.*?)\}", (_SOURCE / sheet).read_text(), re.S)
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", (light, dark)[scheme]))
    low, high = sorted(luminance(colours[name]) for name in (front, back))
    assert (high + 0.05) / (low + 0.05) >= least

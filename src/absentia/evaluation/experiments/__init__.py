"""The experiments by name."""

from __future__ import annotations

from absentia.evaluation.experiments.anderson import ANDERSON
from absentia.evaluation.experiments.kernel_error import MESQUITA
from absentia.evaluation.experiments.maintenance import SMIEJA_MAINTENANCE
from absentia.evaluation.experiments.measuring_order import ACQUISITION
from absentia.evaluation.experiments.realholes import COMPARE, COMPARE_METHODS, REAL_HOLES
from absentia.evaluation.experiments.removal import (
    SMIEJA_CLASSIFICATION,
    SMIEJA_REGRESSION,
    STRUSKI_REGRESSION,
)
from absentia.evaluation.experiments.shift import SHIFT
from absentia.evaluation.experiments.timing import SMIEJA_TIMING
from absentia.evaluation.experiments.williams import WILLIAMS
from absentia.evaluation.running.cells import Protocol

__all__ = ["COMPARE", "COMPARE_METHODS", "PROTOCOLS", "protocol_named"]

#: The experiments that ``absentia bench run`` knows, by name.
PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        SMIEJA_CLASSIFICATION,
        SMIEJA_REGRESSION,
        STRUSKI_REGRESSION,
        SMIEJA_TIMING,
        SMIEJA_MAINTENANCE,
        ANDERSON,
        MESQUITA,
        WILLIAMS,
        REAL_HOLES,
        SHIFT,
        ACQUISITION,
    )
}


def protocol_named(name: str) -> Protocol:
    """Return a protocol by name.

    Examples
    --------
    >>> protocol_named("shift").title
    'Holes only after training'
    """
    if name == COMPARE.name:
        return COMPARE
    if name not in PROTOCOLS:
        raise ValueError(
            f"There is no protocol {name!r}; the protocols are {', '.join(PROTOCOLS)}."
        )
    return PROTOCOLS[name]

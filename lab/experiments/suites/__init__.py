"""The experiments by name."""

from __future__ import annotations

from lab.experiments.running.cells import Protocol
from lab.experiments.suites.anderson import ANDERSON
from lab.experiments.suites.kernel_error import MESQUITA
from lab.experiments.suites.maintenance import SMIEJA_MAINTENANCE
from lab.experiments.suites.measuring_order import ACQUISITION
from lab.experiments.suites.realholes import REAL_HOLES
from lab.experiments.suites.removal import (
    SMIEJA_CLASSIFICATION,
    SMIEJA_REGRESSION,
    STRUSKI_REGRESSION,
)
from lab.experiments.suites.shift import SHIFT
from lab.experiments.suites.timing import SMIEJA_TIMING
from lab.experiments.suites.williams import WILLIAMS, WILLIAMS_SEMI_SUPERVISED

__all__ = ["PROTOCOLS", "protocol_named"]

#: The experiments that ``python -m lab run`` knows, by name.
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
        WILLIAMS_SEMI_SUPERVISED,
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
    if name not in PROTOCOLS:
        raise ValueError(
            f"There is no protocol {name!r}; the protocols are {', '.join(PROTOCOLS)}."
        )
    return PROTOCOLS[name]

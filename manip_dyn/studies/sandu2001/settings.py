"""Settings of the study from ``config/sandu2001.yaml``: parameters that the paper omits."""

from __future__ import annotations

from dataclasses import dataclass

from manip_dyn.core.checks import positive
from manip_dyn.integration import StepControl
from manip_dyn.studies.report.settings import checked, read_settings


@dataclass(frozen=True)
class Settings:
    """Parameters of the study that the paper does not print.

    Attributes:
        fac: Safety factor of eq. 16.
        facmin: Smallest ratio of consecutive steps.
        facmax: Largest ratio of consecutive steps.
        explicit_duration: Duration of the explicit runs in table 3, s.
    """

    fac: float = checked(positive)
    facmin: float = checked(positive)
    facmax: float = checked(positive)
    explicit_duration: float = checked(positive, unit="s")

    def control(self, estimate: str = "plain") -> StepControl:
        """Return the step control of eq. 13 to 16 with ``plain`` or ``scaled`` error estimates.

        The paper does not inspect steps for short forces.
        """
        return StepControl(
            "paper",
            "rms",
            estimate,
            inspection="none",
            fac=self.fac,
            facmin=self.facmin,
            facmax=self.facmax,
        )


def shipped() -> Settings:
    """Return the settings from the shipped file."""
    return read_settings("sandu2001", Settings)

"""The stand-in of the data service."""

from sandbox.racing_service.racing_standin import RacingService
from sandbox.racing_service.switches import Switches

__all__ = ["RacingService", "Switches"]

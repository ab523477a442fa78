"""The stand-in of the data service: its seven endpoints, its webhooks and its refusals, as strict as the real ones."""

from bot.sandbox.racing_service.racing_standin import RacingService
from bot.sandbox.racing_service.switches import Switches

__all__ = ["RacingService", "Switches"]

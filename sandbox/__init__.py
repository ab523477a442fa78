"""Development only: stand-ins of the data service and of Slack, and the demo.

Offers `racing_service.RacingService`, `slack.workspace.SlackWorkspace` and `demo.run_demo`. May import `bot.clock` and
nothing else of the bot, so that a mistake of the bot cannot cancel out.
"""

"""`python -m bot` is `racing-bot`."""

from bot.cli import main

if __name__ == "__main__":
    main()

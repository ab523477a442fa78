"""All that speaks with Slack.

Requests come in by `request_guard` (HTTP) or `socket_mode`, pass `bolt_app`, and reach `listeners` and `commands`.
Posts and answers go out by `web_client`; `event_messages` builds a post's message. `workspace` has what Slack says of
channels and people. May import every feature. Only `app`, `cli`, `doctor` and `manifest` import this package.
"""

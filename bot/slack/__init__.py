"""All that speaks with Slack.

Requests come in by `request_guard` (HTTP) or `socket_mode`, pass `bolt_app`, and reach `listeners` and `commands`.
Posts and answers go out by `web_client` and `response_url`; `event_messages` builds a post's message. May import every
feature. Only `app`, `cli`, `doctor` and `manifest` import this package.
"""

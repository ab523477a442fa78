"""Delivery records and subscription answers (Spec gaps G3 and G4)."""

from typing import Any

from sandbox.racing_day import in_utc
from sandbox.racing_service.delivery_queue import Delivery, Subscription
from sandbox.racing_service.switches import Switches

Record = dict[str, Any]


def delivery_record(delivery: Delivery) -> Record:
    if delivery.shape == "listed":
        return _listed(delivery)
    return _counted(delivery) | ({"payload": delivery.happening.payload} if delivery.shape == "counted" else {})


def _counted(delivery: Delivery) -> Record:
    happening, last = delivery.happening, delivery.attempts[-1] if delivery.attempts else None
    return {
        "delivery_id": delivery.delivery_id,
        "subscription_id": delivery.subscription.subscription_id,
        "event": happening.event,
        "race_id": happening.race_id,
        "meeting_id": happening.meeting_id,
        "region": happening.region,
        "status": delivery.status,
        "created_at": in_utc(delivery.created_at),
        "last_attempt_at": in_utc(last.at) if last else None,
        "next_attempt_at": in_utc(delivery.next_at) if delivery.next_at else None,
        "attempts": len(delivery.attempts),
        "response_status": last.status if last else None,
        "response_body": last.answer if last else None,
        "error": last.error if last else None,
    }


def _listed(delivery: Delivery) -> Record:
    return {
        "id": delivery.delivery_id,
        "state": delivery.status,
        "url": delivery.subscription.url,
        "sent": {"type": delivery.happening.event, "body": delivery.happening.payload},
        "attempts": [
            {"at": in_utc(each.at), "status_code": each.status, "body": each.answer, "error": each.error}
            for each in delivery.attempts
        ],
    }


def subscription_answer(subscription: Subscription, meta: Record, switches: Switches) -> Record:
    """The only answer with the secret. Spec gap G3: the secret's place is switched."""
    secret_name = "signing_secret" if switches.subscribe_answer == "signing_secret" else "secret"
    shown: Record = {
        "subscription_id": subscription.subscription_id,
        "url": subscription.url,
        "events": sorted(subscription.events),
        "region": subscription.region,
        secret_name: subscription.secret,
    }
    if switches.subscribe_answer == "flat":
        return {"meta": meta, **shown}
    return {"meta": meta, "data": {"subscription": shown} if switches.subscribe_answer == "subscription" else shown}

"""Made-up names, some of them awkward for markup and encodings."""

from functools import cache
from random import Random

_AWKWARD = (
    "L'Étoile du Nord",
    "Smoke & Mirrors",
    "O'Hanrahan's Hope",
    "Déjà Vécu",
    "Rock 'n' Reel",
    "Käthe's Gift",
    "São Vicente",
    "Nip & Tuck",
    "Ça Ira",
    "Señorita Vega",
    "Bed & Breakfast",
    "D'Artagnan's Boy",
)
_FIRST = (
    "Amber, Bold, Bright, Copper, Crimson, Dancing, Daring, Distant, Eastern, Emerald, Fearless, Flying, Gentle, "
    "Golden, Harbour, Hidden, Highland, Iron, Ivory, Lunar, Midnight, Misty, Morning, Noble, Northern, Painted, Proud, "
    "Quiet, Rambling, Royal, Rustic, Sailing, Scarlet, Silver, Southern, Starlit, Stormy, Sudden, Tidal, Velvet, "
    "Wandering, Western, Wild, Winter"
)
_SECOND = (
    "Anthem, Arrow, Bay, Beacon, Breeze, Bridge, Cavalier, Chapel, Compass, Crown, Dawn, Dream, Echo, Falcon, Fiddler, "
    "Ghost, Glory, Harvest, Heron, Island, Jewel, Knight, Lantern, Legend, Melody, Meridian, Orchard, Parade, Prophet, "
    "Quest, Rhapsody, River, Sceptre, Secret, Shadow, Sonnet, Spirit, Star, Tempest, Verse, Voyage, Warrior"
)
_SURNAMES = (
    "Ashdown, Barrington, Bécaud, Carmody, Castellano-Ruiz, Duguid, Eastwell, Fallowfield, Ó'Briain, Garrigan, "
    "Hallström, Ishikawa, Kirwan, Lemaître, Moreira-Santos, Müller, Nakatani, O'Dowd, Pemberton, Quilty, "
    "Rafferty, St-Clair, Thackeray, van Wyk, Whitlock"
)
_SUFFIXES = ("", "", "", "", "", " (IRE)", " (FR)", " (USA)")
_INITIALS = "ABCDEFGHJKLMPRSTW"


@cache
def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split(", "))


def horse_names(rng: Random) -> list[str]:
    """Every name once, in an order of its own; some 1,900, enough for a day."""
    names = [f"{first} {second}" for first in _listed(_FIRST) for second in _listed(_SECOND)]
    names = [f"{name}{rng.choice(_SUFFIXES)}" for name in names]
    return rng.sample([*names, *_AWKWARD], len(names) + len(_AWKWARD))


def person_name(rng: Random) -> str:
    """Such as "P J O'Dowd"."""
    return f"{' '.join(rng.sample(_INITIALS, rng.randint(1, 2)))} {rng.choice(_listed(_SURNAMES))}"

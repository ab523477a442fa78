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
    "Amber, Bold, Copper, Crimson, Dancing, Distant, Eastern, Flying, Gentle, Golden, Harbour, Hidden, Iron, "
    "Lunar, Midnight, Misty, Northern, Painted, Quiet, Rambling, Royal, Rustic, Sailing, Silver, Stormy, "
    "Sudden, Tidal, Velvet, Wandering, Winter"
)
_SECOND = (
    "Anthem, Arrow, Bay, Beacon, Breeze, Cavalier, Chapel, Compass, Dawn, Echo, Falcon, Fiddler, Ghost, "
    "Harvest, Jewel, Lantern, Legend, Melody, Meridian, Orchard, Parade, Prophet, Quest, Rhapsody, Sceptre, "
    "Sonnet, Spirit, Tempest, Verse, Warrior"
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


def horse_names(rng: Random, count: int) -> list[str]:
    names = set(rng.sample(_AWKWARD, rng.randint(0, 1)))
    while len(names) < count:
        names.add(f"{rng.choice(_listed(_FIRST))} {rng.choice(_listed(_SECOND))}{rng.choice(_SUFFIXES)}")
    return rng.sample(sorted(names), count)


def person_name(rng: Random) -> str:
    """Such as "P J O'Dowd"."""
    return f"{' '.join(rng.sample(_INITIALS, rng.randint(1, 2)))} {rng.choice(_listed(_SURNAMES))}"

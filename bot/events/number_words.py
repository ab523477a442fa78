"""Small numbers in English words."""

_CARDINALS = "one two three four five six seven eight nine ten eleven twelve"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"

CARDINALS, ORDINALS = ({word: at for at, word in enumerate(words.split(), 1)} for words in (_CARDINALS, _ORDINALS))

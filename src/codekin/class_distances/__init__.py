"""How far apart classes are."""

"""What a document says of the looks of a text, and whether people can see such a text. Knows no format. Pure."""

from typing import NamedTuple

from gateway.engines.html.colours import Colour, same

WHITE = (255, 255, 255)
TINY_POINTS = 1.0
"""Size of type that nobody reads, the smallest that Word takes. At double, the smallest print of labels counts."""


class Look(NamedTuple):
    """What properties say of a text, None where they say nothing. `has_ground`: they state a ground, which is `ground`,
    or None if its colour is not known."""

    is_hidden: bool | None = None
    colour: Colour | None = None
    points: float | None = None
    has_ground: bool = False
    ground: Colour | None = None

    def over(self, base: "Look") -> "Look":
        """This look where it says something, else the other."""
        return Look(
            base.is_hidden if self.is_hidden is None else self.is_hidden,
            self.colour or base.colour,
            self.points or base.points,
            self.has_ground or base.has_ground,
            self.ground if self.has_ground else base.ground,
        )

    def is_unseen(self, under: Colour | None) -> bool:
        """Whether its letters are tiny or of their ground's colour. `under`: the ground where the look states none."""
        if self.points is not None and self.points <= TINY_POINTS:
            return True
        ground = self.ground if self.has_ground else under
        return self.colour is not None and ground is not None and same(self.colour, ground)


NOTHING = Look()

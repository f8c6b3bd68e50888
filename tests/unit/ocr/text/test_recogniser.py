"""The two recognisers of the OCR engine and the order they are asked in: on made-up chances, and on the real models."""

import math
from contextlib import closing

import numpy
import pytest

from gateway.geometry.boxes import Rect
from gateway.ocr.text.reader import (
    CAREFUL,
    CAREFUL_DETECTOR,
    MAX_WIDTH,
    PACKAGE,
    QUICK,
    SURE_FIT,
    Cascade,
    LineReader,
    LineReading,
    Recogniser,
    TextDetector,
    decode,
    input_width,
    model_file,
    ordered,
)
from tests.support.ocr_lines import around
from tests.support.ocr_pages import Sheet, degrade, font

TEXT = "Paid 1,204.50 to Zo\u00eb M\u00fcller on 3 March"
BLANK: numpy.ndarray = numpy.full((48, 640, 3), 255, numpy.uint8)
CLASSES = ("", "a", "b", " ")


class Reader:
    """Reads whatever it is shown as one text, and keeps what it was shown."""

    def __init__(self, text: str, fit: float, doubt: tuple[int, ...] = (0,)) -> None:
        """`doubt`: the places between characters that share the loss."""
        loss = -math.log(fit) * len(text) / len(doubt)
        losses = tuple(loss if place in doubt else 0.0 for place in range(len(text) + 1))
        self.reading = LineReading(text, 0.9, tuple((n + 0.5) / len(text) for n in range(len(text))), losses)
        self.shown: list[numpy.ndarray] = []

    @property
    def asked(self) -> int:
        return len(self.shown)

    def __call__(self, picture: numpy.ndarray) -> LineReading:
        self.shown.append(picture)
        return self.reading


def columns(*likely: dict[str, float]) -> numpy.ndarray:
    """Chances a column: what is named, the rest of 1 for no character."""
    made: numpy.ndarray = numpy.zeros((len(likely), len(CLASSES)), numpy.float32)
    for row, chances in zip(made, likely, strict=True):
        for character, chance in chances.items():
            row[CLASSES.index(character)] = chance
        row[0] = 1 - sum(chances.values())
    return made


def drawn(text: str, size: int = 30, style: str = "Sans") -> Sheet:
    sheet = Sheet(60 + int(font(size, style).getlength(text)), 2 * size)
    sheet.line(30, size // 2, text, font(size, style))
    return sheet


def pixels_of(image: object) -> numpy.ndarray:
    pixels: numpy.ndarray = numpy.ascontiguousarray(numpy.asarray(image)[:, :, ::-1])
    return pixels


def recogniser(model: tuple[str, str]) -> Recogniser:
    return Recogniser(*(model_file(PACKAGE, name) for name in model))


# --- which reading stands ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quick_fit", "careful_fit", "stands", "again"),
    [(0.992, 0.999, "quick", 0), (0.9, 0.95, "careful", 1), (0.9, 0.9, "careful", 1), (0.9, 0.85, "quick", 1)],
)
def test_a_sure_line_is_read_once_and_of_two_readings_the_one_that_fits_better_stands(
    quick_fit: float, careful_fit: float, stands: str, again: int
) -> None:
    quick, careful = Reader("quick", quick_fit), Reader("careful", careful_fit)
    assert Cascade(quick, careful, 0.99)(BLANK).text == stands
    assert (quick.asked, careful.asked) == (1, again)


def test_of_a_long_line_only_the_doubtful_word_is_read_again() -> None:
    text = "paid by bank transf er in March"
    quick, careful = Reader(text, 0.98, doubt=(text.index("f er") + 1,)), Reader(" transfer ", 0.999)
    reading = Cascade(quick, careful, 0.99)(BLANK)
    assert reading.text == "paid by bank transfer in March"
    assert len(reading.centers) == len(reading.text) == len(reading.losses) - 1
    assert list(reading.centers) == sorted(reading.centers)
    (shown,) = careful.shown
    assert shown.shape == (48, pytest.approx(BLANK.shape[1] * len(" transf er ") / len(text), rel=0.15), 3)


@pytest.mark.parametrize(("careful_fit", "stands"), [(0.999, "a 12 b 12 c d e f"), (0.5, "a l2 b l2 c d e f")])
def test_several_doubtful_words_are_read_again_each_for_itself(careful_fit: float, stands: str) -> None:
    quick, careful = Reader("a l2 b l2 c d e f", 0.98, doubt=(3, 8)), Reader("12", careful_fit)
    assert Cascade(quick, careful, 0.99)(BLANK).text == stands
    assert careful.asked == 2


def test_a_word_in_great_doubt_is_read_again_though_the_line_fits() -> None:
    text = "a line so long that one bad word hardly lowers its fit and nobody would look"
    for fit, stands in ((0.9985, text), (0.996, text.replace("bad", "good"))):
        quick, careful = Reader(text, fit, doubt=(text.index("bad") + 1,)), Reader("good", 0.999)
        assert Cascade(quick, careful, 0.99)(BLANK).text == stands


@pytest.mark.parametrize("text", ["nospaceanywhereinthisline", "two words"])
def test_a_line_without_sure_spaces_is_read_again_as_a_whole(text: str) -> None:
    quick, careful = Reader(text, 0.9, tuple(range(len(text)))), Reader("careful", 0.95)
    assert Cascade(quick, careful, 0.99)(BLANK).text == "careful"
    assert careful.shown[0] is BLANK


def test_a_line_is_cut_where_its_space_is_empty() -> None:
    text = "ab cd ef gh"
    picture: numpy.ndarray = numpy.full((20, 110, 3), 255, numpy.uint8)
    picture[5:15, :18] = picture[5:15, 22:] = 0  # the first space is narrower than its character's place says
    picture[5:15, 52:57] = 255
    quick, careful = Reader(text, 0.98, doubt=(4,)), Reader("cd", 0.999)
    Cascade(quick, careful, 0.99)(picture)
    assert careful.shown[0].shape[1] == 54 - 20


# --- what a reading says of itself ------------------------------------------------------------------------------------


def test_repeated_columns_are_one_character_and_a_gap_parts_two() -> None:
    reading = decode(columns({"a": 0.9}, {"a": 0.8}, {}, {"a": 0.7}, {" ": 0.9}, {"b": 1.0}), CLASSES, 1.0)
    assert reading.text == "aa b" and reading.score == pytest.approx((0.9 + 0.7 + 0.9 + 1.0) / 4)
    assert reading.centers == pytest.approx([0.5 / 6, 3.5 / 6, 4.5 / 6, 5.5 / 6])


def test_ground_to_the_right_of_the_picture_does_not_move_its_characters() -> None:
    reading = decode(columns({"a": 1.0}, {}, {"b": 1.0}, {}, {}, {}, {}, {}), CLASSES, 0.5)
    assert reading.centers == pytest.approx([0.5 / 4, 2.5 / 4])


def test_a_picture_without_text_has_none_and_no_fit() -> None:
    assert decode(columns({}, {}, {}), CLASSES, 1.0) == LineReading("", 0.0, (), (0.0,))


def test_pictures_keep_their_proportions_up_to_a_bound() -> None:
    assert (input_width(300, 24), input_width(2, 96)) == (600, 1)
    assert input_width(30_000, 10) == input_width(60_000, 3) == MAX_WIDTH


# --- the models -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("model", [QUICK, CAREFUL], ids=["quick", "careful"])
def test_both_models_read_a_line_and_place_its_characters(model: tuple[str, str]) -> None:
    sheet = drawn(TEXT)
    pixels = pixels_of(sheet.image)
    reading, at = recogniser(model)(pixels), 0
    assert (reading.text, len(reading.centers)) == (TEXT, len(TEXT)) and reading.fit > 0.95
    for word, (x1, _, x2, _) in sheet.truth.words:
        middles = [center * pixels.shape[1] for center in reading.centers[at : at + len(word)]]
        assert all(x1 - 12 <= middle <= x2 + 12 for middle in middles), word
        at += len(word) + 1


@pytest.mark.slow
def test_a_clear_print_is_sure_and_a_ruined_one_is_not() -> None:
    quick, text = recogniser(QUICK), "The goods left our warehouse on the fifth"
    assert quick(pixels_of(drawn(text, 24).image)).fit >= SURE_FIT
    assert quick(pixels_of(degrade(drawn(text, 9).image, "blur"))).fit < SURE_FIT


@pytest.mark.slow
@pytest.mark.parametrize("size", [24, 11], ids=["read once", "read again"])
def test_words_lie_over_their_ink_whichever_model_read_them(size: int) -> None:
    text = "Our goods arrived in seven wooden boxes"
    sheet = drawn(text, size)
    pixels = pixels_of(sheet.image if size > 12 else degrade(sheet.image, "noise"))
    assert (recogniser(QUICK)(pixels).fit >= SURE_FIT) is (size > 12)
    with closing(LineReader(1)) as reader:
        [line] = reader.read_all(pixels, [around(Rect(0, 0, pixels.shape[1], pixels.shape[0]))])
    assert line.text == text
    for word, (drawn_word, (x1, _, x2, _)) in zip(line.words, sheet.truth.words, strict=True):
        assert word.text == drawn_word
        assert min(word.rect.x2, x2) - max(word.rect.x1, x1) >= 0.8 * (x2 - x1), word


@pytest.mark.slow
def test_lines_are_found_where_they_stand_top_to_bottom_also_when_they_lean() -> None:
    sheet = Sheet(700, 480)
    boxes = [sheet.line(60, y, text, font(24)) for y, text in ((60, "First of all"), (200, "then"), (340, "at last"))]
    with closing(LineReader(1)) as reader:
        found = reader.detect(pixels_of(sheet.image))
        leaning = reader.detect(pixels_of(sheet.image.rotate(4, fillcolor="white")))
    assert len(found) == len(leaning) == len(boxes)
    for line, (x1, y1, x2, y2) in zip(found, boxes, strict=True):
        assert line.rect.overlap(Rect(x1, y1, x2, y2)) >= 0.97 * (x2 - x1) * (y2 - y1)
        assert line.rect.height <= 3 * (y2 - y1)
    (left, top), (right, lower), *_ = leaning[0].quad
    assert right - left > 100 and 2 <= top - lower <= 20


@pytest.mark.slow
def test_a_blank_picture_holds_no_line() -> None:
    assert TextDetector(model_file(PACKAGE, CAREFUL_DETECTOR), 1)(numpy.full((160, 320, 3), 255, numpy.uint8)) == []


def test_corners_come_clockwise_from_the_top_left() -> None:
    assert ordered([(9.0, 5.0), (0.0, 6.0), (0.5, 0.0), (9.5, 0.5)]) == ((0.5, 0.0), (9.5, 0.5), (9.0, 5.0), (0.0, 6.0))


def naive_decode(probabilities: numpy.ndarray, characters: list[str]) -> tuple[str, list[float], list[float]]:
    """Text, scores and losses, column by column."""
    best = [int(column.argmax()) for column in probabilities]
    begins = [at for at, label in enumerate(best) if label and (at == 0 or best[at - 1] != label)]
    labels = [best[at] for at in begins]
    losses = [0.0] * (len(labels) + 1)
    for at, column in enumerate(probabilities):
        begun = sum(start <= at for start in begins)
        explained = float(column[0])
        if begun:
            explained += float(column[labels[begun - 1]])
        if begun < len(labels) and (not begun or labels[begun] != labels[begun - 1]):
            explained += float(column[labels[begun]])
        losses[begun] -= math.log(min(1.0, explained))
    scores = [float(probabilities[at, label]) for at, label in zip(begins, labels, strict=True)]
    return "".join(characters[label] for label in labels), scores, losses


@pytest.mark.parametrize("seed", range(5))
def test_decoding_all_columns_at_once_gives_what_a_walk_over_them_gives(seed: int) -> None:
    probabilities = numpy.random.default_rng(seed).dirichlet([0.3] * 5, 60).astype(numpy.float32)
    characters = ["", "a", "b", "c", " "]
    text, scores, losses = naive_decode(probabilities, characters)
    reading = decode(probabilities, characters, 1.0)
    assert reading.text == text and reading.score == pytest.approx(sum(scores) / len(scores), rel=1e-5)
    assert reading.losses == pytest.approx(losses, rel=1e-4, abs=1e-5)


def test_a_doubtful_word_of_a_line_without_an_empty_column_is_read_again() -> None:
    # Levels over the whole range in every column: the least contrast and the noise allowed for exceed eight bits.
    full: numpy.ndarray = numpy.zeros((48, 640, 3), numpy.uint8)
    full[24:] = 255
    quick, careful = Reader("plain words here", 0.9, (13,)), Reader("hers", 0.999)
    assert Cascade(quick, careful, SURE_FIT)(full).text == "plain words hers"

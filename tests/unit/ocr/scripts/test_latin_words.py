"""Latin words in lines of other scripts: those that the first reader did not see are read again without English."""

from gateway.geometry.boxes import Line, Rect
from gateway.ocr.scripts.mixed import MAX_AGAIN, without_invented_words, without_seen_words


def line(text: str, number: int = 0, fit: float = 0.87) -> Line:
    return Line(Rect(0, 30 * number, 200, 30 * number + 20), text=text, fit=fit, is_read=True)


def texts(mixed: str, seen: str, alone: str) -> str:
    [found] = without_invented_words([line(mixed)], [line(seen)], lambda _: line(alone, fit=0.91))
    return found.text


def test_a_word_that_the_first_reader_did_not_see_is_taken_from_the_reading_without_english() -> None:
    assert texts("ניתן לבחור AND כהה", "n3 nin17 nn 1nl7", "ניתן לבחור כמה כהה") == "ניתן לבחור כמה כהה"
    assert texts("לשנות yay ANA? לשמור", "nuw7 1n2", "לשנות צבע זה לשמור") == "לשנות צבע זה לשמור"


def test_words_that_were_seen_stay_though_one_beside_them_was_invented() -> None:
    assert texts("את AND Linux כהה", "nn Linuх Linux 17", "את כמה ץרקמ כהה") == "את כמה Linux כהה"
    assert texts("את AND EUR Linux כהה", "nn EUR Linux", "את כמהץ ץרקמ כהה") == "את AND EUR Linux כהה"


def test_a_reading_without_english_that_has_latin_letters_there_too_changes_nothing() -> None:
    assert texts("את AND כהה", "nn 17", "את AN0 כהה") == "את AND כהה"


def test_a_reading_without_english_that_is_less_sure_changes_nothing() -> None:
    [found] = without_invented_words([line("ل TRUE فستكون")], [line(".")], lambda _: line("ل انالا فستكون", fit=0.8))
    assert found.text == "ل TRUE فستكون"


def test_a_line_whose_words_were_seen_is_not_read_again_and_few_are() -> None:
    asked: list[Line] = []

    def read(one: Line) -> Line:
        asked.append(one)
        return one

    without_invented_words([line("את office כהה")], [line("nn oftice 17")], read)
    assert not asked
    without_invented_words([line("AND", number) for number in range(2 * MAX_AGAIN)], [], read)
    assert len(asked) == MAX_AGAIN


def test_the_words_have_their_places_in_the_line() -> None:
    [found] = without_invented_words([line("את AND")], [], lambda _: line("את כמה", fit=0.91))
    assert [word.text for word in found.words] == ["את", "כמה"] and found.words[0].rect.x1 > found.words[1].rect.x1


def test_seen_words_are_left_out_and_others_kept() -> None:
    assert without_seen_words("את Linux AND 6.1", "nn Linux 6.1") == "את AND 6.1"

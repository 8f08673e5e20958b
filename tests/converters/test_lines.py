"""Reading files of any size piece by piece."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.errors import InputError
from ckprof.model.conversion import ConversionRequest
from ckprof_converters.collect import MAX_LISTED
from ckprof_converters.compiled import LineError
from ckprof_converters.lines import annotation_of, instance_of, iterate_lines, settings_in, stated_operation
from ckprof_converters.records import GemmRecord

from .samples import change, line


class Pieces(io.BytesIO):
    """A file of which so many bytes are had at once."""

    def __init__(self, data, size):
        super().__init__(data)
        self._size = size

    def read1(self, size=-1):
        return super().read1(self._size)


def read(data, size):
    request = ConversionRequest(path=Path("x"), data=b"", stream=lambda: Pieces(data, size))
    return list(iterate_lines(request))


TEXTS = st.text(alphabet="a\n\ré漢", max_size=30)


@given(text=TEXTS)
def test_pieces_make_no_difference(text):
    expected = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", newline=None).read().split("\n")
    if not expected[-1]:
        expected.pop()
    for size in (1, 2, 3, 1000):
        assert read(text.encode(), size) == expected


@given(before=TEXTS, size=st.integers(1, 40), wrong=st.sampled_from([b"\0", b"\xff", b"\xe6\xbc"]))
def test_places_of_what_is_no_text(before, size, wrong):
    data = before.encode() + wrong
    seen = before.replace("\r\n", "\n").replace("\r", "\n")
    place = (seen.count("\n") + 1, len(seen) - seen.rfind("\n"))
    with pytest.raises(InputError) as caught:
        read(data, size)
    assert (caught.value.line, caught.value.column) == place


def test_the_place_of_an_instance():
    for text, found in (
        ("  a, b  # c", ("a, b", 2)),
        (" a", ("a", 1)),
        ("a", ("a", 0)),
        ("   # c", ("", 0)),
        ("", ("", 0)),
        ("\t- 'A<b>', # c", ("A<b>", 4)),
        ('12. "A<b>"', ("A<b>", 5)),
        ("* A<b> ,", ("A<b>", 2)),
        ("1.5 A<b>", ("1.5 A<b>", 0)),
    ):
        assert instance_of(text, log=False, upstream_comments=False) == found, text
    assert instance_of("a # c", log=False, upstream_comments=True) == ("", 0)


def test_comments_in_any_encoding():
    assert read(b"a # caf\xe9\nb", 1000) == ["a # caf\ufffd", "b"]


def test_text_of_two_bytes_a_character_is_told_by_its_mark():
    for mark in (b"\xff\xfe", b"\xfe\xff"):
        with pytest.raises(InputError, match="UTF-16 text: save the file as UTF-8") as caught:
            read(mark + b"a", 1000)
        assert (caught.value.line, caught.value.column) == (1, 1)
        with pytest.raises(InputError, match="not UTF-8 text"):
            read(b"a\n" + mark + b"a", 1000)


def test_a_long_line_is_given_up_before_it_is_read():
    class Endless(io.RawIOBase):
        """A file of one line that never ends."""

        read_bytes = 0

        def readable(self):
            return True

        def read(self, size):
            self.read_bytes += size
            return b"x" * size

    endless = Endless()
    request = ConversionRequest(path=Path("x"), data=b"", stream=lambda: endless)
    with pytest.raises(InputError, match="the line is longer than 100000 characters"):
        list(iterate_lines(request))
    assert endless.read_bytes < 120_000


def test_a_file_that_vanishes():
    def gone():
        raise FileNotFoundError(2, "No such file or directory")

    with pytest.raises(InputError, match="x: cannot read: No such file or directory"):
        list(iterate_lines(ConversionRequest(path=Path("x"), data=b"", stream=gone)))


def test_dropped_lines_of_long_files_are_counted(convert):
    lines = [line("forward"), change(line("forward"), 49, "16")] * MAX_LISTED
    conversion = convert(*lines)
    assert len(conversion.dropped) == MAX_LISTED
    assert conversion.dropped_by_rule == {"duplicate": 2 * MAX_LISTED - 2}
    assert conversion.lines == 2 * MAX_LISTED


def test_annotations_set_fields_of_records():
    settings = {"two_stage": True, "id": 7, "elementwise_op": "Scale"}
    assert annotation_of({}) == ""
    assert annotation_of(settings) == '  # ckprof: two_stage=true, id=7, elementwise_op="Scale"'
    for text, found in (
        ("F<1>", {}),
        (f"F<1>{annotation_of(settings)}", settings),
        (annotation_of(settings).lstrip(), settings),
        ("F<1> # ckprof:id=3", {"id": 3}),
    ):
        assert settings_in(text, GemmRecord) == found, text
        assert stated_operation(text) == found.get("elementwise_op"), text
    assert stated_operation("elementwise_op # ckprof: id=3") is None


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("id", "expected field=value in an annotation, got 'id'"),
        ("Id=3", "expected field=value in an annotation, got 'Id=3'"),
        ("speed=3", "an annotation sets speed, which catalogs do not have"),
        ("id=x", "an annotation sets id to 'x', which it cannot be"),
        ('id="3"', "an annotation sets id to '\"3\"', which it cannot be"),
    ],
)
def test_wrong_annotations_have_places(setting, message):
    for before in ("F<1> # ckprof:", "F<1> # ckprof: two_stage=true, tile_m=64,"):
        with pytest.raises(LineError) as caught:
            settings_in(f"{before} {setting}", GemmRecord)
        (problem,) = caught.value.problems
        assert (problem.start, problem.message) == (len(before), message)


def test_the_longest_line_is_read():
    assert read(b"x" * 100_000 + b"\ny", 1000) == ["x" * 100_000, "y"]
    with pytest.raises(InputError, match="the line is longer than 100000 characters") as caught:
        read(b"y\n" + b"x" * 100_001 + b"\n", 1000)
    assert (caught.value.line, caught.value.column) == (2, 1)

"""Readers of archives, objects and packages."""

import gzip
import hashlib
import io
import lzma
import tarfile

import pytest
from elftools.elf.elffile import ELFFile

from ckprof.errors import InputError, ToolchainError
from ckprof_plugins.extract import archives
from ckprof_plugins.extract.archives import CompiledFunctions, collect, parse_function, read_symbols
from plugins.extract.tests.binaries import archive, elf, function, table
from plugins.extract.tests.conftest import MAIN_LINES, MERGED_LINES, members, run
from plugins.extract.tests.tree import MAIN

NAME = "add_device_x_instances"
OBJECTS = {
    "short.o": elf((function(NAME),), tables=(table(MAIN_LINES[0]),)),
    "a_name_that_is_longer_than_fifteen_letters.cpp.o": elf((function(NAME, 3),), needed=("puts",)),
}


class Forward(io.RawIOBase):
    """A stream that cannot go back."""

    def __init__(self, data):
        self._data = io.BytesIO(data)

    def readable(self):
        return True

    def seekable(self):
        return False

    def read(self, size=-1):
        return self._data.read(size)


@pytest.mark.parametrize("stream", [io.BytesIO, Forward])
def test_members_have_their_names_and_bytes(stream):
    data = archive(OBJECTS, index=b"\0\0\0\0x")
    found = {name: member.read() for name, member in archives.members(stream(data), "x.a")}
    assert found == OBJECTS


def test_the_object_is_one_that_other_readers_accept():
    read = ELFFile(io.BytesIO(OBJECTS["short.o"]))
    names = [symbol.name for symbol in read.get_section_by_name(".symtab").iter_symbols()]
    assert names[1:] == [function(NAME), table(MAIN_LINES[0])]


def test_only_the_symbols_of_instances_are_taken():
    data = elf(
        (function(NAME), "main"),
        (function("add_other_shard", shard=(4, 3)), "puts"),
        (table(MAIN_LINES[0]), "_ZTVSt9exception"),
    )
    functions, needed, tables = read_symbols(io.BytesIO(data), "x.o")
    assert functions == [function(NAME)]
    assert needed == [function("add_other_shard", shard=(4, 3))]
    assert tables == [table(MAIN_LINES[0])]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (elf(order=">"), "64-bit big-endian object; expected 64-bit little-endian"),
        (b"\x7fELF" + bytes(60), "not an object file"),
        (b"text", "not an object file"),
        (elf((function(NAME),))[:-80], "it ends in a table"),
    ],
)
def test_other_objects_are_refused(data, expected):
    with pytest.raises(InputError, match=expected):
        read_symbols(io.BytesIO(data), "x.o")


def test_a_damaged_symbol_table_is_refused():
    good = elf((function(NAME),))
    cut = bytearray(good)
    place = good.index(function(NAME).encode())
    del cut[place : place + 8]
    with pytest.raises(InputError):
        read_symbols(io.BytesIO(bytes(cut)), "x.o")


@pytest.mark.parametrize("stream", [io.BytesIO, Forward])
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"!<thin>\n", "thin archive"),
        (b"\x7fELF", "does not begin with"),
        (archive(OBJECTS)[:-10], "damaged archive"),
        (archive(OBJECTS)[:120], "damaged archive"),
        (archive(OBJECTS).replace(b"`\n", b"??", 1), "no member header at byte 8"),
        (archive({"#1/20": b"x" * 30}), "BSD kind"),
        (archive({"/99": b"x"}).replace(b"/99/", b"/99 "), "no long name at 99"),
    ],
)
def test_other_archives_are_refused(stream, data, expected):
    with pytest.raises(InputError, match=expected):
        for _, member in archives.members(stream(data), "x.a"):
            member.read()


def test_functions_are_found_by_name_and_dimensions():
    assert parse_function(function(NAME, 3)) == (NAME, 3, None)
    assert parse_function(function(NAME, 2, (12, 7))) == (NAME, 2, (12, 7))
    assert parse_function("_ZN2ck16tensor_operation6device8instance4mainEv") is None
    data = io.BytesIO(
        archive({"two.o": elf((function(NAME, 2), function(NAME, 3)), tables=(table(MAIN_LINES[0]),))})
    )
    compiled = CompiledFunctions(collect(archives.members(data, "x.a"), "x.a"), "x.a")
    assert compiled.member_of(NAME, 2) == compiled.member_of(NAME, 3) == "two.o"
    assert compiled.member_of(NAME, 1) is None
    assert compiled.tables(NAME, 3) == (table(MAIN_LINES[0]),)


def test_two_members_of_one_name_are_refused():
    data = archive(OBJECTS)
    both = data + data[8:]
    with pytest.raises(InputError, match="two members are called short"):
        collect(archives.members(io.BytesIO(both), "x.a"), "x.a")


def control_part(text, data):
    """Return the control part of a package with a digest of its data, which makes it unique."""
    contents = io.BytesIO()
    with tarfile.open(fileobj=contents, mode="w") as tar:
        for name, value in (("control", text), ("md5sums", hashlib.blake2b(data).hexdigest())):
            entry = tarfile.TarInfo(f"./{name}")
            entry.size = len(value)
            tar.addfile(entry, io.BytesIO(value.encode()))
    return contents.getvalue()


def package(tree, kind, objects):
    """Return a Debian package of the small library."""
    include = tree.write()
    contents = io.BytesIO()
    with tarfile.open(fileobj=contents, mode="w") as tar:
        for path in sorted(include.rglob("*")):
            tar.add(path, arcname=f"./usr/include/{path.relative_to(include)}", recursive=False)
        if objects is not None:
            data = archive(objects, index=b"\0" * 5)
            entry = tarfile.TarInfo("./usr/lib/x86_64-linux-gnu/libdevice_conv_operations.a")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    raw = contents.getvalue()
    control = control_part("Package: libck-dev\nVersion: 7.2.4-1\nDescription: x\n more: text\n", raw)
    packed = {"": bytes, ".xz": lzma.compress, ".gz": gzip.compress, ".bz2": bytes}[kind](raw)
    path = tree.root.parent / "ck.deb"
    path.write_bytes(
        archive(
            {"debian-binary": b"2.0\n", "control.tar.gz": gzip.compress(control), f"data.tar{kind}": packed}
        )
    )
    return path


@pytest.mark.parametrize("kind", ["", ".xz", ".gz"])
def test_a_package_is_read_without_unpacking(tree, kind):
    path = package(tree, kind, members(MAIN_LINES[::-1], MERGED_LINES))
    for _ in range(2):
        found = run(path)
        assert not found.failures
        assert list(found.lists[0].file("profiler").texts) == MAIN_LINES + MERGED_LINES


def test_packages_have_a_name_and_may_have_headers_alone(tree):
    assert archives.identify_package(package(tree, ".gz", None))[1] == "libck-dev 7.2.4-1"
    found = run(package(tree, ".xz", None))
    assert list(found.lists[0].file("profiler").texts) == MAIN_LINES + MERGED_LINES


def test_headers_that_were_kept_do_not_stand_for_the_archive(tree):
    path = package(tree, ".xz", members(MAIN_LINES[1:], MERGED_LINES))
    assert not run(path, with_archive=False).failures
    assert MAIN in str(run(path).failures)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            lambda data: data.replace(b"data.tar.xz", b"data.tar.bz"),
            "compressed as bz; expected xz, gz or zst",
        ),
        (lambda data: data.replace(b"data.tar.xz/", b"other.tar.xz"), "no data part"),
        (lambda data: data[: len(data) // 2], "damaged"),
        (lambda data: data.replace(b"\xfd7zXZ", b"\xfd7zXX"), "damaged package"),
    ],
)
def test_other_packages_are_refused(tree, change, expected):
    path = package(tree, ".xz", None)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputError, match=expected):
        archives.read_package(path, with_archive=True)


def test_a_package_of_something_else_says_what_is_expected(tree):
    tree.texts = {"ck/config.h": ""}
    with pytest.raises(ToolchainError, match="expected composablekernel-dev"):
        run(package(tree, ".xz", None))

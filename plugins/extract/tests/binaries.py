"""Archives and objects made byte by byte, and mangled names, for the tests of their readers."""

import struct

FUNCTION = "_ZN2ck16tensor_operation6device8instance"
TABLE = "_ZTVN2ck16tensor_operation6device"
SPACES = {
    "NHWGC": ("ck", "tensor_layout", "convolution"),
    "GKYXC": ("ck", "tensor_layout", "convolution"),
    "NHWGK": ("ck", "tensor_layout", "convolution"),
    "PassThrough": ("ck", "tensor_operation", "element_wise"),
}
SPECIALIZATIONS = ("Default", "Filter1x1Pad0", "Filter1x1Stride1Pad0", "OddC", "Filter3x3")


def word(name):
    return f"{len(name)}{name}"


def nested(*names):
    return "N" + "".join(word(name) for name in names) + "E"


def literal(enumeration, value):
    return f"L{nested(*enumeration)}{value}E"


def argument(text):
    """Mangle an argument as instance strings print it; without substitutions, which are optional to use."""
    if text.lstrip("-").isdigit():
        return f"Li{text}E"
    if text.startswith("Seq("):
        inner = "".join(argument(item) for item in text[4:-1].split(","))
        return f"N{word('ck')}{word('Sequence')}IJ{inner}EEE"
    if text == "EmptyTuple":
        return f"N{word('ck')}{word('Tuple')}IJEEE"
    simple = {"fp16": "DF16_", "bf16": "t", "fp32": "f", "true": "Lb1E", "false": "Lb0E"}
    return simple.get(text) or nested(*SPACES[text], text)


def function(name, dimensions=2, shard=None):
    """Return the mangled name of a function that adds instances."""
    mangled = FUNCTION + word(name)
    if shard:
        mangled += f"ILi{shard[0]}ELi{shard[1]}EE"
    return (
        f"{mangled}EvRSt6vectorISt10unique_ptrINS1_31DeviceGroupedConvFwdMultipleABDILi{dimensions}ENS_3FooE"
    )


def table(line):
    """Return the mangled name of the table of a forward instance, given its instance string."""
    name, _, rest = line.partition("<")
    fields = []
    depth = 0
    current = ""
    for letter in rest[:-1] + ",":
        if letter == "," and not depth:
            fields.append(current)
            current = ""
            continue
        depth += (letter == "(") - (letter == ")")
        current += letter
    mangled = []
    for place, field in enumerate(fields):
        if place == 14:
            spec = ("ck", "tensor_operation", "device", "ConvolutionForwardSpecialization")
            mangled.append(literal(spec, SPECIALIZATIONS.index(field)))
        elif place == 15:
            mangled.append(literal(("ck", "tensor_operation", "device", "GemmSpecialization"), 7))
        elif place == 47:
            mangled.append(literal(("ck", "LoopScheduler"), 0))
        elif place in (33, 40):
            mangled.append(argument("1" if field == "true" else "0"))
        else:
            mangled.append(argument(field))
    return f"{TABLE}{word(name)}I{''.join(mangled)}EE"


def elf(defined=(), needed=(), tables=(), *, order="<", bits=64):
    """Return a relocatable object with these symbols, the smallest that readers accept."""
    strings = b"\0"
    symbols = [struct.pack(order + "IBBHQQ", 0, 0, 0, 0, 0, 0)]
    rows = [(name, 1 << 4 | 2, 1) for name in defined]
    rows += [(name, 1 << 4, 0) for name in needed]
    rows += [(name, 2 << 4 | 1, 1) for name in tables]
    for name, info, section in rows:
        symbols.append(struct.pack(order + "IBBHQQ", len(strings), info, 0, section, 0, 8))
        strings += name.encode() + b"\0"
    sections = b"\0.symtab\0.strtab\0"
    table_bytes = b"".join(symbols)
    begin = 64
    at = {"symtab": begin, "strtab": begin + len(table_bytes)}
    at["names"] = at["strtab"] + len(strings)
    headers = at["names"] + len(sections)
    identity = b"\x7fELF" + bytes((2 if bits == 64 else 1, 1 if order == "<" else 2, 1)) + bytes(9)
    head = identity + struct.pack(order + "HHIQQQIHHHHHH", 1, 62, 1, 0, 0, headers, 0, 64, 0, 0, 64, 4, 3)

    def section(name, kind, offset, size, link=0, info=0, entry=0):
        return struct.pack(order + "IIQQQQIIQQ", name, kind, 0, 0, offset, size, link, info, 1, entry)

    return (
        head
        + table_bytes
        + strings
        + sections
        + section(0, 0, 0, 0)
        + section(1, 2, at["symtab"], len(table_bytes), 2, 1, 24)
        + section(9, 3, at["strtab"], len(strings))
        + section(9, 3, at["names"], len(sections))
    )


def archive(members, *, index=b""):
    """Return an archive of GNU kind; names that are too long go to its table."""
    data = b"!<arch>\n"
    long_names = b""
    short = {}
    for name in members:
        if len(name) > 15:
            short[name] = f"/{len(long_names)}"
            long_names += name.encode() + b"/\n"
        else:
            short[name] = name + "/"

    def member(name, content):
        head = f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(content):<10}`\n".encode()
        return head + content + b"\n" * (len(content) % 2)

    if index:
        data += member("/", index)
    if long_names:
        data += member("//", long_names)
    return data + b"".join(member(short[name], content) for name, content in members.items())

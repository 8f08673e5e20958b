"""An independent reading of list lines: positions and rules spelled out one by one, no tables, no checks.

It trusts its input, so it is compared with the converter only where the converter accepts a line.
"""

import json
import math
import re

WAVE = 64
KM = {"fp32": (2, 4), "fp16": (16, 32), "bf16": (16, 32)}
#: types of 8 bits as strings have them -> as catalogs have them
BYTES = {"s8": "int8", "fp8": "fp8", "bf8": "bf8"}

#: key order of a catalog file
KEYS = (
    "tile_m tile_n tile_k warp_m warp_n warp_k warp_tile_m warp_tile_n warp_tile_k vector_size_a "
    "vector_size_b vector_size_c pipeline scheduler epilogue double_smem_buffer num_groups_to_merge "
    "num_wave_groups "
    "specialization two_stage explicit_gemm split_image streamk_enabled streamk_reduction_strategy "
    "streamk_persistent"
).split()
CODES = {"V1": "compv1", "V2": "mem", "V3": "compv3", "V4": "compv4", "V5": "compv5", "V6": "compv6"}
CODES |= {"ASYNC_V1": "basic_async_v1", "ASYNC_V4": "mem", "WAVELET": "wavelet"}
NATIVE_CODES = {"BASIC_V1": "V1", "MEMORY": "V2", "COMPUTE_V3": "V3", "COMPUTE_V4": "V4", "COMPUTE_V5": "V5"}
NATIVE_CODES |= {"COMPUTE_V6": "V6", "BASIC_ASYNC_V1": "ASYNC_V1", "COMPUTE_ASYNC": "ASYNC_V4"}
NATIVE_CODES |= {"WAVELET": "WAVELET", "BASIC_V2": "V2"}
SPECS = {"Default": "default", "OddC": "default", "Filter1x1Pad0": "filter1x1_pad0"}
SPECS |= {"Filter1x1Stride1Pad0": "filter1x1_stride1_pad0", "Filter3x3": "filter3x3"}


def catalog(texts, variant, layout, dtype, joined=()):
    """Return the text of a catalog file.

    :param texts: the lines of the list.
    :param joined: the lines of the stream-K list that belongs to it.
    """
    depthwise = "depthwise" in variant
    records = records_of(texts, dtype, depthwise)
    shift = max((record["id"] for record in records), default=-1) + 1
    for record in records_of(joined, dtype, depthwise=False):
        records.append({**record, "id": record["id"] + shift})
    ndim = 3 if "d" in layout.partition("g")[0] else 2
    head = {"variant": variant, "ndim_spatial": ndim, "layout": layout, "datatype": dtype}
    return json.dumps({**head, "instances": records}, indent=2)


def records_of(texts, dtype, depthwise):
    records, seen, count = [], set(), -1
    for number, text in enumerate(texts):
        if text.startswith(("#", ";")) or not text.strip():
            continue
        count += 1
        values = read(text, dtype)
        if values is None:
            continue
        if not depthwise:
            combined = elementwise(text)
            values = {key: {**values, "epilogue": "cshuffle"}[key] for key in KEYS} | combined
        if (same := tuple(values.items())) not in seen:
            seen.add(same)
            records.append({"id": count if depthwise else number, **values})
    return records


def split(text):
    """Split at commas outside parentheses; two tensors of an operand count as one of their type."""
    text = re.sub(r"\s*,\s*|(?<=\()\s+|\s+(?=\))", lambda found: found[0].strip(), text)
    text = re.sub(r"Tuple\((\w+),\1\),Tuple\((\w+),\2\)", r"\1,\2", text)
    parts, depth, part = [], 0, ""
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            parts.append(part.strip())
            part = ""
        else:
            part += char
    return [*parts, part.strip()] if part.strip() else parts


def read(line, dtype):
    """Return the fields that the line gives, ``None`` if a rule skips it.

    :param dtype: data type of lines that do not say it.
    """
    line = line.partition("#")[0].partition(";")[0].strip()
    name = line.partition("<")[0].strip()
    arguments = split(line[line.find("<") + 1 : line.rfind(">")])
    if "Depthwise" in name or "<" not in line:
        keys = "tile_h tile_w filt str_h str_w pad_h pad_w nbatch sub_h sub_w in_vec out_vec".split()
        numbers = arguments if "<" in line else split(line)
        return {key: int(number) for key, number in zip(keys, numbers, strict=True)}
    if name.startswith("GroupedConvolution"):
        return native(name, arguments)
    if "Explicit" in name:
        return explicit(line, dtype)
    if re.search(r"<\s*[0-9]+\s*,\s*[0-9]+\s*,", line):
        return short(name, arguments, dtype)
    if "Fwd" in name:
        return forward(name, arguments)
    if "BwdWeight" in name:
        return backward_weight(name, arguments)
    return backward_data(arguments)


def elementwise(line):
    """Return what an instance of old CK says of its element-wise operation, nothing if it has none."""
    if not line.startswith("DeviceGroupedConv") or "Explicit" in line:
        return {}
    a = split(line[line.index("<") + 1 : line.rindex(">")])
    # where the operation on the result and the layouts of the D tensors stand
    if "BwdWeight" in line:
        name, extra = (11, 4) if "MultipleD" in line else (9, None)
    else:
        name, extra = (12, 3) if "BwdData" in line else (13, 3)
    if a[0] not in "123":
        return {}
    of_types = types(a) if "Fwd" in line else {}
    if "Fwd" in line and a[11] == a[12] == "ScaleAdd":
        return {"elementwise_op": "ScaleAdd"} | of_types
    if (name := a[name]) == "PassThrough":
        return of_types
    if name == "UnaryCombinedOp":
        name = line.partition('elementwise_op="')[2].partition('"')[0]
    tensors = a[extra].partition("(")[2].rstrip(")")
    return {"elementwise_op": name} | ({"d_layouts": tensors} if tensors else {}) | of_types


def types(a):
    """Return the types that are not the usual ones beside that of the first operand."""
    if a[5] not in BYTES:
        return {}
    said, usual = {}, {"s8": "s8"}.get(a[5], "fp8")
    if a[6] != a[5]:
        said["dtype_b"] = a[6]
    if a[10] != usual:
        said["dtype_result"] = a[10]
    tensors = a[9].partition("(")[2].rstrip(")")
    if tensors and set(tensors.split(",")) != {a[10]}:
        said["d_dtypes"] = ",".join(BYTES.get(one, one) for one in tensors.split(","))
    return said


def flag(text):
    return text in ("1", "true")


def native(name, a):
    if "Forward" in name and len(a) == 30:
        a = [*a[:11], "0", *a[11:]]
    dtype = a[21]
    stream_k = len(a) > 31 and flag(a[31])
    if stream_k and dtype == "fp32" and "ASYNC" in NATIVE_CODES[a[23]]:
        return None
    fields = dict(zip(("vector_size_a", "vector_size_b", "vector_size_c"), map(int, a[6:9]), strict=True))
    for start, prefix in ((12, "tile"), (15, "warp"), (18, "warp_tile")):
        fields |= {f"{prefix}_{axis}": int(a[start + index]) for index, axis in enumerate("mnk")}
    strategy = {"1": "LINEAR", "2": "TREE"}.get(a[32], a[32]) if stream_k else None
    half = dtype != "fp32"
    return fields | {
        "specialization": SPECS[a[1]],
        "num_groups_to_merge": int(a[9]),
        "split_image": flag(a[10]),
        "explicit_gemm": flag(a[11]),
        "pipeline": CODES[NATIVE_CODES[a[23]]],
        "scheduler": a[24].lower(),
        "double_smem_buffer": flag(a[25]),
        "num_wave_groups": int(a[26]),
        "two_stage": "Weight" in name and half and a[8] == "1" and not stream_k,
        "streamk_enabled": stream_k,
        "streamk_reduction_strategy": strategy,
        "streamk_persistent": stream_k and flag(a[33]),
    }


def elements(text):
    """The words of a tuple, whatever the case of its own."""
    return re.sub(r"^tuple\((.*)\)$", r"\1", text, flags=re.IGNORECASE)


def forward(name, a):
    tensors = elements(a[9])
    allowed = {a[10], "fp32"} if a[10] in BYTES else {a[10]}
    if tensors != "EmptyTuple" and not set(tensors.split(",")) <= allowed:
        return None
    v3, large = "V3" in name, "Large_Tensor" in name
    at = -1 if v3 else 0
    code = f"V{a[45][1]}" if v3 else "V1"
    code = {"V5": "V6"}.get(code, code)
    if v3 and flag(a[48]):
        code = f"ASYNC_{code}"
    groups = 1 if large or (v3 and len(a) == 49) else int(a[49] if v3 else a[48])
    return derive(
        block=int(a[17 + at]), tile=ints(a, 18 + at, 3), k1=int(a[21 + at]), mma=ints(a, 23 + at, 2),
        repeat=ints(a, 25 + at, 2), vectors=(int(a[31 + at]), int(a[38 + at]), int(a[44 + at])), dtype=a[5],
        code=code, double=v3 and a[45] == "v4", scheduler=a[44] if v3 else "Intrawave", spec=a[14],
        groups=groups, split_image=large,
    )  # fmt: skip


def backward_weight(name, a):
    v3, two, with_d = name.endswith("V3"), "TwoStage" in name, "MultipleD" in name
    if with_d:
        a = [*a[:4], *a[5:9], *a[10:]]
    k1 = int(a[16])
    version, scheduler = (a[40], a[39]) if v3 or two else ("v1", "Intrawave")
    code = {"V5": "V6"}.get(version.upper(), version.upper())
    if v3 and flag(a[43]):
        code = f"ASYNC_{code}"
    tile = (int(a[13]), int(a[14]), int(a[15]) * (1 if v3 or two else k1))
    vectors = (int(a[25]), int(a[32]), int(a[38]))
    if irregular(vectors) or tile[0] > WAVE * vectors[0] or tile[1] > WAVE * vectors[1]:
        return None
    return derive(
        block=int(a[12]), tile=tile, k1=k1, mma=ints(a, 17, 2), repeat=ints(a, 19, 2), vectors=vectors,
        dtype=a[4], code=code, double=version == "v4", scheduler=scheduler, spec=a[11],
        groups=int(a[44]) if v3 else int(a[41]) if two else 1, two_stage=two or with_d,
        split_image=len(a) == 46 and v3 and flag(a[45]),
    )  # fmt: skip


def explicit(line, dtype):
    inside = line[line.index(">", line.index("<", line.index("<") + 1)) + 1 :]
    values = [part.split(":")[1].strip() for part in inside[: inside.index(">")].split(",")]
    numbers = [[int(n) for n in value.split("x")] for value in values[:5]]
    vectors = tuple(int(n.strip("Seq()")) for n in values[5].split("x"))
    tile = tuple(numbers[1])
    if irregular(vectors) or tile[0] > WAVE * vectors[0] or tile[1] > WAVE * vectors[1]:
        return None
    version = values[7]
    return derive(
        block=numbers[0][0], tile=tile, k1=min(numbers[3]), mma=numbers[2], repeat=numbers[4],
        vectors=vectors, dtype=dtype, code={"V5": "V6"}.get(version.upper(), version.upper()),
        double=version == "v4", scheduler=values[6], spec="Filter1x1Stride1Pad0", explicit_gemm=True,
        two_stage=dtype != "fp32" and vectors[2] % 2 == 1,
    )  # fmt: skip


def backward_data(a):
    vectors = (int(a[31]), int(a[38]), int(a[44]))
    tile, mma, repeat = ints(a, 18, 3), ints(a, 23, 2), ints(a, 25, 2)
    if irregular(vectors) or tile[2] > WAVE * vectors[0] or tile[1] > WAVE * vectors[1]:
        return None
    record = derive(
        block=int(a[17]), tile=tile, k1=math.lcm(int(a[21]), int(a[22])), mma=mma, repeat=repeat,
        vectors=vectors, dtype=a[5], code="V1", double=False,
        scheduler={"Default": "Intrawave"}.get(a[46], a[46]), spec=a[13],
    )  # fmt: skip
    threads = WAVE * record["warp_m"] * record["warp_n"] * record["warp_k"]
    if vectors[0] > tile[0] * tile[2] // threads or vectors[1] > tile[1] * tile[2] // threads:
        return None
    return record


def short(name, a, dtype):
    if "Fwd" not in name:
        return None
    v3, direct = "V3" in name, "DirectLoad" in name
    version = a[15].split(":")[1].strip() if v3 else "v1"
    code = {"V5": "V6"}.get(version.upper(), version.upper())
    record = derive(
        block=int(a[0]), tile=ints(a, 1, 3), k1=0, mma=ints(a, 5, 2), repeat=ints(a, 7, 2),
        vectors=ints(a, 9, 3), dtype=dtype, code=f"ASYNC_{code}" if direct else code, double=version == "v4",
        scheduler=a[14].split(":")[1].strip() if v3 else "Intrawave", spec=a[4],
        groups=int(a[14]) if len(a) == 15 else 1, split_image="Large" in name,
    )  # fmt: skip
    wide = a[5] == "32"
    least = (4 if wide and not v3 else 8) if dtype == "fp32" else KM[dtype][not wide]
    return record | {"warp_tile_k": min(least, record["tile_k"])}


def ints(arguments, start, count):
    return tuple(int(text) for text in arguments[start : start + count])


def irregular(vectors):
    return any(width != 1 and width % 2 for width in vectors)


def derive(
    *, block, tile, k1, mma, repeat, vectors, dtype, code, double, scheduler, spec, groups=1, two_stage=False,
    explicit_gemm=False, split_image=False,
):  # fmt: skip
    warp_m, warp_n = tile[0] // (mma[0] * repeat[0]), tile[1] // (mma[1] * repeat[1])
    if dtype in BYTES:
        least, k1 = (16, 32)[mma[0] != 32], 0
    else:
        least = KM[dtype][mma[0] != 32]
    return {
        **dict(zip(("tile_m", "tile_n", "tile_k"), tile, strict=True)),
        **{"warp_m": warp_m, "warp_n": warp_n, "warp_k": block // (WAVE * warp_m * warp_n)},
        **{"warp_tile_m": mma[0], "warp_tile_n": mma[1], "warp_tile_k": min(max(k1, least), tile[2])},
        **dict(zip(("vector_size_a", "vector_size_b", "vector_size_c"), vectors, strict=True)),
        "pipeline": CODES[code],
        "scheduler": scheduler.lower(),
        "double_smem_buffer": double,
        "num_groups_to_merge": groups,
        "num_wave_groups": 1,
        "specialization": SPECS[spec],
        "two_stage": two_stage,
        "explicit_gemm": explicit_gemm,
        "split_image": split_image,
        "streamk_enabled": False,
        "streamk_reduction_strategy": None,
        "streamk_persistent": False,
    }

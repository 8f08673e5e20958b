"""From headers and archive to lines."""

import random

import pytest

from ckprof_converters.library_lists import ListKey
from plugins.extract.tests import binaries
from plugins.extract.tests.conftest import KEY, MAIN_LINES, MERGED_LINES, extract, members, run, write_archive
from plugins.extract.tests.tree import IMPL, MAIN, MAIN_ALIAS, MERGED, alias, element, line, parameters


def lines(extraction):
    assert not extraction.failures, extraction.failures
    (found,) = extraction.lists
    return list(found.file("profiler").texts)


def failure(extraction):
    assert not extraction.lists
    return str(extraction.failures[KEY])


def test_headers_alone_give_the_lines_of_the_recipes(tree):
    found = run(tree.write())
    assert lines(found) == MAIN_LINES + MERGED_LINES
    assert {status for _, status, _ in found.lists[0].functions} == {"recipe"}


def test_the_archive_gives_the_same_lines_in_the_order_of_the_headers(tree):
    tree.write()
    shuffled = list(MAIN_LINES)
    random.Random(4).shuffle(shuffled)
    root = write_archive(tree, members(shuffled, MERGED_LINES))
    for _ in range(2):  # the second run takes what the first one kept
        found = run(root)
        assert lines(found) == MAIN_LINES + MERGED_LINES
        assert {status for _, status, _ in found.lists[0].functions} == {"compiled"}


def test_uses_that_no_recipe_knows_are_found_by_the_archive(tree):
    tree.write()
    odd = [
        line(block, tile, "Filter3x3", vector=vector) for block, tile, vector in ((256, 128, 8), (128, 64, 4))
    ]
    found = run(write_archive(tree, members(odd, MERGED_LINES)))
    assert lines(found) == odd + MERGED_LINES


def test_a_function_without_recipe_needs_the_archive(tree):
    tree.factory("is_same_v<InDataType, half_t>", "add_device_grouped_conv2d_fwd_xdl_new_f16_instances")
    tree.write()
    assert "no recipe says which tuples it uses" in failure(run(tree.root))
    name = "add_device_grouped_conv2d_fwd_xdl_new_f16_instances"
    objects = {
        "new.o": binaries.elf((binaries.function(name),), tables=tuple(map(binaries.table, MAIN_LINES)))
    }
    assert lines(run(write_archive(tree, objects))) == MAIN_LINES


def test_a_missing_table_is_an_error_that_names_the_function(tree):
    tree.write()
    message = failure(run(write_archive(tree, members(MAIN_LINES[1:], MERGED_LINES))))
    assert MAIN in message
    assert "1 of 7 compiled instances are in no tuple" in message


def test_an_added_table_is_an_error_that_names_the_function(tree):
    tree.write()
    extra = line(512, 256, "Default")
    message = failure(run(write_archive(tree, members([*MAIN_LINES, extra], MERGED_LINES))))
    assert MAIN in message
    assert "1 of 9" in message
    assert ", 512, 256, 256," in message


def test_shards_are_followed_and_a_missing_one_is_an_error(tree):
    tree.write()
    objects = members([], MERGED_LINES)
    shards = [binaries.function(f"{MAIN}_shard", shard=(2, index)) for index in range(2)]
    objects["device_grouped_conv2d_fwd_xdl_nhwgc_gkyxc_nhwgk_f16_instance.cpp.o"] = binaries.elf(
        (binaries.function(MAIN),), needed=tuple(shards)
    )
    for index, name in enumerate(shards):
        part = MAIN_LINES[index::2]
        objects[f"part_{index}.o"] = binaries.elf((name,), tables=tuple(map(binaries.table, part)))
    assert lines(run(write_archive(tree, objects))) == MAIN_LINES + MERGED_LINES
    del objects["part_1.o"]
    message = failure(run(write_archive(tree, objects)))
    assert f"{MAIN}: shard 1 of 2 is missing" in message


def test_a_function_that_is_compiled_empty_is_counted(tree):
    tree.write()
    found = run(write_archive(tree, members(MAIN_LINES, [])))
    assert lines(found) == MAIN_LINES
    assert dict(found.lists[0].extracted(()).skipped) == {"empty": 1}


def test_a_function_that_is_not_compiled_is_an_error(tree):
    tree.write()
    objects = members(MAIN_LINES, MERGED_LINES)
    del objects["merged.o"]
    message = failure(run(write_archive(tree, objects)))
    assert MERGED in message
    assert "headers and archive must be of one release" in message


def test_order_and_sets(tree):
    tree.factory("is_same_v<InDataType, half_t>", MERGED, MAIN)
    tree.write()
    (by_source,) = run(tree.root).lists
    (by_factory,) = run(tree.root, factory_order=True).lists
    assert list(by_source.file("profiler").texts) == MAIN_LINES + MERGED_LINES
    assert list(by_factory.file("profiler").texts) == MERGED_LINES + MAIN_LINES
    assert by_source.file("tests", 3).texts == by_source.file("profiler").texts[2::3]
    assert by_source.file("typestring").texts[0] == (
        "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle"
        "<256, 128, 128, 32, Default, 32, 32, 2, 2, 8, 8, 8, 1, 1, 1>"
    )
    assert by_source.extracted(()).counts["merged"] == 2
    assert by_source.extracted(()).counts["instances"] == 10


def test_the_shipped_selection_leaves_out_what_its_data_says(tree):
    direct = "add_device_grouped_conv2d_fwd_xdl_nhwgc_gkyxc_nhwgk_f16_direct_load_instances"
    tree.factory("is_same_v<InDataType, half_t>", MAIN, direct)
    tree.write()
    found = run(tree.root, shipped_selection=True)
    assert lines(found) == MAIN_LINES
    assert dict(found.lists[0].extracted(()).skipped) == {"left-out": 1}


def test_what_is_commented_out_or_switched_off_is_no_instance(tree):
    tree.tuples(
        alias(
            MAIN_ALIAS,
            element(256, 128),
            f"#if 0 // not now\n{element(999, 1)},\n#endif\n/* {element(998, 1)}, */\n"
            + element(128, 64, vector=4)
            + "\n#ifdef CK_NEVER \\\n  // continued\n , nonsense(\n#endif\n",
        )
    )
    assert lines(run(tree.write()))[:8] == MAIN_LINES


def test_names_hold_in_their_own_header_alone(tree):
    main = f"using F8 = ck::half_t;\n{alias(MAIN_ALIAS, element(256, 128).replace('F16', 'F8'))}"
    tree.tuples(main)
    merged = next(path for path in tree.texts if "merged_groups" in path)
    tree.texts[merged] = tree.texts[merged].replace("using F16", "using F8 = float;\nusing F16")
    assert lines(run(tree.write()))[:4] == MAIN_LINES[::2]


def test_defaults_are_filled_in_and_written_ones_kept(tree):
    tree.tuples(alias(MAIN_ALIAS, element(256, 128, tail=", F16, F32, LoopScheduler::Interwave")))
    found = lines(run(tree.write()))[0]
    assert found.endswith(",8,fp16,fp32,Interwave,1>")


def test_an_unknown_class_is_named(tree):
    tree.tuples(alias(MAIN_ALIAS, element(256, 128, name="DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V9")))
    message = failure(run(tree.write()))
    assert "unknown device class DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V9" in message
    assert MAIN_ALIAS in message


def test_a_parameter_that_no_string_prints_is_named(tree):
    path = f"{IMPL}/device_grouped_conv_fwd_multiple_abd_xdl_cshuffle.hpp"
    tree.texts[path] = tree.texts[path].replace("index_t AK1", "index_t AKPack")
    assert "parameters that no instance string is known for: AKPack" in failure(run(tree.write()))


def test_too_few_arguments_are_an_error(tree):
    tree.tuples(
        alias(MAIN_ALIAS, element(256, 128).replace("32, 32, 2, 2, S", "32, 2, 2, S").replace(", 8>", ">"))
    )
    assert "has 45 to 49 parameters, got 43 arguments" in failure(run(tree.write()))


def test_an_unknown_word_in_the_factory_is_an_error(tree):
    tree.factory("is_half_v<InDataType>", MAIN)
    assert "cannot evaluate this condition of the factory at is_half_v" in failure(run(tree.write()))


def test_an_unknown_macro_in_the_factory_is_an_error(tree):
    path = next(path for path in tree.texts if path.endswith("grouped_convolution_forward.hpp"))
    tree.texts[path] = tree.texts[path].replace("#ifdef CK_ENABLE_FP16", "#if CK_HAS(FP16)")
    assert "cannot evaluate #if CK_HAS(FP16)" in failure(run(tree.write()))


def test_a_library_without_the_instructions_is_an_error(tree):
    tree.texts["ck/config.h"] = tree.texts["ck/config.h"].replace("#define CK_USE_XDL ON", "")
    assert "built without xdl instances: it does not define CK_USE_XDL" in failure(run(tree.write()))


def test_a_list_that_the_library_lacks_is_absent(tree):
    from ckprof_plugins.extract.opening import locate, open_library

    tree.write()
    key = ListKey("fwd", "ndhwgc", "fp16")
    found = extract(open_library(locate(tree.root, {}))[0], [key, KEY])
    assert found.absent == [key]
    assert [item.key for item in found.lists] == [KEY]


def test_an_early_release(tree):
    """One compute type in class and factory, and no merged groups."""
    path = f"{IMPL}/device_grouped_conv_fwd_multiple_abd_xdl_cshuffle.hpp"
    kept = [item for item in parameters() if "ComputeDataType" not in item and "NumGroups" not in item]
    kept.insert(-1, "typename ComputeDataType = decltype(UnpackDataType<ADataType>())")
    tree.texts[path] = (
        "template <" + ", ".join(kept) + "> struct DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle {};"
    )
    tree.factory("is_same_v<InDataType, half_t> && is_same_v<ComputeType, ck::half_t>", MAIN)
    assert lines(run(tree.write())) == MAIN_LINES


def test_the_class_of_an_early_release_is_refused_by_name(tree):
    name = "DeviceGroupedConvFwdMultipleD_Xdl_CShuffle"
    tree.tuples(alias(MAIN_ALIAS, element(256, 128, name=name)))
    assert f"unknown device class {name};" in failure(run(tree.write()))


@pytest.mark.parametrize("specialization", [5, 9])
def test_an_enumerator_beyond_the_known_ones_is_an_error(tree, specialization):
    tree.write()
    objects = members(MAIN_LINES, MERGED_LINES)
    bad = binaries.table(MAIN_LINES[0]).replace("SpecializationE0E", f"SpecializationE{specialization}E", 1)
    objects["merged.o"] = binaries.elf((binaries.function(MERGED),), tables=(bad,))
    message = failure(run(write_archive(tree, objects)))
    assert f"value {specialization} of ConvolutionForwardSpecialization has no known name" in message
    assert MERGED in message

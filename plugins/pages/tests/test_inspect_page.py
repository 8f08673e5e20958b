"""``ckprof inspect --page``: what is wrong is said before kernels are built."""

PROBLEM = "conv -n 1 -c 64 -H 14 -W 14 -k 64 -y 1 -x 1 -F 1"


def test_pages_are_about_kernels_on_a_problem(ckprof, tmp_path):
    asked = ("inspect", "fwd", "--rule-set", "tiny", "--arch", "gfx942", "--target", "hip")
    page = tmp_path / "page.html"
    called = ckprof(*asked, "--page", page)
    assert (called.code, "give --problem" in called.err) == (2, True)
    called = ckprof(*asked, "--problem", PROBLEM, "--gpu", "MI300X")
    assert (called.code, "give --page" in called.err) == (2, True)
    called = ckprof(*asked, "--problem", PROBLEM, "--instance", "0", "--page", tmp_path / "page.doc")
    assert (called.code, ".html, .json, .md, .txt" in called.err) == (2, True)
    called = ckprof(*asked, "--problem", PROBLEM, "--page", f"{tmp_path}/none/")
    assert (called.code, "is not a folder" in called.err) == (3, True)
    called = ckprof(*asked, "--problem", PROBLEM, "--page", page)
    assert (called.code, "a page shows one kernel" in called.err) == (2, True)
    assert not page.exists()

"""What is installed is told from the names of folders, and of what has no fixed version by more."""

from __future__ import annotations

from pathlib import Path

from bohrbug.pytest_plugin.distributions import distributions_in


def _install(folder: Path, name: str, record: str, *, from_index: bool) -> None:
    info = folder / f"{name}.dist-info"
    info.mkdir(exist_ok=True)
    info.joinpath("RECORD").write_text(record)
    if not from_index:
        info.joinpath("direct_url.json").write_text("{}")


def test_another_version_is_another_word(tmp_path: Path) -> None:
    _install(tmp_path, "shop-1.0", "shop.py,sha256=1,1", from_index=True)
    tmp_path.joinpath("old-2.egg-info").write_text("")
    before = distributions_in([str(tmp_path), str(tmp_path / "none")])
    assert before == ["old-2.egg-info", "shop-1.0.dist-info"]
    # What an index has under a version stays as it is.
    _install(tmp_path, "shop-1.0", "shop.py,sha256=2,1", from_index=True)
    assert distributions_in([str(tmp_path)]) == before
    _install(tmp_path, "shop-1.1", "shop.py,sha256=2,1", from_index=True)
    assert distributions_in([str(tmp_path)]) != before


def test_what_was_installed_from_a_folder_may_differ_under_the_same_version(tmp_path: Path) -> None:
    _install(tmp_path, "shop-1.0", "shop.py,sha256=1,1", from_index=False)
    before = distributions_in([str(tmp_path)])
    assert distributions_in([str(tmp_path)]) == before
    _install(tmp_path, "shop-1.0", "shop.py,sha256=2,1", from_index=False)
    assert distributions_in([str(tmp_path)]) != before


def test_a_file_of_modules_counts_with_its_contents(tmp_path: Path) -> None:
    archive = tmp_path / "shop.zip"
    archive.write_bytes(b"1")
    before = distributions_in([str(archive)])
    archive.write_bytes(b"2")
    assert distributions_in([str(archive)]) != before

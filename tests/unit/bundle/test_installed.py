from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.bundle import trace

Servable = Callable[..., type]
Install = Callable[..., Path]


def test_an_installed_distribution_becomes_a_pin(servable: Servable, install: Install) -> None:
    install("Some.Lib", "1.2.3", {"somelib/__init__.py": "import os", "somelib/part.py": "import not_there"})
    traced = trace(servable("def f():\n    import somelib.part\n    from somelib import part"))
    assert (list(traced.files), traced.pins, traced.notes) == (["app.py"], ["some-lib==1.2.3"], [])


def test_a_module_is_owned_by_who_recorded_it_not_by_its_name(servable: Servable, install: Install) -> None:
    install("lookalike", "1.0", {"other.py": ""})
    install("real-owner", "2.0", {"lookalike/__init__.py": ""})
    assert trace(servable("import lookalike")).pins == ["real-owner==2.0"]


def test_parts_of_a_namespace_have_their_own_owners(servable: Servable, install: Install) -> None:
    install("cloud-a", "1", {"cloudns/a/__init__.py": ""})
    install("cloud-b", "2", {"cloudns/b.py": ""})
    traced = trace(servable("import cloudns.a\ndef f():\n    from cloudns import b"))
    assert traced.pins == ["cloud-a==1", "cloud-b==2"]


def test_submodules_made_at_run_time_are_not_missing(servable: Servable, install: Install) -> None:
    install("sixish", "1", {"sixish.py": ""})
    assert trace(servable("def f():\n    from sixish.moves import x")).pins == ["sixish==1"]


def test_an_optional_distribution_is_pinned_when_it_is_there(servable: Servable, install: Install) -> None:
    install("speedup", "3", {"speedup.py": ""})
    assert trace(servable("try:\n    import speedup\nexcept ImportError: pass")).pins == ["speedup==3"]


def test_a_local_version_is_pinned_without_its_label_and_explained(
    servable: Servable, install: Install
) -> None:
    install("cudalib", "2.0.1+cu118", {"cudalib.py": ""})
    traced = trace(servable("import cudalib"))
    assert traced.pins == ["cudalib==2.0.1"]
    assert traced.notes == [
        "cudalib 2.0.1+cu118 is a local build here; 'cudalib==2.0.1' accepts any build of it."
    ]


def test_what_no_index_has_is_explained(servable: Servable, install: Install) -> None:
    install(
        "homemade",
        "0.1",
        {"homemade.py": ""},
        direct_url='{"url": "https://user:secret@host/x", "vcs_info": {}}',
    )
    traced = trace(servable("import homemade"))
    assert traced.pins == ["homemade==0.1"]
    assert traced.notes == [
        "homemade was not installed from an index; the workers must be able to get 'homemade==0.1'."
    ]


def test_files_put_into_site_packages_by_hand_ship_as_source(servable: Servable, install: Install) -> None:
    site = install("unrelated", "1", {"unrelated.py": ""})
    (site / "by_hand.py").write_text("import unrelated")
    traced = trace(servable("import by_hand"))
    assert (traced.files["by_hand.py"], traced.pins) == (site / "by_hand.py", ["unrelated==1"])


def test_a_package_of_the_operating_system_has_no_record(servable: Servable, install: Install) -> None:
    site = install("python-oslib", "5.1", {"oslib/__init__.py": ""})
    (site / "python_oslib-5.1.dist-info" / "RECORD").unlink()
    (site / "python_oslib-5.1.dist-info" / "top_level.txt").write_text("oslib\n")
    assert trace(servable("import oslib")).pins == ["python-oslib==5.1"]


def test_an_editable_install_ships_as_source(
    servable: Servable, install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("pack", "1", {}, direct_url='{"url": "file:///x", "dir_info": {"editable": true}}')
    (tmp_path / "checkout" / "pack").mkdir(parents=True)
    (tmp_path / "checkout" / "pack" / "__init__.py").write_text("class Served: ...")
    monkeypatch.syspath_prepend(str(tmp_path / "checkout"))
    traced = trace(servable("import pack"))
    assert (list(traced.files), traced.pins) == (["app.py", "pack/__init__.py"], [])
    assert traced.notes == []  # another project of that name


def test_an_editable_install_is_explained(
    servable: Servable, install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path / "my checkout" / "src"
    checkout.mkdir(parents=True)
    origin = {"url": checkout.parent.as_uri(), "dir_info": {"editable": True}}
    site = install("Some.Pack", "1", {}, direct_url=json.dumps(origin))
    install("by-list", "1", {}, direct_url=json.dumps(origin))
    (site / "by_list-1.dist-info" / "top_level.txt").write_text("listed\n")
    for name in ("some_pack", "listed", "beside"):
        (checkout / f"{name}.py").write_text("")
    monkeypatch.syspath_prepend(str(checkout))
    assert trace(servable("import some_pack, listed, beside")).notes == [
        "by-list is an editable install here: its source is in the bundle as it is now, "
        "and no pin asks for it.",
        "some-pack is an editable install here: its source is in the bundle as it is now, "
        "and no pin asks for it.",
    ]


def test_an_editable_install_through_an_import_hook_ships_as_source(
    servable: Servable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "hooked" / "pack"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("from . import part")
    (folder / "part.py").write_text("")

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> object:
            init = folder / "__init__.py"
            locations = [str(folder)]
            if name != "hookpack":
                return None
            return importlib.util.spec_from_file_location(name, init, submodule_search_locations=locations)

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    traced = trace(servable("def f():\n    import hookpack"))
    assert list(traced.files) == ["app.py", "hookpack/__init__.py", "hookpack/part.py"]


def test_an_installed_servable_ships_as_a_pin_alone(install: Install, root: Path) -> None:
    install("model-pack", "0.3", {"modelpack/__init__.py": "", "modelpack/model.py": "class Served: ..."})
    traced = trace(importlib.import_module("modelpack.model").Served)
    assert (traced.files, traced.pins, traced.class_path) == (
        {},
        ["model-pack==0.3"],
        "modelpack.model:Served",
    )


def test_the_environment_names_more_that_workers_have(
    servable: Servable, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("house-lib", "1", {"houselib.py": ""})
    install("other-lib", "1", {"otherlib.py": ""})
    install("nvidia-cublas-cu12", "12", {"nvcublas.py": ""})
    monkeypatch.setenv("ROOST_WORKER_PROVIDES", "House_Lib, ,x")
    assert trace(servable("import houselib, otherlib, nvcublas")).pins == ["other-lib==1"]

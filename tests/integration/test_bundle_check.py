"""The save-time import check, with real interpreters and real scripts."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from roost.bundle import Bundle, check, pack, trace
from roost.errors import CorruptArtifact, InvalidServable

SERVE_APP = """
import roost.serve

async def app(scope, receive, send): ...

@roost.serve.ingress(app)
class App: ...
"""

SAVE = """
import json
from roost.bundle import check, pack, trace
print(check(pack(trace({cls}))).model_dump_json())
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "src"
    folder.mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def bundle(root: Path) -> Callable[..., Bundle]:
    """Writes files below `root`, imports `app` and packs its class `App`."""

    def _bundle(source: str = SERVE_APP, include: tuple[str, ...] = (), **files: str) -> Bundle:
        for name, text in {
            "app.py": source,
            **{key.replace("__", "/"): text for key, text in files.items()},
        }.items():
            path = root / (name if "." in name else f"{name}.py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        importlib.invalidate_caches()
        return pack(trace(importlib.import_module("app").App, include))

    return _bundle


def run_script(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(root.parent / "tmp")}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_a_serve_app_is_recognised(bundle: Callable[..., Bundle], tmp_path: Path) -> None:
    packed = bundle()
    ref = check(packed)
    assert (ref.class_path, ref.kind, ref.capability, ref.pins) == ("app:App", "serve_app", None, [])
    assert ref.bundle_fingerprint == packed.fingerprint
    assert list((tmp_path / "tmp").iterdir()) == []


def test_an_inference_model_is_recognised_with_its_capability(bundle: Callable[..., Bundle]) -> None:
    ref = check(bundle("class App:\n    __roost_capability__ = 'detection'\n"))
    assert (ref.kind, ref.capability) == ("inference_model", "detection")


ENDPOINTS = """
import roost.serve

class App:
    @roost.serve.endpoint
    def greet(self, name: str) -> {result}: ...
"""


def test_a_class_with_endpoints_is_recognised(bundle: Callable[..., Bundle]) -> None:
    ref = check(bundle(ENDPOINTS.format(result="str")))
    assert (ref.kind, ref.capability) == ("endpoint", None)


def test_an_endpoint_that_cannot_be_one_is_refused(bundle: Callable[..., Bundle]) -> None:
    with pytest.raises(
        InvalidServable, match=r"^The endpoint 'App\.greet' returns the type memoryview, which"
    ):
        check(bundle(ENDPOINTS.format(result="memoryview")))


def test_a_class_without_a_mark_is_refused(bundle: Callable[..., Bundle]) -> None:
    with pytest.raises(InvalidServable, match=r"^app\.App is neither a serve-app nor an inference model\."):
        check(bundle("class App: ..."))


def test_packages_data_and_dynamic_modules_are_found(bundle: Callable[..., Bundle]) -> None:
    source = SERVE_APP + textwrap.dedent("""
        import importlib
        from pathlib import Path
        from pkg.sub import value
        name = "pkg." + "dynamic"
        assert importlib.import_module(name).x == 1
        assert (Path(__file__).parent / "data" / "labels.txt").read_text() == "cat"
    """)
    files = {"pkg__sub": "from . import base\nvalue = base.x", "pkg__base": "x = 3", "pkg____init__": ""}
    files |= {"pkg__dynamic": "x = 1", "data__labels.txt": "cat"}
    packed = bundle(source, ("data/labels.txt", "pkg.dynamic"), **files)
    assert check(packed).kind == "serve_app"


def test_a_dynamic_module_that_was_left_out_is_named(bundle: Callable[..., Bundle], tmp_path: Path) -> None:
    source = SERVE_APP + "import importlib\nimportlib.import_module('left_' + 'out')\n"
    with pytest.raises(InvalidServable) as caught:
        check(bundle(source, left_out=""))
    assert caught.value.message == (
        "'app:App' cannot be imported from its bundle alone: "
        "ModuleNotFoundError: No module named 'left_out' (app.py:9)."
    )
    assert caught.value.hint == (
        "If 'left_out' is imported dynamically, add include=('left_out',); else install it."
    )
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_data_file_that_was_left_out_is_named(bundle: Callable[..., Bundle]) -> None:
    source = SERVE_APP + "from pathlib import Path\n(Path(__file__).parent / 'data' / 'l.txt').read_text()\n"
    with pytest.raises(InvalidServable, match=r"FileNotFoundError: .*'data/l\.txt' \(app\.py:9\)") as caught:
        check(bundle(source, **{"data__l.txt": "cat"}))
    assert (
        caught.value.hint
        == "Add the data file by its path below the servable's root: include=('data/l.txt',)."
    )


def test_neither_the_working_directory_nor_the_python_path_help(
    bundle: Callable[..., Bundle], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = bundle(SERVE_APP + "__import__('near' + 'by')\n", nearby="")
    monkeypatch.chdir(tmp_path / "src")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "src"))
    with pytest.raises(InvalidServable, match=r"No module named 'nearby'"):
        check(packed)


def test_the_interpreter_sees_no_more_than_it_should(bundle: Callable[..., Bundle]) -> None:
    source = SERVE_APP + textwrap.dedent("""
        import os, sys
        if "ROOST_BUNDLE_CHECK" in os.environ:
            assert os.path.basename(os.getcwd()) == "elsewhere"
            assert os.listdir() == []
            # An editable Roost lies in src/, whose other modules the workers lack.
            assert not [entry for entry in sys.path if entry.endswith("/src")], sys.path
            assert not {"pydantic", "ray", "numpy", "fastapi", "site"} & set(sys.modules)
    """)
    assert check(bundle(source)).kind == "serve_app"


def test_installed_libraries_are_seen(bundle: Callable[..., Bundle]) -> None:
    source = (
        "from fastapi import FastAPI\nimport roost.serve\n@roost.serve.ingress(FastAPI())\nclass App: ...\n"
    )
    assert check(bundle(source)).pins == []


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise KeyError('x')", r"alone: KeyError: 'x' \(app\.py:9\)\."),
        ("sys.exit(3)", r"alone: SystemExit: 3 \(app\.py:9\)\."),
        (
            "print('bye', flush=True); os._exit(4)",
            r"ended the interpreter \(exit code 4\).* Its last words: bye",
        ),
        ("os.kill(os.getpid(), 11)", r"ended the interpreter \(exit code -11\)"),
    ],
)
def test_what_an_import_does_wrong_is_told(bundle: Callable[..., Bundle], code: str, message: str) -> None:
    source = f"{SERVE_APP}import os, sys\nif os.environ.get('ROOST_BUNDLE_CHECK'): {code}\n"
    with pytest.raises(InvalidServable, match=message):
        check(bundle(source))


def test_what_an_import_prints_does_no_harm(
    bundle: Callable[..., Bundle], capfd: pytest.CaptureFixture[str]
) -> None:
    assert check(bundle(SERVE_APP + 'print(\'{"kind": "x"}\')\n')).kind == "serve_app"
    assert capfd.readouterr().err == ""


def test_an_import_that_hangs_is_ended(bundle: Callable[..., Bundle], tmp_path: Path) -> None:
    source = f"{SERVE_APP}import os, time\nif os.environ.get('ROOST_BUNDLE_CHECK'): time.sleep(600)\n"
    before = psutil.Process().children()
    with pytest.raises(InvalidServable, match=r"'app:App' took over 1 s to import from its bundle"):
        check(bundle(source), timeout_s=1)
    assert list((tmp_path / "tmp").iterdir()) == []
    assert psutil.Process().children() == before


def test_classes_wrapped_by_ray_are_refused_pointing_at_ours(root: Path) -> None:
    (root / "wrapped.py").write_text(
        textwrap.dedent("""
        from fastapi import FastAPI
        from ray import serve
        from roost.bundle import trace
        from roost.errors import InvalidServable

        @serve.ingress(FastAPI())
        class Fronted: ...

        @serve.deployment
        class Deployed: ...

        for wrapped in (Fronted, Deployed):
            try:
                trace(wrapped)
            except InvalidServable as error:
                print(error)
        """)
    )
    done = run_script(root, "wrapped.py")
    assert done.returncode == 0, done.stderr
    fronted, deployed = done.stdout.splitlines()
    for line, name in ((fronted, "Fronted"), (deployed, "Deployed")):
        assert name in line
        assert line.endswith(
            "is already wrapped by ray.serve; Roost does that itself in the replica. "
            "Use @roost.serve.ingress(app) on the plain class instead."
        )


def test_a_damaged_bundle_is_not_run(bundle: Callable[..., Bundle]) -> None:
    packed = bundle()
    with pytest.raises(CorruptArtifact):
        check(Bundle("0" * 64, packed.data, packed.class_path, packed.pins, packed.files))


def test_a_guarded_script_is_served_by_its_stem(root: Path) -> None:
    guarded = textwrap.indent(SAVE.format(cls="App"), "    ")
    (root / "my-demo.py").write_text(f"{SERVE_APP}\nif __name__ == '__main__':\n{guarded}")
    done = run_script(root, "my-demo.py")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["class_path"] == "my-demo:App"


def test_a_module_run_with_m_keeps_its_package(root: Path) -> None:
    guarded = textwrap.indent(SAVE.format(cls="App"), "    ")
    (root / "kit").mkdir()
    (root / "kit" / "__init__.py").write_text("")
    (root / "kit" / "near.py").write_text("")
    source = f"from . import near\n{SERVE_APP}\nif __name__ == '__main__':\n{guarded}"
    (root / "kit" / "run.py").write_text(source)
    done = run_script(root, "-m", "kit.run")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["class_path"] == "kit.run:App"


def test_an_unguarded_script_is_refused_with_its_line(root: Path) -> None:
    (root / "demo.py").write_text(SERVE_APP + SAVE.format(cls="App"))
    done = run_script(root, "demo.py")
    assert done.returncode == 1
    assert "line 11 of " in done.stderr
    assert 'Put what the script does under: if __name__ == "__main__":' in done.stderr


def test_a_module_that_saves_itself_on_import_does_not_go_round_in_circles(root: Path) -> None:
    (root / "loop.py").write_text(SERVE_APP + SAVE.format(cls="App"))
    done = run_script(root, "-c", "import loop")
    assert done.returncode == 1
    assert "importing the module of 'App' saves a model, which would never end" in done.stderr


def test_ctrl_c_ends_the_check_and_leaves_nothing(root: Path) -> None:
    (root / "slow.py").write_text(
        f"{SERVE_APP}import os, pathlib, time\nif os.environ.get('ROOST_BUNDLE_CHECK'):\n"
        f"    pathlib.Path({str(root / 'started')!r}).write_text(str(os.getpid()))\n    time.sleep(600)\n"
    )
    code = "from slow import App\n" + SAVE.format(cls="App")
    environment = {**os.environ, "TMPDIR": str(root.parent / "tmp")}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=root,
        env=environment,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    started = root / "started"
    deadline = time.monotonic() + 60
    while not (started.exists() and started.read_text()) and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=10)
    assert b"KeyboardInterrupt" in said
    assert not psutil.pid_exists(int(started.read_text()))
    assert list((root.parent / "tmp").iterdir()) == []

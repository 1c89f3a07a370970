"""Classes typed into a notebook or a prompt."""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from roost.bundle import pack, trace
from roost.bundle.code_imports import code_imports
from roost.bundle.imports import Import
from roost.bundle.pickle_names import named_modules
from roost.bundle.unpickle import load_class, pickle_name
from roost.errors import InvalidServable

Write = Callable[[dict[str, str]], None]
Install = Callable[..., Path]
Type = Callable[..., type]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, root: Path) -> Type:
    """Runs `source` as cells of a notebook, in `root`, and returns its class `Model`."""
    monkeypatch.chdir(root)

    def run(source: str, cell: str = "/tmp/ipykernel_1/2.py", **module: object) -> type:
        main = ModuleType("__main__")
        vars(main).update(module)
        monkeypatch.setitem(sys.modules, "__main__", main)
        exec(compile(source, cell, "exec"), vars(main))
        cls = vars(main)["Model"]
        assert isinstance(cls, type)
        return cls

    return run


def loaded(cls: type, folder: Path) -> type:
    """The class as a worker gets it."""
    (folder / "bundle").mkdir(exist_ok=True)
    (folder / "bundle" / pickle_name()).write_bytes(trace(cls).made[pickle_name()])
    return load_class(f"__main__:{cls.__qualname__}", folder / "bundle")


SOURCE = """
import json
from collections import OrderedDict

FACTOR = 3
GREETINGS = {"de": "hallo"}

def double(x):
    return 2 * x

class Base:
    def base(self):
        return double(FACTOR)

class Model(Base):
    '''A model.'''
    def run(self, x):
        if x in {"de", "en", "fr"}:
            return GREETINGS.get(x)
        return json.dumps(OrderedDict(x=self.base()))
"""


def test_it_comes_back_with_the_values_it_uses(typed: Type, tmp_path: Path) -> None:
    model = loaded(typed(SOURCE), tmp_path)
    assert (model.__name__, model.__module__, model.__doc__) == ("Model", "__main__", "A model.")
    assert (model().run("de"), model().run("x")) == ("hallo", '{"x": 6}')


def test_the_bundle_says_what_it_is(typed: Type) -> None:
    traced = trace(typed(SOURCE))
    name = f"servable.cpython-3{sys.version_info.minor}.pkl"
    assert (traced.class_path, traced.files, list(traced.made), traced.pins) == (
        "__main__:Model",
        {},
        [name],
        [],
    )
    assert traced.reasons == {name: "the class '__main__:Model', by value"}
    assert traced.notes == [
        "__main__:Model was typed into a notebook or a prompt and ships pickled: "
        f"the workers must run Python 3.{sys.version_info.minor}, as here."
    ]
    assert pack(traced).files == [name]


def test_the_same_source_has_the_same_fingerprint(typed: Type) -> None:
    """Whatever the kernel calls its cells."""
    first = pack(trace(typed(SOURCE)))
    assert pack(trace(typed(SOURCE, cell="/home/ann/.cache/ipykernel_99/1.py"))) == first
    assert b"ipykernel" not in first.data
    assert pack(trace(typed(SOURCE.replace("3", "4")))).fingerprint != first.fingerprint


def test_own_modules_ship_as_source_and_installed_ones_as_pins(
    typed: Type, write: Write, install: Install
) -> None:
    install("some-lib", "1.5", {"somelib.py": "def call(): ...", "other_lib.py": ""})
    install("lazy-lib", "2", {"lazylib.py": ""})
    write(
        {
            "helpers/__init__.py": "",
            "helpers/maths.py": "from . import consts\ndef add(a, b): ...",
            "helpers/consts.py": "",
            "base.py": "class Root: ...",
            "late.py": "import later",
            "later.py": "",
            "unused.py": "",
        }
    )
    cls = typed(
        "import helpers.maths\nimport unused\nimport other_lib\nfrom somelib import call\n"
        "from base import Root\n"
        "class Model(Root):\n"
        "    def run(self):\n"
        "        import late\n"
        "        from lazylib import x\n"
        "        return helpers.maths.add(call(), 1)\n"
    )
    traced = trace(cls)
    assert list(traced.files) == [
        "base.py",
        "helpers/__init__.py",
        "helpers/consts.py",
        "helpers/maths.py",
        "late.py",
        "later.py",
    ]
    assert traced.pins == ["lazy-lib==2", "some-lib==1.5"]
    assert traced.reasons["base.py"] == "used by the class 'Model'"
    assert traced.reasons["later.py"] == "imported by late.py line 1"
    assert traced.pin_reasons == dict.fromkeys(traced.pins, "used by the class 'Model'")


def test_data_files_are_included_from_the_working_directory(typed: Type, write: Write) -> None:
    write({"data/labels.txt": "cat"})
    bundle = pack(trace(typed("class Model: ..."), include=("data",)))
    assert bundle.files == ["data/labels.txt", pickle_name()]


def test_an_included_file_of_the_pickles_name_is_refused(typed: Type, write: Write) -> None:
    write({pickle_name(): ""})
    with pytest.raises(InvalidServable, match=r"include 'servable\..*\.pkl' has the name under which"):
        trace(typed("class Model: ..."), include=(pickle_name(),))


def test_a_missing_module_is_named(typed: Type) -> None:
    with pytest.raises(
        InvalidServable, match=r"class 'Model' needs the module 'not_there', which is not found"
    ):
        trace(typed("class Model:\n    def run(self):\n        import not_there"))
    guarded = "try:\n            import not_there\n        except ImportError: ..."
    assert trace(typed(f"class Model:\n    def run(self):\n        {guarded}")).pins == []


@pytest.mark.parametrize(
    ("source", "culprit"),
    [
        (
            "import threading\nguard = threading.Lock()\n"
            "class Model:\n    def run(self):\n        return guard",
            r"its global 'guard' \(_thread\.lock\) cannot be pickled: TypeError: cannot pickle",
        ),
        (
            "import threading\nguard = threading.Lock()\ndef use():\n    return guard\n"
            "class Model:\n    def run(self):\n        return use()",
            r"its global 'guard' \(_thread\.lock\) cannot be pickled",
        ),
        (
            "import threading\nclass Model:\n    guard = threading.Lock()",
            r"its attribute 'guard' \(_thread\.lock\) cannot be pickled",
        ),
    ],
)
def test_what_cannot_be_pickled_is_named(typed: Type, source: str, culprit: str) -> None:
    with pytest.raises(InvalidServable, match=rf"^__main__\.Model was typed .* but {culprit}") as caught:
        trace(typed(source))
    assert caught.value.hint == (
        "Make such a value in the class's __init__, or move the class to a module file."
    )


def test_what_is_too_large_is_named(typed: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.bundle.by_value.MAX_TOTAL_BYTES", 1024**2)
    source = (
        "small = 'x'\ntable = bytes(1_500_000)\nclass Model:\n    def run(self):\n        return small, table"
    )
    with pytest.raises(InvalidServable) as caught:
        trace(typed(source))
    assert caught.value.message == (
        "__main__.Model was typed into a notebook or a prompt, so it would ship by value, but its pickle has "
        "2 MiB, over the 1 MiB of a bundle. Its global 'table' has 2 MiB."
    )
    assert caught.value.hint is not None


def test_a_class_typed_after_a_script_ran_is_typed_all_the_same(
    typed: Type, write: Write, root: Path
) -> None:
    """`python -i script.py`: `__main__` has a file, which does not hold the class."""
    write({"script.py": "class Other: ..."})
    cls = typed("class Model:\n    def run(self): ...", cell="<stdin>", __file__=str(root / "script.py"))
    assert trace(cls).class_path == "__main__:Model"


def test_another_python_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "servable.cpython-399.pkl").write_bytes(pickle.dumps(int))
    with pytest.raises(InvalidServable) as caught:
        load_class("__main__:Model", tmp_path)
    assert caught.value.message == (
        "'__main__:Model' was pickled by 'cpython-399', which this Python, "
        f"'cpython-3{sys.version_info.minor}', cannot load."
    )


def test_what_is_no_class_is_refused(tmp_path: Path) -> None:
    (tmp_path / pickle_name()).write_bytes(pickle.dumps(3))
    with pytest.raises(InvalidServable, match=r"'__main__:Model' is stored as 'int', not as a class"):
        load_class("__main__:Model", tmp_path)


def test_the_names_in_a_pickle_are_read_without_loading_it() -> None:
    class Boom:
        def __reduce__(self) -> tuple[object, ...]:
            return threading.Thread, (print, "nothing runs")

    data = pickle.dumps([Boom(), Boom(), pickle.PicklingError, Path("x"), ["pathlib"]], protocol=5)
    assert named_modules(data) == {"threading", "builtins", "_pickle", "pathlib"}


def test_imports_are_read_from_bytecode() -> None:
    source = """
def plain():
    import a.b
    from c import d, e
    from . import near

def guarded():
    try:
        import f
    except ImportError: ...
"""
    functions = [item for item in compile(source, "x", "exec").co_consts if isinstance(item, CodeType)]
    assert [code_imports(code) for code in functions] == [
        [Import("a.b", (), required=True, line=3), Import("c", ("d", "e"), required=True, line=4)],
        [Import("f", (), required=False, line=9)],
    ]

"""The doctor: what it reports, what it must not reveal, and that one failure does not hide the other parts."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import version
from pathlib import Path

import pytest

import maxsieve as ms
from maxsieve.common import machine, threads
from maxsieve.doctor import described, examination, examine
from maxsieve.doctor.cache_entries import KINDS
from maxsieve.doctor.plain_text import WORDS
from maxsieve.doctor.privacy import without_user
from maxsieve.text import list_models

PARTS = list(WORDS)
SECRETS = {
    "MAXSIEVE_API_KEY": "key-that-nobody-may-see",
    "MAXSIEVE_CORPORA": "/somewhere/secret-corpora",
    "HF_TOKEN": "hf-token-that-nobody-may-see",
}


def run(*arguments: str, code: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the doctor in a separate process, after some code."""
    words = ["-c", f"{code}\nfrom maxsieve.doctor.__main__ import main\nmain()"] if code else ["-m", "maxsieve.doctor"]
    return subprocess.run(
        [sys.executable, *words, *arguments],
        env={**os.environ, "COLUMNS": "200", **(env or {})},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_every_part_is_there_and_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAXSIEVE_ISA", raising=False)
    report = examine()
    assert list(report) == PARTS
    assert not [name for name, part in report.items() if "problem" in part]
    assert report["maxsieve"]["version"] == ms.__version__ == version("maxsieve")
    assert report["maxsieve"]["core"].startswith("_core")
    assert report["kernels"] == {"available": ms.isas(), "chosen": ms.isa(), "MAXSIEVE_ISA": None}
    assert report["threads"]["used"] == threads.thread_count(None)
    assert report["floating_point"] == {"rounding": "to nearest", "denormals": "kept"}
    assert report["models"] == {model.name: model.present for model in list_models()}
    assert report["packages"]["versions"]["numpy"] == version("numpy")
    assert json.loads(json.dumps(report)) == report


def test_features_agree_with_kernels() -> None:
    features = machine.cpu_features()
    if features is None:
        pytest.skip("this system does not say what its CPU has")
    needed = {"avx2": {"avx2", "fma", "f16c"}, "avx512vnni": {"avx512f", "avx512_vnni"}, "neon": {"asimd"}}
    for kernel in ms.isas():
        assert needed.get(kernel, set()) <= set(features)


def test_both_commands_say_the_same(tmp_path: Path) -> None:
    env = {"MAXSIEVE_CACHE": str(tmp_path)}
    command = [sys.executable, "-m", "maxsieve.cli", "doctor"]
    for how in ([], ["--json"]):
        done = run(*how, env=env)
        other = subprocess.run(
            [*command, *how], env={**os.environ, **env}, capture_output=True, text=True, timeout=120, check=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == other.stdout
    assert list(json.loads(done.stdout)) == PARTS


BARE = """
import sys
class Missing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("rich", "typer", "platformdirs", "onnxruntime", "tokenizers", "bm25s", "torch"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
"""


def test_numpy_is_enough() -> None:
    """Without platformdirs the cache folder is not known: the report says so, and has all other parts."""
    env = {name: value for name, value in os.environ.items() if name != "MAXSIEVE_CACHE"}
    done = subprocess.run(
        [sys.executable, "-c", BARE + "from maxsieve.doctor.__main__ import main\nmain(['--json'])"],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert {name for name, part in report.items() if "problem" in part} == {"cache", "models"}
    assert "this needs platformdirs: pip install 'maxsieve[text]'" in report["cache"]["problem"]
    assert "cache: problem" in described(report)
    assert "kernels" in described(report)


def test_the_command_without_its_packages_still_has_a_doctor() -> None:
    for command, code in (("doctor", 0), ("search", 1)):
        start = f"{BARE}\nfrom maxsieve.cli import main\nsys.argv = ['maxsieve', {command!r}]\nmain()"
        done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, timeout=120)
        assert done.returncode == code, done.stderr
    assert "the command line needs rich" in done.stderr


def test_nothing_heavy_is_imported() -> None:
    heavy = ("onnxruntime", "tokenizers", "torch", "rich", "typer", "scipy", "pyarrow", "matplotlib", "huggingface_hub")
    told = f"import atexit, sys\natexit.register(lambda: print([n for n in {heavy} if n in sys.modules]))"
    assert run(code=told).stdout.splitlines()[-1] == "[]"


def test_it_names_neither_the_user_nor_what_is_secret(tmp_path: Path) -> None:
    home = tmp_path / "very-special-name"
    home.mkdir()
    for cache, shown in ((home / ".cache" / "it", "~/.cache/it"), (Path("/x/very-special-name/c"), "/x/USER/c")):
        env = {**SECRETS, "HOME": str(home), "MAXSIEVE_CACHE": str(cache)}
        for how in ([], ["--json"]):
            said = run(*how, env=env).stdout
            assert shown in said
            assert "MAXSIEVE_API_KEY" in said
            for secret in (*SECRETS.values(), "very-special-name", os.uname().nodename):
                assert secret not in said


def test_the_user_may_have_another_name_than_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.node", lambda: "marys-laptop.example.org")
    (tmp_path / "real" / "mary-jane").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real" / "mary-jane")
    for home, text, wanted in (
        ("/data/home", "/scratch/mary/c", "/scratch/USER/c"),
        ("/", "/scratch/mary/c", "/scratch/USER/c"),
        ("/data/home", "/net/marys-laptop/c, /net/Marys-Laptop.example.org", "/net/HOST/c, /net/HOST"),
        (str(tmp_path / "link"), f"{tmp_path}/real/mary-jane/c {tmp_path}/link/c", "~/c ~/c"),
        (str(tmp_path / "link"), "/scratch/mary-jane/c", "/scratch/USER/c"),
        ("/home/mary", "can't read '/HOME/MARY/c'", "can't read '~/c'"),
        ("/root", "/srv/root/c", "/srv/USER/c"),
        ("/home/mary", "/home/mary-jane/rosemary/marys-laptop2", "/home/mary-jane/rosemary/marys-laptop2"),
    ):
        for name in ("HOME", "USERPROFILE"):
            monkeypatch.setenv(name, home)
        monkeypatch.setenv("USER", "mary")
        assert without_user(text) == wanted, home


def test_it_prints_no_control_characters() -> None:
    env = {"OMP_NUM_THREADS": "2\x1b[31m\x9b", "MAXSIEVE_CACHE": "/tmp/\x1b]0;owned\x07"}
    for how in ([], ["--json"]):
        done = run(*how, env=env)
        assert done.returncode == 0
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.stdout)


def test_a_kernel_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("--json", env={"MAXSIEVE_ISA": "no-such"})
    kernels = json.loads(done.stdout)["kernels"]
    assert kernels["chosen"] is None
    assert "does not know" in kernels["problem"]
    text = run(env={"MAXSIEVE_ISA": "no-such"}).stdout
    assert "in use: none (MAXSIEVE_ISA=no-such)" in text
    assert "does not know" in text


def test_a_part_that_fails_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("no such luck")

    monkeypatch.setattr("maxsieve.doctor.examination.cgroup_quota", fail)
    report = examine()
    assert report["threads"] == {"problem": "RuntimeError: no such luck"}
    assert "threads: problem: RuntimeError: no such luck" in described(report)


def test_what_the_cache_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from maxsieve.common.cache import once

    monkeypatch.setenv("MAXSIEVE_CACHE", str(tmp_path))
    once(tmp_path / "models" / "tiny==1", lambda made: (made / "model.onnx").write_bytes(bytes(1000)) and None)
    found = examine()["cache"]["kept"]
    assert found == {"models": {"count": 1, "bytes": 1000}}
    assert found.keys() <= set(KINDS)


def test_a_cache_that_can_not_be_used_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "this is not a folder that can be read and written"
    for name, usable in {"": True, "new/deep": True, "file": False, "file/in": False}.items():
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("MAXSIEVE_CACHE", str(tmp_path / name))
        report = examine()
        assert report["cache"]["usable"] == usable, name
        assert (said in described(report)) != usable
    monkeypatch.setenv("MAXSIEVE_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)  # root may write anywhere
    assert said in described(examine())


@pytest.mark.parametrize("broken", [False, True])
def test_a_core_that_can_not_be_loaded_is_told(tmp_path: Path, broken: bool) -> None:
    sources = Path(ms.__file__).parent  # in an editable install, the core is elsewhere
    shutil.copytree(sources, tmp_path / "maxsieve", ignore=shutil.ignore_patterns("_core*", "__pycache__"))
    file = f"_core{EXTENSION_SUFFIXES[0]}"
    if broken:
        (tmp_path / "maxsieve" / file).write_text("no library")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import maxsieve.doctor"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=60)
    assert "ImportError: the compiled part of maxsieve can't be loaded: " in done.stderr
    assert f"compiled files in the package: {file if broken else 'none'}. Install maxsieve again" in done.stderr
    assert "During handling" not in done.stderr


def test_extras_are_those_of_the_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        "numpy>=1.24",
        "onnxruntime>=1.17; extra == 'text'",
        'pypdf[crypto]>=6; extra == "files"',
        'maxsieve[text]; extra == "cli"',
        'rich>=13; extra == "cli"',
        'typer>=0.12; extra == "cli"',
        'no-such-package; sys_platform == "linux" and extra == "odd"',
        'maxsieve[cli,files]; extra == "all"',
    ]
    monkeypatch.setattr(examination, "requires", lambda name: lines)
    examination._extras.cache_clear()
    try:
        missing = examination.missing_by_extra()
        assert missing == {"cli": [], "files": [], "odd": ["no-such-package"], "text": []}
        own = [name for name in examination.packages() if name not in examination.HOSTS]
        assert own == ["numpy", "no-such-package", "onnxruntime", "pypdf", "rich", "typer"]
    finally:
        examination._extras.cache_clear()


def test_the_real_metadata_is_understood() -> None:
    missing = examination.missing_by_extra()
    assert {"text", "cli", "serve", "pool"} <= missing.keys()
    assert not missing.keys() & {"all", "dev", "lint", "test"}
    assert {"onnxruntime", "scipy", "rich", "torch"} <= examination.packages().keys()


STATES = """
import ctypes, ctypes.util, platform, sys
from maxsieve.doctor import examination
libm = ctypes.CDLL(ctypes.util.find_library("m"))
found = []
for mode in (0, 0x400, 0x800, 0xC00):  # x86: FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO
    assert libm.fesetround(mode) == 0
    found.append(examination.rounding())
libm.fesetround(0)
print(found)
"""


@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="the numbers of modes are x86's")
def test_rounding_is_found_out() -> None:
    done = subprocess.run([sys.executable, "-c", STATES], capture_output=True, text=True, timeout=120)
    assert done.stdout == "['to nearest', 'down', 'up', 'to zero']\n", done.stderr


def test_denormals_here_are_kept() -> None:
    assert examination.denormals() == "kept"


def test_where_the_system_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_cpuinfo", lambda: "")
    monkeypatch.setattr(machine.os, "sysconf_names", {})
    assert machine.cpu_features() is None
    assert machine.total_bytes() == 0
    assert machine.cpu()
    report = examine()
    assert report["system"]["memory_bytes"] is None
    assert "the system does not say" in described(report)


def test_features_on_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_cpuinfo", lambda: "processor\t: 0\nFeatures\t: fp asimd evtstrm asimddp i8mm\n")
    assert machine.cpu_features() == ["asimd", "asimddp", "i8mm"]

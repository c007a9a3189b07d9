"""The report for people: a line for each fact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

WIDTH = 16


def described(report: Mapping[str, Mapping[str, Any]]) -> str:
    """The report as text.

    >>> print(described({"cpu": {"model": "Some CPU", "features": None}}))
    CPU             Some CPU
    features        the system does not say
    """
    return "\n".join(f"{label:<{WIDTH}}{value}" for label, value in _lines(report))


def _lines(report: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for name, part in report.items():
        if "problem" not in part or name == "kernels":
            yield from WORDS[name](part)
        if "problem" in part:
            yield "", f"{name}: problem: {part['problem']}"


def _maxsieve(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "maxsieve", f"{part['version']}, {part['core'] or 'without its core'}"
    if part["installed"] != part["version"]:
        yield "", f"its metadata says {part['installed'] or 'that it is not installed'}"


def _system(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    names = [part[name] for name in ("system", "distribution", "architecture", "c_library") if part[name]]
    yield "system", ", ".join(names)
    yield "Python", f"{part['python']}, {part['bits']} bits"
    if part["memory_bytes"]:
        yield "memory", f"{part['memory_bytes'] / 2**30:.1f} GiB"


def _cpu(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "CPU", part["model"]
    features = part["features"]
    yield "features", "the system does not say" if features is None else " ".join(features) or "none that matter here"


def _kernels(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    why = f"MAXSIEVE_ISA={part['MAXSIEVE_ISA']}" if part["MAXSIEVE_ISA"] else "the best"
    yield "kernels", f"{', '.join(part['available'])}; in use: {part['chosen'] or 'none'} ({why})"


def _threads(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    quota = "no limit" if part["cgroup_quota"] is None else f"{part['cgroup_quota']:g}"
    yield "threads", f"{part['used']} by default: {part['cpus']} CPUs, {part['allowed']} allowed, cgroup limit: {quota}"
    if part["environment"]:
        yield "", ", ".join(f"{name}={value}" for name, value in part["environment"].items())


def _floating_point(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "floating point", f"rounds {part['rounding']}, denormals are {part['denormals']}"


def _formats(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "formats read", ", ".join(f"{name} up to {version}" for name, version in part.items())


def _cache(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "cache", part["folder"] + ("" if part["exists"] else ", which is not there yet")
    if not part["usable"]:
        yield "", "this is not a folder that can be read and written: MAXSIEVE_CACHE names another"
    for kind, some in part["kept"].items():
        yield "", f"{kind}: {some['count']}, {some['bytes'] / 10**6:,.1f} MB"


def _models(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "models", ", ".join(f"{name} ({'here' if here else 'not fetched'})" for name, here in part.items())


def _packages(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "packages", ", ".join(f"{name} {version}" for name, version in part["versions"].items() if version)
    complete = [extra for extra, missing in part["missing"].items() if not missing]
    yield "extras", ", ".join(complete) or "none"
    for extra, missing in part["missing"].items():
        if missing:
            yield "", f"{extra} lacks {', '.join(missing)}"


def _settings(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "variables set", ", ".join(part["set"]) or "none"


WORDS = {
    "maxsieve": _maxsieve,
    "system": _system,
    "cpu": _cpu,
    "kernels": _kernels,
    "threads": _threads,
    "floating_point": _floating_point,
    "formats": _formats,
    "cache": _cache,
    "models": _models,
    "packages": _packages,
    "settings": _settings,
}

"""Where the time of encoding goes, and what other ways of running the model would cost, in CPU time for each token.

It measures CPU time on one thread, not wall-clock time, so that it works on a machine with other work. The ways take
turns, text by text, and the fastest round of each counts.
"""

from __future__ import annotations

import argparse
import heapq
import importlib.util
import io
import json
import random
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.runs import encoding_graphs
from benchmarks.runs.arguments import corpus_folder, positive
from maxsieve.common.optional import optional
from maxsieve.text import OnnxEncoder, TruncationWarning, model_path
from maxsieve.text.collection.additions import batches
from maxsieve.text.encoders.encoder import unit_rows
from maxsieve.text.encoders.onnx_files import open_tokenizer
from maxsieve.text.encoders.truncation import Truncation

onnxruntime: Any = optional("onnxruntime", "text")

EXAMPLE = """\
example:
  python -m benchmarks.runs.encoding --corpus path/to/corpora/scifact

Each text is run by itself; "same bits" says whether every number is the same as with the way that is used.
"""
LENGTHS = (16, 32, 64, 128, 256, 384, 512)
LEVELS = onnxruntime.GraphOptimizationLevel


class Way(NamedTuple):
    """A way to run the model."""

    name: str
    run: Callable[[Any], Any]
    """From the tokens of a text to its hidden states."""


def main() -> None:
    options = parse()
    warnings.simplefilter("ignore", TruncationWarning)
    folder = model_path("minilm")
    texts = some_texts(options.corpus, options.texts)
    tokens = Truncation(open_tokenizer(folder / "tokenizer.json", 512), 512)
    encodings = [tokens.encode(text).encoding for text in texts]
    count = sum(len(one.ids) for one in encodings)
    print(f"{len(texts)} texts of {options.corpus.name}, {count:,} tokens, {count / len(texts):.0f} each on average")
    print(f"onnxruntime {onnxruntime.__version__}, one thread\n")
    parts(folder, texts, encodings, count, options.rounds)
    nodes(folder, encodings)
    lengths(folder, encodings, options.rounds)
    compare(ways(folder), encodings, count, options.rounds)
    several = some_texts(options.corpus, 1000)
    idle(several, [tokens.encode(text).encoding for text in several])


def parts(folder: Path, texts: list[str], encodings: list[Any], count: int, rounds: int) -> None:
    """The steps of `OnnxEncoder.documents`."""
    encoder, on_two = (OnnxEncoder(folder, max_tokens=512, threads=threads) for threads in (1, 2))
    tokens = Truncation(open_tokenizer(folder / "tokenizer.json", 512), 512)
    run = session(folder / "model.onnx")
    states = [run(one) for one in encodings]
    steps: dict[str, Callable[[], object]] = {
        "all of it": lambda: encoder.encode_documents(texts),
        "all of it, two threads": lambda: on_two.encode_documents(texts),
        "tokenising": lambda: [tokens.encode(text) for text in texts],
        "the model": lambda: [run(one) for one in encodings],
        "unit length": lambda: [unit_rows(rows) for rows in states],
    }
    spent = {name: min(cpu(step) for _ in range(rounds)) for name, step in steps.items()}
    print("| step | CPU microseconds a token | tokens a CPU second |\n|---|---|---|")
    for name, seconds in spent.items():
        print(f"| {name} | {1e6 * seconds / count:.1f} | {count / seconds:,.0f} |")
    print()


def nodes(folder: Path, encodings: list[Any]) -> None:
    """The model's time by kind of node, from onnxruntime's profiler."""
    with tempfile.TemporaryDirectory() as place:

        def profile(settings: Any) -> None:
            settings.enable_profiling = True
            settings.profile_file_prefix = f"{place}/profile"

        run = session(folder / "model.onnx", profile)
        for one in encodings:
            run(one)
        events = json.loads(Path(run.session.end_profiling()).read_text())
    spent: Counter[str] = Counter()
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            spent[event["args"]["op_name"]] += event["dur"]
    print("| node | share of the model's time |\n|---|---|")
    for name, duration in spent.most_common(10):
        print(f"| {name} | {duration / spent.total():.1%} |")
    print()


def lengths(folder: Path, encodings: list[Any], rounds: int) -> None:
    """CPU time for each token by the length of a text, in which attention is quadratic. Also eight texts at a time."""
    run = session(folder / "model.onnx")
    stream = [number for one in encodings for number in one.ids[1:-1]]
    print("| tokens of a text | CPU microseconds a token | eight texts in one run, other bits |\n|---|---|---|")
    for length in LENGTHS:
        inner = length - 2
        texts = [Tokens([101, *stream[start : start + inner], 102]) for start in range(0, 8 * inner, inner)]
        spent = [cpu(partial(one_by_one, run, texts)) for _ in range(rounds)]
        together = [cpu(partial(run.together, texts)) for _ in range(rounds)]
        figures = (f"{1e6 * min(some) / (8 * length):.0f}" for some in (spent, together))
        print(f"| {length} | {' | '.join(figures)} |", flush=True)
    print()


def idle(texts: list[str], encodings: list[Any]) -> None:
    """How busy threads are that share the texts of a batch, if every token takes the same time."""
    sizes = dict(zip(texts, (len(one.ids) for one in encodings), strict=True))
    print("| threads | busy, texts in their order | busy, the longest first |\n|---|---|---|")
    for threads in (2, 8, 32):
        spent = np.zeros(3)
        for batch in batches(texts, len):
            costs = [sizes[text] for text in batch]
            spent += sum(costs) / threads, makespan(costs, threads), makespan(sorted(costs, reverse=True), threads)
        print(f"| {threads} | {spent[0] / spent[1]:.0%} | {spent[0] / spent[2]:.0%} |")
    print()


def makespan(costs: list[int], threads: int) -> int:
    """When the last thread ends, if each takes the next text when it is free."""
    ends = [0] * threads
    for cost in costs:
        heapq.heapreplace(ends, ends[0] + cost)
    return max(ends)


def one_by_one(run: session, texts: list[Any]) -> None:
    for one in texts:
        run(one)


def ways(folder: Path) -> list[Way]:
    """The way in use, first."""
    model = folder / "model.onnx"
    found = [
        Way("as it is used", session(model)),
        Way("again, for the noise", session(model)),
        Way(
            "graph optimisation: basic",
            session(model, lambda it: put(it, graph_optimization_level=LEVELS.ORT_ENABLE_BASIC)),
        ),
        Way(
            "graph optimisation: off",
            session(model, lambda it: put(it, graph_optimization_level=LEVELS.ORT_DISABLE_ALL)),
        ),
        Way("memory pattern", session(model, lambda it: put(it, enable_mem_pattern=True))),
        Way("no memory arena", session(model, lambda it: put(it, enable_cpu_mem_arena=False))),
        Way(
            "denormal numbers as zero",
            session(model, lambda it: it.add_session_config_entry("session.set_denormal_as_zero", "1")),
        ),
        Way("a mask of one number for all tokens", session(model, short_mask=True)),
    ]
    made = encoding_graphs.graphs(model)
    found += [Way(name, session(graph)) for name, graph in made.items()]
    if importlib.util.find_spec("openvino"):
        found.append(Way("OpenVINO", openvino(model.read_bytes())))
        found.append(Way("OpenVINO, float32 weights", openvino(made["float32 weights"])))
    return found


def openvino(model: bytes) -> Callable[[Any], Any]:
    """The model in OpenVINO, if that is installed."""
    library = importlib.import_module("openvino")
    core = library.Core()
    settings = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    request = core.compile_model(core.read_model(io.BytesIO(model)), "CPU", settings).create_infer_request()

    def run(encoding: Any) -> Any:
        feed = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        found = request.infer({name: np.array([value], np.int64) for name, value in feed.items()})
        return np.array(next(iter(found.values()))[0])

    return run


def compare(ways: list[Way], encodings: list[Any], count: int, rounds: int) -> None:
    """All ways, in turns."""
    spent = {way.name: [0.0] * rounds for way in ways}
    same, apart = dict.fromkeys(spent, True), dict.fromkeys(spent, 0.0)
    for turn in range(rounds):
        for one in encodings:
            truth = None
            for way in ways:
                started = process_time()
                rows = way.run(one)
                spent[way.name][turn] += process_time() - started
                truth = rows if truth is None else truth
                same[way.name] &= np.array_equal(rows, truth)
                cosines = (unit_rows(rows) * unit_rows(truth)).sum(axis=1)
                apart[way.name] = max(apart[way.name], float(1 - cosines.min()))
    used = min(spent[ways[0].name])
    print("| way | CPU microseconds a token | times as fast | same bits | largest 1 - cosine |\n|---|---|---|---|---|")
    for name, seconds in spent.items():
        best = min(seconds)
        bits = "yes" if same[name] else "no"
        print(f"| {name} | {1e6 * best / count:.0f} | {used / best:.2f} | {bits} | {apart[name]:.1g} |")
    print()


class Tokens(NamedTuple):
    """A fake of a tokenizer's result, with given numbers."""

    ids: list[int]

    @property
    def attention_mask(self) -> list[int]:
        """Every token counts."""
        return [1] * len(self.ids)

    @property
    def type_ids(self) -> list[int]:
        """All tokens belong to one text."""
        return [0] * len(self.ids)


class session:  # noqa: N801 - it is called like a function
    """A model as `OnnxModel` opens it, with other settings."""

    def __init__(
        self, model: Path | bytes, change: Callable[[Any], object] = lambda _: None, *, short_mask: bool = False
    ) -> None:
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        settings.enable_mem_pattern = False
        settings.log_severity_level = 3
        change(settings)
        source = model if isinstance(model, bytes) else str(model)
        self.session = onnxruntime.InferenceSession(source, settings, providers=["CPUExecutionProvider"])
        self._inputs = {one.name for one in self.session.get_inputs()}
        self._short_mask = short_mask

    def __call__(self, encoding: Any) -> Any:
        """The hidden states of a text."""
        feed = {
            "input_ids": encoding.ids,
            "attention_mask": [1] if self._short_mask else encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        given = {name: np.array([value], np.int64) for name, value in feed.items() if name in self._inputs}
        return self.session.run(None, given)[0][0]

    def together(self, encodings: list[Any]) -> Any:
        """Texts of one length in one run."""
        columns = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
        feed = {name: np.array([getattr(one, part) for one in encodings], np.int64) for name, part in columns.items()}
        return self.session.run(None, feed)[0]


def put(settings: Any, **values: object) -> None:
    for name, value in values.items():
        setattr(settings, name, value)


def cpu(step: Callable[[], object]) -> float:
    started = process_time()
    step()
    return process_time() - started


def some_texts(folder: Path, count: int) -> list[str]:
    with open(folder / "corpus.jsonl", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    chosen = random.Random(1).sample(rows, min(count, len(rows)))
    return [f"{row.get('title') or ''} {row['text']}".strip() for row in chosen]


def parse() -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLE, formatter_class=form)
    parser.add_argument("--corpus", type=corpus_folder, required=True, help="a folder in BEIR form")
    parser.add_argument("--texts", type=positive, default=20)
    parser.add_argument("--rounds", type=positive, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()

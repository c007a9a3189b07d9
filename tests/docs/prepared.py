"""Makes the files that the snippets of the README and of docs/ need, in an empty folder."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

TEXTS = {
    "backups": "We decided that backups run every night, and that copies are kept for a year.",
    "keys": "Anna keeps the keys of the office. Ask her before you come on a weekend.",
    "paths": "To split a path into folder and file, use pathlib: Path(name).parent and Path(name).name.",
    "tea": "Tea should steep for three minutes. Milk goes into the cup afterwards.",
}
QUESTIONS = ["when do backups run", "who has the keys", "how do I split a path", "how long does tea steep"]
PAGES = {1: "Water has to boil before tea is made.", 2: "Milk goes into tea last.", 3: "Sugar is added by the guest."}


def prepare(folder: Path) -> None:
    """Makes notes/, papers/, manuals/, a corpus in BEIR form, documents and queries."""
    for name in ("notes", "papers", "manuals", "corpus"):
        (folder / name).mkdir()
    for name, text in TEXTS.items():
        (folder / "notes" / f"{name}.md").write_text(f"# {name}\n\n{text}\n")
    for name in ("papers", "manuals"):
        (folder / name / "tea.pdf").write_bytes(_pdf())
    documents = "".join(json.dumps({"_id": name, "text": text, "lang": "en"}) + "\n" for name, text in TEXTS.items())
    (folder / "corpus.jsonl").write_text(documents)
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(documents.encode()))
    (folder / "queries.txt").write_text(
        "".join(f"{question}, number {n}\n" for n in range(25) for question in QUESTIONS)
    )
    (folder / "corpus" / "corpus.jsonl").write_text(documents)
    asked = [json.dumps({"_id": f"q{n}", "text": question}) for n, question in enumerate(QUESTIONS)]
    (folder / "corpus" / "queries.jsonl").write_text("\n".join(asked) + "\n")
    judged = "".join(f"q{n}\t{name}\t1\n" for n, name in enumerate(TEXTS))
    (folder / "corpus" / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")


def _pdf() -> bytes:
    """Three pages, long enough to be split into passages."""
    import sys

    sys.path.append(str(Path(__file__).parents[1] / "text"))
    from made_files import make_pdf

    return make_pdf(["\n".join([f"{text} This is said on page {page}."] * 45) for page, text in PAGES.items()])

"""How well scans are read: abstracts of a judged collection as scanned pages, searched by the words that OCR finds.

    MAXSIEVE_CORPORA=path/to/corpora python -m benchmarks.runs.scans --pages 60

Each abstract is set on a page, rendered at 150 dots per inch, rotated by up to 0.8 degrees, and made noisy. Printed are
nDCG@10 over the texts and over the scans, the CPU time of a page, and how well the boxes of words lie on the words.
"""

from __future__ import annotations

import argparse
import io
import math
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate

import maxsieve as ms
from maxsieve.common.progress import progress_bar
from maxsieve.lab.corpora import read_corpus
from maxsieve.text.encoders.encoder import MINILM
from maxsieve.text.pages.ocr import read_words
from maxsieve.text.pages.places import Box, Word
from maxsieve.text.pages.rendering import TextLayer, opened, to_page

DPI, DEGREES, NOISE = 150, 0.8, 12
GOOD = 0.6


def make_pdf(text: str) -> bytes:
    """A page of A4 with a text."""
    content = io.BytesIO()
    style = getSampleStyleSheet()["BodyText"]
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    SimpleDocTemplate(content, pagesize=A4).build([Paragraph(plain, style)])
    return content.getvalue()


def make_scan(content: bytes, rng: np.random.Generator) -> tuple[Image.Image, TextLayer]:
    """A noisy, rotated picture of the first page, and its words with the boxes that they have there."""
    with opened(io.BytesIO(content), ".pdf") as source:
        layer = source.text(0)
    image = pdfium.PdfDocument(content)[0].render(scale=DPI / 72).to_pil().convert("L")
    degrees = rng.uniform(-DEGREES, DEGREES)
    image = image.rotate(degrees, Image.Resampling.BICUBIC, fillcolor=255)
    pixels = np.asarray(image, np.float32) + rng.normal(0, NOISE, (image.height, image.width)) - NOISE
    noisy = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    words = tuple(Word(start, end, rotated(box, degrees, *image.size)) for start, end, box in layer.words)
    return noisy.convert("RGB"), TextLayer(layer.text, words)


def rotated(box: Box, degrees: float, width: int, height: int) -> Box:
    """The box around a box that was rotated about the middle of the page."""
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    corners = [(x * width - width / 2, y * height - height / 2) for x in box[::2] for y in box[1::2]]
    across = [(x * cosine + y * sine) / width + 0.5 for x, y in corners]
    down = [(y * cosine - x * sine) / height + 0.5 for x, y in corners]
    return Box(min(across), min(down), max(across), max(down))


def overlaps(found: TextLayer, true: TextLayer) -> list[float]:
    """For each word that OCR found on the page as it is printed: the overlap with the nearest of these words."""
    printed: dict[str, list[Box]] = {}
    for word in true.words:
        printed.setdefault(true.text[word.start : word.end], []).append(word.box)
    boxes = ((word.box, printed.get(found.text[word.start : word.end], [])) for word in found.words)
    return [max(box.overlap(other) for other in others) for box, others in boxes if others]


def ndcg(collection: ms.Collection, queries: dict[str, str], relevant: dict[str, set[str]]) -> float:
    """The mean nDCG@10 with binary judgements."""
    values = []
    for query, hits in zip(queries, collection.search_many(queries.values(), k=10), strict=True):
        gains = [1 / math.log2(rank + 2) for rank, id in enumerate(hits.ids) if id in relevant[query]]
        ideal = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(relevant[query]))))
        values.append(sum(gains) / ideal)
    return float(np.mean(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="scifact")
    parser.add_argument("--pages", type=int, default=60)
    options = parser.parse_args()
    corpus = read_corpus(Path(os.environ["MAXSIEVE_CORPORA"]) / options.corpus)
    texts = corpus.documents
    chosen: list[str] = []
    for judged in corpus.judgements.values():
        chosen += [id for id, grade in judged.items() if grade > 0 and id in texts and id not in chosen]
    chosen = chosen[: options.pages]
    relevant = {
        query: {id for id, grade in judged.items() if grade > 0 and id in chosen}
        for query, judged in corpus.judgements.items()
    }
    queries = {query: corpus.queries[query] for query, found in relevant.items() if found}
    rng = np.random.default_rng(0)
    read, good, seconds, found_words, all_words = [], list[float](), 0.0, 0, 0
    with progress_bar("reading", len(chosen), shown=True, unit="pages") as advance:
        for number, id in enumerate(chosen):
            image, true = make_scan(make_pdf(texts[id]), rng)
            if number == 0:
                read_words(image)  # loads the models
            started = time.process_time()
            layer = read_words(image)
            seconds += time.process_time() - started
            overlap = overlaps(layer, true)
            good += overlap
            found_words, all_words = found_words + len(overlap), all_words + len(true.words)
            read.append(to_page(image, layer, by_ocr=True))
            advance(1)
    with tempfile.TemporaryDirectory() as folder:
        plain = ms.Collection.create(f"{folder}/texts.ms", MINILM)
        plain.add([texts[id] for id in chosen], chosen)
        scans = ms.Collection.create(f"{folder}/scans.ms", MINILM, pages=True)
        scans.add(read, chosen)
        by_text, by_scan = (ndcg(one, queries, relevant) for one in (plain, scans))
    share = sum(value >= GOOD for value in good) / len(good)
    print(f"{len(chosen)} pages, {len(queries)} queries")
    print(f"nDCG@10 over texts {by_text:.3f}, over scans {by_scan:.3f}: {by_scan / by_text:.1%}")
    print(f"{seconds / len(chosen):.2f} s of CPU time a page")
    print(f"{found_words:,} words of {all_words:,} read as printed; {share:.1%} with an overlap of at least {GOOD}, "
          f"median {np.median(good):.2f}")  # fmt: skip


if __name__ == "__main__":
    main()

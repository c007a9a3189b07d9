"""The page in a real browser: what a person sees, hears and can do."""

from __future__ import annotations

import base64
import json
import struct
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from maxsieve import Collection

from .conftest import HOSTILE, started

Open = Callable[..., Page]
QUERY = "merge several sorted lists into one"
ASKED = "?collection=docstrings&q=merge+several+sorted+lists+into+one"
PHONE, WIDE = {"width": 390, "height": 844}, {"width": 1600, "height": 1000}


def answered(page: Page) -> Page:
    expect(page.locator("#answer")).to_be_visible()
    return page


def explained(page: Page) -> Page:
    """The page, when it shows how the answer was found."""
    expect(answered(page).locator("#caption")).not_to_be_empty()
    return page


def ask(service: str, collection: str = "docstrings", **more: Any) -> dict[str, Any]:
    body = json.dumps({"query": QUERY, "k": 10, "trace": True, **more}).encode()
    address = f"{service}v1/collections/{collection}/search"
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def move_to(page: Page, step: int) -> str:
    page.locator("#at").fill(str(step))
    return page.locator("#caption").inner_text()


def pixels(page: Page, name: str) -> int:
    """How many pixels of the picture have a colour of the style sheet."""
    return page.evaluate(
        """(name) => {
            const said = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
            const [r, g, b] = [1, 3, 5].map((i) => parseInt(said.slice(i, i + 2), 16));
            const canvas = document.getElementById("picture");
            const second = new OffscreenCanvas(canvas.width, canvas.height);
            const copy = second.getContext("2d", { willReadFrequently: true });
            copy.drawImage(canvas, 0, 0);
            const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
            let found = 0;
            for (let i = 0; i < data.length; i += 4)
            {
                const off = Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b);
                if (data[i + 3] > 200 && off < 12) found++;
            }
            return found;
        }""",
        name,
    )


def test_a_typed_query_is_answered(open_page: Open, service: str) -> None:
    page = open_page()
    page.locator("#q").fill(QUERY)
    page.keyboard.press("Enter")
    answered(page)
    wanted = ask(service)
    titles = page.locator("#hits h3")
    expect(titles).to_have_count(10)
    assert titles.all_inner_texts() == [hit["id"] for hit in wanted["hits"]]
    assert page.locator("#hits mark").count() >= 10
    expect(page.locator("#verdict")).to_contain_text("10 results · exact among 700 documents")
    expect(page.locator("#how")).to_be_hidden()
    assert parse_qs(urlsplit(page.url).query)["q"] == [QUERY]
    expect(page.locator("#news")).to_contain_text("10 results.")


def test_snippets_are_the_command_lines(open_page: Open, service: str) -> None:
    page = answered(open_page("?collection=files&q=how+is+green+tea+brewed"))
    hits = ask(service, "files", query="how is green tea brewed", trace=False)["hits"]
    assert {hit["id"] for hit in hits[:2]} == {"manuals/tea.pdf", "b.md"}
    for row, hit in zip(page.locator("#hits > li").all(), hits, strict=True):
        shown = row.locator(".snippet").first.text_content() or ""
        wanted = hit["text"][hit["snippet"]["start"] : hit["snippet"]["end"]]
        assert " ".join(shown.replace("…", "").split()) == " ".join(wanted.split())
        marked = [hit["text"][one["start"] : one["end"]] for one in hit["marks"]]
        seen = row.locator(".snippet").first.locator("mark").all_inner_texts()
        assert seen
        assert set(seen) <= set(marked)
        assert "U+000" not in (row.text_content() or "")
    manual = page.locator("#hits > li", has_text="A manual of tea")
    assert {"Green", "brewed"} <= set(manual.locator(".snippet").first.locator("mark").all_inner_texts())
    expect(manual.locator(".where").first).to_contain_text("manuals/tea.pdf · page 2")


def test_pages_of_results(open_page: Open, service: str) -> None:
    page = answered(open_page(ASKED + "&k=20"))
    every = [str(hit["id"]) for hit in ask(service, k=60)["hits"]]
    titles = page.locator("#hits h3")
    expect(page.get_by_role("link", name="Previous")).to_have_count(0)
    for number in (2, 3):
        page.get_by_role("link", name="Next").click()
        expect(page.locator("#verdict")).to_contain_text(f"Results {20 * number - 19} to {20 * number}")
        assert titles.all_inner_texts() == every[20 * number - 20 : 20 * number]
        assert parse_qs(urlsplit(page.url).query)["page"] == [str(number)]
    shared = answered(open_page(urlsplit(page.url)._replace(scheme="", netloc="", path="").geturl()))
    assert shared.locator("#hits h3").all_inner_texts() == every[40:60]
    page.get_by_role("link", name="Previous").click()
    expect(page.locator("#verdict")).to_contain_text("Results 21 to 40")
    page.go_back()
    expect(page.locator("#verdict")).to_contain_text("Results 41 to 60")
    page.locator("#q").press("Enter")  # a new search starts at the first page
    expect(page.locator("#verdict")).to_contain_text("20 results")
    last = answered(open_page("?collection=files&q=tea&k=2&page=3"))
    expect(last.locator("#verdict")).to_have_text("No more results")
    calibrated = answered(open_page(ASKED + "&policy=calibrated&k=50&page=2"))  # it is calibrated for 100 hits
    expect(calibrated.get_by_role("link", name="Previous")).to_be_visible()
    expect(calibrated.get_by_role("link", name="Next")).to_have_count(0)


def test_filters(open_page: Open) -> None:
    page = answered(open_page("?collection=files&q=tea"))
    titles = page.locator("#hits h3")
    expect(titles).to_have_count(3)
    page.locator("#filters summary").click()
    assert page.get_by_label("Field").locator("option").all_inner_texts() == [
        "draft",
        "folder",
        "pages",
        "tags",
        "title",
    ]
    page.get_by_label("Field").select_option("folder")
    page.get_by_label("Value").fill("notes")
    page.get_by_role("button", name="Add").click()
    expect(titles).to_have_count(2)
    assert json.loads(parse_qs(urlsplit(page.url).query)["where"][0]) == {"folder": "notes"}
    page.locator("#filters summary").click()
    page.get_by_label("Field").select_option("tags")
    page.get_by_label("Value").fill("short")
    page.get_by_role("button", name="Add").click()
    expect(titles).to_have_text(["b.md"])
    expect(page.locator("#verdict")).to_contain_text("exact among 1 document that matches the filter")
    page.get_by_role("button", name="Remove the filter: folder is notes").click()
    expect(page.locator("#filters .chip")).to_have_count(1)
    expect(titles).to_have_text(["b.md"])
    page.go_back()
    expect(page.locator("#filters .chip")).to_have_count(2)
    number = answered(open_page("?collection=files&q=tea&where=" + quote('{"pages": {"gte": 2}}')))
    expect(number.locator("#filters .chip")).to_contain_text("pages at least 2")
    expect(number.locator("#hits h3")).to_have_text(["A manual of tea"])
    number.locator("#filters summary").click()
    number.get_by_label("Field").select_option("pages")
    number.get_by_label("Value").fill("5")
    number.get_by_role("button", name="Add").click()
    expect(number.locator("#filters .chip")).to_have_count(2)
    expect(number.locator("#hits h3")).to_have_count(1)
    none = answered(open_page("?collection=files&q=tea&where=" + quote('{"folder": "x"}')))
    expect(none.locator("#verdict")).to_have_text("No document matches the filter")
    expect(none.locator("#hits > li")).to_have_count(0)


def test_further_passages(open_page: Open, service: str) -> None:
    page = answered(open_page("?collection=files&q=tea"))
    hits = ask(service, "files", query="tea", per_document=3, trace=False)["hits"]
    manual = page.locator("#hits > li", has_text="A manual of tea")
    [wanted] = [hit for hit in hits if hit["id"] == "manuals/tea.pdf"]
    manual.locator("summary").click()
    assert manual.locator("summary").inner_text() == f"{len(wanted['passages']) - 1} more passages"
    expect(manual.locator(".further")).to_have_count(len(wanted["passages"]) - 1)
    for shown, passage in zip(manual.locator(".further").all(), wanted["passages"][1:], strict=True):
        part = passage["text"][passage["snippet"]["start"] : passage["snippet"]["end"]]
        assert " ".join(part.split()) in " ".join((shown.locator(".snippet").text_content() or "").split())
    manual.locator(".further a").last.click()  # opens the document there
    expect(page.locator("#reader")).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("[name=by]").select_option("passage")
    expect(page.locator("#verdict")).to_contain_text("passages")
    passages = ask(service, "files", query="tea", by="passage", trace=False)["hits"]
    assert len(passages) > 3
    expect(page.locator("#hits > li")).to_have_count(len(passages))
    assert "by=passage" in page.url


SLIDES = "?collection=slides&q=hungry+fox"


def seen_places(page: Page, selector: str = "canvas.page-picture") -> list[list[float]]:
    """Where the picture of a page is orange: left, top, right, bottom and the share of it, when it has been drawn."""
    page.wait_for_function(
        "(selector) => [...document.querySelectorAll(selector)].every((one) => one.dataset.drawn)", arg=selector
    )
    return page.evaluate(
        """(selector) => [...document.querySelectorAll(selector)].map((canvas) => {
            const { width, height } = canvas, copy = new OffscreenCanvas(width, height).getContext("2d");
            copy.drawImage(canvas, 0, 0);
            const { data } = copy.getImageData(0, 0, width, height);
            let [left, top, right, bottom, count] = [1, 1, 0, 0, 0];
            for (let i = 0; i < data.length; i += 4) {
                if (data[i] - data[i + 2] < 40) continue;
                const x = ((i / 4) % width) / width, y = Math.floor(i / 4 / width) / height;
                [left, top] = [Math.min(left, x), Math.min(top, y)];
                [right, bottom] = [Math.max(right, x), Math.max(bottom, y)];
                count++;
            }
            return [left, top, right, bottom, count / (width * height)];
        })""",
        selector,
    )


def test_the_picture_of_a_page_shows_where_it_matches(open_page: Open, service: str) -> None:
    page = answered(open_page(SLIDES + "&document=" + quote("fox.pdf#page=1")))
    expect(page.locator("#reader-title")).to_have_text("fox.pdf, page 1")
    [hit] = ask(service, "slides", query="hungry fox", k=1, trace=False)["hits"]
    boxes = {one["query_word"]: one["box"] for one in hit["matches"]}
    places = {"hungry": seen_places(page, ".reader canvas")[0]}
    everything = places["hungry"]
    for word, box in boxes.items():
        page.locator("#reader-words button", has_text=word).hover()
        [place] = seen_places(page, ".reader canvas")
        assert place[:4] == pytest.approx(box, abs=0.02)  # the line around a box is a little outside of it
        assert 0 < place[4] < everything[4]
    for side, best in enumerate((min, min, max, max)):
        assert everything[side] == pytest.approx(best(box[side] for box in boxes.values()), abs=0.02)
    page.locator("#reader-words button", has_text="fox").click()  # a tap keeps it lit
    page.locator("#close-reader").hover()
    [place] = seen_places(page, ".reader canvas")
    assert place[:4] == pytest.approx(boxes["fox"], abs=0.02)
    expect(page.locator("#news")).to_contain_text("“fox”")


def test_results_show_the_part_of_a_page_that_matches(open_page: Open) -> None:
    page = answered(open_page(SLIDES))
    canvases = page.locator("#hits canvas")
    expect(canvases).to_have_count(2)
    assert canvases.first.evaluate("one => one.height < one.width")  # a strip of a sheet
    first, _ = seen_places(page)
    assert first[4] > 0
    page.locator("#words button", has_text="hungry").hover()
    assert 0 < seen_places(page)[0][4] < first[4]
    canvases.first.click()
    expect(page.locator("#reader-title")).to_have_text("fox.pdf, page 1")


def test_patches_glow(open_page: Open) -> None:
    page = open_page("?collection=slides")

    def as_patches(route: Any) -> None:
        """The answer of a vision model, whose matches are patches of a grid of 4 x 4."""
        answer = route.fetch()
        found = answer.json()
        for hit in found["hits"]:
            hit["picture"]["kind"] = "patches"
            for number, match in enumerate(hit["matches"]):
                left = 0.25 * number
                match.update(box=[left, 0.5, left + 0.25, 0.75], start=0, end=0, word="")
        route.fulfill(response=answer, json=found)

    page.route("**/search", as_patches)
    page.locator("#q").fill("hungry fox")
    page.locator("#q").press("Enter")
    answered(page)
    page.locator("#words button", has_text="fox").hover()
    place = seen_places(page)[0]
    middle = [(place[0] + place[2]) / 2, (place[1] + place[3]) / 2]
    assert middle == pytest.approx([0.375, 0.625], abs=0.02)
    assert page.locator("#hits canvas").first.evaluate("one => one.height > one.width")  # the whole page


def test_maps_of_patches_are_smooth(open_page: Open) -> None:
    page = open_page("?collection=slides")
    maps = {"hungry": [0] * 12, "fox": [0] * 12}  # 4 rows of 3
    maps["hungry"][4] = maps["fox"][9] = 255

    def as_patches(route: Any) -> None:
        """The answer of a vision model, with maps."""
        answer = route.fetch()
        found = answer.json()
        values = {word: base64.b64encode(bytes(one)).decode() for word, one in maps.items()}
        for hit in found["hits"]:
            whole = {"rows": 4, "columns": 3, "box": [0, 0, 1, 1]}
            starts = {"hungry": 0, "fox": 7}
            shown = [{"query_start": starts[word], "tokens": 1, "values": one} for word, one in values.items()]
            hit["picture"].update(kind="patches", grids=[whole], maps=shown)
        route.fulfill(response=answer, json=found)

    page.route("**/search", as_patches)
    page.locator("#q").fill("hungry fox")
    page.locator("#q").press("Enter")
    answered(page)
    both = seen_places(page)[0]
    for word, centre in {"hungry": (1 / 2, 3 / 8), "fox": (1 / 6, 7 / 8)}.items():
        page.locator("#words button", has_text=word).hover()
        [left, top, right, bottom, share] = seen_places(page)[0]
        assert left < centre[0] < right
        assert top < centre[1] < bottom
        assert right - left > 0.3  # wider than nothing: it fades over the neighbours
        assert 0 < share < both[4]


def test_a_picture_needs_the_key_and_may_be_missing(open_page: Open, folder: Path) -> None:
    with started("--api-key", "sesame", folder / "slides") as address:
        page = open_page("?q=hungry+fox", at=address, expected="status of 40[14]|status of 503|ERR_")
        page.locator("#key").fill("sesame")
        page.keyboard.press("Enter")
        answered(page)
        assert seen_places(page)[0][4] > 0
        page.route("**/pages/**", lambda route: route.abort())
        page.locator("#q").press("Enter")
        expect(page.locator("#hits .note").first).to_have_text("The picture of this page could not be loaded.")


def test_by_words_too(open_page: Open, service: str) -> None:
    page = answered(open_page(ASKED))
    page.locator("[name=hybrid]").select_option("rrf")
    expect(page.locator("#verdict")).to_contain_text("BM25")
    wanted = [str(hit["id"]) for hit in ask(service, hybrid="rrf", trace=False)["hits"]]
    assert page.locator("#hits h3").all_inner_texts() == wanted
    page.locator("#how-button").click()
    expect(page.locator("#scope")).to_contain_text("Two searches were fused")
    expect(page.locator("#sieve")).to_be_hidden()
    expect(page.locator("#cost tbody tr").first).to_be_visible()


def test_the_whole_document(open_page: Open) -> None:
    page = answered(open_page("?collection=files&q=how+is+green+tea+brewed"))
    page.get_by_role("link", name="A manual of tea").click()
    reader, text = page.locator("#reader"), page.locator("#reader-text")
    expect(reader).to_be_visible()
    expect(reader.locator("h2")).to_have_text("A manual of tea")
    assert [part for part in (text.inner_text() or "").split("\n") if part.startswith("page ")] == [
        f"page {number}" for number in range(1, 6)
    ]
    assert "U+000" not in text.inner_text()
    expect(reader.locator("mark.lit", has_text="brewed")).to_be_in_viewport()  # the best match is where it begins
    assert parse_qs(urlsplit(page.url).query)["document"] == ["manuals/tea.pdf"]
    count = page.locator("#match-count").inner_text()
    page.keyboard.press("Enter")  # the button of the next match has the focus
    expect(page.locator("#match-count")).not_to_have_text(count)
    expect(reader.locator(".lit").first).to_be_in_viewport()
    page.get_by_role("button", name="Previous", exact=True).click()
    expect(page.locator("#match-count")).to_have_text(count)
    page.keyboard.press("Escape")
    expect(reader).to_be_hidden()
    page.wait_for_url(lambda url: "document" not in url)
    page.go_back()
    expect(reader).to_be_visible()
    page.go_back()
    expect(reader).to_be_hidden()
    shared = open_page("?collection=files&q=tea&document=b.md")
    expect(shared.locator("#reader-text")).to_have_text("Notes on tea\nGreen tea is brewed for two minutes.\n")
    gone = open_page("?collection=files&q=tea&document=nowhere", expected="status of 404")
    expect(gone.locator("#problem")).to_contain_text("no longer there")
    expect(gone.locator("#hits > li")).to_have_count(3)


def test_documents_drop_out_as_the_slider_moves(open_page: Open, service: str) -> None:
    page = explained(open_page(ASKED + "&policy=bandit&step=0"))
    trace = ask(service, policy={"name": "bandit", "block": 1})["trace"]
    for i, one in enumerate(trace["rounds"]):
        words = move_to(page, i)
        assert words.startswith(f"Round {i + 1} of {len(trace['rounds'])}")
        assert f"τ, the {trace['k']}th best lower end, is {one['threshold']:.3f}" in words
        leaving = pixels(page, "leaving")
        assert (leaving > 0) == (one["dropped"] > 0)
        if one["dropped"]:
            assert f"{one['dropped']} document" in words
    first, last = (move_to(page, step) and pixels(page, "blue-soft") for step in (0, len(trace["rounds"]) - 1))
    assert last < first / 4
    end = int(page.locator("#at").get_attribute("max") or 0)
    move_to(page, end)
    assert pixels(page, "leaving") < 100  # only the first document that need not be scored
    assert pixels(page, "hit") > 100
    assert pixels(page, "tau") > 50


@pytest.mark.parametrize("policy", ["certified", "bandit", "calibrated", "exhaustive"])
def test_every_policy_is_drawn_as_the_engine_traced_it(open_page: Open, service: str, policy: str) -> None:
    page = answered(open_page(f"{ASKED}&policy={policy}&k=5"))
    page.get_by_role("button", name="How was this found?").click()
    explained(page)
    expect(page.locator("#how-title")).to_be_focused()
    answer = ask(service, k=5, policy={"name": policy, **({"overlap": 0.95} if policy == "calibrated" else {})})
    trace, rescored = answer["trace"], answer["report"]["rescored"]
    end = page.locator("#caption").inner_text()
    if policy == "exhaustive":
        assert end == "Every one of 700 documents was scored."
    elif policy == "certified":
        assert end.startswith(f"Stop after {rescored} of 700 documents. The next, {trace['unseen']['id']}")
        assert move_to(page, 0).startswith("The scan:")
        assert f"{trace['rounds'][0]['dropped']} documents can't reach it" in page.locator("#caption").inner_text()
        assert f"scores {trace['scores'][0]:.3f}" in move_to(page, 1)
    elif policy == "calibrated":
        assert move_to(page, 0).startswith("Tier 0:")
        assert (
            f"The best {answer['report']['survivors']} by proxy are followed up"
            in page.locator("#caption").inner_text()
        )
        assert pixels(page, "leaving") > 0
    page.locator("#tables summary").click()
    expect(page.locator("#steps tbody tr")).to_have_count(int(page.locator("#at").get_attribute("max") or 0) + 1)
    expect(page.locator("#documents tbody tr")).to_have_count(200)
    expect(page.locator("#documents tbody tr").first).to_contain_text(str(answer["hits"][0]["id"]))


def test_cells_are_counted(open_page: Open, service: str) -> None:
    page = explained(open_page(ASKED + "&policy=bandit&step=0"))
    trace = ask(service, policy={"name": "bandit", "block": 1})["trace"]
    cells, before = 0, 0
    for i, one in enumerate(trace["rounds"]):
        cells += one["active"] * (one["revealed"] - before)
        before = one["revealed"]
        move_to(page, i)
        said = page.locator("#cells-note").inner_text()
        assert f"{cells:,} of {700 * len(trace['token_order']):,} cells" in said


def test_play_and_pause(open_page: Open) -> None:
    page = answered(open_page(ASKED + "&policy=bandit", motion="no-preference"))
    page.locator("#how-button").click()
    button = page.locator("#play")
    expect(button).to_have_accessible_name("Pause")  # it plays by itself
    button.click()
    expect(button).to_have_accessible_name("Play")
    move_to(page, 0)
    here = page.locator("#count").inner_text()
    button.click()
    expect(page.locator("#count")).not_to_have_text(here)
    last = int(page.locator("#at").get_attribute("max") or 0)
    move_to(page, last - 1)
    button.click()
    expect(page.locator("#count")).to_have_text(f"{last + 1} of {last + 1}")
    expect(button).to_have_accessible_name("Play")


def test_the_address_holds_the_picture(open_page: Open) -> None:
    page = explained(open_page(ASKED + "&policy=bandit&alpha=0.5&seed=7&k=3&step=2"))
    caption = page.locator("#caption").inner_text()
    assert caption.startswith("Round 3 of")
    assert page.locator("input[name=alpha]").input_value() == "0.5"
    assert page.locator("#hits h3").count() == 3
    page.locator("input[name=seed]").fill("8")
    page.locator("input[name=seed]").press("Tab")
    page.wait_for_url("**seed=8**")
    last = page.locator("#at").get_attribute("max")
    page.wait_for_url(f"**step={last}")
    move_to(page, 1)
    page.wait_for_url("**step=1")
    shared = explained(open_page(urlsplit(page.url)._replace(scheme="", netloc="", path="").geturl()))
    assert shared.locator("#caption").inner_text() == page.locator("#caption").inner_text()
    page.go_back()
    expect(page.locator("input[name=seed]")).to_have_value("7")
    page.locator("#how-button").click()
    expect(page.locator("#how")).to_be_hidden()
    page.wait_for_url(lambda url: "step" not in url)


@pytest.mark.parametrize(
    "address", ["?k=0&alpha=7&policy=magic&seed=-1&delta=x&block=1.5", "?step=-3&k=1e9&page=0&by=x&where=[1"]
)
def test_an_address_that_makes_no_sense_counts_as_not_said(open_page: Open, address: str) -> None:
    page = open_page(address)
    expect(page.locator("#collection option")).to_have_count(4)
    assert page.locator("#policy").input_value() == "certified"
    assert page.locator("[name=k]").input_value() == "10"


def test_a_query_word_shows_what_answers_it(open_page: Open, service: str) -> None:
    page = answered(open_page(ASKED))
    hits = ask(service)["hits"]
    word = page.locator("#words button", has_text="sorted")
    word.hover()
    wanted = next(one for one in hits[0]["matches"] if one["query_word"] == "sorted")
    first = page.locator("#hits > li").first
    assert first.locator(".lit").inner_text() == wanted["word"]
    expect(first.locator(".answers")).to_have_text(f"sorted → {wanted['word']} {wanted['similarity']:.2f}")
    page.mouse.move(0, 0)
    expect(page.locator(".word.lit")).to_have_count(0)
    word.focus()
    assert page.locator(".word.lit").count() > 0
    page.keyboard.press("Enter")
    expect(word).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#news")).to_contain_text("“sorted” is answered in")


def test_a_keyboard_is_enough(open_page: Open) -> None:
    page = open_page()
    expect(page.locator("#collection option")).to_have_count(4)
    page.locator("#q").focus()
    page.keyboard.type(QUERY)
    page.keyboard.press("Enter")
    answered(page)

    def tab_to(id: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == id:
                return

    tab_to("how-button")
    page.keyboard.press("Enter")
    explained(page)
    tab_to("at")
    before = page.locator("#count").inner_text()
    page.keyboard.press("ArrowLeft")
    assert page.locator("#count").inner_text() != before
    said = page.locator("#at").get_attribute("aria-valuetext") or ""
    assert page.locator("#caption").inner_text() in said
    expect(page.locator("#news")).to_have_text(page.locator("#caption").inner_text())


def test_beside_exhaustive_scoring(open_page: Open) -> None:
    page = explained(open_page(ASKED + "&step=0"))
    page.get_by_role("button", name="Compare with exhaustive scoring").click()
    expect(page.locator("#same")).to_contain_text("the same 10 hits, with the same scores to the last bit")
    expect(page.locator("#same")).to_contain_text("It scored 700 documents")
    assert page.locator("#cost thead th").count() == 5


def test_texts_can_do_no_harm(open_page: Open) -> None:
    page = answered(open_page("?collection=hostile&q=a+fox+text&k=3"))
    assert "owned" not in page.title()
    assert page.locator("#hits img, #hits script").count() == 0
    hit = page.locator("#hits > li", has_text="reversed")
    assert hit.locator("h3").inner_text() == HOSTILE.replace("\u202e", "[U+202E]")
    text = hit.locator(".snippet").inner_text()
    assert "<script>document.title='owned'</script>" in text
    for name in ("U+202E", "U+202C", "U+001B"):
        assert hit.locator(".strange", has_text=name).count() == 1
    everything = page.evaluate("document.body.textContent")
    assert not set(everything) & {"\u202e", "\u202c", "\x1b"}
    assert (
        hit.locator(".word").filter(has_text="fox").last.inner_text() == "fox"
    )  # places count code points, not UTF-16
    hit.locator("h3 a").click()
    expect(page.locator("#reader-title")).to_have_text(HOSTILE.replace("\u202e", "[U+202E]"))
    assert "<script>document.title='owned'</script>" in page.locator("#reader-text").inner_text()
    assert not set(page.evaluate("document.body.textContent")) & {"\u202e", "\u202c", "\x1b"}
    assert page.locator("#reader img, #reader script").count() == 0


@pytest.mark.parametrize("field", ["id", "text", "heading"])
def test_stored_scripts_never_run(open_page: Open, tmp_path: Path, field: str) -> None:
    """Not even in a browser that ignores the Content-Security-Policy: the page itself makes no HTML of texts."""
    attacks = [
        "<script>owned=1</script>",
        "<img src=x onerror=owned=1>",
        "<svg onload=owned=1>",
        "</script><script>owned=1</script>",
        "</title></style></textarea><script>owned=1</script>",
        "\"><iframe srcdoc='<script>parent.owned=1</script>'>",
        "' onmouseover=owned=1 autofocus onfocus=owned=1 x='",
        "javascript:owned=1",
        "<a href=javascript:owned=1>fox</a>",
        "{{constructor.constructor('owned=1')()}} ${owned=1}",
        "<!--><img src=x onerror=owned=1>-->",
        "<math><mtext><table><mglyph><style><img src=x onerror=owned=1>",
    ]
    texts = [f"fox {number} {attack}" for number, attack in enumerate(attacks)]
    if field == "heading":
        texts = [f"# {one}\n\n" + "The fox saw the grapes. " * 200 for one in texts]
    with Collection.create(tmp_path / "stored", "minilm") as made:
        ids = [f"{number} {one}" for number, one in enumerate(attacks)] if field == "id" else None
        made.add(["fox " + str(number) for number in range(len(attacks))] if field == "id" else texts, ids)
    with started(tmp_path / "stored") as address:
        for policy in ("certified", "bandit"):
            query = quote("fox " + attacks[1])
            shown = f"?collection=stored&k=12&policy={policy}&q={query}&step=0"
            page = explained(open_page(shown, at=address, bypass_csp=True))
            expect(page.locator("#hits > li")).to_have_count(len(attacks))
            for one in page.locator("#hits mark, #hits h3, #query span").all()[:40]:
                one.hover(force=True)
            page.keyboard.press("Tab")
            page.locator("#hits h3 a").nth(1).click()
            expect(page.locator("#reader")).to_be_visible()
            assert page.evaluate("typeof owned") == "undefined"
            inserted = ":is(script, img, iframe, math, style, a[href^='javascript:'], [onload], [onmouseover])"
            assert page.locator(f":is(#answer, #filters, #reader) {inserted}").count() == 0


def test_failures_are_sentences(open_page: Open) -> None:
    refused = r"status of 400|status of 503|ERR_"
    page = open_page("?collection=hostile&q=fox&where=" + quote('{"a": {"above": 1}}'), expected=refused)
    expect(page.locator("#problem")).to_contain_text("This filter can't be used: a.above is not an operator")
    expect(page.locator("#answer")).to_be_hidden()
    page.get_by_role("button", name="Remove the filter").click()
    answered(page)
    expect(page.locator("#problem")).to_be_hidden()
    page.locator("#q").fill("   ")
    page.locator("#q").press("Enter")
    expect(page.locator("#problem")).to_have_text("There is nothing to search for: type a query.")
    page.locator("#q").fill("fox")
    page.route("**/search", lambda route: route.abort())
    page.locator("#q").press("Enter")
    expect(page.locator("#problem")).to_have_text("The service does not answer. Is it still running?")
    page.unroute("**/search")
    page.locator("#q").press("Enter")
    answered(page)
    expect(page.locator("#problem")).to_be_hidden()
    page.locator("#q").fill("\u200b\u2063")
    page.locator("#q").press("Enter")
    expect(page.locator("#problem")).to_have_text("There is nothing to search for: type some words.")
    page.locator("#q").fill("fox " * 4000)
    page.locator("#how-button").click()
    page.locator("#q").press("Enter")
    expect(page.locator("#problem")).to_have_text("The query is too long for a picture of its search.")
    unknown = open_page("?collection=nowhere&q=fox")
    expect(unknown.locator("#problem")).to_have_text("There is no collection “nowhere” here.")


def test_only_what_can_be_done_is_offered(open_page: Open) -> None:
    page = answered(open_page("?collection=hostile&q=fox&policy=calibrated&step=0"))
    expect(page.locator("#verdict")).to_contain_text("exact among 3 documents")
    assert page.locator("#policy option").all_inner_texts() == ["Certified (exact)", "Bandit", "Exhaustive (exact)"]
    page.locator("#collection").select_option("docstrings")
    expect(page.locator("#verdict")).to_contain_text("700 documents")
    assert "Calibrated" in page.locator("#policy option").all_inner_texts()
    page.locator("#policy").select_option("calibrated")
    expect(page.locator("#verdict")).to_contain_text("calibrated on sentences: at least 95 %")
    page.locator("[name=overlap]").fill("0.9999")  # more than its queries can promise
    page.locator("[name=overlap]").press("Tab")
    assert page.locator("[name=overlap]").input_value() != "0.9999"
    expect(page.locator("#problem")).to_be_hidden()


@pytest.mark.parametrize(
    "where", ["{}", '{"and": [1, null, {}]}', '{"a": []}', '{"or": [{"a": 1}]}', '{"__proto__": {"toString": 1}}']
)
def test_any_filter_in_the_address_can_be_removed(open_page: Open, where: str) -> None:
    page = open_page("?collection=files&q=tea&where=" + quote(where), expected="status of 400")
    expect(page.locator("#problem:visible, #answer:visible")).to_have_count(1)
    while page.locator("#filters .chip").count():
        before = page.locator("#filters .chip").count()
        page.locator("#filters .chip").first.click()
        expect(page.locator("#filters .chip")).not_to_have_count(before)
    expect(page.locator("#hits > li")).to_have_count(3)


def test_a_key_is_asked_for_where_there_is_one(open_page: Open, folder: Path) -> None:
    with started("--api-key", "sesame", folder / "hostile") as address:
        page = open_page("?q=fox&k=1", at=address, expected="status of 401")
        expect(page.locator("#problem")).to_contain_text("needs an API key")
        expect(page.locator("#key")).to_be_focused()
        page.keyboard.type("wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#problem")).to_be_visible()
        page.locator("#key").fill("sesame")
        page.keyboard.press("Enter")
        answered(page)
        expect(page.locator("#hits h3")).to_have_count(1)
        expect(page.locator("#key")).to_be_hidden()
        assert "sesame" not in page.url


LOOKS = {
    "wide light": (WIDE, "light"),
    "wide dark": (WIDE, "dark"),
    "phone light": (PHONE, "light"),
    "phone dark": (PHONE, "dark"),
}


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_bars_anybody(open_page: Open, look: str) -> None:
    viewport, scheme = LOOKS[look]
    files = "?collection=files&q=green+tea&where=" + quote('{"pages": {"gte": 1}}')
    slides = "?collection=slides&q=hungry+fox"
    shown = ["", ASKED + "&k=5", ASKED + "&policy=bandit&step=1", files, files + "&document=manuals/tea.pdf"]
    for address in (*shown, slides, slides + "&document=" + quote("fox.pdf#page=1")):
        page = open_page(address, viewport=viewport, color_scheme=scheme)
        expect(page.locator("#collection option")).to_have_count(4)
        if address:
            answered(page)
        if "step" in address:
            page.locator("#tables summary").click()
            page.locator("#compare").click()
            expect(page.locator("#same")).to_contain_text("Exhaustive scoring")
        elif "document" in address:
            expect(page.locator("#match-count")).not_to_be_empty()
        elif address:
            page.locator("#words button").first.click()
            for summary in page.locator("summary:visible").all():
                summary.click()
        if "slides" in address:
            seen_places(page)
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("look", LOOKS)
def test_pictures_of_the_page(open_page: Open, look: str) -> None:
    viewport, scheme = LOOKS[look]
    page = explained(open_page(ASKED + "&policy=bandit&step=2", viewport=viewport, color_scheme=scheme))
    png = page.screenshot()
    assert struct.unpack(">II", png[16:24]) == (viewport["width"], viewport["height"])
    assert len(png) > 20_000
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(251, 250, 248)" if scheme == "light" else "rgb(19, 21, 25)")

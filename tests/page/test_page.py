"""The page in a real browser: what a person sees, hears and can do."""

from __future__ import annotations

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


def ask(service: str, **more: Any) -> dict[str, Any]:
    body = json.dumps({"query": QUERY, "k": 10, "trace": True, **more}).encode()
    address = f"{service}v1/collections/docstrings/search"
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def move_to(page: Page, step: int) -> str:
    page.locator("#at").fill(str(step))
    return page.locator("#caption").inner_text()


def pixels(page: Page, name: str, canvas: str = "picture") -> int:
    """How many pixels of a canvas have a colour of the style sheet."""
    return page.evaluate(
        """([name, id]) => {
            const said = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
            const [r, g, b] = [1, 3, 5].map((i) => parseInt(said.slice(i, i + 2), 16));
            const canvas = document.getElementById(id);
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
        [name, canvas],
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
    expect(page.locator("#verdict")).to_contain_text("exact among 700 documents")
    assert parse_qs(urlsplit(page.url).query)["q"] == [QUERY]
    expect(page.locator("#news")).to_contain_text("10 hits.")


def test_documents_drop_out_as_the_slider_moves(open_page: Open, service: str) -> None:
    page = answered(open_page(ASKED + "&policy=bandit"))
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


def test_cells_are_counted_and_mostly_blank(open_page: Open, service: str) -> None:
    page = answered(open_page(ASKED + "&policy=bandit"))
    trace = ask(service, policy={"name": "bandit", "block": 1})["trace"]
    cells, before = 0, 0
    for i, one in enumerate(trace["rounds"]):
        cells += one["active"] * (one["revealed"] - before)
        before = one["revealed"]
        move_to(page, i)
        said = page.locator("#cells-note").inner_text()
        assert f"{cells:,} of {700 * len(trace['token_order']):,} cells" in said
    filled, blank = pixels(page, "blue-soft", "cells"), pixels(page, "faint", "cells")
    assert 0 < filled < blank


def test_play_and_pause(open_page: Open) -> None:
    page = answered(open_page(ASKED + "&policy=bandit", motion="no-preference"))
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
    page = answered(open_page(ASKED + "&policy=bandit&alpha=0.5&seed=7&k=3&step=2"))
    caption = page.locator("#caption").inner_text()
    assert caption.startswith("Round 3 of")
    assert page.locator("input[name=alpha]").input_value() == "0.5"
    assert page.locator("#hits h3").count() == 3
    page.locator("input[name=seed]").fill("8")
    page.locator("input[name=seed]").press("Tab")
    expect(page.locator("#news")).to_contain_text("3 hits.")
    page.wait_for_url("**seed=8**")
    assert "step" not in page.url
    move_to(page, 1)
    page.wait_for_url("**step=1**")
    shared = answered(open_page(urlsplit(page.url)._replace(scheme="", netloc="", path="").geturl()))
    assert shared.locator("#caption").inner_text() == page.locator("#caption").inner_text()
    page.go_back()
    expect(page.locator("input[name=seed]")).to_have_value("7")


@pytest.mark.parametrize("address", ["?k=0&alpha=7&policy=magic&seed=-1&delta=x&block=1.5", "?step=-3&k=1e9"])
def test_an_address_that_makes_no_sense_counts_as_not_said(open_page: Open, address: str) -> None:
    page = open_page(address)
    expect(page.locator("#collection option")).to_have_count(2)
    assert page.locator("#policy").input_value() == "certified"
    assert page.locator("input[name=k]").input_value() == "10"


def test_a_query_word_shows_what_answers_it(open_page: Open, service: str) -> None:
    page = answered(open_page(ASKED))
    hits = ask(service)["hits"]
    word = page.locator("#words button", has_text="sorted")
    word.hover()
    wanted = next(one for one in hits[0]["matches"] if one["query_word"] == "sorted")
    first = page.locator("#hits > li").first
    assert first.locator("mark.lit").inner_text() == wanted["word"]
    expect(first.locator(".answers")).to_have_text(f"sorted → {wanted['word']} {wanted['similarity']:.2f}")
    page.mouse.move(0, 0)
    expect(page.locator("mark.lit")).to_have_count(0)
    word.focus()
    assert page.locator("mark.lit").count() > 0
    page.keyboard.press("Enter")
    expect(word).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#news")).to_contain_text("“sorted” is answered in")


def test_links_within_the_page_ask_for_nothing(open_page: Open) -> None:
    page = answered(open_page(ASKED + "&step=1", viewport=PHONE))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/v1/" in request.url else None)
    page.get_by_role("link", name="Cost").click()
    page.wait_for_url("**#cost-title")
    page.go_back()
    assert page.locator("#count").inner_text().startswith("2 of")
    assert asked == []


def test_a_keyboard_is_enough(open_page: Open) -> None:
    page = open_page()
    expect(page.locator("#collection option")).to_have_count(2)
    page.locator("#q").focus()
    page.keyboard.type(QUERY)
    page.keyboard.press("Enter")
    answered(page)
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "at":
            break
    before = page.locator("#count").inner_text()
    page.keyboard.press("ArrowLeft")
    assert page.locator("#count").inner_text() != before
    said = page.locator("#at").get_attribute("aria-valuetext") or ""
    assert page.locator("#caption").inner_text() in said
    expect(page.locator("#news")).to_have_text(page.locator("#caption").inner_text())


def test_beside_exhaustive_scoring(open_page: Open) -> None:
    page = answered(open_page(ASKED))
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
    text = hit.locator(".hit-text").inner_text()
    assert "<script>document.title='owned'</script>" in text
    for name in ("U+202E", "U+202C", "U+001B"):
        assert hit.locator(".strange", has_text=name).count() == 1
    everything = page.evaluate("document.body.textContent")
    assert not set(everything) & {"\u202e", "\u202c", "\x1b"}
    assert hit.locator("mark").filter(has_text="fox").last.inner_text() == "fox"  # places count code points, not UTF-16


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
            page = answered(
                open_page(f"?collection=stored&k=12&policy={policy}&q={query}", at=address, bypass_csp=True)
            )
            expect(page.locator("#hits > li")).to_have_count(len(attacks))
            for one in page.locator("#hits mark, #hits h3, #query span").all()[:40]:
                one.hover(force=True)
            page.keyboard.press("Tab")
            assert page.evaluate("typeof owned") == "undefined"
            inserted = "#answer :is(script, img, iframe, math, style, a[href^='javascript:'], [onload], [onmouseover])"
            assert page.locator(inserted).count() == 0


def test_failures_are_sentences(open_page: Open) -> None:
    refused = r"status of 400|status of 503|ERR_"
    page = open_page("?collection=hostile&q=fox&policy=calibrated", expected=refused)
    expect(page.locator("#problem")).to_contain_text("not calibrated")
    expect(page.locator("#answer")).to_be_hidden()
    page.locator("#policy").select_option("certified")
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
    unknown = open_page("?collection=nowhere&q=fox")
    expect(unknown.locator("#problem")).to_have_text("There is no collection “nowhere” here.")


def test_a_key_is_asked_for_where_there_is_one(open_page: Open, folder: Path) -> None:
    with started("--api-key", "sesame", folder / "hostile") as address:
        page = open_page("?q=fox&k=1", at=address, expected="status of 401")
        expect(page.locator("#problem")).to_have_text("the API key is missing or wrong.")
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
    for address in ("", ASKED, ASKED + "&policy=bandit&step=1", ASKED + "&policy=calibrated&k=3"):
        page = open_page(address, viewport=viewport, color_scheme=scheme)
        expect(page.locator("#collection option")).to_have_count(2)
        if address:
            answered(page)
            page.locator("#tables summary").click()
            page.locator("#compare").click()
            expect(page.locator("#same")).to_contain_text("Exhaustive scoring")
            page.locator("#words button").first.click()
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("look", LOOKS)
def test_pictures_of_the_page(open_page: Open, look: str) -> None:
    viewport, scheme = LOOKS[look]
    page = answered(open_page(ASKED + "&policy=bandit&step=2", viewport=viewport, color_scheme=scheme))
    png = page.screenshot()
    assert struct.unpack(">II", png[16:24]) == (viewport["width"], viewport["height"])
    assert len(png) > 20_000
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(251, 250, 248)" if scheme == "light" else "rgb(19, 21, 25)")

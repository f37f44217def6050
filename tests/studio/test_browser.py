"""The whole path in a real browser: ``make test-browser``.

Needs Chromium and its driver; Debian has them as chromium and chromium-driver.
"""

from __future__ import annotations

import os
import shutil
import time

import numpy as np
import pandas as pd
import pytest

from studio.live_server import TOKEN, running_studio
from studio.tables_of_mine import HOSTILE, mixed_table

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(
        not os.environ.get("ABSENTIA_BROWSER"), reason="`make test-browser` starts a browser"
    ),
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver"),
]
_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
_PATIENCE = 240


@pytest.fixture(scope="module")
def client():
    with running_studio() as client:
        yield client


@pytest.fixture
def browser(tmp_path):
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in (*_OPTIONS, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(option)
    options.add_experimental_option(
        "prefs",
        {"download.default_directory": str(tmp_path), "download.prompt_for_download": False},
    )
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield driver
    errors = [entry for entry in driver.get_log("browser") if "favicon" not in entry["message"]]
    driver.quit()
    assert not errors


def waited(condition, seconds=_PATIENCE):
    from selenium.common.exceptions import StaleElementReferenceException

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if condition():
                return
        except StaleElementReferenceException:
            pass  # the page was drawn anew between two looks
        time.sleep(0.1)
    pytest.fail(f"waited for {seconds} seconds")


def find(browser, selector):
    return browser.find_element("css selector", selector)


def resize(browser, width):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )


def nothing_sticks_out(browser):
    return browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")


def field(browser, name):
    fields = browser.find_elements("css selector", ".field")
    return next(found for found in fields if found.get_attribute("data-name") == name)


@pytest.mark.parametrize(("target", "width"), [("kind", 1280), ("value", 400)])
def test_from_a_file_to_an_export(client, browser, tmp_path, target, width):
    from selenium.webdriver.common.action_chains import ActionChains

    table = mixed_table().drop(columns={"kind": "value", "value": "kind"}[target])
    file = tmp_path / "mine.csv"
    table.to_csv(file, index=False)
    resize(browser, width)
    browser.get(f"{client.origin}/{TOKEN}/")
    waited(lambda: browser.find_elements("css selector", "[data-example]"))
    assert nothing_sticks_out(browser)

    find(browser, "#file").send_keys(str(file))
    waited(lambda: find(browser, "#missing").is_displayed())
    assert HOSTILE in find(browser, "#first").text  # as text, and no picture was made of it
    assert not browser.find_elements("css selector", "main img")
    assert nothing_sticks_out(browser)

    find(browser, "#missing [data-go=columns]").click()
    assert target in find(browser, "#target").text
    assert nothing_sticks_out(browser)
    # Notes wrap: none is beyond the edge, where nobody scrolls to.
    notes = browser.find_elements("css selector", "#readings td.long")
    shown = [note for note in notes if note.text]
    assert shown
    assert all(note.rect["x"] + note.rect["width"] <= width for note in shown)
    find(browser, "#columns [data-go=train]").click()
    learned = {"kind": "kind, as classes", "value": "value, as a quantity"}[target]
    assert f"Learns to predict {learned}, from 4 other columns" in find(browser, "#train").text
    find(browser, "#start-train").click()
    waited(lambda: find(browser, "#after-training").is_displayed())
    assert nothing_sticks_out(browser)
    said = find(browser, "#trained").text
    assert "± is one standard error; the line extends two to either side" in said
    measure = "accuracy" if target == "kind" else "R²"
    assert measure in find(browser, "#model-scores svg").text  # the name of the axis
    titles = [title.text for title in browser.find_elements("css selector", "#trained h3")]
    more = ["Right and wrong answers", "Are the chances right?"]
    more = more if target == "kind" else ["Answers and truth"]
    assert titles == ["The columns that matter", *more]

    find(browser, "#after-training [data-go=row]").click()
    waited(lambda: browser.find_elements("id", "prediction"))
    listed = find(browser, "#answer table").text
    assert all(name in listed for name in ("a", "word", "noise"))
    doubt = find(browser, "#doubt").text
    assert "4 unknown fields" in doubt
    # Typing a value makes it known, and the answer follows.
    field(browser, "a").find_element("css selector", "input").send_keys("2")
    waited(lambda: "3 unknown fields" in find(browser, "#doubt").text)
    # The columns that made the answer, and a belief about what is unknown, with what-if answers.
    parts = "#parts svg"
    waited(lambda: any("a" in made.text for made in browser.find_elements("css selector", parts)))
    word, noise = (field(browser, name) for name in ("word", "noise"))
    assert len(word.find_elements("css selector", ".belief rect")) == 3
    assert not field(browser, "a").find_elements("css selector", ".belief svg")
    ActionChains(browser).move_to_element(noise.find_element("css selector", "svg")).perform()
    waited(lambda: noise.find_element("css selector", "figcaption").text.startswith("if "))
    ends = noise.find_elements("css selector", ".ends span")
    assert float(ends[0].text) < 0 < float(ends[1].text)
    labels = word.find_elements("css selector", ".bars span")
    assert [label.text for label in labels] == ["high", "low", "middle"]
    if width == 400:  # the form is below the answer, which stays in sight
        browser.execute_script("arguments[0].scrollIntoView()", noise)
        now = find(browser, "#answer-now")
        assert now.text.startswith(f"{target}: {find(browser, '#prediction').text}")
        assert browser.execute_script("return arguments[0].getBoundingClientRect().top", now) == 0
    if target == "value":
        assert "The answer is now ± " in find(browser, "#doubt-now").text
        assert "± " in find(browser, "#answer tbody td.number").text
    assert nothing_sticks_out(browser)
    browser.execute_script(
        "const cost = document.querySelector(\"[aria-label='Cost of word']\");"
        "cost.value = 1e6; cost.dispatchEvent(new Event('change'))"
    )
    rows = "#answer tbody tr"
    waited(lambda: browser.find_elements("css selector", rows)[-1].text.startswith("word"))
    for name in ("noise", HOSTILE):
        field(browser, name).find_element("css selector", "input").send_keys("0")
    waited(lambda: "due to 1 unknown field; measuring it" in find(browser, "#doubt").text)

    find(browser, "nav [data-go=batch]").click()
    find(browser, "#batch-own").click()
    waited(lambda: find(browser, "#export").is_displayed())
    assert nothing_sticks_out(browser)
    find(browser, "#batch-filter").send_keys("row < 6")
    waited(lambda: find(browser, "#batch-count").text == f"5 of {len(table)} rows")
    assert "%" in find(browser, "#batch-table tbody tr").text
    number = find(browser, "#batch-table .link")
    opened = int(number.text)
    number.click()
    waited(lambda: find(browser, "#row").is_displayed())
    typed = table["noise"].iloc[opened - 1]
    shown = "" if pd.isna(typed) else f"{typed:.10g}"
    noise = field(browser, "noise").find_element("css selector", "input")
    waited(lambda: noise.get_attribute("value") == shown)
    find(browser, "nav [data-go=batch]").click()
    find(browser, "#batch-report").click()
    waited((tmp_path / "predictions.html").exists, 60)
    find(browser, "#export").click()
    exported = tmp_path / "predictions.csv"
    waited(exported.exists, 60)
    found = pd.read_csv(exported)
    assert len(found) == len(table)
    assert found["doubt"].is_monotonic_decreasing


def test_long_names_stay_on_a_small_screen_and_a_mended_file_is_read_again(
    client, browser, tmp_path
):
    names = [f"measurement of sensor {k} in the northern hall, daily mean" for k in range(12)]
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 12)), columns=names)
    file = tmp_path / "mine.csv"
    file.write_text("")
    resize(browser, 400)
    browser.get(f"{client.origin}/{TOKEN}/")
    waited(lambda: browser.find_elements("css selector", "[data-example]"))
    find(browser, "#file").send_keys(str(file))
    waited(lambda: find(browser, "#message").is_displayed())
    browser.get_log("browser")  # the refusal
    table.to_csv(file, index=False)
    find(browser, "#file").send_keys(str(file))
    waited(lambda: find(browser, "#missing").is_displayed())
    assert nothing_sticks_out(browser)
    find(browser, "nav [data-go=columns]").click()
    assert nothing_sticks_out(browser)
    find(browser, "nav [data-go=train]").click()
    assert nothing_sticks_out(browser)


def test_the_comparison_has_the_errors_and_the_scale_of_the_model(client, browser, tmp_path):
    file = tmp_path / "mine.csv"
    mixed_table().drop(columns="kind").to_csv(file, index=False)
    browser.get(f"{client.origin}/{TOKEN}/")
    waited(lambda: browser.find_elements("css selector", "[data-example]"))
    find(browser, "#file").send_keys(str(file))
    waited(lambda: find(browser, "#missing").is_displayed())
    find(browser, "nav [data-go=train]").click()
    for start in ("#start-compare", "#start-train"):
        waited(lambda start=start: find(browser, start).is_enabled())
        find(browser, start).click()
        waited(lambda: find(browser, "#working").is_displayed())
        waited(lambda: not find(browser, "#working").is_displayed())
    for part in ("#trained", "#comparison"):
        assert (
            "± is one standard error; the line extends two to either side"
            in find(browser, part).text
        )
    assert "Train this: kernel on beliefs" in find(browser, "#comparison").text
    assert find(browser, "#advice").text.startswith("The highest score is that of")
    assert len(browser.find_elements("css selector", "#comparison button.primary")) == 1
    model, methods = (
        [(text.text, round(text.rect["x"])) for text in find(browser, f"{part} svg").find_elements(
            "css selector", "text[text-anchor=middle]")]
        for part in ("#model-scores", "#method-scores")
    )  # fmt: skip
    assert len(model) > 2
    assert model == methods


def test_work_can_be_stopped_and_another_tab_goes_on(client, browser):
    browser.get(f"{client.origin}/{TOKEN}/")
    waited(lambda: browser.find_elements("css selector", "[data-example]"))
    find(browser, "[data-example=wine]").click()
    waited(lambda: find(browser, "#missing").is_displayed())
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    browser.get(f"{client.origin}/{TOKEN}/")
    waited(lambda: browser.find_elements("css selector", "[data-example=diabetes]"))
    find(browser, "[data-example=diabetes]").click()
    waited(lambda: "diabetes" in find(browser, "#missing-sentence").text)
    browser.switch_to.window(first)
    assert "wine" in find(browser, "#missing-sentence").text
    find(browser, "nav [data-go=train]").click()
    find(browser, "#start-train").click()
    waited(lambda: find(browser, "#stop").is_displayed())
    find(browser, "#stop").click()
    waited(lambda: "Stopped" in find(browser, "#message").text)
    assert not find(browser, "#after-training").is_displayed()

"""The page of results in a real Chromium: every view, at two widths, without a message on its console."""

import random
import re
import shlex
import shutil

import pytest

import published_study
from ladder.site import cases, page
from ladder.statistics import claims
from ladder.verbs.command_line import parser

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs a browser: apt-get install chromium chromium-driver"),
    pytest.mark.xdist_group("chromium"),
    pytest.mark.slow,
]
VIEWS = ("results", "explore", "case?row=0", "compare", "roofline", "learning", "validation", "missing", "machines")
WIDTHS = (1400, 390)
RANDOM_VIEWS = 30


class Browser:
    """A page in Chromium, with what tests ask of it."""

    def __init__(self, path):
        from selenium import webdriver  # here, so that collecting the tests doesn't require it

        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        self.address = path.as_uri()
        self.resize(WIDTHS[0])

    def resize(self, width):
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def emulate(self, media="", scheme="light"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [feature]})

    def open(self, view):
        """Reload the page at a view, and wait until its chart is drawn, if it has one."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}#{view}")
        self.wait()

    def go(self, view):
        """Go to a view of the loaded page, as a link does."""
        self.run("location.hash = arguments[0]; dispatchEvent(new Event('hashchange'))", view)

    def wait(self):
        self.driver.execute_async_script(
            """const done = arguments[0];
            const isDrawn = () => [...document.querySelectorAll("section:not([hidden]) .chart")]
              .every((chart) => chart.dataset.drawn || !chart.firstChild);
            const poll = () => (isDrawn() ? done() : setTimeout(poll, 20));
            poll();"""
        )

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def messages(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def table(self, selector):
        """The texts of a table's cells, row by row, the head first."""
        return self.run(
            """return [...document.querySelectorAll(arguments[0] + " tr")].filter((row) => !row.hidden)
            .map((row) => [...row.cells].map((cell) => cell.innerText.trim()))""",
            selector,
        )

    def select(self, name, value):
        self.run(
            """const select = document.querySelector(`section:not([hidden]) select[name=${arguments[0]}]`);
            select.value = arguments[1];
            select.dispatchEvent(new Event("change"));""",
            name,
            value,
        )
        self.wait()

    def press(self, *keys):
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(published_study.write_page(tmp_path_factory.mktemp("page")))
    yield browser
    browser.driver.quit()


@pytest.fixture(autouse=True)
def _reset_and_check_console(browser):
    browser.resize(WIDTHS[0])
    browser.emulate()
    yield
    assert browser.messages() == []


@pytest.fixture(scope="module")
def rows():
    """The rows of the page's data, one for each case."""
    return cases.rows(published_study.study())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_fits_the_window_and_is_the_only_one(browser, view, width):
    browser.resize(width)
    browser.open(view)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    visible = browser.run(
        "return [...document.querySelectorAll('[data-view]')].filter((s) => !s.hidden).map((s) => s.id)"
    )
    assert visible == [view.partition("?")[0]]
    if view.partition("?")[0] in ("explore", "case", "compare", "roofline"):
        assert browser.run("return document.querySelectorAll('section:not([hidden]) .chart svg path').length") > 1


@pytest.mark.parametrize("seed", range(RANDOM_VIEWS))
def test_random_views_of_the_explorer_show_the_numbers_of_the_tables(browser, rows, seed):
    generator = random.Random(seed)
    if not browser.driver.current_url.startswith(browser.address):
        browser.open("explore")
    row = generator.choice(rows)
    filters = {"machine": row["machine"], "variant": row["variant"]}
    names = generator.sample(sorted(filters), generator.randint(0, len(filters)))
    query = {"system": row["workload"], "question": generator.choice([row["experiment"], "all"])}
    query |= {name: filters[name] for name in names} | {
        "show": generator.choice(["time", "flops", "bandwidth", "share"])
    }
    browser.go("explore?" + "&".join(f"{name}={value}" for name, value in query.items()))
    head, *table_rows = browser.table("#explore [data-table] table")
    time_column = [re.sub(r"\s*[↕↑↓]$", "", name) for name in head].index("Time")
    expected = [
        entry
        for entry in rows
        if entry["workload"] == row["workload"]
        and query["question"] in ("all", entry["experiment"])
        and all(entry[name] == filters[name] for name in names)
    ]
    assert [line[:2] for line in table_rows] == [[entry["variant"], entry["machine"]] for entry in expected]
    seconds = [entry["seconds"] for entry in expected]
    # A printed time has three digits.
    assert [seconds_of(line[time_column]) for line in table_rows] == pytest.approx(seconds, rel=0.006)
    assert values(browser, "explore", time_column) == seconds


def seconds_of(text):
    """The seconds of a text such as `31.2 ms`."""
    value, unit = text.split()
    return float(value) * {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]


def test_the_address_keeps_the_choice(browser):
    browser.open("explore?system=gemv&question=gemv_threads")
    browser.select("show", "bandwidth")
    browser.select("against", "threads")
    address = browser.driver.current_url
    assert "show=bandwidth" in address
    before = browser.table("#explore [data-table] table")
    browser.open(address.partition("#")[2])
    assert browser.run("return document.querySelector('#explore select[name=against]').value") == "threads"
    assert browser.table("#explore [data-table] table") == before


def test_boxes_filter_the_table(browser):
    browser.open("explore?system=gemv&question=gemv_threads")
    all_lines = browser.table("#explore [data-table] table")
    browser.run("document.querySelector('#explore input[name=variant][value=blas]').click()")
    browser.wait()
    assert {line[0] for line in browser.table("#explore [data-table] table")[1:]} == {"blas"}
    assert "variant=blas" in browser.driver.current_url
    browser.run("document.querySelector('#explore input[name=variant][value=blas]').click()")
    assert browser.table("#explore [data-table] table") == all_lines


def test_a_table_sorts_by_the_keyboard_and_says_so(browser):
    from selenium.webdriver.common.keys import Keys

    browser.open("explore?system=gemv&question=gemv_threads")
    heads = "[...document.querySelectorAll('#explore [data-table] th')]"
    browser.run(f"{heads}.find((head) => head.innerText.startsWith('Time')).querySelector('button').focus()")
    for direction, sign in (("ascending", 1), ("descending", -1)):
        browser.press(Keys.ENTER)
        assert browser.run(f"return {heads}.map((head) => head.getAttribute('aria-sort')).filter(Boolean)") == [
            direction
        ]
        head, *lines = browser.table("#explore [data-table] table")
        time_column = next(index for index, name in enumerate(head) if name.startswith("Time"))
        times = [sign * seconds_of(line[time_column]) for line in lines]
        assert times == sorted(times)


def test_cells_without_a_value_stay_last(browser):
    browser.open("results")
    for _ in range(2):
        browser.run("document.querySelectorAll('#verdict-table th button')[3].click()")
        column = [line[3] for line in browser.table("#verdict-table")[1:]]
        empty = [text == "–" for text in column]
        assert empty == sorted(empty)


def test_verdicts_are_filtered_by_group_and_verdict(browser):
    browser.open("verdicts")
    all_lines = browser.table("#verdict-table")
    browser.select("group", "own")
    assert {line[-1] for line in browser.table("#verdict-table")[1:]} == {"our own claims"}
    browser.select("verdict", "not tested")
    untested = browser.table("#verdict-table")[1:]
    assert {(line[4], line[-1]) for line in untested} == {("not tested", "our own claims")}
    assert f"{len(untested)} of {len(all_lines) - 1}" in browser.run(
        "return document.querySelector('.filter').innerText"
    )
    browser.select("group", "studies")
    assert {line[-1] for line in browser.table("#verdict-table")[1:]} == {"with a number", "without a number"}


def test_a_count_of_verdicts_leads_to_as_many_rows(browser):
    browser.open("results")
    links = browser.run("return [...document.querySelectorAll('.findings a')].map((a) => [a.hash, a.innerText])")
    counts = [(address, text) for address, text in links if "verdict=" in address]
    assert counts
    for address, text in counts:
        browser.run("document.querySelector(`.findings a[href='${arguments[0]}']`).click()", address)
        browser.go(address[1:])
        assert len(browser.table("#verdict-table")) - 1 == int(text.split()[0])


def test_a_claim_is_marked_and_in_the_window(browser):
    browser.open("results")
    claim = browser.run("return [...document.querySelectorAll('#verdict-table tbody tr')].at(-1).dataset.claim")
    browser.go(f"verdicts?claim={claim}")
    assert browser.run("return document.querySelector('.marked').dataset.claim") == claim
    assert 0 <= browser.run("return document.querySelector('.marked').getBoundingClientRect().top") < 900


def test_a_verdict_explains_itself_and_leads_to_its_cases_and_the_rules(browser):
    browser.open("results")
    rows = "[...document.querySelectorAll('#verdict-table tbody tr')]"
    claim = browser.run(f"return {rows}.find((row) => row.querySelector('.why a[href^=\"#case\"]')).dataset.claim")
    browser.go(f"verdicts?claim={claim}")
    assert browser.run("return document.querySelector('.marked .why').innerText").count("claimed;") == 1
    browser.run("document.querySelector('.marked .why a[href^=\"#case\"]').click()")
    browser.wait()
    assert "Samples" in browser.run("return document.querySelector('#case').innerText")
    browser.open("rules")
    table = dict(browser.table("#rules table")[1:])
    assert table == claims.RULES


def test_verdicts_sort_from_as_claimed_to_not_tested(browser):
    browser.open("results")
    browser.run("document.querySelectorAll('#verdict-table th button')[4].click()")
    order = [claims.VERDICTS.index(line[4]) for line in browser.table("#verdict-table")[1:]]
    assert order == sorted(order)


def test_the_skip_link_comes_first_and_leads_to_the_content(browser):
    from selenium.webdriver.common.keys import Keys

    browser.driver.get("about:blank")
    browser.driver.get(browser.address)
    browser.press(Keys.TAB)
    assert browser.run("return document.activeElement.className") == "skip"
    browser.press(Keys.ENTER)
    assert browser.run("return document.activeElement.id") == "main"
    assert browser.run("return document.querySelector('#results').hidden") is False


def test_a_case_has_its_samples_checks_and_the_command_that_measures_it(browser, rows):
    # A case whose first process has a campaign.
    number = next(i for i, row in enumerate(rows) if row["experiment"] == "gemv_gpu" and row["processes"][0][0])
    row = rows[number]
    browser.open(f"case?row={number}")
    text = browser.run("return document.querySelector('#case').innerText")
    assert row["machine"] in text
    for campaign, commit, *_ in row["processes"]:
        assert f"results/published/campaigns/{campaign}/samples.csv.gz" in text
        assert commit in text
    assert "2 × NVIDIA H200" in text
    assert "2026-11-28, when its campaign began" in text
    numbers = browser.run(
        "return [...document.querySelectorAll('#case .role-axis-label text')].map((label) => label.textContent)"
    )
    assert {str(number) for _, _, number, _ in row["processes"]} <= {*numbers}
    marks = browser.run("return document.querySelectorAll('#case .chart .mark-symbol.role-mark path').length")
    assert marks == sum(len(samples) for *_, samples in row["processes"])
    assert len(browser.table("#case table")) > 1
    command = browser.run("return document.querySelector('#case pre').innerText").splitlines()[-1]
    words = shlex.split(command)
    options = parser().parse_args(words[words.index("ladder") + 1 :])
    assert (options.workload, options.variant, options.case) == (row["workload"], row["variant"], row["case"])


def test_the_same_case_elsewhere_has_its_days(browser, rows):
    case = "n=16384,m=32768,dtype=float64,seed=1,cache=cold"
    number = next(
        i
        for i, row in enumerate(rows)
        if row["machine"].startswith("nvidia-h200 ") and (row["variant"], row["case"]) == ("cuda_warp", case)
    )
    browser.open(f"case?row={number}")
    head, *others = browser.table("#case table:last-of-type")
    date_column = next(index for index, name in enumerate(head) if name.startswith("Measured on"))
    assert any(row[date_column].startswith("2026-11-28, when its campaign began") for row in others)


def test_the_learning_view_lists_trainings_before_timing_runs(browser):
    browser.open("learning")
    text = browser.run("return document.querySelector('#learning').innerText")
    assert "network 784-300-10 of mlp, recognises 97.52 % of the test images of MNIST after 8 epochs" in text
    learning, timing = text.index("Trainings of at least 5 epochs"), text.index("Timing runs")
    assert learning < text.index("97.52 %: mlp, 784-300-10") < timing < text.index(": backprop, 784-56-28-10")
    runs = browser.table("#learning details[open] table")[1:]
    assert len({tuple(run) for run in runs}) == len(runs) == 4
    address = browser.run("return document.querySelector('#learning details a').hash")
    browser.open(address[1:])
    assert "accuracy 97.52 %" in browser.run("return document.querySelector('#case').innerText")


def test_a_ladder_leads_to_its_cases(browser):
    browser.open("results")
    address = browser.run("return document.querySelector('.ladder tbody a').hash")
    browser.open(address[1:])
    assert "Samples" in browser.run("return document.querySelector('#case').innerText")


def test_two_machines_swapped_have_inverse_ratios(browser):
    browser.open("compare")
    a, b = (browser.run(f"return document.querySelector('#compare select[name={name}]').value") for name in "ab")
    ratios = values(browser, "compare", 3)
    browser.open(f"compare?a={b}&b={a}")
    swapped_ratios = values(browser, "compare", 3)
    assert len(ratios) > 0
    assert swapped_ratios == pytest.approx([1 / ratio for ratio in ratios], rel=1e-9)


def values(browser, view, column):
    """The exact numbers by which a column of a view's table is sorted."""
    return browser.run(
        """return [...document.querySelectorAll(`#${arguments[0]} [data-table] tbody tr`)]
        .map((row) => Number(row.cells[arguments[1]].dataset.value))""",
        view,
        column,
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_contrasts_with_the_ground_in_both_schemes(browser, scheme):
    browser.emulate(scheme=scheme)
    browser.open("explore")
    style = "const style = getComputedStyle(document.body); return [style.color, style.backgroundColor]"
    colours = [[int(part) for part in re.findall(r"\d+", colour)] for colour in browser.run(style)]
    text, ground = (sum(colour[:3]) for colour in colours)
    assert (text > ground) == (scheme == "dark")
    assert abs(text - ground) > 400  # of 765, the difference between black and white
    label = browser.run("return getComputedStyle(document.querySelector('#explore .role-axis-label text')).fill")
    assert sum(map(int, re.findall(r"\d+", label)[:3])) == text


def test_print_shows_the_view_without_its_controls(browser):
    browser.open("explore")
    browser.emulate(media="print", scheme="dark")
    assert browser.run("return getComputedStyle(document.querySelector('header')).display") == "none"
    assert browser.run("return getComputedStyle(document.querySelector('#explore form')).display") == "none"
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_a_page_without_measurements_says_so_in_every_view(browser, tmp_path, monkeypatch):
    from ladder.store.study import Study

    path = tmp_path / "empty.html"
    path.write_text(page.page(Study({}, None)), encoding="utf-8")
    monkeypatch.setattr(browser, "address", path.as_uri())
    for view in VIEWS:
        browser.open(view)
    browser.open("compare")
    assert "No case was measured" in browser.run("return document.querySelector('#compare').innerText")

"""Drives the dashboard in headless Chromium: every page and every action, against a server that runs.

usage: dashboard.py SERVER RECEIVER    SERVER is empty; RECEIVER answers 503 below /broken and 204 elsewhere

Exits 0 when all holds; else the traceback says what does not.
"""

import sys
import time

from browser import Browser, Raw, call, raw

HOSTILE = "<img src=x onerror=alert(1)>"


def an_empty_page_teaches(page):
    page.open("#/")
    page.see("No webhooks yet")
    assert page.server + "/v1/delegates" in page.text("pre")
    for place, words in {"delegates": "No webhooks yet", "events": "No events yet", "state": "No app state yet"}.items():
        page.open("#/" + place)
        page.see(words)
        page.check_accessibility()


def errors_stand_at_their_fields(page):
    page.keys("n")
    page.see("New delegate")
    assert page.focused() == "field-url"
    page.type("ftp://nowhere")
    # While the user types, and only at fields that are filled in.
    page.wait(lambda: page.text("#error-url"))
    assert page.focused() == "field-url" and page.text("#error-events") == ""
    page.fill("field-events", "auth.* B@d")
    page.wait(lambda: "Entry 2" in page.text("#error-events"))
    page.click("More settings")
    page.fill("field-max_in_flight", "0")
    page.fill("field-filter", '{"data":\n{,}}')
    page.click("Register")
    page.wait(lambda: "Line 2, column 2" in page.text("#error-filter"))
    page.fill("field-filter", "")
    page.click("Register")
    page.wait(lambda: page.text("#error-url"))
    assert "Entry 2" in page.text("#error-events"), page.text("#error-events")
    assert "1 to 256" in page.text("#error-max_in_flight")
    assert page.attribute("#field-url", "aria-invalid") == "true"
    assert page.focused() == "field-url"
    page.check_accessibility()


def a_delegate_is_registered(page):
    page.fill("field-url", page.receiver + "/orders")
    page.fill("field-events", "order.* auth.*")
    page.fill("field-max_in_flight", "")
    page.fill("field-description", "Order desk")
    page.click("Register")
    page.see("This is shown once.")
    assert "whsec_" in page.text("dialog pre")
    page.check_accessibility()
    page.click("Go to the delegate")
    page.see("Rotate secret")


def a_delegate_is_tested_paused_and_changed(page):
    page.click("Test")
    page.wait(lambda: "HTTP 204" in page.text("dialog"))
    page.click("Pause")
    page.wait(lambda: "paused" in page.text(".drawer-head .state"))
    page.click("Resume")
    page.wait(lambda: "active" in page.text(".drawer-head .state"))
    # The pressed button is replaced: the focus is where it was.
    page.wait(lambda: page.script("return document.activeElement.className") == "drawer-head")
    page.click("Settings")
    page.fill("field-description", "Orders and logins")
    page.click("Save")
    page.see("Saved.")
    page.wait(lambda: page.script("return document.activeElement.innerText") == "Save")
    page.wait(lambda: call(page.server, "GET", "/v1/delegates?kind=webhook")["data"][0]["description"] == "Orders and logins")
    page.fill("field-timeout_seconds", "900", opening="More settings")
    page.click("Save")
    page.wait(lambda: "1 to 60" in page.text("#error-timeout_seconds"))
    page.click("Rotate secret")
    page.click("Rotate")
    page.see("The new secret")
    page.check_accessibility()
    page.escape()
    page.wait(lambda: page.hash() == "#/delegates")
    # A dialog that opens with its page leaves the focus to the page.
    page.keys("gs")
    page.see("State")
    page.keys("n")
    page.wait(lambda: page.focused() == "field-url")
    page.escape()
    page.wait(lambda: page.focused() == "main")


def a_secret_without_a_public_key_is_for_the_receiver(page):
    delegate = call(page.server, "POST", "/v1/delegates", {"url": page.receiver + "/text", "events": ["never.*"], "request": {"sign": ["github"]},
                                                           "secret": "a-text-that-both-have"})["id"]
    page.open("#/delegates/" + delegate)
    page.click("Rotate secret")
    page.click("Rotate")
    page.see("The new secret")
    assert "Give it to the receiver" in page.text("dialog") and "Verify in" not in page.text("dialog")
    page.escape()
    call(page.server, "DELETE", "/v1/delegates/" + delegate)


def names_of_javascript_and_of_nothing_are_names(page):
    names = ("constructor", "__proto__", "toString")
    delegate = call(page.server, "POST", "/v1/delegates", {"url": page.receiver + "/names", "events": ["never.*"], "description": "\u200b\ufeff\u3164\u115f\u2800",
                                                           "metadata": dict.fromkeys(names, "one")})["id"]
    page.open("#/delegates/" + delegate)
    page.wait(lambda: page.text("dialog h2") == page.receiver.split("/")[2])
    page.click("Settings")
    page.fill("field-metadata", "__proto__: two", opening="More settings")
    page.click("Save")
    page.see("Saved.")
    assert call(page.server, "GET", "/v1/delegates/" + delegate)["metadata"] == {"__proto__": "two"}
    # What the form can't show as "name: value" stays as it is.
    odd = {"team:owner": "web", "note": "a\nb: c", '"quoted"': "x", "plain": "1: 2", "b:1": "", " edge ": " e "}
    call(page.server, "PATCH", "/v1/delegates/" + delegate, {"metadata": odd | {"__proto__": None}})
    page.open("#/delegates")
    page.open("#/delegates/" + delegate)
    page.click("Settings")
    page.fill("field-description", "Odd")
    shown = page.script("return document.getElementById('field-metadata').value")
    page.fill("field-metadata", shown + "\nenv: prod", opening="More settings")
    page.click("Save")
    page.see("Saved.")
    found = call(page.server, "GET", "/v1/delegates/" + delegate)["metadata"]
    assert found == odd | {"env": "prod"}, found
    # Times go on, also where nothing is read again.
    before = page.texts("dialog p.small time")
    page.wait(lambda: page.texts("dialog p.small time") != before)
    page.click("Remove")
    page.press("dialog.ask", "Remove")
    page.wait(lambda: page.hash() == "#/delegates")


def the_list_is_searched(page):
    call(page.server, "POST", "/v1/delegates", {"url": page.receiver + "/broken", "events": ["order.*"], "description": HOSTILE, "retry_schedule": [600]})
    call(page.server, "POST", "/v1/delegates", {"url": page.receiver + "/quiet", "events": ["never.*"]})
    page.see(HOSTILE)
    page.keys("/")
    assert page.focused() == "search"
    page.type("orders and")
    page.wait(lambda: len(page.all("tbody tr")) == 1)
    page.fill("search", "")
    page.choose("status", "paused")
    page.see("No delegate matches.")
    page.choose("status", "")
    page.check_accessibility()


def an_event_is_posted(page):
    page.keys("gp")
    page.see("Publish an event")
    page.click("something of your own")
    page.fill("event", '{\n  "type": "order.paid"\n  "data": 1\n}')
    page.wait(lambda: "Line 3, column 3" in page.text("#event-error"))
    page.fill("event", '{\n  "type": "Order!",\n  "data": 1\n}')
    page.click("Publish")
    page.wait(lambda: "Line 2: /type" in page.text("#event-error"))
    page.check_accessibility()
    page.fill("event", '{"type": "order.paid", "subject": "order:1", "data": {"note": "%s"}}' % HOSTILE)
    page.click("Dry run")
    page.see("2 delegates would receive it, 1 other would not")
    assert "/events: none of its patterns" in page.text("main")
    # The event is published, but the response is lost: the next one publishes no other event.
    page.script("""const real = window.fetch;
        window.fetch = async (path, options) => {
            const answer = await real(path, options);
            if (path !== "v1/events") return answer;
            window.fetch = real;
            throw new TypeError("lost");
        }""")
    page.click("Publish")
    page.wait(lambda: "can't be reached" in page.text("#event-error"))
    # A double click publishes one event.
    page.script("const publish = document.querySelector('main form .primary'); publish.click(); publish.click()")


def its_story_is_told(page):
    page.wait(lambda: page.hash().startswith("#/events/evt_"))
    assert len(call(page.server, "GET", "/v1/events?subject=order:1")["data"]) == 1
    page.wait(lambda: sorted(page.texts(".end .state")) == ["● delivered", "◐ retrying"])
    assert len(page.all("circle.mark.good")) == 1 and len(page.all("path.mark.bad")) == 1 and len(page.all(".mark.next")) == 1
    page.tap(".tale summary")
    page.wait(lambda: page.all(".phases svg"))
    assert HOSTILE in page.text("pre.body")
    page.check_accessibility()
    page.click("Raw")
    assert '{"note":' in page.text("pre.body")
    # A double click sends one request.
    assert page.script("""const real = window.fetch;
        let sent = 0;
        window.fetch = (path, options) => {
            sent += String(path).endsWith("/redeliver");
            return real(path, options);
        };
        const again = [...document.querySelectorAll(".delivery")].find((each) => each.innerText.includes("delivered")).querySelector(".end button");
        again.click();
        again.click();
        window.fetch = real;
        return sent""") == 1
    page.wait(lambda: len(page.all("circle.mark.good")) == 2)
    page.click("Redeliver to all")
    page.see("Redeliver to 2 delegates?")
    page.click("Redeliver")
    page.wait(lambda: len(page.all("circle.mark.good")) == 3 and len(page.all("path.mark.bad")) >= 2)


def an_erased_event_says_so(page):
    event = call(page.server, "POST", "/v1/events", {"type": "order.erased", "subject": "order:erased"})["id"]
    page.open("#/events/" + event)
    page.wait(lambda: len(page.all(".delivery")) == 2)
    call(page.server, "DELETE", "/v1/subjects?subject=order:erased")
    page.open("#/events")
    page.open("#/events/" + event)
    page.see("None: the event was erased.")


def the_tail_does_not_jump(page):
    page.keys("ge")
    page.see("order.paid")
    call(page.server, "POST", "/v1/events", {"type": "live.one"})
    page.see("live.one")
    page.click("Pause")
    call(page.server, "POST", "/v1/events", {"type": "live.two"})
    page.see("1 new")
    assert "live.two" not in page.text("tbody")
    page.check_accessibility()
    page.click("1 new")
    page.wait(lambda: "live.two" in page.text("tbody"))
    page.fill("type", "live.*", enter=True)
    page.wait(lambda: page.hash() == "#/events?type=live.*")
    page.wait(lambda: len(page.all("tbody tr")) == 2)
    page.open("#/events?type=No!")
    page.wait(lambda: "must be a type" in page.text("main"))


def a_burst_adds_only_new_rows(page):
    page.open("#/events")
    page.wait(lambda: page.all("tbody tr"))
    page.script("""window.added = 0;
        new MutationObserver((changes) => changes.forEach((each) => added += each.addedNodes.length))
            .observe(document.querySelector("main"), {childList: true, subtree: true})""")
    # The last row that is shown has a lower time than those before and after it.
    old = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600))}
    for batch in range(3):
        call(page.server, "POST", "/v1/events", [{"type": "burst.one", "data": batch * 100 + number, **(old if batch * 100 + number == 100 else {})} for number in range(100)])
    page.wait(lambda: page.texts("tbody tr:first-child td.data") == ["299"])
    # A few more are the button for older events.
    assert page.script("return added") <= 310, page.script("return added")
    # The rows below follow when no more events arrive.
    page.wait(lambda: len(page.all("tbody tr")) == 200)
    # Those that had to make room come again.
    page.click("Older events")
    page.wait(lambda: len(page.all("tbody tr")) > 200)
    shown = page.texts("tbody td.data")
    assert shown[:201] == [str(number) for number in range(299, 98, -1)], shown


def stored_numbers_are_shown_as_they_are(page):
    text = '{"big":8202522731445525542,"huge":1e400,"one":1.0}'
    event = call(page.server, "POST", "/v1/events", Raw('{"type": "number.big", "data": %s}' % text))["id"]
    page.open("#/events?type=number.*")
    page.wait(lambda: page.texts("tbody td.data") == [text])
    call(page.server, "POST", "/v1/events", Raw('{"type": "number.live", "data": %s}' % text))
    page.wait(lambda: page.texts("tbody td.data") == [text, text])
    page.open("#/events/" + event)
    page.wait(lambda: '"big": 8202522731445525542,' in page.text("pre.body") and '"huge": 1e400,' in page.text("pre.body"))
    page.click("Raw")
    page.wait(lambda: page.text("pre.body") == text)
    made = call(page.server, "POST", "/v1/delegates", Raw(
        '{"url": "%s/numbers", "events": ["never.*"], "filter": {"data": {"big": [8202522731445525542]}}}' % page.receiver))["id"]
    page.open("#/delegates/" + made)
    page.click("Settings")
    page.click("More settings")
    page.wait(lambda: "8202522731445525542" in page.attribute("#field-filter", "value"))
    page.fill("field-filter", '{"data": {"big": [8202522731445525543]}}')
    page.click("Save")
    page.see("Saved.")
    assert b"8202522731445525543" in raw(page.server, "/v1/delegates/" + made)
    page.escape()
    call(page.server, "DELETE", "/v1/delegates/" + made)


def what_is_given_up_is_shown_first(page):
    ids = [call(page.server, "POST", "/v1/delegates", {"url": f"{page.receiver}/broken/{number}", "events": ["lost.*"], "retry_schedule": [], "metadata": {"tier": "gold"}})["id"]
           for number in range(2)]
    well = call(page.server, "POST", "/v1/delegates", {"url": page.receiver + "/well", "events": ["lost.*"]})["id"]
    event = call(page.server, "POST", "/v1/events", {"type": "lost.one"})["id"]
    page.wait(lambda: call(page.server, "GET", "/v1/deliveries/counts")["deliveries"] == 2)
    page.open("#/")
    page.see("2 deliveries given up")
    page.see("last: HTTP 503")
    page.check_accessibility()
    page.click("Show them")
    page.wait(lambda: page.hash() == "#/deliveries?state=exhausted" and len(page.all("tbody tr")) == 2)
    page.see("HTTP 503")
    page.check_accessibility()
    page.open("#/events/" + event)
    page.wait(lambda: [each.split()[-1] for each in page.texts(".end .state")] == ["exhausted", "exhausted", "delivered"])
    page.see("2 exhausted, 1 delivered")
    page.click("Redeliver to failed ones")
    page.see("Redeliver 2 deliveries?")
    page.click("Redeliver")
    page.see("2 of 2 deliveries on the way again.")
    page.wait(lambda: call(page.server, "GET", "/v1/deliveries/counts")["deliveries"] == 2)
    page.open("#/delegates")
    page.fill("search", "gold")
    page.wait(lambda: [("tier: gold" in each, "HTTP 503" in each) for each in page.texts("tbody tr")] == [(True, True)] * 2)
    page.check_accessibility()
    page.open("#/deliveries?state=exhausted&since=1h&delegate=" + ids[0])
    page.wait(lambda: len(page.all("tbody tr")) == 1)
    page.click("Redeliver all")
    page.see("Redeliver 1 delivery?")
    page.press("dialog.ask", "Redeliver")
    page.see("1 of 1 delivery on the way again.")
    for each in [*ids, well]:
        call(page.server, "DELETE", "/v1/delegates/" + each)


def the_attempts_of_a_delegate_are_searched(page):
    made = call(page.server, "POST", "/v1/delegates", {"url": page.receiver + "/many", "events": ["part.*"]})["id"]
    call(page.server, "POST", "/v1/events", [{"type": "part.one"}] * 25)
    page.open("#/delegates/" + made)
    page.wait(lambda: len(page.all("dialog ol.attempts > li")) == 20)
    page.click("Older attempts")
    page.wait(lambda: len(page.all("dialog ol.attempts > li")) == 25)
    page.choose("attempts-outcome", "failed")
    page.see("No attempt matches.")
    page.choose("attempts-error", "5xx")
    page.see("No attempt matches.")
    page.choose("attempts-outcome", "succeeded")
    page.wait(lambda: len(page.all("dialog ol.attempts > li")) == 20 and not page.find("#attempts-error").is_enabled())
    page.choose("attempts-since", "1h")
    page.wait(lambda: len(page.all("dialog ol.attempts > li")) == 20)
    page.check_accessibility()
    page.click("Replay")
    page.choose("field-from", "")
    page.click("Count")
    page.see("Send 25 events again?")
    page.press("dialog.ask", "Send again")
    page.see("25 events on the way again.")
    page.wait(lambda: len(call(page.server, "GET", f"/v1/delegates/{made}/attempts?limit=200")["data"]) == 50)
    call(page.server, "DELETE", "/v1/delegates/" + made)
    made = call(page.server, "POST", "/v1/delegates", {"url": page.receiver + "/broken/part", "events": ["part.*"], "retry_schedule": []})["id"]
    event = call(page.server, "POST", "/v1/events", {"type": "part.two", "subject": "part:2"})["id"]
    page.wait(lambda: call(page.server, "GET", "/v1/deliveries/counts?delegate=" + made)["deliveries"] == 1)
    page.open("#/events?delivery=exhausted&type=part.*")
    page.wait(lambda: page.texts("tbody td:nth-child(3)") == ["part:2"])
    assert page.attribute("#delivery", "value") == "exhausted"
    page.check_accessibility()
    page.open("#/events?delivery=dropped&type=part.*")
    page.see("No event matches.")
    page.open("#/delegates/" + made)
    page.choose("attempts-error", "5xx")
    page.wait(lambda: "HTTP 503" in page.text("dialog ol.attempts"))
    page.click("Settings")
    page.click("Request and preview")
    page.choose("preview-of", "event")
    page.fill("preview-name", event)
    page.click("Preview")
    page.wait(lambda: "matching" in page.text("dialog .changes") and "POST " in page.text("dialog .code"))
    page.fill("preview-name", call(page.server, "GET", "/v1/events?type=order.paid&limit=1")["data"][0]["id"])
    page.click("Preview")
    page.wait(lambda: "not matching" in page.text("dialog .changes") and "none of its patterns" in page.text("dialog .changes"))
    page.click("Send as a test")
    page.wait(lambda: "HTTP 503" in page.text("dialog div.wide ol.attempts"))
    page.click("Redeliver given up")
    page.see("Redeliver 1 delivery?")
    page.press("dialog.ask", "Redeliver")
    page.see("1 of 1 delivery on the way again.")
    page.wait(lambda: len(call(page.server, "GET", f"/v1/delegates/{made}/attempts?event={event}")["data"]) == 2)
    page.escape()
    page.wait(lambda: not page.all("dialog"))
    call(page.server, "DELETE", "/v1/delegates/" + made)


def attempts_are_shown_while_more_are_made(page):
    """During each request for the list, one more attempt is made and told."""
    made = call(page.server, "POST", "/v1/delegates", {"url": page.receiver + "/busy", "events": ["busy.*"]})["id"]
    page.open("#/delegates/" + made)
    page.see("None yet.")
    page.script("""const real = window.fetch;
        window.fetch = async (path, options) => {
            const answer = await real(path, options);
            if (!String(path).includes("/attempts?")) return answer;
            await real("v1/events", {method: "POST", body: '{"type": "busy.one"}',
                headers: {"Content-Type": "application/json", "Prefer": "wait=10"}});
            await new Promise((done) => setTimeout(done, 1000));
            return answer;
        }""")
    call(page.server, "POST", "/v1/events", {"type": "busy.one"})
    page.wait(lambda: page.all("dialog ol.attempts > li"))
    page.driver.refresh()
    page.see("Rotate secret")
    page.escape()
    page.wait(lambda: not page.all("dialog"))
    call(page.server, "DELETE", "/v1/delegates/" + made)


def the_state_is_followed(page):
    page.keys("gs")
    call(page.server, "PUT", "/v1/app-state", {"state": {"data_retrieval": "running"}})
    page.wait(lambda: page.text(".large") == "data_retrieval: running")
    call(page.server, "PUT", "/v1/app-state", {"state": "idle"})
    page.wait(lambda: page.text(".large") == "idle")
    call(page.server, "POST", "/v1/events", {"type": "auth.logged_in", "data": {"user": {"id": 42, "name": HOSTILE}}})
    page.fill("user", "42", enter=True)
    page.wait(lambda: "logged in" in page.text("section .card") and HOSTILE in page.text("section .card"))
    page.check_accessibility()
    call(page.server, "POST", "/v1/events", {"type": "app_state.changed", "id": "state/1", "data": {"state": "by an id with a slash"}})
    page.wait(lambda: page.text(".large") == "by an id with a slash")
    page.click("this event")
    page.wait(lambda: page.hash() == "#/events/state%2F1" and page.text("h1") == "app_state.changed")


def the_overview_shows_the_flow(page):
    for number in range(12):
        call(page.server, "POST", "/v1/events", {"type": "order.paid", "data": number})
    page.keys("go")
    page.wait(lambda: "order.paid" in page.text(".fanout") and page.all(".ribbon"))
    page.wait(lambda: page.all(".charts .line"))
    assert "Nodes" not in page.texts("h2"), "there is only one"
    page.wait(lambda: "failing" in page.text(".cards"))
    # Not all of its events were delivered, although none is behind.
    page.wait(lambda: not any("failing" in each and "up to date" in each for each in page.texts(".told li")))
    page.check_accessibility()
    page.click("Details")
    page.wait(lambda: "open circuit, " in page.text("dialog .numbers"))
    assert "[object" not in page.text("dialog")
    page.tap("dialog .numbers a[href*=retrying]")
    page.wait(lambda: page.hash().startswith("#/deliveries?state=retrying&delegate=dlg_") and page.all("tbody tr"))
    page.open("#/delegates")
    page.wait(lambda: any("retry" in each or "retries" in each for each in page.texts("td[data-label=behind] a")))
    page.keys("go")
    page.wait(lambda: "failing" in page.text(".cards"))
    page.click("Probe now")
    page.see("Probing now.")
    page.tap(".told a")
    page.wait(lambda: page.hash().startswith("#/delegates/dlg_"))
    page.see("Rotate secret")
    page.escape()


def who_is_behind_needs_attention(page):
    made = call(page.server, "POST", "/v1/delegates", {"url": page.receiver + "/slow", "events": ["slow.*"], "rate_limit": 0.1, "description": "Slow"})["id"]
    call(page.server, "POST", "/v1/events", [{"type": "slow.one", "time": "2026-01-01T00:00:00Z"}] * 30)
    page.open("#/")
    page.wait(lambda: any("The oldest event has waited for" in each and "Slow" in each and "its rate limit" in each for each in page.texts(".cards .card")))
    page.check_accessibility()
    page.open("#/delegates/" + made)
    page.tap("dialog .numbers a[href*=pending]")
    page.wait(lambda: {each.split()[-1] for each in page.texts("tbody td .state")} == {"pending"} and "slow.one" in page.text("tbody"))
    assert page.attribute("#state", "value") == "pending" and page.texts("th")[-1] == "Reason"
    page.check_accessibility()
    page.click("To all")
    page.wait(lambda: page.hash() == "#/deliveries?state=pending")
    page.wait(lambda: {each.split()[-1] for each in page.texts("tbody td .state")} == {"pending"})
    call(page.server, "DELETE", "/v1/delegates/" + made)


def rates_are_those_of_all_nodes(page):
    """Each request of a dashboard behind a load balancer is for another node, one of which is restarted, with another id.

    Each node counts the events of all nodes, and its own attempts.
    """
    rates = page.driver.execute_async_script("""
        const done = arguments[0];
        import("./dashboard/history.js").then(({ History }) => {
            const history = new History();
            const start = Date.now();
            for (let second = 0; second < 60; second += 2) {
                const isNew = second >= 20;
                const node = second % 4 ? "nod_1" : isNew ? "nod_3" : "nod_2";
                const begin = node === "nod_3" ? 20 : 0;
                const events = 100 * (second - begin) + (node === "nod_1" ? 100000 : 0);
                const attempts = (node === "nod_1" ? 30 : 70) * (second - begin);
                history.add(`herald_build_info{version="1",node="${node}"} 1\nherald_events_published_total{family="other"} ${events}\n`
                    + `herald_attempts_total{outcome="succeeded"} ${attempts}\nherald_attempt_duration_seconds_bucket{le="+Inf"} ${attempts}\n`,
                    isNew ? ["nod_3", "nod_1"] : ["nod_2", "nod_1"], start + 1000 * second);
            }
            done(history.points.map((each) => [each.events, each.deliveries]));
        }, (error) => done(String(error)));""")
    assert len(rates) > 20 and all(abs(events - 100) < 1 and deliveries < 101 for events, deliveries in rates), rates
    assert all(abs(deliveries - 100) < 1 for _, deliveries in rates[5:8] + rates[16:]), rates


def a_text_is_cut_between_letters(page):
    for letter in ("\U0001f469\u200d\U0001f4bb", "e\u0301", "\U0001f1e9\U0001f1ea", "\U0001f600"):
        cuts = page.driver.execute_async_script("""
            const [text, done] = arguments;
            import("./dashboard/format.js").then(({ cut }) => done([...Array(60).keys()].slice(20).map((length) => cut(text, length))),
                (error) => done([String(error)]));""", letter * 80)
        for shown in cuts:
            halves = shown.split("…")
            assert len(halves) == 2 and all(half and half == letter * (len(half) // len(letter)) for half in halves), shown


def the_keyboard_is_enough(page):
    page.keys("?")
    page.see("this help")
    page.check_accessibility()
    page.escape()
    page.wait(lambda: not page.all("dialog"))
    for _ in range(3):
        page.tap("#theme")
    assert page.script("return document.documentElement.dataset.theme ?? null") is None
    page.open("#/nowhere")
    page.see("Nothing here")
    page.open("#/delegates/dlg_unknown")
    page.wait(lambda: page.text("dialog .error"))
    page.escape()


def every_page_fits(page):
    event = call(page.server, "GET", "/v1/events?type=order.paid&limit=1")["data"][0]["id"]
    delegate = call(page.server, "GET", "/v1/delegates?kind=webhook")["data"][-1]["id"]
    places = ["", "delegates", "delegates/new", "delegates/" + delegate, "events", "events/" + event, "deliveries", "types", "state?user=42", "post", "server"]
    page.check_fit(places, ((360, "light"), (360, "dark"), (1280, "dark")))


def a_type_without_a_valid_example_is_shown(page):
    call(page.server, "PUT", "/v1/event-types/odd.type", {"description": "Its data is a text.", "schema": {"type": "string"}, "check": "enforce"})
    page.open("#/types/odd.type")
    page.wait(lambda: page.text("main .error"))
    page.see("Its data is a text.")
    assert page.shown("[data-key=edit]")
    call(page.server, "DELETE", "/v1/event-types/odd.type")


def a_pull_delegate_shows_its_leases(page):
    delegate = call(page.server, "POST", "/v1/delegates", {"kind": "pull", "events": ["parcel.*"], "description": "Parcels"})["id"]
    for _ in range(3):
        call(page.server, "POST", "/v1/events", {"type": "parcel.sent"})
    lease = call(page.server, "POST", f"/v1/delegates/{delegate}/pull?max=2")["lease"]
    page.open("#/delegates/" + delegate)
    page.see("Leases: 1")
    page.see("2 events")
    assert not page.shown("[data-key=test], [data-key=replay], [data-key=rotate], #field-url, #field-timeout_seconds")
    page.check_accessibility()
    page.click("Settings")
    page.fill("field-ack_seconds", "1", opening="More settings")
    page.click("Save")
    page.wait(lambda: "5 to 43200" in page.text("#error-ack_seconds"))
    page.fill("field-ack_seconds", "90")
    page.click("Save")
    page.see("Saved.")
    assert call(page.server, "GET", "/v1/delegates/" + delegate)["ack_seconds"] == 90
    call(page.server, "POST", f"/v1/delegates/{delegate}/ack", {"lease": lease})
    page.see("Leases: 0")
    page.escape()
    call(page.server, "DELETE", "/v1/delegates/" + delegate)


def a_pull_delegate_without_a_description_has_its_id(page):
    made = call(page.server, "POST", "/v1/delegates", {"kind": "pull", "events": ["crate.*"], "retry_schedule": []})["id"]
    event = call(page.server, "POST", "/v1/events", {"type": "crate.sent"})["id"]
    page.open("#/events/" + event)
    page.wait(lambda: made in page.texts(".who"))
    page.open("#/post")
    page.fill("event", '{"type": "crate.sent"}')
    page.click("Dry run")
    page.wait(lambda: made in page.texts("main .changes a"))
    pulled = call(page.server, "POST", f"/v1/delegates/{made}/pull")
    call(page.server, "POST", f"/v1/delegates/{made}/ack", {"lease": pulled["lease"], "failed": [{"id": event}]})
    page.open("#/")
    page.wait(lambda: any(f"1 to {made}" in each for each in page.texts(".changes li")))
    call(page.server, "DELETE", "/v1/delegates/" + made)


def a_delegate_is_removed(page):
    page.open("#/delegates")
    page.click(HOSTILE)
    page.click("Remove")
    page.press("dialog.ask", "Keep")
    page.wait(lambda: not page.all("dialog.ask"))
    page.click("Remove")
    page.press("dialog.ask", "Remove")
    page.wait(lambda: page.hash() == "#/delegates" and HOSTILE not in page.text("main"))
    assert len(call(page.server, "GET", "/v1/delegates?kind=webhook")["data"]) == 2


def nothing_went_wrong_meanwhile(page):
    assert page.script("return document.querySelectorAll('main img').length") == 0
    # What the tests ask for wrongly on purpose is a message too.
    errors = [line for line in page.console() if "status of 4" not in line]
    assert errors == [], errors
    page.open("about:blank")
    page.open("#/")
    page.see("Event flow")
    files = page.script(
        "return performance.getEntries().filter(each => each.name.startsWith(location.origin) && !each.name.includes('/v1/')"
        " && !each.name.endsWith('/metrics') && each.decodedBodySize).map(each => [each.name, each.decodedBodySize])")
    assert sum(size for _, size in files) < 130 * 1024, files
    assert any(name.endswith(".css") for name, _ in files) and len(files) > 10, files


if __name__ == "__main__":
    with Browser(sys.argv[1], sys.argv[2]) as browser:
        for step in (
            an_empty_page_teaches, errors_stand_at_their_fields, a_delegate_is_registered,
            a_delegate_is_tested_paused_and_changed, a_secret_without_a_public_key_is_for_the_receiver,
            names_of_javascript_and_of_nothing_are_names, the_list_is_searched, an_event_is_posted, its_story_is_told,
            an_erased_event_says_so, the_tail_does_not_jump, a_burst_adds_only_new_rows, stored_numbers_are_shown_as_they_are,
            what_is_given_up_is_shown_first, the_attempts_of_a_delegate_are_searched, attempts_are_shown_while_more_are_made, the_state_is_followed, the_overview_shows_the_flow,
            who_is_behind_needs_attention, rates_are_those_of_all_nodes, a_text_is_cut_between_letters, the_keyboard_is_enough,
            every_page_fits, a_type_without_a_valid_example_is_shown, a_pull_delegate_shows_its_leases,
            a_pull_delegate_without_a_description_has_its_id, a_delegate_is_removed, nothing_went_wrong_meanwhile,
        ):
            print(step.__name__.replace("_", " "), flush=True)
            step(browser)

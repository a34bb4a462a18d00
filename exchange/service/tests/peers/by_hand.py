"""A client of every area, written only from the text of the contract, with `httpx` and `cryptography`. It calls each
route, applies each op of each change set, and expects the documented codes for invalid requests.

    PYTHONPATH=… python3 by_hand.py DIRECTORY

DIRECTORY is the first line of `exchange-service sandbox --json`. Prints a line of JSON for each step, `{name, ok, why}`,
and stops after the first failure. Details that the text does not specify (the address of the OpenAPI document, the list
of units, the fields of a refinery order) follow docs/decisions.md.
`cargo xtask peers httpx` runs this script.
"""

import json
import re
import secrets
import sys
from urllib.parse import quote

from by_hand_client import CLIENT_ID, USER_AGENT, Installation, Key, OAuthError, base64url, canonical

DIRECTORY = json.loads(sys.argv[1])
V1 = "/exchange/v1"
ME, ORG_STOCK, CATALOG = f"{V1}/me", f"{V1}/org-stock", f"{V1}/catalog"
BLUEPRINTS, STOCK, SHIPS, DRAFTS = (f"{ME}/{area}" for area in ("blueprints", "stock", "ships", "drafts"))
SCOPES = [
    f"exchange.{scope}"
    for scope in (
        "connect blueprints.read blueprints.write stock.read stock.write hangar.read hangar.write orgunits.read "
        "orgstock.read orgstock.write orgstock.details demand.read drafts.blueprints drafts.refinery"
    ).split()
]
# The routes of both documents, and those of the contract files.
ROUTES = {
    ("GET", V1),
    ("POST", f"{ME}/installation"),
    ("POST", f"{ME}/account-check"),
    ("POST", f"{CATALOG}/resolve"),
    ("GET", f"{CATALOG}/locations"),
    ("GET", f"{V1}/schemas/{{name}}.schema.json"),
    ("GET", f"{V1}/openapi.json"),
    *((method, path) for area in (BLUEPRINTS, STOCK, SHIPS, ORG_STOCK)
      for method, path in (("GET", area), ("POST", f"{area}/changes"))),
    ("GET", f"{ME}/org-units"),
    ("GET", f"{ORG_STOCK}/members"),
    ("GET", f"{ME}/org-demand"),
    ("POST", f"{DRAFTS}/blueprints"),
    ("POST", f"{DRAFTS}/refinery-orders"),
}
OPS = {
    BLUEPRINTS: "add remove",
    STOCK: "set-quantity",
    SHIPS: "link upsert remove",
    ORG_STOCK: "book-in book-out sell move-location move-holder move-pool note stolen",
}
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
HANGAR, STORAGE = {"name": "Sandbox City Hangar"}, {"name": "Sandbox Station Storage"}
METAL, GOODS, RIFLE = ({"name": f"Sandbox {name}"} for name in ("Metal", "Trade Goods", "Rifle"))

STEPS, APPLIED = [], set()


def step(name):
    return lambda run: STEPS.append((name, run))


def equal(left, right):
    assert left == right, f"{left!r} is not {right!r}"


def has(value, required, optional=""):
    """Checks that a response has the documented fields, and no others."""
    required, optional = set(required.split()), set(optional.split())
    assert required <= set(value) <= required | optional, f"{sorted(value)} has not {sorted(required)} (+ {optional})"
    return value


def key():
    return secrets.token_urlsafe(16)


def sequence(ops):
    """Builds ops, each with an id."""
    return [{"opId": f"op-{index}"} | op for index, op in enumerate(ops)]


def outcomes(path, *ops, dry_run=None):
    """Checks the outcome of each op, by default `applied`, and the counts."""
    said = API.change(path, *sequence(ops), dry_run=dry_run)
    extras = "detachedFromMissions offersReduced offersRemoved"
    has(said, "dryRun applied unchanged notApplied results warnings", extras)
    outcome = ["applied"] * len(ops)
    for result in said["results"]:
        has(result, "index opId result", "reason")
        equal(result["opId"], f"op-{result['index']}")
        outcome[result["index"]] = result.get("reason", result["result"])
    counts = outcome.count("applied"), outcome.count("unchanged")
    equal((said["applied"], said["unchanged"], said["notApplied"]), (*counts, len(ops) - sum(counts)))
    equal(said["dryRun"], bool(dry_run))
    if not dry_run:
        APPLIED.update((path, op["op"]) for op, what in zip(ops, outcome) if what == "applied")
    return (outcome[0] if len(ops) == 1 else outcome), said


def becomes(path, op, expect):
    equal(outcomes(path, op)[0], expect)


def refused(response, status, code, *pointers):
    """Checks that a response is a problem with this status and code, and with exactly these pointers."""
    assert response.headers["content-type"].startswith("application/problem+json"), response.headers
    problem = response.json()
    places = dict.fromkeys(error["pointer"] for error in problem.get("errors", []))
    said = response.status_code, problem["code"], *places
    equal(said, (status, code, *pointers))
    assert 0 < len(problem["correlationId"]) <= 128 and "retryAfterSeconds" not in problem
    return problem


def oauth_refused(error, run):
    try:
        run()
    except OAuthError as refusal:
        return equal((refusal.status, refusal.error), (400, error))
    raise AssertionError(f"it was not refused as {error}")


def page_of(path, fields, optional=""):
    """Checks that a snapshot in small pages equals a snapshot in a single page."""
    small, _, pages = API.snapshot(path, limit=2)
    entries, cursor, one = API.snapshot(path)
    equal((small, pages, one), (entries, max(1, -(-len(entries) // 2)), 1))
    return [has(entry, fields, optional) for entry in entries], cursor


def one(entries, **fields):
    """Returns the entry with these fields; if a field is an object with a name, the name is compared."""
    name = lambda value: value.get("name") if isinstance(value, dict) else value
    found = [entry for entry in entries if all(name(entry.get(field)) == fields[field] for field in fields)]
    assert len(found) == 1, f"{len(found)} of {len(entries)} entries are {fields}"
    return found[0]


def removed_by(tombstone, channel):
    has(tombstone, "key removedAt removedBy")
    assert MOMENT.fullmatch(tombstone["removedAt"]), tombstone
    equal(tombstone["removedBy"]["channel"], channel)
    return tombstone["key"]


API = Installation(DIRECTORY)


@step("GET openid-configuration: the issuer is the pinned one, with three endpoints")
def _():
    for name in ("device_authorization", "token", "revocation"):
        assert API.endpoints[f"{name}_endpoint"].startswith(API.issuer)


@step("POST device_endpoint, token_endpoint: a login is pending, slowed down, approved")
def _():
    login = API.login(" ".join(SCOPES))
    has(login, "device_code user_code verification_uri verification_uri_complete expires_in interval")
    equal((login["expires_in"], login["interval"]), (600, 5))
    oauth_refused("authorization_pending", lambda: API.poll(login))
    oauth_refused("slow_down", lambda: API.poll(login))
    login["interval"] += 5
    API.wait(login["interval"])
    API.decide(login)
    equal(API.polled(login), [])
    equal(set(API.scope.split()) - {"offline_access"}, set(SCOPES))
    assert API.access.isascii() and API.refresh


@step("token_endpoint: a login that is declined, and one that nobody answers")
def _():
    declined, late = API.login("exchange.connect"), API.login("exchange.connect")
    API.decide(declined, "decline")
    oauth_refused("access_denied", lambda: API.poll(declined))
    API.wait(601)
    oauth_refused("expired_token", lambda: API.poll(late))


@step("GET /exchange/v1: a nonce is learnt from the challenge, the clock from the answer, the token renewed")
def _():
    API.api.nonce, API.api.ahead = None, 0
    document = has(
        API.got(V1), "apiVersion capabilities installationId limits deprecations docsUrl minClientVersion"
    )
    API.api.nonce = None
    API.got(V1)
    expired, _, challenge, _ = (response for *_, response in API.seen)
    refused(expired, 401, "UNAUTHENTICATED")
    refused(challenge, 401, "DPOP_INVALID")
    assert 'error="use_dpop_nonce"' in challenge.headers["www-authenticate"]
    assert expired.headers["dpop-nonce"] and challenge.headers["dpop-nonce"]
    equal(document["apiVersion"], "1.0")
    equal(document["capabilities"], sorted(SCOPES))
    equal((document["limits"], document["deprecations"]), ({"batchMaxOps": 500}, []))
    API.installation = document["installationId"]


@step("POST me/installation: the last label wins, and what else is sent is ignored")
def _():
    for label in ("Desk", "Desk 2.0"):
        body = {"label": label, "installationId": "another"}
        said = API.call("POST", f"{ME}/installation", body=body).json()
        has(said, "label installationId firstSeenAt lastSeenAt")
        equal((said["label"], said["installationId"]), (label, API.installation))
        assert MOMENT.fullmatch(said["firstSeenAt"]) and MOMENT.fullmatch(said["lastSeenAt"])
    for label in ("", " Desk", "Desk – 2", "x" * 41):
        refused(API.call("POST", f"{ME}/installation", body={"label": label}), 400, "SCHEMA_INVALID", "/label")


@step("POST me/account-check: match, mismatch, unknown, and ten an hour")
def _():
    check = lambda handle, **more: API.call("POST", f"{ME}/account-check", body={"handle": handle}, **more)
    for handle, expect in (("SANDBOX_member", "match"), ("Somebody-Else", "mismatch")):
        equal(check(handle).json(), {"result": expect})
    API.act("sandbox-member", "handle", handle=None)
    equal(check("Sandbox_Member").json(), {"result": "unknown"})
    API.act("sandbox-member", "handle", handle="Sandbox_Member")
    refused(check("a!"), 400, "SCHEMA_INVALID", "/handle")
    answers = [check("Sandbox_Member", patient=False) for _ in range(11)]
    last = next(answer for answer in answers if answer.status_code != 200)
    refused(last, 429, "RATE_LIMITED")
    assert int(last.headers["retry-after"]) >= 1


@step("POST catalog/resolve: resolved, ambiguous and unmatched, of every kind")
def _():
    def resolved(kind, *refs):
        said = API.call("POST", f"{CATALOG}/resolve", body={"kind": kind, "refs": list(refs)}).json()
        equal([result["index"] for result in has(said, "results warnings")["results"]], list(range(len(refs))))
        return said

    for kind, record, name in (
        ("BLUEPRINT", "bp_craft_sbxm_knife_01", "Sandbox Knife"),
        ("ITEM", "SBXM_RIFLE_01", "Sandbox Rifle"),
        ("MATERIAL", "sandbox_metal", "Sandbox Metal"),
        ("SHIP_TYPE", "SBXM_Hauler", "Sandbox Hauler"),
    ):
        by_record, by_name, nothing = resolved(kind, {"scRecord": record}, {"name": name}, {"uexId": 7})["results"]
        equal(has(by_record, "index status ref")["ref"], by_name["ref"])
        equal((by_record["ref"]["name"], nothing), (name, {"index": 2, "status": "unmatched"}))
        again = resolved(kind, {"bt": by_record["ref"]["bt"], "name": "whatever"})["results"][0]
        equal(again["ref"], by_record["ref"])
    fuzzy = resolved("MATERIAL", {"name": "Sandbox Metl"})["results"][0]
    equal(has(fuzzy, "index status candidates")["status"], "ambiguous")
    has(fuzzy["candidates"][0], "bt name")
    warned = resolved("MATERIAL", {"locKey": "no_such_key", "name": "Sandbox Metal", "colour": "grey"})
    equal(warned["results"][0]["status"], "resolved")
    said = sorted((warning["pointer"], warning["code"]) for warning in warned["warnings"])
    equal(said, [("/refs/0/colour", "UNKNOWN_FIELD"), ("/refs/0/locKey", "LOC_KEY_UNRESOLVED")])
    many = {"kind": "ITEM", "refs": [{"name": "x"}] * 501}
    refused(API.call("POST", f"{CATALOG}/resolve", body=many), 400, "SCHEMA_INVALID", "/refs")


@step("GET catalog/locations: ordered by name, without hidden ones")
def _():
    items = has(API.got(f"{CATALOG}/locations"), "items")["items"]
    equal(items, sorted(items, key=lambda item: item["name"]))
    assert {HANGAR["name"], STORAGE["name"]} <= {has(item, "name", "uex")["name"] for item in items}
    assert "Sandbox Hidden Depot" not in str(items)
    equal(one(items, **HANGAR)["uex"]["kind"], "CITY")


@step("GET schemas/{name}.schema.json: as it is, without sign-in, once")
def _():
    for name in ("item-ref", "change-set", "change-result", "org-demand", "refinery-draft"):
        path = f"{V1}/schemas/{name}.schema.json"
        response = API.send("GET", path, auth=False)
        equal((response.status_code, "dpop-nonce" in response.headers), (200, False))
        equal(response.json()["$schema"], "https://json-schema.org/draft/2020-12/schema")
        again = API.send("GET", path, auth=False, headers={"If-None-Match": response.headers["etag"]})
        equal((again.status_code, again.content), (304, b""))
    refused(API.send("GET", f"{V1}/schemas/none.schema.json", auth=False), 404, "NOT_FOUND")


@step("GET openapi.json: it has the routes of the text, and no other")
def _():
    response = API.send("GET", f"{V1}/openapi.json", auth=False)
    document = response.json()
    methods = ("get", "post", "put", "patch", "delete")
    named = lambda path: re.sub(r"schemas/\{[^}]*\}.*", "schemas/{name}.schema.json", path)
    routes = [
        (method.upper(), named(path))
        for path, item in document["paths"].items() for method in item if method in methods
    ]
    equal(sorted(routes), sorted(ROUTES))
    again = API.send("GET", f"{V1}/openapi.json", auth=False, headers={"If-None-Match": response.headers["etag"]})
    equal(again.status_code, 304)


@step("GET me/blueprints: a snapshot in pages")
def _():
    API.blueprints, API.cursor = page_of(BLUEPRINTS, "key ref isDefault", "acquiredAt provenance note")
    for entry in API.blueprints:
        equal(entry["key"], has(entry["ref"], "bt name")["bt"])


@step("POST me/blueprints/changes: add and remove, tried, applied, repeated, and seen in the feed")
def _():
    knife = {"op": "add", "ref": {"name": "Sandbox Knife"}, "provenance": {"source": "default"}}
    equal(outcomes(BLUEPRINTS, knife, dry_run=True)[0], "applied")
    equal(API.feed(BLUEPRINTS, API.cursor)[0], [])
    body, same = {"ops": [knife]}, key()
    answers = [API.call("POST", f"{BLUEPRINTS}/changes", body=body, key=same) for _ in range(2)]
    equal((answers[0].status_code, answers[0].content), (200, answers[1].content))
    equal(answers[0].json()["applied"], 1)
    APPLIED.add((BLUEPRINTS, "add"))
    other = canonical({"ops": [knife | {"opId": "x"}]})
    refused(API.call("POST", f"{BLUEPRINTS}/changes", content=other, key=same), 422, "IDEMPOTENCY_KEY_REUSED")
    (added,), _, cursor = API.feed(BLUEPRINTS, API.cursor)
    # Only the server can set the source `default`.
    equal((added["ref"]["name"], added["provenance"]), ("Sandbox Knife", {"source": "other"}))
    becomes(BLUEPRINTS, knife, "unchanged")
    becomes(BLUEPRINTS, {"op": "remove", "key": added["key"]}, "applied")
    _, (tombstone,), API.cursor = API.feed(BLUEPRINTS, cursor)
    equal(removed_by(tombstone, "client"), added["key"])
    by = tombstone["removedBy"]
    equal((by["clientId"], by["installationId"]), (CLIENT_ID, API.installation))


@step("POST me/blueprints/changes: what is not applied says why")
def _():
    default = next(entry["key"] for entry in API.blueprints if entry["isDefault"])
    said = outcomes(
        BLUEPRINTS,
        {"op": "add", "ref": {"name": "No such thing at all"}},
        {"op": "add", "ref": {"name": "Sandbox Knif"}},
        {"op": "remove", "key": default},
        {"op": "remove", "ref": {"name": "Sandbox Knife"}},
    )[0]
    equal(said, ["UNMATCHED", "AMBIGUOUS", "DEFAULT_NOT_REMOVABLE", "unchanged"])
    knife = {"op": "add", "ref": {"name": "Sandbox Knife"}}
    becomes(BLUEPRINTS, knife, "applied")
    API.act("sandbox-member", "blueprints", remove=["bp-sandbox-knife"])
    _, (tombstone,), _ = API.feed(BLUEPRINTS, API.cursor)
    removed_by(tombstone, "web")
    becomes(BLUEPRINTS, knife, "REMOVED_ELSEWHERE")
    becomes(BLUEPRINTS, knife | {"override": True}, "applied")
    said = outcomes(BLUEPRINTS, knife | {"sparkle": 1})[1]
    equal(said["warnings"], [{"pointer": "/ops/0/sparkle", "code": "UNKNOWN_FIELD"}])


def stock_op(material, location, quantity, expected, unit="SCU", quality=0, stolen=False):
    amounts = {"quantity": {"amount": quantity, "unit": unit}, "expectedQuantity": {"amount": expected, "unit": unit}}
    where = {"material": material, "location": location, "quality": quality, "stolen": stolen}
    return {"op": "set-quantity"} | where | amounts


@step("GET me/stock: a snapshot in pages")
def _():
    fields = "key material location quality stolen quantity"
    lots, API.stock_cursor = page_of(STOCK, fields, "materialKind")
    metal = one(lots, material="Sandbox Metal")
    # Personal and shared stock form one lot.
    equal((metal["quality"], metal["quantity"]), (700, {"amount": 50, "unit": "SCU"}))
    equal((metal["materialKind"]["type"], metal["materialKind"]["commodity"]), ("REFINED", True))
    assert "materialKind" not in one(lots, material="Sandbox Rifle")


@step("POST me/stock/changes: rises, falls, a move, and an offer that is lowered")
def _():
    rise = stock_op(METAL, HANGAR, 3.14159, 0, quality=500)
    becomes(STOCK, rise, "applied")
    (lot,), _, cursor = API.feed(STOCK, API.stock_cursor)
    equal(lot["quantity"], {"amount": 3.142, "unit": "SCU"})
    # The amount was rounded when it was stored.
    becomes(STOCK, rise | {"expectedQuantity": {"amount": 3.1416, "unit": "SCU"}}, "unchanged")
    move = [stock_op(METAL, HANGAR, 0, 3.142, quality=500), stock_op(METAL, STORAGE, 3.142, 0, quality=500)]
    equal(outcomes(STOCK, *move)[0], ["applied", "applied"])
    (there,), (gone,), _ = API.feed(STOCK, cursor)
    equal((removed_by(gone, "client"), there["quantity"]["amount"]), (lot["key"], 3.142))
    outcome, said = outcomes(STOCK, stock_op(GOODS, HANGAR, 5, 8))
    equal((outcome, said["offersReduced"], said["offersRemoved"]), ("applied", 1, 0))


@step("POST me/stock/changes: what is not applied says why")
def _():
    said = outcomes(
        STOCK,
        stock_op({"name": "No such thing at all"}, HANGAR, 1, 0),
        stock_op(METAL, {"name": "Nowhere"}, 1, 0),
        stock_op(METAL, HANGAR, 1, 0, unit="PIECE"),
        stock_op(METAL, STORAGE, 60, 1, quality=700),
        stock_op(METAL, STORAGE, 1, 50, quality=700),
        stock_op(METAL, STORAGE, 50, 50, quality=700),
    )[0]
    expect = ["UNMATCHED", "LOCATION_UNKNOWN", "UNIT_MISMATCH", "VERSION_CONFLICT", "STOCK_EARMARKED", "unchanged"]
    equal(said, expect)
    half = {"ops": [stock_op(RIFLE, HANGAR, 1.5, 2, unit="PIECE")]}
    answer = API.call("POST", f"{STOCK}/changes", body=half, key=key())
    refused(answer, 400, "SCHEMA_INVALID", "/ops/0/quantity/amount")


def upsert(external, name, **more):
    insurance = {"kind": "MONTHS", "months": 6}
    ship = {"externalId": external, "shipType": {"name": "Sandbox Hauler"}, "insurance": insurance, "name": name}
    return {"op": "upsert"} | ship | more


def ships():
    fields, optional = "shipId version shipType insurance fitted orgUnitVersion", "externalId name location orgUnit"
    return [has(entry, fields, optional) for entry in API.snapshot(SHIPS)[0]]


@step("GET me/ships: a snapshot in pages")
def _():
    fields, optional = "shipId version shipType insurance fitted orgUnitVersion", "externalId name location orgUnit"
    entries, API.ship_cursor = page_of(SHIPS, fields, optional)
    hauler = one(entries, name="Long Haul")
    has(hauler["orgUnit"], "id name shorthand kind")
    equal((hauler["fitted"], hauler["insurance"]), (True, {"kind": "LTI"}))


@step("POST me/ships/changes: link, upsert and remove")
def _():
    hauler = one(ships(), name="Long Haul")
    link = {"op": "link", "externalId": "ext-1", "shipId": hauler["shipId"]}
    becomes(SHIPS, link, "applied")
    becomes(SHIPS, link, "unchanged")
    becomes(SHIPS, link | {"externalId": "ext-2"}, "LINK_TARGET_TAKEN")
    becomes(SHIPS, upsert("ext-3", "Newcomer", orgUnit=None, location=HANGAR), "applied")
    becomes(SHIPS, upsert("ext-3", "Newcomer"), "VERSION_CONFLICT")
    (_, new), _, cursor = API.feed(SHIPS, API.ship_cursor)
    equal((new["externalId"], new["location"]["name"], "orgUnit" in new), ("ext-3", HANGAR["name"], False))
    known = {"shipId": new["shipId"], "version": new["version"]}
    unit = hauler["orgUnit"]["id"]
    becomes(SHIPS, upsert("ext-3", "Renamed", **known, orgUnit=unit), "ORG_UNIT_VERSION_CONFLICT")
    becomes(SHIPS, upsert("ext-3", "Renamed", **known, orgUnit="no-such-unit"), "ORG_UNIT_NOT_ALLOWED")
    both = known | {"orgUnit": unit, "orgUnitVersion": new["orgUnitVersion"]}
    becomes(SHIPS, upsert("ext-3", "Renamed", **both), "applied")
    (entry,), _, cursor = API.feed(SHIPS, cursor)
    # An omitted field was cleared.
    equal((entry["name"], entry["orgUnit"]["id"], "location" in entry), ("Renamed", unit, False))
    becomes(SHIPS, {"op": "remove"} | known, "VERSION_CONFLICT")
    becomes(SHIPS, {"op": "remove", "shipId": "no-such-ship", "version": 0}, "UNMATCHED")
    outcome, said = outcomes(SHIPS, {"op": "remove", "shipId": hauler["shipId"], "version": hauler["version"]})
    equal((outcome, said["detachedFromMissions"]), ("applied", 1))
    _, (gone,), _ = API.feed(SHIPS, cursor)
    equal(removed_by(gone, "client"), hauler["shipId"])
    body = {"ops": [upsert("ext-3", "Renamed", shipId=new["shipId"])]}
    refused(API.call("POST", f"{SHIPS}/changes", body=body, key=key()), 400, "SCHEMA_INVALID", "/ops/0/version")


@step("POST me/ships/changes: a change of so much waits for the member")
def _():
    equal(set(outcomes(SHIPS, *(upsert(f"many-{n}", f"Many {n}") for n in range(7)))[0]), {"applied"})
    before = ships()
    removals = [{"op": "remove", "shipId": ship["shipId"], "version": ship["version"]} for ship in before]
    response = API.call("POST", f"{SHIPS}/changes", body={"ops": removals}, key=key())
    problem = refused(response, 409, "MASS_CHANGE_CONFIRMATION_REQUIRED")
    assert problem["confirmationUrl"].startswith("http")
    equal(ships(), before)
    # A dry run needs no confirmation.
    equal(set(outcomes(SHIPS, *removals, dry_run=True)[0]), {"applied"})


@step("GET me/org-units: those that the member is in")
def _():
    units = has(API.got(f"{ME}/org-units"), "items")["items"]
    API.units = {has(unit, "id name shorthand kind")["shorthand"]: unit["id"] for unit in units}
    equal(set(API.units), {"IRI", "SBX"})


def pools():
    fields = "key unit material location quality stolen quantity earmarked"
    return [has(lot, fields, "materialKind entries") for lot in API.snapshot(ORG_STOCK)[0]]


def entry_of(holder, **lot):
    """Returns the entry of this holder in the lot."""
    fields, optional = "id version holder quantity jobOrders missions free", "note"
    entries = [has(entry, fields, optional) for entry in one(pools(), **lot)["entries"]]
    found = [entry for entry in entries if entry["holder"].get("ref") == holder]
    assert len(found) == 1, f"{len(found)} entries of one holder in {lot}"
    return found[0]


@step("GET org-stock: lots of both pools, entries in the one that the member looks after")
def _():
    page_of(ORG_STOCK, "key unit material location quality stolen quantity earmarked", "materialKind entries")
    page = has(API.got(ORG_STOCK), "items removed nextCursor hasMore units")
    equal({unit["id"] for unit in page["units"]}, set(API.units.values()))
    for lot in page["items"]:
        has(lot["earmarked"], "jobOrders missions")
        equal("entries" in lot, lot["unit"]["id"] == API.units["SBX"])
    API.pool_cursor = page["nextCursor"]


@step("GET org-stock/members: the roster, by the name of the parameter alone")
def _():
    roster = has(API.got(f"{ORG_STOCK}/members?unit={API.units['SBX']}"), "unit items")
    API.roster = {has(member, "ref name")["name"]: member["ref"] for member in roster["items"]}
    equal(list(API.roster), sorted(API.roster))
    assert {"Sandbox Member", "Sandbox Member 2"} <= set(API.roster)
    refused(API.call("GET", f"{ORG_STOCK}/members?unit={API.units['IRI']}"), 403, "NOT_PERMITTED")


@step("POST org-stock/changes: every op, each against the entry as the last one left it")
def _():
    me, other, unit = API.roster["Sandbox Member"], API.roster["Sandbox Member 2"], API.units["SBX"]
    scu = lambda amount: {"amount": amount, "unit": "SCU"}
    where = {"material": METAL, "location": HANGAR, "quality": 321, "stolen": False}
    orders = lambda amount: [{"jobOrder": "job-order-plating", "quantity": scu(amount)}]
    book_in = {"op": "book-in", "unit": unit, "holder": me, "quantity": scu(20), "note": "mined"} | where
    equal(outcomes(ORG_STOCK, book_in, dry_run=True)[0], "applied")
    lot = {"material": METAL["name"], "location": HANGAR["name"], "quality": 321}
    becomes(ORG_STOCK, book_in, "applied")
    entry = entry_of(me, **lot)
    free = {"jobOrders": scu(20), "missions": scu(20)}
    equal((entry["quantity"], entry["note"], entry["free"]), (scu(20), "mined", free))
    at = lambda entry, ahead=0: {"unit": unit, "entry": entry["id"], "version": entry["version"] + ahead}
    on = lambda op, ahead, **more: {"op": op} | at(entry, ahead) | more
    equal(outcomes(
        ORG_STOCK,
        on("book-out", 0, quantity=scu(1)),
        on("sell", 1, quantity=scu(2), terminal="Sandbox Terminal", proceeds=4000),
        on("move-location", 2, quantity=scu(3), location=STORAGE),
        on("move-holder", 3, quantity=scu(4), toUnit=unit, holder=other),
        on("note", 4, note="checked"),
        on("note", 4, note="stale"),
        on("stolen", 5, stolen=True, quantity=scu(1)),
        on("note", 6),
    )[0], ["applied"] * 5 + ["VERSION_CONFLICT"] + ["applied"] * 2)
    rest = entry_of(me, **lot, stolen=False)
    equal((rest["quantity"], "note" in rest), (scu(9), False))
    for holder, amount, more in (
        (other, 4, {"stolen": False}), (me, 1, {"stolen": True}), (me, 3, {"location": STORAGE["name"]})
    ):
        equal(entry_of(holder, **(lot | more))["quantity"], scu(amount))
    changed = {lot["key"] for lot in API.feed(ORG_STOCK, API.pool_cursor)[0]}
    equal(len(changed), 3)
    becomes(ORG_STOCK, {**book_in, "jobOrders": orders(21)}, "OVER_ALLOCATION")
    becomes(ORG_STOCK, {**book_in, "jobOrders": orders(5), "mergeScu": True}, "applied")
    taken = entry_of(me, **lot, stolen=False)
    equal([share["quantity"] for share in taken["jobOrders"]], [scu(5)])
    becomes(ORG_STOCK, {"op": "book-out", "quantity": scu(29)} | at(taken), "STOCK_EARMARKED")
    becomes(ORG_STOCK, {"op": "book-out", "quantity": scu(99)} | at(taken), "INSUFFICIENT_STOCK")
    becomes(ORG_STOCK, {"op": "book-out", "quantity": scu(5), "fromJobOrders": orders(5)} | at(taken), "applied")
    # The member must also be a Logistician of the receiving unit.
    moved = {"op": "move-pool", "toUnit": API.units["IRI"]} | at(taken, 1)
    becomes(ORG_STOCK, moved, "NOT_PERMITTED")
    API.act("sandbox-member", "role", unit=API.units["IRI"], role="logistician")
    becomes(ORG_STOCK, moved, "applied")
    equal(one(pools(), unit="IRIDIUM", **lot)["quantity"], scu(24))
    becomes(ORG_STOCK, {**book_in, "holder": "nobody"}, "HOLDER_UNKNOWN")


@step("GET me/org-demand: two lists of what is open, or why they are empty")
def _():
    demand = has(API.got(f"{ME}/org-demand"), "updatedAt materials items")
    assert MOMENT.fullmatch(demand["updatedAt"]) and demand["materials"] and demand["items"]
    for line in demand["materials"]:
        has(line, "material rawRefs minQuality openQuantity source")
        assert line["minQuality"] in (0, 650) and line["source"] in ("material-order", "item-order")
    for line in demand["items"]:
        has(line, "item openQuantity craftableByMe")
    # This member belongs to no unit.
    API.act("sandbox-admin", "role", unit=API.units["IRI"])
    stranger = Installation(DIRECTORY).sign_in("exchange.connect exchange.demand.read", "sandbox-admin")
    withheld = stranger.got(f"{ME}/org-demand")
    assert withheld["materials"] == withheld["items"] == [], withheld
    equal(withheld["reason"], "NOT_PERMITTED")


@step("POST me/drafts/blueprints: staged once, for the member's browser")
def _():
    draft = {
        "format": "svc.blueprints",
        "formatVersion": "1.7",
        "generator": {"name": "ByHand", "version": "1.0.0"},
        "generatedAt": "2026-01-01T00:00:00Z",
        "items": [{"ref": {"name": name}} for name in ("Sandbox Helmet", "Nobody knows this")],
    }
    same = key()
    answers = [API.call("POST", f"{DRAFTS}/blueprints", body=draft, key=same) for _ in range(2)]
    equal(answers[0].content, answers[1].content)
    result = has(answers[0].json(), "frontendUrl handoffId kind")
    equal(result["kind"], "BLUEPRINT")
    other = draft | {"formatVersion": "2.0"}
    response = API.call("POST", f"{DRAFTS}/blueprints", body=other, key=key())
    problem = refused(response, 400, "SCHEMA_INVALID", "/formatVersion")
    assert "unsupported major version" in json.dumps(problem["errors"]).lower()
    huge = canonical(draft | {"extensions": {"org.example": {"x": "y" * (2 << 20)}}})
    refused(API.call("POST", f"{DRAFTS}/blueprints", content=huge, key=key()), 413, "PAYLOAD_TOO_LARGE")


@step("POST me/drafts/refinery-orders: the first order, a SETUP panel")
def _():
    good = {"inputQuantity": 320, "rawMaterialName": "SANDBOX ORE (RAW)", "refine": True}
    order = {"panelType": "SETUP", "goods": [good], "sourceImages": [{"name": "panel-1.png"}]}
    stage = lambda body: API.call("POST", f"{DRAFTS}/refinery-orders", body=body, key=key())
    result = has(stage({"schemaVersion": 1, "orders": [order]}).json(), "frontendUrl handoffId kind")
    equal(result["kind"], "REFINERY")
    for body in (
        {"schemaVersion": 2, "orders": [order]},
        {"schemaVersion": 1, "orders": []},
        {"schemaVersion": 1, "orders": [order | {"panelType": "PROCESSING"}]},
    ):
        # The content is invalid, not the schema, so no pointer is reported.
        refused(stage(body), 400, "SCHEMA_INVALID")
    many = {"schemaVersion": 1, "orders": [order] * 6}
    refused(stage(many), 400, "SCHEMA_INVALID", "/orders")


@step("wrong requests: routes, parameters, bodies, keys")
def _():
    add = {"ops": [{"op": "add", "ref": {"name": "Sandbox Knife"}}]}
    to = f"{BLUEPRINTS}/changes"
    post = lambda content, **more: API.call("POST", to, content=content, **more)
    for method, path in (("GET", f"{V1}/none"), ("DELETE", BLUEPRINTS), ("PUT", V1)):
        refused(API.call(method, path), 404, "NOT_FOUND")
    for limit in ("0", "1001", "ten", ""):
        refused(API.call("GET", f"{BLUEPRINTS}?limit={limit}"), 400, "SCHEMA_INVALID", "/limit")
    refused(API.call("GET", f"{BLUEPRINTS}?=1"), 400, "SCHEMA_INVALID", "/")
    refused(API.call("GET", f"{BLUEPRINTS}?cursor={quote('not of this server')}"), 410, "CURSOR_EXPIRED")
    refused(post(b"{", key=key()), 400, "SCHEMA_INVALID", "")
    refused(post(canonical({"ops": []}), key=key()), 400, "SCHEMA_INVALID", "/ops")
    refused(post(canonical({"ops": [{"op": "add"}]}), key=key()), 400, "SCHEMA_INVALID", "/ops/0/ref")
    refused(post(canonical(add)), 400, "IDEMPOTENCY_KEY_MISSING")
    refused(post(canonical(add), key="short"), 400, "IDEMPOTENCY_KEY_MISSING")
    plain = {"Content-Type": "text/plain"}
    refused(post(canonical(add), key=key(), headers=plain), 415, "UNSUPPORTED_MEDIA_TYPE")
    refused(post(canonical({"ops": add["ops"] * 501}), key=key()), 413, "BATCH_TOO_LARGE")
    note = {"op": "note", "unit": API.units["SBX"], "entry": "none", "version": 0}
    response = API.call("POST", f"{ORG_STOCK}/changes", body={"ops": [note] * 500}, key=key())
    refused(response, 429, "QUOTA_EXCEEDED")
    long = canonical({"ops": [add["ops"][0] | {"x" * 250: 1}]})
    refused(post(long, key=key()), 400, "SCHEMA_INVALID", "/ops/0")
    mine = API.call("GET", f"{V1}/none", headers={"X-Correlation-Id": "by-hand.1"})
    equal(refused(mine, 404, "NOT_FOUND")["correlationId"], "by-hand.1")


@step("broken proofs: each is refused, and the next right one is answered")
def _():
    # The clock is advanced, so that no rate limit is reached.
    API.wait(60)
    API.got(V1)
    wrong = {
        "no ath": {"ath": None},
        "the ath of another token": {"ath": base64url(b"0" * 32)},
        "htu with the query": {"htu": f"{API.gateway}{BLUEPRINTS}?limit=1"},
        "htu of another path": {"htu": f"{API.gateway}{V1}"},
        "another method": {"htm": "POST"},
        "no jti": {"jti": None},
        "too old": {"iat": int(API.api.claims("GET", "")["iat"]) - 60},
        "from the future": {"iat": int(API.api.claims("GET", "")["iat"]) + 60},
        "another key": {"key": Key()},
        "another type": {"header": {"typ": "JWT"}},
        "another algorithm": {"header": {"alg": "none"}},
        "the private key in it": {"header": {"jwk": API.key.jwk | {"d": base64url(b"1" * 32)}}},
    }
    spent = API.proof("GET", BLUEPRINTS)
    equal(API.send("GET", BLUEPRINTS, proof=spent).status_code, 200)
    proofs = {name: API.proof("GET", BLUEPRINTS, **how) for name, how in wrong.items()} | {"sent before": spent}
    for name, proof in proofs.items():
        response = API.send("GET", f"{BLUEPRINTS}?limit=1", proof=proof)
        assert response.status_code == 401, name
        refused(response, 401, "DPOP_INVALID")
        assert 'error="invalid_dpop_proof"' in response.headers["www-authenticate"], name
    # The nonce is checked before all claims, and after the format of the proof.
    for how, error in (({"ath": None}, "use_dpop_nonce"), ({"header": {"typ": "JWT"}}, "invalid_dpop_proof")):
        response = API.send("GET", V1, proof=API.proof("GET", V1, nonce="not-of-this-server", **how))
        assert f'error="{error}"' in response.headers["www-authenticate"], error
    equal(API.send("GET", V1).status_code, 200)


@step("tokens: none, another's, one without its key")
def _():
    API.wait(60)
    API.got(V1)
    for authorization, proof, code in (
        (None, None, "UNAUTHENTICATED"),
        ("DPoP not-a-token", API.proof("GET", V1), "UNAUTHENTICATED"),
        (f"Bearer {API.access}", API.proof("GET", V1), "DPOP_REQUIRED"),
        (f"DPoP {API.access}", None, "DPOP_REQUIRED"),
    ):
        headers = {"Authorization": authorization, "DPoP": proof}
        headers = {name: value for name, value in headers.items() if value}
        response = API.send("GET", V1, auth=False, headers=headers)
        refused(response, 401, code)
        assert response.headers["www-authenticate"].startswith("DPoP ")


@step("scopes: a connection can what it was given, the catalogue needs any")
def _():
    small = Installation(DIRECTORY).sign_in("exchange.connect exchange.blueprints.read")
    equal(small.got(V1)["capabilities"], ["exchange.blueprints.read", "exchange.connect"])
    assert small.got(V1)["installationId"] != API.installation
    refused(small.call("GET", STOCK), 403, "SCOPE_MISSING")
    answer = small.call("POST", f"{BLUEPRINTS}/changes", body={"ops": []}, key=key())
    refused(answer, 403, "SCOPE_MISSING")
    small.got(f"{CATALOG}/locations")
    small.revoke()
    oauth_refused("invalid_grant", small.renew)


@step("the exchange is off, the client suspended")
def _():
    API.act("sandbox-admin", "switch", on=False)
    API.wait(6)
    response = API.call("GET", V1)
    refused(response, response.status_code, "EXCHANGE_DISABLED")
    equal(response.headers["retry-after"], "30")
    API.act("sandbox-admin", "switch", on=True)
    API.act("sandbox-admin", "suspend", client=CLIENT_ID, suspended=True)
    API.wait(6)
    refused(API.call("GET", V1), 403, "CLIENT_SUSPENDED")
    API.act("sandbox-admin", "suspend", client=CLIENT_ID, suspended=False)
    API.wait(6)
    API.got(V1)


@step("token_endpoint: a refresh renews both tokens, another key cannot")
def _():
    access, refresh, own = API.access, API.refresh, API.key
    API.key = Key()
    oauth_refused("invalid_grant", API.renew)
    API.key = own
    API.renew()
    assert API.access != access and API.refresh != refresh
    API.got(V1)


@step("the member disconnects the client, the client disconnects itself")
def _():
    API.act("sandbox-member", "disconnect", client=CLIENT_ID)
    refused(API.call("GET", V1), 401, "CLIENT_REVOKED")
    oauth_refused("invalid_grant", API.renew)
    again = Installation(DIRECTORY).sign_in(" ".join(SCOPES))
    assert again.got(V1)["installationId"] != API.installation
    again.revoke()
    oauth_refused("invalid_grant", again.renew)


@step(f"{len(ROUTES)} routes were answered, {sum(len(ops.split()) for ops in OPS.values())} ops applied")
def _():
    named = lambda path: re.sub(r"schemas/[^/]*", "schemas/{name}.schema.json", path)
    answered = {(method, named(path)) for method, path, response in API.seen if response.is_success}
    equal(sorted(ROUTES - answered), [])
    equal(sorted({(path, op) for path, ops in OPS.items() for op in ops.split()} - APPLIED), [])
    equal({response.request.headers["user-agent"] for *_, response in API.seen}, {USER_AGENT})
    # Every response after the token was read has a nonce, including error responses.
    early = {"PAYLOAD_TOO_LARGE", "SCHEMA_INVALID"}
    for method, path, response in API.seen:
        signed = "dpop" in response.request.headers
        if signed and "dpop-nonce" not in response.headers:
            assert response.json()["code"] in early, f"{method} {path}: {response.status_code} without a nonce"


for name, run in STEPS:
    try:
        run()
    except Exception as error:
        print(json.dumps({"name": name, "ok": False, "why": f"{type(error).__name__}: {error}"}))
        break
    print(json.dumps({"name": name, "ok": True}), flush=True)

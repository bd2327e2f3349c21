"""Makes signed calls with requests-oauthlib: a job as JSON on stdin, status and body of each call as JSON on stdout."""
import json
import sys

import requests
from requests_oauthlib import OAuth1

PLACES = {"header": "AUTH_HEADER", "query": "QUERY", "body": "BODY"}

job = json.load(sys.stdin)
session = requests.Session()
session.trust_env = False
answers = []
for call in job["calls"]:
    key = {**job["key"], **call.get("key", {})}
    auth = OAuth1(
        key["consumerKey"],
        client_secret=key["consumerSecret"],
        resource_owner_key=key["token"],
        resource_owner_secret=key["tokenSecret"],
        signature_type=PLACES[call["place"]],
    )
    parameters = [tuple(pair) for pair in call["parameters"]]
    where = {"params": parameters} if call["method"] == "GET" else {"data": parameters}
    answer = session.request(call["method"], job["base"] + call["path"], auth=auth, timeout=10, **where)
    answers.append({"status": answer.status_code, "body": answer.content.decode("utf-8")})
json.dump(answers, sys.stdout)

"""Signs GETs with oauthlib: jobs as JSON on stdin, the Authorization header of each as JSON on stdout."""
import json
import sys

from oauthlib.oauth1 import Client

headers = []
for job in json.load(sys.stdin):
    client = Client(**job["client"])
    _, signed, _ = client.sign(job["url"])
    headers.append(signed["Authorization"])
json.dump(headers, sys.stdout)

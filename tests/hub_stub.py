"""The part of the Hugging Face Hub's HTTP API that sends and fetches a model repository, on this machine."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REPOSITORIES: dict[str, dict[str, bytes]] = {}
OBJECTS: dict[str, bytes] = {}
SEEN: list[str] = []
TOKEN = "hf_of_the_test"


class Hub(BaseHTTPRequestHandler):
    """Keeps repositories in memory; large files go through LFS's basic transfer, as on the hub."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        SEEN.append(f"{self.command} {self.path}")

    def answer(self, status, body=b"", **headers):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": len(content), "Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            parts = b""
            while size := int(self.rfile.readline(), 16):
                parts += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return parts
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_POST(self):
        data, path = self.body(), self.path.partition("?")[0]
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self.answer(401, {"error": "Invalid username or password."})
        if path == "/api/repos/create":
            wanted = json.loads(data)
            name = f"{wanted.get('organization') or 'tester'}/{wanted['name']}"
            existing = name in REPOSITORIES
            REPOSITORIES.setdefault(name, {})
            address = {"url": f"{ADDRESS}/{name}", "name": name, "id": name}
            return self.answer(409 if existing else 200, address | ({"error": "exists"} if existing else {}))
        if path == "/api/validate-yaml":
            return self.answer(200, {"errors": [], "warnings": []})
        if found := re.fullmatch(r"/api/models/(.+)/preupload/main", path):
            files = json.loads(data)["files"]
            modes = [
                {
                    "path": f["path"],
                    "uploadMode": "lfs" if f["path"].endswith(".safetensors") else "regular",
                    "shouldIgnore": False,
                }
                for f in files
            ]
            return self.answer(200, {"files": modes})
        if found := re.fullmatch(r"/(.+)\.git/info/lfs/objects/batch", path):
            objects = [
                {"oid": o["oid"], "size": o["size"], "actions": {"upload": {"href": f"{ADDRESS}/lfs/{o['oid']}"}}}
                for o in json.loads(data)["objects"]
            ]
            return self.answer(200, {"transfer": "basic", "objects": objects})
        if found := re.fullmatch(r"/api/models/(.+)/commit/main", path):
            held = REPOSITORIES[found[1]]
            for line in map(json.loads, data.decode().splitlines()):
                if line["key"] == "file":
                    held[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
                elif line["key"] == "lfsFile":
                    held[line["value"]["path"]] = OBJECTS[line["value"]["oid"]]
            return self.answer(
                200, {"commitUrl": f"{ADDRESS}/{found[1]}/commit/{SHA}", "commitOid": SHA, "hookOutput": ""}
            )
        return self.answer(404, {"error": f"unknown: {path}"})

    def do_PUT(self):
        data = self.body()
        number = self.path.rpartition("/")[2]
        if hashlib.sha256(data).hexdigest() != number:
            return self.answer(422, {"error": "another hash"})
        OBJECTS[number] = data
        return self.answer(200)

    def do_GET(self):
        path = self.path.partition("?")[0]
        if (found := re.match(r"/api/models/([^/]+/[^/]+)", path)) and found[1] not in REPOSITORIES:
            return self.answer(404, {"error": "Repository not found"}, X_Error_Code="RepoNotFound")
        if found := re.fullmatch(r"/api/models/([^/]+/[^/]+)(/revision/[^/]+)?", path):
            siblings = [{"rfilename": name} for name in REPOSITORIES[found[1]]]
            return self.answer(
                200,
                {
                    "id": found[1],
                    "modelId": found[1],
                    "sha": SHA,
                    "siblings": siblings,
                    "private": False,
                    "tags": [],
                    "downloads": 0,
                    "likes": 0,
                },
            )
        if found := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/[^/]+", path):
            return self.answer(
                200,
                [
                    {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                    for name, data in REPOSITORIES[found[1]].items()
                ],
            )
        if found := re.fullmatch(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)", path):
            data = REPOSITORIES[found[1]].get(found[2])
            if data is None:
                return self.answer(404, {"error": "Entry not found"}, X_Error_Code="EntryNotFound")
            tag = f'"{hashlib.sha256(data).hexdigest()}"'
            return self.answer(
                200, data, ETag=tag, X_Repo_Commit=SHA, Accept_Ranges="bytes", Content_Type="application/octet-stream"
            )
        return self.answer(404, {"error": f"unknown: {path}"})

    do_HEAD = do_GET


SHA = "0123456789abcdef0123456789abcdef01234567"
SERVER = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
ADDRESS = f"http://127.0.0.1:{SERVER.server_port}"


def serve() -> str:
    """Begins to answer; the address."""
    threading.Thread(target=SERVER.serve_forever, daemon=True).start()
    return ADDRESS

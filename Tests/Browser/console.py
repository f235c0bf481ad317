"""The console that deploy/demo --console left running, and its database."""

import http.client
import json
import re
import subprocess
from pathlib import Path

# Names of logins. A page says who looks at it, so that these are on each. A connection string takes no "=" and ":" in a name.
OPERATOR = "olga<script>alert('operator')</script>\"\u202e"
VIEWER = "vera</span></header><script>alert(1)</script>"
# Who has no session when the proof begins.
GUEST = "gus"


class Console:
    def __init__(self, demo: Path, program: Path) -> None:
        self.program = program
        # As browsers see it: its name can be one that only browsers resolve.
        self.origin = (demo / "console").read_text().strip()
        self.host = self.origin.removeprefix("http://")
        self.address = "127.0.0.1:" + self.host.rpartition(":")[2]
        self.socket = (demo / "cluster/place").read_text().strip()

    def connection(self, role: str) -> str:
        quoted = role.replace("\\", "\\\\").replace("'", "\\'")
        return f"host={self.socket} user='{quoted}' dbname=postgres"

    def request(self, method: str, path: str, headers: dict[str, str], body: str = "") -> tuple[int, dict[str, str], bytes]:
        """The status, the header fields and the body of what the console answers."""
        return request(self.address, method, path, {"Host": self.host} | headers, body)

    def run(self, statements: str, **variables: str) -> str:
        """Runs statements as superuser, and returns what psql prints."""
        command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", self.connection("postgres")]
        for name, value in variables.items():
            command += ["-v", f"{name}={value}"]
        return subprocess.run(command, input=statements, check=True, capture_output=True, text=True).stdout

    def rows(self, query: str) -> list[dict]:
        return json.loads(self.run(f"SELECT coalesce(json_agg(q), '[]') FROM ({query}) AS q"))

    def value(self, query: str):
        """The only value of the only row."""
        (row,) = self.rows(query)
        (value,) = row.values()
        return value

    def login_link(self, person: str, *flags: str) -> str:
        """What `appstore-inbox console login` prints for a person; with flags, for another console."""
        flags = flags or ("--console-listen", self.address)
        command = [self.program, "console", "login", *flags, "--database-url", self.connection(person)]
        link = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        assert re.fullmatch(r"https?://[\w.:-]+/login\?token=[\w-]{43}", link), f"no link: {link}"
        return link


def request(address: str, method: str, path: str, headers: dict[str, str], body: str = "") -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, {name.lower(): value for name, value in response.getheaders()}, content


def text(value: str) -> str:
    """A literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


class Results:
    """What was found. A check that fails does not keep the others from running."""

    def __init__(self) -> None:
        self.checks = 0
        self.failures: list[str] = []

    def heading(self, words: str) -> None:
        print(f"\n{words}", flush=True)

    def passes(self, what: str, detail: str = "") -> None:
        self.checks += 1
        print(f"  ok      {what}  {detail}".rstrip(), flush=True)

    def fails(self, what: str, detail: str) -> None:
        self.checks += 1
        self.failures.append(f"{what}: {detail}")
        print(f"  FAILED  {what}: {detail}", flush=True)

    def check(self, what: str, problems: list[str], detail: str = "") -> None:
        if problems:
            self.fails(what, "\n            ".join(problems))
        else:
            self.passes(what, detail)

    def equal(self, what: str, found, expected) -> None:
        if found == expected:
            self.passes(what, shortened(expected))
        else:
            self.fails(what, f"found {shortened(found)}, expected {shortened(expected)}")


def shortened(value) -> str:
    words = f"{len(value)} entries" if isinstance(value, list) and len(value) > 5 else str(value).replace("\n", " ")
    return words if len(words) < 200 else words[:200] + "…"

"""Labels under faults: what the page was told is saved is in the file, whatever happens to it.

A server of its own process, two tabs that send labels, and somebody who replaces, deletes, cuts and
edits the file meanwhile, fills the disk, and kills the server. In the end the file is compared with
every answer that was given, label by label.
"""

import csv
import http.client
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import threading
from collections import Counter

import pytest

LABELS = ("pass", "fail", "")
NEVER = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


class Campaign:
    """A folder with items, a server that labels them, and the answers that it gave."""

    def __init__(self, folder, labels, seed):
        self.dice = random.Random(seed)
        self.left = [f"i{n}" for n in range(labels)]
        self.items = folder / "items.csv"
        self.out = folder / "labels.csv"
        rows = "".join(f"{item},question about {item}\n" for item in self.left)
        self.items.write_text("item,question\n" + rows)
        self.acknowledged, self.undone, self.refused = {}, set(), 0
        self.copies, self.seen, self.process = [], Counter(), None

    def start(self):
        words = ["label", self.items, "--labels", "pass,fail", "--as", "ann", "--out", self.out]
        command = [sys.executable, "-m", "judgelaw", *map(str, words), "--no-open"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        url = self.process.stdout.readline()
        self.host, self.path = re.fullmatch(r"http://([^/]+)(/.+/)\n", url).groups()

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        self.process.communicate(timeout=60)

    def send(self, path, **sent):
        connection = http.client.HTTPConnection(self.host, timeout=60)
        headers = {"Origin": f"http://{self.host}", "Content-Type": "application/json"}
        try:
            connection.request("POST", self.path + path, json.dumps(sent), headers)
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            return None  # the server was killed: nobody knows whether the label is there
        else:
            return answer.status
        finally:
            connection.close()

    def label(self, item, label):
        status = self.send("api/label", labeller="ann", item=item, label=label, note="=so")
        if status == 200:
            self.acknowledged[item] = label
        else:
            self.refused += 1
        return status

    def rows(self):
        if not self.out.exists():
            return {}
        with self.out.open(newline="", encoding="utf-8-sig", errors="replace") as file:
            return {row["item"]: row for row in csv.DictReader(file)}

    # What happens to the file, to the disk and to the server.

    def sed(self):
        """Take a row out, as `sed -i` does: into a new file of the same name."""
        pattern = f"/^i{self.dice.randrange(2000)}[0-9]*,/d"
        subprocess.run(["/bin/sed", "-i", pattern, self.out], check=True)

    def delete(self):
        self.out.unlink(missing_ok=True)

    def truncate(self):
        if self.out.exists():
            os.truncate(self.out, self.dice.randrange(self.out.stat().st_size + 1))

    def older_copy(self):
        """Put an older copy in place of the file, as `git checkout` does."""
        if self.copies:
            self.replace(self.dice.choice(self.copies))

    def spreadsheet(self):
        """Save the file as a spreadsheet does: with a mark, other line ends, sorted."""
        if self.out.exists():
            head, *rows = self.out.read_text(encoding="utf-8-sig").splitlines()
            self.dice.shuffle(rows)
            self.replace(("\ufeff" + "".join(f"{row}\r\n" for row in [head, *rows])).encode())

    def replace(self, content):
        other = self.out.with_name("saving")
        other.write_bytes(content)
        other.replace(self.out)

    def torn(self):
        """Leave a row in part, with garbage of a page of the disk behind it."""
        if self.out.exists():
            with self.out.open("ab") as file:
                file.write(self.dice.choice([b'i9,"pa', b"i7,pass,an", b"\0" * 40, b"i8,\xff"]))

    def in_place(self):
        """Write an older content into the same file, as some editors do."""
        if self.copies and self.out.exists():
            self.out.write_bytes(self.dice.choice(self.copies))

    def disk_full(self):
        """Let no file grow beyond what it is, at any byte of the row to come."""
        size = self.out.stat().st_size if self.out.exists() else 0
        limit = size + self.dice.randrange(120)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (limit, NEVER[1]))
        item = self.left.pop()
        before = self.rows().keys()
        if self.label(item, "pass") != 200:
            assert before <= self.rows().keys() | {item}
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, NEVER)
        assert self.label(item, "pass") == 200, "the page sends it again"

    def kill(self):
        """Kill the server while labels come in; something may befall the file while it is down."""
        items = [self.left.pop() for _ in range(2)]
        tabs = [threading.Thread(target=self.label, args=(item, "pass")) for item in items]
        for tab in tabs:
            tab.start()
        self.end(signal.SIGKILL)
        for tab in tabs:
            tab.join()
        if self.dice.random() < 0.7:
            self.befall(self.dice.choice(self.to_the_file))
        self.start()
        for item in items:
            # Where the answer was lost the label may be there: the same label is taken as one.
            assert self.label(item, "pass") == 200

    def two_tabs(self):
        """Label one item in two tabs at once: one of the two counts."""
        item, told = self.left.pop(), {}
        tabs = [
            threading.Thread(
                target=lambda label=label: told.update(
                    {
                        label: self.send(
                            "api/label", labeller="ann", item=item, label=label, note="=so"
                        )
                    }
                )
            )
            for label in ("pass", "fail")
        ]
        for tab in tabs:
            tab.start()
        for tab in tabs:
            tab.join()
        assert sorted(told.values()) == [200, 409]
        self.acknowledged[item] = next(label for label, status in told.items() if status == 200)

    def undo(self):
        """Take a label back."""
        if self.acknowledged:
            item = self.dice.choice(list(self.acknowledged))
            assert self.send("api/undo", labeller="ann", item=item) == 200
            del self.acknowledged[item]
            self.undone.add(item)

    to_the_file = ("sed", "delete", "truncate", "older_copy", "spreadsheet", "torn", "in_place")
    to_the_server = ("disk_full", "kill", "two_tabs", "undo")

    def befall(self, fault):
        self.seen[fault] += 1
        getattr(self, fault)()

    def run(self, faults):
        """Label everything; spread the faults over it, some while a label is on its way."""
        self.start()
        names = [*self.to_the_file, *self.to_the_server]
        plan = [names[n % len(names)] for n in range(faults)]
        self.dice.shuffle(plan)
        every = max(1, (len(self.left) - 3 * faults) // (faults + 1))
        while self.left:
            for _ in range(min(every, len(self.left))):
                item, label = self.left.pop(), self.dice.choice(LABELS)
                assert self.label(item, label) == 200
            assert self.rows()[item]["label"] == label, "it is in the file when it is acknowledged"
            self.copies = [*self.copies[-3:], self.out.read_bytes()]
            if not plan or len(self.left) < 3:
                continue
            fault = plan.pop()
            if fault in self.to_the_file and self.dice.random() < 0.5:
                item = self.left.pop()
                tab = threading.Thread(target=self.label, args=(item, "pass"))
                tab.start()
                self.befall(fault)
                tab.join()
                assert self.label(item, "pass") == 200
            else:
                self.befall(fault)
        assert not plan
        self.end()
        self.start()
        self.end()

    def lost(self):
        """Return what was acknowledged and is not in the file as it was acknowledged."""
        rows = self.rows()
        gone = {
            i
            for i, label in self.acknowledged.items()
            if i not in rows or rows[i]["label"] != label
        }
        return gone | (self.undone & rows.keys())


def campaign(folder, *, labels, faults, seed):
    found = Campaign(folder, labels, seed)
    try:
        found.run(faults)
    finally:
        if found.process.poll() is None:
            found.end(signal.SIGKILL)
    print(f"{len(found.acknowledged)} labels, {found.refused} refused, {dict(found.seen)}")
    assert found.lost() == set()
    with found.out.open(newline="") as file:
        assert max(Counter(row["item"] for row in csv.DictReader(file)).values()) == 1
    assert {row["note"] for row in found.rows().values()} == {"'=so"}
    return found


def test_nothing_acknowledged_is_lost(tmp_path):
    found = campaign(tmp_path, labels=90, faults=22, seed=1)
    assert set(found.seen) == {*Campaign.to_the_file, *Campaign.to_the_server}


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_over_two_hundred_faults(tmp_path):
    found = campaign(tmp_path, labels=2_000, faults=200, seed=2)
    assert sum(found.seen.values()) >= 200
    assert len(found.acknowledged) + len(found.undone) == 2_000

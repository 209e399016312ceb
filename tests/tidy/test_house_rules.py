"""The house rules that a program can check: sizes, names, builtins, the namespace, types."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from typing import Final

from tidy.source_files import (
    PRODUCT_FILES,
    PYTHON_FILES,
    ROOT,
    SOURCE_ROOTS,
    functions,
    name,
    text,
    tracked,
    tree,
)

FUNCTION_LINES_MAX: Final = 45  # the rule is 40; a few more are no reason to tear code apart
FILE_LINES_MAX: Final = 400
MODULES_MAX: Final = 15
MODULE_NAMES_REFUSED: Final = {"utils", "util", "helpers", "helper", "manager", "misc", "common"}

# Folders with more modules, and why. `__init__.py` does not count.
FULL_FOLDERS: Final = {
    "examples": "readers go through the numbered scripts in one list",
    "client/gantrymq/cli/frame": "is being divided by subject",
    "client/gantrymq/client/core/admin": "is being divided by subject",
    "common/gantrymq/base": "is being divided by subject",
    "operator/gantrymq/operator/plan/objects": "is being divided by subject",
    "tests/gantrymq/interop/clients": "is being divided by subject",
    "tests/interop": "is being divided by subject",
    "tests/sim/group": "is being divided by subject",
    "tests/unit/broker": "is being divided by subject",
    "tests/unit/store/offline": "is being divided by subject",
    "tests/unit/wire": "is being divided by subject",
}

# Files with more lines. A number may only go down.
LONG_FILES: Final = {
    "broker/gantrymq/broker/configuration.py": 417,
    "broker/gantrymq/broker/core/broker.py": 567,
    "broker/gantrymq/broker/core/client/clients.py": 404,
    "broker/gantrymq/broker/core/quotas/gate.py": 401,
    "broker/gantrymq/broker/core/schedule/delays.py": 401,
    "broker/gantrymq/broker/core/schedule/timer_service.py": 491,
    "broker/gantrymq/broker/core/settings.py": 473,
    "broker/gantrymq/broker/member/member_host.py": 441,
    "broker/gantrymq/broker/server.py": 594,
    "broker/gantrymq/ha/election/election.py": 432,
    "broker/gantrymq/ha/election/leader_elector.py": 543,
    "broker/gantrymq/ha/lease/lease_object.py": 407,
    "broker/gantrymq/ha/member/incoming_links.py": 509,
    "broker/gantrymq/ha/member/member.py": 505,
    "broker/gantrymq/ha/member/outgoing_links.py": 459,
    "broker/gantrymq/store/consumequeue/consumequeue.py": 446,
    "broker/gantrymq/store/consumequeue/queues.py": 454,
    "broker/gantrymq/store/engine.py": 580,
    "broker/gantrymq/store/read/pull.py": 569,
    "broker/gantrymq/store/recovery/recovery.py": 570,
    "client/gantrymq/client/core/pull/lite_pull.py": 475,
    "client/gantrymq/client/core/push/push_consumer.py": 427,
    "client/gantrymq/client/core/send/record_accumulator.py": 480,
    "client/gantrymq/client/once.py": 532,
    "common/gantrymq/remoting/session.py": 452,
    "common/gantrymq/runtime/net/channel.py": 478,
    "common/gantrymq/runtime/storage/disk.py": 443,
    "common/gantrymq/wire/javajson_reader.py": 422,
    "common/gantrymq/wire/message/record.py": 419,
    "namesrv/gantrymq/namesrv/core/routing/registration.py": 421,
    "namesrv/gantrymq/namesrv/server.py": 427,
    "operator/gantrymq/operator/shell/work/snapshot_reader.py": 402,
    "tests/gantrymq/fakes_kube/server.py": 410,
    "tests/gantrymq/sim/checks/group_checks.py": 413,
    "tests/gantrymq/sim/nodes/group_process.py": 426,
    "tests/interop/test_mqadmin_broker.py": 496,
    "tests/interop/test_tls.py": 462,
    "tests/interop/test_wire_side_by_side.py": 471,
    "tests/unit/app/test_store_tool.py": 434,
    "tests/unit/broker/links/test_replication_access.py": 450,
    "tests/unit/broker/member/test_member_host.py": 517,
    "tests/unit/broker/pop/test_pop_requests.py": 418,
    "tests/unit/broker/pull/test_pull_requests.py": 401,
    "tests/unit/broker/replication/test_metadata_replication.py": 511,
    "tests/unit/broker/replication/test_role_controller.py": 474,
    "tests/unit/broker/replication/test_slave_synchronizer.py": 418,
    "tests/unit/broker/schedule/test_timer_service.py": 504,
    "tests/unit/broker/transaction/test_transaction_check.py": 471,
    "tests/unit/client/pull/test_lite_pull.py": 561,
    "tests/unit/client/push/test_push_consumer.py": 467,
    "tests/unit/ha/election/test_election.py": 510,
    "tests/unit/ha/member/test_incoming_links.py": 586,
    "tests/unit/ha/member/test_member.py": 470,
    "tests/unit/namesrv/routing/test_registration.py": 505,
    "tests/unit/namesrv/test_server.py": 423,
    "tests/unit/operator/brokers/test_topic_controller.py": 413,
    "tests/unit/operator/kube/test_executor.py": 454,
    "tests/unit/remoting/test_session.py": 571,
    "tests/unit/runtime/http/test_health.py": 510,
    "tests/unit/runtime/net/test_net_hostile.py": 441,
    "tests/unit/runtime/security/test_tls.py": 478,
    "tests/unit/store/consumequeue/test_queue_flush.py": 406,
    "tests/unit/store/read/test_pull.py": 584,
    "tests/unit/store/retention/test_retention.py": 451,
    "tests/unit/store/test_copied_deletions.py": 457,
    "tests/unit/testing/hosts/test_disk_contract.py": 427,
    "tests/unit/wire/test_javajson.py": 475,
}


def test_files_are_short() -> None:
    lines = {name(path): text(path).count("\n") for path in PYTHON_FILES}
    long = {
        each: count for each, count in lines.items() if count > LONG_FILES.get(each, FILE_LINES_MAX)
    }
    assert long == {}, f"files have at most {FILE_LINES_MAX} lines; split these by subject"


def test_folders_have_few_modules() -> None:
    modules = Counter(name(path.parent) for path in PYTHON_FILES if path.name != "__init__.py")
    full = {
        each: count
        for each, count in modules.items()
        if count > MODULES_MAX and each not in FULL_FOLDERS
    }
    assert full == {}, f"folders have at most {MODULES_MAX} modules; group these by subject"


def test_functions_are_short() -> None:
    long = {
        f"{name(path)}:{node.lineno} {node.name}"
        for path in PRODUCT_FILES
        for node in functions(path)
        if (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES_MAX
    }
    assert long == set()


def test_modules_are_named_for_one_noun() -> None:
    refused = MODULE_NAMES_REFUSED | sys.stdlib_module_names
    named = [name(path) for path in PRODUCT_FILES if path.stem in refused]
    assert [each for each in named if not each.endswith("/__main__.py")] == []


def test_cores_call_no_builtin_that_does_io() -> None:
    """What import-linter cannot see: builtins need no import."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (cores,) = (
        each["source_modules"]
        for each in contracts["contracts"]
        if each["name"].startswith("cores do no I/O")
    )
    folders = tuple(f"{core.replace('.', '/')}/" for core in cores)
    files = [path for path in PRODUCT_FILES if name(path).split("/", 1)[1].startswith(folders)]
    assert len({name(path).split("/")[0] for path in files}) > 3, "the contract has other packages"
    refused = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint"}
    calls = [
        f"{name(path)}:{node.lineno} {node.func.id}"
        for path in files
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in refused
    ]
    assert calls == []


def test_the_namespace_has_no_init() -> None:
    tops = {ROOT / root for root in SOURCE_ROOTS} | {
        ROOT / root / "gantrymq" for root in SOURCE_ROOTS
    }
    tops |= {ROOT / "tests", ROOT / "tests" / "gantrymq", ROOT / "operator", ROOT / "broker"}
    assert [top for top in tops if (top / "__init__.py").exists()] == []


def test_mypy_checks_every_python_file() -> None:
    """A package list that silently leaves files out would look just as green."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    checked = int(done.stdout.rsplit("in ", 1)[1].split(" ", 1)[0])
    assert checked == len(PYTHON_FILES)


def test_nothing_of_the_workplace_is_committed() -> None:
    words = re.compile(r"(?<!\w)/wor[k]/|registry\.npm[j]s|files\.python[h]osted")
    telling = [
        name(path)
        for path in tracked("*")
        if path.suffix not in {".gz", ".json"} and words.search(path.read_text(errors="replace"))
    ]
    assert telling == []

"""librocketmq as the scenarios drive it: many orders at once, each answered under its number.

    cpp_driver.py PATH_OF_LIBROCKETMQ

    in:  {"id": 7, "do": "send", "as": "name of the client object", ...}
    out: {"id": 7, "answer": ...} or {"id": 7, "error": "..."}

It decides nothing: what was sent and what came is told as it was, and the scenario judges.
"""

import ctypes
import json
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from ctypes import POINTER, byref, c_char, c_char_p, c_int, c_longlong, c_void_p
from typing import Any, Final, TypeAlias

Fields: TypeAlias = dict[str, Any]  # an order or an answer: JSON

AT_ONCE = 64  # orders under way; each waits in a thread
SEND_TIMEOUT_MILLIS = 10_000
STATUSES = ("SEND_OK", "FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE")
CONSUMED, LATER = 0, 1
BROADCASTING, CLUSTERING = 0, 1
FOUND = 0
PROPERTIES = ("shard", "stadt")  # the library returns only properties that are requested by name


class SendResult(ctypes.Structure):
    _fields_ = [("status", c_int), ("id", c_char * 256), ("offset", c_longlong)]


class MessageQueue(ctypes.Structure):
    _fields_ = [
        ("topic", c_char * 512),
        ("broker", c_char * 256),
        ("queue", c_int),
    ]


class Failure(ctypes.Structure):
    _fields_ = [
        ("error", c_int),
        ("line", c_int),
        ("file", c_char * 512),
        ("message", c_char * 512),
        ("type", c_char * 512),
    ]


class PullResult(ctypes.Structure):
    _fields_ = [
        ("status", c_int),
        ("next", c_longlong),
        ("min", c_longlong),
        ("max", c_longlong),
        ("messages", POINTER(c_void_p)),
        ("size", c_int),
        ("data", c_void_p),
    ]


OnMessage = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)
OnSent = ctypes.CFUNCTYPE(None, POINTER(SendResult))
OnFailure = ctypes.CFUNCTYPE(None, Failure)
Select = ctypes.CFUNCTYPE(c_int, c_int, c_void_p, c_void_p)

library: Final = ctypes.CDLL(sys.argv[1])
for _name in ("CreateMessage", "CreateBatchMessage", "CreateProducer", "CreatePushConsumer"):
    getattr(library, _name).restype = c_void_p
for _name in ("Topic", "Tags", "Keys", "Body", "Id", "Property"):
    getattr(library, f"GetMessage{_name}").restype = c_char_p
library.GetMessageQueueOffset.restype = c_longlong
library.GetLatestErrorMessage.restype = c_char_p
library.CreatePullConsumer.restype = c_void_p
library.Pull.restype = PullResult


def call(function: str, *arguments: object) -> None:
    """Call a function whose result is a status."""
    if status := getattr(library, function)(*map(_as_c, arguments)):
        raise RuntimeError(f"{function}: status {status}: {library.GetLatestErrorMessage()!r}")


def _as_c(argument: object) -> object:
    return argument.encode() if isinstance(argument, str) else argument


class Producer:
    def __init__(self, order: Fields) -> None:
        self._handle = c_void_p(library.CreateProducer(order["group"].encode()))
        call("SetProducerNameServerAddress", self._handle, order["namesrv"])
        call("SetProducerInstanceName", self._handle, order["as"])
        call("SetProducerSendMsgTimeout", self._handle, SEND_TIMEOUT_MILLIS)
        call("StartProducer", self._handle)

    def send(self, order: Fields) -> list[Fields]:
        modes: Mapping[str, Callable[[c_void_p], Fields | None]] = {
            "sync": self._send,
            "async": self._send_async,
            "oneway": self._send_oneway,
        }
        if order["mode"] == "batch":
            return [self._send_batch([_message(each) for each in order["messages"]])]
        results: list[Fields] = []
        for each in order["messages"]:
            message = _message(each)
            if order["mode"] == "select":
                results.append(self._send_to(message, int(each["properties"]["shard"])))
            elif (result := modes[order["mode"]](message)) is not None:
                results.append(result)
            call("DestroyMessage", message)
        return results

    def _send(self, message: c_void_p) -> Fields:
        result = SendResult()
        call("SendMessageSync", self._handle, message, byref(result))
        return _sent(result)

    def _send_to(self, message: c_void_p, shard: int) -> Fields:
        result = SendResult()
        select = Select(lambda size, _message, _argument: shard % size)
        none = byref(c_int())  # the library requires an argument for the selector
        call("SendMessageOrderly", self._handle, message, select, none, 0, byref(result))
        return _sent(result)

    def _send_oneway(self, message: c_void_p) -> None:
        call("SendMessageOneway", self._handle, message)

    def _send_async(self, message: c_void_p) -> Fields:
        answers: queue.Queue[Fields | Exception] = queue.Queue()
        on_sent = OnSent(lambda result: answers.put(_sent(result.contents)))
        on_failure = OnFailure(lambda failure: answers.put(RuntimeError(failure.message)))
        call("SendMessageAsync", self._handle, message, on_sent, on_failure)
        answer = answers.get(timeout=SEND_TIMEOUT_MILLIS / 1000)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _send_batch(self, messages: list[c_void_p]) -> Fields:
        batch, result = c_void_p(library.CreateBatchMessage()), SendResult()
        for message in messages:
            call("AddMessage", batch, message)
        call("SendBatchMessage", self._handle, batch, byref(result))
        call("DestroyBatchMessage", batch)
        return _sent(result)

    def stop(self) -> None:
        call("ShutdownProducer", self._handle)


class Consumer:
    """Keeps the received messages; each message fails as often as the order says (-1: always)."""

    def __init__(self, order: Fields) -> None:
        self._fails = order["fails"]
        self._messages: list[Fields] = []
        self._change = threading.Condition()
        self._on_message = OnMessage(self._take)
        model = BROADCASTING if order.get("broadcast") else CLUSTERING
        self._handle = c_void_p(library.CreatePushConsumer(order["group"].encode()))
        call("SetPushConsumerNameServerAddress", self._handle, order["namesrv"])
        call("SetPushConsumerInstanceName", self._handle, order["as"])
        call("SetPushConsumerMessageModel", self._handle, model)
        call("SetPushConsumerThreadCount", self._handle, 4)
        call("SetPushConsumerMessageBatchMaxSize", self._handle, 1)
        call("Subscribe", self._handle, order["topic"], order["expression"])
        register = "RegisterMessageCallback" + ("Orderly" if order.get("orderly") else "")
        call(register, self._handle, self._on_message)
        call("StartPushConsumer", self._handle)

    def _take(self, _consumer: int, handle: int) -> int:
        message = _delivery(c_void_p(handle))
        with self._change:
            self._messages.append(message)
            self._change.notify_all()
        is_done = self._fails >= 0 and message["tries"] >= self._fails
        return CONSUMED if is_done else LATER

    def received(self, count: int, millis: int) -> list[Fields]:
        with self._change:
            self._change.wait_for(lambda: len(self._messages) >= count, millis / 1000)
            return list(self._messages)

    def stop(self) -> None:
        call("ShutdownPushConsumer", self._handle)


def pull(order: Fields) -> list[Fields]:
    """All messages of a topic."""
    handle = c_void_p(library.CreatePullConsumer(order["group"].encode()))
    call("SetPullConsumerNameServerAddress", handle, order["namesrv"])
    call("StartPullConsumer", handle)
    queues, count = POINTER(MessageQueue)(), c_int()
    call("FetchSubscriptionMessageQueues", handle, order["topic"], byref(queues), byref(count))
    found = [each for at in range(count.value) for each in _pull_queue(handle, queues[at], order)]
    call("ReleaseSubscriptionMessageQueue", queues)
    call("ShutdownPullConsumer", handle)
    return found


def _pull_queue(handle: c_void_p, which: MessageQueue, order: Fields) -> list[Fields]:
    found: list[Fields] = []
    offset = 0
    while True:
        expression = order["expression"].encode()
        result = library.Pull(handle, byref(which), expression, c_longlong(offset), 32)
        if result.status == FOUND:
            found += [_delivery(c_void_p(result.messages[at])) for at in range(result.size)]
        is_end = result.next >= result.max
        offset = result.next
        library.ReleasePullResult(result)
        if is_end:
            return found


def _message(fields: Fields) -> c_void_p:
    message = c_void_p(library.CreateMessage(fields["topic"].encode()))
    call("SetMessageBody", message, fields["body"])
    if fields["tag"]:
        call("SetMessageTags", message, fields["tag"])
    if fields["key"]:
        call("SetMessageKeys", message, fields["key"])
    if fields["level"]:
        call("SetDelayTimeLevel", message, fields["level"])
    for name, value in fields["properties"].items():
        call("SetMessageProperty", message, name, value)
    return message


def _sent(result: SendResult) -> Fields:
    return {"status": STATUSES[result.status], "id": result.id.decode(), "offset": result.offset}


def _delivery(message: c_void_p) -> Fields:
    texts = {
        name: getattr(library, f"GetMessage{function}")(message).decode()
        for name, function in (
            ("topic", "Topic"),
            ("body", "Body"),
            ("tag", "Tags"),
            ("key", "Keys"),
            ("id", "Id"),
        )
    }
    properties = {name: library.GetMessageProperty(message, name.encode()) for name in PROPERTIES}
    return {
        **texts,
        "queue": library.GetMessageQueueId(message),
        "offset": library.GetMessageQueueOffset(message),
        "tries": library.GetMessageReconsumeTimes(message),
        "properties": {name: value.decode() for name, value in properties.items() if value},
        "at_ms": int(time.time() * 1000),
    }


class Driver:
    """Carries out orders."""

    def __init__(self) -> None:
        self._objects: dict[str, Producer | Consumer] = {}
        self._lock = threading.Lock()

    def obey(self, line: str) -> None:
        order = json.loads(line)
        reply: Fields = {"id": order["id"]}
        try:
            reply["answer"] = self._answer(order)
        except Exception:
            reply["error"] = traceback.format_exc()
        with self._lock:
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()

    def _answer(self, order: Fields) -> object:
        name, do = order["as"], order["do"]
        if do in ("produce", "consume"):
            self._objects[name] = (Producer if do == "produce" else Consumer)(order)
            return None
        if do == "pull":
            return pull(order)
        client = self._objects[name]
        if do == "send" and isinstance(client, Producer):
            return client.send(order)
        if do == "received" and isinstance(client, Consumer):
            return client.received(order["count"], order["millis"])
        if do == "stop":
            return client.stop()
        raise ValueError(f"no such order: {order}")


def main() -> None:
    driver = Driver()
    with ThreadPoolExecutor(AT_ONCE) as hands:
        for line in sys.stdin:
            hands.submit(driver.obey, line)


if __name__ == "__main__":
    main()

"""Handles pulls, and the check whether a consumer's filter expression is valid."""

from __future__ import annotations

from functools import partial
from typing import Final

from gantrymq.base.disk import DiskError
from gantrymq.base.errors import CorruptionError
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import ANSWERED_LATER, Outcome, Reply, Request
from gantrymq.broker.core.metadata.group_creation import ensure_group, why_no_group
from gantrymq.broker.core.processor.handler import BoundHandlers, Handler, Handlers
from gantrymq.broker.core.pull import pulls
from gantrymq.broker.core.pull.commits import commit
from gantrymq.broker.core.pull.misrouted_consumers import MisroutedConsumers
from gantrymq.broker.core.pull.pull_request_hold import PullRequestHold
from gantrymq.broker.core.pull.pulls import Pull
from gantrymq.broker.core.pull.subscriptions import no_property_filters
from gantrymq.broker.core.responses import done, refused
from gantrymq.broker.core.services import Services
from gantrymq.broker.core.sql92.selector import selector_of
from gantrymq.broker.core.sql92.tokens import SelectorError
from gantrymq.broker.core.state import State
from gantrymq.remoting.refusal import failed, going_away
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.read.pull_query import Pulled
from gantrymq.wire import javajson
from gantrymq.wire.bodies.heartbeat import EXPRESSION_TAG, SubscriptionData
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.pull import PullMessageRequest
from gantrymq.wire.jsonvalue import object_of

# Bits of a pull's sysFlag; subscriptions.py has those for filters.
COMMITS_OFFSET: Final = 1
MAY_BE_HELD: Final = 2


def pull_message(
    hold: PullRequestHold, misrouted: MisroutedConsumers, state: State, request: Request
) -> Outcome | Task[Outcome]:
    header = PullMessageRequest.decode(request.command.ext)
    if not state.groups.used(header.consumer_group, state.now):
        refusal = _without_group(state, header.consumer_group)
        if refusal is not None:
            return refusal
    pull = pulls.checked(state, request, header)
    if isinstance(pull, Reply):
        return pull
    if header.sys_flag & COMMITS_OFFSET:
        if misrouted.forwards_commits():
            misrouted.note_commit(request)  # the consumer commits by requests as well
        else:
            group, topic = header.consumer_group, header.topic
            commit(state, request, group, topic, header.queue_id, header.commit_offset)
    if misrouted.must_redirect(request):
        return Reply(going_away())
    try:
        found = pulls.begun(pulls.reading(state, pull, header.queue_offset))
    except (CorruptionError, DiskError) as error:
        return Reply(failed(f"{type(error).__name__}: {error}"))
    if isinstance(found, Pulled):
        return _answer_or_hold(hold, state, pull, found, is_fresh=True)
    return _read_from_disk(hold, state, pull, found)


def _without_group(state: State, group: str) -> Reply | None:
    """Refuse the pull if the group cannot be created; None when it has been created."""
    refusal = pulls.broker_refusal(state)
    if refusal is not None or ensure_group(state, group) is not None:
        return refusal
    return refused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, why_no_group(state, group))


def _read_from_disk(
    hold: PullRequestHold, state: State, pull: Pull, rest: ReadTask[Pulled]
) -> Task[Outcome]:
    found = yield from pulls.read_rest(state, rest)
    return _answer_or_hold(hold, state, pull, found, is_fresh=False)


def _answer_or_hold(
    hold: PullRequestHold, state: State, pull: Pull, found: Pulled, *, is_fresh: bool
) -> Outcome:
    """Answer the pull or hold it; a result that is not fresh may have missed messages meanwhile."""
    header = pull.header
    may_come = pulls.may_come(state, found, header.queue_offset)
    if not may_come or not header.sys_flag & MAY_BE_HELD:
        return Reply(pulls.response(state, pull, found))
    refusal = hold.refusal(pull.request)
    if refusal is not None:
        return Reply(refusal)
    state.stats.missed()
    held = hold.add(pull)
    if not is_fresh:
        hold.read(held)
    return ANSWERED_LATER


def check_client_config(state: State, request: Request) -> Reply:
    """Answer whether the broker accepts a subscription's SQL92 expression."""
    if not request.command.body:
        return done()
    bean = object_of(javajson.loads(request.command.body), "CheckClientRequestBody")
    value = bean.get("subscriptionData")
    if value is None:
        return done()
    said = SubscriptionData.from_json(value)
    if said.expression_type == EXPRESSION_TAG:
        return done()
    refusal = no_property_filters(state, said.expression_type)
    if refusal is not None:
        return refusal
    try:
        selector_of(said.expression_type, said.sub_string)
    except SelectorError as error:
        return refused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, f"Invalid MessageSelector. {error}")
    return done()


def _bound_pull(services: Services) -> Handler:
    return partial(pull_message, services.pull_request_hold, services.misrouted_consumers)


HANDLERS: Final[Handlers] = {
    RequestCode.CHECK_CLIENT_CONFIG: check_client_config,
}

BOUND_HANDLERS: Final[BoundHandlers] = {
    RequestCode.PULL_MESSAGE: _bound_pull,
    RequestCode.LITE_PULL_MESSAGE: _bound_pull,
}

"""Writes completion scripts for shells: `source <(gantry completion bash)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gantrymq.cli import catalog
from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.failures import UsageError
from gantrymq.cli.frame.stream_command import StreamCommand

_COMMON: Final = ("--namesrvAddr", "--output", "--watch", "--timeout", "--tls", "--help")


def script(shell: str) -> str:
    """Return the script that the shell reads. Raises UsageError for an unknown shell."""
    if shell == "bash":
        return _bash()
    if shell == "zsh":
        return "autoload -U +X bashcompinit && bashcompinit\n" + _bash()
    if shell == "fish":
        return _fish()
    raise UsageError(f"there is no completion for {shell}; name one of bash, zsh and fish")


def _options() -> dict[str, list[str]]:
    """The long options of each command."""
    found = {}
    for name in catalog.names():
        entry = catalog.find(name)
        assert entry is not None, "the catalog finds its own names"
        command = catalog.load(entry)
        own = [f"--{option.name}" for option in command.options if not option.is_positional]
        common = [option for option in _COMMON if option != "--watch" or _has_watch(command)]
        found[name] = [*dict.fromkeys([*own, *common])]
    return found


def _has_watch(command: Command | StreamCommand) -> bool:
    """Whether the command has --watch. Stream commands run on by themselves."""
    return isinstance(command, Command)


def _bash() -> str:
    options, verbs = _options(), catalog.verbs()
    own = {name: each for name, each in options.items() if " " not in name}
    of_verbs = {f'"{name}"': each for name, each in options.items() if " " in name}
    return f"""\
_gantry() {{
  local words
  case "${{COMP_WORDS[1]}}" in
{_cases(own)}{_cases(verbs)}  esac
  [ "$COMP_CWORD" -gt 2 ] && case "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}" in
{_cases(of_verbs)}  esac
  [ "$COMP_CWORD" = 1 ] && words='{" ".join([*catalog.PROGRAMS, *own, *verbs])}'
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _gantry gantry
"""


def _cases(words: Mapping[str, list[str]]) -> str:
    return "".join(f"    {name}) words='{' '.join(each)}' ;;\n" for name, each in words.items())


def _fish() -> str:
    options, verbs = _options(), catalog.verbs()
    firsts = dict.fromkeys(name.split()[0] for name in options)
    lines = [
        f"complete -c gantry -n __fish_use_subcommand -f -a {name}"
        for name in (*catalog.PROGRAMS, *firsts)
    ]
    lines += [
        f"complete -c gantry -n '__fish_seen_subcommand_from {noun}' -f -a '{' '.join(each)}'"
        for noun, each in verbs.items()
    ]
    for name, each in options.items():
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in name.split())
        lines += [f"complete -c gantry -n '{seen}' -l {option[2:]}" for option in each]
    return "\n".join(lines) + "\n"

"""The scripts that have bash, zsh and fish complete `narrator`, and the process that answers them.

A script calls `narrator` with the command line in the environment, and gets a line for each
candidate; exit code 1 leaves the word to the shell, which completes paths. Whatever goes wrong,
nothing is completed and nothing is printed. `completion.py` knows the candidates. This module needs
parts of typer that are not public, and is loaded for completion alone.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer._click.shell_completion import CompletionItem, ShellComplete  # as typer carries it

from narrator.cli.completion import INSTRUCTION
from textbase.characters import excerpt

_LINE = "_NARRATOR_LINE"
"""Environment variable: the command line up to the cursor."""
_SPECIAL = re.compile(r"[^\w@%+,./\u0080-\U0010ffff-]")
_SPECIAL_IN_QUOTES = re.compile(r'["$`\\]')
"""Characters that bash takes literally only after a backslash: anywhere, and in double quotes."""
_LIMIT_S = 1.0
"""Seconds of computing after which nothing is completed."""


class _Shell(ShellComplete):
    """Candidates in the form that a shell's script reads."""

    def source_vars(self) -> dict[str, Any]:
        return {"line": _LINE, "instruction": f"{INSTRUCTION}=complete_{self.name}"}

    def get_completion_args(self) -> tuple[list[str], str]:
        words, _ = _split_line(os.environ.get(_LINE, ""))
        return words[1:-1], words[-1]

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        if args and args[-1].startswith("-") and args[-1] != "--draft":
            # Click stops parsing at an option without a value, and knows this form of it
            args, incomplete = args[:-1], f"{args[-1]}={incomplete}"
        items = super().get_completions(args, incomplete)
        return [item for item in items if item.value.isprintable()]


class _Bash(_Shell):
    name = "bash"
    source_template = """\
_narrator_completion() {
    local line="${COMP_LINE:0:COMP_POINT}" candidate candidates
    COMPREPLY=()
    candidates=$(%(line)s="$line" %(instruction)s "${1/#~/$HOME}" 2>/dev/null) || {
        compopt -o default 2>/dev/null
        return
    }
    while IFS= read -r candidate; do # not as an array, in which names of files would replace *
        COMPREPLY+=("$candidate")
    done <<<"$candidates"
}
complete -o nosort -F _narrator_completion narrator 2>/dev/null ||
    complete -o default -F _narrator_completion narrator # bash before 4.4
"""

    def format_completion(self, item: CompletionItem) -> str:
        _, quote = _split_line(os.environ.get(_LINE, ""))
        if quote == "'":
            return item.value.replace("'", r"'\''")
        special = _SPECIAL_IN_QUOTES if quote else _SPECIAL
        return special.sub(r"\\\g<0>", item.value)


class _Zsh(_Shell):
    name = "zsh"
    source_template = """\
#compdef narrator
_narrator() {
    local output line
    local -a values texts options
    output=$(%(line)s="${words[1,CURRENT]}" %(instruction)s ${~words[1]} 2>/dev/null)
    (( $? == 0 )) || { _files; return }
    [[ -n $output ]] || return 1
    values=("${(@)${(@f)output}%%%%$'\\t'*}")
    local -i width=${#${(O@)values//?/x}[1]}
    for line in "${(@f)output}"; do
        texts+=("${(r:width:)${line%%%%$'\\t'*}}  ${line#*$'\\t'}")
    done
    [[ ${words[CURRENT]} == --*=* ]] && compset -P '*='
    [[ ${values[1]} == *. ]] && options=(-S '') # a chapter, before the chunk in it
    compadd -l -V candidates -d texts "${options[@]}" -a values
}
if [[ $funcstack[1] == _narrator ]]; then _narrator "$@"; else compdef _narrator narrator; fi
"""

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.value}\t{_help_of(item)}"


class _Fish(_Shell):
    name = "fish"
    source_template = """\
function __narrator_completion
    set -l line (commandline -cp | string collect)
    set -l program (string replace -r '^~' $HOME (commandline -opc)[1])
    set -l candidates (env %(line)s=$line %(instruction)s $program 2>/dev/null)
    and printf '%%s\\n' $candidates
    or __fish_complete_path (commandline -ct)
end
complete --command narrator --no-files --keep-order --arguments '(__narrator_completion)'
"""

    def format_completion(self, item: CompletionItem) -> str:
        option = re.match(r"--[\w-]+=", _split_line(os.environ.get(_LINE, ""))[0][-1])
        return f"{option[0] if option else ''}{item.value}\t{_help_of(item)}"


_SHELLS: Mapping[str, type[_Shell]] = {shell.name: shell for shell in (_Bash, _Zsh, _Fish)}


def _help_of(item: CompletionItem) -> str:
    return excerpt(" ".join((item.help or "").split()))


def _split_line(line: str) -> tuple[list[str], str]:
    """Returns the words of a command line, of which the last may be empty, and the quote that is
    open at its end, if any."""
    for quote in ("", "'"):
        with contextlib.suppress(ValueError):
            return _split_words(line, quote), quote
    return _split_words(line, '"'), '"'


def _split_words(line: str, quote: str) -> list[str]:
    """Returns the words of a command line at whose end this quote is open. Raises ValueError for
    another one."""
    import shlex

    lexer = shlex.shlex(f"{line}\0{quote}", posix=True)  # the end of the last word, if only a space
    lexer.whitespace_split = True
    lexer.commenters = ""
    return [word.removesuffix("\0") for word in lexer]


def run(instruction: str, load_commands: Callable[[str], typer.Typer]) -> NoReturn:
    """Answers the script of a shell, and ends this process. `load_commands` is that of `cli`."""
    kind, _, shell = instruction.partition("_")
    code = 0
    with contextlib.suppress(Exception), _limiting_time(), Path(os.devnull).open("w") as nowhere:
        with contextlib.redirect_stderr(nowhere):
            words, _ = _split_line(os.environ.get(_LINE, ""))
            name = words[1] if len(words) > 2 else ""
            command = typer.main.get_command(load_commands(name))
            completer = _SHELLS[shell](command, {}, "narrator", INSTRUCTION)
            text = completer.source() if kind == "source" else completer.complete()
        if text:
            print(text)
        else:
            code = 1
    sys.exit(code)


@contextlib.contextmanager
def _limiting_time() -> Iterator[None]:
    """Raises TimeoutError within the block after seconds of computing: a book may be huge, or made
    to keep a shell waiting."""

    def stop(*_: object) -> None:
        raise TimeoutError

    earlier_handler = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, _LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, earlier_handler)


def install_script() -> None:
    """Writes the script of this shell where the shell reads it, and has it read. Raises
    UsageError."""
    from typer._completion_shared import install

    shell = _find_shell()
    _, path = install(shell, prog_name="narrator")
    path.write_text(_script(shell), "utf-8")  # in place of typer's script
    print(f"{shell} completes narrator's commands from now on, in new terminals: {path}")


def show_script() -> None:
    """Prints the script of this shell. Raises UsageError."""
    print(_script(_find_shell()), end="")


def _script(shell: str) -> str:
    return _SHELLS[shell](typer.core.TyperGroup(), {}, "narrator", INSTRUCTION).source()


def _find_shell() -> str:
    """Returns the shell that runs this process. Raises UsageError for one without a script."""
    import shellingham

    from narrator.errors import UsageError

    try:
        name, _ = shellingham.detect_shell()
    except shellingham.ShellDetectionFailure:
        name = "this shell"
    if name not in _SHELLS:
        raise UsageError(f"no completion for {name}, only for {', '.join(_SHELLS)}")
    return str(name)

"""The reading of a shell command: which programs it runs and in which folder, as far as its text says."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, islice, takewhile

import msgspec

from helix_desktop.permissions.program import (
    DECODERS,
    INTERPRETERS,
    PRINTERS,
    CommandReading,
    Program,
    are_program_texts,
    code_of,
    commands_of_find,
    downloaded_by,
    folders_of_env,
    joined_path,
    passes_on,
    printed_paths,
    printed_text,
    reads_input,
    runs_replacement,
    runs_text,
    saves_running_setting,
    script_of_shell,
    split_replacement,
    text_of_variable,
    texts_in_code,
    texts_to_run,
    with_input,
)
from helix_desktop.permissions.shell_tokens import (
    BEHIND_OPERAND,
    BLOCK_ENDS,
    BLOCK_STARTS,
    CLOSING,
    KEYWORDS,
    LANGUAGES,
    MAKEFILES,
    MAKES,
    PACKAGE_RUNNERS,
    REPLACING,
    RUNNERS,
    RUNNING_ACTIONS,
    SCRIPTS_OF,
    SHELLS,
    TEXT_RUNNERS,
    ReadingBudget,
    Token,
    TooMuchToRead,
    find_tokens,
    plain_text,
)
from helix_desktop.permissions.shell_words import (
    ANYTHING,
    ASSIGNMENT,
    EXPORTERS,
    LONGEST_WORD,
    OUTSIDE,
    TEMPORARY,
    ShellWords,
    is_unknown,
    keeps_value,
    names_of_variables,
    names_set,
    nested,
    program_name,
    scattered_values,
    split_assignments,
    with_printed_folder,
    with_temporary,
)


class OpenCommand:
    """What was read of a command that is not at its end."""

    def __init__(
        self, depth: int = 0, is_run: bool = False, is_hidden: bool = False, joint: str = ""
    ) -> None:
        self.words: list[str] = []
        self.outputs: list[str] = []
        self.texts: list[str] = []
        self.files: list[str] = []
        self.target = ""  # the operator whose word comes next
        self.is_other_stream = False  # of the target: not what the program prints
        self.piped: Program | None = None
        # These three are as they were before a command within it began.
        self.folder = ""
        self.outer_depth = 0
        self.program_count = 0
        self.depth = depth  # open parentheses
        self.is_run = is_run  # whether what is printed is run
        self.joint = joint  # the operator before it
        self.is_hidden = is_hidden  # what is printed becomes the value of a variable

    def put_output(self, text: str) -> None:
        """Put the output of a command in the word that it belongs to."""
        word = "".join(self.words[-1:])
        if word == "$":
            self.words[-1:] = text.split()
        elif word.endswith("$"):
            self.words[-1] = word[:-1] + text

    def contains_command(self, operator: str) -> bool:
        """Return True if the output of what follows is a part of this command."""
        is_value = operator.startswith("(") and not self.target and "".join(self.words[-1:]).endswith("$")
        return is_value or operator in ("<(", ">(")

    def closing_parenthesis(self, operator: str) -> int | None:
        """Return where in an operator this command ends within another."""
        for at, char in enumerate(operator):
            self.depth += (char == "(") - (char == ")")
            if self.depth == 0:
                return at
        return None


PIPES = frozenset({"|", "|&"})
_LISTS = frozenset({"&&", "||"})
_IN_THIS_SHELL = frozenset({"builtin", "command", "time"})
"""Wrappers behind which `cd` changes the folder of what follows."""
_LEAVING = frozenset({"break", "continue", "exit", "return"})
_MAX_OTHERS = 8


class ShellFolder:
    """The current folder, and those to which the command comes back.

    `others` are where the programs may run instead: what changed the folder may not have run.
    """

    def __init__(self, path: str) -> None:
        self.path = self._previous = path
        self.others: list[str] = []
        self._pushed: list[str] = []
        self._outside: list[str] = []  # of parentheses
        # The folder, the operator and `_left` before each.
        self._blocks: list[tuple[str, str, list[str]]] = []
        self._left: list[str] = []  # by the commands behind `&&` or `||`
        self._is_leaving = False

    @property
    def depth(self) -> int:
        """How many parentheses are open."""
        return len(self._outside)

    def change(self, name: str, arguments: Sequence[str], home: str) -> None:
        """Change the folder as cd, pushd or popd does."""
        before = self.path
        words = [word for word in arguments if word == "-" or not word.startswith("-")] or [home]
        if name == "popd":
            self.path = self._pushed.pop() if self._pushed else before
        elif words[0] == "-":
            self.path = self._previous
        else:
            paths = [posixpath.join(path, word) for path in (before, *self.others) for word in words]
            self.path = paths[0]
            self.others = []
            self.may_be(paths[1:])
        if name == "pushd":
            self._pushed.append(before)
        self._previous = before

    def open_blocks(self, words: Sequence[str], joint: str) -> str:
        """Note the blocks that begin with a command, `joint` before them; return what joins it in them."""
        for word in takewhile(lambda word: word in KEYWORDS or word in BLOCK_STARTS, words):
            if word in BLOCK_STARTS:
                kind = joint if word == "{" or joint in PIPES else "if"
                self._blocks.append((self.path, kind, self._left))
                self._left = []
                joint = ""
        return joint

    def end_command(self, before: str, words: Sequence[str], joint: str, operator: str) -> None:
        """Come back from where a command changed the folder for itself, or note that it may not have run.

        `before` is the folder before it, `joint` and `operator` stand before and behind it.
        """
        self._is_leaving |= program_name(words) in _LEAVING
        operator = operator.strip(")\n")
        is_apart = operator in PIPES or operator == "&"
        if program_name(words) in BLOCK_ENDS and self._blocks:
            before, joint, left = self._blocks.pop()
            self._left = left if not (joint == "||" and self._is_leaving) else []
            self._is_leaving = False
            if not is_apart and (joint == "if" or joint.startswith("()")):
                self.may_be([before])
        elif joint == "||" and self._is_leaving and not self._blocks:
            self._left = []
            self._is_leaving = False
        if is_apart or joint in PIPES:
            self.path = before
        elif joint in _LISTS and self.path != before:
            self._left.append(before)
        if operator not in _LISTS:
            self.may_be(self._left)
            self._left = []

    def elsewhere(self, programs: Sequence[Program], before: str, others: Sequence[str]) -> Iterator[Program]:
        """Yield programs that run in or below a folder as they run if it is another."""
        for program in programs if others else ():
            head = before and before.rstrip("/") + "/"
            if f"{program.folder}/".startswith(head) and (before or not program.folder.startswith("/")):
                below = program.folder[len(before) :].lstrip("/")
                for other in others:
                    yield msgspec.structs.replace(program, folder=posixpath.join(other, below))

    def pass_parentheses(self, operator: str) -> None:
        """Keep the folder where parentheses open, and come back to it where they close."""
        for char in operator:
            if char == "(":
                self._outside.append(self.path)
            elif char == ")" and self._outside:
                self.path = self._outside.pop()

    def leave(self, depth: int, path: str) -> None:
        """Come back to a folder out of all parentheses that were opened since."""
        del self._outside[depth:]
        self.path = path

    def may_be(self, paths: Sequence[str]) -> None:
        here = posixpath.normpath(self.path)
        paths = [path for path in paths if posixpath.normpath(path) != here]
        self.others = list(dict.fromkeys([*self.others, *paths]))
        if len(self.others) > _MAX_OTHERS:
            self.others = [ANYTHING]


_MAX_DEPTH = 4  # commands within commands
_MAX_WRAPPERS = 8
_STEPS_PER_COMMAND = 10
UNCLEAR = Program("rm", ("-r", ANYTHING))
"""Stands for what is nested too deep to be read."""


class CommandReader:
    def __init__(
        self,
        reading: CommandReading,
        folder: str,
        budget: ReadingBudget,
        depth: int = 0,
        values: Mapping[str, list[str]] | None = None,
    ) -> None:
        self.reading = reading
        self.programs = reading.programs
        self._folder = ShellFolder(folder)
        self._depth = depth
        self._budget = budget
        self._words = ShellWords(budget, values or {})
        self._own_names: set[str] = set()  # of functions and aliases
        self._piped: Program | None = None
        self._texts: list[str] = []  # that the command writes or pipes: a script, if it runs one
        self._runs_script = False
        self._interpreter = ""  # that runs what the command writes or pipes
        self._is_hidden = False  # what is printed becomes the value of a variable
        self._is_flat = False  # its parentheses don't pair up
        self._files: Sequence[str] = ()  # that the program reads as its input
        self._last: Program | None = None
        self._downloads: set[str] = set()
        self._decoded: set[str] = set()  # variables with such a text
        self._wrappers = 0

    def read_text(self, command: str) -> None:
        """Read a command, then what it writes or pipes if it runs a script that may be it."""
        tokens = find_tokens(with_printed_folder(command), self._budget)
        self._budget.spend(len(tokens) // 2)
        self._words.scattered = scattered_values(tokens)
        self._read(tokens)
        if self._runs_script:
            for text in self._texts:
                self._read_inner(text)
        if self._interpreter:
            for text in self._texts:
                self._add_code(self._interpreter, text)

    def _add_code(self, name: str, code: str) -> None:
        """Add a program in another language, and what it runs by a shell."""
        self.programs.append(Program(name, folder=self._folder.path, code=code))
        for text in texts_in_code(code):
            self._read_inner(text)

    def _read_inner(self, text: str, is_hidden: bool = False, is_here: bool = False) -> None:
        """Add what a command within the command runs; `is_here`: its variables and folder stay."""
        if self._depth == _MAX_DEPTH:
            self._add_unclear()
            return
        values = self._words.known_values()
        inner = CommandReader(self.reading, self._folder.path, self._budget, self._depth + 1, values)
        inner._is_hidden = self._is_hidden or is_hidden
        inner.read_text(text)
        if is_here:
            before = self._folder.path
            self._folder.path = inner._folder.path
            self._folder.may_be([before, *inner._folder.others])
            for name, set_to in inner._words.known_values().items():
                self._words.set_values(name, [*self._words.values_of(name), *set_to])

    def _add_unclear(self) -> None:
        self.programs.append(UNCLEAR)
        self.reading.is_whole = False

    def _read(self, tokens: Sequence[Token]) -> None:
        current = OpenCommand()
        outer: list[OpenCommand] = []  # whose words go on behind what they contain
        self._is_flat = any(token.text == "case" for token in tokens)
        for token in tokens:
            if not token.is_operator:
                self._add_word(current, token.text)
            elif set(token.text) & set("<>") and "(" not in token.text:
                current.target = token.text
                current.is_other_stream = token.is_other_stream
            elif not self._is_flat and current.contains_command(token.text):
                outer.append(current)
                current = self._inner_command(current, token.text)
            else:
                current = self._at_operator(current, outer, token.text)
        for command in (current, *reversed(outer)):
            self._end(command, ";")

    def _add_word(self, command: OpenCommand, word: str) -> None:
        target = command.target
        command.target = ""
        if not target:
            command.words.append(word)
        elif target in ("<<", "<<<"):
            command.texts.append(word)
        elif target == "<":
            command.files += self._words.expand(word)
        elif command.is_other_stream and word == "/dev/null":
            return
        elif target in REPLACING and not word.isdigit():
            command.outputs += self._words.expand(word)
        elif target in (">>", "&>>"):
            paths = self._words.expand(word)
            self.programs += (Program("tee", ("-a", path), self._folder.path) for path in paths)

    def _inner_command(self, command: OpenCommand, operator: str) -> OpenCommand:
        command.target = ""
        command.piped = self._piped
        self._piped = None
        command.folder = self._folder.path
        command.outer_depth = self._folder.depth
        command.program_count = len(self.programs)
        is_hidden = command.is_hidden or keeps_value(command.words)
        self._folder.pass_parentheses(operator[operator.index("(") + 1 :])
        return OpenCommand(operator.count("("), runs_text(command.words), is_hidden)

    def _at_operator(self, command: OpenCommand, outer: list[OpenCommand], operator: str) -> OpenCommand:
        """End a command at an operator; return the one that goes on, or a new one."""
        while outer and operator:
            at = command.closing_parenthesis(operator)
            if at is None:
                break
            last = self._end(command, ";")
            is_decoded = last is not None and last.name in DECODERS
            if is_decoded and command.is_run:
                self.programs.append(UNCLEAR)
            command = outer.pop()
            self._piped = command.piped
            operator = operator[at + 1 :]
            self._folder.leave(command.outer_depth, command.folder)
            is_command = list(dropwhile(KEYWORDS.__contains__, command.words)) == ["$"]  # what was printed
            if is_command and last is not None and last.name in DECODERS | {"cat"}:
                self.programs.append(UNCLEAR)
            elif text := self._printed_since(command.program_count):
                command.put_output(text)
            if is_decoded and (found := ASSIGNMENT.match("".join(command.words[-1:]))):
                self._decoded.add(found[1])
        if not operator:
            return command
        if operator.startswith("()"):
            self._own_names.update(command.words[-1:])
        self._end(command, operator)
        self._folder.pass_parentheses(operator if not self._is_flat else "")
        joint = operator.strip("\n") or (command.joint if not command.words else "")
        return OpenCommand(command.depth, command.is_run, command.is_hidden, joint)

    def _printed_since(self, count: int) -> str:
        """Return what the one program prints that was read last; empty if it is not clear."""
        if len(self.programs) != count + 1:
            return ""
        return TEMPORARY if self.programs[-1].name == "mktemp" else printed_text(self.programs[-1])

    def _end(self, command: OpenCommand, operator: str) -> Program | None:
        """Note what a command runs; return its last program."""
        self._files = command.files
        is_hidden = self._is_hidden
        self._is_hidden |= command.is_hidden
        count = len(self.programs)
        before = self._folder.path
        others = self._folder.others
        joint = self._folder.open_blocks(command.words, command.joint)
        last = self._run(command.words, command.outputs, command.texts)
        self._is_hidden = is_hidden
        self._folder.end_command(before, command.words, joint, operator)
        if self._is_flat:  # it may be in parentheses, or in a case that is not met
            self._folder.may_be([before])
        self._budget.spend(len(others) * (len(self.programs) - count))
        self.programs += self._folder.elsewhere(self.programs[count:], before, others)
        if last is None and set(command.words) <= CLOSING:
            last = self._last  # of the commands in braces or a loop
        self._last = last
        is_same = last is not None and self._piped is not None and passes_on(last)
        is_pipe = operator.strip(")\n") in ("|", "|&")
        if not is_pipe:
            self._piped = None
        elif not is_same:
            self._piped = last
        return last

    def _run(self, words: Sequence[str], outputs: Sequence[str], inputs: Sequence[str]) -> Program | None:
        self._budget.spend(_STEPS_PER_COMMAND + 2 * len(words))
        words = list(dropwhile(KEYWORDS.__contains__, filter(None, words)))
        if words[:1] == ["function"]:
            words = [word for word in words[2:] if word not in KEYWORDS]
        if words[:1] == ["for"] and words[2:3] == ["in"]:
            self._words.assign(words[1], words[3:])
            return None
        words = [with_temporary(word) for word in words]
        count = len(self.programs)
        words = [self._with_output(word, is_hidden=keeps_value(words)) for word in words]
        is_decoded = any(program.name in DECODERS for program in self.programs[count:])
        variables = {name for word in words for name in names_of_variables(word)} if self._decoded else set()
        if (is_decoded or self._decoded & variables) and runs_text(words):
            self.programs.append(UNCLEAR)
        assigned, words = split_assignments(words)
        self._decoded |= {found[1] for found in assigned} if is_decoded else set()
        if TEXT_RUNNERS & set(words) and any(len(word) > LONGEST_WORD for word in words):
            self._add_unclear()  # too long to be read
        if not words:
            for found in assigned:
                self._words.assign(found[1], [found[3]], is_added=bool(found[2]))
        for found in assigned if words else ():
            if text := text_of_variable(found[1], plain_text(found[3])):
                self._read_inner(text)
        environment = {found[1]: self._words.expand(found[3]) for found in assigned} if words else {}
        values = [
            [] if is_text else self._words.expand(word)
            for word, is_text in zip(words, are_program_texts(words), strict=True)
        ]
        with self._words.with_environment(environment):
            words = [
                value
                for word, expanded in zip(words, values, strict=True)
                for value in expanded or self._words.with_values(word)
            ]
            self._read_inputs(words, inputs)
            for at in range(1, len(values[0]) if values else 0):  # a variable may name one of several
                self._note(words[at:], ())
            return self._note(words, tuple(outputs)) if words or outputs else None

    def _with_output(self, word: str, is_hidden: bool) -> str:
        """Note the command in a word; return the word with its output if that is clear."""
        inner = nested(word)
        count = len(self.programs)
        if not inner:
            return word
        self._read_inner(inner, is_hidden)
        text = self._printed_since(count)
        return word.replace(f"$({inner})", text) if text else word

    def _read_inputs(self, words: Sequence[str], inputs: Iterable[str]) -> None:
        """Note what a command gets as text: it runs it, or passes it on."""
        name = program_name(words)
        for word in inputs:
            if inner := nested(word):
                count = len(self.programs)
                self._read_inner(inner)
                if runs_text(words) and any(each.name in DECODERS for each in self.programs[count:]):
                    self.programs.append(UNCLEAR)
            text = self._words.with_values(word)[0]
            if name in SHELLS:
                self._read_inner(text)
            elif INTERPRETERS.fullmatch(name):
                self._add_code(name, text)
            else:
                self._texts.append(text)

    def _note(self, words: Sequence[str], outputs: tuple[str, ...]) -> Program | None:
        self._budget.spend(_STEPS_PER_COMMAND + len(words) // 4)
        name = program_name(words)
        arguments = tuple(words[1:])
        script = self._script(name, words)
        is_moved = name in ("cd", "pushd", "popd")
        if outputs and (is_moved or script is not None):
            self.programs.append(Program(name, folder=self._folder.path, outputs=outputs))
        if is_moved:
            self._folder.change(name, arguments, self._words.home())
            return None
        if script is not None:
            self.programs += [UNCLEAR] if is_unknown(script, bool(self._own_names)) else []
            self._read_inner(script, is_here=name not in SHELLS)
            return None
        for text in texts_to_run(name, arguments):
            self._read_inner(text)
        if name in RUNNERS:
            return self._note_runner(name, arguments, outputs)
        if name in PACKAGE_RUNNERS or (arguments[:1] and arguments[0] in RUNNING_ACTIONS.get(name, ())):
            return self._note_wrapped(arguments[name not in PACKAGE_RUNNERS :], outputs)
        self._note_names(name, arguments)
        if name in ("echo", "printf"):
            text = printed_text(Program(name, arguments)) or " ".join(arguments)
            self._texts.append(text.replace("\\n", "\n"))
        if name in ("find", "fd", "fdfind"):
            self._note_run_by_find(name, arguments)
        code = self._read_code(name, arguments)
        if name == "git" and saves_running_setting(arguments):
            outputs = (*outputs, ".git/config")
        if name in self._own_names:
            self.programs.append(Program(ANYTHING, arguments, self._folder.path))
        if name in self._own_names or name == "set":  # they may be run: `eval "$1"`
            self._read_inner(" ".join(word for word in arguments if not word.startswith("-")))
        program = Program(
            name,
            arguments,
            self._folder.path,
            outputs,
            code,
            inputs=tuple(self._files),
            is_hidden=self._is_hidden,
        )
        self.programs.append(program)
        self._downloads.update(downloaded_by(program, self._piped))
        return program

    def _note_runner(self, name: str, arguments: Sequence[str], outputs: tuple[str, ...]) -> Program | None:
        """Note what a wrapper runs, in the folder that it changes into."""
        folder = self._folder.path
        if name == "dotenv":  # its options name files that it reads
            at = next((at for at, word in enumerate(arguments) if word in ("run", "--")), -1)
            arguments = arguments[at + 1 :]
        self._note_names("export", arguments)
        if name == "env":
            self._folder.path = posixpath.join(folder, *folders_of_env(arguments))
        is_fed = name in ("xargs", "parallel")
        if name == "parallel" and self._piped is not None and all(word.startswith("-") for word in arguments):
            self.programs.append(UNCLEAR)
        mark, others = split_replacement(arguments) if name == "xargs" else ("", [])
        if mark:
            self.programs += [UNCLEAR] if runs_replacement(others, mark) else []
            arguments = with_input(others, mark, self._piped)
            is_fed = False
        last = self._note_wrapped(arguments, outputs, is_fed, name in BEHIND_OPERAND)
        if name not in _IN_THIS_SHELL:
            self._folder.path = folder
        return last

    def _read_code(self, name: str, arguments: Sequence[str]) -> str:
        """Return what an interpreter runs by its option, and note what that runs by a shell."""
        if not INTERPRETERS.fullmatch(name):
            return ""
        code = code_of(arguments)
        for text in texts_in_code(code):
            self._read_inner(text)
        if not code and "-m" not in arguments:
            self._interpreter = name
            self._note_scripts(word for word in arguments if not word.startswith("-"))
            self._note_input(arguments)
        return code

    def _note_names(self, name: str, words: Sequence[str]) -> None:
        """Note the values of variables that a program sets, what others run of them, and aliases."""
        if name == "alias":
            for own_name, _, text in (word.partition("=") for word in words):
                self._own_names.add(own_name)
                self._read_inner(text)
        values = [ANYTHING]
        if name == "read" and self._piped is not None:
            values = printed_paths(self._piped) or [OUTSIDE]
        for variable in names_set((name, *words)):
            self._words.set_values(variable, values)
        for found in filter(None, map(ASSIGNMENT.match, words if name in EXPORTERS else ())):
            self._words.set_values(found[1], [found[3]])
            if text := text_of_variable(found[1], found[3]):
                self._read_inner(text)

    def _note_scripts(self, paths: Iterable[str]) -> None:
        """Note the first of paths as a script that runs."""
        for path in islice(paths, 1):
            self.reading.scripts.append((self._folder.path, path))
            if joined_path(self._folder.path, path) in self._downloads:
                self.programs.append(UNCLEAR)

    def _note_input(self, arguments: Sequence[str]) -> None:
        if not reads_input(arguments):
            return
        self._note_scripts(self._files)
        if self._piped is not None and self._piped.name == "cat":
            for path in self._piped.words:
                self._note_scripts([path])
        elif self._piped is not None and self._piped.name not in PRINTERS:
            self.programs.append(UNCLEAR)

    def _script(self, name: str, words: Sequence[str]) -> str | None:
        """Return what a shell runs; None for another program."""
        arguments = words[1:]
        if name == "eval":
            return " ".join(arguments)
        if name == "trap":
            return " ".join(arguments[:1])
        if name in SHELLS:
            script = script_of_shell(arguments)
            self._runs_script |= not script
            if not script:
                self._note_scripts(word for word in arguments if not word.startswith(("-", "+")))
                self._note_input(arguments)
            return script
        if name in ("source", ".") or "/" in "".join(words[:1]):
            self._runs_script |= name in ("source", ".") or words[0].startswith("./")
            self._note_scripts(arguments if name in ("source", ".") else words)
        self.reading.scripts += [(self._folder.path, path) for path in SCRIPTS_OF.get(name, ())]
        if name in MAKES:
            names = (posixpath.basename(path) for program in self.programs for path in program.outputs)
            is_other = any(word.startswith(("-f", "--file", "--makefile")) for word in arguments)
            self._runs_script |= is_other or not MAKEFILES.isdisjoint(names)
        return None

    def _note_wrapped(
        self,
        arguments: Sequence[str],
        outputs: tuple[str, ...],
        is_fed: bool = False,
        is_behind_option: bool = False,
    ) -> Program | None:
        """Note each of the words behind a wrapper that may be its program: options may have values."""
        last: Program | None = None
        self._wrappers += 1
        if self._wrappers > _MAX_WRAPPERS:
            self._add_unclear()
            return None
        count = len(self.programs)
        for index, word in enumerate(arguments):
            if word.startswith("-"):
                is_behind_option = True
            elif not ASSIGNMENT.match(word) and not word[:1].isdigit() and word not in KEYWORDS:
                last = self._note(arguments[index:], outputs) or last
                if not is_behind_option:
                    break
                is_behind_option = False
        if last is None and outputs:
            last = Program("", folder=self._folder.path, outputs=outputs)
            self.programs.append(last)
        if is_fed:
            self.programs[count:] = [
                msgspec.structs.replace(program, is_fed=True, source=self._piped)
                for program in self.programs[count:]
            ]
        return last

    def _note_run_by_find(self, name: str, arguments: Sequence[str]) -> None:
        before = self._folder.path
        wrappers = self._wrappers
        for number, folder, words in commands_of_find(name, arguments):
            self._wrappers = max(self._wrappers, wrappers + number)
            if self._wrappers > _MAX_WRAPPERS:
                self._add_unclear()
                return
            self._folder.path = posixpath.join(before, folder)
            self._note(words, ())
            self._folder.path = before


def read_command(command: str, folder: str, budget: ReadingBudget) -> CommandReading:
    """Return what a command runs in this folder or those it changes into."""
    reading = CommandReading()
    try:
        CommandReader(reading, folder, budget).read_text(command)
    except TooMuchToRead:
        reading.programs.append(UNCLEAR)
        reading.is_whole = False
    return reading


def read_script(path: str, text: str, folder: str, budget: ReadingBudget) -> CommandReading:
    """Return what a script runs: one of a shell, or in the language that its name says."""
    ending = posixpath.splitext(path)[1]
    if ending == ".json":  # it has scripts among its texts
        return read_command("\n".join(re.findall(r'"([^"\n]+)"', text)), folder, budget)
    if ending not in LANGUAGES:
        return read_command(text, folder, budget)
    reading = read_command("\n".join(texts_in_code(text)), folder, budget)
    reading.programs.append(Program("", folder=folder, code=text))
    return reading

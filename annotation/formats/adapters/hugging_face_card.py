"""README.md of a folder for Hugging Face's `datasets`: its front matter names the files of each configuration.

Source: the Hub's documentation, “Manual Configuration”: `configs` is a list of `config_name` and `data_files`; these
are a path, a list of paths, or a list of `split` and `path`; a path may hold `*`.
"""

from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import yaml

from annotation.formats.adapters.packages import Given
from annotation.formats.cells import excerpt
from annotation.formats.decoding import detect_encoding
from annotation.formats.errors import FormatError
from annotation.protocol.sentences import say

CARD = "README.md"
# A card as people and the Hub write it stays far below each of these; beyond, YAML takes seconds and then hours.
_MAX_FRONT_MATTER = 1 << 16
_MAX_DEPTH = 20
_MAX_CONFIGS = 100
_MAX_PATTERNS = 100  # each is held against every file
Files = list[tuple[str, str]]  # split and path


def configs_of(found: Given) -> dict[str, Files]:
    """The files of each configuration, as the front matter of README.md names them: each file once."""
    files: dict[str, Files] = {}
    named: dict[str, str] = {}
    patterns = 0
    for name, said in named_configs(found).items():
        files[name] = []
        for split, pattern in _data_files(name, said):
            patterns += _is_pattern(pattern)
            if patterns > _MAX_PATTERNS:
                raise _card(
                    say(
                        "It names more than {n} paths with “*”, “?” or “[”. Name the files by their own paths.",
                        n=_MAX_PATTERNS,
                    )
                )
            for path in _matching(found, pattern):
                if path in named:
                    raise _card(
                        say(
                            "The file “{path}” is named twice, in “{first}” and in “{second}”. Name each file once.",
                            path=excerpt(path), first=excerpt(named[path], 40), second=excerpt(name, 40),
                        )
                    )  # fmt: skip
                named[path] = name
                files[name].append((split, path))
    return files


def named_configs(found: Given) -> dict[str, Any]:
    """What the front matter says of the files of each configuration."""
    configs = _front_matter(found).get("configs")
    if not isinstance(configs, list) or not configs or len(configs) > _MAX_CONFIGS:
        raise _card(say("“{name}” is not a list of configurations.", name="configs"))
    said: dict[str, Any] = {}
    for config in configs:
        if not isinstance(config, dict) or not isinstance(config.get("config_name"), str):
            raise _card(say("A configuration has no “config_name”."))
        name = config["config_name"]
        if name in said:
            raise _card(say("Two configurations are called “{name}”.", name=excerpt(name)))
        said[name] = config.get("data_files")
    return said


def _front_matter(found: Given) -> dict[str, Any]:
    data = found.files.get(CARD)
    if data is None:
        raise FormatError(say("There is no README.md, whose front matter says which files are which."))
    text = data.decode(detect_encoding(data).codec).removeprefix("\ufeff").replace("\r\n", "\n")
    if not text.startswith("---\n"):
        raise _card(say("It does not begin with a line “---”, after which the configurations stand."))
    front, mark, _rest = text[4:].partition("\n---")
    if not mark:
        raise _card(say("The part between the two lines “---” has no end."))
    if len(front) > _MAX_FRONT_MATTER:
        raise _card(
            say(
                "The part between the two lines “---” is longer than {n} KB. Leave “configs” in it, and move the rest "
                "below.",
                n=_MAX_FRONT_MATTER >> 10,
            )
        )
    try:
        _refuse_depth(front)
        _refuse_repeats(front)
        value = yaml.load(front, Loader=yaml.BaseLoader)  # every scalar is a text, and no tag makes an object
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        line = None if place is None else place.line + 2
        raise FormatError(say("{name}: the YAML cannot be read.", name=CARD), line=line) from None
    except RecursionError:
        raise _card(say("Its lists or objects are nested too deeply.")) from None
    if not isinstance(value, dict):
        raise _card(say("Its front matter is not an object."))
    return value


def _refuse_depth(front: str) -> None:
    """No lists in lists without end, which take far more time than they are long; no references, which multiply a text.
    Nothing is composed before this is known.
    """
    depth = 0
    for event in yaml.parse(front, Loader=yaml.BaseLoader):
        if isinstance(event, yaml.AliasEvent):
            raise _card(say("Its front matter holds references (“*name”), which are not read."))
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise _card(
                say(
                    "Its lists or objects are nested more than {n} deep. Leave “configs” in the front matter, and move "
                    "the rest below.",
                    n=_MAX_DEPTH,
                )
            )


def _refuse_repeats(front: str) -> None:
    """No name twice in one object, of which readers take the last in silence."""
    waiting = [yaml.compose(front, Loader=yaml.BaseLoader)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.MappingNode):
            counts = Counter(str(key.value) for key, _value in node.value)
            twice = next((name for name, n in counts.items() if n > 1), None)
            if twice is not None:
                raise FormatError(
                    say("{name}: “{twice}” stands twice.", name=CARD, twice=excerpt(twice)),
                    line=node.start_mark.line + 2,
                )
            waiting += [value for _key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value


def _data_files(name: str, said: Any) -> Iterator[tuple[str, str]]:
    """Split and path, whichever of the forms names them."""
    for one in said if isinstance(said, list) else [said]:
        split, paths = ("", one) if isinstance(one, str) else ("", None)
        if isinstance(one, dict):
            split, paths = one.get("split", ""), one.get("path")
        for path in paths if isinstance(paths, list) else [paths]:
            if not isinstance(path, str) or not isinstance(split, str):
                raise _card(
                    say(
                        "“data_files” of “{name}” is neither paths nor splits with paths.", name=excerpt(name)
                    )
                )
            yield split, path


def _is_pattern(path: str) -> bool:
    return any(mark in path for mark in "*?[")


def _matching(found: Given, pattern: str) -> list[str]:
    plain = pattern.removeprefix("./")
    paths = [plain] if plain in found.files else []
    if _is_pattern(plain):
        paths = [path for path in found.files if path == plain or fnmatchcase(path, plain)]
    if not paths:
        raise _card(say("No file “{path}” is in the folder.", path=excerpt(pattern)))
    return paths


def _card(message: str) -> FormatError:
    return FormatError(say("{name}: {message}", name=CARD, message=message))

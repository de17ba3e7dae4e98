"""The samples of `fullrecall evaluate`: of files, of a TREC run, joined with references."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from fullrecall import read as datasets
from fullrecall.cli.options import bad_option
from fullrecall.errors import InputError
from fullrecall.samples.sample import Sample

if TYPE_CHECKING:
    from fullrecall.files.traces import Joined


def samples_of(
    files: Sequence[Path],
    *,
    rename: Sequence[str] = (),
    format: str | None = None,  # noqa: A002 - the option's name
    id_key: str | None = None,
) -> Iterator[Sample]:
    """Return the samples of all files, one after the other."""
    renamed = _renamed(rename)
    # All are opened before the first is read: a missing file is to cost no scoring.
    readers = [datasets.read(file, format=format, rename=renamed, id_key=id_key) for file in files]
    return chain.from_iterable(readers)


def joined_with(samples: Iterable[Sample], references: Path) -> Joined:
    """Return the samples with their references; what is wrong with these names their file."""
    try:
        return datasets.with_references(samples, datasets.read(references))
    except InputError as error:
        raise error.at(path=str(references)) from None


def samples_of_run(files: Sequence[Path], run: Path, **other_options: object) -> Iterator[Sample]:
    """Return the samples of a TREC run.

    Raises `typer.BadParameter` where any of the `other_options`, which other files take, is set.
    """
    for name, value in other_options.items():
        if value:
            raise bad_option(f"--{name.replace('_', '-')}", "must be left out with --run")
    if len(files) > 1:
        raise bad_option("--run", f"expected one FILE of qrels, got {len(files)}")
    return datasets.read_trec(files[0], run)


def unretrieved(sample: Sample) -> Sample:
    """Return a sample as it is before a retriever is asked, whatever its file has."""
    retrieved = ("retrieved_contexts", "retrieved_context_ids", "retrieval")
    return Sample(
        **{name: value for name, value in sample.to_dict().items() if name not in retrieved}
    )


def _renamed(texts: Iterable[str]) -> dict[str, str | None]:
    """Return the columns to read as fields, None to leave out, of texts such as `a=b,c=`."""
    renamed: dict[str, str | None] = {}
    for pair in (pair for text in texts for pair in text.split(",")):
        old, equals, new = pair.rpartition("=")
        if not (old and equals):
            raise bad_option("--rename", f"must be OLD=NEW, got {pair!r}")
        if renamed.setdefault(old, new or None) != (new or None):
            raise bad_option("--rename", f"{old!r} is renamed twice")
    return renamed

"""Static files under names that change with their content, so that a browser may keep them for ever."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """The modules that scripts import are hashed too: old and new never mix after an update."""

    support_js_module_import_aggregation = True

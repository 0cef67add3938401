"""Validates every call of a study against an OpenAPI document, by openapi-core: validate.py DOCUMENT STUDY ...

Prints one line for each call: the document's name, the method and the path, and the reason if the call is not valid.
"""

import json
import re
import sys
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import openapi_spec_validator
import yaml
from openapi_core import Config, OpenAPI
from openapi_core.testing import MockRequest
from werkzeug.datastructures import ImmutableMultiDict

METHODS = ["get", "head", "options", "post", "put", "patch", "delete"]


IGNORED = ["accept", "content-type", "authorization"]
JSON = ["*/*", "application/merge-patch+json"]


def adapted(document):
    """The document as openapi-core reads it where it departs from the specification.

    It wants the operator of RFC 6570 in the template of a matrix, has none for a label, takes servers of a path before those of its operation, and requires
    headers that are ignored (OAS 3.0.4, "Parameter Object").
    """
    paths = {}
    for path, item in document["paths"].items():
        operations = [item[method] for method in METHODS if method in item]
        for holder in [item, *operations]:
            kept = [one for one in holder.get("parameters", []) if not is_ignored(one)]
            holder["parameters"] = kept
            for one in kept:
                name = f"{{{one.get('name')}}}"
                if one.get("style") == "matrix":
                    path = path.replace(name, f"{{;{one['name']}{'*' if one.get('explode') else ''}}}")
                elif one.get("style") == "label":
                    path = path.replace(name, f".{name}")
                    one["style"] = "simple"
        if any("servers" in operation for operation in operations):
            item.pop("servers", None)
        paths[path] = item
    return {**document, "paths": paths}


def is_ignored(parameter):
    return parameter.get("in") == "header" and parameter["name"].lower() in IGNORED


def spaced(document):
    """Names of parameters whose spaces openapi-core takes only as %20."""
    operations = [operation for item in document["paths"].values() for operation in item.values() if isinstance(operation, dict)]
    parameters = [one for operation in operations for one in operation.get("parameters", [])]
    return {one["name"] for one in parameters if one.get("style") == "spaceDelimited"}


def openapi_of(file, document):
    base = Path(file).resolve().as_uri()
    # A reference in place of an operation, which is met in public, is not in the specification.
    if not document.get("x-operations-are-references", False):
        openapi_spec_validator.validate(document, base_uri=base)
    readers = {kind: json.loads for kind in JSON}
    config = Config(spec_validator_cls=None, extra_media_type_deserializers=readers)
    return OpenAPI.from_dict(adapted(document), base_uri=base, config=config)


def calls_of(study):
    load = study["load"]
    if "request" in load:
        return [load["request"]]
    return [step for flow in load["scenario"]["flows"] for step in flow["steps"]]


def request_of(call, origin, spaced):
    method = next(method for method in METHODS if method in call)
    target = urlsplit(call[method])
    # Secrets come from the environment.
    headers = {name: re.sub(r"\$\{env\.\w+\}", "a-secret-of-some-length", value) for name, value in call.get("headers", {}).items()}
    body = call.get("body")
    request = MockRequest(
        origin,
        method,
        unquote(target.path),
        headers=headers,
        data=None if body is None else body.encode(),
        content_type=headers.get("Content-Type", ""),
    )
    query = parse_qsl(target.query, keep_blank_values=True, strict_parsing=bool(target.query))
    query = [(name, value.replace(" ", "%20") if name in spaced else value) for name, value in query]
    request.parameters.query = ImmutableMultiDict(query)
    return request, call[method]


def reasons(error):
    while error is not None:
        yield f"{type(error).__name__} {error}"
        for schema_error in getattr(error, "schema_errors", []):
            yield schema_error.message
        error = error.__cause__ or error.__context__


def main(arguments):
    for document, study in zip(arguments[::2], arguments[1::2], strict=True):
        described = yaml.safe_load(Path(document).read_text())
        spaced_names = spaced(described)
        openapi = openapi_of(document, described)
        study = yaml.safe_load(Path(study).read_text())
        for call in calls_of(study):
            request, path = request_of(call, study["system"]["url"], spaced_names)
            line = [Path(document).stem, request.method, path, "valid"]
            try:
                openapi.validate_request(request)
            except Exception as error:
                line[3] = "; ".join(reasons(error))
            print(json.dumps(line))


main(sys.argv[1:])

"""ministack, told three things that AWS does otherwise. What it is started with are its own arguments."""

import json
import re
import sys

from ministack.app import main
from ministack.core import iam_actions
from ministack.services import lambda_svc

# A failed function's errorType is its error's own name, by which the workflow retries and catches. ministack says
# Runtime.HandlerError of all of them; the name begins the stack trace at the end of the log. A process that ended is
# Runtime.ExitError: ministack ends those that are at work when a function's code is replaced, AWS lets them finish.
execute = lambda_svc._execute_function_warm


def execute_and_name_errors(func, event, request_id):
    result = execute(func, event, request_id)
    body = result.get("body")
    if result.get("error") and isinstance(body, dict) and body.get("errorType") == "Runtime.HandlerError":
        said = f": {body.get('errorMessage', '')}"
        if body.get("errorMessage") == "Worker process died":
            body["errorType"] = "Runtime.ExitError"
        names = re.findall(r"^(\w+)" + re.escape(said), result.get("log") or "", re.MULTILINE)
        if names:
            body["errorType"] = names[-1]
    return result


lambda_svc._execute_function_warm = execute_and_name_errors

# ssm:GetParametersByPath is authorized on the path, as a parameter's ARN, and not on `*`.
extract = iam_actions.extract_resource_arn


def extract_path(service, method, path, headers, body, query_params, region, account_id):
    arn = extract(service, method, path, headers, body, query_params, region, account_id)
    if service == "ssm" and iam_actions._action_from_target(headers) == "GetParametersByPath":
        asked = json.loads(body)["Path"].rstrip("/")
        return f"arn:aws:ssm:{region}:{account_id}:parameter{asked}"
    return arn


iam_actions.extract_resource_arn = extract_path

# events:PutEvents has the key events:source, by which the policy of notices goes.
tags = iam_actions.request_tag_context


def tags_and_sources(service, iam_action, body, params):
    context = tags(service, iam_action, body, params)
    if iam_action == "events:PutEvents":
        sources = sorted({entry.get("Source", "") for entry in json.loads(body).get("Entries", [])})
        return {**context, "events:source": sources[0] if len(sources) == 1 else sources}
    return context


iam_actions.request_tag_context = tags_and_sources

sys.exit(main())

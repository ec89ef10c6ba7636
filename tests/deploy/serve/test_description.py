"""The server does what ``/v1/openapi.json`` says: right and wrong requests made from it, and the answers to them."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from tests.deploy.serve.test_server import running

from codekin.deploy.serve import Limits, application

schemathesis = pytest.importorskip("schemathesis")

EXAMPLES = 40


def is_uneven(case):
    """Whether a sparse row has more indices than values, or fewer, which JSON Schema cannot forbid."""
    rows = case.body.get("samples") if isinstance(case.body, dict) else None
    lists = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return any(len(row.get("indices", ())) != len(row.get("values", ())) for row in lists)


@pytest.mark.parametrize("kind", ["text", "digits"])
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_requests_made_from_the_description_get_the_answers_that_it_promises(request, kind, mode):
    app = application(request.getfixturevalue(f"{kind}_folder"), limits=Limits(max_samples=3, max_top_k=4))
    with running(app) as port:
        schema = schemathesis.openapi.from_url(f"http://127.0.0.1:{port}/v1/openapi.json")
        operations = {found.ok().path: found.ok() for found in schema.get_all_operations()}
        assert set(operations) >= {"/v1/predict", "/v1/model", "/health", "/metrics"}
        for path, operation in operations.items():
            if mode.is_negative and path != "/v1/predict":
                continue  # without a body or options nothing can be wrong

            @given(case=operation.as_strategy(generation_mode=mode))
            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                derandomize=True,
                database=None,
                suppress_health_check=list(HealthCheck),
            )
            def check(case):
                answer = case.call()
                if mode.is_positive and is_uneven(case):
                    assert answer.status_code == 400
                    assert "as many values as indices" in json.loads(answer.content)["error"]
                else:
                    case.validate_response(answer)

            check()

"""Request Kubernetes pod resources for the selection task only; other executors ignore the request."""

from __future__ import annotations

from typing import Any

from airflow.providers.common.compat.sdk import dag, task

from compsil_airflow import SelectKOperator
from compsil_airflow.example_dags.customers import write_customers

N_CPUS = 2


def resources(cpus: int, memory: str) -> dict[str, Any]:
    """Return an executor_config for the KubernetesExecutor, or an empty dict if the client is not installed."""
    try:
        from kubernetes.client import models as k8s
    except ImportError:
        return {}
    asked = {"cpu": str(cpus), "memory": memory}
    # "base" is the container in which Airflow runs the task.
    container = k8s.V1Container(name="base", resources=k8s.V1ResourceRequirements(requests=asked, limits=asked))
    return {"pod_override": k8s.V1Pod(spec=k8s.V1PodSpec(containers=[container]))}


@dag(schedule=None, tags=["compsil", "example"], doc_md=__doc__)
def compsil_resources() -> None:
    """Extract the data, and select k with one worker per CPU of the pod."""

    @task
    def extract() -> str:
        return write_customers("resources.parquet")

    SelectKOperator(
        task_id="select_k",
        data=extract(),
        columns=["basket", "visits", "returned"],
        ks="2:7",
        n_subsamples=20,
        n_jobs=N_CPUS,
        # Pods do not share a disk. To keep a checkpoint, use a mounted volume or an object that the next attempt can
        # access, such as "s3://my_aws@bucket/{{ dag.dag_id }}-{{ run_id }}.json".
        checkpoint=None,
        executor_config=resources(N_CPUS, "4Gi"),
        retries=2,
    )


compsil_resources()

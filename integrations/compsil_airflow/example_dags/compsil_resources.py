"""Resources of a Kubernetes pod for the one task that needs them; on other executors the request has no effect."""

from __future__ import annotations

from typing import Any

from airflow.providers.common.compat.sdk import dag, task

from compsil_airflow import SelectKOperator
from compsil_airflow.example_dags.customers import write_customers

N_CPUS = 2


def resources(cpus: int, memory: str) -> dict[str, Any]:
    """Return an executor_config for the KubernetesExecutor, or an empty one where its client is not installed."""
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
    """Extract, and select with as many workers as the pod has processors."""

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
        # Pods share no disk, so the checkpoint needs a place that the next attempt can reach: a mounted volume, or an
        # object such as "s3://my_aws@bucket/{{ dag.dag_id }}-{{ run_id }}.json".
        checkpoint=None,
        executor_config=resources(N_CPUS, "4Gi"),
        retries=2,
    )


compsil_resources()

from django.apps import AppConfig


class DeploymentsConfig(AppConfig):
    name = "backend.deployments"

    def ready(self) -> None:
        from backend.accounts.quotas import Resource, count
        from backend.deployments.topology_quota import topologies_of

        count(Resource.TOPOLOGIES, topologies_of)

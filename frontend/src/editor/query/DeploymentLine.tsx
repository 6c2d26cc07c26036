import type { JSX } from "preact";
import type { Deployment } from "./deployment";

/** Where a deployment stands, and where to go next. */
export function DeploymentLine({ deployment }: { deployment: Deployment }): JSX.Element {
  switch (deployment.kind) {
    case "asked":
      return (
        <p class="deployment" role="status">
          <progress /> asking for the deployment…
        </p>
      );
    case "waiting":
      return (
        <p class="deployment" role="status">
          <progress />{" "}
          <a href={`/topologies/${encodeURIComponent(deployment.topology)}/`}>{deployment.topology}</a>:{" "}
          {deployment.text}
        </p>
      );
    case "active":
      return (
        <p class="deployment good" role="status">
          ✓ Running.{" "}
          <a class="deployed-link" href={`/topologies/${encodeURIComponent(deployment.topology)}/`}>
            Watch it in {deployment.topology}
          </a>
        </p>
      );
    case "failed":
      return (
        <p class="deployment problem-line" role="alert">
          ✕ {deployment.topology === null ? "" : `${deployment.topology}: `}
          {deployment.reason}
        </p>
      );
  }
}

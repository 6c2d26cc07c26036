/** The backend's documents, under the names that the pages use. Generated from its OpenAPI document. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Problem = Schemas["Problem"];
export type StreamDocument = Schemas["Stream"];
export type QueryDocument = Schemas["Query"];
export type QueryVersion = Schemas["QueryVersion"];
export type QueryResults = Schemas["QueryResults"];
export type SampleRows = Schemas["StreamSample"];
export type Validation = Schemas["Validation"];
export type Explanation = Schemas["Explanation"];
export type Cost = Schemas["Cost"];
export type Marginal = Schemas["Marginal"];
export type TopologyDocument = Schemas["Topology"];
export type PlanDocument = Schemas["Plan"];
export type RunDocument = Schemas["Run"];
export type RunLog = Schemas["RunLog"];
export type DeployAnswer = Schemas["Deployed"];
export type Me = Schemas["Me"];
export type Impact = Schemas["Impact"];
export type Alternative = Schemas["Alternative"];
export type AccountName = Schemas["Account"];
export type StreamWrite = Schemas["StreamWriteRequest"];
export type StreamChange = Schemas["PatchedStreamPatchRequest"];
export type DeadLetter = Schemas["DeadLetter"];
export type DeadLetters = Schemas["DeadLetters"];
export type Preview = Schemas["Preview"];
export type Outlook = Schemas["Outlook"];
export type Advice = Schemas["Advice"];
export type Provenance = Schemas["Provenance"];
export type AuditEntry = Schemas["AuditEntry"];
export type TokenDocument = Schemas["Token"];
export type NewToken = Schemas["NewToken"];
export type NamedColumn = Schemas["NamedColumn"];
export type Conversion = Schemas["Conversion"];
export type PlanOperator = Schemas["Operator"];

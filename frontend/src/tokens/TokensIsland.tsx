import type { JSX } from "preact";
import { answered, at, client, done } from "../api/request";
import { QuotaLine } from "../ui/QuotaLine";
import { useLoaded } from "../ui/useLoaded";
import { TokenList } from "./TokenList";

/** How programs say that they act for the person: tokens made, listed and revoked. */
export function TokensIsland(): JSX.Element {
  const streams = useLoaded(() => answered(client.GET("/api/streams/")));
  return (
    <section class="tokens">
      <p class="muted">
        A program that sends <code>Authorization: Bearer …</code> acts for you. The <code>millrace</code>{" "}
        command reads it from <code>MILLRACE_TOKEN</code>.
      </p>
      <TokenList
        who="you"
        example="laptop"
        streams={(streams.value ?? []).filter((one) => one.can_edit).map(({ name }) => name)}
        load={() => answered(client.GET("/api/tokens/"))}
        make={(token) => answered(client.POST("/api/tokens/", { body: token }))}
        revoke={({ id }) => done(client.DELETE("/api/tokens/{id}/", at({ id })))}
      />
      <QuotaLine />
    </section>
  );
}

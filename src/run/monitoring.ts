/** What machines ask of a running dashboard: metrics and readiness, from the same places as the Now view. */
import { readPositions } from "../archive/loadPosition.ts";
import { readMigrations } from "../archive/migrate.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import { journalLag } from "../journal/lag.ts";
import type { NowSources } from "../web/live.ts";
import { createMetrics, type MetricSources } from "../web/monitoring/metrics.ts";
import { createReadiness } from "../web/monitoring/ready.ts";
import type { Machines } from "../web/monitoring/routes.ts";
import { journalDir } from "./collection.ts";
import { VERSION } from "./version.ts";
import type { Watched } from "./webSources.ts";

/** @param watched with a `meter` where this process collects */
export async function openMonitoring(
  { config, reader, clock, collection, meter = null }: Watched,
  { now, calendar }: { now: NowSources; calendar: Calendar },
): Promise<Machines> {
  const schemaVersion = (await readMigrations()).at(-1)?.version ?? 0;
  const failing = (): boolean => (collection()?.journalHealth().failure ?? null) !== null;
  const ready = createReadiness({
    ...{ pool: reader, clock, schemaVersion },
    collector: meter && {
      running: () => collection() !== null,
      journalFailing: failing,
      loaderFailing: () => (collection()?.loader.failure() ?? null) !== null,
    },
  });
  const collecting: MetricSources["collecting"] = () => {
    const running = collection();
    const live = now.live();
    if (!meter || !running || !live) return null;
    const { nextPollAt } = running.collector.status();
    return { live, meter, nextPollAt, loaded: running.loaded(), journalFailing: failing() };
  };
  const metrics = createMetrics({
    ...{ version: VERSION, simulated: now.feed.simulated, clock, ready, collecting },
    marketOpen: (at) => calendar.phaseAt(at) === "regular",
    journal: now.journal,
    lag: async () => journalLag(journalDir(config), await readPositions(reader)),
    status: now.status,
  });
  return { metrics, ready };
}

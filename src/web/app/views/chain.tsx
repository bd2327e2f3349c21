/** An option chain, now or at a past instant: calls and puts with their volatilities and greeks, and pictures of them. */
import { useEffect } from "preact/hooks";
import type { ChainKey, ChainView as Chain, TermPoint } from "../../../archive/ask/dashboardTypes.ts";
import { ColumnChoice, filterOf, Filters, TimeSlider } from "../parts/chainControls.tsx";
import { ChainPictures } from "../parts/chainPictures.tsx";
import { ChainList, ChainTable, type Side } from "../parts/chainTable.tsx";
import { Await, Empty, OfOneSource, sourceText, SourceTag } from "../parts/notes.tsx";
import { Segments, Select } from "../parts/controls.tsx";
import { type Column, columnsOf } from "../lib/chainColumns.ts";
import { passes } from "../lib/strikes.ts";
import { isMixed } from "../../api/quoteTable.ts";
import { narrow } from "../lib/narrow.ts";
import { nowMs, tick } from "../lib/pageClock.ts";
import { counted, thousands, percent } from "../../../figures.ts";
import { DAY_MS, exchangeDateOf, MINUTE_MS } from "../lib/format.ts";
import { type Loaded, useApi } from "../lib/useApi.ts";
import { href, parameter, path, setParameters } from "../lib/router.ts";

const keyOf = ({ symbol, sourceId, delayed }: ChainKey): string => `${symbol}/${sourceId}/${delayed}`;

const minute = tick(MINUTE_MS);
/** The newest chain is read again as often as quotes can come. */
const quarter = tick(15_000);

export function ChainView() {
  const loaded = useApi<ChainKey[]>("/api/chains", {}, minute.value);
  return (
    <div>
      {!loaded.data?.length && <h1 tabIndex={-1}>Option chain</h1>}
      <Await loaded={loaded} what="the chains">
        {(keys) =>
          keys.length === 0 ? (
            <Empty title="No options are stored">A job with `chains` or `options` collects them.</Empty>
          ) : (
            <Chains keys={keys} />
          )
        }
      </Await>
    </div>
  );
}

function Chains({ keys }: { keys: readonly ChainKey[] }) {
  const underlyings = [...new Map(keys.map((key) => [keyOf(key), key])).values()];
  const of = chosenOf(keys, underlyings);
  const expirations = of ? keys.filter((key) => keyOf(key) === keyOf(of)) : [];
  const today = exchangeDateOf(nowMs.peek());
  const wanted = parameter("expiration");
  const expiration =
    expirations.find((key) => key.expiration === wanted) ??
    expirations.find((key) => key.expiration >= today) ??
    expirations[0];
  // An address that is passed on shows the same, also where nothing was chosen.
  const address = expiration && addressOf(expiration);
  useEffect(() => {
    if (address && path.peek() === "/chain") setParameters(address, { step: false });
  }, [Object.values(address ?? {}).join()]);
  const mixed = isMixed(underlyings.map(({ source }) => source));
  return (
    <>
      <div class="bar">
        <h1 tabIndex={-1}>{of ? `${of.symbol} options` : "Option chain"}</h1>
        <Select
          label="Underlying"
          value={of ? keyOf(of) : ""}
          options={[
            ...(of ? [] : [{ value: "", name: "choose" }]),
            ...underlyings.map((key) => ({
              value: keyOf(key),
              name: mixed
                ? `${key.symbol} ${sourceText(key)}`
                : `${key.symbol}${key.delayed ? ", delayed" : ""}`,
            })),
          ]}
          choose={(chosen) => {
            const to = underlyings.find((key) => keyOf(key) === chosen);
            if (to) setParameters({ ...addressOf(to), expiration: "" });
          }}
        />
        {of && mixed && <SourceTag source={of.source} name={of.sourceName} />}
        {of && !mixed && <OfOneSource source={of.source} name={of.sourceName} />}
      </div>
      {expiration ? (
        <>
          <Tabs expirations={expirations} chosen={expiration} />
          <OneChain key={`${keyOf(expiration)} ${expiration.expiration}`} of={expiration} />
        </>
      ) : (
        <Empty title={`No options of ${parameter("underlying")} are stored`}>
          Choose another underlying above.
        </Empty>
      )}
    </>
  );
}

function addressOf({ symbol, sourceId, delayed, expiration }: ChainKey): Record<string, string> {
  return { underlying: symbol, source: String(sourceId), delayed: delayed ? "true" : "", expiration };
}

/** The address's underlying, or the one of which most is stored. */
function chosenOf(keys: readonly ChainKey[], underlyings: readonly ChainKey[]): ChainKey | undefined {
  const asked = parameter("underlying").toUpperCase();
  const fullest = [...underlyings].sort((a, b) => contractsOf(keys, b) - contractsOf(keys, a));
  if (asked === "") return fullest[0];
  const found = fullest.filter(({ symbol }) => symbol.toUpperCase() === asked);
  return (
    found.find(
      ({ sourceId, delayed }) =>
        String(sourceId) === parameter("source") && delayed === (parameter("delayed") === "true"),
    ) ?? found[0]
  );
}

function contractsOf(keys: readonly ChainKey[], of: ChainKey): number {
  return keys.filter((key) => keyOf(key) === keyOf(of)).reduce((sum, { contracts }) => sum + contracts, 0);
}

/** Days until an expiration, from the date that is shown: `22 d`. */
function daysTo(expiration: string): string {
  const at = parameter("at");
  const shown = exchangeDateOf(at === "" ? nowMs.value : Date.parse(at));
  return `${thousands((Date.parse(expiration) - Date.parse(shown)) / DAY_MS)} d`;
}

function Tabs({ expirations, chosen }: { expirations: readonly ChainKey[]; chosen: ChainKey }) {
  const choose = (key: ChainKey | undefined): void => {
    if (!key) return;
    setParameters({ expiration: key.expiration });
    document.getElementById(`tab-${key.expiration}`)?.focus();
  };
  const at = expirations.indexOf(chosen);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    choose(expirations[(at + step + expirations.length) % expirations.length]);
  };
  return (
    <div class="tabs below" role="tablist" aria-label="Expirations" onKeyDown={onKeyDown}>
      {expirations.map((key) => (
        <button
          key={key.expiration}
          id={`tab-${key.expiration}`}
          role="tab"
          aria-selected={key === chosen}
          aria-controls="chain"
          tabIndex={key === chosen ? 0 : -1}
          title={counted(key.contracts, "contract")}
          onClick={() => choose(key)}
        >
          {key.expiration}
          <small class="mono">{daysTo(key.expiration)}</small>
        </button>
      ))}
    </div>
  );
}

function OneChain({ of }: { of: ChainKey }) {
  const { symbol, expiration, sourceId, delayed } = of;
  const at = parameter("at");
  const query = {
    symbol,
    source: String(sourceId),
    delayed: String(delayed),
    ...(at !== "" && { at }),
    expiration,
  };
  const [soon, later] = at === "" ? [quarter.value, minute.value] : [0, 0];
  const loaded = useApi<Chain>("/api/chain", query, soon);
  const term = useApi<TermPoint[]>("/api/chain/term", hasPictures() ? query : null, later);
  return (
    <div id="chain" role="tabpanel" aria-labelledby={`tab-${expiration}`} tabIndex={0}>
      <Await loaded={loaded} what="the chain">
        {(chain) => (
          <>
            <div class="bar time">
              <TimeSlider spans={chain.spans} />
            </div>
            {chain.contracts.length === 0 ? (
              <Empty title="Nothing was stored by then">Move the slider to a later time.</Empty>
            ) : (
              <Shown of={of} chain={chain} term={term} query={query} />
            )}
          </>
        )}
      </Await>
    </div>
  );
}

const hasPictures = (): boolean => parameter("pictures") !== "off";

type ShownProps = { of: ChainKey; chain: Chain; term: Loaded<TermPoint[]>; query: Record<string, string> };

/** What the filter leaves, as pictures and as a table. */
function Shown({ of: { symbol, sourceId, delayed }, chain, term, query }: ShownProps) {
  const filter = filterOf();
  const contracts = chain.contracts.filter((contract) => passes(contract, filter));
  const columns = columnsOf(parameter("columns"), narrow.value ? "narrow" : "wide", chain.contracts);
  const side = (["calls", "puts"] as const).find((each) => each === parameter("side")) ?? "both";
  const shown = { symbol, chain, contracts, columns, sourceId, delayed };
  return (
    <>
      <Choices columns={columns} side={side} query={query} />
      {contracts.length === 0 ? (
        <Empty title="No contract passes the filter">Choose another moneyness or volume above.</Empty>
      ) : narrow.value ? (
        <ChainList {...shown} side={side} />
      ) : (
        <ChainTable {...shown} />
      )}
      <p class="after dim">
        {thousands(contracts.length)} of {counted(chain.contracts.length, "contract")}.
        <Standing contracts={contracts} /> Volatilities of Black, Scholes and Merton, percent a year, with a
        rate of {share(chain.rate)} and a dividend yield of {share(chain.dividendYield)} a year: the settings{" "}
        <code>quotekeeper.rate</code> and <code>quotekeeper.dividend_yield</code> of the database.
      </p>
      {hasPictures() && (
        <ChainPictures
          contracts={contracts}
          term={term}
          axis={parameter("x") === "moneyness" ? "moneyness" : "strike"}
        />
      )}
    </>
  );
}

/** How many contracts stand still. */
function Standing({ contracts }: { contracts: ShownContracts }) {
  const count = contracts.filter(({ stillSince }) => stillSince !== null).length;
  if (count === 0) return null;
  return (
    <span data-standing={count}>
      {" "}
      <span class="still">Underlined</span>: {counted(count, "contract")} whose bid and ask stand still while
      the session runs.
    </span>
  );
}

type ShownContracts = Chain["contracts"];

type ChoicesProps = { columns: readonly Column[]; side: Side; query: Record<string, string> };

function Choices({ columns, side, query }: ChoicesProps) {
  const pictures = hasPictures();
  const ofAll = Object.fromEntries(Object.entries(query).filter(([name]) => name !== "expiration"));
  return (
    <div class="bar">
      <Filters />
      {narrow.value && (
        <Segments
          label="Sides"
          names={[{ name: "both" }, { name: "calls" }, { name: "puts" }]}
          chosen={side}
          choose={(to) => setParameters({ side: to === "both" ? "" : to })}
        />
      )}
      <ColumnChoice shown={columns} />
      <button aria-pressed={pictures} onClick={() => setParameters({ pictures: pictures ? "off" : "" })}>
        Pictures
      </button>
      <span class="files row">
        <a class="button" href={href("/api/chain.csv", query)} download>
          CSV
        </a>
        <a class="button" href={href("/api/chain.csv", ofAll)} download>
          CSV, all expirations
        </a>
      </span>
    </div>
  );
}

function share(of: number): string {
  return percent(String(Number((100 * of).toPrecision(6))), 0);
}

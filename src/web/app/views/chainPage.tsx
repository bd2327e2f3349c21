/** An option chain, now or at a past instant: one expiration, or two side by side, and pictures of their volatilities. */
import { useEffect } from "preact/hooks";
import type { ChainKey, ChainView, TermPoint } from "../../../archive/ask/dashboardTypes.ts";
import { counted, percent } from "../../../ground/figures.ts";
import { isVague } from "../lib/curves.ts";
import { follow, narrow, slim } from "../lib/pageLook.ts";
import { parameter, path, setParameters } from "../lib/router.ts";
import { several } from "../lib/newest.ts";
import { atTheMoney, contractsOf, nearTheMoney, strikeRows } from "../lib/chainColumns.ts";
import { type LoadState, useNews } from "../lib/useApi.ts";
import { Choices, choices, Outlook, shownDate, Tabs, TimeSlider } from "../parts/chainControls.tsx";
import { ChainPictures } from "../parts/chainPictures.tsx";
import { ChainTable } from "../parts/chainTable.tsx";
import { Select } from "../parts/controls.tsx";
import { Await, Empty, OfOneSource, sourceText } from "../parts/notes.tsx";

/** Whether two expirations have room side by side. */
const roomy = follow("(min-width: 1440px)");

const keyOf = ({ symbol, sourceId, delayed }: ChainKey): string => `${symbol}/${sourceId}/${delayed}`;

export function ChainPage() {
  const loaded = useNews<ChainKey[]>("api/chains", {});
  return (
    <div>
      {!loaded.data?.length && <h1 tabIndex={-1}>Option chain</h1>}
      <Await loaded={loaded} what="the chains">
        {(keys) =>
          keys.length === 0 ? (
            <Empty title="No options are stored">Jobs collect them: see “chains” in the help.</Empty>
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
  const wanted = parameter("expiration");
  const chosen =
    expirations.find((key) => key.expiration === wanted) ??
    expirations.find((key) => key.expiration >= shownDate()) ??
    expirations[0];
  // An address that is passed on shows the same, also where nothing was chosen.
  const address = chosen && addressOf(chosen);
  useEffect(() => {
    if (address && path.peek() === "chain") setParameters(address, { step: false });
  }, [Object.values(address ?? {}).join()]);
  return (
    <>
      <div class="bar">
        <h1 tabIndex={-1}>{of ? `${of.symbol} options` : "Option chain"}</h1>
        {(underlyings.length > 1 || !of) && (
          <Select
            label="Underlying"
            value={of ? keyOf(of) : ""}
            options={[
              ...(of ? [] : [{ value: "", name: "choose" }]),
              ...underlyings.map((key) => ({
                value: keyOf(key),
                name: several.value
                  ? `${key.symbol} ${sourceText(key)}`
                  : `${key.symbol}${key.delayed ? ", delayed" : ""}`,
              })),
            ]}
            choose={(to) => {
              const key = underlyings.find((each) => keyOf(each) === to);
              if (key) setParameters({ ...addressOf(key), expiration: "" });
            }}
          />
        )}
        {of && <OfOneSource source={of.source} name={of.sourceName} />}
        {chosen && (
          <Choices
            query={queryOf(chosen)}
            others={roomy.value ? expirations.filter((key) => key !== chosen) : []}
          />
        )}
      </div>
      {chosen ? (
        <Expirations key={keyOf(chosen)} expirations={expirations} chosen={chosen} />
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

function queryOf({ symbol, sourceId, delayed, expiration }: ChainKey): Record<string, string> {
  const at = parameter("at");
  const of = { symbol, source: String(sourceId), delayed: String(delayed), expiration };
  return at === "" ? of : { ...of, at };
}

/** The address's underlying, or the one of which most is stored. */
function chosenOf(keys: readonly ChainKey[], underlyings: readonly ChainKey[]): ChainKey | undefined {
  const asked = parameter("underlying").toUpperCase();
  const stored = (of: ChainKey): number =>
    keys.reduce((sum, key) => sum + (keyOf(key) === keyOf(of) ? key.contracts : 0), 0);
  const found = underlyings
    .filter(({ symbol }) => asked === "" || symbol.toUpperCase() === asked)
    .sort((a, b) => stored(b) - stored(a));
  const isAsked = ({ sourceId, delayed }: ChainKey): boolean =>
    String(sourceId) === parameter("source") && delayed === (parameter("delayed") === "true");
  return found.find(isAsked) ?? found[0];
}

type OfExpiration = { of: ChainKey; term: LoadState<TermPoint[]> };

function Expirations({ expirations, chosen }: { expirations: readonly ChainKey[]; chosen: ChainKey }) {
  // One question for all tabs. What has expired is shown as it was at its end.
  const ofAll = chosen.expiration <= shownDate() ? chosen : (expirations.at(-1) ?? chosen);
  const term = useNews<TermPoint[]>("api/chain/term", queryOf(ofAll));
  const beside = parameter("beside");
  const next = expirations[expirations.indexOf(chosen) + 1];
  const second = expirations.find((key) => key !== chosen && key.expiration === beside) ?? next;
  return (
    <>
      <Tabs expirations={expirations} chosen={chosen} points={term.data} />
      <div id="chain" role="tabpanel" aria-labelledby={`tab-${chosen.expiration}`} tabIndex={0}>
        <First
          key={chosen.expiration}
          of={chosen}
          term={term}
          second={roomy.value && beside !== "none" ? second : undefined}
        />
      </div>
    </>
  );
}

/** The chosen expiration, another one beside it, and what holds for both. */
function First({ of, term, second }: OfExpiration & { second: ChainKey | undefined }) {
  const loaded = useNews<ChainView>("api/chain", queryOf(of));
  return (
    <Await loaded={loaded} what="the chain">
      {(chain) => (
        <>
          <TimeSlider spans={chain.spans} />
          {second ? (
            <div class="pair">
              <Shown of={of} term={term} chain={chain} />
              <Second key={second.expiration} of={second} term={term} />
            </div>
          ) : (
            <Shown of={of} chain={chain} />
          )}
          <Notes chain={chain} />
          <ChainPictures contracts={contractsOf(shownOf(chain).rows)} term={term} />
        </>
      )}
    </Await>
  );
}

function Second({ of, term }: OfExpiration) {
  const loaded = useNews<ChainView>("api/chain", queryOf(of));
  return (
    <Await loaded={loaded} what="the chain beside it">
      {(chain) => <Shown of={of} term={term} chain={chain} />}
    </Await>
  );
}

function shownOf({ contracts, underlyingLast }: ChainView) {
  const rows = strikeRows(contracts);
  const money = atTheMoney(rows, underlyingLast);
  return { rows: choices().all ? rows : nearTheMoney(rows, money), money };
}

type ShownProps = { of: ChainKey; chain: ChainView; term?: OfExpiration["term"] };

/** @param options.term of one of two side by side, which have heads */
function Shown({ of, chain, term }: ShownProps) {
  const { set, side } = choices();
  const listed = slim.value ? side : null;
  const room = term || narrow.value ? "few" : "many";
  return (
    <section>
      {term && (
        <h2>
          {of.expiration} <Outlook of={of} points={term.data} />
        </h2>
      )}
      {chain.contracts.length === 0 ? (
        <Empty title="Nothing was stored by then">Move the slider to a later time.</Empty>
      ) : (
        <ChainTable {...of} {...shownOf(chain)} chain={chain} set={set} room={room} listed={listed} />
      )}
    </section>
  );
}

/** What the rows rest on, and what their looks mean. */
function Notes({ chain: { contracts, rate, dividendYield } }: { chain: ChainView }) {
  const still = contracts.filter(({ stillSince }) => stillSince !== null).length;
  const share = (of: number): string => percent(String(Number((100 * of).toPrecision(6))), 0);
  return (
    <p class="after dim small">
      {counted(contracts.length, "contract")}.{" "}
      {still > 0 && (
        <span data-standing={still}>
          <span class="still">Underlined</span>: {counted(still, "contract")} whose bid and ask stand still
          while the session runs.{" "}
        </span>
      )}
      {contracts.some(isVague) &&
        "Dim volatilities are uncertain: their band from bid to ask is wider than themselves. "}
      Volatilities of Black, Scholes and Merton, percent a year, with a rate of {share(rate)} and a dividend
      yield of {share(dividendYield)} a year: the settings <code>quotekeeper.rate</code> and{" "}
      <code>quotekeeper.dividend_yield</code> of the database.
    </p>
  );
}

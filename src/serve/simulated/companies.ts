/**
 * Who is listed on the simulated market: some sixty well-known companies and funds, four symbols that a naive
 * reader takes for a number or a boolean, and ten thousand made-up companies. The figures are only plausible.
 */
import { chance, seedOf } from "./hash.ts";

export type Company = {
  symbol: string;
  description: string;
  exchange: "NSD" | "NYE";
  /** The price its walk returns to, cents. */
  baseCents: number;
  /** Earnings per share of a year, dollars; negative for a loss. */
  earningsPerShare: number;
  /** Dividend of a quarter, dollars; 0 when it pays none. */
  quarterlyDividend: number;
  averageVolume: number;
  dailyVolatility: number;
};

/** symbol, description, exchange, price ($), earnings ($), quarterly dividend ($), volume (million), volatility (%) */
type Row = readonly [string, string, "NSD" | "NYE", number, number, number, number, number];

const LISTED: readonly Row[] = [
  ["AAPL", "APPLE INC", "NSD", 230, 6.6, 0.26, 52, 1.6],
  ["MSFT", "MICROSOFT CORP", "NSD", 450, 13.2, 0.83, 21, 1.4],
  ["GOOGL", "ALPHABET INC CL A", "NSD", 190, 8.9, 0.21, 31, 1.7],
  ["GOOG", "ALPHABET INC CL C", "NSD", 191, 8.9, 0.21, 20, 1.7],
  ["AMZN", "AMAZON.COM INC", "NSD", 215, 6.1, 0, 41, 1.8],
  ["NVDA", "NVIDIA CORP", "NSD", 150, 3.1, 0.01, 190, 2.6],
  ["META", "META PLATFORMS INC", "NSD", 640, 25.6, 0.53, 13, 2],
  ["TSLA", "TESLA INC", "NSD", 300, 1.8, 0, 95, 3.1],
  ["AVGO", "BROADCOM INC", "NSD", 250, 3.9, 0.59, 22, 2.3],
  ["COST", "COSTCO WHOLESALE CORP", "NSD", 960, 17.6, 1.3, 2, 1.2],
  ["NFLX", "NETFLIX INC", "NSD", 1_100, 23.5, 0, 3.6, 2.1],
  ["AMD", "ADVANCED MICRO DEVICES INC", "NSD", 145, 1.4, 0, 44, 2.7],
  ["INTC", "INTEL CORP", "NSD", 24, -4.5, 0, 70, 2.4],
  ["CSCO", "CISCO SYSTEMS INC", "NSD", 66, 2.5, 0.41, 19, 1.2],
  ["ADBE", "ADOBE INC", "NSD", 390, 15.6, 0, 3.4, 1.7],
  ["PEP", "PEPSICO INC", "NSD", 134, 5.5, 1.42, 7, 1],
  ["QCOM", "QUALCOMM INC", "NSD", 155, 9.7, 0.89, 8, 1.8],
  ["TXN", "TEXAS INSTRUMENTS INC", "NSD", 195, 5.3, 1.36, 6, 1.7],
  ["SBUX", "STARBUCKS CORP", "NSD", 92, 2.8, 0.61, 9, 1.5],
  ["SIRI", "SIRIUS XM HOLDINGS INC", "NSD", 22, -6.1, 0, 4.4, 2.3],
  ["MU", "MICRON TECHNOLOGY INC", "NSD", 110, 5.5, 0.12, 21, 2.7],
  ["PYPL", "PAYPAL HOLDINGS INC", "NSD", 72, 4.4, 0, 10, 2],
  ["AMGN", "AMGEN INC", "NSD", 290, 11, 2.38, 2.6, 1.3],
  ["GILD", "GILEAD SCIENCES INC", "NSD", 110, 4.7, 0.79, 7, 1.3],
  ["QQQ", "INVESCO QQQ TRUST SERIES 1", "NSD", 540, 0, 0.71, 40, 1.2],
  ["JPM", "JPMORGAN CHASE & CO", "NYE", 270, 20.4, 1.4, 9, 1.3],
  ["BAC", "BANK OF AMERICA CORP", "NYE", 46, 3.4, 0.26, 37, 1.4],
  ["WFC", "WELLS FARGO & CO", "NYE", 79, 5.8, 0.4, 15, 1.5],
  ["C", "CITIGROUP INC", "NYE", 82, 6.3, 0.56, 14, 1.6],
  ["GS", "GOLDMAN SACHS GROUP INC", "NYE", 660, 43.1, 3, 2.2, 1.5],
  ["MS", "MORGAN STANLEY", "NYE", 138, 8.6, 0.93, 6, 1.5],
  ["V", "VISA INC CL A", "NYE", 350, 10, 0.59, 6, 1.1],
  ["MA", "MASTERCARD INC CL A", "NYE", 560, 14.2, 0.76, 2.6, 1.2],
  ["BRK.A", "BERKSHIRE HATHAWAY INC CL A", "NYE", 730_000, 37_500, 0, 0.002, 1],
  ["BRK.B", "BERKSHIRE HATHAWAY INC CL B", "NYE", 488, 25, 0, 4, 1],
  ["GE", "GENERAL ELECTRIC CO", "NYE", 240, 6.5, 0.36, 5, 1.6],
  ["IBM", "INTL BUSINESS MACHINES CORP", "NYE", 270, 6.2, 1.68, 4, 1.2],
  ["KO", "COCA-COLA CO", "NYE", 70, 2.5, 0.51, 15, 0.9],
  ["PFE", "PFIZER INC", "NYE", 24, 1.4, 0.43, 42, 1.4],
  ["JNJ", "JOHNSON & JOHNSON", "NYE", 155, 8.9, 1.3, 8, 1],
  ["MRK", "MERCK & CO INC", "NYE", 80, 6.9, 0.81, 12, 1.3],
  ["ABBV", "ABBVIE INC", "NYE", 188, 2.4, 1.64, 6, 1.3],
  ["LLY", "ELI LILLY & CO", "NYE", 780, 12.3, 1.5, 3.3, 1.8],
  ["UNH", "UNITEDHEALTH GROUP INC", "NYE", 310, 23.9, 2.21, 9, 1.9],
  ["PG", "PROCTER & GAMBLE CO", "NYE", 160, 6.6, 1.06, 7, 0.9],
  ["WMT", "WALMART INC", "NYE", 98, 2.3, 0.24, 16, 1.1],
  ["HD", "HOME DEPOT INC", "NYE", 370, 14.7, 2.3, 3.4, 1.2],
  ["MCD", "MCDONALD'S CORP", "NYE", 300, 11.3, 1.77, 3.2, 1],
  ["NKE", "NIKE INC CL B", "NYE", 70, 2.2, 0.4, 13, 1.8],
  ["DIS", "WALT DISNEY CO", "NYE", 118, 4.9, 0, 9, 1.5],
  ["T", "AT&T INC", "NYE", 28, 1.6, 0.28, 32, 1.2],
  ["VZ", "VERIZON COMMUNICATIONS INC", "NYE", 43, 4.2, 0.68, 17, 1.1],
  ["XOM", "EXXON MOBIL CORP", "NYE", 110, 7.5, 0.99, 15, 1.3],
  ["CVX", "CHEVRON CORP", "NYE", 148, 8.8, 1.71, 8, 1.3],
  ["BA", "BOEING CO", "NYE", 210, -17.8, 0, 7, 2],
  ["CAT", "CATERPILLAR INC", "NYE", 390, 20.6, 1.51, 3, 1.6],
  ["MMM", "3M CO", "NYE", 150, 7.2, 0.73, 3.5, 1.5],
  ["F", "FORD MOTOR CO", "NYE", 11, 1.2, 0.15, 75, 1.8],
  ["GM", "GENERAL MOTORS CO", "NYE", 51, 6.9, 0.15, 10, 1.8],
  ["UBER", "UBER TECHNOLOGIES INC", "NYE", 90, 5.8, 0, 17, 2.1],
  ["SPY", "SPDR S&P 500 ETF TRUST", "NYE", 600, 0, 1.76, 55, 0.9],
  // Symbols that are also the text of a number or a boolean: they must stay text everywhere.
  ["NAN", "NAN HOLDINGS CORP", "NSD", 18, 0.9, 0.05, 0.6, 2],
  ["TRUE", "TRUE NORTH MATERIALS INC", "NYE", 35, 2.1, 0, 0.4, 1.7],
  ["1E5", "HUNDRED THOUSAND <LABS> INC", "NSD", 7.5, -0.4, 0, 0.9, 2.8],
  ["007", 'SEVEN & SEVEN "GOLD" CO', "NYE", 64, 3.3, 0.22, 0.3, 1.3],
];

const BY_SYMBOL: ReadonlyMap<string, Company> = new Map(
  LISTED.map(
    ([symbol, description, exchange, price, earningsPerShare, quarterlyDividend, volume, volatility]) => [
      symbol,
      {
        symbol,
        description,
        exchange,
        baseCents: Math.round(price * 100),
        earningsPerShare,
        quarterlyDividend,
        averageVolume: Math.round(volume * 1e6),
        dailyVolatility: volatility / 100,
      },
    ],
  ),
);

/** Symbols of the made-up companies: `SIM0000` to `SIM9999`. */
const MADE_UP = /^SIM\d{4}$/;

/** The symbols of the well-known companies and of the trap symbols. */
export const LISTED_SYMBOLS: readonly string[] = [...BY_SYMBOL.keys()];

/** The company of a symbol, compared letter for letter; null when the market does not know it. */
export function companyOf(symbol: string): Company | null {
  return BY_SYMBOL.get(symbol) ?? (MADE_UP.test(symbol) ? madeUp(symbol) : null);
}

/** A made-up company's figures follow from its symbol alone, so that they are the same under every seed. */
function madeUp(symbol: string): Company {
  const seed = seedOf(symbol);
  const price = 4 * 100 ** chance(seed, 1);
  const pays = chance(seed, 2) < 0.4;
  const earns = chance(seed, 3) < 0.8;
  return {
    symbol,
    description: `SIMULATED COMPANY ${symbol.slice(3)} INC`,
    exchange: chance(seed, 4) < 0.5 ? "NSD" : "NYE",
    baseCents: Math.round(price * 100),
    earningsPerShare: Math.round((price / (8 + 30 * chance(seed, 5))) * 100 * (earns ? 1 : -0.5)) / 100,
    quarterlyDividend: pays ? Math.max(0.01, Math.round(price * (0.2 + chance(seed, 6))) / 100) : 0,
    averageVolume: Math.round(20_000 * 500 ** chance(seed, 7)),
    dailyVolatility: 0.01 + 0.02 * chance(seed, 8),
  };
}

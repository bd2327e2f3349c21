/**
 * Bounds of a Parquet file, checked before anything of it is read: a few hundred bytes can stand for any number of rows. The
 * bounds are those of the files that `export` and the lake write.
 */
import type { ColumnMetaData, DataReader, FileMetaData, RowGroup } from "hyparquet";
import { parquetHeader } from "hyparquet/src/column.js";
import { QuotekeeperError } from "../../ground/errors.ts";

/** Bytes of a file, from one place to another. */
export type Slice = (from: number, to: number) => Promise<ArrayBuffer>;

/** Rows of a row group at most: those of exports before 0.9. */
export const MOST_GROUP_ROWS = 32_768;

/** Bytes of a row at most, in all its columns together: the longest texts are fragments of 16,384 characters. */
const MOST_ROW_BYTES = 65_536;

/** Bytes of a page's header at most; ours have a few dozen. */
const MOST_HEADER_BYTES = 4_096;

/** @throws QuotekeeperError PARQUET_INVALID when a row group is larger than ours, or all row groups together do not have `rows` rows */
export function requireRows({ row_groups, num_rows }: FileMetaData, rows: number): void {
  let sum = 0;
  for (const group of row_groups) {
    const count = Number(group.num_rows);
    if (!(count >= 0 && count <= MOST_GROUP_ROWS))
      throw invalidParquet(
        `a row group has ${count} rows, and quotekeeper writes ${MOST_GROUP_ROWS} at most`,
      );
    sum += count;
  }
  if (sum !== rows || Number(num_rows) !== rows)
    throw invalidParquet(`it has ${Math.max(sum, Number(num_rows))} rows, and its manifest says ${rows}`);
}

/** @throws QuotekeeperError PARQUET_INVALID when a page of the group stands for more rows or more bytes than the group has room for */
export async function requirePages({ columns, num_rows }: RowGroup, slice: Slice): Promise<void> {
  const rows = Number(num_rows);
  let bytes = 0;
  for (const { meta_data } of columns) {
    if (!meta_data) throw invalidParquet("a column says nothing of itself");
    bytes += await pageBytes(meta_data, rows, slice);
    if (bytes > rows * MOST_ROW_BYTES + columns.length * MOST_HEADER_BYTES)
      throw invalidParquet(`${meta_data.path_in_schema.join(".")} has ${bytes} bytes in ${rows} rows`);
  }
}

/** Bytes of all pages of a column when they are decompressed. */
async function pageBytes(column: ColumnMetaData, rows: number, slice: Slice): Promise<number> {
  const { dictionary_page_offset = column.data_page_offset, data_page_offset } = column;
  const start = Number(dictionary_page_offset < data_page_offset ? dictionary_page_offset : data_page_offset);
  const end = start + Number(column.total_compressed_size);
  let [bytes, values] = [0, 0];
  for (let at = start; at < end;) {
    const buffer = await slice(at, Math.min(end, at + MOST_HEADER_BYTES));
    const reader: DataReader = { view: new DataView(buffer), offset: 0 };
    const header = parquetHeader(reader);
    const {
      data_page_header: data,
      data_page_header_v2: dataV2,
      dictionary_page_header: dictionary,
    } = header;
    const count = (data ?? dataV2 ?? dictionary)?.num_values ?? -1;
    if (!dictionary) values += count;
    bytes += header.uncompressed_page_size;
    if (count < 0 || count > rows || values > rows || header.uncompressed_page_size < 0)
      throw invalidParquet(`${column.path_in_schema.join(".")} has more values than its ${rows} rows`);
    if (!(header.compressed_page_size >= 0)) throw invalidParquet("a page has no length");
    at += reader.offset + header.compressed_page_size;
  }
  return bytes;
}

const ZSTD_MAGIC = 0xfd2f_b528;

/**
 * A compressed page. Its frame has to say the same size as the page's header. RFC 8878, section 3.1.1.
 *
 * @throws QuotekeeperError PARQUET_INVALID when it does not
 */
export function requireFrame(frame: Uint8Array, bytes: number): Uint8Array {
  if (contentSize(new DataView(frame.buffer, frame.byteOffset, frame.byteLength)) !== BigInt(bytes))
    throw invalidParquet(`a page does not unpack to the ${bytes} bytes that its header says`);
  return frame;
}

/** The size that a frame says it unpacks to, in bytes; null where it says none. */
function contentSize(view: DataView): bigint | null {
  if (view.getUint32(0, true) !== ZSTD_MAGIC) return null;
  const descriptor = view.getUint8(4);
  const isSingle = (descriptor & 0x20) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const at = 5 + (isSingle ? 0 : 1) + dictionaryBytes;
  switch (descriptor >> 6) {
    case 0:
      return isSingle ? BigInt(view.getUint8(at)) : null;
    case 1:
      return BigInt(view.getUint16(at, true) + 256);
    case 2:
      return BigInt(view.getUint32(at, true));
    default:
      return view.getBigUint64(at, true);
  }
}

/** The error for a file that is none of ours, or damaged. Its reader puts the file's path before the detail. */
export function invalidParquet(detail: string): QuotekeeperError {
  return new QuotekeeperError("PARQUET_INVALID", detail);
}
